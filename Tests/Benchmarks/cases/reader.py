"""The event store's appends while somebody holds a snapshot, beside the same without: what a long dump costs the writers."""

import subprocess
from contextlib import contextmanager

from support.bench import Bench
from support.processes import Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
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

    @contextmanager
    def nobody(name: str):
        yield

    def appends(database: str, seconds: float) -> dict:
        return run_json([
            append_bench, "--database", database, "--writers", str(WRITERS), "--seconds", str(round(seconds)),
            "--nodes", "1", "--entry-bytes", "500",
        ])  # fmt: skip

    def side(reader):
        def measure() -> dict:
            name, ledger = bench.cluster.ledger()
            with reader(name):
                appends(ledger.connection, age)
                bench.cluster.checkpoint()
                with Meter([bench.cluster.pid], trees=True) as meter:
                    figures = appends(ledger.connection, bench.seconds)
            return figures | meter.figures | {
                "per_second": figures["events_per_second"],
                "head_pages": int(bench.cluster.sql(name, "SELECT pg_relation_size('pinledger.head') / 8192")),
            }  # fmt: skip

        return measure

    measured = alternate({"with a snapshot": side(snapshot), "without": side(nobody)}, bench.rounds)
    result.raw = {"snapshot_seconds": age, **measured}
    ratio = median(measured["with a snapshot"], "per_second") / median(measured["without"], "per_second")
    result.ratio(f"appends beside a snapshot {age:.0f} s old, of those without one: {WRITERS} writers", ratio)
    result.goal(f"appends beside a snapshot {age:.0f} s old at least 0.9 of those without", f"{ratio:.2f}", ratio >= 0.9)
    for name, measurements in measured.items():
        result.figures.append(
            f"{name}: {median(measurements, 'per_second'):,.0f}/s  {latencies(measurements, 'p50', 'p99')}  "
            f"{median(measurements, 'head_pages'):.0f} pages of the head"
        )
    result.notes.append(
        f"Both sides append for {age:.0f} s before they are measured, on a new ledger each time; --reader-seconds 600 makes "
        "the snapshot as old as that of a long dump."
    )
    result.notes.append(disturbance(*measured.values()) + ".")
    return result
