"""A cluster of deploy/ha that is backed up and restored as the handbook says, with Patroni, etcd and pgBackRest, and nodes on it.

The commands are those of the page `high-availability.md`, under whose headings a block is for PostgreSQL's account on a database's machine
(`sh database`), for root there (`sh root`), or for a node's machine (`sh node`). They run as they are printed, but for the paths, the machine's
name and the moment in `Member.here`; `systemctl` starts and stops that machine's Patroni.
"""

import configparser
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import handbook
import psycopg
from backups import MOMENT, Site
from pinledger import API, Process, eventually, free_port

HA = handbook.ROOT / "deploy/ha"
sys.path.append(str(HA))
import local  # noqa: E402

SYSTEMCTL = """#!{python}
import sys
from pathlib import Path
sys.path.append({ha!r})
import local
directory, machine = Path({directory!r}), {machine!r}
*verb, unit = sys.argv[1:]
assert unit == "patroni"
if verb in (["start"], ["enable", "--now"]):
    local.start_patroni(directory, machine)
else:
    assert verb == ["disable", "--now"]
    local.end_program(directory / machine, unit, 120)
"""


def blocks(heading: str) -> list[str]:
    """The commands under a heading of the page, a text for each block."""
    return [text for _, text in handbook.blocks("high-availability", heading)]


