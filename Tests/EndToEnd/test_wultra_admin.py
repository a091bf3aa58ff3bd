"""Scripts for Wultra's mobile utility server, as its operators have them: plain HTTP with a user and a password."""

import base64
import hashlib
import itertools
import json
import ssl
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from deployed import HOST, Identity, ask, declare, make_app
from names import unique
from pinledger import EVERYTHING, Server, eventually, in_threads
from tls_server import TLSServer

CHALLENGE = "AAECAwQFBgcICQoLDA0ODw=="
BASE = "/compat/wultra/admin"


class Refused(Exception):
    """An answer in Wultra's envelope for errors."""

    def __init__(self, status: int, headers, body: bytes):
        super().__init__(f"{status} {body!r}")
        self.status, self.headers = status, headers
        told = json.loads(body)
        assert told.keys() == {"status", "responseObject"} and told["status"] == "ERROR", body
        self.error = told["responseObject"]
        assert {"code", "message"} <= self.error.keys() <= {"code", "message", "violations"}, body
        assert headers["Content-Type"] == "application/json" and headers["Cache-Control"] == "no-store"
        assert headers["Request-Id"] and headers["X-Content-Type-Options"] == "nosniff"

    @property
    def code(self) -> str:
        return self.error["code"]

    @property
    def fields(self) -> list[str]:
        return [violation["fieldName"] for violation in self.error.get("violations", [])]


class Script:
    """What an operator of Wultra's server has: a base address, a user and a password."""

    def __init__(self, port: int, password: str | None, user: str = "admin"):
        self.base = f"http://127.0.0.1:{port}{BASE}"
        self.authorization = None
        if password is not None:
            self.authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def ask(self, method: str, path: str, body=None, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.authorization is not None:
            sent.setdefault("Authorization", self.authorization)
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, body, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
                self.headers = answer.headers
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.headers, error.read()) from None

    def get(self, path: str):
        return self.ask("GET", path)

    def post(self, path: str, body, **headers):
        return self.ask("POST", path, body, **headers)

    def delete(self, path: str, **headers):
        return self.ask("DELETE", path, **headers)

    def refused(self, method: str, path: str, body=None, **headers) -> Refused:
        with pytest.raises(Refused) as caught:
            self.ask(method, path, body, **headers)
        return caught.value


@pytest.fixture
def admin(own_server):
    """The API of a server for this file alone: texts belong to all apps, and no other file's apps are to have any."""
    return own_server.api


@pytest.fixture
def untouched(admin):
    """Fails the test if something was recorded while it ran."""
    mark = admin.mark()
    yield
    assert admin.since(mark) == []


@pytest.fixture
def script(own_server) -> Script:
    return Script(own_server.port, own_server.api.token)


@pytest.fixture
def name() -> str:
    return unique("wultra-app-")


@pytest.fixture
def app(script, name) -> str:
    script.post("/apps", {"name": name, "displayName": "My App"})
    return name


def fingerprint(identity: Identity) -> str:
    return base64.b64encode(identity.fingerprint).decode()


def shown(identity: Identity) -> dict:
    """A certificate as an app's answer has it, but for its `pem`."""
    return {"fingerprint": fingerprint(identity), "expires": identity.expires}


def without_pem(certificates: list[dict]) -> list[dict]:
    return [{name: value for name, value in one.items() if name != "pem"} for one in certificates]


def certificates(script: Script, app: str, host: str = HOST) -> list[dict]:
    for domain in script.get(f"/apps/{app}")["domains"]:
        if domain["name"] == host:
            return without_pem(domain["certificates"])
    return []


def add(script: Script, app: str, identity: Identity, host: str = HOST, **members) -> dict:
    return script.post(f"/apps/{app}/certificates/pem", {"domain": host, "pem": identity.certificate.read_text()} | members)


def delete(script: Script, app: str, identity: Identity, host: str = HOST):
    return script.delete(f"/apps/{app}/certificates?domain={host}&fingerprint={quote(fingerprint(identity), safe='')}")


def mode(api, app: str, host: str = HOST) -> str:
    return api.must("GET", f"/v1/apps/{app}/hosts/{host}").json["baseline"]["mode"]


def initialised(api, app: str, query: str = "", **headers) -> dict:
    """What a client makes of its answer, with the key that the administrator was shown."""
    answer = ask(api, f"/compat/wultra/app/init?appName={app}{query}", X_Cert_Pinning_Challenge=CHALLENGE, **headers)
    assert answer.status == 200, str(answer)
    script = Script(api.port, api.token)
    point = base64.b64decode(script.get(f"/apps/{app}")["publicKey"], validate=True)
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    signature = base64.b64decode(answer["X-Cert-Pinning-Signature"], validate=True)
    key.verify(signature, CHALLENGE.encode() + b"&" + answer.body, ec.ECDSA(hashes.SHA256()))
    with pytest.raises(InvalidSignature):
        key.verify(signature, b"another&" + answer.body, ec.ECDSA(hashes.SHA256()))
    return answer.json


# MARK: Apps


