"""The ledger as server-sent events: live, complete over interruptions, for one app or all."""

import http.client
import json
import threading
import time

import pytest
from pinledger import API, EVERYTHING, in_threads, pin_of
from streams import LedgerStream

APP, OTHER, HOST = "com.example.stream", "com.example.stream.other", "api.example.com"


@pytest.fixture(scope="module", autouse=True)
def apps(server):
    server.api.make_app(APP, HOST)
    server.api.make_app(OTHER, HOST)


def add_pin(api, app: str, text: str) -> list[dict]:
    body = {"pin": pin_of(text), "role": "backup"}
    return api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", body).json["events"]


def assert_same(received: list[dict], events: list[dict]) -> None:
    assert [int(fields["id"]) for fields in received] == [event["position"] for event in events]
    assert [fields["event"] for fields in received] == [event["type"] for event in events]
    assert [json.loads(fields["data"]) for fields in received] == events
    assert all(set(fields) == {"id", "event", "data"} for fields in received)


def test_a_change_arrives_at_once_in_the_stream(api):
    with LedgerStream(api) as stream:
        events = add_pin(api, APP, "live")
        assert_same(stream.take(len(events)), events)
        # Nothing came before them, and nothing comes between them and the next.
        events = add_pin(api, APP, "live too")
        assert_same(stream.take(len(events)), events)


@pytest.mark.daily
def test_a_change_arrives_within_a_second(api):
    """Most do: this machine may be busy for a moment."""
    delays, app = [], "com.example.stream.at-once"
    api.make_app(app, HOST)
    with LedgerStream(api) as stream:
        for number in range(9):
            started = time.monotonic()
            events = add_pin(api, app, f"at once {number}")
            at, _ = stream.events.get(timeout=180)
            delays.append(at - started)
            stream.take(len(events) - 1)
    assert sorted(delays)[4] < 1, delays


def test_a_stream_resumes_after_the_last_event_that_was_received(api):
    with LedgerStream(api) as stream:
        heard = add_pin(api, APP, "before the break")
        received = stream.take(len(heard))
    missed = add_pin(api, APP, "in the break") + add_pin(api, OTHER, "in the break")
    with LedgerStream(api, **{"Last-Event-ID": received[0]["id"]}) as stream:
        assert_same(stream.take(len(heard) - 1 + len(missed)), heard[1:] + missed)
        events = add_pin(api, APP, "after the break")
        assert_same(stream.take(2), events)
    with LedgerStream(api, f"?after={received[0]['id']}") as stream:
        assert_same(stream.take(len(heard) - 1), heard[1:])
    with LedgerStream(api, "?after=0", **{"Last-Event-ID": received[0]["id"]}) as stream:
        assert_same(stream.take(1), heard[1:2])


def test_a_stream_from_the_beginning_is_the_whole_ledger(api):
    history = api.history()
    with LedgerStream(api, "?after=0", whole=True) as stream:
        assert_same(stream.take(len(history) - 1), history[1:])


def test_a_stream_of_one_app_has_its_events_alone(api):
    with LedgerStream(api, f"?app={APP}") as stream, LedgerStream(api, f"?app={OTHER}&after=0") as other:
        mine = add_pin(api, APP, "filtered")
        theirs = add_pin(api, OTHER, "filtered")
        mine += add_pin(api, APP, "filtered again")
        assert_same(stream.take(len(mine)), mine)
        mine = add_pin(api, APP, "filtered at last")
        assert_same(stream.take(len(mine)), mine)
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
        with LedgerStream(api, **{"Last-Event-ID": last}) as stream:
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
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=180)
        connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {api.token}"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        response.close()
        connection.close()
    with LedgerStream(api) as stream:
        events = add_pin(api, OTHER, "after three hundred")
        assert_same(stream.take(2), events)


def test_a_hundred_streams_receive_the_same_and_none_is_cut(api):
    """Many more than the database has connections, and more than may wait for one."""
    streams = in_threads(100, lambda _: LedgerStream(api))
    try:
        events = [event for number in range(20) for event in add_pin(api, APP, f"to a hundred {number}")]
        for stream in streams:
            assert_same(stream.take(len(events)), events)
    finally:
        for stream in streams:
            stream.close()
    streams = in_threads(100, lambda number: LedgerStream(api, f"?after={events[number % 30]['position'] - 1}"))
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
    with LedgerStream(reader) as stream:
        events = add_pin(api, APP, "before the token is revoked")
        assert_same(stream.take(2), events)
        api.must("DELETE", f"/v1/tokens/{token_id}")
        add_pin(api, APP, "after the token was revoked")
        assert stream.events.get(timeout=180) is None, "nothing more, and the end"
        stream.thread.join(5)
    assert reader.get("/v1/events").status == 401


def test_a_stream_ends_when_its_token_expires(timed):
    api = timed.api
    api.make_app(APP, HOST)
    reader, _ = made_token(api, expires_at=timed.clock.from_now(hours=1))
    with LedgerStream(reader) as stream:
        timed.forward(hours=1)
        add_pin(api, APP, "after the token expired")
        assert stream.events.get(timeout=180) is None
    reader, _ = made_token(api, expires_at=timed.clock.from_now(hours=1))
    with LedgerStream(reader) as stream:
        # Where nothing is recorded, the next sign of life is due.
        timed.forward(hours=1)
        assert stream.events.get(timeout=180) is None
