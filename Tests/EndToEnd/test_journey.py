"""The acceptance test: from certificates and an old configuration to a signed document that others verify, and through
everything that happens to it afterwards."""

import copy
import gzip
import json
import os
import re
import signal
import subprocess
import time

import brotli
import jwt
import pytest
from documents import verify
from jwt.utils import base64url_encode
from pinledger import BINARY, canonical, eventually, from_now, pin_hex, pin_of, unbase64url
from problems import expect_problem

ROLLOUT_APP = "com.example.rollout"
PLAIN_APP = "com.example.plain"
ARRAY_APP = "com.example.array"
COMMA_APP = "com.example.comma"
BARE_APP = "com.example.bare"
PARAMETER_APP = "com.example.parameter"


@pytest.fixture(scope="module")
def configurations(certificates) -> dict[str, object]:
    """A configuration for each app, in every shape and spelling that the old clients read."""
    ec, rsa, safe = (certificate.pin for certificate in certificates)
    pins = {"primary": ec, "backup": rsa}
    rollout = {
        "ssl_pinning_config": {
            "enabled": True,
            "rollout_percentage": 25,
            "min_app_version": "1.5.0",
            "hosts": {
                "api.example.com": {
                    "enabled": True,
                    "pins": {**pins, "emergency": safe},
                    "rollout_percentage": 50,
                },
                "login.example.com": {"enabled": True, "pins": pins, "rolloutPercentage": 100},
                "old.example.com": {"enabled": False, "pins": pins, "rollout_percentage": 100},
            },
            "rollout_strategy": {"method": "percentage", "seed": "device_id", "sticky": True},
            "fallback": {"use_builtin_pins": True, "builtin_pin_hosts": ["api.example.com"]},
            "monitoring": {"enabled": True, "failure_threshold": 5.0, "auto_disable": True},
        }
    }
    # As Swift's decoder without coding keys wrote it, and without everything that can be left out.
    plain = {"hosts": {"api.example.com": {"pins": pins, "rolloutPercentage": 100}}, "rolloutPercentage": 100}
    kill_switch = {
        "enabled": True,
        "target_hosts": ["api.example.com", "login.example.com"],
        "min_app_version": "1.0.0",
    }
    return {
        ROLLOUT_APP: rollout,
        PLAIN_APP: {"ssl_pinning_config": {**plain, "enabled": True}},
        BARE_APP: plain,
        ARRAY_APP: {"ssl_pinning_config": kill_switch},
        COMMA_APP: {**kill_switch, "target_hosts": "api.example.com , login.example.com", "enabled": False},
        # As the Remote Config console exports a parameter: JSON in a string.
        PARAMETER_APP: {"ssl_pinning_config": json.dumps(plain)},
    }


@pytest.fixture(scope="module")
def imported(own_server, configurations, tmp_path_factory):
    """The server with every configuration imported by the command line, rehearsed first."""
    directory = tmp_path_factory.mktemp("configurations")
    api = own_server.api
    for app, configuration in configurations.items():
        file = directory / f"{app}.json"
        file.write_text(json.dumps(configuration, indent=2))
        mark = api.mark()
        rehearsal = own_server.cli_json("import", "remote-config", str(file), "--app", app, "--dry-run")
        assert rehearsal["dry_run"] is True
        assert api.since(mark) == []
        assert api.get(f"/v1/apps/{app}").status == 404
        told = own_server.cli("import", "remote-config", str(file), "--app", app, "--reason", "leaving Firebase")
        assert "Plan:" in told.stdout and "Recorded as" in told.stdout
        assert len(api.since(mark)) == len(rehearsal["events"])
        recorded = api.history(f"/v1/apps/{app}/history")
        assert [(e["type"], e["data"]) for e in recorded] == [(e["type"], e["data"]) for e in rehearsal["events"]]
    return own_server


def fetch(server, app: str, *options: str) -> tuple[int, dict[str, str], bytes]:
    """A document as plain curl gets it: status, headers, body."""
    command = ["curl", "-sS", "-i", "--raw", *options, f"http://127.0.0.1:{server.port}/client/v1/apps/{app}/document"]
    output = subprocess.run(command, check=True, capture_output=True, timeout=120).stdout
    head, _, body = output.partition(b"\r\n\r\n")
    status, *fields = head.decode("ascii").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    return int(status.split()[1]), headers, body


