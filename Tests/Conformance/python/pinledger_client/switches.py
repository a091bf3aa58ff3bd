"""Kill switches: when pinning is off whatever else a document says."""

from collections.abc import Collection
from typing import Any

from .devices import Device
from .versions import VersionGate


class KillSwitch:
    """A kill switch of a document."""

    def __init__(self, switch: dict[str, Any]) -> None:
        self._engaged_at: int = switch["engaged_at"]
        self._expires_at: int = switch["expires_at"]
        self._host: str | None = switch.get("host")
        self._versions = VersionGate.of(switch["versions"]) if "versions" in switch else None

    def holds(self, patterns: Collection[str], device: Device, now: int) -> bool:
        """Whether it turns pinning off for a host with one of these patterns, on this device, at this time."""
        if now < self._engaged_at or now >= self._expires_at:
            return False
        if self._host is not None:
            return self._host in patterns
        return self._versions is None or self._versions.admits(device.app_version, device.build)
