"""Documents over TLS, HTTP/1.1 and HTTP/2: Pinledger and nginx on the same core, with one certificate."""

from cases.fetch import APP, TARGET, check, compare
from support.bench import Bench
from support.generators import h2load, wrk
from support.processes import SERVER_CORE, Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.servers import Certificate, Nginx, Node, make_document

GOALS = {200: 0.75, 304: 0.6}
CLIENTS, STREAMS = 32, 10


def run(bench: Bench) -> Result:
    result = Result("tls")
    certificate = Certificate.make(bench.directory)
    _, ledger = bench.cluster.ledger()
    with Node(ledger) as plain:
        document = make_document(plain.api, APP)
    result.raw["document_bytes"] = len(document.body)
    with (
        Node(ledger, core=SERVER_CORE, certificate=certificate) as node,
        Nginx(TARGET, document, core=SERVER_CORE, certificate=certificate) as nginx,
    ):
        servers = {"pinledger": (node.url, node.pid), "nginx": (nginx.url, nginx.worker)}
        tags = {
            name: check(server.port, document, tls=True) for name, server in (("pinledger", node), ("nginx", nginx))
        }
        for status in (200, 304):
            headers = {name: {"If-None-Match": tag} if status == 304 else None for name, tag in tags.items()}

            def http1(name: str, url: str, headers=headers) -> dict:
                return wrk(url, CLIENTS, bench.seconds, headers[name])

            def http2(name: str, url: str, headers=headers, status=status) -> dict:
                figures = h2load(url, CLIENTS, bench.seconds, streams=STREAMS, headers=headers[name])
                assert figures["protocol"] == "h2", figures
                assert figures["answers_304"] == (figures["requests"] if status == 304 else 0), figures
                return figures

            for what, load in [
                (f"{status}, HTTPS/1.1, {CLIENTS} connections", http1),
                (f"{status}, HTTP/2, {CLIENTS} connections of {STREAMS} streams", http2),
            ]:
                measured = alternate({name: side(load, name, servers[name]) for name in servers}, bench.rounds)
                result.raw[what] = measured
                compare(result, what, measured, GOALS[status])
        for protocol in ("HTTPS/1.1", "HTTP/2"):
            pace(bench, result, servers, protocol)
    return result


def side(load, name: str, server: tuple[str, int]):
    url, pid = server

    def measure() -> dict:
        with Meter([pid]) as meter:
            figures = load(name, url + TARGET)
        assert figures["errors"] == 0, figures
        return figures | meter.figures | {
            "cpu_us_per_request": meter.figures["server_cpu_seconds"] / figures["requests"] * 1e6
        }  # fmt: skip

    return measure


def pace(bench: Bench, result: Result, servers: dict, protocol: str) -> None:
    """5,000 requests a second over 50 connections, by h2load's own pacing."""

    def load(_: str, url: str) -> dict:
        return h2load(url, 50, bench.seconds, http1=protocol != "HTTP/2", per_second=5000)

    measured = alternate({name: side(load, name, servers[name]) for name in servers}, bench.rounds)
    what = f"5,000 requests per second, {protocol}, 50 connections"
    result.raw[what] = measured
    p99 = median(measured["pinledger"], "p99_ms")
    result.ratio(f"times nginx's p99: {what}", p99 / median(measured["nginx"], "p99_ms"))
    for name, measurements in measured.items():
        result.figures.append(
            f"{what}: {name:9} {latencies(measurements, 'p50', 'p99', 'max')}  "
            f"({median(measurements, 'per_second'):,.0f}/s reached)"
        )
    result.notes.append(
        f"{what}: h2load counts from when it sent a request, not from when it was due: what a stall holds back is sent "
        f"late and not counted as late (coordinated omission). {disturbance(*measured.values())}."
    )
    result.goal(f"p99 at most 5 ms under {what}", f"{p99:.2f} ms", p99 <= 5)
