"""Proposed changes: four eyes over the API and the command line, on two nodes at once, at their time, around freezes, and in an
emergency; and what they tell to whom."""

import json
import os
import random
import time

import pytest
from nodes import start_node
from people import Person, propose, renaming
from pinledger import API, FULL, Server, eventually, host_body, in_threads, pin_of
from problems import expect_problem

SHOP, HOST = "com.example.changes.shop", "shop.example.com"
TILL, OTHER_HOST = "org.example.changes.till", "till.example.org"
APP = f"/v1/apps/{SHOP}"


@pytest.fixture(scope="module")
def node(own_timed_server):
    return own_timed_server


@pytest.fixture(scope="module")
def admin(node):
    api = node.api
    api.server = node
    for app, host in ((SHOP, HOST), (TILL, OTHER_HOST)):
        api.must("POST", "/v1/apps", {"app": app})
        api.must("POST", f"/v1/apps/{app}/hosts", host_body(host, mode="report_only"))
    return api


@pytest.fixture(scope="module")
def people(admin):
    made = {
        "ada": Person(admin, "Ada", "editor"), "bob": Person(admin, "Bob", "approver"),
        "eve": Person(admin, "Eve", "approver", "com.example.*"), "root": Person(admin, "Root", "admin"),
        "till": Person(admin, "Till", "admin", "org.example.*"),
        "ci": Person(admin, "CI", "editor", kind="service"),
    }  # fmt: skip
    rule = {"apps": ["com.example.changes.*"], "approvals": 1, "permissions": ["apps.change", "protection.weaken", "apps.archive"]}
    admin.must("PUT", "/v1/access/approval-rules/two-people", rule)
    return made


@pytest.fixture
def ada(people):
    return people["ada"].api


@pytest.fixture
def bob(people):
    return people["bob"].api


def proposed(api: API, body: dict | None = None, query: str = "change=new", path: str = APP, method: str = "PATCH") -> dict:
    return propose(api, path, body, query, method)


def approve(api: API, change: dict):
    return api.post(f"/v1/changes/{change['change_id']}/approve", {"content_sha256": change["content_sha256"]})


def act(api: API, change: dict, verb: str, body: dict | None = None):
    return api.post(f"/v1/changes/{change['change_id']}/{verb}", body or {})


def shown(api: API, change: dict) -> dict:
    return api.must("GET", f"/v1/changes/{change['change_id']}").json


# One change


def test_a_change_takes_two_people(admin, ada, bob):
    direct = ada.request("PATCH", APP, renaming())
    expect_problem(direct, 403, "approval_required")
    assert direct.json["rules"] == [{"rule": "two-people", "approvals": 1}] and "`change=new`" in direct.json["advice"]
    before = admin.get(APP).json["version"]
    change = proposed(ada, renaming("Two people"))
    assert change["status"] == "proposed" and change["preview"]["ready"] is False
    assert change["preview"]["problem"]["type"] == "/problems/approvals_missing"
    assert [event["type"] for event in change["preview"]["events"]] == ["AppRenamed"]
    assert change["preview"]["differences"][0]["difference"][0]["after"] == "Two people"
    assert admin.get(APP).json["version"] == before
    expect_problem(act(ada, change, "apply"), 409, "approvals_missing")
    expect_problem(approve(ada, change), 403, "approval_not_counted")
    assert approve(bob, change).status == 200
    assert shown(ada, change)["preview"]["ready"] is True
    applied = act(ada, change, "apply")
    assert applied.status == 200 and applied.json["change"]["status"] == "applied"
    assert [event["type"] for event in applied.json["events"]] == ["AppRenamed", "ChangeApplied"]
    assert admin.get(APP).json["display_name"] == "Two people"
    expect_problem(act(ada, change, "apply"), 409, "change_state")
    # The history of the app says by which change, and why; the change says who approved.
    renamed = admin.history(f"{APP}/history", type="AppRenamed")[-1]
    assert renamed["correlation_id"] == change["change_id"] and renamed["reason"] == "new name"
    assert [one["approver"]["name"] for one in shown(bob, change)["approvals"]] == ["Bob"]


def test_two_tokens_of_one_person_are_one_person(admin, people, ada):
    change = proposed(ada)
    second = people["ada"].another_token(admin)
    expect_problem(approve(second, change), 403, "approval_not_counted")
    stray = admin.holding("approver")
    expect_problem(approve(stray, change), 403, "approval_not_counted")
    act(ada, change, "withdraw")


def test_a_token_that_belongs_to_no_one_proposes_nothing_that_needs_approvals(admin):
    stray = admin.holding("editor")
    expect_problem(stray.request("PATCH", f"{APP}?change=new", renaming()), 403, "proposer_unknown")


def test_an_approval_is_for_the_content_that_was_looked_at(ada, bob, people):
    change = proposed(ada)
    assert approve(bob, change).status == 200
    other = ada.must("PATCH", f"{APP}?change={change['change_id']}", {"version_gate": {"minimum": "2.0"}}).json["change"]
    assert other["approvals"] == [] and len(other["commands"]) == 2
    expect_problem(approve(people["eve"].api, change), 409, "change_content_stale")
    expect_problem(act(ada, change, "apply"), 409, "approvals_missing")
    edited = ada.request(
        "PATCH", f"/v1/changes/{change['change_id']}", {"content_sha256": change["content_sha256"], "reason": "x"})
    expect_problem(edited, 409, "change_content_stale")
    assert approve(bob, other).status == 200 and act(bob, other, "apply").status == 200


