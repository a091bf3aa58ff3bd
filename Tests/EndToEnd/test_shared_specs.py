"""Declared state of what all apps share: the fleet's settings, who may do what, webhooks; planned, applied once, exported, refused."""

import json

import pytest
import specs_schema
import yaml
from jsonschema import Draft202012Validator
from people import Person
from pinledger import Server

HOOK, OTHER_HOOK = "https://hooks.example.com/pins", "https://hooks.example.com/chat"
WANTED = {
    "fleet": {"issuer": "pins.example.com", "lowered_guard_rails": ["G13", "G26", "G42"]},
    "access": {
        "roles": [{"role": "releaser", "permissions": ["apps.read", "apps.change", "history.read"]}],
        "principals": [
            {"name": "Ada Lovelace", "grants": [{"role": "releaser", "apps": ["com.example.*"]}]},
            {"name": "nightly", "kind": "service", "grants": [{"role": "viewer", "apps": ["*"], "expires_at": "2036-01-01T00:00:00Z"}]},
        ],
        "identity_providers": [{"provider": "company", "issuer": "https://login.example.com", "audiences": ["pinledger"]}],
        "sign_in_rules": [
            {
                "rule": "ci",
                "provider": "company",
                "kind": "service",
                "claims": {"sub": ["repo:example/shop:ref:refs/heads/main"]},
                "grants": [{"role": "releaser", "apps": ["com.example.shop"]}],
            }
        ],
    },
    "webhooks": [{"url": HOOK, "types": ["KillSwitchEngaged"], "description": "the pager"}],
}


def written(tmp_path, state: dict, name: str = "shared.yaml") -> str:
    file = tmp_path / name
    file.write_text(yaml.safe_dump(state))
    return str(file)


def planned(server, *arguments: str, status: int = 0) -> dict:
    return json.loads(server.cli("plan", *arguments, "--output", "json", status=status).stdout)["shared"]


def changed(state: dict, change) -> dict:
    state = json.loads(json.dumps(state))
    change(state)
    return state


@pytest.fixture
def servers():
    """Makes servers of one test alone."""
    made: list[Server] = []

    def make() -> Server:
        made.append(Server())
        return made[-1].start()

    yield make
    for server in made:
        server.destroy()


@pytest.fixture
def node(servers, tmp_path):
    """A server that is what WANTED says."""
    server = servers()
    server.cli("apply", "--file", written(tmp_path, WANTED), "--reason", "the beginning")
    return server


def cli_of(person: Person, server, tmp_path, *arguments: str, status: int = 0):
    file = tmp_path / "token"
    file.write_text(person.api.token)
    file.chmod(0o600)
    return server.cli(*arguments, "--token-file", str(file), status=status)


def test_the_plan_of_shared_settings_is_applied_and_empty_afterwards(servers, tmp_path):
    server = servers()
    assert not list(Draft202012Validator(specs_schema.schema()).iter_errors(WANTED))
    file = written(tmp_path, WANTED)
    steps = planned(server, "--file", file, "--reason", "the beginning")["steps"]
    assert {each["status"] for each in steps} == {"changes", "deferred"}
    # What needs the new role or provider, or the id of the new principal, cannot be rehearsed.
    assert {(each["kind"], each["name"]) for each in steps if each["status"] == "deferred"} == {
        ("grant", "Ada Lovelace"),
        ("grant", "nightly"),
        ("sign_in_rule", "ci"),
    }
    before = server.api.get("/readyz").json["position"]
    shown = server.cli("apply", "--file", file, "--reason", "the beginning").stdout
    assert "role releaser: recorded." in shown and "  secret: whsec_" in shown
    assert server.api.get("/readyz").json["position"] > before
    fleet = server.api.get("/v1/fleet").json
    assert fleet["issuer"] == "pins.example.com" and "G13" in json.dumps(fleet["lowered_guard_rails"])
    access = server.api.get("/v1/access").json
    [ada] = [each for each in access["principals"] if each["name"] == "Ada Lovelace"]
    assert ada["kind"] == "person" and ada["grants"][0]["role"] == "releaser"
    assert [each["rule"] for each in access["sign_in_rules"]] == ["ci"]
    assert [each["url"] for each in server.api.get("/v1/webhooks").json["webhooks"]] == [HOOK]
    again = server.cli("plan", "--file", file, "--prune", "--detailed-exitcode", "--reason", "the beginning").stdout
    assert "0 to change" in again


