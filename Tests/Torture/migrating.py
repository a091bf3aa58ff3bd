"""The next version's schema is applied beside a session that reads what it changes, as a dump does."""

import contextlib
import subprocess
import threading

import psycopg
from pinledger import eventually
from report import Experiment, Measurement, milliseconds
from stage import Stage
from upgrade import next_version
from urgent import ANSWERED, SERVED, switch


def dump(database: str):
    """Begins to read what the next version changes; returns what ends it."""
    connection = psycopg.connect(database)
    connection.execute("SELECT count(*) FROM pinledger.event, pinledger.document")
    return connection.close


def waits_for_long(database: str) -> None:
    """A migrator that waits for its lock as long as it takes, while all others wait behind it."""
    with psycopg.connect(database) as connection:
        connection.execute("ALTER TABLE pinledger.document ADD COLUMN made_by text NOT NULL DEFAULT ''")


def migrate(stage: Stage, is_broken: bool) -> Measurement:
    """F49: kill switches go on while a migration waits for a reader, and the migration is done once that has ended."""
    measurement = Measurement()
    later = None if is_broken else next_version()
    ledger = stage.ledger()
    # One signs, and serves at once; the other one fetches documents from the table that is changed.
    nodes = [stage.node(ledger), stage.node(ledger, is_reader=True)]
    apps = stage.apps(nodes[0], 4)
    for node in nodes:
        node.wait_for_documents(apps)
    end_dump = dump(ledger.superuser)
    stage.on_exit(end_dump)
    failures: list[str] = []

    def apply() -> None:
        if later is None:
            waits_for_long(ledger.superuser)
            return
        done = subprocess.run(
            [later, "migrate", "--database", ledger.superuser], capture_output=True, text=True, timeout=180)  # fmt: skip
        if done.returncode != 0:
            failures.append(f"{done.stdout}{done.stderr}"[-500:])

    migrator = threading.Thread(target=apply, daemon=True)
    migrator.start()
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"

    def meet_the_migration() -> None:
        """Returns while the migration waits for its lock."""
        eventually(lambda: ledger.value(waits), "a migration that waits for the reader")

    meet_the_migration()
    if is_broken:
        # Nothing is stored or fetched before the reader has ended.
        threading.Timer(4, end_dump).start()
    took = []
    for number in range(2 if is_broken else stage.size(8, 40)):
        if not is_broken:
            meet_the_migration()
        took.append(switch(nodes, 0, apps[number // 2 % 4], number % 2 == 0, contextlib.nullcontext()))
    is_waiting = migrator.is_alive()
    end_dump()
    migrator.join(120)
    again = switch(nodes, 0, apps[0], True, contextlib.nullcontext())

    slower = 1 if stage.is_release else 2
    refused = [status for status, _, _ in [*took, again] if status != 200]
    answered, served = max(each[1] for each in took), max(each[2] for each in took)
    measurement.figures |= {"switches": took, "refused": refused}
    measurement.expect("every switch", not refused, f"{len(refused)} of {len(took)} were refused: {refused[:5]}")
    measurement.expect("answered at once", answered < slower * ANSWERED, f"one took {answered:.1f} s")
    measurement.expect("served at once", served < slower * SERVED, f"one took {served:.1f} s")
    measurement.expect("waits", is_waiting or is_broken, "the migration was done before the reader ended")
    measurement.expect("done", not migrator.is_alive() and not failures, f"the migration is not done: {failures}")
    if not is_broken:
        stage.invariants(measurement, ledger, nodes[0], version=later)
    measurement.headline = (
        f"{len(took)} switches beside a migration that waits, {len(refused)} refused; answered within "
        f"{milliseconds(answered)}, served by both within {milliseconds(served)}"
    )
    return measurement


EXPERIMENTS = [
    Experiment(
        "F49", "the next version's schema is applied while a session reads what it changes",
        "the migration waits as long as it takes", {"served at once"}, migrate,
    ),
]  # fmt: skip
