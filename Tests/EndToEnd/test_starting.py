"""A node that takes long to read the ledger when it starts: what it serves meanwhile, and what it does not."""

import contextlib
import json
import re
import signal
import time

import pytest
from pinledger import API, Process, eventually, free_port, from_now, host_body
from restored import KEPT, LOST, Restored, codes, is_halted
from test_journey import verify
from test_push import Stream

APPS = ["com.example.starting.plain", "com.example.starting.changed", "com.example.starting.forged"]
PLAIN, CHANGED, FORGED = APPS
#: So many events, each of which takes the database so many seconds to read.
EVENTS, SECONDS = 600, 0.02


@contextlib.contextmanager
def slow(server, database: str = "pinledger"):
    """Every event takes the nodes' database long to read: as if there were very many, on a bad disk."""
    server.sql("ALTER TABLE pinledger.event ENABLE ROW LEVEL SECURITY", database=database)
    server.sql(f"CREATE POLICY slow ON pinledger.event FOR SELECT USING (pg_sleep({SECONDS}) IS NOT NULL)", database=database)
    try:
        yield
    finally:
        server.sql("DROP POLICY slow ON pinledger.event", database=database)
        server.sql("ALTER TABLE pinledger.event DISABLE ROW LEVEL SECURITY", database=database)


