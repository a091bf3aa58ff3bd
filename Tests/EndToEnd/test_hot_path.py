"""What is answered before the router: the same answers as the router's, in the order of the requests."""

import socket
import time

import pytest
from pinledger import Server, eventually, in_threads
from wire import Wire, get, resident_bytes

APP = "com.example.hot"
DOCUMENT = f"/client/v1/apps/{APP}/document"
# The same resource, spelled so that only the router recognises it.
ROUTED = f"/client/v1/apps/{APP.replace('.', '%2E')}/document"
KEYS = "/client/v1/jwks.json"
VARYING = ("date",)


@pytest.fixture(scope="module")
def hot_server():
    server = Server()
    server.arguments += ["--write-timeout", "2", "--drain-timeout", "5"]
    try:
        server.start().api.make_app(APP, *(f"h{number}.example.com" for number in range(5)))
        yield server
    finally:
        server.destroy()


def one(server, sent: bytes, method: str = "GET"):
    with Wire(server.port) as wire:
        return wire.send(sent).answer(method)


@pytest.fixture(scope="module")
def tag(hot_server) -> str:
    return one(hot_server, get(DOCUMENT))["ETag"]


def forms(tag: str) -> dict[str, list[str]]:
    """Ways to ask, as fields."""
    plain = tag.strip('"')
    return {
        "plain": [],
        "as browsers do": ["Accept-Encoding: gzip, deflate, br, zstd", "Accept: */*", "User-Agent: Mozilla/5.0 (X11)"],
        "gzip": ["Accept-Encoding: gzip"],
        "brotli wanted less": ["Accept-Encoding: gzip;q=1.0, br;q=0.5"],
        "no identity": ["Accept-Encoding: identity;q=0, gzip"],
        "nothing there is": ["Accept-Encoding: identity;q=0, zstd"],
        "an empty list": ["Accept-Encoding: "],
        "two lists": ["Accept-Encoding: br;q=0.1", "Accept-Encoding: gzip;q=0.2"],
        "current": [f"If-None-Match: {tag}"],
        "current in gzip": [f'If-None-Match: "{plain}-gzip"', "Accept-Encoding: gzip"],
        "current in brotli": [f'If-None-Match: "{plain}-br"', "Accept-Encoding: br"],
        "one of several": [f'If-None-Match: "x", {tag}'],
        "one of several fields": ['If-None-Match: "x"', f"If-None-Match: {tag}"],
        "weak": [f"If-None-Match: W/{tag}"],
        "anything": ["If-None-Match: *"],
        "outdated": ['If-None-Match: "x"'],
        "not a tag": [f"If-None-Match: {plain}"],
        "a condition without a value": ["If-None-Match:"],
        "fields in odd spelling": [f"IF-NONE-MATCH:{tag}  ", "aCCept-encodinG:  br"],
        "keep-alive": ["Connection: Keep-Alive"],
        "a range, which is not offered": ["Range: bytes=0-10"],
        "a report": ['Pinledger-Client: version=3, platform=ios, app_version="2.4.1"'],
        "a report with a current tag": ["Pinledger-Client: platform=web", f"If-None-Match: {tag}"],
        "two reports": ["Pinledger-Client: version=3", "Pinledger-Client: platform=web"],
        "a report that is none": ["Pinledger-Client: =,="],
        "a token, which is not looked at": ["Authorization: Bearer nonsense"],
    }


FORMS = list(forms('""'))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_prepared_and_routed_answers_are_the_same_bytes(hot_server, tag, form, method):
    fields = forms(tag)[form]
    for warm in range(2):
        # The first that asks for a coding is answered by the router, which makes it.
        routed = one(hot_server, get(ROUTED, *fields, method=method), method)
        prepared = one(hot_server, get(DOCUMENT, *fields, method=method), method)
        varying = VARYING + (("request-id",) if routed.status >= 400 else ())
        if routed.status >= 400:
            assert prepared.status == routed.status
        else:
            assert routed.without(*varying) == prepared.without(*varying)
            assert prepared["Request-Id"] is None
            assert prepared["X-Content-Type-Options"] == "nosniff"
            assert prepared["Vary"] == "Accept-Encoding"
            assert [name for name, _ in prepared.fields] == [name for name, _ in routed.fields]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_answers_are_the_same_on_a_connection_with_other_requests(hot_server, tag, method):
    """Once another request has been made, messages are decoded, and a second handler answers."""
    for form, fields in forms(tag).items():
        with Wire(hot_server.port) as wire:
            routed = wire.send(get(ROUTED, *fields, method=method)).answer(method)
            prepared = wire.send(get(DOCUMENT, *fields, method=method)).answer(method)
            if routed.status < 400:
                assert routed.without(*VARYING) == prepared.without(*VARYING), form


def test_the_key_set_is_prepared_too(hot_server):
    prepared = one(hot_server, get(KEYS))
    routed = one(hot_server, get(KEYS + "?"))
    assert prepared.status == 200
    assert prepared.without(*VARYING) == routed.without(*VARYING)
    assert one(hot_server, get(KEYS, f"If-None-Match: {prepared['ETag']}")).status == 304


