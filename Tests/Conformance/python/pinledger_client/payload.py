"""The form of payloads: the schemas `DocumentPayload` and `EvaluatedPayload`, and what they cannot say."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from .versions import version_key

# A check raises `FormError` for a value that does not have the form.
Check = Callable[[Any], None]

_LARGEST_INTEGER = 2**53 - 1
_LAST_SECOND = 253_402_300_799

_HOST = re.compile(
    r"(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
)
# Last labels that make an IP address.
_NO_HOST = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class FormError(ValueError):
    """A payload that does not have the form. `path` leads to the place, from the outermost member."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.path: list[str] = []

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {self.args[0]}" if self.path else str(self.args[0])


def check_payload(payload: Any, evaluated: bool = False) -> None:
    """Raises `FormError` unless the value has the form of a document's payload, or of an evaluated document's."""
    (_EVALUATED if evaluated else _DOCUMENT)(payload)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise FormError(problem)


# Checks of single values


def _integer(minimum: int, maximum: int) -> Check:
    problem = f"no integer from {minimum} to {maximum}"

    def check(value: Any) -> None:
        # `True` is an `int` in Python, but no integer in JSON.
        _require(type(value) is int and minimum <= value <= maximum, problem)

    return check


def _boolean(value: Any) -> None:
    _require(isinstance(value, bool), "no boolean")


def _true(value: Any) -> None:
    _require(value is True, "not true")


def _one_of(*texts: str) -> Check:
    problem = f"none of {', '.join(texts)}"

    def check(value: Any) -> None:
        _require(isinstance(value, str) and value in texts, problem)

    return check


def _text(pattern: str, maximum: int | None = None, minimum: int = 0) -> Check:
    compiled = re.compile(pattern)

    def check(value: Any) -> None:
        _require(isinstance(value, str), "no text")
        _require(minimum <= len(value) and (maximum is None or len(value) <= maximum), "too short or too long")
        # `fullmatch`, because `$` also matches before a line feed at the end.
        _require(compiled.fullmatch(value) is not None, "not as its pattern")

    return check


def _host_pattern(value: Any) -> None:
    _require(isinstance(value, str) and len(value) <= 255, "no text of at most 255 characters")
    _require(value.startswith("*") or len(value) <= 253, "a name of more than 253 characters")
    _require(_HOST.fullmatch(value) is not None and _NO_HOST.search(value) is None, "no host pattern")


def _app_version(value: Any) -> None:
    _require(isinstance(value, str) and version_key(value) is not None, "no version")


def _salt_utf8(value: Any) -> None:
    _require(isinstance(value, str) and 2 <= len(value) <= 256, "not the hexadecimal of 1 to 128 bytes")
    _require(re.fullmatch("(?:[0-9a-f]{2})+", value) is not None, "not lower-case hexadecimal")
    try:
        salt = bytes.fromhex(value).decode("utf-8")
    except UnicodeDecodeError:
        raise FormError("not well-formed UTF-8") from None
    _require(re.fullmatch("[ -~]*", salt) is None, "printable ASCII, which belongs into `salt`")
    _require(_CONTROL.search(salt) is None, "a control character")


# Checks of arrays and objects


def _list(item: Check, maximum: int, minimum: int = 0) -> Check:
    problem = f"no array of {minimum} to {maximum} items"

    def check(value: Any) -> None:
        _require(isinstance(value, list) and minimum <= len(value) <= maximum, problem)
        for index, element in enumerate(value):
            _at(str(index), item, element)

    return check


