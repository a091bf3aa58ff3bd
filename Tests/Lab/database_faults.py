"""Faults of the database: down, slow, locked, another one, and without its archive or its standby."""

import os
import threading
import time

import psycopg
from fault import Fault
from lab import APP, Lab
from ledger import Ledger
from pinledger import eventually
from runbook import Section


class Load:
    """Threads that repeat something until `stop`, whatever comes of it."""

    def __init__(self, lab: Lab, count: int, work):
        self._ends = threading.Event()
        self._work = work
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        lab.on_exit(self.stop)
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        while not self._ends.wait(0.05):
            try:
                self._work()
            except Exception:
                # Faults are what it meets.
                self._ends.wait(0.2)

    def stop(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()


def rename(lab: Lab) -> None:
    lab.api.request("PATCH", f"/v1/apps/{APP}", {"display_name": os.urandom(4).hex()})


def stop_database(lab: Lab) -> None:
    lab.primary.kill()


def start_database(lab: Lab, section: Section) -> None:
    lab.primary.start()
    lab.primary.wait_for_standby()


def ask_in_vain(lab: Lab) -> None:
    lab.primary.kill()
    lab.kept["load"] = Load(lab, 2, lambda: rename(lab))


def answer_again(lab: Lab, section: Section) -> None:
    failing = lab.prometheus.query('sum by (operation) (rate(pinledger_requests_total{caller="operator",status="503"}[20s])) > 0')
    assert {"operation": "updateApp"} in [each["metric"] for each in failing], failing
    start_database(lab, section)
    lab.prometheus.await_end("PinledgerServerErrors")
    lab.kept["load"].stop()


def lose_standby(lab: Lab) -> None:
    lab.standby.stop()


def bring_standby_back(lab: Lab, section: Section) -> None:
    statement = section.command("SELECT * FROM pg_stat_replication")
    assert lab.primary.execute("postgres", " ".join(statement)) == []
    lab.standby.start()
    lab.primary.wait_for_standby()


def fail_archive(lab: Lab) -> None:
    lab.primary.configure(archive_command="'false'")
    rename(lab)
    lab.primary.execute("postgres", "SELECT pg_switch_wal()")


def archive_again(lab: Lab, section: Section) -> None:
    eventually(lambda: "archive command failed" in lab.primary.log.read_text(), "PostgreSQL's line")
    lab.primary.configure(archive_command="'true'")


class LongTransactions(threading.Thread):
    """A program that holds the ledger's head in transactions that last for seconds, one after the other, until its session is ended."""

    def __init__(self, lab: Lab):
        super().__init__(daemon=True)
        self.ledger = lab.ledger
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            with psycopg.connect(self.ledger.superuser, autocommit=True, application_name="report") as connection:
                while True:
                    with connection.transaction():
                        connection.execute("SELECT 1 FROM pinledger.head FOR UPDATE")
                        connection.execute("SELECT pg_sleep(2)")
        except psycopg.OperationalError:
            self.ended.set()


def hold_head(lab: Lab) -> None:
    lab.kept["transactions"] = LongTransactions(lab)
    lab.kept["transactions"].start()
    lab.kept["load"] = Load(lab, 2, lambda: rename(lab))


def end_long_transactions(lab: Lab, section: Section) -> None:
    statement = " ".join(section.command("SELECT * FROM pg_stat_activity WHERE state <> 'idle' ORDER BY xact_start", idle="'idle'"))

    def ended() -> bool:
        with psycopg.connect(lab.ledger.superuser, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
            found = [row["pid"] for row in connection.execute(statement) if row["application_name"] == "report"]
            for process in found:
                connection.execute("SELECT pg_terminate_backend(%s)", [process])
        return lab.kept["transactions"].ended.is_set()

    eventually(ended, "the end of the session")
    lab.prometheus.await_end("PinledgerSlowAppends")
    lab.kept["load"].stop()


def read_a_lot(lab: Lab) -> None:
    """Many operators read what waits for a lock."""
    connection = psycopg.connect(lab.ledger.superuser)
    connection.execute("LOCK TABLE pinledger.adoption_count IN ACCESS EXCLUSIVE MODE")
    lab.kept["lock"] = connection
    lab.kept["load"] = Load(lab, 60, lambda: lab.api.get(f"/v1/apps/{APP}/adoption"))


def read_less(lab: Lab, section: Section) -> None:
    lab.kept["lock"].close()
    lab.kept["load"].stop()


def lead_elsewhere(lab: Lab) -> None:
    other = Ledger(lab.ledger.template, "other")
    lab.kept["database"] = lab.second.settings["database"]
    lab.second.restart(database=other.conninfo(), until=lambda: lab.second.api.get("/healthz").status == 200)


def lead_back(lab: Lab, section: Section) -> None:
    assert lab.second.said("memory_contradicted"), lab.second.tail()
    lab.second.restart(database=lab.kept["database"])


def set_clock_ahead(lab: Lab) -> None:
    """The clocks of the primary and of a server, as of one machine."""

    def is_recorded() -> bool:
        lab.second.api.request("PATCH", f"/v1/apps/{APP}", {"display_name": os.urandom(4).hex()})
        return lab.ledger.value("SELECT last_time FROM pinledger.head").timestamp() > time.time() + 60

    for clock in (lab.database_clock, lab.clock):
        clock.set(100)
    eventually(is_recorded, "a change of the future")


def put_clock_right(lab: Lab, section: Section) -> None:
    for clock in (lab.database_clock, lab.clock):
        clock.set(0)


def store_nothing(lab: Lab) -> None:
    """A constraint that is not the program's refuses what nodes store."""
    lab.ledger.execute("ALTER TABLE pinledger.document ADD CONSTRAINT lab CHECK (false) NOT VALID")
    rename(lab)


def store_again(lab: Lab, section: Section) -> None:
    refused = lab.first.said("document_not_stored") + lab.second.said("document_not_stored")
    assert any('"lab"' in line["error"] for line in refused), refused
    lab.ledger.execute("ALTER TABLE pinledger.document DROP CONSTRAINT lab")


#: Beside a database that is away. A change that one server has published, and no other one can read, is missing where an edge goes next.
AWAY = frozenset({
    "PinledgerRecordsNothing", "PinledgerStandbyLost", "PinledgerServerErrors", "PinledgerBehind", "PinledgerDocumentsBehind",
    "PinledgerEdgeRefuses",
})  # fmt: skip

DATABASE_FAULTS = [
    Fault(
        "PinledgerRecordsNothing", "SIGKILL for the primary", stop_database, "Look at the database: is it up", start_database,
        companions=AWAY,
    ),
    Fault(
        "PinledgerServerErrors", "operators ask while the primary is down", ask_in_vain,
        "The label `operation` of `pinledger_requests_total` says which", answer_again, companions=AWAY,
    ),
    Fault(
        "PinledgerStandbyLost", "the standby is stopped", lose_standby,
        "`SELECT * FROM pg_stat_replication` on the primary names those that are there", bring_standby_back,
    ),
    Fault(
        "PinledgerArchiveFails", "archive_command = 'false'", fail_archive, "Read PostgreSQL's log", archive_again,
    ),
    Fault(
        "PinledgerSlowAppends", "a program holds the ledger's head in long transactions", hold_head, "long transactions",
        end_long_transactions, companions=frozenset({"PinledgerRecordsNothing", "PinledgerServerErrors", "PinledgerEdgeRefuses"}),
    ),
    Fault(
        "PinledgerDatabaseBusy", "sixty operators read a table that is locked", read_a_lot, "Something reads a lot", read_less,
        on="first", companions=frozenset({"PinledgerServerErrors"}),
    ),
    Fault(
        "PinledgerHalted", "the database of a server is another ledger", lead_elsewhere, "`--database` leads to another ledger",
        lead_back, on="second", companions=frozenset({"PinledgerDown"}),
    ),
    Fault(
        "PinledgerLedgerAhead", "a machine whose clock is 100 s ahead records", set_clock_ahead,
        "Find out whose clock it was, put it right", put_clock_right, companions=frozenset({"PinledgerSuspended", "PinledgerBehind"}),
    ),
    Fault(
        "PinledgerDocumentsBehind", "a foreign constraint refuses documents", store_nothing,
        "a damaged index or a foreign trigger or constraint of `pinledger.document` does: remove it", store_again,
    ),
]  # fmt: skip
