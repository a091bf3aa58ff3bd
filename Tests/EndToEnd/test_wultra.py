"""Wultra's clients: signatures over their challenges and in the static file, the version gate, and what 2.x can be told."""

import base64
import json
import os
import time
import zlib

import brotli
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from deployed import HOST, P256_POINT, P256_PRIVATE, P256_PUBLIC, Identity, KillSwitch, add_host, ask, declare, make_app, public_key
from names import unique
from pinledger import pin_of
from problems import expect_problem

CHALLENGE = "AAECAwQFBgcICQoLDA0ODw=="
OWN_BODY = (
    '{"timestamp":1760697600,"fingerprints":[{"name":"api.example.com",'
    '"fingerprint":"ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=","expires":4102444800}]}'
)
OWN_SIGNATURE = "MEUCIQDO0C63cBJAeYBH3szcg4il6U4vAlUcruOEe7VFAPSJrAIgM4a2MKmCg8oiwPE0xROfJ9j4CJs77h8ZCz13AhYOcYs="
STATIC_TEXT = "github.com&kqN/vV4hpTqVxxbhFE9EL1grlND6/Gc+tnF6TrUaiKc=&1710460799"
STATIC_SIGNATURE = "MEUCICB69UpMPOdtrsR6XcJqHEh2L2RO4oSJ3SZ7BYnTBJbGAiEAnZ7rEWdMVGwa59Wx5QbAorEFxXH89Iu0CnqWa96Eda0="
RULES = {
    "version_rules": [
        {"id": 1, "platform": "IOS", "required_version": "2.0.0", "suggested_version": "3.0.0", "message_key": "update"},
        {"id": 2, "platform": "IOS", "major_os_version": 15, "suggested_version": "2.5.0", "message_key": "old"},
        {"id": 3, "platform": "ANDROID", "major_os_version": 9, "required_version": "1.10.0"},
    ],
    "texts": [
        {"message_key": "update", "language": "en", "text": "There is a \"new\" version."},
        {"message_key": "update", "language": "cs", "text": "Je k dispozici nová verze."},
        {"message_key": "old", "language": "cs", "text": "Aktualizujte."},
    ],
}  # fmt: skip


def init(app: str, query: str = "") -> str:
    return f"/compat/wultra/app/init?appName={app}{query}"


def verify(signature: str, text: bytes) -> None:
    public_key(P256_PUBLIC).verify(base64.b64decode(signature, validate=True), text, ec.ECDSA(SHA256()))


def verified(answer, challenge: str = CHALLENGE) -> dict:
    """What a client makes of an answer: the signature first, over the bytes as they came."""
    verify(answer["X-Cert-Pinning-Signature"], challenge.encode() + b"&" + answer.body)
    return answer.json


def fetch(api, app: str, query: str = "", **headers) -> dict:
    answer = ask(api, init(app, query), X_Cert_Pinning_Challenge=CHALLENGE, **headers)
    assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
    assert "no-store" in answer["Cache-Control"], "an answer is for one challenge"
    told = verified(answer)
    assert type(told["timestamp"]) is int and abs(told["timestamp"] - time.time()) < 60
    return told


def entry(identity: Identity, name: str = HOST) -> dict:
    return {"name": name, "fingerprint": base64.b64encode(identity.fingerprint).decode(), "expires": identity.expires}


@pytest.fixture(scope="module")
def app(server, identities) -> str:
    app = make_app(server.api, unique("com.example.wultra."), *identities[:2])
    declare(server.api, app, "wultra", RULES, P256_PRIVATE)
    return app


def test_the_client_in_these_tests_verifies_foreign_signatures():
    verify(OWN_SIGNATURE, f"{CHALLENGE}&{OWN_BODY}".encode())
    verify(STATIC_SIGNATURE, STATIC_TEXT.encode())
    with pytest.raises(InvalidSignature):
        verify(OWN_SIGNATURE, f"{OWN_BODY}&{CHALLENGE}".encode())


