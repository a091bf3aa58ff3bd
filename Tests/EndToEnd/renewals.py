"""Renewals of certificates: a server whose documents are soon stale, a TLS server that reloads, and clients that connect meanwhile."""

import base64
import contextlib
import json
import os
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest
from pinledger import BINARY, Server, eventually
from tls_server import Key, TLSServer, curl, serving

HOST = "api.example.com"
#: So short that an older document is stale within the test.
LIFETIME = 6
GOALS = ["--minimum-wait", "1s", "--sufficient-wait", "1s", "--settling", "1s"]


@pytest.fixture(scope="module")
def brief_server():
    """A server that probes HOST on this machine, and whose documents are stale after LIFETIME."""
    with serving(HOST, LIFETIME) as server:
        yield server


class LiveServer(TLSServer):
    """Presents what stood in a directory when `reloads` was written to last, as a server does that is told to reload."""

    def __init__(self, directory: Path, key: Key):
        self.directory, self.reloads = directory, directory.parent / "reloads"
        self.loaded = 0
        super().__init__(key)

    def _answer(self, connection) -> None:
        count = self.reloads.stat().st_size if self.reloads.exists() else 0
        if count != self.loaded:
            self.loaded = count
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            with contextlib.suppress(OSError):
                context.load_cert_chain(self.directory / "live/fullchain.pem", self.directory / "live/privkey.pem")
                self.context = context
        super()._answer(connection)


class World:
    """One app with one host, its server, and clients that connect all the time."""

    def __init__(self, node: Server, home: Path, name: str, role: str):
        self.node, self.home, self.app, self.tls = node, home, f"com.example.{name}", home / "tls"
        self.old, self.spare = (Key(home, key, HOST) for key in ("old", "spare"))
        self.url = f"http://127.0.0.1:{node.port}"
        self.server = LiveServer(self.tls, self.old)
        node.cli("app", "create", self.app)
        node.cli("host", "add", self.app, HOST, "--primary", str(self.old.certificate), "--backup", str(self.spare.request))
        endpoint = f"{HOST}:{self.server.port}"
        node.api.must("PATCH", f"/v1/apps/{self.app}/hosts/{HOST}", {"endpoints": [endpoint]})
        self.token = home / "token"
        self.token.touch(0o600)
        grant = {"role": role, "apps": [self.app]} | ({"hosts": [HOST]} if role == "editor" else {})
        self.token.write_text(node.api.must("POST", "/v1/tokens", {"name": "renewals", "grants": [grant]}).json["token"])
        self.refused, self.connections, self.stop = [], 0, threading.Event()
        self.clients = threading.Thread(target=self._connect, daemon=True)
        self.clients.start()

    def _connect(self) -> None:
        """A client that has the newest document, and one whose document is about to be stale."""
        try:
            self._look()
        except Exception as error:  # noqa: BLE001
            self.refused.append(("the clients ended", repr(error)))

    def _look(self) -> None:
        for pins in self.held_pins(self.stop):
            status = curl(HOST, self.server.port, pins)
            self.connections += 1
            if status:
                self.refused.append((status, pins))

    def held_pins(self, stop: threading.Event):
        """The pins of the newest document and of one that is about to be stale, in turn, until it is told to stop."""
        documents = []
        while not stop.is_set():
            now = time.monotonic()
            document = self.node.api.document(self.app).body.decode().split(".")[1]
            payload = json.loads(base64.urlsafe_b64decode(document + "=" * (-len(document) % 4)))
            pins = [f"{pin['alg']}/{pin['spki']}" for pin in payload["hosts"][0]["baseline"]["pins"]]
            documents = [one for one in documents if one[0] > now - LIFETIME + 2] + [(now, pins)]
            yield documents[0][1]
            yield pins
            time.sleep(0.1)

    def close(self) -> None:
        self.stop.set()
        self.clients.join(180)
        self.server.close()
        assert self.connections and not self.refused, self.refused[:3]

    @property
    def deploy(self) -> list[str]:
        return [
            "hook", "deploy", self.app, HOST, "--into", str(self.tls), "--then", f"echo >> {self.home}/reloads", *GOALS,
            "--server", self.url, "--token-file", str(self.token),
        ]  # fmt: skip

    def hook(self, *arguments: str, status: int = 0, **variables: str) -> str:
        """Runs a command of the hooks as the account of a timer does."""
        done = subprocess.run(
            [BINARY, *arguments], env=os.environ | variables | {"NO_COLOR": "1"}, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def resume(self, *more: str, status: int = 0) -> str:
        return self.hook(
            "hook", "resume", str(self.tls), "--server", self.url, "--token-file", str(self.token), *more, status=status)

    def deployment(self) -> dict:
        return json.loads((self.tls / "deployment.json").read_text())

    def resume_until(self, is_so, what: str) -> None:
        def look() -> bool:
            self.resume()
            return is_so()

        try:
            eventually(look, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.resume()}{self.deployment()}\n{self.phases()}") from None

    def serves(self, certificate: Path) -> bool:
        return (self.tls / "live/fullchain.pem").read_bytes() == certificate.read_bytes()

    def phases(self) -> list[str]:
        return [one["phase"] for one in self.node.api.get(f"/v1/apps/{self.app}/rotations").json["rotations"]]


def named(key: Key) -> list[str]:
    return ["--certificate", str(key.certificate), "--key", str(key.key)]
