"""What an operator meets at the command line: servers with certificates of a private authority, errors in plain words,
times as people write them, and what a change comes to."""

import base64
import json
import os
import pty
import re
import shlex
import subprocess
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

import icalendar
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from names import unique
from pinledger import BINARY, Process, Server, eventually, free_port, host_body, pin_of

APP = "com.example.operator"


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """A certification authority of its own, and servers' certificates from it."""

    def __init__(self, directory):
        self.directory, self.file = directory, directory / "authority.pem"
        openssl(
            *"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=Authority".split(),
            "-addext", "keyUsage=keyCertSign", "-keyout", str(directory / "authority.key"), "-out", str(self.file),
        )  # fmt: skip

    def issue(self, name: str, names: str):
        path = self.directory / f"{name}.pem"
        key = path.with_suffix(".key")
        extensions = self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
        openssl(
            *"req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj".split(), f"/CN={name}",
            "-keyout", str(key), "-out", str(path.with_suffix(".csr")),
        )  # fmt: skip
        openssl(
            "x509", "-req", "-in", str(path.with_suffix(".csr")), "-CA", str(self.file), "-CAkey",
            str(self.directory / "authority.key"), "-extfile", str(extensions), "-out", str(path), "-days", "1",
        )  # fmt: skip
        key.chmod(0o600)
        return path, key

    def expire(self, path) -> None:
        """Puts a certificate of the same key and names in place, whose end is past: openssl makes none before 3.4."""
        old = x509.load_pem_x509_certificate(path.read_bytes())
        now = datetime.now(timezone.utc)
        builder = x509.CertificateBuilder(
            old.issuer, old.subject, old.public_key(), old.serial_number + 1, now - timedelta(20), now - timedelta(10)
        )
        for extension in old.extensions:
            builder = builder.add_extension(extension.value, extension.critical)
        key = load_pem_private_key((self.directory / "authority.key").read_bytes(), None)
        path.write_bytes(builder.sign(key, SHA256()).public_bytes(Encoding.PEM))


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def node():
    """A server in plain HTTP, whose database the others read."""
    server = Server()
    try:
        server.start().api.make_app(APP, "api.example.com")
        yield server
    finally:
        server.destroy()


@pytest.fixture(scope="module")
def secure(node, authority):
    """Nodes with TLS: one that all is well with, and one whose certificate is for another name."""
    nodes = {}
    for name, names in [("good", "DNS:localhost,IP:127.0.0.1"), ("other", "DNS:pins.example.org")]:
        certificate, key = authority.issue(name, names)
        port = free_port()
        process = Process(
            node.home / f"{name}.log",
            ["serve", "--database", node.connection_string, "--read-only", "--listen", f"127.0.0.1:{port}"]
            + ["--tls-certificate", str(certificate), "--tls-key", str(key), "--drain-timeout", "1"],
            port,
        )
        process.certificate = certificate
        process.spawn()
        nodes[name] = process
    for process in nodes.values():
        eventually(lambda: process.said("server_serving"), "the node")
    yield nodes
    for process in nodes.values():
        process.stop()


def run(node, *arguments: str, token: bool = True, **variables: str):
    environment = node.environment | {"PINLEDGER_DATA": str(node.data), "NO_COLOR": "1"} | variables
    if token:
        environment["PINLEDGER_TOKEN"] = node.api.token
    return subprocess.run([BINARY, *arguments], env=environment, capture_output=True, text=True, timeout=120)


def readable(text: str) -> None:
    """No name of Swift's, no place in source code, no numbers of libraries."""
    for pattern in [r"\.swift|\.cc\b|\.c:", r"Error\(|Error\.", r"Optional\(", r"OPENSSL|BoringSSL|NIO", r"\b[a-z]+[A-Z]\w*\("]:
        assert not re.search(pattern, text), text


@pytest.mark.parametrize("way", ["--ca-file", "PINLEDGER_CA_FILE", "SSL_CERT_FILE"])
def test_a_server_with_a_private_authority_is_reached(node, secure, authority, way):
    url = f"https://localhost:{secure['good'].port}"
    arguments = ["app", "show", APP, "--server", url]
    if way.startswith("--"):
        done = run(node, *arguments, way, str(authority.file))
    else:
        done = run(node, *arguments, **{way: str(authority.file)})
    assert done.returncode == 0 and "api.example.com" in done.stdout, done.stderr


