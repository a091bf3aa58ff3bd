"""One fault after the other: forced, seen by Prometheus, cured as its runbook says, and seen to end."""

import textwrap
import time
import traceback
from dataclasses import dataclass, field

import shortening
from fault import Fault
from lab import RULES, Lab
from prometheus import Alert
from report import Impossible
from runbook import Section, plain

ALERTS = shortening.alerts(RULES)


@dataclass
class Row:
    fault: Fault
    fired: float | None = None
    ended: float | None = None
    companions: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    #: The reason why the fault cannot be forced here.
    skipped: str | None = None
    #: Says that nothing fires any more: the next fault finds the lab as this one did.
    is_cured: bool = False

    @property
    def is_good(self) -> bool:
        return self.is_cured and not self.faults

    @property
    def verdict(self) -> str:
        return "skipped" if self.skipped else "pass" if self.is_good else "FAIL"

    def __str__(self) -> str:
        seconds = [f"{each:6.0f} s" if each is not None else "      –  " for each in (self.fired, self.ended)]
        lines = [f"{self.fault.alert:31}{seconds[0]}{seconds[1]}  {self.verdict}"]
        lines += [f"    not possible here: {self.skipped}"] if self.skipped else []
        lines += [f"    ! {each}" for each in self.faults]
        return "\n".join(lines)

    @staticmethod
    def table(rows: list["Row"]) -> str:
        """For people: what was done, after how many seconds the alert fired, the cure, and after how many it ended."""
        lines = [f"{'alert':31}{'fired':>8}{'ended':>8}  fault, and cure by the runbook", "-" * 140]
        for row in rows:
            fault = row.fault
            texts = textwrap.wrap(f"{fault.does}; cure: {plain(fault.follows)}", 92)
            if row.companions:
                texts += textwrap.wrap(f"beside it: {', '.join(sorted(row.companions))}", 92)
            first, *rest = str(row).splitlines()
            lines.append(f"{first}  {texts[0]}")
            lines += [f"{'':55}{text}" for text in texts[1:]] + rest
        return "\n".join(lines)


def conduct(lab: Lab, fault: Fault) -> Row:
    row = Row(fault)
    section = Section.of(fault.alert)
    began = time.time()
    try:
        assert section.says(fault.follows), f"the runbook does not say: {fault.follows}"
        fault.force(lab)
        labels = dict(fault.labels) | ({"instance": lab.services[fault.on].instance} if fault.on else {})
        alert = lab.prometheus.await_alert(fault.alert, labels)
        row.fired = time.time() - began
        row.faults += promises(alert)
    except Impossible as why:
        row.skipped, row.is_cured = str(why), True
        return row
    except Exception as error:
        row.faults.append(described(error))
    cured = time.time()
    try:
        fault.cure(lab, section)
        lab.prometheus.await_end(fault.alert)
        row.ended = time.time() - cured
        lab.prometheus.await_quiet()
        row.is_cured = True
    except Exception as error:
        row.faults.append(described(error))
    row.companions = lab.prometheus.fired(began) - {fault.alert}
    if unexpected := row.companions - fault.companions:
        row.faults.append(f"fired beside it, and are not expected: {', '.join(sorted(unexpected))}")
    return row


def promises(alert: Alert) -> list[str]:
    """The promises of the rule that the alert does not keep: labels, and values that its text names."""
    rule = ALERTS[alert.name]
    faults = [f"the label {name} is {alert.labels.get(name)}" for name, value in rule["labels"].items() if alert.labels.get(name) != value]
    if "<no value>" in alert.summary or "<error" in alert.summary or ":  " in alert.summary:
        faults.append(f"the text lacks a value: {alert.summary}")
    return faults


def described(error: Exception) -> str:
    traceback.print_exc()
    return f"{type(error).__name__}: {error}"[:600]
