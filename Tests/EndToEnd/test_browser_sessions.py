"""Sessions in a browser: the cookie that carries them, requests of other origins, and what takes a recent proof."""

import re
import time
import uuid

import pytest
from issuer import Issuer, token
from operations import OPERATIONS, name_of, target
from people import CALLS, admit, know
from pinledger import API, EVERYTHING, Answer, Server, eventually, from_now
from problems import expect_problem

APP = "com.example.browser"
COOKIE = "__Host-pinledger-session"
PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def company():
    """A server whose administrators sign in with a provider."""
    server, issuer = Server(more=CALLS), Issuer()
    try:
        server.start()
        server.api.make_app(APP, "api.example.com")
        server.company = issuer.provider("company")
        know(server.api, "company", server.company)
        admit(server.api, "admins", "company", {"groups": ["dev"]}, {"role": "admin", "apps": ["*"]})
        yield server
    finally:
        issuer.close()
        server.destroy()


class Browser(API):
    """Sends the session's cookie, and what a browser adds for a page of the server's own."""

    def __init__(self, server: Server, *, age: float | None = 0, **more):
        super().__init__(server.api.port, None)
        proof = {} if age is None else {"auth_time": int(time.time() - age)}
        text = token(server.company, sub=more.pop("sub", uuid.uuid4().hex), **proof | more)
        self.answer = self.request("POST", "/v1/sign-in", {"identity_token": text, "cookie": True}, PAGE)
        assert self.answer.status == 201, self.answer.body
        self.cookie = self.answer["Set-Cookie"].partition(";")[0]

    def request(self, method, target, body=None, headers=None, *, token=...) -> Answer:
        sent = PAGE | ({"Cookie": self.cookie} if hasattr(self, "cookie") else {}) | (headers or {})
        return super().request(method, target, body, {name: value for name, value in sent.items() if value is not None}, token=token)


def test_a_sign_in_with_a_cookie_shows_the_token_to_no_script(company):
    browser = Browser(company)
    answer = browser.answer
    assert re.fullmatch(
        rf"{COOKIE}=pk_web_\w{{36}}; Max-Age=2(?:8799|8800); Path=/; Secure; HttpOnly; SameSite=Strict", answer["Set-Cookie"]
    ), answer["Set-Cookie"]
    assert "token" not in answer.json and b"pk_web_" not in answer.body
    assert answer.json["authenticated_at"]
    me = browser.must("GET", "/v1/whoami").json
    assert me["token"]["sign_in"]["browser"] is True and me["token"]["kind"] == "session"
    browser.must("PATCH", f"/v1/apps/{APP}", {"display_name": "From a page"})
    # Every session is in the ledger, and the token's text is nowhere.
    assert b"pk_web_" not in company.api.get("/v1/events?limit=500").body


