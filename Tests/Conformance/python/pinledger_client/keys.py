"""The trust anchors of an app: the Ed25519 keys that may sign its documents."""

import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .encoding import decode_base64url, encode_base64url

_KEY_LENGTH = 32
_PRIME = 2**255 - 19
#: The points of small order, as their bytes say y without the sign of x.
_SMALL_ORDER = {
    int.from_bytes(bytes.fromhex(point), "little")
    for point in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
}


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
            if not is_usable(key):
                raise ValueError("an Ed25519 key has 32 bytes, is not of small order, and is encoded as RFC 8032 says")
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


def is_usable(public_key: bytes) -> bool:
    """True for bytes that may be an Ed25519 key, whatever a library thinks of them."""
    # The highest bit is the sign of x.
    point = int.from_bytes(public_key, "little") & (2**255 - 1)
    return len(public_key) == _KEY_LENGTH and point < _PRIME and point not in _SMALL_ORDER


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
