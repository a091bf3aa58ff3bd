"""HTTPS on the node itself: ALPN, HTTP/2 and HTTP/1.1, which files are taken, and certificates that are renewed."""

import itertools
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest
from pinledger import BINARY, Process, eventually, free_port
from tls_clients import (
    APP, CONTINUATION, DATA, DOCUMENT, END_HEADERS, END_STREAM, HEADERS, PADDED, PING, PREFACE, PRIORITY, RESET, ROUTED,
    SETTINGS, STREAM, WINDOW_UPDATE, Streams, arguments, block, client_context, connect, frame, make_certificate,
)  # fmt: skip
from wire import Wire, get, resident_bytes


@pytest.fixture(scope="module")
def node(tls_server, tls_directory):
    """A node with a certificate in files of its own, which tests may replace."""
    made = make_certificate(tls_directory, "first")
    for source, name in zip(made, ("served.pem", "served.key")):
        shutil.copy2(source, tls_directory / name)
    port = free_port()
    node = Process(
        tls_server.home / "tls.log", arguments(tls_server, port, tls_directory / "served.pem", tls_directory / "served.key"), port
    )
    node.spawn()
    node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
    yield node
    if node.process is not None:
        node.stop()


@pytest.fixture(scope="module")
def hasty(tls_server, tls_directory):
    """A node that soon ends what is not used."""
    port = free_port()
    options = arguments(tls_server, port, *make_certificate(tls_directory, "hasty"), header=2, idle=3, body=2)
    node = Process(tls_server.home / "tls-hasty.log", options, port)
    node.spawn()
    node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
    yield node
    node.stop()


def common_name(node) -> str:
    """The name in the certificate that a new connection is shown."""
    with connect(node) as wire:
        der = wire.socket.getpeercert(binary_form=True)
    from cryptography import x509

    return x509.load_der_x509_certificate(der).subject.rfc4514_string()


def curl(node, *options: str) -> tuple[str, bytes, bytes]:
    """Version of HTTP, head and body."""
    head = subprocess.run(
        ["curl", "-sk", "--max-time", "10", "-D", "/dev/stderr", *options], capture_output=True, check=True
    )
    version = head.stderr.split(b"\r\n")[0].split(b" ")[0].decode()
    return version, head.stderr, head.stdout


def fields(*pairs: tuple[str, str]) -> bytes:
    """A block of just these fields, each a literal."""
    return b"".join(b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in pair) for pair in pairs)


#: What is sent after the preface, and no request.
BROKEN_HEADS = {
    "a field in capitals": frame(HEADERS, END_HEADERS | END_STREAM, 1, block("/v1/apps", ("X-Upper", "a"))),
    "a field of HTTP/1.1": frame(HEADERS, END_HEADERS | END_STREAM, 1, block("/v1/apps", ("connection", "close"))),
    "no path": frame(HEADERS, END_HEADERS | END_STREAM, 1, fields((":method", "GET"), (":scheme", "https"))),
    "a field that is not in the table": frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\x01"),
    "a block that nothing continues": frame(HEADERS, END_STREAM, 1, block("/v1/apps")) + frame(PING, 0, 0, b"12345678"),
    "a continuation of nothing": frame(CONTINUATION, END_HEADERS, 1, block("/v1/apps")),
}


@pytest.mark.parametrize("name", BROKEN_HEADS)
def test_a_head_over_http2_that_cannot_be_read_is_recorded(tls_server, tls_directory, name):
    def records() -> list[dict]:
        events = tls_server.api.history(stream="audit")
        found = [record for event in events for record in event["data"]["records"]]
        return [record for record in found if "operation" not in record and record["address"] == "127.0.0.1"]

    port = free_port()
    options = arguments(tls_server, port, *make_certificate(tls_directory, "broken"))
    node = Process(tls_server.home / "tls-broken.log", options, port)
    node.spawn()
    node.wait_until(lambda: connect(node).answer_to("/healthz").status == 200)
    try:
        before = len(records())
        with Streams(node) as streams:
            streams.send(BROKEN_HEADS[name]).until_end()
        eventually(lambda: len(records()) > before, "the record")
        record = records()[-1]
        assert (record["outcome"], record["problem"], record["status"]) == ("refused", "malformed_request", 400)
    finally:
        node.stop()