def test_a_script_makes_an_app_that_clients_can_ask_at_once(admin, script, name, identities):
    made = script.post("/apps", {"name": name, "displayName": "My App"})
    assert made == {"name": name, "displayName": "My App", "publicKey": made["publicKey"], "domains": []}
    assert len(base64.b64decode(made["publicKey"], validate=True)) == 65
    assert int(script.headers["Pinledger-Position"]) <= admin.position()
    assert script.get(f"/apps/{name}") == made
    assert {"name": name, "displayName": "My App"} in script.get("/apps")["applications"]
    assert initialised(admin, name)["fingerprints"] == []

    one, two = identities[:2]
    answer = add(script, name, one)
    assert answer == {"name": HOST, "pem": one.certificate.read_text()} | shown(one)
    assert mode(admin, name) == "report_only"
    # From the second certificate on the host is pinned, and clients of all versions get both.
    assert without_pem([add(script, name, two)]) == [{"name": HOST} | shown(two)]
    assert mode(admin, name) == "enforce"
    # Both at once, so that there is no certificate without it.
    begun = next(event for event in admin.history(f"/v1/apps/{name}/history") if event["type"] == "ModeSet")
    assert begun["position"] < int(script.headers["Pinledger-Position"])
    assert certificates(script, name) == [shown(one), shown(two)]
    told = initialised(admin, name)["fingerprints"]
    assert told == [{"name": HOST} | shown(one), {"name": HOST} | shown(two)]
    # The same key is the one that developers build in.
    public = ask(admin, f"/compat/wultra/app/init/public-key?appName={name}")
    assert public.json["publicKey"] == made["publicKey"]


def test_an_app_is_made_by_one_change_that_says_who_and_why(admin, script, name):
    script.post("/apps", {"name": name, "displayName": name})
    events = admin.history(f"/v1/apps/{name}/history")
    assert [event["type"] for event in events] == ["AppCreated", "ClientSet", "ClientKeySet"]
    assert len({event["request_id"] for event in events}) == 1
    token = admin.get("/v1/whoami").json["token"]
    for event in events:
        assert event["actor"] == {"kind": "token", "id": token["token_id"], "name": token["name"]}
        assert event["reason"] == "App created, through the administrative interface of Wultra's mobile utility server"
    assert admin.get(f"/v1/apps/{name}").json["display_name"] == name


def test_an_app_is_visible_to_wultra_once_it_declares_such_clients(admin, script, identities):
    app = make_app(admin, unique("com.example.wultra.admin."), *identities[:2])
    refused = script.refused("GET", f"/apps/{app}")
    assert (refused.status, refused.code) == (404, "APP_NOT_FOUND")
    declare(admin, app, "wultra")
    told = script.get(f"/apps/{app}")
    assert told["name"] == app and "publicKey" not in told, "no key has been set"
    assert certificates(script, app) == [shown(one) for one in identities[:2]]
    assert app in [one["name"] for one in script.get("/apps")["applications"]]


# The readers' refusals are in PinledgerServerTests/WultraAdminRequestTests and ClientFormatsTests/WultraAdminTests: one of each comes over
# a connection here.


@pytest.mark.parametrize(
    ("body", "field"), [({}, "name"), ({"name": "a" * 129}, "name"), ({"name": "ab", "displayName": " "}, "displayName")]
)
def test_a_malformed_app_name_is_refused(script, untouched, body, field):
    refused = script.refused("POST", "/apps", body)
    assert (refused.status, refused.code, refused.fields) == (400, "ERROR_REQUEST", [field])
    assert refused.error["message"].startswith(field)


def test_an_app_is_created_once(admin, script, app):
    mark = admin.mark()
    refused = script.refused("POST", "/apps", {"name": app, "displayName": "x"})
    assert (refused.status, refused.code) == (400, "APP_EXCEPTION") and app in refused.error["message"]
    assert admin.since(mark) == []
    for path in (f"/apps/{app}x", "/apps/no%20name", "/apps/%C3%A9"):
        refused = script.refused("GET", path)
        assert (refused.status, refused.code) == (404, "APP_NOT_FOUND")


def test_a_missing_object_gets_the_error_of_wultra(admin, script, app, identities):
    mark = admin.mark()
    for name in (f"{app}x", "no%20name", "%C3%A9"):
        assert script.get(f"/apps/{name}/versions") == {"applicationVersions": []}
    for method, path, body in (
        ("GET", f"/apps/{app}/versions/7", None), ("GET", f"/apps/{app}x/versions/7", None), ("GET", "/texts/none/en", None),
        ("POST", f"/apps/{app}x/versions", rule()),
    ):  # fmt: skip
        refused = script.refused(method, path, body)
        assert (refused.status, refused.code, refused.error["violations"]) == (400, "ERROR_REQUEST", [])
    for path in (
        f"/apps/{app}/versions/7", f"/apps/{app}/versions/0", f"/apps/{app}x/versions/7", "/texts/none/en", "/texts/none/none",
        f"/apps/{app}/domains?domain={HOST}", f"/apps/{app}x/domains?domain={HOST}", f"/apps/{app}/domains?domain=192.0.2.1",
        f"/apps/{app}/certificates?domain={HOST}&fingerprint=A", f"/apps/{app}x/certificates?domain={HOST}&fingerprint=A",
        f"/apps/no%20name/certificates?domain={HOST}&fingerprint=A", f"/apps/{app}/certificates?domain=&fingerprint=",
    ):  # fmt: skip
        assert script.delete(path) == {"status": "OK"}, path
    refused = script.refused("DELETE", f"/apps/{app}/versions/seven")
    assert (refused.status, refused.code, refused.fields) == (400, "ERROR_REQUEST", ["id"])
    assert refused.error["violations"][0]["invalidValue"] == "seven"
    assert admin.since(mark) == []


