"""What a node remembers outside the database, and what it does when the database has lost events."""

import json
import re
import shutil
import subprocess

import psycopg
import pytest
from documents import verify
from nodes import start_node
from pinledger import BINARY, API, Server, eventually, free_port, host_body
from restored import KEPT, LOST, Restored, codes, is_halted
from vouching import answering, asked


@pytest.fixture(scope="module")
def restored(own_server):
    return Restored(own_server)


@pytest.fixture(scope="module")
def backup(restored) -> str:
    return restored.restore("restored")


def test_a_node_remembers_the_ledger_and_its_documents_in_a_file_of_its_own(restored):
    memory = restored.memory(restored.state)
    assert memory["documents"][LOST]["version"] == restored.version
    file = restored.server.home / "remembering" / "memory"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "memory_begun" in (restored.server.home / "before.log").read_text()
    node, api = restored.start("again", restored.server.connection_string)
    try:
        assert api.get("/readyz?for=writes").status == 200
        assert not [code for code in codes(node) if code.startswith("memory_")]
        api.must("PATCH", f"/v1/apps/{LOST}", {"display_name": "Another name"})
        restored.version = api.payload(LOST)["version"]
        eventually(lambda: restored.memory(restored.state)["position"] == api.position())
        eventually(lambda: restored.memory(restored.state)["documents"][LOST]["version"] == restored.version)
    finally:
        node.kill()
    assert restored.memory(restored.state)["documents"][LOST]["version"] == restored.version


def test_a_node_records_and_signs_nothing_on_a_database_that_has_lost_events(restored, backup):
    before = restored.memory(restored.state)
    node, api = restored.start("lost", backup)
    try:
        is_halted(api, "a backup was restored")
        assert "memory_contradicted" in codes(node)
        assert api.document(KEPT).body == restored.kept
        # The document from before the lost change would take clients back. The node has kept the one that it served.
        document = api.payload(LOST)
        assert document["version"] == restored.version
        keys = restored.server.api.request("GET", "/client/v1/jwks.json", token=None)
        assert verify(api.document(LOST).body.decode(), keys.json, LOST)["version"] == restored.version
    finally:
        node.stop()
    assert restored.memory(restored.state) == before, "the memory of what was right stays"


def test_a_node_that_has_lost_its_documents_serves_no_older_ones(restored, backup):
    state = restored.server.home / "forgetful-of-documents"
    shutil.copytree(restored.state, state)
    # Documents that others signed, that were cut off, or that are older do not count.
    kept = (state / "documents").read_bytes().splitlines()
    other = kept[0].split(b".")
    other[2] = other[2][::-1]
    (state / "documents").write_bytes(b"\n".join([b"no document", b".".join(other), kept[-1][:-9]]))
    node, api = restored.start("no-documents", backup, state=str(state))
    try:
        is_halted(api, "a backup was restored")
        assert api.document(KEPT).body == restored.kept
        assert api.document(LOST).status == 503, str(api.document(LOST))
    finally:
        node.stop()


def test_the_operators_address_says_that_the_database_has_lost_events(restored, backup):
    port = free_port()
    node, _ = restored.start("operators", backup, "--admin-listen", f"127.0.0.1:{port}")
    try:
        status = API(port, None).get("/readyz").json
        assert status["status"] == "halted" and "a backup was restored" in status["fault"], status
    finally:
        node.stop()


def test_doctor_says_that_the_database_has_lost_events(restored, backup):
    def doctor(database: str, status: int) -> dict:
        done = restored.server.cli(
            "doctor", "--database", database, "--kek-file", restored.key, "--state-directory", restored.state,
            "--listen", f"127.0.0.1:{restored.server.port}", "--output", "json", status=status)  # fmt: skip
        return {finding["subject"]: finding for finding in json.loads(done.stdout)}["memory"]

    assert doctor(restored.server.connection_string, 0)["verdict"] == "ok"
    found = doctor(backup, 1)
    assert found["verdict"] == "fail" and "a backup was restored" in found["detail"]
    assert "pinledger recover" in found["advice"]


