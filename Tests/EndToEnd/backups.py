"""A site that is backed up as the handbook says: a PostgreSQL with its log archived by pgBackRest, and a node on it.

The commands are those of the page `backup.md`, under whose headings

- a block fenced with ```sh database is for PostgreSQL's account on the database's machine,
- a block fenced with ```sh node is for a node's machine.

They run as they are printed, and the files of `deploy/backup` as they are there, but for the paths and the moment in `Site.places`.
"""

import base64
import contextlib
import copy
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import handbook
import psycopg
import pytest
from documents import verify
from pinledger import API, BINARY, Process, eventually, free_port

sys.path.append(str(Path(__file__).parent.parent / "Torture"))
from cluster import Cluster  # noqa: E402

FILES = handbook.ROOT / "deploy/backup"
#: The moment that the page's example restores.
MOMENT = "2026-03-01 14:29:00+00"


def blocks(heading: str) -> list[tuple[str, str]]:
    """The commands under a heading of the page: where each block runs, and its text."""
    return handbook.blocks("backup", heading)


class Machine:
    """A database's machine: a directory in the place of the root of its file system, and a cluster in that."""

    def __init__(self, home: Path):
        self.home = home
        home.mkdir(mode=0o755)
        for name in ("conf.d", "pgbackrest/conf.d", "log", "lock", "spool", "repository", "dumps"):
            (home / name).mkdir(parents=True)
        shutil.copytree(FILES, home / "checkout/deploy/backup")
        # No test cuts the power, so nothing has to be on the disk.
        settings = {"include_dir": f"'{home}/conf.d'", "fsync": "off"}
        self.cluster = Cluster(home, initdb=["--data-checksums"], settings=settings)
        #: Where the handbook's paths are here, and what stands for its example's moment.
        self.places = {
            "/var/lib/postgresql/15/main": str(self.cluster.data),
            "/var/lib/postgresql/15": str(home),
            "/etc/postgresql/15/main": str(home),
            # Its name has to be in the archive command: pgBackRest looks.
            "/etc/pgbackrest": f"{home}/pgbackrest",
            "/var/lib/pgbackrest": f"{home}/repository",
            "/var/backups/pinledger": f"{home}/dumps",
        }
        for file in (home / "checkout/deploy/backup").iterdir():
            file.write_text(self.here(file.read_text()))
        self.environment = {
            "PGBACKREST_CONFIG": f"{home}/pgbackrest/pgbackrest.conf",
            "PGBACKREST_CONFIG_INCLUDE_PATH": f"{home}/pgbackrest/conf.d",
            "PGBACKREST_LOG_PATH": f"{home}/log",
            "PGBACKREST_LOCK_PATH": f"{home}/lock",
            "PGBACKREST_SPOOL_PATH": f"{home}/spool",
            "PGBACKREST_PG1_SOCKET_PATH": str(home),
            "PGBACKREST_PG1_PORT": str(self.cluster.port),
            "PGBACKREST_PG1_USER": "postgres",
            # It tries to read a damaged file again after 15 seconds.
            "PGBACKREST_JOB_RETRY": "0",
            "PGHOST": str(home), "PGPORT": str(self.cluster.port), "PGUSER": "postgres",
            "PATH": f"{self.cluster.programs}:{os.environ['PATH']}",
        }  # fmt: skip
        if self.cluster.account:
            subprocess.run(["chown", "-R", f"{self.cluster.account}:", str(home)], check=True)

    def here(self, text: str, moment: str = MOMENT) -> str:
        for place, own in self.places.items():
            text = text.replace(place, own)
        return text.replace(MOMENT, moment)

    def run(self, script: str, *, moment: str = MOMENT, status: int | None = 0) -> str:
        """Runs a block of the database's machine as PostgreSQL's account; with None it has to fail with any status."""
        done = subprocess.run(
            self.cluster._as_server(["bash", "-euo", "pipefail", "-c", self.here(script, moment)]),
            cwd=self.home / "checkout", env=os.environ | self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300,
        )  # fmt: skip
        is_right = done.returncode == status if status is not None else done.returncode != 0
        assert is_right, f"{script}\nended with {done.returncode}:\n{done.stdout}\n{self.cluster.tail()}"
        return done.stdout

    def start(self, cluster: Cluster | None = None) -> None:
        """Starts PostgreSQL, and waits until it has recovered. What it runs finds this machine's configuration."""
        cluster = cluster or self.cluster
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            cluster.start()

        def has_recovered() -> bool:
            try:
                return cluster.execute("postgres", "SELECT NOT pg_is_in_recovery()")[0][0]
            except psycopg.OperationalError:
                # It answers once what it has is consistent, and may end after that.
                if not cluster.is_running:
                    cluster.process = None
                    raise RuntimeError(f"PostgreSQL ended:\n{cluster.tail()}") from None
                return False

        eventually(has_recovered, "the end of the recovery")

    def archived(self) -> list[Path]:
        """The segments in the repository, in order."""
        return sorted((self.home / "repository/archive").rglob("0000*.zst"), key=lambda file: file.name)

    def rehearsal(self) -> Cluster:
        """A PostgreSQL on the copy that a rehearsal restores, not yet running."""
        cluster = copy.copy(self.cluster)
        cluster.process, cluster.port = None, free_port()
        cluster.data, cluster.log = self.home / "rehearsal", self.home / "rehearsal.log"
        return cluster

    def destroy(self) -> None:
        self.cluster.destroy()


