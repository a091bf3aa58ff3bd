"""Base64url without padding, in the one spelling that each sequence of bytes has."""

import base64
import re

_ALPHABET = re.compile(rb"[A-Za-z0-9_-]*")


def encode_base64url(data: bytes) -> str:
    """Base64url of the bytes, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode_base64url(text: bytes | str) -> bytes:
    """The bytes that the text stands for. Raises `ValueError` for any text that `encode_base64url` does not write."""
    raw = text.encode("ascii") if isinstance(text, str) else text
    # Python's decoder skips characters outside of the alphabet and ignores unused bits, so both are checked here.
    if not _ALPHABET.fullmatch(raw) or len(raw) % 4 == 1:
        raise ValueError("not base64url without padding")
    data = base64.urlsafe_b64decode(raw + b"=" * (-len(raw) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=") != raw:
        raise ValueError("unused bits are not zero")
    return data
