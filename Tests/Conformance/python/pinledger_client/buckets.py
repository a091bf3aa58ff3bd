"""How ids become buckets from 0 to 9999, and entries of lists: `pinroll/v1`, and Unleash's buckets."""

import hashlib
import hmac
import re

_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_MASK = 0xFFFFFFFF


def hashed_id(identifier: str, salt: bytes) -> str:
    """The id as the lists of a rollout have it, whichever buckets the rollout uses."""
    return hmac.new(b"pinroll/v1/id\0" + salt, _folded(identifier), hashlib.sha256).hexdigest()


def bucket(identifier: str, kind: str, salt: bytes) -> int:
    """The bucket of an id of this kind, as `pinroll/v1` has it."""
    message = b"\0".join([b"pinroll/v1", salt, kind.encode(), _folded(identifier)])
    first = int.from_bytes(hashlib.sha256(message).digest()[:4], "big")
    return first * 10_000 >> 32


def unleash_bucket(identifier: str, salt: bytes) -> int:
    """The bucket of an id as Unleash has it: a multiple of 100."""
    return murmur3(salt + b":" + identifier.encode("utf-8")) % 100 * 100


def murmur3(data: bytes) -> int:
    """MurmurHash3 for x86 with 32 bits and the seed 0."""
    state = 0
    tail_start = len(data) & ~3
    for start in range(0, tail_start, 4):
        state ^= _mixed(int.from_bytes(data[start:start + 4], "little"))
        state = (_rotated(state, 13) * 5 + 0xE6546B64) & _MASK
    if len(data) > tail_start:
        state ^= _mixed(int.from_bytes(data[tail_start:], "little"))
    state ^= len(data) & _MASK
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _MASK
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _MASK
    return state ^ state >> 16


def _folded(identifier: str) -> bytes:
    return (identifier.lower() if _UUID.fullmatch(identifier) else identifier).encode("utf-8")


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotated(value: int, count: int) -> int:
    return (value << count | value >> 32 - count) & _MASK
