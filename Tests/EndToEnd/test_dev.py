"""`pinledger dev`: what it prints works, and SIGHUP does not end it."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from pinledger import BINARY, Server

EXAMPLE = Path(__file__).parents[2] / "deploy/example/ssl_pinning_config.json"


@pytest.fixture(scope="module")
def dev_server():
    server = Server(lowers_rails=False, more=["--example", str(EXAMPLE), "--app", "com.example.app"])
    # A shell that finds no `pinledger`.
    server.environment["PATH"] = "/usr/bin:/bin:/usr/sbin:/sbin"
    try:
        yield server.start()
    finally:
        server.destroy()


def greeting(server: Server) -> str:
    server.wait_until(lambda: "Stop with Ctrl-C" in server.tail())
    return server.tail()


def test_every_command_that_dev_prints_works_in_another_shell(dev_server):
    lines = re.search(r"Try next.*?:\n((?:  .+\n)+)", greeting(dev_server)).group(1).splitlines()
    commands = [line.strip() for line in lines]
    assert commands[0] == f"""export PATH='{Path(BINARY).parent}':"$PATH\""""
    assert commands[1] == f"export PINLEDGER_DATA='{dev_server.data}'"
    assert len(commands) == 5
    environment = {"PATH": dev_server.environment["PATH"], "HOME": str(dev_server.home), "NO_COLOR": "1"}
    for last in range(2, 5):
        script = "\n".join(["set -e", *commands[:2], commands[last]])
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (commands[last], done.stdout, done.stderr)
        assert "com.example.app" in done.stdout or "application/jose" in done.stdout, done.stdout


def test_the_file_with_the_token_is_there_when_dev_says_that_it_is_healthy():
    server = Server(lowers_rails=False)
    context = server.data / "context.json"
    try:
        server.spawn()
        server.wait_until(lambda: server.api.get("/healthz").status == 200)
        assert context.exists()
        token = json.loads(context.read_text())["token"]
        assert server.api.request("GET", "/v1/whoami", token=token).status == 200
    finally:
        server.destroy()


def test_dev_makes_another_token_for_one_that_was_revoked():
    server = Server(lowers_rails=False)
    context = server.data / "context.json"
    try:
        server.start()
        token = server.api.token
        own = server.api.get("/v1/whoami").json["actor"]["id"]
        server.api.must("DELETE", f"/v1/tokens/{own}")
        assert server.api.get("/v1/whoami").status == 401
        assert "Start `pinledger dev` again" in server.cli("whoami", status=4).stderr
        server.stop()
        server.start()
        assert json.loads(context.read_text())["token"] != token
        server.cli("whoami")
    finally:
        server.destroy()


def test_standard_error_of_a_first_start_is_empty():
    server = Server(lowers_rails=False, more=["--example", str(EXAMPLE), "--app", "com.example.app"])
    del server.environment["PINLEDGER_LOG_LEVEL"]
    errors = server.home / "errors"
    # The program in its own process, with standard error in a file of its own.
    server.prefix = ["bash", "-c", 'exec "$@" 2> "$0"', str(errors)]
    try:
        server.spawn()
        greeting(server)
        server.stop()
        assert errors.read_text() == ""
    finally:
        server.destroy()


def test_dev_says_where_all_data_is(dev_server):
    text = greeting(dev_server)
    assert f"All data stays in {dev_server.data}." in text
    elsewhere = re.search(r"PostgreSQL's part is in (\S+)\.", text)
    assert (dev_server.data / "postgresql").exists() if elsewhere is None else Path(elsewhere.group(1)).exists()


def test_a_server_without_files_to_reload_takes_sighup(dev_server):
    os.kill(dev_server.process.pid, signal.SIGHUP)
    for _ in range(20):
        assert dev_server.api.get("/readyz").status == 200
    assert dev_server.is_running
