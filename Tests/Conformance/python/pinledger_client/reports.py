"""Reports to the byte: what a client tells of its connections, how it signs that, and which installs tell at all."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from typing import Any

from .canonical import write_canonical
from .encoding import decode_base64url, encode_base64url
from .hosts import host_name
from .versions import reported_version

LARGEST_BATCH = 100
LARGEST_COUNT = 1_000_000

_LARGEST_CHAIN = 10
_INSTALL_LENGTH = 16
_SECRET_PREFIX = "tlsec_"
_SECRET_LENGTH = 32


@dataclass(frozen=True)
class Connection:
    """A connection that happened.

    Attributes:
        host: The name that was connected to.
        time: When, in seconds.
        result: `matched`, `mismatched`, `refused`, `unpinned`, or `invalid_chain` where the platform refused the chain.
        reason: The reason of the decision.
        document_version: The version of the document that decided.
        arm: The arm of the decision, where it has one.
        chain: The pins of the validated chain as `sha256/…`, the host's own first; none where there is no such chain.
    """

    host: str
    time: int
    result: str
    reason: str
    document_version: int
    arm: str | None = None
    chain: Sequence[str] | None = None


@dataclass(frozen=True)
class TelemetryKey:
    """A key of the app that signs reports."""

    key_id: str
    secret: bytes

    @classmethod
    def of(cls, key_id: str, secret: str) -> "TelemetryKey":
        """The key with a secret as `pinledger telemetry key create` prints it. Raises `ValueError` for any other text."""
        if not secret.startswith(_SECRET_PREFIX):
            raise ValueError("a secret begins with tlsec_")
        raw = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
        if len(raw) != _SECRET_LENGTH:
            raise ValueError("a secret has 32 bytes")
        return cls(key_id, raw)

    def signature(self, app: str, time: int, body: bytes) -> str:
        """The value of `Pinledger-Signature` for a body that is sent at this time."""
        message = f"pinledger-reports/v1\n{app}\n{time}\n".encode() + body
        mac = base64.b64encode(hmac.new(self.secret, message, hashlib.sha256).digest()).decode("ascii")
        return f'keyid="{self.key_id}", time={time}, mac=:{mac}:'


@dataclass(frozen=True)
class ReportRequest:
    """What to send to `/client/v1/apps/APP/reports`: a body, and the field `Pinledger-Signature`."""

    body: bytes
    signature: str


def install_bytes(install: str) -> bytes:
    """The 16 bytes of an install's id. Raises `ValueError` for a text that is not their base64url."""
    raw = decode_base64url(install)
    if len(raw) != _INSTALL_LENGTH:
        raise ValueError("an install's id has 16 bytes")
    return raw


def is_sampled(install: str, time: int, share: int) -> bool:
    """Whether an install reports on the day of this time, if the share (in basis points) of all installs does."""
    message = b"\0".join([b"pinledger-reports/v1/sample", install_bytes(install), _day(time).encode()])
    first = int.from_bytes(hashlib.sha256(message).digest()[:4], "big")
    return first * 10_000 >> 32 < share


def report_request(
    app: str,
    key: TelemetryKey,
    install: str,
    document_version: int,
    outcomes: Sequence[dict[str, Any]],
    now: int,
    platform: str | None = None,
    app_version: str | None = None,
) -> ReportRequest:
    """The request that sends these outcomes at this time, or without outcomes says which version the client holds."""
    batch: dict[str, Any] = {"install": install, "document_version": document_version, "outcomes": list(outcomes)}
    if platform is not None:
        batch["platform"] = platform
    version = None if app_version is None else reported_version(app_version)
    if version is not None:
        batch["app_version"] = version
    body = write_canonical(batch)
    return ReportRequest(body, key.signature(app, now, body))


class OutcomeQueue:
    """The outcomes of an install that are still to be sent, in the order in which each happened first.

    Record a connection only while `monitoring.enabled` is true.
    """

    def __init__(self, install: str) -> None:
        self._install = install_bytes(install)
        self._outcomes: dict[str, dict[str, Any]] = {}
        self._sent: dict[str, set[str]] = {}

    def record(self, connection: Connection) -> None:
        """Counts a connection, if it is one that is reported and whose outcome was not sent on this day."""
        outcome = _outcome(connection)
        if outcome is None:
            return
        day = _day(connection.time)
        for earlier in [sent_day for sent_day in self._sent if sent_day < day]:
            del self._sent[earlier]
        key = _outcome_id(self._install, day, outcome)
        if key in self._sent.get(day, ()):
            return
        known = self._outcomes.get(key)
        if known is None:
            self._outcomes[key] = {**outcome, "count": 1, "time": _time(connection.time), "id": key}
        else:
            known["count"] = min(known["count"] + 1, LARGEST_COUNT)

    def batch(self) -> list[dict[str, Any]]:
        """The outcomes to send next, as they are now: the oldest, at most 100."""
        return [dict(outcome) for outcome in islice(self._outcomes.values(), LARGEST_BATCH)]

    def forget(self, batch: Sequence[dict[str, Any]]) -> None:
        """Drops outcomes that were sent, or that the server will never take. They are not reported again on their day."""
        for outcome in batch:
            self._outcomes.pop(outcome["id"], None)
            self._sent.setdefault(outcome["time"][:10], set()).add(outcome["id"])


def _outcome(connection: Connection) -> dict[str, Any] | None:
    """What a connection adds to a report, without its count, time and id; none for one that is not reported."""
    name = host_name(connection.host)
    # Names that the document has no pattern and no built-in pins for never leave the device.
    if name is None or connection.reason == "host_unknown":
        return None
    outcome: dict[str, Any] = {"host": name, "document_version": connection.document_version}
    if connection.arm is not None:
        outcome["arm"] = connection.arm
    if connection.result == "matched":
        return {**outcome, "outcome": "success"}
    if connection.result == "unpinned" and connection.reason == "pins_expired":
        return {**outcome, "outcome": "unpinned"}
    reason = _failure_reason(connection)
    if reason is None:
        return None
    outcome |= {"outcome": "failure", "reason": reason}
    if reason != "chain_invalid" and connection.chain:
        outcome["served_spki"] = list(connection.chain[:_LARGEST_CHAIN])
    return outcome


def _failure_reason(connection: Connection) -> str | None:
    reasons = {
        "refused": "pin_mismatch",
        "mismatched": "report_only_mismatch",
        "invalid_chain": "chain_invalid",
        "refused_expired": "expired_pins",
    }
    return reasons.get(connection.result)


def _outcome_id(install: bytes, day: str, outcome: dict[str, Any]) -> str:
    message = b"\0".join([b"pinledger-reports/v1/id", install, day.encode(), write_canonical(outcome)])
    return encode_base64url(hashlib.sha256(message).digest()[:16])


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _day(seconds: int) -> str:
    return _time(seconds)[:10]
