"""A Firebase project is kept in step with the ledger, and what others have in it stays theirs."""

import itertools
import json
import threading
import time
from collections.abc import Iterator

import pytest
from deployed import HOST, KillSwitch, client_path, declare
from firebase import Firebase
from pinledger import Server, eventually, from_now, host_body, pin_of
from problems import expect_problem

PARAMETER = "ssl_pinning_config"
PROJECTS = [f"pins-project-{number}" for number in range(1, 16)]
# Looks again so often, in seconds.
INTERVAL = 2


def arguments(firebase: Firebase, directory, projects) -> list[str]:
    files = [["--firebase-credentials", str(firebase.account(directory, project))] for project in projects]
    return sum(files, ["--firebase-endpoint", firebase.url, "--firebase-interval", str(INTERVAL)])


@pytest.fixture(scope="module")
def firebase():
    firebase = Firebase()
    try:
        yield firebase
    finally:
        firebase.close()


@pytest.fixture(scope="module")
def firebase_server(firebase, tmp_path_factory):
    server = Server(more=arguments(firebase, tmp_path_factory.mktemp("accounts"), PROJECTS))
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture
def admin(firebase_server):
    return firebase_server.api


@pytest.fixture(scope="module")
def projects() -> Iterator[str]:
    """Each project for one test."""
    return iter(PROJECTS)


@pytest.fixture
def project(firebase, projects) -> str:
    firebase.before_put = lambda project, validate_only: None
    return next(projects)


def make(api, project: str, name: str = "shop", **settings) -> str:
    app = f"com.example.{name}.{project}"
    api.make_app(app, HOST)
    declare(api, app, "remote_config", {"firebase_project": project} | settings)
    return app


def values(template: dict, parameter: str = PARAMETER) -> dict:
    """The parameter's values by condition, the default under None; empty where there is no such parameter."""
    found = template.get("parameters", {}).get(parameter)
    if found is None:
        return {}
    conditional = {name: value.get("value") for name, value in found.get("conditionalValues", {}).items()}
    return conditional | {None: found["defaultValue"].get("value")}


def default(template: dict) -> dict:
    return json.loads(values(template).get(None) or "{}")


def names(template: dict) -> list[str]:
    return [condition["name"] for condition in template.get("conditions", [])]


def is_served(template: dict) -> bool:
    return HOST in default(template).get("hosts", {})


def kill_switches(template: dict) -> list[str]:
    return [name for name in names(template) if " kill switch " in name]


def look_again(firebase: Firebase, project: str, times: int = 2) -> None:
    """Waits until the project was read so often."""
    looks = len(firebase.of(project, "GET"))
    eventually(lambda: len(firebase.of(project, "GET")) >= looks + times, f"{times} more looks")


def status(api, app: str) -> dict:
    return api.must("GET", f"/v1/apps/{app}/firebase").json


def test_a_project_gets_the_template_and_no_second_version_without_a_change(firebase_server, admin, firebase, project):
    app = make(admin, project)
    template = firebase.wait(project, is_served)
    served = admin.request("GET", f"/compat/remote-config/{app}/template", token=None).json
    assert default(template) == json.loads(served["parameters"][PARAMETER]["defaultValue"]["value"])
    assert template["version"]["description"].startswith("Pinledger, position ") and app in template["version"]["description"]
    assert template["version"]["updateType"] == "INCREMENTAL_UPDATE", "never over what was not read"
    versions = firebase.versions(project)
    # Something else moves the ledger, and the project is looked at again more than once.
    admin.make_app(f"com.example.else.{project}", HOST)
    look_again(firebase, project)
    assert firebase.versions(project) == versions
    puts = firebase.of(project, "PUT")
    assert all(each.status == 200 for each in puts)
    assert [each.validate_only for each in puts[:2]] == [True, False], "checked first"
    told = status(admin, app)
    assert told["in_step"] and told["pushed_by_this_node"] and "trouble" not in told
    assert told["template_version"] == template["version"]["versionNumber"] and told["project"] == project
    assert firebase_server.cli_json("firebase", app)["template_version"] == told["template_version"]
    shown = firebase_server.cli("firebase", app, "--exit-code").stdout
    assert project in shown and "in_step" in shown
    shown = firebase_server.cli("firebase", f"com.example.else.{project}", "--exit-code", status=1)
    assert "firebase_project" in shown.stderr


