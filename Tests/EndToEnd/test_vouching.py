"""Nodes that remember nothing: those beside them vouch for the ledger, and nobody else does."""

import shutil

import psycopg
import pytest
from databases import APP, Database, forged_token, template_database  # noqa: F401
from pinledger import eventually
from restored import codes
from vouching import answering, asked


@pytest.fixture
def database(own_server, template_database, request):  # noqa: F811
    return Database.make(own_server, f"vouching_{abs(hash(request.node.name))}", like=template_database)


def public_key(database) -> str:
    return database.server.cli("key", "batch-public-key", "--kek-file", str(database.key)).stdout.strip()


def test_a_further_node_and_one_with_a_lost_volume_begin_by_themselves(database, tmp_path):
    options = ("--kek-file", str(database.key), "--state-directory")
    first, _ = database.serve(*options, str(tmp_path / "first"), "--trust-database")
    second, api = database.serve(*options, str(tmp_path / "second"))
    assert {"end_vouched", "memory_begun"} <= set(codes(second)) and api.get("/readyz?for=writes").status == 200
    # A node that was vouched for vouches for others.
    first.stop()
    shutil.rmtree(tmp_path / "first")
    first, api = database.serve(*options, str(tmp_path / "first"))
    assert "end_vouched" in codes(first) and api.get("/readyz?for=writes").status == 200
    # So a reader, which knows the public half of the key.
    reader, reading = database.serve(
        "--read-only", "--batch-public-key", public_key(database), "--state-directory", str(tmp_path / "reader"))
    assert "end_vouched" in codes(reader)
    eventually(lambda: reading.document(APP).status == 200, "the document")
    with psycopg.connect(database.superuser) as connection:
        assert connection.execute("SELECT count(*) FROM pinledger.vouch_request").fetchone() == (0,)
    for node in (first, second, reader):
        node.stop()


def test_a_reader_without_a_key_believes_no_node(database, tmp_path):
    node, _ = database.serve("--kek-file", str(database.key), "--state-directory", str(tmp_path / "first"), "--trust-database")
    said = database.refused("--read-only", "--state-directory", str(tmp_path / "reader"))
    assert "this node remembers nothing" in said and "neither the key-encryption key nor a batch public key" in said, said
    assert "--batch-public-key" in said, said
    node.stop()


def test_no_node_that_remembers_nothing_and_no_login_of_the_database_vouches(own_server, database, tmp_path):
    options = ("--kek-file", str(database.key))
    older = Database.make(own_server, "vouching_older", like=database.name)
    node, api = database.serve(*options, "--state-directory", str(tmp_path / "first"), "--trust-database")
    api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Later"})
    former = asked(database.superuser, bytes(32))
    assert len(former) == 120
    node.stop()
    # It runs, and keeps no memory.
    forgetful, _ = database.serve(*options)
    # It remembers, and knows an older copy alone: what it says is signed, and shows nothing of what came since.
    other, _ = older.serve(*options, "--state-directory", str(tmp_path / "other"), "--trust-database")
    made = iter([former, b"x", former[:119], former + b"x", bytes(120)])
    with answering(database.superuser, lambda challenge: next(made, None) or asked(older.superuser, challenge)) as answered:
        said = database.refused(*options, "--state-directory", str(tmp_path / "second"))
    assert "none that runs has answered" in said and "--expect-checkpoint" in said and "--trust-database" in said, said
    assert len(answered) > 5, "the older copy has answered too"
    forgetful.stop()
    other.stop()
    said = database.refused(*options, "--state-directory", str(tmp_path / "second"))
    assert "No node vouches for them: none runs" in said, said
