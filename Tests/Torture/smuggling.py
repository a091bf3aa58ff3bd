"""Requests whose end two readers see in two places: a second request hidden in the first must never be answered."""

import subprocess
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fronts import parses_naively
from pinledger import free_port
from rawhttp import exchange
from report import Experiment, Measurement
from stage import Stage

#: What an answer to the hidden request holds, and no other.
MARK = b"internal_error"
HIDDEN = b"GET /problems/internal_error HTTP/1.1\r\nHost: x\r\n\r\n"

#: Ways to write Transfer-Encoding that some readers take for it and others do not.
ENCODINGS: dict[str, str] = {
    "plain": "Transfer-Encoding: chunked",
    "upper case": "TRANSFER-ENCODING: CHUNKED",
    "space before the colon": "Transfer-Encoding : chunked",
    "tab after the colon": "Transfer-Encoding:\tchunked",
    "no space": "Transfer-Encoding:chunked",
    "vertical tab": "Transfer-Encoding: \x0bchunked",
    "unknown": "Transfer-Encoding: xchunked",
    "quoted": 'Transfer-Encoding: "chunked"',
    "a parameter": "Transfer-Encoding: chunked;q=1",
    "identity": "Transfer-Encoding: identity",
    "chunked, identity": "Transfer-Encoding: chunked, identity",
    "identity, chunked": "Transfer-Encoding: identity, chunked",
    "chunked twice": "Transfer-Encoding: chunked, chunked",
    "gzip, chunked": "Transfer-Encoding: gzip, chunked",
    "two lines": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "two lines, the other way": "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "folded": "Transfer-Encoding:\r\n chunked",
    "a leading space": " Transfer-Encoding: chunked",
    "folded onto another": "X-A: b\r\n\tTransfer-Encoding: chunked",
    "after a bare line feed": "X-A: b\nTransfer-Encoding: chunked",
    "after a bare carriage return": "X-A: b\rTransfer-Encoding: chunked",
    "a NUL": "Transfer-Encoding: chunked\x00",
    "empty": "Transfer-Encoding: ",
}
#: Ways to write a length.
LENGTHS: dict[str, str] = {
    "two that differ": "Content-Length: 0\r\nContent-Length: {n}",
    "two that differ, the other way": "Content-Length: {n}\r\nContent-Length: 0",
    "a list": "Content-Length: 0, {n}",
    "a plus sign": "Content-Length: +{n}",
    "a minus sign": "Content-Length: -{n}",
    "hexadecimal": "Content-Length: 0x{n:x}",
    "with an exponent": "Content-Length: 0e{n}",
    "a fraction": "Content-Length: 0.{n}",
    "a space inside": "Content-Length: 0 {n}",
    "an underscore": "Content-Length: 0_{n}",
    "a parameter": "Content-Length: 0;{n}",
    "empty": "Content-Length: ",
    "beyond 64 bits": "Content-Length: 18446744073709551616",
    "space before the colon": "Content-Length : {n}",
    "folded": "Content-Length:\r\n {n}",
    "after a bare carriage return": "X-A: b\rContent-Length: {n}",
    "other digits": "Content-Length: \u0660".encode().decode("latin-1"),
    "hidden by a NUL": "Content-Length\x00: {n}",
}
#: Chunked bodies, after which nothing may be read as a request.
CHUNKS: dict[str, bytes] = {
    "a size beyond 64 bits": b"10000000000000000\r\n" + HIDDEN,
    "a negative size": b"-1\r\n\r\n0\r\n\r\n" + HIDDEN,
    "a size with a plus sign": b"+0\r\n\r\n" + HIDDEN,
    "a size with 0x": b"0x0\r\n\r\n" + HIDDEN,
    "a size with an underscore": b"0_0\r\n\r\n" + HIDDEN,
    "a size with a leading space": b" 0\r\n\r\n" + HIDDEN,
    "no size": b"\r\n\r\n" + HIDDEN,
    "bare line feeds": b"2\n{}\n0\n\n" + HIDDEN,
    "a bare carriage return": b"2\r{}\r0\r\r" + HIDDEN,
    "no line end after the data": b"2\r\n{}XX0\r\n\r\n" + HIDDEN,
    "more data than its size": b"1\r\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a bare line feed in an extension": b"2;a\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a NUL in the size": b"0\x00\r\n\r\n" + HIDDEN,
    "an end within a chunk": b"f0\r\n0\r\n\r\n" + HIDDEN,
}


