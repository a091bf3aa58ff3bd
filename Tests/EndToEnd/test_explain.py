"""What a device gets, now and at any time before, and whom a change would move: asked of the API and the command line."""

import json
from datetime import timedelta

import pytest
from names import unique
from pinledger import eventually, from_now, host_body, pin_of
from problems import expect_problem

HOST = "api.example.com"


@pytest.fixture
def app(api) -> str:
    name = unique("com.example.explained.")
    api.make_app(name, HOST)
    return name


def explain(api, app: str, device: dict | None = None, **members) -> dict:
    return api.must("POST", f"/v1/apps/{app}/explain", {"device": device or {}, **members}).json


def start_candidate(api, app: str, basis_points: int, *, copy: bool = True) -> None:
    pins = [{"pin": pin_of(f"{app} new"), "role": "backup"}]
    api.must(
        "POST",
        f"/v1/apps/{app}/hosts/{HOST}/candidate",
        {"mode": "enforce", "copy_baseline": copy, "pins": pins, "rollout": {"basis_points": basis_points}},
    )


def reasons(told: dict) -> list[str]:
    return [step["reason"] for step in told["trace"]]


def test_a_rollout_that_names_no_ids_takes_whichever_a_device_states(api, app):
    start_candidate(api, app, 10_000)
    (host,) = api.payload(app)["hosts"]
    assert host["rollout"]["seed"] == ["install_id", "device_id", "user_id"]
    for kind in host["rollout"]["seed"]:
        assert explain(api, app, {kind: "one"})["hosts"][0]["arm"] == "candidate"
    assert explain(api, app)["hosts"][0]["arm"] == "baseline"


def test_every_rule_is_explained_in_its_order(api, app):
    start_candidate(api, app, 10_000)
    api.must("PATCH", f"/v1/apps/{app}", {"version_gate": {"minimum": "2.0.0"}})
    told = explain(api, app, {"device_id": "d", "app_version": "2.1.0"})["hosts"][0]
    assert (told["outcome"], told["arm"], told["host"], told["name"]) == ("enforce", "candidate", HOST, HOST)
    rules = [step["rule"] for step in told["trace"]]
    order = ["host", "kill_switch", "validity", "candidate", "version_gate", "app_rollout", "host_rollout", "policy"]
    assert [rule for rule in order if rule in rules] == list(dict.fromkeys(rules))
    assert all(step["detail"].endswith(".") for step in told["trace"])
    for device, reason in [
        ({"device_id": "d", "app_version": "1.9.9"}, "version_below_minimum"),
        ({"device_id": "d"}, "version_unknown"),
        ({"device_id": "d", "app_version": "v2"}, "version_invalid"),
        ({"app_version": "2.0.0"}, "seed_missing"),
        ({"app_version": "2.0.0", "device_id": "00000000-0000-0000-0000-000000000000"}, "seed_missing"),
    ]:
        told = explain(api, app, device)["hosts"][0]
        assert told["arm"] == "baseline" and reason in reasons(told), told


def test_the_past_is_explained_by_time_and_by_position(api, app):
    device = {"device_id": "d"}
    start = api.position()
    start_candidate(api, app, 0)
    middle = api.position()
    between = api.must("POST", f"/v1/apps/{app}/explain", {"device": device}).json["evaluated_at"]
    api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"rollout": {"basis_points": 10_000}})
    api.must("PUT", f"/v1/apps/{app}/kill-switch", {"expires_at": from_now(hours=1), "reason": "incident"})
    now = explain(api, app, device)
    assert now["hosts"][0]["outcome"] == "off" and middle < now["position"] <= api.position()

    first = explain(api, app, device, position=start)
    assert first["hosts"][0]["arm"] == "baseline" and "candidate_none" in reasons(first["hosts"][0])
    second = explain(api, app, device, position=middle)
    assert "rollout_out" in reasons(second["hosts"][0]) and second["position"] == middle
    by_time = explain(api, app, device, at=between)
    assert by_time["hosts"] == second["hosts"] and middle <= by_time["position"] < now["position"]
    assert by_time["evaluated_at"] == between
    # A kill switch of then, looked at after its end.
    over = explain(api, app, device, position=api.position(), at=between)
    assert over["evaluated_at"] == between

    before = api.post(f"/v1/apps/{app}/explain", {"position": 1})
    expect_problem(before, 404, "app_unknown")
    ahead = api.post(f"/v1/apps/{app}/explain", {"position": api.position() + 1000})
    expect_problem(ahead, 409, "position_ahead")
    assert api.post(f"/v1/apps/{app}/explain", {"at": from_now(hours=1)}).status == 422


