"""Renewals by ACME clients from Debian, with an ACME server, while curl and OkHttp connect with the pins of documents."""

import contextlib
import json
import os
import shlex
import subprocess
import threading
from pathlib import Path

import pytest
from cryptography import x509
from names import unique
from okhttp import OkHttp
from pinledger import BINARY, eventually, free_port
from renewals import HOST, World, named
from tls_server import Key


@pytest.fixture
def world(brief_server, tmp_path):
    with contextlib.closing(World(brief_server, tmp_path, unique("renewed"), "editor")) as world:
        yield world


class Pebble:
    """An ACME server that takes every name for validated, and issues certificates of 47 days."""

    def __init__(self, home: Path):
        self.port, self.management = free_port(), free_port()
        self.certificate = Key(home, "pebble", "localhost")
        config = {
            "pebble": {
                "listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{self.management}",
                "certificate": str(self.certificate.certificate), "privateKey": str(self.certificate.key),
                "httpPort": free_port(), "tlsPort": free_port(), "ocspResponderURL": "",
                "externalAccountBindingRequired": False, "certificateValidityPeriod": 47 * 86_400,
            }
        }  # fmt: skip
        (home / "pebble.json").write_text(json.dumps(config))
        environment = os.environ | {"PEBBLE_VA_ALWAYS_VALID": "1", "PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"}
        self.log = (home / "pebble.log").open("wb")
        self.process = subprocess.Popen(["pebble", "-config", str(home / "pebble.json")], env=environment, stdout=self.log, stderr=self.log)
        self.directory = f"https://localhost:{self.port}/dir"
        arguments = ["curl", "-s", "--cacert", str(self.certificate.certificate), self.directory]
        eventually(lambda: subprocess.run(arguments, capture_output=True).returncode == 0, "the ACME server")

    def root(self) -> str:
        """The authority's own certificate, in PEM."""
        address = f"https://localhost:{self.management}/roots/0"
        arguments = ["curl", "-s", "--fail", "--cacert", str(self.certificate.certificate), address]
        return subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=60).stdout

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


@pytest.fixture
def pebble(tmp_path):
    pebble = Pebble(tmp_path)
    try:
        yield pebble
    finally:
        pebble.close()


class OkHttpClients:
    """Apps with OkHttp that connect all the time: one with the newest document, one whose document is about to be stale."""

    def __init__(self, world: World, authorities: Path, directory: Path):
        directory.mkdir()
        self.world, self.authorities, self.library = world, authorities, OkHttp(directory)
        self.refused, self.connections, self.stop = [], 0, threading.Event()
        self.thread = threading.Thread(target=self._connect, daemon=True)
        self.thread.start()

    def _connect(self) -> None:
        try:
            for pins in self.world.held_pins(self.stop):
                if not self.library.connects(HOST, self.world.server.port, self.authorities, [(HOST, pin) for pin in pins]):
                    self.refused.append(pins)
                self.connections += 1
        except Exception as error:  # noqa: BLE001
            self.refused.append(repr(error))

    def close(self) -> None:
        self.stop.set()
        self.thread.join(60)
        assert self.connections and not self.refused, self.refused[:3]


#: Certificates of 47 days are renewed after two thirds of them: twelve times make a year.
RENEWALS = int(os.environ.get("PINLEDGER_RENEWALS", "3"))


@pytest.mark.daily
def test_renewals_by_certbot_and_lego_lock_nobody_out(world, pebble, tmp_path):
    hook = shlex.join([BINARY, *world.deploy])
    trust = str(pebble.certificate.certificate)

    def run(*arguments: str) -> None:
        environment = os.environ | {"REQUESTS_CA_BUNDLE": trust, "LEGO_CA_CERTIFICATES": trust}
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    def certbot(*arguments: str) -> None:
        run("certbot", *arguments, "--non-interactive", *(f"--{name}-dir={tmp_path}/certbot-{name}" for name in ("config", "work", "logs")))

    # lego knows no quotes in a hook.
    script = tmp_path / "hook"
    script.write_text(f"#!/bin/sh\nexec {hook}\n")
    script.chmod(0o700)
    lego = ["lego", "--server", pebble.directory, "--accept-tos", "--email", "tls@example.com", "--path", str(tmp_path / "lego"), "--domains", HOST,
            "--http", "--http.port", f"127.0.0.1:{free_port()}"]  # fmt: skip
    lineage, issued = tmp_path / f"certbot-config/live/{HOST}/fullchain.pem", tmp_path / f"lego/certificates/{HOST}.crt"

    # The host's server has a certificate already, with a key that is pinned.
    world.hook(*world.deploy, *named(world.old))
    authorities = tmp_path / "authorities.pem"
    authorities.write_text(world.old.certificate.read_text() + pebble.root())
    # Twelve rotations take an hour here, and a year elsewhere: the rule against many changes in one hour is no part of this.
    world.node.api.must("PUT", "/v1/guard-rails/G26", {"lowered": True, "reason": "a year in some minutes"})
    clients = OkHttpClients(world, authorities, tmp_path / "okhttp")
    keys = set()
    try:
        for number in range(RENEWALS):
            before = lineage.read_bytes() if lineage.exists() else b""
            match number:
                case 0:
                    certbot(
                        "certonly", "--server", pebble.directory, "--agree-tos", "--register-unsafely-without-email", "--manual",
                        "--preferred-challenges", "http", "--manual-auth-hook", "true", "-d", HOST, "--deploy-hook", hook,
                    )  # fmt: skip
                    assert world.phases() == ["deliver"] and world.serves(world.old.certificate)
                    file = lineage
                case 2:
                    run(*lego, "run", "--run-hook", str(script))
                    file = issued
                case _ if number % 2:
                    certbot("renew", "--force-renewal", "--no-random-sleep-on-renew")
                    # By the hook, and not because the files were looked at.
                    waiting = world.deployment().get("next") or world.deployment()["current"]
                    assert lineage.read_bytes() != before and not world.serves(lineage)
                    assert (world.tls / "releases" / waiting["release"] / "fullchain.pem").read_bytes() == lineage.read_bytes()
                    file = lineage
                case _:
                    run(*lego, "renew", "--days", "90", "--no-random-sleep", "--renew-hook", str(script))
                    file = issued
            world.resume_until(lambda: world.serves(file), f"renewal {number}")
            keys.add(x509.load_pem_x509_certificate(file.read_bytes()).public_key().public_numbers())
        world.resume_until(lambda: "current" not in world.deployment(), "the end of the last rotation")
    finally:
        clients.close()
    assert world.phases() == ["done"] * RENEWALS and len(keys) == RENEWALS
    if RENEWALS > 3:
        print(f"{RENEWALS} renewals, {world.connections} connections by curl and {clients.connections} by OkHttp, none refused")
