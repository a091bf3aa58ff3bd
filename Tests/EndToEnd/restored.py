"""A server with a backup of its database, restored beside it, that lacks the last changes."""

import hashlib
import json
import subprocess
from pathlib import Path

from pinledger import BINARY, API, Process, eventually, free_port, from_now, host_body

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
        node, api = self.start("before", server.connection_string, "--trust-database")
        eventually(lambda: api.document(LOST).status == 200)
        self.prepare()
        self.backup = self.dump()
        self.lose()
        self.version = server.api.payload(LOST)["version"]
        eventually(lambda: api.payload(LOST)["version"] == self.version)
        self.position = server.api.position()
        self.kept = api.document(KEPT).body
        self.checkpoint = server.home / "checkpoint"
        self.checkpoint.write_bytes(server.api.get("/log/checkpoint").body)
        node.stop()
        assert self.memory(self.state)["position"] >= self.position

    def prepare(self) -> None:
        """What the backup has beside the two apps."""

    def lose(self) -> None:
        """The changes that the backup lacks."""
        self.server.api.must(
            "PUT", f"/v1/apps/{LOST}/kill-switch", {"reason": "leaked key", "expires_at": from_now(days=1)})

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
        """The memory of a node with what was added to it since it was written as a whole."""
        line = Path(state, "memory").read_text().splitlines()[0]
        memory, additions = json.loads(line), Path(state, "additions")
        lines = additions.read_text().split("\n")[:-1] if additions.exists() else []
        if lines and lines[0] == hashlib.sha256(line.encode()).hexdigest():
            for addition in lines[1 : len(lines) - 1 : 2]:
                added = json.loads(addition)
                memory = added | {"documents": memory["documents"] | added["documents"]}
        return memory


def codes(node: Process) -> list[str]:
    return [line.split("code=")[1].split()[0] for line in node.log.read_text().splitlines() if "code=" in line]


def is_halted(api: API, why: str) -> None:
    assert api.get("/readyz").json == {"status": "ready", "serves": True, "serves_documents": True, "writes": False, "signs": False}
    assert api.get("/readyz?for=writes").status == 503
    # Also to read: a token that was revoked in the lost part would be valid again.
    for refused in (api.request("POST", f"/v1/apps/{KEPT}/hosts", host_body("more.example.com")), api.get("/v1/apps")):
        assert refused.status == 503 and refused.json["type"] == "/problems/halted" and why in str(refused), str(refused)
