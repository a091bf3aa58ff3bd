"""Tokens over time: from where they are used, and how one takes the place of another."""

import pytest
from pinledger import API, Server, eventually
from problems import expect_problem


@pytest.fixture(scope="module")
def proxied_server():
    # Tests are in any network that they say.
    server = Server(more=["--trusted-proxy", "127.0.0.0/8"], has_clock=True)
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture(scope="module")
def admin(proxied_server):
    return proxied_server.api


def use(api: API, address: str):
    answer = api.request("GET", "/v1/whoami", None, {"X-Forwarded-For": address})
    assert answer.status == 200, str(answer)
    return answer.json["token"]["token_id"]


def shown(admin: API, token: str, networks: int) -> dict:
    """A token, once it was used from so many networks."""

    def look() -> dict | None:
        answer = admin.get(f"/v1/tokens/{token}").json
        return answer if len(answer["used_from"]) == networks else None

    return eventually(look, f"the use of {token} from {networks} networks")


def alarms(api: API) -> list[str]:
    items = api.get("/v1/attention").json["items"]
    return [item["token_id"] for item in items if item["kind"] == "token_new_network"]


def test_a_token_is_shown_with_the_networks_from_which_it_was_used(admin):
    holder = admin.holding("viewer", name="two places")
    token = use(holder, "192.0.2.77")
    use(holder, "192.0.2.3"), use(holder, "2001:db8:1:2::3")
    answer = shown(admin, token, 2)
    assert sorted(one["network"] for one in answer["used_from"]) == ["192.0.2.0/24", "2001:db8:1::/48"]
    listed = {one["token_id"]: one for one in admin.get("/v1/tokens").json["tokens"]}
    assert listed[token]["last_used_at"] == answer["last_used_at"] == max(one["last_used_at"] for one in answer["used_from"])
    # Its holder sees it too, and others do not.
    assert holder.get(f"/v1/tokens/{token}").json["used_from"]
    stranger = admin.holding("viewer", name="not my token").get(f"/v1/tokens/{token}")
    unknown = admin.get("/v1/tokens/tok_0000000000000000")
    assert (stranger.status, stranger.json["type"]) == (unknown.status, unknown.json["type"]) == (404, "/problems/token_unknown")


def test_a_refused_token_is_not_used(admin):
    holder = admin.holding("viewer", name="revoked soon")
    token = use(holder, "198.51.100.1")
    assert admin.request("DELETE", f"/v1/tokens/{token}").status == 200
    assert holder.request("GET", "/v1/whoami", None, {"X-Forwarded-For": "203.0.113.9"}).status == 401
    after = admin.holding("viewer", name="after it")
    shown(admin, use(after, "198.51.100.1"), 1)
    assert [one["network"] for one in shown(admin, token, 1)["used_from"]] == ["198.51.100.0/24"]


def test_a_token_that_is_used_from_a_new_network_needs_attention(proxied_server, admin):
    holder, bound = admin.holding("viewer", name="laptop"), admin.holding("editor", name="bound", networks=["192.0.2.0/24", "203.0.113.0/24"])
    tokens = [use(one, "192.0.2.10") for one in (holder, bound)]
    for token in tokens:
        shown(admin, token, 1)
    assert not {*alarms(admin)} & {*tokens}
    proxied_server.sql("UPDATE pinledger.token_use SET first_at = first_at - interval '3 days'")
    for one in (holder, bound):
        use(one, "203.0.113.9")
    for token in tokens:
        shown(admin, token, 2)
    assert tokens[0] in alarms(admin) and tokens[1] not in alarms(admin)
    # A viewer of tokens is told, and others are not, but for their own.
    assert tokens[0] in alarms(holder) and tokens[0] not in alarms(admin.holding("viewer", name="someone else"))
    said = proxied_server.cli("attention").stdout
    assert "203.0.113.0/24" in said and f"pinledger token revoke {tokens[0]}" in said
    assert admin.request("DELETE", f"/v1/tokens/{tokens[0]}").status == 200
    assert tokens[0] not in alarms(admin)