def test_a_kill_switch_is_there_within_seconds_and_comes_first(admin, firebase, project):
    firebase.edit(project, lambda template: template.update(conditions=[{"name": "testers", "expression": "percent <= 10"}]))
    app = make(admin, project)
    firebase.wait(project, is_served)

    def use(template: dict) -> None:
        template["parameters"][PARAMETER]["conditionalValues"] = {"testers": {"value": '{"enabled":true}'}}

    firebase.edit(project, use)
    with KillSwitch(admin, app):
        template = firebase.wait(project, kill_switches)
        first = names(template)[0]
        assert kill_switches(template) == [first]
        assert json.loads(values(template)[first])["enabled"] is False
        assert "dateTime < dateTime('" in template["conditions"][0]["expression"]
        assert values(template)["testers"] == '{"enabled":true}', "what others have in it is theirs"
        # The template is there a moment before the node knows that it is.
        eventually(lambda: status(admin, app)["foreign_conditions"] == ["testers"], "told of others' conditions")
        assert status(admin, app)["foreign_conditions_apply"], "but for installs that one of ours holds for"

        # Somebody puts a condition before it that the parameter uses.
        def overtake(template: dict) -> None:
            template["conditions"].sort(key=lambda condition: condition["name"] != "testers")

        firebase.edit(project, overtake)
        firebase.wait(project, lambda template: names(template)[0] == first)
    template = firebase.wait(project, lambda template: not kill_switches(template))
    assert names(template) == ["testers"]


def test_entries_of_others_stay_unchanged(admin, firebase, project):
    theirs = {
        "conditions": [
            {"name": "iOS", "expression": "device.os == 'ios'", "tagColor": "BLUE"},
            {"name": "Beta üsers", "expression": "percent('beta') <= 10"},
        ],
        "parameters": {
            "zeta": {"defaultValue": {"value": "1"}, "conditionalValues": {"iOS": {"value": "2"}}, "description": "Zeta"},
            "alpha": {"defaultValue": {"useInAppDefault": True}, "valueType": "NUMBER"},
        },
        "parameterGroups": {"menu": {"description": "The menu", "parameters": {"new": {"defaultValue": {"value": "x"}}}}},
    }
    firebase.edit(project, lambda template: template.update(theirs))
    make(admin, project)
    template = firebase.wait(project, is_served)
    assert [each for each in template["conditions"] if not each["name"].startswith("pinledger ")] == theirs["conditions"]
    assert list(template["parameters"]) == ["zeta", "alpha", PARAMETER]
    assert {name: template["parameters"][name] for name in theirs["parameters"]} == theirs["parameters"]
    assert template["parameterGroups"] == theirs["parameterGroups"]


def test_a_parameter_stays_in_the_group_that_others_have_put_it_into(admin, firebase, project):
    app = make(admin, project)
    firebase.wait(project, is_served)

    def regroup(template: dict) -> None:
        template["parameterGroups"] = {"security": {"parameters": {PARAMETER: template["parameters"].pop(PARAMETER)}}}

    firebase.edit(project, regroup)
    with KillSwitch(admin, app):
        template = firebase.wait(project, kill_switches)
        assert PARAMETER not in template["parameters"]
        assert kill_switches(template)[0] in template["parameterGroups"]["security"]["parameters"][PARAMETER]["conditionalValues"]


