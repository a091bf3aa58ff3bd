"""HTTP/2 clients that keep something of the server's for themselves: its memory, its streams, its processor."""

import socket
import struct
import time

import pytest
from pinledger import Process, eventually, free_port
from tls_clients import (
    DATA, DOCUMENT, END_HEADERS, GOAWAY, HEADERS, RESET, ROUTED, WINDOW_UPDATE, Streams, arguments, connect, frame,
    make_certificate,
)  # fmt: skip
from wire import resident_bytes


@pytest.fixture(scope="module")
def node(tls_server, tls_directory):
    port = free_port()
    node = Process(
        tls_server.home / "tls-limits.log",
        arguments(tls_server, port, *make_certificate(tls_directory, "limits"), body=2) + ["--write-timeout", "2"], port,
    )  # fmt: skip
    node.spawn()
    node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
    yield node
    if node.process is not None:
        node.stop()


@pytest.mark.parametrize("target", [DOCUMENT, ROUTED, "/problems"])
def test_a_stream_that_takes_nothing_is_closed(node, target):
    with Streams(node, stream_window=0) as wire:
        streams = list(range(1, 40, 2))
        wire.send(b"".join(Streams.request(stream, target) for stream in streams))
        # The connection is kept busy with frames that take nothing.
        eventually(lambda: len(wire.send(Streams.more(0, 1)).quiet(0.3).reset) == len(streams), "the end of the streams")
        assert set(wire.reset) == set(streams)
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
    """For both kinds of answers: from prepared bytes and by the router."""
    with Streams(node) as wire:
        wire.send(Streams.request(1, target, body=True))

        def is_reset() -> bool:
            if sends and 1 not in wire.reset:
                wire.send(frame(DATA, 0, 1, b"x"))
            return 1 in wire.quiet(0.2).reset

        eventually(is_reset, "the end of the stream")


def test_a_connection_that_takes_nothing_and_says_nothing_ends_with_its_streams(node):
    """Not only when it counts as idle, long after."""
    with Streams(node, stream_window=0) as wire:
        wire.send(Streams.request(1, DOCUMENT) + Streams.request(3, ROUTED))
        wire.until_end()
        assert set(wire.reset) == {1, 3} and wire.error == 0


@pytest.mark.daily
@pytest.mark.parametrize("target", [DOCUMENT, ROUTED])
def test_streams_that_take_nothing_or_send_no_end_last_two_seconds(node, target):
    with Streams(node, stream_window=0) as wire:
        began = time.monotonic()
        wire.send(Streams.request(1, target)).until(lambda: 1 in wire.reset)
        assert 1 <= time.monotonic() - began <= 4
    with Streams(node) as wire:
        began = time.monotonic()
        wire.send(Streams.request(1, target, body=True)).until(lambda: 1 in wire.reset)
        assert 1 <= time.monotonic() - began <= 7


def test_requests_that_are_held_give_way_to_others(tls_server, tls_directory):
    """Those in which nothing moves, when all of them hold too much: long before their time is over."""
    port = free_port()
    options = arguments(tls_server, port, *make_certificate(tls_directory, "memory"))
    options[options.index("--body-timeout") + 1] = "30"
    node = Process(tls_server.home / "tls-memory.log", options + ["--request-memory", "8"], port)
    node.spawn()
    held: list[Streams] = []
    try:
        node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
        before = resident_bytes(node.process.pid)
        for _ in range(20):
            wire = Streams(node, stream_window=0)
            held.append(wire)
            for stream in range(1, 200, 2):
                # Half of them take no answer, half do not end what they send.
                wire.send(Streams.request(stream, ROUTED, body=stream % 4 == 1))
        with Streams(node) as good:
            for stream in range(1, 200, 2):
                good.send(Streams.request(stream, ROUTED)).wait(stream)
                assert good.status[stream] == 200
            assert not good.reset

        def ended() -> int:
            for wire in held:
                try:
                    wire.quiet(0.05)
                except OSError:
                    # It may have ended by now, having nothing left to do.
                    pass
            return sum(len(wire.reset) for wire in held)

        # 8 MiB are room for some 400 of the 2000.
        eventually(lambda: ended() > 1500, "the end of most of them")
        grown = resident_bytes(node.process.pid) - before
        assert grown < 60 << 20, f"{grown >> 20} MiB"
        assert node.said("request_ended")
    finally:
        for wire in held:
            wire.socket.close()
        node.stop()