def failures(node, secure, authority):
    good, other, plain = secure["good"].port, secure["other"].port, node.port
    ca = ["--ca-file", str(authority.file)]
    return {
        "unknown authority": ([f"https://localhost:{good}"], "unknown authority", "--ca-file"),
        "another authority": ([f"https://localhost:{good}", "--ca-file", str(secure["other"].certificate)], "unknown authority", "--ca-file"),
        "another name": ([f"https://localhost:{other}", *ca], "for another name", "--server"),
        "another address": ([f"https://127.0.0.1:{other}", *ca], "for another name", "--server"),
        "plain HTTP on a TLS port": ([f"http://127.0.0.1:{good}"], "speaks TLS on this port", f"https://127.0.0.1:{good}"),
        "TLS on a plain port": ([f"https://127.0.0.1:{plain}", *ca], "plain HTTP", f"http://127.0.0.1:{plain}"),
        "nobody there": ([f"http://127.0.0.1:{free_port()}"], "nothing listens", "doctor"),
        "no such name": (["https://nowhere.invalid:1"], "has no address", "--server"),
        "a token that all could read": (["http://nowhere.invalid:1"], "the token is not sent", "--allow-http"),
        "a token that all may read": (["http://nowhere.invalid:1", "--allow-http"], "has no address", "--server"),
        "no address": (["pins"], "not the address of a server", "http://"),
    }  # fmt: skip


def test_every_failure_to_connect_is_a_sentence_with_the_right_advice(node, secure, authority):
    for what, (place, sentence, advice) in failures(node, secure, authority).items():
        for command in (["app", "list"], ["app", "create", "com.example.never"]):
            done = run(node, *command, "--server", *place)
            assert done.returncode in (2, 8), f"{what}: {done.returncode} {done.stderr}"
            assert sentence in done.stderr and advice in done.stderr, f"{what}: {done.stderr}"
            assert "may have been recorded" not in done.stderr, what
            readable(done.stderr)


def test_an_expired_certificate_is_named(node, authority):
    certificate, key = authority.issue("expired", "DNS:localhost")
    authority.expire(certificate)
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", str(certificate), "-key", str(key), "-www"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        port = next(match[1] for line in server.stdout if (match := re.search(r"ACCEPT \S*:(\d+)", line)))
        done = run(node, "app", "list", "--server", f"https://localhost:{port}", "--ca-file", str(authority.file))
    finally:
        server.kill()
        server.wait()
    assert done.returncode == 8 and "has expired" in done.stderr, done.stderr
    readable(done.stderr)


def test_the_doctor_sees_a_server_with_tls(node, secure):
    good = secure["good"]
    arguments = ["doctor", "--database", node.connection_string, "--listen", f"127.0.0.1:{good.port}", "--output", "json"]

    def finding(*more: str) -> dict:
        done = run(node, *arguments, *more)
        readable(done.stdout + done.stderr)
        return next(item for item in json.loads(done.stdout) if item["subject"] == "server")

    files = ["--tls-certificate", str(good.certificate), "--tls-key", str(good.certificate.with_suffix(".key"))]
    seen = finding(*files)
    assert seen["verdict"] == "ok" and f"https://127.0.0.1:{good.port} is ready" in seen["detail"], seen
    # Without them it knows at least that the port is taken.
    seen = finding()
    assert seen["verdict"] == "fail" and "speaks TLS" in seen["detail"], seen
    arguments[arguments.index("--listen") + 1] = f"127.0.0.1:{node.port}"
    seen = finding(*files)
    assert seen["verdict"] == "fail" and "does not speak TLS" in seen["detail"], seen
    arguments[arguments.index("--listen") + 1] = f"127.0.0.1:{free_port()}"
    assert "the port is free" in finding(*files)["detail"]


def test_whoami_names_the_token_and_the_server(server):
    done = server.cli("whoami")
    assert "first admin" in done.stdout and f"http://127.0.0.1:{server.port}" in done.stdout
    assert server.cli_json("whoami")["actor"]["name"] == "first admin"


def test_a_token_file_that_others_can_read_is_refused_with_advice(server, tmp_path):
    file = tmp_path / "token"
    file.write_text(server.api.token + "\n")
    file.chmod(0o604)
    more = ["--server", f"http://127.0.0.1:{server.port}", "--token-file", str(file)]
    refused = server.cli("whoami", *more, status=4)
    assert "can be read by others" in refused.stderr and f"chmod 600 {file}" in refused.stderr
    file.chmod(0o600)
    assert "token" in server.cli("whoami", *more).stdout
    file.write_bytes(b"\xff\xfe")
    assert "it is not text" in server.cli("whoami", *more, status=4).stderr


