"""deploy/kubernetes and its neighbours, as tests read them."""

import yaml
from handbook import ROOT

DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
MANIFESTS = list(yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"])
OBJECTS = [one for name in MANIFESTS for one in yaml.safe_load_all((KUBERNETES / name).read_text())]
WORKLOADS = {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] in ("StatefulSet", "Job")}


def pod(name: str) -> dict:
    return WORKLOADS[name]["spec"]["template"]["spec"]


def container(name: str) -> dict:
    [one] = pod(name)["containers"]
    return one