def test_a_node_without_a_memory_halts_on_a_database_without_the_expected_checkpoint(restored, backup):
    options = ["--expect-checkpoint", str(restored.checkpoint)]
    node, api = restored.start("right", restored.server.connection_string, *options, state=str(restored.server.home / "new"))
    try:
        assert api.get("/readyz?for=writes").status == 200
    finally:
        node.stop()
    node, api = restored.start("wrong", backup, *options, state=str(restored.server.home / "newer"))
    try:
        is_halted(api, "a backup was restored")
    finally:
        node.stop()


def test_a_node_refuses_a_file_that_is_not_a_checkpoint_when_it_starts(restored, backup):
    said = restored.refused(backup, "--expect-checkpoint", restored.key)
    assert "is not a checkpoint" in said and "pinledger audit checkpoint" in said
    said = restored.refused(backup, "--expect-checkpoint", "/nowhere/checkpoint")
    assert "the checkpoint cannot be read from /nowhere/checkpoint" in said


def test_a_node_notices_that_other_events_stand_in_the_place_of_lost_ones(restored):
    database = restored.restore("rewritten")
    # A node that remembers nothing goes on with the second history.
    node, api = start_node(restored.server, "forgetful", "--kek-file", restored.key, database=database)
    number = 0
    while api.position() <= restored.memory(restored.state)["position"]:
        api.must("POST", f"/v1/apps/{LOST}/hosts", host_body(f"h{number}.example.com"))
        number += 1
    eventually(lambda: api.payload(LOST)["version"] >= restored.version)
    node.stop()
    node, api = restored.start("remembering", database)
    try:
        is_halted(api, "other events were recorded in the place of lost ones")
        # In the database, its version is not lower and its content is another.
        assert api.payload(LOST)["version"] == restored.version
    finally:
        node.stop()


def test_an_altered_memory_keeps_a_node_from_starting(restored):
    state = restored.server.home / "altered"
    state.mkdir()
    good = (restored.server.home / "remembering" / "memory").read_text()
    memory, tag = good.splitlines()
    forgotten = memory.replace('"epoch":0', '"epoch":1', 1)
    for text, why in [
        (f"{forgotten}\n{tag}\n", "does not authenticate"), (memory, "two lines"), ("{}\n-\n", "is required"), ("", "two lines"),
    ]:  # fmt: skip
        (state / "memory").write_text(text)
        (state / "memory").chmod(0o600)
        said = restored.refused(restored.server.connection_string, state=str(state))
        assert why in said and "is not a memory that a node wrote" in said, said
    (state / "memory").chmod(0o644)
    assert "can be read by others" in restored.refused(restored.server.connection_string, state=str(state))
    assert "the state directory" in restored.refused(restored.server.connection_string, state="/dev/null/state")


def test_a_node_whose_disk_takes_nothing_starts_with_what_it_remembers_and_says_so(restored):
    state, metrics = restored.server.home / "full", free_port()
    shutil.copytree(restored.state, state)
    # A directory takes the place of the next file.
    (state / "memory.new").mkdir()
    node, api = restored.start(
        "full", restored.server.connection_string, "--metrics-listen", f"127.0.0.1:{metrics}", state=str(state))

    def unkept() -> float:
        text = API(metrics, None).get("/metrics").body.decode()
        return float(re.search(r"^pinledger_memory_unkept_seconds (\S+)", text, re.M)[1])

    try:
        assert "memory_not_kept" in codes(node) and api.get("/readyz?for=writes").status == 200
        eventually(lambda: unkept() > 0, "the seconds")
        api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": "On a full disk"})
        position = api.position()
        (state / "memory.new").rmdir()
        eventually(lambda: unkept() == 0, "the memory")
        eventually(lambda: restored.memory(str(state))["position"] >= position, "the position")
    finally:
        node.stop()
    # A node that has never kept one has a wrong directory.
    never = restored.server.home / "never"
    (never / "memory.new").mkdir(parents=True)
    said = restored.refused(restored.server.connection_string, "--trust-database", state=str(never))
    assert "the node's memory cannot be written" in said, said


