"""Sign-in with identity providers: a provider on loopback, its tokens, and tokens forged in every known way."""

import json
import os
import subprocess
import time

import jwt
import pytest
from issuer import KEYS, Issuer, b64, claims, jwk, raw, signed, token
from names import unique
from people import CALLS, admit, know
from pinledger import API, BINARY, EVERYTHING, Server, eventually, from_now, in_threads
from problems import expect_problem

APP = "com.example.signin"
DEVELOPER = {"role": "editor", "apps": ["com.example.*"]}


@pytest.fixture(scope="module")
def signing_in():
    """A server that knows one provider of people, and its developers."""
    server, issuer = Server(more=CALLS), Issuer()
    try:
        server.start()
        server.api.make_app(APP, "api.example.com")
        server.company = issuer.provider("company")
        server.issuer = issuer
        know(server.api, "company", server.company, client_id="cli")
        admit(server.api, "developers", "company", {"groups": ["dev"]}, DEVELOPER)
        yield server
    finally:
        issuer.close()
        server.destroy()


def sign_in(api: API, text: str, **more):
    return API(api.port, None).request("POST", "/v1/sign-in", {"identity_token": text} | more)


def session(api: API, text: str) -> API:
    answer = sign_in(api, text)
    assert answer.status == 201, answer.body
    return API(api.port, answer.json["token"])


def test_an_identity_token_gives_a_session_with_what_the_rules_say(signing_in):
    answer = sign_in(signing_in.api, token(signing_in.company, sub=unique(), name="Ada Lovelace"))
    assert answer.status == 201, answer.body
    assert answer["Cache-Control"] == "no-store"
    body = answer.json
    assert body["rules"] == ["developers"] and body["token"].startswith("pk_ses_")
    mine = API(signing_in.api.port, body["token"])
    me = mine.must("GET", "/v1/whoami").json
    assert me["actor"]["name"] == "Ada Lovelace" and me["principal"]["principal_id"] == body["principal_id"]
    assert me["token"]["kind"] == "session" and me["token"]["sign_in"]["issuer"] == signing_in.company
    assert {each["permission"] for each in me["permissions"]} >= {"apps.change", "apps.read"}
    assert mine.get(f"/v1/apps/{APP}").status == 200
    assert mine.get("/v1/access/principals").status == 403
    mine.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Renamed by Ada"})
    (event,) = signing_in.api.must("GET", f"/v1/apps/{APP}/history?type=AppRenamed&limit=1").json["events"]
    assert event["actor"]["name"] == "Ada Lovelace" and event["actor"]["principal_id"] == body["principal_id"]


@pytest.mark.parametrize(("key", "algorithm", "kid"), [("rsa", "RS256", "k1"), ("ec", "ES256", "e1")])
def test_tokens_are_accepted_by_the_algorithms_that_are_allowed(signing_in, key, algorithm, kid):
    text = token(signing_in.company, key=key, algorithm=algorithm, kid=kid, sub=unique())
    assert sign_in(signing_in.api, text).status == 201


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [("rsa", name, "k1") for name in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")] + [("ec", "ES256", "e1"), ("ed", "EdDSA", "d1")],
)  # fmt: skip
def test_every_algorithm_can_be_allowed(signing_in, key, algorithm, kid):
    name = f"alg-{algorithm.lower()}"
    issuer = signing_in.issuer.provider(name)
    know(signing_in.api, name, issuer, algorithms=[algorithm])
    admit(signing_in.api, name, name, {"groups": ["dev"]}, DEVELOPER)
    assert sign_in(signing_in.api, token(issuer, key=key, algorithm=algorithm, kid=kid)).status == 201
    other = ("ec", "ES256", "e1") if algorithm != "ES256" else ("rsa", "RS256", "k1")
    assert sign_in(signing_in.api, token(issuer, key=other[0], algorithm=other[1], kid=other[2])).status == 401


