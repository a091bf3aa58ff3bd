"""Requests that are too large, and malformed bodies."""

import gzip
import itertools
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fronts import reads_everything_first, takes_any_json
from node import peak, resident
from rawhttp import exchange
from report import Experiment, Measurement, megabytes
from stage import Stage

# MARK: F15

@dataclass
class Oversize:
    name: str
    #: What is sent, as chunks that may never end.
    sent: object
    expected: set[int]
    #: Whether the connection has to be closed: what was declared or begun cannot be read to its end.
    is_closed: bool = True


def repeated(head: bytes, chunk: bytes):
    """A head, and then an endless chunk."""
    yield head
    yield from itertools.repeat(chunk)


def oversize_requests(token: str) -> list[Oversize]:
    auth = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"

    def post(fields: str) -> bytes:
        return f"POST /v1/apps HTTP/1.1\r\nHost: x\r\n{auth}{fields}\r\n".encode()

    def get(target: str, fields: str = "") -> bytes:
        return f"GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode()

    mebibyte = b" " * (1 << 20)
    bomb = gzip.compress(b" " * 10_000_000)
    deep = b'{"app":' * 100_000 + b"1" + b"}" * 100_000
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    too_large, header, target = {413}, {431, 400}, {414, 400}
    return [
        Oversize("1 MiB + 1 declared and sent", [post(f"Content-Length: {(1 << 20) + 1}\r\n"), mebibyte + b" "],
                 too_large, False),
        Oversize("10 GiB declared", repeated(post(f"Content-Length: {10 << 30}\r\n"), mebibyte), too_large),
        Oversize("10 GiB declared, Expect: 100-continue",
                 [post(f"Content-Length: {10 << 30}\r\nExpect: 100-continue\r\n")], {413, 417}, False),
        Oversize("a length beyond 64 bits", [post(f"Content-Length: {10**30}\r\n"), b"{}"], {400, 413}),
        Oversize("chunks without end", repeated(post("Transfer-Encoding: chunked\r\n"), chunk), too_large),
        Oversize("a chunk of 16 EiB", repeated(post("Transfer-Encoding: chunked\r\n") + b"ffffffffffffffff\r\n", mebibyte),
                 {400, 413}),
        Oversize("chunk extensions without end",
                 repeated(post("Transfer-Encoding: chunked\r\n") + b"1;", b"x=" + b"y" * 65536), {400, 413}),
        Oversize("a body without end, without a token",
                 repeated(b"POST /v1/apps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", chunk), {401, 413}),
        Oversize("trailers without end",
                 repeated(post("Transfer-Encoding: chunked\r\n") + b"2\r\n{}\r\n0\r\n", b"X-T: " + b"y" * 1000 + b"\r\n"),
                 {400, 413, 422, 431}),
        Oversize("a header of 64 kB", [get("/healthz", f"X-Long: {'a' * 65536}\r\n")], header),
        Oversize("a header without end", repeated(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ", b"a" * 65536), header),
        Oversize("a header's name of 64 kB", [get("/healthz", f"{'a' * 65536}: 1\r\n")], header),
        Oversize("10,000 headers", [get("/healthz", "".join(f"X-{n}: 1\r\n" for n in range(10_000)))], header),
        Oversize("headers without end", repeated(b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n" * 1000), header),
        Oversize("a target of 16 kB", [get("/v1/apps/" + "a" * 16384)], target | {431}, False),
        Oversize("a target without end", repeated(b"GET /", b"a" * 65536), target | {431}),
        Oversize("a method without end", repeated(b"", b"A" * 65536), {400, 431, 414}),
        Oversize("1,000 query parameters",
                 [f"GET /v1/apps?{'&'.join(f'p{n}=1' for n in range(1000))} HTTP/1.1\r\nHost: x\r\n{auth}\r\n".encode()],
                 {400, 414, 431}, False),
        Oversize("gzip, one byte for a thousand",
                 [post(f"Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n"), bomb], {400, 415}, False),
        Oversize("JSON of depth 100,000", [post(f"Content-Length: {len(deep)}\r\n"), deep], {400, 413}, False),
    ]  # fmt: skip


def oversize(stage: Stage, is_broken: bool) -> Measurement:
    """F15."""
    measurement = Measurement()
    ledger = node = previous = None
    token = "none"
    if is_broken:
        front = reads_everything_first()
        stage.on_exit(front.close)
        port = front.port
    else:
        ledger = stage.ledger()
        node = stage.node(ledger)
        stage.apps(node, 1)
        previous = stage.before(ledger)
        port, token = node.port, node.api.token
    cases = oversize_requests(token)
    if is_broken:
        # Enough to see it: each of them takes as long as one is ready to wait.
        cases = cases[1:3]
    before = resident(node.pid) if node else 0
    outcomes = {}
    #: Until when there has to be an answer, or the connection closed.
    limit = 2.0
    with ThreadPoolExecutor(4) as pool:
        # A sender without an end goes on after the answer, until the connection is closed.
        replies = list(pool.map(lambda case: exchange(port, case.sent, seconds=limit + 1, quiet=0.2), cases))
    for case, reply in zip(cases, replies, strict=True):
        is_answered = reply.status in case.expected if reply.responses else reply.is_closed and case.is_closed
        outcomes[case.name] = {
            "status": reply.status, "closed": reply.is_closed, "seconds": reply.seconds, "sent": reply.sent,
        }  # fmt: skip
        measurement.expect("answered", is_answered, f"{case.name}: {reply.status}, closed: {reply.is_closed}")
        measurement.expect("at once", reply.seconds <= limit, f"{case.name}: after {reply.seconds:.1f} s")
        if case.is_closed:
            measurement.expect("closed", reply.is_closed, f"{case.name}: the connection stays open")
        measurement.expect("bounded", reply.sent <= 32 << 20, f"{case.name}: {megabytes(reply.sent)} were read")
    measurement.figures["cases"] = outcomes
    longest = max(each["seconds"] for each in outcomes.values())
    measurement.headline = f"{len(cases)} cases answered, the slowest after {longest:.2f} s"
    if measurement.failures:
        measurement.headline = f"{len({f.text.split(':')[0] for f in measurement.failures})} of {len(cases)} cases wrong"
    if node is not None:
        grown = peak(node.pid) - before
        measurement.figures["memory_growth"] = grown
        measurement.expect("memory", grown <= 50e6, f"{megabytes(grown)} more at the peak")
        measurement.headline += f", memory + {megabytes(grown)} at the peak"
        stage.invariants(measurement, ledger, node, (), previous)
    return measurement


# MARK: F16

#: Bodies of a POST that makes an app: (name, body, whether it is JSON at all).
NOT_JSON: dict[str, bytes] = {
    "nothing": b"",
    "half an object": b'{"app": "com.example.x"',
    "invalid UTF-8": b'{"app": "\xff\xfe"}',
    "a lone continuation byte": b'{"app": "\x80"}',
    "overlong UTF-8": b'{"app": "\xc0\xaf"}',
    "overlong NUL": b'{"app": "\xc0\x80"}',
    "a surrogate in UTF-8": b'{"app": "\xed\xa0\x80"}',
    "beyond Unicode": b'{"app": "\xf4\x90\x80\x80"}',
    "cut off in a character": b'{"app": "\xe2\x82"}',
    "a lone high surrogate": b'{"app": "\\ud800"}',
    "a lone low surrogate": b'{"app": "\\udc00"}',
    "surrogates the wrong way round": b'{"app": "\\udc00\\ud800"}',
    "a raw NUL": b'{"app": "a\x00b"}',
    "a raw line feed": b'{"app": "a\nb"}',
    "NaN": b'{"app": NaN}',
    "Infinity": b'{"app": Infinity}',
    "-Infinity": b'{"app": -Infinity}',
    "1e999": b'{"app": 1e999}',
    "a leading zero": b'{"app": 01}',
    "a byte order mark": b'\xef\xbb\xbf{"app": "com.example.x"}',
    "UTF-16": '{"app": "com.example.x"}'.encode("utf-16"),
    "UTF-32": '{"app": "com.example.x"}'.encode("utf-32"),
    "a trailing byte": b'{"app": "com.example.x"}x',
    "a trailing NUL": b'{"app": "com.example.x"}\x00',
    "a second object": b'{"app": "com.example.x"}{"app": "com.example.y"}',
    "a comma too many": b'{"app": "com.example.x",}',
    "single quotes": b"{'app': 'com.example.x'}",
    "a comment": b'{"app": "com.example.x" /* why */}',
    "no quotes": b'{app: "com.example.x"}',
    "a bad escape": b'{"app": "\\x41"}',
    "duplicate keys": b'{"app": "com.example.x", "app": "com.example.x"}',
    "duplicate keys, one escaped": b'{"app": "com.example.x", "\\u0061pp": "com.example.y"}',
    "duplicate keys further down": b'{"app": "com.example.x", "display_name": {"a": 1, "a": 2}}',
    "deep arrays": b"[" * 50_000,
}
#: JSON, and yet not what was asked for: 400 or 422.
WRONG_VALUES: dict[str, bytes] = {
    "an escaped NUL in the name": b'{"app": "com.example.x", "display_name": "a\\u0000b"}',
    "an array": b"[]",
    "a string": b'"com.example.x"',
    "null": b"null",
    "null for a text": b'{"app": null}',
    "a number for a text": b'{"app": 1}',
    "an unknown member": b'{"app": "com.example.x", "owner": "me"}',
    "no member": b"{}",
    "a number past 2^53": b'{"app": "com.example.x", "display_name": 9007199254740993}',
}
#: Content types of a sound body: 415.
WRONG_TYPES = ("text/plain", "application/json; charset=utf-16", "application/json; charset=iso-8859-1", "application/xml",
               "multipart/form-data; boundary=x")  # fmt: skip


def malformed(stage: Stage, is_broken: bool) -> Measurement:
    """F16."""
    measurement = Measurement()
    ledger = node = previous = None
    token = "none"
    if is_broken:
        front = takes_any_json()
        stage.on_exit(front.close)
        port = front.port
    else:
        ledger = stage.ledger()
        node = stage.node(ledger)
        stage.apps(node, 1)
        previous = stage.before(ledger)
        port, token = node.port, node.api.token
    before = ledger.position() if ledger else 0
    outcomes = {}

    def send(name: str, body: bytes, type: str, expected: set[int], *, with_pointer: bool) -> None:
        head = (
            f"POST /v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: {type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        reply = exchange(port, head.encode() + body, quiet=0)
        outcomes[name] = reply.status
        measurement.expect("refused", reply.status in expected, f"{name}: {reply.status}")
        measurement.expect("no 500", reply.status != 500, name)
        if with_pointer and reply.status in (400, 422):
            try:
                problem = json.loads(reply.responses[-1].body)
            except ValueError:
                problem = {}
            is_pointed = all(re.fullmatch(r"(/.*)?", e.get("pointer", "?"), re.S) and e.get("detail") for e in problem.get("errors", [])) and problem.get("errors")  # noqa: E501
            measurement.expect("pointer", bool(is_pointed), f"{name}: {problem}")

    for name, body in NOT_JSON.items():
        send(name, body, "application/json", {400}, with_pointer=True)
    for name, body in WRONG_VALUES.items():
        send(name, body, "application/json", {400, 422}, with_pointer=True)
    for type in WRONG_TYPES:
        send(type, b'{"app": "com.example.x"}', type, {415}, with_pointer=False)
    # What is well-formed only in the eyes of some: the charset that JSON has anyway is no mistake.
    measurement.figures["cases"] = outcomes
    wrong = {f.text.split(":")[0] for f in measurement.failures}
    measurement.headline = f"{len(outcomes) - len(wrong)} of {len(outcomes)} cases refused as they should be"
    if node is not None:
        measurement.expect("nothing recorded", ledger.position() == before, f"{ledger.position() - before} events")
        stage.invariants(measurement, ledger, node, (), previous)
    return measurement


EXPERIMENTS = [
    Experiment(
        "F15", "bodies, headers, targets that are too large or never end", "everything is read before it is looked at",
        {"answered", "at once"}, oversize,
    ),
    Experiment(
        "F16", "malformed JSON, wrong values, wrong types", "a lenient reader of JSON", {"refused"}, malformed,
    ),
]  # fmt: skip
