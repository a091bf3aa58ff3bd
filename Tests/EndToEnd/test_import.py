"""An import that finds anything wrong names all of it, each with its place in the file, and records nothing."""

import itertools
import json
from pathlib import Path

import pytest
from pinledger import pin_of

# What one test lets in by mistake is not in the way of the next.
NUMBERS = itertools.count()
DATA = Path(__file__).parent / "data"
PINS = {"primary": pin_of("primary"), "backup": pin_of("backup")}


def with_host(name: str = "api.example.com", pins=PINS, **members) -> dict:
    return {"hosts": {name: {"pins": pins, **members}}}


def refused(api, configuration) -> dict[str, str]:
    """Has a file refused, by the API alone, and returns what is said about each place."""
    body = configuration if isinstance(configuration, bytes) else json.dumps(configuration).encode()
    app = f"com.example.refused.{next(NUMBERS)}"
    answer = api.post(f"/v1/import/remote-config?app={app}", body)
    assert answer.status in (400, 422), str(answer)
    assert answer["Content-Type"] == "application/problem+json"
    problem = answer.json
    assert problem["type"] == ("/problems/import_refused" if answer.status == 422 else "/problems/malformed_json")
    assert problem["errors"], "it does not say what is wrong"
    assert api.get(f"/v1/apps/{app}").status == 404
    return {error["pointer"]: error["detail"] for error in problem["errors"]}


pytestmark = pytest.mark.usefixtures("unchanged")


@pytest.mark.parametrize(
    ("file", "pointers"),
    [
        (
            "advanced-rollout-1.json",
            {
                "/apigee.kreditplus.com/pins/primary",
                "/apigee.kreditplus.com/pins/backup",
                "/apigee.kreditplus.com/pins/emergency",
                "/apigee.kbfinansia.com/pins/primary",
                "/apigee.kbfinansia.com/pins/backup",
            },
        ),
        ("advanced-rollout-2.json", {"/apigee.kreditplus.com/pins/primary", "/apigee.kreditplus.com/pins/backup"}),
        (
            "advanced-rollout-3.json",
            {
                "/apigee.kreditplus.com/pins/primary",
                "/apigee.kreditplus.com/pins/backup",
                "/apigee.kreditplus.com/pins/emergency",
            },
        ),
        ("advanced-rollout-4.json", {"/apigee.kreditplus.com/pins/primary", "/apigee.kreditplus.com/pins/backup"}),
    ],
)
def test_the_examples_of_the_old_documentation_are_refused_pin_by_pin(server, api, file, pointers):
    """Their pins are no digests of 32 bytes: the most frequent mistake when people copy an example."""
    expected = {f"/ssl_pinning_config/hosts{pointer}" for pointer in pointers}
    found = refused(api, (DATA / file).read_bytes())
    assert set(found) == expected
    assert all("44 characters of base64" in detail and "openssl" in detail for detail in found.values())
    for options in ([], ["--dry-run"]):
        told = server.cli("import", "remote-config", str(DATA / file), "--app", "com.example.refused", *options, status=3)
        assert all(pointer in told.stderr for pointer in expected)
        assert "Recorded" not in told.stdout


@pytest.mark.parametrize(
    "name",
    [
        "API.example.com",
        "https://api.example.com",
        "api.example.com/path",
        "api.example.com:443",
        "192.0.2.1",
        "::1",
        "[2001:db8::1]",
        "api.example.com.",
        "*.*.example.com",
        "api.*.example.com",
        "*",
        "*.",
        "api..example.com",
        ".example.com",
        "m\u00fcnchen.example.com",
        "a_b.example.com",
        "-a.example.com",
        "a-.example.com",
        "xn--a.example.com",
        " api.example.com",
        "",
        "a" * 64 + ".example.com",
        ".".join(["a" * 60] * 5),
        "example.123",
        "api.example.com\u0000",
    ],
)
def test_a_malformed_host_is_named_in_the_refusal(api, name):
    pointer = "/hosts/" + name.replace("~", "~0").replace("/", "~1")
    assert set(refused(api, with_host(name))) == {pointer}
    assert set(refused(api, {"target_hosts": [name or "."]})) == {"/target_hosts/0"}


