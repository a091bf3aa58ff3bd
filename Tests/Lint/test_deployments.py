"""Files that run the program elsewhere: containers, alerts, the schedule of backups, the clients' own files."""

import collections
import itertools
import json
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import handbook
import manifests
import prometheus_rule
import pytest
import specs_schema
import yaml
from handbook import commands
from jsonschema import Draft202012Validator
from manifests import (
    DEPLOY, DIRECTORIES, KUBERNETES, MANIFESTS, OBJECTS, OF_OPERATORS, SETTINGS, WORKLOADS, Place, allows, container, kustomization,
    ours, pod, template,
)  # fmt: skip

ROOT = handbook.ROOT
TOOLS = Path(sys.executable).parent
KIT = ROOT / "Tests/Conformance"
RULES = [
    rule for group in yaml.safe_load((DEPLOY / "prometheus/pinledger.rules.yml").read_text())["groups"] for rule in group["rules"]
]  # fmt: skip
ALERTS, RECORDED = [rule for rule in RULES if "alert" in rule], [rule for rule in RULES if "record" in rule]
PANELS = [panel for panel in json.loads((DEPLOY / "grafana/pinledger.json").read_text())["panels"] if panel["type"] != "row"]
QUERIES = [(f"{panel['title']} {target['refId']}", target["expr"]) for panel in PANELS for target in panel["targets"]]


def run(*command) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


def selected(wanted: dict) -> list[str]:
    return [name for name in WORKLOADS if manifests.fits(wanted, manifests.labels(name))]


