"""What bounds a connection: its time, its size, its number; and messages that are not what they seem to be."""

import os
import re
import resource
import socket
import time

import pytest
from nodes import start_node
from pinledger import Server, eventually, in_threads
from wire import Wire, get, processor_seconds, resident_bytes

APP = "com.example.limits"
DOCUMENT = f"/client/v1/apps/{APP}/document"
HEADER, IDLE, BODY = 2, 3, 2
# Deadlines are met to the half-second.
SLACK = 1.6


def start(*options: str) -> Server:
    server = Server()
    server.arguments += options
    try:
        server.start().api.make_app(APP, "h.example.com")
    except BaseException:
        server.destroy()
        raise
    return server


@pytest.fixture(scope="module")
def limited_server():
    server = start(
        "--header-timeout", str(HEADER), "--idle-timeout", str(IDLE), "--body-timeout", str(BODY),
        "--write-timeout", "2",
    )  # fmt: skip
    yield server
    server.destroy()


@pytest.fixture(autouse=True)
def well(request):
    """Whatever a test does, the server serves on."""
    yield
    if "limited_server" in request.fixturenames:
        server = request.getfixturevalue("limited_server")
        assert server.api.get("/healthz").status == 200
        assert "code=request_failed" not in server.tail()


# MARK: Time


def drip(wire: Wire, data: bytes, pause: float) -> float:
    """Sends byte by byte until the connection is closed, which comes before the last byte; how long that took."""
    started = time.monotonic()
    try:
        for byte in data:
            wire.socket.sendall(bytes([byte]))
            wire.socket.settimeout(pause)
            try:
                if not wire.socket.recv(65536):
                    break
            except TimeoutError:
                pass
        else:
            raise AssertionError("everything was sent, and the connection is open")
    except ConnectionError:
        pass
    return time.monotonic() - started


def closed(server) -> list[tuple[str, int, float]]:
    """Connections that are slow or idle, with their limits and after how long each was closed; together, for they mostly wait."""
    token = f"Authorization: Bearer {server.api.token}"
    post = ["Content-Type: application/json", "Content-Length: 1000", token]

    def silent(wire):
        return wire.seconds_to_end()

    def half_a_head(wire):
        return wire.send(get(DOCUMENT)[:-10]).seconds_to_end()

    def dripping_head(wire):
        return drip(wire, get(DOCUMENT, *(f"X-{number}: y" for number in range(60))), 0.2)

    def dripping_second_head(wire):
        assert wire.send(get("/healthz")).answer().status == 200
        return drip(wire, get(DOCUMENT, *(f"X-{number}: y" for number in range(60))), 0.2)

    def half_a_body(wire):
        return wire.send(get("/v1/apps", *post, method="POST") + b"{").seconds_to_end()

    def dripping_body(wire):
        wire.send(get("/v1/apps", *post, method="POST"))
        return drip(wire, b'{"app": "' + b"a" * 500, 0.2)

    def dripping_body_of_a_get(wire):
        wire.send(get(DOCUMENT, "Content-Length: 1000"))
        return drip(wire, b"x" * 500, 0.2)

    def idle_after_a_document(wire):
        assert wire.send(get(DOCUMENT)).answer().status == 200
        return wire.seconds_to_end()

    def idle_after_health(wire):
        assert wire.send(get("/healthz")).answer().status == 200
        return wire.seconds_to_end()

    cases = [
        (silent, HEADER), (half_a_head, HEADER), (dripping_head, HEADER), (dripping_second_head, HEADER),
        (half_a_body, BODY), (dripping_body, BODY), (dripping_body_of_a_get, BODY),
        (idle_after_a_document, IDLE), (idle_after_health, IDLE),
    ]  # fmt: skip

    def run(index: int) -> float:
        with Wire(server.port) as wire:
            return cases[index][0](wire)

    return [(case.__name__, limit, seconds) for (case, limit), seconds in zip(cases, in_threads(len(cases), run))]


