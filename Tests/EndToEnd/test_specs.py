"""Declared state over the API: specs make apps what they say, once, by those who may, and leave alone what others are working on."""

import pytest
import specs_schema
from jsonschema import Draft202012Validator
from people import Person
from pinledger import API, FULL, Server, from_now, host_body, in_threads, pin_hex, pin_of
from problems import expect_problem
from specs import RandomSpecs, content

HOST, OTHER = "api.example.com", "pay.example.com"


def path(app: str, *query: str) -> str:
    return f"/v1/apps/{app}/spec" + (f"?{'&'.join(query)}" if query else "")


def spec(*hosts: dict, **members) -> dict:
    return {"hosts": list(hosts)} | members


def host(name: str = HOST, *, mode: str = "enforce", salt: str = "", **members) -> dict:
    return host_body(name, mode=mode, salt=salt) | members


def apply(api: API, app: str, body: dict, *query: str, status: int = 200) -> dict:
    answer = api.request("PUT", path(app, *query), {"reason": "the repository"} | body)
    assert answer.status == status, str(answer)
    return answer.json


def kinds(answer: dict) -> list[str]:
    return [each["kind"] for each in answer["remainder"]]


def types(answer: dict) -> list[str]:
    return [event["type"] for event in answer["events"]]


@pytest.fixture
def app(api, request):
    name = "com.example.specs." + "".join(c for c in request.node.name if c.isalnum())[:80].lower()
    apply(api, name, spec(host()), status=201)
    return name


def test_a_spec_makes_an_app_and_then_changes_nothing(api):
    name, body = "com.example.specs.new", spec(host(), display_name="Shop", version_gate={"minimum": "2.0"})
    rehearsed = apply(api, name, body, "dry_run=true")
    assert api.get(f"/v1/apps/{name}").status == 404
    answer = api.request("PUT", path(name), body)
    assert (answer.status, answer.headers["Location"]) == (201, f"/v1/apps/{name}")
    assert types(answer.json) == types(rehearsed) and answer.json["remainder"] == []
    assert [h["host"] for h in api.payload(name)["hosts"]] == [HOST]
    again = apply(api, name, body)
    assert (again["events"], again["remainder"]) == ([], [])
    whole = api.get(path(name)).json
    assert whole["display_name"] == "Shop" and len(whole["hosts"][0]["baseline"]["pins"]) == 2
    assert apply(api, name, whole, "prune=true")["events"] == []


def test_a_plan_that_no_longer_holds_is_refused(api, app):
    body = spec(host(), display_name="Planned")
    planned = apply(api, app, body, "dry_run=true")
    api.must("PATCH", f"/v1/apps/{app}", {"display_name": "Planned"})
    refused = apply(api, app, body, f"plan_hash={planned['plan_hash']}", status=409)
    assert refused["type"] == "/problems/plan_stale"
    planned = apply(api, app, spec(host(), display_name="Again"), "dry_run=true")
    apply(api, app, spec(host(), display_name="Again"), f"plan_hash={planned['plan_hash']}")


def test_a_repeated_request_is_answered_as_the_first(api):
    name, body = "com.example.specs.repeated", spec(host(), reason="once")
    first = api.request("PUT", path(name), body, headers={"Idempotency-Key": "spec-1"})
    again = api.request("PUT", path(name), body, headers={"Idempotency-Key": "spec-1"})
    assert (first.status, again.status) == (201, 201)
    assert again.headers["Idempotency-Replayed"] == "true" and first.json["events"] == again.json["events"]
    assert first.json["remainder"] == again.json["remainder"]


@pytest.mark.parametrize(
    ("body", "kind", "event"),
    [
        (spec(), "host", "HostRemoved"),
        (spec(host() | {"baseline": {"source": "document", "mode": "enforce", "pins": host_body(HOST)["baseline"]["pins"][:2]}}),
         "pin", "PinRetired"),
        (spec(host(), host(OTHER)) | {"clients": []}, "client", "ClientRemoved"),
        (spec(host()), "setting", "MonitoringSet"),
        (spec(host()), "candidate", "CandidateDropped"),
    ],
    ids=["hosts", "pins", "clients", "settings", "candidates"],
)  # fmt: skip
def test_pruning_removes_what_lists_leave_out_and_nothing_else_does(api, app, body, kind, event):
    third = {"pin": pin_of("third"), "role": "emergency"}
    more = host()
    more["baseline"]["pins"].append(third)
    more["candidate"] = {"mode": "report_only", "pins": more["baseline"]["pins"]}
    reports = {"enabled": True, "failure_threshold_bp": 100}
    apply(api, app, spec(more, monitoring=reports, clients=[{"client": "okhttp"}]))
    before = api.payload(app)
    kept = apply(api, app, body)
    assert kind in kinds(kept) and event not in types(kept)
    assert all(sentence["detail"].endswith(".") for sentence in kept["remainder"])
    assert api.payload(app)["hosts"][0] == before["hosts"][0]
    pruned = apply(api, app, body | {"force": True}, "prune=true")
    assert event in types(pruned) and kind not in kinds(pruned)


