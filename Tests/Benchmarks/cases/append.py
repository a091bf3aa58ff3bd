"""The event store's appends, beside pgbench that inserts rows of the same size into the same cluster."""

from support.bench import Bench
from support.pgbench import PgBench
from support.processes import Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.tools import run_json, tool

ENTRY_BYTES = 500


def run(bench: Bench) -> Result:
    result = Result("append")
    append_bench = tool("APPEND_BENCH")
    pgbench = PgBench(bench.cluster)
    # How long an entry really is, with what the store adds to the payload.
    entry_bytes = ENTRY_BYTES

    def store(writers: int, *, has_key: bool = True):
        def measure() -> dict:
            nonlocal entry_bytes
            name, ledger = bench.cluster.ledger()
            if not has_key:
                bench.cluster.sql(name, "UPDATE pinledger.head SET mac = NULL")
            bench.cluster.checkpoint()
            with Meter([bench.cluster.pid], trees=True) as meter:
                figures = run_json([
                    append_bench, "--database", ledger.connection, "--writers", str(writers),
                    "--seconds", str(round(bench.seconds)), "--nodes", "1", "--entry-bytes", str(ENTRY_BYTES),
                    *(["--kek-file", ledger.key_file] if has_key else []),
                ])  # fmt: skip
            entry_bytes = round(figures["bytes_per_entry"])
            return figures | meter.figures | {
                "per_second": figures["events_per_second"],
                "database_cpu_us": meter.figures["server_cpu_seconds"] / figures["events"] * 1e6,
            }  # fmt: skip

        return measure

    def rows(table: str, clients: int):
        def measure() -> dict:
            bench.cluster.checkpoint()
            with Meter([bench.cluster.pid], trees=True) as meter:
                figures = pgbench.insert(table, clients, bench.seconds, entry_bytes)
            return figures | meter.figures | {
                "database_cpu_us": meter.figures["server_cpu_seconds"] / figures["requests"] * 1e6
            }  # fmt: skip

        return measure

    def bare() -> dict:
        bench.cluster.checkpoint()
        with Meter([bench.cluster.pid], trees=True) as meter:
            figures = pgbench.commit(32, bench.seconds)
        return figures | meter.figures | {
            "database_cpu_us": meter.figures["server_cpu_seconds"] / figures["requests"] * 1e6
        }  # fmt: skip

    sides = {
        "event store, 32 writers": store(32),
        "event store, 32 writers, batches without MACs and signatures": store(32, has_key=False),
        "pgbench, 32 clients": rows("plain", 32),
        "pgbench, 32 clients, the ledger's indexes": rows("indexed", 32),
        "event store, 256 writers": store(256),
        "pgbench, 256 clients": rows("plain", 256),
        "pgbench, 256 clients, the ledger's indexes": rows("indexed", 256),
        "bare commit, 32 clients": bare,
    }
    measured = alternate(sides, bench.rounds)
    result.raw = {"entry_bytes": entry_bytes, **measured}

    def rate(side: str) -> float:
        return median(measured[side], "per_second")

    # With 256 clients PostgreSQL itself is slower than with 32; both readings are given, the goal is the first.
    for writers, goal in ((32, 1.0), (256, 1.5)):
        ours = rate(f"event store, {writers} writers")
        for clients in sorted({32, writers}):
            ratio = ours / rate(f"pgbench, {clients} clients")
            indexed = ours / rate(f"pgbench, {clients} clients, the ledger's indexes")
            result.ratio(f"of pgbench with {clients} clients: event store with {writers} writers", ratio)
            result.ratio(f"the same, pgbench's table with the ledger's indexes: {writers} writers", indexed)
            if clients == 32:
                result.goal(
                    f"event store with {writers} writers at least {goal} of pgbench with 32 clients", f"{ratio:.2f}",
                    ratio >= goal,
                )  # fmt: skip
    macs = rate("event store, 32 writers") / rate("event store, 32 writers, batches without MACs and signatures")
    result.ratio("event store with 32 writers, of the same with batches without MACs and signatures", macs)
    result.goal("batches with MACs and signatures at least 0.95 of batches without", f"{macs:.2f}", macs >= 0.95)
    for side, measurements in measured.items():
        result.figures.append(
            f"{side}: {rate(side):,.0f}/s  {latencies(measurements, 'p50', 'p99')}  "
            f"{median(measurements, 'database_cpu_us'):.1f} µs CPU of PostgreSQL per row"
        )
    result.notes.append(
        f"Rows with {entry_bytes} bytes of entry. The event store hashes, and keeps the tree, a row per stream and one "
        "per idempotency key; pgbench only inserts."
    )
    result.notes.append(
        "The event store commits many commands in one transaction, pgbench one row in each: it is mainly this that the "
        "ratios show."
    )
    result.notes.append(disturbance(*measured.values()) + ".")
    return result
