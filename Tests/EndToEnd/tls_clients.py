"""Clients of HTTPS that send and read HTTP/2 frame by frame, and the nodes that they speak to."""

import select
import ssl
import subprocess

import pytest
from pinledger import Server
from wire import Wire, get

APP = "com.example.tls"
DOCUMENT = f"/client/v1/apps/{APP}/document"
STREAM = f"/client/v1/apps/{APP}/stream"
ROUTED = f"/client/v1/apps/{APP.replace('.', '%2E')}/document"

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, PADDED, PRIORITY = 0x01, 0x04, 0x08, 0x20
STATUS = {0x88: 200, 0x8B: 304, 0x8C: 400, 0x8D: 404}


def make_certificate(directory, name: str):
    """A self-signed certificate for localhost, and its key."""
    certificate, key = directory / f"{name}.pem", directory / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-keyout", str(key), "-out", str(certificate), "-subj", f"/CN={name}"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    key.chmod(0o600)
    return certificate, key


@pytest.fixture(scope="module")
def tls_directory(tmp_path_factory):
    """The folder of a file's certificates."""
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def tls_server():
    """A server with the app of these tests, whose database their nodes read."""
    server = Server()
    try:
        server.start().api.make_app(APP, *(f"h{number}.example.com" for number in range(5)))
        yield server
    finally:
        server.destroy()


def arguments(server, port: int, certificate, key, *, header: int = 30, idle: int = 30, body: int = 30) -> list[str]:
    return ["serve", "--database", server.connection_string, "--read-only", "--listen", f"127.0.0.1:{port}"] + [
        "--tls-certificate", str(certificate), "--tls-key", str(key), "--header-timeout", str(header),
        "--idle-timeout", str(idle), "--drain-timeout", "3", "--body-timeout", str(body),
    ]  # fmt: skip


def client_context(*protocols: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class SecureWire(Wire):
    def answer_to(self, target: str, *fields: str, method: str = "GET"):
        return self.send(get(target, *fields, method=method)).answer(method)


def connect(node, *protocols: str, **options) -> SecureWire:
    context = client_context(*protocols)
    return SecureWire(node.port, wrap=lambda plain: context.wrap_socket(plain, server_hostname="localhost"), **options)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def block(target: str, *fields: tuple[str, str], method: str = "GET", indexing: int = 0) -> bytes:
    """A request's fields, each a literal; those of the table are remembered with 0x40."""

    def literal(name: str, value: str) -> bytes:
        return b"".join(
            [bytes([indexing])] + [bytes([len(text)]) + text.encode() for text in (name, value)]
        )  # fmt: skip

    pseudo = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", target)]
    return b"".join(literal(*field) for field in [*pseudo, *fields])


class Streams(SecureWire):
    """HTTP/2, frame by frame. Answers' statuses are read, not their other fields."""

    def __init__(self, node, *, window: int = 2**24, stream_window: int = 2**20, **options):
        context = client_context("h2")
        super().__init__(
            node.port, wrap=lambda plain: context.wrap_socket(plain, server_hostname="localhost"), **options
        )
        self.status, self.body, self.ended, self.reset = {}, {}, set(), {}
        self.last, self.error = None, None
        settings = (4).to_bytes(2, "big") + stream_window.to_bytes(4, "big")
        self.send(PREFACE + frame(SETTINGS, 0, 0, settings) + (self.more(0, window) if window else b""))

    @staticmethod
    def more(stream: int, count: int) -> bytes:
        return frame(WINDOW_UPDATE, 0, stream, count.to_bytes(4, "big"))

    @staticmethod
    def request(stream: int, target: str, *fields, method: str = "GET", body: bool = False, **options) -> bytes:
        flags = END_HEADERS | (0 if body else END_STREAM)
        return frame(HEADERS, flags, stream, block(target, *fields, method=method, **options))

    def holds_frame(self) -> bool:
        return len(self.received) >= 9 and len(self.received) >= 9 + int.from_bytes(self.received[:3], "big")

    def drain(self) -> bool:
        """Reads what has arrived by now; False where the connection has ended."""
        while self.holds_frame() or self.socket.pending() or select.select([self.socket], [], [], 0)[0]:
            if not self.step():
                return False
        return True

    def step(self) -> bool:
        """Reads one frame; False where the connection has ended."""
        while not self.holds_frame():
            if not self._more():
                return False
        end = 9 + int.from_bytes(self.received[:3], "big")
        kind, flags, stream = self.received[3], self.received[4], int.from_bytes(self.received[5:9], "big")
        payload, self.received = self.received[9:end], self.received[end:]
        if kind == HEADERS:
            assert stream not in self.status and stream not in self.ended
            self.status[stream] = STATUS.get(payload[0])
            self.body[stream] = b""
        elif kind == DATA:
            assert stream in self.status and stream not in self.ended
            self.body[stream] += payload
        elif kind == RESET:
            self.reset[stream] = int.from_bytes(payload, "big")
        elif kind == GOAWAY:
            self.last, self.error = (int.from_bytes(payload[at : at + 4], "big") for at in (0, 4))
        elif kind == SETTINGS and not flags:
            self.send(frame(SETTINGS, 1, 0))
        elif kind == PING and not flags:
            self.send(frame(PING, 1, 0, payload))
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            self.ended.add(stream)
        return True

    def wait(self, *streams: int) -> "Streams":
        """Reads until the streams' answers are there to their end."""
        while not self.ended.issuperset(streams):
            assert self.step(), f"the connection ended with {self.error} before {set(streams) - self.ended}"
        return self

    def until_end(self) -> "Streams":
        while self.step():
            pass
        return self

    def quiet(self, seconds: float) -> "Streams":
        """Reads until nothing comes for that long."""
        limit = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        try:
            while self.step():
                pass
        except TimeoutError:
            pass
        finally:
            self.socket.settimeout(limit)
        return self

    def until(self, is_there) -> "Streams":
        """Reads until that holds."""
        while not is_there():
            assert self.step(), f"the connection ended with {self.error}"
        return self
