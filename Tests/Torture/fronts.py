"""HTTP servers that stand where the real one does and do it wrong: the broken variants."""

import contextlib
import json
import queue
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

from load import Client


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512

    def handle_error(self, request, client_address) -> None:
        """Clients come and go; that is what they are told to do."""


class Front:
    """A server on a thread, for as long as the experiment lasts."""

    def __init__(self, handler: type):
        self._server = _Server(("127.0.0.1", 0), handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class HastyFront(Front):
    """One that has answered what it has yet to pass on."""

    def __init__(self, handler: type, waiting: queue.Queue):
        self._waiting = waiting
        super().__init__(handler)

    def drain(self, seconds: float = 300) -> None:
        """Until all is passed on: what is missing afterwards is lost, and not only late."""
        deadline = time.monotonic() + seconds
        while self._waiting.unfinished_tasks:
            if time.monotonic() > deadline:
                raise AssertionError(f"after {seconds} s {self._waiting.unfinished_tasks} commands are not passed on")
            time.sleep(0.02)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_) -> None:
        pass

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


def answers_before_commit(port: Callable[[], int], token: str) -> HastyFront:
    """Acknowledges every command at once and passes it on afterwards: commands lost in between were acknowledged."""
    waiting: queue.Queue = queue.Queue()

    def pass_on() -> None:
        client = Client(port, token, seconds=5)
        while True:
            method, target, body, key = waiting.get()
            with contextlib.suppress(Exception):
                client.request(method, target, body, {"Idempotency-Key": key})
            waiting.task_done()

    threading.Thread(target=pass_on, daemon=True).start()

    class Handler(_Handler):
        def do_POST(self) -> None:
            body = json.loads(self.read_body())
            waiting.put((self.command, self.path, body, self.headers["Idempotency-Key"]))
            self.answer(200, b"{}")

        do_PATCH = do_POST

    return HastyFront(Handler, waiting)


def reads_everything_first() -> Front:
    """Takes whatever is sent, however much it is, and answers when it has it all."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            received = b""
            with contextlib.suppress(OSError):
                while chunk := self.request.recv(1 << 20):
                    received += chunk
                self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    return Front(Handler)


def takes_any_json() -> Front:
    """Reads JSON as Python does, and is content with whatever comes."""

    class Handler(_Handler):
        def do_POST(self) -> None:
            try:
                json.loads(self.read_body().decode("utf-8", errors="replace"))
            except (ValueError, RecursionError):
                self.answer(400, b"")
            else:
                self.answer(200, b"{}")

        do_PATCH = do_POST

        def do_GET(self) -> None:
            self.answer(200, b'{"position": 0, "status": "ready"}')

    return Front(Handler)


def parses_naively() -> Front:
    """Uses the first Content-Length, ignores Transfer-Encoding, and accepts any line end."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connection: socket.socket = self.request
            connection.settimeout(1)
            data = b""
            with contextlib.suppress(OSError):
                while True:
                    text = data.replace(b"\r\n", b"\n")
                    if b"\n\n" in text:
                        head, _, rest = text.partition(b"\n\n")
                        length = 0
                        for line in head.split(b"\n")[1:]:
                            name, _, value = line.partition(b":")
                            if name.strip().lower() == b"content-length":
                                with contextlib.suppress(ValueError):
                                    length = int(value.strip().split(b",")[0])
                                break
                        if len(rest) >= length:
                            data = rest[max(length, 0) :].lstrip(b"\n")
                            body = head.split(b"\n")[0]
                            connection.sendall(
                                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
                            )  # fmt: skip
                            continue
                    chunk = connection.recv(65536)
                    if not chunk:
                        return
                    data += chunk

    return Front(Handler)


def logs_before_answering(path: str) -> Front:
    """Serves a document only when its access log has taken the request: the sink lies in the request's path."""

    class Handler(_Handler):
        def do_GET(self) -> None:
            try:
                with open(path, "ab") as log:
                    log.write(self.path.encode() + b" " * 4096 + b"\n")
                    log.flush()
            except OSError:
                self.answer(500, b"")
            else:
                self.answer(200, b"document")

    return Front(Handler)