def test_the_token_of_a_browser_works_as_a_cookie_alone_and_others_never(company):
    browser = Browser(company)
    stolen = browser.cookie.partition("=")[2]
    assert API(company.api.port, stolen).get("/v1/whoami").json["type"] == "/problems/token_invalid"
    ordinary = API(company.api.port, None).post("/v1/sign-in", {"identity_token": token(company.company, sub=uuid.uuid4().hex)}).json["token"]
    for text in (ordinary, company.api.token):
        answer = browser.request("GET", "/v1/whoami", headers={"Cookie": f"{COOKIE}={text}"})
        expect_problem(answer, 401, "token_invalid")
        # Another node may know the session a moment later: the browser keeps its cookie.
        assert not answer["Set-Cookie"]
    # What is sent on purpose counts, and not what a browser adds.
    answer = API(company.api.port, ordinary).get("/v1/whoami", Cookie=f"{COOKIE}=nonsense", **{"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 200


@pytest.mark.parametrize(
    ("cookie", "status", "problem"),
    [
        ("other=1; {}; third=2", 200, None),
        ("other=1;{}", 200, None),
        ("{}; {}", 401, "token_malformed"),
        ("x{}", 401, "token_missing"),
        ("{}x", 401, "token_malformed"),
        (COOKIE, 401, "token_missing"),
        (f"{COOKIE}=", 401, "token_malformed"),
        ("a=" + "b" * 3000 + "; {}", 200, None),
        # Another server of the domain may set what it likes.
        ("ü=ü; {}", 200, None),
        ("{}; a=ü;b=1", 200, None),
        ("{}ü", 401, "token_missing"),
    ],
)
def test_a_cookie_is_found_among_others_and_only_once(company, cookie, status, problem):
    browser = Browser(company)
    sent = cookie.replace("{}", browser.cookie).encode().decode("latin-1")
    answer = browser.request("GET", "/v1/whoami", headers={"Cookie": sent})
    assert answer.status == status, answer
    if problem:
        assert answer.json["type"] == f"/problems/{problem}"


def test_a_session_ends_when_its_person_signs_out_and_with_its_rule(company):
    browser = Browser(company)
    refused = company.api.request("DELETE", "/v1/sign-in")
    expect_problem(refused, 409, "not_a_session")
    out = browser.must("DELETE", "/v1/sign-in")
    assert out["Set-Cookie"] == f"{COOKIE}=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict"
    again = browser.request("GET", "/v1/whoami")
    expect_problem(again, 401, "token_invalid")
    admit(company.api, "passing", "company", {"groups": ["passing"]}, {"role": "viewer", "apps": ["*"]})
    other = Browser(company, groups=["passing"])
    assert other.get(f"/v1/apps/{APP}").status == 200
    company.api.must("DELETE", "/v1/access/sign-in-rules/passing")
    assert other.get(f"/v1/apps/{APP}").status == 404


# Requests of other origins


@pytest.mark.parametrize(
    ("headers", "reads", "writes"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True, True),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"}, True, True),
        ({"Sec-Fetch-Site": "same-site"}, False, False),
        ({"Sec-Fetch-Site": "cross-site"}, False, False),
        ({"Sec-Fetch-Site": "none"}, True, False),
        ({"Sec-Fetch-Site": "Same-Origin"}, False, False),
        ({"Sec-Fetch-Site": ""}, False, False),
        ({"Sec-Fetch-Site": "same-origin\xff"}, False, False),
        ({}, True, False),
        ({"Origin": "{http}"}, True, True),
        ({"Origin": "{https}"}, True, True),
        ({"Origin": "{https}0"}, False, False),
        ({"Origin": "{https}/"}, False, False),
        ({"Origin": "{https}.evil.example"}, False, False),
        ({"Origin": "null"}, False, False),
        ({"Origin": ""}, False, False),
        ({"Origin": "https://evil.example"}, False, False),
        ({"Origin": "ftp://{host}"}, False, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "{https}"}, False, False),
    ],
)
def test_a_request_with_the_cookie_must_come_from_a_page_of_the_server(company, headers, reads, writes):
    browser = Browser(company)
    host = f"127.0.0.1:{company.api.port}"
    sent = {"Sec-Fetch-Site": None} | {
        name: value.replace("{http}", f"http://{host}").replace("{https}", f"https://{host}").replace("{host}", host)
        for name, value in headers.items()
    }
    position = company.api.position()
    for method, body, right in [("GET", None, reads), ("PATCH", {"display_name": uuid.uuid4().hex}, writes)]:
        answer = browser.request(method, f"/v1/apps/{APP}", body, sent)
        assert answer.status == (200 if right else 403), (method, answer)
        if not right:
            assert answer.json["type"] == "/problems/cross_origin_request"
    if not writes:
        changed = [event for event in company.api.history() if event["position"] >= position and event["stream"] != "audit"]
        assert changed == []


def test_no_operation_that_changes_anything_is_done_for_a_page_of_another_origin(company):
    """Over the contract: what is added later is covered by being there."""
    browser = Browser(company)
    position = company.api.position()
    asked = 0
    for one in OPERATIONS:
        path, method, operation = one
        if not path.startswith(("/v1/", "/compat/wultra/admin/")) or method.upper() == "GET":
            continue
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": None, "Origin": "https://evil.example"}):
            body = {"cookie": True, "identity_token": "a.b.c"} if name_of(one) == "signIn" else {} if "requestBody" in operation else None
            answer = browser.request(method.upper(), target(path), body, headers)
            if path.startswith("/compat/"):
                # Programs that know no cookie use it.
                assert answer.status == 401, (name_of(one), answer)
            else:
                assert (answer.status, answer.json["type"]) == (403, "/problems/cross_origin_request"), (name_of(one), answer)
            asked += 1
    assert asked > 150
    assert [event for event in company.api.history() if event["position"] >= position and event["stream"] != "audit"] == []


def test_no_answer_lets_a_page_of_another_origin_read_it(company):
    browser = Browser(company)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}):
        answers = [
            browser.request("GET", "/v1/apps", headers=headers),
            browser.request("OPTIONS", "/v1/apps", headers=headers | {"Access-Control-Request-Method": "POST"}),
            browser.request("GET", "/v1/apps", headers=headers, token=company.api.token),
        ]
        for answer in answers:
            assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


# What takes a recent proof


