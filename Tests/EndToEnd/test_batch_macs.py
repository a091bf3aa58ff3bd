"""Events that a database login records without the key-encryption key: no node that has the key believes them."""

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import psycopg
import pytest
from pinledger import API, Process, eventually, free_port

sys.path.append(str(Path(__file__).parent.parent / "Torture"))
import batch_mac  # noqa: E402
import tree  # noqa: E402

APP = "com.example.macs"
DAMAGED, FAILED = 10, 1


class Database:
    """A database in the cluster of a server, as the login of its nodes."""

    def __init__(self, server, name: str):
        self.server, self.name = server, name
        self.socket = f"{server.data}/postgresql"
        self.key = server.data / "key-encryption-key"
        # The account in the server's own connection string, with a database beside the server's.
        self.connection_string = server.connection_string.replace("dbname=pinledger", f"dbname={name}")

    @classmethod
    def make(cls, server, name: str, like: str | None = None) -> "Database":
        command = ["createdb", "-h", f"{server.data}/postgresql", "-U", "postgres", name]
        done = subprocess.run(command + (["-T", like] if like else []), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        database = cls(server, name)
        if like is None:
            server.cli("migrate", "--database", database.superuser, "--grant-to", "pinledger_dev")
        return database

    @property
    def superuser(self) -> str:
        return f"host={self.socket} user=postgres dbname={self.name}"

    def bootstrap(self, *options: str) -> str:
        done = self.server.cli("token", "bootstrap", "--database", self.connection_string, *options)
        return done.stdout.split()[-1]

    def entry(self, condition: str) -> dict:
        with psycopg.connect(self.superuser) as connection:
            row = connection.execute(f"SELECT entry FROM pinledger.event WHERE {condition}").fetchone()
            return json.loads(row[0])

    def forge(
        self, stream: str, type: str, data: dict, key: Path | None, *, is_guessed: bool = True, signature: bytes | None = None,
        schema: int = 1,
    ) -> int:
        """Appends an event as the role of a node may, with a right tree; where `key` is given with a MAC, which is guessed
        unless this is the harness's own check. Returns its position."""
        with psycopg.connect(self.superuser) as connection:
            connection.execute("SET ROLE pinledger_app")
            position, encoded, last = connection.execute(
                "SELECT next_position, frontier, last_time FROM pinledger.head").fetchone()  # fmt: skip
            row = connection.execute("SELECT version FROM pinledger.stream WHERE name = %s", [stream]).fetchone()
            version = row[0] if row else 0
            moment = max(datetime.now(timezone.utc), last + timedelta(microseconds=1))
            entry = json.dumps(
                {
                    "actor": {"id": "tok_forger", "kind": "token", "name": "Forger"}, "data": data, "position": position,
                    "schema": schema, "stream": stream, "stream_version": version + 1,
                    "time": moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "type": type,
                }, sort_keys=True, separators=(",", ":"),
            ).encode()  # fmt: skip
            frontier = tree.Frontier.decode(position, encoded)
            nodes = frontier.append(tree.leaf_hash(entry))
            mac = None
            if key:
                mac = batch_mac.of(key, position + 1, moment, frontier.root)
                if is_guessed:
                    mac = mac[:8] + bytes(32)
                else:
                    signature = batch_mac.signature(key, position + 1, frontier.root)
            outcome = connection.execute(
                """
                SELECT outcome FROM pinledger.append(
                    %s, %s, %s, %s, ARRAY[%s], ARRAY[%s]::bigint[], ARRAY[%s], ARRAY['token'], ARRAY['tok_forger'],
                    ARRAY[%s]::bytea[], %s::smallint[], %s::bigint[], %s::bytea[], ARRAY[%s], ARRAY[%s]::bigint[],
                    ARRAY[%s]::bigint[], ARRAY[%s]::bigint[], '{}', '{}', '{}', '{}', '{}', true, %s, %s)
                """,
                [
                    position, encoded, frontier.encoded, moment, stream, version + 1, type, entry,
                    [node[0] for node in nodes], [node[1] for node in nodes], [node[2] for node in nodes],
                    stream, version, version + 1, position, mac, signature,
                ],
            ).fetchone()[0]  # fmt: skip
            assert outcome == "appended"
        return position

    def forge_token(self, like: dict, **options) -> int:
        """Issues a token: `like` is the event by which another ledger issued it."""
        return self.forge("access", like["type"], like["data"], schema=like["schema"], **options)

    def serve(self, *options: str) -> tuple[Process, API]:
        port = free_port()
        arguments = ["serve", "--database", self.connection_string, "--listen", f"127.0.0.1:{port}", *options]
        node = Process(self.server.home / f"{self.name}-{port}.log", arguments, port)
        api = API(port, self.server.api.token)
        node.spawn()
        node.wait_until(lambda: api.get("/healthz").status == 200)
        return node, api

    def fsck(self, status: int) -> list[dict]:
        done = self.server.cli(
            "fsck", "--database", self.connection_string, "--kek-file", str(self.key), "--output", "json", status=status)
        return json.loads(done.stdout)["findings"]

    def doctor(self, status: int) -> dict:
        done = self.server.cli(
            "doctor", "--database", self.connection_string, "--kek-file", str(self.key), "--listen",
            f"127.0.0.1:{free_port()}", "--output", "json", status=status)  # fmt: skip
        return {finding["subject"]: finding for finding in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def forged_token(own_server):
    """A token's text, and the event by which another ledger issued it."""
    other = Database.make(own_server, "forgery")
    text = other.bootstrap()
    return text, other.entry("stream = 'access'")


@pytest.fixture(scope="module")
def template(own_server):
    """What every test begins with: a ledger with an app, recorded by a node that has the key."""
    database = Database.make(own_server, "template_of_macs")
    database.server.api.token = database.bootstrap("--kek-file", str(database.key))
    node, api = database.serve("--kek-file", str(database.key))
    api.lower_rails()
    api.make_app(APP, "api.example.com")
    eventually(lambda: api.document(APP).status == 200)
    node.stop()
    return database.name


@pytest.fixture
def database(own_server, template, request):
    return Database.make(own_server, f"macs_{abs(hash(request.node.name))}", like=template)


def is_valid(api: API, token: str) -> bool:
    return API(api.port, token).get("/v1/apps").status == 200


def test_a_forged_token_is_never_taken_by_a_node_with_the_key(database, forged_token):
    text, event = forged_token
    node, api = database.serve("--kek-file", str(database.key))
    try:
        version = api.payload(APP)["version"]
        position = database.forge_token(event, key=database.key)
        eventually(lambda: api.get("/readyz?for=writes").status == 503, "the node halts")
        assert not is_valid(api, text)
        # It had read the whole ledger, so tokens of its own are good; nothing is recorded.
        refused = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
        assert refused.status == 503 and refused.json["type"] == "/problems/halted"
        assert "not authenticated" in str(refused)
        assert api.payload(APP)["version"] == version
        assert "follower_halted" in node.log.read_text() or "writer_halted" in node.log.read_text()
    finally:
        node.stop()
    # Nor by one that starts.
    node, api = database.serve("--kek-file", str(database.key))
    try:
        assert not is_valid(api, text) and not is_valid(api, database.server.api.token)
        assert "end_unauthenticated" in node.log.read_text()
        assert api.payload(APP)["version"] == version
    finally:
        node.stop()
    found = database.fsck(DAMAGED)
    assert {finding["code"] for finding in found} == {"mac_wrong"}
    assert {finding["position"] for finding in found} == {position}
    assert database.doctor(FAILED)["ledger's end"]["verdict"] == "fail"


def test_a_login_cannot_leave_the_mac_out(database, forged_token):
    with pytest.raises(psycopg.Error, match="another key-encryption key"):
        database.forge_token(forged_token[1], key=None)
    assert database.fsck(0) == []
    assert database.doctor(0)["ledger's end"]["verdict"] == "ok"


def test_the_mac_is_the_documented_one(database, forged_token):
    # With the key itself, computed by another program, the same event is taken.
    node, api = database.serve("--kek-file", str(database.key))
    try:
        database.forge_token(forged_token[1], key=database.key, is_guessed=False)
        eventually(lambda: is_valid(api, forged_token[0]), "the token is issued")
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
    finally:
        node.stop()
    assert database.fsck(0) == []


def test_nodes_without_the_key_believe_what_the_login_records(own_server, forged_token):
    # What the harness must see, or the tests before show nothing.
    database = Database.make(own_server, "keyless")
    database.bootstrap()
    node, api = database.serve()
    try:
        database.forge_token(forged_token[1], key=None)
        eventually(lambda: is_valid(api, forged_token[0]), "the forged token is taken")
    finally:
        node.stop()


def test_an_operator_can_trust_the_database_once(database, forged_token):
    database.forge_token(forged_token[1], key=database.key)
    node, api = database.serve("--kek-file", str(database.key), "--trust-database")
    try:
        assert "end_trusted" in node.log.read_text()
        assert api.get("/readyz?for=writes").status == 200
        # It is up to the operator to undo what was forged.
        assert is_valid(api, forged_token[0])
        api.must("DELETE", f"/v1/tokens/{forged_token[1]['data']['token_id']}")
        assert not is_valid(api, forged_token[0])
    finally:
        node.stop()
    node, api = database.serve("--kek-file", str(database.key))
    try:
        assert api.get("/readyz?for=writes").status == 200
    finally:
        node.stop()
    # The report still names the batch that no node has recorded.
    assert {finding["code"] for finding in database.fsck(DAMAGED)} == {"mac_wrong"}


def test_a_node_without_the_key_records_nothing_where_others_have_it(database):
    node, api = database.serve()
    try:
        assert api.get("/readyz?for=serves").status == 200
        assert api.get("/readyz?for=writes").status == 503
        refused = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
        assert refused.status == 503 and refused.json["type"] == "/problems/no_key_encryption_key", str(refused)
    finally:
        node.stop()
    assert database.fsck(0) == []


def test_a_token_from_before_there_were_roles_may_do_everything_and_is_marked(database, forged_token):
    # Another ledger's token, in the form in which tokens were recorded before.
    text, event = forged_token
    data = {name: event["data"][name] for name in ("expires_at", "name", "sha256", "token_id")}
    options = ["--kek-file", str(database.key)]
    found = database.doctor(0)["access"]
    assert found["verdict"] == "ok", found
    database.forge("access", "TokenIssued", data, database.key, is_guessed=False)
    found = database.doctor(0)["access"]
    assert found["verdict"] == "warn" and data["token_id"] in found["detail"], found
    node, api = database.serve(*options)
    try:
        old = API(api.port, text)
        who = old.get("/v1/whoami").json
        assert who["token"]["unscoped"] is True and "grants" not in who["token"]
        assert all(one["everywhere"] for one in who["permissions"])
        old.must("PATCH", f"/v1/apps/{APP}", {"display_name": "As before"})
        old.must("POST", "/v1/keys", {})
        # What it makes says what it may do.
        made = old.holding("viewer", APP)
        assert made.get("/v1/whoami").json["token"]["unscoped"] is False
        old.must("DELETE", f"/v1/tokens/{data['token_id']}?reason=replaced")
        assert old.get("/v1/whoami").status == 401
    finally:
        node.stop()
    assert database.doctor(0)["access"]["verdict"] == "ok"
    assert database.fsck(0) == []
