"""The trust anchors of an app: the Ed25519 keys that may sign its documents."""

import base64
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .encoding import decode_base64url


class TrustAnchors:
    """The Ed25519 keys of a JWK Set (RFC 7517, RFC 8037), by their `kid`: the key's thumbprint (RFC 7638).

    Raises ValueError for a set in which one key is of another kind, or has another name than its own.
    """

    def __init__(self, key_set: dict[str, Any]) -> None:
        self._keys: dict[str, Ed25519PublicKey] = {}
        for member in key_set["keys"]:
            if member.get("kty") != "OKP" or member.get("crv") != "Ed25519" or not isinstance(member.get("x"), str):
                raise ValueError("a key of the set is no Ed25519 key")
            key = Ed25519PublicKey.from_public_bytes(decode_base64url(member["x"]))
            if member.get("kid") != _thumbprint(member["x"]):
                raise ValueError("a key's kid is not its thumbprint")
            self._keys[member["kid"]] = key

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._keys

    def has_signed(self, key_id: str, message: bytes, signature: bytes) -> bool:
        """Whether the signature over the message is by the key with this `kid`, which is one of the anchors."""
        try:
            self._keys[key_id].verify(signature, message)
        except InvalidSignature:
            return False
        return True


def _thumbprint(x: str) -> str:
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(hashlib.sha256(canonical.encode()).digest()).rstrip(b"=").decode()