def murmur3(text: str) -> int:
    """MurmurHash3_x86_32 as Austin Appleby published it, which Unleash draws by."""
    data, hash = text.encode(), 0
    turn = lambda value, bits: (value << bits | value >> 32 - bits) & 0xFFFFFFFF  # noqa: E731
    mix = lambda value: turn(value * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF  # noqa: E731
    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        hash = (turn(hash ^ mix(int.from_bytes(data[place : place + 4], "little")), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    if data[whole:]:
        hash ^= mix(int.from_bytes(data[whole:], "little"))
    hash ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hash = (hash ^ hash >> shift) * factor & 0xFFFFFFFF
    return hash


def test_the_command_line_takes_a_group_of_unleash_over_whatever_its_script(server, api, app):
    assert murmur3("gr1:123") % 100 + 1 == 73 and murmur3("groupX:999") % 100 + 1 == 25, "Unleash's own vectors"
    start_candidate(api, app, 10_000)
    told = server.cli(
        "rollout", "set", app, HOST, "--percent", "40", "--bucketing", "unleash-murmur3", "--salt", "日本", "--seed", "user_id",
        "--whitelist", "always", "--exclude", "never", "--reason", "as Unleash has it",
    )  # fmt: skip
    assert told.returncode == 0
    (host,) = api.payload(app)["hosts"]
    assert host["rollout"]["salt_utf8"] == "日本".encode().hex() and "salt" not in host["rollout"]
    assert api.document(app).body.isascii()
    assert api.get(f"/v1/apps/{app}/hosts/{HOST}").json["rollout"]["salt"] == "日本"

    def arm(user: str) -> str:
        return explain(api, app, {"user_id": user})["hosts"][0]["arm"]

    for number in range(25):
        expected = "candidate" if murmur3(f"日本:user {number}") % 100 + 1 <= 40 else "baseline"
        assert arm(f"user {number}") == expected, number
    assert (arm("always"), arm("never")) == ("candidate", "baseline")
    # At 100 %, too, a device that has no such id is outside.
    server.cli("rollout", "set", app, HOST, "--percent", "100", "--seed", "user_id", "--reason", "all that have an id")
    assert arm("anybody") == "candidate" and explain(api, app)["hosts"][0]["arm"] == "baseline"


@pytest.mark.parametrize(
    ("rollout", "pointer", "words"),
    [
        ({"basis_points": 100, "countries": ["DE"]}, "/rollout/countries", "only to the method geography"),
        ({"basis_points": 100, "method": "whitelist", "countries": ["DE"]}, "/rollout/countries", "only to the method geography"),
        ({"basis_points": 100, "method": "geography", "countries": ["DE", "XX"]}, "/rollout/countries/1", "no country"),
        ({"basis_points": 100, "method": "geography", "countries": ["ZZ"]}, "/rollout/countries/0", "no country"),
        ({"basis_points": 100, "salt": "a\u0000b"}, "/rollout/salt", "control characters"),
        ({"basis_points": 100, "salt_utf8": "e697a5"}, "/rollout/salt_utf8", "only for signed documents"),
    ],
)
def test_a_rollout_setting_without_an_effect_is_refused(api, app, rollout, pointer, words):
    start_candidate(api, app, 10_000)
    mark = api.mark()
    for method, path, body in (
        ("PATCH", f"/v1/apps/{app}", {"rollout": rollout}), ("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"rollout": rollout}),
    ):  # fmt: skip
        refused = api.request(method, path, body)
        assert refused.status == 422, str(refused)
        (error,) = refused.json["errors"]
        assert error["pointer"] == pointer and words in error["detail"]
    assert api.since(mark) == []


def test_explain_and_the_document_end_a_switch_at_the_same_instant(timed):
    """Ends are recorded in microseconds, and documents hold whole seconds."""
    api, app = timed.api, "com.example.explained.ends"
    api.make_app(app, HOST)
    end = (timed.clock.now() + timedelta(hours=1)).replace(microsecond=750_000)
    api.must("PUT", f"/v1/apps/{app}/kill-switch", {"expires_at": end.isoformat(), "reason": "a test"})
    (switch,) = api.payload(app)["kill_switches"]
    assert switch["expires_at"] == int(end.timestamp())
    timed.forward(hours=1, seconds=1)
    for seconds, outcome in ((-0.7, "enforce"), (-0.8, "off")):
        at = (end + timedelta(seconds=seconds)).isoformat()
        assert explain(api, app, at=at)["hosts"][0]["outcome"] == outcome, at


def test_attributes_of_the_explained_device_are_not_stored(server, api, app):
    secret = "a-device-that-nobody-may-know"
    start_candidate(api, app, 5000)
    answer = api.post(f"/v1/apps/{app}/explain", {"device": {"device_id": secret}})
    assert answer.status == 200 and secret not in answer.body.decode()
    refused = api.post(f"/v1/apps/{app}/explain", {"device": {"device_id": secret, "build": -1}})
    assert refused.status == 422 and secret not in refused.body.decode()
    assert secret not in server.log.read_text()


def test_the_command_line_explains_devices_and_guard_rails(server, api, app):
    start_candidate(api, app, 10_000)
    told = server.cli("explain", app, HOST, "--device-id", "d", "--app-version", "1.0").stdout
    assert f"{HOST}: enforce (candidate)" in told and "[rollout_in]" in told
    then = server.cli("explain", app, "--device-id", "d", "--position", str(api.position())).stdout
    assert f"{HOST}: enforce (candidate)" in then
    assert server.cli_json("explain", app, "--device-id", "d")["hosts"][0]["arm"] == "candidate"
    assert "G07" in server.cli("explain", "G07").stdout
    assert "there is no guard rail" in server.cli("explain", "G99", status=5).stderr
    server.cli("explain", "com.example.nobody", status=5)
    for address in ["::1", "10.0.0.1"]:
        assert server.cli_json("explain", app, address)["hosts"][0]["name"] == address
    assert "HOSTS, number 1" in server.cli("explain", app, "b\u00fccher.example.com", status=3).stderr


def simulate(api, app: str, change: dict, **members) -> dict:
    return api.must("POST", f"/v1/apps/{app}/simulate", {"change": change, **members}).json


def test_a_simulation_lists_the_devices_that_would_move_and_records_nothing(api, app):
    start_candidate(api, app, 1000)
    mark = api.mark()
    told = simulate(api, app, {"hosts": [{"host": HOST, "rollout": {"basis_points": 3500}}]})
    blind = ["app_version", "build", "country"]
    assert told["population"] == {"source": "assumed", "cohorts": 1, "blind_to": blind} and told["devices"] == 10_000
    # A quarter of 10,000 moves; five standard deviations are 217.
    assert abs(told["moved"] - 2500) < 220
    moves = {(move["from"]["arm"], move["to"]["arm"]): move["devices"] for move in told["hosts"][0]["moves"]}
    assert moves[("baseline", "candidate")] == told["moved"] and ("candidate", "baseline") not in moves
    assert sum(moves.values()) == 10_000
    assert [event["type"] for event in told["events"]] == ["HostRolloutSet"]
    assert api.since(mark) == []
    # What it tells is what comes about.
    api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"rollout": {"basis_points": 3500}})
    assert simulate(api, app, {})["moved"] == 0


def test_a_simulation_uses_versions_and_platforms(api, app):
    start_candidate(api, app, 10_000)
    population = {
        "cohorts": [
            {"app_version": "3.1.0", "platform": "ios", "weight": 3},
            {"app_version": "3.0.2", "platform": "android", "weight": 1},
        ]
    }
    told = simulate(api, app, {"version_gate": {"minimum": "3.1.0"}}, devices=1000, population=population)
    assert told["moved"] == 250
    assert told["app_versions"] == [
        {"app_version": "3.1.0", "devices": 750, "moved": 0},
        {"app_version": "3.0.2", "devices": 250, "moved": 250},
    ]
    assert told["platforms"][1] == {"platform": "android", "devices": 250, "moved": 250}


def test_a_simulation_takes_the_population_that_is_known(api, app):
    for version, platform in [("3.1.0", "ios"), ("3.1.0", "ios"), ("3.0.2", "android")]:
        api.request(
            "GET",
            f"/client/v1/apps/{app}/document",
            headers={"Pinledger-Client": f'version=1, platform={platform}, app_version="{version}"'},
            token=None,
        )

    def look() -> dict | None:
        told = simulate(api, app, {}, devices=3)
        return told if [part.get("app_version") for part in told["app_versions"]] == ["3.1.0", "3.0.2"] else None

    # The reports are recorded some seconds later, one after the other.
    told = eventually(look, "a population of both versions")
    assert told["population"]["source"] == "known"
    assert told["population"]["blind_to"] == ["build", "country"]


def test_a_simulation_lists_guard_rail_findings_and_continues(api, app):
    told = simulate(api, app, {"hosts": [{"host": HOST, "baseline": {"mode": "report_only"}}]})
    assert told["moved"] == told["judging_differently"] == told["devices"]
    different = [{"from": "refuse", "to": "accept_and_report", "devices": told["devices"]}]
    assert told["hosts"][0]["judged_differently"] == different
    move = told["hosts"][0]["moves"][0]
    assert (move["from"]["outcome"], move["to"]["outcome"]) == ("enforce", "report_only")
    killed = simulate(api, app, {"kill_switch": {"expires_at": from_now(hours=1)}})
    assert killed["hosts"][0]["moves"][0]["to"]["outcome"] == "off"
    assert api.post(f"/v1/apps/{app}/simulate", {"change": {"hosts": [{"host": "www.example.com", "promote_candidate": True}]}}).status == 404
    assert api.post(f"/v1/apps/{app}/simulate", {"change": {"unheard_of": 1}}).status == 422
    hosts = [f"h{number}.example.com" for number in range(21)]
    many = api.post(f"/v1/apps/{app}/simulate", {"change": {}, "hosts": hosts, "devices": 100_000})
    assert (many.status, many.json["errors"][0]["pointer"]) == (422, "/devices")


def test_the_command_line_simulates(server, api, app, tmp_path):
    start_candidate(api, app, 0)
    told = server.cli("simulate", app, HOST, "--percent", "25", "--devices", "1000").stdout
    assert "of 1000 devices would get something else" in told and "enforce candidate" in told
    assert "No connection is judged differently, except with these keys" in told
    assert "Not known of any of them: app_version, build, country." in told
    change = tmp_path / "change.json"
    change.write_text(json.dumps({"hosts": [{"host": HOST, "promote_candidate": True}]}))
    told = server.cli_json("simulate", app, "--change", str(change), "--devices", "10")
    assert told["moved"] == 10
    server.cli("simulate", app, status=2)
    server.cli("simulate", app, "--promote", status=2)


def test_a_host_that_is_added_later_is_explained_as_unknown_before(api, app):
    position = api.position()
    api.must("POST", f"/v1/apps/{app}/hosts", host_body("later.example.com"))
    assert explain(api, app, hosts=["later.example.com"])["hosts"][0]["outcome"] == "enforce"
    told = explain(api, app, hosts=["later.example.com"], position=position)["hosts"][0]
    assert (told["outcome"], told["reason"]) == ("off", "host_unknown") and "host" not in told


def test_a_day_is_explained_in_the_parts_in_which_something_else_held(own_timed_server):
    api, clock = own_timed_server.api, own_timed_server.clock
    app = unique("com.example.day.")
    api.make_app(app, HOST)
    own_timed_server.forward(days=1)
    day = clock.from_now(hours=0)[:10]
    engaged = api.must("PUT", f"/v1/apps/{app}/kill-switch", {"expires_at": clock.from_now(minutes=30), "reason": "incident"})
    assert engaged.status == 200
    periods = own_timed_server.cli_json("explain", app, HOST, "--day", day)["periods"]
    assert [one["answer"]["hosts"][0]["outcome"] for one in periods][:2] == ["enforce", "off"]
    assert periods[0]["since"] == f"{day}T00:00:00Z"
    assert all(one["until"] == later["since"] for one, later in zip(periods, periods[1:], strict=False))
