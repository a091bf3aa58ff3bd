"""The client library as an app uses it: a server, TLS servers whose certificates change, a proxy that the platform trusts.

`pinledger fetch-url` is an app that embeds the library.
"""

import base64
import hashlib
import json
import os
import subprocess

import handbook
import pytest
from client_apps import Issued, World
from pinledger import eventually
from tls_server import serving

APP, HOST = "com.example.library", "api.example.com"
HOUR = 3600


@pytest.fixture(scope="module")
def node():
    """A server whose documents are stale after an hour."""
    with serving(HOST, HOUR, has_clock=True) as server:
        yield server


@pytest.fixture
def world(node, tmp_path, request):
    made = World(node, tmp_path, f"com.example.{request.node.name.replace('_', '-')}"[:120].rstrip("-"))
    yield made
    made.server.close()


def test_a_pinned_server_answers_and_a_swapped_certificate_is_refused(world):
    assert f"{HOST}: matched (candidate_none, baseline), by sha256/" in world.fetch()
    world.server.serve(Issued(world.home, "swapped", world.authority))
    assert "no certificate of api.example.com has one of the pins" in world.fetch(status=10)


def test_a_host_that_the_document_does_not_name_is_unpinned_and_refused_where_the_command_is_strict(world):
    world.server.serve(Issued(world.home, "other", world.authority, "other.example.com"))

    def fetch(*more: str) -> subprocess.CompletedProcess:
        # Ids in base64url may begin with a hyphen.
        arguments = world.arguments("--install-id", "-bcDEF", *more)
        arguments[2] = arguments[2].replace(HOST, "other.example.com")
        return subprocess.run(arguments, env=world.environment, capture_output=True, text=True, timeout=300)

    done = fetch()
    assert done.returncode == 0 and "other.example.com: unpinned (host_unknown)" in done.stderr, done.stderr
    done = fetch("--strict")
    assert done.returncode == 10 and "says nothing of other.example.com" in done.stderr, done.stderr


def test_a_proxy_that_the_platform_trusts_is_refused_by_the_pins(world):
    world.fetch()
    world.server.serve(Issued(world.home, "intercepted", world.proxy))
    assert "has one of the pins: it serves sha256/" in world.fetch(status=10)


def test_a_chain_that_the_platform_refuses_is_refused_whatever_its_key(world):
    world.server.serve(Issued(world.home, "elsewhere", world.authority, "other.example.com"))
    assert "does not present a valid certificate" in world.fetch(status=10)


def test_a_rotation_goes_through_without_a_refused_connection(world):
    node, app = world.node, world.app
    world.fetch()
    node.cli("rotation", "start", app, HOST, "--name", "next", "--next", str(world.spare.request), "--reason", "rotation",
             "--minimum-wait", "1s", "--sufficient-wait", "1s", "--settling", "1s")  # fmt: skip
    world.fetch()

    def phase() -> str:
        return node.api.get(f"/v1/apps/{app}/rotations/next").json["phase"]

    def advanced(wanted: str) -> bool:
        node.cli("probe", f"{HOST}:{world.server.port}")
        node.api.request("POST", f"/v1/apps/{app}/rotations/next/advance", {"from": phase(), "reason": "rotation", "force": True})
        return phase() == wanted

    eventually(lambda: advanced("switch"), "the switch")
    assert "matched" in world.fetch()
    world.server.serve(world.spare)
    assert "matched" in world.fetch()
    # The old key is not retired before there is another backup.
    node.cli("pin", "add", app, HOST, str(Issued(world.home, "third", world.authority).request), "--role", "backup")
    eventually(lambda: advanced("done"), "the end of the rotation")
    assert "matched" in world.fetch()
    world.server.serve(world.good)
    world.fetch(status=10)


def test_a_kill_switch_lets_connections_through_and_its_release_ends_that(world):
    world.server.serve(Issued(world.home, "swapped", world.authority))
    world.fetch(status=10)
    world.node.cli("kill", "engage", world.app, HOST, "--for", "1h", "--reason", "an incident")
    assert "unpinned (kill_switch_engaged)" in world.fetch()
    world.node.cli("kill", "release", world.app, HOST, "--reason", "it is over")
    world.fetch(status=10)


