"""NetKit's clients: policies with the keys as NetKit takes them out of a certificate, checked by `cryptography`."""

import base64
import hashlib

import pytest
from deployed import HOST, Identity, KillSwitch, add_host, ask, check_conditional, declare, make_app
from names import unique
from pinledger import eventually, in_threads, pin_of
from problems import expect_problem

MODES = {"policies", "unpinnedHosts", "builtinHosts"}


def path(app: str, hosts: str | None = None) -> str:
    return f"/compat/netkit/{app}/policy.json" + ("" if hosts is None else f"?hosts={hosts}")


def fetch(api, app: str, hosts: str | None = None) -> dict:
    answer = ask(api, path(app, hosts))
    assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
    told = answer.json
    assert set(told) == {"app", "version", *MODES} and told["app"] == app
    for policy in told["policies"]:
        # NetKit ends the process where it has no item, and takes no host for every host.
        assert policy["pinnedHosts"] and policy["pinnedKeys"] and policy["mode"] in ("publicKey", "certificate")
        assert policy["validateCertificateChain"] is True
        assert ("pinnedItems" in policy) == ("fallbackItems" in policy)
        if "pinnedItems" in policy:
            assert policy["pinnedItems"]
    return told


def policy(told: dict, host: str) -> dict:
    (found,) = (one for one in told["policies"] if host in one["pinnedHosts"])
    return found


@pytest.fixture(scope="module")
def app(server, identities) -> str:
    api = server.api
    app = make_app(api, unique("com.example.netkit."), *identities[:2])
    pins = [{"pin": pin_of("deep 1")}, {"pin": pin_of("deep 2")}]
    add_host(api, app, "deep.example.com", *pins, include_subdomains=True)
    add_host(api, app, "*.cdn.example.com", *pins)
    add_host(api, app, "watched.example.com", *pins, mode="report_only")
    add_host(api, app, "off.example.com", *pins, mode="off")
    declare(api, app, "netkit")
    return app


def test_the_keys_are_those_of_the_certificates(api, app, identities):
    told = fetch(api, app)
    found = policy(told, HOST)
    assert found["failureAction"] == "reject" and found["pinnedHosts"] == [HOST]
    assert [key["spkiSHA256"] for key in found["pinnedKeys"]] == [identities[0].base64]
    assert [key["spkiSHA256"] for key in found["fallbackKeys"]] == [identities[1].base64]
    for key, identity in zip(found["pinnedKeys"] + found["fallbackKeys"], identities):
        assert base64.b64decode(key["rawKey"], validate=True) == identity.raw
        (certificate,) = key["certificates"]
        assert hashlib.sha256(base64.b64decode(certificate, validate=True)).digest() == identity.fingerprint
    # What `SecKeyCopyExternalRepresentation` gives for these keys, and not the SubjectPublicKeyInfo.
    assert [base64.b64decode(item) for item in found["pinnedItems"]] == [identities[0].raw]
    assert [base64.b64decode(item) for item in found["fallbackItems"]] == [identities[1].raw]
    check_conditional(api, path(app), ask(api, path(app)))


def test_host_names_are_exact_and_given_by_the_app(api, app):
    told = fetch(api, app)
    assert {name for one in told["policies"] for name in one["pinnedHosts"]} == {HOST, "deep.example.com", "watched.example.com"}
    names = ["b.cdn.example.com", "a.deep.example.com", "a.cdn.example.com", "A.CDN.example.com", "", "*"]
    told = fetch(api, app, ",".join([*names, "nobody.example.net", "a.b.cdn.example.com"]))
    assert sorted(one["pinnedHosts"] for one in told["policies"]) == [
        ["a.cdn.example.com", "b.cdn.example.com"], ["a.deep.example.com"],
    ]  # fmt: skip
    cdn = policy(told, "a.cdn.example.com")
    assert [key["spkiSHA256"] for key in cdn["pinnedKeys"]] == [pin_of("deep 1").removeprefix("sha256/")]
    # The key of a pin alone is unknown.
    assert "pinnedItems" not in cdn