def test_the_answer_is_signed_over_the_challenge_and_its_bytes(api, app, identities):
    told = fetch(api, app)
    assert list(told) == ["timestamp", "fingerprints"]
    assert told["fingerprints"] == [entry(one) for one in identities[:2]]
    for length in range(16, 33):
        challenge = base64.b64encode(os.urandom(length)).decode()
        answer = ask(api, init(app), X_Cert_Pinning_Challenge=challenge)
        assert answer.status == 200
        verified(answer, challenge)
    with pytest.raises(InvalidSignature):
        verified(answer, CHALLENGE)


def test_the_signature_is_of_what_is_left_once_compression_is_undone(api, app):
    answer = ask(api, init(app), X_Cert_Pinning_Challenge=CHALLENGE, Accept_Encoding="gzip, br")
    body = answer.body
    if answer["Content-Encoding"] == "gzip":
        body = zlib.decompress(body, 31)
    elif answer["Content-Encoding"] == "br":
        body = brotli.decompress(body)
    verify(answer["X-Cert-Pinning-Signature"], CHALLENGE.encode() + b"&" + body)


def test_header_names_may_have_gone_through_a_proxy(api, app):
    answer = ask(api, init(app), **{"x-cert-pinning-challenge": CHALLENGE})
    assert answer.status == 200 and verified(answer)["fingerprints"]


@pytest.mark.parametrize(
    "challenge",
    [
        # ClientFormatsTests/WultraSigningTests has the others.
        None, base64.b64encode(bytes(15)).decode(), "A" * 4096,
    ],
)  # fmt: skip
def test_a_malformed_challenge_is_forbidden(api, app, challenge):
    answer = ask(api, init(app), **({} if challenge is None else {"X-Cert-Pinning-Challenge": challenge}))
    assert answer.status == 403, str(answer)
    assert answer.json["code"] == "INVALID_CHALLENGE" and answer.json["message"]
    assert "X-Cert-Pinning-Challenge" in answer.json["message"] and answer["X-Cert-Pinning-Signature"] is None


def test_an_unknown_app_gets_the_error_of_wultra(api, app):
    other = unique("com.example.wultra.none.")
    for _ in range(2):
        answer = ask(api, init(other), X_Cert_Pinning_Challenge=CHALLENGE)
        assert answer.status == 404 and set(answer.json) == {"code", "message"}, str(answer)
        assert answer.json["code"] == "APP_NOT_FOUND" and answer["X-Cert-Pinning-Signature"] is None
        told = ask(api, f"/compat/wultra/app/init/public-key?appName={other}")
        assert told.status == 404 and told.json["code"] in ("PUBLIC_KEY_NOT_FOUND", "APP_NOT_FOUND")
        # The second time the app is there, without such clients.
        if api.get(f"/v1/apps/{other}").status == 404:
            api.make_app(other, HOST)
    declare(api, other, "wultra")
    expect_problem(ask(api, init(other), X_Cert_Pinning_Challenge=CHALLENGE), 409, "client_key_missing")


@pytest.mark.parametrize(
    "query", ["", "appName=no%20such", "&appVersion=3.1", "&appVersion=1.0.0&osVersion=17&platform=WEB"],
)
def test_an_unreadable_request_is_refused(api, app, query):
    target = init(app, query) if query.startswith("&") else f"/compat/wultra/app/init?{query}"
    answer = ask(api, target, X_Cert_Pinning_Challenge=CHALLENGE)
    if answer.status == 404:
        assert query == "appName=no%20such" and answer.json["code"] == "APP_NOT_FOUND", str(answer)
        return
    assert (answer.status, answer.json["status"]) == (400, "ERROR"), str(answer)
    error = answer.json["responseObject"]
    assert error["code"] == "ERROR_REQUEST" and error["message"]
    assert [set(one) for one in error.get("violations", [])] == [{"fieldName", "invalidValue", "hint"}] * query.startswith("&")
    if query.startswith("&"):
        # The app is known, and so is its key: clients can trust that it is no answer.
        assert answer.status == 400
        verified(answer)