def test_an_export_of_what_apps_share_makes_another_server_the_same(node, servers, tmp_path):
    node.cli("export", "yaml", "--output", f"{tmp_path}/out/", "--shared")
    exported = yaml.safe_load((tmp_path / "out/_shared.yaml").read_text())
    assert not list(Draft202012Validator(specs_schema.schema()).iter_errors(exported))
    node.cli("plan", "--file", f"{tmp_path}/out", "--prune", "--detailed-exitcode")
    other = servers()
    other.cli("apply", "--file", f"{tmp_path}/out", "--reason", "a second server")
    other.cli("export", "yaml", "--output", f"{tmp_path}/second/", "--shared")
    assert (tmp_path / "second/_shared.yaml").read_text() == (tmp_path / "out/_shared.yaml").read_text()


def test_entries_that_a_list_leaves_out_go_with_prune_and_else_stay(node, tmp_path):
    def less(state):
        state["access"]["sign_in_rules"] = []
        state["access"]["principals"][0]["grants"] = []
        state["access"]["roles"] = []
        state["webhooks"] = []
        del state["access"]["principals"][1]

    file = written(tmp_path, changed(WANTED, less))
    kept = planned(node, "--file", file)
    assert all(each["status"] == "up_to_date" for each in kept["steps"])
    for name in ("sign-in rule ci", "role releaser", f"webhook {HOOK}", "grant grt_", "principal nightly"):
        assert any(name in sentence for sentence in kept["remainder"]), name
    assert "up to date" in node.cli("apply", "--file", file).stdout
    node.cli("apply", "--file", file, "--prune", "--reason", "tidy")
    access = node.api.get("/v1/access").json
    assert not access["sign_in_rules"] and [each["role"] for each in access["roles"] if not each["built_in"]] == []
    # No principal is taken away by a list.
    assert {"Ada Lovelace", "nightly"} <= {each["name"] for each in access["principals"]}
    assert node.api.get("/v1/webhooks").json["webhooks"] == []


def test_a_list_that_is_left_out_altogether_stays_with_prune(node, tmp_path):
    file = written(tmp_path, {"access": {"identity_providers": WANTED["access"]["identity_providers"]}})
    assert all(each["status"] == "up_to_date" for each in planned(node, "--file", file, "--prune")["steps"])
    node.cli("plan", "--file", file, "--prune", "--detailed-exitcode")


def test_a_plan_file_is_applied_as_shown_or_not_at_all(node, tmp_path):
    file = written(tmp_path, changed(WANTED, lambda state: state["webhooks"][0].update(types=["PinRevoked"])))
    plan = str(tmp_path / "plan.json")
    node.cli("plan", "--file", file, "--out", plan)
    [hook] = node.api.get("/v1/webhooks").json["webhooks"]
    # Sign-ins and tokens of others are no reason to refuse it.
    node.api.must("POST", "/v1/tokens", {"name": "another", "grants": [{"role": "viewer", "apps": ["*"]}]})
    node.api.must("PATCH", f"/v1/webhooks/{hook['webhook_id']}", {"description": "by hand"})
    refused = node.cli("apply", "--plan", plan, status=6)
    assert "when the plan was made" in refused.stderr and "Nothing is recorded." in refused.stderr
    node.cli("plan", "--file", file, "--out", plan)
    assert node.cli("apply", "--plan", plan).stdout == f"webhook {HOOK}: recorded.\n"
    assert node.api.get("/v1/webhooks").json["webhooks"][0]["types"] == ["PinRevoked"]


def test_a_plan_file_can_name_no_other_operation(node, tmp_path):
    file = written(tmp_path, changed(WANTED, lambda state: state["webhooks"][0].update(description="a")))
    plan = tmp_path / "plan.json"
    node.cli("plan", "--file", file, "--out", str(plan))
    made = json.loads(plan.read_text())
    made["shared"]["spec"]["webhooks"][0]["description"] = "another"
    plan.write_text(json.dumps(made))
    assert "Nothing is recorded." in node.cli("apply", "--plan", str(plan), status=6).stderr


