"""Several processes on one database: one that only reads, and a second one that writes too."""

import time

import pytest
from pinledger import API, EVERYTHING, Process, free_port, host_body, in_threads, pin_of, within
from test_journey import verify

APP, HOST = "com.example.nodes", "api.example.com"


def start_node(server, name: str, *options: str, database: str | None = None) -> tuple[Process, API]:
    port = free_port()
    arguments = ["serve", "--database", database or server.connection_string, "--listen", f"127.0.0.1:{port}", *options]
    node = Process(server.home / f"{name}.log", arguments, port)
    api = API(port, server.api.token)
    node.spawn()
    node.wait_until(lambda: api.get("/readyz").status == 200)
    return node, api


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


def delay_until(is_so, seconds: float = 180) -> float:
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < seconds, "it never was so"
        time.sleep(0.002)
    return time.monotonic() - started


def test_a_change_is_soon_served_by_a_node_that_only_reads(api, reader):
    delays = []
    for number in range(10):
        written = api.must("POST", f"/v1/apps/{APP}/hosts", host_body(f"h{number}.example.com")).json
        fleet = api.get("/v1/fleet")["ETag"].strip('"')
        version = written["version"] + int(fleet)
        delays.append(delay_until(lambda: reader.payload(APP)["version"] >= version))
        one, other = api.document(APP), reader.document(APP)
        assert (one.body, one["ETag"]) == (other.body, other["ETag"]), "the very same bytes"
        # The document may come a moment before the ledger that it is of.
        delay_until(lambda: reader.get(f"/v1/apps/{APP}").body == api.get(f"/v1/apps/{APP}").body)
    print(f"\nserved by the second node after {max(delays) * 1000:.0f} ms at the most")
    assert max(delays) < within(2)
    keys = reader.request("GET", "/client/v1/jwks.json", token=None)
    assert verify(reader.document(APP).body.decode(), keys.json, APP)["aud"] == APP


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


def test_a_token_that_is_revoked_on_one_node_is_soon_refused_by_the_other(api, reader):
    made = api.post("/v1/tokens", {"grants": EVERYTHING, "name": "short-lived"}).json
    delay_until(lambda: reader.request("GET", "/v1/whoami", token=made["token"]).status == 200)
    api.must("DELETE", f"/v1/tokens/{made['token_id']}?reason=lost")
    assert delay_until(lambda: reader.request("GET", "/v1/whoami", token=made["token"]).status == 401) < within(2)


def test_a_second_full_node_writes_and_signs_too(api, second):
    app = "com.example.nodes.second"
    written = second.must("POST", f"/v1/apps/{app}/hosts", host_body("b.example.com")).json
    version = written["version"] + int(api.get("/v1/fleet")["ETag"].strip('"'))
    assert second.payload(app)["version"] == version, "visible at once on the node that was asked"
    assert delay_until(lambda: api.payload(app)["version"] >= version) < within(2)
    assert api.document(app).body == second.document(app).body


def test_two_nodes_that_write_at_once_lose_nothing_and_order_everything(api, second):
    app = "com.example.nodes.second"
    before = api.position()
    nodes = [api, second]

    def write(thread: int) -> list[dict]:
        events = []
        for number in range(15):
            body = {"pin": pin_of(f"thread {thread} number {number}"), "role": "backup"}
            answer = nodes[thread % 2].must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", body)
            events += answer.json["events"]
        return events

    answered = [event for events in in_threads(6, write) for event in events]
    delay_until(lambda: second.position() == api.position())
    history = api.history()
    assert [event["position"] for event in history] == list(range(len(history)))
    written = [event for event in history[before:] if event["stream"] == f"app/{app}"]
    assert sorted(answered, key=lambda event: event["position"]) == written
    delay_until(lambda: second.position() >= len(history))
    assert second.history()[: len(history)] == history
    delay_until(lambda: api.document(app).body == second.document(app).body)


def test_an_idempotency_key_is_one_key_on_every_node(api, second):
    body = {"pin": pin_of("on both nodes"), "role": "backup"}
    target = f"/v1/apps/com.example.nodes.second/hosts/{HOST}/pins"
    before = api.recorded()
    answers = in_threads(
        20, lambda n: [api, second][n % 2].post(target, body, **{"Idempotency-Key": "on both nodes"})
    )
    assert all(answer.status == 201 and answer.recorded == answers[0].recorded for answer in answers)
    delay_until(lambda: api.position() == second.position())
    assert api.recorded() == before + 2


def test_one_of_two_nodes_wins_a_version(api, second):
    app = "com.example.nodes.second"
    delay_until(lambda: api.get(f"/v1/apps/{app}")["ETag"] == second.get(f"/v1/apps/{app}")["ETag"])
    tag = api.get(f"/v1/apps/{app}")["ETag"]
    answers = in_threads(
        10,
        lambda n: [api, second][n % 2].request(
            "PATCH", f"/v1/apps/{app}", {"display_name": f"racer {n}"}, {"If-Match": tag}
        ),
    )
    assert sorted(answer.status for answer in answers) == [200] + [412] * 9
