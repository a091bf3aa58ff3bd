"""Damage by an attacker who may do anything to the database, and how a node that starts on it behaves."""

import contextlib
import hashlib
import json
import subprocess

import pytest
from pinledger import API, Process, eventually, free_port, host_body

APP = "com.example.damage"
#: The triggers that refuse every change of the ledger, by any role.
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
        input=script, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def fsck(server, status: int, *more: str) -> dict:
    done = server.cli("fsck", "--database", server.connection_string, "--output", "json", *more, status=status)
    return json.loads(done.stdout)


def codes(server, *more: str) -> set[str]:
    """What a damaged database is said to have, with no time left for nodes to publish in."""
    return {finding["code"] for finding in fsck(server, DAMAGED, "--grace", "0", *more)["findings"]}


@contextlib.contextmanager
def kept(server, table: str):
    """Puts a table back as it was."""
    sql(server, "DROP TABLE IF EXISTS public.kept", f"CREATE TABLE public.kept AS TABLE pinledger.{table}")
    try:
        yield
    finally:
        sql(
            server, f"DELETE FROM pinledger.{table}", f"INSERT INTO pinledger.{table} SELECT * FROM public.kept",
            "DROP TABLE public.kept",
        )  # fmt: skip


@pytest.fixture
def start(ledger):
    """Starts a node on the database as it is; it answers, whatever it thinks of it."""
    started = []

    def start(*options: str) -> API:
        port = free_port()
        arguments = ["serve", "--database", ledger.connection_string, "--listen", f"127.0.0.1:{port}"]
        arguments += options or ["--kek-file", str(ledger.data / "key-encryption-key")]
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


def test_a_node_that_has_not_read_the_signing_key_serves_and_claims_nothing(ledger, start):
    flip = "UPDATE pinledger.event SET entry = set_byte(entry, 30, get_byte(entry, 30) # 1) WHERE position = 3"
    sql(ledger, flip)
    try:
        assert any("3" in str(finding) for finding in fsck(ledger, DAMAGED)["findings"])
        api = start()
        # No document can be verified without the key, and none is served that is not.
        assert api.get("/readyz").json == {"status": "not_ready", "serves": False, "serves_documents": False, "writes": False, "signs": False}
        assert api.get("/readyz?for=writes").status == 503
        # Behind the damage keys, apps and tokens may have been made or revoked: nothing is said about them.
        hidden = (f"/client/v1/apps/{APP}/document", "/client/v1/jwks.json", "/client/v1/apps/com.example.other/document", "/v1/apps")
        for path in hidden:
            answer = api.get(path)
            assert (answer.status, answer.json["type"].rsplit("/", 1)[-1]) == (503, "halted"), path
    finally:
        sql(ledger, flip)
    assert fsck(ledger, 0)["findings"] == []
    assert start().get("/readyz?for=writes").status == 200


@pytest.mark.parametrize(
    "table, change, code",
    [
        ("document", f"UPDATE pinledger.document SET position = position + 1000000 WHERE app = '{APP}'", "document_wrong"),
        ("document", f"UPDATE pinledger.document SET position = 1 WHERE app = '{APP}'", "document_wrong"),
        ("document", f"DELETE FROM pinledger.document WHERE app = '{APP}'", "document_behind"),
        ("signing_secret", "DELETE FROM pinledger.signing_secret", "secret_missing"),
    ],
)  # fmt: skip
def test_damage_that_fits_no_ledger_is_found_without_an_earlier_report(ledger, table, change, code):
    eventually(lambda: not fsck(ledger, 0)["documents_behind"], "everything is published")
    with kept(ledger, table):
        sql(ledger, change)
        assert codes(ledger) == {code}
    assert fsck(ledger, 0, "--grace", "0")["findings"] == []


def test_a_replaced_signing_secret_is_found_by_a_node_with_the_key(ledger):
    key = ["--kek-file", str(ledger.data / "key-encryption-key")]
    assert fsck(ledger, 0, *key)["findings"] == []
    with kept(ledger, "signing_secret"):
        sql(ledger, "UPDATE pinledger.signing_secret SET ciphertext = set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1)")
        assert codes(ledger, *key) == {"secret_wrong"}


def test_an_older_document_that_is_put_back_is_reported_by_fsck_and_by_a_node_that_only_reads(ledger, start):
    stored = f"SELECT version FROM pinledger.document WHERE app = '{APP}'"
    old = ledger.api.payload(APP)["version"]
    eventually(lambda: int(sql(ledger, stored)) == old, "the present document is stored")
    sql(ledger, "CREATE TABLE public.old AS TABLE pinledger.document")
    ledger.api.must("POST", f"/v1/apps/{APP}/hosts", host_body("newer.example.com"))
    new = ledger.api.payload(APP)["version"]
    eventually(lambda: int(sql(ledger, stored)) == new > old, "the new document is stored")
    with kept(ledger, "document"):
        sql(
            ledger, f"DELETE FROM pinledger.document WHERE app = '{APP}'",
            f"INSERT INTO pinledger.document SELECT * FROM public.old WHERE app = '{APP}'", "DROP TABLE public.old",
        )  # fmt: skip
        assert codes(ledger) == {"document_behind"}
        reader = start("--read-only")
        assert reader.payload(APP)["version"] == old
        eventually(lambda: reader.get("/readyz").json["documents_behind"] == 1, "the node says so")
        log = (ledger.home / f"damage-{reader.port}.log").read_text()
        assert f"{APP} (version {old} instead of {new})" in log


def test_documents_reveal_that_the_tail_of_the_ledger_was_cut_off(ledger, start):
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