# MARK: Protocols


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1"), (["http/1.1", "h2"], "h2"), ([], None)],
)
def test_the_protocol_is_chosen_by_alpn(node, offered, chosen):
    with connect(node, *offered) as wire:
        assert wire.socket.selected_alpn_protocol() == chosen
        assert wire.socket.version() in ("TLSv1.2", "TLSv1.3")
        if chosen != "h2":
            assert wire.answer_to(DOCUMENT).status == 200


def test_tls_1_2_is_spoken_and_nothing_older(node):
    context = client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with Wire(node.port, wrap=lambda plain: context.wrap_socket(plain)) as wire:
        assert wire.socket.version() == "TLSv1.2"
    context = client_context()
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Wire(node.port, wrap=lambda plain: context.wrap_socket(plain)).send(get(DOCUMENT))


def test_plain_http_on_a_tls_port_gets_no_answer(node):
    with Wire(node.port) as wire:
        wire.send(get(DOCUMENT))
        wire.wait_for_end()
        assert b"HTTP" not in wire.received


def test_http_1_over_tls_answers_as_plain_http_does(node, tls_server):
    with connect(node, "http/1.1") as secure, Wire(tls_server.port) as plain:
        for fields in ([], ["Accept-Encoding: gzip"], ["Accept-Encoding: gzip"], ["If-None-Match: *"]):
            expected = plain.send(get(DOCUMENT, *fields)).answer()
            assert secure.answer_to(DOCUMENT, *fields).without("date") == expected.without("date")
        pipeline = secure.send((get(DOCUMENT) + get("/healthz")) * 10)
        assert [pipeline.answer()["Content-Type"] for _ in range(20)] == ["application/jose", "application/json"] * 10


@pytest.mark.parametrize("method", [[], ["-I"]])
@pytest.mark.parametrize("fields", [[], ["-H", "Accept-Encoding: br"], ["-H", "If-None-Match: *"], ["-H", "Range: x"]])
def test_http_2_gives_the_same_answers_prepared_or_routed(node, method, fields):
    base = f"https://localhost:{node.port}"
    options = ["--http2", "--resolve", f"localhost:{node.port}:127.0.0.1", *method, *fields]

    def answer(target: str):
        version, head, body = curl(node, *options, base + target)
        assert version == "HTTP/2"
        lines = [line for line in head.split(b"\r\n") if line and not line.lower().startswith(b"date:")]
        assert any(line.lower().startswith(b"date:") for line in head.split(b"\r\n"))
        # With -I the head is printed in the body's place.
        return sorted(lines), b"" if method else body

    routed = answer(ROUTED)
    assert answer(DOCUMENT) == routed
    expected = b"HTTP/2 304 " if "If-None-Match: *" in fields else b"HTTP/2 200 "
    assert expected in [line + b" " if not line.endswith(b" ") else line for line in routed[0]]


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_documents_are_pushed_over_tls_as_another_node_publishes_them(node, tls_server, version):
    listening = subprocess.Popen(
        ["curl", "-skN", "--max-time", "20", version, f"https://127.0.0.1:{node.port}/client/v1/apps/{APP}/stream"],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert listening.stdout

        def next_document() -> str:
            while line := listening.stdout.readline().decode():
                if line.startswith("data: "):
                    return line.removeprefix("data: ").rstrip("\n")
            raise AssertionError("the stream ended")

        assert next_document() == tls_server.api.document(APP).body.decode()
        tls_server.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"Pushed {version}"})
        assert next_document() == tls_server.api.document(APP).body.decode()
    finally:
        listening.kill()
        listening.wait()