def test_an_edit_in_between_is_merged_and_not_lost(admin, firebase, project):
    app = make(admin, project)
    firebase.wait(project, is_served)
    edits = itertools.count(1)

    def edit(project_: str, validate_only: bool) -> None:
        # Once before the check, and once between the check and the change.
        if project_ == project and (number := next(edits)) in (1, 3):
            flag = {f"flag_{number}": {"defaultValue": {"value": "on"}}}
            firebase.edit(project, lambda template: template["parameters"].update(flag))

    firebase.before_put = edit
    with KillSwitch(admin, app):
        template = firebase.wait(project, kill_switches)
        assert {"flag_1", "flag_3", PARAMETER} <= set(template["parameters"])
        statuses = [(each.validate_only, each.status) for each in firebase.of(project, "PUT")]
        assert (True, 412) in statuses and (False, 412) in statuses
    assert next(edits) > 3


def test_drift_in_a_project_is_corrected(admin, firebase, project):
    make(admin, project)
    template = firebase.wait(project, is_served)
    before = default(template)
    firebase.edit(project, lambda template: template["parameters"][PARAMETER].update(defaultValue={"value": '{"enabled":false}'}))
    firebase.wait(project, is_served)
    firebase.edit(project, lambda template: template["parameters"].pop(PARAMETER))
    assert default(firebase.wait(project, is_served)) == before


def test_pushing_resumes_after_temporary_errors(admin, firebase, project):
    app = make(admin, project)
    firebase.wait(project, is_served)
    firebase.fail(project, "PUT", (503, {}), (429, {"Retry-After": "2"}), (500, {}))
    start = time.monotonic()
    with KillSwitch(admin, app):
        firebase.wait(project, kill_switches)
        assert time.monotonic() - start >= 2, "it waits as long as it is asked to"
        assert {503, 429, 500} <= {each.status for each in firebase.of(project)}
        eventually(lambda: status(admin, app)["in_step"], "in step again")


def test_a_token_that_is_no_longer_accepted_is_replaced(admin, firebase, project):
    app = make(admin, project)
    firebase.wait(project, is_served)
    grants = firebase.grants.count(project)
    with firebase.lock:
        firebase.tokens.clear()
    with KillSwitch(admin, app):
        firebase.wait(project, kill_switches)
    assert firebase.grants.count(project) == grants + 1
    assert 401 in {each.status for each in firebase.of(project)}
    # While it is accepted, one does for many requests.
    look_again(firebase, project)
    assert firebase.grants.count(project) == grants + 1


def test_a_refused_permission_is_reported(admin, firebase, project):
    firebase.forbidden.add(project)
    app = make(admin, project)
    eventually(lambda: "trouble" in status(admin, app), "trouble")
    told = status(admin, app)
    assert not told["in_step"] and "may not change" in told["trouble"]["detail"]
    assert "Firebase Remote Config Admin" in told["trouble"]["advice"]
    firebase.forbidden.remove(project)
    firebase.wait(project, is_served)
    eventually(lambda: status(admin, app)["in_step"], "in step")


def test_apps_share_a_project_and_one_that_is_refused_holds_up_no_other(admin, firebase, project):
    firebase.refused_words[project] = "com.example.bad"
    good = make(admin, project, "good", parameter="pins_good")
    bad = make(admin, project, "bad", parameter="pins_bad")
    eventually(lambda: "refuses the template" in status(admin, bad).get("trouble", {}).get("detail", ""), "trouble")
    firebase.wait(project, lambda template: "pins_good" in template.get("parameters", {}))
    with KillSwitch(admin, bad), KillSwitch(admin, good):
        template = firebase.wait(project, kill_switches)
        assert {name.split()[1] for name in kill_switches(template)} == {good}
        eventually(lambda: status(admin, good)["in_step"], "the other in step")
        # What is refused is not sent again and again.
        refusals = sum(each.status == 400 for each in firebase.of(project))
        look_again(firebase, project, times=3)
        assert sum(each.status == 400 for each in firebase.of(project)) == refusals
    del firebase.refused_words[project]