def _object(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    members = {**required, **(optional or {})}

    def check(value: Any) -> None:
        _require(isinstance(value, dict), "no object")
        for name in required:
            if name not in value:
                raise FormError(f"{name} is missing")
        for name, element in value.items():
            if name not in members:
                raise FormError(f"unknown member {name[:40]!r}")
            _at(name, members[name], element)

    return check


def _at(place: str, check: Check, value: Any) -> None:
    try:
        check(value)
    except FormError as error:
        error.path.insert(0, place)
        raise


def _all_of(*checks: Check) -> Check:
    def check(value: Any) -> None:
        for each in checks:
            each(value)

    return check


def _range_in_order(gate: Any) -> None:
    if "minimum" in gate and "maximum" in gate:
        low, high = version_key(gate["minimum"]), version_key(gate["maximum"])
        _require(low is not None and high is not None and high >= low, "maximum is below minimum")


def _with_members(value: Any) -> None:
    # An empty range is all versions. As the app's gate that is the default, which is absent.
    _require(len(value) > 0, "no members")


def _distinct(value: Any) -> None:
    _require(len(set(value)) == len(value), "an item appears twice")


def _ascending(value: Any) -> None:
    # Host patterns are ASCII, so that the order of characters is the order of bytes.
    _require(all(first < second for first, second in zip(value, value[1:])), "not sorted, or an item appears twice")


def _distinct_hosts(value: Any) -> None:
    _require(len({host["host"] for host in value}) == len(value), "two hosts have the same pattern")


def _scope_members(switch: Any) -> None:
    _require(("host" in switch) == (switch["scope"] == "host"), "host belongs to the scope host, and only to it")
    _require(("versions" in switch) == (switch["scope"] == "app_versions"), "versions belongs to the scope app_versions")


def _rollout_members(rollout: Any) -> None:
    _require(not ("salt" in rollout and "salt_utf8" in rollout), "both salt and salt_utf8")
    _require(rollout["method"] != "geography" or "countries" in rollout, "geography without countries")
    _require("bucketing" not in rollout or rollout["basis_points"] % 100 == 0, "unleash-murmur3 without whole percentages")


def _policy(value: Any) -> None:
    builtin = isinstance(value, dict) and value.get("source") == "builtin"
    (_BUILTIN_POLICY if builtin else _DOCUMENT_POLICY)(value)


# The schemas

_DIGEST = _text("[0-9a-f]{64}")
_SECONDS = _integer(0, _LAST_SECOND)
_PRINTABLE = "[ -~]*"

_PIN = _object({
    "alg": _one_of("sha256"),
    "role": _one_of("primary", "backup", "emergency"),
    "spki": _text("[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="),
})
_BUILTIN_POLICY = _object({"source": _one_of("builtin")})
_DOCUMENT_POLICY = _object({
    "source": _one_of("document"),
    "mode": _one_of("enforce", "report_only", "off"),
    "pins": _list(_PIN, maximum=100),
})

_VERSION_GATE = _all_of(
    _object({}, {
        "minimum": _app_version,
        "maximum": _app_version,
        "excluded": _list(_app_version, minimum=1, maximum=100),
        "minimum_build": _integer(0, _LARGEST_INTEGER),
    }),
    _with_members,
    _range_in_order,
)

_HASHED_IDS = _list(_DIGEST, minimum=1, maximum=250)
_ROLLOUT = _all_of(
    _object({
        "basis_points": _integer(0, 10_000),
        "method": _one_of("percentage", "whitelist", "geography"),
        "seed": _all_of(_list(_one_of("device_id", "user_id", "install_id"), minimum=1, maximum=3), _distinct),
        "sticky": _boolean,
    }, {
        "salt": _text(_PRINTABLE, minimum=1, maximum=128),
        "salt_utf8": _salt_utf8,
        "countries": _list(_text("[A-Z]{2}"), minimum=1, maximum=250),
        "whitelist": _HASHED_IDS,
        "exclusions": _HASHED_IDS,
        "bucketing": _one_of("unleash-murmur3"),
    }),
    _rollout_members,
)

_KILL_SWITCH = _all_of(
    _object({
        "scope": _one_of("everything", "app", "host", "app_versions"),
        "engaged_at": _SECONDS,
        "expires_at": _SECONDS,
    }, {"host": _host_pattern, "versions": _VERSION_GATE}),
    _scope_members,
)

_HOST_MEMBERS: dict[str, Check] = {"host": _host_pattern, "include_subdomains": _boolean, "baseline": _policy}
_DOCUMENT_HOST = _object(_HOST_MEMBERS, {"candidate": _DOCUMENT_POLICY, "rollout": _ROLLOUT})
_EVALUATED_HOST = _object({**_HOST_MEMBERS, "arm": _one_of("baseline", "candidate")})

_FALLBACK = _object({
    "use_builtin_pins": _boolean,
    "builtin_pin_hosts": _all_of(_list(_host_pattern, maximum=1000), _ascending),
})
_MONITORING = _object({
    "enabled": _boolean,
    "failure_threshold_bp": _integer(1, 9999),
    "auto_disable": _boolean,
}, {"reaction": _one_of("off", "act"), "count_unsigned": _true})

_COMMON: dict[str, Check] = {
    "iss": _text(_PRINTABLE),
    "aud": _text(r"[A-Za-z0-9](?:\.?[A-Za-z0-9_-])*\.?", maximum=128),
    "version": _integer(0, _LARGEST_INTEGER),
    "iat": _SECONDS,
    "exp": _SECONDS,
    "content_sha256": _DIGEST,
    "bucketing": _one_of("pinroll/v1"),
    "kill_switches": _list(_KILL_SWITCH, maximum=2000),
    "fallback": _FALLBACK,
    "monitoring": _MONITORING,
}
_COMMON_OPTIONAL: dict[str, Check] = {"pins_valid_until": _SECONDS, "archived_at": _SECONDS}

_DOCUMENT = _object(
    {**_COMMON, "hosts": _all_of(_list(_DOCUMENT_HOST, maximum=1000), _distinct_hosts)},
    {**_COMMON_OPTIONAL, "version_gate": _VERSION_GATE, "rollout": _ROLLOUT},
)
_EVALUATED = _object(
    {**_COMMON, "hosts": _all_of(_list(_EVALUATED_HOST, maximum=1000), _distinct_hosts), "evaluated_from": _DIGEST},
    _COMMON_OPTIONAL,
)
