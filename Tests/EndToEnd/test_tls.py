"""HTTPS on the node itself: ALPN, HTTP/2 and HTTP/1.1, which files are taken, and certificates that are renewed."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest
from pinledger import BINARY, Process, Server, free_port
from wire import Wire, get

APP = "com.example.tls"
DOCUMENT = f"/client/v1/apps/{APP}/document"
ROUTED = f"/client/v1/apps/{APP.replace('.', '%2E')}/document"


def make_certificate(directory, name: str):
    """A self-signed certificate for localhost, and its key."""
    certificate, key = directory / f"{name}.pem", directory / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-keyout", str(key), "-out", str(certificate), "-subj", f"/CN={name}"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    key.chmod(0o600)
    return certificate, key


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def database():
    server = Server()
    try:
        server.start().api.make_app(APP, *(f"h{number}.example.com" for number in range(5)))
        yield server
    finally:
        server.destroy()


def arguments(database, port: int, certificate, key) -> list[str]:
    return ["serve", "--database", database.connection_string, "--read-only", "--listen", f"127.0.0.1:{port}"] + [
        "--tls-certificate", str(certificate), "--tls-key", str(key), "--header-timeout", "2", "--idle-timeout", "3",
        "--drain-timeout", "3", "--body-timeout", "2",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def node(database, directory):
    """A node with a certificate in files of its own, which tests may replace."""
    made = make_certificate(directory, "first")
    for source, name in zip(made, ("served.pem", "served.key")):
        shutil.copy2(source, directory / name)
    port = free_port()
    node = Process(
        database.home / "tls.log", arguments(database, port, directory / "served.pem", directory / "served.key"), port
    )
    node.spawn()
    node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
    yield node
    if node.process is not None:
        node.stop()


def client_context(*protocols: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class SecureWire(Wire):
    def answer_to(self, target: str, *fields: str, method: str = "GET"):
        return self.send(get(target, *fields, method=method)).answer(method)


def connect(node, *protocols: str, **options) -> SecureWire:
    context = client_context(*protocols)
    return SecureWire(node.port, wrap=lambda plain: context.wrap_socket(plain, server_hostname="localhost"), **options)


def common_name(node) -> str:
    """The name in the certificate that a new connection is shown."""
    with connect(node) as wire:
        der = wire.socket.getpeercert(binary_form=True)
    from cryptography import x509

    return x509.load_der_x509_certificate(der).subject.rfc4514_string()


def curl(node, *options: str) -> tuple[str, bytes, bytes]:
    """Version of HTTP, head and body."""
    head = subprocess.run(
        ["curl", "-sk", "--max-time", "10", "-D", "/dev/stderr", *options], capture_output=True, check=True
    )
    version = head.stderr.split(b"\r\n")[0].split(b" ")[0].decode()
    return version, head.stderr, head.stdout


# MARK: Protocols


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1"), (["http/1.1", "h2"], "h2"), ([], None)],
)
def test_the_protocol_is_chosen_by_alpn(node, offered, chosen):
    with connect(node, *offered) as wire:
        assert wire.socket.selected_alpn_protocol() == chosen
        assert wire.socket.version() in ("TLSv1.2", "TLSv1.3")
        if chosen != "h2":
            assert wire.answer_to(DOCUMENT).status == 200


def test_tls_1_2_is_spoken_and_nothing_older(node):
    context = client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with Wire(node.port, wrap=lambda plain: context.wrap_socket(plain)) as wire:
        assert wire.socket.version() == "TLSv1.2"
    context = client_context()
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Wire(node.port, wrap=lambda plain: context.wrap_socket(plain)).send(get(DOCUMENT))


def test_plain_http_gets_nothing(node):
    with Wire(node.port) as wire:
        wire.send(get(DOCUMENT))
        assert wire.seconds_to_end() < 3
        assert b"HTTP" not in wire.received


def test_http_1_over_tls_answers_as_plain_http_does(node, database):
    with connect(node, "http/1.1") as secure, Wire(database.port) as plain:
        for fields in ([], ["Accept-Encoding: gzip"], ["Accept-Encoding: gzip"], ["If-None-Match: *"]):
            expected = plain.send(get(DOCUMENT, *fields)).answer()
            assert secure.answer_to(DOCUMENT, *fields).without("date") == expected.without("date")
        pipeline = secure.send((get(DOCUMENT) + get("/healthz")) * 10)
        assert [pipeline.answer()["Content-Type"] for _ in range(20)] == ["application/jose", "application/json"] * 10


@pytest.mark.parametrize("method", [[], ["-I"]])
@pytest.mark.parametrize("fields", [[], ["-H", "Accept-Encoding: br"], ["-H", "If-None-Match: *"], ["-H", "Range: x"]])
def test_http_2_gives_the_same_answers_prepared_or_routed(node, method, fields):
    base = f"https://localhost:{node.port}"
    options = ["--http2", "--resolve", f"localhost:{node.port}:127.0.0.1", *method, *fields]

    def answer(target: str):
        version, head, body = curl(node, *options, base + target)
        assert version == "HTTP/2"
        lines = [line for line in head.split(b"\r\n") if line and not line.lower().startswith(b"date:")]
        assert any(line.lower().startswith(b"date:") for line in head.split(b"\r\n"))
        return sorted(lines), body

    routed = answer(ROUTED)
    assert answer(DOCUMENT) == routed
    expected = b"HTTP/2 304 " if "If-None-Match: *" in fields else b"HTTP/2 200 "
    assert expected in [line + b" " if not line.endswith(b" ") else line for line in routed[0]]


def test_http_2_answers_many_streams(node):
    done = subprocess.run(
        ["h2load", "-n", "3000", "-c", "5", "-m", "50", f"https://127.0.0.1:{node.port}{DOCUMENT}"]
        + [f"https://127.0.0.1:{node.port}/healthz"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "3000 succeeded, 0 failed, 0 errored, 0 timeout" in done.stdout, done.stdout
    assert "status codes: 3000 2xx" in done.stdout


# MARK: Limits


def test_a_handshake_that_does_not_come_is_not_waited_for(node):
    with Wire(node.port) as silent, Wire(node.port) as begun:
        # The record header of a ClientHello whose body never comes.
        begun.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert 1 < silent.seconds_to_end() < 4
        assert begun.seconds_to_end() < 4


def test_idle_connections_are_closed(node):
    with connect(node, "http/1.1") as one, connect(node, "h2") as two, connect(node, "h2") as three:
        three.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        assert one.answer_to(DOCUMENT).status == 200
        # No preface within the time for a head.
        assert two.seconds_to_end() < 4
        assert one.seconds_to_end() < 6
        # Asked to go after the idle time, and closed after as much again because it does not answer.
        assert three.seconds_to_end() < 6


def test_streams_that_are_opened_only_to_be_reset_end_the_connection(node):
    """Rapid reset (CVE-2023-44487): the connection is closed rather than served for ever."""

    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    # :method GET, :scheme https, :path /, :authority a: from the static table of HPACK, and one literal.
    head = b"\x82\x87\x84\x01\x01a"
    with connect(node, "h2") as wire:
        wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
        try:
            for stream in range(1, 4001, 2):
                wire.send(frame(1, 0x05, stream, head) + frame(3, 0, stream, (8).to_bytes(4, "big")))
        except OSError:
            pass
        assert wire.seconds_to_end() < 2
    assert connect(node).answer_to("/healthz").status == 200


# MARK: Files


def start_failure(database, certificate, key) -> str:
    done = subprocess.run(
        [BINARY, *arguments(database, free_port(), certificate, key)], capture_output=True, text=True, timeout=20
    )
    assert done.returncode != 0
    return done.stderr


def test_files_that_cannot_be_used_are_named(database, directory):
    certificate, key = make_certificate(directory, "one")
    _, other = make_certificate(directory, "other")
    assert "cannot be read from" in start_failure(database, directory / "missing.pem", key)
    assert "cannot be read from" in start_failure(database, certificate, directory / "missing.key")
    assert "does not hold a certificate" in start_failure(database, key, key)
    assert "does not hold a private key" in start_failure(database, certificate, certificate_as_key(directory, certificate))
    assert "does not belong to the certificate" in start_failure(database, certificate, other)
    key.chmod(0o644)
    message = start_failure(database, certificate, key)
    assert "can be read by others" in message and "chmod 600" in message
    done = subprocess.run(
        [BINARY, "serve", "--database", "x", "--tls-key", str(key)], capture_output=True, text=True, timeout=20
    )
    assert "go together" in done.stderr


def certificate_as_key(directory, certificate):
    path = directory / "not-a-key"
    shutil.copy(certificate, path)
    path.chmod(0o600)
    return path


def replace(directory, certificate, key) -> None:
    """As a renewal does: new files take the old ones' places."""
    for source, name in ((certificate, "served.pem"), (key, "served.key")):
        shutil.copy2(source, directory / "new")
        os.replace(directory / "new", directory / name)


