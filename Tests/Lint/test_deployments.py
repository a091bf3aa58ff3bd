"""Files that run the program elsewhere: containers, alerts, the schedule of backups, the clients' own files."""

import json
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import handbook
import pytest
import specs_schema
import yaml
from handbook import commands
from jsonschema import Draft202012Validator
from manifests import DEPLOY, KUBERNETES, MANIFESTS, OBJECTS, WORKLOADS, container, pod

ROOT = handbook.ROOT
TOOLS = Path(sys.executable).parent
KIT = ROOT / "Tests/Conformance"
ALERTS = [
    rule for group in yaml.safe_load((DEPLOY / "prometheus/pinledger.rules.yml").read_text())["groups"] for rule in group["rules"]
]  # fmt: skip
PANELS = [panel for panel in json.loads((DEPLOY / "grafana/pinledger.json").read_text())["panels"] if panel["type"] != "row"]
QUERIES = [(f"{panel['title']} {target['refId']}", target["expr"]) for panel in PANELS for target in panel["targets"]]


def run(*command) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


def selected(labels: dict) -> list[str]:
    return [name for name, one in WORKLOADS.items() if labels.items() <= one["spec"]["template"]["metadata"]["labels"].items()]


def test_every_manifest_is_valid_kubernetes():
    run(TOOLS / "kubernetes-validate", "--strict", *(KUBERNETES / manifest for manifest in MANIFESTS))


def test_a_manifest_that_is_no_valid_kubernetes_is_refused(tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((KUBERNETES / "server.yaml").read_text().replace("replicas:", "replicaz:", 1))
    done = subprocess.run([TOOLS / "kubernetes-validate", "--strict", KUBERNETES / "edge.yaml", wrong], capture_output=True, timeout=300)
    assert done.returncode != 0


def test_the_compose_file_and_the_image_are_well_made():
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    run(TOOLS / "hadolint", DEPLOY / "image/Containerfile")


def test_every_pod_is_shut_in():
    for name in WORKLOADS:
        outer, inner = pod(name)["securityContext"], container(name)["securityContext"]
        assert pod(name)["automountServiceAccountToken"] is False, name
        assert outer["runAsNonRoot"] and outer["runAsUser"] > 0 and outer["seccompProfile"] == {"type": "RuntimeDefault"}, name
        shut = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert inner == shut and container(name)["resources"]["limits"]["memory"], name


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


def test_a_unit_that_is_started_again_waits_for_no_symbols():
    # Swift's runtime looks for them in a process that has crashed before it ends.
    units = [unit for unit in (DEPLOY / "package/systemd").glob("*.service") if "\nRestart=always\n" in unit.read_text()]
    assert len(units) > 2
    assert [unit.name for unit in units if "\nEnvironment=SWIFT_BACKTRACE=enable=no\n" not in unit.read_text()] == []


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
    found = []
    for title, expression in expressions:
        for name, matchers in re.findall(r"\b(pinledger_\w+|up)\b(?:\{([^}]*)\})?", expression):
            labels = set(re.findall(r"(\w+)\s*[=!]", matchers))
            if name not in samples:
                found.append(f"{title}: {name}")
            elif labels - samples[name]:
                found.append(f"{title}: {name} has no {sorted(labels - samples[name])}")
    return found


def test_every_query_is_about_metrics_and_labels_of_the_handbook():
    expressions = QUERIES + [(rule["alert"], rule["expr"]) for rule in ALERTS]
    assert len(expressions) > 50
    assert strangers(expressions) == []
    wrong = [("a", 'rate(pinledger_none_total[1m])'), ("b", 'pinledger_node_state{colour="red"}'), ("c", 'up{job="x"} == 0')]
    assert strangers(wrong) == ["a: pinledger_none_total", "b: pinledger_node_state has no ['colour']"]


def test_the_schedule_runs_commands_of_the_handbook():
    scheduled = [line.split(None, 5)[5] for line in (DEPLOY / "backup/crontab").read_text().splitlines() if line[:1].isdigit()]
    shown = [line for name in ("Set up", "Back up", "Verify") for _, block in handbook.blocks("backup", name) for line in commands(block)]
    assert len(scheduled) == 5 and set(scheduled) <= set(shown)


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