def test_times_are_understood_as_people_write_them(server):
    app = "com.example.times"
    server.api.make_app(app, "times.example.com")
    server.cli("app", "update", app, "--pins-valid-until", "30d")
    first = server.api.get(f"/v1/apps/{app}").json["pins_valid_until"]
    server.cli("app", "update", app, "--pins-valid-until", first[:10], "--reason", "a day", "--force")
    assert server.api.get(f"/v1/apps/{app}").json["pins_valid_until"] == f"{first[:10]}T00:00:00Z"
    created = f"The app {app} is created."
    assert created in server.cli("history", app, "--since", "1h").stdout
    assert created not in server.cli("history", app, "--until", "1h").stdout
    assert created in server.cli("history", app, "--since", "2020-01-01", "--actor", "first admin").stdout
    refused = server.cli("app", "update", app, "--pins-valid-until", "soon", status=2)
    assert "30d" in refused.stderr


def test_an_empty_result_is_distinguished_from_an_unknown_name(server):
    app = "com.example.filters"
    server.api.make_app(app, "filters.example.com")
    assert server.cli("history", app, "--type", "PinRevoked").stderr.strip() == "None."
    assert "no actor nobody" in server.cli("history", "--actor", "nobody", status=5).stderr
    assert "tok_0000000000000000" in server.cli("history", "--actor", "tok_0000000000000000", status=5).stderr
    assert "The app com.example.missing does not exist" in server.cli("history", "--stream", "app/com.example.missing", status=5).stderr
    assert "no host" in server.cli("telemetry", "show", app, "--host", "missing.example.com", status=5).stderr


def test_a_rollout_names_its_share_and_an_equal_candidate(server):
    app = "com.example.share"
    server.api.make_app(app, "share.example.com")
    assert "--percent" in server.cli("rollout", "start", app, "share.example.com", status=2).stderr
    said = server.cli("rollout", "start", app, "share.example.com", "--percent", "25").stderr
    assert "25 % of the devices" in said and "equal to the baseline" in said
    server.cli("rollout", "drop", app, "share.example.com")
    said = server.cli("rollout", "start", app, "share.example.com", "--percent", "25", "--backup", pin_of("new")).stderr
    assert "equal to the baseline" not in said


def test_a_change_is_described_in_sentences_and_a_dry_run_as_a_readable_difference(server):
    app = "com.example.sentences"
    server.api.make_app(app, "sentences.example.com")
    said = server.cli("host", "update", app, "sentences.example.com", "--mode", "report_only", "--reason", "w", "--dry-run").stdout
    assert "mode: enforce -> report_only" in said and "/hosts" not in said
    said = server.cli("kill", "engage", app, "--for", "2h", "--reason", "wrong certificate").stdout
    assert re.search(rf"Pinning is OFF for {app} until \d{{4}}-\d\d-\d\d \d\d:\d\d(Z|[+-]\d\d:\d\d)\.", said), said
    assert "from caches within 60 s" in said
    said = server.cli("kill", "release", app, "--reason", "mended").stdout
    assert f"The kill switch of {app} is released" in said
    listed = server.cli("kill", "history", app).stdout
    assert listed.index("is released") < listed.index("is OFF") and "wrong certificate" in listed
    assert server.cli_json("kill", "history", app)["events"][0]["type"] == "KillSwitchReleased"
    told = server.cli("kill", "engage", app, "--reason", "a rehearsal", "--dry-run").stdout
    assert "Would record:" in told and "learn of it" in told and "from caches within 60 s" in told
    assert "How long they take until then is not known" in told or "99 % of the clients took" in told


def test_an_operator_of_one_app_sees_its_kill_switches(server):
    app, other = unique("com.example.scoped."), unique("com.example.hidden.")
    for name in (app, other):
        server.api.make_app(name, "scoped.example.com")
        server.cli("kill", "engage", name, "--for", "2h", "--reason", f"wrong in {name}")
        server.cli("kill", "release", name, "--reason", "mended")
    token = server.api.holding("editor", app).token
    for words in ([app], []):
        shown = server.cli("kill", "history", *words, token=token)
        assert f"wrong in {app}" in shown.stdout and other not in shown.stdout, words
        assert "Kill switches of every app at once are left out" in shown.stderr
    # What another may not see is not named to them either.
    assert "does not exist" in server.cli("kill", "history", other, token=token, status=5).stderr