def test_a_renewed_certificate_is_taken_up_and_a_broken_one_is_not(node, directory):
    assert common_name(node) == "CN=first"
    with connect(node, "http/1.1") as old:
        assert old.answer_to(DOCUMENT).status == 200
        second, second_key = make_certificate(directory, "second")
        replace(directory, second, second_key)
        node.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 5
        while common_name(node) != "CN=second":
            assert time.monotonic() < deadline, "the new certificate is not taken up"
            time.sleep(0.05)
        assert old.answer_to(DOCUMENT).status == 200, "a connection that stands is not disturbed"
    _, wrong = make_certificate(directory, "wrong")
    replace(directory, second, wrong)
    node.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 5
    while "does not belong to the certificate" not in node.tail():
        assert time.monotonic() < deadline, "nobody is told"
        time.sleep(0.05)
    assert common_name(node) == "CN=second"


def test_the_end_is_announced_and_kept(node):
    """Last in this file: it stops the node."""
    with connect(node, "h2") as wire, connect(node, "http/1.1") as idle:
        wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        assert idle.answer_to(DOCUMENT).status == 200
        time.sleep(0.2)
        started = time.monotonic()
        node.process.terminate()
        # GOAWAY is a frame of type 7.
        wire.seconds_to_end()
        kinds = []
        rest = wire.received
        while len(rest) >= 9:
            kinds.append(rest[3])
            rest = rest[9 + int.from_bytes(rest[:3], "big") :]
        assert 7 in kinds
        assert idle.seconds_to_end() < 3
        assert node.process.wait(timeout=15) == 0
        assert time.monotonic() - started < 8
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", node.port)).close()
    node.process = None
