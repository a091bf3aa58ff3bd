"""Files that installs have built in, and what other servers have, are planned first and then recorded as one change."""

import base64
import json
import plistlib
import threading
from datetime import datetime, timedelta, timezone

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from deployed import HOST, P256_POINT, P256_PRIVATE, P256_PUBLIC, Identity, add_host, ask, key_id, private_key
from names import unique
from pinledger import eventually, from_now, pin_of
from problems import expect_problem

XML, TEXT = "application/xml", "text/plain"
DAY = (datetime.now(timezone.utc) + timedelta(days=30)).strftime("%Y-%m-%d")
ONE, TWO = pin_of("import one"), pin_of("import two")


def bare(pin: str) -> str:
    return pin.removeprefix("sha256/")


def app_name() -> str:
    return unique("com.example.formats.")


def nsc(*pins: str, host: str = HOST, until: str | None = DAY, more: str = "") -> bytes:
    expiration = f' expiration="{until}"' if until else ""
    listed = "".join(f'<pin digest="SHA-256">{bare(pin)}</pin>\n' for pin in pins)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<network-security-config>\n<domain-config>\n'
        f"<domain>{host}</domain>\n<pin-set{expiration}>\n{listed}</pin-set>\n</domain-config>{more}\n</network-security-config>\n"
    ).encode()


def trustkit(*pins: str, until: str | None = DAY, **more) -> bytes:
    policy = {"TSKPublicKeyHashes": [bare(pin) for pin in pins], "TSKEnforcePinning": True, **more}
    if until:
        policy["TSKExpirationDate"] = until
    return plistlib.dumps({"TSKConfiguration": {"TSKPinnedDomains": {HOST: policy}}})


def ats(*pins: str) -> bytes:
    identities = [{"SPKI-SHA256-BASE64": bare(pin)} for pin in pins]
    domains = {HOST: {"NSPinnedLeafIdentities": identities}}
    return plistlib.dumps({"CFBundleName": "Shop", "NSAppTransportSecurity": {"NSPinnedDomains": domains}})


def hpkp(*pins: str) -> bytes:
    listed = "; ".join(f'pin-sha256="{bare(pin)}"' for pin in pins)
    return f"# copied\nHost: {HOST}\nPublic-Key-Pins: {listed}; max-age=5184000\n".encode()


def template(*pins: str) -> bytes:
    value = {"enabled": True, "hosts": {HOST: {"pins": dict(zip(("primary", "backup"), pins))}}}
    parameters = {"ssl_pinning_config": {"defaultValue": {"value": json.dumps(value)}, "valueType": "JSON"}}
    return json.dumps({"conditions": [], "parameters": parameters, "version": {"versionNumber": "3"}}).encode()


FILES = {
    "android_nsc": (nsc, XML), "trustkit_ios": (trustkit, XML), "apple_ats": (ats, "text/xml; charset=utf-8"),
    "hpkp": (hpkp, TEXT), "firebase_template": (template, "application/json"),
}  # fmt: skip


def send(api, format: str, body: bytes, app: str, type: str = XML, *, headers: dict | None = None, **query):
    target = f"/v1/import/{format}?app={app}" + "".join(f"&{name}={value}" for name, value in query.items())
    return api.request("POST", target, body, {"Content-Type": type, **(headers or {})})


def import_twice(api, format: str, body: bytes, app: str, type: str):
    """First the plan, then what was planned and nothing else; the last answer."""
    mark = api.mark()
    planned = send(api, format, body, app, type, dry_run="true")
    assert planned.status == 200, str(planned)
    assert api.since(mark) == [] and api.get(f"/v1/apps/{app}").status == 404
    plan = planned.json
    assert plan["dry_run"] is True and plan["plan"][0] == f"create the app {app}"
    recorded = send(api, format, body, app, type, plan_hash=plan["plan_hash"])
    assert recorded.status == 201 and recorded["Location"] == f"/v1/apps/{app}", str(recorded)
    assert recorded.json["plan"] == plan["plan"]
    assert [(event["type"], event["data"]) for event in recorded.json["events"]] == [
        (event["type"], event["data"]) for event in plan["events"]
    ]
    assert len(api.since(mark)) == len(plan["events"])
    return recorded