def test_a_draft_is_gathered_before_it_is_proposed(admin, ada, bob):
    draft = proposed(ada, renaming("Drafted"), "change=draft")
    assert draft["status"] == "draft"
    expect_problem(approve(bob, draft), 409, "change_state")
    pin = pin_of("drafted")
    more = proposed(
        ada, {"pin": pin, "role": "backup"}, f"change={draft['change_id']}", f"{APP}/hosts/{HOST}/pins", "POST")
    assert more["status"] == "draft" and len(more["commands"]) == 2
    opened = act(ada, more, "propose").json["change"]
    assert approve(bob, opened).status == 200
    version = admin.get(APP).json["version"]
    assert act(bob, opened, "apply").status == 200
    after = admin.get(APP).json
    assert after["display_name"] == "Drafted" and after["version"] > version + 1
    assert pin in [one["pin"] for one in admin.get(f"{APP}/hosts/{HOST}").json["baseline"]["pins"]]


def test_a_base_that_moved_makes_a_conflict(admin, ada, bob):
    change = proposed(ada, renaming("Same"))
    assert approve(bob, change).status == 200
    other = proposed(ada, renaming("Same"))
    assert approve(bob, other).status == 200 and act(ada, other, "apply").status == 200
    expect_problem(act(ada, change, "apply"), 409, "change_conflict")
    preview = shown(ada, change)["preview"]
    assert preview["ready"] is False and preview["problem"]["type"] == "/problems/change_conflict"
    act(ada, change, "withdraw")


def test_a_repeated_proposal_is_one(ada):
    key = f"proposal-{time.time_ns()}"
    headers = {"Idempotency-Key": key}
    body = renaming()
    first, second = (ada.request("PATCH", f"{APP}?change=new", body, headers) for _ in range(2))
    assert first.json["change_id"] == second.json["change_id"]
    assert second.headers["Idempotency-Replayed"] == "true"
    act(ada, first.json["change"], "withdraw")


def test_a_dry_run_writes_nothing_down(admin, ada):
    mark = admin.mark()
    answer = ada.request("PATCH", f"{APP}?change=new&dry_run=true", renaming())
    assert answer.status == 202 and answer.json["dry_run"] is True and "Location" not in answer.headers
    assert answer.json["change"]["preview"]["events"]
    assert ada.get(f"/v1/changes/{answer.json['change_id']}").status == 404
    assert admin.since(mark) == []


@pytest.mark.parametrize(
    "query", ["change=old", "change=", "change=chg_1", "change=new&bypass_approvals=true", "change=new&plan_hash=" + "0" * 64,
              "change=new&not_before=soon", "not_before=2036-01-01T00:00:00Z",
              "bypass_approvals=true&not_before=2036-01-01T00:00:00Z"])  # fmt: skip
def test_malformed_proposals_are_refused(admin, people, query):
    mark = admin.mark()
    assert people["root"].api.request("PATCH", f"{APP}?{query}", renaming()).status in (400, 422)
    assert admin.since(mark) == []


def test_a_time_in_the_past_is_no_time_for_a_change(node, ada):
    answer = ada.request("PATCH", f"{APP}?change=new&not_before=2020-01-01T00:00:00Z", renaming())
    expect_problem(answer, 422, "invalid_expiry")
    later = proposed(ada, query=f"change=new&not_before={node.clock.from_now(days=25)}")
    assert act(ada, later, "withdraw").status == 200


def test_a_proposal_is_for_the_version_that_it_names(admin, ada, people):
    tag = admin.get(APP).headers["ETag"]
    change = proposed(ada)
    admin.must("PATCH", f"/v1/apps/{TILL}", renaming())
    named = ada.request("PATCH", f"{APP}?change=new", renaming(), {"If-Match": tag})
    assert named.status == 202 and act(ada, named.json["change"], "withdraw").status == 200
    assert act(ada, change, "withdraw").status == 200
    root = people["root"].api
    done = root.request("PATCH", f"{APP}?bypass_approvals=true", renaming(), {"If-Match": tag})
    assert done.status == 200 and done.json["stream"] == f"app/{SHOP}"
    assert done.headers["ETag"] == admin.get(APP).headers["ETag"] != tag
    for query in ("change=new", "bypass_approvals=true"):
        expect_problem(root.request("PATCH", f"{APP}?{query}", renaming(), {"If-Match": tag}), 412, "stale_version")
    act(people["bob"].api, done.json, "review", {"reason": "fine"})


def test_an_update_never_takes_back_what_others_added(ada, people):
    change = proposed(ada)
    added = ada.must("PATCH", f"{APP}?change={change['change_id']}", {"version_gate": {"minimum": "3.0"}}).json["change"]
    stale = ada.request(
        "PATCH", f"/v1/changes/{change['change_id']}", {"content_sha256": change["content_sha256"], "reason": "y"})
    expect_problem(stale, 409, "change_content_stale")
    fresh = ada.must(
        "PATCH", f"/v1/changes/{change['change_id']}", {"content_sha256": added["content_sha256"], "reason": "y"}).json["change"]
    assert len(fresh["commands"]) == 2 and fresh["reason"] == "y"
    act(ada, change, "withdraw")


