"""An app's deployed clients with their settings and keys; the private half of a key is never shown again."""

import base64
import functools
import itertools
import json
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat, PublicFormat, load_der_public_key,
)  # fmt: skip
from deployed import (
    ED25519_NAME, ED25519_PRIVATE, ED25519_PUBLIC, HOST, KINDS, P256_NAME, P256_PRIVATE, P256_PUBLIC, add_host, ask,
    client_path, declare, key_id, make_app, pkcs8, private_key,
)  # fmt: skip
from names import unique
from pinledger import BINARY, pin_of
from problems import expect_problem

# The settings of each kind that has some, every one of them not its default.
SETTINGS = {
    "dynapins": {"protocol": "ed25519", "ttl_seconds": 600},
    "wultra": {
        "understands_domains": True, "entry_days": 30,
        "version_rules": [
            {"id": 1, "platform": "IOS", "required_version": "2.0.0", "message_key": "update"},
            {"id": 7, "platform": "ANDROID", "major_os_version": 9, "suggested_version": "3.0.0-beta"},
        ],
        "texts": [{"message_key": "update", "language": "en", "text": "There is a new version."}],
    },
    "remote_config": {"schema": "simple", "parameter": "pins_2", "hash": "raw_key"},
}  # fmt: skip
DEFAULTS = {
    "dynapins": {"protocol": "es256", "ttl_seconds": 3600},
    "wultra": {"understands_domains": False, "version_rules": [], "texts": []},
    "remote_config": {"schema": "advanced", "parameter": "ssl_pinning_config", "hash": "spki"},
}


@pytest.fixture
def app(api) -> str:
    name = unique("com.example.clients.")
    api.make_app(name, HOST)
    return name


def shown(api, app: str, kind: str) -> dict:
    return api.must("GET", client_path(app, kind)).json


def test_every_kind_is_declared_shown_changed_and_removed(api, app):
    assert api.must("GET", f"/v1/apps/{app}/clients").json == {"app": app, "clients": []}
    for kind in KINDS:
        answer = declare(api, app, kind)
        assert [event["type"] for event in answer.json["events"]] == ["ClientSet"], kind
        assert shown(api, app, kind)["settings"] == DEFAULTS.get(kind, {})
        # Some of these settings leave out what the others carried (G25).
        other = {"settings": SETTINGS.get(kind, {}), "reason": "installs that came before", "force": True}
        events = [event["type"] for event in api.must("PUT", client_path(app, kind), other).json["events"]]
        assert events[:1] == (["ClientSet"] if kind in SETTINGS else []), "what changes nothing is not recorded"
        assert set(events[1:]) <= {"GuardRailsOverridden"}
    listed = api.must("GET", f"/v1/apps/{app}/clients")
    assert [one["client"] for one in listed.json["clients"]] == KINDS
    assert {one["client"]: one["settings"] for one in listed.json["clients"]} == {kind: SETTINGS.get(kind, {}) for kind in KINDS}
    assert listed["ETag"] == api.get(f"/v1/apps/{app}")["ETag"]
    # What is not said is the default again.
    declare(api, app, "dynapins", {})
    assert shown(api, app, "dynapins")["settings"] == DEFAULTS["dynapins"]
    for number, kind in enumerate(KINDS, 1):
        removed = api.must("DELETE", client_path(app, kind) + "?reason=no%20more%20installs&force=true")
        assert [event["type"] for event in removed.json["events"]] == ["ClientRemoved"]
        expect_problem(api.get(client_path(app, kind)), 404, "client_unknown")
        expect_problem(api.request("DELETE", client_path(app, kind)), 404, "client_unknown")
        assert len(api.must("GET", f"/v1/apps/{app}/clients").json["clients"]) == len(KINDS) - number


# The readers' refusals are in PinledgerServerTests/ClientRequestTests, and keys are in KeysTests: one of each comes over a connection here.


@pytest.mark.parametrize(
    ("kind", "settings", "pointer"),
    [
        ("dynapins", {"ttl_seconds": 604_801}, "/ttl_seconds"),
        ("curl", {"ttl_seconds": 3600}, "/ttl_seconds"),
        ("wultra", {"version_rules": [{"id": 1, "platform": "IOS"}, {"platform": "IOS"}]}, "/version_rules/1/id"),
        ("remote_config", {"parameter": "1st"}, "/parameter"),
        ("muejam", [], ""),
    ],
)
def test_settings_are_refused_by_name(api, app, kind, settings, pointer):
    mark = api.mark()
    for query in ("", "?dry_run=true"):
        answer = api.request("PUT", client_path(app, kind) + query, {"settings": settings})
        told = expect_problem(answer, 422, "invalid_value")
        assert [error["pointer"] for error in told["errors"]] == [f"/settings{pointer}"], told
    assert api.since(mark) == []