@pytest.mark.parametrize(("age", "is_recent"), [(0, True), (600, True), (880, True), (910, False), (86_000, False), (None, False)])
def test_a_browser_gives_power_away_only_after_a_recent_proof(company, age, is_recent):
    browser = Browser(company, age=age)
    added = browser.request("POST", "/v1/tokens", {"name": "made in a page", "grants": EVERYTHING, "expires_at": from_now(hours=1)})
    if is_recent:
        assert added.status == 201, added
    else:
        assert (added.status, added.json["type"], added.json["max_age"]) == (401, "/problems/proof_not_recent", 900)
        assert added["WWW-Authenticate"] == 'Bearer realm="pinledger", error="insufficient_user_authentication", max_age="900"'
        assert not added["Set-Cookie"]
    principal = company.api.must("POST", "/v1/access/principals", {"name": "Someone", "kind": "person"}).json["principal_id"]
    given = browser.request("POST", f"/v1/access/principals/{principal}/grants", {"role": "viewer", "apps": ["*"]})
    assert given.status == (201 if is_recent else 401), given
    # Daily work, and the brake, wait for nothing.
    browser.must("PATCH", f"/v1/apps/{APP}", {"display_name": uuid.uuid4().hex})
    off = browser.request("PUT", f"/v1/apps/{APP}/kill-switch", {"expires_at": from_now(hours=1), "reason": "drill"})
    assert off.status in (200, 201), off
    released = browser.request("DELETE", f"/v1/apps/{APP}/kill-switch?reason=drill")
    assert released.status == (200 if is_recent else 401), released
    if not is_recent:
        company.api.must("DELETE", f"/v1/apps/{APP}/kill-switch?reason=drill")


@pytest.mark.parametrize("value", ["soon", -1, [], None, 1 << 60, "1700000000", "ahead"])
def test_a_time_of_proof_that_cannot_be_right_is_no_proof(company, value):
    stated = {} if value is None else {"auth_time": int(time.time()) + 3600 if value == "ahead" else value}
    text = token(company.company, sub=uuid.uuid4().hex, **stated)
    answer = API(company.api.port, None).post("/v1/sign-in", {"identity_token": text, "cookie": True}, **PAGE)
    assert answer.status == 201 and "authenticated_at" not in answer.json, answer


def test_a_token_is_not_made_by_a_change_either(company):
    person = uuid.uuid4().hex
    old = Browser(company, sub=person, age=3600)
    principal = old.must("GET", "/v1/whoami").json["principal"]["principal_id"]
    company.api.must("POST", f"/v1/access/principals/{principal}/grants", {"role": "admin", "apps": ["*"]})
    body = {"name": "mine", "principal_id": principal, "expires_at": from_now(hours=1), "reason": "x"}
    made = old.post("/v1/tokens?change=new", body)
    assert made.status == 202, made
    refused = [
        old.post(f"/v1/changes/{made.json['change_id']}/apply", {}),
        old.post("/v1/tokens?change=new&not_before=" + from_now(minutes=30), body),
    ]
    assert [(answer.status, answer.json["type"]) for answer in refused] == [(401, "/problems/proof_not_recent")] * 2
    assert API(company.api.port, made.json["token"]).get("/v1/whoami").status == 401


def test_a_sign_in_ends_the_session_that_the_browser_had(company):
    person = uuid.uuid4().hex
    old = Browser(company, sub=person)
    text = token(company.company, sub=person)
    new = old.request("POST", "/v1/sign-in", {"identity_token": text, "cookie": True})
    assert new.status == 201
    assert old.get("/v1/whoami").status == 401


def test_the_cookie_opens_what_the_contract_says(company):
    """It says so of every operation with the usual security, and of no other."""
    browser = Browser(company)
    for one in OPERATIONS:
        path, method, operation = one
        usual = "security" not in operation
        if usual:
            assert {"401", "403"} <= set(operation["responses"]), name_of(one)
        elif method == "get" and any("bearerAuth" in each for each in operation["security"]):
            without = browser.request("GET", target(path), headers={"Cookie": None})
            answer = browser.request("GET", target(path))
            assert answer.status == without.status, name_of(one)


def test_a_new_sign_in_gives_what_the_old_session_lacked(company):
    person = uuid.uuid4().hex
    old, body = Browser(company, sub=person, age=3600), {"role": "viewer", "apps": ["*"]}
    principal = old.must("GET", "/v1/whoami").json["principal"]["principal_id"]
    assert old.request("POST", f"/v1/access/principals/{principal}/grants", body).status == 401
    new = Browser(company, sub=person, age=1)
    assert new.must("GET", "/v1/whoami").json["principal"]["principal_id"] == principal
    new.must("POST", f"/v1/access/principals/{principal}/grants", body)
    # The earlier one has not become more by it.
    assert old.request("POST", f"/v1/access/principals/{principal}/grants", body).status == 401


def test_a_code_gives_no_cookie(company):
    answer = API(company.api.port, None).post("/v1/sign-in", {"code": "pk_wrp_x", "cookie": True}, **PAGE)
    expect_problem(answer, 422, "invalid_value")
    assert not answer["Set-Cookie"]


def test_refused_requests_of_browsers_are_in_the_audit_record(company):
    browser = Browser(company, age=3600)
    browser.request("POST", "/v1/tokens", {"name": "x", "grants": EVERYTHING, "expires_at": from_now(hours=1)})
    browser.request("DELETE", f"/v1/apps/{APP}", headers={"Sec-Fetch-Site": "cross-site"})
    eventually(
        lambda: {"proof_not_recent", "cross_origin_request"}
        <= {
            record.get("problem")
            for event in company.api.history("/v1/history", stream="audit")
            for record in event["data"]["records"]
        },
        "both are recorded",
    )
