"""A witness as C2SP tlog-witness and tlog-cosignature describe it, written from those documents alone."""

import base64
import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right)


def is_consistent(old: int, new: int, old_root: bytes, new_root: bytes, proof: list[bytes]) -> bool:
    """RFC 9162, section 2.1.4.2."""
    if old == new:
        return not proof and old_root == new_root
    if old & (old - 1) == 0:
        proof = [old_root, *proof]
    if not proof:
        return False
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = proof[0]
    for hash in proof[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(hash, fr), node(hash, sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, hash)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == old_root and sr == new_root


def key_id(name: str, key: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + key)[:4]


class Witness:
    """Listens on 127.0.0.1 and cosigns checkpoints of the logs whose vkeys it knows. `answer` replaces its answer to a
    submission: a status and a body, or None for its own."""

    def __init__(self, name: str):
        self.name = name
        self.key = Ed25519PrivateKey.generate()
        public = b"\4" + self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.id = key_id(name, public)
        self.vkey = f"{name}+{self.id.hex()}+{base64.b64encode(public).decode()}"
        # By the log's name: its vkeys; the size, the root and the note that were cosigned last.
        self.logs: dict[str, list[str]] = {}
        self.states: dict[str, tuple[int, bytes, str]] = {}
        self.requests: list[tuple[int, int]] = []
        self.answer = None
        self.is_shown = True
        self.lock = threading.Lock()
        witness = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path != "/pins/add-checkpoint":
                    return self.reply(404, b"")
                with witness.lock:
                    status, answer = witness.answer(body) if witness.answer else witness.add(body)
                self.reply(status, answer, "text/x.tlog.size" if status == 409 else "text/plain")

            def do_GET(self):
                for origin, (_, _, note) in witness.states.items():
                    if witness.is_shown and self.path == f"/pins/{sha256(origin.encode()).hex()}/checkpoint":
                        return self.reply(200, note.encode())
                self.reply(404, b"")

            def reply(self, status: int, body: bytes, type: str = "text/plain"):
                self.send_response(status)
                self.send_header("Content-Type", type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/pins"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def knows(self, *vkeys: str) -> "Witness":
        self.logs[vkeys[0].split("+", 1)[0]] = list(vkeys)
        return self

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def size(self, origin: str) -> int:
        return self.states[origin][0] if origin in self.states else 0

    def add(self, body: bytes) -> tuple[int, bytes]:
        """tlog-witness, add-checkpoint."""
        head, _, note = body.decode().partition("\n\n")
        first, *lines = head.split("\n")
        if not first.startswith("old ") or len(lines) > 63:
            return 400, b"malformed"
        old, proof = int(first[4:]), [base64.b64decode(line, validate=True) for line in lines]
        text, _, signatures = note.rpartition("\n\n")
        text += "\n"
        origin, size, root = text.split("\n")[:3]
        size, root = int(size), base64.b64decode(root, validate=True)
        if origin not in self.logs:
            return 404, b"unknown log"
        if not any(self.is_signed(text, signatures, vkey) for vkey in self.logs[origin]):
            return 403, b"unsigned"
        if old > size:
            return 400, b"the old size is larger than the checkpoint's"
        known, known_root, _ = self.states.get(origin, (0, sha256(b""), ""))
        if old != known:
            return 409, f"{known}\n".encode()
        if old == 0 and proof or old > 0 and not is_consistent(old, size, known_root, root, proof):
            return 422, b"the proof does not lead from one root to the other"
        now = int(time.time())
        signature = self.key.sign(f"cosignature/v1\ntime {now}\n".encode() + text.encode())
        line = f"\u2014 {self.name} {base64.b64encode(self.id + now.to_bytes(8, 'big') + signature).decode()}\n"
        self.states[origin] = (size, root, note + line)
        self.requests.append((old, size))
        return 200, line.encode()

    @staticmethod
    def is_signed(text: str, signatures: str, vkey: str) -> bool:
        name, _, key = vkey.split("+", 2)
        key = base64.b64decode(key)
        for line in signatures.splitlines():
            _, signer, data = line.split(" ")
            data = base64.b64decode(data)
            if signer == name and data[:4] == key_id(name, key):
                try:
                    Ed25519PublicKey.from_public_bytes(key[1:]).verify(data[4:], text.encode())
                    return True
                except InvalidSignature:
                    return False
        return False
