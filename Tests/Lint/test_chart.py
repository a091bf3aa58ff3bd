"""The Helm chart: with its own values it is the manifests, and each value changes what it says and nothing else."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import chart
import handbook
import manifests
import pytest
import yaml
from chart import HELM
from manifests import DEPLOY, KUBERNETES, OF_OPERATORS, kustomization

pytestmark = pytest.mark.skipif(not HELM.exists(), reason="the wheel with helm is for Linux on x86-64")
OWN_ANNOTATIONS = re.compile(r"helm\.sh/")
NODES = {"servers": "pinledger", "readers": "pinledger-reader", "edges": "pinledger-edge"}
EDGES = {"edges": {"enabled": True}}
EDGES_ALONE = EDGES | {name: {"enabled": False} for name in ("servers", "readers", "migration", "fsck")}
MONITORED = {"monitoring": {"podMonitors": {"enabled": True}, "rules": {"enabled": True}}}
PEER = {"ipBlock": {"cidr": "10.1.0.0/16"}}
# Values that installations have, by what they are for.
TABLE: dict[str, dict] = {
    "the chart's own": {},
    "edges": EDGES,
    "edges alone": EDGES_ALONE | {"edges": {"enabled": True, "settings": {"upstream": "https://pins.example.com"}}},
    "monitoring": EDGES | {
        "monitoring": {name: {"enabled": True, "labels": {"release": "prometheus"}} for name in ("podMonitors", "rules", "dashboard")}
    },
    "a registry": {
        "image": {"registry": "registry.example.com/bank", "tag": "1.2.3", "pullPolicy": "Always", "pullSecrets": ["registry"]}
    },
    "a digest": {"image": {"digest": f"sha256:{'ab' * 32}"}},
    "other names": EDGES | MONITORED | {
        "database": {"existingSecret": "database", "ownerExistingSecret": "owner"},
        "kek": {"existingSecret": "kek-1"},
        "tls": {"existingSecret": "tls"},
        "batchKey": {"existingConfigMap": "batch"},
        "checkpoint": {"existingConfigMap": "seen"},
        "upstream": {"existingSecret": "token"},
        "trustedKeys": {"existingConfigMap": "keys"},
    },
    "a key change": {"kek": {"nextExistingSecret": "kek-2"}},
    "a certificate": EDGES | {"tls": {"issuerRef": {"name": "internal", "kind": "ClusterIssuer"}, "hosts": ["pins.example.com"]}},
    "placed pods": {
        "pods": {
            "annotations": {"a": "1", "b": "1"}, "labels": {"team": "pins", "app.kubernetes.io/name": "other"}, "nodeSelector": {"disk": "fast"},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}], "priorityClassName": "high", "clusterAssignsUser": True,
        },
        "servers": {"annotations": {"b": "2"}, "priorityClassName": "highest", "spread": {"machines": "preferred", "zones": "required"}},
        "readers": {"affinity": {"nodeAffinity": {}}, "spread": {"machines": "none", "zones": "none"}},
    },
    "sizes": {
        "servers": {
            "replicas": 5, "resources": {"requests": {"cpu": 2}, "limits": {"memory": "4Gi"}}, "startupProbe": {"failureThreshold": 1800},
            "disruptionBudget": {"maxUnavailable": 2},
        },
        "readers": {"replicas": 1, "disruptionBudget": {"enabled": False}},
        "fsck": {"schedule": "30 1 * * 0", "timeZone": "Europe/Berlin"},
    },
    "settings": {
        "servers": {
            "settings": {
                "vantage": "cluster", "allow_private_range": ["10.20.0.0/16", "10.30.4.9", "fd00::1"], "max_connections": 10000000,
                "require_synchronous": False, "drain_delay": 120, "otlp_headers_file": "/run/more/headers",
            },
            "volumes": [{"name": "more", "secret": {"secretName": "more"}}],
            "volumeMounts": [{"name": "more", "mountPath": "/run/more", "readOnly": True}],
        },
    },
    "services": {
        "services": {
            "pinledger-documents": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "annotations": {"internal": "true"}},
            "pinledger-operators": {"labels": {"team": "pins"}},
        },
    },
    "network peers": EDGES | {
        "networkPolicies": {
            "peers": {name: [PEER] for name in ("operators", "monitoring", "database", "clients", "upstream", "cluster-services")},
            "ports": {"database": [6432], "upstream": [8443]},
        },
    },
    "no policies": {"networkPolicies": {"enabled": False}},
}  # fmt: skip
STORAGE = {name: {"storage": {"size": "8Gi", "class": "fast"}} for name in (*NODES, "fsck")}


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    return chart.pack(tmp_path_factory.mktemp("chart"))


@pytest.fixture(scope="module")
def rendered(package) -> dict[str, dict[tuple[str, str], dict]]:
    """The objects of each line of the table, by kind and name."""
    return {name: by_name(chart.render(package, values)) for name, values in TABLE.items()}


def by_name(objects: list[dict]) -> dict[tuple[str, str], dict]:
    found = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(found) == len(objects)
    return found


def pods(objects: dict) -> dict[str, dict]:
    """The templates of pods of the workloads."""
    workloads = {name: one["spec"] for (kind, name), one in objects.items() if kind in ("StatefulSet", "Job", "CronJob")}
    return {name: spec.get("jobTemplate", {"spec": spec})["spec"]["template"] for name, spec in workloads.items()}


def compared(objects: list[dict]) -> dict[tuple[str, str], dict]:
    """Objects without what is Helm's or Kustomize's own: annotations, the namespace, and the suffix of a config map's name."""
    text = json.dumps([one for one in objects if one["kind"] != "Namespace"])
    for directory in manifests.DIRECTORIES:
        for name in manifests.generated(KUBERNETES / directory):
            text = re.sub(rf'"{name}-[a-z0-9]{{10}}"', f'"{name}"', text)
    found = by_name(json.loads(text))
    for one in found.values():
        for metadata in (one["metadata"], one.get("spec", {}).get("template", {}).get("metadata", {})):
            if "annotations" in metadata:
                metadata["annotations"] = {key: each for key, each in metadata["annotations"].items() if not OWN_ANNOTATIONS.match(key)}
            if not metadata.get("annotations"):
                metadata.pop("annotations", None)
        if one["kind"] == "ConfigMap":
            one["data"] = {key: yaml.safe_load(text) for key, text in one["data"].items()}
    return found


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")
@pytest.mark.parametrize(
    "directories, values",
    [
        (["servers"], {}),
        (["servers", "edge"], EDGES),
        (["edge"], EDGES_ALONE | {"edges": {"enabled": True, "settings": {"upstream": "https://pinledger:8440"}}}),
        (["servers", "edge", "monitoring"], EDGES | MONITORED),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
def test_the_chart_with_its_own_values_is_what_kustomize_renders(package, directories, values):
    wanted: dict = {}
    for directory in directories:
        done = subprocess.run(["kubectl", "kustomize", KUBERNETES / directory], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        wanted |= compared(list(yaml.safe_load_all(done.stdout)))
    found = compared(chart.render(package, values))
    assert found.keys() == wanted.keys()
    for name, one in found.items():
        assert one == wanted[name], name


@pytest.mark.parametrize("name", TABLE)
def test_helm_finds_nothing_to_complain_of_in_the_chart(package, name):
    done = chart.helm("lint", package, TABLE[name], "--strict")
    assert done.returncode == 0 and "WARNING" not in done.stdout and "Fail" not in done.stderr, done.stdout + done.stderr


def test_every_object_of_the_chart_is_valid_kubernetes_in_the_namespace_of_the_release_and_no_secret(rendered, tmp_path):
    # Most lines of the table have most objects in common.
    known: set[str] = set()
    for objects in rendered.values():
        assert {one["metadata"]["namespace"] for one in objects.values()} == {"pinledger"}
        assert not {kind for kind, _ in objects} & {"Secret", "Namespace"}
        known |= {json.dumps(one) for (kind, _), one in objects.items() if kind not in OF_OPERATORS | {"Certificate"}}
    assert len(known) > 60
    (tmp_path / "objects.yaml").write_text("\n---\n".join(known))
    command = [Path(sys.executable).parent / "kubernetes-validate", "--strict", tmp_path / "objects.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_no_upgrade_changes_what_kubernetes_lets_no_one_change(rendered, tmp_path):
    copy = tmp_path / "deploy"
    shutil.copytree(DEPLOY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    common = copy / "kubernetes/common/kustomization.yaml"
    common.write_text(re.sub("newTag: .*", "newTag: 99.0.0", common.read_text()))
    rendered = rendered | {"the next version": by_name(chart.render(chart.pack(tmp_path, copy / "kubernetes"), EDGES))}
    assert pods(rendered["the next version"])["pinledger"]["spec"]["containers"][0]["image"] == "pinledger:99.0.0"
    fixed: dict[str, set[str]] = {}
    for objects in rendered.values():
        for (kind, name), one in objects.items():
            if kind == "StatefulSet":
                changeable = ("replicas", "template", "updateStrategy", "minReadySeconds", "persistentVolumeClaimRetentionPolicy")
                kept = {key: each for key, each in one["spec"].items() if key not in changeable}
            elif kind == "PersistentVolumeClaim":
                kept = one
            else:
                continue
            fixed.setdefault(name, set()).add(json.dumps(kept, sort_keys=True))
            # A selector that its pods do not meet is refused, too.
            if kind == "StatefulSet":
                assert manifests.fits(one["spec"]["selector"], one["spec"]["template"]["metadata"]["labels"])
    assert {name: len(each) for name, each in fixed.items()} == dict.fromkeys((*NODES.values(), "pinledger-fsck"), 1)


def test_storage_is_of_the_size_and_class_that_the_values_say(package):
    objects = by_name(chart.render(package, STORAGE | {"edges": {"enabled": True} | STORAGE["edges"]}))
    claims = [objects["StatefulSet", name]["spec"]["volumeClaimTemplates"][0]["spec"] for name in NODES.values()]
    reports = objects["PersistentVolumeClaim", "pinledger-fsck"]
    for claim in [*claims, reports["spec"]]:
        assert claim["resources"]["requests"] == {"storage": "8Gi"} and claim["storageClassName"] == "fast"
    # The reports outlive the release.
    assert reports["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_every_pod_has_the_image_of_the_values(rendered):
    version = kustomization(KUBERNETES / "common")["images"][0]["newTag"]
    images = {"the chart's own": f"pinledger:{version}", "a registry": "registry.example.com/bank/pinledger:1.2.3"}
    images["a digest"] = f"pinledger@{TABLE['a digest']['image']['digest']}"
    for name, image in images.items():
        for template in pods(rendered[name]).values():
            [one] = template["spec"]["containers"]
            assert one["image"] == image and one.get("imagePullPolicy") == TABLE[name].get("image", {}).get("pullPolicy")
            assert template["spec"].get("imagePullSecrets") == ([{"name": "registry"}] if name == "a registry" else None)


def test_every_reference_takes_the_name_that_the_values_give(rendered):
    objects = [one for one in rendered["other names"].values() if one["kind"] != "PrometheusRule"]
    text = json.dumps(objects)
    given = [name for section in TABLE["other names"].values() for key, name in section.items() if key.startswith(("existing", "owner"))]
    assert len(given) == 8
    for name in given:
        assert re.search(rf'"(secretName|name)": "{name}"', text), name
    for one in objects:
        text = text.replace(f'"{one["metadata"]["name"]}"', "")
    assert re.findall(r'"(?:secretName|name)": "pinledger-(?!settings|reader-settings|edge-settings|nodes|fsck)[a-z-]+"', text) == []


def settings(objects: dict, file: str) -> dict:
    """The settings in a file of the config maps."""
    [text] = [one["data"][file] for (kind, _), one in objects.items() if kind == "ConfigMap" and file in one["data"]]
    return yaml.safe_load(text)


def settings_map(template: dict) -> str | None:
    """The name of the config map with the settings of a pod."""
    return next((volume["configMap"]["name"] for volume in template["spec"]["volumes"] if volume["name"] == "settings"), None)


def test_servers_have_both_keys_while_the_key_is_changed(rendered):
    objects = rendered["a key change"]
    for name, template in pods(objects).items():
        volumes = {one["name"]: one for one in template["spec"]["volumes"]}
        if name != "pinledger":
            assert "kek" not in volumes
            continue
        sources = volumes["kek"]["projected"]["sources"]
        assert [(one["secret"]["name"], *one["secret"]["items"][0].values()) for one in sources] == [
            ("pinledger-kek", "kek", "kek"), ("kek-2", "kek", "next-kek"),
        ]  # fmt: skip
        assert volumes["kek"]["projected"]["defaultMode"] == 0o440
    assert settings(objects, "server.yaml")["next_kek_file"] == "/run/kek/next-kek"
    assert "next_kek_file" not in settings(objects, "reader.yaml")


def test_settings_are_added_and_restart_the_pods_that_have_them(rendered):
    plain, given = rendered["the chart's own"], rendered["settings"]
    before, after = (settings(one, "server.yaml") for one in (plain, given))
    assert after == before | TABLE["settings"]["servers"]["settings"]
    named = [{name: settings_map(one) for name, one in pods(each).items()} for each in (plain, given)]
    assert {name for name in named[0] if named[0][name] != named[1][name]} == {"pinledger"}
    # Each pod finds the config map with the settings of its template, under a name that no other settings have.
    for objects, names in zip((plain, given), named, strict=True):
        assert {name for name in names.values() if name} == {name for kind, name in objects if kind == "ConfigMap"}
    assert re.fullmatch("pinledger-reader-settings-[0-9a-f]{10}", named[0]["pinledger-reader"])
    server = pods(given)["pinledger"]["spec"]
    assert server["terminationGracePeriodSeconds"] > 120 + 10 and server["volumes"][-1]["name"] == "more"
    assert server["containers"][0]["volumeMounts"][-1]["mountPath"] == "/run/more"
    # The network opens the same private addresses.
    policies = [one for (kind, _), one in given.items() if kind == "NetworkPolicy"]
    server, reader = manifests.ours("pinledger"), manifests.ours("pinledger-reader")
    reached = {address: manifests.allows(policies, server, manifests.Place(address=address), 443) for address in (
        "10.20.1.1", "10.30.4.9", "fd00::1", "10.30.4.8", "fd00::2")}  # fmt: skip
    assert list(reached.values()) == [True, True, True, False, False]
    assert not manifests.allows(policies, reader, manifests.Place(address="10.20.1.1"), 443)


def test_pods_are_placed_as_the_values_say(rendered):
    placed = pods(rendered["placed pods"])
    for name, template in placed.items():
        spec = template["spec"]
        assert template["metadata"]["labels"]["team"] == "pins" and template["metadata"]["labels"]["app.kubernetes.io/name"] == name
        assert template["metadata"]["annotations"].items() >= {"a": "1", "b": "2" if name == "pinledger" else "1"}.items()
        assert spec["nodeSelector"] == {"disk": "fast"} and spec["tolerations"] == TABLE["placed pods"]["pods"]["tolerations"]
        assert spec["priorityClassName"] == ("highest" if name == "pinledger" else "high")
        assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert ("affinity" in spec) == (name == "pinledger-reader")
    spread = {one["topologyKey"]: one["whenUnsatisfiable"] for one in placed["pinledger"]["spec"]["topologySpreadConstraints"]}
    assert spread == {"kubernetes.io/hostname": "ScheduleAnyway", "topology.kubernetes.io/zone": "DoNotSchedule"}
    assert placed["pinledger-reader"]["spec"]["topologySpreadConstraints"] == []


def test_sizes_schedules_and_services_are_those_of_the_values(rendered):
    sizes, services = rendered["sizes"], rendered["services"]
    server = sizes["StatefulSet", "pinledger"]["spec"]
    assert server["replicas"] == 5 and sizes["PodDisruptionBudget", "pinledger"]["spec"]["maxUnavailable"] == 2
    inner = server["template"]["spec"]["containers"][0]
    assert inner["resources"] == {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"memory": "4Gi"}}
    assert inner["startupProbe"]["failureThreshold"] == 1800 and inner["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert ("PodDisruptionBudget", "pinledger-reader") not in sizes
    check = sizes["CronJob", "pinledger-fsck"]["spec"]
    assert (check["schedule"], check["timeZone"]) == ("30 1 * * 0", "Europe/Berlin")
    documents = services["Service", "pinledger-documents"]
    assert (documents["spec"]["type"], documents["spec"]["externalTrafficPolicy"]) == ("LoadBalancer", "Local")
    assert documents["metadata"]["annotations"] == {"internal": "true"} and documents["spec"]["selector"]
    assert services["Service", "pinledger-operators"]["metadata"]["labels"]["team"] == "pins"


def test_peers_are_allowed_beside_namespaces_and_instead_of_every_address(rendered):
    policies = [one for (kind, _), one in rendered["network peers"].items() if kind == "NetworkPolicy"]
    server, edge, outside = manifests.ours("pinledger"), manifests.ours("pinledger-edge"), manifests.Place(address="198.51.100.7")
    peer, labelled = manifests.Place(address="10.1.2.3"), manifests.Place({}, {"pinledger.example/operators": "true"})
    for source, target, port, is_allowed in [
        (peer, server, "operators", True), (labelled, server, "operators", True), (outside, server, "operators", False),
        (peer, server, "metrics", True), (peer, server, "clients", True), (outside, server, "clients", False),
        (server, peer, 6432, True), (server, outside, 5433, True), (server, peer, 443, True),
        (edge, peer, 8443, True), (edge, outside, 8443, False), (edge, peer, 443, False), (edge, server, "clients", False),
    ]:  # fmt: skip
        assert manifests.allows(policies, source, target, port) == is_allowed, (source, target, port)
    assert [one for kind, one in rendered["no policies"] if kind == "NetworkPolicy"] == []


def test_a_certificate_has_the_names_that_the_page_says_and_those_of_the_values(rendered):
    certificate = rendered["a certificate"]["Certificate", "pinledger"]["spec"]
    said = handbook.text("containers").split("The certificate has the names")[1].split("\n\n")[0]
    assert set(certificate["dnsNames"]) == {*re.findall(r"`([*a-z.-]+)`", said), "pins.example.com"} - {"kubectl"}
    assert certificate["secretName"] == "pinledger-tls" and certificate["issuerRef"] == TABLE["a certificate"]["tls"]["issuerRef"]


def test_monitoring_has_the_labels_of_the_values_and_the_dashboard(rendered):
    objects = rendered["monitoring"]
    for kind in OF_OPERATORS:
        assert all(one["metadata"]["labels"]["release"] == "prometheus" for (each, _), one in objects.items() if each == kind)
    dashboard = objects["ConfigMap", "pinledger-dashboard"]
    assert dashboard["data"] == {"pinledger.json": (DEPLOY / "grafana/pinledger.json").read_text()}
    assert dashboard["metadata"]["labels"].items() >= {"grafana_dashboard": "1", "release": "prometheus"}.items()
    assert {name for kind, name in rendered["the chart's own"] if kind in OF_OPERATORS} == set()


def test_the_schema_is_brought_up_to_date_before_anything_else_of_a_release(rendered):
    job = rendered["the chart's own"]["Job", "pinledger-migrate"]["metadata"]["annotations"]
    # A job cannot be changed: the one before is deleted.
    assert job == {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation"}


WRONG = [
    ({"servers": {"replica": 3}}, "servers: Additional property replica is not allowed"),
    ({"server": {}}, "(root): Additional property server is not allowed"),
    ({"servers": {"replicas": "three"}}, "servers.replicas: Invalid type. Expected: integer, given: string"),
    ({"servers": {"settings": {"database": "host=db"}}}, 'servers.settings.database does not match: "set by the chart"'),
    ({"readers": {"settings": {"read_only": False}}}, 'readers.settings.read_only does not match: "set by the chart"'),
    ({"edges": {"settings": {"listen": "0.0.0.0:1"}}}, 'edges.settings.listen does not match: "set by the chart"'),
    ({"servers": {"settings": {"warn_days": {"a": 1}}}}, "servers.settings.warn_days: Invalid type."),
    ({"servers": {"spread": {"zones": "must"}}}, 'servers.spread.zones must be one of the following: "required", "preferred", "none"'),
    ({"servers": {"storage": {"size": "1 GB"}}}, "servers.storage.size: Does not match pattern"),
    ({"image": {"digest": "latest"}}, "image.digest: Does not match pattern"),
    ({"kek": {"existingSecret": ""}}, "kek.existingSecret: String length must be greater than or equal to 1"),
    ({"pods": {"priorityClass": "a"}}, "pods: Additional property priorityClass is not allowed"),
    ({"fsck": {"schedule": "nightly"}}, "fsck.schedule: Does not match pattern"),
    ({"services": {"pinledger-reader": {}}}, "services: Additional property pinledger-reader is not allowed"),
    ({"services": {"pinledger": {"type": "Ingress"}}}, 'services.pinledger.type must be one of the following: "ClusterIP"'),
    ({"networkPolicies": {"peers": {"databases": []}}}, "networkPolicies.peers: Additional property databases is not allowed"),
    ({"networkPolicies": {"peers": {"database": ["10.0.0.0/8"]}}}, "networkPolicies.peers.database.0: Invalid type. Expected: object"),
    (EDGES_ALONE, "edges.settings: upstream is required"),
]


@pytest.mark.parametrize("command", ["lint", "template"])
def test_values_that_are_wrong_are_refused_with_their_place(package, command):
    for values, sentence in WRONG:
        done = chart.helm(command, package, values)
        assert done.returncode != 0 and sentence in done.stdout + done.stderr, f"{values}: {done.stdout}{done.stderr}"


def test_the_schema_knows_every_value_and_no_other():
    schema = json.loads((KUBERNETES / "chart/values.schema.json").read_text())
    # The keys of all pods are each workload's, too.
    values = yaml.safe_load((KUBERNETES / "chart/values.yaml").read_text())
    for name in (*NODES, "migration", "fsck"):
        values[name] = values["pods"] | values[name]

    def places(known: dict, given, path: str = "") -> set[str]:
        known = schema["definitions"][known["$ref"].rpartition("/")[2]] if "$ref" in known else known
        inner = known.get("properties", {}) if known.get("additionalProperties") is False else {}
        found = {f"{path}{key}: not in values.yaml" for key in inner if key not in (given or {})} if given else set()
        for key, value in given.items() if isinstance(given, dict) and inner else ():
            found |= places(inner[key], value, f"{path}{key}.") if key in inner else {f"{path}{key}: not in the schema"}
        return found

    assert places(schema, values) == {"global: not in values.yaml"}
    policies = {one["metadata"]["name"] for one in manifests.of_kind("NetworkPolicy")} - {"none"}
    assert schema["properties"]["networkPolicies"]["properties"]["peers"]["properties"].keys() == policies
    services = {one["metadata"]["name"] for one in manifests.of_kind("Service") if one["spec"].get("clusterIP") != "None"}
    assert schema["properties"]["services"]["properties"].keys() == services
    # Settings of the manifests are the chart's, but for those that depend on nothing mounted.
    [patterns] = [schema["definitions"]["nodes"]["properties"]["settings"]["patternProperties"]]
    settings = {key for files in manifests.SETTINGS.values() for file in files.values() for key in yaml.safe_load(file.read_text())}
    free = {key for key in settings if not any(re.search(pattern, key) for pattern in patterns)}
    assert free == {"drain_delay", "log_format", "upstream", "upstream_ca_file"}


def test_the_chart_has_the_version_of_the_program(package):
    main = (handbook.ROOT / "Sources/pinledger/Main.swift").read_text()
    [version] = re.findall(r'enum Version \{.*?text = "([^"]+)"', main, re.S)
    assert kustomization(KUBERNETES / "common")["images"][0]["newTag"] == version and package.name == f"pinledger-{version}.tgz"
    with tarfile.open(package) as archive:
        one = yaml.safe_load(archive.extractfile("pinledger/Chart.yaml").read())
    assert (one["version"], one["appVersion"]) == (version, version)


def test_the_same_files_make_the_same_chart(tmp_path):
    copy = tmp_path / "elsewhere/deploy"
    shutil.copytree(DEPLOY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file in copy.rglob("*"):
        file.touch()
    one = chart.pack(tmp_path / "one", SOURCE_DATE_EPOCH="1700000000")
    other = chart.pack(tmp_path / "other", copy / "kubernetes", SOURCE_DATE_EPOCH="1700000000", TZ="Asia/Tokyo")
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries) and len(entries) > 25
    assert {(entry.mtime, entry.uid, entry.gid, entry.mode, entry.uname) for entry in entries} == {(1700000000, 0, 0, 0o644, "")}
    # The manifests are in it as they are.
    with tarfile.open(one) as archive:
        kept = archive.extractfile("pinledger/manifests/servers/server.yaml").read()
    assert kept == (KUBERNETES / "servers/server.yaml").read_bytes()


def test_a_value_that_the_manifests_no_longer_have_stops_the_packing(tmp_path):
    copy = tmp_path / "deploy"
    shutil.copytree(DEPLOY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    server = copy / "kubernetes/servers/server.yaml"
    server.write_text(server.read_text().replace("replicas:", "pods:"))
    done = subprocess.run([copy / "kubernetes/package-chart", tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "servers/server.yaml has 0 values for replicas" in done.stderr
    assert subprocess.run([copy / "kubernetes/package-chart"], capture_output=True, timeout=300).returncode == 64


def notes(package: Path, values: dict, directory: Path) -> str:
    """NOTES.txt as Helm fills it: `helm template` leaves it out, so that a template of the test's has it read."""
    with tarfile.open(package) as archive:
        archive.extractall(directory, filter="data")
    unpacked = directory / "pinledger"
    (unpacked / "notes").write_text((unpacked / "templates/NOTES.txt").read_text())
    (unpacked / "templates/zz.yaml").write_text('kind: Notes\nmetadata: {name: notes}\ntext: {{ tpl (.Files.Get "notes") . | toJson }}\n')
    return next(one["text"] for one in chart.render(unpacked, values) if one["kind"] == "Notes")


def test_the_notes_say_what_comes_next(package, tmp_path):
    text = notes(package, TABLE["sizes"] | TABLE["other names"] | {"edges": {"enabled": False}}, tmp_path / "servers")
    [bootstrap] = re.findall(r"exec pinledger-0 -- (pinledger token bootstrap .*) --code$", handbook.text("containers"), re.M)[:1]
    assert f"kubectl --namespace pinledger exec pinledger-0 -- {bootstrap} --code" in text
    # What has to be there, in the order in which it can be made.
    order = ["secret owner", "secret database", "secret kek-1", "config map batch", "secret tls"]
    order += ["rollout status", "bootstrap", "secret token", "config map keys"]
    assert [word for word in order if word not in text] == [] and sorted(order, key=text.index) == order
    assert "WARNING: readers.replicas is 1" in text and "WARNING: servers" not in text
    alone = notes(package, TABLE["edges alone"], tmp_path / "edges")
    assert "secret pinledger-upstream" in alone and "secret pinledger-tls" in alone and "bootstrap" not in alone and "kek" not in alone


def test_the_values_and_commands_on_the_page_are_those_of_the_chart(package):
    page = handbook.text("containers").split("\n## With Helm\n")[1]
    given = [yaml.safe_load(block) for block in re.findall(r"^ *```yaml\n(.*?)^ *```$", page, re.M | re.S)]
    given += [yaml.safe_load(text) for text in re.findall(r"`((?:kek|edges): \{[^`]*\})`", page)]
    assert len(given) == 5
    for values in given:
        assert chart.render(package, values)
    for name in re.findall(r"`(existing\w+|next\w+|volume\w*|replicas|(?:tls|pods)\.\w+)`", page):
        assert re.search(rf"^ +{name.rpartition('.')[2]}:", (KUBERNETES / "chart/values.yaml").read_text(), re.M) or name == "next_kek_file", name
    commands = re.findall(r"^ *helm .*", page, re.M)
    assert len(commands) == 3 and all(f"dist/{package.name}" in line for line in commands)
    for line in commands:
        shown = subprocess.run([HELM, line.split()[1], "--help"], capture_output=True, text=True, timeout=300).stdout
        assert [flag for flag in re.findall(r"--[a-z-]+", line) if not re.search(rf"{flag}\b", shown)] == []
