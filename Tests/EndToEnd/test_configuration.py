"""A server's settings: where they come from, what is refused, and what a running node takes over."""

import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from pinledger import API, BINARY, Process, eventually, free_port


def run(*arguments: str, environment: dict | None = None, status: int = 0) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINLEDGER_", "CREDENTIALS_"))}
    done = subprocess.run(
        [BINARY, *arguments], env=clean | (environment or {}), capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def shown(*arguments: str, **more) -> dict[str, tuple]:
    listed = json.loads(run("config", "show", "--output", "json", *arguments, **more).stdout)
    return {one["setting"]: (one["value"], one["source"]) for one in listed}


def test_a_flag_wins_over_a_variable_over_a_credential_over_the_file_over_the_default(tmp_path):
    file = written(tmp_path / "pinledger.yaml", "database: dbname=file\nlisten: 127.0.0.1:1\nwrite_queue: 5\nkek_file: nowhere\nlog_level: debug\n")
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "database").write_text("dbname=credential\n")
    key = tmp_path / "credentials" / "kek_file"
    key.write_text("A" * 43 + "=")
    key.chmod(0o600)
    environment = {"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials"), "PINLEDGER_LISTEN": "127.0.0.1:2", "PINLEDGER_WRITE_QUEUE": "6"}
    found = shown("--config", file, "--write-queue", "7", environment=environment)
    assert found["write_queue"] == ("7", "--write-queue")
    assert found["listen"] == ("127.0.0.1:2", "PINLEDGER_LISTEN")
    assert found["database"] == ("dbname=credential", f"credential {tmp_path}/credentials/database")
    assert found["kek_file"] == (str(key), f"credential {key}")
    assert found["log_level"] == ("debug", f"{file}, line 5")
    assert found["max_connections"] == ("10000", "default")
    # The file may be named by a variable, and an empty variable is none.
    found = shown(environment={"PINLEDGER_CONFIG": written(tmp_path / "other.yaml", "database: dbname=other\n"), "PINLEDGER_LISTEN": ""})
    assert found["database"][0] == "dbname=other" and found["listen"] == ("127.0.0.1:8440", "default")


@pytest.mark.parametrize(
    "text, complaints",
    [
        ("max_conections: 5\n", ["line 1: there is no setting max_conections: do you mean max_connections?"]),
        ("listen: 127.0.0.1:1\ndatabase: dbname=x\nnothing_like_it: 1\nlog_levle: x\n", [
            "line 3: there is no setting nothing_like_it\n", "line 4: there is no setting log_levle: do you mean log_level?"]),
        ("database: dbname=x\nwrite_queue: [1, 2]\n", ["line 2: write_queue must be one value"]),
        ("database: dbname=x\ntrusted_proxy: {a: b}\n", ["line 2: trusted_proxy must be a list of words"]),
        ("database: dbname=x\ntrusted_proxy: [10.0.0.0/8, nowhere]\n", ["line 2: trusted_proxy must be ranges of addresses, and nowhere"]),
        ("database: dbname=x\nwrite_queue: many\n", ["line 2: write_queue must be a number, and is many"]),
        ("database: dbname=x\nwrite_queue: 0\n", ["line 2: write_queue must be from 1 to"]),
        ("database: dbname=x\nread_only: perhaps\n", ["line 2: read_only must be true or false, and is perhaps"]),
        ("database: dbname=x\nlisten: nowhere\n", ["line 2: listen is no address to listen on"]),
        ("database: dbname=x\nlog_level: loud\n", ["line 2: log_level must be trace, debug, info", "or critical, and is loud"]),
        ("database: dbname=x\ndocument_lifetime: 300\ndocument_max_age: 200\n", ["line 3: document_max_age must be at most half of"]),
        ("listen: 127.0.0.1:1\ndatabase: 'host=/x pasword=y'\n", ["line 2: database is no connection string of libpq"]),
        ("database: dbname=x\ndatabase: y\n", ["is not YAML: database stands there twice"]),
        ("a: &a [x]\ndatabase: *a\n", ["line 1: anchors and aliases"]), ("# x\r\na: &a [x]\r\n", ["line 2: anchors and aliases"]), ("x#y: it's\n? *a8\n: it's\n", ["line 2: anchors and aliases"]),
        ("database: dbname=x\nbatch_public_key: [abc]\n", ["line 2: batch_public_key cannot be used: abc is not a batch public key"]),
        ("- database\n", ["must be a mapping of settings"]),
        ("database: [x\n", ["is not YAML"]),
        ("? [a, b]\n: c\n", ["line 1: a setting's name must be a word"]),
        ("listen: 127.0.0.1:1\n", ["no database is given"]),
        ("\x00", ["is not YAML"]),
    ],
)  # fmt: skip
def test_an_unusable_file_is_refused_by_line_and_name(tmp_path, text, complaints):
    file = written(tmp_path / "pinledger.yaml", text)
    said = run("config", "check", "--config", file, status=2).stderr
    for complaint in complaints:
        assert complaint in said, said


