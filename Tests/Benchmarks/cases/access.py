"""Asking whether a change is allowed: nanoseconds, beside deciding the same change for an operator who may do everything."""

from support.bench import Bench
from support.report import Result
from support.rounds import alternate, disturbance, median
from support.tools import run_json, tool

GOAL_US = 5.0
# What a request is compared with as a rule; the other figures show the limits.
TYPICAL = "person with 10 grants of 5 apps"


def run(bench: Bench) -> Result:
    result = Result("access")
    rounds = bench.pick("9", "1")
    measured = alternate({"access": lambda: run_json([tool("ACCESS_BENCH"), rounds])}, bench.rounds)
    result.raw = dict(measured)
    figures = measured["access"]
    bare = median(figures, "local operator, decide_ns")
    for name in [name.removesuffix(", decide_ns") for name in figures[0] if name.endswith("decide_ns")]:
        if name == "local operator":
            continue
        decided, asked = (median(figures, f"{name}, {part}_ns") for part in ("decide", "ask"))
        added = decided - bare + asked
        result.ratio(f"times a decision without questions: {name}", decided / bare)
        result.figures.append(
            f"{name}: {asked:,.0f} ns before a request, {decided - bare:,.0f} ns more for a decision of {bare:,.0f} ns")
        if name == TYPICAL:
            result.goal(
                f"at most {GOAL_US:g} \u00b5s for both: {name}", f"{added / 1000:.2f} \u00b5s", added <= GOAL_US * 1000)
    result.notes.append(f"The last grant is the one that allows the change. {disturbance(*measured.values())}.")
    return result