def attacks() -> list[tuple[str, bytes]]:
    """At least sixty requests of which each has one answer at the most, and none of them the hidden one's."""
    made: list[tuple[str, bytes]] = []

    def post(*fields: str) -> bytes:
        return "\r\n".join(["POST /v1/apps HTTP/1.1", "Host: x", *fields, "", ""]).encode("latin-1")

    for name, line in ENCODINGS.items():
        # A reader that uses the length reads on to the end; one that uses the chunks must close after the answer.
        body = b"0\r\n\r\n" + HIDDEN
        made.append((f"length, then encoding: {name}", post(f"Content-Length: {len(body)}", line) + body))
        # A reader that uses the chunks reads on to the end; no reader may use the length.
        size = f"{len(HIDDEN):x}\r\n".encode()
        body = size + HIDDEN + b"\r\n0\r\n\r\n"
        made.append((f"encoding, then length: {name}", post(line, f"Content-Length: {len(size)}") + body))
    for name, line in LENGTHS.items():
        made.append((f"length: {name}", post(line.replace("{n}", str(len(HIDDEN))).replace("{n:x}", f"{len(HIDDEN):x}")) + HIDDEN))  # noqa: E501
    for name, body in CHUNKS.items():
        made.append((f"chunk: {name}", post("Transfer-Encoding: chunked") + body))
    count = f"Content-Length: {len(HIDDEN)}"
    zero = b"0\r\n\r\n" + HIDDEN

    def request(line: str, *fields: str) -> bytes:
        return "\r\n".join([line, "Host: x", *fields, "", ""]).encode("latin-1")

    made += [
        ("GET with a body", request("GET /healthz HTTP/1.1", count) + HIDDEN),
        ("HEAD with a body", request("HEAD /healthz HTTP/1.1", count) + HIDDEN),
        ("OPTIONS with a body", request("OPTIONS /v1/apps HTTP/1.1", count) + HIDDEN),
        ("DELETE with a body", request("DELETE /v1/kill-switch HTTP/1.1", count) + HIDDEN),
        ("GET of a document with a body", request("GET /client/v1/apps/com.example.app0/document HTTP/1.1", count) + HIDDEN),
        ("GET of a document in chunks",
         request("GET /client/v1/apps/com.example.app0/document HTTP/1.1", "Transfer-Encoding: chunked")
         + f"{len(HIDDEN):x}\r\n".encode() + HIDDEN + b"\r\n0\r\n\r\n"),
        ("Expect, and a body", request("POST /v1/apps HTTP/1.1", "Expect: 100-continue", count) + HIDDEN),
        ("Expect of something else", request("POST /v1/apps HTTP/1.1", "Expect: 100-continue, x", count) + HIDDEN),
        ("upgrade to h2c", request("GET /healthz HTTP/1.1", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
                                   "HTTP2-Settings: AAMAAABkAAQAAP__", count) + HIDDEN),
        ("upgrade to a WebSocket", request("GET /healthz HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket",
                                           "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", count) + HIDDEN),
        ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN),
        ("HTTP/1.0 in chunks", request("POST /v1/apps HTTP/1.0", "Transfer-Encoding: chunked") + zero),
        ("HTTP/1.0, kept alive, in chunks",
         request("POST /v1/apps HTTP/1.0", "Connection: keep-alive", "Transfer-Encoding: chunked") + zero),
        ("HTTP/1.0 without keep-alive", b"GET /healthz HTTP/1.0\r\n\r\n" + HIDDEN),
        ("told to close", request("GET /healthz HTTP/1.1", "Connection: close") + HIDDEN),
        ("the length named as the connection's", request("POST /v1/apps HTTP/1.1", "Connection: Content-Length", count) + HIDDEN),
        ("a malformed version", b"GET /healthz HTTP/1.10\r\nHost: x\r\n\r\n" + HIDDEN),
        ("HTTP/0.9", b"GET /healthz\r\n" + HIDDEN),
        ("a target with a request in it", b"GET /healthz HTTP/1.1\r\rHost: x\r\r\r\r" + HIDDEN),
        ("a header without a colon", request("GET /healthz HTTP/1.1", "X-A") + HIDDEN),
        ("a header without a name", request("GET /healthz HTTP/1.1", ": b") + HIDDEN),
        ("a space in a header's name", request("GET /healthz HTTP/1.1", "X A: b") + HIDDEN),
        ("a NUL in a header", request("GET /healthz HTTP/1.1", "X-A: b\x00c") + HIDDEN),
        ("a folded header", request("GET /healthz HTTP/1.1", "X-A: b\r\n c: d") + HIDDEN),
        # RFC 9112, section 3.2: to be refused.
        ("two hosts", b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + HIDDEN),
        ("no host", b"GET /healthz HTTP/1.1\r\n\r\n" + HIDDEN),
    ]  # fmt: skip
    return made


