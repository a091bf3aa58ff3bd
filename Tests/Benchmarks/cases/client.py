"""The client library in an app: CPU for a new document beside its signature and digest alone, and for each connection beside a SHA-256."""

import json
import subprocess

from support.bench import Bench
from support.report import Result
from support.rounds import alternate, disturbance, median
from support.tools import tool

DOCUMENT_GOAL_MS = 1.0
CONNECTION_GOAL_US = 5.0


def run(bench: Bench) -> Result:
    result = Result("client")
    measured = alternate({"client": lambda: client(bench.pick("5", "1"))}, bench.rounds)
    result.raw = dict(measured)
    rounds = measured["client"]
    slowest = 0.0
    for what in [name.removesuffix(", judge_ns") for name in rounds[0] if name.endswith("judge_ns")]:
        verify, least, judge, report, digest = (
            median(rounds, f"{what}, {name}_ns") for name in ("verify", "least", "judge", "report", "sha256"))
        slowest = max(slowest, report)
        result.ratio(f"times signature and digest: a new document, {what}", verify / least)
        result.ratio(f"times a bare SHA-256: a connection, {what}", judge / digest)
        result.figures.append(
            f"{what}, {median(rounds, f'{what}, bytes'):,.0f} bytes: {verify / 1000:,.0f} µs for a new document, "
            f"{judge:,.0f} ns for a connection, {report:,.0f} ns with its report"
        )
        if what == "100 hosts":
            result.goal(f"a new document of 100 hosts at most {DOCUMENT_GOAL_MS:g} ms of CPU", f"{verify / 1e6:.2f} ms", verify <= DOCUMENT_GOAL_MS * 1e6)
    result.goal(
        f"a connection, with its report, at most {CONNECTION_GOAL_US:g} µs", f"{slowest / 1000:.2f} µs", slowest <= CONNECTION_GOAL_US * 1000)
    result.notes.append(f"Every host has a candidate behind a gate and a rollout. {disturbance(*measured.values())}.")
    return result


def client(rounds: str) -> dict:
    done = subprocess.run([tool("CLIENT_BENCH"), rounds], capture_output=True, text=True, timeout=600, check=True)
    return {
        f"{document['hosts']:,} hosts, {name}": value
        for document in map(json.loads, done.stdout.splitlines())
        for name, value in document.items()
        if name != "hosts"
    }
