"""Documents as server-sent events: at once, resumable, never more than the newest, bounded, and ended in order."""

import json
import random
import re
import signal
import time

import pytest
from pinledger import Server, eventually, from_now, host_body
from problems import expect_problem
from streams import DocumentStream
from wire import Wire, get, resident_bytes

APP = "com.example.push"
STREAM = f"/client/v1/apps/{APP}/stream"


@pytest.fixture(scope="module")
def push_server():
    server = Server()
    server.arguments += ["--client-streams", "8", "--streams-per-network", "0", "--idle-timeout", "2"]
    server.arguments += ["--write-timeout", "3", "--drain-timeout", "5"]
    try:
        server.start().api.make_app(APP, "api.example.com")
        yield server
        assert server.said("request_failed") == []
    finally:
        server.destroy()


def streams(server) -> int:
    return server.api.get("/readyz").json["client_streams"]


def wait_for_streams(server, count: int) -> None:
    eventually(lambda: streams(server) == count, f"the number of {count} streams")


@pytest.fixture(autouse=True)
def none_is_left(push_server):
    yield
    if push_server.is_running:
        wait_for_streams(push_server, 0)


def rename(server) -> int:
    """The version of the document with another name."""
    body = {"display_name": f"Shop {random.random()}"}
    return server.api.must("PATCH", f"/v1/apps/{APP}", body).json["version"] + server.api.fleet_version()


# Heads that the door takes, and others that go to the router: the same comes of them.
@pytest.fixture(params=[{}, {"Accept-Language": "de", "Connection": "Keep-Alive, X"}], ids=["door", "router"])
def fields(request):
    return request.param


def test_a_stream_begins_with_the_current_document(push_server, fields):
    document = push_server.api.document(APP)
    with DocumentStream(push_server.port, APP, **fields) as stream:
        first = stream.take()
        assert first["event"] == "document" and first["data"] == document.body.decode()
        assert f'"{first["id"]}"' == document["ETag"]
        assert stream.comments[0] == "pinledger" and 500 <= stream.retries[0] <= 10_000
        # Nothing comes between the document and the next one.
        version = rename(push_server)
        assert stream.take()["id"].startswith(f"{version}.")


def test_a_client_that_has_the_current_document_gets_the_next(push_server, fields):
    with DocumentStream(push_server.port, APP, **fields) as stream:
        current = stream.take()["id"]
    with DocumentStream(push_server.port, APP, **fields, **{"Last-Event-ID": current}) as stream:
        rename(push_server)
        event = stream.take()
        assert event["data"] == push_server.api.document(APP).body.decode() and event["id"] != current
    for other in ["0-0", "x", current]:
        with DocumentStream(push_server.port, APP, **fields, **{"Last-Event-ID": other}) as stream:
            assert stream.take()["id"] == event["id"]


def test_a_kill_switch_of_every_scope_arrives(push_server, fields):
    switches = {
        "/v1/kill-switch": {},
        f"/v1/apps/{APP}/kill-switch": {},
        f"/v1/apps/{APP}/kill-switch?minimum=3.1.0&maximum=3.1.2": {"versions": {"minimum": "3.1.0", "maximum": "3.1.2"}},
        f"/v1/apps/{APP}/hosts/api.example.com/kill-switch": {},
    }
    with DocumentStream(push_server.port, APP, **fields) as stream:
        stream.take()
        for path, more in switches.items():
            body = {"expires_at": from_now(hours=1), "reason": "incident", **more}
            push_server.api.must("PUT", path.split("?")[0], body)
            event = stream.take()
            payload = push_server.api.payload(APP)
            assert event["data"] == push_server.api.document(APP).body.decode()
            assert len(payload["kill_switches"]) == 1
            assert payload["kill_switches"][0].get("versions") == more.get("versions")
            push_server.api.must("DELETE", path)
            assert stream.take()["id"].startswith(f"{payload['version'] + 1}.")


@pytest.mark.daily
def test_a_kill_switch_arrives_within_half_a_second(push_server, fields):
    switch, delays = f"/v1/apps/{APP}/kill-switch", []
    with DocumentStream(push_server.port, APP, **fields) as stream:
        stream.take()
        for _ in range(10):
            push_server.api.must("PUT", switch, {"expires_at": from_now(hours=1), "reason": "incident"})
            answered = time.monotonic()
            at, _ = stream.events.get(timeout=300)
            delays.append(at - answered)
            push_server.api.must("DELETE", f"{switch}?reason=over")
            stream.take()
    assert max(delays) < 0.5, delays


def test_only_news_of_the_own_app_arrives(push_server, fields):
    other = f"com.example.push.other{len(fields)}"
    push_server.api.make_app(other, "api.example.com")
    with DocumentStream(push_server.port, APP, **fields) as stream:
        stream.take()
        push_server.api.must("PATCH", f"/v1/apps/{other}", {"display_name": "Other"})
        # News come in the order of the changes: the next one is of a later change of the own app.
        version = rename(push_server)
        assert stream.take()["id"].startswith(f"{version}.")


def test_a_stream_outlives_the_idle_time_and_sends_heartbeats(push_server, fields):
    with DocumentStream(push_server.port, APP, **fields) as stream:
        stream.take()
        eventually(lambda: "alive" in stream.comments, "a heartbeat")
        assert stream.thread.is_alive()


