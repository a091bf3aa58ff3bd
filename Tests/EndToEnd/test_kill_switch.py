"""Kill switches for versions of an app, by the API and the command line; and what all scopes have in common."""

import pytest
from pinledger import eventually, from_now

APP = "com.example.kill"
HOST = "api.example.com"
TARGET = f"/v1/apps/{APP}/kill-switch"
RANGE = {"minimum": "3.1.0", "maximum": "3.1.2"}


@pytest.fixture(scope="module", autouse=True)
def app(server):
    server.api.make_app(APP, HOST)


def switches(server) -> list[dict]:
    return [one for one in server.api.payload(APP)["kill_switches"]]


def listed(server) -> list[dict]:
    return [one for one in server.api.get("/v1/kill-switches").json["kill_switches"] if one.get("app") == APP]


def engage(server, versions: dict, *, expires_at: str | None = None, **interval) -> dict:
    expires_at = expires_at or from_now(**(interval or {"hours": 1}))
    body = {"expires_at": expires_at, "reason": "incident", "versions": versions}
    return server.api.must("PUT", TARGET, body).json


def test_ranges_overlap_and_each_is_engaged_moved_on_and_released_by_itself(server):
    api = server.api
    before = api.must("GET", f"/v1/apps/{APP}").json
    engage(server, RANGE)
    engage(server, {"minimum": "3.1.1", "excluded": ["4.0", "3.9"], "minimum_build": 310})
    assert [(one["scope"], one["versions"]) for one in switches(server)] == [
        ("app_versions", RANGE),
        ("app_versions", {"minimum": "3.1.1", "excluded": ["3.9", "4.0"], "minimum_build": 310}),
    ]
    # The same range, written in another way: its expiry moves.
    event = engage(server, {"minimum": "3.1", "maximum": "3.1.2"}, hours=2)["events"][0]
    assert event["type"] == "KillSwitchEngaged" and event["data"]["versions"] == {"minimum": "3.1", "maximum": "3.1.2"}
    assert len(switches(server)) == 2 and [one["scope"] for one in listed(server)] == ["app_versions"] * 2
    assert [one["versions"] for one in api.get(f"/v1/apps/{APP}").json["version_kill_switches"]] == [
        one["versions"] for one in switches(server)
    ]
    attention = api.get(f"/v1/attention?app={APP}").json["items"]
    assert any("3.1.1 and later from build 310 except 3.9, 4.0" in item["detail"] for item in attention)
    assert api.request("DELETE", f"{TARGET}?minimum=3.1.0").json["type"] == "/problems/kill_switch_not_engaged"
    assert api.request("DELETE", TARGET).json["type"] == "/problems/kill_switch_not_engaged", "it is not the app's"
    api.must("DELETE", f"{TARGET}?minimum=3.1.0&maximum=3.1.2.0&reason=over")
    api.must("DELETE", f"{TARGET}?minimum=3.1.1&excluded=3.9,4.0&minimum_build=310")
    after = api.must("GET", f"/v1/apps/{APP}").json
    assert after.pop("version") == before.pop("version") + 5
    after.pop("updated_at"), before.pop("updated_at")
    assert after == before, "nothing is deleted"


@pytest.mark.parametrize(
    "versions", [{}, {"excluded": ["3.1"]}, {"minimum": "3.2", "maximum": "3.1"}, {"minimum": "x"}, {"min": "3"}, [], 3]
)
def test_a_range_needs_a_bound_and_versions(server, unchanged, versions):
    body = {"expires_at": from_now(hours=1), "reason": "incident", "versions": versions}
    answer = server.api.request("PUT", TARGET, body)
    assert answer.status == 422 and answer.json["errors"][0]["pointer"].startswith("/versions")


