"""Deployed clients' formats: what is prepared beside native documents, and Wultra's answers, each signed for one client."""

import subprocess

from support.bench import Bench
from support.generators import wrk
from support.processes import SERVER_CORE, Meter
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.servers import Node, fetch

APP = "com.example.bench"
HOST = "api.example.com"
NATIVE = f"/client/v1/apps/{APP}/document"
#: Answers that are the same for all clients.
PREPARED = {
    "dynapins": f"/compat/dynapins/{APP}/v1/pins?domain={HOST}",
    "remote_config": f"/compat/remote-config/{APP}",
    "ssl_pinning": f"/compat/ssl-pinning/{APP}/api/v1/pins.json",
}
WULTRA = f"/compat/wultra/app/init?appName={APP}"
CHALLENGE = {"X-Cert-Pinning-Challenge": "AAECAwQFBgcICQoLDA0ODw=="}
GOAL_PREPARED, GOAL_SIGNED = 0.9, 5000
#: Shared machines run at other speeds for seconds on end: many short measurements meet each of them alike.
SECONDS, ROUNDS = 1.0, 24


def run(bench: Bench) -> Result:
    result = Result("compat")
    _, ledger = bench.cluster.ledger()
    with Node(ledger, core=SERVER_CORE) as node:
        make_clients(node)
        sides = {"native": NATIVE, **PREPARED}
        for name, target in sides.items():
            answer = fetch(node.port, target)
            assert answer.status == 200, str(answer)
            result.raw[f"{name} bytes"] = len(answer.body)
        measured = measure(bench, result, node, "prepared, 64 connections", {name: (one, {}) for name, one in sides.items()})
        for name in PREPARED:
            ratio = median(measured[name], "per_second") / median(measured["native"], "per_second")
            result.ratio(f"of native documents' requests per second: {name}", ratio)
            result.goal(f"{name}: at least {GOAL_PREPARED} of native documents' requests per second", f"{ratio:.2f}", ratio >= GOAL_PREPARED)
    with Node(ledger) as node:
        assert fetch(node.port, WULTRA, CHALLENGE)["X-Cert-Pinning-Signature"]
        measured = measure(bench, result, node, "signed, 64 connections, two cores", {"wultra": (WULTRA, CHALLENGE)})
        rate = median(measured["wultra"], "per_second")
        result.goal(f"wultra: at least {GOAL_SIGNED:,} answers a second on two cores", f"{rate:,.0f}", rate >= GOAL_SIGNED)
    return result


def make_clients(node: Node) -> None:
    """An app with one host, two keys with certificates, and every kind of client that is measured."""
    pins = []
    for name in ("served", "reserve"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
            + ["-keyout", node.directory / f"{name}.key", "-out", node.directory / f"{name}.pem", "-subj", f"/CN={HOST}"]
            + ["-addext", f"subjectAltName=DNS:{HOST}", "-addext", "basicConstraints=critical,CA:FALSE"],
            check=True, capture_output=True,
        )  # fmt: skip
        pins.append({"role": "backup" if pins else "primary", "material": (node.directory / f"{name}.pem").read_text()})
    node.api.must("POST", "/v1/apps", {"app": APP})
    node.api.must("POST", f"/v1/apps/{APP}/hosts", {
        "host": HOST, "baseline": {"source": "document", "mode": "enforce", "pins": pins}, "reason": "bench", "force": True,
    })  # fmt: skip
    for kind in ("dynapins", "wultra", "remote_config", "ssl_pinning"):
        node.api.must("PUT", f"/v1/apps/{APP}/clients/{kind}", {})
        if kind != "remote_config":
            node.api.must("POST", f"/v1/apps/{APP}/clients/{kind}/key", {})


def measure(bench: Bench, result: Result, node: Node, what: str, sides: dict) -> dict:
    def side(target: str, headers: dict):
        def once() -> dict:
            with Meter([node.pid]) as meter:
                figures = wrk(f"http://127.0.0.1:{node.port}{target}", 64, SECONDS, headers)
            assert figures["errors"] == 0, figures
            return figures | meter.figures | {
                "cpu_us_per_request": meter.figures["server_cpu_seconds"] / figures["requests"] * 1e6
            }  # fmt: skip

        return once

    measured = alternate({name: side(*one) for name, one in sides.items()}, bench.pick(ROUNDS, bench.rounds))
    result.raw[what] = measured
    for name, measurements in measured.items():
        result.figures.append(
            f"{what}: {name:13} {median(measurements, 'per_second'):9,.0f}/s  "
            f"{median(measurements, 'cpu_us_per_request'):6.2f} µs CPU per request  " + latencies(measurements, "p50", "p99"))
    result.notes.append(f"{what}: {disturbance(*measured.values())}.")
    return measured
