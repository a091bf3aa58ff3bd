"""Dynapins' clients of both protocols: what they are answered is verified by libraries that know nothing of Pinledger."""

import base64
import json
import re
import time
from datetime import datetime, timezone

import jwt
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from deployed import (
    ED25519_NAME, ED25519_PRIVATE, ED25519_PUBLIC, HOST, P256_NAME, P256_PRIVATE, P256_PUBLIC, Identity, KillSwitch,
    add_host, ask, check_conditional, client_path, compact, declare, is_not_kept_longer, make_app, private_key, public_key,
)  # fmt: skip
from jwcrypto import jwk, jws
from names import unique
from pinledger import Server, pin_hex, pin_of
from problems import expect_problem
from tls_server import TLSServer

WILD = "*.cdn.example.com"
# Members of the first protocol in the order in which Go writes them: not sorted.
ORDER = ["domain", "pins", "created", "expires", "ttl_seconds", "keyId", "alg"]
VECTOR = (
    '{"domain":"example.com","pins":["88c3292097527f95650a51dac5945eca168bc4bb2664c30d022036a4c47cfcce",'
    '"a814636663a69123492f4a7bd337a4ee8752233aacfe6b91e0993dc58c823fe1"],"created":"2025-10-17T11:19:41Z",'
    '"expires":"2025-10-17T12:19:41Z","ttl_seconds":3600,"keyId":"7fda4c1e","alg":"Ed25519"}'
)
SIGNATURE = "YfgwXFSRbB4zn1r1jtoqjkiLCxajox/tsLRtHRgwXiZ8i34JnfTMWjOl/L0yyR/cjJQ85sRP78fVyeAMxWD/CA=="


def path(app: str, query: str | None = f"domain={HOST}", name: str = "v1/pins") -> str:
    return f"/compat/dynapins/{app}/{name}" + ("" if query is None else f"?{query}")


def make(api, identities, settings: dict, key: str | None) -> str:
    app = make_app(api, unique("com.example.dynapins."), *identities[:2])
    add_host(api, app, WILD, {"pin": pin_of("cdn 1")}, {"pin": pin_of("cdn 2")})
    declare(api, app, "dynapins", settings, key)
    return app


#: Settings and a key for installs of SDK 0.0.1 and 0.2.
FIRST, SECOND = ({"protocol": "ed25519"}, ED25519_PRIVATE), ({"ttl_seconds": 600}, P256_PRIVATE)


@pytest.fixture(scope="module")
def first(server, identities) -> str:
    """An app whose installs have SDK 0.0.1."""
    return make(server.api, identities, *FIRST)


@pytest.fixture(scope="module")
def second(server, identities) -> str:
    """An app whose installs have SDK 0.2."""
    return make(server.api, identities, *SECOND)


class FirstSDK:
    """SDK 0.0.1, as far as its decoding and verification go."""

    # It takes the last 32 bytes of whatever it is given.
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(ED25519_PUBLIC)[-32:])

    @classmethod
    def read(cls, answer) -> dict:
        assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
        told = answer.json
        cls.key.verify(base64.b64decode(told["signature"], validate=True), compact({name: told[name] for name in ORDER}))
        assert list(told) == [*ORDER, "signature"]
        return told


