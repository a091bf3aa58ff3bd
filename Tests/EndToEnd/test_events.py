"""The ledger as server-sent events: live, complete over interruptions, for one app or all."""

import http.client
import json
import queue
import threading
import time

import pytest
from pinledger import API, EVERYTHING, from_now, in_threads, pin_of, unhurried, within

APP, OTHER, HOST = "com.example.stream", "com.example.stream.other", "api.example.com"


@pytest.fixture(scope="module", autouse=True)
def apps(server):
    server.api.make_app(APP, HOST)
    server.api.make_app(OTHER, HOST)


class Stream:
    """A subscription, read in a thread of its own.

    The server records who reads the ledger at times of its own choosing: only a `whole` stream has those events.
    """

    def __init__(self, api, query: str = "", *, whole: bool = False, **headers):
        self.whole = whole
        self.connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=120)
        self.connection.request(
            "GET", f"/v1/events{query}", headers={"Authorization": f"Bearer {api.token}", **headers}
        )
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.headers["Content-Type"] == "text/event-stream"
        assert self.response.headers["Cache-Control"] == "no-store"
        self.events: queue.Queue = queue.Queue()
        self.comments: queue.Queue = queue.Queue()
        # The comment at the beginning says that the subscription stands: what is recorded from now on is heard.
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        assert self.comments.get(timeout=60) == "pinledger"

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                if line.startswith(":"):
                    self.comments.put(line[1:].strip())
                elif line:
                    name, _, value = line.partition(": ")
                    assert name not in fields
                    fields[name] = value
                elif fields:
                    if self.whole or fields["event"] != "RequestsAudited":
                        self.events.put((time.monotonic(), fields))
                    fields = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.events.put(None)

    def take(self, count: int, seconds: float = 60) -> list[dict]:
        taken = []
        for _ in range(count):
            event = self.events.get(timeout=seconds)
            assert event is not None, "the stream ended"
            taken.append(event[1])
        return taken

    def is_silent(self, seconds: float = 0.3) -> bool:
        try:
            return self.events.get(timeout=seconds) is None
        except queue.Empty:
            return True

    def close(self) -> None:
        # Ends the blocked read as well; a stream that has ended has let go of its socket.
        if self.response.fp is not None:
            self.response.fp.raw._sock.shutdown(2)
        self.thread.join(5)
        self.connection.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def add_pin(api, app: str, text: str) -> list[dict]:
    body = {"pin": pin_of(text), "role": "backup"}
    return api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", body).json["events"]


def assert_same(received: list[dict], events: list[dict]) -> None:
    assert [int(fields["id"]) for fields in received] == [event["position"] for event in events]
    assert [fields["event"] for fields in received] == [event["type"] for event in events]
    assert [json.loads(fields["data"]) for fields in received] == events
    assert all(set(fields) == {"id", "event", "data"} for fields in received)


def test_a_change_arrives_at_once_in_the_stream(api):
    with Stream(api) as stream:
        assert stream.is_silent(), "a stream begins with what is new"
        started = time.monotonic()
        events = add_pin(api, APP, "live")
        at, first = stream.events.get(timeout=60)
        assert at - started < within(1)
        assert_same([first, *stream.take(1)], events)
        assert stream.is_silent()


def test_a_stream_resumes_after_the_last_event_that_was_received(api):
    with Stream(api) as stream:
        heard = add_pin(api, APP, "before the break")
        received = stream.take(len(heard))
    missed = add_pin(api, APP, "in the break") + add_pin(api, OTHER, "in the break")
    with Stream(api, **{"Last-Event-ID": received[0]["id"]}) as stream:
        assert_same(stream.take(len(heard) - 1 + len(missed)), heard[1:] + missed)
        events = add_pin(api, APP, "after the break")
        assert_same(stream.take(2), events)
    with Stream(api, f"?after={received[0]['id']}") as stream:
        assert_same(stream.take(len(heard) - 1), heard[1:])
    with Stream(api, "?after=0", **{"Last-Event-ID": received[0]["id"]}) as stream:
        assert_same(stream.take(1), heard[1:2])