def test_the_public_key_is_the_one_that_developers_build_in(api, app):
    answer = ask(api, f"/compat/wultra/app/init/public-key?appName={app}")
    assert answer.status == 200 and answer.json == {"publicKey": P256_POINT}
    nobody = ask(api, "/compat/wultra/app/init/public-key")
    assert (nobody.status, nobody.json["responseObject"]["code"]) == (400, "ERROR_REQUEST")
    point = base64.b64decode(answer.json["publicKey"])
    assert len(point) == 65 and ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point) == public_key(P256_PUBLIC)


# MARK: The version gate


@pytest.mark.parametrize(
    ("platform", "system", "version", "language", "update", "message"),
    [
        # ClientFormatsTests/WultraRequestTests has the others.
        ("IOS", "17.4.1", "1.9.9", "cs", "FORCED", "Je k dispozici nová verze."),
        ("IOS", "17.4.1", "2.0.0", None, "SUGGESTED", 'There is a "new" version.'),
        ("IOS", "17.4.1", "2.0.0", "de, en;q=0.3, cs;q=0.7", "SUGGESTED", "Je k dispozici nová verze."),
        ("IOS", "15.8.1", "1.0.0", "cs", "SUGGESTED", "Aktualizujte."),
        ("ANDROID", "9", "1.10.0", "en", "NOT_REQUIRED", None),
    ],
)
def test_versions_are_asked_to_update_in_their_language(api, app, platform, system, version, language, update, message):
    query = f"&appVersion={version}&osVersion={system}&platform={platform}"
    told = fetch(api, app, query, **({} if language is None else {"Accept-Language": language}))
    assert told["verifyVersionResult"] == {"update": update} | ({} if message is None else {"message": message})
    assert told["fingerprints"]


@pytest.mark.parametrize("query", ["", "&appVersion=1.0.0&osVersion=17"])
def test_the_version_gate_needs_all_three_parameters(api, app, query):
    assert "verifyVersionResult" not in fetch(api, app, query)


# MARK: What is answered of an app's state


def test_entries_have_the_name_of_the_host_and_the_names_of_the_certificate(api, tmp_path, identities):
    app = unique("com.example.wultra.")
    named = Identity(tmp_path, "named", common_name="Shop Front", days=20)
    nameless = Identity(tmp_path, "nameless", common_name="", email="Ops@example.com", days=20)
    make_app(api, app, identities[0], named, nameless)
    # A pin without a known certificate, which the format cannot express.
    add_host(api, app, "bare.example.com", {"pin": pin_of("bare 1")}, {"pin": pin_of("bare 2")})
    declare(api, app, "wultra", {}, P256_PRIVATE)
    found = fetch(api, app)["fingerprints"]
    assert sorted(found, key=json.dumps) == sorted(
        [
            entry(identities[0]), entry(named, "Shop Front"), entry(named), entry(nameless, "Ops@example.com"), entry(nameless),
        ], key=json.dumps
    )  # fmt: skip
    # A bound of so many days, in steps of a quarter: certificates that end before keep their own end.
    declare(api, app, "wultra", {"entry_days": 40})
    ends = {(one["name"], one["fingerprint"]): one["expires"] for one in fetch(api, app)["fingerprints"]}
    assert ends["Shop Front", entry(named)["fingerprint"]] == named.expires
    assert 30 * 86_400 - 60 <= ends[HOST, entry(identities[0])["fingerprint"]] - time.time() <= 40 * 86_400


