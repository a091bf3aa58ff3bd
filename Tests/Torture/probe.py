"""Fetches at a fixed rate until SIGTERM: probe.py PORT RATE OUTPUT PATH…

The time of an answer counts from when its request was due, not from when it was sent: what a slow answer delays is slow
too. Prints nothing; OUTPUT gets the samples as JSON.
"""

import base64
import json
import signal
import socket
import sys
import time

CONNECT_SECONDS = 60




class Fetch:
    def __init__(self, port: int):
        self.port = port
        self.connection: socket.socket | None = None

    def get(self, path: str) -> tuple[int, bytes]:
        fresh = self.connection is None
        try:
            return self._get(path)
        except OSError:
            self.close()
            if fresh:
                raise
        # A kept-alive connection may have been closed by the server at any time: that is no failure.
        try:
            return self._get(path)
        except OSError:
            self.close()
            raise

    def _get(self, path: str) -> tuple[int, bytes]:
        if self.connection is None:
            self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=CONNECT_SECONDS)
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, body = received.partition(b"\r\n\r\n")
        fields = head.lower().split(b"\r\n")
        length = next(int(field[15:]) for field in fields if field.startswith(b"content-length:"))
        while len(body) < length:
            body += self._receive()
        if b"connection: close" in fields:
            self.close()
        return int(head.split(b" ", 2)[1]), body

    def _receive(self) -> bytes:
        assert self.connection is not None
        chunk = self.connection.recv(65536)
        if not chunk:
            raise ConnectionResetError("closed")
        return chunk

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def main() -> None:
    port, rate, output, paths = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]
    samples: list[tuple[float, float, int]] = []
    documents: list[tuple[float, str, int, int, str]] = []
    last: dict[str, bytes] = {}
    fetch = Fetch(port)
    is_stopped = False

    def stop(*_) -> None:
        nonlocal is_stopped
        is_stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    started = time.monotonic()
    number = 0
    while not is_stopped:
        due = started + number / rate
        delay = due - time.monotonic()
        if delay > 0:
            time.sleep(delay)
            if is_stopped:
                break
        path = paths[number % len(paths)]
        number += 1
        try:
            status, body = fetch.get(path)
        except (OSError, ValueError, StopIteration):
            status, body = 0, b""
        now = time.monotonic()
        samples.append((due, now - due, status))
        if status == 200 and body.count(b".") == 2 and last.get(path) != body:
            last[path] = body
            part = body.split(b".")[1]
            content = json.loads(base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4)))
            documents.append((now, content["aud"], content["version"], content["iat"], content["content_sha256"]))
    fetch.close()
    with open(output, "w") as file:
        json.dump({"samples": samples, "documents": documents}, file)


main()