def test_the_history_is_told_in_sentences_and_recorded_events_on_demand(server):
    app = unique("com.example.told.")
    server.api.make_app(app, "told.example.com")
    header, *lines = server.cli("history", app, "--day", datetime.now(timezone.utc).date().isoformat()).stdout.splitlines()
    assert header.split() == ["POSITION", "TIME", "WHO", "WHAT", "WHY"]
    assert f"The app {app} is created." in lines[-1] and "first admin" in lines[-1]
    assert re.search(r"\b\d{4}-\d\d-\d\d \d\d:\d\d(Z|[+-]\d\d:\d\d)", lines[-1])
    assert server.cli_json("history", app)["events"][-1]["type"] == "AppCreated"
    assert "AppCreated" in server.cli("history", app, "--output", "wide").stdout


def test_swapped_and_impossible_dates_are_named(server):
    app = unique("com.example.dates.")
    server.api.make_app(app, "dates.example.com")
    for command in (["history"], ["kill", "history"], ["audit", "requests"], ["audit", "export", "--format", "csv"],
                    ["document", "versions", app]):  # fmt: skip
        said = server.cli(*command, "--since", "2026-11-22", "--until", "2026-11-01", status=2).stderr
        assert "--since 2026-11-22 is later than --until 2026-11-01: the two are swapped" in said, command
        said = server.cli(*command, "--since", "2026-22-11", status=2).stderr
        assert "there is no month 22; if day and month are swapped, it is 2026-11-22" in said, command
    assert "are swapped" in server.cli("app", "compare", app, "--from", "1d", "--to", "2d", status=2).stderr
    swapped = server.api.get("/v1/history?since=2026-11-22T00:00:00Z&until=2026-11-01T00:00:00Z")
    assert (swapped.status, swapped.json["type"]) == (400, "/problems/malformed_request")


def test_a_change_to_everything_asks_for_confirmation_on_a_terminal(server):
    environment = server.environment | {"PINLEDGER_DATA": str(server.data)}
    arguments = [BINARY, "kill", "engage", "--everything", "--reason", "a test", "--for", "5m"]
    # Others of this server's tests may have engaged it.
    engaged = len(server.api.history(type="FleetKillSwitchEngaged"))
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"no\n")
        done = subprocess.run(arguments, env=environment, stdin=theirs, capture_output=True, text=True, timeout=120)
    finally:
        os.close(theirs)
        os.close(ours)
    assert done.returncode == 1 and "every host of every app" in done.stderr and "nothing was changed" in done.stderr
    assert len(server.api.history(type="FleetKillSwitchEngaged")) == engaged


def test_a_rotation_names_a_complete_command(server):
    app = "com.example.whole"
    server.api.make_app(app, "whole.example.com")
    server.cli("rotation", "start", app, "whole.example.com", "--name", "r", "--next", pin_of("whole.example.com backup "))
    command = server.cli_json("rotation", "status", app, "r")["command"]
    assert "--from deliver" in command and "--reason" in command
    # A rail stops it, not its form; and what it lacks is insistence alone.
    assert "G10" in server.cli(*shlex.split(command)[1:], status=3).stderr
    server.cli(*shlex.split(command)[1:], "--force")
    assert "--from switch" in server.cli_json("rotation", "status", app, "r")["command"]


def test_a_host_is_shown_with_its_services(server):
    app = "com.example.services"
    server.api.make_app(app, "services.example.com")
    shown = server.cli("host", "show", app, "services.example.com").stdout
    assert "service services.example.com:443: never seen by a probe" in shown


def test_a_group_of_types_has_the_fleets_switch_and_a_filter_without_it_gets_a_warning(server):
    hook = ["webhook", "create", "https://hooks.example.com/pins"]
    added = server.cli(*hook, "--types", "kill-switch.*,PinRevoked")
    assert "fleet" not in added.stderr
    hooks = server.cli_json("webhook", "list")["webhooks"]
    assert sorted(hooks[-1]["types"]) == [
        "FleetKillSwitchEngaged", "FleetKillSwitchReleased", "KillSwitchEngaged", "KillSwitchReleased", "PinRevoked",
    ]  # fmt: skip
    added = server.cli(*hook, "--types", "KillSwitchEngaged")
    assert "does not receive the fleet's kill switch" in added.stderr
    added = server.cli(*hook, "--apps", "com.example.notyet")
    assert "does not receive the fleet's kill switch" in added.stderr and "no app com.example.notyet yet" in added.stderr
    assert server.api.get("/v1/history?type=kill-switch.*").status == 200
    assert server.api.get("/v1/history?type=kill-switch").status == 400
    for hook in server.cli_json("webhook", "list")["webhooks"]:
        server.cli("webhook", "remove", hook["webhook_id"])