@pytest.mark.parametrize("kind", ["firebase", "%64ynapin"])
def test_other_kinds_of_clients_are_refused(api, app, kind):
    mark = api.mark()
    for method, more, body in [("PUT", "", {}), ("GET", "", None), ("DELETE", "", None), ("POST", "/key", {})]:
        answer = api.request(method, client_path(app, kind, more), body)
        assert answer.status in (400, 404) and answer["Content-Type"] == "application/problem+json", str(answer)
    assert api.since(mark) == []


def test_an_operation_asks_for_a_token_an_app_and_a_kind(api, app):
    mark = api.mark()
    operations = [
        ("GET", "/clients", None), ("GET", "/clients/dynapins", None), ("PUT", "/clients/dynapins", {}),
        ("DELETE", "/clients/dynapins", None), ("POST", "/clients/dynapins/key", {}), ("GET", "/compat", None),
        ("GET", "/export/curl", None),
    ]  # fmt: skip
    for method, path, body in operations:
        expect_problem(api.request(method, f"/v1/apps/{app}{path}", body, token=None), 401, "token_missing")
        expect_problem(api.request(method, f"/v1/apps/com.example.nowhere{path}", body), 404, "app_unknown")
    for method, path, body in operations[1:2] + operations[3:5]:
        expect_problem(api.request(method, f"/v1/apps/{app}{path}", body), 404, "client_unknown")
    assert api.since(mark) == []


# MARK: Keys


def raw(key) -> str:
    """The number alone, in base64."""
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return base64.b64encode(key.private_numbers().private_value.to_bytes(32)).decode()
    return base64.b64encode(key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())).decode()


