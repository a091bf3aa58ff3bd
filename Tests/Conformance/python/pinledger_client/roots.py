"""Roots of trust: which keys sign an app's documents, and which keys sign the root that comes next."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .canonical import NotCanonical, read_plain_canonical
from .keys import TrustAnchors, has_signed, is_usable, jwk
from .refusal import Refused

LARGEST_ROOT = 16_384

_DEEPEST_NESTING = 16
_MOST_SIGNATURES = 64
_MOST_KEYS_OF_A_ROLE = 32
_LARGEST_INTEGER = 2**53 - 1
_FIRST_YEAR = 1970
_BEFORE_SIGNED = b',"signed":'

_KEY_ID = re.compile("[0-9a-f]{64}")
_PUBLIC_KEY = re.compile("[0-9a-f]{64}")
_SIGNATURE = re.compile("[0-9a-f]{128}")
_TIME = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True)
class Role:
    """Keys by their ids, and how many of them have to sign."""

    public_keys: Mapping[str, bytes]
    threshold: int

    def accepts(self, message: bytes, signatures: Mapping[str, bytes]) -> bool:
        """Whether enough of the keys have signed the message. Signatures of other keys, and wrong ones, count for nothing."""
        # Each key has one id and each id one signature, so that no key counts twice.
        signed = sum(
            has_signed(public_key, message, signatures[key_id])
            for key_id, public_key in self.public_keys.items()
            if key_id in signatures
        )
        return signed >= self.threshold


@dataclass(frozen=True)
class Root:
    """A root of trust that passed the rules.

    Attributes:
        text: The root's bytes. Store them, and verify them again when they are read back.
        version: Its version; the root that comes next has one more.
        expires: When it ends, in seconds. From then on the app accepts no new document, but still a new root.
        root_role: The keys that sign this root and the next one.
        targets_role: The keys that sign documents.
    """

    text: bytes
    version: int
    expires: int
    root_role: Role
    targets_role: Role

    @classmethod
    def of(cls, text: bytes) -> "Root":
        """The root that ships with the app. Raises `Refused` with the code of the first rule that fails by its own keys."""
        parsed = _parse(text)
        parsed.require_signatures_of(parsed.root.root_role)
        return parsed.root

    def next(self, text: bytes) -> "Root":
        """The root that replaces this one. Raises `Refused` with the code of the first rule that fails."""
        parsed = _parse(text)
        if parsed.root.version != self.version + 1:
            raise Refused("other_version")
        parsed.require_signatures_of(self.root_role)
        parsed.require_signatures_of(parsed.root.root_role)
        return parsed.root

    @property
    def anchors(self) -> TrustAnchors:
        """The keys that sign documents, for as long as this root is the newest."""
        return TrustAnchors({"keys": [jwk(key) for key in self.targets_role.public_keys.values()]}, self.expires)


@dataclass(frozen=True)
class _Parsed:
    """A root whose form is right, with what is needed to find out who has signed it."""

    root: Root
    signed: bytes
    signatures: Mapping[str, bytes]

    def require_signatures_of(self, role: Role) -> None:
        if not role.accepts(self.signed, self.signatures):
            raise Refused("missing_signatures")


def _parse(text: bytes) -> _Parsed:
    """The rules that need only the root itself: its size and its form."""
    if len(text) > LARGEST_ROOT:
        raise Refused("too_large")
    try:
        value = read_plain_canonical(text, _DEEPEST_NESTING)
    except NotCanonical as error:
        raise Refused("malformed_root", str(error)) from None
    _require(isinstance(value, dict) and value.keys() == {"signatures", "signed"}, "not signatures and signed")
    signed = value["signed"]
    _require(isinstance(signed, dict), "signed is no object")
    _require(signed.get("_type") == "root", "another type")
    specification = signed.get("spec_version")
    _require(isinstance(specification, str) and specification.startswith("1."), "another specification")
    version, keys, roles = signed.get("version"), signed.get("keys"), signed.get("roles")
    _require(_is_integer(version, 1, _LARGEST_INTEGER), "no version")
    _require(isinstance(keys, dict), "keys is no object")
    _require(isinstance(roles, dict), "roles is no object")
    root = Root(text, version, _time(signed.get("expires")), _role(roles, "root", keys), _role(roles, "targets", keys))
    _require(root.targets_role.threshold == 1, "documents have one signature, and targets asks for more")
    signatures = _signatures(value["signatures"])
    # These bytes as they stand in the text: before them it has nothing but key ids and signatures, after them one brace.
    return _Parsed(root, text.partition(_BEFORE_SIGNED)[2][:-1], signatures)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise Refused("malformed_root", problem)


def _is_integer(value: Any, minimum: int, maximum: int) -> bool:
    # `True` is an `int` in Python, but no integer in JSON.
    return type(value) is int and minimum <= value <= maximum


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _time(value: Any) -> int:
    _require(_matches(_TIME, value), "expires is no time")
    try:
        time = datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        raise Refused("malformed_root", "expires is a time that does not exist") from None
    _require(time.year >= _FIRST_YEAR, "expires is before 1970")
    return int(time.timestamp())


def _signatures(value: Any) -> dict[str, bytes]:
    _require(isinstance(value, list) and len(value) <= _MOST_SIGNATURES, "no list of signatures")
    signatures: dict[str, bytes] = {}
    previous = ""
    for member in value:
        _require(isinstance(member, dict) and member.keys() == {"keyid", "sig"}, "a signature with other members")
        key_id, signature = member["keyid"], member["sig"]
        _require(_matches(_KEY_ID, key_id) and _matches(_SIGNATURE, signature), "no signature in hexadecimal")
        _require(previous < key_id, "signatures that are out of order or appear twice")
        signatures[key_id] = bytes.fromhex(signature)
        previous = key_id
    return signatures


def _role(roles: Mapping[str, Any], name: str, keys: Mapping[str, Any]) -> Role:
    role: Any = roles.get(name)
    _require(isinstance(role, dict), f"{name} is no role")
    key_ids, threshold = role.get("keyids"), role.get("threshold")
    _require(isinstance(key_ids, list) and 1 <= len(key_ids) <= _MOST_KEYS_OF_A_ROLE, f"{name} has no keys, or too many")
    _require(all(isinstance(key_id, str) and key_id in keys for key_id in key_ids), f"a key of {name} is missing")
    _require(len(set(key_ids)) == len(key_ids), f"a key of {name} appears twice")
    _require(_is_integer(threshold, 1, len(key_ids)), f"{name} has a threshold that its keys cannot meet")
    return Role({key_id: _public_key(key_id, keys[key_id]) for key_id in key_ids}, threshold)


def _public_key(key_id: str, key: Any) -> bytes:
    _require(isinstance(key, dict), "a key is no object")
    _require(key.get("keytype") == "ed25519" and key.get("scheme") == "ed25519", "a key is no Ed25519 key")
    value = key.get("keyval")
    _require(isinstance(value, dict) and _matches(_PUBLIC_KEY, value.get("public")), "a key without its public key")
    public = value["public"]
    canonical = f'{{"keytype":"ed25519","keyval":{{"public":"{public}"}},"scheme":"ed25519"}}'
    # The id stands for the key alone, whatever other members the key has.
    _require(key_id == hashlib.sha256(canonical.encode()).hexdigest(), "a key's id is not its own")
    _require(is_usable(bytes.fromhex(public)), "a key is of small order, or not in the encoding of RFC 8032")
    return bytes.fromhex(public)