@pytest.mark.parametrize("name", ["com", "co.uk", "github.io", "*.com", "*.co.uk", "xn--p1ai", "localhost"])
def test_a_public_suffix_is_named_in_the_refusal(api, name):
    found = refused(api, with_host(name))
    assert set(found) == {f"/hosts/{name}"}
    assert "public suffix" in found[f"/hosts/{name}"]


@pytest.mark.parametrize(
    ("configuration", "pointers"),
    [
        # Pins
        (with_host(pins={"primary": PINS["primary"], "backup": PINS["primary"]}), {"/pins/primary"}),
        (with_host(pins={"primary": PINS["primary"]}), {"/pins"}),
        (with_host(pins={"backup": PINS["backup"]}), {"/pins"}),
        (with_host(pins={"primary": PINS["primary"], "backup": None}), {"/pins"}),
        (with_host(pins={}), {"/pins"}),
        (with_host(pins=None), {"/pins"}),
        (with_host(pins=[]), {"/pins"}),
        (with_host(pins={**PINS, "spare": pin_of("spare")}), {"/pins/spare"}),
        (with_host(pins={**PINS, "primary": 7}), {"/pins/primary"}),
        (with_host(pins={**PINS, "primary": ""}), {"/pins/primary"}),
        (with_host(pins={**PINS, "primary": "sha256/"}), {"/pins/primary"}),
        (with_host(pins={**PINS, "primary": "sha1/" + PINS["primary"][7:]}), {"/pins/primary"}),
        (with_host(pins={**PINS, "primary": PINS["primary"].rstrip("=")}), {"/pins/primary"}),
        (with_host(pins={**PINS, "primary": PINS["primary"] + "\n"}), {"/pins/primary"}),
        (with_host(pins={**PINS, "primary": "sha256/" + "A" * 43 + "="}), {"/pins/primary"}),
        (with_host(pins={**PINS, "primary": "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}), {"/pins/primary"}),
        # Percentages of a host
        (with_host(rollout_percentage=101), {"/rollout_percentage"}),
        (with_host(rollout_percentage=-1), {"/rollout_percentage"}),
        (with_host(rollout_percentage=0.001), {"/rollout_percentage"}),
        (with_host(rolloutPercentage="50"), {"/rolloutPercentage"}),
        (with_host(rollout_percentage=50, rolloutPercentage=60), {"/rolloutPercentage"}),
        (with_host(enabled="yes"), {"/enabled"}),
    ],
)
def test_every_defect_of_an_imported_host_is_named(api, configuration, pointers):
    assert set(refused(api, configuration)) == {f"/hosts/api.example.com{pointer}" for pointer in pointers}


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"rollout_percentage": value}, "/rollout_percentage")
        for value in (-1, 100.01, 101, 12.345, "50", True, [], {}, 1e300)
    ]
    + [
        ({"rollout_percentage": 20, "rolloutPercentage": 30}, "/rolloutPercentage"),
        ({"enabled": 1}, "/enabled"),
        ({"enabled": "true"}, "/enabled"),
        ({"rollout_strategy": []}, "/rollout_strategy"),
        ({"rollout_strategy": {"method": "magic"}}, "/rollout_strategy/method"),
        ({"rollout_strategy": {"method": "geography"}}, "/rollout_strategy/method"),
        ({"rollout_strategy": {"seed": "imei"}}, "/rollout_strategy/seed"),
        ({"rollout_strategy": {"sticky": "yes"}}, "/rollout_strategy/sticky"),
        ({"fallback": "builtin"}, "/fallback"),
        ({"fallback": {"use_builtin_pins": 1}}, "/fallback/use_builtin_pins"),
        ({"fallback": {"builtin_pin_hosts": ["a.example.com", "B.example.com"]}}, "/fallback/builtin_pin_hosts/1"),
        ({"monitoring": 5}, "/monitoring"),
        ({"monitoring": {"failure_threshold": 0}}, "/monitoring/failure_threshold"),
        ({"monitoring": {"failure_threshold": "5.0"}}, "/monitoring/failure_threshold"),
        ({"monitoring": {"auto_disable": "no"}}, "/monitoring/auto_disable"),
        ({"target_hosts": 7}, "/target_hosts"),
        ({"target_hosts": ["login.example.com", 7]}, "/target_hosts/1"),
        ({"target_hosts": ["login.example.com", "login.example.com"]}, "/target_hosts/1"),
        ({"target_hosts": "api.example.com"}, "/target_hosts"),
    ]
    + [
        ({"min_app_version": value}, "/min_app_version")
        for value in ("", "1.x", "1.2.3.4.5", "v1.0", 15, 1.5, True, "1..2", " 1.0", "1.0-", "99999999999999999999")
    ],
)
def test_every_defect_of_the_configuration_is_named(api, members, pointer):
    assert set(refused(api, with_host() | members)) == {pointer}
    envelope = {"ssl_pinning_config": with_host() | members}
    assert set(refused(api, envelope)) == {f"/ssl_pinning_config{pointer}"}


