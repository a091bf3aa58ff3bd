"""Three nodes that append to one ledger at once, beside one node with as many clients in all."""

import threading

from support.admin_load import make_apps, rename_apps
from support.bench import Bench
from support.processes import Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.servers import Node
from support.tools import run_json, tool

WRITERS = 96
GOAL = 0.6


def run(bench: Bench) -> Result:
    result = Result("nodes")
    through_the_store(bench, result)
    through_http(bench, result)
    return result


def through_the_store(bench: Bench, result: Result) -> None:
    """The event store alone: three writers with their own connections in one process."""
    append_bench = tool("APPEND_BENCH")

    def nodes(count: int, writers: int = WRITERS):
        def measure() -> dict:
            name, ledger = bench.cluster.ledger()
            before = int(bench.cluster.sql(name, "SELECT next_position FROM pinledger.head"))
            bench.cluster.checkpoint()
            with Meter([]) as meter:
                figures = run_json([
                    append_bench, "--database", ledger.connection, "--kek-file", ledger.key_file, "--writers", str(writers),
                    "--seconds", str(round(bench.seconds)), "--nodes", str(count), "--entry-bytes", "500",
                ])  # fmt: skip
            # Each writer made its app first.
            check_ledger(bench, name, before + writers, figures["acknowledged"])
            return figures | meter.figures

        return measure

    alone = f"one node with {WRITERS // 3} writers"
    measured = alternate(
        {"one node": nodes(1), alone: nodes(1, WRITERS // 3), "three nodes": nodes(3)}, bench.rounds
    )  # fmt: skip
    what = f"event store, {WRITERS} writers in all"
    result.raw[what] = measured
    ratio = median(measured["three nodes"], "events_per_second") / median(measured["one node"], "events_per_second")
    result.ratio(f"of one node's rate: three nodes, {what}", ratio)
    # More writers make larger batches: each of the three has a third of them.
    same = median(measured["three nodes"], "events_per_second") / median(measured[alone], "events_per_second")
    result.ratio(f"of the rate of {alone}: three nodes with as many each", same)
    for name, measurements in measured.items():
        result.figures.append(
            f"{what}, {name}: {median(measurements, 'events_per_second'):,.0f} events/s  "
            + latencies(measurements, "p50", "p99")
        )
    result.notes.append(f"{what}: {disturbance(*measured.values())}.")
    result.goal(f"three nodes at least {GOAL} of one node's rate ({what}), nothing lost", f"{ratio:.2f}", ratio >= GOAL)
    result.goal(f"the same, {WRITERS // 3} writers on each node and on the one", f"{same:.2f}", same >= GOAL)


def check_ledger(bench: Bench, name: str, before: int, acknowledged: int) -> None:
    """Nothing lost, nothing twice: as many events as were acknowledged, at dense positions."""
    recorded = dense_length(bench, name) - before
    assert recorded == acknowledged, f"{acknowledged} events acknowledged, {recorded} recorded"


def dense_length(bench: Bench, name: str) -> int:
    """How many events there are, at dense positions."""
    head, count, last = bench.cluster.sql(
        name,
        "SELECT (SELECT next_position FROM pinledger.head), count(*), max(position) + 1 FROM pinledger.event",
    ).split("|")
    assert head == count == last, f"the head says {head}, there are {count} events, the last position is {last} - 1"
    return int(head)


def through_http(bench: Bench, result: Result) -> None:
    """The whole program: three processes, each with its clients."""
    clients = 30
    name, ledger = bench.cluster.ledger()
    with Node(ledger) as first, Node(ledger) as second, Node(ledger) as third:
        make_apps(first)

        def nodes(*used: Node):
            def measure() -> dict:
                bench.cluster.checkpoint()
                before = int(bench.cluster.sql(name, "SELECT next_position FROM pinledger.head"))
                done: list[dict] = []
                threads = [
                    threading.Thread(
                        target=lambda node=node: done.append(rename_apps(node, clients // len(used), bench.seconds))
                    )
                    for node in used
                ]
                with Meter([node.pid for node in used]) as meter:
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()
                assert len(done) == len(used), "a load generator failed"
                errors, answered = (sum(one[key] for one in done) for key in ("errors", "answered"))
                recorded = dense_length(bench, name) - before
                # What was under way when the generators stopped may be recorded too: a few lost ones would not show.
                assert answered <= recorded <= answered + errors + clients, f"{answered} answered, {recorded} recorded"
                return meter.figures | {
                    "per_second": sum(one["per_second"] for one in done) * answered / (answered + errors),
                    "p99_ms": max(one["p99_ms"] for one in done), "errors": errors, "answered": answered,
                    "recorded": recorded,
                }  # fmt: skip

            return measure

        # All three run all the time, on both sides: following costs the same.
        measured = alternate({"one node": nodes(first), "three nodes": nodes(first, second, third)}, bench.rounds)
    what = f"admin API, {clients} clients in all"
    result.raw[what] = measured
    ratio = median(measured["three nodes"], "per_second") / median(measured["one node"], "per_second")
    result.ratio(f"of one node's rate: three nodes, {what}", ratio)
    for side, measurements in measured.items():
        result.figures.append(
            f"{what}, {side}: {median(measurements, 'per_second'):,.0f} commands/s  "
            f"p99 {median(measurements, 'p99_ms'):.2f} ms  {sum(one['errors'] for one in measurements)} errors"
        )
    result.notes.append(
        f"{what}: three processes share the cores that one has alone, and each of them signs and follows. "
        f"{disturbance(*measured.values())}."
    )
    result.goal(f"three nodes at least {GOAL} of one node's rate ({what})", f"{ratio:.2f}", ratio >= GOAL)
