"""The limits of declared kinds of clients are reported with every change that meets them (G25): in dry runs, in refusals, in
recorded events, with a kill switch that is engaged, and in the attention list."""


import pytest
from deployed import HOST, add_host, declare
from names import unique
from pinledger import API, from_now, pin_hex, pin_of
from problems import expect_problem

WILD = "*.cdn.example.com"


@pytest.fixture
def app(api) -> str:
    """An app with a host on which clients only report, so that one pin is not too few by itself."""
    name = unique("com.example.limited.")
    api.must("POST", "/v1/apps", {"app": name})
    add_host(api, name, HOST, {"pin": pin_of("first")}, {"pin": pin_of("second")}, mode="report_only")
    return name


def told(change: dict) -> list[tuple[str, str, str]]:
    """What G25 says of declared kinds: severity, kind and limit."""
    findings = [one for one in change["guard_rail_findings"] if one["code"] == "G25"]
    for finding in findings:
        assert finding["detail"].endswith(".") and finding["remedy"].endswith("."), finding
    return [(one["severity"], one["client"], one["limit"]) for one in findings if "client" in one]


def broken(api: API, app: str) -> list[dict]:
    items = api.must("GET", f"/v1/attention?app={app}").json["items"]
    return [item for item in items if item["kind"] == "client_breaks"]


def test_a_change_that_breaks_a_declared_kind_is_refused_without_force(api, app):
    declare(api, app, "dynapins")
    assert broken(api, app) == []
    path = f"/v1/apps/{app}/hosts/{HOST}/pins/{pin_hex(pin_of('second'))}"
    change = {"state": "retired", "reason": "a test"}
    mark = api.mark()
    for query in ("?dry_run=true", ""):
        refused = expect_problem(api.request("PATCH", path + query, change), 422, "guard_rail")
        assert told(refused) == [("override", "dynapins", "single_pin")]
        (finding,) = (one for one in refused["guard_rail_findings"] if one["code"] == "G25")
        assert finding["host"] == HOST and HOST in finding["detail"] and "single_pin" in finding["detail"]
    assert api.since(mark) == [], "something was recorded"

    rehearsed = api.must("PATCH", f"{path}?dry_run=true", change | {"force": True}).json
    assert told(rehearsed) == [("override", "dynapins", "single_pin")] and api.since(mark) == []
    forced = api.must("PATCH", path, change | {"force": True}).json
    assert told(forced) == [("override", "dynapins", "single_pin")]
    (overridden,) = (event for event in forced["events"] if event["type"] == "GuardRailsOverridden")
    (record,) = (one for one in overridden["data"]["findings"] if one["code"] == "G25")
    assert record["host"] == HOST and "`dynapins`, `single_pin`" in record["detail"]
    assert overridden in api.history(f"/v1/apps/{app}/history")

    (item,) = broken(api, app)
    assert (item["severity"], item["code"], item["client"], item["limit"]) == ("urgent", "G25", "dynapins", "single_pin")
    # An existing limit refuses no change, and is listed when such clients are declared again.
    assert told(api.must("PATCH", f"/v1/apps/{app}", {"display_name": "Shop"}).json) == []
    settled = api.must("PUT", f"/v1/apps/{app}/clients/dynapins", {"settings": {"ttl_seconds": 600}}).json
    assert ("warn", "dynapins", "single_pin") in told(settled)
    api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", {"pin": pin_of("third"), "role": "backup"})
    assert broken(api, app) == []


def test_a_kind_is_declared_whatever_it_cannot_do_and_its_limits_are_listed(api, app):
    add_host(api, app, "one.example.com", {"pin": pin_of("alone")}, mode="report_only")
    for query in ("?dry_run=true", ""):
        answer = api.must("PUT", f"/v1/apps/{app}/clients/dynapins{query}", {})
        assert [event["type"] for event in answer.json["events"]] == ["ClientSet"]
        assert ("warn", "dynapins", "single_pin") in told(answer.json)
    assert [item["host"] for item in broken(api, app)] == ["one.example.com"]


def test_a_wildcard_is_judged_by_the_kinds_that_are_declared(server, api, app):
    pins = [{"pin": pin_of("cdn 1"), "role": "primary"}, {"pin": pin_of("cdn 2"), "role": "backup"}]
    body = {"host": WILD, "baseline": {"source": "document", "mode": "report_only", "pins": pins}}
    undeclared = api.must("POST", f"/v1/apps/{app}/hosts?dry_run=true", body).json
    (unknown,) = (one for one in undeclared["guard_rail_findings"] if one["code"] == "G25")
    assert unknown["verdict"] == "unknown" and "pinledger client set" in unknown["remedy"]
    declare(api, app, "trustkit_ios")
    declare(api, app, "okhttp")
    body["baseline"]["mode"] = "enforce"
    # Names that go without pins are no reason to refuse the change.
    answer = api.must("POST", f"/v1/apps/{app}/hosts?dry_run=true", body)
    assert told(answer.json) == [("warn", "trustkit_ios", "wildcard")]
    assert "client set" in server.cli("explain", "G25").stdout


def test_a_kill_switch_is_engaged_and_names_the_clients_that_it_does_not_reach(api, app):
    # TrustKit only reports on the other host, and so has nothing to turn off there.
    enforced = "www.example.com"
    add_host(api, app, enforced, {"pin": pin_of("third")}, {"pin": pin_of("fourth")})
    for kind in ("trustkit_ios", "dynapins", "netkit"):
        declare(api, app, kind)
    change = {"expires_at": from_now(hours=1), "reason": "a test"}
    deaf = [("warn", "dynapins", "kill_switch"), ("warn", "trustkit_ios", "kill_switch")]
    for target in (f"/v1/apps/{app}/hosts/{enforced}/kill-switch", f"/v1/apps/{app}/kill-switch"):
        for query in ("?dry_run=true", "", ""):
            engaged = api.must("PUT", target + query, change).json
            assert sorted(told(engaged)) == deaf, target
            change["expires_at"] = from_now(hours=2)
        released = told(api.must("DELETE", f"{target}?reason=over").json)
        assert all(limit != "kill_switch" for _, _, limit in released), released
    # For the fleet's, only their number: other apps of this server have such clients too.
    fleet = api.must("PUT", "/v1/kill-switch?dry_run=true", change).json
    (finding,) = (one for one in fleet["guard_rail_findings"] if one["code"] == "G25")
    assert (finding["severity"], finding["limit"]) == ("warn", "kill_switch")
    assert "`trustkit_ios`" in finding["detail"] and "`netkit`" not in finding["detail"]
