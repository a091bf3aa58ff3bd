"""Reverting a recorded change, as operators see it."""

import base64

import pytest
from pinledger import from_now, host_body, pin_of
from problems import expect_problem

APP, OTHER, HOST = "com.example.revert", "com.example.revert.other", "api.example.com"


@pytest.fixture(scope="module")
def app(server):
    server.api.make_app(APP, HOST)
    server.api.make_app(OTHER, HOST)
    return f"/v1/apps/{APP}"


def path_of(pin: str) -> str:
    """A pin as it stands in paths."""
    return base64.b64decode(pin.removeprefix("sha256/")).hex()


def settings(value):
    """What operators set, without times and what only grows."""
    growing = {"version", "updated_at", "since", "rollout_revision", "host_count"}
    if isinstance(value, dict):
        return {name: settings(each) for name, each in value.items() if name not in growing}
    if isinstance(value, list):
        kept = [each for each in value if not (isinstance(each, dict) and each.get("state") == "retired")]
        return [settings(each) for each in kept]
    return value


def refused(api, app: str, position: int, status: int, kind: str, **members) -> dict:
    before = api.get(app)["ETag"]
    answer = api.request("POST", f"{app}/revert", {"position": position, **members})
    expect_problem(answer, status, kind)
    assert api.get(app)["ETag"] == before
    return answer.json


def test_a_change_is_reverted_in_one_change_that_says_which(server, api, app):
    before = settings(api.get(app).json)
    done = api.must("POST", f"{app}/hosts", host_body("new.example.com")).json
    positions = [event["position"] for event in done["events"]]
    assert len(positions) > 2
    # The position of any event of it will do.
    for position in positions:
        plan = api.must("POST", f"{app}/revert?dry_run=true", {"position": position, "reason": "wrong host"}).json
        assert [event["type"] for event in plan["events"]] == ["HostRemoved", "ChangeReverted"]
        assert plan["events"][-1]["data"] == {"reverted_position": positions[0]}
        assert "/hosts/new.example.com" in [each["pointer"] for each in plan["difference"]]
    reverted = api.request(
        "POST", f"{app}/revert?plan_hash={plan['plan_hash']}", {"position": positions[1], "reason": "wrong host"},
        {"Idempotency-Key": "revert-1"},
    )  # fmt: skip
    assert reverted.status == 200, reverted.json
    assert reverted.json["not_reverted"] == []
    assert settings(api.get(app).json) == before
    history = [event["type"] for event in api.must("GET", f"{app}/history?limit=2").json["events"]]
    assert history == ["ChangeReverted", "HostRemoved"]
    # The same request again is the same change.
    again = api.request(
        "POST", f"{app}/revert?plan_hash={plan['plan_hash']}", {"position": positions[1], "reason": "wrong host"},
        {"Idempotency-Key": "revert-1"},
    )  # fmt: skip
    assert (again.status, again["Idempotency-Replayed"]) == (200, "true")
    assert again.json["events"] == reverted.json["events"]
    # A reversal is a change like any other.
    api.must("POST", f"{app}/revert", {"position": reverted.json["events"][0]["position"], "reason": "it was right"})
    assert [host["host"] for host in api.get(app).json["hosts"]] == [HOST, "new.example.com"]


def test_later_changes_are_never_undone_by_reverting_an_earlier_one(api, app):
    first = api.must("PATCH", app, {"display_name": "First"}).json["events"][0]["position"]
    second = api.must("PATCH", app, {"display_name": "Second"}).json["events"][0]["position"]
    problem = refused(api, app, first, 409, "changed_since")
    assert problem["detail"] == "Changed again since: the app's display name."
    api.must("POST", f"{app}/revert", {"position": second})
    assert api.get(app).json["display_name"] == "First"


