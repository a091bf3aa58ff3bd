"""Databases whose schema this program does not have: what every command that opens one says."""

import json
import subprocess

import pytest
from pinledger import BINARY, Server, free_port

#: The record of the migrations as databases from before the first release have it.
OLD = """
    CREATE SCHEMA pinledger;
    CREATE TABLE pinledger.migration (version integer PRIMARY KEY, name text NOT NULL, checksum bytea NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now());
    INSERT INTO pinledger.migration (version, name, checksum) VALUES
        (1, 'roles', '\\x5e0cca0f94ded760f9446794aa024d81336de0445f86335ee1c95146447572e8'),
        (2, 'ledger', '\\xcab1d0743c2bb2c2e45f86c3139e7c6a56346dd55e85a0f1abb84d6beb6baa0d');
    INSERT INTO pinledger.migration (version, name, checksum)
        SELECT n, 'later', sha256(n::text::bytea) FROM generate_series(3, 23) n;
    GRANT USAGE ON SCHEMA pinledger TO pinledger_app;
    GRANT SELECT ON pinledger.migration TO pinledger_app;
"""
REASON = "this database was made by a development version from before the first release, and cannot be migrated"
LOST = "cannot be carried over."


@pytest.fixture(scope="module")
def old(own_server):
    """A database from before the first release, beside the server's own."""
    own_server.sql("CREATE DATABASE old")
    own_server.sql(OLD, database="old")
    return own_server.connection_string.replace("dbname=pinledger", "dbname=old")


@pytest.mark.parametrize("command", ["migrate", "migrate --dry-run", "serve"])
def test_a_database_from_before_the_first_release_is_refused_with_the_reason_and_advice(own_server, old, command):
    if command == "serve":
        arguments = ["serve", "--database", old, "--listen", f"127.0.0.1:{free_port()}"]
    else:
        arguments = [*command.split(), "--database", old.replace("user=pinledger_dev", "user=postgres")]
    said = own_server.cli(*arguments, status=1).stderr
    assert REASON in said
    assert f"Create a new database and run `pinledger migrate`. The ledger of the old one {LOST}" in said
    assert own_server.sql("SELECT count(*) FROM pinledger.migration", database="old") == "23"


def test_doctor_says_why_a_database_from_before_the_first_release_is_refused(own_server, old):
    done = own_server.cli("doctor", "--database", old, "--listen", f"127.0.0.1:{own_server.port}", status=1)
    assert REASON in done.stdout
    assert "Create a new database and run `pinledger migrate`." in done.stdout


def test_doctor_says_that_the_system_sorts_otherwise_than_when_the_database_was_made(own_server):
    own_server.sql("CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C' ENCODING 'UTF8'")
    database = own_server.connection_string.replace("dbname=pinledger", "dbname=sorted")
    own_server.cli("migrate", "--database", database.replace("user=pinledger_dev", "user=postgres"))

    def collation() -> dict:
        done = subprocess.run(
            [BINARY, "doctor", "--database", database, "--listen", f"127.0.0.1:{free_port()}", "--output", "json"],
            env=own_server.environment, capture_output=True, text=True, timeout=300)  # fmt: skip
        return {finding["subject"]: finding for finding in json.loads(done.stdout)}["collation"]

    assert collation()["verdict"] == "ok"
    own_server.sql("UPDATE pg_database SET datcollversion = '1' WHERE datname = 'sorted'")
    found = collation()
    assert found["verdict"] == "warn" and "not concerned" in found["detail"], found
    assert 'ALTER DATABASE "sorted" REFRESH COLLATION VERSION' in found["advice"], found


def test_dev_says_which_directory_from_before_the_first_release_to_delete():
    server = Server()
    try:
        server.start()
        server.sql("UPDATE pinledger.migration SET checksum = "
                   "'\\x5e0cca0f94ded760f9446794aa024d81336de0445f86335ee1c95146447572e8' WHERE version = 1")  # fmt: skip
        server.stop()
        done = subprocess.run([BINARY, *server.arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert REASON in done.stderr
        assert f"Delete {server.data} and run `pinledger dev` again. The ledger in it {LOST}" in done.stderr
    finally:
        server.destroy()