def served(api, app: str, host: str = HOST) -> dict:
    """A host as the app's document has it."""
    return next(found for found in api.payload(app)["hosts"] if found["host"] == host)


def texts(value) -> list[str]:
    """Every string within a value."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


# MARK: Files with pins


@pytest.mark.parametrize("format", FILES)
def test_a_file_is_planned_recorded_as_one_change_and_served(api, format):
    make, type = FILES[format]
    app = app_name()
    recorded = import_twice(api, format, make(ONE, TWO), app, type)
    host = api.get(f"/v1/apps/{app}/hosts/{HOST}").json
    assert {pin["pin"]: pin["role"] for pin in host["baseline"]["pins"]} == {ONE: "primary", TWO: "backup"}
    assert host["baseline"]["mode"] == "enforce"
    assert {bare(ONE), bare(TWO)} <= set(texts(served(api, app)))
    reasons = {event.get("reason") for event in recorded.json["events"]}
    assert len(reasons) == 1 and reasons.pop().startswith("imported from ")
    until = api.get(f"/v1/apps/{app}").json.get("pins_valid_until")
    assert until == (f"{DAY}T00:00:00Z" if format in ("android_nsc", "trustkit_ios") else None)


@pytest.mark.parametrize("format", ["android_nsc", "firebase_template"])
def test_a_repeated_import_is_answered_by_its_record(api, format):
    make, type = FILES[format]
    app = app_name()
    headers = {"Idempotency-Key": f"import {app}"}
    first = send(api, format, make(ONE, TWO), app, type, headers=headers)
    mark = api.mark()
    again = send(api, format, make(ONE, TWO), app, type, headers=headers)
    assert (first.status, again.status) == (201, 201), str(again)
    assert again["Idempotency-Replayed"] == "true" and again.recorded == first.recorded
    other = send(api, format, make(TWO, ONE), app, type, headers=headers)
    expect_problem(other, 422, "idempotency_key_reused")
    assert api.since(mark) == []


def test_a_plan_that_is_not_that_of_the_file_is_refused(api):
    app = app_name()
    planned = send(api, "android_nsc", nsc(ONE, TWO), app, dry_run="true").json
    mark = api.mark()
    refused = send(api, "android_nsc", nsc(TWO, ONE), app, plan_hash=planned["plan_hash"])
    expect_problem(refused, 409, "plan_stale")
    assert api.since(mark) == [] and api.get(f"/v1/apps/{app}").status == 404


# ClientFormatsTests/ExportsImportTests has all formats.
@pytest.mark.parametrize("format", ["trustkit_android", "apple_ats"])
def test_an_exported_file_is_imported_as_the_same_pins(api, format):
    app, copy = app_name(), app_name()
    api.must("POST", "/v1/apps", {"app": app})
    for host, deep in ((HOST, False), ("shop.example.net", format != "apple_ats")):
        pins = [{"pin": pin_of(f"{host} {number}")} for number in (1, 2)]
        add_host(api, app, host, *pins, include_subdomains=deep)
    exported = api.must("GET", f"/v1/apps/{app}/export/{format}").body
    read_as = "android_nsc" if format == "trustkit_android" else format
    import_twice(api, read_as, exported, copy, "application/octet-stream")

    def hosts(name: str) -> dict:
        found = api.get(f"/v1/apps/{name}/hosts").json["hosts"]
        return {
            one["host"]: (one["include_subdomains"], one["baseline"]["mode"], {pin["pin"] for pin in one["baseline"]["pins"]})
            for one in found
        }

    assert hosts(copy) == hosts(app)


def test_a_host_with_one_pin_only_reports_and_settings_without_counterpart_are_listed(api):
    app = app_name()
    body = trustkit(ONE, until=None, TSKReportUris=["https://example.com/report"])
    answer = send(api, "trustkit_ios", body, app)
    assert answer.status == 201, str(answer)
    assert served(api, app)["baseline"]["mode"] == "report_only"
    findings = answer.json["findings"]
    assert all(set(one) >= {"severity", "pointer", "detail", "advice"} and one["pointer"] == "" for one in findings)
    lines = body.decode().splitlines()
    reports = next(one for one in findings if "reports" in one["detail"])
    assert reports["severity"] == "warning" and lines[reports["line"] - 1][reports["column"] - 1 :].startswith("<array>")


def test_an_end_that_no_document_may_have_is_not_taken_over(api):
    app = app_name()
    answer = send(api, "android_nsc", nsc(ONE, TWO, until="2020-01-01"), app)
    assert answer.status == 201, str(answer)
    assert any("were valid until" in finding["detail"] for finding in answer.json["findings"])
    assert api.get(f"/v1/apps/{app}").json.get("pins_valid_until") is None


def test_a_rotation_to_a_key_that_installs_do_not_have_built_in_takes_force(api):
    app = app_name()
    assert send(api, "android_nsc", nsc(ONE, TWO), app).status == 201
    rotations = f"/v1/apps/{app}/rotations"

    def start(pin: str, **more) -> dict:
        return {"rotation": "next", "hosts": [HOST], "next": {"pin": pin}, "reason": "a new key", **more}

    def told(findings: list[dict]) -> list[dict]:
        return [one for one in findings if one.get("limit") == "next_key_not_built_in"]

    other = pin_of("import other")
    refused = expect_problem(api.post(rotations, start(other)), 422, "guard_rail")
    (finding,) = told(refused["guard_rail_findings"])
    assert (finding["severity"], finding["client"], finding["host"]) == ("override", "android_nsc", HOST)
    assert ONE in finding["detail"] and TWO in finding["detail"]
    # The second key is built in.
    assert told(api.must("POST", f"{rotations}?dry_run=true", start(TWO)).json["guard_rail_findings"]) == []
    api.must("POST", rotations, start(other, force=True))
    rotation = api.must("GET", f"{rotations}/next").json
    (wait,) = (one for one in rotation["waits_for"] if "built in" in one["what"])
    assert wait["met"] == "no" and "until" not in wait and rotation["ready"] is False and told(rotation["findings"])
    (kind,) = api.must("GET", f"/v1/apps/{app}/compat").json["clients"]
    assert told(kind["findings"])
    items = api.must("GET", f"/v1/attention?app={app}").json["items"]
    assert [one["severity"] for one in told(items)] == ["urgent"]


def test_an_export_is_remembered_once_and_a_comparison_is_not(api):
    app = app_name()
    assert send(api, "android_nsc", nsc(ONE, TWO), app).status == 201
    api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", {"pin": pin_of("import three"), "role": "backup", "force": True, "reason": "a test"})
    export, client = f"/v1/apps/{app}/export/android_nsc", f"/v1/apps/{app}/clients/android_nsc"

    def files() -> list[tuple[str, int]]:
        (host,) = api.must("GET", client).json["built_in"]
        return [(file["origin"], len(file["pins"])) for file in host["files"]]

    for query in ("?compare=true", "?notes=true"):
        api.must("GET", export + query)
    assert files() == [("imported", 2)]
    for _ in range(2):
        api.must("GET", export)
        assert files() == [("imported", 2), ("exported", 3)]


def test_one_app_takes_the_files_of_both_platforms_and_names_clients_that_a_kill_switch_does_not_reach(api):
    app = app_name()
    assert send(api, "android_nsc", nsc(ONE, TWO, until=None), app).status == 201
    second = send(api, "trustkit_ios", trustkit(ONE, TWO, until=None), app)
    assert second.status == 200 and second.json["plan"] == [
        "declare clients of the kind trustkit_ios",
        "remember the pins that installs of the kind trustkit_ios have built in for 1 host",
    ], str(second)
    assert any("with the same pins and mode" in one["detail"] for one in second.json["findings"])
    assert {one["client"] for one in api.must("GET", f"/v1/apps/{app}/clients").json["clients"]} == {"android_nsc", "trustkit_ios"}
    # Once more nothing is to be done.
    mark = api.mark()
    again = send(api, "trustkit_ios", trustkit(ONE, TWO, until=None), app)
    assert again.status == 200 and again.json["plan"] == [] and api.since(mark) == []
    engaged = api.must("PUT", f"/v1/apps/{app}/kill-switch", {"expires_at": from_now(hours=1), "reason": "a test"}).json
    told = {one["client"] for one in engaged["guard_rail_findings"] if one.get("limit") == "kill_switch"}
    assert told == {"android_nsc", "trustkit_ios"}
    api.must("DELETE", f"/v1/apps/{app}/kill-switch?reason=over")


def test_a_host_that_differs_from_the_apps_is_refused_with_all_differences(api):
    app = app_name()
    assert send(api, "android_nsc", nsc(ONE, TWO), app).status == 201
    mark = api.mark()
    three = pin_of("import three")
    other = send(api, "apple_ats", ats(ONE, three), app, force="true", reason="a%20test")
    expect_problem(other, 422, "import_refused")
    assert f"the app lacks 1 pin: {three}" in other.json["errors"][0]["detail"]
    assert f"the file lacks 1 pin: {TWO}" in other.json["errors"][0]["detail"]
    assert api.since(mark) == []
    beside = send(api, "android_nsc", nsc(ONE, TWO, host="www.example.com"), app)
    assert beside.status == 200, str(beside)
    assert {bare(ONE), bare(TWO)} <= set(texts(served(api, app, "www.example.com")))


def test_headers_without_a_host_need_one_beside_them(api):
    body = hpkp(ONE, TWO).split(b"\n", 2)[2]
    assert send(api, "hpkp", body, app_name(), TEXT).status == 422
    app = app_name()
    assert send(api, "hpkp", body, app, TEXT, host=HOST).status == 201
    assert {bare(ONE), bare(TWO)} <= set(texts(served(api, app)))


def test_a_template_s_conditional_value_is_taken_where_it_is_named(api):
    whole = json.loads(template(ONE, TWO))
    parameter = whole["parameters"]["ssl_pinning_config"]
    other = json.loads(parameter["defaultValue"]["value"])
    other["hosts"] = {"beta.example.com": other["hosts"][HOST]}
    parameter["conditionalValues"] = {"beta": {"value": json.dumps(other)}}
    whole["conditions"] = [{"name": "beta", "expression": "app.version.contains(['beta'])"}]
    body = json.dumps(whole).encode()
    app = app_name()
    answer = send(api, "firebase_template", body, app, "application/json")
    assert answer.status == 201 and any("/conditionalValues/beta" in one["pointer"] for one in answer.json["findings"])
    assert send(api, "firebase_template", body, app, "application/json", condition="beta").status == 200
    assert served(api, app, "beta.example.com")
    missing = send(api, "firebase_template", body, app_name(), "application/json", condition="none")
    expect_problem(missing, 422, "import_refused")


# MARK: What is refused

# Every file and request that readers refuse is in PinledgerServerTests/ImportRequestTests: one for each format comes over a connection
# here, and those that would be costly to read.

ENTITIES = b"<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'>" + b"".join(
    b"<!ENTITY %c '%s'>" % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
) + b"]><network-security-config>&j;</network-security-config>"  # fmt: skip


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("format", "body"),
    [
        ("android_nsc", ENTITIES),
        ("android_nsc", nsc(ONE, TWO).replace(b"<domain>", b"<domain>x.example.com</domain>" * 20_000 + b"<domain>")),
        ("android_nsc", nsc(ONE, TWO, host="co.uk")),
        ("android_nsc", b"\xff\xfe\x00"),
        ("trustkit_ios", ats(ONE, TWO)),
        ("apple_ats", b"<plist>" + b"<array>" * 50_000),
        ("hpkp", b"Public-Key-Pins: " + b';"' * 400_000),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)}",
)
def test_a_hostile_or_broken_file_is_refused_and_nothing_recorded(api, format, body):
    answer = send(api, format, body, app_name(), "application/octet-stream")
    assert answer.status == 422 and answer["Content-Type"] == "application/problem+json", str(answer)
    assert answer.json["type"] == "/problems/import_refused"
    assert answer.json["errors"] and len(answer.body) < 3_000_000


@pytest.mark.usefixtures("unchanged")
def test_a_binary_property_list_is_refused_with_the_command_that_converts_it(api):
    body = plistlib.dumps(plistlib.loads(ats(ONE, TWO)), fmt=plistlib.FMT_BINARY)
    answer = send(api, "apple_ats", body, app_name(), "application/octet-stream")
    assert answer.status == 422 and "plutil -convert xml1" in answer.json["errors"][0]["detail"]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("format", "type", "query", "status", "kind"),
    [
        ("android_nsc", "text/xml; charset=iso-8859-1", {}, 415, "unsupported_media_type"),
        ("okhttp", XML, {}, 400, "malformed_request"),
        ("hpkp", TEXT, {"host": "*.example.com"}, 400, "malformed_request"),
        ("android_nsc", XML, {"parameter": "x"}, 400, "unknown_parameter"),
        ("wultra", "application/json", {}, 422, "import_refused"),
    ],
)
def test_a_wrong_import_request_is_refused(api, format, type, query, status, kind):
    answer = send(api, format, nsc(ONE, TWO), app_name(), type, **query)
    expect_problem(answer, status, kind)


@pytest.mark.usefixtures("unchanged")
def test_a_file_needs_an_app_a_token_and_no_more_than_a_mebibyte(api):
    assert api.request("POST", "/v1/import/android_nsc", nsc(ONE, TWO), {"Content-Type": XML}).status == 400
    target = f"/v1/import/android_nsc?app={app_name()}"
    assert api.request("POST", target, nsc(ONE, TWO), {"Content-Type": XML}, token=None).status == 401
    assert send(api, "android_nsc", nsc(ONE, TWO) + b" " * 2**20, app_name()).status == 413


# MARK: Wultra's mobile utility server


def certificate(one: Identity, **more) -> dict:
    fingerprint = base64.b64encode(one.fingerprint).decode()
    return {"pem": one.certificate.read_text(), "fingerprint": fingerprint, "expires": one.expires, **more}


def answers(name: str, *identities: Identity) -> dict:
    domains = [{"name": HOST, "certificates": [certificate(one) for one in identities]}]
    rule = {"id": 4, "platform": "IOS", "majorOsVersion": 17, "suggestedVersion": "2.0.0", "requiredVersion": "1.5.0", "messageKey": "update"}  # fmt: skip
    return {
        "app": {"name": name, "displayName": "The bank", "publicKey": P256_POINT, "domains": domains},
        "versions": {"applicationVersions": [rule]},
        "texts": {"texts": [{"messageKey": "update", "language": "en", "text": "Please update."}]},
    }


def number() -> str:
    """The private key as the mobile utility server keeps it."""
    return base64.b64encode(private_key(P256_PRIVATE).private_numbers().private_value.to_bytes(32, "big")).decode()


def tables(name: str, *identities: Identity, key: str | None = None) -> dict:
    rows = [{"id": place, "mobile_domain_id": 5, **certificate(one)} for place, one in enumerate(identities)]
    app = {"id": 2, "name": name, "display_name": "The bank", "sign_private_key": key or number(), "sign_public_key": P256_POINT}
    rule = {"id": 4, "app_id": 2, "platform": "IOS", "major_os_version": 17, "suggested_version": "2.0.0", "required_version": "1.5.0", "message_key": "update"}  # fmt: skip
    return {
        "mus_mobile_app": [{"id": 1, "name": "another", "sign_private_key": "?"}, app],
        "mus_mobile_domain": [{"id": 4, "app_id": 1, "domain": "other.example.com"}, {"id": 5, "app_id": 2, "domain": HOST}],
        "mus_certificate": rows,
        "mus_mobile_app_version": [rule],
        "mus_localized_text": [{"message_key": "update", "language": "en", "text": "Please update."}],
    }


JSON = "application/json"


@pytest.mark.parametrize("form", [answers, tables])
def test_a_mobile_utility_server_is_taken_over(api, identities, form):
    app = app_name()
    recorded = import_twice(api, "wultra", json.dumps(form(app, *identities[:2])).encode(), app, JSON)
    pins = api.get(f"/v1/apps/{app}/hosts/{HOST}").json["baseline"]["pins"]
    assert {pin["pin"]: pin["role"] for pin in pins} == {identities[0].pin: "primary", identities[1].pin: "backup"}
    assert api.get(f"/v1/apps/{app}").json["display_name"] == "The bank"
    client = api.get(f"/v1/apps/{app}/clients/wultra").json
    assert client["settings"]["version_rules"] == [
        {
            "id": 4, "platform": "IOS", "major_os_version": 17, "suggested_version": "2.0.0", "required_version": "1.5.0",
            "message_key": "update",
        }
    ]  # fmt: skip
    assert client["settings"]["texts"] == [{"message_key": "update", "language": "en", "text": "Please update."}]
    target = f"/compat/wultra/app/init?appName={app}&appVersion=1.0.0&osVersion=17.1.0&platform=IOS"
    challenge = base64.b64encode(bytes(range(16))).decode()
    answer = ask(api, target, X_Cert_Pinning_Challenge=challenge)
    if form is answers:
        assert "key" not in client and answer.status == 409
        assert any("private half" in one["detail"] for one in recorded.json["findings"])
        return
    assert client["key"]["key_id"] == key_id(P256_PUBLIC)
    assert answer.status == 200, str(answer)
    assert {one["fingerprint"] for one in answer.json["fingerprints"]} == {
        base64.b64encode(one.fingerprint).decode() for one in identities[:2]
    }
    assert answer.json["verifyVersionResult"] == {"update": "FORCED", "message": "Please update."}
    assert ask(api, f"/compat/wultra/app/init/public-key?appName={app}").json == {"publicKey": P256_POINT}


def test_the_names_under_which_clients_find_a_certificate_are_listed(api, tmp_path, identities):
    app = unique("wultra-")
    named = Identity(tmp_path, "named", common_name="Shop Front")
    body = json.dumps(answers(app, identities[0], named)).encode()
    planned = send(api, "wultra", body, app, "application/json", dry_run="true")
    assert planned.status == 200, str(planned)
    (told,) = (one for one in planned.json["findings"] if "Shop Front" in one["detail"])
    assert told["severity"] == "note" and HOST in told["detail"]
    plain = json.dumps(answers(app, *identities[:2])).encode()
    findings = send(api, "wultra", plain, app, "application/json", dry_run="true").json["findings"]
    assert not any("have the name" in one["detail"] for one in findings)


def test_a_change_during_an_import_is_not_undone(server, api, identities):
    app = app_name()
    api.must("POST", "/v1/apps", {"app": app})
    api.must("PUT", f"/v1/apps/{app}/clients/wultra", {})
    body = json.dumps(tables(app, *identities[:2])).encode()
    # The import has its plan by the time it stores the private key.
    answers = []
    importing = threading.Thread(target=lambda: answers.append(send(api, "wultra", body, app, JSON)))
    with server.locked("pinledger.client_secret", "EXCLUSIVE"):
        importing.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'pinledger.client_secret'::regclass"
        eventually(lambda: server.sql(waiting) == "1", "an import that waits to store the key")
        api.must("PUT", f"/v1/apps/{app}/clients/wultra", {"settings": {"entry_days": 90}})
    importing.join()
    assert answers[0].status == 200, str(answers[0])
    settings = api.get(f"/v1/apps/{app}/clients/wultra").json["settings"]
    assert settings["entry_days"] == 90 and len(settings["version_rules"]) == len(settings["texts"]) == 1
    # A request that names a stale version is refused.
    stale = send(api, "android_nsc", nsc(ONE, TWO, host="www.example.com"), app, headers={"If-Match": '"1"'})
    expect_problem(stale, 412, "stale_version")


def test_an_import_without_a_format_lists_all_of_them(api):
    answer = send(api, "remote_config", b"{}", app_name(), JSON)
    expect_problem(answer, 400, "malformed_request")
    assert "remote-config" in answer.json["detail"] and "android_nsc" in answer.json["detail"]


def test_a_private_key_is_repeated_nowhere(server, api, identities, tmp_path):
    app = app_name()
    file = tmp_path / "wultra.json"
    file.write_text(json.dumps(tables(app, *identities[:2])))
    rehearsed = server.cli("import", "wultra", str(file), "--app", app, "--dry-run")
    told = server.cli("import", "wultra", str(file), "--app", app)
    history = json.dumps(api.history(f"/v1/apps/{app}/history"))
    for text in (rehearsed.stdout + rehearsed.stderr, told.stdout + told.stderr, history, server.tail()):
        assert number() not in text and number()[:20] not in text
    assert "Plan hash:" in rehearsed.stdout and "stored sealed" in told.stdout


@pytest.mark.usefixtures("unchanged")
def test_a_wrong_private_key_is_refused_and_not_repeated(api, identities):
    other = ec.generate_private_key(ec.SECP256R1())
    wrong = base64.b64encode(other.private_numbers().private_value.to_bytes(32, "big")).decode()
    for key in (wrong, wrong[:-8], "not base64", "A" * 43 + "="):
        app = app_name()
        answer = send(api, "wultra", json.dumps(tables(app, *identities[:2], key=key)).encode(), app, JSON)
        assert answer.status == 422, str(answer)
        assert [error["pointer"] for error in answer.json["errors"]] == ["/mus_mobile_app/1/sign_private_key"]
        assert key.encode() not in answer.body


def test_a_key_that_differs_from_the_installs_needs_force(api, identities):
    app = app_name()
    body = json.dumps(tables(app, *identities[:2])).encode()
    api.must("POST", "/v1/apps", {"app": app})
    api.must("PUT", f"/v1/apps/{app}/clients/wultra", {})
    api.must("POST", f"/v1/apps/{app}/clients/wultra/key", {})
    refused = send(api, "wultra", body, app, JSON)
    expect_problem(refused, 409, "client_key")
    assert api.get(f"/v1/apps/{app}/hosts/{HOST}").status == 404, "it is one change, or none"
    assert send(api, "wultra", body, app, JSON, force="true", reason="moved").status == 200
    assert api.get(f"/v1/apps/{app}/clients/wultra").json["key"]["key_id"] == key_id(P256_PUBLIC)


def test_a_repeated_take_over_is_answered_by_its_record(api, identities):
    app = app_name()
    body = json.dumps(tables(app, *identities[:2])).encode()
    headers = {"Idempotency-Key": f"import {app}"}
    first, again = (send(api, "wultra", body, app, JSON, headers=headers) for _ in range(2))
    assert first.status == again.status == 201 and again.recorded == first.recorded


@pytest.mark.usefixtures("unchanged")
def test_a_fingerprint_of_another_certificate_is_refused(api, identities):
    app = app_name()
    file = answers(app, *identities[:2])
    listed = file["app"]["domains"][0]["certificates"]
    listed[0]["fingerprint"], listed[1]["pem"] = listed[1]["fingerprint"], "nothing"
    answer = send(api, "wultra", json.dumps(file).encode(), app, JSON)
    assert answer.status == 422
    assert {error["pointer"] for error in answer.json["errors"]} == {
        "/app/domains/0/certificates/0/fingerprint",
        "/app/domains/0/certificates/1/pem",
    }


# MARK: The command


def test_the_command_shows_the_plan_and_records_what_was_shown(server, api, tmp_path):
    app = app_name()
    file = tmp_path / "network_security_config.xml"
    file.write_bytes(nsc(ONE, TWO, more="\n<unknown/>"))
    planned = server.cli("import", "android_nsc", str(file), "--app", app, "--dry-run")
    assert f"add {HOST} with 2 pins, mode enforce" in planned.stdout and "Nothing was recorded" in planned.stdout
    assert "warning: line 10, column 1: The element unknown is not known." in planned.stderr
    assert api.get(f"/v1/apps/{app}").status == 404
    hash = planned.stdout.split("Plan hash: ")[1].split()[0]
    server.cli("import", "android_nsc", str(file), "--app", app, "--plan-hash", "0" * 64, status=6)
    told = server.cli("import", "android_nsc", str(file), "--app", app, "--plan-hash", hash, "--reason", "taken over")
    assert "Recorded as" in told.stdout
    assert {event["reason"] for event in api.history(f"/v1/apps/{app}/history")} == {"taken over"}
    mark = api.mark()
    again = server.cli("import", "android_nsc", str(file), "--app", app)
    assert "with the same pins and mode" in again.stderr and api.since(mark) == []
    file.write_bytes(nsc(ONE, pin_of("import three")))
    assert "the app lacks 1 pin" in server.cli("import", "android_nsc", str(file), "--app", app, status=3).stderr
    server.cli("import", "android_nsc", str(file), status=2)
    assert "android_nsc" in server.cli("import", "unheard", str(file), "--app", app, status=2).stderr


def test_the_command_sends_each_format_as_it_is_taken(server, api, tmp_path):
    for format, (make, _) in FILES.items():
        app = app_name()
        file = tmp_path / format
        file.write_bytes(make(ONE, TWO))
        server.cli("import", format, str(file), "--app", app)
        assert {bare(ONE), bare(TWO)} <= set(texts(served(api, app)))