def test_an_unknown_path_gets_an_error_in_the_same_form(script, untouched):
    for method, path in [("GET", ""), ("GET", "/none"), ("POST", "/apps/a1/none"), ("DELETE", "/certificates")]:
        refused = script.refused(method, path, {} if method == "POST" else None)
        assert (refused.status, refused.code) == (404, "ERROR_NOT_FOUND") and "There is nothing at" in refused.error["message"]
    refused = script.refused("PUT", "/apps", {})
    assert (refused.status, refused.code) == (400, "ERROR_REQUEST")
    assert refused.headers["Allow"] == "GET, HEAD, OPTIONS, POST"


# MARK: Who asks


@pytest.mark.parametrize(
    "authorization",
    [None, "Basic %%%", "Basic " + base64.b64encode(b"admin:pk_adm_" + b"0" * 36).decode(), "Basic " + "A" * 4000],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/apps")])
def test_a_request_without_a_token_as_password_is_refused(own_server, untouched, authorization, method, path):
    stranger = Script(own_server.port, None)
    headers = {} if authorization is None else {"Authorization": authorization}
    body = {"name": "stranger"} if method == "POST" else None
    refused = stranger.refused(method, path, body, **headers)
    assert (refused.status, refused.code) == (401, "ERROR_AUTHENTICATION")
    assert refused.headers["WWW-Authenticate"] == 'Basic realm="pinledger", charset="UTF-8"'


def test_any_user_name_will_do_and_a_revoked_token_will_not(admin, own_server, app):
    made = admin.must("POST", "/v1/tokens", {"grants": EVERYTHING, "name": "old scripts"}).json
    for user in ("admin", "", "jürgen", "a b"):
        assert Script(own_server.port, made["token"], user).get(f"/apps/{app}")["name"] == app
    script = Script(own_server.port, made["token"])
    script.post(f"/apps/{app}/versions", {"platform": "IOS", "requiredVersion": "1.0.0"})
    event = admin.history(f"/v1/apps/{app}/history")[-1]
    assert event["actor"]["name"] == "old scripts" and event["reason"].startswith("Version rule ")
    # The native way of showing a token does as well.
    assert admin.get(f"{BASE}/apps/{app}").status == 200
    admin.must("DELETE", f"/v1/tokens/{made['token_id']}?reason=replaced")
    assert script.refused("GET", "/apps").status == 401
    # Elsewhere a password opens nothing.
    basic = "Basic " + base64.b64encode(f"admin:{admin.token}".encode()).decode()
    assert admin.request("GET", "/v1/apps", headers={"Authorization": basic}, token=None).status == 401


@pytest.mark.parametrize("content_type", ["text/plain", ""])
def test_a_foreign_page_cannot_make_a_browser_change_anything(script, untouched, content_type):
    body = json.dumps({"name": unique("forged-")}).encode()
    refused = script.refused("POST", "/apps", body, Content_Type=content_type, Origin="https://evil.example")
    assert (refused.status, refused.code) == (400, "ERROR_REQUEST") and not refused.fields


# MARK: Certificates


def authority(directory, host: str = HOST):
    """An authority's certificate, and a server's that it issued, in PEM."""
    start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)

    def certificate(subject, issuer, key, signer, *, is_authority):
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
            .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + timedelta(days=60))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    return (
        certificate("Example CA", "Example CA", keys[0], keys[0], is_authority=True),
        certificate(host, "Example CA", keys[1], keys[0], is_authority=False),
    )


def digest(pem: str) -> str:
    return base64.b64encode(hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).digest()).decode()


def test_certificates_come_and_go_and_history_says_why(admin, script, app, identities):
    for identity in identities[:3]:
        add(script, app, identity)
    listed = certificates(script, app)
    assert listed[0] == shown(identities[0]), "the primary one comes first"
    assert {one["fingerprint"] for one in listed} == {fingerprint(one) for one in identities[:3]}
    # The primary one goes, another takes its place, and no host is left with fewer than two.
    assert delete(script, app, identities[0]) == {"status": "OK"}
    assert {one["fingerprint"] for one in certificates(script, app)} == {fingerprint(one) for one in identities[1:3]}
    mark = admin.mark()
    with pytest.raises(Refused) as caught:
        delete(script, app, identities[1])
    assert (caught.value.status, caught.value.code) == (400, "APP_EXCEPTION")
    assert "At least two active pins are required" in caught.value.error["message"] and "Add a pin of a second key" in caught.value.error["message"]
    assert admin.since(mark) == []
    assert delete(script, app, identities[0]) == {"status": "OK"}, "it is gone"
    assert admin.since(mark) == []

    told = [event for event in admin.history(f"/v1/apps/{app}/history") if event["type"] == "PinRetired"]
    assert [event["reason"] for event in told] == [
        f"Certificate deleted from {HOST}, through the administrative interface of Wultra's mobile utility server"
    ]
    assert mode(admin, app) == "enforce"


