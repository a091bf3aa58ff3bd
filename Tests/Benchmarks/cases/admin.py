"""Commands through the admin API from 32 clients, beside the bare commit of the same database under the same load."""

import threading

from support.admin_load import make_apps, rename_apps
from support.bench import Bench
from support.pgbench import PgBench
from support.processes import Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.servers import Node

CLIENTS = 32


def run(bench: Bench) -> Result:
    result = Result("admin")
    _, ledger = bench.cluster.ledger()
    commits = PgBench(bench.cluster)
    with Node(ledger) as node:
        make_apps(node)

        rates: list[float] = []

        def commands() -> dict:
            bench.cluster.checkpoint()
            before = node.api.position()
            with Meter([node.pid]) as meter:
                figures = rename_apps(node, CLIENTS, bench.seconds)
            assert figures["errors"] == 0, figures
            rates.append(figures["per_second"])
            recorded = node.api.position() - before
            # What was under way when the generator stopped is recorded too, without having been counted.
            assert figures["answered"] <= recorded <= figures["answered"] + CLIENTS, (figures, recorded)
            return figures | meter.figures | {
                "cpu_us_per_request": meter.figures["server_cpu_seconds"] / figures["requests"] * 1e6
            }  # fmt: skip

        def bare_commits(per_second: float | None = None) -> dict:
            bench.cluster.checkpoint()
            with Meter([]) as meter:
                figures = commits.commit(CLIENTS, bench.seconds, per_second)
            return figures | meter.figures

        def commits_beside_commands() -> dict:
            """A commit every few milliseconds, while 32 clients send commands."""
            bench.cluster.checkpoint()
            done: list[dict] = []
            load = threading.Thread(target=lambda: done.append(rename_apps(node, CLIENTS, bench.seconds + 1)))
            with Meter([]) as meter:
                load.start()
                figures = commits.commit(1, bench.seconds, 200)
                load.join()
            assert done, "the load generator failed"
            return figures | meter.figures

        commands()  # The first second goes to connections and caches.
        measured = alternate({
            "commands": commands,
            "bare commits, 32 clients": bare_commits,
            "bare commits at the commands' rate": lambda: bare_commits(rates[-1]),
            "a bare commit beside the commands": commits_beside_commands,
        }, bench.rounds)  # fmt: skip
    result.raw = measured
    p99 = median(measured["commands"], "p99_ms")
    for name, measurements in measured.items():
        if name != "commands":
            result.ratio(f"times the p99 of {name}", p99 / median(measurements, "p99_ms"))
        result.figures.append(
            f"{name}: {median(measurements, 'per_second'):,.0f}/s  " + latencies(measurements, "p50", "p99", "max")
        )
    cpu = median(measured["commands"], "cpu_us_per_request")
    result.figures.append(f"commands: {cpu:.0f} µs CPU of the server per command")
    # "The same load" can be read in two ways; both are judged.
    for side, words in [
        ("a bare commit beside the commands", "beside the commands"), ("bare commits, 32 clients", "(32 clients each)"),
    ]:  # fmt: skip
        ratio = p99 / median(measured[side], "p99_ms")
        result.goal(f"p99 of a command at most 2 times that of a bare commit {words}", f"{ratio:.2f}", ratio <= 2)
    result.notes.append(
        "Commands go through HTTP, authorization, decision, append, signing and publication; the answer comes when the "
        "new document is served. All times run from sending, those of paced commits too."
    )
    result.notes.append(disturbance(*measured.values()) + ".")
    return result
