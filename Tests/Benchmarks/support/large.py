"""A long ledger in the directory of `pinledger dev`: a million events, made by LedgerLoad."""

import time
from pathlib import Path

from pinledger import Server

from support.postgres import Cluster, Ledger
from support.tools import run_json, tool

DATABASE = "pinledger"
#: So many events more are reason enough for a server to keep a snapshot; it looks every minute.
_MORE, _PATIENCE = 60_000, 150


class LargeLedger:
    """Either `cluster` runs, for everything that is not `pinledger dev`, or `dev` does: it is the same database."""

    def __init__(self, home: Path, events: int, apps: int):
        home.mkdir(mode=0o755)
        self.dev, self.apps = Server(home), apps
        # The first start makes the database, keys and a token.
        self.dev.start()
        self.dev.stop()
        self.cluster = Cluster(self.dev.data / "postgresql")
        assert self.dev.api.token
        key_file = self.dev.data / "key-encryption-key"
        self.ledger = Ledger(self.cluster.connection(DATABASE), key_file, self.dev.api.token)
        try:
            with self:
                self.loaded = self._load(events, apps)
            self._sign_and_keep_snapshot()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> "LargeLedger":
        """With the database running, and `dev` not."""
        self.cluster.start()
        return self

    def __exit__(self, *error) -> None:
        self.cluster.stop()

    def stop(self) -> None:
        if self.dev.is_running:
            self.dev.stop()
        self.cluster.stop()

    def sql(self, text: str) -> str:
        return self.cluster.sql(DATABASE, text)

    def put_snapshot(self, kind: str) -> None:
        """Leaves the snapshots as a server made them ("kept"), one byte of each changed ("corrupted"), or "none"."""
        self.sql("DELETE FROM pinledger.snapshot")
        if kind != "none":
            for table in ("snapshot", "snapshot_part"):
                self.sql(f"INSERT INTO pinledger.{table} SELECT * FROM public.kept_{table}")
        if kind == "corrupted":
            half = "octet_length(body) / 2"
            self.sql(f"UPDATE pinledger.snapshot_part SET body = set_byte(body, {half}, get_byte(body, {half}) # 1)")

    def export_log(self) -> tuple[Path, str]:
        """A copy of the ledger's log, and its key; made once, while the cluster does not run."""
        copy = self.dev.home / "log"
        self.dev.start()
        try:
            if not copy.exists():
                self.dev.api.must("POST", "/v1/log", {"origin": "pins.example.com/log"})
            key = self.dev.api.get("/v1/log").json["keys"][0]["vkey"]
            if not copy.exists():
                self.dev.cli("log", "export", str(copy), "--key", key)
        finally:
            self.dev.stop()
        with self:
            self.events = int(self.sql("SELECT next_position FROM pinledger.head"))
        return copy, key

    def _load(self, events: int, apps: int) -> dict:
        options = {"database": self.ledger.connection, "events": events, "apps": apps, "hosts": 5, "pins": 3,
                   "kek-file": self.dev.data / "key-encryption-key"}  # fmt: skip
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        return run_json([tool("LEDGER_LOAD"), *arguments])

    def _sign_and_keep_snapshot(self) -> None:
        """Lets a server sign all documents once, so that later starts find them, and keep a snapshot of its fold."""
        self.dev.start()
        self._await("SELECT count(*) FROM pinledger.document", self.apps)
        if int(self.sql("SELECT count(*) FROM pinledger.snapshot")) == 0:
            self._load(_MORE, 1)
            self._await("SELECT count(*) FROM pinledger.snapshot", 1)
        self.dev.stop()
        with self:
            for table in ("snapshot", "snapshot_part"):
                self.sql(f"CREATE TABLE public.kept_{table} AS SELECT * FROM pinledger.{table}")
            self.events = int(self.sql("SELECT next_position FROM pinledger.head"))
            self.sql("VACUUM (FREEZE, ANALYZE)")
            self.app = self.sql("SELECT app FROM pinledger.document ORDER BY app LIMIT 1")

    def _await(self, query: str, count: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        while int(self.sql(query)) < count:
            assert time.monotonic() < deadline, f"after {_PATIENCE} s not yet {count}: {query}"
            time.sleep(0.5)