def test_a_proposed_retirement_leaves_the_key_as_it_is(admin, people):
    root = people["root"].api
    kid = root.must("POST", "/v1/keys", {}).json["events"][0]["data"]["kid"]
    change = proposed(root, {"reason": "not used"}, path=f"/v1/keys/{kid}/retire", method="POST")
    assert own_secret_count(admin, kid) == 1
    assert next(key["state"] for key in root.get("/v1/keys").json["keys"] if key["kid"] == kid) == "announced"
    act(root, change, "withdraw")


def own_secret_count(admin: API, kid: str) -> int:
    return int(admin.server.sql(f"SELECT count(*) FROM pinledger.signing_secret WHERE kid = '{kid}'"))


def test_settings_of_the_log_and_of_webhooks_take_two_people_where_a_rule_says_so(admin, people, bob):
    root = people["root"].api
    root.must("POST", "/v1/log", {"origin": "changes.example.com/log"})
    keys = [root.get("/v1/log").json["keys"][0]["kid"]]
    keys.append(root.must("POST", "/v1/log/keys", {}).json["events"][0]["data"]["kid"])
    hook = root.must("POST", "/v1/webhooks", {"url": "https://example.com/hook", "description": "note"}).json["webhook_id"]
    witness = "witness.example.net/w1+621ef7a3+BHQ36cEh+K1pR4heKOHN+FOq6QTGzcCgS2MmMzV1junQ"
    rule = {"apps": ["*"], "approvals": 1, "permissions": ["log.manage", "webhooks.manage"]}
    admin.must("PUT", "/v1/access/approval-rules/outgoing", rule)
    requests = [
        ("PATCH", "/v1/log", {"public": True, "document_proofs": True}),
        ("POST", f"/v1/log/keys/{keys[0]}/retire", {}),
        ("POST", "/v1/log/witnesses", {"vkey": witness, "url": "https://witness.example.net/pins"}),
        ("PUT", "/v1/log/quorum", {"quorum": 1}),
        ("PATCH", f"/v1/webhooks/{hook}", {"url": "https://example.com/other", "types": ["PinRevoked"], "apps": [SHOP], "description": None}),
        ("PATCH", f"/v1/webhooks/{hook}", {"paused": True}),
    ]  # fmt: skip
    try:
        draft = None
        for method, path, body in requests:
            body |= {"reason": "audit"}
            if path != "/v1/log/quorum":  # There is no witness yet: alone it is refused for that.
                expect_problem(root.request(method, path, body), 403, "approval_required")
            draft = proposed(root, body, f"change={draft['change_id'] if draft else 'draft'}", path, method)
        change = act(root, draft, "propose").json["change"]
        assert own_secret_count(admin, keys[0]) == 1
        assert root.get("/v1/log").json["public"] is False
        expect_problem(act(root, change, "apply"), 409, "approvals_missing")
        assert approve(bob, change).status == 200
        assert act(root, change, "apply").status == 200
        log, shown_hook = root.get("/v1/log").json, root.get(f"/v1/webhooks/{hook}").json
        assert log["public"] is True and log["document_proofs"] is True
        assert [key["kid"] for key in log["keys"] if "retired_at" not in key] == [keys[1]]
        assert root.get("/v1/log/witnesses").json["quorum"] == 1
        assert (shown_hook["url"], shown_hook["types"], shown_hook["apps"]) == ("https://example.com/other", ["PinRevoked"], [SHOP])
        assert "description" not in shown_hook and shown_hook["paused"] is True
        eventually(lambda: own_secret_count(admin, keys[0]) == 0, "the end of the retired key's private half")
        removal = proposed(root, None, "change=new&reason=unused", f"/v1/webhooks/{hook}", "DELETE")
        assert approve(bob, removal).status == 200 and act(root, removal, "apply").status == 200
        assert root.get(f"/v1/webhooks/{hook}").status == 404
        end = proposed(root, {"quorum": 0, "reason": "end"}, "change=draft", "/v1/log/quorum", "PUT")
        end = proposed(root, None, f"change={end['change_id']}", "/v1/log/witnesses/621ef7a3", "DELETE")
        end = act(root, end, "propose").json["change"]
        assert approve(bob, end).status == 200 and act(root, end, "apply").status == 200
        assert root.get("/v1/log/witnesses").json["witnesses"] == []
    finally:
        admin.must("DELETE", "/v1/access/approval-rules/outgoing?reason=end")


