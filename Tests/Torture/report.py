"""The results of an experiment, and the table of all of them."""

import json
import math
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path


class Impossible(Exception):
    """The experiment cannot be done on this machine, by this user; the message says why. Not a failure."""


class MissingFeature(Exception):
    """The program lacks the feature that the experiment tests."""


@dataclass
class Check:
    """One criterion and its result."""

    name: str
    is_met: bool
    text: str


@dataclass
class Measurement:
    """The results of one run of an experiment."""

    figures: dict = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    #: The figures that matter, in a few words.
    headline: str = ""

    def expect(self, name: str, is_met: bool, text: str) -> None:
        """A criterion of the experiment. Its name is what a broken variant is expected to violate."""
        self.checks.append(Check(name, bool(is_met), text))

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if not check.is_met]


@dataclass
class Experiment:
    """A fault, what has to hold in spite of it, and something broken that has to be noticed."""

    name: str
    does: str
    #: What is broken in the variant.
    variant: str
    #: Criteria of which the variant must fail one.
    seen_by: set[str]
    measure: Callable[["Stage", bool], Measurement]  # noqa: F821
    #: Options or commands without which the program cannot be measured.
    needs: tuple[str, ...] = ()
    #: Criteria that the variant must meet nevertheless: it is to be broken in one way, and not in all.
    met_by: frozenset[str] | set[str] = frozenset()
    #: Debian packages of the full form.
    packages: tuple[str, ...] = ()


@dataclass
class Row:
    experiment: Experiment
    measurement: Measurement | None = None
    broken: Measurement | None = None
    #: Why there is no measurement.
    skipped: str | None = None
    #: What went wrong outside the criteria.
    error: str | None = None
    broken_error: str | None = None
    seconds: float = 0

    @property
    def is_passed(self) -> bool:
        return self.measurement is not None and self.error is None and not self.measurement.failures

    @property
    def is_seen(self) -> bool:
        if self.broken is None:
            return False
        failed = {check.name for check in self.broken.failures}
        return bool(failed & self.experiment.seen_by) and not failed & self.experiment.met_by

    @property
    def verdict(self) -> str:
        return "skipped" if self.skipped else "pass" if self.is_passed else "FAIL"

    @property
    def is_good(self) -> bool:
        return self.skipped is not None or (self.is_passed and self.is_seen)

    @property
    def json(self) -> dict:
        def of(measurement: Measurement | None) -> dict | None:
            if measurement is None:
                return None
            checks = [{"name": each.name, "met": each.is_met, "text": each.text} for each in measurement.checks]
            return {"headline": measurement.headline, "figures": measurement.figures, "checks": checks}

        return {
            "experiment": self.experiment.name, "does": self.experiment.does, "verdict": self.verdict,
            "skipped": self.skipped, "error": self.error, "measured": of(self.measurement),
            "variant": self.experiment.variant, "variant_seen": self.is_seen, "variant_error": self.broken_error,
            "broken": of(self.broken), "seconds": round(self.seconds, 2),
        }  # fmt: skip


def table(rows: list[Row]) -> str:
    """For people: each experiment, its figures and verdict; below it its broken variant and whether it was seen."""
    columns = (7, 42, 62, 8)
    lines: list[str] = []

    def add(*cells: str) -> None:
        wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, columns, strict=True)]
        for index in range(max(map(len, wrapped))):
            parts = [
                (lines_[index] if index < len(lines_) else "").ljust(width)
                for lines_, width in zip(wrapped, columns, strict=True)
            ]
            lines.append("  ".join(parts).rstrip())

    add("", "experiment, and its broken variant", "figures", "")
    lines.append("  ".join("-" * width for width in columns))
    for row in rows:
        if row.skipped:
            add(row.experiment.name, row.experiment.does, row.skipped, row.verdict)
            continue
        headline = row.measurement.headline if row.measurement else ""
        add(row.experiment.name, row.experiment.does, headline or row.error or "", row.verdict)
        for failure in row.measurement.failures if row.measurement else []:
            add("", "", f"! {failure.name}: {failure.text}", "")
        if row.error and headline:
            add("", "", f"! {row.error}", "")
        found = row.broken.headline if row.broken else (row.broken_error or "not run")
        if row.is_seen and row.broken and not found:
            found = row.broken.failures[0].text
        add("", f"broken: {row.experiment.variant}", found, "seen" if row.is_seen else "NOT SEEN")
        for failure in row.broken.failures if row.broken else []:
            if failure.name in row.experiment.met_by:
                add("", "", f"! {failure.name}: {failure.text}", "")
    return "\n".join(lines)


def write_json(path: Path, rows: list[Row], **more) -> None:
    report = {**more, "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    report["experiments"] = [row.json for row in rows]
    path.write_text(json.dumps(report, indent=1, default=str) + "\n")


# MARK: Figures

def percentile(values: Iterable[float], share: float) -> float:
    """The value that so large a share of all does not exceed; NaN of an empty list."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def milliseconds(seconds: float) -> str:
    return "–" if math.isnan(seconds) else f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"
