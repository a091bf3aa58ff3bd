"""What clients report: signed and unsigned, in our form and others', once and again, on all nodes, and after a power cut."""

import base64
import gzip
import json
import socket
import time
from pathlib import Path

import pytest
from nodes import start_node
from pinledger import Server, eventually, in_threads, pin_of
from problems import expect_problem
from reports import HOST, Key, cells, failure, install_id, outcome, path, send


@pytest.fixture(scope="module")
def report_server():
    """Everything comes from one network here."""
    server = Server(more=["--telemetry-rate", "0"])
    try:
        yield server.start()
    finally:
        server.destroy()


def make_app(server: Server, name: str) -> str:
    app = f"com.example.telemetry.{name}"
    server.api.make_app(app, HOST)
    return app


def add_candidate(server: Server, app: str) -> None:
    candidate = {"mode": "enforce", "pins": [{"pin": pin_of("candidate"), "role": "backup"}], "rollout": {"basis_points": 500}}
    server.api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/candidate", candidate)


def test_reports_are_counted_by_install_and_shown(report_server):
    app = make_app(report_server, "counted")
    add_candidate(report_server, app)
    key = Key(report_server.api, app)
    pin = pin_of("served")
    outcomes = [failure(number, arm="candidate", served_spki=[pin]) for number in range(10)]
    outcomes += [outcome(number, arm="candidate") for number in range(40)]
    outcomes += [outcome(99, host="nobody.example.net"), {"host": HOST}, outcome(1, document_version=9999), outcome(1, time=7)]
    answer = send(report_server.api, app, outcomes, key, platform="ios", app_version="3.1.2", document_version=2)
    assert (answer.status, answer.json) == (202, {
        "authenticated": True, "taken": 50, "duplicate": 0, "refused": 4,
        "refusals": {"host_unknown": 1, "incomplete": 1, "version_unknown": 1, "malformed": 1},
    })  # fmt: skip
    advisory = send(report_server.api, app, [failure(number) for number in range(7)])
    assert advisory.json["authenticated"] is False
    eventually(lambda: len(cells(report_server.api, app)) == 2)
    found = cells(report_server.api, app)
    signed = found["candidate", 2, True]
    assert (signed["installs"], signed["failing"], signed["reports"], signed["failures"]) == (40, 10, 50, 10)
    assert signed["reasons"] == {"pin_mismatch": 10} and signed["served_pins"] == [pin]
    assert signed["networks"]["distinct"] == 1 and signed["networks"]["largest"][0]["failing"] == 10
    assert signed["app_versions"] == [{"app_version": "3.1.2", "installs": 40, "failing": 10}]
    assert signed["platforms"] == [{"platform": "ios", "installs": 40, "failing": 10}]
    assert found[None, 0, False]["failing"] == 7
    minutes = cells(report_server.api, app, f"?minutes=true&host={HOST}")["candidate", 2, True]["minutes"]
    assert sum(minute["installs"] for minute in minutes) == 40
    for query, status in {"?hours=0": 400, "?hours=337": 400, "?version=1": 400, "?minutes=true": 422, "?host=*": 422}.items():
        assert report_server.api.get(f"/v1/apps/{app}/telemetry{query}").status == status, query
    assert "pin_mismatch 10" in report_server.cli("telemetry", "show", app).stdout
    # Nothing of it can be told who it was.
    dump = report_server.sql("SELECT string_agg(convert_from(content, 'UTF8'), '') FROM pinledger.outcome_minute")
    assert "127.0.0.1" not in dump and install_id(1) not in dump


def test_a_signature_is_right_or_refused(report_server):
    app = make_app(report_server, "signed")
    key, other = Key(report_server.api, app), Key(report_server.api, make_app(report_server, "other"))
    body = json.dumps({"outcomes": [outcome(1)]}).encode()

    def post(headers: dict, sent: bytes = body) -> int:
        answer = report_server.api.request("POST", path(app), sent, headers=headers, token=None)
        if answer.status == 401:
            assert answer.json["type"] == "/problems/signature_invalid"
            assert answer["WWW-Authenticate"].startswith("Pinledger-Signature")
        return answer.status

    now = int(time.time())
    assert post(key.sign(body)) == 202
    assert post(key.sign(body, now - 200)) == 202
    assert post(key.sign(body, now - 400)) == 401
    assert post(key.sign(body, now + 400)) == 401
    assert post(key.sign(body + b" ")) == 401
    assert post(key.sign(body, app="com.example.telemetry.other")) == 401
    assert post(other.sign(body, app=app)) == 401
    assert post({"Pinledger-Signature": "nonsense"}) == 401
    assert post({"Pinledger-Signature": key.sign(body)["Pinledger-Signature"].replace("mac=:", "mac=:AA")}) == 401
    packed = gzip.compress(body)
    assert post(key.sign(packed) | {"Content-Encoding": "gzip"}, packed) == 202
    assert post(key.sign(body) | {"Content-Encoding": "gzip"}, packed) == 401