def test_an_unusable_file_is_refused_by_every_command_that_reads_it(tmp_path):
    file = written(tmp_path / "pinledger.yaml", "database: dbname=x\nwrite_queue: many\n")
    for command in (["config", "check"], ["config", "show"], ["serve"]):
        assert "line 2: write_queue must be a number, and is many" in run(*command, "--config", file, status=2).stderr


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path):
    assert "cannot be read" in run("config", "check", "--config", str(tmp_path / "none"), status=2).stderr
    large = written(tmp_path / "large.yaml", "# " + "x" * 300_000)
    assert "at most 256 KiB" in run("config", "check", "--config", large, status=2).stderr
    (tmp_path / "bytes.yaml").write_bytes(b"database: \xff\xfe")
    assert "UTF-8" in run("config", "check", "--config", str(tmp_path / "bytes.yaml"), status=2).stderr


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ada:geheim@db/x", "host=db password=geheim", "host=db password='geh eim' user=ada", "password=a&geheim",
        "postgresql:///x?password=geheim&sslpassword=geheim", "password=ab'geheim", "password=a\\ geheim", "password='unclosed geheim",
        "postgresql://us#er:geheim@host/db", "postgresql:///x?pass%77ord=geheim", "PASSWORD=geheim", "postgresql://us er:geheim@h/db",
    ],
)  # fmt: skip
def test_passwords_are_never_shown(tmp_path, text):
    file = written(tmp_path / "pinledger.yaml", "database: |-\n  " + text + "\n")
    for arguments in (["show"], ["show", "--output", "json"], ["check"]):
        done = subprocess.run([BINARY, "config", *arguments, "--config", file], capture_output=True, text=True, timeout=300)
        said = done.stdout + done.stderr
        assert "geh" not in said and "eim" not in said, said
        assert done.returncode == 2 or arguments == ["check"] or "(hidden)" in said, said


def test_a_password_in_a_file_that_everyone_can_read_is_warned_of(tmp_path):
    file = written(tmp_path / "pinledger.yaml", "database: host=db password=geheim\n")
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    Path(file).chmod(0o644)
    assert f"chmod o= {link}" in run("config", "check", "--config", str(link)).stderr
    Path(file).chmod(0o640)
    assert "chmod" not in run("config", "check", "--config", str(link)).stderr


def test_a_file_that_is_no_text_is_refused_without_what_is_in_it(tmp_path):
    file = written(tmp_path / "pinledger.yaml", 'database: "host=x password=geh\x01eim"\n')
    said = run("config", "check", "--config", file, status=2).stderr
    assert "not allowed" in said and "geh" not in said and "eim" not in said, said


def test_an_empty_credential_is_refused(tmp_path):
    (tmp_path / "database").write_text(" \n")
    file = written(tmp_path / "pinledger.yaml", "database: dbname=x\n")
    assert "is empty" in run("config", "check", "--config", file, environment={"CREDENTIALS_DIRECTORY": str(tmp_path)}, status=2).stderr
    # A variable that names nothing hides nothing.
    file = written(tmp_path / "pinledger.yaml", "database: dbname=x\ntrusted_proxy: [10.0.0.0/8]\n")
    assert shown("--config", file, environment={"PINLEDGER_TRUSTED_PROXY": " ,"})["trusted_proxy"][0] == "10.0.0.0/8"


def test_the_check_names_variables_that_look_mistyped():
    environment = {"PINLEDGER_DATABASE": "dbname=x", "PINLEDGER_MAX_CONNECTION": "5", "PINLEDGER_SERVICE_HOST": "10.0.0.1"}
    said = run("config", "check", environment=environment)
    assert "do you mean PINLEDGER_MAX_CONNECTIONS?" in said.stderr and "SERVICE_HOST" not in said.stderr
    assert "1 is given" in said.stdout