def nginx(stage: Stage, upstream: int) -> int:
    """A real proxy in front, with one connection to the server that all its clients share; its port."""
    directory = stage.directory / "nginx"
    (directory / "logs").mkdir(parents=True)
    port = free_port()
    configuration = directory / "nginx.conf"
    configuration.write_text(
        textwrap.dedent(f"""
            daemon off;
            master_process off;
            pid {directory}/pid;
            error_log {directory}/error.log;
            events {{ worker_connections 512; }}
            http {{
                access_log off;
                client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
                fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
                upstream pinledger {{ server 127.0.0.1:{upstream}; keepalive 1; }}
                server {{
                    listen 127.0.0.1:{port};
                    location / {{
                        proxy_pass http://pinledger;
                        proxy_http_version 1.1;
                        proxy_set_header Connection "";
                        proxy_request_buffering off;
                    }}
                }}
            }}
            """)
    )
    process = subprocess.Popen(
        ["/usr/sbin/nginx", "-p", str(directory), "-c", str(configuration), "-e", str(directory / "error.log")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip

    def stop() -> None:
        process.kill()
        process.wait()

    stage.on_exit(stop)
    deadline = time.monotonic() + 10
    while True:
        try:
            if exchange(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", quiet=0).status == 200:
                return port
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            log = Path(directory / "error.log")
            raise AssertionError(f"nginx does not run: {log.read_text()[-500:] if log.exists() else ''}")
        time.sleep(0.05)


def smuggling(stage: Stage, is_broken: bool) -> Measurement:
    """F18."""
    measurement = Measurement()
    ledger = node = previous = None
    ways: dict[str, int] = {}
    table = attacks()
    if is_broken:
        front = parses_naively()
        stage.on_exit(front.close)
        ways["directly"] = front.port
    else:
        ledger = stage.ledger()
        node = stage.node(ledger)
        stage.apps(node, 1)
        previous = stage.before(ledger)
        ways["directly"] = node.port
        if not stage.is_short:
            ways["through nginx"] = nginx(stage, node.port)
    outcomes: dict[str, dict] = {}
    for way, port in ways.items():

        def attack(case: tuple[str, bytes], port: int = port, victims: int = 1 if way == "directly" else 3) -> dict:
            reply = exchange(port, case[1], seconds=1, quiet=0.1)
            # The next client has to get the answer to its own request.
            own = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            next_ones = [exchange(port, own, quiet=0) for _ in range(victims)]
            robbed = [v.raw[:200] for v in next_ones if v.status != 200 or b'"alive"' not in v.raw or MARK in v.raw]
            return {
                "statuses": reply.statuses, "closed": reply.is_closed, "smuggled": MARK in reply.raw,
                "robbed": repr(robbed) if robbed else None,
            }  # fmt: skip

        # Through nginx one after the other: all share its one connection to the server.
        with ThreadPoolExecutor(8 if way == "directly" else 1) as pool:
            found = list(pool.map(attack, table))
        for (name, _), outcome in zip(table, found, strict=True):
            outcomes[f"{way}: {name}"] = outcome
            if way == "directly":
                # What nginx answers itself is not the server's doing.
                measurement.expect("no desync", not outcome["smuggled"], f"{name}: the hidden request is answered")
                measurement.expect("no 500", 500 not in outcome["statuses"], f"{name}: {outcome['statuses']}")
            if not is_broken:
                text = f"{name}: {way} the next client got {outcome['robbed']}"
                measurement.expect("no desync", outcome["robbed"] is None, text)
    bad = sorted({failure.text.split(":")[0] for failure in measurement.failures})
    measurement.figures |= {"cases": outcomes, "ways": list(ways)}
    hidden = sum(o["smuggled"] for key, o in outcomes.items() if key.startswith("directly"))
    measurement.headline = f"{len(table)} cases {' and '.join(ways)}, {hidden} hidden requests answered, {len(bad)} kinds wrong"
    if node is not None:
        stage.invariants(measurement, ledger, node, (), previous)
    return measurement


EXPERIMENTS = [
    Experiment(
        "F18", "a request hidden in another", "a parser that knows Content-Length alone", {"no desync"}, smuggling,
        packages=("nginx-light",),
    ),
]  # fmt: skip
