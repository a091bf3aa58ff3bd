"""Nodes without the key-encryption key believe only what a batch key has signed that they know."""

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from databases import APP, Database
from names import unique
from pinledger import API, eventually
from problems import expect_problem

sys.path.append(str(Path(__file__).parent.parent / "Torture"))
import batch_mac  # noqa: E402
import tree  # noqa: E402

DAMAGED, NOT_VERIFIED, USAGE = 10, 10, 2


@pytest.fixture
def database(own_server, template_database):
    return Database.make(own_server, unique("signatures_"), like=template_database)


def public_key(database, file: Path | None = None) -> str:
    return database.server.cli("key", "batch-public-key", "--kek-file", str(file or database.key)).stdout.strip()


def new_key(database) -> Path:
    file = database.server.home / unique("kek-")
    file.write_text(subprocess.run(["openssl", "rand", "-base64", "32"], capture_output=True, text=True).stdout)
    file.chmod(0o600)
    return file


def name(api) -> str:
    return api.must("GET", f"/v1/apps/{APP}").json["display_name"]


def rename(api, text: str) -> None:
    api.must("PATCH", f"/v1/apps/{APP}", {"display_name": text})


def test_the_signature_is_the_documented_one(database):
    seed = batch_mac.signing_seed(database.key)
    expected = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    assert base64.b64encode(expected).decode() == public_key(database)
    with psycopg.connect(database.superuser) as connection:
        rows = connection.execute(
            "SELECT position, leaf_hash, signature, mac FROM pinledger.event ORDER BY position").fetchall()  # fmt: skip
    frontier, signed = tree.Frontier.decode(0, b""), 0
    for position, leaf, signature, mac in rows:
        frontier.append(leaf)
        assert (signature is None) == (mac is None)
        if signature is not None:
            assert signature[:8] == hashlib.sha256(expected).digest()[:8]
            Ed25519PublicKey.from_public_bytes(expected).verify(
                signature[8:], batch_mac.signed(position + 1, frontier.root))  # fmt: skip
            signed += 1
    assert signed > 3 and rows[-1][2] is not None


def test_a_node_without_the_key_shows_changes_at_once(database):
    keeper, api = database.serve("--kek-file", str(database.key))
    node, reading = database.serve("--read-only", "--batch-public-key", public_key(database))
    try:
        for number in range(20):
            rename(api, f"Name {number}")
            eventually(lambda: name(reading) == f"Name {number}", "the change")
        assert reading.get("/readyz").status == 200
        # The document is a step behind the change.
        eventually(lambda: reading.payload(APP) == api.payload(APP), "the document")
    finally:
        keeper.stop()
        node.stop()


@pytest.mark.parametrize("kind", ["none", "guessed", "of an earlier end"])
def test_a_node_without_the_key_believes_no_event_that_a_login_has_made(database, forged_token, kind):
    text, event = forged_token
    key = public_key(database)
    keeper, api = database.serve("--kek-file", str(database.key))
    node, reading = database.serve("--read-only", "--batch-public-key", key)
    nodes = [keeper, node]
    try:
        rename(api, "Genuine")
        eventually(lambda: name(reading) == "Genuine", "the change")
        version = api.payload(APP)["version"]
        eventually(lambda: reading.payload(APP)["version"] == version, "the document")
        with psycopg.connect(database.superuser) as connection:
            genuine = connection.execute(
                "SELECT signature FROM pinledger.event ORDER BY position DESC LIMIT 1").fetchone()[0]  # fmt: skip
        signature = {"none": None, "guessed": genuine[:8] + bytes(64), "of an earlier end": genuine}[kind]
        database.forge_token(event, key=database.key, signature=signature)
        eventually(lambda: node.said("end_unsigned"), "the node says so")
        started, starting = database.serve("--read-only", "--batch-public-key", key)
        nodes.append(started)
        for each in (reading, starting):
            # Neither the forged token nor any other is taken: one of those may have been revoked by what is not believed.
            refused = API(each.port, text).get("/v1/apps")
            expect_problem(refused, 503, "events_unsigned")
            assert "batch key" in refused.json["detail"]
            assert each.payload(APP)["version"] == version
            assert each.get("/readyz").status == 200
            assert each.get("/client/v1/jwks.json").status == 200
        # What the harness must see: a node that is given no key believes the event.
        believing, fooled = database.serve("--read-only")
        nodes.append(believing)
        eventually(lambda: API(fooled.port, text).get("/v1/apps").status == 200, "the forged token is taken")
    finally:
        for each in nodes:
            each.stop()
    # An auditor needs no secret to find it.
    done = database.server.cli(
        "fsck", "--database", database.connection_string, "--batch-public-key", key, status=DAMAGED)
    assert "signature_wrong" in done.stdout
    doctor = database.server.cli(
        "doctor", "--database", database.connection_string, "--read-only", "--batch-public-key", key, "--listen", "127.0.0.1:0",
        status=1,
    )  # fmt: skip
    assert "not signed with a known batch key" in doctor.stdout


