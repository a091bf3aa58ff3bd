"""What a connection gets: the rules by which a device decides with a verified document."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from .devices import Device
from .hosts import HostPatterns, host_name, own_patterns
from .rollouts import Rollout, lets_in
from .switches import KillSwitch
from .versions import VersionGate


@dataclass(frozen=True)
class Decision:
    """What a connection gets.

    Attributes:
        outcome: `enforce`, `report_only`, `off`, or `builtin` for the app's own pins.
        reason: The code of the rule that decided.
        arm: `baseline` or `candidate`; none where no policy was reached.
        host: The pattern that stands for the name; none where the document has no such pattern.
        pins: The pins to compare, as `sha256/…`, in the document's order.
    """

    outcome: str
    reason: str
    arm: str | None = None
    host: str | None = None
    pins: tuple[str, ...] = ()


class Evaluator:
    """Decides with the payload of a document that passed verification, evaluated by the server or not."""

    def __init__(self, payload: dict[str, Any]) -> None:
        self._evaluated = "evaluated_from" in payload
        self._hosts = HostPatterns(payload["hosts"])
        self._switches = [KillSwitch(switch) for switch in payload["kill_switches"]]
        self._issued_at: int = payload["iat"]
        self._pins_valid_until: int | None = payload.get("pins_valid_until")
        self._version_gate = VersionGate.of(payload["version_gate"]) if "version_gate" in payload else None
        self._rollout = Rollout(payload["rollout"]) if "rollout" in payload else None
        fallback = payload["fallback"]
        self._builtin_hosts = frozenset(fallback["builtin_pin_hosts"] if fallback["use_builtin_pins"] else ())
        self._host_rollouts = {host["host"]: Rollout(host["rollout"]) for host in payload["hosts"] if "rollout" in host}

    def decide(self, host: str, device: Device, now: int) -> Decision:
        """What a connection to the host gets on this device at this time."""
        name = host_name(host)
        if name is None:
            return Decision("off", "host_unknown")
        # A device whose clock lags behind knows that it is at least as late as when the document was signed.
        now = max(now, self._issued_at)
        entry = self._hosts.find(name)
        if entry is not None:
            reason = self._off_reason({entry["host"]}, device, now)
            return Decision("off", reason, host=entry["host"]) if reason else self._policy_decision(entry, device)
        if self._builtin_hosts.isdisjoint(own_patterns(name)):
            return Decision("off", "host_unknown")
        reason = self._off_reason(own_patterns(name), device, now)
        return Decision("off", reason) if reason else Decision("builtin", "host_builtin")

    def _off_reason(self, patterns: Collection[str], device: Device, now: int) -> str | None:
        """The code of why pinning is off for these patterns, by a kill switch or because the pins ended; none if it is not."""
        if any(switch.holds(patterns, device, now) for switch in self._switches):
            return "kill_switch_engaged"
        if self._pins_valid_until is not None and now >= self._pins_valid_until:
            return "pins_expired"
        return None

    def _policy_decision(self, entry: dict[str, Any], device: Device) -> Decision:
        if self._evaluated:
            return _decision(entry, "baseline", "server_decided", arm=entry["arm"])
        if "candidate" not in entry:
            return _decision(entry, "baseline", "candidate_none")
        if self._version_gate is not None:
            reason = self._version_gate.reason(device.app_version, device.build)
            if reason != "version_gate_in":
                return _decision(entry, "baseline", reason)
        app_reason = self._rollout.reason(device) if self._rollout else "rollout_none"
        if not lets_in(app_reason):
            return _decision(entry, "baseline", app_reason)
        rollout = self._host_rollouts.get(entry["host"])
        if rollout is None:
            return _decision(entry, "candidate", app_reason)
        reason = rollout.reason(device)
        return _decision(entry, "candidate" if lets_in(reason) else "baseline", reason)


def verdict(decision: Decision, chain: Iterable[str]) -> str | None:
    """What to do with a connection whose validated chain has these pins; none where the app's own pins judge it.

    `matched`, `mismatched` (go on, and report it), `refused` (end the connection) or `unpinned`.
    """
    if decision.outcome == "builtin":
        return None
    if decision.outcome == "off":
        return "unpinned"
    if not set(decision.pins).isdisjoint(chain):
        return "matched"
    return "refused" if decision.outcome == "enforce" else "mismatched"


def _decision(entry: dict[str, Any], member: str, reason: str, arm: str | None = None) -> Decision:
    """The decision for a host that gets the policy in this member, which is the arm unless another is named."""
    policy = entry[member]
    arm = arm or member
    if policy["source"] == "builtin":
        return Decision("builtin", reason, arm, entry["host"])
    pins = tuple(f"{pin['alg']}/{pin['spki']}" for pin in policy["pins"]) if policy["mode"] != "off" else ()
    return Decision(policy["mode"], reason, arm, entry["host"], pins)
