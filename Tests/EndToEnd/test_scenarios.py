"""The rollout scenarios and kill switches of the old documentation, from import over document to what devices get.

The table under "What imported configurations do" in the handbook (rollouts) says the same.
"""

import base64
import hashlib
import json

import pytest
from names import unique
from pinledger import Server, from_now, pin_of
from tls_server import Key, TLSServer

HOST = "apigee.kreditplus.com"
PINS = {role: pin_of(f"scenario {role}") for role in ("primary", "backup", "emergency")}
DEVICES = 400


def scenario(number: int, pins: dict | None = None) -> dict:
    """As the documentation has it, with pins that are some."""
    given = pins or PINS
    roles = ["primary", "backup", "emergency"] if number == 2 else ["primary", "backup"]
    host = {
        "enabled": True,
        "pins": {role: given[role] for role in roles},
        "rollout_percentage": {1: 100, 2: 100, 3: 50}[number],
    }
    config = {"enabled": True, "rollout_percentage": {1: 25, 2: 100, 3: 100}[number], "hosts": {HOST: host}}
    config["fallback"] = {"use_builtin_pins": number != 2}
    if number != 2:
        config["fallback"]["builtin_pin_hosts"] = [HOST]
    if number == 3:
        config["rollout_strategy"] = {"method": "percentage", "seed": "user_id", "sticky": True}
    return {"ssl_pinning_config": config}


def imported(api, configuration: dict) -> str:
    app = unique("com.example.scenario.")
    api.must("POST", f"/v1/import/remote-config?app={app}", configuration)
    return app


def explain(api, app: str, device: dict, **members) -> dict:
    answer = api.must("POST", f"/v1/apps/{app}/explain", {"device": device, "hosts": [HOST], **members}).json
    return answer["hosts"][0]


def outcomes(api, app: str, kind: str) -> dict[str, tuple]:
    """What each of many devices gets, as explained."""
    found = {}
    for number in range(DEVICES):
        device = f"device-{number}"
        told = explain(api, app, {kind: device, "app_version": "2.0.0"})
        found[device] = (told["outcome"], told.get("arm"), tuple(sorted(pin["pin"] for pin in told["pins"])))
    return found


def split(found: dict[str, tuple]) -> dict[tuple, int]:
    sizes: dict[tuple, int] = {}
    for outcome in found.values():
        sizes[outcome] = sizes.get(outcome, 0) + 1
    return sizes


def test_scenario_1_gives_a_quarter_the_new_pins_and_all_others_the_built_in_ones(api):
    app = imported(api, scenario(1))
    document = api.payload(app)
    assert document["rollout"]["basis_points"] == 2500
    assert document["hosts"][0]["baseline"] == {"source": "builtin"}
    sizes = split(outcomes(api, app, "device_id"))
    new = ("enforce", "candidate", tuple(sorted([PINS["primary"], PINS["backup"]])))
    assert set(sizes) == {new, ("builtin", "baseline", ())}
    # 400 devices at a quarter: five standard deviations are 43.
    assert abs(sizes[new] - DEVICES / 4) < 45, sizes
    assert explain(api, app, {})["outcome"] == "builtin"


def test_scenario_2_gives_all_devices_the_emergency_pins(api):
    app = imported(api, scenario(2))
    document = api.payload(app)
    assert "rollout" not in document and document["fallback"]["use_builtin_pins"] is False
    all_pins = tuple(sorted(PINS.values()))
    assert split(outcomes(api, app, "device_id")) == {("enforce", "baseline", all_pins): DEVICES}
    # Nobody is left without: not even a device that says nothing of itself.
    assert explain(api, app, {})["outcome"] == "enforce"


def test_scenario_3_divides_users_by_their_own_id_permanently(api):
    app = imported(api, scenario(3))
    before = outcomes(api, app, "user_id")
    sizes = split(before)
    new = ("enforce", "candidate", tuple(sorted([PINS["primary"], PINS["backup"]])))
    assert set(sizes) == {new, ("builtin", "baseline", ())}
    assert abs(sizes[new] - DEVICES / 2) < 51, sizes
    # A device's other ids do not matter, and a user without an id is in neither arm but the baseline.
    assert explain(api, app, {"device_id": "device-1"})["reason"] == "seed_missing"
    api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"rollout": {"basis_points": 7500, "seed": ["user_id"]}})
    after = outcomes(api, app, "user_id")
    assert all(after[user] == new for user, outcome in before.items() if outcome == new)
    assert sum(outcome == new for outcome in after.values()) > sizes[new]