def test_an_import_waits_for_its_approvals(admin, ada, bob):
    app = "com.example.changes.imported"
    pins = "".join(f'<pin digest="SHA-256">{pin_of(name).removeprefix("sha256/")}</pin>' for name in ("import one", "import two"))
    body = (
        f"<network-security-config><domain-config><domain>{HOST}</domain><pin-set>{pins}</pin-set></domain-config>"
        "</network-security-config>"
    ).encode()
    path, headers = f"/v1/import/android_nsc?app={app}", {"Content-Type": "application/xml"}

    def imported(query: str = "", **more):
        return ada.request("POST", path + query, body, headers=headers | more)

    direct = imported()
    expect_problem(direct, 403, "approval_required")
    rehearsed = imported("&change=new&dry_run=true")
    assert rehearsed.status == 202 and rehearsed.json["dry_run"] is True and rehearsed.json["plan"], rehearsed
    answers = [imported("&change=new", **{"Idempotency-Key": "import-once"}) for _ in range(2)]
    change = answers[0].json["change"]
    assert [answer.status for answer in answers] == [202, 202] and answers[1].json["change_id"] == change["change_id"]
    assert any("2 pins, mode enforce" in step for step in answers[0].json["plan"]) and answers[0].json["findings"]
    assert change["import"] is True and change["reason"] and admin.get(f"/v1/apps/{app}").status == 404
    # Next to another command it is no import any more, which may bring pins of which only hashes are known.
    other = imported("&change=draft").json["change"]
    assert other["import"] is True
    other = proposed(ada, renaming(), f"change={other['change_id']}")
    assert "import" not in other and len(other["commands"]) == 2
    act(ada, other, "withdraw")
    assert approve(bob, change).status == 200
    applied = act(ada, change, "apply")
    assert applied.status == 200, applied
    host = admin.get(f"/v1/apps/{app}/hosts/{HOST}").json
    assert host["baseline"]["mode"] == "enforce" and len(host["baseline"]["pins"]) == 2
    # The app is what the file made of it; a repetition tells of the file as it was proposed.
    again = imported("&change=new", **{"Idempotency-Key": "import-once"})
    assert (again.status, again["Idempotency-Replayed"]) == (202, "true"), again
    assert (again.json["change_id"], again.json["plan"]) == (change["change_id"], answers[0].json["plan"])


def test_a_repeated_proposal_shows_nothing_that_others_added(admin):
    mine, hidden = "com.example.repeated", "org.example.hidden"
    for app in (mine, hidden):
        admin.make_app(app, HOST)
    editor = admin.holding("editor", mine)
    body, key = {"display_name": "Mine", "reason": "test"}, {"Idempotency-Key": "repeated-proposal"}
    for method, path, given in (
        ("PATCH", f"/v1/apps/{mine}", body), ("PUT", f"/v1/apps/{mine}/spec", {"display_name": "Mine too", "reason": "test"}),
    ):  # fmt: skip
        first = editor.request(method, f"{path}?change=new", given, headers=key | {"Idempotency-Key": method})
        assert first.status == 202, first
        change = first.json["change_id"]
        added = admin.request("PATCH", f"/v1/apps/{hidden}?change={change}", {"display_name": "Secret", "reason": "test"})
        assert added.status == 202, added
        again = editor.request(method, f"{path}?change=new", given, headers=key | {"Idempotency-Key": method})
        expect_problem(again, 404, "change_unknown")
        assert b"ecret" not in again.body and hidden.encode() not in again.body


def test_keys_and_receivers_are_no_part_of_a_change(people, ada):
    root = people["root"].api
    for method, path, body in (
        ("POST", "/v1/webhooks", {"url": "https://example.com/"}), ("POST", "/v1/keys", {}),
        ("POST", f"{APP}/telemetry-keys", {}),
    ):  # fmt: skip
        assert root.request(method, f"{path}?change=new", body).status == 400, path
    expect_problem(ada.request("PATCH", f"{APP}?change=new", {"display_name": "x"}), 422, "reason_required")
    name = root.get(APP).json["display_name"]
    expect_problem(ada.request("PATCH", f"{APP}?change=new", renaming(name)), 409, "change_without_effect")


# Kill switches, and emergencies


def test_a_kill_switch_never_waits_to_be_engaged(admin, people):
    root = people["root"].api
    admin.must("PUT", "/v1/access/approval-rules/switches", {"apps": ["*"], "approvals": 1, "permissions": ["kill_switches.release"]})
    try:
        root.must("PUT", f"{APP}/kill-switch", {"reason": "drill", "expires_at": admin.server.clock.from_now(hours=1)})
        expect_problem(root.request("DELETE", f"{APP}/kill-switch?reason=over"), 403, "approval_required")
        change = proposed(root, query="change=new&reason=over", path=f"{APP}/kill-switch", method="DELETE", body={})
        assert approve(people["bob"].api, change).status == 200
        assert act(root, change, "apply").status == 200
        assert "kill_switch" not in root.get(APP).json or root.get(APP).json["kill_switch"] is None
    finally:
        admin.must("DELETE", "/v1/access/approval-rules/switches")


def test_approvals_are_bypassed_in_an_emergency_and_reviewed_by_another_person(admin, people, ada, bob):
    root = people["root"].api
    expect_problem(ada.request("PATCH", f"{APP}?bypass_approvals=true", renaming()), 403, "permission_denied")
    expect_problem(root.request("PATCH", f"{APP}?bypass_approvals=true", {"display_name": "x"}), 422, "reason_required")
    done = root.must("PATCH", f"{APP}?bypass_approvals=true", renaming("Emergency"))
    assert admin.get(APP).json["display_name"] == "Emergency"
    change = {"change_id": done.json["change_id"]}
    assert [event["type"] for event in done.json["events"]] == ["ChangeCreated", "AppRenamed", "ChangeApplied"]
    open_reviews = bob.get("/v1/changes?status=awaits_review").json["changes"]
    assert change["change_id"] in [one["change_id"] for one in open_reviews]
    expect_problem(act(root, change, "review", {"reason": "mine"}), 403, "approval_not_counted")
    expect_problem(act(ada, change, "review", {"reason": "x"}), 403, "permission_denied")
    assert act(bob, change, "review", {}).status == 422
    reviewed = act(bob, change, "review", {"reason": "right"})
    assert reviewed.status == 200 and reviewed.json["change"]["review"]["reviewer"]["name"] == "Bob"
    # A change that waits for approvals can be applied so too.
    waiting = proposed(ada)
    assert act(root, waiting, "apply", {"bypass_approvals": True}).status == 422
    assert act(root, waiting, "apply", {"bypass_approvals": True, "reason": "outage"}).status == 200
    assert shown(bob, waiting)["awaits_review"] is True


