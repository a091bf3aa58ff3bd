"""Edges, and upstreams that lie to them."""

import base64
import http.server
import json
import os
import queue
import threading
import time
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pinledger import API, Process, Server, eventually, free_port, pin_of
from prometheus_client.parser import text_string_to_metric_families


APPS = [f"com.example.edge.{name}" for name in ("one", "two", "three")]
ONE, TWO, THREE = APPS
HOST = "api.example.com"


def secret(path: Path, text: str) -> Path:
    """A file that only its owner may read."""
    path.write_text(text)
    path.chmod(0o600)
    return path


class Edge(Process):
    """`pinledger edge serve` in a directory of its own."""

    def __init__(self, home: Path, upstream: int, token: str, keys: Path, *more: str, name: str = "edge"):
        self.home = home / name
        self.home.mkdir()
        self.state, self.keys = self.home / "state", self.home / "keys.json"
        self.keys.write_bytes(keys.read_bytes())
        self.token = base64.b64encode(os.urandom(32)).decode()
        port, metrics = free_port(), free_port()
        arguments = [
            "edge", "serve", "--upstream", f"http://127.0.0.1:{upstream}", "--trusted-keys", str(self.keys),
            "--upstream-token-file", str(secret(self.home / "token", token)), "--state-directory", str(self.state),
            "--downstream-token-file", str(secret(self.home / "downstream", f"# edges behind this one\n{self.token}\n")),
            "--listen", f"127.0.0.1:{port}", "--metrics-listen", f"127.0.0.1:{metrics}", "--requests-per-network", "0", *more,
        ]  # fmt: skip
        super().__init__(self.home / "log", arguments, port)
        self.api, self.monitoring = API(port, None), API(metrics, None)

    def start(self) -> "Edge":
        self.spawn()
        self.wait_until(lambda: self.api.get("/healthz").status == 200)
        return self

    def start_ready(self) -> "Edge":
        self.start()
        self.wait_until(lambda: self.api.get("/readyz").status == 200)
        return self

    def sample(self, name: str, **labels: str) -> float | None:
        text = self.monitoring.get("/metrics").body.decode()
        found = [
            each.value for family in text_string_to_metric_families(text) for each in family.samples
            if each.name == name and each.labels == labels
        ]  # fmt: skip
        return found[0] if found else None

    def kept(self) -> int:
        """How many documents are on its disk."""
        try:
            return self.state.joinpath("documents").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def has_kept(self, body: bytes) -> bool:
        """Whether a document or a root of trust is on its disk: it is served up to a second and a slow write earlier."""
        return any(body in file.read_bytes() for file in self.state.iterdir() if file.name in ("documents", "roots"))

    def refused(self, cause: str) -> float:
        return self.sample("pinledger_upstream_refused_documents_total", cause=cause) or 0

    def serves(self, other: API, app: str) -> bool:
        return self.api.document(app).body == other.document(app).body

    def follows(self, other: API, app: str) -> None:
        eventually(lambda: self.serves(other, app), f"the document of {app}")


def key_file(server: Server, path: Path) -> Path:
    """The server's key set, as an operator saves it."""
    path.write_bytes(server.api.get("/client/v1/jwks.json").body)
    return path


class Site:
    """A server, its key set in a file, and a token that reads its apps."""

    def __init__(self, home):
        self.home = home
        self.server = Server().start()
        for app in APPS:
            self.server.api.make_app(app, HOST)
        self.keys = key_file(self.server, home / "keys.json")
        self.reader = self.server.api.holding("viewer", name="edges")
        self.edges: list[Edge] = []

    def edge(self, *more: str, upstream: int | None = None, token: str | None = None, name: str | None = None) -> Edge:
        name = name or f"edge{len(self.edges)}"
        edge = Edge(
            self.home, upstream or self.server.port, token or self.reader.token, self.keys, "--upstream-interval", "1", *more,
            name=name)  # fmt: skip
        self.edges.append(edge)
        return edge

    def behind(self, edge: Edge) -> Edge:
        return self.edge(upstream=edge.port, token=edge.token)

    def close(self) -> None:
        for edge in self.edges:
            if edge.is_running:
                edge.kill()
        self.server.destroy()


def rename(api: API, app: str) -> None:
    """A change with a new version of the app's document."""
    api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", {"pin": pin_of(str(time.monotonic())), "role": "backup"})


def sign(payload: dict, key: Ed25519PrivateKey, kid: str) -> bytes:
    header = {"alg": "EdDSA", "kid": kid, "typ": "pinset+jws"}
    parts = [base64.urlsafe_b64encode(json.dumps(part, sort_keys=True, separators=(",", ":")).encode()).rstrip(b"=")
             for part in (header, payload)]  # fmt: skip
    signature = key.sign(b".".join(parts))
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")])


class Liar:
    """An upstream in Python, which says whatever a test wants it to."""

    def __init__(self):
        #: What is listed: tag and version by app.
        self.listed: dict[str, tuple[str, int]] = {}
        #: Bodies of documents by app, or functions that write the whole answer.
        self.documents: dict[str, bytes] = {}
        #: The whole answer of a path, by a function of the handler.
        self.answers: dict[str, object] = {}
        self.streams: list[queue.Queue] = []
        self.reports: list[tuple[str, dict, bytes]] = []
        liar = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def send(self, status: int, body: bytes, kind: str = "application/json", **fields: str) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(body))} | fields:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                path = self.path
                if path in liar.answers:
                    return liar.answers[path](self)
                if path == "/client/v1/documents":
                    entries = [{"app": app, "etag": tag, "version": version} for app, (tag, version) in liar.listed.items()]
                    return self.plain(200, json.dumps({"documents": entries}).encode())
                if path == "/client/v1/documents/stream":
                    return self.stream()
                app = path.removeprefix("/client/v1/apps/").removesuffix("/document")
                if app in liar.documents:
                    return self.plain(200, liar.documents[app])
                return self.plain(404, b"{}")

            def plain(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def stream(self) -> None:
                news: queue.Queue = queue.Queue()
                liar.streams.append(news)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(b": liar\n\n")
                self.wfile.flush()
                try:
                    while (piece := news.get()) is not None:
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:
                    pass
                self.close_connection = True

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    # The edge gave it up, and sends it again.
                    self.close_connection = True
                    return None
                if self.path in liar.answers:
                    return liar.answers[self.path](self)
                liar.reports.append((self.path, dict(self.headers), body))
                return self.plain(202, b"{}")

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tell(self, app: str, tag: str, document: bytes | None = None) -> None:
        """News on every stream that stands."""
        news = {"app": app, "etag": tag, "version": 1} | ({} if document is None else {"document": document.decode()})
        self.write(b"event: document\ndata: " + json.dumps(news).encode() + b"\n\n")

    def write(self, piece: bytes) -> None:
        eventually(lambda: self.streams, "a stream")
        for stream in self.streams:
            stream.put(piece)

    def close(self) -> None:
        for stream in self.streams:
            stream.put(None)
        self.server.shutdown()
        self.server.server_close()


def answer(status: int, body: bytes, **fields: str):
    def write(handler) -> None:
        handler.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | {n.replace("_", "-"): v for n, v in fields.items()}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return write


def endless(piece: bytes):
    def write(handler) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        try:
            for _ in range(2000):
                handler.wfile.write(piece)
        except OSError:
            pass
        handler.close_connection = True

    return write


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def timed(look) -> float:
    """How long it takes until `look` finds something."""
    started = time.monotonic()
    while not look():
        assert time.monotonic() - started < 60
        time.sleep(0.005)
    return time.monotonic() - started
