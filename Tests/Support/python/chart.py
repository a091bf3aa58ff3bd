"""The Helm chart of deploy/kubernetes, as tests pack and render it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml
from manifests import KUBERNETES

#: The wheel has it for Linux on x86-64 alone.
HELM = Path(sys.executable).parent / "helm"


def pack(directory: Path, source: Path = KUBERNETES, **variables: str) -> Path:
    """Packs the chart of a copy of deploy/kubernetes, or of that itself."""
    command = [source / "package-chart", directory]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def helm(command: str, package: Path, values: dict, *options: str) -> subprocess.CompletedProcess:
    """Runs a command of helm that takes a chart; values are JSON, which is YAML."""
    words = [HELM, command, *(["pinledger"] if command == "template" else []), package, "--namespace", "pinledger", "--values", "-"]
    return subprocess.run([*words, *options], input=json.dumps(values), capture_output=True, text=True, timeout=300)


def render(package: Path, values: dict | None = None, *options: str) -> list[dict]:
    done = helm("template", package, values or {}, *options)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if one]
