"""Several processes on one database: one that only reads, and a second one that writes too."""

import time

import pytest
from documents import verify
from nodes import start_node
from pinledger import API, EVERYTHING, eventually, host_body, in_threads, pin_of

APP, HOST = "com.example.nodes", "api.example.com"


@pytest.fixture(scope="module")
def reader(server):
    server.api.make_app(APP, HOST)
    node, api = start_node(server, "reader", "--read-only")
    yield api
    node.stop()


@pytest.fixture(scope="module")
def second(server):
    server.api.make_app("com.example.nodes.second", HOST)
    node, api = start_node(server, "second", "--kek-file", str(server.data / "key-encryption-key"))
    yield api
    node.stop()


def add_host(api: API, app: str, host: str) -> int:
    """The version of the app's document that has the host."""
    written = api.must("POST", f"/v1/apps/{app}/hosts", host_body(host)).json
    return written["version"] + api.fleet_version()


def test_a_change_is_served_by_a_node_that_only_reads(api, reader):
    for number in range(10):
        version = add_host(api, APP, f"h{number}.example.com")
        eventually(lambda: reader.payload(APP)["version"] >= version)
        one, other = api.document(APP), reader.document(APP)
        assert (one.body, one["ETag"]) == (other.body, other["ETag"]), "the very same bytes"
        # The document may come a moment before the ledger that it is of.
        eventually(lambda: reader.get(f"/v1/apps/{APP}").body == api.get(f"/v1/apps/{APP}").body)
    keys = reader.request("GET", "/client/v1/jwks.json", token=None)
    assert verify(reader.document(APP).body.decode(), keys.json, APP)["aud"] == APP


@pytest.mark.daily
def test_a_change_and_a_revoked_token_reach_the_other_nodes_within_two_seconds(api, reader, second):
    delays = []

    def measure(is_so) -> None:
        began = time.monotonic()
        while not is_so():
            assert time.monotonic() - began < 60, "it never was so"
            time.sleep(0.002)
        delays.append(time.monotonic() - began)

    for number in range(10):
        version = add_host(api, APP, f"soon{number}.example.com")
        measure(lambda: reader.payload(APP)["version"] >= version)
        version = add_host(second, APP, f"second{number}.example.com")
        measure(lambda: api.payload(APP)["version"] >= version)
        made = api.must("POST", "/v1/tokens", {"grants": EVERYTHING, "name": "short-lived"}).json
        eventually(lambda: reader.request("GET", "/v1/whoami", token=made["token"]).status == 200)
        api.must("DELETE", f"/v1/tokens/{made['token_id']}?reason=lost")
        measure(lambda: reader.request("GET", "/v1/whoami", token=made["token"]).status == 401)
    assert max(delays) < 2, delays


def test_a_node_that_only_reads_refuses_every_change(api, reader, unchanged):
    assert reader.get("/readyz").json["can_write"] is False
    assert reader.get("/readyz").json["can_sign"] is False
    for method, target, body in [
        ("POST", "/v1/apps", {"app": "com.example.never"}),
        ("PATCH", f"/v1/apps/{APP}", {"display_name": "Never"}),
        ("POST", f"/v1/apps/{APP}/hosts", host_body("never.example.com")),
        ("DELETE", f"/v1/apps/{APP}/hosts/{HOST}?reason=never", None),
        ("POST", "/v1/tokens", {"grants": EVERYTHING, "name": "never"}),
        ("POST", "/v1/keys", {}),
        ("POST", "/v1/apps?dry_run=true", {"app": "com.example.never"}),
        ("POST", "/v1/import/remote-config?app=com.example.never", {"target_hosts": "never.example.com"}),
    ]:
        answer = reader.request(method, target, body)
        assert (answer.status, answer.json["type"]) == (503, "/problems/read_only"), f"{method} {target}: {answer}"
        assert answer["Retry-After"]


def test_a_token_that_is_revoked_on_one_node_is_refused_by_the_other(api, reader):
    made = api.post("/v1/tokens", {"grants": EVERYTHING, "name": "short-lived"}).json
    eventually(lambda: reader.request("GET", "/v1/whoami", token=made["token"]).status == 200)
    api.must("DELETE", f"/v1/tokens/{made['token_id']}?reason=lost")
    eventually(lambda: reader.request("GET", "/v1/whoami", token=made["token"]).status == 401)


def test_a_second_full_node_writes_and_signs_too(api, second):
    app = "com.example.nodes.second"
    version = add_host(second, app, "b.example.com")
    assert second.payload(app)["version"] == version, "visible at once on the node that was asked"
    eventually(lambda: api.payload(app)["version"] >= version)
    assert api.document(app).body == second.document(app).body


def test_two_nodes_that_write_at_once_lose_nothing_and_order_everything(api, second):
    app = "com.example.nodes.second"
    mark = api.mark()
    nodes = [api, second]

    def write(thread: int) -> list[dict]:
        events = []
        for number in range(15):
            body = {"pin": pin_of(f"thread {thread} number {number}"), "role": "backup"}
            answer = nodes[thread % 2].must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", body)
            events += answer.json["events"]
        return events

    answered = [event for events in in_threads(6, write) for event in events]
    history = api.history()
    assert [event["position"] for event in history] == list(range(len(history)))
    assert sorted(answered, key=lambda event: event["position"]) == api.since(mark)
    eventually(lambda: second.position() >= len(history))
    assert second.history()[: len(history)] == history
    eventually(lambda: api.document(app).body == second.document(app).body)


def test_an_idempotency_key_is_one_key_on_every_node(api, second):
    body = {"pin": pin_of("on both nodes"), "role": "backup"}
    target = f"/v1/apps/com.example.nodes.second/hosts/{HOST}/pins"
    mark = api.mark()
    answers = in_threads(
        20, lambda n: [api, second][n % 2].post(target, body, **{"Idempotency-Key": "on both nodes"})
    )
    assert all(answer.status == 201 and answer.recorded == answers[0].recorded for answer in answers)
    events = answers[0].json["events"]
    eventually(lambda: api.position() > events[-1]["position"] and second.position() > events[-1]["position"])
    assert api.since(mark) == second.since(mark) == events and len(events) == 2


def test_one_of_two_nodes_wins_a_version(api, second):
    app = "com.example.nodes.second"
    eventually(lambda: api.get(f"/v1/apps/{app}")["ETag"] == second.get(f"/v1/apps/{app}")["ETag"])
    tag = api.get(f"/v1/apps/{app}")["ETag"]
    answers = in_threads(
        10,
        lambda n: [api, second][n % 2].request(
            "PATCH", f"/v1/apps/{app}", {"display_name": f"racer {n}"}, {"If-Match": tag}
        ),
    )
    assert sorted(answer.status for answer in answers) == [200] + [412] * 9
