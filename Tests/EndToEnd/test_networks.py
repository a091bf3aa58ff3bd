"""What one network may have of a node, and that operators always get through: strangers are other addresses of loopback."""

import threading
import time

import pytest
from nodes import start_node
from pinledger import API, Process, Server, eventually, free_port, from_now
from tls_clients import Streams, arguments, client_context, make_certificate
from wire import Wire, get

APP = "com.example.networks"
DOCUMENT = f"/client/v1/apps/{APP}/document"
STREAM = DOCUMENT.replace("/document", "/stream")
# Spelled so that it goes to the router: what has been signed already is answered before, and costs nothing.
EVALUATED = DOCUMENT.replace(".", "%2E").replace("/document", "/evaluated?app_version=1.")


@pytest.fixture(scope="module")
def crowded_server():
    server = Server()
    try:
        server.start().api.make_app(APP, "h.example.com")
        yield server
    finally:
        server.destroy()


def kek(server) -> list[str]:
    return ["--kek-file", str(server.data / "key-encryption-key")]


@pytest.fixture(scope="module")
def node(crowded_server):
    """160 connections, of which a network may have 40, and operators have 10."""
    node, api = start_node(crowded_server, "networks", *kek(crowded_server), "--max-connections", "160", "--header-timeout", "4")
    node.api = api
    yield node
    node.stop()


class Crowd:
    """Connections of strangers, all of which are closed at the end."""

    def __init__(self, node):
        self.node, self.wires = node, []

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_) -> None:
        for wire in self.wires:
            wire.socket.close()

    def come(self, count: int, source: str) -> None:
        for _ in range(count):
            try:
                self.wires.append(Wire(self.node.port, source=source).send(get("/healthz")))
            except ConnectionError:
                pass


def document(node, source: str, *fields: str):
    with Wire(node.port, source=source) as wire:
        return wire.send(get(DOCUMENT, *fields)).answer()


def test_one_network_cannot_take_all_connections(node):
    with Crowd(node) as crowd:
        for host in range(1, 11):
            crowd.come(20, f"127.0.1.{host}")
        for _ in range(20):
            assert document(node, "127.0.2.1").status == 200


def test_a_network_gets_its_closed_connections_back(node):
    for _ in range(3):
        with Crowd(node) as crowd:
            crowd.come(40, "127.0.3.1")
            assert all(wire.answer().status == 200 for wire in crowd.wires)
        eventually(lambda: document(node, "127.0.3.1").status == 200)


@pytest.fixture
def full(node):
    """Strangers of many networks hold all that they can."""
    with Crowd(node) as crowd:
        for network in range(10, 20):
            crowd.come(20, f"127.0.{network}.1")
        # Those that the node accepts later would displace the test's own.
        for wire in crowd.wires:
            wire.answer()
        yield crowd


@pytest.fixture
def flood(full):
    """And more of them come all the time."""
    ended = threading.Event()

    def come() -> None:
        while not ended.wait(0.02):
            full.come(1, f"127.0.{10 + len(full.wires) % 10}.2")

    thread = threading.Thread(target=come)
    thread.start()
    yield
    ended.set()
    thread.join()


def test_operators_get_through_while_strangers_hold_every_connection(node, flood):
    api, target = node.api, f"/v1/apps/{APP}/kill-switch"
    for number in range(5):
        body = {"expires_at": from_now(hours=1), "reason": "an attack"}
        engaged = api.request("PUT", target, body) if number == 0 else api.request("GET", f"/v1/apps/{APP}")
        assert engaged.status in (200, 201), str(engaged)
    assert api.request("DELETE", f"{target}?reason=over").status == 200


def test_silent_connections_keep_no_operator_of_their_network_out(node):
    operator = f"Authorization: Bearer {node.api.token}"
    with Crowd(node) as crowd:
        # More than a network may have and may try within a second, if this machine makes them within one.
        for number in range(700):
            crowd.wires.append(Wire(node.port, source=f"127.0.30.{1 + number % 200}"))

        def gets_in() -> bool:
            with Wire(node.port, source="127.0.30.1") as wire:
                answer = wire.send(get("/v1/apps", operator)).answer()
                return answer is not None and answer.status == 200

        # A machine that stops for seconds between the connection and its head makes it one of the silent ones.
        eventually(gets_in, "an operator of that network is answered")


def test_a_client_above_the_limit_is_asked_to_retry_and_health_is_answered(node, full):
    with Wire(node.port, source="127.0.9.1") as wire:
        assert wire.send(get("/healthz")).answer().status == 200
        assert wire.send(get("/readyz")).answer().status == 200
    refused = document(node, "127.0.9.1")
    assert refused.status == 503 and b"/problems/overloaded" in refused.body and 5 <= int(refused["Retry-After"]) <= 30
    # A malformed token keeps no place.
    with Wire(node.port, source="127.0.9.1") as wire:
        assert wire.send(get("/v1/apps", "Authorization: Bearer pk_adm_none")).answer().status == 401
        wire.wait_for_end()


