"""The Helm chart with the program: its settings are usable, and its pods, played with real processes, come to a document and change their key."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import chart
import handbook
import manifests
import pods
import pytest
import yaml
from edges import secret
from manifests import container
from pinledger import BINARY, eventually

pytestmark = pytest.mark.skipif(not chart.HELM.exists(), reason="the wheel with helm is for Linux on x86-64")
SERVERS = ["pinledger-0", "pinledger-1"]


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    return chart.pack(tmp_path_factory.mktemp("chart"))


def test_the_settings_of_the_chart_are_usable_with_those_that_values_add(own_server, package, certificates, tmp_path):
    added = {
        "vantage": "cluster", "allow_private_range": ["10.20.0.0/16", "192.0.2.7", "fd00::/64"], "max_connections": 1000000,
        "require_synchronous": False, "trace_ratio": 0.25, "warn_days": "30,7", "log_level": "info",
    }  # fmt: skip
    values = {"servers": {"settings": added}, "readers": {"settings": {"max_connections": 2000}}}
    values |= {"edges": {"enabled": True, "settings": {"upstream": ["https://a.example", "https://b.example"], "drain_delay": 5}}}
    objects = chart.render(package, values | {"kek": {"nextExistingSecret": "next"}})
    files = {key: text for one in objects if one["kind"] == "ConfigMap" for key, text in one["data"].items()}
    assert files.keys() == {"server.yaml", "reader.yaml", "edge.yaml"}
    real = {"tls.crt": certificates[0].path, "ca.crt": certificates[0].path, "tls.key": certificates[0].path.with_suffix(".key")}
    for name in ("kek", "next-kek", "token"):
        real[name] = tmp_path / name
        real[name].write_text(os.urandom(32).hex() if name != "token" else own_server.api.token)
        real[name].chmod(0o600)
    real["keys.json"] = tmp_path / "keys.json"
    real["keys.json"].write_text(own_server.cli("api", "GET", "/client/v1/jwks.json").stdout)
    public = own_server.cli("key", "batch-public-key", "--kek-file", str(real["kek"])).stdout.strip()

    def check(text: str, name: str) -> subprocess.CompletedProcess:
        text = re.sub(r"/run/\w+/([\w.-]+)", lambda found: str(real[found[1]]), text).replace("/var/lib/pinledger", str(tmp_path))
        (tmp_path / name).write_text(text)
        own = {"PINLEDGER_DATABASE": "host=db dbname=pinledger", "PINLEDGER_BATCH_PUBLIC_KEY": public} if name == "reader.yaml" else {}
        own |= {"PINLEDGER_DATABASE": "host=db dbname=pinledger"} if name == "server.yaml" else {}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PINLEDGER_")} | own
        return subprocess.run(
            [BINARY, *(["edge"] if name == "edge.yaml" else []), "config", "check", "--config", tmp_path / name],
            env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    for name, text in files.items():
        done = check(text, name)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    assert yaml.safe_load(files["server.yaml"]).items() >= added.items()
    # A setting that there is none of comes as far as the program, which says so.
    wrong = check(files["server.yaml"] + "vantages: a\n", "server.yaml")
    assert wrong.returncode == 2 and "there is no setting vantages" in wrong.stderr


@pytest.fixture
def cluster(own_server, tmp_path_factory):
    one = pods.furnished(own_server, tmp_path_factory.mktemp("cluster"))
    # Before the migration, as the page says: the installation starts read-only nodes right after it.
    own_server.sql("GRANT pinledger_reader TO pinledger_node")
    try:
        yield one
    finally:
        one.close()


@pytest.fixture
def apply(cluster, package, monkeypatch):
    """Gives the cluster the chart's objects instead of the manifests': pods that are added from now on are of these."""

    def apply(values: dict) -> None:
        objects = chart.render(package, values)
        workloads = {one["metadata"]["name"]: one for one in objects if one["kind"] in ("StatefulSet", "Job", "CronJob")}
        monkeypatch.setattr(manifests, "OBJECTS", objects)
        monkeypatch.setattr(manifests, "WORKLOADS", workloads)
        monkeypatch.setattr(pods, "POLICIES", manifests.of_kind("NetworkPolicy"))
        cluster.objects |= {one["metadata"]["name"]: one["data"] for one in manifests.of_kind("ConfigMap")}

    return apply


@pytest.mark.daily
@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("ip"), reason="networks of their own take root and iproute2")
def test_the_pods_of_the_chart_come_to_a_document_and_take_changes_at_each_step_of_a_key_change(cluster, apply, own_server):
    values: dict = {
        "kek": {"existingSecret": "kek-1"}, "database": {"existingSecret": "database"},
        "servers": {"settings": {"vantage": "cluster", "allow_private_range": ["10.99.0.0/16"]}},
    }  # fmt: skip
    former = cluster.objects.pop("pinledger-kek")
    cluster.objects |= {"kek-1": former, "database": cluster.objects.pop("pinledger-database")}
    apply(values)
    cluster.add("pinledger-migrate").run(*container("pinledger-migrate")["args"])
    for name in (*SERVERS, "pinledger-reader-0"):
        workload, _, number = name.rpartition("-")
        cluster.add(workload, int(number))
    cluster.start(*SERVERS, "pinledger-reader-0")
    cluster.await_ready(*SERVERS, "pinledger-reader-0")

    authority = cluster.objects["pinledger-tls"]["ca.crt"]
    operator = cluster.stranger("operator", operators="true")
    (operator.root / "tmp/ca.crt").write_text(authority)
    [bootstrap] = re.findall(r"-- pinledger (token bootstrap .*) --code$", handbook.text("containers"), re.M)
    token = cluster.pods["pinledger-0"].run(*bootstrap.split()).split()[-1]
    asking = {"PINLEDGER_CA_FILE": "/tmp/ca.crt", "PINLEDGER_TOKEN": token, "PINLEDGER_SERVER": "https://pinledger-operators:8441"}
    eventually(lambda: operator.does("whoami", **asking), "a server that knows the token")

    def verify(app: str) -> None:
        operator.run("app", "create", app, **asking)
        jwks = operator.run("api", "GET", "/client/v1/jwks.json", "--server", "https://pinledger-documents:8440", "--ca-file", "/tmp/ca.crt")
        (operator.root / "tmp/keys.json").write_text(jwks)
        words = ["document", "verify", app, "--no-state", "--jwks", "/tmp/keys.json", "--server", "https://pinledger-documents:8440"]
        eventually(lambda: operator.does(*words, PINLEDGER_CA_FILE="/tmp/ca.crt"), f"the document of {app}")

    verify("com.example.first")
    # The next key beside the present one: servers restart one after the other, and take changes between.
    next_key = os.urandom(32).hex()
    cluster.objects["kek-2"] = {"kek": next_key}
    files = [secret(cluster.home / f"key-{number}", text) for number, text in enumerate((former["kek"], next_key))]
    public = [own_server.cli("key", "batch-public-key", "--kek-file", str(file)).stdout.strip() for file in files]
    cluster.objects["pinledger-batch-key"] = {"batch_public_key": ",".join(public)}
    apply(values | {"kek": {"existingSecret": "kek-1", "nextExistingSecret": "kek-2"}})
    for name in ("pinledger-reader-0", *reversed(SERVERS)):
        cluster.replace(name)
        verify(f"com.example.{name}")
    rewrap = handbook.text("containers").split("### Change the key-encryption key")[1]
    [*_, command] = re.findall(r"kubectl exec pinledger-0 -- pinledger (key rewrap .*)$", rewrap, re.M)
    cluster.pods["pinledger-0"].run(*command.split())
    assert "nothing to do" in cluster.pods["pinledger-0"].run(*command.split())
    verify("com.example.rewrapped")
    # The next key alone.
    apply(values | {"kek": {"existingSecret": "kek-2"}})
    cluster.objects["pinledger-batch-key"] = {"batch_public_key": public[1]}
    for name in ("pinledger-reader-0", *reversed(SERVERS)):
        cluster.replace(name)
        verify(f"com.example.{name}.again")
    assert not (cluster.pods["pinledger-0"].root / "run/kek/next-kek").exists()