def test_a_stream_from_the_beginning_is_the_whole_ledger(api):
    history = api.history()
    with Stream(api, "?after=0", whole=True) as stream:
        assert_same(stream.take(len(history) - 1), history[1:])


def test_a_stream_of_one_app_has_its_events_alone(api):
    with Stream(api, f"?app={APP}") as stream, Stream(api, f"?app={OTHER}&after=0") as other:
        mine = add_pin(api, APP, "filtered")
        theirs = add_pin(api, OTHER, "filtered")
        mine += add_pin(api, APP, "filtered again")
        assert_same(stream.take(len(mine)), mine)
        assert stream.is_silent()
        received = other.take(len(api.history(f"/v1/apps/{OTHER}/history")))
        assert {json.loads(fields["data"])["stream"] for fields in received} == {f"app/{OTHER}"}
        assert [json.loads(fields["data"]) for fields in received[-2:]] == theirs


def test_nothing_is_lost_or_repeated_while_a_reader_comes_and_goes(api):
    start = api.position()
    written: list[dict] = []

    def write() -> None:
        for number in range(60):
            written.extend(add_pin(api, APP, f"burst {number}"))

    writer = threading.Thread(target=write)
    writer.start()
    received, last = [], str(start - 1)
    while len(received) < 120:
        with Stream(api, **{"Last-Event-ID": last}) as stream:
            received += stream.take(min(7, 120 - len(received)))
            last = received[-1]["id"]
    writer.join()
    assert_same(received, written)


def test_head_answers_without_a_stream(api):
    answer = api.request("HEAD", "/v1/events")
    assert (answer.status, answer.body, answer["Content-Type"]) == (200, b"", "text/event-stream")


def test_readers_that_leave_give_their_places_back(api):
    """Two hundred streams may be open at once; three hundred one after the other are no trouble."""
    for _ in range(300):
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)
        connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {api.token}"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        response.close()
        connection.close()
    with Stream(api) as stream:
        events = add_pin(api, OTHER, "after three hundred")
        assert_same(stream.take(2), events)


def test_a_hundred_streams_receive_the_same_and_none_is_cut(api):
    """Many more than the database has connections, and more than may wait for one."""
    streams = in_threads(100, lambda _: Stream(api))
    try:
        events = [event for number in range(20) for event in add_pin(api, APP, f"to a hundred {number}")]
        for stream in streams:
            assert_same(stream.take(len(events)), events)
    finally:
        for stream in streams:
            stream.close()
    streams = in_threads(100, lambda number: Stream(api, f"?after={events[number % 30]['position'] - 1}"))
    try:
        for number, stream in enumerate(streams):
            missed = events[number % 30 :]
            assert_same(stream.take(len(missed)), missed)
    finally:
        for stream in streams:
            stream.close()


def made_token(api, **body) -> tuple[API, str]:
    answer = api.must("POST", "/v1/tokens", {"grants": EVERYTHING, "name": "reader of a stream"} | body).json
    return API(api.port, answer["token"]), answer["token_id"]


def test_a_stream_ends_when_its_token_is_revoked(api):
    reader, token_id = made_token(api)
    with Stream(reader) as stream:
        events = add_pin(api, APP, "before the token is revoked")
        assert_same(stream.take(2), events)
        api.must("DELETE", f"/v1/tokens/{token_id}")
        add_pin(api, APP, "after the token was revoked")
        assert stream.events.get(timeout=60) is None, "nothing more, and the end"
        stream.thread.join(5)
    assert reader.get("/v1/events").status == 401


def test_a_stream_ends_when_its_token_expires(api):
    seconds = unhurried(2)
    reader, _ = made_token(api, expires_at=from_now(seconds=seconds))
    with Stream(reader) as stream:
        time.sleep(seconds + 0.5)
        add_pin(api, APP, "after the token expired")
        assert stream.events.get(timeout=60) is None
    reader, _ = made_token(api, expires_at=from_now(seconds=unhurried(2)))
    with Stream(reader) as stream:
        # Where nothing is recorded, the next sign of life is due.
        assert stream.events.get(timeout=60) is None
