"""Old events whose entries are in entry bundles outside the database."""

import json
import subprocess
import urllib.parse

import pytest
from nodes import start_node
from notes import ORIGIN, opened, vkeys
from pinledger import BINARY, API, Process, eventually, free_port, host_body

OLD, APP = "com.example.bundles.old", "com.example.bundles.new"
#: Where the first partition ends in these tests, instead of at 10,000,000.
END = 700
DIVIDE = f"""
    BEGIN;
    SET LOCAL ROLE pinledger_owner;
    ALTER TABLE pinledger.event DETACH PARTITION pinledger.event_00000000000000;
    ALTER TABLE pinledger.event_00000000000000 RENAME TO whole;
    ALTER INDEX pinledger.event_00000000000000_stream RENAME TO whole_stream;
    SELECT pinledger.add_partition(0, {END}), pinledger.add_partition({END}, 10000000);
    INSERT INTO pinledger.event SELECT * FROM pinledger.whole;
    DROP TABLE pinledger.whole;
    COMMIT"""
#: No snapshot is there, and none is stored.
TAKE_SNAPSHOTS = """
    BEGIN;
    REVOKE EXECUTE ON FUNCTION pinledger.store_snapshot FROM pinledger_app;
    CREATE TABLE pinledger.kept AS TABLE pinledger.snapshot;
    CREATE TABLE pinledger.kept_part AS TABLE pinledger.snapshot_part;
    DELETE FROM pinledger.snapshot;
    COMMIT"""
GIVE_SNAPSHOTS_BACK = """
    BEGIN;
    INSERT INTO pinledger.snapshot SELECT * FROM pinledger.kept;
    INSERT INTO pinledger.snapshot_part SELECT * FROM pinledger.kept_part;
    DROP TABLE pinledger.kept, pinledger.kept_part;
    GRANT EXECUTE ON FUNCTION pinledger.store_snapshot TO pinledger_app;
    COMMIT"""


@pytest.fixture(scope="module")
def pruned_server(own_server):
    api = own_server.api
    api.must("POST", "/v1/log", {"origin": ORIGIN})
    api.must("PATCH", "/v1/log", {"document_proofs": True})
    api.make_app(OLD, "old.example.com")
    eventually(lambda: document_proof(api).status == 200)
    api.make_app(APP, "api.example.com")
    for number in range(180):
        api.must("POST", f"/v1/apps/{APP}/hosts", host_body(f"h{number}.example.com"))
        api.must("DELETE", f"/v1/apps/{APP}/hosts/h{number}.example.com?reason=test")
    assert api.position() > 1000
    own_server.sql(DIVIDE)
    # A node stores a snapshot when it starts with a ledger that has grown.
    own_server.restart()
    eventually(lambda: own_server.sql("SELECT count(*) FROM pinledger.snapshot") == "1", "a snapshot is stored")
    return own_server


@pytest.fixture(scope="module")
def directory(pruned_server):
    return pruned_server.home / "bundles"


def document_proof(api: API):
    return api.request("GET", f"/client/v1/apps/{OLD}/document.tlog-proof", token=None)


def asked(position: int) -> list[str]:
    """Requests that need entries of old events."""
    return [
        f"/v1/apps/{APP}/history?order=oldest&limit=1000",
        f"/v1/apps/{OLD}/history?order=oldest",
        f"/v1/history?search={urllib.parse.quote('h7.example.com')}&order=oldest",
        f"/v1/apps/{APP}/document/content?position={position}",
        f"/v1/apps/{OLD}/document/versions",
        "/log/tile/entries/001",
        "/log/tile/entries/000",
    ]


def superuser(server) -> str:
    return server.connection_string.replace("user=pinledger_dev", "user=postgres")


def bundles(server, command: str, *arguments: str, user: str = "postgres", status: int = 0):
    database = server.connection_string.replace("user=pinledger_dev", f"user={user}")
    if command == "prune" and "--kek-file" not in arguments:
        arguments += ("--kek-file", str(server.data / "key-encryption-key"))
    return server.cli("bundles", command, *arguments, "--database", database, status=status)


