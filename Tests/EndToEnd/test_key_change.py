"""The key-encryption key is changed while nodes record: with both keys they refuse nothing, with the former one they say so at once."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from backups import Cluster
from databases import APP, Database
from pinledger import API, Answer, eventually, free_port, from_now
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


class Requests:
    """Requests that are sent one after another until they end, as fast as they are answered or at a rate; with their answers."""

    def __init__(self, send: Callable[[int], Answer], per_second: float | None = None):
        self.send, self.pause, self.answers = send, 1 / per_second if per_second else 0, []
        self.end = threading.Event()

    def run(self) -> None:
        due = time.monotonic()
        while not self.end.is_set():
            try:
                answer = self.send(len(self.answers))
            except (OSError, ValueError) as error:
                answer = error
            self.answers.append(answer)
            due += self.pause
            self.end.wait(max(0, due - time.monotonic()))

    def wait_for(self, count: int) -> None:
        end = len(self.answers) + count
        eventually(lambda: len(self.answers) >= end, "requests are answered")

    @property
    def refused(self) -> list:
        return [answer for answer in self.answers if getattr(answer, "status", None) != 200]


def names(api: API) -> Requests:
    return Requests(lambda number: api.request("PATCH", f"/v1/apps/{APP}", {"display_name": f"Node {api.port}, {number}"}))


def switches(api: API) -> Requests:
    """A kill switch that is engaged and released by turns."""
    path = f"/v1/apps/{APP}/kill-switch"
    over = {"reason": "the incident is over"}
    return Requests(lambda number: api.request("DELETE", path, over) if number % 2 else api.request("PUT", path, SWITCH))


@contextmanager
def sending(*all_requests: Requests):
    threads = [threading.Thread(target=requests.run) for requests in all_requests]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for requests in all_requests:
            requests.end.set()
        for thread in threads:
            thread.join()


def test_nodes_with_both_keys_refuse_no_change(database, new):
    keys = ["--kek-file", str(database.key), "--next-kek-file", str(new)]
    nodes = [database.serve(*keys, "--state-directory", str(new) + f"-{number}", "--trust-database") for number in range(2)]
    try:
        # Two nodes get 100 fetches a second each, and changes without a pause.
        recorded = [*(names(api) for _, api in nodes), switches(nodes[1][1])]
        fetched = [Requests(lambda _, api=api: api.document(APP), per_second=100) for _, api in nodes]
        with sending(*recorded, *fetched):
            for requests in recorded + fetched:
                requests.wait_for(8)
            assert name_of(new) in rewrap(database, new)
            for requests in recorded:
                requests.wait_for(12)
            for requests in fetched:
                requests.wait_for(100)
        for requests in recorded + fetched:
            assert not requests.refused, requests.refused[:3]
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


def test_commands_on_a_database_of_several_hosts_find_the_primary(own_server, database, new):
    primary = SimpleNamespace(home=own_server.data / "postgresql", port=5432)
    standby = Cluster(standby_of=primary)
    standby.configure(max_connections=own_server.sql("SHOW max_connections"))
    try:
        standby.start()
        several = f"host={standby.home},{primary.home} port={standby.port},{primary.port} dbname={database.name}"
        assert "up to date" in own_server.cli("migrate", "--database", f"{several} user=postgres").stdout
        database.connection_string = f"{several} user=pinledger_dev"
        assert name_of(new) in rewrap(database, new)
        assert doctor(database, "--kek-file", str(new), status=0)["database"]["verdict"] == "ok"
        database.connection_string = f"host={standby.home} port={standby.port} dbname={database.name} user=pinledger_dev"
        assert "no primary answers" in doctor(database, "--kek-file", str(new), status=1)["database"]["detail"]
    finally:
        standby.destroy()


def test_the_next_key_needs_the_present_one(database, new):
    said = database.refused("--next-kek-file", str(new))
    assert "--next-kek-file needs the present key-encryption key beside it" in said and "--kek-file" in said