def test_four_eyes_over_access_keep_an_administrator_from_making_an_approver(admin, people, bob):
    root = people["root"].api
    rule = {"apps": ["*"], "approvals": 1, "permissions": ["access.manage", "approvals.manage"]}
    for made, path, body in (
        ("principal_id", "/v1/access/principals", {"name": "Made in an outage"}),
        ("grant_id", f"/v1/access/principals/{people['ada'].id}/grants", {"role": "viewer", "apps": [TILL]}),
    ):
        answer = root.request("POST", f"{path}?bypass_approvals=true", body | {"reason": "outage"})
        assert answer.status == 201 and made in answer.json and answer.json["stream"] == "access", answer
    root.must("PUT", "/v1/access/approval-rules/access", rule)
    try:
        grants = f"/v1/access/principals/{people['ada'].id}/grants"
        for method, path, body in (
            ("POST", grants, {"role": "approver", "apps": [SHOP]}),
            ("POST", "/v1/tokens", {"name": "stolen", "principal_id": people["bob"].id}),
            ("POST", "/v1/tokens", {"name": "wide", "grants": [{"role": "admin", "apps": ["*"]}]}),
            ("PUT", "/v1/access/roles/editor-more", {"permissions": ["changes.approve"]}),
            ("DELETE", "/v1/access/approval-rules/access", None), ("DELETE", "/v1/access/approval-rules/two-people", None),
            ("PUT", "/v1/access/approval-rules/access", rule | {"permissions": ["apps.change"]}),
        ):  # fmt: skip
            expect_problem(root.request(method, path, body), 403, "approval_required")
        # One more token of one's own gives nothing that its owner does not have.
        mine = root.must("POST", "/v1/tokens", {"name": "laptop", "principal_id": people["root"].id}).json["token_id"]
        root.must("DELETE", f"/v1/tokens/{mine}")
        # A token that is proposed is valid once the change is applied.
        answer = root.must("POST", "/v1/tokens?change=new", {"name": "later", "grants": [{"role": "viewer", "apps": ["*"]}], "reason": "x"})
        token = API(admin.port, answer.json["token"])
        assert token.get("/v1/whoami").status == 401
        assert approve(bob, answer.json["change"]).status == 200 and act(root, answer.json["change"], "apply").status == 200
        assert token.get("/v1/whoami").status == 200
    finally:
        removal = root.must("DELETE", "/v1/access/approval-rules/access?change=new&reason=over").json["change"]
        assert approve(bob, removal).status == 200 and act(root, removal, "apply").status == 200


# Time


def test_a_change_is_applied_at_its_time_by_the_server(node, admin, ada, bob):
    change = proposed(ada, renaming("On time"), f"change=new&not_before={node.clock.from_now(hours=1)}")
    assert approve(bob, change).status == 200
    expect_problem(act(ada, change, "apply"), 409, "change_state")
    node.forward(hours=1)
    eventually(lambda: shown(ada, change)["status"] == "applied", "the change at its time")
    assert shown(ada, change)["closed_by"]["kind"] == "system"
    assert admin.get(APP).json["display_name"] == "On time"
    events = admin.history("/v1/history", stream="changes", type="ChangeApplied")
    assert [one["data"]["change_id"] for one in events].count(change["change_id"]) == 1


def test_a_change_that_cannot_be_applied_at_its_time_is_suspended(node, ada, bob):
    name = f"Twice {time.time_ns()}"
    change = proposed(ada, renaming(name), f"change=new&not_before={node.clock.from_now(hours=1)}")
    assert approve(bob, change).status == 200
    other = proposed(ada, renaming(name))
    assert approve(bob, other).status == 200 and act(ada, other, "apply").status == 200
    node.forward(hours=1)
    eventually(lambda: shown(ada, change)["status"] == "suspended", "the suspension of the change")
    assert "would record other events" in shown(ada, change)["obstacle"]
    act(ada, change, "withdraw")


def test_a_freeze_keeps_changes_back_until_it_is_removed(node, people, ada, bob):
    root, clock = people["root"].api, node.clock
    frozen = root.must("POST", "/v1/access/freezes", {"apps": [SHOP], "from": clock.from_now(seconds=-1), "until": clock.from_now(hours=1)})
    freeze = frozen.json["freeze_id"]
    change = proposed(ada)
    assert approve(bob, change).status == 200
    expect_problem(act(ada, change, "apply"), 409, "frozen")
    assert shown(ada, change)["preview"]["problem"]["type"] == "/problems/frozen"
    root.must("PUT", f"{APP}/kill-switch", {"reason": "drill", "expires_at": clock.from_now(hours=1)})
    assert [one["freeze_id"] for one in ada.get("/v1/access/freezes").json["freezes"]] == [freeze]
    root.must("DELETE", f"/v1/access/freezes/{freeze}")
    assert act(ada, change, "apply").status == 200
    root.must("DELETE", f"{APP}/kill-switch?reason=over&bypass_approvals=true")


# What a change tells to whom


