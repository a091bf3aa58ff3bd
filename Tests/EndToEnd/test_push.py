"""Documents as server-sent events: at once, resumable, never more than the newest, bounded, and ended in order."""

import http.client
import json
import queue
import random
import re
import signal
import threading
import time

import pytest
from pinledger import Server, from_now, host_body, within
from wire import Wire, get, resident_bytes

APP = "com.example.push"
STREAM = f"/client/v1/apps/{APP}/stream"


@pytest.fixture(scope="module")
def server():
    server = Server()
    server.arguments += ["--client-streams", "8", "--streams-per-network", "0", "--idle-timeout", "2"]
    server.arguments += ["--write-timeout", "3", "--drain-timeout", "5"]
    try:
        server.start().api.make_app(APP, "api.example.com")
        yield server
        assert "code=request_failed" not in server.tail()
    finally:
        server.destroy()


class Stream:
    """A stream of documents, read in a thread of its own."""

    def __init__(self, port: int, app: str = APP, **headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.connection.request("GET", f"/client/v1/apps/{app}/stream", headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.headers["Content-Type"] == "text/event-stream"
        assert self.response.headers["Cache-Control"] == "no-store"
        self.events: queue.Queue = queue.Queue()
        self.comments: list[str] = []
        self.retries: list[int] = []
        self.has_ended_well = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                name, _, value = line.partition(": ")
                if line.startswith(":"):
                    self.comments.append(line[2:])
                elif name == "retry":
                    self.retries.append(int(value))
                elif line:
                    fields[name] = value
                elif fields:
                    self.events.put((time.monotonic(), fields))
                    fields = {}
            self.has_ended_well = True
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.events.put(None)

    def take(self, seconds: float = 60) -> dict:
        event = self.events.get(timeout=seconds)
        assert event is not None, "the stream ended"
        return event[1]

    def is_silent(self, seconds: float = 0.3) -> bool:
        try:
            return self.events.get(timeout=seconds) is None
        except queue.Empty:
            return True

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_) -> None:
        if self.response.fp is not None:
            self.response.fp.raw._sock.shutdown(2)
        self.thread.join(5)
        self.connection.close()


def streams(server) -> int:
    return server.api.get("/readyz").json["client_streams"]


def wait_for_streams(server, count: int) -> None:
    deadline = time.monotonic() + 10
    while streams(server) != count:
        assert time.monotonic() < deadline, f"{streams(server)} streams are open, not {count}"
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def none_is_left(server):
    yield
    if server.is_running:
        wait_for_streams(server, 0)


# Heads that the door takes, and others that go to the router: the same comes of them.
@pytest.fixture(params=[{}, {"Accept-Language": "de", "Connection": "Keep-Alive, X"}], ids=["door", "router"])
def fields(request):
    return request.param


def test_a_stream_begins_with_the_current_document(server, fields):
    document = server.api.document(APP)
    with Stream(server.port, **fields) as stream:
        first = stream.take()
        assert first["event"] == "document" and first["data"] == document.body.decode()
        assert f'"{first["id"]}"' == document["ETag"]
        assert stream.is_silent()
        assert stream.comments[0] == "pinledger" and 500 <= stream.retries[0] <= 10_000


def test_a_client_that_has_the_current_document_gets_the_next(server, fields):
    with Stream(server.port, **fields) as stream:
        current = stream.take()["id"]
    with Stream(server.port, **fields, **{"Last-Event-ID": current}) as stream:
        assert stream.is_silent()
        server.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"Shop {random.random()}"})
        event = stream.take()
        assert event["data"] == server.api.document(APP).body.decode() and event["id"] != current
    for other in ["0-0", "x", current]:
        with Stream(server.port, **fields, **{"Last-Event-ID": other}) as stream:
            assert stream.take()["id"] == event["id"]


def test_a_kill_switch_of_every_scope_arrives_at_once(server, fields):
    switches = {
        "/v1/kill-switch": {},
        f"/v1/apps/{APP}/kill-switch": {},
        f"/v1/apps/{APP}/kill-switch?minimum=3.1.0&maximum=3.1.2": {"versions": {"minimum": "3.1.0", "maximum": "3.1.2"}},
        f"/v1/apps/{APP}/hosts/api.example.com/kill-switch": {},
    }
    with Stream(server.port, **fields) as stream:
        stream.take()
        for path, more in switches.items():
            body = {"expires_at": from_now(hours=1), "reason": "incident", **more}
            server.api.must("PUT", path.split("?")[0], body)
            answered = time.monotonic()
            at, event = stream.events.get(timeout=60)
            assert at - answered < within(0.5)
            payload = server.api.payload(APP)
            assert event["data"] == server.api.document(APP).body.decode()
            assert len(payload["kill_switches"]) == 1
            assert payload["kill_switches"][0].get("versions") == more.get("versions")
            server.api.must("DELETE", path)
            assert stream.take()["id"].startswith(f"{payload['version'] + 1}.")


