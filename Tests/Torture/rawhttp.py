"""HTTP as bytes: it sends exactly the given bytes, and reads answers strictly."""

import re
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class Response:
    status: int
    head: bytes
    body: bytes


@dataclass
class Reply:
    """Everything that came back over one connection."""

    responses: list[Response]
    #: Whether the server closed the connection.
    is_closed: bool
    #: Seconds from the first byte sent until the first answer, or the close.
    seconds: float
    sent: int
    raw: bytes

    @property
    def status(self) -> int | None:
        """The status of the first final answer; None where there is none."""
        return next((each.status for each in self.responses if each.status >= 200), None)

    @property
    def statuses(self) -> list[int]:
        return [each.status for each in self.responses]


def parse(received: bytes) -> list[Response]:
    """Complete and incomplete responses, one after the other."""
    responses = []
    rest = received
    while rest:
        head, separator, after = rest.partition(b"\r\n\r\n")
        match = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        if not separator or not match:
            break
        status = int(match[1])
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
        if status < 200 or status in (204, 304):
            body, rest = b"", after
        elif re.search(rb"\r\ntransfer-encoding: *chunked", head, re.I):
            body, rest = b"", after
            while match := re.match(rb"([0-9a-fA-F]+)[^\r\n]*\r\n", rest):
                size = int(match[1], 16)
                body += rest[match.end() : match.end() + size]
                rest = rest[match.end() + size + 2 :]
                if size == 0:
                    break
        elif length:
            body, rest = after[: int(length[1])], after[int(length[1]) :]
        else:
            body, rest = after, b""
        responses.append(Response(status, head, body))
    return responses


def exchange(port: int, sent: bytes | Iterable[bytes], *, seconds: float = 60, quiet: float = 0.3) -> Reply:
    """Sends, and reads until the server closes, or until it has answered and then been quiet for a while.

    What is sent may be endless: then until the server closes, or the time is over.
    """
    started = time.monotonic()
    first: float | None = None
    received, count, is_closed = b"", 0, False
    chunks = iter([sent] if isinstance(sent, bytes) else sent)
    pending = b""
    is_sending = True
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setblocking(False)
        last = time.monotonic()
        while time.monotonic() - started < seconds:
            moved = False
            if is_sending:
                if not pending:
                    chunk = next(chunks, None)
                    if chunk is not None:
                        pending = chunk
                    else:
                        is_sending = False
                try:
                    if pending:
                        done = connection.send(pending[: 1 << 18])
                        pending = pending[done:]
                        count += done
                        moved = True
                except BlockingIOError:
                    pass
                except OSError:
                    is_sending = False
            try:
                chunk = connection.recv(1 << 16)
                if not chunk:
                    is_closed = True
                    break
                received += chunk
                last = time.monotonic()
                moved = True
                if first is None:
                    first = last - started
            except BlockingIOError:
                pass
            except OSError:
                is_closed = True
                break
            if received and not is_sending and time.monotonic() - last > quiet:
                break
            if not moved:
                time.sleep(0.002)
    return Reply(parse(received), is_closed, first or time.monotonic() - started, count, received)