@pytest.fixture(scope="module")
def watching():
    """A node that can look at the server of the scenarios, with all guard rails."""
    server = Server(
        lowers_rails=False,
        more=["--allow-private-range", "127.0.0.0/8", "--resolve", f"{HOST}=127.0.0.1"],
    )
    try:
        yield server.start()
    finally:
        server.destroy()


def test_arms_are_refused_unless_both_hold_the_key_that_is_served(watching, tmp_path):
    served, spare, wrong, other = (Key(tmp_path, name, HOST) for name in ("served", "spare", "wrong", "other"))
    tls = TLSServer(served)
    try:
        app = "com.example.arms"
        watching.cli("app", "create", app)
        watching.cli("host", "add", app, HOST, "--primary", str(served.certificate), "--backup", str(spare.request))
        path = f"/v1/apps/{app}/hosts/{HOST}"
        watching.api.must("PATCH", path, {"endpoints": [f"{HOST}:{tls.port}"]})
        watching.cli("probe", f"{HOST}:{tls.port}")

        def arm(*keys: Key) -> dict:
            pins = [
                {"material": key.request.read_text(), "role": role} for key, role in zip(keys, ("primary", "backup"))
            ]
            return {"mode": "enforce", "copy_baseline": False, "pins": pins, "rollout": {"basis_points": 5000}}

        refused = watching.api.post(f"{path}/candidate", arm(wrong, other))
        assert refused.status == 422, str(refused)
        codes = {finding["code"] for finding in refused.json["guard_rail_findings"]}
        assert codes & {"G09", "G42"}, refused.json
        assert "candidate" not in watching.api.get(path).json

        taken = watching.api.post(f"{path}/candidate", arm(served, other))
        assert taken.status == 201, str(taken)
    finally:
        tls.close()


@pytest.mark.parametrize("hosts", [[HOST, "apigee.kbfinansia.com"], f"{HOST}, apigee.kbfinansia.com"])
@pytest.mark.parametrize(("enabled", "outcome"), [(True, "builtin"), (False, "off")])
def test_the_kill_switch_documents_are_understood_in_both_spellings(api, hosts, enabled, outcome):
    app = imported(api, {"enabled": enabled, "min_app_version": "1.5.0", "target_hosts": hosts})
    for device in ({"device_id": "device-1", "app_version": "2.0.0"}, {"app_version": "1.0.0"}, {}):
        told = explain(api, app, device)
        # Off only where an operator said so: never because a version is old or unknown.
        assert told["outcome"] == outcome, told
        assert told["pins"] == []


def test_a_kill_switch_beats_every_scenario_and_deletes_nothing(api):
    for number in (1, 2, 3):
        app = imported(api, scenario(number))
        device = {"device_id": "device-1", "user_id": "device-1", "app_version": "2.0.0"}
        before, hosts = explain(api, app, device), api.get(f"/v1/apps/{app}/hosts").json
        engaged = {"expires_at": "2099-01-01T00:00:00Z", "reason": "incident"}
        assert api.request("PUT", f"/v1/apps/{app}/kill-switch", engaged).status == 422, "further ahead than a week"
        api.must("PUT", f"/v1/apps/{app}/kill-switch", {**engaged, "expires_at": from_now(hours=1)})
        told = explain(api, app, device)
        assert (told["outcome"], told["reason"]) == ("off", "kill_switch_engaged")
        api.must("DELETE", f"/v1/apps/{app}/kill-switch?reason=over")
        assert explain(api, app, device) == before
        assert api.get(f"/v1/apps/{app}/hosts").json == hosts


def test_the_document_that_clients_get_says_the_same_as_explain(api):
    """Drawn again from the document's own words, with another implementation."""
    app = imported(api, scenario(1))
    encoded = api.document(app).body.decode().split(".")[1]
    document = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    rollout = document["rollout"]
    for number in range(50):
        device = f"device-{number}"
        message = b"\0".join([b"pinroll/v1", rollout["salt"].encode(), rollout["seed"][0].encode(), device.encode()])
        bucket = int.from_bytes(hashlib.sha256(message).digest()[:4], "big") * 10_000 >> 32
        told = explain(api, app, {"device_id": device})
        draw = next(step["draw"] for step in told["trace"] if step["rule"] == "app_rollout")
        assert draw["bucket"] == bucket
        assert (told["arm"] == "candidate") == (bucket < rollout["basis_points"])
