"""How soon `pinledger dev` serves on a ledger of a million events: without a snapshot, with one, with a damaged one."""

import time

from support.bench import Bench
from support.large import LargeLedger
from support.processes import Meter
from support.report import Result
from support.rounds import alternate, disturbance, median

GOALS = {"none": 5.0, "kept": 1.0}
WORDS = {"none": "without a snapshot", "kept": "with a snapshot", "corrupted": "with a corrupted snapshot"}


def run(bench: Bench) -> Result:
    result = Result("start")
    large = bench.large
    measured = alternate({kind: lambda kind=kind: start(large, kind) for kind in WORDS}, bench.rounds)
    result.raw = {"events": large.events, **measured}
    times = {kind: median(measurements, "wall_seconds") for kind, measurements in measured.items()}
    for kind, words in WORDS.items():
        result.figures.append(
            f"{words}: ready after {times[kind]:.2f} s, of which PostgreSQL's start takes "
            f"{median(measured[kind], 'database_seconds'):.2f} s"
        )
    for kind, goal in GOALS.items():
        result.goal(
            f"`pinledger dev` serves within {goal:g} s on {large.events:,} events, {WORDS[kind]}",
            f"{times[kind]:.2f} s", times[kind] <= goal,
        )  # fmt: skip
    noticed = sum(one["noticed"] for one in measured["corrupted"])
    count = len(measured["corrupted"])
    result.goal(
        "a corrupted snapshot is noticed (a line in the log) and ignored (the right position is served)",
        f"{noticed} of {count} times", noticed == count,
    )  # fmt: skip
    assert not any(one["noticed"] for kind in ("none", "kept") for one in measured[kind]), (
        "a sound snapshot was doubted"
    )
    result.notes.append(f"{large.apps:,} apps; files in the kernel's cache. {disturbance(*measured.values())}.")
    return result


def start(large: LargeLedger, kind: str) -> dict:
    with large:
        large.put_snapshot(kind)
    # What starting the database alone takes, on the same files.
    began = time.monotonic()
    with large:
        database_seconds = time.monotonic() - began
    dev = large.dev
    dev.log.write_text("")
    # The database that `dev` starts ends with it, but is not its child.
    with Meter([], detached=dev.data / "postgresql/data/postmaster.pid") as meter:
        began = time.monotonic()
        dev.spawn()
        dev.wait_until(lambda: dev.api.get("/readyz").status == 200, 300)
        seconds = time.monotonic() - began
    try:
        assert dev.api.document(large.app).status == 200
        assert dev.api.position() == large.events
        noticed = any(
            "snapshot" in line and ("error" in line or "warning" in line) for line in dev.log.read_text().splitlines()
        )
    finally:
        dev.stop()
    return meter.figures | {"wall_seconds": seconds, "database_seconds": database_seconds, "noticed": noticed}