def test_a_memory_of_another_key_is_compared_all_the_same(restored, backup):
    state = restored.server.home / "keyless"
    state.mkdir()
    memory = (restored.server.home / "remembering" / "memory").read_text().splitlines()[0]
    (state / "memory").write_text(f"{memory}\n-\n")
    (state / "memory").chmod(0o600)
    node, api = restored.start("keyless", backup, state=str(state))
    try:
        is_halted(api, "a backup was restored")
        assert "memory_unauthenticated" in codes(node)
    finally:
        node.stop()


def test_a_node_without_a_memory_starts_only_if_told_to_trust_the_database(restored):
    said = subprocess.run(
        [BINARY, "serve", "--database", restored.server.connection_string, "--trust-database"],
        capture_output=True, text=True, timeout=300)  # fmt: skip
    assert said.returncode == 2 and "--trust-database needs --state-directory or --kek-file" in said.stderr
    state, database = str(restored.server.home / "stranger"), restored.restore("trusted")
    # Nobody vouches: those that ran when the backup was made have reported in it that they do.
    restored.postgres("psql", "-d", "trusted", "-c", "DELETE FROM pinledger.node")
    said = restored.refused(database, state=state)
    assert "this node remembers nothing" in said and "--expect-checkpoint" in said, said
    for name, options in (("trusting", ["--trust-database"]), ("trusted", [])):
        node, api = restored.start(name, database, *options, state=state)
        try:
            assert api.get("/readyz?for=writes").status == 200
            assert ("memory_begun" in codes(node)) == bool(options)
        finally:
            node.stop()


def test_the_first_start_asks_nobody_who_deleted_a_memory():
    server = Server(lowers_rails=False)
    try:
        server.start()
        said = server.log.read_text()
        assert "code=memory_first" in said and "deleted" not in said, said
        server.stop()
        # The ledger is in use now: who deletes the memory is asked for.
        shutil.rmtree(server.data / "state")
        server.arguments.append("--trust-database")
        server.start()
        said = server.log.read_text().removeprefix(said)
        assert "code=memory_begun" in said and "find out who deleted its memory" in said, said
    finally:
        server.destroy()


def test_a_further_node_trusts_no_database_beside_a_node_that_is_halted(restored, backup):
    node, api = restored.start("contradicted", backup)
    try:
        is_halted(api, "a backup was restored")
        said = restored.refused(backup, "--trust-database", state=str(restored.server.home / "further"))
        assert "--trust-database is refused" in said and "is halted" in said and "pinledger handbook recovery" in said, said
    finally:
        node.stop()


def test_the_answer_of_another_database_shows_that_a_backup_was_restored(restored):
    """Someone passes the challenge on to nodes of the right database, and their answer back."""
    backup = restored.restore("relayed")
    # Nodes that do not run are not asked: whoever passes answers on says that one does.
    with psycopg.connect(backup) as connection:
        connection.execute("SELECT pinledger.report_node(md5('1'), 'relay', '0.1', 14, 1, false, 'running', 1)")
    node, _ = restored.start("right", restored.server.connection_string)
    with answering(backup, lambda challenge: asked(restored.server.connection_string, challenge)):
        further, api = restored.start("relayed", backup, state=str(restored.server.home / "relayed"))
    try:
        is_halted(api, "a backup was restored")
        assert "memory_contradicted" in codes(further) and "end_vouched" not in codes(further)
    finally:
        further.stop()
        node.stop()
    # What stands there is no memory of the node's.
    assert not (restored.server.home / "relayed" / "memory").exists()


def test_no_node_begins_beside_one_that_is_halted(restored):
    database = restored.restore("halted")
    node, api = restored.start("contradicted", database)
    try:
        is_halted(api, "a backup was restored")
        said = restored.refused(database, state=str(restored.server.home / "beside"))
        assert "does not begin beside" in said and "is halted" in said and "pinledger handbook recovery" in said, said
    finally:
        node.stop()


def test_trust_in_the_database_does_not_overrule_a_memory(restored, backup):
    node, api = restored.start("overruled", backup, "--trust-database")
    try:
        is_halted(api, "a backup was restored")
    finally:
        node.stop()
