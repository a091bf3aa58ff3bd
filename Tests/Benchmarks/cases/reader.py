"""Appends and commands beside an old snapshot, before there was one, and once it is gone: what a long dump costs the
writers. Meanwhile the ledger has grown by millions of events, which costs too: the cost of the snapshot alone is the
difference to the writers' rate once it is gone."""

import subprocess
import time
from contextlib import contextmanager

from support.admin_load import make_apps, rename_apps
from support.bench import Bench
from support.postgres import Ledger
from support.processes import Meter
from support.report import Result
from support.rounds import disturbance, latencies, median
from support.servers import Node
from support.tools import run_json, tool

WRITERS = 16


def run(bench: Bench) -> Result:
    result = Result("reader")
    append_bench = tool("APPEND_BENCH")
    #: How old the snapshot is before the measurement begins; appends go on meanwhile, since they are what it holds up.
    age = bench.reader_seconds or bench.pick(30, 2)

    @contextmanager
    def snapshot(name: str):
        """A session that has read once in a transaction which sees what there was then: a dump that takes its time."""
        command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", bench.cluster.connection(name)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
            try:
                psql.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pinledger.head;\n")
                psql.stdin.flush()
                assert psql.stdout.readline() == "1\n"
                yield
            finally:
                psql.stdin.close()

    def appends(ledger: Ledger, seconds: float) -> dict:
        figures = run_json([
            append_bench, "--database", ledger.connection, "--kek-file", ledger.key_file, "--writers", str(WRITERS),
            "--seconds", str(round(seconds)), "--nodes", "1", "--entry-bytes", "500",
        ])  # fmt: skip
        return figures | {"per_second": figures["events_per_second"]}

    def beside(name: str, write) -> dict[str, dict]:
        """What `write(seconds)` measures before a snapshot is taken, when it is old, and when it is gone."""

        def measure() -> dict:
            bench.cluster.checkpoint()
            with Meter([bench.cluster.pid], trees=True) as meter:
                figures = write(bench.seconds)
            return figures | meter.figures | sizes(name)

        write(bench.seconds)  # The first seconds go to connections, caches and files that grow.
        before = measure()
        with snapshot(name):
            end = time.monotonic() + age
            # In parts: a generator is given up after ten minutes.
            while (left := end - time.monotonic()) > 0:
                write(max(1, min(60, left)))
            then = measure()
        # What only the snapshot kept is removed by whoever comes upon it.
        write(bench.seconds)
        return {"before": before, "beside a snapshot": then, "after": measure()}

    def appending() -> dict[str, dict]:
        name, ledger = bench.cluster.ledger()
        return beside(name, lambda seconds: appends(ledger, seconds))

    def commanding() -> dict[str, dict]:
        def commands(seconds: float) -> dict:
            figures = rename_apps(node, WRITERS, seconds)
            assert figures["errors"] == 0, figures
            return figures

        name, ledger = bench.cluster.ledger()
        with Node(ledger) as node:
            make_apps(node)
            return beside(name, commands)

    def sizes(name: str) -> dict:
        pages = "SELECT pg_relation_size('pinledger.{0}') / 8192"
        return {f"{table}_pages": int(bench.cluster.sql(name, pages.format(table))) for table in ("head", "document")}

    measured: dict[str, list[dict]] = {}
    for _ in range(1 if bench.reader_seconds else bench.rounds):
        for what, measure in [("appends", appending), ("commands", commanding)]:
            for when, figures in measure().items():
                measured.setdefault(f"{what} {when}", []).append(figures)
    result.raw = {"snapshot_seconds": age, **measured}
    for what in ("appends", "commands"):
        before, then, after = (
            median(measured[f"{what} {when}"], "per_second") for when in ("before", "beside a snapshot", "after"))
        result.ratio(f"{what} beside a snapshot {age:.0f} s old, of those before it: {WRITERS} writers", then / before)
        result.ratio(f"the same, of those once it is gone, on a ledger as large: {WRITERS} writers", then / after)
        result.goal(
            f"{what} beside a snapshot {age:.0f} s old at least 0.9 of those once it is gone", f"{then / after:.2f}",
            then / after >= 0.9,
        )  # fmt: skip
    for name, measurements in measured.items():
        result.figures.append(
            f"{name}: {median(measurements, 'per_second'):,.0f}/s  {latencies(measurements, 'p50', 'p99')}  "
            f"pages: head {median(measurements, 'head_pages'):.0f}, documents {median(measurements, 'document_pages'):.0f}"
        )
    result.notes.append(
        "Commands go through HTTP, signing and publication. Writers go on for as long as the snapshot ages; "
        "--reader-seconds 600 makes it as old as that of a long dump."
    )
    result.notes.append(disturbance(*measured.values()) + ".")
    return result
