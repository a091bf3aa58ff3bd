"""Authorities that announce the renewal of certificates (ACME renewal information, RFC 9773), by a stand-in of one."""

import base64
import json
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pinledger import Server, eventually
from tls_server import Key, TLSServer

HOST, APP = "api.example.com", "com.example.announced"
#: RFC 9773, section 4.1: the key identifier and the serial number of its example, and the identifier made of them.
KEY_ID, SERIAL = bytes.fromhex("69885B6B87464041E1B37B847BA0AE2CDE01C8D4"), 0x87654321
EXAMPLE = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE"


def identifier(serial: int) -> str:
    """The identifier of a certificate of the example's authority."""
    parts = KEY_ID, serial.to_bytes(serial.bit_length() // 8 + 1, "big")
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


assert identifier(SERIAL) == EXAMPLE


class Authority:
    """An ACME server's directory, and its service for renewal information."""

    def __init__(self):
        authority = self
        self.answers: dict[str, tuple[int, object]] = {}
        self.asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                authority.asked.append(self.path)
                status, body = authority.answer(self.path)
                self.send_response(status)
                self.send_header("Retry-After", "1")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[int, bytes]:
        if path == "/dir":
            return 200, json.dumps({"newNonce": f"{self.base}/nonce", "renewalInfo": f"{self.base}/renewal-info"}).encode()
        status, body = self.answers.get(path.removeprefix("/renewal-info/"), (404, {"type": "urn:ietf:params:acme:error:malformed"}))
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()

    def announce(self, identifier: str, start: timedelta, end: timedelta, **more) -> None:
        now = datetime.now(timezone.utc)
        window = {name: (now + delta).strftime("%Y-%m-%dT%H:%M:%SZ") for name, delta in (("start", start), ("end", end))}
        self.answers[identifier] = 200, {"suggestedWindow": window} | more

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def reissue(key: Key, serial: int = SERIAL, age: int = 1, days: int = 47) -> None:
    """Replaces a key's certificate by one of the example's authority, so many days old."""
    secret = serialization.load_pem_private_key(key.key.read_bytes(), None)
    assert isinstance(secret, ec.EllipticCurvePrivateKey)
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder(
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Example authority")]),
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)]), secret.public_key(), serial,
        now - timedelta(days=age), now + timedelta(days=days - age),
    )  # fmt: skip
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), False)
    builder = builder.add_extension(x509.AuthorityKeyIdentifier(KEY_ID, None, None), False)
    key.certificate.write_bytes(builder.sign(secret, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


class World:
    def __init__(self, home, authority: Authority, *more: str):
        self.authority = authority
        self.node = Server(
            lowers_rails=False,
            more=["--allow-private-range", "127.0.0.0/8", "--allow-http-webhooks", "--resolve", f"{HOST}=127.0.0.1",
                  "--vantage", "here", "--probe-interval", "1", "--acme-directory", f"{authority.base}/dir", *more],
        )  # fmt: skip
        self.served, self.spare = Key(home, "served", HOST), Key(home, "spare", HOST)
        reissue(self.served)
        self.tls = TLSServer(self.served)
        self.node.start()
        self.node.cli("app", "create", APP)
        self.node.cli("host", "add", APP, HOST, "--primary", str(self.served.certificate), "--backup", str(self.spare.request))
        self.node.api.must("PATCH", f"/v1/apps/{APP}/hosts/{HOST}", {"endpoints": [f"{HOST}:{self.tls.port}"]})

    def items(self) -> list[dict]:
        return [one for one in self.node.api.get(f"/v1/attention?app={APP}").json["items"] if one["kind"] == "renewal_announced"]

    def present(self, serial: int, **more) -> None:
        """Has the server present another certificate of the same key."""
        reissue(self.served, serial, **more)
        self.tls.serve(self.served)

    def warnings(self, kind: str) -> list[dict]:
        told = self.node.api.history("/v1/history", stream=f"watch/{APP}", type=kind)
        return [one for one in told if one["data"]["kind"] == "renewal_announced"]

    def close(self) -> None:
        self.tls.close()
        self.node.destroy()


@pytest.fixture
def authority():
    authority = Authority()
    yield authority
    authority.close()


@pytest.fixture
def world(tmp_path, authority):
    world = World(tmp_path, authority)
    yield world
    world.close()


def test_an_early_renewal_is_urgent_until_another_certificate_is_served(world):
    # The window that one expects is no news.
    world.authority.announce(EXAMPLE, timedelta(days=30), timedelta(days=32))
    eventually(lambda: f"/renewal-info/{EXAMPLE}" in world.authority.asked, "the question, by the identifier of the RFC")
    assert world.items() == []
    # Another certificate, which the node asks about at once.
    world.authority.announce(identifier(SERIAL + 1), timedelta(hours=-1), timedelta(days=1), explanationURL="https://example.com/incident")
    world.present(SERIAL + 1)
    [item] = eventually(world.items, "the announcement")
    assert item["severity"] == "urgent" and item["host"] == HOST and item["pin"] == world.served.pin
    assert "https://example.com/incident" in item["detail"] and "may revoke it" in item["detail"]
    # The command is ready: the next key is the host's backup.
    assert f"pinledger rotation start {APP} {HOST} --next {world.spare.pin} --emergency" in item["remedy"]
    eventually(lambda: world.warnings("WarningRaised"), "the warning")
    words = item["remedy"].split("`")[1].split()
    world.node.cli(*words[1:], "--dry-run")

    # Renewed with the same key: clients notice nothing, and the warning ends.
    world.present(SERIAL + 2)
    eventually(lambda: not world.items(), "the end of the announcement")
    eventually(lambda: world.warnings("WarningCleared"), "the end of the warning")
    assert len(world.warnings("WarningRaised")) == 1


def test_another_node_and_the_next_start_know_it_too(world, tmp_path):
    world.authority.announce(EXAMPLE, timedelta(hours=-1), timedelta(days=1))
    eventually(world.items, "the announcement")
    world.node.stop()
    world.authority.close()
    world.node.start()
    assert len(eventually(world.items, "the announcement after the start")) == 1


def test_an_expected_renewal_that_did_not_come_is_reported(tmp_path, authority):
    authority.announce(EXAMPLE, timedelta(days=-3), timedelta(days=-1))
    world = World(tmp_path, authority)
    try:
        world.present(SERIAL, age=40)
        item = eventually(lambda: next(iter(world.items()), None) if world.items() and world.items()[0]["severity"] == "soon" else None, "the announcement")
        assert "the renewal has failed, or was not served" in item["detail"] and "--emergency" not in item["remedy"]
    finally:
        world.close()


WRONG = [
    (200, b"\xff"), (200, b"[]"), (200, {"suggestedWindow": {"start": "x", "end": "y"}}), (500, {}), (200, b"{" * 200_000), (302, {}),
    (200, {"suggestedWindow": {"start": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"}}),
]  # fmt: skip


def test_a_wrong_answer_is_logged_and_tells_nothing(world):
    for number, answer in enumerate(WRONG, 1):
        world.authority.answers[identifier(SERIAL + number)] = answer
        world.present(SERIAL + number)
        eventually(lambda: f"/renewal-info/{identifier(SERIAL + number)}" in world.authority.asked, f"the question {number}")  # noqa: B023
    eventually(lambda: "renewals_unknown" in world.node.tail(), "the line")
    assert world.items() == [] and world.node.api.get("/readyz").status == 200


def test_a_directory_must_be_an_https_address(tmp_path):
    node = Server()
    try:
        for wrong in ("http://acme.example.com/directory", "acme.example.com", "https://user:geheim@acme.example.com/"):
            said = node.cli("config", "check", "--database", "dbname=x", "--acme-directory", wrong, status=2).stderr
            assert "--acme-directory must be an https address" in said and "geheim" not in said
    finally:
        node.destroy()