class Member:
    """One of the three machines: a directory in the place of the root of its file system."""

    def __init__(self, cluster: "Cluster", name: str):
        self.cluster, self.name = cluster, name
        self.home = cluster.directory / name
        self.data = self.home / "data"
        programs = cluster.site.home / "programs" / name
        programs.mkdir(parents=True)
        systemctl = programs / "systemctl"
        systemctl.write_text(
            SYSTEMCTL.format(python=sys.executable, ha=str(HA), directory=str(cluster.directory), machine=name)
        )
        systemctl.chmod(0o755)
        self.path = f"{programs}:{os.environ['PATH']}"

    def here(self, text: str, moment: str = MOMENT) -> str:
        for place, own in {
            "/etc/pinledger-db/cluster.ini": self.cluster.directory / "cluster.ini",
            "/etc/pinledger-db": self.home,
            "/etc/patroni/config.yml": self.home / "patroni.yml",
            "/etc/pgbackrest": self.home / "pgbackrest",
            "/var/lib/postgresql/15/pinledger": self.data,
            "/var/lib/postgresql/15": self.home,
            MOMENT: moment,
        }.items():
            text = text.replace(place, str(own))
        return re.sub(r" db1 ", f" {self.name} ", text)

    def run(self, script: str, *, moment: str = MOMENT, is_root: bool = False) -> str:
        """Runs a block of this machine, as PostgreSQL's account or as root."""
        process = self.begin(script, moment=moment, is_root=is_root)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, f"{script}\nended with {process.returncode}:\n{said}\n{self.cluster.tail()}"
        return said

    def begin(self, script: str, *, moment: str = MOMENT, is_root: bool = False) -> subprocess.Popen:
        """Runs it in a process group of its own, without waiting for its end."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "PATRONI_"))}
        environment |= local.pgbackrest_environment(self.home)
        environment |= {"PATH": self.path, "HOME": str(self.home)}
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", self.here(script, moment)], cwd=self.cluster.checkout, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True, **({} if is_root else local.account()),
        )  # fmt: skip

    def root(self, script: str) -> str:
        return self.run(script, is_root=True)

    def kill(self) -> None:
        """SIGKILL to Patroni and PostgreSQL, not to etcd, which stands for that of a machine that lives."""
        while found := [each for each, command in local.processes_of(self.home).items() if "etcd.yml" not in command]:
            for process in found:
                local.signal_process(process, signal.SIGKILL)

    def lose_data(self) -> None:
        self.kill()
        shutil.rmtree(self.data)

    @property
    def log(self) -> str:
        return (self.home / "patroni.log").read_text(errors="replace")


class Cluster:
    """In the place of one machine's PostgreSQL."""

    #: What `Site.run` replaces: a cluster has several.
    port = "none"

    def __init__(self, site: "ClusterSite"):
        self.site = site
        # A socket's path has at most 107 bytes.
        self.directory = site.home / "ha"
        self.checkout = site.home / "checkout"
        for name in ("ha", "backup"):
            shutil.copytree(handbook.ROOT / "deploy" / name, self.checkout / "deploy" / name)
        self._start("--prepare")
        config = self.config
        for machine in local.machines(config):
            config[machine].update({name: str(free_port()) for name in local.PORTS})
        config["cluster"].update({name: str(free_port()) for name in ("haproxy_primary_port", "haproxy_standby_port")})
        with (self.directory / "cluster.ini").open("w") as file:
            config.write(file)
        self.members = [Member(self, name) for name in local.machines(config)]
        self._start("--detach")

    def _start(self, option: str) -> None:
        done = subprocess.run(
            [HA / "start", option, self.directory], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"deploy/ha/start ended with {done.returncode}:\n{done.stdout}{done.stderr}\n{self.tail()}"

    @property
    def config(self) -> configparser.ConfigParser:
        return local.read(self.directory)

    def destroy(self) -> None:
        local.kill(self.directory)

    def tail(self) -> str:
        logs = sorted(self.directory.glob("*/patroni.log"))
        return "\n".join(f"{log.parent.name}: {log.read_text(errors='replace')[-3000:]}" for log in logs)

    # MARK: Looking

    def member(self, role: str) -> Member:
        """The one that is `primary`, `synchronous` or `replica`."""
        (found,) = (name for name, is_now in local.state(self.config).items() if is_now == role)
        return next(member for member in self.members if member.name == found)

    def others(self, *these: Member) -> list[Member]:
        return [member for member in self.members if member not in these]

    def wait_for_primary(self, *, other_than: Member | None = None) -> Member:
        """A primary that takes changes: Patroni says so of itself, and PostgreSQL too."""

        def look():
            for name, role in local.state(self.config).items():
                if role == "primary" and name != (other_than and other_than.name):
                    member = next(member for member in self.members if member.name == name)
                    with contextlib.suppress(psycopg.OperationalError):
                        return self.execute("postgres", "SELECT pg_is_in_recovery()", member=member) == [(False,)] and member

        with self.logs():
            return eventually(look, "a primary")

    def wait_until_whole(self) -> None:
        with self.logs():
            local.wait_until_whole(self.directory, 300)

    @contextlib.contextmanager
    def logs(self):
        """The members' logs beside what failed."""
        try:
            yield
        except (AssertionError, SystemExit) as error:
            raise AssertionError(f"{error}\n{self.tail()}") from error

    def segments(self) -> list[str]:
        """The names of the segments in the repository, in order."""
        files = (self.directory / "repository/archive").rglob("0000*.zst")
        return sorted(file.name.partition("-")[0] for file in files if "partial" not in file.name)

    def unarchived(self) -> list[str]:
        """What a machine keeps because the repository does not have it."""
        return [file.stem for member in self.members for file in member.data.glob("pg_wal/archive_status/*.ready")]

    def backups(self, member: Member) -> int:
        return member.run("pgbackrest --stanza=pinledger info").count(" backup: ")

    # MARK: Connecting, as with `cluster.Cluster`

    def conninfo(self, database: str, user: str = "postgres", *, member: Member | None = None) -> str:
        """Whichever is the primary, or one member whatever it is."""
        told = local.conninfo(self.directory, database, user)
        if member:
            return f"{told} host=127.0.0.1 port={self.config[member.name]['postgres_port']}"
        return f"{told} target_session_attrs=read-write"

    def execute(self, database: str, statement: str, *, member: Member | None = None) -> list[tuple]:
        told = self.conninfo(database, member=member)
        with psycopg.connect(told, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


class ClusterSite(Site):
    """The three machines, and one with a node."""

    def __init__(self):
        super().__init__()
        self.cluster = Cluster(self)

    def install_node(self) -> tuple[Process, API]:
        self.pinledger(f'migrate --database "{self.cluster.conninfo("pinledger")}" --grant-to pinledger')
        done = self.pinledger('token bootstrap --database "$DATABASE" --kek-file kek --state-directory node-1/state', self)
        self.token = done.split()[-1]
        return self.start()

    def start(self) -> tuple[Process, API]:
        return self.start_node(self, options=["--require-synchronous"])

    def destroy(self) -> None:
        self.end_nodes()
        self.cluster.destroy()
        super().destroy()
