"""Apps whose installs are deployed clients, and the keys by which those clients are known."""

import base64
import hashlib
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from pinledger import API, Answer, from_now

HOST = "api.example.com"

KINDS = [
    "android_nsc", "apple_ats", "curl", "dynapins", "flutter", "muejam", "netkit", "okhttp", "okhttp_3", "react_native",
    "remote_config", "ssl_pinning", "trustkit_android", "trustkit_ios", "wultra",
]  # fmt: skip

# The key pair that Dynapins' own tests have, with the name its clients log.
ED25519_PRIVATE = "MC4CAQAwBQYDK2VwBCIEIEottsHhxfNBdKlEbCVOJZ0Pav1mfvjUruTuJMApfwjM"
ED25519_PUBLIC = "MCowBQYDK2VwAyEA9gocJEBHG+vcm2OH42ZEy8XiYarSBJ3ZBTA5Ni7J+Ac="
ED25519_NAME = "7fda4c1e"
# The key pair that the tests of Wultra's clients have, with the name that it has as a key of Dynapins 0.2.
P256_PRIVATE = (
    "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQgTqkO8z2fD4uCLn0S5IwbK0y8UN24cOVean+ndd3YiSqgCgYIKoZIzj0DAQehRANCAAQt"
    "5FfTiA5zLlaAnQ0fZxAPyYnSS00wy7kgNk0mbBoDg0rIX22YN9TEvdFgvx3W1PwOVi+Rpsg5BP4pLOiDb/lx"
)
P256_PUBLIC = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeRX04gOcy5WgJ0NH2cQD8mJ0ktNMMu5IDZNJmwaA4NKyF9tmDfUxL3RYL8d1tT8DlYvkabIOQT+KSzo"
    "g2/5cQ=="
)
P256_POINT = "BC3kV9OIDnMuVoCdDR9nEA/JidJLTTDLuSA2TSZsGgODSshfbZg31MS90WC/HdbU/A5WL5GmyDkE/iks6INv+XE="
P256_NAME = "06e43ae9"


def private_key(text: str):
    return serialization.load_der_private_key(base64.b64decode(text), None)


def public_key(text: str):
    return serialization.load_der_public_key(base64.b64decode(text))


def pkcs8(key) -> str:
    """A private key as text in PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def spki(key) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def key_id(public: str) -> str:
    """How the ledger names a key, by its SubjectPublicKeyInfo in base64."""
    return hashlib.sha256(base64.b64decode(public)).hexdigest()[:32]


class Identity:
    """A server's key and certificate, in files that a TLS server can be given."""

    def __init__(
        self, directory: Path, name: str, host: str = HOST, *, common_name: str | None = None, days: int = 90,
        renewing: "Identity | None" = None, email: str | None = None,
    ):  # fmt: skip
        """
        common_name: The host where it is not given; none where it is empty.
        renewing: Whose key the certificate is of.
        email: An alternative name besides the host.
        """
        private = ec.generate_private_key(ec.SECP256R1()) if renewing is None else renewing.private
        common_name = host if common_name is None else common_name
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)] if common_name else [])
        alternatives = [x509.DNSName(host)] + ([] if email is None else [x509.RFC822Name(email)])
        self.private = private
        start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)
        self.public = private.public_key()
        self.x509 = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(self.public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=not common_name)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .sign(private, hashes.SHA256())
        )
        self.key, self.certificate = directory / f"{name}.key", directory / f"{name}.pem"
        self.key.write_text(pkcs8(private))
        self.certificate.write_bytes(self.x509.public_bytes(Encoding.PEM))
        self.digest = hashlib.sha256(spki(self.public)).digest()
        self.pin = "sha256/" + base64.b64encode(self.digest).decode()
        # What clients have that hash `SecKeyCopyExternalRepresentation`.
        self.raw = self.public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.fingerprint = self.x509.fingerprint(hashes.SHA256())
        self.fingerprint_sha1 = self.x509.fingerprint(hashes.SHA1())
        self.expires = int(self.x509.not_valid_after_utc.timestamp())

    @property
    def base64(self) -> str:
        """The pin without its `sha256/`."""
        return self.pin.removeprefix("sha256/")

    def entry(self, role: str) -> dict:
        """The body's member that shows the certificate."""
        return {"material": self.certificate.read_text(), "role": role}


def add_host(api: API, app: str, host: str, *pins: dict, mode: str = "enforce", **members) -> None:
    """Adds a host with these pins, the first as its primary and the others as backups unless they say otherwise."""
    roles = ["primary"] + ["backup"] * (len(pins) - 1)
    baseline = {"source": "document", "mode": mode, "pins": [{"role": role} | pin for pin, role in zip(pins, roles)]}
    body = {"host": host, "baseline": baseline, "reason": "a test", "force": True, **members}
    api.must("POST", f"/v1/apps/{app}/hosts", body)


def make_app(api: API, app: str, *identities: Identity, host: str = HOST) -> str:
    """An app with one host, whose keys' certificates are known."""
    api.must("POST", "/v1/apps", {"app": app})
    add_host(api, app, host, *({"material": one.certificate.read_text()} for one in identities))
    return app


def client_path(app: str, kind: str, more: str = "") -> str:
    return f"/v1/apps/{app}/clients/{kind}{more}"


def declare(api: API, app: str, kind: str, settings: dict | None = None, key: str | None = None) -> Answer:
    """Says that an app has clients of a kind, and gives it a key; the last answer."""
    answer = api.must("PUT", client_path(app, kind), {} if settings is None else {"settings": settings})
    if key is not None:
        answer = api.must("POST", client_path(app, kind, "/key"), {"private_key": key})
    return answer


def ask(api: API, target: str, method: str = "GET", body=None, **headers) -> Answer:
    """As an install asks: without a token. A header's name has underscores for hyphens."""
    return api.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()}, token=None)


class KillSwitch:
    """`with KillSwitch(api, app):` – an app's switch, or one host's."""

    def __init__(self, api: API, app: str, host: str | None = None):
        self.api = api
        self.target = f"/v1/apps/{app}" + (f"/hosts/{host}" if host else "") + "/kill-switch"

    def __enter__(self) -> None:
        self.api.must("PUT", self.target, {"expires_at": from_now(hours=1), "reason": "a test"})

    def __exit__(self, *_) -> None:
        self.api.must("DELETE", f"{self.target}?reason=over")


def is_not_kept_longer(answer: Answer, seconds: int) -> bool:
    """Whether caches may keep an answer for at most so long."""
    directives = [part.strip() for part in (answer["Cache-Control"] or "").split(",")]
    ages = [int(part.partition("=")[2]) for part in directives if part.startswith("max-age=")]
    return "no-store" in directives or "no-cache" in directives or bool(ages) and max(ages) <= seconds


def check_conditional(api: API, target: str, answer: Answer) -> None:
    """HEAD says what GET does; and what has a tag is not sent again to those who have it."""
    head = ask(api, target, "HEAD")
    assert (head.status, head.body, head["Content-Type"]) == (answer.status, b"", answer["Content-Type"])
    if (tag := answer["ETag"]) is not None:
        again = ask(api, target, If_None_Match=tag)
        assert (again.status, again.body, again["ETag"]) == (304, b"", tag)
        assert ask(api, target, If_None_Match='"another"').status == 200


def compact(value) -> bytes:
    """JSON with its members in the order in which they are given, as Go writes structures."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