def test_the_last_good_document_holds_while_no_service_answers(world):
    world.fetch()
    nowhere = "http://127.0.0.1:1"
    assert "The stored document" in world.fetch(service=nowhere)
    world.server.serve(Issued(world.home, "swapped", world.authority))
    assert "has one of the pins" in world.fetch(service=nowhere, status=10)
    # An install whose store was wiped has nothing: the app says what becomes of it.
    (world.home / "store").unlink()
    assert "There is no document" in world.fetch(service=nowhere)
    world.fetch("--strict", service=nowhere, status=8)


def test_an_app_that_no_service_has_ends_the_command(world):
    assert "pinledger app list" in world.fetch("--pinned-by", "com.example.misspelled", store=False, status=5)


def test_a_name_in_other_letters_is_judged_by_its_a_label(world):
    label = "xn--bcher-kva.example"
    books = Issued(world.home, "books", world.authority, label)
    world.node.cli("host", "add", world.app, label, "--primary", str(books.certificate), "--backup", str(world.spare.request))
    world.server.serve(books)
    assert f"{label}: matched" in world.fetch(host="bücher.example")


def test_an_altered_store_is_no_reason_to_connect_without_pins(world):
    world.fetch()
    stored = (world.home / "store").read_bytes()
    (world.home / "store").write_bytes(stored[:-2] + (b"A" if stored[-2:-1] != b"A" else b"B") + stored[-1:])
    assert "the stored document: the document's signature is wrong" in world.fetch(service="http://127.0.0.1:1", status=10)
    os.mkfifo(world.home / "pipe")
    assert "is no regular file" in world.fetch("--store", str(world.home / "pipe"), store=False)


def test_a_document_that_is_stale_still_holds(world):
    world.fetch()
    world.node.forward(hours=1, seconds=1)
    world.server.serve(Issued(world.home, "swapped", world.authority))
    world.fetch(service="http://127.0.0.1:1", status=10)


def test_pins_that_have_ended_hold_no_more_and_an_app_that_blocks_then_does(world):
    world.server.serve(Issued(world.home, "swapped", world.authority))
    world.fetch(status=10)
    end = world.node.clock.from_now(hours=1)
    world.node.api.must("PATCH", f"/v1/apps/{world.app}", {"pins_valid_until": end, "reason": "an end", "force": True})
    world.fetch(status=10)
    world.node.forward(hours=1)
    eventually(lambda: "unpinned (pins_expired)" in world.fetch_whatever(), "the end of the pins")
    assert "the pins of api.example.com have ended" in world.fetch("--strict", status=10)
    # What goes on without pins is reported, and no failure.
    key = world.home / "report-key.json"
    key.write_text(world.node.cli("telemetry", "key", "create", world.app, "--output", "json").stdout)
    world.node.cli("app", "update", world.app, "--json", 'monitoring={"enabled":true}')
    assert "Reported 1 outcome." in world.fetch("--report-key", str(key), "--install-id", install_id(1))

    def counted() -> list:
        cells = world.node.api.get(f"/v1/apps/{world.app}/telemetry").json["cells"]
        return [(cell["unpinned"], cell["installs"], cell["failures"]) for cell in cells]

    eventually(lambda: counted() == [(1, 0, 0)], "the unpinned connection")
    assert "went on without pins, because those had ended: 1." in world.node.cli("telemetry", "show", world.app).stdout


