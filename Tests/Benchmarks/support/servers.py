"""The servers that are compared: Pinledger and nginx, each on one core, over HTTP or HTTPS."""

import http.client
import os
import shutil
import ssl
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pinledger import API, Answer, Process, free_port, host_body

from support.postgres import Ledger
from support.processes import pinned


@dataclass
class Certificate:
    """A self-signed P-256 certificate, as both servers present it."""

    certificate: Path
    key: Path

    @classmethod
    def make(cls, directory: Path) -> "Certificate":
        made = cls(directory / "server.pem", directory / "server.key")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
            + ["-keyout", made.key, "-out", made.certificate, "-days", "30", "-subj", "/CN=127.0.0.1"]
            + ["-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True,
        )  # fmt: skip
        return made


def fetch(port: int, target: str, headers: dict | None = None, *, tls: bool = False) -> Answer:
    """One GET with exactly these headers."""
    if tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        # http.client would ask for the identity coding; the load generators say nothing.
        connection.putrequest("GET", target, skip_accept_encoding=True)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


class Node(Process):
    """`pinledger serve` on a ledger."""

    def __init__(
        self, ledger: Ledger, *options: str, core: int | None = None, certificate: Certificate | None = None,
        application_name: str = "pinledger-bench", environment: dict | None = None,
    ):  # fmt: skip
        self.directory = Path(tempfile.mkdtemp(prefix="pinledger-bench-node-"))
        self.core, self.certificate = core, certificate
        port = free_port()
        arguments = ["serve", "--database", f"{ledger.connection} application_name={application_name}"]
        arguments += ["--kek-file", str(ledger.key_file), "--listen", f"127.0.0.1:{port}", *options]
        if certificate:
            arguments += ["--tls-certificate", str(certificate.certificate), "--tls-key", str(certificate.key)]
        # Every client of a benchmark comes from one address.
        limits = {f"PINLEDGER_{what}_PER_NETWORK": "0" for what in ("CONNECTIONS", "STREAMS", "REQUESTS")}
        # And one token stands for many operators.
        limits["PINLEDGER_REQUESTS_PER_OPERATOR"] = "0"
        super().__init__(self.directory / "log", arguments, port, limits | (environment or {}))
        self.api = API(port, ledger.token)

    def start(self, seconds: float = 120) -> "Node":
        self.began = time.monotonic()
        with pinned(self.core):
            self.spawn()
        self.wait_until(lambda: fetch(self.port, "/readyz", tls=bool(self.certificate)).status == 200, seconds)
        if not self.certificate:
            self.api.lower_rails()
        return self

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> "Node":
        try:
            return self.start()
        except BaseException:
            if self.is_running:
                self.kill()
            shutil.rmtree(self.directory, ignore_errors=True)
            raise

    def __exit__(self, *error) -> None:
        try:
            if self.is_running:
                self.stop()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


def make_document(api: API, app: str, size: int = 1500) -> Answer:
    """Makes an app whose document has about `size` bytes."""
    api.must("POST", "/v1/apps", {"app": app})
    document = api.document(app)
    number = 0
    while len(document.body) < size - 150:
        api.must("POST", f"/v1/apps/{app}/hosts", host_body(f"api{number}.example.com"))
        number, document = number + 1, api.document(app)
    return document


class Nginx:
    """nginx with one worker, serving one file at a document's address, with the document's headers."""

    def __init__(
        self, target: str, document: Answer, *, core: int | None = None, certificate: Certificate | None = None
    ):
        self.directory = Path(tempfile.mkdtemp(prefix="pinledger-bench-nginx-"))
        self.port, self.core, self.certificate = free_port(), core, certificate
        (self.directory / "document").write_bytes(document.body)
        listen = f"127.0.0.1:{self.port}" + (" ssl http2" if certificate else "") + " backlog=4096"
        tls = (
            f"ssl_certificate {certificate.certificate}; ssl_certificate_key {certificate.key};"
            " ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:tls:10m;"
            if certificate
            else ""
        )
        (self.directory / "nginx.conf").write_text(f"""
            daemon off; worker_processes 1; pid nginx.pid; error_log stderr crit; worker_rlimit_nofile 20000;
            {"user root;" if os.getuid() == 0 else ""}
            events {{ worker_connections 16384; use epoll; multi_accept on; }}
            http {{
                access_log off; default_type application/jose; etag on; server_tokens off;
                # A small file costs one read and one writev this way; sendfile would cost two writes.
                sendfile off; tcp_nodelay on;
                keepalive_requests 10000000; keepalive_timeout 75s; reset_timedout_connection on;
                open_file_cache max=100 inactive=600s; open_file_cache_valid 600s; open_file_cache_min_uses 1;
                client_body_temp_path {self.directory}; proxy_temp_path {self.directory};
                fastcgi_temp_path {self.directory}; uwsgi_temp_path {self.directory};
                scgi_temp_path {self.directory};
                server {{
                    listen {listen};
                    {tls}
                    location = {target} {{
                        alias {self.directory}/document;
                        add_header Cache-Control "{document["Cache-Control"]}";
                        add_header Vary Accept-Encoding;
                        add_header X-Content-Type-Options nosniff;
                    }}
                }}
            }}
        """)
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "Nginx":
        try:
            return self._start()
        except BaseException:
            self.__exit__()
            raise

    def _start(self) -> "Nginx":
        log = (self.directory / "log").open("wb")
        with pinned(self.core):
            self._process = subprocess.Popen(
                ["nginx", "-p", self.directory, "-c", self.directory / "nginx.conf", "-e", "stderr"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + 10
        while True:
            try:
                fetch(self.port, "/", tls=bool(self.certificate))
                return self
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"nginx did not start:\n{(self.directory / 'log').read_text()}") from None
                time.sleep(0.02)

    def __exit__(self, *error) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(timeout=20)
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    @property
    def worker(self) -> int:
        """The process that serves."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(children[0])

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"