def test_guard_rails_judge_a_reversal(api, app):
    pins = f"{app}/hosts/{HOST}/pins"
    extra = pin_of("revert extra")
    added = api.must("POST", pins, {"pin": extra, "role": "backup"}).json["events"][0]["position"]
    host = api.get(f"{app}/hosts/{HOST}").json
    backup = next(each["pin"] for each in host["baseline"]["pins"] if each["role"] == "backup" and each["pin"] != extra)
    retired = api.must("PATCH", f"{pins}/{path_of(backup)}",
                       {"state": "retired", "reason": "replaced", "force": True})  # fmt: skip
    answer = api.request("POST", f"{app}/revert", {"position": added, "reason": "w", "force": True})
    assert answer.status == 422, answer.json
    assert answer.json["type"] in {"/problems/too_few_pins", "/problems/last_backup_pin", "/problems/no_backup_pin"}
    # The other way round both can be reverted.
    position = next(each["position"] for each in retired.json["events"] if each["type"] == "PinRetired")
    api.must("POST", f"{app}/revert", {"position": position, "reason": "w", "force": True})
    api.must("POST", f"{app}/revert", {"position": added, "reason": "w", "force": True})
    state = {each["pin"]: each["state"] for each in api.get(f"{app}/hosts/{HOST}").json["baseline"]["pins"]}
    assert (state[backup], state[extra]) == ("active", "retired")


def test_a_change_that_cannot_be_reverted_is_refused_with_a_way_on(api, app):
    events = api.must("GET", f"{app}/history?order=oldest&limit=1").json["events"]
    assert "created the app" in refused(api, app, events[0]["position"], 422, "not_revertible")["detail"]
    ahead = api.position() + 100
    refused(api, app, ahead, 409, "position_ahead")
    elsewhere = api.must("GET", f"/v1/apps/{OTHER}/history?limit=1").json["events"][0]["position"]
    refused(api, app, elsewhere, 404, "event_unknown")
    refused(api, app, 0, 404, "event_unknown")
    pins = f"{app}/hosts/{HOST}/pins"
    stolen = pin_of("revert stolen")
    api.must("POST", pins, {"pin": stolen, "role": "backup"})
    gone = api.must("PATCH", f"{pins}/{path_of(stolen)}",
                    {"state": "revoked", "reason": "stolen", "force": True}).json["events"]  # fmt: skip
    position = next(each["position"] for each in gone if each["type"] == "PinRevoked")
    assert stolen in refused(api, app, position, 422, "not_revertible", reason="w", force=True)["detail"]
    for body in [{}, {"position": -1}, {"position": "4"}, {"position": 1.5}, {"position": 9007199254740991},
                 {"position": 1, "other": 2}]:  # fmt: skip
        assert api.request("POST", f"{app}/revert", body).status == 422, body
    assert api.request("POST", "/v1/apps/com.example.nobody/revert", {"position": 1}).json["type"] == "/problems/app_unknown"


def test_a_released_kill_switch_is_engaged_again_until_the_same_time(server, api, app):
    until = from_now(hours=3)
    api.must("PUT", f"{app}/kill-switch", {"reason": "drill", "expires_at": until})
    released = api.must("DELETE", f"{app}/kill-switch?reason=over&force=true").json["events"][0]["position"]
    assert "needs a reason" in server.cli("app", "revert", APP, str(released), "--dry-run", status=3).stderr
    done = server.cli("app", "revert", APP, str(released), "--reason", "not over", "--force")
    assert f"The change at position {released} is reverted." in done.stdout
    assert api.get(app).json["kill_switch"]["expires_at"] == until
    api.must("DELETE", f"{app}/kill-switch?reason=over&force=true")


def test_a_change_of_many_events_is_found_from_each_of_them(api):
    app = "com.example.revert.large"
    api.make_app(app, HOST)
    hosts = {f"h{number}.example.com": {"enabled": True, "rollout_percentage": 100, "pins": {
        "primary": pin_of(f"large {number}"), "backup": pin_of(f"large {number} backup")}} for number in range(150)}
    config = {"ssl_pinning_config": {"enabled": True, "rollout_percentage": 100, "min_app_version": "1.0.0", "hosts": hosts}}
    done = api.request("POST", f"/v1/import/remote-config?app={app}&reason=all&force=true", config)
    assert done.status == 200, done.json
    positions = [event["position"] for event in done.json["events"] if event["stream"] == f"app/{app}"]
    assert len(positions) > 700
    for position in [positions[0], positions[len(positions) // 2], positions[-1]]:
        plan = api.must("POST", f"/v1/apps/{app}/revert?dry_run=true", {"position": position, "reason": "w", "force": True}).json
        record = [event["data"] for event in plan["events"] if event["type"] == "ChangeReverted"]
        assert record == [{"reverted_position": positions[0]}]
        assert sum(event["type"] == "HostRemoved" for event in plan["events"]) == 150
