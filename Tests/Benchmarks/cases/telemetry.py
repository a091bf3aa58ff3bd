"""Reports of clients: outcomes a second in batches, and how late documents are while reports come as fast as they go."""

import base64
import hashlib
import json
import threading
from pathlib import Path

from support.bench import Bench
from support.generators import HERE, paced, wrk
from support.processes import GENERATOR_CORE, SERVER_CORE, Meter, awake, confined
from support.report import Result
from support.rounds import alternate, disturbance, latencies, median
from support.servers import Node, make_document

APP = "com.example.bench"
TARGET = f"/client/v1/apps/{APP}/document"
REPORTS = f"/client/v1/apps/{APP}/reports"
BATCH = 500
GOAL = 20_000
#: Fetches a second that are timed.
FETCHES = 5000
CONNECTIONS = 4
#: Outcomes a second beside them: what wrk waits for an answer comes on top of its pauses.
RATED = 22_500


def run(bench: Bench) -> Result:
    result = Result("telemetry")
    _, ledger = bench.cluster.ledger()
    with Node(ledger, "--telemetry-rate", "0") as node:
        make_document(node.api, APP)
        bodies = write_bodies(node.directory / "bodies", bench.pick(200, 20))
        saturate(bench, result, node, bodies)
        counts = node.api.get(f"/v1/apps/{APP}/telemetry?hours=1").json
        result.raw["this_node"], result.raw["sampling"] = counts["this_node"], counts["sampling"]
        result.goal("reports lost: 0", str(counts["this_node"]["lost"]), counts["this_node"]["lost"] == 0)
    # One core for what is measured, and one for everything else.
    with (
        Node(ledger, "--telemetry-rate", "0", core=SERVER_CORE) as node, awake(SERVER_CORE),
        confined(bench.cluster.pid, GENERATOR_CORE),
    ):  # fmt: skip
        beside(bench, result, node, write_bodies(node.directory / "bodies", bench.pick(200, 20)))
    return result


def write_bodies(file: Path, count: int) -> Path:
    """Batches as gateways send them: each outcome of an install of its own, one in fifty a failure."""
    with file.open("w") as out:
        for batch in range(count):
            outcomes = []
            for number in range(batch * BATCH, (batch + 1) * BATCH):
                digest = hashlib.sha256(str(number).encode()).digest()
                outcome = {
                    "host": f"api{number % 3}.example.com", "outcome": "success", "arm": "candidate" if number % 4 == 0 else "baseline",
                    "install": base64.urlsafe_b64encode(digest[:16]).decode().rstrip("="),
                }  # fmt: skip
                if number % 50 == 0:
                    pin = "sha256/" + base64.b64encode(digest).decode()
                    outcome |= {"outcome": "failure", "reason": "pin_mismatch", "served_spki": [pin]}
                outcomes.append(outcome)
            out.write(json.dumps({"platform": "ios", "document_version": 1, "outcomes": outcomes}, separators=(",", ":")) + "\n")
    return file


def load(node: Node, bodies: Path, seconds: float, per_second: int = 0, **how) -> dict:
    """Batches as fast as they are taken, or so many outcomes a second."""
    pause = CONNECTIONS * BATCH / per_second * 1000 if per_second else 0
    figures = wrk(
        f"http://127.0.0.1:{node.port}{REPORTS}", CONNECTIONS, seconds, script=HERE / "wrk-reports.lua",
        arguments=[str(bodies), f"{pause:g}"], **{"core": None, **how})  # fmt: skip
    assert figures["errors"] == 0, figures
    return figures


def saturate(bench: Bench, result: Result, node: Node, bodies: Path) -> None:
    def measure() -> dict:
        with Meter([node.pid]) as meter:
            figures = load(node, bodies, bench.seconds)
        return figures | meter.figures | {"outcomes_per_second": figures["per_second"] * BATCH}

    measured = alternate({"reports": measure}, bench.rounds)["reports"]
    result.raw["saturated"] = measured
    rate = median(measured, "outcomes_per_second")
    cost = median(measured, "server_cpu_seconds") / median(measured, "requests") / BATCH * 1e6
    result.figures.append(
        f"batches of {BATCH}: {rate:9,.0f} outcomes/s  {cost:.2f} µs CPU per outcome  {latencies(measured, 'p50', 'p99')}")
    result.goal(f"at least {GOAL:,} outcomes a second on two cores", f"{rate:,.0f}", rate >= GOAL)


def beside(bench: Bench, result: Result, node: Node, bodies: Path) -> None:
    """Fetches at a steady rate, with and without reports at full load."""

    def fetches() -> dict:
        figures = paced(node.port, TARGET, 16, FETCHES, bench.seconds)
        assert figures["errors"] == 0, figures
        return figures

    def measure_alone() -> dict:
        with Meter([node.pid]) as meter:
            figures = fetches()
        return figures | meter.figures

    def measure_beside(per_second: int) -> dict:
        reports: list[dict] = []
        # Phones take none of the server's cores.
        thread = threading.Thread(
            target=lambda: reports.append(load(node, bodies, bench.seconds + 2, per_second, core=GENERATOR_CORE)))  # fmt: skip
        with Meter([node.pid]) as meter:
            thread.start()
            figures = fetches()
            thread.join()
        return figures | meter.figures | {"outcomes_per_second": reports[0]["per_second"] * BATCH}

    rated, full = f"beside at least {GOAL:,} outcomes a second", "beside all the outcomes that it takes"
    measured = alternate(
        {"alone": measure_alone, rated: lambda: measure_beside(RATED), full: lambda: measure_beside(0)}, bench.rounds)  # fmt: skip
    what = f"{FETCHES:,} fetches a second"
    result.raw[what] = measured
    for name, measurements in measured.items():
        more = f"  ({median(measurements, 'outcomes_per_second'):,.0f} outcomes/s)" if name != "alone" else ""
        result.figures.append(f"{what}, {name}: {latencies(measurements, 'p50', 'clean_p99', 'p99', 'max')}{more}")
    for name in (rated, full):
        ratio = median(measured[name], "clean_p99_ms") / median(measured["alone"], "clean_p99_ms")
        result.ratio(f"times the p99 of fetches alone: {what}, {name}", ratio)
        result.goal(f"p99 of fetches {name} at most 1.5 times that alone", f"{ratio:.2f}", ratio <= 1.5)
    result.notes.append(
        "Beside fetches, the server has one core, which never rests, with reports or without; who fetches, what sends "
        "reports and PostgreSQL share the other. Requests during which the client was kept from running are left out of "
        "clean_p99, which the goals go by ("
        + ", ".join(f"{median(one, 'clean'):.1%}" for one in measured.values()) + " of them are left). "
        f"{disturbance(*measured.values())}."
    )