class SecondSDK:
    """SDK 0.2, likewise; two libraries have to agree on the token."""

    keys = [public_key(P256_PUBLIC), jwk.JWK.from_pem(b"-----BEGIN PUBLIC KEY-----\n%b\n-----END PUBLIC KEY-----\n" % P256_PUBLIC.encode())]

    @classmethod
    def claims(cls, token: str, leeway: float = 0) -> dict:
        claims = jwt.decode(token, cls.keys[0], algorithms=["ES256"], options={"require": ["iat", "exp"]}, leeway=leeway)
        other = jws.JWS()
        other.allowed_algs = ["ES256"]
        other.deserialize(token, cls.keys[1])
        assert other.is_valid and json.loads(other.payload) == claims
        return claims

    @classmethod
    def read(cls, answer, requested: str, *, ahead: float = 0) -> dict:
        """The claims of a token for a client whose clock is ahead of this process's by so many seconds."""
        assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
        assert list(answer.json) == ["jws"]
        token = answer.json["jws"]
        assert jwt.get_unverified_header(token) == {"alg": "ES256", "kid": P256_NAME, "typ": "JWT"}
        # r and s, not DER, in base64url without padding.
        assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]{86}", token)
        claims = cls.claims(token, leeway=ahead)
        for name in ("iat", "exp", "ttl_seconds"):
            assert type(claims[name]) is int, "a number with a fraction is no claim to this SDK"
        assert claims["iat"] <= time.time() + ahead + 1 and claims["exp"] > time.time() + ahead
        assert claims["domain"] == requested
        assert all(len(base64.b64decode(pin, validate=True)) == 32 and len(pin) == 44 for pin in claims["pins"])
        return claims


# MARK: The first protocol


def test_the_sdk_in_these_tests_takes_what_upstream_signed():
    told = json.loads(VECTOR)
    FirstSDK.key.verify(base64.b64decode(SIGNATURE), compact({name: told[name] for name in ORDER}))
    assert private_key(ED25519_PRIVATE).sign(VECTOR.encode()) == base64.b64decode(SIGNATURE)
    with pytest.raises(InvalidSignature):
        FirstSDK.key.verify(base64.b64decode(SIGNATURE), json.dumps(told, sort_keys=True, separators=(",", ":")).encode())


def test_the_first_protocol_is_verified_over_go_s_bytes(api, first, identities):
    answer = ask(api, path(first), Accept="application/json")
    told = FirstSDK.read(answer)
    assert told["domain"] == HOST and told["alg"] == "Ed25519" and told["keyId"] == ED25519_NAME
    assert told["pins"] == [one.digest.hex() for one in identities[:2]]
    assert told["ttl_seconds"] == 3600 and is_not_kept_longer(answer, 3600)
    created, expires = (
        datetime.strptime(told[name], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc) for name in ("created", "expires")
    )
    now = datetime.now(timezone.utc)
    assert created <= now < expires
    # Nothing was added to the bytes that were signed but the signature.
    assert answer.body.startswith(compact({name: told[name] for name in ORDER})[:-1] + b',"signature":"')
    # Ed25519 has one signature for one text.
    text = compact({name: told[name] for name in ORDER})
    assert told["signature"] == base64.b64encode(private_key(ED25519_PRIVATE).sign(text)).decode()
    check_conditional(api, path(first), answer)


def test_a_fingerprint_alone_can_be_replayed_and_is_not_signed_unless_clients_are_declared_that_want_it(api, identities):
    first = make(api, identities, {"protocol": "ed25519"}, ED25519_PRIVATE)
    target = path(first, name="cert-fingerprint")
    for _ in range(2):
        assert "cert_fingerprint" in expect_problem(ask(api, target), 404, "not_found")["detail"]
    refused = api.request("PUT", client_path(first, "dynapins"), {"settings": {"protocol": "es256", "cert_fingerprint": True}})
    expect_problem(refused, 422, "invalid_value")

    def limits() -> list[str]:
        return [one["limit"] for one in api.must("GET", f"/v1/apps/{first}/compat").json["clients"][0]["findings"]]

    assert "replayable" not in limits()
    declare(api, first, "dynapins", {"protocol": "ed25519", "cert_fingerprint": True})
    assert "replayable" in limits()
    answer = ask(api, target)
    assert answer.status == 200, str(answer)
    told = answer.json
    assert set(told) == {"domain", "fingerprint", "signature", "ttl"}
    assert (told["domain"], told["fingerprint"], told["ttl"]) == (HOST, identities[0].digest.hex(), 3600)
    FirstSDK.key.verify(base64.b64decode(told["signature"], validate=True), told["fingerprint"].encode())


