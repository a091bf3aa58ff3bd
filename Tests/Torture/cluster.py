"""A PostgreSQL cluster that may be killed: with fsync on, in a directory of its own, any number at once."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
from pinledger import free_port


def find_programs() -> Path:
    """The directory of initdb, postgres, pg_dump …; of the newest version there is."""
    if given := os.environ.get("PINLEDGER_TEST_PGBIN"):
        return Path(given)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not found:
        raise SystemExit("no PostgreSQL server is installed below /usr/lib/postgresql")
    return found[-1].parent


def children(parent: int) -> list[int]:
    """The processes whose parent is `parent`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name of the program, in parentheses, may hold anything.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.name))
    return found


def has_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Cluster:
    """Started by root, it runs as the account postgres: PostgreSQL refuses to run as root."""

    def __init__(
        self, home: Path | None = None, *, settings: dict[str, str] | None = None, initdb: list[str] = [],  # noqa: B006
        standby_of: "Cluster | None" = None, environment: dict[str, str] | None = None,
    ):  # fmt: skip
        #: What the server finds in its environment beside ours: a clock of its own.
        self.environment = environment or {}
        self.programs = find_programs()
        self.account = os.environ.get("PINLEDGER_TEST_PGUSER", "postgres") if os.geteuid() == 0 else None
        # A socket's path has at most 107 bytes.
        self.home = home or Path(tempfile.mkdtemp(prefix="pinledger-torture-pg-"))
        self.home.chmod(0o755)
        self.data = self.home / "data"
        self.log = self.home / "postgresql.log"
        self.port = free_port()
        self.process: subprocess.Popen | None = None
        if self.account:
            entry = pwd.getpwnam(self.account)
            os.chown(self.home, entry.pw_uid, entry.pw_gid)
        if standby_of:
            self.follow(standby_of)
            return
        self.run("initdb", f"--pgdata={self.data}", "--username=postgres", "--auth=trust", "--encoding=UTF8",
                 "--locale=C", "--no-sync", *initdb)  # fmt: skip
        settings = {
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": f"'{self.home}'",
            "unix_socket_permissions": "0777",
            "max_connections": "300",
            # Acknowledged changes have to be on the disk: the experiments check this.
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "log_line_prefix": "'%m [%p] '",
            **(settings or {}),
        }
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(lines)

    def follow(self, primary: "Cluster") -> None:
        """Makes its data a copy of another cluster's, which it follows as a standby once it is started."""
        assert self.process is None
        shutil.rmtree(self.data, ignore_errors=True)
        conninfo = f"host={primary.home} port={primary.port} user=postgres application_name=standby"
        self.run("pg_basebackup", f"--pgdata={self.data}", "--dbname", conninfo, "--write-recovery-conf", "--checkpoint=fast",
                 "--wal-method=stream", "--no-sync")  # fmt: skip
        self.configure(unix_socket_directories=f"'{self.home}'", synchronous_standby_names="''")

    def configure(self, **settings: str) -> None:
        """Settings that win over those before, in force from the next start or reload on. Also on a standby."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("".join(f"{name} = {value}\n" for name, value in settings.items()))
        if self.process is not None:
            self.execute("postgres", "SELECT pg_reload_conf()")

    def promote(self, seconds: float = 60) -> None:
        """Makes a standby the primary."""
        assert self.execute("postgres", f"SELECT pg_promote(true, {int(seconds)})")[0][0]

    def wait_for_standby(self, seconds: float = 60) -> None:
        """Until a standby has everything, and commits wait for it where they are to."""
        wanted = "sync" if self.execute("postgres", "SHOW synchronous_standby_names")[0][0] else "async"
        deadline = time.monotonic() + seconds
        statement = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming' AND sync_state IN ('sync', 'async')"
        while (wanted,) not in self.execute("postgres", statement):
            if time.monotonic() > deadline:
                raise AssertionError(f"no standby is {wanted}:\n{self.tail()}")
            time.sleep(0.02)

    def _as_server(self, arguments: list[str]) -> list[str]:
        if not self.account:
            return arguments
        return ["setpriv", f"--reuid={self.account}", f"--regid={self.account}", "--init-groups", "--", *arguments]

    def run(self, program: str, *arguments: str) -> str:
        """Runs one of PostgreSQL's programs as the server's account."""
        done = subprocess.run(
            self._as_server([str(self.programs / program), *arguments]),
            cwd=self.home, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{program} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    # MARK: Running

    def spawn(self) -> None:
        """Starts the postmaster, without waiting until it takes connections."""
        assert self.process is None
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._as_server([str(self.programs / "postgres"), "-D", str(self.data), "-p", str(self.port)]),
                cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | self.environment,
                start_new_session=True,
            )  # fmt: skip

    def start(self, seconds: float = 60) -> float:
        """Starts and waits until a connection stands; returns when it did, by the monotonic clock."""
        self.spawn()
        deadline = time.monotonic() + seconds
        while True:
            assert self.process is not None
            if self.process.poll() is not None:
                code, self.process = self.process.returncode, None
                raise RuntimeError(f"PostgreSQL ended with {code}:\n{self.tail()}")
            try:
                self.connect("postgres").close()
                return time.monotonic()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL to every process of the cluster at once."""
        assert self.process is not None
        process, self.process = self.process, None
        victims = [process.pid, *children(process.pid)]
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
        # A new postmaster refuses to start while a process holds the old one's shared memory.
        deadline = time.monotonic() + 30
        while not all(has_ended(victim) for victim in victims) and time.monotonic() < deadline:
            time.sleep(0.002)

    def stop(self) -> None:
        """SIGINT is PostgreSQL's fast shutdown."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            for victim in [process.pid, *children(process.pid)]:
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()

    def destroy(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""

    # MARK: Connecting

    def conninfo(self, database: str, user: str = "postgres", *, port: int | None = None) -> str:
        """Over the Unix socket; or over TCP, where `port` is given: that of a proxy, for example."""
        if port is None:
            return f"host={self.home} port={self.port} dbname={database} user={user}"
        return f"host=127.0.0.1 port={port} dbname={database} user={user} sslmode=disable gssencmode=disable"

    def connect(self, database: str, user: str = "postgres") -> psycopg.Connection:
        """A connection of its own over the Unix socket, each statement a transaction; as superuser, unless said otherwise."""
        return psycopg.connect(self.conninfo(database, user), autocommit=True, connect_timeout=60)

    def execute(self, database: str, statement: str, *parameters) -> list[tuple]:
        with self.connect(database) as connection:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def create_database(self, name: str, template: str = "template1", *, tablespace: str | None = None) -> None:
        where = f' TABLESPACE "{tablespace}"' if tablespace else ""
        self.execute("postgres", f'CREATE DATABASE "{name}" TEMPLATE "{template}"{where}')
        # Settings of roles in a database are not copied with it, and none are wanted.

    def drop_database(self, name: str) -> None:
        self.execute("postgres", f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