def at(api: API, server, *arguments: str) -> str:
    """What a command prints that asks another node than the server."""
    environment = server.environment | {"PINLEDGER_SERVER": f"http://127.0.0.1:{api.port}", "PINLEDGER_TOKEN": api.token}
    done = subprocess.run([BINARY, *arguments], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_entries_are_pruned_once_nothing_needs_them(pruned_server, directory):
    api = pruned_server.api
    pruned_server.sql("INSERT INTO pinledger.command VALUES ('token:script', 'key', sha256(''), 5, 1, now())")
    refused = bundles(pruned_server, "prune", str(directory), status=3).stderr
    assert "1 recorded command with idempotency keys leads to its events" in refused and "30 days" in refused
    pruned_server.sql("DELETE FROM pinledger.command WHERE actor = 'token:script'")
    missing = bundles(pruned_server, "prune", str(directory), status=10).stderr
    assert "tile/entries/000 is missing" in missing and "pinledger bundles write" in missing
    # The account of a server may write bundles, and not prune.
    said = bundles(pruned_server, "write", str(directory), user="pinledger_dev").stdout
    assert said == f"Events 0 to {END - 1} are in 3 bundles, 3 of them new.\n"
    assert "0 of them new" in bundles(pruned_server, "write", str(directory), user="pinledger_dev").stdout
    assert "may migrate" in bundles(pruned_server, "prune", str(directory), user="pinledger_dev", status=1).stderr

    before = {path: api.get(path) for path in asked(400)}
    assert {answer.status for answer in before.values()} == {200}
    # Not of what the server records a moment later of who reads its ledger.
    stored = "SELECT sum(octet_length(entry)) FROM pinledger.event WHERE stream <> 'audit'"
    proof, size = document_proof(api).body, pruned_server.sql(stored)
    assert bundles(pruned_server, "prune", str(directory), "--dry-run").stdout == f"Would prune events 0 to {END - 1}.\n"
    assert pruned_server.sql(stored) == size
    (pruned_server.home / "other-key").write_text("A" * 43 + "=")
    (pruned_server.home / "other-key").chmod(0o600)
    other = bundles(pruned_server, "prune", str(directory), "--kek-file", str(pruned_server.home / "other-key"), status=3).stderr
    assert "no snapshot of this program's form at or behind position" in other and "--kek-file" in other
    keyless = pruned_server.cli("bundles", "prune", str(directory), "--database", superuser(pruned_server), status=2).stderr
    assert "only with that key can a snapshot be trusted" in keyless
    assert bundles(pruned_server, "prune", str(directory)).stdout == f"Pruned events 0 to {END - 1}.\n"
    assert bundles(pruned_server, "prune", str(directory)).stdout.startswith("Nothing to prune")
    assert pruned_server.sql("SELECT count(*) FROM pinledger.snapshot WHERE kept_tag IS NOT NULL") == "1"
    assert int(pruned_server.sql(f"SELECT count(*) FROM pinledger.event WHERE entry = '' AND position < {END}")) > END - 60

    # Documents, changes and proofs go on.
    assert document_proof(api).body == proof
    opened(proof.decode(), vkeys(pruned_server)[0])
    api.must("POST", f"/v1/apps/{OLD}/hosts", host_body("after.example.com"))
    eventually(lambda: "after.example.com" in str(api.payload(OLD)))
    for path in [f"/log/proofs/inclusion?position=20&size={END}", "/log/tile/0/001", f"/log/proofs/consistency?old_size=300&size={END}"]:
        assert api.get(path).status == 200, path
    # What needs the entries says so; what is newer is there.
    for path in asked(400):
        answer = api.get(path)
        assert (answer.status, answer.json["type"]) == (503, "/problems/events_pruned"), f"{path}: {answer}"
        assert "pinledger bundles restore" in answer.json["advice"]
    mark = api.mark()
    newest = api.get("/v1/history?limit=50").json["events"]
    assert len(newest) == 50 and newest[0]["position"] >= mark - 1
    # A page ends before the first that is missing.
    page = api.get(f"/v1/apps/{APP}/history?limit=1000").json
    assert END <= page["events"][-1]["position"] < END + 4
    assert api.get(f"/v1/apps/{APP}/history?limit=1000&cursor={page['next_cursor']}").status == 503

    key = str(pruned_server.data / "key-encryption-key")
    node, reading = start_node(pruned_server, "reading", "--kek-file", key, "--bundles", str(directory))
    try:
        for path, answer in before.items():
            if "old/" not in path:
                assert reading.get(path).body == answer.body, path
        assert reading.history(f"/v1/apps/{OLD}/history")[0]["type"] == "AppCreated"
        exported = pruned_server.home / "exported"
        at(reading, pruned_server, "log", "export", str(exported), "--key", vkeys(pruned_server)[0])
        for number in range(3):
            assert (exported / f"tile/entries/00{number}").read_bytes() == (directory / f"tile/entries/00{number}").read_bytes()
        assert "pruned" in pruned_server.cli("log", "export", str(pruned_server.home / "none"), "--key", vkeys(pruned_server)[0], status=8).stderr
        at(reading, pruned_server, "app", "show", OLD)
    finally:
        node.stop()


def test_an_audit_reads_the_bundles(pruned_server, directory):
    database = pruned_server.connection_string
    asked = pruned_server.cli("fsck", "--database", database, status=2).stderr
    assert "events from position 0 on are pruned" in asked and "--bundles" in asked
    assert "is no directory" in pruned_server.cli("fsck", "--database", database, "--bundles", "/nowhere", status=2).stderr
    assert "findings   none" in pruned_server.cli("fsck", "--database", database, "--bundles", str(directory)).stdout
    bundle = directory / "tile/entries/001"
    right = bundle.read_bytes()
    try:
        bundle.write_bytes(right[:40] + bytes([right[40] ^ 1]) + right[41:])
        found = pruned_server.cli("fsck", "--database", database, "--bundles", str(directory), status=10)
        assert "bundle_missing" in found.stdout and "256" in found.stdout
        assert "entries of pruned events are missing" in found.stderr
    finally:
        bundle.write_bytes(right)
    doctor = [BINARY, "doctor", "--database", database, "--listen", f"127.0.0.1:{free_port()}"]
    told = subprocess.run(doctor, env=pruned_server.environment, capture_output=True, text=True, timeout=300).stdout
    assert f"1 partition with {END} events is pruned" in told


def test_a_change_of_the_key_says_what_is_still_to_be_done_for_pruned_events(pruned_server):
    key, other = str(pruned_server.data / "key-encryption-key"), pruned_server.home / "next-key"
    other.write_text("E" * 43 + "=")
    other.chmod(0o600)

    def rewrap(database: str) -> str:
        return pruned_server.cli(
            "key", "rewrap", "--database", database, "--kek-file", key, "--next-kek-file", str(other), "--dry-run").stdout

    def kept(key: str) -> dict:
        done = subprocess.run(
            [BINARY, "doctor", "--database", pruned_server.connection_string, "--kek-file", key, "--listen",
             f"127.0.0.1:{free_port()}", "--output", "json"],
            env=pruned_server.environment, capture_output=True, text=True, timeout=300)  # fmt: skip
        return {finding["subject"]: finding for finding in json.loads(done.stdout)}["kept snapshot"]

    # The account of a server cannot change what is kept; one that may migrate does.
    assert "left: what is kept of the snapshot" in rewrap(pruned_server.connection_string)
    assert "left: what is kept" not in rewrap(superuser(pruned_server))
    assert kept(key)["verdict"] == "ok"
    wrong = kept(str(other))
    assert wrong["verdict"] == "warn" and "pinledger bundles prune" in wrong["advice"], wrong


def test_a_node_that_has_to_read_the_whole_ledger_needs_the_bundles(pruned_server, directory):
    # As after a program whose snapshots have another form.
    pruned_server.sql(TAKE_SNAPSHOTS)
    port = free_port()
    log = pruned_server.home / "halted.log"
    halted = Process(log, ["serve", "--database", pruned_server.connection_string, "--listen", f"127.0.0.1:{port}", "--read-only"], port)
    halted.spawn()
    try:
        api = API(port, pruned_server.api.token)
        halted.wait_until(lambda: api.get("/readyz").status == 503)
        # It knows no token yet, so it tells the log only.
        told = str(eventually(lambda: halted.said("events_pruned"), "the line"))
        assert "`--bundles`" in told and "is pruned: its entry is in an entry bundle" in told
        assert api.get("/v1/apps").status == 503
    finally:
        halted.stop()
    node, reading = start_node(pruned_server, "folding", "--read-only", "--bundles", str(directory))
    try:
        assert eventually(lambda: reading.position() == pruned_server.api.position())
        assert reading.document(OLD).body == pruned_server.api.document(OLD).body
    finally:
        node.stop()
        pruned_server.sql(GIVE_SNAPSHOTS_BACK)


def test_entries_are_restored(pruned_server, directory):
    api = pruned_server.api
    assert api.get("/log/tile/entries/001").status == 503
    assert bundles(pruned_server, "restore", str(directory), "--from", str(END)).stdout.startswith("Nothing to restore")
    assert bundles(pruned_server, "restore", str(directory)).stdout == f"Restored events 0 to {END - 1}.\n"
    assert pruned_server.sql("SELECT count(*) FROM pinledger.snapshot WHERE kept_tag IS NOT NULL") == "0"
    for path in asked(400):
        assert api.get(path).status == 200, path
    assert api.get("/log/tile/entries/001").body == (directory / "tile/entries/001").read_bytes()
    assert "findings   none" in pruned_server.cli("fsck", "--database", pruned_server.connection_string).stdout
