"""Permissions: an operation of each kind, tokens, principals, grants and roles; and what a token of one app learns of another one,
which is nothing. Every operation with every permission and role is in AuthorizationTests in Swift, and daily in sweeps/."""

import pytest
from attacks import tells_nothing_of_an_app
from operations import (
    GUARDED, HOST, MINE, NOWHERE, OTHER_HOST, OTHERS, STREAMS, KeepAlive, is_denied, make_apps, name_of, named, sweep, try_out,
)  # fmt: skip
from pinledger import API, EVERYTHING, from_now, host_body, pin_of
from streams import LedgerStream


@pytest.fixture(scope="module")
def admin(own_server):
    make_apps(own_server.api)
    return own_server.api


@pytest.fixture(scope="module")
def mine(admin):
    """All rights on one app."""
    return admin.holding("admin", MINE)


# An operation of each kind

# Its permission, and the answers to a token that lacks this one alone, to one that has this one alone, to one of the app, to one of
# another app, and to none. 422 is for the empty body, and 409 for a log without a key: the operation was reached.
KINDS = {
    "addHost": ("apps.change", 403, 422, 422, 404, 401), "getHost": ("apps.read", 404, 200, 200, 404, 401),
    "listChanges": ("changes.read", 403, 200, 200, 200, 401), "createApp": ("apps.create", 403, 422, 422, 422, 401),
    "listKeys": ("keys.read", 403, 200, 403, 403, 401), "addPrincipal": ("access.manage", 403, 422, 403, 403, 401),
    "getCheckpoint": ("log.read", 403, 409, 403, 403, 401), "whoAmI": (None, 200, 200, 200, 200, 401),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_an_operation_asks_for_its_permission_where_its_kind_says(admin, mine, name):
    permission, *expected = KINDS[name]
    permissions = {one for role in admin.get("/v1/access/roles").json["roles"] for one in role["permissions"]}
    assert permission is None or permission in permissions
    asking = []
    for role, held in ((f"lacks-{name.lower()}", permissions - {permission}), (f"has-{name.lower()}", {permission or "apps.read"})):
        admin.must("PUT", f"/v1/access/roles/{role}", {"permissions": sorted(held)})
        asking.append(admin.holding(role))
    mark = admin.mark()
    answers = [try_out(api, named(name)) for api in (*asking, mine)]
    answers += [try_out(mine, named(name), app=OTHERS), try_out(API(admin.port, None), named(name))]
    assert [answer.status for answer in answers] == expected
    for answer in answers:
        assert answer.status != 403 or answer.json["permission"] == permission
        assert answer.status != 404 or answer.json["type"] == "/problems/app_unknown"
    assert admin.since(mark) == []


@pytest.mark.parametrize("name", ["getHost", "addHost", "importFile"])
def test_an_app_outside_of_a_tokens_scope_is_answered_like_one_that_does_not_exist(mine, name):
    tells_nothing_of_an_app(mine, named(name))


# A token of one app


def test_lists_show_only_the_apps_of_a_token(admin, mine):
    admin.must("PUT", f"/v1/apps/{OTHERS}/kill-switch", {"reason": "drill", "expires_at": from_now(hours=1)})
    admin.must("PUT", f"/v1/apps/{MINE}/kill-switch", {"reason": "drill", "expires_at": from_now(hours=1)})
    try:
        assert [app["app"] for app in mine.get("/v1/apps").json["apps"]] == [MINE]
        assert {switch["app"] for switch in mine.get("/v1/kill-switches").json["kill_switches"]} == {MINE}
        attention = mine.get("/v1/attention").json
        assert {item.get("app") for item in attention["items"]} <= {MINE, None}
        assert sum(attention["counts"].values()) == len(attention["items"])
        assert any(item.get("app") == OTHERS for item in admin.get("/v1/attention").json["items"])
    finally:
        for app in (OTHERS, MINE):
            admin.must("DELETE", f"/v1/apps/{app}/kill-switch?reason=over")


def test_nothing_that_a_token_of_one_app_may_read_names_another_app(admin, mine):
    asking = KeepAlive(mine)
    with sweep(admin) as offenders:
        for one in GUARDED:
            if one[1] == "get" and name_of(one) not in STREAMS:
                with offenders.of(one):
                    answer = try_out(asking, one)
                    assert OTHERS not in answer.body.decode() and OTHER_HOST not in answer.body.decode(), answer


def test_the_history_of_everything_needs_a_right_to_every_app(admin, mine):
    assert is_denied(mine.get("/v1/history")) and is_denied(mine.request("HEAD", "/v1/events"))
    assert {event["stream"] for event in mine.history(f"/v1/apps/{MINE}/history")} == {f"app/{MINE}"}
    assert mine.get(f"/v1/history?stream=app/{MINE}").status == 200
    for stream in (f"app/{OTHERS}", f"watch/{OTHERS}", f"app/{NOWHERE}"):
        answer = mine.get(f"/v1/history?stream={stream}")
        assert (answer.status, answer.json["type"]) == (404, "/problems/app_unknown"), stream
    for stream in ("fleet", "keys", "access", "webhooks", "log", "changes"):
        assert is_denied(mine.get(f"/v1/history?stream={stream}")), stream
    assert mine.request("HEAD", f"/v1/events?app={OTHERS}").status == 404


def test_the_history_leaves_out_what_belongs_to_no_app_and_may_not_be_read(admin):
    editor = admin.holding("editor")
    streams = {event["stream"].split("/")[0] for event in editor.history()}
    assert {"app"} <= streams <= {"app", "watch", "fleet"}
    everything = {event["stream"].split("/")[0] for event in admin.holding("auditor").history()}
    assert {"app", "access", "keys"} <= everything


def test_an_app_outside_of_a_tokens_scope_can_neither_be_created_nor_tried(admin, mine):
    for app in (OTHERS, NOWHERE):
        for dry_run in ("", "?dry_run=true"):
            answer = mine.post("/v1/apps" + dry_run, {"app": app})
            assert is_denied(answer), answer
            assert answer.json["permission"] == "apps.create"
    assert is_denied(admin.holding("viewer").post("/v1/apps", {"app": MINE}))


def test_a_version_to_expect_tells_nothing_of_an_app_outside_of_a_tokens_scope(admin, mine):
    for app in (OTHERS, NOWHERE):
        answer = mine.post("/v1/apps", {"app": app}, **{"If-Match": '"999"'})
        assert is_denied(answer) and "current_version" not in answer.json, answer
        answer = mine.request("PATCH", f"/v1/apps/{app}", {"display_name": "x"}, {"If-Match": '"999"'})
        assert (answer.status, answer.json["type"]) == (404, "/problems/app_unknown")


def test_the_administrative_interface_of_wultra_tells_nothing_of_other_apps(admin, mine):
    base = "/compat/wultra/admin"
    admin.must("PUT", f"/v1/apps/{OTHERS}/clients/wultra", {"settings": {"texts": [
        {"message_key": "secret", "language": "en", "text": "of " + OTHERS}]}})  # fmt: skip
    for app in (OTHERS, NOWHERE):
        answer = mine.post(f"{base}/apps", {"name": app, "displayName": "x"})
        assert answer.status >= 400 and "already" not in answer.body.decode(), answer
        assert mine.get(f"{base}/apps/{app}").status == 404
    assert OTHERS not in mine.get(f"{base}/apps").body.decode()
    second = "access-second"
    body = {"name": second, "displayName": "x"}
    editor = admin.holding("editor", second)
    assert "client_keys.manage" in editor.post(f"{base}/apps", body).body.decode()
    manager = admin.holding("admin", second)
    assert manager.post(f"{base}/apps", body).status == 200
    # The texts are those of all apps that its maker sees: of none.
    assert "secret" not in manager.get(f"/v1/apps/{second}/clients/wultra").body.decode()
    admin.must("PUT", "/v1/access/roles/changer", {"permissions": ["apps.read", "apps.change"]})
    changer = admin.holding("changer", second)
    refused = changer.post(f"{base}/apps/{second}/certificates/auto", {"domain": "localhost"})
    assert "probes.run" in refused.body.decode(), refused


def test_a_limit_to_hosts_lets_a_token_change_these_and_see_all(admin):
    app = "com.example.access.hosts"
    admin.make_app(app, "api.example.com", "www.example.com")
    grants = [{"role": "editor", "apps": [app], "hosts": ["api.example.com", "*.cdn.example.com"]}]
    api = API(admin.port, admin.must("POST", "/v1/tokens", {"name": "api team", "grants": grants}).json["token"])
    hosts = f"/v1/apps/{app}/hosts"
    assert len(api.get(hosts).json["hosts"]) == 2
    pin = {"pin": pin_of("next"), "role": "emergency", "state": "staged"}
    api.must("POST", f"{hosts}/api.example.com/pins", pin)
    api.must("POST", hosts, host_body("one.cdn.example.com"))
    for method, path, body in [
        ("POST", f"{hosts}/www.example.com/pins", pin), ("POST", hosts, host_body("two.example.com")),
        ("PATCH", f"/v1/apps/{app}", {"display_name": "X"}),
        ("DELETE", f"{hosts}/www.example.com?reason=why", None),
    ]:  # fmt: skip
        answer = api.request(method, path, body)
        assert is_denied(answer), f"{method} {path}: {answer}"


def test_force_needs_a_permission_of_its_own(admin):
    editor = admin.holding("editor", MINE)
    answer = editor.request("PATCH", f"/v1/apps/{MINE}", {"display_name": "X", "force": True, "reason": "why"})
    assert is_denied(answer) and answer.json["permission"] == "guard_rails.override"
    editor.must("PATCH", f"/v1/apps/{MINE}", {"display_name": "X", "reason": "why"})


# Tokens


def test_a_token_says_what_it_may_do(admin, mine):
    who = mine.get("/v1/whoami").json
    assert who["token"]["grants"] == [{"role": "admin", "apps": [MINE]}] and who["token"]["unscoped"] is False
    held = {one["permission"]: one["everywhere"] for one in who["permissions"]}
    assert held["apps.change"] is False and "keys.manage" not in held
    assert all(one["everywhere"] for one in admin.get("/v1/whoami").json["permissions"])


def test_a_token_makes_none_that_may_do_more(admin, mine):
    for grants in [
        EVERYTHING, [{"role": "viewer", "apps": ["*"]}], [{"role": "viewer", "apps": [OTHERS]}],
        [{"role": "viewer", "apps": [MINE + "*"]}], [{"role": "viewer", "apps": [MINE]}, {"role": "viewer", "apps": [OTHERS]}],
    ]:  # fmt: skip
        answer = mine.post("/v1/tokens", {"name": "wider", "grants": grants})
        assert (answer.status, answer.json["type"]) == (403, "/problems/grant_too_wide"), grants
    made = mine.holding("editor", MINE)
    assert is_denied(made.post("/v1/tokens", {"name": "x", "grants": [{"role": "viewer", "apps": [MINE]}]}))


def test_a_token_of_one_app_sees_and_revokes_the_tokens_of_this_app(admin, mine):
    made = mine.must("POST", "/v1/tokens", {"name": "mine too", "grants": [{"role": "viewer", "apps": [MINE]}]}).json
    theirs = admin.must("POST", "/v1/tokens", {"name": "theirs", "grants": [{"role": "viewer", "apps": [OTHERS]}]}).json
    names = {token["name"] for token in mine.get("/v1/tokens").json["tokens"]}
    assert "mine too" in names and not names & {"theirs", "first admin"}
    answer = mine.request("DELETE", f"/v1/tokens/{theirs['token_id']}")
    unknown = mine.request("DELETE", "/v1/tokens/tok_0000000000000000")
    assert answer.status == unknown.status == 404 and answer.json["type"] == unknown.json["type"]
    mine.must("DELETE", f"/v1/tokens/{made['token_id']}")
    # Every token may revoke itself.
    viewer = API(admin.port, theirs["token"])
    viewer.must("DELETE", f"/v1/tokens/{theirs['token_id']}")
    assert viewer.get("/v1/whoami").status == 401


def test_a_token_is_bound_to_its_networks(admin):
    near = admin.must("POST", "/v1/tokens", {"name": "near", "grants": EVERYTHING, "networks": ["127.0.0.0/8"]}).json
    far = admin.must("POST", "/v1/tokens", {"name": "far", "grants": EVERYTHING, "networks": ["10.0.0.0/8", "::1"]}).json
    assert API(admin.port, near["token"]).get("/v1/whoami").json["token"]["networks"] == ["127.0.0.0/8"]
    refused = API(admin.port, far["token"]).get("/v1/whoami")
    assert (refused.status, refused.json["type"]) == (401, "/problems/token_invalid")
    # A client cannot say that it is elsewhere.
    forged = API(admin.port, far["token"]).request("GET", "/v1/whoami", headers={"X-Forwarded-For": "10.1.2.3"})
    assert forged.status == 401
    bound = API(admin.port, near["token"])
    answer = bound.post("/v1/tokens", {"name": "free", "grants": EVERYTHING})
    assert (answer.status, answer.json["type"]) == (403, "/problems/grant_too_wide")
    bound.must("POST", "/v1/tokens", {"name": "as bound", "grants": EVERYTHING, "networks": ["127.0.0.1"]})


def test_a_calendar_feed_opens_its_calendar_and_nothing_else(admin, mine):
    feed = mine.must("POST", f"/v1/apps/{MINE}/calendar-feeds", {"name": "phone"}).json
    assert mine.get(feed["path"]).status == 200
    secret = feed["path"].split("/")[3]
    assert API(admin.port, secret).get("/v1/whoami").status == 401
    assert feed["feed_id"] in {one["feed_id"] for one in mine.get(f"/v1/apps/{MINE}/calendar-feeds").json["feeds"]}
    mine.must("DELETE", f"/v1/apps/{MINE}/calendar-feeds/{feed['feed_id']}")
    assert mine.get(feed["path"]).status == 404


# Principals


def test_a_person_acts_with_tokens_of_their_own_until_suspended(admin):
    ada = admin.must("POST", "/v1/access/principals", {"name": "Ada"}).json["principal_id"]
    grants = f"/v1/access/principals/{ada}/grants"
    granted = admin.must("POST", grants, {"role": "editor", "apps": [MINE]}).json["grant_id"]
    token = admin.must("POST", "/v1/tokens", {"name": "laptop", "principal_id": ada}).json["token"]
    api = API(admin.port, token)
    who = api.get("/v1/whoami").json
    assert who["principal"]["name"] == "Ada" and who["principal"]["grants"][0]["grant_id"] == granted
    api.must("PATCH", f"/v1/apps/{MINE}", {"display_name": "By Ada"})
    # More, with a grant; and a token of their own, at most as wide.
    assert is_denied(api.request("PUT", f"/v1/apps/{MINE}/kill-switch", {"reason": "x", "expires_at": from_now(hours=1)}))
    operating = admin.must("POST", grants, {"role": "operator", "apps": [MINE]}).json["grant_id"]
    api.must("PUT", f"/v1/apps/{MINE}/kill-switch", {"reason": "x", "expires_at": from_now(hours=1)})
    api.must("DELETE", f"/v1/apps/{MINE}/kill-switch?reason=over")
    assert admin.history(actor=ada)[0]["actor"] == {
        "id": who["token"]["token_id"], "kind": "token", "name": "Ada", "principal_id": ada}  # fmt: skip
    phone = api.must("POST", "/v1/tokens", {"name": "phone", "principal_id": ada, "grants": [{"role": "viewer", "apps": [MINE]}]})
    assert is_denied(API(admin.port, phone.json["token"]).request("PATCH", f"/v1/apps/{MINE}", {"display_name": "X"}))
    # A token that may do less is told of nothing more, and ends no other.
    narrow = API(admin.port, phone.json["token"])
    assert narrow.get("/v1/whoami").json["principal"]["grants"] == []
    assert [token["name"] for token in narrow.get("/v1/tokens").json["tokens"]] == ["phone"]
    assert {"laptop", "phone"} == {token["name"] for token in api.get("/v1/tokens").json["tokens"]}
    assert is_denied(narrow.request("DELETE", f"/v1/tokens/{who['token']['token_id']}"))
    # Less, at once.
    admin.must("DELETE", f"/v1/access/grants/{operating}")
    assert is_denied(api.request("PUT", f"/v1/apps/{MINE}/kill-switch", {"reason": "x", "expires_at": from_now(hours=1)}))
    admin.must("PATCH", f"/v1/access/principals/{ada}", {"name": "Ada King"})
    admin.must("PATCH", f"/v1/access/principals/{ada}", {"suspended": True, "reason": "laptop stolen"})
    for one in (api, API(admin.port, phone.json["token"])):
        assert one.get("/v1/whoami").json["type"] == "/problems/token_invalid"
    assert admin.post("/v1/tokens", {"name": "x", "principal_id": ada}).json["type"] == "/problems/principal_suspended"
    admin.must("PATCH", f"/v1/access/principals/{ada}", {"suspended": False})
    assert api.get("/v1/whoami").json["principal"]["name"] == "Ada King"


def test_a_repeated_request_gets_the_id_that_the_first_one_got(admin):
    key = {"Idempotency-Key": "one person"}
    first, again = (admin.post("/v1/access/principals", {"name": "Once"}, **key) for _ in range(2))
    assert first.json["principal_id"] == again.json["principal_id"] and again["Idempotency-Replayed"] == "true"
    assert first["Location"] == f"/v1/access/principals/{first.json['principal_id']}"
    assert admin.get(first["Location"]).json["name"] == "Once"


def test_a_grant_ends_by_itself(timed):
    admin = timed.api
    admin.make_app(MINE)
    bob = admin.must("POST", "/v1/access/principals", {"name": "Bob"}).json["principal_id"]
    admin.must(
        "POST", f"/v1/access/principals/{bob}/grants",
        {"role": "viewer", "apps": [MINE], "expires_at": timed.clock.from_now(hours=1)})  # fmt: skip
    api = API(admin.port, admin.must("POST", "/v1/tokens", {"name": "b", "principal_id": bob}).json["token"])
    assert api.get(f"/v1/apps/{MINE}").status == 200
    timed.forward(hours=1)
    assert api.get(f"/v1/apps/{MINE}").status == 404


def test_the_manager_of_one_app_gives_roles_on_it_and_sees_no_others(admin, mine):
    eve = admin.must("POST", "/v1/access/principals", {"name": "Eve"}).json["principal_id"]
    grants = f"/v1/access/principals/{eve}/grants"
    theirs = admin.must("POST", grants, {"role": "viewer", "apps": [OTHERS]}).json["grant_id"]
    ours = mine.must("POST", grants, {"role": "editor", "apps": [MINE]}).json["grant_id"]
    shown = {one["principal_id"]: one for one in mine.get("/v1/access/principals").json["principals"]}
    assert [one["grant_id"] for one in shown[eve]["grants"]] == [ours]
    answer = mine.post(grants, {"role": "viewer", "apps": [OTHERS]})
    assert (answer.status, answer.json["type"]) == (403, "/problems/grant_too_wide")
    answer = mine.request("DELETE", f"/v1/access/grants/{theirs}")
    assert (answer.status, answer.json["type"]) == (404, "/problems/grant_unknown")
    assert [one["grant_id"] for one in mine.get(f"/v1/access/principals/{eve}").json["grants"]] == [ours]
    # What a change would make different is shown, and nothing else of the principal.
    tried = mine.must("POST", grants + "?dry_run=true", {"role": "viewer", "apps": [MINE]})
    assert tried.json["difference"] and OTHERS not in tried.body.decode()
    tried = mine.must("DELETE", f"/v1/access/grants/{ours}?dry_run=true")
    assert tried.json["difference"] and OTHERS not in tried.body.decode()
    mine.must("DELETE", f"/v1/access/grants/{ours}")


def test_a_stream_of_events_ends_when_its_holder_loses_the_right(admin):
    kim = admin.must("POST", "/v1/access/principals", {"name": "Kim"}).json["principal_id"]
    grant = admin.must("POST", f"/v1/access/principals/{kim}/grants", {"role": "auditor", "apps": ["*"]}).json["grant_id"]
    api = API(admin.port, admin.must("POST", "/v1/tokens", {"name": "k", "principal_id": kim}).json["token"])
    with LedgerStream(api) as stream:
        admin.must("PATCH", f"/v1/apps/{MINE}", {"display_name": "Before"})
        stream.take(1)
        admin.must("DELETE", f"/v1/access/grants/{grant}")
        admin.must("PATCH", f"/v1/apps/{MINE}", {"display_name": "After"})
        assert stream.events.get(timeout=180) is None, "the end, and nothing more"


# Roles


def test_a_role_of_ones_own_changes_for_all_its_holders_at_once(admin):
    admin.must("PUT", "/v1/access/roles/reader", {"permissions": ["apps.read"]})
    api = admin.holding("reader", MINE)
    assert api.get(f"/v1/apps/{MINE}").status == 200
    assert is_denied(api.get(f"/v1/apps/{MINE}/history"))
    admin.must("PUT", "/v1/access/roles/reader", {"permissions": ["apps.read", "history.read"]})
    assert api.get(f"/v1/apps/{MINE}/history").status == 200
    in_use = admin.request("DELETE", "/v1/access/roles/reader")
    assert (in_use.status, in_use.json["type"]) == (409, "/problems/role_in_use")
    admin.must("DELETE", f"/v1/tokens/{api.get('/v1/whoami').json['token']['token_id']}")
    admin.must("DELETE", "/v1/access/roles/reader")
    for method, body in (("PUT", {"permissions": ["apps.read"]}), ("DELETE", None)):
        fixed = admin.request(method, "/v1/access/roles/admin", body)
        assert (fixed.status, fixed.json["type"]) == (409, "/problems/role_fixed")
    unknown = admin.post("/v1/tokens", {"name": "x", "grants": [{"role": "reader", "apps": ["*"]}]})
    assert (unknown.status, unknown.json["type"]) == (404, "/problems/role_unknown")


def test_the_command_line_manages_access(own_server, admin):
    cli = own_server.cli
    added = own_server.cli_json("access", "add", "Grace Hopper", "--reason", "joins")
    grace = added["principal_id"]
    cli("access", "grant", grace, "editor", "--app", MINE, "--host", HOST, "--for", "30d")
    listed = cli("access", "list").stdout
    assert "Grace Hopper" in listed and f"editor on {MINE}, changing {HOST} only, until" in listed
    cli("access", "rename", grace, "Rear Admiral Hopper")
    made = cli("token", "create", "grace's laptop", "--principal", grace)
    token = made.stdout.strip()
    assert API(admin.port, token).get("/v1/whoami").json["principal"]["name"] == "Rear Admiral Hopper"
    shown = cli("access", "show", grace).stdout
    assert "grace's laptop" in shown and f"editor on {MINE}" in shown
    assert "Rear Admiral Hopper" in cli("history", "--actor", "first admin", "--stream", "access", "--limit", "20").stdout
    cli("access", "suspend", grace, "--reason", "on leave")
    assert API(admin.port, token).get("/v1/whoami").status == 401
    cli("access", "reinstate", grace)
    grant = admin.get("/v1/access/principals").json["principals"][-1]["grants"][0]["grant_id"]
    assert "is revoked" in cli("access", "revoke", grant).stdout
    cli("access", "role", "set", "on-call", "apps.read", "kill_switches.engage")
    assert "on-call" in cli("access", "role", "list").stdout
    narrow = cli("token", "create", "pager", "--role", "on-call", "--app", MINE, "--from", "127.0.0.0/8", "--pipeline")
    assert narrow.stdout.startswith("pk_ci_")
    assert f"on-call on {MINE}" in cli("token", "list").stdout
    assert "does not say what the token may do" in cli("token", "create", "x", status=2).stderr
    assert "no app is named" in cli("token", "create", "x", "--role", "viewer", status=2).stderr
    assert "may do" in cli("whoami").stdout
