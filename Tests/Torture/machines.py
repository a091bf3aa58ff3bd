"""Three machines with PostgreSQL, Patroni and etcd: the cluster of deploy/ha, with a network between them to cut."""

import base64
import configparser
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
from ledger import Ledger, program
from partition import Switchboard
from pinledger import free_port
from report import Impossible
from stage import Stage

HERE = Path(__file__).parents[2] / "deploy/ha"
sys.path.append(str(HERE))

import local  # noqa: E402


class Machines:
    """Started by root, the programs run as the account postgres, as those of ``Cluster`` do."""

    def __init__(self, stage: Stage, **settings: str):
        if missing := local.missing_packages():
            raise Impossible(f"Patroni's cluster needs apt-get install {' '.join(missing)}")
        # A socket's path has at most 107 bytes.
        self.directory = Path(tempfile.mkdtemp(prefix="pinledger-ha-"))
        stage.on_exit(self.destroy)
        self._run("--prepare")
        self.switchboard = Switchboard(self.directory, lambda home: list(local.processes_of(home)))
        stage.on_exit(self.switchboard.close)
        self._configure(settings)
        self.names = local.machines(self.config)
        self._start()
        self.home = self.directory

    def _start(self) -> None:
        self._run("--detach")

    def _run(self, option: str) -> None:
        done = subprocess.run(
            [HERE / "start", option, str(self.directory)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300,
        )  # fmt: skip
        if done.returncode != 0:
            told = f"{done.stdout}{done.stderr}\n{self.tail()}"
            raise RuntimeError(f"deploy/ha/start ended with {done.returncode}:\n{told}")

    def _configure(self, settings: dict[str, str]) -> None:
        """Ports that no other test takes, a way round for what the machines say to each other, and the settings."""
        config = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
        config.read(self.directory / "cluster.ini")
        for machine in local.machines(config):
            for service in ("postgres", "rest", "etcd_client", "etcd_peer"):
                listening, reached = free_port(), free_port()
                config[machine][f"{service}_port"] = str(listening)
                config[machine][f"{service}_connect"] = f"127.0.0.1:{reached}"
                self.switchboard.add(machine, service, listening, reached)
        for name in ("haproxy_primary_port", "haproxy_standby_port"):
            config["cluster"][name] = str(free_port())
        config["cluster"].update(settings)
        with (self.directory / "cluster.ini").open("w") as file:
            config.write(file)

    @property
    def config(self) -> configparser.ConfigParser:
        return local.read(self.directory)

    def destroy(self) -> None:
        if keep := os.environ.get("PINLEDGER_TORTURE_KEEP"):
            subprocess.run(["cp", "-r", str(self.directory), keep], check=False)
        local.kill(self.directory)
        subprocess.run(["rm", "-rf", str(self.directory)], check=False)

    def place(self, machine: str) -> contextlib.AbstractContextManager:
        """In which a machine's programs are started."""
        return contextlib.nullcontext()

    def tail(self) -> str:
        logs = sorted(self.directory.glob("*/patroni.log"))
        return "\n".join(f"{log.parent.name}: {log.read_text(errors='replace')[-1500:]}" for log in logs)

    # MARK: Looking

    @property
    def primaries(self) -> list[str]:
        """All machines that say so: in a partition there may be two for a while."""
        return [name for name, role in local.state(self.config).items() if role == "primary"]

    def roles(self) -> tuple[str, str | None, list[str]]:
        """The primary, its synchronous standby, and the others."""
        state = local.state(self.config)
        return (
            next(name for name, role in state.items() if role == "primary"),
            next((name for name, role in state.items() if role == "synchronous"), None),
            [name for name, role in state.items() if role == "replica"],
        )

    def wait_for_primary(self, *, other_than: str | None = None, seconds: float = 90) -> tuple[str, float]:
        """A primary that takes changes, and when it was seen, by the monotonic clock."""
        deadline = time.monotonic() + seconds
        while True:
            for name in self.primaries:
                if name != other_than and not self.value_on(name, "SELECT pg_is_in_recovery()"):
                    return name, time.monotonic()
            if time.monotonic() > deadline:
                raise AssertionError(f"no primary after {seconds} s:\n{self.tail()}")
            time.sleep(0.1)

    def wait_until_whole(self, seconds: float = 180) -> float:
        """Until there are a primary and two standbys; after how many seconds."""
        started = time.monotonic()
        try:
            local.wait_until_whole(self.directory, seconds)
        except SystemExit as error:
            raise AssertionError(f"{error}\n{self.tail()}") from error
        return time.monotonic() - started

    # MARK: Breaking

    def processes(self, machine: str, *programs: str) -> list[int]:
        """Those of a machine: of all its programs, or of some of `patroni`, `postgres`, `etcd`."""
        found = local.processes_of(self.directory / machine).items()
        kinds = {"patroni": "patroni.yml", "postgres": "postgres", "etcd": "etcd.yml"}
        return [each for each, command in found if not programs or any(kinds[name] in command for name in programs)]

    def send(self, machine: str, number: int, *programs: str) -> None:
        for process in self.processes(machine, *programs):
            local.signal_process(process, number)

    def pause(self, machine: str, *programs: str) -> None:
        # Twice: a process may be started between the look and the signal.
        self.send(machine, signal.SIGSTOP, *programs)
        self.send(machine, signal.SIGSTOP, *programs)

    def resume(self, machine: str) -> None:
        self.send(machine, signal.SIGCONT)

    def kill(self, machine: str, *programs: str) -> None:
        while self.processes(machine, *programs):
            self.send(machine, signal.SIGKILL, *programs)
            time.sleep(0.02)

    def start_again(self, *names: str) -> None:
        """What was killed, of all machines or of some."""
        local.start_programs(self.directory, list(names), self.place)

    # MARK: Connecting, as with ``Cluster``

    is_running = True

    def conninfo(self, database: str, user: str = "postgres", *, port: int | None = None) -> str:
        """With every machine, or with one port alone: haproxy's, or a machine's."""
        told = local.conninfo(self.directory, database, user, through="listen")
        if port is None:
            return told
        return f"host=127.0.0.1 port={port} {told[told.index('dbname=') :]}"

    def port(self, machine: str) -> int:
        return int(self.config[machine]["postgres_port"])

    def connect(self, database: str, user: str = "postgres", *, machine: str | None = None) -> psycopg.Connection:
        """To the primary, or to one machine whatever it is."""
        if machine:
            told = self.conninfo(database, user, port=self.port(machine))
        else:
            told = self.conninfo(database, user) + " target_session_attrs=read-write"
        return psycopg.connect(told, autocommit=True)

    def execute(self, database: str, statement: str, *parameters, machine: str | None = None) -> list[tuple]:
        with self.connect(database, machine=machine) as connection:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def value_on(self, machine: str, statement: str):
        """None where the machine does not answer."""
        try:
            return self.execute("postgres", statement, machine=machine)[0][0]
        except psycopg.OperationalError:
            return None


class MachinesLedger(Ledger):
    """A ledger on the three machines, with the role and the database that deploy/ha/start makes."""

    def __init__(self, machines: Machines, directory: Path):
        self.cluster, self.name = machines, local.DATABASE
        program("migrate", "--database", self.superuser, "--grant-to", local.ROLE)
        self.kek = directory / "key-encryption-key"
        self.kek.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
        self.kek.chmod(0o600)
        done = program("token", "bootstrap", "--database", self.conninfo(), "--kek-file", str(self.kek))
        self.token = done.stdout.split()[-1]

    def conninfo(self, *, port: int | None = None) -> str:
        return self.cluster.conninfo(self.name, local.ROLE, port=port)

    @property
    def audited(self) -> str:
        # The primary's, also where a standby would do.
        return self.conninfo() + " target_session_attrs=read-write"

    @property
    def superuser(self) -> str:
        return self.cluster.conninfo(self.name) + " target_session_attrs=read-write"
