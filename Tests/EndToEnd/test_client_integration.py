"""The guide for client authors: its code is what the server computes, its rules decide as the server does, its schemas
fit what is signed."""

import base64
import json
import time

import pytest
from client_guide import PAGE, ROOT
from contract import CONTRACT
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from documents import payload_of
from jsonschema import Draft202012Validator
from pinledger import canonical, from_now, host_body, pin_of

VECTORS = ROOT / "Tests/PinWireTests/Vectors"
APP = "com.example.guide"


def validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/components/schemas/{schema}", "components": CONTRACT["components"]})


def test_the_guide_is_served_as_it_is(api):
    served = api.request("GET", "/client-integration.md", token=None)
    assert served.status == 200 and served["Content-Type"] == "text/markdown; charset=utf-8"
    assert served.body.decode() == PAGE


def test_the_guides_bucket_and_version_order_are_the_vectors(guide):
    lots = json.loads((VECTORS / "pinroll_v1_vectors.json").read_text())
    assert len(lots) > 50
    for lot in lots:
        assert guide["bucket"](lot["value"], lot["seed"], lot["salt"]) == lot["bucket"]
    pairs = json.loads((VECTORS / "appver_v1_vectors.json").read_text())
    assert len(pairs) > 30
    for pair in pairs:
        a, b = guide["version_key"](pair["a"]), guide["version_key"](pair["b"])
        order = None if a is None or b is None else (a > b) - (a < b)
        assert order == pair["cmp"], pair


@pytest.mark.parametrize("name", ["document-empty", "document-full", "document-evaluated"])
def test_the_guides_digest_and_the_contracts_schema_fit_the_golden_documents(guide, name):
    payload = json.loads((ROOT / f"Tests/PinWireTests/Golden/{name}.json").read_text())
    assert guide["content_sha256"](payload) == payload["content_sha256"]
    schema, other = ("EvaluatedPayload", "DocumentPayload") if "evaluated" in name else ("DocumentPayload", "EvaluatedPayload")
    validator(schema).validate(payload)
    assert not validator(other).is_valid(payload)
    assert not validator(schema).is_valid(payload | {"surprise": 1})


# The guide's rules, written by its words alone.


def sentinel(value: str | None) -> bool:
    return not value or not value.strip() or "\0" in value or value.lower() in (
        "unknown", "anonymous", "00000000-0000-0000-0000-000000000000")  # fmt: skip


def gate(guide, gate: dict, device: dict) -> str:
    if gate.keys() & {"minimum", "maximum", "excluded"}:
        if "app_version" not in device:
            return "version_unknown"
        version = guide["version_key"](device["app_version"])
        if version is None:
            return "version_invalid"
        if "minimum" in gate and version < guide["version_key"](gate["minimum"]):
            return "version_below_minimum"
        if "maximum" in gate and version > guide["version_key"](gate["maximum"]):
            return "version_above_maximum"
        if version in [guide["version_key"](one) for one in gate.get("excluded", [])]:
            return "version_excluded"
    if "minimum_build" in gate:
        if "build" not in device:
            return "build_unknown"
        if device["build"] < gate["minimum_build"]:
            return "build_below_minimum"
    return "version_gate_in"


def rollout(guide, rollout: dict | None, device: dict) -> tuple[bool, str]:
    if rollout is None:
        return True, "rollout_none"
    salt = rollout.get("salt", "")
    ids = [(kind, device[kind]) for kind in rollout["seed"] if not sentinel(device.get(kind))]
    hashed = {guide["hashed_id"](value, salt) for _, value in ids}
    if hashed & set(rollout.get("exclusions", [])):
        return False, "rollout_excluded"
    if hashed & set(rollout.get("whitelist", [])):
        return True, "rollout_whitelisted"
    if rollout["method"] == "whitelist":
        return False, "rollout_not_whitelisted"
    if rollout["method"] == "geography":
        country = device.get("country", "XX").upper()
        if country in ("XX", "ZZ"):
            return False, "country_unknown"
        if country not in rollout["countries"]:
            return False, "country_outside"
    if not ids:
        return False, "seed_missing"
    kind, value = ids[0]
    is_in = guide["bucket"](value, kind, salt) < rollout["basis_points"]
    return is_in, "rollout_in" if is_in else "rollout_out"