def get(url: str, headers: dict | None = None) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_calendar_feed_is_a_secret_address_that_opens_nothing_else(server):
    app, other = "com.example.feed", "com.example.feed.other"
    server.api.make_app(app, "feed.example.com")
    server.api.make_app(other)
    added = server.cli("calendar", "feed", "create", app, "--name", "on call", "--for", "30d")
    url = added.stdout.strip()
    status, body = get(url)
    assert status == 200 and icalendar.Calendar.from_ical(body)["version"] == "2.0"
    secret = re.search(r"pk_cal_\w+", url)[0]
    # Its secret is no token, whichever way it is sent, and opens no other app's calendar.
    basic = "Basic " + base64.b64encode(f"calendar:{secret}".encode()).decode()
    for credentials in (f"Bearer {secret}", basic):
        for target in ("/v1/whoami", "/v1/apps", f"/v1/apps/{app}/calendar.ics"):
            assert get(f"http://127.0.0.1:{server.port}{target}", {"Authorization": credentials})[0] == 401
    assert get(url.replace(app, other))[0] == 404
    assert get(url.replace(secret, secret[:-1] + ("0" if secret[-1] != "0" else "1")))[0] == 404
    assert server.api.request("POST", url.removeprefix(f"http://127.0.0.1:{server.port}"), {}).status == 405
    # The address is nowhere to be read again: not in lists, in the history or in the log.
    feeds = server.cli_json("calendar", "feed", "list", app)["feeds"]
    assert [feed["name"] for feed in feeds] == ["on call"] and server.cli_json("calendar", "feed", "list", other)["feeds"] == []
    assert feeds[0]["feed_id"] not in server.cli("token", "list").stdout
    for text in (json.dumps(feeds), json.dumps(server.api.history()), server.log.read_text()):
        assert secret not in text and secret[7:] not in text
    # What opens one app's calendar is not revoked by way of another, and revoked it shows nothing.
    server.cli("calendar", "feed", "revoke", other, feeds[0]["feed_id"], status=5)
    server.cli("calendar", "feed", "revoke", app, feeds[0]["feed_id"], "--reason", "left the team")
    assert get(url)[0] == 404
    assert server.cli_json("calendar", "feed", "list", app)["feeds"][0]["revoked_at"]
    server.cli("calendar", app)


def test_positions_mean_one_thing_in_every_command(server):
    app = "com.example.positions"
    server.api.make_app(app, "positions.example.com")
    added = next(event for event in server.api.history(f"/v1/apps/{app}/history") if event["type"] == "HostAdded")
    last = server.api.history(f"/v1/apps/{app}/history")[-1]["position"]
    # At the position of an event things stand as they were before it; with --event, as right after it.
    before = server.cli_json("explain", app, "--position", str(added["position"]))
    after = server.cli_json("explain", app, "--event", str(last))
    assert before["hosts"] == [] and [host["name"] for host in after["hosts"]] == ["positions.example.com"]
    assert before["position"] == added["position"] and after["position"] == last + 1
    server.cli("explain", app, "--event", "1", "--position", "1", status=2)


def test_a_stream_of_events_begins_with_the_first_where_it_is_asked_to(server):
    def first(query: str) -> int:
        request = urllib.request.Request(
            f"http://127.0.0.1:{server.port}/v1/events?{query}", headers={"Authorization": f"Bearer {server.api.token}"}
        )
        with urllib.request.urlopen(request, timeout=120) as stream:
            return next(int(line[4:]) for line in stream if line.startswith(b"id: "))

    assert [first(query) for query in ("from=0", "after=0", "from=3", "after=3")] == [0, 1, 3, 4]
    assert server.api.get("/v1/events?from=0&after=0").status == 400
    assert server.api.get(f"/v1/events?from={server.api.position() + 100}").status == 409


def test_the_log_has_a_line_for_each_change_each_rail_and_the_end():
    server = Server(lowers_rails=False)
    try:
        server.start()
        app = "com.example.log"
        server.api.must("POST", "/v1/apps", {"app": app})
        refused = server.api.request("POST", f"/v1/apps/{app}/hosts", host_body("log.example.com"))
        assert refused.status == 422
        server.stop()
        log = server.log.read_text()
        changes = [line for line in log.splitlines() if "a change was recorded" in line and f"app/{app}" in line]
        assert len(changes) == 1 and "AppCreated" in changes[0] and "token:tok_" in changes[0]
        stopped = [line for line in log.splitlines() if "a guard rail stopped a change" in line]
        assert len(stopped) == 1 and re.search(r"rails=\S*G\d\d", stopped[0]), log[-2000:]
        assert log.index("told to stop") < log.index("connections drain") < log.index("code=server_stopped")
    finally:
        server.destroy()