def test_slow_and_idle_connections_are_closed(limited_server):
    assert len(closed(limited_server)) == 9


@pytest.mark.daily
def test_slow_and_idle_connections_are_closed_in_time(limited_server):
    for name, limit, seconds in closed(limited_server):
        assert limit - 1 <= seconds <= limit + SLACK, f"{name}: {seconds:.1f} s"


@pytest.mark.daily
def test_a_busy_connection_outlives_the_idle_time(limited_server):
    with Wire(limited_server.port) as prepared, Wire(limited_server.port) as mixed:
        started = time.monotonic()
        mixed.send(get("/healthz")).answer()
        while time.monotonic() - started < IDLE + 2:
            assert prepared.send(get(DOCUMENT)).answer().status == 200
            assert mixed.send(get(DOCUMENT)).answer().status == 200
            time.sleep(0.5)


# MARK: Size


@pytest.mark.parametrize(
    ("sent", "status", "type"),
    [
        (get("/healthz", "X: " + "y" * 9000), 431, "headers_too_large"),
        (get("/healthz", *("X: " + "y" * 3000 for _ in range(6))), 431, "headers_too_large"),
        (get("/healthz", *(f"X{number}: y" for number in range(70))), 431, "headers_too_large"),
        (get("/healthz", *(f"X{number}: y" for number in range(10_000))), 431, "headers_too_large"),
        (get("/healthz", "X: " + "y" * 65_536), 431, "headers_too_large"),
        (get("/healthz?" + "x" * 9000), 431, "headers_too_large"),
        (get("/healthz?" + "x" * 20_000), 431, "headers_too_large"),
        (get("/" + "x" * 100_000), 431, "headers_too_large"),
    ],
)
def test_a_head_that_is_too_large_is_refused_and_the_connection_closed(limited_server, sent, status, type):
    with Wire(limited_server.port) as wire:
        try:
            wire.send(sent)
        except ConnectionError:
            pass
        answer = wire.answer()
        assert answer.status == status
        assert answer["Connection"] == "close"
        assert answer["Content-Type"] == "application/problem+json"
        assert f"/problems/{type}" in answer.body.decode()
        assert wire.answer() is None


def test_a_head_just_within_the_limits_is_read(limited_server):
    for sent in (
        get(DOCUMENT, "X: " + "y" * 8000),
        get(DOCUMENT, *(f"X{number}: y" for number in range(62))),
        get("/healthz?" + "x" * 8000),
    ):
        with Wire(limited_server.port) as wire:
            assert wire.send(sent).answer().status in (200, 400)
            assert wire.send(get(DOCUMENT)).answer().status == 200


# MARK: Messages that another reader may read in another way

BODY_GET = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
HOST = b"Host: localhost\r\n"


def post(fields: bytes, body: bytes = BODY_GET, line: bytes = b"POST /v1/apps HTTP/1.1\r\n", host: bytes = HOST) -> bytes:
    return line + host + fields + b"\r\n" + body


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


SIZE = b"%x" % len(BODY_GET)
N = b"Content-Length: %d\r\n" % len(BODY_GET)
TE = b"Transfer-Encoding: chunked\r\n"