# MARK: The second protocol


def test_the_second_protocol_is_a_token_to_two_libraries(api, second, identities):
    answer = ask(api, path(second, f"domain={HOST}&include-backup-pins=true"), Accept="application/json")
    claims = SecondSDK.read(answer, HOST)
    assert claims["pins"] == [one.base64 for one in identities[:2]]
    assert claims["ttl_seconds"] == 600 and claims["exp"] - claims["iat"] >= 600
    assert is_not_kept_longer(answer, 600)
    check_conditional(api, path(second), ask(api, path(second)))


def test_a_changed_token_does_not_verify(api, second):
    head, payload, signature = ask(api, path(second)).json["jws"].split(".")
    other = base64.urlsafe_b64encode(base64.urlsafe_b64decode(payload + "==").replace(b"example", b"exemple")).decode().rstrip("=")
    assert other != payload
    for token in (f"{head}.{other}.{signature}", f"{head}.{payload}.{'A' * 86}"):
        with pytest.raises(jwt.InvalidSignatureError):
            SecondSDK.claims(token)


# MARK: Both


@pytest.fixture(params=["first", "second"])
def either(request):
    """An app, and how its SDK reads an answer: the domain, and pins in hexadecimal."""
    return request.getfixturevalue(request.param), READERS[request.param]


def read_first(answer, requested: str, **_) -> tuple[str, list[str]]:
    told = FirstSDK.read(answer)
    return told["domain"], told["pins"]


def read_second(answer, requested: str, **more) -> tuple[str, list[str]]:
    claims = SecondSDK.read(answer, requested, **more)
    return claims["domain"], [base64.b64decode(pin).hex() for pin in claims["pins"]]


READERS = {"first": read_first, "second": read_second}


@pytest.mark.parametrize("domain", [HOST, "API.Example.com", "a.cdn.example.com", WILD])
def test_the_domain_is_echoed_as_it_was_asked_for(api, either, domain):
    app, read = either
    for query in (f"domain={domain}", f"x=1&domain={domain.replace('*', '%2A')}&include-backup-pins=false&unknown"):
        answer = ask(api, path(app, query))
        told, pins = read(answer, domain)
        assert told == domain and len(pins) == len(set(pins)) == 2
        if "cdn" in domain:
            assert pins == [pin_hex(pin_of("cdn 1")), pin_hex(pin_of("cdn 2"))]


def test_parameters_without_meaning_do_not_make_another_answer(api, either):
    """Many spellings of one question have one answer: no client fills the server's memory with its own."""
    app, _ = either
    plain = ask(api, path(app))
    for query in [
        f"domain={HOST}&utm=%", f"a=b&domain={HOST}", f"domain={HOST}&domain=other.example.org", "domain=api%2Eexample.com",
    ]:  # fmt: skip
        answer = ask(api, path(app, query))
        assert answer.body == plain.body and answer["ETag"] == plain["ETag"], query


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        (None, 400, "Missing required query parameter: domain"),
        ("", 400, "Missing required query parameter: domain"),
        ("domain=", 400, "Missing required query parameter: domain"),
        ("domains=api.example.com", 400, "Missing required query parameter: domain"),
        ("domain=" + ".".join(["a" * 50] * 6), 400, "Invalid domain parameter"),
        ("domain=" + "a" * 64 + ".example.com", 400, "Invalid domain parameter"),
        ("domain=api%20example.com", 400, "Invalid domain parameter"),
        ("domain=https://api.example.com/", 400, "Invalid domain parameter"),
        ("domain=*.*.example.com", 400, "Invalid domain parameter"),
        ("domain=b%C3%BCcher.example.com", 400, "Invalid domain parameter"),
        ("domain=%00", 400, "Invalid domain parameter"),
        ("domain=nobody.example.net", 403, "Domain not found in whitelist"),
        ("domain=example.com", 403, "Domain not found in whitelist"),
        # Two labels below the wildcard, and the wildcard's own name.
        ("domain=a.b.cdn.example.com", 403, "Domain not found in whitelist"),
        ("domain=cdn.example.com", 403, "Domain not found in whitelist"),
        # What the SDK itself would let through, having no eye for dots.
        ("domain=badcdn.example.com", 403, "Domain not found in whitelist"),
    ],
)
def test_a_request_that_cannot_be_answered_gets_the_error_of_upstream(api, either, query, status, message):
    app, _ = either
    answer = ask(api, path(app, query))
    assert answer.status == status and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
    assert answer.json == {"error": message, "code": status}