def find(hosts: list[dict], name: str) -> dict | None:
    patterns = {host["host"]: host for host in hosts}
    if name in patterns:
        return patterns[name]
    labels = name.split(".")
    for step in range(1, len(labels)):
        parent = ".".join(labels[step:])
        if step == 1 and f"*.{parent}" in patterns:
            return patterns[f"*.{parent}"]
        for pattern in (f"*.{parent}", parent):
            if patterns.get(pattern, {}).get("include_subdomains"):
                return patterns[pattern]
    return None


def decide(guide, payload: dict, name: str, device: dict, now: int) -> tuple[str, str]:
    """Outcome and reason by the guide's rules 1 to 7."""
    host = find(payload["hosts"], name)
    if host is None:
        return "off", "host_unknown"
    for switch in payload["kill_switches"]:
        if not switch["engaged_at"] <= max(now, payload["iat"]) or now >= switch["expires_at"]:
            continue
        if switch["scope"] == "host" and switch["host"] != host["host"]:
            continue
        if switch["scope"] == "app_versions" and gate(guide, switch["versions"], device) != "version_gate_in":
            continue
        return "off", "kill_switch_engaged"
    policy, reason = host["baseline"], "candidate_none"
    if "candidate" in host:
        reason = gate(guide, payload.get("version_gate", {}), device)
        if reason == "version_gate_in":
            app_in, reason = rollout(guide, payload.get("rollout"), device)
            if app_in:
                host_in, own = rollout(guide, host.get("rollout"), device)
                reason = reason if host_in and own == "rollout_none" else own
                if host_in:
                    policy = host["candidate"]
    return ("builtin" if policy["source"] == "builtin" else policy["mode"]), reason


def test_a_client_written_by_the_guide_decides_as_the_server_does(guide, server):
    api = server.api
    api.must("POST", "/v1/apps", {"app": APP})
    for host, more in [
        ("api.example.com", {}), ("*.example.com", {"include_subdomains": True}), ("example.com", {"include_subdomains": True}),
        ("cdn.example.com", {}), ("off.example.com", {"mode": "off"}),
    ]:  # fmt: skip
        body = host_body(host, mode=more.pop("mode", "enforce"))
        api.must("POST", f"/v1/apps/{APP}/hosts", body | {"reason": "a test"} | more)
    candidate = {"mode": "report_only", "pins": [{"pin": pin_of("next"), "role": "backup"}], "reason": "a test"}
    listed = guide["hashed_id"]("6F9619FF-8B86-D011-B42D-00C04FC964FF", "spring")
    for host, plan in [
        ("api.example.com", {"basis_points": 5000, "seed": ["install_id", "device_id"], "salt": "spring",
                             "whitelist": [listed]}),
        ("cdn.example.com", {"basis_points": 10000, "method": "geography", "countries": ["DE"], "seed": ["device_id"]}),
    ]:  # fmt: skip
        api.must("POST", f"/v1/apps/{APP}/hosts/{host}/candidate", candidate | {"rollout": plan})
    api.must("PATCH", f"/v1/apps/{APP}", {"version_gate": {"minimum": "2.0", "excluded": ["2.1"]}})
    api.must("PUT", f"/v1/apps/{APP}/hosts/off.example.com/kill-switch", {
        "reason": "a test", "expires_at": from_now(hours=1)})  # fmt: skip

    document = api.request("GET", f"/client/v1/apps/{APP}/document", token=None)
    payload = payload_of(document.body)
    validator("DocumentPayload").validate(payload)
    assert guide["content_sha256"](payload) == payload["content_sha256"]
    seen = set()
    names = ["api.example.com", "cdn.example.com", "a.example.com", "a.b.example.com", "example.com", "off.example.com", "other.org"]
    devices = [{"device_id": f"device {number}", "app_version": "2.4", "country": "DE" if number % 2 else "FR"}
               for number in range(8)]  # fmt: skip
    devices += [{}, {"app_version": "2.1", "device_id": "a"}, {"app_version": "1.9", "device_id": "a"},
                {"app_version": "2.0", "device_id": "Anonymous"}, {"app_version": "v2", "device_id": "a"},
                {"app_version": "2.2", "device_id": "6f9619ff-8b86-d011-b42d-00c04fc964ff", "country": "ZZ"}]  # fmt: skip
    for device in devices:
        told = api.must("POST", f"/v1/apps/{APP}/explain", {"device": device, "hosts": names}).json
        decisions = {one["name"]: one for one in told["hosts"]}
        for name in names:
            mine = decide(guide, payload, name, device, payload["iat"])
            assert mine == (decisions[name]["outcome"], decisions[name]["reason"]), (device, name)
            seen.add(mine[1])
    assert seen >= {"rollout_in", "rollout_out", "rollout_whitelisted", "country_outside", "version_excluded",
                    "version_below_minimum", "version_unknown", "version_invalid", "seed_missing", "kill_switch_engaged",
                    "host_unknown", "candidate_none"}  # fmt: skip

    evaluated = api.request(
        "GET", f"/client/v1/apps/{APP}/evaluated?device_id=device%203&app_version=2.4&country=DE", token=None)
    decided = payload_of(evaluated.body)
    validator("EvaluatedPayload").validate(decided)
    assert guide["content_sha256"](decided) == decided["content_sha256"]
    assert decided["evaluated_from"] == payload["content_sha256"]