def verified(server, app: str) -> dict:
    """The payload of an app's document, after everything a suspicious client can check."""
    status, headers, body = fetch(server, app)
    assert status == 200
    assert headers["content-type"] == "application/jose"
    keys = server.api.request("GET", "/client/v1/jwks.json", token=None)
    assert keys["Content-Type"] == "application/jwk-set+json"
    # A document of a server's moved time is from the future for this process.
    return verify(body.decode("ascii"), keys.json, app, leeway=server.clock.ahead.total_seconds() if server.clock else 0)


def published_pins(policy: dict) -> list[tuple[str, str]]:
    return [(pin["role"], f"{pin['alg']}/{pin['spki']}") for pin in policy["pins"]]


def test_a_pin_computed_by_openssl_as_the_advice_says_is_the_one_computed_by_python(imported, certificates):
    advice = imported.api.get("/problems/pin_placeholder").json["advice"]
    command = advice.partition("openssl ")[1] + advice.partition("openssl ")[2]
    for certificate in certificates:
        done = subprocess.run(
            command.replace("cert.pem", str(certificate.path)), shell=True, check=True, capture_output=True, text=True
        )
        assert f"sha256/{done.stdout.strip()}" == certificate.pin


def test_every_imported_document_verifies_with_a_foreign_library(imported, configurations):
    for app in configurations:
        payload = verified(imported, app)
        assert payload["aud"] == app
        assert payload["exp"] - payload["iat"] == 86_400
        assert abs(payload["iat"] - time.time()) < 120
        of_the_app = len(imported.api.history(f"/v1/apps/{app}/history"))
        assert payload["version"] == of_the_app + imported.api.fleet_version()


def test_a_document_that_was_changed_or_is_for_another_app_does_not_verify(imported):
    token = fetch(imported, PLAIN_APP)[2].decode()
    keys = imported.api.request("GET", "/client/v1/jwks.json", token=None).json
    with pytest.raises(jwt.InvalidAudienceError):
        verify(token, keys, ROLLOUT_APP)
    head, payload, signature = token.split(".")
    other = json.loads(unbase64url(payload)) | {"version": 99}
    with pytest.raises(jwt.InvalidSignatureError):
        verify(".".join([head, base64url_encode(canonical(other)).decode(), signature]), keys, PLAIN_APP)


def test_the_programs_own_verification_agrees_and_refuses_what_was_changed(imported, tmp_path):
    told = imported.cli("document", "verify", PLAIN_APP)
    assert "verifies" in told.stdout
    head, payload, signature = fetch(imported, PLAIN_APP)[2].decode().split(".")
    file = tmp_path / "document.jws"
    file.write_text(f"{head}.{payload[:-4]}AAAA.{signature}")
    imported.cli("document", "verify", PLAIN_APP, "--file", str(file), status=10)


def test_a_rollout_becomes_candidates_beside_the_pins_built_into_the_app(imported, certificates):
    ec, rsa, safe = (certificate.pin for certificate in certificates)
    payload = verified(imported, ROLLOUT_APP)
    assert payload["rollout"]["basis_points"] == 2500
    assert payload["rollout"]["seed"] == ["device_id"]
    assert payload["version_gate"] == {"minimum": "1.5.0"}
    hosts = {host["host"]: host for host in payload["hosts"]}
    assert set(hosts) == {"api.example.com", "login.example.com", "old.example.com"}

    api, login, old = hosts["api.example.com"], hosts["login.example.com"], hosts["old.example.com"]
    assert api["baseline"] == login["baseline"] == {"source": "builtin"}
    assert api["candidate"]["mode"] == login["candidate"]["mode"] == "enforce"
    assert published_pins(api["candidate"]) == [("primary", ec), ("backup", rsa), ("emergency", safe)]
    assert published_pins(login["candidate"]) == [("primary", ec), ("backup", rsa)]
    assert api["rollout"]["basis_points"] == 5000
    assert "rollout" not in login
    # Off is off for every device, whatever the rollout says.
    assert old["baseline"]["mode"] == "off"
    assert "candidate" not in old and "rollout" not in old
    assert payload["fallback"] == {"builtin_pin_hosts": ["api.example.com"], "use_builtin_pins": True}
    assert payload["monitoring"] == {"auto_disable": True, "enabled": True, "failure_threshold_bp": 500}


