"""A receiver of webhooks as a third party would write it, from standardwebhooks.com alone."""

import base64
import hashlib
import hmac
import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Message:
    id: str
    timestamp: str
    signature: str
    body: bytes
    headers: dict
    path: str
    received_at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def entry(self) -> dict:
        return self.json["entry"]

    @property
    def position(self) -> int:
        return self.entry["position"]

    @property
    def signatures(self) -> list[str]:
        return self.signature.split(" ")

    def verify(self, secret: str) -> bool:
        """Whether one of the signatures is by this secret, over id, time and body; and the time is about now."""
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        text = f"{self.id}.{self.timestamp}.".encode() + self.body
        expected = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        assert abs(time.time() - int(self.timestamp)) < 300
        return any(hmac.compare_digest(expected, each) for each in self.signatures)


class Receiver:
    """Listens on 127.0.0.1. `behave(message, count)` gives the answer: a status, a status with headers, or None for no
    answer at all; `count` says how often the message has come, this time included."""

    def __init__(self, behave=lambda message, count: 200, certificate: tuple[str, str] | None = None):
        self.behave = behave
        self.messages: list[Message] = []
        self.connections = 0
        self.lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def setup(self):
                super().setup()
                with receiver.lock:
                    receiver.connections += 1

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = Message(
                    self.headers["webhook-id"], self.headers["webhook-timestamp"], self.headers["webhook-signature"],
                    body, dict(self.headers), self.path,
                )  # fmt: skip
                with receiver.lock:
                    receiver.messages.append(message)
                    count = sum(each.id == message.id for each in receiver.messages)
                answer = receiver.behave(message, count)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    pass

            def log_message(self, *arguments):
                pass

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass

        self.server = Listener(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/in"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> "Receiver":
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()

    def of(self, stream: str) -> list[Message]:
        with self.lock:
            return [each for each in self.messages if each.json.get("entry", {}).get("stream") == stream]

    def wait(self, is_enough, seconds: float = 180) -> None:
        """Waits until `is_enough(messages)`."""
        deadline = time.monotonic() + seconds
        while True:
            with self.lock:
                messages = list(self.messages)
            if is_enough(messages):
                return
            assert time.monotonic() < deadline, f"after {seconds} s there are {[each.id for each in messages]}"
            time.sleep(0.01)