def test_the_old_certificate_goes_after_a_renewal_with_the_same_key(admin, script, app, tmp_path, identities):
    old, renewed = Identity(tmp_path, "old"), None
    renewed = Identity(tmp_path, "renewed", renewing=old, days=180)
    for identity in (old, identities[0], renewed):
        add(script, app, identity)

    def answered() -> set[str]:
        return {one["fingerprint"] for one in initialised(admin, app)["fingerprints"]}

    everything = {fingerprint(one) for one in (old, renewed, identities[0])}
    assert mode(admin, app) == "enforce" and answered() == everything
    assert delete(script, app, old) == {"status": "OK"}
    assert answered() == {one["fingerprint"] for one in certificates(script, app)} == everything - {fingerprint(old)}
    settings = admin.must("GET", f"/v1/apps/{app}/clients/wultra").json["settings"]
    assert settings["withheld_certificates"] == [{"host": HOST, "sha256": old.fingerprint.hex()}]
    mark = admin.mark()
    assert delete(script, app, old) == {"status": "OK"} and admin.since(mark) == []
    # The key is pinned as before, and two of them are the least.
    refused = script.refused(
        "DELETE", f"/apps/{app}/certificates?domain={HOST}&fingerprint={quote(fingerprint(renewed), safe='')}"
    )
    assert (refused.status, refused.code) == (400, "APP_EXCEPTION") and "At least two active pins are required" in refused.error["message"]
    # What is added again is answered again.
    add(script, app, old)
    assert answered() == everything
    assert delete(script, app, renewed) == {"status": "OK"} and answered() == everything - {fingerprint(renewed)}


def test_a_certificate_is_recorded_at_once_though_it_cannot_be_kept(own_server, script, app, tmp_path):
    one = Identity(tmp_path, "unkept")
    begin = len(own_server.database_log)
    with own_server.locked("pinledger.material", "ACCESS EXCLUSIVE"):
        added = add(script, app, one)
        # The server has given the wait up, before the database would have.
        eventually(lambda: "canceling statement due to user request" in own_server.database_log[begin:], "the end of the wait")
    assert "due to lock timeout" not in own_server.database_log[begin:]
    assert added == {"name": HOST, "pem": one.certificate.read_text()} | shown(one)
    assert certificates(script, app) == [shown(one)]


def test_a_plus_in_a_fingerprint_may_have_become_a_space(script, app, tmp_path, identities):
    """Scripts that paste base64 into a query send a plus, which spells a space."""
    for number in itertools.count():
        one = Identity(tmp_path, f"plus-{number}")
        if "+" in fingerprint(one) and "/" not in fingerprint(one):
            break
    for identity in (one, *identities[:2]):
        add(script, app, identity)
    script.delete(f"/apps/{app}/certificates?domain={HOST}&fingerprint={fingerprint(one)}")
    assert fingerprint(one) not in [each["fingerprint"] for each in certificates(script, app)]


def test_a_chain_adds_the_servers_certificate_and_an_authority_is_deeper(admin, script, app):
    issuer, leaf = authority(app)
    added = script.post(f"/apps/{app}/certificates/pem", {"domain": HOST, "pem": leaf + issuer})
    assert (added["fingerprint"], added["pem"]) == (digest(leaf), leaf)
    refused = script.refused("POST", f"/apps/{app}/certificates/pem", {"domain": HOST, "pem": issuer})
    assert (refused.code, refused.fields) == ("ERROR_REQUEST", ["depth"])
    refused = script.refused("POST", f"/apps/{app}/certificates/pem", {"domain": HOST, "pem": leaf, "depth": 1})
    assert (refused.code, refused.fields) == ("ERROR_REQUEST", ["depth"])
    added = script.post(f"/apps/{app}/certificates/pem", {"domain": HOST, "pem": issuer, "depth": 1})
    assert added["fingerprint"] == digest(issuer)
    # Clients of 1.x cannot be told of it; those of 2.x are, with its depth.
    declare(admin, app, "wultra", {"understands_domains": True})
    depths = {one["fingerprint"]: one.get("depth") for one in initialised(admin, app)["fingerprints"]}
    assert depths == {digest(leaf): None, digest(issuer): 1}


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"domain": HOST}, "ERROR_REQUEST", "pem"), ({"domain": HOST, "pem": "PRIVATE"}, "ERROR_REQUEST", "pem"),
        ({"domain": "192.0.2.1", "pem": "x"}, "ERROR_REQUEST", "domain"),
        ({"domain": "other.example.com", "pem": "SERVED"}, "APP_EXCEPTION", None),
    ],
)  # fmt: skip
def test_an_upload_without_a_certificate_of_the_domain_is_refused(admin, script, app, identities, body, code, field):
    mark = admin.mark()
    replacements = {"SERVED": identities[0].certificate.read_text(), "PRIVATE": identities[0].key.read_text()}
    if body.get("pem") in replacements:
        body = body | {"pem": replacements[body["pem"]]}
    refused = script.refused("POST", f"/apps/{app}/certificates/pem", body)
    assert (refused.status, refused.code) == (400, code), str(refused)
    assert refused.fields == ([] if field is None else [field])
    assert field != "pem" or "BEGIN" not in str(refused), "what may be a private key is not repeated"
    assert admin.since(mark) == []