def test_the_check_refuses_what_a_start_refuses(tmp_path):
    file = written(tmp_path / "pinledger.yaml", "database: dbname=x\nadmin_listen: 0.0.0.0:8441\n")
    assert "plain http" in run("config", "check", "--config", file, status=2).stderr
    file = written(tmp_path / "pinledger.yaml", f"database: dbname=x\nkek_file: {tmp_path}/none\n")
    assert "key-encryption key" in run("config", "check", "--config", file, status=1).stderr


def test_a_running_node_takes_over_what_it_can_and_names_the_rest(server, tmp_path):
    port = free_port()

    def settings(level: str, rate: int, proxies: str, queue: int = 2000, more: str = "") -> str:
        return (
            f"database: {server.connection_string}\nlisten: 127.0.0.1:{port}\nkek_file: {server.data}/key-encryption-key\n"
            f"log_level: {level}\nrequests_per_operator: {rate}\ntrusted_proxy: {proxies}\nwrite_queue: {queue}\n{more}"
        )

    file = tmp_path / "pinledger.yaml"
    file.write_text(settings("notice", 50, "[]"))
    node = Process(tmp_path / "log", ["serve", "--config", str(file), "--trust-database"], port)
    api = API(port, server.api.token)
    node.spawn()
    try:
        node.wait_until(lambda: api.get("/readyz").status == 200)
        assert 'q=500' in api.get("/v1/apps").headers["RateLimit-Policy"]
        file.write_text(settings("notice", 30, "[127.0.0.0/8]", queue=7))
        node.process.send_signal(signal.SIGHUP)
        eventually(lambda: 'q=300' in api.get("/v1/apps").headers["RateLimit-Policy"], "the new rate")
        eventually(lambda: "settings_need_restart" in node.tail(), "the line about the restart")
        assert "write_queue" in node.tail() and "requests_per_operator" not in node.tail().split("settings=")[1]
        # The proxy's word is taken now: the audit knows the client's address.
        api.request("GET", "/v1/apps", headers={"X-Forwarded-For": "203.0.113.9"}, token="pk_adm_" + "0" * 36)
        eventually(
            lambda: any("203.0.113.9" in json.dumps(event["data"]) for event in server.api.history("/v1/history", stream="audit")),
            "the client's address in the audit")
        # Without a signal, a change is taken over once it stands still; what cannot be used changes nothing, and a file that is
        # gone neither.
        file.write_text(settings("loud", 20, "[]"))
        eventually(lambda: "file_refused" in node.tail(), "the refusal")
        assert "loud" in node.tail() and 'q=300' in api.get("/v1/apps").headers["RateLimit-Policy"]
        file.rename(tmp_path / "away.yaml")
        node.process.send_signal(signal.SIGHUP)
        eventually(lambda: "cannot be read" in node.tail(), "the refusal of a file that is gone")
        assert 'q=300' in api.get("/v1/apps").headers["RateLimit-Policy"]
        file.write_text(settings("debug", 0, "[]"))
        eventually(lambda: "RateLimit-Policy" not in api.get("/v1/apps").headers, "the end of the limit")
        assert api.get("/readyz").status == 200
    finally:
        node.stop()


def test_settings_that_do_not_go_together_are_refused_by_their_place(tmp_path):
    def refused(text: str, status: int = 2, **variables: str) -> str:
        file = written(tmp_path / "pinledger.yaml", "database: dbname=x\n" + text)
        return run("config", "check", "--config", file, environment=variables, status=status).stderr.replace(file, "FILE")

    assert "FILE, line 2: tls_key and tls_certificate must be given together" in refused("tls_key: /x\n")
    assert "PINLEDGER_TLS_CERTIFICATE and PINLEDGER_TLS_KEY must be given together" in refused("", PINLEDGER_TLS_CERTIFICATE="/x")
    said = refused("admin_client_ca_file: /x\n")
    assert "FILE, line 2: admin_client_ca_file is of no use without TLS" in said and "Give tls_certificate and tls_key too" in said
    assert f"FILE, line 2: kek_file: the key-encryption key cannot be read from {tmp_path}/none" in refused(f"kek_file: {tmp_path}/none\n", 1)
    assert "FILE, line 2: country_database: " in refused("country_database: /none.mmdb\n", 1)
    assert "FILE, line 2: tls_certificate: " in refused("tls_certificate: /none\ntls_key: /none\n", 1)
    # What a flag gives needs no place.
    file = written(tmp_path / "pinledger.yaml", "database: dbname=x\n")
    assert "pinledger: the key-encryption key cannot be read from /none" in run("config", "check", "--config", file, "--kek-file", "/none", status=1).stderr