def test_a_list_that_is_left_out_is_not_pruned(api, app):
    apply(api, app, {"clients": [{"client": "okhttp"}]})
    answer = apply(api, app, {"display_name": "Just the name"}, "prune=true")
    assert types(answer) == ["AppRenamed"] and kinds(answer) == ["host", "client"]
    bare = {"host": HOST, "baseline": {"source": "document", "mode": "enforce"}}
    assert kinds(apply(api, app, spec(bare), "prune=true")) == ["pin", "pin", "client"]


def test_null_takes_a_setting_back(api, app):
    apply(api, app, spec(host(candidate={"mode": "off"}, rollout={"basis_points": 5}, endpoints=["a.example.com:1"]),
                         rollout={"basis_points": 9}, version_gate={"minimum": "1.0"}))  # fmt: skip
    answer = apply(api, app, spec(host(candidate=None, rollout=None, endpoints=None), rollout=None, version_gate=None))
    assert sorted(types(answer)) == ["AppRolloutSet", "CandidateDropped", "EndpointsSet", "VersionGateSet"]
    assert answer["remainder"] == []


def test_pins_of_a_rotation_under_way_stay(api, app):
    new = pin_of("the next one")
    api.must("POST", f"/v1/apps/{app}/rotations", {"hosts": [HOST], "next": {"pin": new}, "rotation": "r", "reason": "yearly"})
    answer = apply(api, app, spec(host()), "prune=true")
    assert (answer["events"], kinds(answer)) == ([], ["pin_in_rotation"])
    assert apply(api, app, spec(), "prune=true")["events"] == []
    assert new in [pin["pin"] for pin in api.get(path(app)).json["hosts"][0]["baseline"]["pins"]]


def test_a_plan_has_the_say_over_its_share_and_a_rollback_over_all(api, app):
    pins = host()["baseline"]["pins"]
    wanted = host(candidate={"mode": "report_only", "pins": pins}, rollout={"basis_points": 100})
    apply(api, app, spec(wanted))
    place = f"/v1/apps/{app}/hosts/{HOST}/rollout"
    api.must("PUT", f"{place}/plan", {"steps": [{"basis_points": 200, "for_seconds": 86400}, {"basis_points": 10_000, "for_seconds": 86400}]})
    answer = apply(api, app, spec(wanted))
    assert (answer["events"], kinds(answer)) == ([], ["planned_rollout"])
    answer = apply(api, app, spec(host()), "prune=true")
    assert (answer["events"], kinds(answer)) == ([], ["candidate_in_rollout", "setting"])
    api.must("POST", f"{place}/roll-back", {"reason": "failures"})
    answer = apply(api, app, spec(wanted))
    assert (answer["events"], kinds(answer)) == ([], ["rolled_back_rollout"])
    assert api.payload(app)["hosts"][0]["rollout"]["basis_points"] == 0


def test_a_published_pin_or_baseline_cannot_be_taken_back(api, app):
    pins = [pin | {"state": "staged"} for pin in host()["baseline"]["pins"]]
    staged = {"host": HOST, "baseline": {"source": "document", "mode": "enforce", "pins": pins}}
    answer = apply(api, app, spec(staged))
    assert (answer["events"], kinds(answer)) == ([], ["published_pin", "published_pin"])
    answer = apply(api, app, spec({"host": HOST, "baseline": {"source": "builtin"}}))
    assert (answer["events"], kinds(answer)) == ([], ["published_baseline"])


def test_a_revoked_pin_never_comes_back_by_a_spec(api, app):
    body = host()
    body["baseline"]["pins"].append({"pin": pin_of("spare"), "role": "emergency"})
    apply(api, app, spec(body))
    api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}/pins/{pin_hex(pin_of('spare'))}", {"state": "revoked", "reason": "stolen"})
    assert apply(api, app, spec(body), status=409)["type"] == "/problems/pin_revoked"
    assert apply(api, app, spec(body) | {"force": True}, status=409)["type"] == "/problems/pin_revoked"