def test_a_change_does_not_exist_for_those_who_do_not_see_all_that_it_is_about(admin, people, ada):
    till = people["till"].api
    change = proposed(ada)
    unknown = {"change_id": "chg_0000000000000000", "content_sha256": "0" * 64}
    for verb in ("propose", "reject", "withdraw", "apply", "review"):
        there, nowhere = (act(till, one, verb, {"reason": "x"}) for one in (change, unknown))
        for answer in (there, nowhere):
            expect_problem(answer, 404, "change_unknown")
        assert there.json["detail"].replace(change["change_id"], "") == nowhere.json["detail"].replace(unknown["change_id"], "")
    expect_problem(approve(till, change), 404, "change_unknown")
    expect_problem(till.get(f"/v1/changes/{change['change_id']}"), 404, "change_unknown")
    added = till.request("PATCH", f"/v1/apps/{TILL}?change={change['change_id']}", renaming())
    expect_problem(added, 404, "change_unknown")
    seen = till.get("/v1/changes").json["changes"]
    assert all(SHOP not in json.dumps(till.must("GET", f"/v1/changes/{one['change_id']}").json) for one in seen)
    assert change["change_id"] not in [one["change_id"] for one in seen]
    assert till.get("/v1/access/approval-rules").json["approval_rules"] == []
    assert [one["rule"] for one in people["eve"].api.get("/v1/access/approval-rules").json["approval_rules"]] == ["two-people"]
    viewer = admin.holding("viewer")
    assert viewer.get("/v1/changes").status == 403
    act(ada, change, "withdraw")


def test_no_one_proposes_what_they_may_not_do(people, ada, bob):
    for api in (bob, people["till"].api):
        assert api.request("PATCH", f"{APP}?change=new", renaming()).status in (403, 404)
    grants = f"/v1/access/principals/{people['ada'].id}/grants?change=new"
    expect_problem(ada.request("POST", grants, {"role": "admin", "apps": ["*"], "reason": "x"}), 403, "permission_denied")


# Many at once, on two nodes


def test_approvals_edits_withdrawals_and_direct_commands_at_once_on_two_nodes(node, admin, people):
    """Whatever meets: nothing is applied without a valid approval of what it does, and nothing twice."""
    second, _ = start_node(node, "second", "--kek-file", str(node.data / "key-encryption-key"))
    try:
        # The draws of a failure are those of its seed again, and as far as threads allow their order.
        seed = int(os.environ.get("PINLEDGER_INTERLEAVINGS_SEED", time.time_ns() % 2**32))
        print(f"repeat with PINLEDGER_INTERLEAVINGS_SEED={seed}")
        clash(node, admin, people, [admin.port, second.port], seed)
    finally:
        second.stop()


def clash(node: Server, admin: API, people: dict[str, Person], ports: list[int], seed: int) -> None:
    made: list[str] = []

    def api(person: str, port: int) -> API:
        return API(port, people[person].api.token)

    # As many as are wanted by hand.
    for number in range(int(os.environ.get("PINLEDGER_INTERLEAVINGS", "100" if FULL else "25"))):
        start = admin.position()
        change = proposed(api("ada", admin.port), renaming(f"Round {number}"))
        made.append(change["change_id"])
        for port in ports[1:]:
            eventually(lambda port=port: API(port, admin.token).position() > start, "the change on the other node")
        choices = [
            lambda port: approve(api("bob", port), change), lambda port: approve(api("eve", port), change),
            lambda port: act(api("ada", port), change, "apply"), lambda port: act(api("root", port), change, "apply"),
            lambda port: act(api("ada", port), change, "withdraw"), lambda port: act(api("eve", port), change, "reject"),
            lambda port: api("ada", port).request("PATCH", f"{APP}?change={change['change_id']}", {"version_gate": {"minimum": f"1.{number}"}}),
            lambda port: API(port, admin.token).request("PATCH", f"/v1/apps/{TILL}", renaming()),
            lambda port: api("root", port).request("PATCH", f"{APP}?bypass_approvals=true", renaming(f"Round {number} at once")),
            lambda port: api("ada", port).request("PATCH", f"/v1/changes/{change['change_id']}", {
                "content_sha256": change["content_sha256"], "not_before": node.clock.from_now(hours=1), "reason": "later"}),
        ]  # fmt: skip
        picked = random.Random(f"{seed} {number}").sample(choices, 3) + choices[:4]

        def some(index: int) -> list:
            # Several times: what comes too early is refused.
            chance = random.Random(f"{seed} {number} {index}")
            answers = []
            for _ in range(4):
                time.sleep(chance.random() / 50)
                answers.append(picked[index](chance.choice(ports)))
            return answers

        answers = [answer for list in in_threads(len(picked), some) for answer in list]
        assert all(answer.status < 500 for answer in answers), [answer for answer in answers if answer.status >= 500]
        # Changes that were given a time come due in the midst of the next rounds, on both nodes at once.
        if number % 10 == 9:
            node.forward(hours=1)
        # Its author may have 100 open changes. One that has a time has been applied by now, if it could be.
        if number >= 50:
            act(api("ada", admin.port), {"change_id": made[number - 50]}, "withdraw")
    node.forward(hours=1)
    eventually(lambda: not any(is_due(admin, change) for change in made), "the end of every change whose time has come")
    approvals: dict[str, set] = {}
    content: dict[str, str] = {}
    applied: list[str] = []
    for event in admin.history("/v1/history", stream="changes"):
        data = event["data"]
        if data["change_id"] not in made:
            continue
        match event["type"]:
            case "ChangeCreated" | "ChangeEdited":
                content[data["change_id"]], approvals[data["change_id"]] = data["content_sha256"], set()
            case "ChangeApproved":
                assert data["content_sha256"] == content[data["change_id"]]
                approvals[data["change_id"]].add(data["approver"]["principal_id"])
            case "ChangeApplied":
                assert approvals[data["change_id"]] & {people["bob"].id, people["eve"].id}, event
                applied.append(data["change_id"])
    assert len(applied) == len(set(applied)) and applied
    names = [event["correlation_id"] for event in admin.history(f"{APP}/history", type="AppRenamed") if "correlation_id" in event]
    assert len([one for one in names if one in made]) == len(applied)