MALFORMED = {
    # Two lengths
    "length and chunks": post(N + TE),
    "chunks and length": post(TE + N),
    "length 0 and chunks": post(b"Content-Length: 0\r\n" + TE, chunked(BODY_GET)),
    "two different lengths": post(b"Content-Length: 0\r\n" + N),
    "two equal lengths": post(N + N),
    "a list of lengths": post(b"Content-Length: 0, 44\r\n"),
    "a list of equal lengths": post(b"Content-Length: 44, 44\r\n"),
    # Lengths that are none
    "a signed length": post(b"Content-Length: +0\r\n"),
    "a negative length": post(b"Content-Length: -1\r\n"),
    "a hexadecimal length": post(b"Content-Length: 0x0\r\n"),
    "a length with a blank": post(b"Content-Length: 4 4\r\n"),
    "a fractional length": post(b"Content-Length: 0.0\r\n"),
    "a length in words": post(b"Content-Length: zero\r\n"),
    "an empty length": post(b"Content-Length: \r\n"),
    "a length beyond 64 bits": post(b"Content-Length: 18446744073709551616\r\n"),
    "a length with an underscore": post(b"Content-Length: 4_4\r\n"),
    "a quoted length": post(b'Content-Length: "44"\r\n'),
    "a length in other digits": post("Content-Length: ٤\r\n".encode()),
    # Codings that are none
    "an unknown coding": post(b"Transfer-Encoding: zip\r\n"),
    "identity": post(b"Transfer-Encoding: identity\r\n"),
    "chunked twice": post(b"Transfer-Encoding: chunked, chunked\r\n", chunked(BODY_GET)),
    "chunked in two fields": post(TE + TE, chunked(BODY_GET)),
    "gzip and chunked": post(b"Transfer-Encoding: gzip, chunked\r\n", chunked(BODY_GET)),
    "chunked not last": post(b"Transfer-Encoding: chunked, gzip\r\n", chunked(BODY_GET)),
    "chunked and identity": post(TE + b"Transfer-Encoding: identity\r\n", chunked(BODY_GET)),
    "xchunked": post(b"Transfer-Encoding: xchunked\r\n", chunked(BODY_GET)),
    "quoted chunked": post(b'Transfer-Encoding: "chunked"\r\n', chunked(BODY_GET)),
    "chunked with a parameter": post(b"Transfer-Encoding: chunked;a=b\r\n", chunked(BODY_GET)),
    "chunked after a control character": post(b"Transfer-Encoding: \x0bchunked\r\n", chunked(BODY_GET)),
    "an empty coding": post(b"Transfer-Encoding:\r\n" + N),
    "chunked in HTTP/1.0": post(TE, chunked(BODY_GET), line=b"POST /v1/apps HTTP/1.0\r\n"),
    # Field lines
    "a blank before the colon": post(b"Transfer-Encoding : chunked\r\n", chunked(BODY_GET)),
    "a tab before the colon": post(b"Content-Length\t: 44\r\n"),
    "a folded value": post(b"Transfer-Encoding:\r\n chunked\r\n", chunked(BODY_GET)),
    "a folded length": post(b"Content-Length: 4\r\n 4\r\n"),
    "a field without a colon": post(b"Transfer-Encoding\r\n"),
    "a field without a name": post(b": chunked\r\n"),
    "a blank before the first field": b"POST /v1/apps HTTP/1.1\r\n Transfer-Encoding: chunked\r\n" + HOST + b"\r\n" + chunked(BODY_GET),
    "a null in a name": post(b"Transfer-Encoding\x00: chunked\r\n", chunked(BODY_GET)),
    "a null in a value": post(b"X: a\x00b\r\n" + N),
    "a bare CR in a value": post(b"X: a\rTransfer-Encoding: chunked\r\n", chunked(BODY_GET)),
    "a bare CR at a line's end": post(b"X: a\r" + TE, chunked(BODY_GET)),
    "a bare LF at a line's end": post(b"X: a\n" + TE, chunked(BODY_GET)),
    "bare LF everywhere": b"POST /v1/apps HTTP/1.1\nHost: localhost\nContent-Length: 44\n\n" + BODY_GET,
    "a name in brackets": post(b"[Content-Length]: 44\r\n"),
    "a name with a slash": post(b"Content/Length: 44\r\n"),
    "a name beyond ASCII": post("Content-Lengthé: 44\r\n".encode()),
    # Chunks
    "a chunk size that is none": post(TE, b"xyz\r\n" + BODY_GET),
    "a negative chunk size": post(TE, b"-1\r\n" + BODY_GET),
    "a signed chunk size": post(TE, b"+0\r\n\r\n" + BODY_GET),
    "a chunk size with 0x": post(TE, b"0x" + SIZE + b"\r\n" + BODY_GET + b"\r\n0\r\n\r\n"),
    "a chunk size beyond 64 bits": post(TE, b"fffffffffffffffff\r\n" + BODY_GET),
    "a chunk size with a blank before": post(TE, b" " + SIZE + b"\r\n" + BODY_GET + b"\r\n0\r\n\r\n"),
    "a chunk longer than it says": post(TE, b"1\r\n" + BODY_GET + b"\r\n0\r\n\r\n"),
    "a chunk line ended by LF": post(TE, SIZE + b"\n" + BODY_GET + b"\r\n0\r\n\r\n"),
    "a last chunk ended by CR": post(TE, b"0\r\r\n" + BODY_GET),
    "chunk data ended by LF": post(TE, b"1\r\na\n" + SIZE + b"\r\n" + BODY_GET + b"\r\n0\r\n\r\n"),
    "an empty chunk size": post(TE, b"\r\n" + BODY_GET),
    "a null in a chunk extension": post(TE, SIZE + b";\x00\r\n" + BODY_GET + b"\r\n0\r\n\r\n"),
    # Request lines
    "no version": b"GET /healthz\r\n" + HOST + b"\r\n" + BODY_GET,
    "version 0.9": post(N, line=b"POST /v1/apps HTTP/0.9\r\n"),
    "version 2.0": post(N, line=b"POST /v1/apps HTTP/2.0\r\n"),
    "version 1.2": post(N, line=b"POST /v1/apps HTTP/1.2\r\n"),
    "version 1.10": post(N, line=b"POST /v1/apps HTTP/1.10\r\n"),
    "version in lower case": post(N, line=b"POST /v1/apps http/1.1\r\n"),
    "a blank in the target": post(N, line=b"POST /v1/ apps HTTP/1.1\r\n"),
    "a tab after the method": post(N, line=b"POST\t/v1/apps HTTP/1.1\r\n"),
    "a method in lower case": post(N, line=b"post /v1/apps HTTP/1.1\r\n"),
    "an unknown method": post(N, line=b"GETT /v1/apps HTTP/1.1\r\n"),
    "a null in the target": post(N, line=b"POST /v1/a\x00pps HTTP/1.1\r\n"),
    "bytes before the request": b"\x00" + post(N),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100,
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 9,
    # Host
    "no host": post(N, host=b""),
    "two hosts": post(N, host=HOST + b"Host: other\r\n"),
    "two equal hosts": post(N, host=HOST + HOST),
    "a list of hosts": post(N, host=b"Host: a, b\r\n"),
    "a host with a path": post(N, host=b"Host: a/b\r\n"),
    "a host with a user": post(N, host=b"Host: a@b\r\n"),
    "a host with a blank": post(N, host=b"Host: a b\r\n"),
}


