"""Databases in the cluster of a server: further ones, events that are forged in them, and standbys that commits wait for."""

import contextlib
import json
import secrets
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import psycopg
import pytest
from pinledger import API, BINARY, Process, eventually, free_port

sys.path.append(str(Path(__file__).parent.parent / "Torture"))
import batch_mac  # noqa: E402
import tree  # noqa: E402

#: The app in the database `template_database`.
APP = "com.example.macs"


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

    def execute(self, statement: str, *parameters):
        """Runs a statement as the role of a node; returns the value that it gives."""
        with psycopg.connect(self.superuser) as connection:
            connection.execute("SET ROLE pinledger_app")
            row = connection.execute(statement, parameters).fetchone()
            return row[0] if row else None

    def new_key(self) -> Path:
        """A file with another key-encryption key."""
        path = self.server.home / f"key-{secrets.token_hex(4)}"
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32))
        return path

    def authenticate_end(self, key: Path) -> None:
        with psycopg.connect(self.superuser) as connection:
            assert batch_mac.authenticate_end(connection, key)

    def refused(self, *options: str) -> str:
        """The errors of a node that does not start."""
        done = subprocess.run(
            [BINARY, "serve", "--database", self.connection_string, "--listen", f"127.0.0.1:{free_port()}", *options],
            capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode != 0
        return done.stderr

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
def template_database(own_server):
    """The beginning of every test: a ledger with an app, recorded by a node that has the key."""
    database = Database.make(own_server, "template_of_macs")
    database.server.api.token = database.bootstrap("--kek-file", str(database.key))
    node, api = database.serve("--kek-file", str(database.key))
    api.lower_rails()
    api.make_app(APP, "api.example.com")
    eventually(lambda: api.document(APP).status == 200)
    node.stop()
    return database.name


def await_standby(database, name: str | None) -> None:
    """From now on commits wait for a standby, which does not exist; with None they wait no longer."""
    database.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name or ''}'")
    database.sql("SELECT pg_reload_conf()")
    eventually(lambda: database.sql("SHOW synchronous_standby_names") == (name or ""))


@contextlib.contextmanager
def standby(database, name: str, directory: Path):
    """A standby that receives the log of the database, and applies none of it."""
    directory.mkdir()
    command = [
        "pg_receivewal", "--synchronous", "--no-loop", "-D", directory,
        "-d", f"host='{database.data}/postgresql' user=postgres application_name={name}",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as receiver:
        try:
            yield
        finally:
            receiver.kill()
