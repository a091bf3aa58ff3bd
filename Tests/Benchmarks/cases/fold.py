"""A server's and an audit's cold fold of a million events, beside COPY of the same rows."""

import json
import os
import subprocess
import time
from pathlib import Path

from pinledger import BINARY

from support.bench import Bench
from support.large import DATABASE, LargeLedger
from support.processes import Meter, megabytes, peak_kilobytes
from support.report import Result
from support.rounds import alternate, disturbance, median
from support.servers import Node

GOAL, GOAL_MB = 2.0, 512
COPIES = {
    "COPY of position, entry, leaf_hash, binary": ("SELECT position, entry, leaf_hash", "binary"),
    "COPY of whole rows, binary": ("SELECT *", "binary"),
    "COPY of whole rows, text": ("SELECT *", "text"),
}


def run(bench: Bench) -> Result:
    result = Result("fold")
    large = bench.large
    copy_of_log, key = large.export_log()
    with large:
        sides = {name: lambda what=what, form=form: copy(large, what, form) for name, (what, form) in COPIES.items()}
        sides |= {
            "serve, without a snapshot": lambda: serve(large, "none"),
            "serve, with a snapshot": lambda: serve(large, "kept"),
            "fsck": lambda: fsck(large),
            "audit verify, of a directory": lambda: audit_verify(large, copy_of_log, key),
        }
        measured = alternate(sides, bench.rounds)
    result.raw = {"events": large.events, "apps": large.apps, "loaded": large.loaded, **measured}

    times = {name: median(measurements, "wall_seconds") for name, measurements in measured.items()}
    # What a start costs apart from the fold: process, connections, and all documents read and prepared.
    fold = times["serve, without a snapshot"] - times["serve, with a snapshot"]
    for name in COPIES:
        result.ratio(f"times {name}: the whole cold start of serve", times["serve, without a snapshot"] / times[name])
        result.ratio(f"times {name}: the fold alone (cold start less a start with a snapshot)", fold / times[name])
        result.ratio(f"times {name}: fsck", times["fsck"] / times[name])
        result.ratio(f"times {name}: audit verify", times["audit verify, of a directory"] / times[name])
    for name, measurements in measured.items():
        has_peak = "peak_kib" in measurements[0]
        peak = f"  at most {megabytes(median(measurements, 'peak_kib')):.0f} MB" if has_peak else ""
        result.figures.append(f"{name}: {times[name]:.2f} s  {large.events / times[name]:,.0f} events/s{peak}")
    result.notes.append(
        f"{large.events:,} events of {large.apps:,} apps; the database's cache is warm, nothing else. A start reads "
        f"all documents too; fsck verifies the signature of every one. {disturbance(*measured.values())}."
    )
    ratios = [times["serve, without a snapshot"] / times[name] for name in COPIES]
    for name, ratio in zip(COPIES, ratios, strict=True):
        result.goal(f"cold start on {large.events:,} events at most {GOAL} times {name}", f"{ratio:.2f}", ratio <= GOAL)
    verified = times["audit verify, of a directory"] / times["COPY of whole rows, binary"]
    result.goal(
        f"audit verify of {large.events:,} events at most {GOAL} times COPY of whole rows, binary", f"{verified:.2f}",
        verified <= GOAL)  # fmt: skip
    processes = ("serve, without a snapshot", "fsck", "audit verify, of a directory")
    peak = megabytes(max(median(measured[name], "peak_kib") for name in processes))
    result.goal(f"and at most {GOAL_MB} MB (serve, fsck, audit verify)", f"{peak:.0f} MB", peak <= GOAL_MB)
    return result


def copy(large: LargeLedger, what: str, form: str) -> dict:
    statement = f"COPY ({what} FROM pinledger.event ORDER BY position) TO STDOUT (FORMAT {form})"
    with Meter([large.cluster.pid], trees=True) as meter:
        began = time.monotonic()
        with open(os.devnull, "wb") as nowhere:
            subprocess.run(
                ["psql", "-XAtq", "-d", large.cluster.connection(DATABASE), "-c", statement], check=True, stdout=nowhere
            )
        seconds = time.monotonic() - began
    return meter.figures | {"wall_seconds": seconds}


def serve(large: LargeLedger, snapshot: str) -> dict:
    large.put_snapshot(snapshot)
    node = Node(large.ledger)
    with Meter([large.cluster.pid], trees=True) as meter, node:
        seconds = time.monotonic() - node.began
        assert node.api.position() == large.events
        assert node.api.document(large.app).status == 200
        peak = peak_kilobytes(node.pid)
    return meter.figures | {"wall_seconds": seconds, "peak_kib": peak}


def fsck(large: LargeLedger) -> dict:
    """The audit of the same ledger, in a process of its own."""
    return audit(large, large.events, "fsck", "--database", large.ledger.connection)


def audit_verify(large: LargeLedger, copy_of_log: Path, key: str) -> dict:
    """The audit of a copy of the same log, without the database."""
    # The server records who had the copy: after it was made.
    size = int((copy_of_log / "checkpoint").read_text().split("\n")[1])
    return audit(large, size, "audit", "verify", str(copy_of_log), "--key", key)


def audit(large: LargeLedger, events: int, *command: str) -> dict:
    with Meter([large.cluster.pid], trees=True) as meter:
        began = time.monotonic()
        process = subprocess.Popen(
            [BINARY, *command, "--output", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        assert process.stdout and process.stderr
        output, complaint = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
    assert process.returncode == 0, f"{command} ended with {process.returncode}: {output[-2000:]!r} {complaint[-2000:]!r}"
    report = json.loads(output)
    assert (report["status"], report["position"]) == ("clean", events), report
    return meter.figures | {"wall_seconds": seconds, "peak_kib": usage.ru_maxrss, "says_seconds": report["seconds"]}