@pytest.mark.parametrize("name", MALFORMED)
# A document is answered without the decoder, which takes over where a head is not plain.
@pytest.mark.parametrize(
    "before",
    [
        pytest.param(get(DOCUMENT), id="after a document"),
        pytest.param(b"", id="first", marks=pytest.mark.daily),
        pytest.param(get("/healthz"), id="after health", marks=pytest.mark.daily),
    ],
)
def test_nothing_behind_a_malformed_message_is_a_request(limited_server, name, before):
    """At most one answer, a refusal; and nothing that was in its body is ever answered."""
    with Wire(limited_server.port) as wire:
        try:
            wire.send(before + MALFORMED[name] + BODY_GET)
            wire.finish()
        except ConnectionError:
            pass
        answers = wire.answers()
        if before:
            assert answers[0].status == 200
            answers = answers[1:]
        assert len(answers) <= 1, [answer.line for answer in answers]
        for answer in answers:
            assert answer.status in (400, 401, 411, 413, 501, 505), answer.line
            assert b"smuggled" not in answer.body


def test_the_table_of_malformed_messages_has_sixty_entries():
    assert len(MALFORMED) >= 60


def test_a_well_formed_message_is_read_to_its_end(limited_server):
    """The table would pass on a server that closes every connection; this one must not."""
    token = b"Authorization: Bearer " + limited_server.api.token.encode() + b"\r\nContent-Type: application/json\r\n"
    for framed in (
        post(token + N),
        post(token + TE, chunked(BODY_GET)),
        post(token + TE, b"%x;a=b\r\n" % len(BODY_GET) + BODY_GET + b"\r\n0\r\nTrailer: x\r\n\r\n"),
        post(token + b"transfer-encoding:chunked\r\n", b"00%X\r\n" % len(BODY_GET) + BODY_GET + b"\r\n000\r\n\r\n"),
        b"\r\n" + post(token + N),
    ):
        with Wire(limited_server.port) as wire:
            wire.send(framed + get(DOCUMENT))
            first, second = wire.answer(), wire.answer()
            assert first.status == 400 and b"malformed_json" in first.body
            assert second.status == 200 and second["Content-Type"] == "application/jose"


