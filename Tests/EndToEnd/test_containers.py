"""Containers that run the program: what the manifests start, ask and mount is what the program has.

No image is built: each container's command runs here, with the settings and the probes of its manifest. Tests/Lint checks the files.
"""

import itertools
import json
import os
import re
import shutil
import shlex
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import handbook
import manifests
import pytest
from databases import Database
from edges import Site, key_file, secret
from manifests import DEPLOY, container
from pinledger import BINARY, Process, eventually, free_port


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
        text = manifests.settings_file(name).read_text()
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


def variables(name: str) -> set[str]:
    return {variable["name"] for variable in container(name)["env"]}


class Cluster:
    """Servers and read-only nodes on a database, each as its pod runs it, with a volume of its own."""

    def __init__(self, own_server, home: Path, tls: dict[str, Path]):
        self.home, self.tls = home, tls
        self.authority = tls["/run/tls/ca.crt"]
        self.key = own_server.data / "key-encryption-key"
        self.database = Database.make(own_server, "cluster")
        self.environment = os.environ | {
            "PINLEDGER_DATABASE": self.database.connection_string,
            "PINLEDGER_CA_FILE": str(self.authority),
        }
        self.public_key = self.run("key", "batch-public-key", "--kek-file", self.key)
        self.nodes: dict[str, Container] = {}

    def command(self, *words, **variables: str) -> subprocess.CompletedProcess:
        words = [str(word) for word in words]
        return subprocess.run([BINARY, *words], env=self.environment | variables, capture_output=True, text=True, timeout=300)

    def does(self, *words, **variables: str) -> bool:
        return self.command(*words, **variables).returncode == 0

    def run(self, *words, **variables: str) -> str:
        done = self.command(*words, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def node(self, kind: str, name: str, database: str | None = None, **settings: str) -> Container:
        home = self.home / name
        home.mkdir(exist_ok=True)
        given = {"database": database or self.database.connection_string} | settings
        if kind == "pinledger":
            given["admin_listen"] = f"127.0.0.1:{free_port()}"
        else:
            given["batch_public_key"] = self.public_key
        assert {f"PINLEDGER_{key.upper()}" for key in given if key != "admin_listen"} <= variables(kind)
        node = Container(kind, home, given, self.tls | {"/run/kek/kek": self.key, "/var/lib/pinledger": home / "state"})
        self.nodes[name] = node
        return node

    def start(self, kind: str, name: str, database: str | None = None, **settings: str) -> Container:
        node = self.node(kind, name, database, **settings)
        node.spawn()
        node.wait_until(lambda: node.ask("startupProbe", self.authority) == 200)
        return node

    def stop(self) -> None:
        for node in self.nodes.values():
            if node.is_running:
                node.stop()
        self.nodes.clear()


@pytest.fixture
def cluster(own_server, tls, tmp_path):
    one = Cluster(own_server, tmp_path, tls)
    yield one
    one.stop()


def test_a_cluster_comes_from_nothing_to_a_document_and_keeps_it_while_the_database_is_away(cluster):
    for kind, name in [("pinledger", "server-0"), ("pinledger", "server-1"), ("pinledger-reader", "reader-0")]:
        cluster.start(kind, name).check_probes(cluster.authority)
    server, reader = cluster.nodes["server-0"], cluster.nodes["reader-0"]
    # As `kubectl exec` runs it beside the node: without the state directory, which that one uses.
    [bootstrap] = re.findall(r"-- pinledger (token bootstrap .*) --code$", handbook.text("containers"), re.M)
    words = [word.replace("/run/kek/kek", str(cluster.key)) for word in bootstrap.split()]
    token = cluster.run(*words).split()[-1]
    port = server.environment["PINLEDGER_ADMIN_LISTEN"].split(":")[1]
    operators = {"PINLEDGER_SERVER": f"https://localhost:{port}", "PINLEDGER_TOKEN": token}
    eventually(lambda: cluster.does("whoami", **operators), "a server that knows the token")
    cluster.run("app", "create", "com.example.app", **operators)

    # The keys that the app ships: a node that cannot read the ledger serves none.
    keys = cluster.home / "keys.json"
    keys.write_text(cluster.run("api", "GET", "/client/v1/jwks.json", "--server", f"https://localhost:{server.port}"))

    def verified(node: Container) -> bool:
        address = f"https://localhost:{node.port}"
        return cluster.does("document", "verify", "com.example.app", "--no-state", "--jwks", keys, "--server", address)

    for node in (server, cluster.nodes["server-1"], reader):
        node.wait_until(lambda node=node: verified(node))

    # One more, and one whose volume is lost: those that run vouch for the ledger.
    late = cluster.start("pinledger", "server-2")
    late.check_probes(cluster.authority)
    late.wait_until(lambda: verified(late))
    cluster.run("log", "open", "pins.example.com/log", **operators)
    checkpoint = cluster.home / "checkpoint"
    checkpoint.write_text(cluster.run("audit", "checkpoint", **operators) + "\n")
    for name, kind in [("server-1", "pinledger"), ("reader-0", "pinledger-reader")]:
        cluster.nodes[name].stop()
        shutil.rmtree(cluster.home / name / "state")
        again = cluster.start(kind, name)
        again.wait_until(lambda again=again: verified(again))

    # Where none runs that could, the checkpoint that the page has operators make does.
    cluster.stop()
    shutil.rmtree(cluster.home / "server-2" / "state")
    late = cluster.node("pinledger", "server-2")
    late.spawn()
    assert late.process.wait(timeout=300) != 0 and "this node remembers nothing" in late.tail()
    late = cluster.start("pinledger", "server-2", expect_checkpoint=str(checkpoint))
    late.wait_until(lambda: verified(late))

    # All are restarted while the database is away: read-only nodes keep the service of documents up.
    cluster.stop()
    away = f"host=127.0.0.1 port={free_port()} dbname=pinledger user=pinledger"
    server, reader = cluster.start("pinledger", "server-0", away), cluster.start("pinledger-reader", "reader-0", away)
    reader.wait_until(lambda: reader.ask("readinessProbe", cluster.authority) == 200)
    assert verified(reader) and reader.ask("livenessProbe", cluster.authority) == 200
    assert server.ask("readinessProbe", cluster.authority) == 503 and server.ask("livenessProbe", cluster.authority) == 200


def test_the_nightly_check_continues_its_last_report_and_ends_as_the_command_does(own_server, tmp_path):
    database = Database.make(own_server, "checked")
    database.bootstrap("--kek-file", str(database.key))
    programs, work = tmp_path / "programs", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    called = tmp_path / "called"
    (programs / "pinledger").write_text(f'#!/bin/sh\necho "$@" >> {called}\nexec {BINARY} "$@"\n')
    (programs / "pinledger").chmod(0o755)
    public = own_server.cli("key", "batch-public-key", "--kek-file", str(database.key)).stdout.strip()
    given = {"PINLEDGER_DATABASE": database.connection_string, "PINLEDGER_BATCH_PUBLIC_KEY": public}
    assert given.keys() == variables("pinledger-fsck")

    def check(**more: str) -> tuple[int, str]:
        one = container("pinledger-fsck")
        environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"} | given | more
        done = subprocess.run(
            [*one["command"], *one["args"]], env=environment, cwd=work, capture_output=True, text=True, timeout=300
        )
        return done.returncode, done.stdout

    status, report = check()
    assert status == 0 and json.loads(report)["findings"] == [] and (work / "report.json").read_text() == report
    assert check()[0] == 0
    assert [line.count("--previous report.json") for line in called.read_text().splitlines()] == [0, 1]
    kept = (work / "report.json").read_text()
    # The key of other servers: nothing vouches for the ledger's end.
    other = tmp_path / "other"
    other.write_text("ab" * 32)
    other.chmod(0o600)
    foreign = own_server.cli("key", "batch-public-key", "--kek-file", str(other)).stdout.strip()
    status, report = check(PINLEDGER_BATCH_PUBLIC_KEY=foreign)
    assert status == 10 and "signature_wrong" in report
    assert check(PINLEDGER_DATABASE=f"host=127.0.0.1 port={free_port()} dbname=none")[0] == 8
    assert (work / "report.json").read_text() == kept


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


def words_of(line: str) -> list[str]:
    """A command of the program as a shell reads it, without the program and what follows."""
    return shlex.split(re.split(r" > |\)\"?$|\)$", line)[0].replace("…", ""))[1:]


def test_the_commands_on_the_page_have_the_flags_that_it_gives_them():
    page = handbook.text("containers").replace("\\\n", " ")
    blocks = "".join(re.findall(r"^ *```sh\n(.*?)^ *```$", page, re.M | re.S))
    found = re.findall(r"(?:^ *|--  ?|\$?\(|; )(pinledger [a-z].*)$", blocks, re.M) + re.findall(r"`(pinledger [a-z][^`]*)`", page)
    assert len(found) > 11
    for line in found:
        words = words_of(line)
        command = list(itertools.takewhile(lambda word: re.fullmatch("[a-z][a-z-]*", word), words))
        # Arguments may look like commands.
        while (shown := subprocess.run([BINARY, *command, "--help"], capture_output=True, text=True, timeout=300)).returncode != 0:
            command.pop()
        assert command, line
        flags = [word for word in words if word.startswith("--")]
        assert [flag for flag in flags if not re.search(rf"^  (-\w, )?{flag}\b", shown.stdout, re.M)] == [], line