@pytest.mark.parametrize("query", ["", "?domain=%zz"])
def test_a_certificate_to_delete_has_to_be_named(admin, script, app, query):
    mark = admin.mark()
    refused = script.refused("DELETE", f"/apps/{app}/certificates{query}")
    assert (refused.status, refused.code) == (400, "ERROR_REQUEST")
    assert admin.since(mark) == []


def test_a_request_meant_as_a_rehearsal_is_refused_and_not_recorded(admin, script, app):
    mark = admin.mark()
    refused = script.refused("DELETE", f"/apps/{app}/domains?domain={HOST}&dry_run=true")
    assert (refused.status, refused.code) == (400, "ERROR_REQUEST") and "dry_run" in refused.error["message"]
    assert admin.since(mark) == []


def test_a_deleted_domain_leaves_nothing_behind(script, app, identities):
    for identity in identities[:2]:
        add(script, app, identity)
    assert script.delete(f"/apps/{app}/domains?domain={HOST.upper()}") == {"status": "OK"}
    assert script.get(f"/apps/{app}")["domains"] == []
    assert script.delete(f"/apps/{app}/domains?domain={HOST}") == {"status": "OK"}, "scripts repeat their requests"


def test_expired_certificates_are_deleted_where_no_install_can_need_their_keys(tmp_path):
    served, spare = (Identity(tmp_path, name) for name in ("served", "spare"))
    expired = Identity(tmp_path, "expired", days=0)
    server = Server(more=["--allow-private-range", "127.0.0.0/8", "--resolve", f"{HOST}=127.0.0.1"])
    tls = TLSServer(served)
    try:
        api = server.start().api
        script = Script(server.port, api.token)
        endpoint = f"{HOST}:{tls.port}"
        # The last app's host is not seen: no server answers at its usual port.
        apps = {"seen-1": [endpoint], "seen-2": [endpoint], "unseen": None}
        for app, endpoints in apps.items():
            script.post("/apps", {"name": app, "displayName": app})
            add(script, app, served)
            if endpoints is not None:
                api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"endpoints": endpoints})
            add(script, app, spare)
            # One that has expired already is not added without insisting, which is done elsewhere.
            body = {"material": expired.certificate.read_text(), "role": "emergency", "reason": "a test", "force": True}
            api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", body)
            assert fingerprint(expired) in [one["fingerprint"] for one in certificates(script, app)]
        api.must("POST", "/v1/probes", {"endpoint": endpoint})
        assert script.delete("/certificates/expired") == {"status": "OK"}
        for app, endpoints in apps.items():
            left = {one["fingerprint"] for one in certificates(script, app)}
            retired = [event for event in api.history(f"/v1/apps/{app}/history") if event["type"] == "PinRetired"]
            if endpoints is None:
                # Its key may be in use under an unknown certificate.
                assert left == {fingerprint(one) for one in (served, spare, expired)} and retired == []
                continue
            assert left == {fingerprint(one) for one in (served, spare)}
            assert [event["reason"].split(",")[0] for event in retired] == [f"Expired certificates deleted from {HOST}"]
        mark = api.mark()
        assert script.delete("/certificates/expired") == {"status": "OK"}
        assert api.since(mark) == []
    finally:
        tls.close()
        server.destroy()


def test_a_host_goes_on_reporting_where_a_rail_refuses_that_it_enforces(tmp_path):
    served, one, two = (Identity(tmp_path, name) for name in ("served", "one", "two"))
    server = Server(more=["--allow-private-range", "127.0.0.0/8", "--resolve", f"{HOST}=127.0.0.1"])
    tls = TLSServer(served)
    try:
        api = server.start().api
        script = Script(server.port, api.token)
        script.post("/apps", {"name": "shop", "displayName": "x"})
        add(script, "shop", one)
        endpoint = f"{HOST}:{tls.port}"
        api.must("PATCH", f"/v1/apps/shop/hosts/{HOST}", {"endpoints": [endpoint]})
        api.must("POST", "/v1/probes", {"endpoint": endpoint})
        key = {"Idempotency_Key": "two"}
        body = {"domain": HOST, "pem": two.certificate.read_text()}
        added = script.post("/apps/shop/certificates/pem", body, **key)
        assert mode(api, "shop") == "report_only"
        assert {each["fingerprint"] for each in certificates(script, "shop")} == {fingerprint(one), fingerprint(two)}
        assert "G09: " in server.log.read_text(), "the log says why"
        mark = api.mark()
        assert script.post("/apps/shop/certificates/pem", body, **key) == added
        assert script.headers["Idempotency-Replayed"] == "true" and api.since(mark) == []
    finally:
        tls.close()
        server.destroy()