def test_a_configuration_for_all_devices_becomes_the_baseline_in_either_spelling(imported, certificates):
    ec, rsa, _ = (certificate.pin for certificate in certificates)
    for app in (PLAIN_APP, BARE_APP, PARAMETER_APP):
        payload = verified(imported, app)
        assert "rollout" not in payload and "version_gate" not in payload
        (host,) = payload["hosts"]
        assert host["host"] == "api.example.com"
        assert host["baseline"]["mode"] == "enforce"
        assert published_pins(host["baseline"]) == [("primary", ec), ("backup", rsa)]
        assert "candidate" not in host


def test_the_kill_switch_shape_names_hosts_with_built_in_pins_as_array_or_with_commas(imported):
    payload = verified(imported, ARRAY_APP)
    assert [host["host"] for host in payload["hosts"]] == ["api.example.com", "login.example.com"]
    assert all(host["baseline"] == {"source": "builtin"} for host in payload["hosts"])
    payload = verified(imported, COMMA_APP)
    assert [host["host"] for host in payload["hosts"]] == ["api.example.com", "login.example.com"]
    assert all(host["baseline"]["mode"] == "off" for host in payload["hosts"])


def test_a_pin_is_added_by_command_line_and_retired_over_the_api(imported, certificates):
    ec, rsa, safe = (certificate.pin for certificate in certificates)
    api = imported.api
    before, old_tag = verified(imported, PLAIN_APP), api.document(PLAIN_APP)["ETag"]

    told = imported.cli(
        "pin", "add", PLAIN_APP, "api.example.com", safe, "--role", "backup", "--reason", "a key in the safe",
        "--dry-run",
    )  # fmt: skip
    assert "Would record" in told.stdout
    assert api.document(PLAIN_APP)["ETag"] == old_tag
    imported.cli("pin", "add", PLAIN_APP, "api.example.com", safe, "--role", "backup", "--reason", "a key in the safe")
    added = verified(imported, PLAIN_APP)
    assert added["version"] > before["version"]
    assert added["content_sha256"] != before["content_sha256"]
    roles = published_pins(added["hosts"][0]["baseline"])
    assert roles[0] == ("primary", ec) and sorted(roles[1:]) == sorted([("backup", rsa), ("backup", safe)])
    assert api.document(PLAIN_APP)["ETag"] != old_tag

    target = f"/v1/apps/{PLAIN_APP}/hosts/api.example.com/pins/{pin_hex(rsa)}"
    tag = {"If-Match": f'"{added["version"] - api.fleet_version()}"'}
    answer = api.request("PATCH", target, {"state": "retired", "reason": "the RSA key is old"}, tag)
    assert answer.status == 200, str(answer)
    retired = verified(imported, PLAIN_APP)
    assert retired["version"] == added["version"] + 1 == answer.json["version"] + api.fleet_version()
    assert published_pins(retired["hosts"][0]["baseline"]) == [("primary", ec), ("backup", safe)]

    # The last backup stays without force and a reason.
    last = f"/v1/apps/{PLAIN_APP}/hosts/api.example.com/pins/{pin_hex(safe)}"
    refused = api.request("PATCH", last, {"state": "retired"})
    assert (refused.status, refused.json["type"]) in [(409, "/problems/last_backup_pin"), (422, "/problems/too_few_pins")]
    assert verified(imported, PLAIN_APP) == retired