@pytest.mark.parametrize(
    "query, pointer",
    [("excluded=3.1", ""), ("minimum=x", "/minimum"), ("minimum=3.2&maximum=3.1", ""), ("minimum=3&excluded=3,x", "/excluded/1"),
     ("minimum=3&excluded=" + ",".join(f"3.{number}" for number in range(21)), "")],
)  # fmt: skip
def test_a_range_in_the_query_is_read_as_strictly(server, unchanged, query, pointer):
    answer = server.api.request("DELETE", f"{TARGET}?{query}")
    assert answer.status == 422 and answer.json["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("query", ["minimum_build=-1", "minimum=3&minimum=4"])
def test_a_query_that_names_no_range_cannot_be_read(server, unchanged, query):
    assert server.api.request("DELETE", f"{TARGET}?{query}").status == 400


def test_a_version_with_a_plus_is_named_with_or_without_an_escape(server):
    for query in ["minimum=3.1.0+45&excluded=3.2+1,3.3", "minimum=3.1.0%2B45&excluded=3.2%2B1,3.3"]:
        engage(server, {"minimum": "3.1.0+45", "excluded": ["3.2+1", "3.3"]})
        server.api.must("DELETE", f"{TARGET}?{query}")


def test_versions_belong_to_the_app_s_switch_alone(server, unchanged):
    body = {"expires_at": from_now(hours=1), "reason": "incident", "versions": RANGE}
    for target in ["/v1/kill-switch", f"/v1/apps/{APP}/hosts/{HOST}/kill-switch"]:
        assert server.api.request("PUT", target, body).status == 422
    server.cli("kill", "engage", APP, HOST, "--versions", "3.1", "--reason", "x", status=2)
    server.cli("kill", "engage", "--everything", "--versions", "3.1", "--reason", "x", status=2)
    server.cli("kill", "engage", APP, "--except", "3.1", "--reason", "x", status=2)


@pytest.mark.parametrize(
    "arguments, expected, shown",
    [
        (["--versions", "3.1.0-3.1.2"], RANGE, "3.1.0..3.1.2"),
        (["--versions", "3.1.0..3.1.2", "--except", "3.1.1"], RANGE | {"excluded": ["3.1.1"]}, "except 3.1.1"),
        (["--versions", "3.1.1"], {"minimum": "3.1.1", "maximum": "3.1.1"}, "3.1.1"),
        (["--versions", "1.5-rc1"], {"minimum": "1.5-rc1", "maximum": "1.5-rc1"}, "1.5-rc1"),
        (["--versions", "1.5-rc1..1.5"], {"minimum": "1.5-rc1", "maximum": "1.5"}, "1.5-rc1..1.5"),
        (["--versions", "3.1.."], {"minimum": "3.1"}, "3.1.."),
        (["--versions", "..3.1"], {"maximum": "3.1"}, "..3.1"),
        (["--min-build", "310"], {"minimum_build": 310}, "build 310.."),
    ],
)
def test_one_command_engages_and_one_releases(server, arguments, expected, shown):
    server.cli("kill", "engage", APP, *arguments, "--reason", "incident 4712")
    assert [one["versions"] for one in switches(server)] == [expected]
    assert shown in server.cli("kill", "list").stdout and shown in server.cli("app", "show", APP).stdout
    server.cli("kill", "release", APP, *arguments)
    assert switches(server) == []


def test_every_scope_is_engaged_with_a_reason_and_an_expiry_alone(server):
    """Even with a stale If-Match, and in every state of the ledger."""
    body = {"expires_at": from_now(hours=1), "reason": "incident"}
    targets = ["/v1/kill-switch", TARGET, f"/v1/apps/{APP}/hosts/{HOST}/kill-switch"]
    for target in targets:
        answer = server.api.request("PUT", target, body)
        assert answer.status == 200, str(answer)
    assert server.api.request("PUT", TARGET, body | {"versions": RANGE}).status == 200
    assert [one["scope"] for one in switches(server)] == ["everything", "app", "app_versions", "host"]
    for target in [*targets, f"{TARGET}?minimum=3.1.0&maximum=3.1.2"]:
        server.api.must("DELETE", target)
    for scope in [["--everything"], [APP], [APP, "--versions", "3.1.0-3.1.2"], [APP, HOST]]:
        server.cli("kill", "engage", *scope, "--reason", "incident")
    assert len(switches(server)) == 4
    for scope in [["--everything"], [APP], [APP, "--versions", "3.1.0-3.1.2"], [APP, HOST]]:
        server.cli("kill", "release", *scope)


def test_a_switch_that_has_run_out_is_released_by_the_server(timed):
    timed.api.make_app(APP, HOST)
    engage(timed, RANGE, expires_at=timed.clock.from_now(hours=1))
    engage(timed, {"minimum": "9"}, expires_at=timed.clock.from_now(hours=2))
    assert len(switches(timed)) == 2
    timed.forward(hours=1)
    eventually(lambda: len(switches(timed)) == 1, "a document without the switch that has run out")
    assert [one["versions"] for one in switches(timed)] == [{"minimum": "9"}]
    last = timed.api.get(f"/v1/apps/{APP}/history?limit=1").json["events"][0]
    assert last["type"] == "KillSwitchReleased" and last["actor"]["kind"] == "system"
    assert last["data"]["versions"] == RANGE
    timed.api.must("DELETE", f"{TARGET}?minimum=9")