def public_pem() -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return KEYS["rsa"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def hmac_token(issuer: str, secret: bytes) -> str:
    """HS256 with the public key as the secret, which PyJWT refuses to make."""
    import hashlib
    import hmac

    text = raw({"alg": "HS256", "kid": "k1", "typ": "JWT"}, claims(issuer)).rpartition(".")[0]
    return f"{text}.{b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def altered(text: str) -> str:
    head, payload, signature = text.split(".")
    return ".".join([head, b64(json.dumps({"sub": "root"} | json.loads(jwt.utils.base64url_decode(payload)) | {"sub": "root"}).encode()), signature])


NOW = int(time.time())
HEADER = {"alg": "RS256", "kid": "k1", "typ": "JWT"}
FORGED = {
    "alg none": lambda i: raw({"alg": "none", "kid": "k1"}, claims(i), b"x"),
    "alg none without a signature": lambda i: raw({"alg": "none", "kid": "k1"}, claims(i), b""),
    "alg None": lambda i: raw({"alg": "None", "kid": "k1"}, claims(i)),
    "alg nOnE": lambda i: raw({"alg": "nOnE", "kid": "k1"}, claims(i)),
    "no alg": lambda i: raw({"kid": "k1"}, claims(i)),
    "alg is a list": lambda i: raw({"alg": ["RS256"], "kid": "k1"}, claims(i)),
    "HS256 with the public key": lambda i: hmac_token(i, public_pem()),
    "another key with the right kid": lambda i: token(i, key="other"),
    "a key of 1024 bits": lambda i: token(i, key="weak", kid="weak"),
    "ES256 with the kid of the RSA key": lambda i: token(i, key="ec", algorithm="ES256", kid="k1"),
    "an algorithm that is not allowed": lambda i: token(i, algorithm="RS512"),
    "an unknown kid": lambda i: token(i, kid="nothing"),
    "a kid that is a path": lambda i: token(i, kid="../../../../dev/null"),
    "a kid that is SQL": lambda i: token(i, kid="' OR 1=1 --"),
    "a kid with a NUL": lambda i: token(i, kid="k1\0"),
    "an empty kid": lambda i: token(i, kid=""),
    "a kid that is a number": lambda i: signed(HEADER | {"kid": 1}, claims(i)),
    "no kid": lambda i: token(i, kid=None),
    "a long kid": lambda i: token(i, kid="k" * 300),
    "its own key in jwk": lambda i: token(i, key="other", kid="mine", header={"jwk": jwk("mine", KEYS["other"])}),
    "jku": lambda i: token(i, key="other", kid="mine", header={"jku": f"{i}/jwks"}),
    "x5u": lambda i: token(i, key="other", kid="mine", header={"x5u": f"{i}/cert"}),
    "x5c": lambda i: token(i, key="other", kid="mine", header={"x5c": ["MIIB"]}),
    "crit": lambda i: signed(HEADER | {"crit": ["exp"]}, claims(i)),
    "an access token": lambda i: signed(HEADER | {"typ": "at+jwt"}, claims(i)),
    "an access token of Keycloak": lambda i: token(i, typ="Bearer"),
    "altered after it was signed": lambda i: altered(token(i)),
    "another issuer": lambda i: token("https://login.example.org"),
    "an issuer with a slash more": lambda i: token(i + "/"),
    "an issuer in upper case": lambda i: token(i.upper()),
    "no issuer": lambda i: token(i, iss=None),
    "no audience": lambda i: token(i, aud=None),
    "another audience": lambda i: token(i, aud="other"),
    "audiences without us": lambda i: token(i, aud=["other", "pinledger2"]),
    "an audience in another case": lambda i: token(i, aud="Pinledger"),
    "issued to another client": lambda i: token(i, aud=["pinledger", "other"], azp="other"),
    "expired": lambda i: token(i, exp=int(time.time()) - 61),
    "exp as a text": lambda i: signed(HEADER, claims(i) | {"exp": str(NOW + 600)}),
    "exp in two days": lambda i: token(i, exp=int(time.time()) + 172_800),
    "exp beyond all time": lambda i: signed(HEADER, claims(i) | {"exp": 2**62}),
    "a negative exp": lambda i: signed(HEADER, claims(i) | {"exp": -1}),
    "exp not a number": lambda i: signed(HEADER, json.dumps(claims(i) | {"exp": float("nan")}).encode()),
    "no exp": lambda i: token(i, exp=None),
    "nbf in an hour": lambda i: token(i, nbf=int(time.time()) + 3600),
    "nbf as a text": lambda i: signed(HEADER, claims(i) | {"nbf": "now"}),
    "iat in an hour": lambda i: token(i, iat=int(time.time()) + 3600),
    "iat ten years ago": lambda i: token(i, iat=int(time.time()) - 315_360_000),
    "no iat": lambda i: token(i, iat=None),
    "no sub": lambda i: token(i, sub=None),
    "an empty sub": lambda i: token(i, sub=""),
    "sub as a list": lambda i: signed(HEADER, claims(i) | {"sub": ["ada"]}),
    "sub with a control character": lambda i: token(i, sub="ada\u0007"),
    "a long sub": lambda i: token(i, sub="a" * 256),
    "a nonce that was not asked for": lambda i: token(i, nonce="n"),
    "a member twice": lambda i: signed(HEADER, json.dumps(claims(i))[:-1].encode() + b', "sub": "root"}'),
    "a member of the header twice": lambda i: signed(b'{"alg": "none", "alg": "RS256", "kid": "k1"}', claims(i)),
    "a payload that is a list": lambda i: signed(HEADER, b"[]"),
    "a payload that is not JSON": lambda i: signed(HEADER, b"sub=ada"),
    "a payload that is not UTF-8": lambda i: signed(HEADER, b'{"sub": "\xff"}'),
    "padding": lambda i: token(i) + "=",
    "white space inside": lambda i: token(i).replace(".", ". ", 1),
    "four parts": lambda i: token(i) + ".x",
    "two parts": lambda i: token(i).rpartition(".")[0],
    "an empty signature": lambda i: token(i).rpartition(".")[0] + ".",
    "stray bits at the end of the signature": lambda i: token(i)[:-1] + ("B" if token(i)[-1] != "B" else "C"),
    "a JWE": lambda i: ".".join(["e30", "x", "x", "x", "x"]),
    "more than 16 KiB": lambda i: token(i, groups=["dev"] * 4000),
    "deep nesting": lambda i: signed(HEADER, b'{"iss": "' + i.encode() + b'", "a": ' + b"[" * 5000 + b"]" * 5000 + b"}"),
    "nothing": lambda i: "",
    "dots": lambda i: "..",
    "a token of the ledger": lambda i: "pk_adm_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17",
}  # fmt: skip


@pytest.fixture(scope="module")
def attacked(signing_in):
    """The provider whose tokens are forged, with a weak key among the right ones."""
    keys = [jwk("k1", KEYS["rsa"]), jwk("e1", KEYS["ec"]), jwk("weak", KEYS["weak"])]
    issuer = signing_in.issuer.provider("attacked", keys)
    know(signing_in.api, "attacked", issuer)
    admit(signing_in.api, "attacked", "attacked", {"groups": ["dev"]}, DEVELOPER)
    assert sign_in(signing_in.api, token(issuer)).status == 201
    return issuer


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_a_forged_token_gives_no_session(signing_in, attacked, forged):
    before = signing_in.api.must("GET", "/v1/tokens").json["tokens"]
    text = forged(attacked)
    answer = sign_in(signing_in.api, text)
    # One that signs in lets those of its network go on failing without delay.
    assert sign_in(signing_in.api, token(signing_in.company, sub=unique())).status == 201
    assert answer.status == 401, answer.body
    assert answer.json["type"] == "/problems/identity_token_invalid"
    assert answer["WWW-Authenticate"]
    if len(text) > 10:
        assert text.split(".")[-1] not in answer.body.decode() or len(text.split(".")[-1]) < 10
    after = signing_in.api.must("GET", "/v1/tokens").json["tokens"]
    assert len(after) == len(before) + 1


def test_an_identity_token_gives_one_session_however_many_ask_for_it(signing_in):
    text = token(signing_in.company, sub=unique())
    answers = in_threads(20, lambda _: sign_in(signing_in.api, text))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 19
    assert {answer.json["type"] for answer in answers if answer.status == 409} == {"/problems/identity_token_used"}
    # ECDSA has two signatures for everything that is signed.
    text = token(signing_in.company, key="ec", algorithm="ES256", kid="e1", sub=unique())
    head, _, signature = text.rpartition(".")
    r, s = (lambda raw: (raw[:32], int.from_bytes(raw[32:], "big")))(jwt.utils.base64url_decode(signature))
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    twin = f"{head}.{b64(r + (order - s).to_bytes(32, 'big'))}"
    assert sign_in(signing_in.api, text).status == 201
    assert sign_in(signing_in.api, twin).status == 409


def test_a_nonce_must_be_the_one_of_the_sign_in(signing_in):
    text = token(signing_in.company, sub=unique(), nonce="of this one")
    assert sign_in(signing_in.api, text, nonce="of another").status == 401
    assert sign_in(signing_in.api, token(signing_in.company), nonce="of none").status == 401
    assert sign_in(signing_in.api, text, nonce="of this one").status == 201


def test_unknown_keys_cause_one_request_to_the_provider(signing_in):
    issuer = signing_in.issuer.provider("flooded")
    know(signing_in.api, "flooded", issuer)
    admit(signing_in.api, "flooded", "flooded", {"groups": ["dev"]}, DEVELOPER)
    in_threads(10, lambda number: sign_in(signing_in.api, token(issuer, kid=f"unknown{number}")))
    assert sign_in(signing_in.api, token(issuer)).status == 201
    assert signing_in.issuer.fetches("flooded") == 1


@pytest.mark.parametrize(
    ("name", "keys", "metadata"),
    [
        ("impostor", None, {"issuer": "https://login.example.com"}), ("keyless", None, {"jwks_uri": None}),
        ("elsewhere", None, {"jwks_uri": "file:///etc/passwd"}), ("metadata-service", None, {"jwks_uri": "http://169.254.169.254/latest"}),
        ("gone", None, {"jwks_uri": "http://127.0.0.1:9/jwks"}),
    ],
)  # fmt: skip
def test_a_provider_without_right_metadata_gives_no_keys(signing_in, name, keys, metadata):
    signing_in.issuer.provider(name, keys, **metadata)
    issuer = f"{signing_in.issuer.base}/{name}"
    know(signing_in.api, name, issuer)
    admit(signing_in.api, name, name, {"groups": ["dev"]}, DEVELOPER)
    answer = sign_in(signing_in.api, token(issuer))
    expect_problem(answer, 503, "identity_provider_unavailable")
    assert answer["Retry-After"]
    # Only who reads access is told why.
    providers = signing_in.api.must("GET", "/v1/access/identity-providers").json["identity_providers"]
    (mine,) = [each for each in providers if each["provider"] == name]
    assert mine["keys"]["failure"] and mine["keys"]["failure"] not in answer.body.decode()


def test_private_addresses_are_called_only_as_the_node_allows(server):
    for issuer in ("http://127.0.0.1:1/x", "https://169.254.169.254", "https://10.0.0.1", "https://localhost"):
        answer = server.api.request(
            "PUT", "/v1/access/identity-providers/inside", {"issuer": issuer, "audiences": ["a"]})
        assert answer.status == 422 and answer.json["errors"][0]["pointer"] == "/issuer", answer.body


def test_an_identity_that_no_rule_admits_gets_no_session_and_learns_nothing(signing_in):
    answer = sign_in(signing_in.api, token(signing_in.company, sub=unique(), groups=["Dev", "developers", "DEV"]))
    expect_problem(answer, 403, "sign_in_denied")
    assert "developers" not in answer.json["detail"]


def test_the_end_of_a_rule_a_suspension_and_a_revocation_end_sessions_at_once(signing_in):
    api, company = signing_in.api, signing_in.company
    admit(api, "short", "company", {"groups": ["short"]}, DEVELOPER)
    first = session(api, token(company, sub=unique(), groups=["short"]))
    assert first.get(f"/v1/apps/{APP}").status == 200
    admit(api, "short", "company", {"groups": ["short"]}, DEVELOPER, session_seconds=600)
    assert first.get(f"/v1/apps/{APP}").status == 404
    second = session(api, token(company, sub=unique(), groups=["short"]))
    api.must("DELETE", "/v1/access/sign-in-rules/short")
    assert second.get(f"/v1/apps/{APP}").status == 404
    third = session(api, token(company, sub=unique()))
    me = third.must("GET", "/v1/whoami").json
    api.must("PATCH", f"/v1/access/principals/{me['principal']['principal_id']}", {"suspended": True})
    assert third.get("/v1/whoami").status == 401
    identity = next(
        each for each in api.must("GET", "/v1/access/identities").json["identities"]
        if each.get("principal_id") == me["principal"]["principal_id"])  # fmt: skip
    api.must("DELETE", f"/v1/access/identities/{identity['identity_id']}")
    fifth = session(api, token(company, sub=unique()))
    own = fifth.must("GET", "/v1/whoami").json["principal"]["principal_id"]
    linked = next(each for each in api.must("GET", "/v1/access/identities").json["identities"] if each.get("principal_id") == own)
    api.must("DELETE", f"/v1/access/identities/{linked['identity_id']}")
    assert fifth.get("/v1/whoami").status == 401
    answer = sign_in(api, token(company, sub=identity["subject"]))
    expect_problem(answer, 403, "identity_unlinked")
    fourth = session(api, token(company, sub=unique()))
    fourth.must("DELETE", f"/v1/tokens/{fourth.must('GET', '/v1/whoami').json['token']['token_id']}")
    assert fourth.get("/v1/whoami").status == 401


def test_a_session_makes_no_token_that_outlasts_it(signing_in):
    mine = session(signing_in.api, token(signing_in.company, sub=unique()))
    me = mine.must("GET", "/v1/whoami").json["principal"]["principal_id"]
    for body in ({"principal_id": me, "grants": [DEVELOPER]}, {"principal_id": me}):
        answer = mine.request("POST", "/v1/tokens", {"name": "x"} | body)
        expect_problem(answer, 422, "invalid_expiry")
        text = mine.must("POST", "/v1/tokens", {"name": "x", "expires_at": from_now(minutes=10)} | body).json["token"]
        assert API(mine.port, text).get(f"/v1/apps/{APP}").status == 404
    for kind in ("session", "calendar"):
        answer = signing_in.api.request("POST", "/v1/tokens", {"name": "x", "kind": kind, "grants": EVERYTHING})
        assert answer.status == 422
    answer = signing_in.api.request(
        "POST", "/v1/tokens",
        {"name": "x", "grants": EVERYTHING, "sign_in": {"issuer": signing_in.company, "subject": "1", "rules": []}})
    assert answer.status == 422


WORKLOADS = {
    "github": ("repo:example/shop:ref:refs/heads/main", ["repo:example/shop:*"], ["repo:example/shop-evil:ref:refs/heads/main", "repo:evil/repo:example/shop:x"]),
    "gitlab": ("project_path:example/shop:ref_type:branch:ref:main", ["project_path:example/*"], ["project_path:example-evil/shop:ref_type:branch:ref:main"]),
    "kubernetes": ("system:serviceaccount:payments:deployer", ["system:serviceaccount:payments:*"], ["system:serviceaccount:payments-evil:deployer", "system:serviceaccount:payments"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKLOADS)
def test_jobs_of_ci_systems_sign_in_by_their_subjects(signing_in, name):
    subject, patterns, strangers = WORKLOADS[name]
    issuer = signing_in.issuer.provider(name)
    know(signing_in.api, name, issuer)
    admit(signing_in.api, name, name, {"sub": patterns}, DEVELOPER, kind="service")
    job = session(signing_in.api, token(issuer, sub=subject, groups=None))
    me = job.must("GET", "/v1/whoami").json
    assert me["principal"]["kind"] == "service" and me["actor"]["name"] == subject
    # Another job of the rule is another session of the same principal.
    second = session(signing_in.api, token(issuer, sub=f"{patterns[0][:-1]}another", groups=None)).must("GET", "/v1/whoami").json
    assert second["principal"]["principal_id"] == me["principal"]["principal_id"]
    assert second["actor"]["name"] == f"{patterns[0][:-1]}another"
    for stranger in strangers:
        assert sign_in(signing_in.api, token(issuer, sub=stranger, groups=None)).status == 403, stranger


def test_failed_sign_ins_wait_longer_and_longer_and_right_ones_pass(own_server, request):
    issuer = Issuer()
    request.addfinalizer(issuer.close)
    api = own_server.api
    statuses = [sign_in(api, "x.y.z") for _ in range(8)]
    assert [answer.status for answer in statuses] == [401] * 6 + [429] * 2
    assert int(statuses[-1]["Retry-After"]) >= 1 and "is not three parts" in statuses[-1].json["detail"]
    # Nothing else waits.
    assert api.get("/v1/whoami").status == 200
    records = eventually(lambda: [
        record for event in api.history("/v1/history", stream="audit") for record in event["data"]["records"]
        if record.get("operation") == "signIn"])  # fmt: skip
    assert {(record["outcome"], record["status"]) for record in records} >= {("unauthenticated", 401)}


def test_people_of_a_provider_approve_each_others_changes_and_never_their_own(signing_in):
    api, company = signing_in.api, signing_in.company
    admit(api, "reviewers", "company", {"groups": ["review"]}, {"role": "approver", "apps": ["*"]}, {"role": "editor", "apps": ["*"]})
    ada, bob = (session(api, token(company, sub=unique(), groups=["review"])) for _ in range(2))
    rule = {"apps": [APP], "permissions": ["apps.change"], "approvals": 1, "roles": ["approver"]}
    api.must("PUT", "/v1/access/approval-rules/two", rule)
    try:
        assert ada.request("PATCH", f"/v1/apps/{APP}", {"display_name": "X", "reason": "y"}).status == 403
        body = {"display_name": "By two", "reason": "a name"}
        change = ada.must("PATCH", f"/v1/apps/{APP}?change=new", body).json["change"]
        approval = {"content_sha256": change["content_sha256"]}
        assert ada.request("POST", f"/v1/changes/{change['change_id']}/approve", approval).status == 403
        bob.must("POST", f"/v1/changes/{change['change_id']}/approve", approval)
        ada.must("POST", f"/v1/changes/{change['change_id']}/apply", {})
        assert api.must("GET", f"/v1/apps/{APP}").json["display_name"] == "By two"
    finally:
        api.must("DELETE", "/v1/access/approval-rules/two")


# MARK: The command line


def run(signing_in, *arguments: str, status: int = 0, input: str | None = None) -> subprocess.CompletedProcess:
    environment = os.environ | {
        "NO_COLOR": "1", "XDG_STATE_HOME": str(signing_in.home / "operator"), "PINLEDGER_DATA": str(signing_in.home / "nothing"),
    }  # fmt: skip
    environment.pop("PINLEDGER_TOKEN", None)
    done = subprocess.run([BINARY, *arguments], env=environment, input=input, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def url(signing_in) -> str:
    return f"http://127.0.0.1:{signing_in.port}"


def test_a_person_signs_in_by_a_code_and_out_again(signing_in):
    issuer = signing_in.issuer
    subject = unique()
    base = issuer.provider(
        "company", device_authorization_endpoint=f"{issuer.base}/company/device", token_endpoint=f"{issuer.base}/company/token")
    device = {
        "device_code": "secret", "user_code": "WDJB-MJHT", "interval": 1, "expires_in": 60,
        "verification_uri": "https://login.example.com/device\u001b[2J",
    }  # fmt: skip
    issuer.documents["/company/device"] = (200, json.dumps(device).encode())
    issuer.answers = [
        (400, {"error": "authorization_pending"}), (200, {"id_token": token(base, sub=subject, name="Grace"), "access_token": "x"}),
    ]  # fmt: skip
    assert "no server is given" in run(signing_in, "whoami", status=2).stderr
    done = run(signing_in, "login", "--server", url(signing_in))
    assert f"asks you to sign in at {base}, as its client cli" in done.stderr
    assert "WDJB-MJHT" in done.stderr and "\u001b" not in done.stderr and not done.stdout
    assert issuer.forms[0] == ("/company/device", {"client_id": "cli", "scope": "openid profile email"})
    assert issuer.forms[-1][1]["device_code"] == "secret"
    # The server and the session are known from now on.
    shown = run(signing_in, "whoami").stdout
    assert "Grace" in shown and "developers" in shown
    (file,) = (signing_in.home / "operator").rglob("sessions.json")
    assert file.stat().st_mode & 0o777 == 0o600
    run(signing_in, "app", "show", APP)
    text = json.loads(file.read_text())["sessions"][0]["token"]
    run(signing_in, "logout")
    assert API(signing_in.port, text).get("/v1/whoami").status == 401
    assert text not in file.read_text()
    run(signing_in, "logout", "--server", url(signing_in), status=5)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((400, {"error": "access_denied"}), "denied"), ((400, {"error": "expired_token"}), "expired"),
        ((400, {"error": "invalid_client", "error_description": "no such\u001b[31m client"}), "no such"),
        ((200, {"access_token": "x"}), "no identity token"), ((500, {}), "status 500"),
    ],
)  # fmt: skip
def test_a_sign_in_by_code_that_fails_says_why(signing_in, answer, words):
    issuer = signing_in.issuer
    issuer.provider(
        "company", device_authorization_endpoint=f"{issuer.base}/company/device", token_endpoint=f"{issuer.base}/company/token")
    issuer.documents["/company/device"] = (200, json.dumps(
        {"device_code": "s", "user_code": "C", "interval": 1, "verification_uri": "https://a.example"}).encode())  # fmt: skip
    issuer.answers = [answer]
    done = run(signing_in, "login", "--server", url(signing_in), status=4)
    assert words in done.stderr and "\u001b" not in done.stderr


def test_a_job_signs_in_with_the_token_of_its_ci_system(signing_in, tmp_path):
    text = token(signing_in.company, sub=unique())
    printed = run(signing_in, "login", "--server", url(signing_in), "--identity-token-file", "-", "--print-token", input=text)
    assert API(signing_in.port, printed.stdout.strip()).get("/v1/whoami").status == 200
    file = tmp_path / "token.jwt"
    file.write_text(token(signing_in.company, sub=unique(), exp=int(time.time()) - 100))
    done = run(signing_in, "login", "--server", url(signing_in), "--identity-token-file", str(file), status=4)
    assert "its exp is over" in done.stderr
    assert "nothing" in run(
        signing_in, "login", "--server", url(signing_in), "--provider", "nothing", status=5).stderr
    # No identity token goes over plain HTTP to another machine.
    done = run(signing_in, "login", "--server", "http://192.0.2.1:1", "--identity-token-file", str(file), status=2)
    assert "http" in done.stderr


def test_providers_rules_and_identities_are_managed_at_the_command_line(signing_in):
    cli, issuer = signing_in.cli, signing_in.issuer.provider("cli")
    said = cli("access", "provider", "set", "cli", "--issuer", issuer, "--audience", "pinledger", "--algorithm", "RS256")
    assert f"Identity tokens of {issuer} for pinledger are accepted, as those of cli." in said.stdout
    said = cli("access", "sign-in", "set", "jobs", "--provider", "cli", "--service", "--claim", "sub=repo:example/shop:*",
        "--claim", "env=prod", "--claim", "env=test", "--role", "editor", "--app", APP, "--for", "15m")  # fmt: skip
    assert "admits identities of cli with env=prod|test, sub=repo:example/shop:* as programs, for 900 seconds" in said.stdout
    (rule,) = [each for each in signing_in.cli_json("access", "sign-in", "list")["sign_in_rules"] if each["rule"] == "jobs"]
    assert rule["claims"] == {"env": ["prod", "test"], "sub": ["repo:example/shop:*"]} and rule["session_seconds"] == 900
    for command in (["provider", "list"], ["sign-in", "list"], ["identity", "list"]):
        assert cli("access", *command).stdout
    person = signing_in.cli_json("access", "add", "Ada")["principal_id"]
    twin = cli("access", "provider", "set", "twin", "--issuer", issuer, "--audience", "wiki", status=6)
    assert "The identity provider cli has this issuer" in twin.stderr
    assert "jobs" in cli("access", "review").stdout
    linked = signing_in.cli_json("access", "identity", "link", person, "--issuer", issuer, "--subject", "ada")
    identity = linked["events"][0]["data"]["identity_id"]
    cli("access", "identity", "unlink", identity)
    assert cli("access", "provider", "remove", "cli", status=6)
    cli("access", "sign-in", "remove", "jobs")
    cli("access", "provider", "remove", "cli")


def test_the_history_of_a_person_has_what_was_done_with_every_session(signing_in):
    subject = unique()
    for number in range(2):
        mine = session(signing_in.api, token(signing_in.company, sub=subject))
        mine.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"{subject} {number}"})
    me = mine.must("GET", "/v1/whoami").json["principal"]["principal_id"]
    events = signing_in.api.history("/v1/history", actor=me)
    assert [event["type"] for event in events if event["type"] == "AppRenamed"] == ["AppRenamed"] * 2
    assert {event["actor"]["principal_id"] for event in events} == {me}
    assert signing_in.api.must("GET", f"/v1/access/principals/{me}").json["last_sign_in"]["rules"] == ["developers"]


