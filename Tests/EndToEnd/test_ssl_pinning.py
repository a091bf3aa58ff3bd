"""The clients of the Go server `ssl-pinning`: RSA over canonical JSON, which another implementation makes once more."""

import base64
import json
from datetime import datetime, timedelta, timezone

import pytest
import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA512
from deployed import HOST, KillSwitch, add_host, ask, check_conditional, declare, make_app, pkcs8, public_key
from names import unique
from pinledger import pin_of
from problems import expect_problem

KEY = rsa.generate_private_key(65537, 2048)
WILD = "*.cdn.example.com"


def path(app: str, file: str = "pins.json") -> str:
    return f"/compat/ssl-pinning/{app}/api/v1/{file}"


def verify(signature: str, payload: bytes) -> None:
    KEY.public_key().verify(base64.b64decode(signature, validate=True), payload, padding.PKCS1v15(), SHA512())


def fetch(api, app: str, file: str = "pins.json") -> list[dict]:
    """The keys, after a client's checks: the signature is over the payload in another library's RFC 8785 form."""
    answer = ask(api, path(app, file))
    assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
    told = answer.json
    assert list(told) == ["payload", "signature"]
    payload = rfc8785.dumps(told["payload"])
    verify(told["signature"], payload)
    assert answer.body.startswith(b'{"payload":' + payload + b","), "it is served in the bytes that were signed"
    assert list(told["payload"]) == ["keys"]
    for key in told["payload"]["keys"]:
        assert set(key) == {"date", "domainName", "expire", "fqdn", "key"}
        assert type(key["expire"]) is int and key["expire"] > 0
        date = datetime.strptime(key["date"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        assert date <= datetime.now(timezone.utc) + timedelta(seconds=1)
        assert len(base64.b64decode(key["key"], validate=True)) == 32
    return told["payload"]["keys"]


@pytest.fixture(scope="module")
def app(server, identities) -> str:
    app = make_app(server.api, unique("com.example.sslpinning."), *identities[:2])
    add_host(server.api, app, WILD, {"pin": pin_of("cdn 1")}, {"pin": pin_of("cdn 2")})
    declare(server.api, app, "ssl_pinning", key=pkcs8(KEY))
    return app


def test_the_file_is_verified_with_another_canonical_json(api, app, identities):
    keys = fetch(api, app)
    names = {(key["domainName"], key["fqdn"], key["key"]) for key in keys}
    assert names == {(HOST, HOST, one.base64) for one in identities[:2]} | {
        (WILD, "cdn.example.com", pin_of(f"cdn {number}").removeprefix("sha256/")) for number in (1, 2)
    }
    assert len(keys) == 4
    left = {key["key"]: key["expire"] for key in keys}
    for identity in identities[:2]:
        date = datetime.strptime(keys[0]["date"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        assert left[identity.base64] == identity.expires - int(date.timestamp())
    check_conditional(api, path(app), ask(api, path(app)))


def test_a_changed_file_does_not_verify(api, app):
    told = ask(api, path(app)).json
    told["payload"]["keys"].pop()
    with pytest.raises(InvalidSignature):
        verify(told["signature"], rfc8785.dumps(told["payload"]))


@pytest.mark.parametrize("file", ["pins.json", "a.json", "ssl-pinning.prod.json", "x_1.json"])
def test_the_file_has_whatever_name_the_app_has_built_in(api, app, file):
    assert {json.dumps(key["key"]) for key in fetch(api, app, file)} == {json.dumps(key["key"]) for key in fetch(api, app)}


@pytest.mark.parametrize("file", ["pins", "pins.xml", "pins.json/", "a/pins.json", ""])
def test_other_file_names_are_not_found(api, app, file):
    assert ask(api, path(app, file)).status == 404


def test_a_kill_switch_takes_no_keys_away(api, app):
    """A host that is not in the file has no key that these clients accept."""
    before = {(key["fqdn"], key["key"]) for key in fetch(api, app)}
    with KillSwitch(api, app):
        assert {(key["fqdn"], key["key"]) for key in fetch(api, app)} == before


def test_an_app_without_a_key_has_no_file(api, identities):
    app = unique("com.example.sslpinning.")
    expect_problem(ask(api, path(app)), 404, "app_unknown")
    make_app(api, app, *identities[:2])
    expect_problem(ask(api, path(app)), 404, "client_unknown")
    declare(api, app, "ssl_pinning")
    expect_problem(ask(api, path(app)), 409, "client_key_missing")
    made = api.must("POST", f"/v1/apps/{app}/clients/ssl_pinning/key", {}).json["key"]
    told = ask(api, path(app)).json
    public_key(made["public_key"]).verify(
        base64.b64decode(told["signature"]), rfc8785.dumps(told["payload"]), padding.PKCS1v15(), SHA512()
    )
