"""An app that embeds the client library, as `pinledger fetch-url` does, and the authorities that issue its servers' certificates."""

import os
import subprocess
from pathlib import Path

from pinledger import BINARY, Server
from renewals import HOST
from tls_server import TLSServer, openssl


class Issued:
    """A certificate that an authority has issued, with its key."""

    def __init__(self, home: Path, name: str, authority: "Authority", host: str = HOST):
        self.key, self.certificate, self.request = (home / f"{name}.{end}" for end in ("key", "pem", "csr"))
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(self.key))
        openssl("req", "-new", "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-key", str(self.key),
                "-out", str(self.request))  # fmt: skip
        openssl("x509", "-req", "-in", str(self.request), "-CA", str(authority.certificate), "-CAkey", str(authority.key),
                "-copy_extensions", "copyall", "-days", "30", "-out", str(self.certificate))  # fmt: skip


class Authority:
    def __init__(self, home: Path, name: str):
        self.home, self.key, self.certificate = home, home / f"{name}.key", home / f"{name}.pem"
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(self.key))
        openssl("req", "-x509", "-subj", f"/CN={name}", "-days", "30", "-key", str(self.key),
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
                "-out", str(self.certificate))  # fmt: skip


class World:
    """An app with a pinned host, and the server that presents its certificate."""

    def __init__(self, node: Server, home: Path, app: str):
        self.node, self.home, self.app = node, home, app
        #: The apps live in the server's time.
        self.environment = os.environ | {"NO_COLOR": "1"} | (node.clock.environment if node.clock else {})
        self.authority, self.proxy = Authority(home, "authority"), Authority(home, "proxy")
        self.good, self.spare = (Issued(home, name, self.authority) for name in ("good", "spare"))
        self.trusted = home / "trusted.pem"
        self.trusted.write_bytes(self.authority.certificate.read_bytes() + self.proxy.certificate.read_bytes())
        self.keys = home / "keys.json"
        self.keys.write_bytes(node.api.get("/client/v1/jwks.json").body)
        node.cli("app", "create", app)
        node.cli("host", "add", app, HOST, "--primary", str(self.good.certificate), "--backup", str(self.spare.request))
        self.server = TLSServer(self.good)
        node.api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"endpoints": [f"{HOST}:{self.server.port}"]})

    def arguments(self, *more: str, store: bool = True, service: str | None = None, host: str = HOST) -> list[str]:
        arguments = [
            BINARY, "fetch-url", f"https://{host}:{self.server.port}/hello", "--pinned-by", self.app, "--trusted-keys", str(self.keys),
            "--service", service or f"http://127.0.0.1:{self.node.port}", "--ca-file", str(self.trusted), "--connect-to", "127.0.0.1",
        ]  # fmt: skip
        if store:
            arguments += ["--store", str(self.home / "store")]
        return [*arguments, *more]

    def fetch(self, *more: str, status: int = 0, store: bool = True, service: str | None = None, host: str = HOST) -> str:
        command = self.arguments(*more, store=store, service=service, host=host)
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr

    def fetch_whatever(self) -> str:
        """The program's output, for a connection that was made or refused."""
        return subprocess.run(self.arguments(), env=self.environment, capture_output=True, text=True, timeout=300).stderr