@contextlib.contextmanager
def paused(process):
    """A process that does nothing, so that it does not repair what another one is to find."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def server(own_server):
    for app in APPS:
        own_server.api.make_app(app, "api.example.com")
    for number in range(EVENTS - own_server.api.position()):
        own_server.api.must("PATCH", f"/v1/apps/{PLAIN}", {"display_name": f"Name {number}"})
    return own_server


class Node:
    """A node with a state directory, in which the last one of its name has left what it remembers."""

    def __init__(self, server, name: str, *options: str, database: str | None = None, remembers: bool = True):
        port = free_port()
        state = ("--state-directory", str(server.home / f"{name}-state")) if remembers else ()
        arguments = ["serve", "--database", database or server.connection_string, "--listen", f"127.0.0.1:{port}",
                     "--kek-file", str(server.data / "key-encryption-key"), "--database-timeout", "60", *state, *options]  # fmt: skip
        self.process = Process(server.home / f"{name}.log", arguments, port)
        self.api = API(port, server.api.token)
        self.process.log.write_text("")
        self.process.spawn()

    def is_there(self) -> bool:
        with contextlib.suppress(OSError):
            return self.api.get("/healthz").status == 200
        return False

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            return self.api.get("/readyz").status == 200
        return False

    def codes(self) -> list[str]:
        return codes(self.process)

    def stop(self) -> None:
        self.process.stop()


def remembering(server, name: str) -> None:
    """Lets a node of this name serve and remember all documents, and stops it."""
    node = Node(server, name, "--trust-database")
    node.process.wait_until(node.is_ready)
    position = server.api.position()
    for app in APPS:
        eventually(lambda app=app: node.api.document(app).body == server.api.document(app).body)
    memory = server.home / f"{name}-state/memory"
    eventually(lambda: memory.is_file() and json.loads(memory.read_text().splitlines()[0])["position"] >= position)
    node.stop()


def is_starting(answer) -> bool:
    return (answer.status, answer.json.get("type")) == (503, "/problems/starting")


def test_a_node_serves_the_documents_that_it_remembers_while_it_reads(server):
    remembering(server, "first")
    bodies = {app: server.api.document(app).body for app in APPS}
    with slow(server):
        node = Node(server, "first")
        try:
            node.process.wait_until(node.is_there)
            ready = node.api.get("/readyz")
            assert ready.status == 503 and ready.json == {
                "status": "not_ready", "serves": False, "serves_documents": True, "writes": False, "signs": False,
            }, str(ready)  # fmt: skip
            assert node.api.get("/readyz?for=serves_documents").status == 200
            assert {app: node.api.document(app).body for app in APPS} == bodies
            tag = node.api.document(PLAIN)["ETag"]
            assert node.api.document(PLAIN, **{"If-None-Match": tag}).status == 304
            refused = [
                node.api.request("GET", "/client/v1/jwks.json", token=None),
                node.api.request("GET", "/client/v1/apps/com.example.unknown/document", token=None),
                node.api.request("GET", f"/client/v1/apps/{PLAIN}/evaluated?platform=ios&app_version=1.0.0", token=None),
                node.api.request("GET", "/client/v1/apps/com.example.unknown/stream", token=None),
                node.api.request("GET", "/log/checkpoint", token=None),
                node.api.get("/v1/apps"), node.api.get(f"/v1/apps/{PLAIN}"), node.api.request("GET", "/v1/apps", token=None),
                node.api.request("POST", f"/v1/apps/{PLAIN}/hosts", host_body("more.example.com")),
            ]  # fmt: skip
            for answer in refused:
                assert is_starting(answer) and answer["Retry-After"] == "5", str(answer)
            for path in ("/openapi.yaml", "/problems", "/handbook", "/handbook/deployment"):
                assert node.api.request("GET", path, token=None).status == 200, path
            assert not node.is_ready(), "all this happened while it read"
            node.process.wait_until(node.is_ready)
            assert node.codes().index("reading_ledger") < node.codes().index("ledger_read")
            assert node.api.get("/v1/apps").status == 200
            assert node.api.request("GET", "/client/v1/jwks.json", token=None).status == 200
            assert {app: node.api.document(app).body for app in APPS} == bodies
            node.api.must("PATCH", f"/v1/apps/{PLAIN}", {"display_name": "Recorded by the node that started"})
        finally:
            node.stop()


def test_operators_see_how_far_a_starting_node_has_read(server):
    remembering(server, "seen")
    admin = free_port()
    with slow(server):
        node = Node(server, "seen", "--admin-listen", f"127.0.0.1:{admin}")
        try:
            node.process.wait_until(node.is_there)
            ready = API(admin, None).get("/readyz").json
            assert ready["status"] == "starting" and ready["documents"] >= len(APPS)
            assert re.fullmatch(r"this node starts; it has \d+ of \d+ events of the ledger, and reads on", ready["fault"])
            others = server.api.get("/v1/nodes").json["nodes"]
            assert "starting" in [other["state"] for other in others], others
        finally:
            node.stop()


def test_a_document_published_meanwhile_reaches_the_clients_of_a_starting_node(server):
    remembering(server, "fresh")
    with slow(server):
        node = Node(server, "fresh")
        try:
            node.process.wait_until(node.is_there)
            before = node.api.payload(CHANGED)["version"]
            with Stream(node.process.port, CHANGED) as stream:
                assert stream.take()["data"] == node.api.document(CHANGED).body.decode()
                server.api.must(
                    "PUT", f"/v1/apps/{CHANGED}/kill-switch", {"reason": "leaked key", "expires_at": from_now(days=1)})
                eventually(lambda: node.api.payload(CHANGED)["version"] > before, "the kill switch reaches the node")
                assert stream.take()["data"] == node.api.document(CHANGED).body.decode()
            assert not node.is_ready(), "while it still reads"
            keys = server.api.request("GET", "/client/v1/jwks.json", token=None).json
            assert verify(node.api.document(CHANGED).body.decode(), keys, CHANGED)["version"] > before
        finally:
            node.stop()


def test_a_starting_node_serves_no_document_that_no_key_has_signed(server):
    remembering(server, "wary")
    body = server.api.document(FORGED).body
    with slow(server), paused(server.process):
        # A later version with the signature of the earlier one, as who can write to the database could store it.
        server.sql(f"""
            UPDATE pinledger.document SET version = version + 1, body = convert_to(
                replace(convert_from(body, 'UTF8'), '.', '.eyJ'), 'UTF8') WHERE app = '{FORGED}'""")
        node = Node(server, "wary")
        try:
            node.process.wait_until(node.is_there)
            assert node.api.document(PLAIN).status == 200
            assert node.api.document(FORGED).body == body, "the one that the node has kept"
            assert not node.is_ready()
        finally:
            node.stop()


def test_a_node_that_remembers_nothing_serves_nothing_before_it_has_read(server):
    with slow(server):
        node = Node(server, "blank", remembers=False)
        try:
            deadline = time.monotonic() + 4
            while time.monotonic() < deadline:
                assert not node.is_there()
                time.sleep(0.1)
            node.process.wait_until(node.is_ready)
            assert "reading_ledger" not in node.codes()
        finally:
            node.stop()


def test_a_starting_node_stops_when_it_is_told_to(server):
    remembering(server, "stopped")
    with slow(server):
        node = Node(server, "stopped")
        node.process.wait_until(node.is_there)
        began = time.monotonic()
        node.stop()
        assert time.monotonic() - began < 8, "it does not read to the end first"
        assert "server_stopped" in node.codes() and "ledger_read" not in node.codes()


def test_a_starting_node_reads_on_after_its_connections_were_lost(server):
    remembering(server, "tenacious")
    with slow(server):
        node = Node(server, "tenacious")
        try:
            node.process.wait_until(node.is_there)
            for _ in range(6):
                server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pinledger_dev'")
                time.sleep(0.4)
                assert node.api.document(PLAIN).status == 200
            node.process.wait_until(node.is_ready)
        finally:
            node.stop()


def test_a_node_on_an_earlier_state_of_the_database_serves_just_what_it_has_served(own_server):
    restored = Restored(own_server)
    database = restored.restore("earlier")
    with slow(own_server, "earlier"):
        node, api = None, None
        port = free_port()
        node = Process(own_server.home / "earlier.log", restored.arguments(database, port, "--database-timeout", "60"), port)
        api = API(port, own_server.api.token)
        node.spawn()
        try:
            node.wait_until(lambda: api.get("/healthz").status == 200)
            assert api.document(KEPT).body == restored.kept
            assert api.payload(LOST)["version"] == restored.version
            assert api.get("/readyz").status == 503, "while it reads"
            node.wait_until(lambda: api.get("/readyz").status == 200)
            is_halted(api, "a backup was restored")
            assert "reading_ledger" in codes(node) and "memory_contradicted" in codes(node)
            assert api.payload(LOST)["version"] == restored.version
        finally:
            node.stop()
