"""An import that finds anything wrong names all of it, each with its place in the file, and records nothing."""

import json
from pathlib import Path

import pytest
from names import unique
from pinledger import pin_of

# What one test lets in by mistake is not in the way of the next.
DATA = Path(__file__).parent / "data"
PINS = {"primary": pin_of("primary"), "backup": pin_of("backup")}


def with_host(name: str) -> dict:
    return {"hosts": {name: {"pins": PINS}}}


def refused(api, configuration) -> dict[str, str]:
    """Has a file refused, by the API alone, and returns what is said about each place."""
    body = configuration if isinstance(configuration, bytes) else json.dumps(configuration).encode()
    app = unique("com.example.refused.")
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
    if file != "advanced-rollout-1.json":
        return
    for options in ([], ["--dry-run"]):
        told = server.cli("import", "remote-config", str(DATA / file), "--app", "com.example.refused", *options, status=3)
        assert all(pointer in told.stderr for pointer in expected)
        assert "Recorded" not in told.stdout


def test_a_file_without_a_host_makes_no_app(server, api, tmp_path):
    file = tmp_path / "flags.json"
    file.write_text('{"enabled": true, "name": "my feature flags"}')
    app = unique("com.example.flags.")
    assert "names no host" in server.cli("import", "remote-config", str(file), "--app", app, status=3).stderr
    assert api.get(f"/v1/apps/{app}").status == 404


# All that the reader refuses is in PinledgerServerTests/ImportRequestTests: one of each kind comes over a connection here.


@pytest.mark.parametrize("name", ["https://api.example.com", "api.example.com\u0000", "m\u00fcnchen.example.com"])
def test_a_malformed_host_is_named_in_the_refusal(api, name):
    pointer = "/hosts/" + name.replace("~", "~0").replace("/", "~1")
    assert set(refused(api, with_host(name))) == {pointer}
    assert set(refused(api, {"target_hosts": [name]})) == {"/target_hosts/0"}


@pytest.mark.parametrize("name", ["co.uk", "github.io", "*.com", "xn--p1ai", "localhost"])
def test_a_public_suffix_is_named_in_the_refusal(api, name):
    found = refused(api, with_host(name))
    assert set(found) == {f"/hosts/{name}"}
    assert ("each machine's own name" if name == "localhost" else "public suffix") in found[f"/hosts/{name}"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b"[]", ""),
        (b'{"ssl_pinning_config": "{\\"enabled\\":"}', "/ssl_pinning_config"),
        (b'{"hosts": {"api.example.com": {"pins": {"primary": "a", "primary": "b"}}}}', "/hosts/api.example.com/pins/primary"),
    ],
    ids=["an array", "a text that is no JSON", "a member twice"],
)
def test_a_file_of_another_shape_is_refused(api, body, pointer):
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
