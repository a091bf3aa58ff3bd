"""deploy/kubernetes and its neighbours, as tests read them."""

import functools
import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from handbook import ROOT

DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
DIRECTORIES = ["servers", "edge", "monitoring"]
#: The kinds that the API of a cluster has by itself; the others come with an operator.
OF_OPERATORS = {"PodMonitor", "PrometheusRule"}


@functools.cache
def kustomization(directory: Path) -> dict:
    return yaml.safe_load((directory / "kustomization.yaml").read_text())


def files(directory: Path) -> list[Path]:
    """The manifests that are applied with a directory, those of its components included."""
    components = [(directory / name).resolve() for name in kustomization(directory).get("components", [])]
    return [file for one in components for file in files(one)] + [
        directory / name for name in kustomization(directory)["resources"]
    ]


def generated(directory: Path) -> dict[str, dict[str, Path]]:
    """The config maps that a directory makes: the file behind each key."""
    return {
        one["name"]: {key: directory / file for key, file in (entry.split("=") for entry in one["files"])}
        for one in kustomization(directory).get("configMapGenerator", [])
    }


def objects(directory: str) -> list[dict]:
    return [one for file in files(KUBERNETES / directory) for one in yaml.safe_load_all(file.read_text())]


MANIFESTS = sorted({file for name in DIRECTORIES for file in files(KUBERNETES / name)})
OBJECTS = [one for file in MANIFESTS for one in yaml.safe_load_all(file.read_text())]
WORKLOADS = {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] in ("StatefulSet", "Job", "CronJob")}
SETTINGS = {
    name: keys for directory in DIRECTORIES for name, keys in generated(KUBERNETES / directory).items()
}  # fmt: skip


def of_kind(kind: str) -> list[dict]:
    return [one for one in OBJECTS if one["kind"] == kind]


def template(name: str) -> dict:
    spec = WORKLOADS[name]["spec"]
    return spec.get("jobTemplate", {"spec": spec})["spec"]["template"]


def pod(name: str) -> dict:
    return template(name)["spec"]


def labels(name: str) -> dict[str, str]:
    return template(name)["metadata"]["labels"]


def container(name: str) -> dict:
    [one] = pod(name)["containers"]
    return one


def settings_file(name: str) -> Path | None:
    """The settings with which a workload's container starts the program."""
    mounted = [Path(word).name for word in container(name).get("args", []) if word.startswith("/etc/pinledger/")]
    maps = [volume["configMap"]["name"] for volume in pod(name).get("volumes", []) if "configMap" in volume]
    found = [SETTINGS[one][mounted[0]] for one in maps if mounted and one in SETTINGS]
    return found[0] if found else None


def fits(selector: dict, worn: dict[str, str]) -> bool:
    """A label selector, as Kubernetes reads it: one without conditions fits everything."""
    for condition in selector.get("matchExpressions", []):
        assert condition["operator"] == "In", condition
        if worn.get(condition["key"]) not in condition["values"]:
            return False
    return selector.get("matchLabels", {}).items() <= worn.items()


@dataclass
class Place:
    """One end of a connection: a pod of the namespace or of another one, or an address outside."""

    labels: dict[str, str] | None = None
    namespace: dict[str, str] = field(default_factory=dict)
    address: str | None = None
    ports: dict[str, int] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.namespace == {"kubernetes.io/metadata.name": "pinledger"}


def ours(name: str) -> Place:
    ports = {port["name"]: port["containerPort"] for port in container(name).get("ports", [])}
    return Place(labels(name), {"kubernetes.io/metadata.name": "pinledger"}, ports=ports)


def meets(peer: dict, place: Place) -> bool:
    """A peer of a policy, as Kubernetes reads it."""
    if block := peer.get("ipBlock"):
        if place.address is None:
            return False
        address = ipaddress.ip_address(place.address)
        inside = [ipaddress.ip_network(each) for each in [block["cidr"], *block.get("except", [])]]
        return address in inside[0] and not any(address in each for each in inside[1:])
    if place.labels is None:
        return False
    if "namespaceSelector" not in peer:
        return place.is_ours and fits(peer["podSelector"], place.labels)
    return fits(peer["namespaceSelector"], place.namespace) and fits(peer.get("podSelector", {}), place.labels)


def opens(rule: dict, peers: str, other: Place, target: Place, port: int | str, protocol: str) -> bool:
    number = target.ports[port] if isinstance(port, str) else port
    for allowed in rule.get("ports", [{"protocol": protocol, "port": number}]):
        wanted = allowed["port"]
        # A name stands for the port of that name of the pod that is reached.
        if (target.ports.get(wanted) if isinstance(wanted, str) else wanted) == number and allowed["protocol"] == protocol:
            return peers not in rule or any(meets(peer, other) for peer in rule[peers])
    return False


def allows(policies: list[dict], source: Place, target: Place, port: int | str, protocol: str = "TCP") -> bool:
    """A connection that the policies of the namespace let through, at both of its ends."""
    for direction, this, other, peers in (("Egress", source, target, "to"), ("Ingress", target, source, "from")):
        if not this.is_ours:
            continue
        own = [
            policy["spec"] for policy in policies
            if direction in policy["spec"]["policyTypes"] and fits(policy["spec"]["podSelector"], this.labels or {})
        ]  # fmt: skip
        rules = [rule for policy in own for rule in policy.get(direction.lower(), [])]
        if own and not any(opens(rule, peers, other, target, port, protocol) for rule in rules):
            return False
    return True
