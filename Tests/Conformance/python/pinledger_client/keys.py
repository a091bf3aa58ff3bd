"""The trust anchors of an app: the Ed25519 keys that may sign its documents."""

import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .encoding import decode_base64url, encode_base64url

_KEY_LENGTH = 32


class TrustAnchors:
    """The Ed25519 keys of a JWK Set (RFC 7517, RFC 8037), by their `kid`: the key's thumbprint (RFC 7638).

    From `ends_at` on they let no new document in: the end of the root that names them. The keys of a set that ships with
    the app have no end.

    Raises ValueError for a set in which one key is of another kind, or has another name than its own.
    """

    def __init__(self, key_set: dict[str, Any], ends_at: int | None = None) -> None:
        self.ends_at = ends_at
        self._keys: dict[str, bytes] = {}
        for member in key_set["keys"]:
            if member.get("kty") != "OKP" or member.get("crv") != "Ed25519" or not isinstance(member.get("x"), str):
                raise ValueError("a key of the set is no Ed25519 key")
            key = decode_base64url(member["x"])
            if len(key) != _KEY_LENGTH:
                raise ValueError("an Ed25519 key has 32 bytes")
            if member.get("kid") != _thumbprint(member["x"]):
                raise ValueError("a key's kid is not its thumbprint")
            self._keys[member["kid"]] = key

    @property
    def key_ids(self) -> list[str]:
        """The `kid` of each key, sorted by bytes."""
        return sorted(self._keys)

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._keys

    def has_signed(self, key_id: str, message: bytes, signature: bytes) -> bool:
        """Whether the signature over the message is by the key with this `kid`, which is one of the anchors."""
        return has_signed(self._keys[key_id], message, signature)


def has_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature over the message is by this Ed25519 key, which has 32 bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def jwk(public_key: bytes) -> dict[str, str]:
    """The JWK of an Ed25519 key. Its `kid` is the key's thumbprint."""
    x = encode_base64url(public_key)
    return {"crv": "Ed25519", "kid": _thumbprint(x), "kty": "OKP", "x": x}


def _thumbprint(x: str) -> str:
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"), sort_keys=True)
    return encode_base64url(hashlib.sha256(canonical.encode()).digest())