def test_every_setting_of_a_program_is_shown(tmp_path):
    page = run("handbook", "configuration").stdout
    names = set(re.findall(r"^\| `[^|]*\| `PINLEDGER_[^|]*\| `(\w+)`", page, re.MULTILINE)) | {"snapshot_audit"}
    servers = shown("--database", "dbname=x")
    edges = {one["setting"] for one in json.loads(run(*edge_config("show", tmp_path), "--output", "json").stdout)}
    assert names == set(servers) | edges
    assert {"listen", "upstream", "trusted_keys", "downstream_token_file"} <= edges and "database" not in edges and "upstream" not in servers


def edge_config(command: str, directory: Path, text: str = "") -> list[str]:
    """A command about an edge's file, which is usable but for `text`."""
    key = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", "use": "sig", "alg": "EdDSA"}
    (directory / "keys.json").write_text(json.dumps({"keys": [key]}))
    file = written(directory / "edge.yaml", f"upstream: https://pins.example.com\ntrusted_keys: {directory}/keys.json\n{text}")
    return ["edge", "config", command, "--config", file]


def test_an_edge_checks_its_settings_and_shows_where_they_are_from(tmp_path):
    assert "2 are given" in run(*edge_config("check", tmp_path)).stdout
    rows = run(*edge_config("show", tmp_path), "--given").stdout.splitlines()
    assert len(rows) == 3 and f"{tmp_path}/edge.yaml, line 1" in rows[1]
    for text, status, complaint in [
        ("upstrem_interval: 5\n", 2, "line 3: there is no setting upstrem_interval: do you mean upstream_interval?"),
        ("database: dbname=x\n", 2, "line 3: there is no setting database"),
        ("upstream_interval: 0\n", 2, "line 3: upstream_interval must be from 1 to"),
        ("tls_key: /x\n", 2, "line 3: tls_key and tls_certificate must be given together"),
        ("upstream_ca_file: /none\n", 2, "line 3: upstream_ca_file: "),
    ]:
        for command in ("check", "show"):
            said = run(*edge_config(command, tmp_path, text), status=status).stderr
            assert f"{tmp_path}/edge.yaml, {complaint}" in said, said


def test_the_password_of_an_upstream_is_never_shown(tmp_path):
    file = edge_config("check", tmp_path)[-1]
    Path(file).write_text("upstream: https://user:geheim@pins.example.com\ntrusted_keys: keys.json\n")
    (tmp_path / "keys.json").touch()
    for command in (["edge", "config", "check"], ["edge", "config", "show"], ["edge", "serve"]):
        done = subprocess.run([BINARY, *command, "--config", file], capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 2 and "geheim" not in done.stdout + done.stderr, done


def answers(api: API) -> bool:
    try:
        return api.get("/healthz").status == 200
    except OSError:
        return False


def takes_the_only_place(api: API) -> bool:
    """Whether a new connection leaves no place for another. Not where an earlier one still has the place."""
    with socket.create_connection(("127.0.0.1", api.port)):
        return not answers(api)


def test_a_running_edge_takes_over_what_it_can_and_names_the_rest(tmp_path):
    port = free_port()

    def settings(level: str, limit: int, interval: int = 60) -> list[str]:
        more = f"listen: 127.0.0.1:{port}\nlog_level: {level}\nconnections_per_network: {limit}\nupstream_interval: {interval}\n"
        return edge_config("check", tmp_path, more)

    file = settings("notice", 1000)[-1]
    edge, api = Process(tmp_path / "log", ["edge", "serve", "--config", file], port), API(port, None)
    edge.spawn()
    try:
        edge.wait_until(lambda: api.get("/healthz").status == 200)
        settings("debug", 1, interval=61)
        edge.process.send_signal(signal.SIGHUP)
        eventually(lambda: "settings_need_restart" in edge.tail(), "the line about the restart")
        assert edge.tail().split("settings=")[1].split()[0].strip('"') == "upstream_interval"
        eventually(lambda: takes_the_only_place(api), "the new limit")
        eventually(lambda: answers(api), "the place that was given back")
        settings("loud", 1000)
        edge.process.send_signal(signal.SIGHUP)
        eventually(lambda: "file_refused" in edge.tail(), "the refusal")
    finally:
        edge.stop()
