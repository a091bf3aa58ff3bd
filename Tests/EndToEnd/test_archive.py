"""Archiving apps, as their operators and their installs see it."""


import pytest
from names import unique
from pinledger import from_now, host_body
from problems import expect_problem

HOST = "api.example.com"


def listed(api, query: str = "") -> set[str]:
    return {each["app"] for each in api.must("GET", f"/v1/apps?limit=1000{query}").json["apps"]}


@pytest.fixture
def name(api) -> str:
    """An app that no client has fetched: the rails count clients some seconds after they fetch."""
    name = unique("com.example.old.")
    api.make_app(name, HOST)
    return name


@pytest.fixture
def app(name) -> str:
    return f"/v1/apps/{name}"


def test_installs_of_an_archived_app_get_a_signed_document_that_pins_nothing(api, name, app):
    before = api.payload(name)
    api.must("PUT", f"{app}/kill-switch", {"expires_at": from_now(hours=1), "reason": "trouble"})
    done = api.must("POST", f"{app}/archive", {"reason": "replaced", "force": True}).json
    assert [event["type"] for event in done["events"]][-3:] == ["HostRemoved", "KillSwitchReleased", "AppArchived"]
    after = api.payload(name)
    assert after["hosts"] == after["kill_switches"] == []
    assert after["version"] > before["version"]
    assert "archived_at" in after and "archived_at" not in before


def test_an_archived_app_is_listed_apart_and_takes_no_change(api, name, app):
    assert name in listed(api)
    api.must("POST", f"{app}/archive", {"reason": "replaced"})
    assert name not in listed(api)
    assert name in listed(api, "&archived=true")
    shown = api.must("GET", app).json
    assert (shown["host_count"], shown["archived_at"]) == (0, shown["updated_at"])
    changes = [
        ("POST", f"{app}/hosts", host_body(HOST)),
        ("PATCH", app, {"display_name": "Old"}),
        ("PUT", f"{app}/kill-switch", {"expires_at": from_now(hours=1), "reason": "x"}),
        ("PUT", f"{app}/clients/wultra", {"reason": "x"}),
    ]
    for method, path, body in changes:
        answer = api.request(method, path, body)
        assert (answer.status, answer.json["type"]) == (409, "/problems/app_archived"), (path, answer.json)
        assert "pinledger app unarchive" in answer.json["advice"]
    taken = api.request("POST", "/v1/apps", {"app": name})
    expect_problem(taken, 409, "app_exists")
    assert api.get(app).json == shown
    again = api.must("POST", f"{app}/archive", {"reason": "replaced"}).json
    assert again["events"] == []


def test_archiving_takes_a_reason(api, app):
    answer = api.request("POST", f"{app}/archive", {})
    expect_problem(answer, 422, "reason_required")
    assert api.get(f"{app}/hosts/{HOST}").status == 200


def test_reverting_the_archiving_brings_the_hosts_back(api, name, app):
    before = api.get(f"{app}/hosts/{HOST}").json
    position = api.must("POST", f"{app}/archive", {"reason": "wrong app"}).json["events"][0]["position"]
    done = api.must("POST", f"{app}/revert", {"position": position, "reason": "it was the wrong app"}).json
    assert done["events"][0]["type"] == "AppUnarchived"
    assert done["not_reverted"] == []
    after = api.get(f"{app}/hosts/{HOST}").json
    pins = [{(pin["pin"], pin["role"], pin["state"]) for pin in host["baseline"]["pins"]} for host in (before, after)]
    assert pins[0] == pins[1]
    back = api.payload(name)
    assert [host["host"] for host in back["hosts"]] == [HOST] and "archived_at" not in back


def test_the_command_line_archives_and_unarchives(server, api, name, app):
    assert "needs a reason" in server.cli("app", "archive", name, status=3).stderr
    plan = server.cli("app", "archive", name, "--reason", "replaced", "--dry-run").stdout
    assert "AppArchived" in plan and api.get(f"{app}/hosts/{HOST}").status == 200
    done = server.cli("app", "archive", name, "--reason", "replaced").stdout
    assert f"The app {name} is archived: clients pin nothing" in done
    assert name in server.cli("app", "list", "--archived").stdout
    assert name not in server.cli("app", "list").stdout
    assert "ARCHIVED since" in server.cli("app", "show", name).stdout
    assert "in use again" in server.cli("app", "unarchive", name).stdout
    assert name in server.cli("app", "list").stdout
