"""A real TLS server on loopback whose certificate can be changed while it runs, and curl as the client that pins."""

import contextlib
import socket
import ssl
import subprocess
import threading
from pathlib import Path

from pinledger import Server


@contextlib.contextmanager
def serving(host: str, lifetime: int, *, has_clock: bool = False):
    """A server that probes `host` on this machine, and whose documents are stale after so many seconds."""
    server = Server(
        lowers_rails=False, has_clock=has_clock,
        more=["--allow-private-range", "127.0.0.0/8", "--resolve", f"{host}=127.0.0.1"]
        + ["--document-lifetime", str(lifetime), "--document-max-age", "1"],
    )
    try:
        yield server.start()
    finally:
        server.destroy()


def openssl(*arguments: str) -> bytes:
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout


class Key:
    """A key pair in files, with a certificate and a signing request of it for a host."""

    def __init__(self, directory: Path, name: str, host: str, days: int = 90):
        self.key, self.certificate, self.request = (directory / f"{name}.{end}" for end in ("key", "pem", "csr"))
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(self.key))
        subject = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-key", str(self.key)]
        openssl("req", "-x509", "-days", str(days), *subject, "-out", str(self.certificate))
        openssl("req", "-new", *subject, "-out", str(self.request))
        der = openssl("pkey", "-in", str(self.key), "-pubout", "-outform", "der")
        digest = subprocess.run(["openssl", "dgst", "-sha256", "-binary"], input=der, check=True, capture_output=True)
        import base64

        self.pin = "sha256/" + base64.b64encode(digest.stdout).decode()


class TLSServer:
    """Answers every request with 200; `serve(key)` changes what it presents from the next connection on."""

    def __init__(self, key: Key, address: str = "127.0.0.1", port: int = 0):
        self.address = address
        self.listener = socket.create_server((address, port))
        self.port = self.listener.getsockname()[1]
        self.serve(key)
        threading.Thread(target=self._accept, daemon=True).start()

    def serve(self, key: Key) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(key.certificate, key.key)
        self.context = context

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(10)
            with self.context.wrap_socket(connection, server_side=True) as stream:
                stream.recv(65536)
                stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        except OSError:
            connection.close()

    def close(self) -> None:
        try:
            # Else the call that waits for a connection takes one more.
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()


def curl(host: str, port: int, pins: list[str], address: str = "127.0.0.1") -> int:
    """curl's exit status for one request with these pins: 0, or 90 where the server's key matches none of them."""
    spelled = ";".join("sha256//" + pin.removeprefix("sha256/") for pin in pins)
    return subprocess.run(
        ["curl", "-sk", "--max-time", "10", "--resolve", f"{host}:{port}:{address}", "--pinnedpubkey", spelled]
        + [f"https://{host}:{port}/"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ).returncode  # fmt: skip
