"""A ledger for experiments: a database of its own, made from a template that holds the schema, a key and a token."""

import base64
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psycopg
from cluster import Cluster
from pinledger import BINARY

#: The account of the servers: a member of pinledger_app and nothing else.
ACCOUNT = "pinledger_torture"
TEMPLATE = "pinledger_template"


def program(
    *arguments: str, status: int | None = 0, seconds: float = 120, version: str = BINARY
) -> subprocess.CompletedProcess:
    """Runs the program's command line, or that of another version; None takes any exit status."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PINLEDGER_")}
    done = subprocess.run(
        [version, *arguments], env=environment | {"NO_COLOR": "1"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    if status is not None and done.returncode != status:
        raise RuntimeError(f"pinledger {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


@dataclass
class Template:
    """What every ledger made from it has in common."""

    cluster: Cluster
    kek: Path
    token: str

    @classmethod
    def make(cls, cluster: Cluster, directory: Path, *, tablespace: str | None = None) -> "Template":
        cluster.create_database(TEMPLATE, tablespace=tablespace)
        program("migrate", "--database", cluster.conninfo(TEMPLATE))
        cluster.execute("postgres", f"CREATE ROLE {ACCOUNT} LOGIN")
        cluster.execute("postgres", f"GRANT pinledger_app TO {ACCOUNT}")
        kek = directory / f"key-encryption-key-{cluster.port}"
        kek.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
        kek.chmod(0o600)
        done = program(
            "token", "bootstrap", "--database", cluster.conninfo(TEMPLATE, ACCOUNT), "--kek-file", str(kek)
        )  # fmt: skip
        return cls(cluster, kek, done.stdout.split()[-1])


class Ledger:
    """One database with a ledger in it."""

    def __init__(self, template: Template, name: str, *, like: str = TEMPLATE, tablespace: str | None = None):
        self.template, self.cluster, self.name = template, template.cluster, name
        self.kek, self.token = template.kek, template.token
        self.cluster.drop_database(name)
        self.cluster.create_database(name, like, tablespace=tablespace)

    def conninfo(self, *, port: int | None = None) -> str:
        """As a server connects; through a proxy, where its port is given."""
        return self.cluster.conninfo(self.name, ACCOUNT, port=port)

    @property
    def audited(self) -> str:
        """What `fsck` reads."""
        return self.conninfo()

    @property
    def superuser(self) -> str:
        return self.cluster.conninfo(self.name)

    def connect(self) -> psycopg.Connection:
        """As superuser, who may do anything."""
        return self.cluster.connect(self.name)

    def execute(self, statement: str, *parameters) -> list[tuple]:
        return self.cluster.execute(self.name, statement, *parameters)

    def value(self, statement: str, *parameters):
        return self.execute(statement, *parameters)[0][0]

    def position(self) -> int:
        return self.value("SELECT next_position FROM pinledger.head")

    def drop(self) -> None:
        if self.cluster.is_running:
            self.cluster.drop_database(self.name)