def test_http_2_answers_many_streams(node):
    done = subprocess.run(
        ["h2load", "-n", "3000", "-c", "5", "-m", "50", f"https://127.0.0.1:{node.port}{DOCUMENT}"]
        + [f"https://127.0.0.1:{node.port}/healthz"],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert "3000 succeeded, 0 failed, 0 errored, 0 timeout" in done.stdout, done.stdout
    assert "status codes: 3000 2xx" in done.stdout


UNKNOWN = "/client/v1/apps/com.example.nobody/document"


def document(node) -> bytes:
    with connect(node) as wire:
        return wire.answer_to(DOCUMENT).body


# The window that a connection begins with is the router's alone; what comes on top is for prepared answers too.
@pytest.mark.parametrize("window", [0, 2**24])
def test_prepared_and_routed_streams_share_a_connection(node, window):
    body = document(node)
    with Streams(node, window=window) as wire:
        expected = {}
        sent = b""
        for number in range(10):
            stream = 1 + 14 * number
            for offset, target, method, status in [
                (0, DOCUMENT, "GET", 200), (2, ROUTED, "GET", 200), (4, "/healthz", "GET", 200), (6, UNKNOWN, "GET", 404),
                (8, DOCUMENT, "HEAD", 200), (10, UNKNOWN, "HEAD", 404), (12, ROUTED, "HEAD", 200),
            ]:  # fmt: skip
                # Each block changes the table that the next one refers to.
                sent += Streams.request(stream + offset, target, method=method, indexing=0x40)
                expected[stream + offset] = (status, target, method)
        wire.send(sent).wait(*expected)
        for stream, (status, target, method) in expected.items():
            assert wire.status[stream] == status, (stream, target)
            if method == "HEAD":
                assert wire.body[stream] == b""
            elif target in (DOCUMENT, ROUTED):
                assert wire.body[stream] == body
            else:
                assert wire.body[stream].startswith(b"{")


def test_fields_that_refer_to_earlier_ones_are_understood_across_prepared_and_routed_streams(node):
    with Streams(node) as wire:
        # 62 is the field that was remembered last: the path, then the authority, the scheme and the method.
        wire.send(Streams.request(1, DOCUMENT, indexing=0x40) + frame(HEADERS, 5, 3, b"\xc1\xc0\xbf\xbe"))
        wire.send(Streams.request(5, "/healthz", indexing=0x40) + frame(HEADERS, 5, 7, b"\xc5\xc4\xc3\xc2"))
        wire.send(frame(HEADERS, 5, 9, b"\xc1\xc0\xbf\xbe")).wait(1, 3, 5, 7, 9)
        assert set(wire.status.values()) == {200}
        assert wire.body[1] == wire.body[3] == wire.body[7] == document(node)
        assert wire.body[5] == wire.body[9] != wire.body[1]


def test_conditional_requests_are_answered_over_http_2(node):
    with connect(node) as plain:
        tag = plain.answer_to(DOCUMENT)["ETag"]
    with Streams(node) as wire:
        for stream, target, condition in [
            (1, DOCUMENT, tag), (3, ROUTED, tag), (5, DOCUMENT, '"other"'), (7, ROUTED, '"other"'),
            (9, DOCUMENT, f'"other", {tag}'), (11, ROUTED, f'"other", {tag}'),
        ]:  # fmt: skip
            wire.send(Streams.request(stream, target, ("if-none-match", condition)))
        wire.send(Streams.request(13, DOCUMENT, ("if-none-match", '"other"'), ("if-none-match", tag)))
        wire.wait(1, 3, 5, 7, 9, 11, 13)
        assert wire.status == {1: 304, 3: 304, 5: 200, 7: 200, 9: 304, 11: 304, 13: 304}
        assert wire.body[1] == wire.body[3] == b"" and wire.body[5] == wire.body[7] == document(node)


def test_a_request_in_pieces_is_answered(node):
    """Frames split anywhere, blocks in continuations, padding and priorities."""
    whole = block(DOCUMENT)
    with Streams(node) as wire:
        for byte in Streams.request(1, DOCUMENT):
            wire.send(bytes([byte]))
        wire.send(frame(HEADERS, END_STREAM, 3, whole[:10]) + frame(CONTINUATION, 0, 3, whole[10:20]))
        wire.send(frame(CONTINUATION, END_HEADERS, 3, whole[20:]))
        flags = END_STREAM | END_HEADERS | PADDED | PRIORITY
        wire.send(frame(HEADERS, flags, 5, b"\x07" + bytes(5) + whole + bytes(7)))
        routed = block("/healthz")
        wire.send(frame(HEADERS, flags, 7, b"\x07" + bytes(5) + routed + bytes(7)))
        wire.send(frame(HEADERS, END_STREAM, 9, routed[:1]) + frame(CONTINUATION, END_HEADERS, 9, routed[1:]))
        wire.wait(1, 3, 5, 7, 9)
        assert wire.body[1] == wire.body[3] == wire.body[5] == document(node)
        assert wire.body[7] == wire.body[9] and set(wire.status.values()) == {200}


def test_a_request_with_a_body_for_a_document_is_the_routers(node):
    with Streams(node) as wire:
        wire.send(Streams.request(1, DOCUMENT, body=True) + frame(DATA, END_STREAM, 1, b"x" * 100))
        wire.send(Streams.request(3, DOCUMENT, ("content-length", "3"), body=True))
        wire.send(Streams.request(5, DOCUMENT))
        wire.send(frame(DATA, END_STREAM, 3, b"abc"))
        wire.wait(1, 3, 5)
        assert wire.status[1] == wire.status[3] == wire.status[5]
        assert wire.body[1] == wire.body[3] == wire.body[5] == document(node)


# MARK: Flow control


def test_a_tiny_window_gets_the_whole_body_piece_by_piece(node):
    body = document(node)
    with Streams(node, stream_window=100) as wire:
        wire.send(Streams.request(1, DOCUMENT)).until(lambda: len(wire.body.get(1, b"")) >= 100).quiet(0.3)
        assert wire.status[1] == 200 and wire.body[1] == body[:100]
        # The connection is not held up by the stream.
        wire.send(Streams.request(3, DOCUMENT, method="HEAD") + Streams.request(5, DOCUMENT, ("if-none-match", "*")))
        wire.wait(3, 5)
        assert 1 not in wire.ended
        while 1 not in wire.ended:
            had = len(wire.body[1])
            wire.send(Streams.more(1, 50))
            while len(wire.body[1]) < min(had + 50, len(body)) or (len(wire.body[1]) == len(body) and 1 not in wire.ended):
                assert wire.step()
            assert len(wire.body[1]) <= had + 50
        assert wire.body[1] == body


def test_prepared_and_routed_streams_together_keep_to_a_connections_window(node):
    """What the client takes is never overdrawn, however much is asked for, and all of it is used."""
    body = document(node)
    extra = 10 * len(body)
    targets = [DOCUMENT, ROUTED, DOCUMENT]
    with Streams(node, window=extra) as wire:
        left, stream, streams = 65_535 + extra, 1, []
        while left > -5 * len(body):
            wire.send(Streams.request(stream, targets[len(streams) % 3]))
            streams.append(stream)
            left -= len(body)
            stream += 2
            # Not more at once than may be open.
            if len(streams) % 50 == 0:
                wire.quiet(0.2)
        wire.until(lambda: sum(map(len, wire.body.values())) > 65_535 + extra - len(body)).quiet(0.3)
        taken = sum(map(len, wire.body.values()))
        assert taken <= 65_535 + extra
        assert taken > 65_535 + extra - len(body)
        wire.send(Streams.more(0, 2**20)).wait(*streams)
        assert {wire.body[stream] for stream in streams} == {body}
        # Later updates of the connection's window are for all streams.
        wire.send(Streams.request(stream, DOCUMENT) + Streams.request(stream + 2, ROUTED)).wait(stream, stream + 2)


def large_document(node, tls_server) -> tuple[str, int]:
    """Where a document of some sixty kilobytes is served, and its size."""
    app = "com.example.large"
    tls_server.api.make_app(app, *(f"h{number}.example.com" for number in range(150)))
    target = f"/client/v1/apps/{app}/document"
    wanted = tls_server.api.document(app).body

    def is_served() -> bool:
        with connect(node) as wire:
            answer = wire.answer_to(target)
        return answer.status == 200 and answer.body == wanted

    eventually(is_served, "the document on the other node")
    return target, len(wanted)


def test_windows_that_are_never_opened_cost_little(node, tls_server):
    """Fifty connections with a hundred streams each that take nothing: what waits is not copied."""
    target, size = large_document(node, tls_server)
    # A stream has its own price, some ten kilobytes: only with a large document does a copy tell.
    limit = 50 * 100 * size // 2
    before = resident_bytes(node.process.pid)
    wires = [Streams(node, stream_window=0) for _ in range(50)]
    try:
        for wire in wires:
            wire.send(b"".join(Streams.request(stream, target) for stream in range(1, 200, 2)))
        for wire in wires:
            wire.until(lambda: len(wire.status) == 100)
            assert not wire.ended
        assert resident_bytes(node.process.pid) - before < limit
        # A client that reads nothing at all is not read from forever.
        with Streams(node, receive_buffer=4096) as wire:
            wire.socket.settimeout(0.5)
            try:
                for stream in range(1, 200_000, 2):
                    wire.send(Streams.request(stream, DOCUMENT))
            except OSError:
                pass
        assert resident_bytes(node.process.pid) - before < limit
        assert connect(node).answer_to(DOCUMENT).status == 200
    finally:
        for wire in wires:
            wire.socket.close()


@pytest.mark.parametrize("target", [DOCUMENT, ROUTED])
def test_a_window_that_overflows_ends_the_connection(node, target):
    with Streams(node) as wire:
        wire.send(Streams.request(1, target)).wait(1)
        wire.send(Streams.more(0, 2**31 - 1)).until_end()
        assert wire.error == 3


# MARK: Limits


def test_a_connection_without_a_handshake_is_closed(hasty):
    with Wire(hasty.port) as silent, Wire(hasty.port) as begun:
        # The record header of a ClientHello whose body never comes.
        begun.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        silent.wait_for_end()
        begun.wait_for_end()


@pytest.mark.daily
def test_connections_are_closed_when_their_time_is_over(hasty):
    """Two seconds for a handshake and a head, three without a request, and as much again for a client that is asked to go."""
    with Wire(hasty.port) as silent:
        assert 1 < silent.seconds_to_end() < 4
    with connect(hasty, "h2") as headless:
        assert 1 < headless.seconds_to_end() < 4
    with connect(hasty, "http/1.1") as idle:
        assert idle.answer_to(DOCUMENT).status == 200
        assert 2 < idle.seconds_to_end() < 5
    with connect(hasty, "h2") as asked:
        asked.send(PREFACE + frame(SETTINGS, 0, 0))
        assert 3 < asked.seconds_to_end() < 8


def test_idle_connections_are_closed(hasty):
    with connect(hasty, "http/1.1") as one, connect(hasty, "h2") as two, connect(hasty, "h2") as three:
        three.send(PREFACE + frame(SETTINGS, 0, 0))
        assert one.answer_to(DOCUMENT).status == 200
        # No preface within the time for a head.
        two.wait_for_end()
        one.wait_for_end()
        # Asked to go after the idle time, and closed after as much again because it does not answer.
        three.wait_for_end()


@pytest.mark.parametrize("target", ["/", DOCUMENT])
def test_streams_that_are_opened_only_to_be_reset_end_the_connection(node, target):
    """Rapid reset (CVE-2023-44487): the connection is closed rather than served forever."""
    with Streams(node) as wire:
        try:
            for stream in range(1, 4001, 2):
                wire.send(Streams.request(stream, target) + frame(RESET, 0, stream, (8).to_bytes(4, "big")))
        except OSError:
            pass
        wire.wait_for_end()
    assert connect(node).answer_to("/healthz").status == 200


def test_a_stream_may_be_reset_half_way(node):
    body = document(node)
    with Streams(node, stream_window=100) as wire:
        wire.send(Streams.request(1, DOCUMENT) + Streams.request(3, ROUTED))
        wire.until(lambda: all(len(wire.body.get(stream, b"")) >= 100 for stream in (1, 3))).quiet(0.3)
        assert len(wire.body[1]) == len(wire.body[3]) == 100
        wire.send(b"".join(frame(RESET, 0, stream, (8).to_bytes(4, "big")) for stream in (1, 3)))
        # Answered in one piece, and reset or given more while the end is under way.
        wire.send(frame(SETTINGS, 0, 0, (4).to_bytes(2, "big") + (2**20).to_bytes(4, "big")))
        wire.send(Streams.request(5, DOCUMENT) + frame(RESET, 0, 5, (8).to_bytes(4, "big")) + Streams.more(5, 10))
        wire.send(Streams.request(7, ROUTED) + Streams.request(9, DOCUMENT)).wait(7, 9)
        wire.send(frame(RESET, 0, 5, (8).to_bytes(4, "big")) + frame(RESET, 0, 9, (8).to_bytes(4, "big")))
        wire.send(Streams.request(11, "/healthz")).wait(11)
        assert wire.body[7] == wire.body[9] == body and wire.status[11] == 200 and wire.last is None
        assert not wire.ended & {1, 3}


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        # A stream that was used before; one that belongs to the server; a body behind the end.
        (Streams.request(1, DOCUMENT), 1),
        (Streams.request(2, DOCUMENT), 1),
        (frame(DATA, END_STREAM, 1, b"x"), 5),
        # Another frame inside a block, a block without a beginning, and one that means nothing.
        (frame(HEADERS, END_STREAM, 3, block(DOCUMENT)) + frame(PING, 0, 0, bytes(8)), 1),
        (frame(CONTINUATION, END_HEADERS, 3, block(DOCUMENT)), 1),
        (frame(HEADERS, END_STREAM | END_HEADERS, 3, b"\xff\xff\xff\x7f"), 9),
        # Frames that are too long or whose padding is.
        (frame(HEADERS, END_STREAM | END_HEADERS, 3, bytes(16_385)), 6),
        (frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 3, b"\xff" + block(DOCUMENT)), 1),
        (Streams.more(0, 0), 1),
        (frame(WINDOW_UPDATE, 0, 99, (1).to_bytes(4, "big")), 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", [DOCUMENT, ROUTED])
def test_bytes_that_are_not_http_2_end_the_connection(node, sent, error, target):
    with Streams(node) as wire:
        wire.send(Streams.request(1, target)).wait(1)
        wire.send(sent).until_end()
        assert wire.error == error


def test_header_blocks_without_an_end_are_not_collected(node):
    with Streams(node) as wire:
        wire.send(frame(HEADERS, END_STREAM, 1, block(DOCUMENT)))
        try:
            for _ in range(100):
                wire.send(frame(CONTINUATION, 0, 1, b"\x00\x01a\x7f\x80\x1e" + b"a" * 3967))
        except OSError:
            pass
        wire.wait_for_end()


def test_small_header_blocks_that_expand_greatly_are_refused(node):
    """One field of four thousand bytes, referred to a thousand times."""
    with Streams(node) as wire:
        large = block(DOCUMENT) + b"\x40\x01a\x7f\x81\x1e" + b"a" * 3968
        wire.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, large)).wait(1)
        wire.send(frame(HEADERS, END_STREAM | END_HEADERS, 3, block(DOCUMENT) + b"\xbe" * 1000))
        wire.wait_for_end()


