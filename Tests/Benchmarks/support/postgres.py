"""A PostgreSQL cluster for measuring: on a real disk, with everything on that makes a commit durable."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from pinledger import BINARY

#: On top of PostgreSQL's defaults, which are fsync = on, synchronous_commit = on, full_page_writes = on.
SETTINGS = {"max_connections": "400", "shared_buffers": "128MB", "listen_addresses": "", "port": "5432"}


def programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    initdb = found[-1] if found else shutil.which("initdb")
    if not initdb:
        raise FileNotFoundError("no PostgreSQL server is installed")
    return Path(initdb).parent


@dataclass
class Ledger:
    """A migrated database with a signing key and a token."""

    connection: str
    key_file: Path
    token: str


class Cluster:
    """Runs as a child of this process, as the account `postgres` where this one is root's."""

    def __init__(self, directory: Path):
        """The data lie in `directory`, as do the socket and the log; what is there already is used."""
        self.directory, self.data, self.log = directory, directory / "data", directory / "postgresql.log"
        self._account = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        self._server: subprocess.Popen | None = None
        self._template: tuple[str, Ledger] | None = None
        self._databases = 0

    def start(self) -> "Cluster":
        if not self.data.exists():
            self.directory.mkdir(mode=0o755)
            if self._account:
                os.chown(self.directory, self._account.pw_uid, self._account.pw_gid)
            self._run(
                [programs() / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8"]
                + ["--locale=C.UTF-8", "--data-checksums", "--no-instructions"]
            )
        settings = SETTINGS | {"unix_socket_directories": str(self.directory), "unix_socket_permissions": "0777"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self._server = subprocess.Popen(
                [programs() / "postgres", "-D", self.data, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/", **self._as_account,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while subprocess.run([programs() / "pg_isready", "-q", "-h", self.directory]).returncode != 0:
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.05)
        return self

    def stop(self) -> None:
        if self._server:
            self._server.send_signal(signal.SIGINT)  # the fast shutdown
            self._server.wait(timeout=120)
            self._server = None

    @property
    def pid(self) -> int:
        assert self._server
        return self._server.pid

    def connection(self, database: str, **more: str) -> str:
        options = {"host": self.directory, "port": 5432, "user": "postgres", "dbname": database, **more}
        return " ".join(f"{name}={value}" for name, value in options.items())

    def sql(self, database: str, text: str) -> str:
        """Runs SQL as superuser; the rows as psql prints them, unaligned."""
        command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.connection(database), "-c", text]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def database(self, template: str = "template1") -> str:
        """Makes a database and returns its name."""
        self._databases += 1
        name = f"bench{self._databases}"
        self.sql("postgres", f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def ledger(self) -> tuple[str, Ledger]:
        """Makes a database with an empty ledger, and returns its name too."""
        if self._template is None:
            name, key_file = self.database(), self.directory / "key-encryption-key"
            key_file.touch(mode=0o600)
            key_file.write_text(os.urandom(32).hex())
            connection = self.connection(name)
            subprocess.run([BINARY, "migrate", "--database", connection], check=True, capture_output=True)
            token = subprocess.run(
                [BINARY, "token", "bootstrap", "--database", connection, "--kek-file", key_file],
                check=True, capture_output=True, text=True,
            ).stdout.strip()  # fmt: skip
            self._template = name, Ledger(connection, key_file, token)
        template, ledger = self._template
        name = self.database(template)
        return name, Ledger(self.connection(name), ledger.key_file, ledger.token)

    def checkpoint(self) -> None:
        """Writes out what earlier measurements left behind, so that the next one does not pay for it."""
        self.sql("postgres", "CHECKPOINT")

    @property
    def _as_account(self) -> dict:
        if not self._account:
            return {}
        return {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}

    def _run(self, command: list) -> None:
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **self._as_account)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