def test_an_approval_rule_is_set_after_the_apps_that_it_would_hold_up(node, tmp_path):
    node.api.must("POST", "/v1/access/principals", {"name": "Grace Hopper"})
    [grace] = [each for each in node.api.get("/v1/access").json["principals"] if each["name"] == "Grace Hopper"]
    node.api.must("POST", f"/v1/access/principals/{grace['principal_id']}/grants", {"role": "approver", "apps": ["*"]})
    state = {
        "apps": [{"app": "com.example.bank", "display_name": "Bank"}],
        "access": {"approval_rules": [{"rule": "four-eyes", "apps": ["com.example.*"], "permissions": ["apps.change"], "approvals": 1}]},
    }
    shown = node.cli("apply", "--file", written(tmp_path, state), "--reason", "four eyes").stdout
    assert shown.index("com.example.bank: recorded.") < shown.index("approval rule four-eyes: recorded.")


def test_a_proposal_has_roles_and_apps_and_refuses_what_shows_a_secret(node, tmp_path):
    boss = Person(node.api, "boss", "admin")
    state = {
        "apps": [{"app": "com.example.bank", "display_name": "Bank"}],
        "access": {"roles": [{"role": "watcher", "permissions": ["apps.read"]}]},
    }
    shown = cli_of(boss, node, tmp_path, "apply", "--file", written(tmp_path, state), "--propose", "--reason", "a bank").stdout
    assert "chg_" in shown
    [change] = node.api.get("/v1/changes").json["changes"]
    events = node.api.get(f"/v1/changes/{change['change_id']}").json["preview"]["events"]
    assert [each["type"] for each in events] == ["RoleDefined", "AppCreated"]
    with_hook = written(tmp_path, {"webhooks": [{"url": OTHER_HOOK}]})
    refused = cli_of(boss, node, tmp_path, "plan", "--file", with_hook, "--propose", "--reason", "chat", status=1)
    assert "cannot be proposed" in refused.stdout + refused.stderr


@pytest.mark.parametrize(
    "state, message",
    [
        ({"access": {"rolls": []}}, "/access/rolls"),
        ({"fleet": {"issuer": 5}}, "/fleet/issuer"),
        ({"access": {"roles": [{"permissions": []}]}}, "must have a member role"),
        ({"access": {"roles": [{"role": "a", "permissions": ["apps.read"]}] * 2}}, "a second time"),
        ({"access": {"principals": [{"name": "a", "kind": "robot"}]}}, "person or service"),
        ({"webhooks": [{"url": HOOK, "reason": "x"}]}, "--reason"),
        ({"webhooks": {}}, "/webhooks"),
        ({}, "/apps: is required"),
    ],
)
def test_a_malformed_section_is_refused_with_its_place(own_server, tmp_path, state, message):
    assert message in own_server.cli("plan", "--file", written(tmp_path, state), status=2).stderr


def test_a_refused_entry_keeps_all_others_from_being_recorded(node, tmp_path):
    def wrong(state):
        state["fleet"]["issuer"] = "other.example.com"
        state["access"]["roles"][0]["permissions"] = ["apps.fly"]

    mark = node.api.mark()
    refused = node.cli("apply", "--file", written(tmp_path, changed(WANTED, wrong)), "--reason", "x", status=3)
    assert "role releaser" in refused.stderr and "Nothing is recorded." in refused.stderr
    assert node.api.since(mark) == []


def test_sections_of_two_files_are_merged_and_may_not_be_twice(node, tmp_path):
    first = written(tmp_path, {"fleet": WANTED["fleet"]}, "a.yaml")
    second = written(tmp_path, {"webhooks": WANTED["webhooks"]}, "b.yaml")
    assert len(planned(node, "--file", first, "--file", second)["steps"]) == 2
    assert "second section fleet" in node.cli("plan", "--file", first, "--file", first, status=2).stderr


def test_a_small_token_plans_no_more_than_it_may_do(node, tmp_path):
    editor = Person(node.api, "small", "editor")
    refused = cli_of(editor, node, tmp_path, "plan", "--file", written(tmp_path, {"webhooks": WANTED["webhooks"]}), status=4)
    assert "webhooks.read" in refused.stderr


def test_names_that_do_not_tell_principals_apart_are_refused(node, tmp_path):
    node.api.must("POST", "/v1/access/principals", {"name": "nightly", "kind": "service"})
    refused = node.cli("plan", "--file", written(tmp_path, WANTED), status=1)
    assert "2 principals have the name nightly" in refused.stderr
    assert "have the name nightly" in node.cli("export", "yaml", "--output", f"{tmp_path}/o/", "--shared", status=1).stderr