def test_an_operator_who_asks_too_much_waits_and_still_engages_kill_switches(request):
    server = Server(more=["--requests-per-operator", "1"])
    request.addfinalizer(server.destroy)
    server.start()
    server.api.make_app(APP, "api.example.com")
    other = API(server.port, server.api.must("POST", "/v1/tokens", {"name": "x", "grants": EVERYTHING}).json["token"])
    answers = [server.api.get("/v1/whoami") for _ in range(12)]
    assert answers[0]["RateLimit-Policy"] == '"operator";q=10;w=10' and answers[0]["RateLimit"].startswith('"operator";r=')
    late = answers[-1]
    expect_problem(late, 429, "too_many_requests")
    assert int(late["Retry-After"]) >= 1 and late["RateLimit"].startswith('"operator";r=0;t=')
    assert other.get("/v1/whoami").status == 200
    until = {"expires_at": from_now(seconds=3600), "reason": "stop"}
    assert server.api.request("PUT", f"/v1/apps/{APP}/kill-switch", until).status == 200


def bootstrap(signing_in, name: str) -> str:
    done = signing_in.cli(
        "token", "bootstrap", name, "--code", "--database", signing_in.connection_string,
        "--kek-file", str(signing_in.data / "key-encryption-key"))  # fmt: skip
    assert "valid once and for 15 minutes" in done.stderr
    # Another process has recorded it: the node reads it in a moment.
    assert eventually(lambda: any(each["name"] == name for each in signing_in.api.must("GET", "/v1/tokens").json["tokens"]))
    return done.stdout.strip()


