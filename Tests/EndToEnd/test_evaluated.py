"""Documents that are decided for the device that asks: signed, shared, the same on every path, and no trace of it left."""

import hashlib
import json

import jwt
import pytest
from documents import payload_of, verify
from nodes import start_node
from pinledger import Server, from_now, pin_of
from problems import expect_problem
from wire import Wire, get

APP = "com.example.evaluated"
HOSTS = ["api.example.com", "cdn.example.com", "plain.example.com"]


@pytest.fixture(scope="module")
def evaluating_server():
    server = Server(more=["--country-header", "CF-IPCountry"])
    # So that whatever is logged of requests would be.
    server.environment["PINLEDGER_LOG_LEVEL"] = "trace"
    try:
        api = server.start().api
        api.make_app(APP, *HOSTS)
        for host in HOSTS[:2]:
            api.must("POST", f"/v1/apps/{APP}/hosts/{host}/candidate", {
                "mode": "enforce", "pins": [{"pin": pin_of(f"{host} next"), "role": "backup"}],
                "rollout": {"basis_points": 5000, "seed": ["device_id", "install_id"]},
            })  # fmt: skip
        api.must("PATCH", f"/v1/apps/{APP}", {"version_gate": {"minimum": "2.0"}})
        yield server
    finally:
        server.destroy()


def path(query: str = "", app: str = APP) -> str:
    return f"/client/v1/apps/{app}/evaluated" + (f"?{query}" if query else "")


def ask(server, query: str, **headers):
    return server.api.request("GET", path(query), headers=headers, token=None)


def verified(server, query: str, **headers) -> dict:
    """The payload, after everything that a suspicious client can check; the header differs in nothing but its type."""
    answer = ask(server, query, **headers)
    assert answer.status == 200, str(answer)
    assert answer["Content-Type"] == "application/jose"
    keys = server.api.request("GET", "/client/v1/jwks.json", token=None).json
    token = answer.body.decode()
    header = jwt.get_unverified_header(token)
    assert header["typ"] == "pinset-evaluated+jws"
    with pytest.raises(AssertionError):
        verify(token, keys, APP)
    return verify(token, keys, APP, kind="pinset-evaluated+jws")


def is_in(salt: str, basis_points: int, kind: str, value: str) -> bool:
    """pinroll/v1, written once more."""
    digest = hashlib.sha256(b"\0".join([b"pinroll/v1", salt.encode(), kind.encode(), value.encode()])).digest()
    return int.from_bytes(digest[:4]) * 10_000 >> 32 < basis_points


def expected(full: dict, device_id: str) -> list[dict]:
    """What a device of a version that the gate lets in gets of each host."""
    hosts = []
    for host in full["hosts"]:
        rollout = host.get("rollout")
        chosen = rollout and is_in(rollout["salt"], rollout["basis_points"], "device_id", device_id)
        hosts.append({
            "host": host["host"], "include_subdomains": host["include_subdomains"],
            "arm": "candidate" if chosen else "baseline", "baseline": host["candidate" if chosen else "baseline"],
        })  # fmt: skip
    return hosts


def test_each_device_gets_what_the_rules_give_it(evaluating_server):
    full = evaluating_server.api.payload(APP)
    sets = set()
    for number in range(40):
        device = f"device-{number}"
        payload = verified(evaluating_server, f"device_id={device}&app_version=2.1")
        assert payload["hosts"] == expected(full, device)
        assert payload["evaluated_from"] == full["content_sha256"]
        for name in ("iss", "aud", "iat", "exp", "version", "kill_switches", "fallback", "monitoring", "bucketing"):
            assert payload[name] == full[name]
        assert "version_gate" not in payload and "rollout" not in payload
        sets.add(json.dumps([host["arm"] for host in payload["hosts"]]))
    # Two rollouts of a half each, with salts of their own.
    assert len(sets) == 4


@pytest.mark.parametrize(
    "query", ["", "device_id=", "user_id=" + "%C3%A4" * 512, "device_id=unknown&app_version=2.1", "device_id=device-1", "app_version=2.1",
              "device_id=device-1&app_version=1.9", "device_id=device-1&app_version=v2.1"],
)  # fmt: skip
def test_an_unknown_device_gets_the_baseline(evaluating_server, query):
    assert [host["arm"] for host in verified(evaluating_server, query)["hosts"]] == ["baseline"] * 3


def test_a_version_with_a_plus_is_read_with_or_without_an_escape(evaluating_server):
    app = "com.example.evaluated.plus"
    evaluating_server.api.make_app(app, "api.example.com")
    evaluating_server.api.must("POST", f"/v1/apps/{app}/hosts/api.example.com/candidate", {
        "mode": "enforce", "pins": [{"pin": pin_of("next"), "role": "backup"}],
    })  # fmt: skip
    evaluating_server.api.must("PATCH", f"/v1/apps/{app}", {"version_gate": {"minimum": "2.1"}})
    for version, arm in [("2.1+45", "candidate"), ("2.1%2B45", "candidate"), ("2.1-rc%2B45", "baseline"), ("2.1+", "baseline")]:
        answer = evaluating_server.api.request("GET", path(f"app_version={version}", app), token=None)
        assert payload_of(answer.body)["hosts"][0]["arm"] == arm, version


