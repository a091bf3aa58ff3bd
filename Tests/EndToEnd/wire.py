"""HTTP/1.1 on raw sockets: what is sent is sent as it is, and what comes back is read to the byte."""

import re
import socket
import time
from dataclasses import dataclass


@dataclass
class Message:
    """An answer as it came, with the order and the spelling of its fields."""

    status: int
    line: bytes
    fields: list[tuple[str, str]]
    body: bytes

    def __getitem__(self, name: str) -> str | None:
        values = [value for field, value in self.fields if field.lower() == name.lower()]
        return ", ".join(values) if values else None

    def without(self, *names: str) -> tuple:
        """The answer without what differs each time."""
        return self.line, [field for field in self.fields if field[0].lower() not in names], self.body


class Wire:
    """A connection to a server on 127.0.0.1."""

    def __init__(
        self, port: int, *, wrap=None, receive_buffer: int | None = None, seconds: float = 60,
        source: str | None = None,
    ):  # fmt: skip
        self.socket = socket.socket()
        if source is not None:
            # Any address of 127.0.0.0/8 is this machine's: networks are told apart by it.
            self.socket.bind((source, 0))
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(seconds)
        self.socket.connect(("127.0.0.1", port))
        if wrap is not None:
            self.socket = wrap(self.socket)
        self.received = b""

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_) -> None:
        self.socket.close()

    def send(self, data: bytes) -> "Wire":
        self.socket.sendall(data)
        return self

    def finish(self) -> "Wire":
        """Says that nothing more is sent."""
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def until(self, text: bytes) -> "Wire":
        """Reads until a text has come, and keeps it."""
        while text not in self.received:
            assert self._more(), f"the connection ended before {text!r} came"
        return self

    def _more(self) -> bool:
        try:
            chunk = self.socket.recv(65536)
        except ConnectionResetError:
            return False
        self.received += chunk
        return bool(chunk)

    def answer(self, method: str = "GET") -> Message | None:
        """The next answer; None where the connection ends instead."""
        while b"\r\n\r\n" not in self.received:
            if not self._more():
                assert not self.received, f"the connection ended inside a head: {self.received!r}"
                return None
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        line, *lines = head.split(b"\r\n")
        fields = []
        for field in lines:
            name, _, value = field.decode("latin-1").partition(":")
            fields.append((name, value.strip(" ")))
        message = Message(int(line.split()[1]), line, fields, b"")
        if 100 <= message.status < 200 or message.status in (204, 304) or method == "HEAD":
            return message
        if message["Transfer-Encoding"] == "chunked":
            message.body = self._chunks()
        elif (length := message["Content-Length"]) is not None:
            message.body = self._take(int(length))
        else:
            while self._more():
                pass
            message.body, self.received = self.received, b""
        return message

    def _take(self, count: int) -> bytes:
        while len(self.received) < count:
            assert self._more(), "the connection ended inside a body"
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def _line(self) -> bytes:
        while b"\r\n" not in self.received:
            assert self._more(), "the connection ended inside a body"
        line, _, self.received = self.received.partition(b"\r\n")
        return line

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self._line(), 16):
            body += self._take(size)
            assert self._line() == b""
        assert self._line() == b""
        return body

    def answers(self) -> list[Message]:
        """All answers up to the end of the connection."""
        answers = []
        while (answer := self.answer()) is not None:
            answers.append(answer)
        return answers

    def wait_for_end(self) -> "Wire":
        """Returns when the server has closed the connection; what it sends meanwhile is kept."""
        self.seconds_to_end()
        return self

    def seconds_to_end(self, limit: float = 300) -> float:
        """How long the server takes to close the connection; what it sends meanwhile is kept."""
        started = time.monotonic()
        self.socket.settimeout(limit)
        while self._more():
            pass
        return time.monotonic() - started


def get(target: str, *fields: str, method: str = "GET", version: str = "1.1", host: bool = True) -> bytes:
    lines = [f"{method} {target} HTTP/{version}", *(["Host: localhost"] if host else []), *fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) * 1024


def processor_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