def test_the_history_shows_who_when_and_why(imported):
    started = time.time()
    imported.cli("app", "update", ARRAY_APP, "--name", "History", "--reason", "so that it reads well")
    event = imported.api.history(f"/v1/apps/{ARRAY_APP}/history")[-1]
    me = imported.api.get("/v1/whoami").json["actor"]
    assert event["actor"] == me and me["name"] == "first admin"
    assert event["reason"] == "so that it reads well"
    recorded = time.mktime(time.strptime(event["time"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
    assert abs(recorded - started) < 60
    told = imported.cli("history", ARRAY_APP).stdout
    assert "first admin" in told.splitlines()[1] and "so that it reads well" in told.splitlines()[1]


def test_a_client_that_has_the_document_gets_304_for_get_and_head(imported):
    status, headers, body = fetch(imported, ROLLOUT_APP)
    tag = headers["etag"]
    assert re.fullmatch(r'"[\x21\x23-\x7e]+"', tag), "the tag must be strong"
    assert headers["cache-control"] == "public, max-age=60, stale-if-error=3600"
    for method in ("GET", "HEAD"):
        for condition in (tag, f"W/{tag}", f'"a", {tag}', f'"a,b" , W/"c",W/{tag}', "*", f'"x",{tag},"y"'):
            head = ["-I"] if method == "HEAD" else []
            status, headers, body = fetch(imported, ROLLOUT_APP, *head, "-H", f"If-None-Match: {condition}")
            assert (status, body) == (304, b""), f"{method} with If-None-Match: {condition}"
            assert headers["etag"] == tag
            assert headers["cache-control"] == "public, max-age=60, stale-if-error=3600"
            assert headers["vary"].lower() == "accept-encoding"
            assert "content-type" not in headers
        for condition in ('"other"', tag.strip('"'), f'W/"other", "{tag[1:-2]}"', '""'):
            head = ["-I"] if method == "HEAD" else []
            status, headers, body = fetch(imported, ROLLOUT_APP, *head, "-H", f"If-None-Match: {condition}")
            assert status == 200, f"{method} with If-None-Match: {condition}"
            assert headers["etag"] == tag


def test_a_condition_in_two_header_fields_is_one_list(imported):
    tag = fetch(imported, ROLLOUT_APP)[1]["etag"]
    status, _, _ = fetch(imported, ROLLOUT_APP, "-H", 'If-None-Match: "a"', "-H", f"If-None-Match: {tag}")
    assert status == 304


def test_head_announces_what_get_would_send(imported):
    for options in ([], ["-H", "Accept-Encoding: gzip"], ["-H", "Accept-Encoding: br"]):
        _, get, body = fetch(imported, ROLLOUT_APP, *options)
        status, head, nothing = fetch(imported, ROLLOUT_APP, "-I", *options)
        assert (status, nothing) == (200, b"")
        varying = {"date", "request-id"}
        assert {n: v for n, v in head.items() if n not in varying} == {n: v for n, v in get.items() if n not in varying}
        assert int(get["content-length"]) == len(body)


def test_compressed_documents_are_the_same_document_with_tags_of_their_own(imported):
    _, plain_headers, plain = fetch(imported, ROLLOUT_APP)
    assert "content-encoding" not in plain_headers
    tags = {plain_headers["etag"]}
    for coding, decode in (("gzip", gzip.decompress), ("br", brotli.decompress)):
        _, headers, body = fetch(imported, ROLLOUT_APP, "-H", f"Accept-Encoding: {coding}")
        assert headers["content-encoding"] == coding
        assert headers["vary"].lower() == "accept-encoding"
        assert decode(body) == plain
        assert len(body) < len(plain)
        tags.add(headers["etag"])
        status, again, _ = fetch(
            imported, ROLLOUT_APP, "-H", f"Accept-Encoding: {coding}", "-H", f"If-None-Match: {headers['etag']}"
        )
        assert (status, again["etag"]) == (304, headers["etag"])
    assert len(tags) == 3


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, br", "br"),
        ("br;q=0.5, gzip;q=0.8", "gzip"),
        ("gzip;q=0, br;q=0", None),
        ("identity", None),
        ("identity;q=0.9, gzip;q=0.1", None),
        ("deflate", None),
        ("deflate, GZIP", "gzip"),
        ("*", "br"),
        ("*;q=0, gzip", "gzip"),
        ("", None),
    ],
)
def test_the_coding_is_the_one_the_client_prefers(imported, accepted, coding):
    field = f"Accept-Encoding: {accepted}" if accepted else "Accept-Encoding;"
    status, headers, _ = fetch(imported, ROLLOUT_APP, "-H", field)
    assert status == 200
    assert headers.get("content-encoding") == coding


def test_a_client_that_accepts_no_coding_at_all_is_refused(imported):
    answer = imported.api.document(ROLLOUT_APP, **{"Accept-Encoding": "*;q=0"})
    expect_problem(answer, 406, "not_acceptable")


def test_a_kill_switch_needs_a_reason_and_a_time_within_a_week(imported):
    api, target = imported.api, f"/v1/apps/{PLAIN_APP}/kill-switch"
    mark = api.mark()
    for body, problem in [
        ({"expires_at": from_now(hours=4)}, "reason_required"),
        ({"expires_at": from_now(hours=4), "reason": "  "}, "invalid_value"),
        ({"reason": "an incident"}, "invalid_value"),
        ({"expires_at": "soon", "reason": "an incident"}, "invalid_value"),
        ({"expires_at": from_now(seconds=-5), "reason": "an incident"}, "invalid_expiry"),
        ({"expires_at": from_now(days=7, minutes=1), "reason": "an incident"}, "invalid_expiry"),
    ]:
        answer = api.request("PUT", target, body)
        assert (answer.status, answer.json["type"]) == (422, f"/problems/{problem}"), body
    imported.cli("kill", "engage", PLAIN_APP, "--for", "1h", status=3)
    imported.cli("kill", "engage", PLAIN_APP, "--for", "8d", "--reason", "an incident", status=3)
    assert api.since(mark) == []
    assert verified(imported, PLAIN_APP)["kill_switches"] == []


def test_a_kill_switch_reaches_the_document_and_leaves_it_when_released(imported):
    api = imported.api
    before = verified(imported, PLAIN_APP)
    tag = api.document(PLAIN_APP)["ETag"]
    for scope, target, host in [
        ("app", f"/v1/apps/{PLAIN_APP}/kill-switch", None),
        ("host", f"/v1/apps/{PLAIN_APP}/hosts/api.example.com/kill-switch", "api.example.com"),
        ("everything", "/v1/kill-switch", None),
    ]:
        expiry = from_now(hours=4)
        api.must("PUT", target, {"expires_at": expiry, "reason": "incident 4711"})
        (engaged,) = verified(imported, PLAIN_APP)["kill_switches"]
        assert engaged["scope"] == scope
        assert engaged.get("host") == host
        assert time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(engaged["expires_at"])) == expiry
        assert api.document(PLAIN_APP)["ETag"] != tag
        (listed,) = api.get("/v1/kill-switches").json["kill_switches"]
        assert (listed["scope"], listed.get("host"), listed["in_force"]) == (scope, host, True)
        assert scope in imported.cli("kill", "list").stdout
        arguments = {"app": [PLAIN_APP], "host": [PLAIN_APP, "api.example.com"], "everything": ["--everything"]}[scope]
        imported.cli("kill", "release", *arguments, "--reason", "the incident is over")
        assert verified(imported, PLAIN_APP)["kill_switches"] == []
        assert api.request("DELETE", target).json["type"] == "/problems/kill_switch_not_engaged"
    after = verified(imported, PLAIN_APP)
    assert after["version"] == before["version"] + 6
    assert after["hosts"] == before["hosts"], "everything else is as before"
    assert api.get("/v1/kill-switches").json == {"kill_switches": []}


