"""Clients that wait for documents: thousands of streams in one process, read as they come through one epoll."""

import select
import socket
import threading
import time


class PushClients:
    """`count` streams of one app's documents; says when each version arrived at each of them."""

    def __init__(self, port: int, app: str, count: int):
        self.port, self.count = port, count
        self.request = (
            f"GET /client/v1/apps/{app}/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n"
        ).encode()
        self.sockets: dict[int, socket.socket] = {}
        #: The document that each stream got last, and when.
        self.latest: dict[int, tuple[bytes, float]] = {}
        self._rest: dict[int, bytes] = {}
        self._poll = select.epoll()
        self._stopped = False
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "PushClients":
        for _ in range(self.count):
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
            connection.sendall(self.request)
            connection.setblocking(False)
            number = connection.fileno()
            self.sockets[number], self._rest[number] = connection, b""
            self._poll.register(number, select.EPOLLIN)
        self._thread.start()
        return self

    def __exit__(self, *error) -> None:
        self._stopped = True
        self._thread.join(10)
        for connection in self.sockets.values():
            connection.close()
        self._poll.close()

    def _read(self) -> None:
        while not self._stopped:
            for number, _ in self._poll.poll(0.1, 1024):
                try:
                    data = self.sockets[number].recv(65536)
                except BlockingIOError:
                    continue
                if not data:
                    self._poll.unregister(number)
                    self.latest.pop(number, None)
                    continue
                arrived = time.monotonic()
                # The newest event that is here to its end; what is before it does not matter.
                text = self._rest[number] + data
                end = text.rfind(b"\n\n")
                self._rest[number] = text[end + 2 :] if end >= 0 else text
                start = text.rfind(b"id: ", 0, end)
                if start >= 0:
                    self.latest[number] = (text[start + 4 : text.index(b"\n", start)], arrived)

    def wait_for(self, version: int, seconds: float = 30) -> list[float]:
        """When the version arrived at each of the streams; all of them must have it in time."""
        prefix, deadline = f"{version}.".encode(), time.monotonic() + seconds
        while True:
            times = [arrived for id, arrived in list(self.latest.values()) if id.startswith(prefix)]
            if len(times) == self.count:
                return times
            assert time.monotonic() < deadline, f"{len(times)} of {self.count} streams have version {version}"
            time.sleep(0.05)
