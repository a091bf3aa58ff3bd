"""The MAC and the signature of a batch, computed here and not by the program."""

import base64
import hashlib
import hmac
from datetime import datetime, timedelta, timezone
from pathlib import Path

import tree

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def read_key(kek: Path) -> bytes:
    """The bytes of a key-encryption key's file: base64 or hexadecimal."""
    text = kek.read_text().strip()
    return bytes.fromhex(text) if len(text) == 64 else base64.b64decode(text)


def key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"pinledger/kek/v1" + key).digest()[:8]


def _derive(key: bytes, label: bytes) -> bytes:
    extracted = hmac.digest(bytes(32), key, "sha256")
    return hmac.digest(extracted, b"pinledger/kek/v2/" + label + b"\x01", "sha256")


def of(kek: Path, size: int, last_time: datetime, root: bytes) -> bytes:
    """What a holder of the key stores beside the end of a ledger: the key's id, and HMAC-SHA-256 under a key derived by
    HKDF-SHA-256 (RFC 5869: no salt, one block)."""
    key = read_key(kek)
    derived = _derive(key, b"authenticate/batch")
    microseconds = (last_time - _EPOCH) // timedelta(microseconds=1)
    message = size.to_bytes(8, "big") + microseconds.to_bytes(8, "big") + root
    return key_id(key) + hmac.digest(derived, message, "sha256")


def signing_seed(kek: Path) -> bytes:
    """The seed of the Ed25519 key that signs batches."""
    return _derive(read_key(kek), b"sign/batch")


def signed(size: int, root: bytes) -> bytes:
    """What is signed of the end of a ledger."""
    return b"pinledger/batch/v1\x00" + size.to_bytes(8, "big") + root


def signature(kek: Path, size: int, root: bytes) -> bytes:
    """What a holder of the key stores with the last event before the end of a ledger: the public key's id, and the signature."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(signing_seed(kek))
    return hashlib.sha256(key.public_key().public_bytes_raw()).digest()[:8] + key.sign(signed(size, root))


def authenticate_end(connection, kek: Path) -> bool:
    """Authenticates the end of a ledger with whatever key, as the role of a node may; False where it has grown meanwhile."""
    connection.execute("SET ROLE pinledger_app")
    position, encoded, last, before = connection.execute(
        "SELECT next_position, frontier, last_time, mac FROM pinledger.head").fetchone()  # fmt: skip
    mac = of(kek, position, last, tree.Frontier.decode(position, encoded).root)
    return connection.execute("SELECT pinledger.authenticate_head(%s, %s, %s)", [position, before, mac]).fetchone()[0]
