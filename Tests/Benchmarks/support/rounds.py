"""Side by side: the sides of a comparison measured in turn, A B B A, and the medians over the undisturbed rounds."""

import math
import statistics
from collections.abc import Callable

#: A round in which other processes used more than this many cores counts as disturbed.
DISTURBED_CORES = 0.25

Measurement = dict


def alternate(sides: dict[str, Callable[[], Measurement]], rounds: int) -> dict[str, list[Measurement]]:
    """Measures all sides in turn until each has `rounds` undisturbed measurements, at most twice as often.

    Each turn begins with another side: what comes and goes on the machine in such intervals must not meet the same one.
    """
    measured: dict[str, list[Measurement]] = {name: [] for name in sides}
    for turn in range(2 * rounds):
        if turn >= rounds and all(len(undisturbed(list_)) >= rounds for list_ in measured.values()):
            break
        names = list(sides)
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            measured[name].append(sides[name]())
    return measured


def undisturbed(measurements: list[Measurement]) -> list[Measurement]:
    return [one for one in measurements if one.get("other_cores", 0) + one.get("steal_cores", 0) <= DISTURBED_CORES]


def median(measurements: list[Measurement], key: str) -> float:
    """The median of one figure over the undisturbed measurements; over all, where fewer than two are undisturbed."""
    quiet = undisturbed(measurements)
    return statistics.median(one[key] for one in (quiet if len(quiet) >= 2 else measurements))


def latencies(measurements: list[Measurement], *names: str) -> str:
    """Medians of the times of that name, for the report: "p50 0.31 ms  p99 1.20 ms"."""
    return "  ".join(f"{name} {median(measurements, name + '_ms'):.3g} ms" for name in names)


def disturbance(*lists: list[Measurement]) -> str:
    """How quiet the machine was, for the report."""
    everything = [one for list_ in lists for one in list_]
    quiet = len(undisturbed(everything))
    worst = max((one.get("other_cores", 0) + one.get("steal_cores", 0) for one in everything), default=0)
    return f"{quiet} of {len(everything)} measurements undisturbed, at worst {worst:.2f} cores used by others"


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]