# MARK: Number


def test_connections_above_the_limit_wait_until_there_is_room(limited_server):
    # One of its own, on which none of them becomes idle before the last is there. Operators have an address of theirs.
    node, _ = start_node(
        limited_server, "full", "--read-only", "--max-connections", "320", "--idle-timeout", "60",
        "--connections-per-network", "0", "--admin-listen", "127.0.0.1:0",
    )  # fmt: skip
    try:
        fill(node)
    finally:
        node.stop()


def fill(node) -> None:
    wires = []
    try:
        for _ in range(300):
            wire = Wire(node.port)
            wire.send(get(DOCUMENT))
            wires.append(wire)
        assert all(wire.answer().status == 200 for wire in wires[:290])
        # The last ones are to be taken first: several that come together are taken in one go.
        time.sleep(1)
        before = processor_seconds(node.process.pid)
        with Wire(node.port, seconds=1) as late:
            late.send(get(DOCUMENT))
            with pytest.raises(TimeoutError):
                late.answer()
            spent = processor_seconds(node.process.pid) - before
            assert spent < 0.4, f"{spent} s of processor time while nothing could be accepted"
            for wire in wires:
                wire.socket.close()
            late.socket.settimeout(300)
            assert late.answer().status == 200
    finally:
        for wire in wires:
            wire.socket.close()


def stretch(node) -> None:
    """Opens more connections than the node has descriptors for: it rests, serves whom it has, and recovers."""
    pid = node.process.pid
    wires = [Wire(node.port, seconds=1) for _ in range(200)]
    for wire in wires:
        wire.send(get(DOCUMENT))
    time.sleep(0.5)
    before, started = processor_seconds(pid), time.monotonic()
    time.sleep(1.5)
    share = (processor_seconds(pid) - before) / (time.monotonic() - started)
    assert share < 0.2, f"{share:.0%} of a processor while nothing can be accepted"
    wires[0].socket.settimeout(120)
    assert wires[0].answer().status == 200
    for wire in wires:
        wire.socket.close()
    # The request waits until the node takes connections again.
    with Wire(node.port) as wire:
        assert wire.send(get(DOCUMENT)).answer().status == 200


def test_a_server_with_few_file_descriptors_takes_fewer_connections(limited_server):
    # What the server inherits; these tests themselves need more.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        node, _ = start_node(limited_server, "few-descriptors", "--read-only", "--connections-per-network", "0")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        stretch(node)
        assert "code=connections_not_accepted" not in node.tail()
        assert "code=connections_reduced" in node.log.read_text()
    finally:
        node.stop()


