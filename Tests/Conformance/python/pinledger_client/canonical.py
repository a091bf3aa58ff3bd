"""Canonical JSON (RFC 8785), for the values that documents, roots and reports have: no fractions, no integers beyond 2^53 - 1."""

import hashlib
import json
import re
from typing import Any

_LARGEST_INTEGER = 2**53 - 1
_LARGEST_INTEGER_LENGTH = len(str(-_LARGEST_INTEGER))

# What says when a document was signed, and the digest itself. Signing again changes these and nothing else.
_OUTSIDE_OF_CONTENT = frozenset({"content_sha256", "iat", "exp"})

_PLAIN = re.compile(rb"[ -\[\]-~]*")
_PLAIN_TEXT = re.compile(rb'"[^"]*"')


class NotCanonical(ValueError):
    """A text that is not canonical JSON, or has what its reader does not take."""


def read_canonical(data: bytes) -> Any:
    """The value of a canonical JSON text. Raises `NotCanonical` for every other text.

    Objects keep the order of their members, which is the canonical one.
    """
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_ordered_object,
            parse_int=_integer,
            parse_float=_refused_number,
            parse_constant=_refused_number,
        )
        # Members are in order by now. What is left to compare is white space, escapes and the spelling of numbers.
        if _written(value) != data:
            raise NotCanonical("white space, or another spelling of a value")
    except NotCanonical:
        raise
    except RecursionError:
        raise NotCanonical("nested too deeply") from None
    except ValueError as error:
        # Not UTF-8, not JSON, or half of a surrogate pair, which has no UTF-8.
        raise NotCanonical(f"not JSON: {type(error).__name__}") from None
    return value


def read_plain_canonical(data: bytes, deepest: int) -> Any:
    """The value of a canonical JSON text in printable ASCII without a backslash.

    Raises `NotCanonical` for every other text, and for one whose arrays and objects are nested more than `deepest` deep.
    """
    if not _PLAIN.fullmatch(data):
        raise NotCanonical("not printable ASCII without a backslash")
    # Without a backslash there are no escapes: each text ends at the next quotation mark, and has this one spelling.
    around = _PLAIN_TEXT.sub(b"", data)
    if b" " in around:
        raise NotCanonical("white space")
    # Before the parser, which is recursive.
    _check_depth(around, deepest)
    try:
        # Texts and white space are checked; the parser's hooks check what else can be written in two ways.
        return json.loads(
            data.decode("ascii"),
            object_pairs_hook=_ordered_object,
            parse_int=_integer,
            parse_float=_refused_number,
            parse_constant=_refused_number,
        )
    except NotCanonical:
        raise
    except ValueError as error:
        raise NotCanonical(f"not JSON: {error}") from None


def write_canonical(value: Any) -> bytes:
    """The canonical JSON of a value. Raises `TypeError` or `ValueError` where it has none here."""
    return _written(_sorted(value))


def content_sha256(payload: dict[str, Any]) -> str:
    """The digest of a payload's content, in lower-case hexadecimal."""
    content = {name: value for name, value in payload.items() if name not in _OUTSIDE_OF_CONTENT}
    return hashlib.sha256(write_canonical(content)).hexdigest()


def _check_depth(around: bytes, deepest: int) -> None:
    depth = 0
    for byte in around:
        if byte in b"[{":
            depth += 1
            if depth > deepest:
                raise NotCanonical("nested too deeply")
        elif byte in b"]}":
            depth -= 1


def _written(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8")


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value, key=_sort_key)}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    if isinstance(value, float) or (isinstance(value, int) and abs(value) > _LARGEST_INTEGER):
        raise TypeError("a number that documents and reports do not have")
    return value


def _sort_key(name: str) -> bytes:
    # RFC 8785 sorts by UTF-16 code units. Python's own order, by code points, differs beyond U+D7FF.
    return name.encode("utf-16-be", "surrogatepass")


def _ordered_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [_sort_key(name) for name, _ in members]
    if any(first >= second for first, second in zip(keys, keys[1:])):
        raise NotCanonical("members that are out of order or appear twice")
    return dict(members)


def _integer(text: str) -> int:
    # The length comes first: the conversion of a very long text takes more than linear time, or raises.
    if len(text) > _LARGEST_INTEGER_LENGTH or abs(number := int(text)) > _LARGEST_INTEGER:
        raise NotCanonical("an integer beyond 2^53 - 1")
    if text == "-0":
        raise NotCanonical("another spelling of zero")
    return number


def _refused_number(text: str) -> None:
    raise NotCanonical("a number that is not an integer in digits")