IDLE_FRAMES = {
    "GOAWAY": frame(GOAWAY, 0, 0, bytes(8)),
    "PRIORITY": frame(2, 0, 1, bytes(3) + b"\x05\x10"),
    "PRIORITY_UPDATE": frame(0x10, 0, 0, bytes(3) + b"\x01u=1"),
    "WINDOW_UPDATE of the connection": Streams.more(0, 1),
    "WINDOW_UPDATE of an answered stream": frame(WINDOW_UPDATE, 0, 1, b"\x00\x00\x00\x01"),
    "an unknown type": frame(0xEE, 0, 0, b"x"),
}


@pytest.mark.parametrize("name", IDLE_FRAMES)
def test_frames_that_ask_for_nothing_have_a_budget(node, name):
    with Streams(node) as wire:
        wire.send(Streams.request(1, DOCUMENT)).wait(1)
        try:
            for _ in range(50):
                wire.send(IDLE_FRAMES[name] * 100)
            wire.until_end()
        except ConnectionError:
            pass
        # NIOHTTP2 counts PRIORITY itself, and a GOAWAY may end the connection before its budget does.
        assert wire.error in ((11,) if name not in ("PRIORITY", "GOAWAY") else (11, 1, 0, None))
        wire.wait_for_end()


def test_a_client_that_asks_and_reads_has_frames_enough(node):
    """A client that opens both windows after each of many small answers, and one that says how urgent each is."""
    with Streams(node) as wire:
        more = b""
        for number in range(600):
            stream = 2 * number + 1
            urgency = frame(0x10, 0, 0, stream.to_bytes(4, "big") + b"u=1")
            wire.send(more + urgency + Streams.request(stream, DOCUMENT)).wait(stream)
            more = Streams.more(stream, 100) + Streams.more(0, 100)
            assert wire.status[stream] == 200


@pytest.fixture
def writer(tls_server, tls_directory):
    """A node that takes reports."""
    port = free_port()
    options = arguments(tls_server, port, *make_certificate(tls_directory, "writer"))
    options.remove("--read-only")
    options += ["--kek-file", str(tls_server.data / "key-encryption-key")]
    node = Process(tls_server.home / f"tls-writer-{port}.log", options, port)
    node.spawn()
    node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
    yield node
    node.stop()


@pytest.mark.parametrize("how", ["too many resets", "a mistake", "a cut"])
def test_requests_that_end_with_their_connection_are_no_errors(writer, how):
    """Requests that wait for the rest of their bodies, while the connection ends in disorder."""
    reports, json = "/client/v1/apps/com.example.tls/reports", ("content-type", "application/json")
    for _ in range(3):
        with Streams(writer) as wire:
            for stream in range(1, 81, 2):
                wire.send(Streams.request(stream, reports, json, method="POST", body=True) + frame(DATA, 0, stream, b"{"))
            wire.quiet(0.2)
            cancel = b"\x00\x00\x00\x08"
            resets = [Streams.request(stream, ROUTED) + frame(RESET, 0, stream, cancel) for stream in range(101, 901, 2)]
            end = {"too many resets": b"".join(resets), "a mistake": frame(HEADERS, END_HEADERS, 0, b"\x82"), "a cut": b""}
            try:
                wire.send(end[how])
                if how == "a cut":
                    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    continue
                wire.until_end()
            except ConnectionError:
                pass
    assert connect(writer).answer_to("/healthz").status == 200
    # After an orderly end the log has all that the requests can say.
    writer.stop()
    assert writer.said("server_stopped") and writer.said("request_failed") == []
