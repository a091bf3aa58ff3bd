"""Versions of apps (`appver/v1`), and ranges of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_LONGEST = 128
_VERSION = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)

VersionKey = tuple[tuple[int, ...], int, tuple[tuple[int, int, str], ...]]


def version_key(text: str) -> VersionKey | None:
    """What to compare a version by; none for a text that is not a version."""
    if len(text) > _LONGEST or not (match := _VERSION.fullmatch(text)):
        return None
    groups = [int(group) for group in match[1].split(".")]
    core = tuple(groups + [0] * (4 - len(groups)))
    if match[2] is None:
        return (core, 1, ())
    # Numbers come before texts, and a pre-release comes before the version without one.
    return (core, 0, tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[2].split(".")))


def compare_versions(first: str, second: str) -> int | None:
    """1, 0 or -1 as the first version is above, equal to or below the second; none if one of them is no version."""
    first_key, second_key = version_key(first), version_key(second)
    if first_key is None or second_key is None:
        return None
    return (first_key > second_key) - (first_key < second_key)


def reported_version(text: str) -> str | None:
    """A version as reports have it: its first three groups, without leading zeros; none for a text that is not a version."""
    key = version_key(text)
    return None if key is None else ".".join(str(group) for group in key[0][:3])


@dataclass(frozen=True)
class VersionGate:
    """A range of app versions and builds."""

    minimum: VersionKey | None
    maximum: VersionKey | None
    excluded: Sequence[VersionKey]
    minimum_build: int | None

    @classmethod
    def of(cls, gate: dict[str, Any]) -> "VersionGate":
        """The range that a `version_gate`, or the `versions` of a kill switch, stands for."""
        return cls(
            minimum=version_key(gate["minimum"]) if "minimum" in gate else None,
            maximum=version_key(gate["maximum"]) if "maximum" in gate else None,
            excluded=[key for text in gate.get("excluded", []) if (key := version_key(text)) is not None],
            minimum_build=gate.get("minimum_build"),
        )

    def reason(self, version: str | None, build: int | None) -> str:
        """`version_gate_in` for a version and build inside the range, otherwise the code of why they are outside.

        The range asks only for what it limits: a range of builds does not need a version.
        """
        return self._version_reason(version) or self._build_reason(build) or "version_gate_in"

    def admits(self, version: str | None, build: int | None) -> bool:
        """Whether the version and build are inside the range."""
        return self.reason(version, build) == "version_gate_in"

    def _version_reason(self, version: str | None) -> str | None:
        if self.minimum is None and self.maximum is None and not self.excluded:
            return None
        if version is None:
            return "version_unknown"
        key = version_key(version)
        if key is None:
            return "version_invalid"
        if self.minimum is not None and key < self.minimum:
            return "version_below_minimum"
        if self.maximum is not None and key > self.maximum:
            return "version_above_maximum"
        return "version_excluded" if key in self.excluded else None

    def _build_reason(self, build: int | None) -> str | None:
        if self.minimum_build is None:
            return None
        if build is None:
            return "build_unknown"
        return "build_below_minimum" if build < self.minimum_build else None
