"""pgbench on the same cluster: what PostgreSQL itself does with the same rows, or with nothing but a commit."""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from support.postgres import Cluster
from support.rounds import percentile

#: The columns of pinledger.event, and a sequence instead of the dense position.
_TABLE = """
    CREATE TABLE {name} (
        position bigserial PRIMARY KEY, stream_version bigint NOT NULL, recorded_at timestamptz NOT NULL,
        stream text NOT NULL, type text NOT NULL, actor_kind text NOT NULL, actor_id text NOT NULL,
        entry bytea NOT NULL, leaf_hash bytea NOT NULL);
    ALTER TABLE {name} ALTER COLUMN entry SET STORAGE MAIN;
"""
#: The secondary indexes of pinledger.event.
_INDEXES = """
    CREATE INDEX ON {name} USING brin (recorded_at);
    CREATE INDEX ON {name} USING brin (type text_bloom_ops (n_distinct_per_range = 64))
        WITH (pages_per_range = 64, autosummarize = on);
    CREATE INDEX ON {name} (actor_id, position);
    CREATE UNIQUE INDEX ON {name} (stream, stream_version);
"""
_INSERT = """\\set version :version + 1
INSERT INTO {name} (stream_version, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash)
VALUES (:version, now(), 'app/com.example.bench' || :client_id, 'AppRenamed', 'token', 'tok_0123456789', :entry,
        :leaf_hash);
"""
_COMMIT = "INSERT INTO bare (value) VALUES (1);\n"


@dataclass
class PgBench:
    """Tables in a database of its own."""

    cluster: Cluster
    database: str = field(init=False)

    def __post_init__(self) -> None:
        self.database = self.cluster.database()
        self.cluster.sql(
            self.database,
            _TABLE.format(name="plain") + _TABLE.format(name="indexed") + _INDEXES.format(name="indexed")
            + "CREATE TABLE bare (id bigserial PRIMARY KEY, value integer NOT NULL)",
        )  # fmt: skip

    def insert(self, table: str, clients: int, seconds: float, entry_bytes: int) -> dict:
        """Single-row inserts of events as `table` ("plain" or "indexed") has them."""
        self.cluster.sql(self.database, f"TRUNCATE {table}")
        variables = {
            "version": "0", "entry": "\\x" + "61" * entry_bytes, "leaf_hash": "\\x" + os.urandom(32).hex(),
        }  # fmt: skip
        return self._run(_INSERT.format(name=table), clients, seconds, variables)

    def commit(self, clients: int, seconds: float, per_second: float | None = None) -> dict:
        """The bare commit: one row of a few bytes. Paced too, a time runs from when the transaction was begun."""
        self.cluster.sql(self.database, "TRUNCATE bare")
        return self._run(_COMMIT, clients, seconds, {}, per_second)

    def _run(
        self, script: str, clients: int, seconds: float, variables: dict[str, str], per_second: float | None = None
    ) -> dict:
        with tempfile.TemporaryDirectory(prefix="pinledger-bench-pgbench-") as directory:
            file = Path(directory) / "script.sql"
            file.write_text(script)
            command = [
                "pgbench",
                "-n",
                "-M",
                "prepared",
                "-c",
                str(clients),
                "-j",
                "2",
                "-T",
                str(max(1, round(seconds))),
            ]
            command += ["-l", f"--log-prefix={directory}/log", "-f", str(file)]
            command += [f"--define={name}={value}" for name, value in variables.items()]
            if per_second:
                command.append(f"--rate={per_second:.1f}")
            command.append(self.cluster.connection(self.database))
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 120)
            if done.returncode != 0:
                raise RuntimeError(f"pgbench ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            times = [
                _milliseconds(line.split())
                for log in Path(directory).glob("log*")
                for line in log.read_text().splitlines()
            ]
        rate = re.search(r"tps = ([\d.]+) \(without", done.stdout)
        assert rate and times, done.stdout
        return {
            "requests": len(times), "per_second": float(rate[1]),
            "p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99), "max_ms": max(times),
        }  # fmt: skip


def _milliseconds(fields: list[str]) -> float:
    """The columns of a line of pgbench's log: client, transaction, microseconds, script, when it ended (in two parts).

    Paced there is one more, by how much it began too late, and the time includes that. Other generators know no such
    time: theirs run from sending.
    """
    lag = int(fields[6]) if len(fields) > 6 else 0
    return (int(fields[2]) - lag) / 1000