def is_due(admin: API, change: str) -> bool:
    """Says of a change with a time that the server is still to apply it, or to suspend it: it lacks no approval."""
    told = shown(admin, {"change_id": change})
    if told["status"] != "proposed" or "not_before" not in told:
        return False
    return told["preview"]["ready"] or told["preview"]["problem"]["type"] != "/problems/approvals_missing"


# The command line


def test_the_command_line_proposes_shows_and_applies(node, people, tmp_path):
    def cli(person: str, *arguments: str, **options):
        file = tmp_path / f"{person}.token"
        file.write_text(people[person].api.token)
        file.chmod(0o600)
        return node.cli(*arguments, "--token-file", str(file), **options)

    refused = cli("ada", "app", "update", SHOP, "--name", "By hand", status=4)
    assert "approval of another person" in refused.stderr and "--propose" in refused.stderr
    made = cli("ada", "app", "update", SHOP, "--name", "By hand", "--reason", "tidy", "--propose").stdout
    change = next(word for word in made.split() if word.startswith("chg_"))
    assert "The rule two-people asks for 1 approval; 0 count so far." in made and "is called By hand" in made
    assert change in cli("bob", "change", "list", "--status", "open").stdout
    assert "confirm" in cli("bob", "change", "approve", change, status=2).stderr
    digest = json.loads(cli("bob", "change", "show", change, "--output", "json").stdout)["content_sha256"]
    assert "the change's content is" in cli("bob", "change", "approve", change, "--content", digest[:10], status=6).stderr
    assert f"{change} is approved by Bob" in cli("bob", "change", "approve", change, "--content", digest).stdout
    assert "It can be applied" in cli("ada", "change", "show", change).stdout
    applied = cli("ada", "change", "apply", change).stdout
    assert "is called By hand" in applied and f"{change} is applied by Ada" in applied and "Written" not in applied
    elsewhere = tmp_path / "elsewhere.yaml"
    for path in ("@evil.invalid/v1/apps", ".evil.invalid/v1/apps", f"{APP}?dry_run=true", "/client/v1/jwks.json"):
        elsewhere.write_text(f"reason: x\noperations: [{{method: PATCH, path: '{path}', body: {{}}}}]\n")
        assert "must be the path of an operation" in cli("ada", "change", "create", "--from", str(elsewhere), status=2).stderr
    for text in ("reason: x\noperations: [{method: GET, path: /v1/apps}]", "reason: x\noperations: [{method: PUT, path: /v1/apps, body: [1]}]", "reason: [", "operations: []"):
        elsewhere.write_text(text)
        cli("ada", "change", "create", "--from", str(elsewhere), status=2)
    bombs = "\n".join([f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)])
    elsewhere.write_text(f"a0: &a0 [x, x]\n{bombs}\nreason: x\noperations: []\n")
    cli("ada", "change", "create", "--from", str(elsewhere), status=2)
    elsewhere.write_text(f"reason: off is a word\noperations: [{{method: PATCH, path: {APP}/hosts/{HOST}, body: {{baseline: {{mode: off}}}}}}]\n")
    off = cli("ada", "change", "create", "--from", str(elsewhere)).stdout
    assert "report_only -> off" in off
    cli("ada", "change", "withdraw", next(word for word in off.split() if word.startswith("chg_")))
    for command in (["key", "create"], ["webhook", "create", "https://example.com/"], ["log", "key", "add"]):
        assert "propose" in cli("root", *command, "--propose", "--reason", "x", status=2).stderr
    file = tmp_path / "hpkp.txt"
    pins = "; ".join(f'pin-sha256="{pin_of(name).removeprefix("sha256/")}"' for name in ("command one", "command two"))
    file.write_text(f"Host: command.example.com\nPublic-Key-Pins: {pins}; max-age=5184000\n")
    said = cli("ada", "import", "hpkp", str(file), "--app", f"{SHOP}.command", "--propose").stdout
    imported = next(word for word in said.split() if word.startswith("chg_"))
    shown_import = json.loads(cli("bob", "change", "show", imported, "--output", "json").stdout)
    assert shown_import["import"] is True and "only hashes are known" in cli("bob", "change", "show", imported).stdout
    assert "is approved by Bob" in cli("bob", "change", "approve", imported, "--content", shown_import["content_sha256"]).stdout
    assert "is applied" in cli("ada", "change", "apply", imported).stdout
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        f"reason: from a file\noperations:\n- method: patch\n  path: {APP}\n  body: {{display_name: From a file}}\n"
        f"- method: POST\n  path: {APP}/hosts/{HOST}/pins\n  body: {{pin: '{pin_of('file')}', role: backup}}\n")
    made = cli("ada", "change", "create", "--from", str(plan)).stdout
    change = next(word for word in made.split() if word.startswith("chg_"))
    assert "From a file" in made
    assert "rejected" in cli("bob", "change", "reject", change, "--reason", "no").stdout
    plan.write_text(f"reason: x\noperations:\n- {{method: PATCH, path: {APP}, body: {{display_name: A}}}}\n- {{method: PATCH, path: {APP}, body: {{oops: 1}}}}\n")
    assert "operation 2 (PATCH" in cli("ada", "change", "create", "--from", str(plan), status=3).stderr
    assert not json.loads(cli("bob", "change", "list", "--status", "draft", "--output", "json").stdout)["changes"]
    cli("root", "access", "freeze", "add", "--app", TILL, "--until", "1h", "--reason", "drill")
    listed = cli("root", "access", "freeze", "list").stdout
    freeze = next(word for word in listed.split() if word.startswith("frz_"))
    cli("root", "access", "freeze", "remove", freeze)
    cli("root", "access", "rule", "set", "keys", "keys.manage", "--app", "*", "--approvals", "1")
    assert "1 other person could approve" in cli("root", "access", "rule", "set", "keys", "keys.manage", "--app", "*", "--approvals", "2", status=6).stderr
    assert "keys.manage" in cli("root", "access", "rule", "list").stdout
    cli("root", "access", "rule", "remove", "keys")


