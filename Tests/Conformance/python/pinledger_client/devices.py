"""A device: what rollouts, version gates and kill switches know of it."""

import re
from dataclasses import dataclass

from .hosts import ascii_lower

# White space, listed: Python's own `isspace` also counts U+001C to U+001F.
_WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*")
_NO_IDS = frozenset({"unknown", "anonymous", "00000000-0000-0000-0000-000000000000"})
_COUNTRY = re.compile("[A-Za-z]{2}")
_NO_COUNTRIES = frozenset({"XX", "ZZ"})


@dataclass(frozen=True)
class Device:
    """What is known of a device. Leave out what is not."""

    device_id: str | None = None
    user_id: str | None = None
    install_id: str | None = None
    app_version: str | None = None
    build: int | None = None
    country: str | None = None

    def identifier(self, kind: str) -> str | None:
        """The id of this kind (`device_id`, `user_id` or `install_id`); none where the device has none, or none that counts."""
        text = {"device_id": self.device_id, "user_id": self.user_id, "install_id": self.install_id}.get(kind)
        return text if text is not None and _counts(text) else None

    def country_code(self) -> str | None:
        """The device's country in upper case; none where it is not known."""
        if self.country is None or not _COUNTRY.fullmatch(self.country):
            return None
        code = self.country.upper()
        return None if code in _NO_COUNTRIES else code


def _counts(identifier: str) -> bool:
    if _WHITE_SPACE.fullmatch(identifier) or "\0" in identifier or ascii_lower(identifier) in _NO_IDS:
        return False
    try:
        identifier.encode("utf-8")
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8, and so no hash and no bucket.
        return False
    return True
