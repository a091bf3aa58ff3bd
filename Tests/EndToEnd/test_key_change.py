"""The key-encryption key is changed while nodes record: with both keys they refuse nothing, with the former one they say so at once."""

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from databases import APP, Database
from pinledger import API, eventually, free_port, from_now
from problems import expect_problem

SWITCH = {"reason": "an incident", "expires_at": from_now(hours=1)}


@pytest.fixture
def database(own_server, template_database, request):
    return Database.make(own_server, f"change_{abs(hash(request.node.name))}", like=template_database)


@pytest.fixture
def new(database):
    return database.new_key()


def name_of(key: Path) -> str:
    text = key.read_text().strip()
    secret = bytes.fromhex(text) if len(text) == 64 else base64.b64decode(text)
    return hashlib.sha256(b"pinledger/kek/v1" + secret).hexdigest()[:16]


def rewrap(database: Database, new: Path) -> str:
    arguments = ["--database", database.connection_string, "--kek-file", str(database.key), "--next-kek-file", str(new)]
    return database.server.cli("key", "rewrap", *arguments).stdout


def doctor(database: Database, *keys: str, status: int) -> dict:
    arguments = ["--database", database.connection_string, *keys, "--listen", f"127.0.0.1:{free_port()}", "--output", "json"]
    done = database.server.cli("doctor", *arguments, status=status)
    return {finding["subject"]: finding for finding in json.loads(done.stdout)}


class Changes:
    """Changes of an app through one node, one after another, until they end; with the answers to them."""

    def __init__(self, api: API, name: str):
        self.api, self.name, self.answers = api, name, []
        self.end = threading.Event()

    def run(self) -> None:
        while not self.end.is_set():
            name = f"{self.name} {len(self.answers)}"
            try:
                answer = self.api.request("PATCH", f"/v1/apps/{APP}", {"display_name": name})
            except (OSError, ValueError) as error:
                answer = error
            self.answers.append(answer)

    def wait_for(self, count: int) -> None:
        end = len(self.answers) + count
        eventually(lambda: len(self.answers) >= end, "changes are answered")


@contextmanager
def changing(*nodes: API):
    all_changes = [Changes(api, f"node {number}") for number, api in enumerate(nodes)]
    threads = [threading.Thread(target=changes.run) for changes in all_changes]
    for thread in threads:
        thread.start()
    try:
        yield all_changes
    finally:
        for changes in all_changes:
            changes.end.set()
        for thread in threads:
            thread.join()


def test_nodes_with_both_keys_refuse_no_change(database, new):
    keys = ["--kek-file", str(database.key), "--next-kek-file", str(new)]
    nodes = [database.serve(*keys, "--state-directory", str(new) + f"-{number}", "--trust-database") for number in range(2)]
    try:
        with changing(*(api for _, api in nodes)) as all_changes:
            for changes in all_changes:
                changes.wait_for(5)
            assert name_of(new) in rewrap(database, new)
            for changes in all_changes:
                changes.wait_for(10)
        refused = [answer for changes in all_changes for answer in changes.answers if getattr(answer, "status", None) != 200]
        assert not refused, refused[:3]
        for node, api in nodes:
            eventually(lambda api=api: api.get("/readyz").json["key_encryption_key"] == name_of(new), "the node has seen the new key")
            assert api.get("/readyz?for=writes").status == 200
            eventually(lambda node=node: node.said("key_in_force"), "the log says it")
            assert not node.said("key_changed")
            # What is sealed from now on is sealed with the new key.
            api.must("POST", f"/v1/apps/{APP}/telemetry-keys", {})
        assert "nothing to do" in rewrap(database, new)
        found = doctor(database, *keys, status=0)
        assert found["ledger's end"]["verdict"] == "warn" and "next key" in found["ledger's end"]["detail"]
        assert found["sealed secrets"]["verdict"] == "ok"
    finally:
        for node, _ in nodes:
            node.stop()
    # A node after the other starts with the new key alone, and knows its memory.
    for number in range(2):
        node, api = database.serve("--kek-file", str(new), "--state-directory", str(new) + f"-{number}")
        try:
            assert not node.said("memory_unauthenticated")
            api.must("PUT", f"/v1/apps/{APP}/kill-switch", SWITCH)
            eventually(lambda api=api: api.payload(APP)["kill_switches"], "the switch is served")
        finally:
            node.stop()
    database.server.cli("fsck", "--database", database.connection_string, "--kek-file", str(new))


def test_a_node_with_the_former_key_says_so_before_anything_is_refused(database, new):
    node, api = database.serve("--kek-file", str(database.key))
    try:
        assert api.get("/readyz").json["key_encryption_key"] == name_of(database.key)
        rewrap(database, new)
        eventually(lambda: api.get("/readyz?for=writes").status == 503, "the node notices it")
        ready = api.get("/readyz").json
        assert (ready["status"], ready["serves"], ready["writes"], ready["can_write"]) == ("other_key", True, False, False)
        assert name_of(new) in ready["write_failure"]
        metrics = api.get("/metrics").body.decode()
        assert 'pinledger_node_state{state="other_key"} 1' in metrics and 'pinledger_node_use{use="writes"} 0' in metrics
        eventually(lambda: node.said("key_changed"), "the log says it")
        refused = api.request("PUT", f"/v1/apps/{APP}/kill-switch", SWITCH)
        expect_problem(refused, 503, "no_key_encryption_key")
        assert api.document(APP).status == 200
        # Nothing has halted: where the change is taken back, the node goes on.
        back = ["--kek-file", str(new), "--next-kek-file", str(database.key)]
        database.server.cli("key", "rewrap", "--database", database.connection_string, *back)
        eventually(lambda: api.get("/readyz").json["status"] == "ready", "the node notices it")
        api.must("PUT", f"/v1/apps/{APP}/kill-switch", SWITCH)
    finally:
        node.stop()


def test_a_node_with_the_former_key_halts_only_once_another_node_has_recorded(database, new):
    node, api = database.serve("--kek-file", str(database.key))
    try:
        rewrap(database, new)
        other, renewed = database.serve("--kek-file", str(new))
        try:
            renewed.must("PUT", f"/v1/apps/{APP}/kill-switch", SWITCH)
        finally:
            other.stop()
        eventually(lambda: api.get("/readyz").json["status"] == "halted", "the node halts")
        assert "start the node with the new one" in api.get("/readyz").json["fault"]
        assert api.document(APP).status == 200
    finally:
        node.stop()
    # The runbook's cure.
    node, api = database.serve("--kek-file", str(new))
    try:
        assert api.payload(APP)["kill_switches"] and api.get("/readyz?for=writes").status == 200
    finally:
        node.stop()


def test_the_next_key_needs_the_present_one(database, new):
    said = database.refused("--next-kek-file", str(new))
    assert "--next-kek-file needs the present key-encryption key beside it" in said and "--kek-file" in said