def test_only_news_of_the_own_app_arrives(server, fields):
    other = f"com.example.push.other{len(fields)}"
    server.api.make_app(other, "api.example.com")
    with Stream(server.port, **fields) as stream:
        stream.take()
        server.api.must("PATCH", f"/v1/apps/{other}", {"display_name": "Other"})
        assert stream.is_silent()


def test_a_stream_outlives_the_idle_time_and_sends_heartbeats(server, fields):
    with Stream(server.port, **fields) as stream:
        stream.take()
        deadline = time.monotonic() + 17
        while stream.comments.count("alive") < 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert "alive" in stream.comments and stream.thread.is_alive()


def test_a_stream_of_an_unknown_app_is_refused_as_its_document_is(server):
    answer = server.api.request("GET", "/client/v1/apps/com.example.nobody/stream", token=None)
    assert answer.status == 404 and answer.json["type"] == "/problems/app_unknown"
    assert answer["Cache-Control"] == "public, max-age=5"
    head = server.api.request("HEAD", STREAM, token=None)
    assert head.status == 200 and head["Content-Type"] == "text/event-stream"
    assert server.api.request("GET", f"{STREAM}?x=1", token=None).json["type"] == "/problems/unknown_parameter"


def test_there_are_no_more_streams_than_allowed(server):
    open_streams = [Stream(server.port, **({} if number % 2 else {"Connection": "x"})) for number in range(8)]
    try:
        assert streams(server) == 8
        answer = server.api.request("GET", STREAM, token=None)
        assert answer.status == 503 and answer.json["type"] == "/problems/overloaded"
        assert 5 <= int(answer["Retry-After"]) <= 30
        assert server.api.document(APP).status == 200
        open_streams.pop().__exit__()
        wait_for_streams(server, 7)
        with Stream(server.port) as stream:
            stream.take()
    finally:
        for stream in open_streams:
            stream.__exit__()


def test_a_client_that_sends_more_ends_its_stream(server):
    with Wire(server.port) as wire:
        wire.send(get(STREAM))
        time.sleep(0.3)
        wire.send(get(STREAM))
        assert wire.seconds_to_end() < within(2)
    with Wire(server.port) as wire:
        wire.send(get(STREAM))
        time.sleep(0.3)
        assert wire.finish().seconds_to_end() < within(2)


def make_large_app(server, app: str) -> None:
    """An app whose documents of some tens of kilobytes soon fill a small socket's buffer."""
    server.api.must("POST", "/v1/apps", {"app": app})
    for number in range(80):
        server.api.must("POST", f"/v1/apps/{app}/hosts", host_body(f"api{number}.example.com"))
    assert 20_000 < len(server.api.document(app).body) <= 65_536


def change(server, app: str, count: int, quick: Stream) -> int:
    """Changes the app so many times, each of which `quick` gets; the last version."""
    for number in range(count):
        version = server.api.must("PATCH", f"/v1/apps/{app}", {"display_name": f"{number}"}).json["version"]
        quick.take(30)
    return version


def test_a_client_that_reads_late_gets_the_document_under_way_and_then_the_newest():
    """Large documents, one after the other: the slow client's place is its socket's buffer."""
    server, app = Server(), "com.example.push.large"
    # However long the changes take on a busy machine: the client is not given up before it reads.
    server.arguments += ["--write-timeout", "120"]
    try:
        make_large_app(server.start(), app)
        with Stream(server.port, app) as quick, Wire(server.port, receive_buffer=4096, ) as slow:
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


def test_a_client_that_never_reads_is_given_up(server):
    app = "com.example.push.unread"
    make_large_app(server, app)
    with Stream(server.port, app) as quick, Wire(server.port, receive_buffer=4096) as slow:
        quick.take()
        slow.send(get(f"/client/v1/apps/{app}/stream"))
        wait_for_streams(server, 2)
        change(server, app, 40, quick)
        wait_for_streams(server, 1)


def test_a_document_that_is_too_large_is_only_named(server):
    app, api = "com.example.push.huge", server.api
    api.must("POST", "/v1/apps", {"app": app})
    number = 0
    while len(api.document(app).body) <= 65_536:
        for _ in range(20):
            api.must("POST", f"/v1/apps/{app}/hosts", host_body(f"api{number}.example.com"))
            number += 1
    with Stream(server.port, app) as stream:
        event = stream.take()
        document = api.document(app)
        assert json.loads(event["data"]) == {"etag": document["ETag"], "version": api.payload(app)["version"]}


def test_streams_end_in_order_when_the_node_stops(server, fields):
    open_streams = [Stream(server.port, **fields) for _ in range(6)]
    for stream in open_streams:
        stream.take()
    started = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    for stream in open_streams:
        stream.thread.join(5)
        assert stream.has_ended_well and len(stream.retries) == 2
    assert len({stream.retries[1] for stream in open_streams}) > 1, "they would all come back in one instant"
    server.stop()
    assert time.monotonic() - started < within(8)
    server.start()