def test_an_engaged_kill_switch_is_no_part_of_a_spec(api, app):
    api.must("PUT", f"/v1/apps/{app}/kill-switch", {"expires_at": from_now(hours=1), "reason": "incident"})
    answer = apply(api, app, spec(host(), display_name="x"), "prune=true")
    assert (types(answer), kinds(answer)) == (["AppRenamed"], [])
    assert len(api.payload(app)["kill_switches"]) == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"hosts": [{"host": HOST}]}, "/hosts/0/baseline"),
        ({"hosts": [host(), host()]}, "/hosts/1"),
        ({"hosts": [host(baseline={"source": "elsewhere"})]}, "/hosts/0/baseline/source"),
        ({"hosts": [host(baseline={"source": "document", "mode": "no"})]}, "/hosts/0/baseline/mode"),
        ({"clients": [{"client": "okhttp"}, {"client": "okhttp"}]}, "/clients/1"),
        ({"lowered_guard_rails": ["G13", "G13"]}, "/lowered_guard_rails/1"),
        ({"lowered_guard_rails": ["G99"]}, "/lowered_guard_rails/0"),
        ({"kill_switch": {}}, "/kill_switch"),
        ({"hosts": [host(rollout={"basis_points": 10_001})]}, "/hosts/0/rollout/basis_points"),
        ({"hosts": [host(baseline={"source": "document", "mode": "off", "pins": [{"pin": pin_of("a"), "role": "primary"}] * 2})]},
         "/hosts/0/baseline/pins/1"),
        ({"hosts": 1}, "/hosts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_malformed_spec_is_refused_with_its_place(api, app, body, pointer):
    before = api.get(f"/v1/apps/{app}").json
    refused = apply(api, app, body, status=422)
    assert [error["pointer"] for error in refused["errors"]] == [pointer]
    assert api.get(f"/v1/apps/{app}").json == before


def test_each_difference_needs_the_permission_of_its_own_operation(own_server):
    admin = own_server.api
    name = "com.example.specs.rights"
    apply(admin, name, spec(host()), status=201)
    viewer, editor = Person(admin, "Vera", "viewer"), Person(admin, "Ed", "editor", name)
    stranger = Person(admin, "Sam", "editor", "org.example.*")
    assert viewer.api.get(path(name)).status == 200
    assert apply(viewer.api, name, spec(host()), status=403)["type"] == "/problems/permission_denied"
    apply(editor.api, name, spec(host(), display_name="Edited"))
    refused = apply(editor.api, name, spec(host(), lowered_guard_rails=["G26"]), status=403)
    assert refused["type"] == "/problems/permission_denied"
    assert apply(stranger.api, name, spec(host()), status=404)["type"] == "/problems/app_unknown"
    assert stranger.api.get(path(name)).status == 404
    assert apply(editor.api, "com.example.specs.rights.new", spec(host()), status=404)["type"] == "/problems/app_unknown"


def test_random_states_survive_the_round_trip_to_an_empty_server(own_server):
    """What one server exports makes the same documents on another, where it then changes nothing."""
    source, drawn = own_server.api, RandomSpecs(20261127)
    validator = Draft202012Validator(specs_schema.schema())
    target = Server()
    try:
        target.start()
        for number in range(500 if FULL else 60):
            app = f"com.example.random{number}"
            # Two in a row, of which the second meets what the first left.
            for status in (201, 200):
                query = ["prune=true"] if drawn.once_in(2) else []
                apply(source, app, drawn.spec() | {"force": True}, *query, status=status)
            exported = source.get(path(app)).json
            assert apply(source, app, exported, "prune=true")["events"] == []
            assert not list(validator.iter_errors({"apps": [{"app": app} | exported]}))
            made = apply(target.api, app, exported | {"force": True}, status=201)
            assert made["remainder"] == []
            assert content(target.api, app) == content(source, app)
            assert target.api.get(path(app)).json == exported
            assert apply(target.api, app, exported, "prune=true")["events"] == []
    finally:
        target.destroy()


GOALS = {"minimum_wait_seconds": 1, "sufficient_wait_seconds": 1, "settling_seconds": 1}

# A file of a time before is at odds with what happened since.


def roles(api: API, app: str) -> dict:
    pins = api.get(path(app)).json["hosts"][0]["baseline"]["pins"]
    return {pin["pin"]: pin["role"] for pin in pins}


@pytest.mark.parametrize("prune", [[], ["prune=true"]], ids=["without pruning", "pruning"])
def test_a_spec_of_before_a_rotation_undoes_none_of_its_steps(api, app, prune):
    new = pin_of("the next one")
    api.must(
        "POST", f"/v1/apps/{app}/rotations",
        {"hosts": [HOST], "next": {"pin": new}, "rotation": "r", "goals": GOALS, "reason": "yearly"})  # fmt: skip
    old = host()["baseline"]["pins"][0]["pin"]
    for _ in range(10):
        rotation = next(r for r in api.get(f"/v1/apps/{app}/rotations").json["rotations"] if r["rotation"] == "r")
        before = roles(api, app)
        answer = apply(api, app, spec(host()), *prune)
        assert (answer["events"], roles(api, app)) == ([], before), rotation
        assert set(kinds(answer)) == {"pin_in_rotation"}
        if rotation["phase"] in ("done", "aborted"):
            break
        api.must("POST", f"/v1/apps/{app}/rotations/r/advance", {"force": True, "reason": "on"})
    assert rotation["phase"] == "done" and roles(api, app)[new] == "primary" and old not in roles(api, app)
    # Brought up to date, the file has the say again.
    current = api.get(path(app)).json
    assert apply(api, app, current, "prune=true")["remainder"] == []


def test_a_promotion_is_not_undone(api, app):
    new = {"mode": "enforce", "pins": [{"pin": pin_of("n1"), "role": "primary"}, {"pin": pin_of("n2"), "role": "backup"}]}
    before = spec(host(candidate=new, rollout={"basis_points": 100}))
    apply(api, app, before)
    api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"rollout": {"basis_points": 10_000}, "reason": "all"})
    api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/candidate/promote", {"force": True, "reason": "it works"})
    for query in ([], ["prune=true"]):
        answer = apply(api, app, before, *query)
        assert (answer["events"], kinds(answer)) == ([], ["promoted_candidate"])