def traditional(key) -> str:
    """SEC1 or PKCS#1, in PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


FORMS = {
    "PKCS#8 in base64": lambda text: text,
    "PKCS#8 in PEM with CRLF": lambda text: pkcs8(private_key(text)).replace("\n", "\r\n"),
    "the number in base64": lambda text: raw(private_key(text)),
    "SEC1 in PEM": lambda text: traditional(private_key(text)),
}
VECTORS = [
    ("dynapins", {"protocol": "ed25519"}, ED25519_PRIVATE, ED25519_PUBLIC, "ed25519", ED25519_NAME),
    ("dynapins", {"protocol": "es256"}, P256_PRIVATE, P256_PUBLIC, "es256", P256_NAME),
    ("wultra", {}, P256_PRIVATE, P256_PUBLIC, "es256", None),
]


@pytest.mark.parametrize(
    ("kind", "settings", "private", "public", "algorithm", "name", "write"),
    [
        pytest.param(*VECTORS[vector], FORMS[form], id=f"{VECTORS[vector][0]} {VECTORS[vector][4]}, {form}")
        for vector, form in [
            (0, "PKCS#8 in PEM with CRLF"), (0, "the number in base64"), (1, "SEC1 in PEM"), (2, "PKCS#8 in base64"),
            (2, "the number in base64"),
        ]
    ],
)
def test_an_imported_key_is_the_one_that_installs_have_built_in(
    api, app, kind, settings, private, public, algorithm, name, write
):
    answer = declare(api, app, kind, settings, write(private))
    expected = {"key_id": key_id(public), "algorithm": algorithm, "public_key": public}
    assert answer.json["key"] == expected
    assert [event["type"] for event in answer.json["events"]] == ["ClientKeySet"]
    told = shown(api, app, kind)
    assert told["key"] == expected
    if name is not None:
        assert told["key_name"] == name
    assert api.must("GET", f"/v1/apps/{app}/clients").json["clients"] == [told]
    # The same once more: a note of it is not worth an event.
    again = api.must("POST", client_path(app, kind, "/key"), {"private_key": private})
    assert (again.json["events"], again.json["key"]) == ([], expected)


@pytest.mark.parametrize("write", [pkcs8, traditional])
def test_an_rsa_key_is_imported_too(api, app, write):
    key = rsa.generate_private_key(65537, 2048)
    answer = declare(api, app, "ssl_pinning", key=write(key))
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert base64.b64decode(answer.json["key"]["public_key"]) == public
    assert answer.json["key"]["algorithm"] == "rsa_sha512"


@pytest.mark.parametrize(
    ("kind", "settings", "algorithm", "type"),
    [
        ("dynapins", {"protocol": "ed25519"}, "ed25519", ed25519.Ed25519PublicKey),
        ("dynapins", {}, "es256", ec.EllipticCurvePublicKey),
        ("wultra", {}, "es256", ec.EllipticCurvePublicKey),
        ("ssl_pinning", {}, "rsa_sha512", rsa.RSAPublicKey),
    ],
)
def test_a_generated_key_is_a_new_one_of_the_right_kind(api, app, kind, settings, algorithm, type):
    declare(api, app, kind, settings)
    key = api.must("POST", client_path(app, kind, "/key"), {}).json["key"]
    public = load_der_public_key(base64.b64decode(key["public_key"]))
    assert isinstance(public, type) and key["algorithm"] == algorithm
    if type is ec.EllipticCurvePublicKey:
        assert public.curve.name == "secp256r1"
    if type is rsa.RSAPublicKey:
        assert public.key_size >= 2048
    assert key["key_id"] == key_id(key["public_key"]) and key == shown(api, app, kind)["key"]


@functools.cache
def unfit_keys() -> dict[str, tuple[str, str]]:
    """By what is wrong: the kind it is given to, and the text."""
    p256, small = private_key(P256_PRIVATE), rsa.generate_private_key(65537, 1024)
    locked = p256.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")).decode()
    return {
        "not base64": ("wultra", "this is no key!"),
        "a passphrase": ("wultra", locked),
        "RSA of 1024 bits": ("ssl_pinning", pkcs8(small)),
        "not for these settings": ("dynapins", ED25519_PRIVATE),
    }


@pytest.mark.parametrize("what", unfit_keys())
def test_a_key_that_does_not_fit_the_kind_is_refused_and_not_repeated(api, app, what):
    kind, text = unfit_keys()[what]
    declare(api, app, kind)
    mark = api.mark()
    for query in ("", "?dry_run=true"):
        answer = api.request("POST", client_path(app, kind, "/key") + query, {"private_key": text})
        assert 400 <= answer.status < 500 and answer["Content-Type"] == "application/problem+json", str(answer)
        if answer.json["type"] == "/problems/invalid_value":
            assert [error["pointer"] for error in answer.json["errors"]] == ["/private_key"]
        for line in filter(lambda line: len(line) > 12, text.splitlines()):
            assert line not in json.dumps(answer.json) or line.startswith("-----")
    assert api.since(mark) == [] and "key" not in shown(api, app, kind)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("curl", {}), ("wultra", {"private_key": 7}), ("wultra", {"private_key": "A" * (70 << 10)}),
    ],
)  # fmt: skip
def test_a_key_is_accepted_for_signed_kinds_only_and_as_one_text(api, app, kind, body):
    declare(api, app, kind)
    mark = api.mark()
    answer = api.request("POST", client_path(app, kind, "/key"), body)
    assert 400 <= answer.status < 500 and answer["Content-Type"] == "application/problem+json", str(answer)
    assert api.since(mark) == []


def test_setting_a_key_where_nothing_is_signed_is_refused_without_advising_force(api, app):
    declare(api, app, "muejam")
    for body in ({}, {"force": True, "reason": "a test"}):
        told = expect_problem(api.post(client_path(app, "muejam", "/key"), body), 409, "client_keyless")
        assert "without" in told["advice"] and "force" not in told["advice"]


def test_a_key_that_installs_have_is_replaced_only_with_force_and_a_reason(api, app):
    declare(api, app, "wultra", key=P256_PRIVATE)
    path, mark = client_path(app, "wultra", "/key"), api.mark()
    reason = {"reason": "the key was in a backup that is gone"}
    expect_problem(api.post(path, {}), 422, "reason_required")
    expect_problem(api.post(path, {"force": True}), 422, "reason_required")
    expect_problem(api.post(path, reason), 409, "client_key")
    expect_problem(api.post(f"{path}?dry_run=true", reason), 409, "client_key")
    assert api.since(mark) == [] and shown(api, app, "wultra")["key"]["public_key"] == P256_PUBLIC
    # The refused ones have erased nothing that is in use.
    assert ask(api, f"/compat/wultra/app/init?appName={app}", X_Cert_Pinning_Challenge="AAECAwQFBgcICQoLDA0ODw==").status == 200
    replaced = api.must("POST", path, reason | {"force": True})
    assert replaced.json["key"]["public_key"] != P256_PUBLIC
    event = api.history(f"/v1/apps/{app}/history")[-1]
    assert (event["type"], event["reason"]) == ("ClientKeySet", reason["reason"])
    back = api.must("POST", path, reason | {"force": True, "private_key": P256_PRIVATE})
    assert back.json["key"]["public_key"] == P256_PUBLIC
    assert ask(api, f"/compat/wultra/app/init?appName={app}", X_Cert_Pinning_Challenge="AAECAwQFBgcICQoLDA0ODw==").status == 200


def test_settings_that_need_another_key_are_refused_until_the_kind_is_declared_again(api, app):
    declare(api, app, "dynapins", {"protocol": "ed25519"}, ED25519_PRIVATE)
    mark = api.mark()
    expect_problem(api.request("PUT", client_path(app, "dynapins"), {"settings": {"protocol": "es256"}}), 409, "client_key")
    assert api.since(mark) == []
    # Without the key nothing is lost by it.
    declare(api, app, "dynapins", {"protocol": "ed25519", "ttl_seconds": 60})
    assert shown(api, app, "dynapins")["key"]["public_key"] == ED25519_PUBLIC
    api.must("DELETE", client_path(app, "dynapins") + "?reason=a%20new%20SDK&force=true")
    declare(api, app, "dynapins", {"protocol": "es256"}, P256_PRIVATE)
    assert shown(api, app, "dynapins")["key_name"] == P256_NAME


def dump(server, *options: str) -> str:
    """The database as superuser."""
    return subprocess.run(
        ["pg_dump", "--data-only", "--inserts", *options, server.connection_string.replace("user=pinledger_dev", "user=postgres")],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_a_rehearsal_makes_a_key_and_keeps_nothing(own_server):
    api, app = own_server.api, "com.example.rehearsed"
    api.make_app(app, HOST)
    declare(api, app, "wultra")
    mark = api.mark()
    for body in ({}, {"private_key": P256_PRIVATE}):
        answer = api.must("POST", client_path(app, "wultra", "/key?dry_run=true"), body)
        assert answer.json["dry_run"] is True and [event["type"] for event in answer.json["events"]] == ["ClientKeySet"]
        key = answer.json["key"]
        assert key["key_id"] == key_id(key["public_key"])
        assert "key" not in shown(api, app, "wultra")
        assert key["key_id"] not in dump(own_server)
    assert api.must("PUT", client_path(app, "curl") + "?dry_run=true", {}).json["dry_run"] is True
    assert api.must("DELETE", client_path(app, "wultra") + "?dry_run=true&reason=x&force=true").json["dry_run"] is True
    expect_problem(api.get(client_path(app, "curl")), 404, "client_unknown")
    assert api.since(mark) == []
    expect_problem(
        ask(api, f"/compat/wultra/app/init?appName={app}", X_Cert_Pinning_Challenge="AAECAwQFBgcICQoLDA0ODw=="), 409, "client_key_missing"
    )


def test_the_private_half_is_in_no_answer_no_event_no_log_and_not_in_the_database(own_server):
    api, app = own_server.api, "com.example.secret"
    api.make_app(app, HOST)
    keys = {"dynapins": private_key(ED25519_PRIVATE), "wultra": private_key(P256_PRIVATE)}
    keys["ssl_pinning"] = rsa.generate_private_key(65537, 2048)
    answers = []
    for kind, key in keys.items():
        answers.append(declare(api, app, kind, {"protocol": "ed25519"} if kind == "dynapins" else {}))
        path = client_path(app, kind, "/key")
        body = {"private_key": pkcs8(key), "reason": "a test", "force": True}
        for query in ("?dry_run=true", "", ""):
            answers.append(api.must("POST", path + query, body, {"Idempotency-Key": f"secret {kind} {query}"}))
        for refused in ("-----BEGIN PRIVATE KEY-----\n" + pkcs8(key)[40:], pkcs8(key)[:-40]):
            answers.append(api.post(path, {"private_key": refused}))
    for path in ("/clients", "/history", "", "/compat", *(f"/clients/{kind}" for kind in keys)):
        answers.append(api.must("GET", f"/v1/apps/{app}{path}"))
    answers += [api.must("GET", "/v1/history?limit=1000"), api.must("GET", "/v1/fleet"), api.document(app)]
    text = "\n".join(answer.body.decode() for answer in answers) + own_server.log.read_text(errors="replace")
    events = json.dumps(api.history())
    database = dump(own_server)
    assert key_id(P256_PUBLIC) in database and "ClientKeySet" in events, "this looks in the wrong place"
    secrets = [
        private_key(ED25519_PRIVATE).private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()),
        private_key(P256_PRIVATE).private_numbers().private_value.to_bytes(32),
        keys["ssl_pinning"].private_numbers().d.to_bytes(256)[:48],
        keys["ssl_pinning"].private_numbers().p.to_bytes(128)[:48],
    ]
    for place in (text, events, database):
        for secret in secrets:
            # In base64 a run of bytes has three forms, by where it begins; what its neighbours are part of is left out.
            spelled = {base64.b64encode(secret[shift : shift + 27]).decode() for shift in range(3)}
            for form in spelled | {secret.hex(), secret.hex().upper(), str(int.from_bytes(secret))}:
                assert form not in place
        assert "PRIVATE KEY" not in place


def test_a_request_that_is_sent_again_has_one_key_which_goes_on_signing(api, app):
    declare(api, app, "wultra")
    path, header = client_path(app, "wultra", "/key"), {"Idempotency-Key": f"key of {app}"}
    first = api.must("POST", path, {}, header)
    public = shown(api, app, "wultra")["key"]["public_key"]
    assert first.json["key"]["public_key"] == public
    again = api.must("POST", path, {}, header)
    assert again["Idempotency-Replayed"] == "true" and again.json["events"] == first.json["events"]
    assert shown(api, app, "wultra")["key"]["public_key"] == public
    challenge = "AAECAwQFBgcICQoLDA0ODw=="
    answer = ask(api, f"/compat/wultra/app/init?appName={app}", X_Cert_Pinning_Challenge=challenge)
    load_der_public_key(base64.b64decode(public)).verify(
        base64.b64decode(answer["X-Cert-Pinning-Signature"]), challenge.encode() + b"&" + answer.body, ec.ECDSA(SHA256())
    )


def test_a_stale_change_of_clients_is_refused(api, app):
    tag = api.get(f"/v1/apps/{app}/clients")["ETag"]
    assert api.request("PUT", client_path(app, "curl"), {}, {"If-Match": tag}).status < 300
    for method, more, body in [("PUT", "", {"settings": {}}), ("DELETE", "?reason=x", None)]:
        expect_problem(api.request(method, client_path(app, "curl") + more, body, {"If-Match": tag}), 412, "stale_version")
    declare(api, app, "wultra")
    expect_problem(api.request("POST", client_path(app, "wultra", "/key"), {}, {"If-Match": tag}), 412, "stale_version")
    assert "key" not in shown(api, app, "wultra")


def test_keys_outlive_the_process(own_server):
    api, app = own_server.api, "com.example.outlives"
    api.make_app(app, HOST)
    declare(api, app, "wultra", key=P256_PRIVATE)
    own_server.restart()
    challenge = "AAECAwQFBgcICQoLDA0ODw=="
    answer = ask(own_server.api, f"/compat/wultra/app/init?appName={app}", X_Cert_Pinning_Challenge=challenge)
    private_key(P256_PRIVATE).public_key().verify(
        base64.b64decode(answer["X-Cert-Pinning-Signature"]), challenge.encode() + b"&" + answer.body, ec.ECDSA(SHA256())
    )


# MARK: What clients cannot do


def test_the_limits_of_a_kind_of_client_are_listed(server, api, identities):
    app = make_app(api, "com.example.limits", *identities[:2])
    add_host(api, app, "one.example.com", {"pin": pin_of("alone")}, mode="report_only")
    add_host(api, app, "*.cdn.example.com", {"pin": pin_of("cdn 1")}, {"pin": pin_of("cdn 2")}, include_subdomains=True)
    for kind in ("dynapins", "wultra", "trustkit_ios", "okhttp_3"):
        declare(api, app, kind)
    told = api.must("GET", f"/v1/apps/{app}/compat").json
    assert told["app"] == app
    assert [column["client"] for column in told["clients"]] == ["dynapins", "okhttp_3", "trustkit_ios", "wultra"]
    assert {row["host"] for row in told["hosts"]} == {HOST, "one.example.com", "*.cdn.example.com"}
    findings = {column["client"]: column["findings"] for column in told["clients"]}
    for finding in itertools.chain(*findings.values()):
        assert set(finding) >= {"client", "limit", "severity", "detail", "remedy"}
        assert finding["severity"] in ("notice", "differs", "breaks")
        assert finding["detail"].endswith(".") and finding["remedy"].endswith(".")
    worst = {(kind, finding["limit"], finding.get("host")) for kind in findings for finding in findings[kind]}
    assert ("dynapins", "single_pin", "one.example.com") in worst
    assert any(finding["severity"] == "breaks" for finding in findings["dynapins"])
    # A pin alone has no known certificate, and Wultra's clients compare nothing else.
    assert ("wultra", "certificate_unknown", "*.cdn.example.com") in worst
    one = api.must("GET", f"/v1/apps/{app}/compat?client=dynapins").json
    assert [column["client"] for column in one["clients"]] == ["dynapins"]
    # Before anything is declared.
    other = api.must("GET", f"/v1/apps/{app}/compat?client=curl").json
    assert [column["client"] for column in other["clients"]] == ["curl"]
    assert api.get(f"/v1/apps/{app}/compat?client=nothing").status in (400, 404, 422)
    shown = server.cli("compat", app).stdout
    assert "Dynapins" in shown and "one.example.com" in shown
    assert "Dynapins" not in server.cli("compat", app, "--client", "wultra").stdout


# MARK: The command line


def test_clients_are_managed_from_the_command_line(server, api, app, tmp_path):
    settings, key = tmp_path / "settings.json", tmp_path / "key.pem"
    settings.write_text(json.dumps(SETTINGS["dynapins"]))
    key.write_text(pkcs8(private_key(ED25519_PRIVATE)))
    server.cli("client", "set", app, "dynapins", "--settings", str(settings), "--key", str(key))
    assert shown(api, app, "dynapins")["key_name"] == ED25519_NAME
    server.cli("client", "set", app, "wultra", "--generate-key")
    assert shown(api, app, "wultra")["key"]["algorithm"] == "es256"
    server.cli("client", "set", app, "remote_config", "--hash", "raw_key")
    assert shown(api, app, "remote_config")["settings"] == DEFAULTS["remote_config"] | {"hash": "raw_key"}
    settings.write_text(json.dumps({"schema": "simple"}))
    server.cli("client", "set", app, "remote_config", "--settings", str(settings), "--hash", "raw_key")
    assert shown(api, app, "remote_config")["settings"] == DEFAULTS["remote_config"] | {"schema": "simple", "hash": "raw_key"}
    server.cli("client", "set", app, "okhttp")
    listed = server.cli("client", "list", app).stdout
    assert all(kind in listed for kind in ("dynapins", "wultra", "okhttp"))
    text = server.cli("client", "show", app, "dynapins").stdout
    assert ED25519_NAME in text and ED25519_PUBLIC in text and "600" in text
    assert server.cli_json("client", "show", app, "dynapins")["key"]["public_key"] == ED25519_PUBLIC

    other = tmp_path / "other.pem"
    other.write_text(pkcs8(private_key(P256_PRIVATE)))
    refused = server.cli("client", "set-key", app, "wultra", "--import", str(other), "--reason", "why", status=6)
    assert "built in" in refused.stderr
    server.cli("client", "set-key", app, "wultra", "--import", str(other), "--reason", "why", "--force")
    assert shown(api, app, "wultra")["key"]["public_key"] == P256_PUBLIC
    server.cli("client", "remove", app, "okhttp", "--reason", "rewritten")
    assert [one["client"] for one in api.must("GET", f"/v1/apps/{app}/clients").json["clients"]] == ["dynapins", "remote_config", "wultra"]
    said = refused.stdout + refused.stderr + listed + text
    assert "PRIVATE" not in said and P256_PRIVATE not in said


def test_the_command_line_names_the_limits_of_a_client(server, app, tmp_path):
    settings = tmp_path / "settings.json"
    settings.write_text('{"ttl_seconds": 1}')
    assert "ttl_seconds" in server.cli("client", "set", app, "dynapins", "--settings", str(settings), status=3).stderr
    settings.write_text("{")
    for arguments in [
        ("client", "set", app, "dynapins", "--settings", str(settings)),
        ("client", "set", app, "wultra", "--key", str(tmp_path / "missing.pem")),
        ("client", "set", app, "nothing"),
        ("client", "remove", app, "dynapins"),
    ]:
        done = subprocess.run(
            [BINARY, *arguments], env=server.environment | {"PINLEDGER_DATA": str(server.data), "NO_COLOR": "1"},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode != 0 and done.stderr and "Fatal" not in done.stderr, done
