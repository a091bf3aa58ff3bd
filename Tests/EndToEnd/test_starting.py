"""A node that takes long to read the ledger when it starts: what it serves meanwhile, and what it does not."""

import contextlib
import json
import re
import signal
import subprocess

import pytest
from documents import verify
from pinledger import API, Process, eventually, free_port, from_now, host_body
from restored import KEPT, LOST, Restored, codes, is_halted
from streams import DocumentStream

APPS = ["com.example.starting.plain", "com.example.starting.changed", "com.example.starting.forged"]
PLAIN, CHANGED, FORGED = APPS
#: So many events the ledger has.
EVENTS = 600
#: The lock of the database that reads of the ledger need.
LOCK = 4_508_771


class Slow:
    """A database in which a read of one event, in the middle of the ledger, waits until it may go on: as if there were very
    many events, on a bad disk."""

    def __init__(self, server, database: str):
        self.server, self.database = server, database

    def __enter__(self) -> "Slow":
        self.psql = subprocess.Popen([*self.server._psql, "-d", self.database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.psql.stdin.write(f"SELECT 'held' FROM pg_advisory_lock({LOCK});\n")
        self.psql.stdin.flush()
        assert self.psql.stdout.readline() == "held\n"
        # A session of a node may wait for no lock for long: it sleeps, and looks again.
        self.sql(f"""
            CREATE OR REPLACE FUNCTION public.may_go_on() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
                WHILE NOT pg_try_advisory_xact_lock_shared({LOCK}) LOOP PERFORM pg_sleep(0.05); END LOOP;
                RETURN true;
            END $$""")
        waits = f"CASE WHEN position = {EVENTS // 2} THEN public.may_go_on() ELSE true END"
        self.sql(f"CREATE POLICY slow ON pinledger.event FOR SELECT USING ({waits})")
        # Last, and taken back first: without a policy no event is there, for any node that looks.
        self.sql("ALTER TABLE pinledger.event ENABLE ROW LEVEL SECURITY")
        return self

    def __exit__(self, *_) -> None:
        self.go_on()
        self.sql("ALTER TABLE pinledger.event DISABLE ROW LEVEL SECURITY")
        self.sql("DROP POLICY slow ON pinledger.event")

    def sql(self, text: str) -> str:
        return self.server.sql(text, database=self.database)

    def wait_for_reader(self) -> None:
        """Waits until a read of the ledger waits."""
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        eventually(lambda: self.sql(waiting) != "0", "a read of the ledger")

    def go_on(self) -> None:
        """Lets the reads go on: at the end of its input psql ends, and gives the lock back."""
        if self.psql.poll() is None:
            self.psql.communicate()


def slow(server, database: str = "pinledger") -> Slow:
    return Slow(server, database)


@contextlib.contextmanager
def paused(process):
    """A process that does nothing, so that it does not repair what another one is to find."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def filled_server(own_server):
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


def test_a_node_serves_the_documents_that_it_remembers_while_it_reads(filled_server):
    remembering(filled_server, "first")
    bodies = {app: filled_server.api.document(app).body for app in APPS}
    with slow(filled_server) as reads:
        node = Node(filled_server, "first")
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
            reads.go_on()
            node.process.wait_until(node.is_ready)
            assert node.codes().index("reading_ledger") < node.codes().index("ledger_read")
            assert node.api.get("/v1/apps").status == 200
            assert node.api.request("GET", "/client/v1/jwks.json", token=None).status == 200
            assert {app: node.api.document(app).body for app in APPS} == bodies
            node.api.must("PATCH", f"/v1/apps/{PLAIN}", {"display_name": "Recorded by the node that started"})
        finally:
            node.stop()


def test_operators_see_how_far_a_starting_node_has_read(filled_server):
    remembering(filled_server, "seen")
    admin = free_port()
    with slow(filled_server):
        node = Node(filled_server, "seen", "--admin-listen", f"127.0.0.1:{admin}")
        try:
            node.process.wait_until(node.is_there)
            ready = API(admin, None).get("/readyz").json
            assert ready["status"] == "starting" and ready["documents"] >= len(APPS)
            assert re.fullmatch(r"this node starts; it has \d+ of \d+ events of the ledger, and reads on", ready["fault"])
            others = filled_server.api.get("/v1/nodes").json["nodes"]
            assert "starting" in [other["state"] for other in others], others
        finally:
            node.stop()


def test_a_document_published_meanwhile_reaches_the_clients_of_a_starting_node(filled_server):
    remembering(filled_server, "fresh")
    with slow(filled_server):
        node = Node(filled_server, "fresh")
        try:
            node.process.wait_until(node.is_there)
            before = node.api.payload(CHANGED)["version"]
            with DocumentStream(node.process.port, CHANGED) as stream:
                assert stream.take()["data"] == node.api.document(CHANGED).body.decode()
                filled_server.api.must(
                    "PUT", f"/v1/apps/{CHANGED}/kill-switch", {"reason": "leaked key", "expires_at": from_now(days=1)})
                eventually(lambda: node.api.payload(CHANGED)["version"] > before, "the kill switch reaches the node")
                assert stream.take()["data"] == node.api.document(CHANGED).body.decode()
            assert not node.is_ready(), "while it still reads"
            keys = filled_server.api.request("GET", "/client/v1/jwks.json", token=None).json
            assert verify(node.api.document(CHANGED).body.decode(), keys, CHANGED)["version"] > before
        finally:
            node.stop()


def test_a_starting_node_serves_no_document_that_no_key_has_signed(filled_server):
    remembering(filled_server, "wary")
    body = filled_server.api.document(FORGED).body
    with slow(filled_server), paused(filled_server.process):
        # A later version with the signature of the earlier one, as who can write to the database could store it.
        filled_server.sql(f"""
            UPDATE pinledger.document SET version = version + 1, body = convert_to(
                replace(convert_from(body, 'UTF8'), '.', '.eyJ'), 'UTF8') WHERE app = '{FORGED}'""")
        node = Node(filled_server, "wary")
        try:
            node.process.wait_until(node.is_there)
            assert node.api.document(PLAIN).status == 200
            assert node.api.document(FORGED).body == body, "the one that the node has kept"
            assert not node.is_ready()
        finally:
            node.stop()


def test_a_node_that_remembers_nothing_serves_nothing_before_it_has_read(filled_server):
    with slow(filled_server) as reads:
        node = Node(filled_server, "blank", remembers=False)
        try:
            reads.wait_for_reader()
            assert not node.is_there()
            reads.go_on()
            node.process.wait_until(node.is_ready)
            assert "reading_ledger" not in node.codes()
        finally:
            node.stop()


def test_a_starting_node_stops_when_it_is_told_to(filled_server):
    remembering(filled_server, "stopped")
    with slow(filled_server):
        node = Node(filled_server, "stopped")
        node.process.wait_until(node.is_there)
        # The end is not read first: nothing lets the reads go on.
        node.stop()
        assert "server_stopped" in node.codes() and "ledger_read" not in node.codes()


def test_a_starting_node_reads_on_after_its_connections_were_lost(filled_server):
    remembering(filled_server, "tenacious")
    with slow(filled_server) as reads:
        node = Node(filled_server, "tenacious")
        try:
            node.process.wait_until(node.is_there)
            for _ in range(6):
                reads.wait_for_reader()
                filled_server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pinledger_dev'")
                assert node.api.document(PLAIN).status == 200
            reads.go_on()
            node.process.wait_until(node.is_ready)
        finally:
            node.stop()
        # The other node has lost its connections too.
        eventually(lambda: filled_server.api.request("PATCH", f"/v1/apps/{PLAIN}", {"display_name": "Back"}).status == 200, "a change")


def test_a_node_on_an_earlier_state_of_the_database_serves_just_what_it_has_served(filled_server):
    restored = Restored(filled_server)
    database = restored.restore("earlier")
    with slow(filled_server, "earlier") as reads:
        node, api = None, None
        port = free_port()
        node = Process(filled_server.home / "earlier.log", restored.arguments(database, port, "--database-timeout", "60"), port)
        api = API(port, filled_server.api.token)
        node.spawn()
        try:
            node.wait_until(lambda: api.get("/healthz").status == 200)
            assert api.document(KEPT).body == restored.kept
            assert api.payload(LOST)["version"] == restored.version
            assert api.get("/readyz").status == 503, "while it reads"
            reads.go_on()
            node.wait_until(lambda: api.get("/readyz").status == 200)
            is_halted(api, "a backup was restored")
            assert "reading_ledger" in codes(node) and "memory_contradicted" in codes(node)
            assert api.payload(LOST)["version"] == restored.version
        finally:
            node.stop()
