"""The access log: one line for each answered request, whatever answered it, and never a secret."""

import json
import os
import re
import signal
import socket

import pytest
from edges import Edge, key_file
from pinledger import API, Server, eventually

APP = "com.example.logged"
DOCUMENT = f"/client/v1/apps/{APP}/document"


class Logged(Server):
    """A server with an access log."""

    def __init__(self, form: str):
        super().__init__()
        self.lines = self.home / "access.log"
        self.environment |= {
            "PINLEDGER_ACCESS_LOG": str(self.lines), "PINLEDGER_LOG_FORMAT": form, "PINLEDGER_TRUSTED_PROXY": "127.0.0.0/8",
        }  # fmt: skip

    def said(self, wanted, count: int = 1) -> list[dict]:
        """The lines that `wanted` holds for, once there are so many."""

        def look():
            lines = [json.loads(line) for line in self.lines.read_text().splitlines()]
            found = [line for line in lines if wanted(line)]
            return len(found) >= count and found

        found = eventually(look, "the lines")
        assert len(found) == count, found
        return found


@pytest.fixture(scope="module")
def logged():
    server = Logged("json")
    try:
        server.start()
        server.api.make_app(APP, "api.example.com")
        yield server
    finally:
        server.destroy()


def mark() -> str:
    """An address of documentation (RFC 3849), by which a test finds its own requests."""
    return "2001:db8:" + ":".join(os.urandom(2).hex().lstrip("0") or "1" for _ in range(6))


def of(address: str):
    import ipaddress

    return lambda line: ipaddress.ip_address(line["address"]) == ipaddress.ip_address(address)


