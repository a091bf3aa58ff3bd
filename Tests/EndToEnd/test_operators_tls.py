"""The operators' address: no tokens over plain HTTP from other machines, certificates of operators, and HSTS."""

import os
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest
from pinledger import BINARY, Process, free_port
from tls_clients import make_certificate

WIDE = ["0.0.0.0:0", "[::]:0", "192.0.2.1:8440", "pins.example.com:8440"]


def serve(server, *arguments: str, status: int) -> str:
    done = subprocess.run(
        [BINARY, "serve", "--database", server.connection_string, "--read-only", *arguments],
        capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.mark.parametrize("address", WIDE)
def test_a_node_takes_no_tokens_over_plain_http_from_other_machines(server, address):
    said = serve(server, "--listen", address, status=2)
    assert f"to {address} over plain http" in said and "--admin-behind-proxy" in said
    said = serve(server, "--listen", "127.0.0.1:0", "--admin-listen", address, status=2)
    assert f"to {address} over plain http" in said


def test_clients_may_use_plain_http_and_a_proxy_may_speak_tls(server):
    for options in (["--admin-listen", "127.0.0.1:0"], ["--admin-behind-proxy"]):
        port = free_port()
        arguments = ["serve", "--database", server.connection_string, "--read-only", "--listen", f"0.0.0.0:{port}", *options]
        node = Process(server.home / "wide.log", arguments, port)
        node.spawn()
        node.wait_until(lambda port=port: urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").status == 200)
        node.stop()


def issue(directory, name: str, authority: str):
    """A certificate that an authority has issued, and its key."""
    certificate, key = directory / f"{name}.pem", directory / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-keyout", str(key), "-out", str(certificate), "-subj", f"/CN={name}", "-addext", "basicConstraints=CA:FALSE",
         "-CA", str(directory / f"{authority}.pem"), "-CAkey", str(directory / f"{authority}.key")],
        check=True, capture_output=True)  # fmt: skip
    key.chmod(0o600)
    return certificate, key


@pytest.fixture(scope="module")
def guarded(server, tmp_path_factory):
    """A node whose operators must have a certificate."""
    directory = tmp_path_factory.mktemp("operators")
    certificate, key = make_certificate(directory, "server")
    for name in ("staff", "strangers"):
        make_certificate(directory, name)
    shutil.copy(directory / "staff.pem", directory / "authorities.pem")
    issue(directory, "ada", "staff")
    issue(directory, "mallory", "strangers")
    clients, operators = free_port(), free_port()
    arguments = [
        "serve", "--database", server.connection_string, "--read-only", "--listen", f"127.0.0.1:{clients}",
        "--admin-listen", f"127.0.0.1:{operators}", "--tls-certificate", str(certificate), "--tls-key", str(key),
        "--admin-client-ca-file", str(directory / "authorities.pem"),
    ]  # fmt: skip
    node = Process(server.home / "guarded.log", arguments, clients)
    node.directory, node.operators = directory, operators
    node.spawn()
    node.wait_until(lambda: fetch(node, clients, "/readyz")[0] == 200)
    yield node
    node.stop()


def fetch(node, port: int, path: str, identity: str | None = None, token: str | None = None):
    context = ssl.create_default_context(cafile=node.directory / "server.pem")
    if identity:
        context.load_cert_chain(node.directory / f"{identity}.pem", node.directory / f"{identity}.key")
    request = urllib.request.Request(f"https://localhost:{port}{path}")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


def test_operators_need_a_certificate_besides_the_token_and_clients_need_none(server, guarded):
    assert fetch(guarded, guarded.port, "/readyz")[0] == 200
    token = server.api.token
    assert fetch(guarded, guarded.operators, "/v1/whoami", "ada", token)[0] == 200
    assert fetch(guarded, guarded.operators, "/v1/whoami", "ada")[0] == 401
    for identity in (None, "mallory"):
        with pytest.raises((urllib.error.URLError, ConnectionError, ssl.SSLError)):
            fetch(guarded, guarded.operators, "/readyz", identity, token)


def test_answers_over_tls_tell_browsers_to_stay_there(server, guarded):
    for status, headers in (
        fetch(guarded, guarded.operators, "/v1/whoami", "ada", server.api.token), fetch(guarded, guarded.operators, "/v1/whoami", "ada"),
        fetch(guarded, guarded.port, "/nothing"),
    ):  # fmt: skip
        assert headers["Strict-Transport-Security"] == "max-age=31536000", status
    assert "Strict-Transport-Security" not in server.api.get("/v1/whoami").headers


def command(server, guarded, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [BINARY, "whoami", "--server", f"https://localhost:{guarded.operators}", "--ca-file", str(guarded.directory / "server.pem"), *arguments],
        env=os.environ | {"PINLEDGER_TOKEN": server.api.token} | environment, capture_output=True, text=True, timeout=60)  # fmt: skip


def test_commands_present_a_certificate(server, guarded):
    ada = [str(guarded.directory / f"ada.{kind}") for kind in ("pem", "key")]
    assert command(server, guarded, "--client-certificate", ada[0], "--client-key", ada[1]).returncode == 0
    assert command(server, guarded, PINLEDGER_CLIENT_CERTIFICATE=ada[0], PINLEDGER_CLIENT_KEY=ada[1]).returncode == 0
    for done in (
        command(server, guarded),
        command(server, guarded, "--client-certificate", str(guarded.directory / "mallory.pem"), "--client-key", str(guarded.directory / "mallory.key")),
    ):  # fmt: skip
        assert done.returncode == 8, done.stderr
        assert "asks operators for a certificate" in done.stderr and "--client-certificate" in done.stderr
    assert command(server, guarded, "--client-certificate", ada[0]).returncode == 2


def test_other_authorities_are_taken_without_a_restart(server, guarded):
    shutil.copy(guarded.directory / "strangers.pem", guarded.directory / "authorities.pem")
    guarded.process.send_signal(1)
    guarded.wait_until(lambda: reaches(guarded, "mallory"))
    assert not reaches(guarded, "ada")
    shutil.copy(guarded.directory / "staff.pem", guarded.directory / "authorities.pem")
    guarded.process.send_signal(1)
    guarded.wait_until(lambda: reaches(guarded, "ada"))


def reaches(node, identity: str) -> bool:
    try:
        return fetch(node, node.operators, "/readyz", identity)[0] == 200
    except (urllib.error.URLError, ConnectionError, ssl.SSLError):
        return False


def test_certificates_of_operators_need_tls_and_an_address_of_their_own(server, guarded):
    authorities = ["--admin-client-ca-file", str(guarded.directory / "authorities.pem")]
    pair = ["--tls-certificate", str(guarded.directory / "server.pem"), "--tls-key", str(guarded.directory / "server.key")]
    assert "--tls-certificate" in serve(server, "--listen", "127.0.0.1:0", *authorities, status=2)
    assert "--admin-listen" in serve(server, "--listen", "127.0.0.1:0", *authorities, *pair, status=2)
    empty = guarded.directory / "empty.pem"
    empty.write_text("")
    said = serve(
        server, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", *pair, "--admin-client-ca-file", str(empty), status=1)
    assert str(empty) in said