def test_a_token_is_rotated_with_an_overlap(proxied_server, admin):
    made = admin.post(
        "/v1/tokens", {"name": "nightly", "kind": "pipeline", "networks": ["192.0.2.0/24"], "grants": [{"role": "editor", "apps": ["com.example.*"]}]}
    )
    old, overlap = made.json["token_id"], 3600
    answer = admin.post("/v1/tokens", {"replaces": {"token_id": old, "overlap_seconds": overlap}, "reason": "monthly"})
    assert answer.status == 201, str(answer)
    new = answer.json["token_id"]
    assert answer.json["token"].startswith("pk_ci_")
    there, gone = (admin.get(f"/v1/tokens/{token}").json for token in (new, old))
    for member in ("name", "kind", "networks", "grants"):
        assert there[member] == gone[member]
    assert gone["replaced_by"] == new and "revoked_at" not in gone
    for text in (made.json["token"], answer.json["token"]):
        use(API(proxied_server.port, text), "192.0.2.1")
    proxied_server.forward(seconds=overlap)
    assert API(proxied_server.port, made.json["token"]).request("GET", "/v1/whoami", None, {"X-Forwarded-For": "192.0.2.1"}).status == 401
    use(API(proxied_server.port, answer.json["token"]), "192.0.2.1")
    [event] = [one for one in admin.history(type="TokenIssued") if one["data"]["token_id"] == new]
    assert event["data"]["replaces"] == {"token_id": old, "overlap_seconds": overlap} and event["reason"] == "monthly"


def test_the_command_rotates_and_shows_a_token(proxied_server, admin):
    made = admin.post("/v1/tokens", {"name": "by command", "grants": [{"role": "viewer", "apps": ["*"]}]}).json["token_id"]
    text = proxied_server.cli("token", "rotate", made, "--overlap", "2d", "--for", "20d").stdout.strip()
    token = use(API(proxied_server.port, text), "192.0.2.1")
    said = proxied_server.cli("token", "show", made).stdout
    assert token in said and "replaced by" in said
    shown(admin, token, 1)
    assert "192.0.2.0/24" in proxied_server.cli("token", "show", token).stdout
    left = proxied_server.cli_json("token", "show", made)["expires_at"]
    assert left < admin.get(f"/v1/tokens/{token}").json["expires_at"]


@pytest.mark.parametrize(
    "body, status, problem, pointer",
    [
        ({"replaces": {"token_id": "tok_0000000000000000"}}, 404, "token_unknown", None),
        ({"replaces": {"token_id": "x", "overlap_seconds": 2592001}}, 422, "invalid_value", "/replaces/overlap_seconds"),
        ({"replaces": {"token_id": "x", "overlap_seconds": -1}}, 422, "invalid_value", "/replaces/overlap_seconds"),
        ({"replaces": {}}, 422, "invalid_value", "/replaces/token_id"),
        ({"replaces": None, "grants": [{"role": "viewer", "apps": ["*"]}]}, 422, "invalid_value", "/name"),
    ],
)
def test_a_wrong_replacement_is_refused(admin, body, status, problem, pointer):
    answer = admin.post("/v1/tokens", body)
    expect_problem(answer, status, problem)
    assert pointer is None or answer.json["errors"][0]["pointer"] == pointer


def test_nobody_rotates_a_token_that_they_could_not_revoke(admin):
    other = admin.post("/v1/tokens", {"name": "another one", "grants": [{"role": "viewer", "apps": ["*"]}]}).json["token_id"]
    manager = admin.holding("admin", "com.example.*", name="manages some apps")
    answer = manager.post("/v1/tokens", {"replaces": {"token_id": other}})
    expect_problem(answer, 404, "token_unknown")
    viewer = admin.holding("viewer", name="rotates itself")
    mine = viewer.get("/v1/whoami").json["token"]["token_id"]
    answer = viewer.post("/v1/tokens", {"replaces": {"token_id": mine}})
    expect_problem(answer, 403, "permission_denied")
    assert viewer.get("/v1/whoami").status == 200