def test_two_spellings_of_the_minimum_version_that_contradict_each_other_are_named(api):
    found = refused(api, with_host() | {"min_app_version": "1.0", "minAppVersion": "2.0"})
    assert set(found) <= {"/min_app_version", "/minAppVersion"}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b"[]", ""),
        (b'"text"', ""),
        (b"7", ""),
        (b"null", ""),
        (b'{"ssl_pinning_config": []}', "/ssl_pinning_config"),
        (b'{"ssl_pinning_config": null}', "/ssl_pinning_config"),
        (b'{"ssl_pinning_config": "{\\"enabled\\":"}', "/ssl_pinning_config"),
        (b'{"hosts": []}', "/hosts"),
        (b'{"hosts": {"api.example.com": 7}}', "/hosts/api.example.com"),
    ],
)
def test_a_file_of_another_shape_is_refused(api, body, pointer):
    assert set(refused(api, body)) == {pointer}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"enabled": true, "enabled": false}', "/enabled"),
        (b'{"hosts": {"api.example.com": {}, "api.example.com": {}}}', "/hosts/api.example.com"),
        (b'{"hosts": {"api.example.com": {"pins": {"primary": "a", "primary": "b"}}}}', "/hosts/api.example.com/pins/primary"),
        (b'{"enabled": true, "en\\u0061bled": true}', "/enabled"),
    ],
)  # fmt: skip
def test_a_member_that_stands_twice_is_refused_at_its_place(api, body, pointer):
    assert set(refused(api, body)) == {pointer}


def test_all_defects_of_an_import_are_listed_at_once(server, api, tmp_path):
    configuration = {
        "ssl_pinning_config": {
            "enabled": "yes",
            "rollout_percentage": 300,
            "min_app_version": "one",
            "hosts": {
                "co.uk": {"pins": PINS},
                "Api.example.com": {"pins": PINS},
                "api.example.com": {"pins": {"primary": "sha256/AAAA"}, "rollout_percentage": -5},
                "login.example.com": {"pins": {"primary": PINS["primary"]}},
            },
            "rollout_strategy": {"method": "coin", "seed": "dice"},
            "fallback": {"builtin_pin_hosts": ["*"]},
            "monitoring": {"failure_threshold": 500},
        }
    }
    found = refused(api, configuration)
    assert set(found) == {
        f"/ssl_pinning_config{pointer}"
        for pointer in (
            "/enabled",
            "/rollout_percentage",
            "/min_app_version",
            "/hosts/co.uk",
            "/hosts/Api.example.com",
            "/hosts/api.example.com/pins/primary",
            "/hosts/api.example.com/rollout_percentage",
            "/hosts/login.example.com/pins",
            "/rollout_strategy/method",
            "/rollout_strategy/seed",
            "/fallback/builtin_pin_hosts/0",
            "/monitoring/failure_threshold",
        )
    }
    file = tmp_path / "config.json"
    file.write_text(json.dumps(configuration))
    told = server.cli("import", "remote-config", str(file), "--app", "com.example.refused", status=3)
    assert all(pointer in told.stderr for pointer in found)
