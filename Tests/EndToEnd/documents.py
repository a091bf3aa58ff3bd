"""Documents as clients read them: verified with a foreign library."""

import hashlib
import json
import re

import jwt
import pytest
from jwt.utils import base64url_encode
from pinledger import canonical, unbase64url


def verify(token: str, key_set: dict, app: str, *, kind: str = "pinset+jws", leeway: float = 0) -> dict:
    """The payload of a document whose signature, digest and form are right."""
    header = jwt.get_unverified_header(token)
    assert header == {"alg": "EdDSA", "kid": header["kid"], "typ": kind}
    for key in key_set["keys"]:
        # RFC 7638: the digest of the required members in canonical form; RFC 8037 names them for OKP.
        required = {name: key[name] for name in ("crv", "kty", "x")}
        assert key["kid"] == base64url_encode(hashlib.sha256(canonical(required)).digest()).decode()
    key = jwt.PyJWKSet.from_dict(key_set)[header["kid"]]
    wanted = ["iss", "aud", "iat", "exp", "version", "content_sha256"]
    payload = jwt.decode(token, key, algorithms=["EdDSA"], audience=app, options={"require": wanted}, leeway=leeway)

    raw = unbase64url(token.split(".")[1])
    assert raw == canonical(payload)
    assert_plain(payload)
    content = {name: value for name, value in payload.items() if name not in ("iat", "exp", "content_sha256")}
    assert payload["content_sha256"] == hashlib.sha256(canonical(content)).hexdigest()
    return payload


def assert_plain(value) -> None:
    """Integers and printable ASCII only, so that no two JSON libraries can read it differently."""
    match value:
        case dict():
            for name, member in value.items():
                assert_plain(name)
                assert_plain(member)
        case list():
            for element in value:
                assert_plain(element)
        case str():
            assert re.fullmatch(r"[\x20-\x7e]*", value), value
        case bool():
            pass
        case int():
            assert abs(value) < 2**53
        case _:
            pytest.fail(f"{value!r} is neither an integer nor a text")


def payload_of(token: bytes) -> dict:
    return json.loads(unbase64url(token.decode().split(".")[1]))