class Client:
    """An install of an app: it verifies each document, and refuses one that is older than the last."""

    def __init__(self, api: API, app: str):
        self.app = app
        self.keys = api.request("GET", "/client/v1/jwks.json", token=None).json
        self.version = 0

    def take(self, api: API) -> dict:
        answer = api.document(self.app)
        assert answer.status == 200, str(answer)
        document = verify(answer.body.decode(), self.keys, self.app)
        assert document["version"] >= self.version, f"{document['version']} after {self.version}"
        self.version = document["version"]
        return document


class Site:
    """A machine with the database, and one with a node."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="pinledger-backup-"))
        # Started by root, the database runs as the account postgres, which has to get there.
        self.home.chmod(0o755)
        self.machines: list[Machine] = []
        self.nodes: list[Process] = []
        self.desk = self.home / "desk"
        (self.desk / "node-1").mkdir(parents=True)
        (self.desk / "bin").mkdir()
        (self.desk / "bin/pinledger").symlink_to(BINARY)
        kek = self.desk / "kek"
        kek.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
        kek.chmod(0o600)
        self.state = self.desk / "node-1/state"
        self.acknowledged = self.desk / "acknowledged"
        self.token = ""
        self.is_whole = True

    def machine(self, name: str) -> Machine:
        machine = Machine(self.home / name)
        self.machines.append(machine)
        return machine

    def install(self, machine: Machine) -> None:
        """What the page of the deployment says, up to the first token."""
        cluster = machine.cluster
        cluster.execute("postgres", "CREATE DATABASE pinledger")
        cluster.execute("postgres", "CREATE ROLE pinledger LOGIN")
        self.pinledger(f'migrate --database "{cluster.conninfo("pinledger")}" --grant-to pinledger')
        done = self.pinledger(
            'token bootstrap --database "$DATABASE" --kek-file kek --state-directory node-1/state', machine
        )
        self.token = done.split()[-1]

    def run(
        self, script: str, machine: Machine | None = None, *, status: int | None = 0, port: int | None = None
    ) -> str:
        """Runs a block of a node's machine, which ends with the status if one is given; what it printed to standard output."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PINLEDGER_")}
        environment |= {"PATH": f"{self.desk}/bin:{environment['PATH']}", "NO_COLOR": "1"}
        if machine:
            database = machine.cluster.conninfo("pinledger", "pinledger")
            environment["DATABASE"] = database.replace(
                f"port={machine.cluster.port}", f"port={port or machine.cluster.port}"
            )
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.desk, env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert status in (done.returncode, None), f"{script}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def pinledger(self, command: str, machine: Machine | None = None, **options) -> str:
        return self.run(f"pinledger {command}", machine, **options)

    def fsck(self, machine: Machine, *options: str, status: int = 0) -> dict:
        """A report, which is also kept in a file."""
        command = f'fsck --database "$DATABASE" --kek-file kek --output json {shlex.join(options)}'
        report = self.pinledger(command, machine, status=status)
        (self.desk / "report.json").write_text(report)
        return json.loads(report)

    def doctor(self, machine: Machine) -> dict:
        """What `doctor` finds, by subject. It also judges settings that are here for speed, so any status is right."""
        command = f'doctor --database "$DATABASE" --kek-file kek --state-directory node-1/state --listen 127.0.0.1:{free_port()}'
        return {
            each["subject"]: each
            for each in json.loads(self.pinledger(f"{command} --output json", machine, status=None))
        }

    @contextlib.contextmanager
    def taken_apart(self):
        """While it is, the site is in no state that another test can begin with; nor after a failure."""
        self.is_whole = False
        yield
        self.is_whole = True

    def start_node(
        self, machine: Machine, *, state: Path | None = None, options: list[str] | None = None
    ) -> tuple[Process, API]:
        """The node, with its state directory or a copy of that."""
        port = free_port()
        database = machine.cluster.conninfo("pinledger", "pinledger")
        log = self.home / f"node-{len(self.nodes) + 1}.log"
        arguments = [
            "serve",
            "--database",
            database,
            "--kek-file",
            str(self.desk / "kek"),
            "--listen",
            f"127.0.0.1:{port}",
        ]
        node = Process(log, [*arguments, *(options or []), "--state-directory", str(state or self.state)], port)
        api = API(port, self.token)
        self.nodes.append(node)
        node.spawn()
        node.wait_until(lambda: api.get("/readyz?for=serves").status == 200)
        return node, api

    def change(self, api: API, method: str, path: str, body: dict) -> None:
        """A change, which is noted as acknowledged."""
        key = f"change-{os.urandom(8).hex()}"
        answer = api.must(method, path, body, {"Idempotency-Key": key})
        with self.acknowledged.open("a") as file:
            file.write(json.dumps({"idempotency_key": key, "position": int(answer["Pinledger-Position"])}) + "\n")

    def memory(self) -> dict:
        return json.loads((self.state / "memory").read_text().splitlines()[0])

    def wait_for_memory(self, api: API) -> None:
        """Until the node remembers all that the ledger has, and the documents of it."""
        position = api.position()
        eventually(lambda: self.memory()["position"] >= position, "the memory")

    def end_nodes(self) -> None:
        for node in self.nodes:
            if node.is_running:
                node.kill()

    def destroy(self) -> None:
        self.end_nodes()
        for machine in self.machines:
            machine.destroy()
        shutil.rmtree(self.home, ignore_errors=True)