def test_the_date_is_the_present_one(hot_server):
    from email.utils import parsedate_to_datetime

    for target in (DOCUMENT, ROUTED):
        before = time.time()
        date = one(hot_server, get(target))["Date"]
        # Of whole seconds, and renewed once a second.
        assert before - 2 <= parsedate_to_datetime(date).timestamp() <= time.time()
        assert date.endswith(" GMT") and len(date) == 29


def test_a_published_document_is_served_at_once(hot_server):
    """Also on a connection that has been served the document before."""
    with Wire(hot_server.port) as wire:
        before = wire.send(get(DOCUMENT)).answer()
        for number in range(10):
            hot_server.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"Name {number}"})
            hot_server.api.must("PATCH", f"/v1/apps/{APP}", {"version_gate": {"minimum": f"1.{number}"}})
            after = wire.send(get(DOCUMENT, f"If-None-Match: {before['ETag']}")).answer()
            assert after.status == 200
            assert after["ETag"] != before["ETag"]
            before = after


def test_unknown_apps_and_odd_paths_are_the_routers(hot_server):
    for target, status in [
        ("/client/v1/apps/com.example.nobody/document", 404),
        ("/client/v1/apps//document", 404),
        ("/client/v1/apps/../document", 400),
        (f"/client/v1/apps/{APP}/document/", 404),
        (f"//client/v1/apps/{APP}/document", 404),
        (f"/client/v1/apps/{APP}/document?x=1", 400),
        (f"/client/v1/apps/{APP.upper()}/document", 404),
        (f"/client/v1/apps/{APP}/documents", 404),
        ("/client/v1/jwks.json/", 404),
    ]:
        answer = one(hot_server, get(target))
        assert answer.status == status, target
        assert answer["Request-Id"]


# MARK: Order


def test_pipelined_requests_are_answered_in_their_order(hot_server):
    token = f"Authorization: Bearer {hot_server.api.token}"
    kinds = {
        "document": (get(DOCUMENT), "application/jose"),
        "keys": (get(KEYS), "application/jwk-set+json"),
        "health": (get("/healthz"), "application/json"),
        "history": (get("/v1/history?limit=1000", token), "application/json"),
        "nothing": (get("/nothing"), "application/problem+json"),
    }
    patterns = [
        ["document"] * 50,
        ["document", "history", "document", "health", "document", "keys", "nothing", "document"] * 8,
        ["history", "document"] * 20,
        ["document"] * 20 + ["history"] + ["document", "keys"] * 20,
    ]
    for pattern in patterns:
        sent = b"".join(kinds[kind][0] for kind in pattern)
        # In one piece, byte by byte at the seams, and in pieces that cut heads.
        for size in (len(sent), 97, 1000):
            with Wire(hot_server.port) as wire:
                for start in range(0, len(sent), size):
                    wire.send(sent[start : start + size])
                wire.finish()
                got = [answer["Content-Type"] for answer in wire.answers()]
                assert got == [kinds[kind][1] for kind in pattern], f"pieces of {size}"


def test_a_prepared_answer_does_not_overtake_a_slow_one(hot_server):
    """The first request waits for its body; the ones behind it would be ready at once."""
    body = b'{"app": "com.example.slow"}'
    head = get(
        "/v1/apps", f"Authorization: Bearer {hot_server.api.token}", "Content-Type: application/json",
        f"Content-Length: {len(body)}", method="POST",
    )  # fmt: skip
    with Wire(hot_server.port) as wire:
        wire.send(get(DOCUMENT) + head)
        assert wire.answer().status == 200
        wire.send(body + get(DOCUMENT) + get("/healthz") + get(DOCUMENT))
        statuses = [wire.answer().status for _ in range(4)]
        assert statuses == [201, 200, 200, 200]


def test_a_head_in_single_bytes_is_answered(hot_server):
    with Wire(hot_server.port) as wire:
        for byte in get(DOCUMENT):
            wire.send(bytes([byte]))
        assert wire.answer().status == 200
        assert wire.send(get(DOCUMENT)).answer().status == 200


# MARK: Ends


def test_an_answer_reaches_a_client_that_has_closed_its_sending_side(hot_server):
    for sent, count in [(get(DOCUMENT), 1), (get(DOCUMENT) * 30, 30), (get("/healthz"), 1), (get(ROUTED) * 5, 5)]:
        with Wire(hot_server.port) as wire:
            wire.send(sent).finish()
            assert [answer.status for answer in wire.answers()] == [200] * count


@pytest.mark.parametrize("target", [DOCUMENT, ROUTED])
def test_a_connection_that_announces_close_is_closed(hot_server, target):
    with Wire(hot_server.port) as wire:
        wire.send(get(target, "Connection: close") + get(target))
        answer = wire.answer()
        assert (answer.status, answer["Connection"]) == (200, "close")
        assert len(answer.body) == int(answer["Content-Length"])
        assert wire.answer() is None, "a request behind the last one was answered"