def test_the_certificate_that_a_server_presents_is_added(tmp_path):
    old, spare, new = (Identity(tmp_path, name) for name in ("old", "spare", "new"))
    server = Server(more=["--allow-private-range", "127.0.0.0/8", "--resolve", f"{HOST}=127.0.0.1"])
    tls = TLSServer(old)
    try:
        api = server.start().api
        script = Script(server.port, api.token)
        script.post("/apps", {"name": "shop", "displayName": "x"})
        auto = "/apps/shop/certificates/auto"
        add(script, "shop", spare)
        api.must("PATCH", f"/v1/apps/shop/hosts/{HOST}", {"endpoints": [f"{HOST}:{tls.port}"]})
        added = script.post(auto, {"domain": HOST})
        assert added == {"name": HOST, "pem": old.certificate.read_text()} | shown(old)
        assert {one["fingerprint"] for one in certificates(script, "shop")} == {fingerprint(old), fingerprint(spare)}
        assert mode(api, "shop") == "enforce"

        # A repeated request is answered with what was recorded then, whatever is served by now.
        key = {"Idempotency_Key": "auto 1"}
        tls.serve(new)
        first = script.post(auto, {"domain": HOST}, **key)
        assert first["fingerprint"] == fingerprint(new)
        tls.serve(old)
        mark = api.mark()
        again = script.post(auto, {"domain": HOST}, **key)
        assert without_pem([again]) == without_pem([first]) and script.headers["Idempotency-Replayed"] == "true"
        assert api.since(mark) == []

        # A served key cannot be removed without force, which is not used here.
        api.must("POST", "/v1/probes", {"endpoint": f"{HOST}:{tls.port}"})
        with pytest.raises(Refused) as caught:
            delete(script, "shop", old)
        assert (caught.value.status, caught.value.code) == (400, "APP_EXCEPTION")
        assert caught.value.error["message"].startswith("G08: ")
        assert api.since(mark) == []

        # A pattern that is not a host, a name that does not exist, and a port where no server listens.
        refused = script.refused("POST", auto, {"domain": "*.example.com"})
        assert (refused.status, refused.code, refused.fields) == (400, "ERROR_REQUEST", ["domain"])
        refused = script.refused("POST", auto, {"domain": "unknown.invalid"})
        assert (refused.status, refused.code) == (400, "APP_EXCEPTION")
        assert "unknown.invalid:443 presented no certificate" in refused.error["message"]
        refused = script.refused("POST", auto, {"domain": "localhost"})
        assert refused.status == 400
        assert script.refused("POST", auto, {"domain": None}).fields == ["domain"]

        # A recorded answer is repeated though the server is gone.
        tls.close()
        assert script.post(auto, {"domain": HOST}, **key) == first and api.since(mark) == []
        assert "presented no certificate" in script.refused("POST", auto, {"domain": HOST}).error["message"]
    finally:
        tls.close()
        server.destroy()


# MARK: Versions and texts


def rule(**members) -> dict:
    return {"platform": "IOS", "suggestedVersion": "3.0.0", "requiredVersion": "2.0.0", "messageKey": "update"} | members


@pytest.fixture
def own_texts(script):
    """Texts belong to all apps: those of a test are removed with it."""
    yield
    for text in script.get("/texts")["texts"]:
        script.delete(f"/texts/{quote(text['messageKey'], safe='')}/{text['language']}")


def test_versions_and_texts_reach_clients(admin, script, app, identities, own_texts):
    for identity in identities[:2]:
        add(script, app, identity)
    versions = f"/apps/{app}/versions"
    assert script.get(versions) == {"applicationVersions": []}
    first = script.post(versions, rule())
    assert first == {"id": first["id"]} | rule()
    second = script.post(versions, {"platform": "android", "majorOsVersion": 9, "requiredVersion": "1.10.0-rc 1"})
    assert second == {"id": second["id"], "platform": "ANDROID", "majorOsVersion": 9, "requiredVersion": "1.10.0-rc 1"}
    assert first["id"] < second["id"]
    assert script.get(versions) == {"applicationVersions": [first, second]}
    assert script.get(f"{versions}/{first['id']}") == first

    english = {"messageKey": "update", "language": "en", "text": 'There is a "new" version.'}
    czech = {"messageKey": "update", "language": "cs", "text": "Je k dispozici nová verze."}
    assert script.post("/texts", english) == english
    assert script.post("/texts", czech | {"language": "CS"}) == czech
    assert script.get("/texts") == {"texts": [czech, english]}
    assert script.get("/texts/update/EN") == english

    def told(version: str, language: str, system: str = "17.4", platform: str = "IOS") -> dict:
        query = f"&appVersion={version}&osVersion={system}&platform={platform}"
        return initialised(admin, app, query, Accept_Language=language)["verifyVersionResult"]

    assert told("1.0.0", "cs") == {"update": "FORCED", "message": czech["text"]}
    assert told("2.5.0", "de") == {"update": "SUGGESTED", "message": english["text"]}
    assert told("3.0.0", "en") == {"update": "NOT_REQUIRED"}
    assert told("1.9.0", "en", "9", "ANDROID") == {"update": "FORCED"}
    changed = czech | {"text": "Aktualizujte."}
    assert script.post("/texts", changed) == changed
    assert told("1.0.0", "cs") == {"update": "FORCED", "message": "Aktualizujte."}
    assert script.delete("/texts/update/cs") == {"status": "OK"}
    assert told("1.0.0", "cs") == {"update": "FORCED", "message": english["text"]}
    assert script.delete(f"{versions}/{first['id']}") == {"status": "OK"}
    assert told("1.0.0", "cs") == {"update": "NOT_REQUIRED"}
    refused = script.refused("GET", f"{versions}/{first['id']}")
    assert (refused.status, refused.code) == (400, "ERROR_REQUEST")
    assert script.delete(f"{versions}/{first['id']}") == {"status": "OK"}
    assert script.refused("POST", versions, second | {"requiredVersion": "9.0.0"}).code == "ERROR_REQUEST", "there is one already"
    # The id is never used again.
    third = script.post(versions, rule())
    assert third["id"] > second["id"]

    told_why = [event["reason"].split(",")[0] for event in admin.history(f"/v1/apps/{app}/history") if event["type"] == "ClientSet"]
    assert told_why == [
        "App created", f"Version rule {first['id']} added", f"Version rule {second['id']} added", "Text update set in en",
        "Text update set in cs", "Text update set in cs", "Text update deleted in cs", f"Version rule {first['id']} deleted",
        f"Version rule {third['id']} added",
    ]  # fmt: skip