@pytest.mark.daily
def test_a_connection_in_use_is_not_idle(hasty):
    """The idle time counts from the last answer, prepared or routed."""
    with Streams(hasty) as prepared, Streams(hasty) as routed:
        for stream in range(1, 11, 2):
            prepared.send(Streams.request(stream, DOCUMENT)).wait(stream)
            routed.send(Streams.request(stream, "/healthz")).wait(stream)
            time.sleep(0.9)
        assert prepared.last is None and routed.last is None
        prepared.until_end()
        assert prepared.last == 9
        routed.until_end()
        assert routed.last == 9


# MARK: Files


def start_failure(tls_server, certificate, key) -> str:
    done = subprocess.run(
        [BINARY, *arguments(tls_server, free_port(), certificate, key)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode != 0
    return done.stderr


def test_unusable_certificate_files_are_named(tls_server, tls_directory):
    certificate, key = make_certificate(tls_directory, "one")
    _, other = make_certificate(tls_directory, "other")
    assert "cannot be read from" in start_failure(tls_server, tls_directory / "missing.pem", key)
    assert "cannot be read from" in start_failure(tls_server, certificate, tls_directory / "missing.key")
    assert "does not hold a certificate" in start_failure(tls_server, key, key)
    assert "does not hold a private key" in start_failure(tls_server, certificate, certificate_as_key(tls_directory, certificate))
    assert "does not belong to the certificate" in start_failure(tls_server, certificate, other)
    key.chmod(0o644)
    message = start_failure(tls_server, certificate, key)
    assert "can be read by others" in message and "chmod 600" in message
    done = subprocess.run(
        [BINARY, "serve", "--database", "dbname=x", "--tls-key", str(key)], capture_output=True, text=True, timeout=300
    )
    assert "must be given together" in done.stderr


def certificate_as_key(tls_directory, certificate):
    path = tls_directory / "not-a-key"
    shutil.copy(certificate, path)
    path.chmod(0o600)
    return path


def replace(tls_directory, certificate, key) -> None:
    """As a renewal does: new files take the old ones' places."""
    for source, name in ((certificate, "served.pem"), (key, "served.key")):
        shutil.copy2(source, tls_directory / "new")
        os.replace(tls_directory / "new", tls_directory / name)


def test_a_renewed_certificate_is_taken_up_and_a_broken_one_is_not(node, tls_directory):
    assert common_name(node) == "CN=first"
    with connect(node, "http/1.1") as old:
        assert old.answer_to(DOCUMENT).status == 200
        second, second_key = make_certificate(tls_directory, "second")
        replace(tls_directory, second, second_key)
        node.process.send_signal(signal.SIGHUP)
        eventually(lambda: common_name(node) == "CN=second", "the new certificate")
        assert old.answer_to(DOCUMENT).status == 200, "a connection that stands is not disturbed"
    _, wrong = make_certificate(tls_directory, "wrong")
    mark = node.mark_log()
    replace(tls_directory, second, wrong)
    node.process.send_signal(signal.SIGHUP)
    eventually(lambda: "does not belong to the certificate" in node.written(mark), "the line")
    assert common_name(node) == "CN=second"


def test_one_connection_takes_few_of_the_streams_of_documents(node):
    with Streams(node) as wire, Streams(node) as other:
        asked = range(1, 61, 2)
        wire.send(b"".join(Streams.request(stream, STREAM) for stream in asked))
        wire.until(lambda: len(wire.status) == 30 and len(wire.ended) == 10)
        assert all(b"/problems/overloaded" in wire.body[stream] for stream in wire.ended)
        assert sum(status == 200 for status in wire.status.values()) == 20
        other.send(Streams.request(1, STREAM)).until(lambda: other.body.get(1, b"").count(b"data: ") == 1)
        # A stream that ends leaves its place to the next one.
        one = next(stream for stream in asked if stream not in wire.ended)
        wire.send(frame(RESET, 0, one, (8).to_bytes(4, "big")))
        later = itertools.count(61, 2)

        def is_taken() -> bool:
            stream = next(later)
            wire.send(Streams.request(stream, STREAM)).until(lambda: stream in wire.status)
            return wire.status[stream] == 200

        eventually(is_taken, "a place for one more")


def test_a_stream_of_documents_outlives_the_idle_time(hasty):
    with Streams(hasty) as wire:
        wire.send(Streams.request(1, STREAM))
        # Nothing is sent to the node meanwhile, but for acknowledgements.
        wire.until(lambda: wire.body.get(1, b"").count(b": alive") == 4)
        assert wire.last is None and not wire.ended


def test_a_stopping_server_announces_the_end_and_keeps_to_it(node):
    """Last in this file: it stops the node."""
    with connect(node, "h2") as wire, connect(node, "http/1.1") as idle, Streams(node) as busy:
        wire.send(PREFACE + frame(SETTINGS, 0, 0))
        assert idle.answer_to(DOCUMENT).status == 200
        # Asks without a pause, across the first GOAWAY and up to the last.
        stream = -1
        while busy.last in (None, 2**31 - 1):
            stream += 4
            busy.send(Streams.request(stream - 2, DOCUMENT) + Streams.request(stream, ROUTED))
            if stream == 43:
                node.process.terminate()
            # The last GOAWAY is read before the connection is closed behind it: answers must not pile up in front of it.
            assert busy.step() and (busy.drain() or busy.last not in (None, 2**31 - 1))
        busy.until_end()
        assert busy.error == 0 and busy.last >= 43
        # What counts as answered is; what is refused may be asked again elsewhere.
        assert set(busy.reset.values()) <= {7}
        assert busy.ended | set(busy.reset) >= set(range(1, busy.last + 1, 2))
        assert set(busy.body.values()) == {busy.body[1]}
        wire.wait_for_end()
        kinds = []
        rest = wire.received
        while len(rest) >= 9:
            kinds.append(rest[3])
            rest = rest[9 + int.from_bytes(rest[:3], "big") :]
        assert 7 in kinds
        idle.wait_for_end()
        assert node.process.wait(timeout=300) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", node.port)).close()
    node.process = None