@pytest.mark.parametrize("target", [DOCUMENT, ROUTED])
def test_http_1_0_ends_with_the_answer_unless_it_asks_to_stay(hot_server, target):
    with Wire(hot_server.port) as wire:
        answer = wire.send(get(target, version="1.0")).answer()
        assert (answer.status, answer["Connection"]) == (200, "close")
        wire.wait_for_end()
    with Wire(hot_server.port) as wire:
        for _ in range(3):
            answer = wire.send(get(target, "Connection: keep-alive", version="1.0")).answer()
            assert (answer.status, answer["Connection"]) == (200, "keep-alive")
    # HTTP/1.0 does not know Host.
    assert one(hot_server, get(target, version="1.0", host=False)).status == 200


def test_http_1_0_gets_no_chunks(hot_server):
    with Wire(hot_server.port) as wire:
        wire.send(get("/v1/events", f"Authorization: Bearer {hot_server.api.token}", version="1.0"))
        while b": pinledger\n\n" not in wire.received:
            assert wire._more()
        assert b"chunked" not in wire.received.lower()


def test_a_body_with_get_is_read_past(hot_server):
    for fields, body in [(["Content-Length: 5"], b"hello"), (["Transfer-Encoding: chunked"], b"5\r\nhello\r\n0\r\n\r\n")]:
        with Wire(hot_server.port) as wire:
            wire.send(get(DOCUMENT, *fields) + body + get(DOCUMENT) + get("/healthz"))
            assert [wire.answer().status for _ in range(3)] == [200, 200, 200]


def test_expect_is_answered(hot_server):
    with Wire(hot_server.port) as wire:
        wire.send(get(DOCUMENT, "Expect: 100-continue", "Content-Length: 5"))
        assert wire.answer().status == 100
        wire.send(b"hello" + get(DOCUMENT))
        assert [wire.answer().status for _ in range(2)] == [200, 200]


# MARK: Slow readers


@pytest.mark.parametrize("target", [DOCUMENT, ROUTED])
def test_a_client_that_does_not_read_is_cut_off_and_costs_little(hot_server, target):
    sent = get(target) * 200
    before = resident_bytes(hot_server.process.pid)
    with Wire(hot_server.port, receive_buffer=4096) as wire:
        wire.socket.settimeout(0.2)
        # The sockets' buffers take some megabytes; then the server must stop reading.
        with pytest.raises((TimeoutError, ConnectionError)):
            for _ in range(500_000 // 200):
                wire.socket.sendall(sent)
        assert resident_bytes(hot_server.process.pid) - before < 64 << 20

        def is_closed() -> bool:
            try:
                wire.socket.sendall(sent)
            except TimeoutError:
                return False
            except ConnectionError:
                return True
            return False

        eventually(is_closed, "the end of the connection, on which nothing moves for two seconds")
    assert one(hot_server, get(DOCUMENT)).status == 200


def test_a_slow_reader_gets_everything(hot_server):
    """Slow, but not still: every answer arrives whole and in order."""
    count = 3000
    with Wire(hot_server.port, receive_buffer=8192) as wire:
        import threading

        sender = threading.Thread(target=lambda: wire.socket.sendall(get(DOCUMENT) * count), daemon=True)
        sender.start()
        first = wire.answer()
        for number in range(1, count):
            answer = wire.answer()
            assert answer.body == first.body
            if number % 300 == 0:
                time.sleep(0.05)
        sender.join()


def test_many_clients_at_once_are_all_answered(hot_server):
    expected = one(hot_server, get(DOCUMENT)).body

    def run(index: int) -> None:
        with Wire(hot_server.port) as wire:
            for number in range(50):
                target = [DOCUMENT, ROUTED, DOCUMENT][(index + number) % 3 if index % 2 else 0]
                assert wire.send(get(target)).answer().body == expected

    in_threads(16, run)


# MARK: The end of the server


def test_the_server_finishes_what_it_has_begun(hot_server):
    """Last in this file: it stops the server."""
    body = b'{"app": "com.example.last"}'
    head = get(
        "/v1/apps", f"Authorization: Bearer {hot_server.api.token}", "Content-Type: application/json",
        f"Content-Length: {len(body)}", "Expect: 100-continue", method="POST",
    )  # fmt: skip
    with Wire(hot_server.port) as idle, Wire(hot_server.port) as busy, Wire(hot_server.port) as fresh:
        assert idle.send(get(DOCUMENT)).answer().status == 200
        assert busy.send(head).answer().status == 100, "the request has begun"
        hot_server.process.terminate()
        # Before the request has ended: it waits for its body.
        idle.wait_for_end()
        fresh.wait_for_end()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", hot_server.port)).close()
        busy.send(body)
        answer = busy.answer()
        assert (answer.status, answer["Connection"]) == (201, "close")
        assert busy.answer() is None
        assert hot_server.process.wait(timeout=300) == 0
    hot_server.process = None