def test_keys_are_given_once_they_were_shown_and_items_once_all_of_them_were(api, tmp_path):
    # What was shown of a key for any app is known of it.
    identities = [Identity(tmp_path, f"unseen-{number}", HOST) for number in range(2)]
    app = unique("com.example.netkit.")
    api.must("POST", "/v1/apps", {"app": app})
    add_host(api, app, HOST, *({"pin": one.pin} for one in identities[:2]))
    declare(api, app, "netkit")
    found = policy(fetch(api, app), HOST)
    assert found["pinnedKeys"] == [{"spkiSHA256": identities[0].base64}] and "pinnedItems" not in found
    api.must("POST", f"/v1/apps/{app}/key-facts", {"material": identities[0].certificate.read_text()})
    found = policy(fetch(api, app), HOST)
    assert base64.b64decode(found["pinnedKeys"][0]["rawKey"], validate=True) == identities[0].raw
    # Half a set refuses connections.
    assert found["fallbackKeys"] == [{"spkiSHA256": identities[1].base64}] and "pinnedItems" not in found
    api.must("POST", f"/v1/apps/{app}/key-facts", {"material": identities[1].certificate.read_text()})
    found = policy(fetch(api, app), HOST)
    assert [base64.b64decode(item) for item in found["pinnedItems"]] == [identities[0].raw]
    assert [base64.b64decode(item) for item in found["fallbackItems"]] == [identities[1].raw]


def test_a_database_that_does_not_answer_delays_requests_only_briefly(server, api):
    """Any client may ask, for any number of invented names."""
    app = unique("com.example.netkit.")
    api.must("POST", "/v1/apps", {"app": app})
    add_host(api, app, "*.cdn.example.com", *({"pin": pin_of(f"{app} {number}")} for number in range(2)))
    declare(api, app, "netkit")
    begin = len(server.database_log)
    with server.locked("pinledger.material", "ACCESS EXCLUSIVE"):
        answers = in_threads(60, lambda number: ask(api, path(app, f"a{number}.cdn.example.com")))
        # The server has given the wait up, before the database would have.
        eventually(lambda: "canceling statement due to user request" in server.database_log[begin:], "the end of the wait")
    assert "due to lock timeout" not in server.database_log[begin:]
    assert {answer.status for answer in answers} == {200}
    assert all(len(answer.json["policies"]) == 1 and "pinnedItems" not in answer.json["policies"][0] for answer in answers)
    assert {answer["Cache-Control"] for answer in answers} == {"no-store"}, "what lacks the keys is kept"


def test_a_host_that_is_not_enforced_rejects_nothing(api, app):
    told = fetch(api, app)
    assert policy(told, "watched.example.com")["failureAction"] == "allowWithWarning"
    assert told["unpinnedHosts"] == ["off.example.com"] and told["builtinHosts"] == []


def test_a_kill_switch_leaves_the_system_s_validation(api, app):
    before = fetch(api, app)
    with KillSwitch(api, app, HOST):
        told = fetch(api, app)
        assert set(told["unpinnedHosts"]) == {HOST, "off.example.com"}
        assert all(HOST not in one["pinnedHosts"] for one in told["policies"])
    with KillSwitch(api, app):
        told = fetch(api, app)
        assert told["policies"] == [] and HOST in told["unpinnedHosts"]
    after = fetch(api, app)
    assert after.pop("version") > before.pop("version") and after == before


def test_a_tag_changes_with_the_policy(api, app):
    before = ask(api, path(app))
    add_host(api, app, f"new{unique()}.example.com", {"pin": pin_of("new 1")}, {"pin": pin_of("new 2")})
    after = ask(api, path(app), **({"If-None-Match": before["ETag"]} if before["ETag"] else {}))
    assert after.status == 200 and after.body != before.body


def test_an_app_without_netkit_clients_has_no_such_file(api):
    app = unique("com.example.netkit.")
    expect_problem(ask(api, path(app)), 404, "app_unknown")
    api.make_app(app, HOST)
    expect_problem(ask(api, path(app)), 404, "client_unknown")
