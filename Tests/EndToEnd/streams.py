"""Streams of server-sent events, read in threads of their own: an app's documents, and the ledger."""

import http.client
import queue
import threading
import time


class DocumentStream:
    """A stream of documents, read in a thread of its own."""

    def __init__(self, port: int, app: str, **headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.connection.request("GET", f"/client/v1/apps/{app}/stream", headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.headers["Content-Type"] == "text/event-stream"
        assert self.response.headers["Cache-Control"] == "no-store"
        self.events: queue.Queue = queue.Queue()
        self.comments: list[str] = []
        self.retries: list[int] = []
        self.has_ended_well = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                name, _, value = line.partition(": ")
                if line.startswith(":"):
                    self.comments.append(line[2:])
                elif name == "retry":
                    self.retries.append(int(value))
                elif line:
                    fields[name] = value
                elif fields:
                    self.events.put((time.monotonic(), fields))
                    fields = {}
            self.has_ended_well = True
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.events.put(None)

    def take(self, seconds: float = 300) -> dict:
        event = self.events.get(timeout=seconds)
        assert event is not None, "the stream ended"
        return event[1]

    def is_silent(self, seconds: float = 0.3) -> bool:
        try:
            return self.events.get(timeout=seconds) is None
        except queue.Empty:
            return True

    def __enter__(self) -> "DocumentStream":
        return self

    def __exit__(self, *_) -> None:
        if self.response.fp is not None:
            self.response.fp.raw._sock.shutdown(2)
        self.thread.join(180)
        self.connection.close()


class LedgerStream:
    """A subscription, read in a thread of its own.

    The server records who reads the ledger at times of its own choosing: only a `whole` stream has those events.
    """

    def __init__(self, api, query: str = "", *, whole: bool = False, **headers):
        self.whole = whole
        self.connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=120)
        self.connection.request(
            "GET", f"/v1/events{query}", headers={"Authorization": f"Bearer {api.token}", **headers}
        )
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.headers["Content-Type"] == "text/event-stream"
        assert self.response.headers["Cache-Control"] == "no-store"
        self.events: queue.Queue = queue.Queue()
        self.comments: queue.Queue = queue.Queue()
        # The comment at the beginning says that the subscription stands: what is recorded from now on is heard.
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        assert self.comments.get(timeout=180) == "pinledger"

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                if line.startswith(":"):
                    self.comments.put(line[1:].strip())
                elif line:
                    name, _, value = line.partition(": ")
                    assert name not in fields
                    fields[name] = value
                elif fields:
                    if self.whole or fields["event"] != "RequestsAudited":
                        self.events.put((time.monotonic(), fields))
                    fields = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.events.put(None)

    def take(self, count: int, seconds: float = 180) -> list[dict]:
        taken = []
        for _ in range(count):
            event = self.events.get(timeout=seconds)
            assert event is not None, "the stream ended"
            taken.append(event[1])
        return taken

    def close(self) -> None:
        # Ends the blocked read as well; a stream that has ended has let go of its socket.
        if self.response.fp is not None:
            self.response.fp.raw._sock.shutdown(2)
        self.thread.join(180)
        self.connection.close()

    def __enter__(self) -> "LedgerStream":
        return self

    def __exit__(self, *_) -> None:
        self.close()