def test_a_request_of_an_operator_says_who_did_what(logged):
    address = mark()
    answer = logged.api.must("PATCH", f"/v1/apps/{APP}?dry_run=true", {"display_name": "x"}, {"X-Forwarded-For": address})
    [line] = logged.said(of(address))
    assert line["method"] == "PATCH" and line["path"] == f"/v1/apps/{APP}" and line["operation"] == "updateApp"
    assert line["status"] == 200 and line["bytes"] == len(answer.body) and line["microseconds"] > 0
    assert line["app"] == APP and line["actor"].startswith("token:") and line["request_id"] == answer["Request-Id"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", line["time"])


def test_prepared_answers_are_logged_wherever_they_are_given(logged):
    api, address = API(logged.api.port, None), mark()
    first = eventually(lambda: (answer := api.document(APP)).status == 200 and answer)
    api.document(APP, **{"X-Forwarded-For": address})
    api.document(APP, **{"X-Forwarded-For": address, "If-None-Match": first["ETag"]})
    # Several fields, a query and a body are nothing for the fast path.
    with socket.create_connection(("127.0.0.1", api.port)) as connection:
        head = f"GET {DOCUMENT} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.9\r\nX-Forwarded-For: {address}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        while connection.recv(65536):
            pass
    api.request("HEAD", DOCUMENT, headers={"X-Forwarded-For": address})
    lines = logged.said(of(address), 4)
    assert sorted((line["method"], line["status"], line["bytes"]) for line in lines) == [
        ("GET", 200, len(first.body)), ("GET", 200, len(first.body)), ("GET", 304, 0), ("HEAD", 200, 0),
    ]  # fmt: skip
    assert {line["path"] for line in lines} == {DOCUMENT} and all("actor" not in line for line in lines)


def test_refusals_are_logged_too(logged):
    stranger = API(logged.api.port, None)
    address = mark()
    assert stranger.get("/v1/apps", **{"X-Forwarded-For": address}).status == 401
    assert stranger.get("/nothing/of/the/kind", **{"X-Forwarded-For": address}).status == 404
    assert stranger.request("POST", DOCUMENT, headers={"X-Forwarded-For": address}).status == 405
    lines = logged.said(of(address), 3)
    assert [(line["status"], line["path"]) for line in lines] == [(401, "/v1/apps"), (404, "/…"), (405, "/client/…")]
    with socket.create_connection(("127.0.0.1", logged.api.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert b" 400 " in connection.recv(65536)
    assert logged.said(lambda line: line["status"] == 400)[0]["path"] == "-"


def test_no_line_holds_a_secret(logged):
    made = logged.api.must("POST", f"/v1/apps/{APP}/calendar-feeds", {"name": "log"}).json
    secret = re.search("/calendars/[^/]+/([^/]+)/", json.dumps(made))[1]
    address = mark()
    feed = {"X-Forwarded-For": address}
    assert API(logged.api.port, None).get(f"/calendars/{APP}/{secret}/pins.ics", **feed).status == 200
    assert API(logged.api.port, None).get(f"/calendars/{APP}/{secret}/pins", **feed).status == 404
    assert API(logged.api.port, None).get(f"/%63alendars/{APP}/{secret}/pins.ics", **feed).status in (200, 404)
    assert API(logged.api.port, None).get(f"/v1/apps?token={secret}", **feed).status == 401
    # A token in place of a name.
    for path in (f"/{logged.api.token}", f"/v1/tokens/{logged.api.token}", f"/v1/apps/{logged.api.token}", f"/v1/apps/x%3Ft={secret}"):
        assert logged.api.get(path, **feed).status >= 400
    logged.said(of(address), 8)
    text = logged.lines.read_text()
    assert secret not in text and logged.api.token not in text and "?" not in text


def test_streams_are_logged_as_they_begin(logged):
    address = mark()
    with socket.create_connection(("127.0.0.1", logged.api.port)) as connection:
        connection.sendall(
            f"GET /client/v1/apps/{APP}/stream HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {address}\r\n\r\n".encode())
        assert b" 200 " in connection.recv(65536)
        [line] = logged.said(of(address))
    assert line["path"] == f"/client/v1/apps/{APP}/stream" and line["operation"] == "streamDocument" and "bytes" not in line


def test_hostile_paths_stay_within_their_line(logged):
    address = mark()
    for path in (b'/"\\', b"/%0a%0d%22", b"/" + b"a" * 4000):
        with socket.create_connection(("127.0.0.1", logged.api.port)) as connection:
            connection.sendall(
                b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-For: " + address.encode() + b"\r\n\r\n")
            while connection.recv(65536):
                pass
    for line in logged.said(of(address), 3):
        assert len(line["path"]) <= 200 and line["status"] in (400, 404)


def test_a_rotated_log_is_opened_again(logged):
    moved = logged.lines.with_suffix(".1")
    logged.lines.rename(moved)
    logged.process.send_signal(signal.SIGHUP)
    eventually(logged.lines.exists, "the new file")
    address = mark()
    API(logged.api.port, None).get("/healthz", **{"X-Forwarded-For": address})
    logged.said(of(address))
    assert address not in moved.read_text()
    assert oct(logged.lines.stat().st_mode)[-3:] == "640"


def test_lines_for_people_have_the_same_facts():
    server = Logged("text")
    try:
        server.start()
        server.api.make_app(APP, "api.example.com")
        server.api.must("GET", f"/v1/apps/{APP}")
        found = rf"^\S+Z \S+ GET /v1/apps/{re.escape(APP)} 200 \d+B \d+us operation=getApp app={re.escape(APP)} actor=token:\S+ request_id=\S+$"
        eventually(lambda: re.search(found, server.lines.read_text(), re.MULTILINE), "the line")
        # The last lines are written before the process ends.
        address = mark()
        API(server.api.port, None).get("/healthz", **{"X-Forwarded-For": address})
        server.stop()
        assert len(server.lines.read_text().splitlines()[-1].split()) > 4 and " GET /healthz 200 " in server.lines.read_text().splitlines()[-1]
    finally:
        server.destroy()


def test_a_log_that_cannot_be_written_holds_up_no_request():
    server = Logged("json")
    server.environment["PINLEDGER_ACCESS_LOG"] = "/dev/full"
    try:
        server.start()
        server.api.make_app(APP, "api.example.com")
        assert server.api.document(APP).status == 200
        eventually(lambda: '"code":"access_log_failing"' in server.log.read_text(), "the warning")
        text = server.api.must("GET", "/metrics").body.decode()
        assert int(re.search(r'^pinledger_access_log_lines_total\{outcome="dropped"\} (\d+)', text, re.MULTILINE)[1]) > 0
    finally:
        server.destroy()


def test_a_node_whose_log_cannot_be_opened_does_not_start(logged, tmp_path):
    there = str(tmp_path / "missing" / "access.log")
    pipe, directory = tmp_path / "pipe", tmp_path / "directory"
    os.mkfifo(pipe)
    directory.mkdir()
    for path in (pipe, directory):
        failed = logged.cli("serve", "--database", logged.connection_string, "--listen", "127.0.0.1:0", "--access-log", str(path), status=2)
        assert "no regular file" in failed.stderr and str(path) in failed.stderr
    failed = logged.cli("serve", "--database", logged.connection_string, "--listen", "127.0.0.1:0", "--access-log", there, status=2)
    assert there in failed.stderr and "cannot be opened" in failed.stderr


def test_an_edge_has_an_access_log(logged, tmp_path):
    log = tmp_path / "edge.log"
    token = logged.api.must("POST", "/v1/tokens", {"name": "edge", "grants": [{"role": "viewer", "apps": ["*"]}]}).json["token"]
    edge = Edge(tmp_path, logged.api.port, token, key_file(logged, tmp_path / "keys.json"), "--access-log", str(log), "--log-format", "json")
    try:
        edge.start_ready()
        eventually(lambda: edge.api.document(APP).status == 200, "the document")
        eventually(lambda: any(json.loads(line)["path"] == DOCUMENT for line in log.read_text().splitlines()), "the line")
    finally:
        edge.kill()
