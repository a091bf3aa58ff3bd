"""PgBouncer between a node and PostgreSQL: refused with a sentence, and not half working."""

import json
import os
import pwd
import shutil
import subprocess

import pytest
from pinledger import BINARY, eventually, free_port

BOUNCER = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
SENTENCE = "a connection pooler stands between this node and PostgreSQL"


@pytest.fixture(scope="module", params=["refuses options", "ignores options"])
def pooled(request, own_server):
    """A connection string that leads through PgBouncer in transaction mode."""
    port = free_port()
    directory = own_server.home / f"pgbouncer-{port}"
    directory.mkdir()
    configuration = directory / "pgbouncer.ini"
    ignored = "ignore_startup_parameters = options, extra_float_digits" if "ignores" in request.param else ""
    configuration.write_text(f"""
[databases]
pinledger = host={own_server.data}/postgresql dbname=pinledger user=pinledger_dev
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
logfile = {directory}/log
{ignored}
""")
    command = [BOUNCER, str(configuration)]
    if os.geteuid() == 0:
        # It refuses root; the server's directory belongs to the user of PostgreSQL.
        user = pwd.getpwnam("postgres")
        os.chown(directory, user.pw_uid, user.pw_gid)
        command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--", *command]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"host=127.0.0.1 port={port} dbname=pinledger user=pinledger_dev"
    try:
        eventually(lambda: subprocess.run(["psql", address, "-c", "SELECT 1"], capture_output=True).returncode == 0)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_a_node_does_not_start_behind_a_pooler(pooled, own_server):
    done = subprocess.run(
        [BINARY, "serve", "--database", pooled, "--listen", f"127.0.0.1:{free_port()}",
         "--kek-file", str(own_server.data / "key-encryption-key")],
        capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 1
    assert SENTENCE in done.stderr and "Give --database the address of PostgreSQL itself" in done.stderr


def test_doctor_says_so_too(pooled, own_server):
    done = own_server.cli("doctor", "--database", pooled, "--output", "json", status=1)
    found = {finding["subject"]: finding for finding in json.loads(done.stdout)}["database"]
    assert found["verdict"] == "fail" and SENTENCE in found["detail"]
