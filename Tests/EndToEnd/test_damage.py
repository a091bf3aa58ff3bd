"""What somebody who may do anything to the database does to it, and how a node that starts on it behaves."""

import hashlib
import json
import subprocess

import pytest
from pinledger import API, Process, free_port, host_body

APP = "com.example.damage"
#: The triggers that refuse every change of the ledger, whoever asks for it.
GUARDS = """
    DO $$
    DECLARE guard record;
    BEGIN
        FOR guard IN SELECT tgrelid::regclass AS relation, tgname AS name FROM pg_trigger WHERE tgname LIKE 'refuse_%%'
        LOOP
            EXECUTE format('ALTER TABLE %%s %s TRIGGER %%I', guard.relation, guard.name);
        END LOOP;
    END $$;
"""
DAMAGED = 10


@pytest.fixture(scope="module")
def ledger(own_server):
    api = own_server.api
    api.make_app(APP, "api.example.com")
    for number in range(16):
        api.must("POST", f"/v1/apps/{APP}/hosts", host_body(f"h{number}.example.com"))
    return own_server


def sql(server, *statements: str) -> str:
    """As superuser, with the guards switched off meanwhile."""
    script = "\n".join(
        ["BEGIN;", GUARDS % "DISABLE", *(f"{statement};" for statement in statements), GUARDS % "ENABLE ALWAYS", "COMMIT;"]
    )
    done = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", f"{server.data}/postgresql", "-U", "postgres"]
        + ["-d", "pinledger"],
        input=script, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def fsck(server, status: int) -> dict:
    done = server.cli("fsck", "--database", server.connection_string, "--output", "json", status=status)
    return json.loads(done.stdout)


@pytest.fixture
def start(ledger):
    """Starts a node on the database as it is; it answers, whatever it thinks of it."""
    started = []

    def start() -> API:
        port = free_port()
        arguments = ["serve", "--database", ledger.connection_string, "--listen", f"127.0.0.1:{port}"]
        arguments += ["--kek-file", str(ledger.data / "key-encryption-key")]
        node = Process(ledger.home / f"damage-{port}.log", arguments, port)
        api = API(port, ledger.api.token)
        node.spawn()
        started.append(node)
        node.wait_until(lambda: api.get("/healthz").status == 200)
        return api

    yield start
    for node in started:
        node.stop()


def test_a_sound_ledger_is_said_to_be_sound(ledger):
    assert fsck(ledger, 0)["findings"] == []


def test_a_node_that_cannot_read_the_ledger_to_its_end_serves_documents_and_claims_nothing_else(ledger, start):
    flip = "UPDATE pinledger.event SET entry = set_byte(entry, 30, get_byte(entry, 30) # 1) WHERE position = 3"
    before = ledger.api.document(APP)
    sql(ledger, flip)
    try:
        assert any("3" in str(finding) for finding in fsck(ledger, DAMAGED)["findings"])
        api = start()
        # It serves what it has; a token says nothing here, since it may have been revoked behind the damage.
        assert api.get("/readyz").json == {"status": "ready", "serves": True, "writes": False, "signs": False}
        assert api.get("/readyz?for=writes").status == 503
        served = api.document(APP)
        assert (served.status, served.body) == (200, before.body), "the last good document"
        # Behind the damage keys, apps and tokens may have been made or revoked: nothing is said about them.
        for path in ("/client/v1/jwks.json", "/client/v1/apps/com.example.other/document", "/v1/apps"):
            answer = api.get(path)
            assert (answer.status, answer.json["type"].rsplit("/", 1)[-1]) == (503, "halted"), path
    finally:
        sql(ledger, flip)
    assert fsck(ledger, 0)["findings"] == []
    assert start().get("/readyz?for=writes").status == 200


def test_a_ledger_whose_tail_was_cut_off_is_betrayed_by_the_documents(ledger, start):
    """Events, tree and head fit together; but what was published was made of events that are not there."""
    leaves = sql(ledger, "SELECT encode(leaf_hash, 'hex') FROM pinledger.event ORDER BY position LIMIT 16").split()
    level = [bytes.fromhex(leaf) for leaf in leaves]
    assert len(level) == 16
    while len(level) > 1:
        level = [hashlib.sha256(b"\x01" + left + right).digest() for left, right in zip(level[::2], level[1::2])]
    before = ledger.api.document(APP)
    sql(
        ledger,
        "DELETE FROM pinledger.event WHERE position >= 16",
        f"UPDATE pinledger.head SET next_position = 16, frontier = '\\x{level[0].hex()}'",
        "DELETE FROM pinledger.command WHERE first_position >= 16",
        "UPDATE pinledger.stream s SET version = e.version, last_position = e.last FROM (SELECT stream,"
        " max(stream_version) AS version, max(position) AS last FROM pinledger.event GROUP BY 1) e WHERE e.stream = s.name",
    )
    api = start()
    ready = api.get("/readyz?for=writes")
    assert ready.status == 503 and ready.json["writes"] is False
    assert api.document(APP).body == before.body
    refused = api.request("POST", f"/v1/apps/{APP}/hosts", host_body("more.example.com"))
    assert (refused.status, refused.json["type"].rsplit("/", 1)[-1]) == (503, "halted")