def test_a_proposed_change_is_simulated_and_judged_for_deployed_clients(admin, people, ada):
    change = proposed(ada, {"baseline": {"mode": "off"}, "reason": "trial"}, path=f"{APP}/hosts/{HOST}")["change_id"]
    seen = people["till"].api
    simulated = ada.must("POST", f"{APP}/simulate", {"change_id": change, "devices": 100}).json
    assert simulated["moved"] == 100 and simulated["hosts"][0]["moves"][0]["to"]["outcome"] != "report_only"
    assert simulated["events"] and simulated["is_refused"] is False
    # Nothing of it is done, and its own app alone is judged after it.
    assert ada.get(f"{APP}/hosts/{HOST}").json["baseline"]["mode"] == "report_only"
    before, after = (ada.must("GET", f"{APP}/compat?client=okhttp{more}").json for more in ("", f"&change_id={change}"))
    assert [host["clients"][0]["sees"] for host in before["hosts"]] != [] and before != after
    # Who does not see the change cannot use it to look at an app of theirs.
    for answer in (
        seen.post(f"/v1/apps/{TILL}/simulate", {"change_id": change}), seen.get(f"/v1/apps/{TILL}/compat?change_id={change}"),
    ):  # fmt: skip
        expect_problem(answer, 404, "change_unknown")
    both = ada.post(f"{APP}/simulate", {"change_id": change, "change": {}})
    assert (both.status, both.json["errors"][0]["pointer"]) == (422, "/change")
    ada.must("POST", f"/v1/changes/{change}/withdraw", {})
    for answer in (ada.post(f"{APP}/simulate", {"change_id": change}), ada.get(f"{APP}/compat?change_id={change}")):
        expect_problem(answer, 409, "change_state")


def test_the_commands_show_what_a_change_does(admin, people, ada):
    change = proposed(ada, {"baseline": {"mode": "off"}, "reason": "trial"}, path=f"{APP}/hosts/{HOST}")["change_id"]
    shown = admin.server.cli("change", "show", change).stdout
    assert "Devices and deployed clients:" in shown and "devices would get something else" not in shown
    assert "10000 of 10000 devices judge connections differently" in shown
    assert f"{HOST} with any other key: accept and report -> accept, 10000 of 10000 devices" in shown
    assert f"~ {HOST}, mode: report_only -> off" in shown
    differences = admin.server.cli("change", "diff", change).stdout
    assert "report_only" in differences and "off" in differences and differences.count("\n") < shown.count("\n")
    assert "of 100 devices" in admin.server.cli("simulate", SHOP, "--change", change, "--devices", "100").stdout
    assert HOST in admin.server.cli("compat", SHOP, "--client", "okhttp", "--change", change).stdout
    assert admin.server.cli("simulate", SHOP, HOST, "--change", change, status=2).stderr
    ada.must("POST", f"/v1/changes/{change}/withdraw", {})
    assert "is withdrawn" in admin.server.cli("change", "diff", change, status=6).stderr
    # Devices get other bytes, and judge connections as before.
    pin = pin_of("a spare")
    for path, method, body, lines in (
        (APP, "PATCH", {"display_name": "Renamed"}, ["no connection is judged differently ("]),
        (f"{APP}/hosts/{HOST}/pins", "POST", {"pin": pin, "role": "backup", "force": True}, [
            f"+ pin {pin} (backup) for {HOST}", "no connection is judged differently, except with these keys",
            f"{HOST} with {pin}: accept and report -> accept, 10000 of 10000 devices"]),
        (f"{APP}/hosts", "POST", host_body("added.example.com") | {"force": True}, [
            "+ host added.example.com (enforce)", " (primary) for added.example.com", " (backup) for added.example.com",
            "added.example.com with any other key: accept -> refuse, 10000 of 10000 devices"]),
    ):  # fmt: skip
        change = proposed(people["root"].api, body | {"reason": "trial"}, path=path, method=method)["change_id"]
        shown = admin.server.cli("change", "show", change).stdout
        assert [line for line in lines if line not in shown] == [], shown
        people["root"].api.must("POST", f"/v1/changes/{change}/withdraw", {})