def test_a_kill_switch_for_everything_is_in_every_document(imported, configurations):
    before = {app: verified(imported, app)["version"] for app in configurations}
    imported.cli("kill", "engage", "--everything", "--for", "30m", "--reason", "a drill")
    for app in configurations:
        payload = verified(imported, app)
        assert [engaged["scope"] for engaged in payload["kill_switches"]] == ["everything"]
        assert payload["version"] == before[app] + 1
    imported.cli("kill", "release", "--everything", "--reason", "the drill is over")
    for app in configurations:
        assert verified(imported, app)["kill_switches"] == []


def test_a_kill_switch_that_is_over_is_released_by_the_system(timed):
    api, app = timed.api, "com.example.drilled"
    api.make_app(app, "api.example.com")
    api.must("PUT", f"/v1/apps/{app}/kill-switch", {"expires_at": timed.clock.from_now(hours=1), "reason": "a short drill"})
    assert verified(timed, app)["kill_switches"] != []
    timed.forward(hours=1)
    eventually(lambda: verified(timed, app)["kill_switches"] == [], "a document without the kill switch")
    event = api.history(f"/v1/apps/{app}/history")[-1]
    assert (event["type"], event["actor"]["kind"]) == ("KillSwitchReleased", "system")


def signed_by(server, app: str) -> str:
    return jwt.get_unverified_header(fetch(server, app)[2].decode())["kid"]