def test_a_node_that_knows_another_key_does_not_start(database):
    other = public_key(database, new_key(database))
    options = ("--database", database.connection_string, "--read-only")
    refused = database.server.cli("serve", *options, "--batch-public-key", other, status=NOT_VERIFIED).stderr
    assert "no batch key that it knows has signed" in refused and "pinledger key batch-public-key" in refused
    refused = database.server.cli("serve", *options, "--batch-public-key", "nonsense", status=USAGE).stderr
    assert "nonsense is not a batch public key" in refused


def test_a_change_of_the_key_takes_no_node_without_it_by_surprise(database, tmp_path):
    old, new = database.key, new_key(database)
    both = ["--batch-public-key", public_key(database, new), "--batch-public-key", public_key(database, old)]
    memory = ["--state-directory", str(tmp_path / "memory")]
    keeper, _ = database.serve("--kek-file", str(old))
    node, reading = database.serve("--read-only", *both, *memory, "--trust-database")
    late, unprepared = database.serve("--read-only", "--batch-public-key", public_key(database, old))
    nodes = [node, late]
    try:
        database.server.cli(
            "key", "rewrap", "--database", database.connection_string, "--kek-file", str(old), "--next-kek-file", str(new))
        keeper.stop()
        keeper, api = database.serve("--kek-file", str(new))
        rename(api, "Renewed")
        version = api.payload(APP)["version"]
        eventually(lambda: name(reading) == "Renewed", "the change")
        eventually(lambda: reading.payload(APP)["version"] == version, "the document")
        # The other one waits, serves on what it has, and goes on once it is told of the new key.
        eventually(lambda: late.said("end_unsigned"), "the node says so")
        assert unprepared.get("/v1/apps").status == 503
        # What is published is signed by a key that it knows.
        eventually(lambda: unprepared.payload(APP)["version"] == version, "the document")
        # A memory of more than is signed by the keys that are left is no contradiction.
        kept = tmp_path / "memory/memory"
        eventually(lambda: kept.exists() and json.loads(kept.read_text().splitlines()[0])["position"] >= reading.position(), "the memory")
        node.stop()
        node, reading = database.serve("--read-only", "--batch-public-key", public_key(database, old), *memory)
        nodes.append(node)
        assert node.said("memory_contradicted") == [] and node.said("end_unsigned")
        eventually(lambda: reading.payload(APP)["version"] == version, "the document")
        node.stop()
        node, reading = database.serve("--read-only", *both, *memory)
        nodes.append(node)
        assert name(reading) == "Renewed" and reading.get("/readyz").status == 200
    finally:
        for each in [keeper, *nodes]:
            each.stop()


def test_nodes_start_and_serve_documents_where_the_last_events_are_gone(database):
    keeper, api = database.serve("--kek-file", str(database.key))
    try:
        served = api.payload(APP)
    finally:
        keeper.stop()
    with psycopg.connect(database.superuser, autocommit=True) as connection:
        connection.execute("ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change")
        connection.execute("DELETE FROM pinledger.event WHERE position = (SELECT max(position) FROM pinledger.event)")
    for options in (["--read-only", "--batch-public-key", public_key(database)], ["--read-only"], ["--kek-file", str(database.key)]):
        node, halted = database.serve(*options)
        try:
            assert halted.get("/readyz?for=writes").status == 503
            assert halted.payload(APP)["content_sha256"] == served["content_sha256"]
            assert "ledger_damaged" in node.log.read_text()
        finally:
            node.stop()