# The guide's example in Python, against a real server.


def test_the_guides_example_accepts_what_a_server_signs_and_refuses_everything_else(guide, server):
    api, app, now = server.api, "com.example.guide.example", int(time.time())
    keys = api.request("GET", "/client/v1/jwks.json", token=None).json

    def fetch() -> bytes:
        return api.request("GET", f"/client/v1/apps/{app}/document", token=None).body

    def accept(token: bytes, held: dict | None = None, now: int = now, app: str = app, issuer: str = "pinledger") -> dict:
        return guide["accept"](token, keys, app, issuer, held, now)

    def refused(rule: int, *arguments, **more) -> bool:
        with pytest.raises(guide["Refused"], match=f"^rule {rule}: "):
            accept(*arguments, **more)
        return True

    api.must("POST", "/v1/apps", {"app": app})
    api.must("POST", f"/v1/apps/{app}/hosts", host_body("api.example.com") | {"reason": "a test"})
    first = fetch()
    held = accept(first)
    assert held["aud"] == app and accept(first, held) == held
    api.must("PATCH", f"/v1/apps/{app}", {"version_gate": {"minimum": "2.0"}})
    second = fetch()
    newer = accept(second, held)
    assert newer["version"] > held["version"]

    assert refused(7, first, newer)
    assert refused(8, second, newer | {"content_sha256": "0" * 64})
    assert refused(8, second, newer | {"iat": newer["iat"] + 1})
    assert accept(second, held | {"iat": newer["iat"] + 1}) == newer
    assert refused(9, second, now=newer["iat"] - 301)
    assert accept(second, now=newer["iat"] - 300) == accept(second, now=newer["exp"] + 1) == newer
    assert refused(6, second, app="com.example.other") and refused(6, second, issuer="another issuer")
    assert refused(1, second + b"A" * 2_097_152)
    assert refused(2, second.replace(b".", b"", 1)) and refused(2, second + b"=")
    head, body, signature = second.split(b".")
    assert refused(4, b".".join([head, first.split(b".")[1], signature]))
    with pytest.raises(guide["Refused"], match="^rule 4: unknown key"):
        guide["accept"](second, {"keys": []}, app, "pinledger", None, now)
    evaluated = api.request("GET", f"/client/v1/apps/{app}/evaluated?device_id=a&app_version=2.1", token=None).body
    assert refused(3, evaluated)


def test_the_guides_example_refuses_what_no_server_signs(guide):
    """Rules that no server breaks, with a key of the test's own."""
    key = Ed25519PrivateKey.generate()
    x = base64.urlsafe_b64encode(key.public_key().public_bytes_raw()).rstrip(b"=").decode()
    golden = json.loads((ROOT / "Tests/PinWireTests/Golden/document-full.json").read_text())

    def encoded(data: bytes) -> bytes:
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    def accept(payload: bytes) -> dict:
        head = encoded(b'{"alg":"EdDSA","kid":"a","typ":"pinset+jws"}')
        signature = encoded(key.sign(head + b"." + encoded(payload)))
        token = b".".join([head, encoded(payload), signature])
        keys = {"keys": [{"kid": "a", "x": x}]}
        return guide["accept"](token, keys, golden["aud"], golden["iss"], None, golden["iat"])

    assert accept(canonical(golden)) == golden
    for payload in [
        json.dumps(golden).encode(),
        canonical(golden).replace(b'"version":', b'"version":1,"version":'),
        canonical(golden | {"surprise": 1}),
        canonical({name: value for name, value in golden.items() if name != "kill_switches"}),
        canonical(golden | {"bucketing": "pinroll/v2"}),
        canonical(golden | {"kill_switches": []}),
        canonical(golden | {"content_sha256": "0" * 64}),
    ]:
        with pytest.raises(guide["Refused"], match="^rule 5: "):
            accept(payload)