def test_a_stream_of_an_unknown_app_is_refused_as_its_document_is(push_server):
    answer = push_server.api.request("GET", "/client/v1/apps/com.example.nobody/stream", token=None)
    expect_problem(answer, 404, "app_unknown")
    assert answer["Cache-Control"] == "public, max-age=5"
    head = push_server.api.request("HEAD", STREAM, token=None)
    assert head.status == 200 and head["Content-Type"] == "text/event-stream"
    assert push_server.api.request("GET", f"{STREAM}?x=1", token=None).json["type"] == "/problems/unknown_parameter"


def test_there_are_no_more_streams_than_allowed(push_server):
    open_streams = [DocumentStream(push_server.port, APP, **({} if number % 2 else {"Connection": "x"})) for number in range(8)]
    try:
        assert streams(push_server) == 8
        answer = push_server.api.request("GET", STREAM, token=None)
        expect_problem(answer, 503, "overloaded")
        assert 5 <= int(answer["Retry-After"]) <= 30
        assert push_server.api.document(APP).status == 200
        open_streams.pop().__exit__()
        wait_for_streams(push_server, 7)
        with DocumentStream(push_server.port, APP) as stream:
            stream.take()
    finally:
        for stream in open_streams:
            stream.__exit__()


def test_a_client_that_sends_more_ends_its_stream(push_server):
    for end in (lambda wire: wire.send(get(STREAM)), lambda wire: wire.finish()):
        with Wire(push_server.port) as wire:
            wire.send(get(STREAM)).until(b"data: ")
            end(wire).wait_for_end()


def make_large_app(server, app: str) -> None:
    """An app whose documents of some tens of kilobytes soon fill a small socket's buffer."""
    server.api.must("POST", "/v1/apps", {"app": app})
    for number in range(80):
        server.api.must("POST", f"/v1/apps/{app}/hosts", host_body(f"api{number}.example.com"))
    assert 20_000 < len(server.api.document(app).body) <= 65_536


def change(server, app: str, count: int, quick: DocumentStream) -> int:
    """Changes the app so many times, each of which `quick` gets; the last version."""
    for number in range(count):
        version = server.api.must("PATCH", f"/v1/apps/{app}", {"display_name": f"{number}"}).json["version"]
        quick.take()
    return version


def test_a_client_that_reads_late_gets_the_document_under_way_and_then_the_newest():
    """Large documents, one after the other: the slow client's place is its socket's buffer."""
    server, app = Server(), "com.example.push.large"
    # However long the changes take on a busy machine: the client is not given up before it reads.
    server.arguments += ["--write-timeout", "120"]
    try:
        make_large_app(server.start(), app)
        with DocumentStream(server.port, app) as quick, Wire(server.port, receive_buffer=4096, ) as slow:
            quick.take()
            slow.send(get(f"/client/v1/apps/{app}/stream"))
            wait_for_streams(server, 2)
            before = resident_bytes(server.process.pid)
            version = change(server, app, 40, quick)
            assert resident_bytes(server.process.pid) - before < 40_000_000
            newest = f"id: {version + server.api.fleet_version()}.".encode()
            received = b""
            # Those between are not sent.
            while newest not in received:
                chunk = slow.socket.recv(65_536)
                assert chunk, "the server gave the client up"
                received += chunk
            ids = re.findall(rb"id: (\d+)\.", received)
            assert 2 <= len(ids) < 30 and ids == sorted(ids, key=int)
    finally:
        server.destroy()


def test_a_client_that_never_reads_is_given_up(push_server):
    app = "com.example.push.unread"
    make_large_app(push_server, app)
    with DocumentStream(push_server.port, app) as quick, Wire(push_server.port, receive_buffer=4096) as slow:
        quick.take()
        slow.send(get(f"/client/v1/apps/{app}/stream"))
        wait_for_streams(push_server, 2)
        change(push_server, app, 40, quick)
        wait_for_streams(push_server, 1)


def test_a_document_that_is_too_large_is_only_named(push_server):
    app, api = "com.example.push.huge", push_server.api
    api.must("POST", "/v1/apps", {"app": app})
    number = 0
    while len(api.document(app).body) <= 65_536:
        for _ in range(20):
            api.must("POST", f"/v1/apps/{app}/hosts", host_body(f"api{number}.example.com"))
            number += 1
    with DocumentStream(push_server.port, app) as stream:
        event = stream.take()
        document = api.document(app)
        assert json.loads(event["data"]) == {"etag": document["ETag"], "version": api.payload(app)["version"]}


def test_streams_end_in_order_when_the_node_stops(push_server, fields):
    open_streams = [DocumentStream(push_server.port, APP, **fields) for _ in range(6)]
    for stream in open_streams:
        stream.take()
    push_server.process.send_signal(signal.SIGTERM)
    for stream in open_streams:
        stream.thread.join(300)
        assert stream.has_ended_well and len(stream.retries) == 2
    assert len({stream.retries[1] for stream in open_streams}) > 1, "they would all come back in one instant"
    push_server.stop()
    push_server.start()
