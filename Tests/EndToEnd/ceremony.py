"""People with offline keys who make roots of trust, and the thief of a key that signs documents."""

import base64
import hashlib
import json
import os
import subprocess
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from edges import sign
from pinledger import BINARY, Server


def run(*arguments: object, status: int = 0) -> str:
    done = subprocess.run([BINARY, *map(str, arguments)], env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


class Ceremony:
    """Ada, Bob and Cleo, two of whom sign."""

    def __init__(self, home: Path, server: Server):
        self.home, self.server = home, server
        for name in ("ada", "bob", "cleo", "eve"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / name], check=True)
        self.version = 0

    def file(self, version: int) -> Path:
        return self.home / f"{version}.root.json"

    def keys(self, *keys: dict) -> Path:
        path = self.home / f"keys.{os.urandom(4).hex()}.json"
        path.write_text(json.dumps({"keys": list(keys)}))
        return path

    def key_set(self) -> list[dict]:
        return self.server.api.get("/client/v1/jwks.json").json["keys"]

    def draft(self, *keys: dict, expires: str | None = None, signers: tuple[str, ...] = ("ada", "cleo")) -> Path:
        self.version += 1
        path, documents = self.file(self.version), self.keys(*(keys or self.key_set()))
        if self.version == 1:
            people = [word for name in ("ada", "bob", "cleo") for word in ("--root-key", self.home / f"{name}.pub")]
            run("root", "draft", path, *people, "--threshold", 2, "--document-keys", documents, "--expires", expires or "2036-01-01")
        else:
            more = ["--expires", expires] if expires else []
            run("root", "draft", path, "--after", self.file(self.version - 1), "--document-keys", documents, *more)
        for name in signers:
            run("root", "sign", path, "--key-file", self.home / name)
        return path

    def publish(self, *keys: dict, force: bool = False, expires: str | None = None) -> Path:
        path = self.draft(*keys, expires=expires)
        self.server.cli("root", "publish", str(path), "--reason", "a test", *(["--force"] if force or expires else []))
        return path

    def new_key(self) -> str:
        return self.server.api.must("POST", "/v1/keys", {"reason": "a reserve"}).json["events"][0]["data"]["kid"]

    def activate(self, kid: str) -> None:
        self.server.api.must("POST", f"/v1/keys/{kid}/activate", {"force": True, "reason": "a test cannot wait"})


class Thief:
    """Someone who has a key that signs documents."""

    def __init__(self):
        self.key = Ed25519PrivateKey.generate()
        raw = self.key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self.x = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        thumb = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": self.x}, separators=(",", ":")).encode()
        self.kid = base64.urlsafe_b64encode(hashlib.sha256(thumb).digest()).rstrip(b"=").decode()

    @property
    def jwk(self) -> dict:
        return {"alg": "EdDSA", "crv": "Ed25519", "kid": self.kid, "kty": "OKP", "use": "sig", "x": self.x}

    def sign(self, document: bytes, **changes: object) -> bytes:
        part = document.split(b".")[1]
        payload = json.loads(base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4))) | changes
        content = {name: value for name, value in payload.items() if name not in ("content_sha256", "iat", "exp")}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        payload["content_sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
        return sign(payload, self.key, self.kid)