def test_a_push_is_repeated_soon_after_the_refused_template_is_fixed(admin, firebase, project):
    firebase.refused_words[project] = "broken_flag"
    flag = {"broken_flag": {"defaultValue": {"value": "on"}}}
    firebase.edit(project, lambda template: template.update(parameters=flag))
    app = make(admin, project)
    eventually(lambda: "refuses the template" in status(admin, app).get("trouble", {}).get("detail", ""), "trouble")
    assert "tried again" in status(admin, app)["trouble"]["advice"]
    # It is not sent again, and the project is looked at all the same.
    refusals = sum(each.status == 400 for each in firebase.of(project))
    look_again(firebase, project)
    assert sum(each.status == 400 for each in firebase.of(project)) == refusals
    firebase.edit(project, lambda template: template["parameters"].pop("broken_flag"))
    firebase.wait(project, is_served)
    eventually(lambda: status(admin, app)["in_step"], "in step")
    del firebase.refused_words[project]


def test_rollouts_that_have_no_room_hold_up_no_kill_switch(admin, firebase, project):
    app = make(admin, project)
    firebase.wait(project, is_served)
    # Each draws a lot of its own: 32 groups of devices.
    hosts = [HOST, *(f"h{number}.example.com" for number in range(4))]
    for host in hosts:
        if host != HOST:
            admin.must("POST", f"/v1/apps/{app}/hosts", host_body(host))
        pins = [{"pin": pin_of(f"{host} new {number}"), "role": role} for number, role in enumerate(["primary", "backup"])]
        body = {"mode": "enforce", "copy_baseline": False, "pins": pins, "rollout": {"basis_points": 5000}}
        admin.must("POST", f"/v1/apps/{app}/hosts/{host}/candidate", body | {"reason": "a test", "force": True})
    eventually(lambda: "32 groups" in status(admin, app).get("rollouts_withheld", ""), "told of the rollouts")
    engaged = {"versions": {"maximum": "1.5"}, "expires_at": from_now(hours=1), "reason": "a test"}
    admin.must("PUT", f"/v1/apps/{app}/kill-switch", engaged)
    template = firebase.wait(project, kill_switches)
    assert names(template) == kill_switches(template)
    assert set(default(template)["hosts"]) == set(hosts)
    eventually(lambda: status(admin, app)["in_step"], "in step, but for the rollouts")
    served = admin.request("GET", f"/compat/remote-config/{app}/template", token=None).json
    assert len(served["conditions"]) == 1 and served["version"]["description"].endswith(", without rollouts")


def test_a_position_ahead_is_respected_until_it_is_deleted(admin, firebase, project):
    """As after the ledger was restored from a backup."""
    app = make(admin, project)
    firebase.wait(project, is_served)
    description = "TLS pins at position 999999999 of the ledger, by Pinledger; edits here are lost."
    firebase.edit(project, lambda template: template["parameters"][PARAMETER].update(description=description))
    with KillSwitch(admin, app):
        eventually(lambda: "999999999" in status(admin, app).get("trouble", {}).get("detail", ""), "trouble")
        assert 'delete "position 999999999"' in status(admin, app)["trouble"]["advice"]
        assert not kill_switches(firebase.template(project))
        mended = description.replace("position 999999999", "")
        firebase.edit(project, lambda template: template["parameters"][PARAMETER].update(description=mended))
        firebase.wait(project, kill_switches)