def test_the_database_has_file_descriptors_whatever_clients_take(limited_server, monkeypatch):
    """On a machine of many cores, whose event loops take many for themselves."""
    monkeypatch.setenv("NIO_SINGLETON_GROUP_LOOP_COUNT", "40")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        node, api = start_node(
            limited_server, "descriptors", "--kek-file", str(limited_server.data / "key-encryption-key"), "--connections-per-network", "0")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wires = []
    try:
        wires += [Wire(node.port, seconds=2).send(get("/healthz")) for _ in range(400)]
        time.sleep(0.5)
        # Every connection to the database ends, and has to be made again.
        limited_server.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'pinledger_dev'")
        eventually(lambda: api.post(f"/v1/apps", {"app": f"com.example.descriptors{time.monotonic_ns()}"}).status == 201)
        assert "code=connections_not_accepted" not in node.log.read_text()
        assert len(os.listdir(f"/proc/{node.process.pid}/fd")) <= 250
    finally:
        for wire in wires:
            wire.socket.close()
        node.stop()


def test_the_server_survives_the_end_of_file_descriptors(limited_server):
    node, _ = start_node(limited_server, "no-descriptors", "--read-only")
    try:
        resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (128, 128))
        stretch(node)
        assert "code=connections_not_accepted" in node.tail()
    finally:
        node.stop()


@pytest.mark.daily
def test_a_connection_that_is_closed_leaves_nothing_behind(limited_server):
    node, _ = start_node(limited_server, "comings-and-goings", "--read-only")

    def come_and_go(count: int) -> int:
        for _ in range(count):
            with Wire(node.port) as wire:
                assert wire.send(get("/healthz")).answer().status == 200
        time.sleep(1)
        return resident_bytes(node.process.pid)

    try:
        before = come_and_go(1000)
        grown = come_and_go(2000) - before
        assert grown < 4 << 20, f"{grown / 2000:.0f} bytes for each connection"
    finally:
        node.stop()


# MARK: Draining


def test_a_draining_node_says_so_before_it_stops(limited_server):
    node, api = start_node(limited_server, "draining", "--read-only", "--drain-delay", "10", "--drain-timeout", "3")
    try:
        with Wire(node.port) as wire, Wire(node.port) as stuck:
            assert wire.send(get(DOCUMENT)).answer().status == 200
            stuck.send(get("/v1/apps", "Content-Length: 5", method="POST"))
            node.process.terminate()
            readiness = eventually(lambda: (told := api.get("/readyz")).status != 200 and told, "a node that drains")
            assert (readiness.status, readiness.json["status"]) == (503, "draining")
            # Old and new connections are served until the delay is over.
            assert wire.send(get(DOCUMENT)).answer().status == 200
            with Wire(node.port) as fresh:
                assert fresh.send(get(DOCUMENT)).answer().status == 200
            wire.seconds_to_end()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", node.port)).close()
            # A request that never ends is cut off, and the node ends in order.
            assert node.process.wait(timeout=120) == 0
        node.process = None
    finally:
        if node.process is not None:
            os.kill(node.process.pid, 9)
            node.process.wait()
            node.process = None


# MARK: Lines in the log


def test_a_refused_request_leaves_a_line_and_a_flood_of_them_leaves_few(limited_server):
    secret = "pl_admin_of_a_stranger"
    started = len(limited_server.log.read_text())
    answer = limited_server.api.request("POST", "/v1/apps", {"app": "com.example.x"}, {"Authorization": f"Bearer {secret}"})
    assert answer.status == 401

    def lines() -> list[str]:
        return [line for line in limited_server.log.read_text()[started:].splitlines() if "=request_refused" in line]

    line = eventually(lines)[0]
    for part in ("operation=createApp", "status=401", "cause=token_malformed", "address=127.0.0.1", answer["Request-Id"]):
        assert part in line, line
    with Wire(limited_server.port) as wire:
        for _ in range(300):
            assert wire.send(get("/v1/apps")).answer().status == 401
    assert 1 <= len(lines()) <= 150, "half of the requests, however long they take"

    # Their number is said with a later line, or in a line of its own (`about=request_refused`).
    def is_said() -> bool:
        assert limited_server.api.request("GET", "/v1/apps", token=None).status == 401
        return any(re.search(r"left_out=[1-9]", line) for line in lines())

    eventually(is_said, "the number of lines left out")
    assert secret not in limited_server.log.read_text()
