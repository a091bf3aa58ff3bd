"""Deciding in the process: nanoseconds per host, beside a bare SHA-256 of the message that a lot is drawn from."""

import json
import subprocess

from support.bench import Bench
from support.report import Result
from support.rounds import alternate, disturbance, median
from support.tools import tool

GOAL_US = 2.0


def run(bench: Bench) -> Result:
    result = Result("evaluate")
    measured = alternate({"evaluate": lambda: evaluate(bench.pick("5", "1"))}, bench.rounds)
    result.raw = dict(measured)
    rounds = measured["evaluate"]
    worst = 0.0
    for name in [name for name in rounds[0] if name.endswith("decide_ns")]:
        what = name.removesuffix(", decide_ns")
        one, every = median(rounds, name), median(rounds, f"{what}, decide_all_ns")
        worst = max(worst, one, every)
        result.ratio(f"times a bare SHA-256: {what}", one / median(rounds, f"{what}, sha256_ns"))
        result.figures.append(
            f"{what}: {one:,.0f} ns for one host, {every:,.0f} ns per host for all of them, "
            f"{median(rounds, f'{what}, explain_ns'):,.0f} ns with a trace"
        )
    result.figures.append(
        f"a device's facts take {median(rounds, 'device_ns'):,.0f} ns to prepare, "
        f"a document {median(rounds, 'prepare_ns_per_host'):,.0f} ns per host, once each"
    )
    result.notes.append(
        f"Every host has a candidate behind a gate and two rollouts. {disturbance(*measured.values())}."
    )
    result.goal(f"at most {GOAL_US:g} µs per host", f"{worst / 1000:.2f} µs", worst <= GOAL_US * 1000)
    return result


def evaluate(rounds: str) -> dict:
    done = subprocess.run([tool("EVALUATE_BENCH"), rounds], capture_output=True, text=True, timeout=300, check=True)
    *documents, figures = map(json.loads, done.stdout.splitlines())
    for document in documents:
        what = f"{document['hosts']:,} hosts" + (" and lists of ids" if document["lists"] else "")
        figures |= {f"{what}, {name}": value for name, value in document.items() if name.endswith("_ns")}
    return figures