def test_two_apps_with_one_parameter_are_not_both_pushed(admin, firebase, project):
    first = make(admin, project, "first")
    firebase.wait(project, is_served)
    second = f"com.example.second.{project}"
    admin.make_app(second, HOST)
    answer = admin.request("PUT", client_path(second, "remote_config"), {"settings": {"firebase_project": project}})
    told = expect_problem(answer, 422, "invalid_value")
    # Which app has it is not the business of everyone who may change this one.
    assert first not in told["detail"] and "firebase_app" in told["detail"]
    assert [error["pointer"] for error in told["errors"]] == ["/settings/parameter"]
    for app, id_ in [(first, "1:1:ios:aa"), (second, "1:1:android:bb")]:
        declare(admin, app, "remote_config", {"firebase_project": project, "firebase_app": id_})
    own = {f"pinledger {app} all installs" for app in (first, second)}
    template = firebase.wait(project, lambda template: own <= set(names(template)))
    assert template["parameters"][PARAMETER]["defaultValue"] == {"useInAppDefault": True}
    eventually(lambda: status(admin, first)["in_step"] and status(admin, second)["in_step"], "both in step")
    versions = firebase.versions(project)
    look_again(firebase, project)
    assert firebase.versions(project) == versions

    # After all of ours, which leave no install of these apps to it.
    def use(template: dict) -> None:
        template["conditions"].append({"name": "testers", "expression": "percent <= 10"})
        template["parameters"][PARAMETER]["conditionalValues"]["testers"] = {"value": "{}"}

    firebase.edit(project, use)
    eventually(lambda: status(admin, first)["foreign_conditions"] == ["testers"], "told of others' conditions")
    assert not status(admin, first)["foreign_conditions_apply"]


def test_an_app_that_names_no_project_or_a_foreign_one_is_not_pushed(admin):
    app = "com.example.firebase.none"
    admin.make_app(app, HOST)
    assert status(admin, app) == {"app": app, "pushed_by_this_node": False, "in_step": False, "foreign_conditions": []}
    declare(admin, app, "remote_config", {"firebase_project": "somebody-elses"})
    told = status(admin, app)
    assert (told["project"], told["pushed_by_this_node"], told["in_step"]) == ("somebody-elses", False, False)
    expect_problem(admin.get("/v1/apps/com.example.nobody/firebase"), 404, "app_unknown")


def test_a_power_cut_between_the_check_and_the_change_does_no_harm(firebase, tmp_path):
    project = "pins-project-cut"
    server = Server(more=arguments(firebase, tmp_path, [project]))
    try:
        api = server.start().api
        app = make(api, project)
        firebase.wait(project, is_served)
        before = firebase.versions(project)
        arrived, go = threading.Event(), threading.Event()

        def hold(project_: str, validate_only: bool) -> None:
            if project_ == project and not validate_only:
                arrived.set()
                go.wait(30)

        firebase.before_put = hold
        api.must("POST", f"/v1/apps/{app}/hosts", host_body("cdn.example.com"))
        assert arrived.wait(20)
        # The request is on its way, and may yet be carried out.
        server.kill()
        firebase.before_put = lambda project, validate_only: None
        go.set()
        server.start()
        template = firebase.wait(project, lambda template: "cdn.example.com" in default(template).get("hosts", {}))
        assert is_served(template) and firebase.versions(project) in (before + 1, before + 2)
        eventually(lambda: status(server.api, app)["in_step"], "in step")
        versions = firebase.versions(project)
        look_again(firebase, project)
        assert firebase.versions(project) == versions
    finally:
        firebase.before_put = lambda project, validate_only: None
        server.destroy()


def test_a_key_file_that_others_can_read_is_refused(firebase, tmp_path):
    file = firebase.account(tmp_path, "pins-project-open")
    file.chmod(0o644)
    server = Server(more=["--firebase-credentials", str(file), "--firebase-endpoint", firebase.url])
    try:
        with pytest.raises(AssertionError, match="can be read by others"):
            server.start()
    finally:
        server.process = None
        server.destroy()


def test_a_node_that_only_reads_does_not_push(firebase_server, firebase, tmp_path):
    """What its probes see stays with it, and with it the order of pins: it would undo what others have put."""
    options = arguments(firebase, tmp_path, ["pins-project-read-only"])
    refused = firebase_server.cli("serve", "--database", "dbname=none", "--read-only", *options, status=2)
    assert "--firebase-credentials and --read-only cannot be combined" in refused.stderr