@pytest.mark.parametrize("name", ["v1/pins", "cert-fingerprint", "health", "readiness"])
def test_only_get_and_head_are_answered(api, either, name):
    app, _ = either
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = ask(api, path(app, name=name), method, b"{}" if method != "DELETE" else None)
        assert answer.status == 405 and answer["Content-Type"] == "application/json", str(answer)
        assert answer.json == {"error": "Method not allowed", "code": 405}
        assert {one.strip() for one in answer["Allow"].split(",")} == {"GET", "HEAD", "OPTIONS"}
        assert answer["Request-Id"] and answer["Cache-Control"] == "no-store"
    told = ask(api, path(app, name=name))
    head = ask(api, path(app, name=name), "HEAD")
    assert (head.status, head.body, head["Content-Type"]) == (told.status, b"", told["Content-Type"])


@pytest.mark.parametrize("name", ["health", "readiness"])
def test_an_answer_to_one_request_alone_has_a_request_id(api, either, name):
    app, _ = either
    answers = [ask(api, path(app, None, name)) for _ in range(2)]
    assert answers[0]["Request-Id"] != answers[1]["Request-Id"] and answers[0]["X-Content-Type-Options"] == "nosniff"


def test_a_single_pin_is_never_served(api, either):
    """SDK 0.2 would end the app's process."""
    app, _ = either
    host = f"single{unique()}.example.com"
    add_host(api, app, host, {"pin": pin_of("alone")}, mode="report_only")
    answer = ask(api, path(app, f"domain={host}"))
    assert answer.status == 422 and answer.json["code"] == 422, str(answer)
    assert answer.json["error"].startswith("Failed to retrieve certificate for domain")
    api.must("POST", f"/v1/apps/{app}/hosts/{host}/pins", {"pin": pin_of("company"), "role": "backup"})
    assert ask(api, path(app, f"domain={host}")).status == 200


def test_a_kill_switch_takes_no_pins_away(api, either):
    """These clients refuse every connection for which they have none."""
    app, read = either
    before = read(ask(api, path(app)), HOST)
    with KillSwitch(api, app):
        assert read(ask(api, path(app)), HOST) == before
    with KillSwitch(api, app, HOST):
        assert read(ask(api, path(app)), HOST) == before


@pytest.mark.parametrize("name", ["first", "second"])
def test_pins_that_have_ended_are_still_told(timed, identities, name):
    """These clients refuse every connection for which they have none."""
    api, read = timed.api, READERS[name]
    app = make(api, identities, *{"first": FIRST, "second": SECOND}[name])

    def told() -> tuple[str, list[str]]:
        return read(ask(api, path(app)), HOST, ahead=timed.clock.ahead.total_seconds())

    before = told()
    api.must("PATCH", f"/v1/apps/{app}", {"pins_valid_until": timed.clock.from_now(hours=1), "reason": "a test", "force": True})
    timed.forward(hours=1)
    assert "pins_expired" in api.must("POST", f"/v1/apps/{app}/explain", {"hosts": [HOST], "device": {}}).body.decode()
    assert told() == before


