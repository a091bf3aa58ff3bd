"""MueJam's clients: whole certificates' fingerprints, by which urllib3 tells a server from another."""

from datetime import datetime, timezone

import pytest
import urllib3
from deployed import HOST, Identity, add_host, ask, check_conditional, declare, make_app
from names import unique
from pinledger import pin_of
from problems import expect_problem
from tls_server import TLSServer



def path(app: str, host: str = HOST, name: str = "fingerprints") -> str:
    return f"/compat/muejam/{app}/{host}/v1/security/certificate/{name}"


def colons(digest: bytes) -> str:
    return digest.hex(":").upper()


@pytest.fixture(scope="module")
def app(server, identities) -> str:
    app = make_app(server.api, unique("com.example.muejam."), *identities[:2])
    add_host(server.api, app, "bare.example.com", {"pin": pin_of("bare 1")}, {"pin": pin_of("bare 2")})
    declare(server.api, app, "muejam")
    return app


def connects(tls: TLSServer, fingerprint: str) -> bool:
    """Whether urllib3 takes the server, by nothing but the fingerprint."""
    with urllib3.HTTPSConnectionPool(
        "127.0.0.1", tls.port, assert_fingerprint=fingerprint, server_hostname=HOST, cert_reqs="CERT_NONE", retries=False, timeout=300
    ) as pool:
        try:
            return pool.request("GET", "/").status == 200
        except urllib3.exceptions.SSLError as error:
            assert "Fingerprints did not match" in str(error)
            return False


def test_urllib3_takes_the_servers_that_were_named_and_no_other(api, app, identities):
    answer = ask(api, path(app))
    assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
    told = answer.json
    assert told["domain"] == HOST
    assert told["sha256"] == [colons(one.fingerprint) for one in identities[:2]]
    assert told["sha1"] == [colons(one.fingerprint_sha1) for one in identities[:2]]
    end = datetime.strptime(told["valid_until"], "%b %d %H:%M:%S %Y GMT").replace(tzinfo=timezone.utc)
    assert end == identities[0].x509.not_valid_after_utc
    for name in (told["subject"], told["issuer"]):
        assert name == {"CN": HOST, "commonName": HOST}
    check_conditional(api, path(app), answer)
    for number, identity in enumerate(identities[:3]):
        tls = TLSServer(identity)
        try:
            # The third is a stranger.
            assert [connects(tls, one) for one in told["sha256"]] == [number == 0, number == 1]
            assert [connects(tls, one) for one in told["sha1"]] == [number == 0, number == 1]
        finally:
            tls.close()


def test_a_fingerprint_is_compared_however_it_is_spelled(api, app, identities):
    target = path(app, name="verify")
    cases = [
        (colons(identities[0].fingerprint), "sha256", True),
        (identities[1].fingerprint.hex(), "sha256", True),
        (colons(identities[0].fingerprint).lower(), "sha256", True),
        (colons(identities[1].fingerprint_sha1), "sha1", True),
        (colons(identities[0].fingerprint_sha1), "sha256", False),
        (colons(identities[2].fingerprint), "sha256", False),
        (colons(identities[0].fingerprint)[:-1], "sha256", False),
        ("nonsense", "sha1", False),
    ]
    for fingerprint, algorithm, valid in cases:
        bodies = [{"fingerprint": fingerprint, "algorithm": algorithm}]
        # SHA-256 need not be said, and what else is said counts for nothing.
        bodies += [{"fingerprint": fingerprint, "x": 1}] if algorithm == "sha256" else []
        for body in bodies:
            answer = ask(api, target, "POST", body)
            assert answer.status == 200, str(answer)
            text = "Fingerprint matches current certificate" if valid else "Fingerprint does not match current certificate"
            assert answer.json == {"valid": valid, "algorithm": algorithm, "message": text}


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        # ClientFormatsTests/MueJamFingerprintsTests has the others.
        ({}, "MISSING_FIELD", "fingerprint"),
        ({"fingerprint": "AA", "algorithm": "md5"}, "INVALID_FIELD_VALUE", "algorithm"),
        (b"{", "INVALID_FIELD_VALUE", "body"),
    ],
)
def test_a_fingerprint_that_cannot_be_compared_is_named(api, app, body, code, field):
    answer = ask(api, path(app, name="verify"), "POST", body)
    assert answer.status == 400 and list(answer.json) == ["error"], str(answer)
    error = answer.json["error"]
    assert (error["code"], error["details"]["field"]) == (code, field) and error["message"]
    if code == "INVALID_FIELD_VALUE" and field == "algorithm":
        assert error["details"]["allowed"] == ["sha256", "sha1"]


@pytest.mark.parametrize("host", ["bare.example.com", "nobody.example.net"])
def test_a_host_without_known_certificates_gets_no_fingerprints(api, app, host):
    answer = ask(api, path(app, host))
    assert (answer.status, answer.json["error"]["code"]) == (500, "CERTIFICATE_ERROR"), str(answer)
    answer = ask(api, path(app, host, "verify"), "POST", {"fingerprint": "AA"})
    assert (answer.status, answer.json["error"]["code"]) == (500, "VERIFICATION_ERROR"), str(answer)


def test_an_expired_certificate_is_left_out(api, tmp_path, identities):
    app = unique("com.example.muejam.")
    # It was made an hour ago, for no day at all.
    make_app(api, app, identities[0], Identity(tmp_path, "over", days=0))
    declare(api, app, "muejam")
    assert ask(api, path(app)).json["sha256"] == [colons(identities[0].fingerprint)]


def test_an_app_without_muejam_clients_has_no_such_server(api):
    app = unique("com.example.muejam.")
    for kind in ("app_unknown", "client_unknown"):
        expect_problem(ask(api, path(app)), 404, kind)
        expect_problem(ask(api, path(app, name="verify"), "POST", {"fingerprint": "AA"}), 404, kind)
        if kind == "app_unknown":
            api.make_app(app, HOST)