def test_a_kill_switch_reaches_clients_that_understand_it_and_removes_no_entry(api, identities):
    app = make_app(api, unique("com.example.wultra."), *identities[:2])
    declare(api, app, "wultra", {}, P256_PRIVATE)
    before = fetch(api, app)["fingerprints"]
    with KillSwitch(api, app):
        told = fetch(api, app)
        assert "domainsConfig" not in told and told["fingerprints"] == before
    declare(api, app, "wultra", {"understands_domains": True})
    assert "domainsConfig" not in fetch(api, app), "there is nothing to be said"
    with KillSwitch(api, app):
        told = fetch(api, app)
        assert told["domainsConfig"]["sslPinningRequiredForUnlisted"] is False
        assert {"name": HOST, "sslPinningRequired": False} in told["domainsConfig"]["domains"]
        assert told["fingerprints"] == before
    with KillSwitch(api, app, HOST):
        told = fetch(api, app)
        assert told["domainsConfig"] == {
            "sslPinningRequiredForUnlisted": True, "domains": [{"name": HOST, "sslPinningRequired": False}],
        }  # fmt: skip
    assert "domainsConfig" not in fetch(api, app)


# MARK: The static file


def test_every_entry_of_the_static_file_is_signed(server, api, app, identities, tmp_path):
    target = f"/compat/wultra/static/{app}/fingerprints.json"
    answer = ask(api, target)
    assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
    exported = api.must("GET", f"/v1/apps/{app}/export/wultra_static")
    file = tmp_path / "fingerprints.json"
    server.cli("export", "wultra_static", app, "--output", str(file))
    # ECDSA has many signatures of one text: each copy is judged by itself.
    for body in (answer.body, exported.body, file.read_bytes()):
        told = json.loads(body)
        assert list(told) == ["fingerprints"]
        assert len(told["fingerprints"]) == 2
        for one in told["fingerprints"]:
            assert set(one) == {"name", "fingerprint", "expires", "signature"} and type(one["expires"]) is int
            verify(one["signature"], f"{one['name']}&{one['fingerprint']}&{one['expires']}".encode())
            with pytest.raises(InvalidSignature):
                verify(one["signature"], f"{one['name']}&{one['expires']}&{one['fingerprint']}".encode())
        found = [{name: value for name, value in one.items() if name != "signature"} for one in told["fingerprints"]]
        assert sorted(found, key=json.dumps) == sorted(map(entry, identities[:2]), key=json.dumps)


def test_the_static_file_lists_what_it_leaves_out(server, api, identities, tmp_path):
    app = make_app(api, unique("com.example.wultra."), *identities[:2])
    declare(api, app, "wultra", RULES, P256_PRIVATE)
    target = f"/v1/apps/{app}/export/wultra_static"
    assert api.must("GET", f"{target}?notes=true").json == {
        "format": "wultra_static", "file_name": "fingerprints.json", "notes": [],
    }  # fmt: skip
    nameless = Identity(tmp_path, "nameless", "nameless.example.com", common_name="x", days=30)
    unknown = {"pin": pin_of("wultra unknown")}
    add_host(api, app, "nameless.example.com", {"material": nameless.certificate.read_text()}, unknown)
    add_host(api, app, "unknown.example.com", {"pin": pin_of("wultra other")}, {"pin": pin_of("wultra third")})
    notes = api.must("GET", f"{target}?notes=true").json["notes"]
    # It is found by the common name that it has, whatever the host is called.
    assert not any(nameless.pin in note for note in notes)
    assert f"nameless.example.com: {unknown['pin']} left out. Nobody showed a certificate of its key" in "\n".join(notes)
    assert "unknown.example.com: left out. Clients find none of its certificates." in notes
    assert all(note in server.cli("export", "wultra_static", app).stderr for note in notes)
    with KillSwitch(api, app):
        more = [note for note in api.must("GET", f"{target}?notes=true").json["notes"] if note not in notes]
        assert len(more) == 1 and more[0].startswith("A kill switch has turned off the pins of "), more


def test_the_static_file_needs_a_key(api, identities):
    app = make_app(api, unique("com.example.wultra."), *identities[:2])
    target = f"/compat/wultra/static/{app}/fingerprints.json"
    expect_problem(ask(api, target), 404, "client_unknown")
    expect_problem(ask(api, target.replace(app, "com.example.nowhere")), 404, "app_unknown")
    declare(api, app, "wultra")
    expect_problem(ask(api, target), 409, "client_key_missing")
    expect_problem(api.get(f"/v1/apps/{app}/export/wultra_static"), 409, "client_key_missing")
