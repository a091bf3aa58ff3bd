"""HTTP/2 clients that keep something of the server's for themselves: its memory, its streams."""

import time

import pytest
from pinledger import Process, free_port
from test_tls import DATA, DOCUMENT, ROUTED, Streams, arguments, connect, database, directory, frame  # noqa: F401
from test_tls import make_certificate


@pytest.fixture(scope="module")
def node(database, directory):  # noqa: F811
    port = free_port()
    node = Process(
        database.home / "tls-limits.log",
        arguments(database, port, *make_certificate(directory, "limits")) + ["--write-timeout", "2"], port,
    )  # fmt: skip
    node.spawn()
    node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
    yield node
    if node.process is not None:
        node.stop()


def stay(wire: Streams, seconds: float, until) -> float:
    """Keeps the connection busy with frames that take nothing, and reads; how long until `until` holds."""
    began = time.monotonic()
    while not until() and time.monotonic() - began < seconds:
        wire.send(Streams.more(0, 1)).quiet(0.3)
    return time.monotonic() - began


@pytest.mark.parametrize("target", [DOCUMENT, ROUTED, "/problems"])
def test_a_stream_that_takes_nothing_is_closed_in_time(node, target):
    with Streams(node, stream_window=0) as wire:
        streams = list(range(1, 40, 2))
        wire.send(b"".join(Streams.request(stream, target) for stream in streams))
        took = stay(wire, 8, lambda: len(wire.reset) == len(streams))
        assert set(wire.reset) == set(streams), f"{len(wire.reset)} of {len(streams)} closed"
        assert 1 <= took <= 7
        # The connection is none the worse for it.
        wire.send(Streams.request(101, DOCUMENT) + Streams.more(101, 2**20)).wait(101)
        assert wire.status[101] == 200


def test_a_stream_that_takes_a_little_at_a_time_is_served_to_its_end(node):
    with Streams(node, stream_window=100) as wire:
        wire.send(Streams.request(1, ROUTED))
        while 1 not in wire.ended:
            assert wire.step()
            if wire.body.get(1):
                time.sleep(0.01)
                wire.send(Streams.more(1, 100))
        assert wire.status[1] == 200 and not wire.reset


@pytest.mark.parametrize("target", [DOCUMENT, ROUTED])
@pytest.mark.parametrize("sends", [False, True], ids=["nothing more", "bytes without end"])
def test_a_get_whose_body_does_not_end_is_cut_off(node, target, sends):
    """Whoever answers it: from prepared bytes or by the router."""
    with Streams(node) as wire:
        wire.send(Streams.request(1, target, body=True))
        began = time.monotonic()
        wire.socket.settimeout(0.2)
        while 1 not in wire.reset and time.monotonic() - began < 8:
            if sends:
                wire.send(frame(DATA, 0, 1, b"x"))
            try:
                if not wire.step():
                    break
            except TimeoutError:
                pass
        assert 1 in wire.reset, "the stream was left open"
        assert time.monotonic() - began < 7