def test_pruning_lets_no_device_in(api, app):
    pins = host()["baseline"]["pins"]
    wanted = host(candidate={"mode": "report_only", "pins": pins}, rollout={"basis_points": 100})
    apply(api, app, spec(wanted, version_gate={"minimum": "2.0"}, rollout={"basis_points": 50}))
    del wanted["rollout"]
    answer = apply(api, app, spec(wanted), "prune=true")
    assert answer["events"] == []
    assert sorted(each["setting"] for each in answer["remainder"]) == ["rollout", "rollout", "version_gate"]


def test_pruning_keeps_hosts_whose_candidate_is_rolled_out(api, app):
    pins = host()["baseline"]["pins"]
    apply(api, app, spec(host(candidate={"mode": "report_only", "pins": pins}, rollout={"basis_points": 1})))
    plan = {"steps": [{"basis_points": 200, "for_seconds": 86400}]}
    api.must("PUT", f"/v1/apps/{app}/hosts/{HOST}/rollout/plan", plan)
    answer = apply(api, app, spec(), "prune=true")
    assert (answer["events"], kinds(answer)) == ([], ["candidate_in_rollout"])


def test_a_changed_note_is_named(api, app):
    body = host()
    body["baseline"]["pins"][0]["note"] = "another shelf"
    assert kinds(apply(api, app, spec(body))) == ["note"]


def test_an_archived_app_stays_so_until_its_spec_says_otherwise(api, app):
    apply(api, app, {"archived": True, "reason": "over"})
    answer = apply(api, app, spec(host()), "prune=true")
    assert (answer["events"], kinds(answer)) == ([], ["archived_app"])
    assert "AppUnarchived" in types(apply(api, app, spec(host(), archived=False)))
    new = f"{app}.new"
    made = apply(api, new, spec(archived=True, clients=[{"client": "okhttp"}], display_name="Old"), status=201)
    assert types(made)[-1] == "AppArchived"
    assert apply(api, new, api.get(path(new)).json, "prune=true")["events"] == []


def test_a_proposed_rollout_does_not_start_again_what_was_rolled_back_since(api, app):
    pins = host()["baseline"]["pins"]
    wanted = host(candidate={"mode": "report_only", "pins": pins}, rollout={"basis_points": 100})
    apply(api, app, spec(wanted))
    more = spec(wanted | {"rollout": {"basis_points": 5000}})
    change = apply(api, app, more, "change=new", status=202)["change_id"]
    api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/rollout/roll-back", {"reason": "failures"})
    refused = api.request("POST", f"/v1/changes/{change}/apply", {})
    expect_problem(refused, 409, "change_conflict")
    assert api.payload(app)["hosts"][0]["rollout"]["basis_points"] == 0


def test_the_largest_app_can_be_exported_and_applied(api):
    name = "com.example.specs.large"

    def large(number: int) -> dict:
        each = host_body(f"h{number}.example.com", mode="report_only")
        each["baseline"]["pins"] += [{"pin": pin_of(f"{number} {more}"), "role": "emergency"} for more in range(2)]
        return each

    body = spec(*(large(number) for number in range(1000)), force=True)
    apply(api, name, body, status=201)
    exported = api.get(path(name)).json
    assert len(exported["hosts"]) == 1000
    assert apply(api, name, exported, "prune=true")["events"] == []


def test_an_app_that_many_create_at_once_is_made_once(api):
    name = "com.example.specs.together"
    answers = in_threads(8, lambda _: api.request("PUT", path(name), spec(host(), reason="all at once")))
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