def test_a_repeated_request_counts_once(report_server):
    app = make_app(report_server, "replayed")
    key = Key(report_server.api, app)
    body = json.dumps({"outcomes": [failure(number, id=f"r{number}") for number in range(5)]}).encode()
    headers = key.sign(body)
    answers = in_threads(4, lambda _: report_server.api.request("POST", path(app), body, headers=headers, token=None).json)
    assert sorted(answer["taken"] for answer in answers) == [0, 0, 0, 5]
    assert sum(answer["duplicate"] for answer in answers) == 15
    # The same reports, signed again.
    assert send(report_server.api, app, [failure(4, id="r4"), failure(5, id="r5")], key).json["duplicate"] == 1


def test_keys_for_reports_rotate_with_both_in_use(report_server):
    app = make_app(report_server, "rotated")
    before = report_server.api.payload(app)["version"]
    old = Key(report_server.api, app)
    made = report_server.cli("telemetry", "key", "create", app, "--note", "from 3.2 on").stdout.strip()
    assert made.startswith("tlsec_")
    keys = report_server.api.must("GET", f"/v1/apps/{app}/telemetry-keys").json["keys"]
    assert [key["state"] for key in keys] == ["active", "active"] and "secret" not in keys[0]
    new = Key.__new__(Key)
    new.app, new.id, new.secret = app, keys[1]["key_id"], base64.b64decode(made.removeprefix("tlsec_"))
    for key in (old, new):
        assert send(report_server.api, app, [outcome(1)], key).status == 202
    report_server.cli("telemetry", "key", "retire", app, old.id, "--reason", "no release has it")
    assert send(report_server.api, app, [outcome(1)], old).status == 401
    assert send(report_server.api, app, [outcome(2)], new).status == 202
    assert report_server.api.post(f"/v1/apps/{app}/telemetry-keys/{old.id}/retire").status == 409
    assert report_server.api.post(f"/v1/apps/{app}/telemetry-keys/tlk_{'0' * 16}/retire").status == 404
    assert "retired" in report_server.cli("telemetry", "key", "list", app).stdout
    # The ledger has names and no secrets, and no document has changed.
    events = report_server.api.must("GET", f"/v1/history?stream=watch/{app}&order=oldest").json["events"]
    assert [event["type"] for event in events] == ["TelemetryKeyAdded", "TelemetryKeyAdded", "TelemetryKeyRetired"]
    assert "tlsec_" not in json.dumps(events)
    assert report_server.api.payload(app)["version"] == before
    assert report_server.sql(f"SELECT count(*) FROM pinledger.telemetry_secret WHERE app = '{app}'").strip() == "1"
    rehearsed = report_server.api.post(f"/v1/apps/{app}/telemetry-keys?dry_run=true")
    assert rehearsed.status == 200 and "secret" not in rehearsed.json


def test_invented_reports_take_no_room_from_others(report_server):
    app = make_app(report_server, "made-up")
    # There is no candidate, and was none.
    outcomes = [failure(number, arm="candidate", document_version=number % 2) for number in range(10)]
    assert send(report_server.api, app, outcomes).json["taken"] == 10
    eventually(lambda: cells(report_server.api, app).get(("candidate", 0, False), {}).get("installs") == 10)
    add_candidate(report_server, app)
    assert send(report_server.api, app, [failure(1, arm="candidate", document_version=2)]).json["taken"] == 1
    eventually(lambda: ("candidate", 2, False) in cells(report_server.api, app))