def test_another_document_under_the_address_is_refused_and_the_held_one_stays(world, tmp_path):
    old = world.node.api.document(world.app).body
    world.fetch()
    world.node.cli("pin", "add", world.app, HOST, str(Issued(world.home, "third", world.authority).request), "--role", "backup")
    eventually(lambda: world.node.api.document(world.app).body != old, "the next document")
    world.fetch()
    stored = (world.home / "store").read_bytes()
    other = world.node.api.make_app(f"{world.app}.other")
    eventually(lambda: world.node.api.document(f"{world.app}.other").status == 200, f"the document of {other}")
    header = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": "x", "typ": "pinset+jws"}).encode()).rstrip(b"=")
    lies = {
        "is older than the one that is held": old,
        "is for another app": world.node.api.document(f"{world.app}.other").body,
        "is no compact JWS": b"<html>",
        "header is not that of a signed pin set": header + old[old.index(b".") :],
        "signature is wrong": stored[:-2] + (b"A" if stored[-2:-1] != b"A" else b"B") + stored[-1:],
    }
    for words, lie in lies.items():
        root = tmp_path / words.replace(" ", "-") / f"client/v1/apps/{world.app}"
        root.mkdir(parents=True)
        (root / "document").write_bytes(lie)
        with subprocess.Popen(
            ["python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(tmp_path / words.replace(" ", "-")), "0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONUNBUFFERED": "1"}, text=True,
        ) as liar:  # fmt: skip
            try:
                port = liar.stdout.readline().split(" port ")[1].split()[0]
                assert words in world.fetch(service=f"http://127.0.0.1:{port}")
                assert (world.home / "store").read_bytes() == stored
                if lie != old:
                    # An install that holds nothing cannot tell an older document.
                    assert words in world.fetch(service=f"http://127.0.0.1:{port}", store=False, status=10)
            finally:
                liar.kill()


def test_a_key_that_the_app_no_longer_ships_signs_nothing_for_it(world):
    world.fetch()
    keys = json.loads(world.keys.read_text())
    keys["keys"] = [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
                     "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"}]  # fmt: skip
    world.keys.write_text(json.dumps(keys))
    assert "no trust anchor of this app" in world.fetch(status=10)


def test_a_rollout_reaches_the_devices_that_it_draws(world):
    third = Issued(world.home, "third", world.authority)
    body = {
        "candidate": {"mode": "enforce", "pins": [{"material": third.request.read_text(), "role": "primary"},
                                                  {"material": world.spare.request.read_text(), "role": "backup"}]},
        "rollout": {"basis_points": 5000, "seed": ["install_id"]},
    }  # fmt: skip
    spec = world.node.api.get(f"/v1/apps/{world.app}/spec").json
    spec["hosts"][0] |= body
    world.node.api.must("PUT", f"/v1/apps/{world.app}/spec", spec | {"reason": "a ramp", "force": True})
    arms = {}
    for number in range(8):
        install = f"install-{number}"
        said = world.node.api.must("POST", f"/v1/apps/{world.app}/explain", {"hosts": [HOST], "device": {"install_id": install}}).json
        arm = said["hosts"][0]["arm"]
        arms.setdefault(arm, []).append(install)
        # The server has the key of the baseline alone.
        world.fetch("--install-id", install, status=0 if arm == "baseline" else 10)
    assert len(arms) == 2, arms


def test_a_client_that_follows_the_stream_uses_a_kill_switch_at_once(world):
    world.server.serve(Issued(world.home, "swapped", world.authority))
    command = world.arguments("--follow")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=world.environment) as client:
        told = iter(client.stderr.readline, "")
        try:
            assert any("has one of the pins" in line for line in told)
            # Without the stream, the client would look in an hour: the lines come long before, or this never ends.
            world.node.cli("kill", "engage", world.app, HOST, "--for", "1h", "--reason", "an incident")
            assert any("unpinned (kill_switch_engaged)" in line for line in told)
            world.node.cli("kill", "release", world.app, HOST, "--reason", "it is over")
            assert any("has one of the pins" in line for line in told)
        finally:
            # Shells have processes in the background ignore Control-C's signal.
            client.terminate()
            client.wait(timeout=180)


def install_id(number: int) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(f"install {number}".encode()).digest()[:16]).decode().rstrip("=")


