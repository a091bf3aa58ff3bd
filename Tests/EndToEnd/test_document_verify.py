"""`pinledger document verify`: what it accepts, what it remembers, and what it refuses as a client has to."""

import hashlib
import json
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode
from pinledger import canonical

APP = "com.example.verified"
REFUSED, USAGE = 10, 2
NOW = int(time.time())


class Signer:
    """Signs payloads of any kind, with a key of its own; the key set is in a file."""

    def __init__(self, directory):
        self._key = Ed25519PrivateKey.generate()
        x = base64url_encode(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
        thumbprint = hashlib.sha256(canonical({"crv": "Ed25519", "kty": "OKP", "x": x})).digest()
        self._kid = base64url_encode(thumbprint).decode()
        self.jwks = directory / "keys.json"
        self.jwks.write_text(json.dumps({"keys": [{"crv": "Ed25519", "kid": self._kid, "kty": "OKP", "x": x}]}))
        self._document = directory / "document.jws"

    def sign(self, payload: dict, **changes):
        """A file with the payload, changed, and with the digest of what it then says."""
        payload = payload | changes
        content = {name: value for name, value in payload.items() if name not in ("iat", "exp", "content_sha256")}
        payload["content_sha256"] = hashlib.sha256(canonical(content)).hexdigest()
        header = canonical({"alg": "EdDSA", "kid": self._kid, "typ": "pinset+jws"})
        text = b".".join(base64url_encode(part) for part in (header, canonical(payload)))
        self._document.write_bytes(text + b"." + base64url_encode(self._key.sign(text)))
        return self._document


@pytest.fixture
def payload(server) -> dict:
    if server.api.document(APP).status != 200:
        server.api.make_app(APP, "api.example.com")
    return server.api.payload(APP)


@pytest.fixture
def verify(server, tmp_path):
    """Runs the command with a memory of this test's own."""

    def verify(*arguments, status: int = 0) -> str:
        done = server.cli("document", "verify", *map(str, arguments), "--state", str(tmp_path / "s" / "v.json"), status=status)
        return done.stdout + done.stderr

    return verify


def test_an_older_document_is_refused_once_a_newer_one_was_verified(server, payload, verify, tmp_path):
    older = tmp_path / "older.jws"
    older.write_bytes(server.api.document(APP).body)
    assert "verifies" in verify(APP)
    server.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"{time.time()}"})
    version = server.api.payload(APP)["version"]
    assert "verifies" in verify(APP, "--file", older), "still what was verified last"
    verify(APP)
    assert f"version {version} was verified before" in verify(APP, "--file", older, status=REFUSED)
    memory = tmp_path / "s" / "v.json"
    assert memory.stat().st_mode & 0o777 == 0o600
    assert json.loads(memory.read_text())["documents"][0]["version"] == version
    # Without a record of versions, only the given version counts.
    alone = ("document", "verify", APP, "--file", str(older), "--no-state")
    server.cli(*alone)
    server.cli(*alone, "--at-least", str(version - 1))
    assert f"at least {version} is wanted" in server.cli(*alone, "--at-least", str(version), status=REFUSED).stderr


def test_a_version_record_that_others_can_write_or_that_is_damaged_is_not_relied_on(verify, payload, tmp_path):
    memory = tmp_path / "s" / "v.json"
    verify(APP)
    memory.chmod(0o666)
    assert "mode 0600" in verify(APP, status=1)
    memory.chmod(0o600)
    memory.write_text('{"documents":[{"app":')
    assert "is not what this command writes" in verify(APP, status=1)


def test_two_contents_of_one_version_are_refused(payload, verify, tmp_path):
    signer = Signer(tmp_path)
    sign = ("--jwks", signer.jwks, "--file")
    verify(APP, *sign, signer.sign(payload))
    verify(APP, *sign, signer.sign(payload, exp=payload["exp"] + 5))
    assert "with other content" in verify(APP, *sign, signer.sign(payload, hosts=[]), status=REFUSED)
    verify(APP, *sign, signer.sign(payload, hosts=[], version=payload["version"] + 1))


def test_an_app_has_to_be_named(server, tmp_path):
    server.cli("document", "verify", "--file", str(tmp_path / "none"), status=USAGE)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"aud": "com.example.other"}, "not for com.example.verified"),
        ({"bucketing": "pinroll/v2"}, "must be pinroll/v1"),
        ({"surprise": 1}, "surprise"),
        ({"iat": NOW + 3600, "exp": NOW + 7200}, "ahead of this clock"),
        ({"exp": NOW - 5}, "fresh"),
        ({"exp": 1}, "expires before"),
        ({"version": -1}, "version"),
    ],
    # Not the changes, which have times in them: every process has to give a test the same name.
    ids=lambda value: str(value) if not isinstance(value, dict) else " ".join(value) or "nothing",
)
def test_a_document_that_a_client_must_refuse_is_refused(payload, verify, tmp_path, changes, reason):
    signer = Signer(tmp_path)
    if "fresh" == reason:
        changes = changes | {"iat": changes["exp"] - 60}
    told = verify(APP, "--jwks", signer.jwks, "--file", signer.sign(payload, **changes), status=REFUSED if reason else 0)
    assert reason is None or reason in told
