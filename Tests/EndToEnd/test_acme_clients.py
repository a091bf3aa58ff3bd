"""Renewals by ACME clients from Debian, with an ACME server, while curl connects with the pins of documents."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from pinledger import BINARY, eventually, free_port
from test_hooks import HOST, named, node, world  # noqa: F401
from tls_server import Key


class Pebble:
    """An ACME server that takes every name for validated, and issues certificates of 47 days."""

    def __init__(self, home: Path):
        self.port, management = free_port(), free_port()
        self.certificate = Key(home, "pebble", "localhost")
        config = {
            "pebble": {
                "listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{management}",
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


def test_certbot_and_lego_renew_with_new_keys(world, pebble, tmp_path):
    hook = shlex.join([BINARY, *world.deploy])
    trust = str(pebble.certificate.certificate)

    def run(*arguments: str) -> None:
        environment = os.environ | {"REQUESTS_CA_BUNDLE": trust, "LEGO_CA_CERTIFICATES": trust}
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    def certbot(*arguments: str) -> None:
        run("certbot", *arguments, "--non-interactive", *(f"--{name}-dir={tmp_path}/certbot-{name}" for name in ("config", "work", "logs")))

    # The host's server has a certificate already, with a key that is pinned.
    world.hook(*world.deploy, *named(world.old))
    certbot(
        "certonly", "--server", pebble.directory, "--agree-tos", "--register-unsafely-without-email", "--manual",
        "--preferred-challenges", "http", "--manual-auth-hook", "true", "-d", HOST, "--deploy-hook", hook,
    )  # fmt: skip
    lineage = tmp_path / f"certbot-config/live/{HOST}/fullchain.pem"
    assert world.phases() == ["deliver"] and world.serves(world.old.certificate)
    world.resume_until(lambda: world.serves(lineage), "certbot's certificate")
    before = lineage.read_bytes()
    certbot("renew", "--force-renewal", "--no-random-sleep-on-renew")
    # By the hook, and not because the files were looked at.
    waiting = world.deployment().get("next") or world.deployment()["current"]
    assert lineage.read_bytes() != before and not world.serves(lineage)
    assert (world.tls / "releases" / waiting["release"] / "fullchain.pem").read_bytes() == lineage.read_bytes()
    world.resume_until(lambda: world.serves(lineage), "certbot's second certificate")

    lego = ["lego", "--server", pebble.directory, "--accept-tos", "--email", "tls@example.com", "--path", str(tmp_path / "lego"), "--domains", HOST,
            "--http", "--http.port", f"127.0.0.1:{free_port()}"]  # fmt: skip
    # It knows no quotes in a hook.
    script = tmp_path / "hook"
    script.write_text(f"#!/bin/sh\nexec {hook}\n")
    script.chmod(0o700)
    run(*lego, "run", "--run-hook", str(script))
    issued = tmp_path / f"lego/certificates/{HOST}.crt"
    world.resume_until(lambda: world.serves(issued), "lego's certificate")
    world.resume_until(lambda: "current" not in world.deployment(), "the end of the last rotation")
    assert world.phases() == ["done", "done", "done"]
