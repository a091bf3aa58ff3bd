"""Documents over HTTP/1.1: Pinledger and nginx on the same core, one after the other, with the same bytes."""

from pinledger import Answer

from support.bench import Bench
from support.generators import paced, wrk
from support.processes import SERVER_CORE, Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.servers import Nginx, Node, fetch, make_document

APP = "com.example.bench"
TARGET = f"/client/v1/apps/{APP}/document"


def run(bench: Bench) -> Result:
    result = Result("fetch")
    _, ledger = bench.cluster.ledger()
    with Node(ledger, core=SERVER_CORE) as node:
        document = make_document(node.api, APP)
        with Nginx(TARGET, document, core=SERVER_CORE) as nginx:
            servers = {"pinledger": (node.port, node.pid), "nginx": (nginx.port, nginx.worker)}
            tags = {name: check(port, document) for name, (port, _) in servers.items()}
            result.raw["document_bytes"] = len(document.body)
            for connections in (32, 64):
                for status in (200, 304):
                    saturate(bench, result, servers, tags, connections, status)
            pace(bench, result, servers)
    return result


def check(port: int, document: Answer, tls: bool = False) -> str:
    """Makes sure that this server answers with these bytes, and 304 to who has them; the entity tag."""
    answer = fetch(port, TARGET, tls=tls)
    assert (answer.status, answer.body) == (200, document.body), str(answer)
    assert not answer["Content-Encoding"], "the bytes are to be compared uncompressed"
    tag = answer["ETag"]
    assert fetch(port, TARGET, {"If-None-Match": tag}, tls=tls).status == 304
    return tag


def saturate(bench, result: Result, servers, tags, connections: int, status: int) -> None:
    """As fast as it goes, 200 or 304."""

    def side(name: str):
        port, pid = servers[name]
        headers = {"If-None-Match": tags[name]} if status == 304 else None

        def measure() -> dict:
            with Meter([pid]) as meter:
                figures = wrk(f"http://127.0.0.1:{port}{TARGET}", connections, bench.seconds, headers)
            assert figures["errors"] == 0, figures
            is_short = figures["bytes_per_answer"] < result.raw["document_bytes"]
            assert is_short == (status == 304), f"answers of {figures['bytes_per_answer']} bytes are no {status}"
            return figures | meter.figures | {
                "cpu_us_per_request": meter.figures["server_cpu_seconds"] / figures["requests"] * 1e6
            }  # fmt: skip

        return measure

    measured = alternate({name: side(name) for name in servers}, bench.rounds)
    what = f"{status}, {connections} connections"
    result.raw[what] = measured
    compare(result, what, measured, {200: 0.75, 304: 0.6}[status])


def compare(result: Result, what: str, measured: dict, goal: float) -> None:
    """Ratios of requests per second and of CPU per request, and what they are made of."""
    ours, theirs = measured["pinledger"], measured["nginx"]
    rate = median(ours, "per_second") / median(theirs, "per_second")
    cpu = median(theirs, "cpu_us_per_request") / median(ours, "cpu_us_per_request")
    result.ratio(f"of nginx's requests per second: {what}", rate)
    result.ratio(f"of nginx's requests per CPU second: {what}", cpu)
    for name, measurements in measured.items():
        busy = median(measurements, "core0_busy")
        result.figures.append(
            f"{what}: {name:9} {median(measurements, 'per_second'):9,.0f}/s  "
            f"{median(measurements, 'cpu_us_per_request'):6.2f} µs CPU per request  "
            # h2load's summary has no percentiles.
            + (latencies(measurements, "p50", "p99") + "  " if "p50_ms" in measurements[0] else "")
            + f"server's core {busy:.0%} busy, generator's {median(measurements, 'core1_busy'):.0%}"
        )
        if busy < 0.9:
            result.notes.append(
                f"{what}: {name}'s core is not saturated ({busy:.0%}): the generator is the limit, and the ratio per "
                "CPU second says more than the one per second."
            )
    result.notes.append(f"{what}: {disturbance(ours, theirs)}.")
    result.goal(f"{what}: at least {goal} of nginx's requests per second", f"{rate:.2f}", rate >= goal)


def pace(bench: Bench, result: Result, servers: dict) -> None:
    """5,000 requests a second, whatever happens: how late are the answers?"""

    def side(name: str):
        port, pid = servers[name]

        def measure() -> dict:
            with Meter([pid]) as meter:
                figures = paced(port, TARGET, 64, 5000, bench.seconds)
            assert figures["errors"] == 0, figures
            return figures | meter.figures

        return measure

    measured = alternate({name: side(name) for name in servers}, bench.rounds)
    what = "5,000 requests per second, 64 connections"
    result.raw[what] = measured
    p99 = median(measured["pinledger"], "p99_ms")
    result.ratio(f"times nginx's p99: {what}", p99 / median(measured["nginx"], "p99_ms"))
    for name, measurements in measured.items():
        result.figures.append(
            f"{what}: {name:9} {latencies(measurements, 'p50', 'p99', 'p999', 'max')}  "
            f"(the client sent at most {median(measurements, 'sent_late_ms'):.2f} ms late)"
        )
    result.notes.append(
        f"{what}: an open loop; times run from the moment a request was due, so a stall counts for all that were due "
        f"in it (no coordinated omission). {disturbance(*measured.values())}."
    )
    result.goal(f"p99 at most 5 ms under {what}", f"{p99:.2f} ms", p99 <= 5)