def rendered(directory: str) -> list[dict]:
    done = subprocess.run(["kubectl", "kustomize", KUBERNETES / directory], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def section(heading: str) -> str:
    """A part of the page about containers."""
    page = handbook.text("containers")
    return re.split(r"^#+ ", page.split(f"# {heading}\n")[1], maxsplit=1, flags=re.M)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of all tables, each without its first line."""
    tables = re.findall(r"^\|.*\n\|[-| ]+\n((?:\|.*\n?)+)", text, re.M)
    return [re.split(r" *\| *", line.strip())[1:-1] for table in tables for line in table.splitlines()]


def seconds(span: str) -> int:
    number, unit = re.match(r"(\d+) ?(s|m|minutes)$", span).groups()
    return int(number) * (1 if unit == "s" else 60)


def longest_start() -> int:
    """How long the handbook says that a node reads, at most."""
    [row] = [cells for cells in rows(handbook.text("performance")) if cells[0] == "ready, without one"]
    return max(seconds(cell) for cell in row[1:] if re.match(r"\d+ (s|minutes)$", cell))


def test_every_manifest_is_valid_kubernetes():
    known = [file for file in MANIFESTS if not {one["kind"] for one in yaml.safe_load_all(file.read_text())} & OF_OPERATORS]
    assert len(known) > 7
    run(TOOLS / "kubernetes-validate", "--strict", *known)


def test_a_manifest_that_is_no_valid_kubernetes_is_refused(tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((KUBERNETES / "servers/server.yaml").read_text().replace("replicas:", "replicaz:", 1))
    done = subprocess.run(
        [TOOLS / "kubernetes-validate", "--strict", KUBERNETES / "edge/edge.yaml", wrong], capture_output=True, timeout=300
    )  # fmt: skip
    assert done.returncode != 0


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")
@pytest.mark.parametrize("directory", [*DIRECTORIES, "example"])
def test_every_directory_is_rendered_into_one_namespace_with_one_version(directory, tmp_path):
    made = rendered(directory)
    assert {one["metadata"].get("namespace", "pinledger") for one in made} == {"pinledger"}
    # An overlay's own objects have the labels that it gives them.
    assert directory == "example" or all(one["metadata"]["labels"]["app.kubernetes.io/part-of"] == "pinledger" for one in made)
    [image] = kustomization(KUBERNETES / "common")["images"]
    images = set(re.findall(r"'image': '([^']+)'", str(made)))
    assert images == (set() if directory == "monitoring" else {f"pinledger:{image['newTag']}"})
    assert f"--tag pinledger:{image['newTag']} " in handbook.text("containers")
    files = {one["kind"] + one["metadata"]["name"]: one for one in made if one["kind"] not in OF_OPERATORS}
    for name, one in files.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(one))
    if files:
        run(TOOLS / "kubernetes-validate", "--strict", *sorted(tmp_path.iterdir()))


def test_the_compose_file_and_the_image_are_well_made():
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    run(TOOLS / "hadolint", DEPLOY / "image/Containerfile")


def test_every_pod_is_shut_in():
    for name in WORKLOADS:
        outer, inner = pod(name)["securityContext"], container(name)["securityContext"]
        assert pod(name)["automountServiceAccountToken"] is False and "serviceAccountName" not in pod(name), name
        assert pod(name)["enableServiceLinks"] is False, name
        assert outer["runAsNonRoot"] and outer["runAsUser"] > 0 and outer["seccompProfile"] == {"type": "RuntimeDefault"}, name
        shut = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert inner == shut and container(name)["resources"]["limits"]["memory"], name


def needs(name: str) -> dict[tuple[str, str], set[str]]:
    """The secrets and config maps that a pod does not start without, and others that it reads: the keys of each."""
    found: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
    for variable in container(name).get("env", []):
        for kind, reference in variable["valueFrom"].items():
            found[kind.removesuffix("KeyRef"), reference["name"]].add(reference["key"])
    file = manifests.settings_file(name)
    words = [str(word) for word in yaml.safe_load(file.read_text()).values()] if file else []
    paths = {mount["name"]: mount["mountPath"] for mount in container(name).get("volumeMounts", [])}
    for volume in pod(name).get("volumes", []):
        for kind, source in volume.items():
            if kind in ("secret", "configMap"):
                keys = {item["key"] for item in source.get("items", [])}
                # Of a volume with all keys, the settings name those that they need.
                keys |= {Path(word).name for word in words if word.startswith(f"{paths[volume['name']]}/")}
                found[kind, source.get("secretName") or source["name"]] |= keys
    return {key: keys for key, keys in found.items() if key[1] not in SETTINGS}


def is_needed(name: str, kind: str, wanted: str) -> bool:
    """Says that a pod does not start without a secret or a config map."""
    references = [
        reference for variable in container(name).get("env", []) for word, reference in variable["valueFrom"].items()
        if word == f"{kind}KeyRef"
    ] + [volume[kind] for volume in pod(name).get("volumes", []) if kind in volume]  # fmt: skip
    return any(not one.get("optional") for one in references if (one.get("secretName") or one.get("name")) == wanted)


def test_every_reference_of_a_manifest_names_something_that_is_there():
    listed = [cells for cells in rows(section("Kubernetes")) if re.match("(secret|config map) `", cells[0])]
    said = {cells[0].split("`")[1]: set(re.findall(r"`([\w.]+)`", cells[1])) for cells in listed}
    claims = {one["metadata"]["name"] for one in manifests.of_kind("PersistentVolumeClaim")}
    services = {one["metadata"]["name"]: one for one in manifests.of_kind("Service")}
    for name in WORKLOADS:
        volumes = {one["name"]: one for one in pod(name).get("volumes", [])}
        volumes |= {one["metadata"]["name"]: one for one in WORKLOADS[name]["spec"].get("volumeClaimTemplates", [])}
        mounts = {mount["name"]: mount["mountPath"] for mount in container(name).get("volumeMounts", [])}
        assert mounts.keys() == volumes.keys(), name
        for (_, outside), keys in needs(name).items():
            assert outside in said and keys <= said[outside], f"the page does not say how to make {outside} with {keys}"
        for volume in volumes.values():
            assert volume.get("persistentVolumeClaim", {}).get("claimName") in {None, *claims}
        # A file of the settings is in one of the volumes.
        if file := manifests.settings_file(name):
            places = [str(word) for word in yaml.safe_load(file.read_text()).values() if str(word).startswith("/")]
            assert [place for place in places if not place.startswith(tuple(mounts.values()))] == []
        else:
            assert name in ("pinledger-migrate", "pinledger-fsck")
        if WORKLOADS[name]["kind"] == "StatefulSet":
            assert services[WORKLOADS[name]["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"
    for service in services.values():
        for name in selected({"matchLabels": service["spec"]["selector"]}):
            assert {port["name"]: port["port"] for port in service["spec"]["ports"]}.items() <= manifests.ours(name).ports.items()
        assert selected({"matchLabels": service["spec"]["selector"]})
    for one in [*manifests.of_kind("PodDisruptionBudget"), *manifests.of_kind("PodMonitor")]:
        assert selected(one["spec"]["selector"])
    for one in manifests.of_kind("NetworkPolicy"):
        conditions = one["spec"]["podSelector"].get("matchExpressions", [])
        assert all(set(condition["values"]) <= WORKLOADS.keys() for condition in conditions)
        assert selected(one["spec"]["podSelector"])


def test_every_setting_of_a_manifest_is_one_of_the_program():
    listed = [
        cells
        for cells in rows(handbook.text("configuration").split("## Flags")[1])
        if cells[0].startswith("`--") and len(cells) > 4
    ]
    assert len(listed) > 50

    def known(column: int, command: str) -> set[str]:
        return {
            re.match(r"`([^` ]+)", cells[column])[1] for cells in listed if f"`{command}`" in cells[4] and cells[column].strip()
        }

    for name in WORKLOADS:
        words = container(name)["args"]
        command = " ".join(itertools.takewhile(lambda word: not word.startswith("-"), words)) if len(words) > 1 else "fsck"
        # The page lists the same settings for a command that is a node's or an edge's.
        of = "edge serve" if command.startswith("edge") else "serve"
        assert command in ("serve", "edge serve", "migrate", "fsck")
        variables = {variable["name"] for variable in container(name).get("env", [])}
        assert variables <= known(1, of), f"{name}: {variables - known(1, of)}"
        if file := manifests.settings_file(name):
            keys = set(yaml.safe_load(file.read_text()))
            assert keys <= known(2, of), f"{file.name}: {keys - known(2, of)}"
            assert set(re.findall(r"--[a-z-]+", " ".join(words))) <= known(0, of)


def span(probe: dict) -> int:
    return probe["periodSeconds"] * probe["failureThreshold"]


def test_a_start_may_take_as_long_as_the_handbook_says():
    assert longest_start() >= 17 * 60
    for name in ("pinledger", "pinledger-reader"):
        assert span(container(name)["startupProbe"]) >= 1.5 * longest_start(), name
        assert f"A pod has {span(container(name)['startupProbe']) // 60} minutes for its start" in section("Services")
    text = (DEPLOY / "image/Containerfile").read_text()
    [period] = re.findall(r"^HEALTHCHECK .*--start-period=(\S+)", text, re.M)
    assert seconds(period) >= 1.5 * longest_start()


def test_every_probe_asks_the_clients_port_over_the_scheme_that_its_settings_give():
    for name in [name for name in WORKLOADS if WORKLOADS[name]["kind"] == "StatefulSet"]:
        settings = yaml.safe_load(manifests.settings_file(name).read_text())
        scheme = "HTTPS" if "tls_certificate" in settings else "HTTP"
        ports = manifests.ours(name).ports
        assert ports["clients"] == int(settings["listen"].split(":")[1]) and ports["metrics"] == int(
            settings["metrics_listen"].split(":")[1]
        )
        assert ports.get("operators") == (int(settings["admin_listen"].split(":")[1]) if "admin_listen" in settings else None)
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container(name)[probe]["httpGet"]
            assert (asked["port"], asked["scheme"]) == ("clients", scheme), f"{name}: {probe}"
            if probe != "readinessProbe":
                assert asked["path"] == "/healthz"
        assert pod(name)["terminationGracePeriodSeconds"] > settings.get("drain_delay", 0) + 10
        annotations = template(name)["metadata"]["annotations"]
        assert annotations == {
            "prometheus.io/scrape": "true", "prometheus.io/port": str(ports["metrics"]), "prometheus.io/scheme": scheme.lower(),
        }  # fmt: skip


def test_the_services_have_the_pods_that_the_page_says():
    uses = {"pinledger": "servers", "pinledger-reader": "read-only nodes", "pinledger-edge": "edges"}
    services = {one["metadata"]["name"]: one["spec"] for one in manifests.of_kind("Service")}
    table = [cells for cells in rows(section("Services")) if cells[2]]
    assert len(table) == 4
    for name, _, criteria in table:
        ready = {
            uses[each]: container(each)["readinessProbe"]["httpGet"]["path"]
            for each in selected({"matchLabels": services[name.strip("`")]["selector"]})
        }
        assert dict((who, path) for path, who in re.findall(r"`(\S+)` of ([a-z -]+)", criteria)) == ready, name
    # While the database is away, read-only nodes that start are ready: they alone keep the service of documents up then.
    documents = selected({"matchLabels": services["pinledger-documents"]["selector"]})
    assert container("pinledger-reader")["readinessProbe"]["httpGet"]["path"] == "/readyz?for=serves_documents"
    assert sorted(documents) == ["pinledger", "pinledger-reader"]
    # Both names in one certificate.
    assert set(services) - {"pinledger-nodes", "pinledger-reader-nodes", "pinledger-edge-nodes"} <= set(
        re.findall(r"`([a-z-]+)`", section("Kubernetes").split("The certificate has the names")[1])
    )


def test_the_loss_of_a_machine_or_of_a_zone_leaves_a_pod_of_each_kind():
    budgets = {one["metadata"]["name"]: one["spec"] for one in manifests.of_kind("PodDisruptionBudget")}
    for name in [name for name in WORKLOADS if WORKLOADS[name]["kind"] == "StatefulSet"]:
        own = {"app.kubernetes.io/name": name}
        assert WORKLOADS[name]["spec"]["replicas"] > budgets[name]["maxUnavailable"] == 1
        assert budgets[name]["selector"] == {"matchLabels": own} and budgets[name]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        spread = {one["topologyKey"]: one for one in pod(name)["topologySpreadConstraints"]}
        assert all(one["maxSkew"] == 1 and one["labelSelector"] == {"matchLabels": own} for one in spread.values())
        assert spread["kubernetes.io/hostname"]["whenUnsatisfiable"] == "DoNotSchedule"
        assert spread["topology.kubernetes.io/zone"]["whenUnsatisfiable"] == "ScheduleAnyway"


def test_prometheus_scrapes_every_node_as_the_job_that_the_alerts_ask_for():
    [job] = {job for rule in ALERTS for job in re.findall(r'job="(\w+)"', rule["expr"])}
    scraped = []
    for monitor in manifests.of_kind("PodMonitor"):
        [endpoint] = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint.keys() == {"port", "scheme", "tlsConfig", "relabelings"}
        assert {"action": "replace", "targetLabel": "job", "replacement": job} in endpoint["relabelings"]
        assert endpoint["tlsConfig"]["ca"] == {"secret": {"name": "pinledger-tls", "key": "ca.crt"}}
        for name in selected(monitor["spec"]["selector"]):
            scraped.append(name)
            assert endpoint["port"] in manifests.ours(name).ports
            assert endpoint["scheme"] == container(name)["readinessProbe"]["httpGet"]["scheme"].lower()
            assert ("secret", "pinledger-tls") in needs(name)
        assert f"`{endpoint['tlsConfig']['serverName']}`" in section("Kubernetes").split("The certificate has the names")[1]
    assert sorted(scraped) == sorted(name for name in WORKLOADS if WORKLOADS[name]["kind"] == "StatefulSet")


def test_the_alerts_in_the_cluster_are_those_of_prometheus():
    kept = prometheus_rule.OBJECT.read_text()
    assert kept == prometheus_rule.text(), "run `python3 Tests/Support/python/prometheus_rule.py`"
    [rule] = manifests.of_kind("PrometheusRule")
    assert [one for group in rule["spec"]["groups"] for one in group["rules"]] == RULES


def in_namespace(**worn: str) -> Place:
    return Place({}, {f"pinledger.example/{name}": value for name, value in worn.items()})


SERVER, READER, EDGE, MIGRATION, CHECK = (ours(f"pinledger{name}") for name in ("", "-reader", "-edge", "-migrate", "-fsck"))
OPERATORS, MONITORING, SERVICES = (in_namespace(**{name: "true"}) for name in ("operators", "monitoring", "services"))
STRANGER = Place({}, {"kubernetes.io/metadata.name": "other"})
DNS = Place({"k8s-app": "kube-dns"}, {"kubernetes.io/metadata.name": "kube-system"})
PUBLIC, PUBLIC6, PRIVATE, OTHER, LOCAL6, LOOPBACK6, METADATA, CACHE = (
    Place(address=text)
    for text in ("198.51.100.7", "2001:db8::7", "10.20.1.2", "10.99.0.1", "fd00::1", "::1", "169.254.169.254", "169.254.20.10")
)
NODES, OTHERS = [SERVER, READER, EDGE], [STRANGER, PUBLIC, PUBLIC6, PRIVATE]
# Sources, targets, ports, and whether the manifests let them through: the connections of the page, and what is beside them.
CONNECTIONS = [
    ([*OTHERS, OPERATORS, MONITORING], NODES, ["clients"], True),
    ([EDGE], [SERVER, ours("pinledger-edge")], ["clients"], True),
    ([EDGE, SERVER], [READER], ["clients"], False),
    ([*OTHERS, OPERATORS], [CHECK, MIGRATION], [8440], False),
    ([OPERATORS], [SERVER], ["operators"], True),
    ([*OTHERS, MONITORING, SERVICES, READER, EDGE], [SERVER], ["operators"], False),
    ([MONITORING], NODES, ["metrics"], True),
    ([*OTHERS, OPERATORS, SERVICES], NODES, ["metrics"], False),
    ([*NODES, MIGRATION, CHECK], [DNS, CACHE], [53], True),
    ([*NODES, MIGRATION, CHECK], [DNS, CACHE], [80, 10250], False),
    ([EDGE, MIGRATION, CHECK], [STRANGER, PUBLIC], [53], False),
    ([SERVER, READER, MIGRATION, CHECK], [*OTHERS, SERVICES], [5432], True),
    ([EDGE], [*OTHERS, SERVICES], [5432], False),
    ([SERVER, READER], [PUBLIC, PUBLIC6, SERVICES], [443, 4318], True),
    ([SERVER, READER], [PRIVATE, OTHER, LOCAL6, LOOPBACK6, METADATA, STRANGER], [80, 443], False),
    ([MIGRATION, CHECK], [PUBLIC, PUBLIC6, PRIVATE, SERVICES, STRANGER], [443], False),
    ([EDGE], [PRIVATE, PUBLIC, PUBLIC6], [443, 8440, 8450], True),
    ([EDGE], [PRIVATE, PUBLIC, PUBLIC6, METADATA, STRANGER, SERVICES], [80, 8441], False),
]


def wrong_connections(policies: list[dict]) -> list[str]:
    return [
        f"{source.labels or source.address} to {target.labels or target.address}, {port}: {'not ' if allowed else ''}allowed"
        for sources, targets, ports, allowed in CONNECTIONS
        for source, target, port in itertools.product(sources, targets, ports)
        if allows(policies, source, target, port) != allowed
    ]


def test_the_network_policies_allow_the_connections_of_the_page_and_no_others():
    policies = manifests.of_kind("NetworkPolicy")
    assert wrong_connections(policies) == []
    assert allows(policies, SERVER, DNS, 53, "UDP") and not allows(policies, SERVER, DNS, 443, "UDP")
    assert len(rows(section("Networks"))) == 8


@pytest.mark.parametrize("name", [one["metadata"]["name"] for one in manifests.of_kind("NetworkPolicy")])
def test_no_network_policy_could_be_left_out(name):
    assert wrong_connections([one for one in manifests.of_kind("NetworkPolicy") if one["metadata"]["name"] != name])


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")
def test_the_example_opens_the_same_private_networks_in_the_policy_and_in_the_program():
    made = rendered("example")
    [server] = [one for one in made if one["kind"] == "StatefulSet" and one["metadata"]["name"] == "pinledger"]
    [inner] = server["spec"]["template"]["spec"]["containers"]
    [ranges] = [one["value"].split(",") for one in inner["env"] if one["name"] == "PINLEDGER_ALLOW_PRIVATE_RANGE"]
    policies = [one for one in made if one["kind"] == "NetworkPolicy"]
    [own] = [one["spec"] for one in policies if one["metadata"]["name"] == "private-services"]
    assert [peer["ipBlock"]["cidr"] for peer in own["egress"][0]["to"]] == ranges
    assert (
        allows(policies, SERVER, PRIVATE, 443)
        and not allows(policies, SERVER, OTHER, 443)
        and not allows(policies, READER, PRIVATE, 443)
    )
    base = {one["name"] for one in container("pinledger")["env"]}
    assert base < {one["name"] for one in inner["env"]} and inner["args"] == container("pinledger")["args"]


def test_the_page_makes_what_a_directory_needs_before_it_is_applied():
    made: set[tuple[str, str]] = set()
    applied = []
    for line in shell_lines("From nothing to a served document"):
        for kind, name in re.findall(r"kubectl create (secret generic|configmap) (\S+)", line):
            made.add(("secret" if kind.startswith("secret") else "configMap", name))
        keys = re.findall(r"--from-(?:file|literal)=(?:\S*/)?([\w.]+)", line)
        for name in re.findall(r"kubectl create (?:secret generic|configmap) (\S+)", line):
            wanted = {
                key for each in WORKLOADS for (_, outside), keys_of in needs(each).items() if outside == name for key in keys_of
            }
            assert wanted <= set(keys), f"{name} lacks {wanted - set(keys)}"
        for directory, label in re.findall(r"kubectl apply --kustomize deploy/kubernetes/(\w+)(?: --selector \S+=(\S+))?", line):
            applied.append(directory)
            names = (
                [label]
                if label
                else [
                    one["metadata"]["name"]
                    for one in manifests.objects(directory)
                    if one["kind"] in ("StatefulSet", "Job", "CronJob")
                ]
            )
            lacking = {
                f"{name}: {outside}" for name in names for kind, outside in needs(name)
                if is_needed(name, kind, outside) and (kind, outside) not in made
            }  # fmt: skip
            assert lacking == set(), f"before {line}"
    assert applied == ["servers", "servers", "edge"]
    # Nodes remember the ledger from its beginning only if they have started before there is anything in it.
    order = [
        line for line in shell_lines("From nothing to a served document") if "rollout status" in line or "token bootstrap" in line
    ]
    assert [line.split()[-1].split("/")[-1] for line in order[:2]] == [
        "pinledger",
        "pinledger-reader",
    ] and "token bootstrap" in order[2]


def shell_lines(heading: str) -> list[str]:
    blocks = re.findall(
        r"^ *```sh\n(.*?)^ *```$", handbook.text("containers").split(f"# {heading}\n")[1].split("\n### ")[0], re.M | re.S
    )
    return [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def test_the_commands_on_the_page_name_what_the_manifests_have():
    known = {f"{one['kind'].lower()}/{one['metadata']['name']}" for one in OBJECTS}
    known |= {f"persistentvolumeclaim/state-{name}-{number}" for name in ("pinledger", "pinledger-reader") for number in (0, 1)}
    known |= {f"pod/{name}-{number}" for name in ("pinledger", "pinledger-reader") for number in (0, 1)} | {
        "job/pinledger-fsck-now"
    }
    page = handbook.text("containers").split("## Kubernetes")[1]
    commands = [line for line in page.replace("\\\n", " ").splitlines() if "kubectl " in line]
    assert len(commands) > 25
    named = {
        name
        for line in commands
        for name in re.findall(r"\b((?:statefulset|job|cronjob|service|pod|persistentvolumeclaim)/[\w-]+)", line)
    }
    assert named <= known, named - known
    directories = set(re.findall(r"deploy/kubernetes/(\w+)\b(?!-)", page))
    assert directories == {"common", *DIRECTORIES} and all((KUBERNETES / one).is_dir() for one in directories)
    assert set(re.findall(r"deploy/[\w./-]+\.\w+", page)) == {
        "deploy/kubernetes/common/namespace.yaml", "deploy/kubernetes/common/kustomization.yaml", "deploy/kubernetes/edge/settings.yaml",
        "deploy/kubernetes/servers/settings/server.yaml", "deploy/grafana/pinledger.json",
    }  # fmt: skip
    # The key as the servers have it: without their state directory, which the running node uses.
    assert (
        f"token bootstrap --kek-file {yaml.safe_load((KUBERNETES / 'servers/settings/server.yaml').read_text())['kek_file']} --code"
        in page
    )


def test_the_pages_give_the_next_key_where_the_nodes_have_the_present_one():
    settings = yaml.safe_load((KUBERNETES / "servers/settings/server.yaml").read_text())
    page = handbook.text("containers")
    assert f"next_kek_file: {settings['kek_file'].replace('/kek/kek', '/kek/next-kek')}" in page
    rewraps = [line for line in page.splitlines() if "key rewrap" in line and "kubectl exec" in line]
    assert len(rewraps) == 3 and all(f"--kek-file {settings['kek_file']} " in line for line in rewraps)
    # Units and their helper take credentials by the settings' names.
    unit, helper = (DEPLOY / "package/systemd/pinledger.service").read_text(), (DEPLOY / "package/pinledger-local").read_text()
    page = handbook.text("packages")
    present, following = "LoadCredential=kek_file:/etc/pinledger/kek", "LoadCredential=next_kek_file:/etc/pinledger/next-kek"
    assert present in unit and present in helper and following in helper and f"'[Service]' '{following}'" in page


def test_the_nightly_check_has_no_key_and_ends_with_what_the_command_says():
    job = WORKLOADS["pinledger-fsck"]["spec"]
    assert ("secret", "pinledger-kek") not in needs("pinledger-fsck") and ("secret", "pinledger-database-owner") not in needs(
        "pinledger-fsck"
    )
    assert needs("pinledger-fsck")["secret", "pinledger-database"] == {"reader_conninfo", "ca.crt"}
    [rule] = job["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"] == {"containerName": container("pinledger-fsck")["name"], "operator": "In", "values": [10]}
    assert pod("pinledger-fsck")["restartPolicy"] == "Never" and job["concurrencyPolicy"] == "Forbid"
    # A check of a long ledger ends before the next one begins, and one that hangs does too.
    [check] = re.findall(r"^\| `fsck` \| .* \| (\d+ minutes), \d+ GB \|$", handbook.text("performance"), re.M)
    assert 4 * seconds(check) < job["jobTemplate"]["spec"]["activeDeadlineSeconds"] < 86400
    assert "| 10 |" in handbook.text("problems")


def test_a_migration_that_fails_keeps_the_logs_that_the_page_reads():
    # Kubernetes deletes the pod of a job that failed, where it would start again in the same pod.
    assert pod("pinledger-migrate")["restartPolicy"] == "Never"
    selector = ",".join("=".join(pair) for pair in manifests.labels("pinledger-migrate").items())
    assert f"kubectl logs --selector {selector} --prefix" in handbook.text("containers")


def test_the_health_check_of_the_image_is_a_file_of_the_package():
    text = (DEPLOY / "image/Containerfile").read_text().replace("\\\n", " ")
    [check] = re.findall(r"^HEALTHCHECK.* CMD (\[.*\])$", text, re.M)
    [path] = json.loads(check)
    assert f'place 755 "$root/deploy/image/healthy" {path[1:]}\n' in (DEPLOY / "package/build-deb").read_text()
    assert (DEPLOY / "image/healthy").stat().st_mode & 0o777 == 0o755
    # podman leaves health checks out of images of its own format.
    assert "podman build --format docker " in text and "podman build --format docker " in handbook.text("containers")
    # The base does not have the program with which the script speaks TLS.
    assert "openssl" in (DEPLOY / "image/healthy").read_text() and " openssl " in text


def test_every_alert_has_a_section_in_the_handbook():
    anchors = handbook.anchors(handbook.text("alerts"))
    assert len(ALERTS) >= 20
    for rule in ALERTS:
        assert rule["annotations"]["handbook"] == f"alerts#{rule['alert'].lower()}" and rule["alert"].lower() in anchors
        assert rule["labels"]["severity"] in ("critical", "warning")
    assert {anchor for anchor in anchors if anchor.startswith("pinledger")} == {rule["alert"].lower() for rule in ALERTS}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze: deploy/install-packages --tests")
def test_every_unit_is_shut_in():
    units = sorted((DEPLOY / "package/systemd").glob("*.service"))
    assert len(units) > 3
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", *units], capture_output=True, text=True, timeout=300
    )  # fmt: skip
    exposures = {unit: float(level) for unit, level in re.findall(r"Overall exposure level for (\S+): ([0-9.]+)", done.stdout)}
    assert exposures.keys() == {unit.name for unit in units}, done.stdout[-3000:] + done.stderr
    assert {unit: level for unit, level in exposures.items() if level > 2.0} == {}


def test_a_unit_that_serves_is_waited_for_watched_and_started_again():
    units = [unit for unit in (DEPLOY / "package/systemd").glob("*.service") if "\nRestart=always\n" in unit.read_text()]
    assert len(units) > 2
    for unit in units:
        for setting in ("Type=notify", "TimeoutStartSec=infinity", "WatchdogSec=30", "RestartSec=1", "StartLimitIntervalSec=0"):
            assert f"\n{setting}\n" in unit.read_text(), (unit.name, setting)


# Which samples a family has, and the labels that one of them has more.
SAMPLES = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}
# Labels that every sample has of the job that scrapes it.
OF_A_JOB = {"job", "instance"}


def strangers(expressions: list[tuple[str, str]]) -> list[str]:
    """The samples and labels of queries that the handbook's page of metrics does not have."""
    samples = {"up": OF_A_JOB}
    for family, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", handbook.text("metrics"), re.M):
        for suffix in SAMPLES.get(kind, [""]):
            known = OF_A_JOB | set(re.findall(r"`(\w+)`", labels)) | ({"le"} if suffix == "_bucket" else set())
            samples[family + suffix] = known
    assert len(samples) > 40
    samples |= {rule["record"]: OF_A_JOB for rule in RECORDED}
    found = []
    for title, expression in expressions:
        for name, matchers in re.findall(r"\b((?:job:)?pinledger_\w+(?::\w+)?|up)\b(?:\{([^}]*)\})?", expression):
            labels = set(re.findall(r"(\w+)\s*[=!]", matchers))
            if name not in samples:
                found.append(f"{title}: {name}")
            elif labels - samples[name]:
                found.append(f"{title}: {name} has no {sorted(labels - samples[name])}")
    return found


def test_every_query_is_about_metrics_and_labels_of_the_handbook():
    expressions = QUERIES + [(rule.get("alert", rule.get("record")), rule["expr"]) for rule in ALERTS + RECORDED]
    assert len(expressions) > 50
    assert strangers(expressions) == []
    wrong = [("a", 'rate(pinledger_none_total[1m])'), ("b", 'pinledger_node_state{colour="red"}'), ("c", 'up{job="x"} == 0')]
    assert strangers(wrong) == ["a: pinledger_none_total", "b: pinledger_node_state has no ['colour']"]


def test_the_schedule_runs_commands_of_the_handbook():
    scheduled = [line.split(None, 5)[5] for line in (DEPLOY / "backup/crontab").read_text().splitlines() if line[:1].isdigit()]
    shown = [line for name in ("Set up", "Back up", "Verify") for _, block in handbook.blocks("backup", name) for line in commands(block)]
    # In a cluster one machine of three runs them.
    once = "/etc/pgbackrest/on-primary "
    assert len(scheduled) == 5 and [line for line in scheduled if not line.startswith(once) or line.removeprefix(once) not in shown] == []


def test_the_vectors_fit_their_schema():
    schema = json.loads((KIT / "vectors.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    files = sorted((KIT / "vectors").glob("*.json"))
    assert len(files) == 5
    for file in files:
        vectors = json.loads(file.read_text())
        assert [f"{file.name}: {error.message[:200]}" for error in validator.iter_errors(vectors)] == []
        assert len({case["name"] for case in vectors["cases"]}) == len(vectors["cases"]) > 20, file.name
        broken = {**vectors, "cases": [{**vectors["cases"][0], "surprise": 1}]}
        assert not validator.is_valid(broken), file.name


def test_the_vectors_come_to_every_reason():
    said = {}
    for name in ("verify", "decide", "root"):
        for case in json.loads((KIT / f"vectors/{name}.json").read_text())["cases"]:
            for answer in case["expected"].get("decisions", [case["expected"]]):
                said.setdefault(name, set()).add(answer.get("reason"))
    page = handbook.text("client-integration")
    rules = {
        "too_large", "malformed_token", "unsupported_header", "unknown_key", "wrong_signature", "malformed_payload", "other_app",
        "other_issuer", "older_version", "contradiction", "issued_earlier", "issued_ahead", "root_expired",
    }  # fmt: skip
    roots = {"too_large", "malformed_root", "other_version", "missing_signatures"}
    assert all(f"`{rule}`" in page for rule in rules | roots)
    # A document of 2 MiB has no place in a file of vectors.
    assert said["verify"] == (rules - {"too_large"}) | {None}
    assert said["root"] == (roots - {"too_large"}) | {None}
    assert len(said["decide"]) == 21, said["decide"]


def test_the_guide_names_every_reason_and_rule():
    source = (ROOT / "Sources/PinWire/Evaluation/DeviceDecision.swift").read_text()
    reasons = re.search(r"enum Reason.*?\n    }\n", source, re.DOTALL)[0]
    codes = re.findall(r'case \w+ = "(\w+)"', reasons)
    assert len(codes) > 35
    assert [code for code in codes if f"`{code}`" not in handbook.text("client-integration")] == []


def test_the_schema_in_the_repository_is_that_of_the_contract():
    kept = ROOT / "openapi/specs.schema.json"
    assert json.loads(kept.read_text()) == specs_schema.schema(), "run `python3 Tests/Support/python/specs_schema.py`"


def test_the_privacy_manifest_names_what_reports_hold_and_no_tracking():
    manifest = plistlib.loads((ROOT / "Sources/PinledgerClient/PrivacyInfo.xcprivacy").read_bytes())
    assert manifest["NSPrivacyTracking"] is False and manifest["NSPrivacyTrackingDomains"] == manifest["NSPrivacyAccessedAPITypes"] == []
    kinds = {one["NSPrivacyCollectedDataType"] for one in manifest["NSPrivacyCollectedDataTypes"]}
    assert kinds == {"NSPrivacyCollectedDataTypeDeviceID", "NSPrivacyCollectedDataTypeOtherDiagnosticData"}
    assert all(one["NSPrivacyCollectedDataTypeTracking"] is False for one in manifest["NSPrivacyCollectedDataTypes"])