def test_a_change_is_in_the_next_answer_of_dynapins(api, either):
    app, read = either
    host = f"change{unique()}.example.com"
    add_host(api, app, host, {"pin": pin_of("a")}, {"pin": pin_of("b")})
    query = path(app, f"domain={host}")
    before = ask(api, query)
    assert len(read(before, host)[1]) == 2
    api.must("POST", f"/v1/apps/{app}/hosts/{host}/pins", {"pin": pin_of("c"), "role": "backup"})
    after = ask(api, query)
    assert set(read(after, host)[1]) - set(read(before, host)[1]) == {pin_hex(pin_of("c"))}
    if before["ETag"] is not None:
        assert ask(api, query, If_None_Match=before["ETag"]).status == 200


def test_health_and_readiness_are_answered_as_upstream_does(api, either):
    app, _ = either
    assert (answer := ask(api, path(app, None, "health"))).status == 200 and answer.json == {"status": "healthy"}
    answer = ask(api, path(app, None, "readiness"))
    assert answer.status == 200 and set(answer.json) == {"status", "allowed_domains", "key_id"}
    assert answer.json["status"] == "ready" and answer.json["allowed_domains"] >= 2
    assert answer.json["key_id"] in (ED25519_NAME, P256_NAME)


@pytest.mark.parametrize("protocol", ["ed25519", "es256"])
def test_an_app_without_a_key_gets_no_answers(api, identities, protocol):
    app = make(api, identities, {"protocol": protocol}, None)
    expect_problem(ask(api, path(app)), 409, "client_key_missing")
    answer = ask(api, path(app, None, "readiness"))
    assert answer.status == 503 and answer.json["status"] == "not ready" and answer.json["reason"]
    assert ask(api, path(app, None, "health")).status == 200


@pytest.mark.parametrize("name", ["v1/pins", "cert-fingerprint", "health", "readiness"])
def test_an_app_without_dynapins_clients_has_no_such_server(api, first, name):
    app = unique("com.example.dynapins.none.")
    expect_problem(ask(api, path(app, name=name)), 404, "app_unknown")
    api.make_app(app, HOST)
    expect_problem(ask(api, path(app, name=name)), 404, "client_unknown")


def test_the_served_key_comes_first_whichever_is_the_primary(tmp_path):
    """SDK 0.0.1 compares the first pin and no other: the order changes at the moment the server's key does."""
    old, new, spare = (Identity(tmp_path, name) for name in ("old", "new", "spare"))
    options = ["--allow-private-range", "127.0.0.0/8", "--resolve", f"{HOST}=127.0.0.1"]
    server, tls = Server(more=options), TLSServer(old)
    try:
        api = server.start().api
        apps = {}
        for protocol, key in {"ed25519": ED25519_PRIVATE, "es256": P256_PRIVATE}.items():
            apps[protocol] = make_app(api, f"com.example.served.{protocol}", old, new, spare)
            settings = {"protocol": protocol} | ({"cert_fingerprint": True} if protocol == "ed25519" else {})
            declare(api, apps[protocol], "dynapins", settings, key)
            api.must("PATCH", f"/v1/apps/{apps[protocol]}/hosts/{HOST}", {"endpoints": [f"{HOST}:{tls.port}"]})

        def first_pins() -> set[str]:
            server.cli("probe", f"{HOST}:{tls.port}")
            one = FirstSDK.read(ask(api, path(apps["ed25519"])))
            two = SecondSDK.read(ask(api, path(apps["es256"])), HOST)
            assert len(one["pins"]) == len(two["pins"]) == 3
            assert ask(api, path(apps["ed25519"], name="cert-fingerprint")).json["fingerprint"] == one["pins"][0]
            return {one["pins"][0], base64.b64decode(two["pins"][0]).hex()}

        for identity in (old, new, spare, old):
            tls.serve(identity)
            assert first_pins() == {identity.digest.hex()}
    finally:
        tls.close()
        server.destroy()