def test_a_one_time_code_gives_one_person_one_token_however_many_try_it(signing_in):
    code = bootstrap(signing_in, "Grace Hopper")
    assert code.startswith("pk_wrp_")
    # It opens nothing itself.
    assert API(signing_in.port, code).get("/v1/whoami").status == 401
    nobody = API(signing_in.port, None)
    answers = in_threads(20, lambda _: nobody.request("POST", "/v1/sign-in", {"code": code}))
    assert sorted(answer.status for answer in answers)[0] == 201
    assert {answer.status for answer in answers if answer.status != 201} <= {401, 429}
    assert sum(answer.status == 201 for answer in answers) == 1
    (given,) = [answer.json for answer in answers if answer.status == 201]
    grace = API(signing_in.port, given["token"])
    me = grace.must("GET", "/v1/whoami").json
    assert me["actor"]["name"] == "Grace Hopper" and me["token"]["kind"] == "general" and given["rules"] == []
    grace.must("GET", "/v1/access/principals")


def test_a_person_redeems_a_code_at_the_command_line(signing_in):
    code = bootstrap(signing_in, "Barbara Liskov")
    run(signing_in, "login", "--server", url(signing_in), "--code-file", "-", input=f"{code}\n")
    assert "Barbara Liskov" in run(signing_in, "whoami", "--server", url(signing_in)).stdout
    run(signing_in, "logout", "--server", url(signing_in))
    done = run(signing_in, "login", "--server", url(signing_in), "--code-file", "-", input=code, status=4)
    assert "used or over" in done.stderr and "--code" in done.stderr


@pytest.mark.parametrize(
    "body",
    [
        {}, {"identity_token": "a.b.c", "code": "pk_wrp_x"}, {"code": "pk_wrp_x", "nonce": "n"}, {"code": 7}, {"code": None},
        {"identity_token": "a.b.c", "more": 1},
    ],
)  # fmt: skip
def test_a_sign_in_has_one_credential(signing_in, body):
    assert API(signing_in.port, None).request("POST", "/v1/sign-in", body).status == 422
