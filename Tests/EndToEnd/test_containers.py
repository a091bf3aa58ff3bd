"""What runs the program in containers: the manifests are valid, and what they start, ask and mount is what the program has.

No image is built: each container's command runs here, with the settings and the probes of its manifest.
"""

import json
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import handbook
import pytest
import yaml
from edges import Site, secret
from pinledger import API, Process, free_port
from test_batch_macs import Database

DEPLOY = handbook.ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
TOOLS = Path(sys.executable).parent
MANIFESTS = [name for name in yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]]
OBJECTS = [one for name in MANIFESTS for one in yaml.safe_load_all((KUBERNETES / name).read_text())]
WORKLOADS = {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] in ("StatefulSet", "Job")}
SERVING = sorted(name for name, one in WORKLOADS.items() if one["kind"] == "StatefulSet")


def run(*command) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def pod(name: str) -> dict:
    return WORKLOADS[name]["spec"]["template"]["spec"]


def container(name: str) -> dict:
    [one] = pod(name)["containers"]
    return one


def selected(labels: dict) -> list[str]:
    return [name for name, one in WORKLOADS.items() if labels.items() <= one["spec"]["template"]["metadata"]["labels"].items()]


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_every_manifest_is_valid_kubernetes(manifest):
    run(TOOLS / "kubernetes-validate", "--strict", KUBERNETES / manifest)


def test_the_compose_file_and_the_image_are_well_made():
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    run(TOOLS / "hadolint", DEPLOY / "image/Containerfile")


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_pod_is_shut_in(name):
    outer, inner = pod(name)["securityContext"], container(name)["securityContext"]
    assert pod(name)["automountServiceAccountToken"] is False
    assert outer["runAsNonRoot"] and outer["runAsUser"] > 0 and outer["seccompProfile"] == {"type": "RuntimeDefault"}
    assert inner == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert container(name)["resources"]["limits"]["memory"]


def test_every_reference_of_a_manifest_names_something_that_is_there():
    maps = {one["name"]: one for one in yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["configMapGenerator"]}
    files = {entry.split("=")[0]: KUBERNETES / entry.split("=")[1] for entry in maps["pinledger-settings"]["files"]}
    assert all(path.is_file() for path in files.values())
    page = (handbook.PAGES / "containers.md").read_text()
    for name in WORKLOADS:
        volumes = {one["name"]: one for one in pod(name).get("volumes", [])}
        volumes |= {one["metadata"]["name"]: one for one in WORKLOADS[name]["spec"].get("volumeClaimTemplates", [])}
        assert {mount["name"] for mount in container(name).get("volumeMounts", [])} == volumes.keys()
        for volume in volumes.values():
            for outside in (volume.get("secret", {}).get("secretName"), volume.get("configMap", {}).get("name")):
                assert outside is None or outside in maps or f"`{outside}`" in page, f"the page does not say how to make {outside}"
        for variable in container(name).get("env", []):
            reference = variable["valueFrom"]["secretKeyRef"]
            assert f"`{reference['name']}`" in page and f"`{reference['key']}`" in page
        for word in container(name)["args"]:
            assert not word.startswith("/etc/pinledger/") or Path(word).name in files
    for one in OBJECTS:
        if one["kind"] == "Service":
            ports = {port["name"] for name in selected(one["spec"]["selector"]) for port in container(name)["ports"]}
            assert ports and {port["name"] for port in one["spec"]["ports"]} <= ports
        if one["kind"] == "PodDisruptionBudget":
            assert selected(one["spec"]["selector"]["matchLabels"])
        if one["kind"] == "NetworkPolicy":
            labels = one["spec"]["podSelector"]
            for expression in labels.get("matchExpressions", []):
                assert set(expression["values"]) <= WORKLOADS.keys()
            assert not labels.get("matchLabels") or selected(labels["matchLabels"])


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
            with urllib.request.urlopen(f"https://localhost:{self.port}{asked['path']}", context=context, timeout=10) as answer:
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
    from pinledger import BINARY

    done = subprocess.run([BINARY, *arguments[:1]], env=environment, capture_output=True, text=True, timeout=120)
    assert arguments == ["migrate", "--grant-to", "pinledger"] and done.returncode == 0, done.stderr


def test_the_health_check_of_the_image_is_a_command_of_the_program(own_server):
    text = (DEPLOY / "image/Containerfile").read_text().replace("\\\n", " ")
    [check] = re.findall(r"^HEALTHCHECK.* CMD (\[.*\])$", text, re.M)
    words = json.loads(check)
    assert words[0] == "pinledger"
    healthy = [word.replace("http://127.0.0.1:8440", f"http://127.0.0.1:{own_server.port}") for word in words[1:]]
    own_server.cli(*healthy)
    own_server.cli(*[word.replace("8440", str(free_port())) for word in words[1:]], status=8)
