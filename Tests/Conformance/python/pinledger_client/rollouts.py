"""Rollouts: which devices a candidate reaches."""

from typing import Any

from .buckets import bucket, hashed_id, unleash_bucket
from .devices import Device

_CODES_OF_DEVICES_INSIDE = frozenset({"rollout_none", "rollout_in", "rollout_whitelisted"})


def lets_in(code: str) -> bool:
    """Whether the code of a rollout says that the device is in."""
    return code in _CODES_OF_DEVICES_INSIDE


class Rollout:
    """A rollout of an app or of a host. Its lists, countries and salt are its own."""

    def __init__(self, rollout: dict[str, Any]) -> None:
        self._method: str = rollout["method"]
        self._seed: list[str] = rollout["seed"]
        self._basis_points: int = rollout["basis_points"]
        self._exclusions = frozenset(rollout.get("exclusions", []))
        self._whitelist = frozenset(rollout.get("whitelist", []))
        self._countries = frozenset(rollout.get("countries", []))
        self._uses_unleash = "bucketing" in rollout
        self._salt = bytes.fromhex(rollout["salt_utf8"]) if "salt_utf8" in rollout else rollout.get("salt", "").encode()

    def reason(self, device: Device) -> str:
        """The code that says whether the device is in, and why."""
        identifiers = [(kind, text) for kind in self._seed if (text := device.identifier(kind)) is not None]
        return self._list_reason(identifiers) or self._method_reason(device) or self._share_reason(identifiers)

    def _list_reason(self, identifiers: list[tuple[str, str]]) -> str | None:
        if not self._exclusions and not self._whitelist:
            return None
        hashes = {hashed_id(text, self._salt) for _, text in identifiers}
        if hashes & self._exclusions:
            return "rollout_excluded"
        return "rollout_whitelisted" if hashes & self._whitelist else None

    def _method_reason(self, device: Device) -> str | None:
        if self._method == "whitelist":
            return "rollout_not_whitelisted"
        if self._method == "geography":
            country = device.country_code()
            if country is None:
                return "country_unknown"
            if country not in self._countries:
                return "country_outside"
        return None

    def _share_reason(self, identifiers: list[tuple[str, str]]) -> str:
        if not identifiers:
            return "seed_missing"
        kind, text = identifiers[0]
        place = unleash_bucket(text, self._salt) if self._uses_unleash else bucket(text, kind, self._salt)
        return "rollout_in" if place < self._basis_points else "rollout_out"