def unread(port: int) -> int:
    """How many bytes wait in the sockets of a port to be read."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    established, address = "01", f"0100007F:{port:04X}"
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[1] == address and row[3] == established)


def test_slow_bodies_do_not_prevent_other_reports(report_server):
    app = make_app(report_server, "slow")
    head = f"POST {path(app)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    slow = []
    try:
        # More than all the room there is, by what they say; and some that do not say how much will come.
        for number in range(200):
            connection = socket.create_connection(("127.0.0.1", report_server.port), timeout=300)
            slow.append(connection)
            length = "Content-Length: 262144" if number % 2 else "Transfer-Encoding: chunked"
            connection.sendall(f"{head}{length}\r\n\r\n".encode() + (b"{" if number % 2 else b"1\r\n{\r\n"))
        eventually(lambda: unread(report_server.port) == 0, "a server that has read all that was sent")
        big = [outcome(number, id="x" * 40) for number in range(500)]
        assert send(report_server.api, app, big).json["taken"] == 500
    finally:
        for connection in slow:
            connection.close()


def test_reports_of_other_libraries_are_advisory(report_server, certificates):
    app = make_app(report_server, "foreign")
    chain = [certificates[0].path.read_text()]
    trustkit = {
        "app-bundle-id": "com.x.app", "app-version": "1.2.3", "app-platform": "IOS", "app-platform-version": "17.4.0",
        "app-vendor-id": "6F9619FF-8B86-D011-B42D-00C04FC964FF", "trustkit-version": "3.0.0",
        "date-time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "hostname": HOST, "port": 443, "noted-hostname": HOST,
        "include-subdomains": True, "enforce-pinning": True, "validated-certificate-chain": chain,
        "known-pins": [f'pin-sha256="{certificates[1].pin}"'], "validation-result": 1, "known-pins-expiration-date": None,
    }  # fmt: skip
    android = trustkit | {
        "app-platform": "ANDROID", "served-certificate-chain": chain, "validation-result": 2, "port": 0,
        "app-vendor-id": "another", "date-time": time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime()),
    }  # fmt: skip
    hpkp = {
        "date-time": "2014-04-06T13:00:50Z", "hostname": HOST, "port": 443, "noted-hostname": HOST,
        "effective-expiration-date": "2014-05-01T12:40:50Z", "include-subdomains": False, "served-certificate-chain": chain,
        "validated-certificate-chain": chain, "known-pins": [],
    }  # fmt: skip
    for kind, body in (("/trustkit", trustkit), ("/trustkit", android), ("/hpkp", hpkp | {"date-time": trustkit["date-time"]}),
                       ("/hpkp", hpkp)):  # fmt: skip
        answer = report_server.api.request("POST", path(app, kind), body, token=None)
        assert (answer.status, answer.json["taken"], answer.json["authenticated"]) == (202, 1, False), str(answer)
    eventually(lambda: cells(report_server.api, app).get((None, 0, False), {}).get("failing") == 3)
    cell = cells(report_server.api, app)[None, 0, False]
    assert cell["reasons"] == {"pin_mismatch": 2, "chain_invalid": 1} and cell["off_time"] == 1
    assert cell["served_pins"] == [certificates[0].pin]
    # No successes, no other shapes.
    wrong = [{"validation-result": 0}, {"validated-certificate-chain": [{}]}, {"enforce-pinning": "yes"}, {"app-version": 3}]
    for body in (*(trustkit | each for each in wrong), {}, [], {"hostname": 7}):
        assert report_server.api.request("POST", path(app, "/trustkit"), body, token=None).status == 422, body


def test_hostile_bodies_are_refused_and_cost_little(report_server):
    app = make_app(report_server, "hostile")

    def post(body: bytes, **headers) -> int:
        return report_server.api.request("POST", path(app), body, headers=headers, token=None).status

    assert post(b"") == 400 and post(b"[]") == 400 and post(b'{"outcomes":[' + b"[" * 100_000) == 400
    assert post(b'{"a":' + b"9" * 200_000 + b',"outcomes":[]}') == 400
    assert post(b'{"outcomes":[' + b",".join([b"{}"] * 501) + b"]}") == 400
    assert post(b" " * (256 * 1024 + 1)) == 413
    bomb = gzip.compress(b" " * 50_000_000)
    assert post(bomb, **{"Content-Encoding": "gzip"}) == 413
    assert post(b"no gzip", **{"Content-Encoding": "gzip"}) == 400
    assert post(b"{}", **{"Content-Encoding": "br"}) == 415
    assert post(b"{}", **{"Content-Type": "text/plain"}) == 415
    assert report_server.api.request("GET", path(app), token=None).status == 405
    assert send(report_server.api, "com.example.nobody", [outcome(1)]).status == 404
    assert post(json.dumps({"outcomes": []}).encode()) == 202


def test_networks_have_their_limits_for_reports():
    server = Server(more=["--telemetry-rate", "5", "--trusted-proxy", "127.0.0.0/8"], has_clock=True)
    try:
        app = make_app(server.start(), "limited")
        began = time.monotonic()
        statuses = [send(server.api, app, [outcome(number)] * 20).status for number in range(10)]
        # Ten seconds' worth at once, the last of them whole, then five reports a second.
        assert statuses[:3] == [202] * 3 and statuses.count(202) <= 3 + (time.monotonic() - began) * 5 / 20 + 1
        server.forward(minutes=1)
        assert send(server.api, app, [outcome(number) for number in range(100)]).status == 202
        body = {"outcomes": [outcome(1)]}
        answer = server.api.request("POST", path(app), body, headers={"X-Forwarded-For": "198.51.100.1"}, token=None)
        assert answer.status == 202
        # Each of these takes the room of twenty seconds, which pass between no two of them.
        answers = [send(server.api, app, [outcome(number) for number in range(100)]) for _ in range(3)]
        assert 429 in [answer.status for answer in answers]
        refused = next(answer for answer in answers if answer.status == 429)
        assert refused.json["type"] == "/problems/too_many_reports" and 1 <= int(refused["Retry-After"]) <= 30
        server.forward(minutes=1)
        assert send(server.api, app, [outcome(1)]).status == 202
        assert server.api.get(f"/v1/apps/{app}/telemetry").json["this_node"]["turned_away"] >= 1
    finally:
        server.destroy()


def test_nodes_count_together_and_some_cannot_judge_signatures(report_server):
    app = make_app(report_server, "nodes")
    key = Key(report_server.api, app)
    second, second_api = start_node(
        report_server, "telemetry-second", "--kek-file", str(report_server.data / "key-encryption-key"), "--telemetry-rate", "0")
    keyless, keyless_api = start_node(report_server, "telemetry-keyless", "--telemetry-rate", "0")
    reader, reader_api = start_node(report_server, "telemetry-reader", "--read-only")
    try:
        eventually(lambda: send(second_api, app, [outcome(0)], key).status == 202)
        for api, numbers in ((report_server.api, range(0, 60)), (second_api, range(40, 100))):
            assert send(api, app, [outcome(number) for number in numbers], key).json["taken"] == 60
        for api in (report_server.api, second_api):
            eventually(lambda api=api: cells(api, app).get((None, 0, True), {}).get("installs") == 100)
        refused = send(keyless_api, app, [outcome(1)], key)
        expect_problem(refused, 503, "no_key_encryption_key")
        assert send(keyless_api, app, [outcome(1)]).status == 202
        assert send(reader_api, app, [outcome(1)]).json["type"] == "/problems/read_only"
        assert (None, 0, True) in cells(reader_api, app)
    finally:
        for node in (second, keyless, reader):
            node.stop()


def test_recorded_reports_outlast_a_power_cut_and_count_once():
    server = Server(more=["--telemetry-rate", "0"])
    try:
        app = make_app(server.start(), "cut")
        assert send(server.api, app, [outcome(number) for number in range(100)]).status == 202
        eventually(lambda: cells(server.api, app).get((None, 0, False), {}).get("installs") == 100)
        for number in range(100, 120):
            assert send(server.api, app, [outcome(number)]).status == 202
        server.kill()
        server.start()
        kept = cells(server.api, app)[None, 0, False]["installs"]
        assert 100 <= kept <= 120, kept
        # The same ones come again, and are the same ones.
        send(server.api, app, [outcome(number) for number in range(120)])
        eventually(lambda: cells(server.api, app)[None, 0, False]["installs"] == 120)
        # An orderly end loses nothing.
        send(server.api, app, [outcome(120)])
        server.restart()
        assert cells(server.api, app)[None, 0, False]["installs"] == 121
    finally:
        server.destroy()


@pytest.mark.daily
def test_a_power_cut_loses_two_seconds_at_the_most():
    server = Server(more=["--telemetry-rate", "0"])
    try:
        app = make_app(server.start(), "killed")
        answered: list[float] = []
        number = 0
        end = time.monotonic() + 6
        while time.monotonic() < end:
            assert send(server.api, app, [outcome(number)]).status == 202
            answered.append(time.monotonic())
            number += 1
        killed = time.monotonic()
        server.kill()
        server.start()
        kept = cells(server.api, app)[None, 0, False]["installs"]
        safe = sum(1 for moment in answered if moment < killed - 2)
        assert safe <= kept <= number, f"{kept} of {number} kept, {safe} of them older than two seconds"
    finally:
        server.destroy()
