"""An OpenID Connect provider on loopback: metadata, keys, tokens of every kind, right and wrong, and sign-in by code (RFC 8628)."""

import base64
import http.server
import json
import threading
import time
import urllib.parse
import uuid

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

KEYS = {
    "rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "other": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "weak": rsa.generate_private_key(public_exponent=65537, key_size=1024),
    "ec": ec.generate_private_key(ec.SECP256R1()),
    "ed": ed25519.Ed25519PrivateKey.generate(),
}


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, size: int | None = None) -> str:
    return b64(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def jwk(kid: str, key, **more) -> dict:
    """The public key as a JSON Web Key."""
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        return {"kty": "RSA", "kid": kid, "n": number(numbers.n), "e": number(numbers.e), "use": "sig"} | more
    if isinstance(public, ec.EllipticCurvePublicKey):
        numbers = public.public_numbers()
        return {"kty": "EC", "crv": "P-256", "kid": kid, "x": number(numbers.x, 32), "y": number(numbers.y, 32)} | more
    return {"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": b64(public.public_bytes_raw())} | more


class Issuer:
    """Several providers, one below each path: what is fetched from one is counted there."""

    def __init__(self):
        self.documents: dict[str, tuple[int, bytes]] = {}
        self.fetched: list[str] = []
        self.forms: list[tuple[str, dict]] = []
        # What the token endpoint answers, one after the other; the last one again and again.
        self.answers: list[tuple[int, dict]] = []
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.fetched.append(self.path)
                self.answer(*issuer.documents.get(self.path, (404, b"{}")))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                issuer.forms.append((self.path, dict(urllib.parse.parse_qsl(body, strict_parsing=True))))
                if self.path.endswith("/device"):
                    self.answer(*issuer.documents[self.path])
                else:
                    status, answer = issuer.answers[0]
                    if len(issuer.answers) > 1:
                        issuer.answers.pop(0)
                    self.answer(status, json.dumps(answer).encode())

            def answer(self, status: int, body: bytes):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def provider(self, path: str, keys: list[dict] | None = None, **metadata) -> str:
        """Serves a provider below a path, and returns its issuer."""
        issuer = f"{self.base}/{path}"
        keys = [jwk("k1", KEYS["rsa"]), jwk("e1", KEYS["ec"]), jwk("d1", KEYS["ed"])] if keys is None else keys
        document = {"issuer": issuer, "jwks_uri": f"{issuer}/jwks"} | metadata
        self.documents[f"/{path}/.well-known/openid-configuration"] = (200, json.dumps(document).encode())
        self.documents[f"/{path}/jwks"] = (200, json.dumps({"keys": keys}).encode())
        return issuer

    def fetches(self, path: str) -> int:
        """How often the keys of a provider were fetched."""
        return self.fetched.count(f"/{path}/jwks")


def claims(issuer: str, **more) -> dict:
    """Those of a right token. None takes one away."""
    now = int(time.time())
    all_claims = {
        "iss": issuer, "aud": "pinledger", "sub": "ada", "iat": now, "exp": now + 600, "groups": ["dev"], "jti": uuid.uuid4().hex,
    } | more  # fmt: skip
    return {name: value for name, value in all_claims.items() if value is not None}


def token(issuer: str, *, key="rsa", algorithm="RS256", kid: str | None = "k1", header: dict | None = None, **more) -> str:
    headers = {"kid": kid} | (header or {}) if kid is not None else (header or {})
    return jwt.encode(claims(issuer, **more), KEYS[key] if isinstance(key, str) else key, algorithm=algorithm, headers=headers)


def raw(header: bytes | dict, payload: bytes | dict, signature: bytes = b"x") -> str:
    """A token of any parts."""
    parts = [json.dumps(part).encode() if isinstance(part, dict) else part for part in (header, payload)]
    return ".".join([*map(b64, parts), b64(signature)])


def signed(header: bytes | dict, payload: bytes | dict) -> str:
    """A token of any parts, signed with the right key (RS256)."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    text = raw(header, payload).rpartition(".")[0]
    return f"{text}.{b64(KEYS['rsa'].sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"
