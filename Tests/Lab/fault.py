"""A fault, the alert that it raises, and the cure that the alert's runbook names."""

from collections.abc import Callable
from dataclasses import dataclass

from lab import Lab
from runbook import Section


@dataclass(frozen=True)
class Fault:
    alert: str
    #: The fault in a few words.
    does: str
    force: Callable[[Lab], None]
    #: The sentence of the runbook that the cure follows.
    follows: str
    #: The cure, done: commands come from the text of the runbook.
    cure: Callable[[Lab, Section], None]
    #: The process that the alert names as its instance.
    on: str | None = None
    #: Further labels of the alert.
    labels: tuple[tuple[str, str], ...] = ()
    #: Alerts that the same fault may raise besides.
    companions: frozenset[str] = frozenset()
