"""Text that is slow to compare, wherever strangers may put it: it delays no other request."""

import gzip
import json
import urllib.parse

import pytest
from pinledger import Server
from reports import outcome, path as reports
from wire import Wire, get, processor_seconds

APP = "com.example.hostile"
DOCUMENT = f"/client/v1/apps/{APP}/document"
#: To compare it, Unicode's rules have every mark put into its place among all others.
MARKS = "\u0301\u0316"
#: Processor seconds in which a text of that size is read on any machine, and which one whose time grows with the square takes many times.
LITTLE = 5


@pytest.fixture(scope="module")
def report_server():
    server = Server(more=["--telemetry-rate", "0"])
    try:
        server.start().api.make_app(APP, "api.example.com")
        yield server
    finally:
        server.destroy()


def seconds_of(server: Server, work) -> float:
    """Processor time that the server takes for something, its own life included."""
    before = processor_seconds(server.process.pid)
    work()
    return processor_seconds(server.process.pid) - before


def marks(size: int) -> str:
    return "x" + MARKS * (size // 4)


def report(body: bytes, server: Server) -> int:
    packed = gzip.compress(body)
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return server.api.request("POST", reports(APP), packed, headers, token=None).status


#: Where a stranger may put a text of 200 KB, and the answer.
BODIES = {
    "a member's name": (lambda text: {text: 1, "outcomes": [outcome(1)]}, 400),
    "an outcome's member's name": (lambda text: {"outcomes": [outcome(1) | {text: 1}]}, 400),
    "a member nobody knows": (lambda text: {"new": text, "outcomes": [outcome(1)]}, 400),
    "a host": (lambda text: {"outcomes": [outcome(1) | {"host": text}]}, 400),
}


@pytest.mark.parametrize("place", BODIES)
def test_a_report_with_marks_takes_no_longer_than_another(report_server, place):
    make, status = BODIES[place]

    def send():
        assert report(json.dumps(make(marks(200_000)), ensure_ascii=False).encode(), report_server) == status

    assert seconds_of(report_server, send) < LITTLE


def test_a_server_stops_in_time_while_it_reads_reports():
    server = Server(more=["--telemetry-rate", "0"])
    try:
        server.start().api.make_app(APP, "api.example.com")
        body = gzip.compress(json.dumps({marks(900_000): 1, "outcomes": []}, ensure_ascii=False).encode())
        head = [f"Content-Length: {len(body)}", "Content-Encoding: gzip", "Content-Type: application/json"]
        wires = [Wire(server.port).send(get(reports(APP), *head, method="POST") + body) for _ in range(4)]
        # The stop fails after two minutes.
        server.stop()
        for wire in wires:
            wire.__exit__()
    finally:
        server.destroy()


@pytest.mark.parametrize(
    "name", ["If-None-Match", "Accept-Encoding", "Pinledger-Client", "Connection", "Expect", "X-New", "Authorization"]
)
def test_fields_with_marks_count_as_absent(report_server, name):
    """7 KB of them, sixty times on one connection."""
    plain = report_server.api.document(APP).body
    field = f"{name}: {marks(7000)}".encode()
    request = get(DOCUMENT).replace(b"\r\n\r\n", b"\r\n" + field + b"\r\n\r\n")

    def send():
        with Wire(report_server.port) as wire:
            for _ in range(60):
                answer = wire.send(request).answer()
                assert answer.status == 200 and answer.body == plain

    assert seconds_of(report_server, send) < LITTLE


@pytest.mark.parametrize("place", ["/{}", "/v1/apps/{}", "/client/v1/apps/{}/document", DOCUMENT + "?x={}"])
@pytest.mark.parametrize("encode", [str, urllib.parse.quote])
def test_targets_with_marks_are_answered_at_once(report_server, place, encode):
    text = encode(marks(7000 if encode is str else 2300))
    request = get("/").replace(b" / ", f" {place.format(text)} ".encode(), 1)

    def send():
        for _ in range(60):
            # The decoder refuses some, and closes the connection over it.
            with Wire(report_server.port) as wire:
                assert wire.send(request).answer().status in (400, 401, 404)

    assert seconds_of(report_server, send) < LITTLE


def test_operators_texts_keep_their_marks_within_reason(report_server):
    """30 marks in a row are more than any language needs."""
    display = "Z" + MARKS * 15 + " क्षि é"
    app = f"{APP}.named"
    report_server.api.must("POST", "/v1/apps", {"app": app, "display_name": display})
    assert report_server.api.get(f"/v1/apps/{app}").json["display_name"] == display
    refused = report_server.api.post("/v1/apps", {"app": f"{app}2", "display_name": display + MARKS * 16})
    assert refused.status == 400 and "combining marks" in refused.json["detail"]
