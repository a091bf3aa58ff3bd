"""The certificate authority of the lab, which the nodes, their clients and Prometheus trust."""

import ipaddress
import os
import ssl
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = timedelta(days=60)


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    def __init__(self, directory: Path):
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = name("Lab authority")
        now = datetime.now(timezone.utc)
        certificate = (
            x509.CertificateBuilder().subject_name(self._name).issuer_name(self._name).public_key(self._key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - 2 * LIFETIME).not_valid_after(now + 4 * LIFETIME)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )  # fmt: skip
        self.file = directory / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    @property
    def context(self) -> ssl.SSLContext:
        """The trust of a client: this authority alone."""
        return ssl.create_default_context(cafile=str(self.file))

    def issue(self, service: str, *, left: timedelta = LIFETIME) -> tuple[Path, Path]:
        """Files with a certificate for this machine and its key, the key first, as the handbook asks; `left`: how much of its time
        is left."""
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        files = self.directory / f"{service}.pem", self.directory / f"{service}.key"
        replace(files[1], pem)
        replace(files[0], self.certify(key.public_key(), service, left))
        return files

    def certify(self, key: ec.EllipticCurvePublicKey, subject: str, left: timedelta) -> bytes:
        """A certificate of a key that someone else has, in PEM."""
        end = datetime.now(timezone.utc) + left
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost"), x509.DNSName(subject)]
        certificate = (
            x509.CertificateBuilder().subject_name(name(subject)).issuer_name(self._name).public_key(key)
            .serial_number(x509.random_serial_number()).not_valid_before(end - LIFETIME - timedelta(hours=1)).not_valid_after(end)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )  # fmt: skip
        return certificate.public_bytes(serialization.Encoding.PEM)


def replace(path: Path, content: bytes) -> None:
    """A file that only its owner reads, with one content or the other at each moment."""
    draft = path.with_name(f"{path.name}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.rename(path)