def test_texts_belong_to_all_apps(admin, script, own_texts):
    apps = [unique("wultra-texts-") for _ in range(2)]
    for app in apps:
        script.post("/apps", {"name": app, "displayName": app})
    text = {"messageKey": "two words/and a slash", "language": "en", "text": "Update\nnow. ☂"}
    assert script.post("/texts", text) == text
    newest = unique("wultra-texts-")
    script.post("/apps", {"name": newest, "displayName": newest})
    kept = {"message_key": text["messageKey"], "language": "en", "text": text["text"]}
    for app in (*apps, newest):
        assert kept in admin.must("GET", f"/v1/apps/{app}/clients/wultra").json["settings"]["texts"]
    path = f"/texts/{quote(text['messageKey'], safe='')}/en"
    assert script.get(path) == text
    assert script.delete(path) == {"status": "OK"}
    for app in (*apps, newest):
        assert kept not in admin.must("GET", f"/v1/apps/{app}/clients/wultra").json["settings"]["texts"]
    mark = admin.mark()
    assert script.delete(path) == {"status": "OK"}
    assert script.refused("GET", path).code == "ERROR_REQUEST"
    assert admin.since(mark) == []


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("versions", rule(requiredVersion="1.0"), "requiredVersion"),
        ("texts", {"messageKey": "k", "language": "eng", "text": "x"}, "language"),
        ("texts", {"messageKey": "k", "language": "en", "text": "\u00e9" * 1001}, "text"),
    ],
)  # fmt: skip
def test_a_malformed_rule_or_text_is_refused(admin, script, app, path, body, field):
    mark = admin.mark()
    refused = script.refused("POST", f"/apps/{app}/versions" if path == "versions" else "/texts", body)
    assert (refused.status, refused.code, refused.fields) == (400, "ERROR_REQUEST", [field]), str(refused)
    assert admin.since(mark) == []


def test_accepted_values_can_be_read_again():
    """Whatever is recorded is read by every node that starts later."""
    server = Server()
    try:
        script = Script(server.start().port, server.api.token)
        refused = script.refused("POST", "/texts", {"messageKey": "k", "language": "en", "text": "x"})
        assert (refused.status, refused.code) == (400, "APP_EXCEPTION"), "there is no app to keep it with"
        script.post("/apps", {"name": "shop", "displayName": "Žluťoučký kůň"})
        edges = [
            rule(requiredVersion="999999999.0.01", suggestedVersion="3.1.2-" + "~" * 122, majorOsVersion=999_999_999),
            rule(messageKey="k" * 255),
            rule(platform="ANDROID", messageKey="two words", majorOsVersion=0, requiredVersion="1.2.3- !+b"),
        ]
        for edge in edges:
            script.post("/apps/shop/versions", edge)
        for text in ("\u0000", "\U0001f600" * 1000, " ", '"\\\n'):
            script.post("/texts", {"messageKey": f"key {len(text)} {ord(text[0])}", "language": "EN", "text": text})
        before = (script.get("/apps/shop"), script.get("/apps/shop/versions"), script.get("/texts"))
        assert len(before[1]["applicationVersions"]) == 3 and len(before[2]["texts"]) == 4
        script = Script(server.restart().port, server.api.token)
        assert (script.get("/apps/shop"), script.get("/apps/shop/versions"), script.get("/texts")) == before
    finally:
        server.destroy()


