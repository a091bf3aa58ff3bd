"""Containers that run the program: what the manifests start, ask and mount is what the program has.

No image is built: each container's command runs here, with the settings and the probes of its manifest. Tests/Lint checks the files.
"""

import os
import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from databases import Database
from edges import Site, key_file, secret
from manifests import DEPLOY, KUBERNETES, container
from pinledger import BINARY, Process, free_port


def run(*command) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


class Container(Process):
    """The command of a workload's container, with its settings, outside of any container."""

    def __init__(self, name: str, home: Path, settings: dict[str, str], files: dict[str, str | Path]):
        self.workload = name
        self.port = free_port()
        arguments = list(container(name)["args"])
        place = arguments.index("--config") + 1
        text = (KUBERNETES / "settings" / Path(arguments[place]).name).read_text()
        for mounted, real in files.items():
            text = text.replace(mounted, str(real))
        assert not re.search(r"/run/", text), text
        (home / "settings.yaml").write_text(text)
        arguments[place] = str(home / "settings.yaml")
        environment = {f"PINLEDGER_{key.upper()}": value for key, value in settings.items()} | {
            "PINLEDGER_LISTEN": f"127.0.0.1:{self.port}", "PINLEDGER_METRICS_LISTEN": f"127.0.0.1:{free_port()}",
            "PINLEDGER_DRAIN_DELAY": "0",
        }  # fmt: skip
        if container(name)["args"][0] == "edge":
            del environment["PINLEDGER_DRAIN_DELAY"]
        super().__init__(home / "log", arguments, self.port, environment)

    def ask(self, probe: str, authority: Path) -> int:
        asked = container(self.workload)[probe]["httpGet"]
        assert asked["scheme"] == "HTTPS" and asked["port"] == "clients"
        context = ssl.create_default_context(cafile=authority)
        try:
            with urllib.request.urlopen(f"https://localhost:{self.port}{asked['path']}", context=context, timeout=300) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    def check_probes(self, authority: Path) -> None:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.wait_until(lambda probe=probe: self.ask(probe, authority) == 200)


@pytest.fixture
def tls(tmp_path) -> dict[str, Path]:
    """What the secret pinledger-tls holds."""
    key, certificate = tmp_path / "tls.key", tmp_path / "tls.crt"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate)  # fmt: skip
    key.chmod(0o600)
    return {"/run/tls/tls.key": key, "/run/tls/tls.crt": certificate, "/run/tls/ca.crt": certificate}


@pytest.mark.parametrize("name", ["pinledger", "pinledger-reader"])
def test_the_containers_of_servers_and_readers_serve(own_server, tls, tmp_path, name):
    database = Database.make(own_server, f"container{len(name)}")
    state = tmp_path / "state"
    database.bootstrap("--kek-file", str(database.key), "--state-directory", str(state))
    settings = {"database": database.connection_string, "trust_database": "1"}
    if name == "pinledger":
        settings["admin_listen"] = f"127.0.0.1:{free_port()}"
    node = Container(
        name, tmp_path, {key: value for key, value in settings.items() if key != "trust_database"},
        tls | {"/run/kek/kek": database.key, "/var/lib/pinledger": state})  # fmt: skip
    node.spawn()
    node.check_probes(tls["/run/tls/tls.crt"])
    node.stop()
    assert '"server_serving"' in node.log.read_text()


def test_the_container_of_the_edge_serves(tls, tmp_path):
    site = Site(tmp_path)
    try:
        node = Container(
            "pinledger-edge", tmp_path, {"upstream": f"http://127.0.0.1:{site.server.port}"},
            tls | {"/run/upstream/token": secret(tmp_path / "reader", site.reader.token), "/run/keys/keys.json": site.keys,
                   "/var/lib/pinledger": tmp_path / "edge-state"})  # fmt: skip
        node.spawn()
        node.check_probes(tls["/run/tls/tls.crt"])
        node.stop()
    finally:
        site.close()


def test_the_migration_of_the_manifest_makes_the_schema(own_server, tmp_path):
    database = Database.make(own_server, "migrated")
    arguments = container("pinledger-migrate")["args"]
    environment = os.environ | {"PINLEDGER_DATABASE": database.superuser}
    done = subprocess.run([BINARY, *arguments[:1]], env=environment, capture_output=True, text=True, timeout=120)
    assert arguments == ["migrate", "--grant-to", "pinledger"] and done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["server", "server with TLS", "edge with TLS"])
def test_the_health_check_of_the_image_asks_the_server_or_edge_that_runs(own_server, tls, tmp_path, kind):
    port = free_port()
    # Every address of the container, as in the manifests, or its own alone.
    environment = {"PINLEDGER_LISTEN": f"[::]:{port}" if "TLS" in kind else f"127.0.0.1:{port}"}
    if "TLS" in kind:
        environment["PINLEDGER_TLS_CERTIFICATE"] = str(tls["/run/tls/tls.crt"])
        environment["PINLEDGER_TLS_KEY"] = str(tls["/run/tls/tls.key"])
    if kind.startswith("edge"):
        environment["PINLEDGER_UPSTREAM"] = f"http://127.0.0.1:{own_server.port}"
        token = secret(tmp_path / "token", own_server.api.token)
        keys = key_file(own_server, tmp_path / "keys.json")
        arguments = ["edge", "serve", "--trusted-keys", str(keys), "--upstream-token-file", str(token)]
    else:
        database = Database.make(own_server, "healthy" + "tls" * ("TLS" in kind))
        (tmp_path / "settings.yaml").write_text(f"database: {database.connection_string}\nkek_file: {database.key}\n")
        arguments = ["serve", "--config", str(tmp_path / "settings.yaml"), "--admin-listen", f"127.0.0.1:{free_port()}"]
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "pinledger").symlink_to(BINARY)
    node = Process(tmp_path / "log", arguments, port, environment)

    def health(process: int) -> subprocess.CompletedProcess:
        variables = os.environ | environment | {"PATH": f"{programs}:{os.environ['PATH']}"}
        command = [DEPLOY / "image/healthy", str(process)]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)

    node.spawn()
    process = node.process.pid
    node.wait_until(lambda: health(process).returncode == 0)
    other = health(os.getpid())
    assert other.returncode == 1 and "runs neither" in other.stderr
    # A process that hangs accepts connections, and answers none.
    node.process.send_signal(signal.SIGSTOP)
    assert health(process).returncode == 1
    node.process.send_signal(signal.SIGCONT)
    node.stop()
    assert health(process).returncode == 1
