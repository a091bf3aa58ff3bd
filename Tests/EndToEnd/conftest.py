"""Fixtures: servers, and the certificates whose pins are managed."""

import base64
import contextlib
import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from deployed import Identity
from pinledger import Server

pytest_plugins = ["client_guide", "databases", "outcomes", "packages", "processor", "renewals", "tls_clients"]


#: The files that take longest, the longest first, as a whole run names them at its end. They begin first: a long one that began last
#: would keep one process at work after the others have ended.
LONGEST = (
    "test_witnesses test_edge_lies test_tls test_webhooks test_configuration test_hooks test_firebase test_audit_requests "
    "test_adoption test_client_library test_starting test_forged_clients test_backup test_roots test_renewal_information "
    "test_edge_state test_recover test_metrics test_acme_clients test_tokens test_specs test_rollout_plan test_changes "
    "test_log test_shared_specs test_limits test_cert_manager test_tls_limits test_sign_in test_push"
).split()


SECONDS: dict[str, float] = {}


def pytest_runtest_logreport(report):
    file = report.nodeid.partition("::")[0].rpartition("/")[2].removesuffix(".py")
    SECONDS[file] = SECONDS.get(file, 0) + report.duration


def pytest_terminal_summary(terminalreporter):
    """Names the files that take longest: what LONGEST is to be."""
    if len(SECONDS) > 20:
        slowest = sorted(SECONDS.items(), key=lambda item: -item[1])[:30]
        terminalreporter.write_line("slowest files: " + " ".join(f"{file} {seconds:.0f}" for file, seconds in slowest))


def pytest_collection_modifyitems(items):
    """Puts the files into that order; the order within a file stays."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@contextlib.contextmanager
def running(server: Server):
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture(scope="session")
def server():
    """A server that many tests share: each makes apps of its own, none stops it."""
    with running(Server()) as server:
        yield server


@pytest.fixture(scope="session")
def timed():
    """A server that tests share whose time they move: each makes apps of its own, and takes instants from its clock."""
    with running(Server(has_clock=True)) as server:
        yield server


@pytest.fixture(scope="module")
def own_server():
    """A server for one file's tests alone."""
    with running(Server()) as server:
        yield server


@pytest.fixture(scope="module")
def own_timed_server():
    """A server for one file's tests alone, whose time they move."""
    with running(Server(has_clock=True)) as server:
        yield server


@pytest.fixture
def api(server):
    return server.api


@pytest.fixture
def unchanged(api):
    """Fails the test if something was recorded while it ran."""
    mark = api.mark()
    yield
    assert api.since(mark) == []


@dataclass
class Certificate:
    path: Path
    pin: str


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> list[Certificate]:
    """Certificates as a server presents them, made by openssl: one with an EC key, one with an RSA key; and a third, RSA
    again, for the key in the safe. Their pins are computed here, without Pinledger."""
    directory = tmp_path_factory.mktemp("certificates")
    made = []
    for name, algorithm in [
        ("ec", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]),
        ("rsa", ["rsa:2048"]),
        ("safe", ["rsa:2048"]),
    ]:
        path = directory / f"{name}.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", *algorithm, "-nodes", "-keyout", str(directory / f"{name}.key")]
            + ["-out", str(path), "-days", "30", "-subj", "/CN=api.example.com"],
            check=True, capture_output=True,
        )  # fmt: skip
        key = x509.load_pem_x509_certificate(path.read_bytes()).public_key()
        spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        made.append(Certificate(path, "sha256/" + base64.b64encode(hashlib.sha256(spki).digest()).decode()))
    return made


@pytest.fixture(scope="session")
def identities(tmp_path_factory) -> list[Identity]:
    """Four servers' keys for api.example.com, with a certificate each."""
    directory = tmp_path_factory.mktemp("identities")
    return [Identity(directory, name) for name in ("first", "second", "third", "fourth")]
