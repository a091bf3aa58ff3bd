"""The rules by which an app accepts a signed document or keeps what it holds."""

import re
from dataclasses import dataclass
from typing import Any

from .canonical import NotCanonical, content_sha256, read_canonical
from .encoding import decode_base64url
from .keys import TrustAnchors
from .payload import FormError, check_payload
from .refusal import Refused

LARGEST_DOCUMENT = 2_097_152
CLOCK_TOLERANCE = 300

_SIGNATURE_LENGTH = 64
_HEADER = re.compile(rb'\{"alg":"EdDSA","kid":"([A-Za-z0-9_-]+)","typ":"(pinset(?:-evaluated)?\+jws)"\}')


@dataclass(frozen=True)
class Document:
    """A document that passed the rules. Store `token`, and verify it again when it is read back."""

    token: bytes
    key_id: str
    payload: dict[str, Any]

    @property
    def version(self) -> int:
        """The version of the content."""
        return self.payload["version"]

    @property
    def issued_at(self) -> int:
        """When it was signed."""
        return self.payload["iat"]

    @property
    def content_sha256(self) -> str:
        """The digest of the content."""
        return self.payload["content_sha256"]

    def is_stale(self, now: int) -> bool:
        """Whether to fetch another one before the next connection to a pinned host. A stale document is still valid."""
        return now >= self.payload["exp"]


class Verifier:
    """Verifies the documents of one app, or with `evaluated` the ones that the server evaluated for one device."""

    def __init__(self, anchors: TrustAnchors, app: str, issuer: str, evaluated: bool = False) -> None:
        self._anchors = anchors
        self._app = app
        self._issuer = issuer
        self._evaluated = evaluated
        self._type = b"pinset-evaluated+jws" if evaluated else b"pinset+jws"

    def verify(self, token: bytes, held: Document | None = None, now: int | None = None) -> Document:
        """The document that may replace `held`. Raises `Refused` with the code of the first rule that fails.

        Args:
            token: The document's bytes, as they were fetched or stored.
            held: The document that the app holds, if there is one.
            now: The time by the device's clock. None leaves the rules of the clock and of the root's end out, for a document
                from the app's store.
        """
        document = self._read(token)
        # A document whose key is no trust anchor any more counts as none.
        if held is not None and held.key_id in self._anchors:
            if document.version < held.version:
                raise Refused("older_version")
            # A device gets different evaluated documents of one version, when it changes or travels.
            if document.version == held.version and not self._evaluated:
                if document.content_sha256 != held.content_sha256:
                    raise Refused("contradiction")
                if document.issued_at < held.issued_at:
                    raise Refused("issued_earlier")
        if now is not None and document.issued_at > now + CLOCK_TOLERANCE:
            raise Refused("issued_ahead")
        ends_at = self._anchors.ends_at
        if now is not None and ends_at is not None and now >= ends_at:
            raise Refused("root_expired")
        return document

    def read_stored(self, token: bytes) -> Document | None:
        """The document that the app accepted before, from its store; none if it does not pass the rules (any more)."""
        try:
            return self.verify(token)
        except Refused:
            return None

    def _read(self, token: bytes) -> Document:
        """The rules that need only the document itself, from its size to its addressee."""
        if len(token) > LARGEST_DOCUMENT:
            raise Refused("too_large")
        header, body, signature = _parts(token)
        match = _HEADER.fullmatch(header)
        if match is None or match[2] != self._type:
            raise Refused("unsupported_header")
        key_id = match[1].decode("ascii")
        if key_id not in self._anchors:
            raise Refused("unknown_key")
        if not self._anchors.has_signed(key_id, token.rpartition(b".")[0], signature):
            raise Refused("wrong_signature")
        payload = self._payload(body)
        if payload["aud"] != self._app:
            raise Refused("other_app")
        if payload["iss"] != self._issuer:
            raise Refused("other_issuer")
        return Document(token, key_id, payload)

    def _payload(self, body: bytes) -> dict[str, Any]:
        try:
            payload = read_canonical(body)
            check_payload(payload, self._evaluated)
        except (NotCanonical, FormError) as error:
            raise Refused("malformed_payload", str(error)) from None
        if payload["content_sha256"] != content_sha256(payload):
            raise Refused("malformed_payload", "content_sha256 is not the digest of the content")
        return payload


def _parts(token: bytes) -> tuple[bytes, bytes, bytes]:
    """Header, payload and signature. Splitting ends after the third dot, however many there are."""
    parts = token.split(b".", 3)
    if len(parts) != 3 or not all(parts):
        raise Refused("malformed_token", "not three parts")
    try:
        header, body, signature = map(decode_base64url, parts)
    except ValueError as error:
        raise Refused("malformed_token", str(error)) from None
    if len(signature) != _SIGNATURE_LENGTH:
        raise Refused("malformed_token", "a signature that has not 64 bytes")
    return header, body, signature
