"""The key-encryption key: whether it fits what it sealed, and how it is changed."""

import json
import secrets
import subprocess

import pytest
from deployed import declare
from nodes import start_node
from pinledger import BINARY, eventually, host_body

APP = "com.example.sealing"
#: Tables with sealed secrets.
TABLES = ["signing_secret", "client_secret", "telemetry_secret", "webhook_secret"]


@pytest.fixture(scope="module")
def sealed(own_server):
    """A server that keeps a secret of every kind."""
    api = own_server.api
    api.make_app(APP, "api.example.com")
    key = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    declare(api, APP, "dynapins", key=subprocess.check_output(key, text=True))
    api.must("POST", f"/v1/apps/{APP}/telemetry-keys", {})
    api.must("POST", "/v1/webhooks", {"url": "https://hooks.example.com/pinledger"})
    api.must("POST", "/v1/log", {"origin": "pins.example.com/log"})
    return own_server


@pytest.fixture(scope="module")
def key(sealed):
    return str(sealed.data / "key-encryption-key")


def new_key(server) -> str:
    path = server.home / f"other-{secrets.token_hex(4)}"
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(32))
    return str(path)


@pytest.fixture
def other(sealed):
    return new_key(sealed)


def psql(server, statement: str) -> str:
    done = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-h", f"{server.data}/postgresql", "-U", "postgres", "-d", "pinledger"],
        input=statement, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def rows(server) -> dict[str, str]:
    return {table: psql(server, f"SELECT * FROM pinledger.{table} ORDER BY 1") for table in TABLES}


def key_ids(server) -> set[str]:
    return set(psql(server, " UNION ".join(f"SELECT kek_id FROM pinledger.{table}" for table in TABLES)).split())


def doctor(server, key: str, status: int) -> dict:
    done = server.cli(
        "doctor", "--database", server.connection_string, "--kek-file", key, "--listen", f"127.0.0.1:{server.port}",
        "--output", "json", status=status,
    )  # fmt: skip
    return {finding["subject"]: finding for finding in json.loads(done.stdout)}


def rewrap(server, *arguments: str, status: int = 0) -> subprocess.CompletedProcess:
    return server.cli("key", "rewrap", "--database", server.connection_string, *arguments, status=status)


def test_doctor_refuses_the_key_that_serve_refuses(sealed, key, other):
    assert doctor(sealed, key, 0)["sealed secrets"]["verdict"] == "ok"
    found = doctor(sealed, other, 1)["sealed secrets"]
    assert found["verdict"] == "fail"
    serve = subprocess.run(
        [BINARY, "serve", "--database", sealed.connection_string, "--kek-file", other, "--listen", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert serve.returncode != 0
    for text in (found["detail"], serve.stderr):
        assert "it is sealed with the key-encryption key" in text and "otherKeyEncryptionKey" not in text


def test_a_new_key_that_cannot_take_over_every_secret_takes_over_none(sealed, key, other):
    before = rows(sealed)
    assert all(before.values()), "a secret of every kind"
    for arguments, why in [
        (["--kek-file", other, "--next-kek-file", new_key(sealed)], "cannot be opened"),
        (["--kek-file", key, "--next-kek-file", key], "the same"),
    ]:
        refused = rewrap(sealed, *arguments, status=1)
        assert "nothing was changed" in refused.stderr and why in refused.stderr
    flip = "UPDATE pinledger.webhook_secret SET ciphertext = set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1)"
    psql(sealed, flip)
    refused = rewrap(sealed, "--kek-file", key, "--next-kek-file", other, status=1)
    assert "nothing was changed: the webhook secret" in refused.stderr
    psql(sealed, flip)
    rehearsed = rewrap(sealed, "--kek-file", key, "--next-kek-file", other, "--dry-run")
    assert "dry run: nothing was changed" in rehearsed.stdout
    assert rows(sealed) == before


def test_the_key_encryption_key_is_changed_for_everything_at_once(sealed, key, other):
    served = sealed.api.document(APP).body
    rewrap(sealed, "--kek-file", key, "--next-kek-file", other)
    assert len(key_ids(sealed)) == 1
    assert "nothing to do" in rewrap(sealed, "--kek-file", key, "--next-kek-file", other).stdout
    assert doctor(sealed, other, 0)["sealed secrets"]["verdict"] == "ok"
    assert doctor(sealed, key, 1)["sealed secrets"]["verdict"] == "fail"
    assert sealed.cli("fsck", "--database", sealed.connection_string, "--kek-file", other).returncode == 0

    # What is there is served as before, and a node with the new key signs and makes secrets.
    node, api = start_node(sealed, "rewrapped", "--kek-file", other)
    try:
        assert api.document(APP).body == served
        api.must("POST", f"/v1/apps/{APP}/hosts", host_body("more.example.com"))
        eventually(lambda: "more.example.com" in str(api.payload(APP)), "the node publishes")
        api.must("POST", "/v1/webhooks", {"url": "https://hooks.example.com/second"})
    finally:
        node.stop()
    assert len(key_ids(sealed)) == 1

    # A node with the old key serves, and records nothing. What it has sealed meanwhile is found by the next run.
    refused = sealed.api.request("POST", "/v1/webhooks", {"url": "https://hooks.example.com/third"})
    assert refused.status == 503 and "another key-encryption key" in str(refused)
    assert sealed.api.document(APP).status == 200
    rewrap(sealed, "--kek-file", key, "--next-kek-file", other)
    assert len(key_ids(sealed)) == 1