def test_a_signing_key_is_replaced_and_old_documents_still_verify(imported):
    api = imported.api
    old = fetch(imported, BARE_APP)[2].decode()
    kid = api.must("POST", "/v1/keys", {"reason": "the yearly change"}).json["events"][0]["data"]["kid"]
    too_young = api.post(f"/v1/keys/{kid}/activate", {})
    expect_problem(too_young, 409, "key_overlap")
    api.must("POST", f"/v1/keys/{kid}/activate", {"force": True, "reason": "a test cannot wait"})
    eventually(lambda: signed_by(imported, BARE_APP) == kid, "a document that is signed by the new key")
    keys = api.request("GET", "/client/v1/jwks.json", token=None).json
    first, second = verify(old, keys, BARE_APP), verified(imported, BARE_APP)
    assert first["content_sha256"] == second["content_sha256"]


def test_a_reader_that_goes_away_ends_a_command_quietly(imported):
    server = imported
    environment = server.environment | {"PINLEDGER_DATA": str(server.data), "NO_COLOR": "1"}
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([BINARY, "history"], env=environment, stdout=write, stderr=subprocess.PIPE, timeout=300)
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_a_restart_changes_nothing(imported, configurations):
    """Same state, same history, and every document byte for byte with its tags."""
    # A change of keys is carried out in the background; a document signed again later would look like a difference.
    [active] = [key["kid"] for key in imported.api.must("GET", "/v1/keys").json["keys"] if key["state"] == "active"]
    eventually(lambda: {signed_by(imported, name) for name in configurations} == {active}, "documents that are signed by the active key")
    app = PLAIN_APP
    imported.api.must("PUT", f"/v1/apps/{app}/kill-switch", {"expires_at": from_now(hours=1), "reason": "a drill"})

    def everything() -> dict:
        paths = [f"/v1/apps/{name}" for name in configurations]
        paths += ["/v1/apps", "/v1/fleet", "/v1/keys", "/v1/kill-switches", "/v1/tokens", "/client/v1/jwks.json"]
        answers = {path: imported.api.get(path) for path in paths}
        for name in configurations:
            for coding in ("identity", "gzip", "br"):
                answers[f"{name} {coding}"] = imported.api.document(name, **{"Accept-Encoding": coding})
        # Without what the server records a moment later of who reads it, and the minute in which a token was last used.
        used = re.compile(rb'"last_used_at":"[^"]*",')
        seen = {what: (answer.status, answer["ETag"], used.sub(b"", answer.body)) for what, answer in answers.items()}
        history = [event for event in imported.api.history() if event["stream"] != "audit"]
        return copy.deepcopy(seen) | {"history": history}

    before = everything()
    assert all(value[0] == 200 for what, value in before.items() if what != "history")
    imported.restart()
    after = everything()
    for what in before:
        assert after[what] == before[what], what

    # And it goes on from there.
    imported.cli("kill", "release", app, "--reason", "the drill is over")
    new = pin_of("after the restart")
    imported.cli("pin", "add", app, "api.example.com", new, "--reason", "life goes on")
    assert ("backup", new) in published_pins(verified(imported, app)["hosts"][0]["baseline"])
