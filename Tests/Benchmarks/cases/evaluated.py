"""Evaluated documents over HTTP/1.1 beside plain ones, from the same node with the same app."""

from pinledger import pin_of

from support.bench import Bench
from support.generators import wrk
from support.processes import SERVER_CORE, Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.servers import Node, fetch, make_document

APP = "com.example.bench"
PLAIN = f"/client/v1/apps/{APP}/document"
DECIDED = f"/client/v1/apps/{APP}/evaluated?device_id=6f9619ff-8b86-d011-b42d-00c04fc964ff&app_version=2.4.1&country=DE"
GOAL = 0.5


def run(bench: Bench) -> Result:
    result = Result("evaluated")
    _, ledger = bench.cluster.ledger()
    with Node(ledger, core=SERVER_CORE) as node:
        make_document(node.api, APP)
        for host in [host["host"] for host in node.api.payload(APP)["hosts"]][:2]:
            node.api.must("POST", f"/v1/apps/{APP}/hosts/{host}/candidate", {
                "mode": "enforce", "pins": [{"pin": pin_of(f"{host} next"), "role": "backup"}],
                "rollout": {"basis_points": 5000},
            })  # fmt: skip
        node.api.must("PATCH", f"/v1/apps/{APP}", {
            "rollout": {"basis_points": 9000}, "version_gate": {"minimum": "2.0"},
        })  # fmt: skip
        tags = {}
        for target in (PLAIN, DECIDED):
            answer = fetch(node.port, target)
            assert answer.status == 200, str(answer)
            result.raw[f"{target} bytes"] = len(answer.body)
            tags[target] = answer["ETag"]
        for status in (200, 304):
            compare(bench, result, node, tags, status)
    return result


def compare(bench: Bench, result: Result, node: Node, tags: dict, status: int) -> None:
    def side(target: str):
        headers = {"If-None-Match": tags[target]} if status == 304 else None

        def measure() -> dict:
            with Meter([node.pid]) as meter:
                figures = wrk(f"http://127.0.0.1:{node.port}{target}", 64, bench.seconds, headers)
            assert figures["errors"] == 0, figures
            return figures | meter.figures | {
                "cpu_us_per_request": meter.figures["server_cpu_seconds"] / figures["requests"] * 1e6
            }  # fmt: skip

        return measure

    measured = alternate({"plain": side(PLAIN), "evaluated": side(DECIDED)}, bench.rounds)
    what = f"{status}, 64 connections"
    result.raw[what] = measured
    ratio = median(measured["evaluated"], "per_second") / median(measured["plain"], "per_second")
    result.ratio(f"of plain documents' requests per second: {what}", ratio)
    for name, measurements in measured.items():
        result.figures.append(
            f"{what}: {name:9} {median(measurements, 'per_second'):9,.0f}/s  "
            f"{median(measurements, 'cpu_us_per_request'):6.2f} µs CPU per request  "
            + latencies(measurements, "p50", "p99")
        )
    result.notes.append(f"{what}: {disturbance(*measured.values())}.")
    result.goal(f"{what}: at least {GOAL} of plain documents' requests per second", f"{ratio:.2f}", ratio >= GOAL)