def test_operators_get_through_over_http_2(crowded_server, tmp_path):
    certificate = make_certificate(tmp_path, "networks")
    port = free_port()
    node = Process(tmp_path / "log", arguments(crowded_server, port, *certificate) + ["--max-connections", "32"], port)
    node.spawn()
    secure = client_context("h2")

    def stranger(source: str) -> Wire:
        return Wire(port, source=source, wrap=lambda plain: secure.wrap_socket(plain, server_hostname="localhost"))

    token = ("authorization", f"Bearer {crowded_server.api.token}")
    wires = []
    try:
        node.wait_until(lambda: stranger("127.0.0.1").socket.close() is None)
        for network in range(10, 14):
            wires += [stranger(f"127.0.{network}.1") for _ in range(8)]
        with Streams(node) as wire:
            wire.send(Streams.request(1, "/healthz") + Streams.request(3, "/v1/apps", token)).wait(1, 3)
            assert (wire.status[1], wire.status[3]) == (200, 200)
            # From then on it is served like any other.
            wire.send(Streams.request(5, DOCUMENT)).wait(5)
            assert wire.status[5] == 200
    finally:
        for wire in wires:
            wire.socket.close()
        node.stop()


# MARK: Streams and requests


@pytest.fixture(scope="module")
def strict(crowded_server):
    node, api = start_node(
        crowded_server, "strict", *kek(crowded_server), "--streams-per-network", "2", "--requests-per-network", "1",
        "--trusted-proxy", "127.0.5.0/24",
    )  # fmt: skip
    node.api = api
    yield node
    node.stop()


@pytest.mark.parametrize("path", [STREAM, STREAM.replace(".", "%2E")], ids=["at the door", "routed"])
def test_a_network_has_its_share_of_streams(strict, path):
    wires = []

    def status(source: str, *fields: str) -> int:
        wire = Wire(strict.port, source=source)
        wires.append(wire)
        wire.send(get(path, *fields))
        while b"\r\n\r\n" not in wire.received:
            assert wire._more()
        return int(wire.received.split()[1])

    try:
        assert [status(f"127.0.6.{host}") for host in (1, 2, 3)] == [200, 200, 503]
        assert status("127.0.7.1") == 200
        # Behind a proxy it is clients' networks that count.
        behind = [status("127.0.5.1", f"X-Forwarded-For: {address}") for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3")]
        assert behind == [200, 200, 503]
        assert status("127.0.5.1", "X-Forwarded-For: 198.51.100.1, 203.0.113.1") == 200
        assert [status("127.0.5.1") for _ in range(3)] == [200, 200, 200]
        # Nobody else is believed.
        assert status("127.0.6.4", "X-Forwarded-For: 203.0.113.9") == 503
    finally:
        for wire in wires:
            wire.socket.close()
    eventually(lambda: strict.api.get("/readyz").json["client_streams"] == 0)


def test_a_network_has_its_share_of_requests_that_cost_much(strict):
    def statuses(source: str, count: int, *fields: str) -> list[int]:
        with Wire(strict.port, source=source) as wire:
            answers = [wire.send(get(f"{EVALUATED}{number}", *fields)).answer() for number in range(count)]
        refused = [answer for answer in answers if answer.status == 429]
        assert all(b"/problems/too_many_requests" in answer.body for answer in refused)
        assert all(1 <= int(answer["Retry-After"]) <= 5 for answer in refused)
        return [answer.status for answer in answers]

    began = time.monotonic()
    spent = statuses("127.0.8.1", 30)
    spent += statuses("127.0.8.2", 10)
    # Ten at once, then one each second, for both together.
    assert spent[:10] == [200] * 10 and spent.count(200) <= 10 + time.monotonic() - began + 1
    assert document(strict, "127.0.8.1").status == 200
    assert statuses("127.0.9.1", 3) == [200] * 3
    assert statuses("127.0.5.1", 3, "X-Forwarded-For: 192.0.2.1") == [200] * 3
    assert 200 in statuses("127.0.5.1", 30)
    eventually(lambda: "too_many_requests" in str(strict.said("request_refused")), "the line")


# MARK: Readiness


def test_strangers_learn_whether_a_node_is_ready_and_operators_why(crowded_server, node):
    api = node.api
    told = {"status": "ready", "serves": True, "serves_documents": True, "writes": True, "signs": True}
    for use in ("", "?for=serves", "?for=writes", "?for=signs"):
        answer = api.request("GET", f"/readyz{use}", token=None)
        assert (answer.status, answer.json) == (200, told)
        assert api.get(f"/readyz{use}").json.items() > told.items()
    assert api.get("/readyz").json["position"] >= 3
    assert api.request("GET", "/readyz", token="pk_adm_none").status == 401
    assert api.get("/readyz?for=fun").status == 400


def test_a_node_that_only_reads_is_ready_to_serve_and_not_to_write(crowded_server):
    admin = free_port()
    node, api = start_node(crowded_server, "apart", "--read-only", "--admin-listen", f"127.0.0.1:{admin}")
    try:
        told = {"serves": True, "serves_documents": True, "writes": False, "signs": False}
        for use, status in [("", 200), ("?for=writes", 503), ("?for=signs", 503)]:
            # The clients' address takes no tokens.
            answer = api.get(f"/readyz{use}")
            assert (answer.status, answer.json) == (status, told | {"status": "ready" if status == 200 else "not_ready"})
            operators = API(admin, None).get(f"/readyz{use}")
            assert operators.status == status and operators.json["position"] >= 3 and "apps" not in operators.json
            assert API(admin, api.token).get(f"/readyz{use}").json["apps"] >= 1
    finally:
        node.stop()