def test_outcomes_are_reported_signed_where_the_document_asks_for_reports(world):
    node, app = world.node, world.app
    key = world.home / "report-key.json"
    key.write_text(node.cli("telemetry", "key", "create", app, "--output", "json").stdout)
    report = ("--report-key", str(key), "--install-id", install_id(1))
    assert "the document asks for no reports" in world.fetch(*report)
    assert "needs --install-id with 16 bytes" in world.fetch("--report-key", str(key), status=2)
    node.cli("app", "update", app, "--json", 'monitoring={"enabled":true}')
    assert "Reported 1 outcome." in world.fetch(*report)
    world.server.serve(Issued(world.home, "intercepted", world.proxy))
    assert "Reported 1 outcome." in world.fetch("--report-key", str(key), "--install-id", install_id(2), status=10)

    def counted() -> dict:
        cells = node.api.get(f"/v1/apps/{app}/telemetry").json["cells"]
        return {(cell["authenticated"], cell["installs"], cell["failing"]) for cell in cells}

    eventually(lambda: counted() == {(True, 2, 1)}, "both installs, of which one fails")
    secret = json.loads(key.read_text())
    key.write_text(json.dumps(secret | {"secret": "tlsec_" + base64.b64encode(bytes(32)).decode()}))
    assert "The service did not take the report: it answered 401." in world.fetch(*report, status=10)


def test_signed_reports_of_adoption_let_a_rotation_go_on(world):
    node, app = world.node, world.app
    key = world.home / "report-key.json"
    key.write_text(node.cli("telemetry", "key", "create", app, "--output", "json").stdout)
    node.cli("app", "update", app, "--json", 'monitoring={"enabled":true}')
    node.cli("rotation", "start", app, HOST, "--name", "next", "--next", str(world.spare.request), "--reason", "rotation",
             "--adoption", "70", "--minimum-wait", "1s", "--settling", "1s")  # fmt: skip

    def open_conditions() -> list:
        told = node.api.get(f"/v1/apps/{app}/rotations/next").json
        return [one for one in told["waits_for"] if one["met"] != "yes"]

    assert open_conditions()
    # The interval of confidence for 12 of 12 begins at 75 %.
    for number in range(12):
        assert "Reported" in world.fetch("--report-key", str(key), "--install-id", install_id(number))
    eventually(lambda: not open_conditions(), "enough installs hold the document")


def test_a_rollout_by_the_command_line_reaches_installs_and_keeps_what_is_not_stated(world):
    node, app = world.node, world.app
    node.cli("rollout", "start", app, HOST, "--percent", "40", "--backup", str(Issued(world.home, "third", world.authority).request))

    def arms() -> set:
        told = set()
        for number in range(60):
            device = {"install_id": install_id(number)}
            answer = node.api.must("POST", f"/v1/apps/{app}/explain", {"hosts": [HOST], "device": device}).json
            if answer["hosts"][0]["arm"] == "candidate":
                told.add(number)
        return told

    first = arms()
    assert 10 < len(first) < 40
    node.cli("rollout", "set", app, HOST, "--percent", "60", "--whitelist", install_id(999))
    assert arms() > first
    node.cli("rollout", "set", app, HOST, "--seed", "install_id")
    rollout = node.api.get(f"/v1/apps/{app}/hosts/{HOST}").json["rollout"]
    assert rollout["seed"] == ["install_id"] and rollout["basis_points"] == 6000 and len(rollout["whitelist"]) == 1
    assert "there is no rollout yet" in node.cli("rollout", "set", app, "--seed", "user_id", status=2).stderr
    node.cli("rollout", "set", app, HOST, "--clear", "--reason", "all")
    assert "rollout" not in node.api.get(f"/v1/apps/{app}/hosts/{HOST}").json


def test_the_library_depends_on_nothing_of_the_server():
    package = json.loads(subprocess.run(["swift", "package", "dump-package"], cwd=handbook.ROOT, check=True, capture_output=True).stdout)
    targets = {each["name"]: each for each in package["targets"]}

    def closure(name: str) -> tuple[set[str], set[str]]:
        own, products = {name}, set()
        for each in targets[name]["dependencies"]:
            if "product" in each:
                products.add(each["product"][0])
                continue
            more, others = closure(next(iter(each.values()))[0])
            own |= more
            products |= others
        return own, products

    assert closure("PinledgerClient") == ({"PinledgerClient", "PinWire"}, {"Crypto"})
    own, products = closure("PinledgerClientNIO")
    assert own == {"PinledgerClient", "PinledgerClientNIO", "PinWire"}
    assert products == {"AsyncHTTPClient", "Crypto", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOTLS", "SwiftASN1", "X509"}