def test_there_are_limits_to_rules_texts_and_bodies(admin, script, app, own_texts):
    rules = [{"id": number, "platform": "IOS", "major_os_version": number} for number in range(1, 200)]
    texts = [{"message_key": f"key {number}", "language": "en", "text": "x"} for number in range(200)]
    declare(admin, app, "wultra", {"version_rules": rules, "texts": texts})
    added = script.post(f"/apps/{app}/versions", {"platform": "ANDROID", "requiredVersion": "1.0.0"})
    assert added["id"] >= 200
    mark = admin.mark()
    for path, body in [
        (f"/apps/{app}/versions", {"platform": "ANDROID", "majorOsVersion": 9, "requiredVersion": "1.0.0"}),
        (f"/apps/{app}/versions", {"platform": "IOS", "majorOsVersion": 7, "requiredVersion": "1.0.0"}),
        ("/texts", {"messageKey": "one more", "language": "en", "text": "x"}),
        ("/texts", {"messageKey": "key 7", "language": "cs", "text": "x"}),
    ]:
        refused = script.refused("POST", path, body)
        # For an existing rule Wultra's server has another code.
        code = "ERROR_REQUEST" if body.get("majorOsVersion") == 7 else "APP_EXCEPTION"
        assert (refused.status, refused.code) == (400, code), str(refused)
    assert admin.since(mark) == [], "no app has changed"
    # In place of another there is room.
    script.post("/texts", {"messageKey": "key 7", "language": "en", "text": "y"})
    declare(admin, app, "wultra", {})
    refused = script.refused("POST", "/texts", {"messageKey": "k", "language": "en", "text": "x" * (65 << 10)})
    assert (refused.status, refused.code) == (413, "ERROR_REQUEST")
    for body in (b"", b"{", b"[]", b"7", b'"x"', b'{"name":"a1","name":"b1"}', b"\xff", b"null"):
        refused = script.refused("POST", "/apps", body)
        assert (refused.status, refused.code) == (400, "ERROR_REQUEST"), body


def test_texts_that_no_event_can_hold_are_refused(admin, script, app, own_texts):
    # An app that comes before it, and must not be changed where it cannot be.
    script.post("/apps", {"name": f"a-{app}", "displayName": "x"})
    texts = [{"message_key": f"long {number}", "language": "en", "text": "x" * 1000} for number in range(60)]
    declare(admin, app, "wultra", {"texts": texts})
    with pytest.raises(Refused) as caught:
        for number in range(10):
            script.post("/texts", {"messageKey": f"more {number}", "language": "en", "text": "x" * 1000})
    assert (caught.value.status, caught.value.code) == (400, "APP_EXCEPTION") and "65535" in caught.value.error["message"]
    kept = admin.must("GET", f"/v1/apps/{app}/clients/wultra").json["settings"]["texts"]
    assert 60 <= len(kept) < 65 and all(text["text"] == "x" * 1000 for text in kept)
    for other in script.get("/apps")["applications"]:
        settings = admin.must("GET", f"/v1/apps/{other['name']}/clients/wultra").json["settings"]
        more = [text for text in settings.get("texts", []) if text["message_key"].startswith("more ")]
        assert len(more) == len(kept) - 60, other["name"]
    declare(admin, app, "wultra", {})


# MARK: Repetitions and others


def test_a_repeated_request_is_carried_out_once(admin, script, name, identities, own_texts):
    def twice(method: str, path: str, body=None):
        key = {"Idempotency_Key": f"{name} {method} {path}"}
        first = script.ask(method, path, body, **key)
        mark = admin.mark()
        again = script.ask(method, path, body, **key)
        assert again == first and admin.since(mark) == []
        return first

    twice("POST", "/apps", {"name": name, "displayName": "Once"})
    assert script.headers["Idempotency-Replayed"] == "true"
    twice("POST", f"/apps/{name}/certificates/pem", {"domain": HOST, "pem": identities[0].certificate.read_text()})
    for identity in identities[1:3]:
        add(script, name, identity)
    made = twice("POST", f"/apps/{name}/versions", rule())
    twice("DELETE", f"/apps/{name}/versions/{made['id']}")
    twice("DELETE", f"/apps/{name}/certificates?domain={HOST}&fingerprint={quote(fingerprint(identities[0]), safe='')}")
    twice("POST", "/texts", {"messageKey": name, "language": "en", "text": "x"})
    twice("DELETE", f"/texts/{name}/en")
    twice("DELETE", f"/apps/{name}/domains?domain={HOST}")
    twice("DELETE", "/certificates/expired")
    # The same key for something else is a mistake.
    refused = script.refused("POST", "/apps", {"name": f"{name}-2", "displayName": "x"}, Idempotency_Key=f"{name} POST /apps")
    assert (refused.status, refused.code) == (400, "APP_EXCEPTION")


def test_concurrent_changes_of_others_are_not_lost(admin, app):
    """Rules and texts stand in one value: every script adds its own to what is there."""

    def work(number: int) -> list[int]:
        script = Script(admin.port, admin.token)
        rules = [{"platform": "IOS", "majorOsVersion": 10 * number + each, "requiredVersion": "1.0.0"} for each in range(3)]
        return [script.post(f"/apps/{app}/versions", one)["id"] for one in rules]

    ids = [one for part in in_threads(4, work) for one in part]
    listed = Script(admin.port, admin.token).get(f"/apps/{app}/versions")["applicationVersions"]
    assert sorted(ids) == [one["id"] for one in listed] and len(set(ids)) == 12
