"""What a node remembers outside the database, and what it does when the database has lost events."""

import json
import subprocess

import pytest
from pinledger import BINARY, API, Process, eventually, free_port, from_now, host_body
from test_nodes import start_node

KEPT, LOST = "com.example.memory.kept", "com.example.memory.lost"


class Restored:
    """A server with a backup of its database, restored beside it, that lacks the last changes of one app."""

    def __init__(self, server):
        self.server = server
        self.key = str(server.data / "key-encryption-key")
        for app in (KEPT, LOST):
            server.api.make_app(app, "api.example.com")
        server.api.must("POST", "/v1/log", {"origin": "pins.example.com/log"})
        self.state = str(server.home / "remembering")
        node, api = self.start("before", server.connection_string)
        eventually(lambda: api.document(LOST).status == 200)
        self.backup = self.dump()
        server.api.must("PUT", f"/v1/apps/{LOST}/kill-switch", {"reason": "leaked key", "expires_at": from_now(days=1)})
        self.version = server.api.payload(LOST)["version"]
        eventually(lambda: api.payload(LOST)["version"] == self.version)
        self.position = server.api.position()
        self.kept = api.document(KEPT).body
        self.checkpoint = server.home / "checkpoint"
        self.checkpoint.write_bytes(server.api.get("/log/checkpoint").body)
        node.stop()
        assert self.memory(self.state)["position"] >= self.position

    def dump(self):
        file = self.server.home / "backup"
        self.postgres("pg_dump", "-Fc", "-f", str(file), "pinledger")
        return file

    def restore(self, name: str) -> str:
        """A database of this name, as it was when the backup was made."""
        self.postgres("createdb", name)
        self.postgres("pg_restore", "--exit-on-error", "-d", name, str(self.backup))
        return self.server.connection_string.replace("dbname=pinledger", f"dbname={name}")

    def postgres(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            [command, "-h", f"{self.server.data}/postgresql", "-U", "postgres", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def arguments(self, database: str, port: int, *options: str, state: str | None = None) -> list[str]:
        return ["serve", "--database", database, "--kek-file", self.key, "--listen", f"127.0.0.1:{port}",
                "--state-directory", state or self.state, *options]  # fmt: skip

    def start(self, name: str, database: str, *options: str, state: str | None = None) -> tuple[Process, API]:
        port = free_port()
        node = Process(self.server.home / f"{name}.log", self.arguments(database, port, *options, state=state), port)
        api = API(port, self.server.api.token)
        node.spawn()
        node.wait_until(lambda: api.get("/readyz?for=serves").status == 200)
        return node, api

    def refused(self, database: str, *options: str, state: str | None = None) -> str:
        done = subprocess.run(
            [BINARY, *self.arguments(database, free_port(), *options, state=state)],
            capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode != 0
        return done.stderr

    def memory(self, state: str) -> dict:
        with open(f"{state}/memory") as file:
            return json.loads(file.readline())


@pytest.fixture(scope="module")
def restored(own_server):
    return Restored(own_server)


@pytest.fixture(scope="module")
def backup(restored) -> str:
    return restored.restore("restored")


def codes(node: Process) -> list[str]:
    return [line.split("code=")[1].split()[0] for line in node.log.read_text().splitlines() if "code=" in line]


def is_halted(api: API, why: str) -> None:
    assert api.get("/readyz").json == {"status": "ready", "serves": True, "writes": False, "signs": False}
    assert api.get("/readyz?for=writes").status == 503
    # Also to read: a token that was revoked in the lost part would be valid again.
    for refused in (api.request("POST", f"/v1/apps/{KEPT}/hosts", host_body("more.example.com")), api.get("/v1/apps")):
        assert refused.status == 503 and refused.json["type"] == "/problems/halted" and why in str(refused), str(refused)


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
        # The document from before the lost change would take clients back; it is not served.
        assert api.document(LOST).status == 503, str(api.document(LOST))
    finally:
        node.stop()
    assert restored.memory(restored.state) == before, "the memory of what was right stays"


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
    assert "--trust-database" in found["advice"]


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
    assert "is not a checkpoint" in said and "pinledger log checkpoint" in said
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
        # Its version is not lower, its content is another.
        assert api.document(LOST).status == 503, str(api.document(LOST))
    finally:
        node.stop()


def test_an_altered_memory_keeps_a_node_from_starting(restored):
    state = restored.server.home / "altered"
    state.mkdir()
    good = (restored.server.home / "remembering" / "memory").read_text()
    memory, tag = good.splitlines()
    forgotten = memory.replace('"position":', '"position":1', 1)
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


def test_trust_in_the_database_has_to_be_stated_once(restored):
    database = restored.restore("trusted")
    said = subprocess.run(
        [BINARY, "serve", "--database", database, "--trust-database"], capture_output=True, text=True, timeout=60)
    assert said.returncode == 2 and "--trust-database needs --state-directory" in said.stderr
    for name, options in (("trusting", ["--trust-database"]), ("trusted", [])):
        node, api = restored.start(name, database, *options)
        try:
            assert api.get("/readyz?for=writes").status == 200
            assert ("memory_replaced" in codes(node)) == bool(options)
            api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": name})
            assert api.payload(LOST)["version"] < restored.version
        finally:
            node.stop()