def test_devices_of_one_outcome_share_the_same_bytes(evaluating_server):
    bodies = {}
    for number in range(40):
        answer = ask(evaluating_server, f"install_id=install-{number}&app_version=3")
        bodies.setdefault(answer["ETag"], set()).add(answer.body)
    assert 1 < len(bodies) <= 4
    assert all(len(same) == 1 for same in bodies.values())


def test_the_answer_is_private_and_conditional(evaluating_server):
    query = "device_id=device-1&app_version=2.1"
    answer = ask(evaluating_server, query)
    assert answer["Cache-Control"].startswith("private, max-age=60")
    assert answer["Vary"] == "Accept-Encoding"
    again = ask(evaluating_server, query, **{"If-None-Match": answer["ETag"]})
    assert (again.status, again.body, again["ETag"]) == (304, b"", answer["ETag"])
    head = evaluating_server.api.request("HEAD", path(query), token=None)
    assert (head.status, head.body, head["Content-Length"]) == (200, b"", str(len(answer.body)))
    assert answer["ETag"] != evaluating_server.api.document(APP)["ETag"]


@pytest.mark.parametrize(
    "fields",
    [[], ["Accept-Encoding: gzip"], ["Accept-Encoding: br"], ['If-None-Match: "x"'], ["If-None-Match: *"]],
)
def test_prepared_and_routed_answers_are_the_same_bytes(evaluating_server, fields):
    plain = path("device_id=device-7&app_version=2.1")
    # Spelled so that only the router recognises it.
    routed = path("device_id=%64evice-7&app_version=2.1")
    for _ in range(2):
        with Wire(evaluating_server.port) as wire:
            one = wire.send(get(plain, *fields)).answer()
            other = wire.send(get(routed, *fields)).answer()
        assert one.without("date") == other.without("date")


@pytest.mark.parametrize(
    ("query", "kind"),
    [("device=1", "unknown_parameter"), ("device_id=a&device_id=b", "malformed_request"),
     ("build=-1", "malformed_request"), ("build=secret-thing", "malformed_request"),
     ("device_id=%ff", "malformed_request"),
     ("user_id=" + "secret-thing" * 50, "malformed_request"),
     ("user_id=" + "%C3%A4" * 513, "malformed_request")],
)  # fmt: skip
def test_a_wrong_query_is_refused_without_repeating_it(evaluating_server, query, kind):
    answer = ask(evaluating_server, query)
    expect_problem(answer, 400, kind)
    assert b"secret" not in answer.body


def test_an_unknown_app_has_no_evaluated_document(evaluating_server):
    answer = evaluating_server.api.request("GET", path("device_id=a", "com.example.nobody"), token=None)
    expect_problem(answer, 404, "app_unknown")


def test_a_change_is_in_the_next_evaluated_document(evaluating_server):
    app = "com.example.evaluated.change"
    evaluating_server.api.make_app(app, "api.example.com")
    first = evaluating_server.api.request("GET", path("device_id=a", app), token=None)
    evaluating_server.api.must("PUT", f"/v1/apps/{app}/kill-switch", {
        "expires_at": from_now(hours=1), "reason": "test",
    })  # fmt: skip
    second = evaluating_server.api.request("GET", path("device_id=a", app), token=None)
    assert payload_of(first.body)["kill_switches"] == []
    assert [one["scope"] for one in payload_of(second.body)["kill_switches"]] == ["app"]


def test_the_country_comes_from_the_proxy_before_the_client(evaluating_server):
    app = "com.example.evaluated.country"
    evaluating_server.api.make_app(app, "api.example.com")
    evaluating_server.api.must("POST", f"/v1/apps/{app}/hosts/api.example.com/candidate", {
        "mode": "enforce", "pins": [{"pin": pin_of("next"), "role": "backup"}],
        "rollout": {"basis_points": 10_000, "method": "geography", "countries": ["DE"]},
    })  # fmt: skip

    def arm(query: str, **headers) -> str:
        answer = evaluating_server.api.request("GET", path(f"device_id=a{query}", app), headers=headers, token=None)
        return payload_of(answer.body)["hosts"][0]["arm"]

    for _ in range(2):
        assert arm("") == "baseline"
        assert arm("&country=DE") == arm("&country=de") == "candidate"
        assert arm("&country=FR") == arm("&country=Germany") == "baseline"
        assert arm("", **{"CF-IPCountry": "DE"}) == "candidate"
        assert arm("&country=DE", **{"CF-IPCountry": "FR"}) == "baseline"
        assert arm("&country=DE", **{"CF-IPCountry": "XX"}) == "baseline"


def test_a_node_without_the_key_names_the_full_document(evaluating_server):
    node, api = start_node(evaluating_server, "keyless", "--read-only")
    try:
        answer = api.request("GET", path("device_id=a"), token=None)
        expect_problem(answer, 503, "no_key_encryption_key")
        assert f"/client/v1/apps/{APP}/document" in answer.json["detail"]
    finally:
        node.stop()


def test_the_log_has_no_data_of_the_device(evaluating_server):
    words = ["very-own-id", "other-own-id", "9.8.7-mine", "424242424242"]
    for _ in range(3):
        ask(evaluating_server, f"device_id={words[0]}&user_id={words[1]}&app_version={words[2]}&build={words[3]}&country=LI")
        ask(evaluating_server, f"device_id=%76ery-own-id&build={words[3]}x")
        ask(evaluating_server, f"{words[0]}=1")
    log = evaluating_server.log.read_text(errors="replace")
    assert log
    assert not [word for word in words if word in log]
