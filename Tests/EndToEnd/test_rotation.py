"""A key is replaced on a real TLS server, with curl as the client that pins what the document says."""

import base64
import json
import subprocess

import pytest
from pinledger import Server, eventually
from problems import expect_problem
from tls_server import Key, TLSServer, curl, serving

HOST = "api.example.com"
# Seconds until an older document is stale.
LIFETIME = 3600


@pytest.fixture(scope="module")
def node():
    with serving(HOST, LIFETIME, has_clock=True) as server:
        yield server


class World:
    """One app with one host, its server and the keys there are."""

    def __init__(self, node: Server, directory, name: str):
        self.node, self.app = node, f"com.example.{name}"
        self.old, self.next, self.spare = (Key(directory, key, HOST) for key in ("old", "next", "spare"))
        self.server = TLSServer(self.old)
        self.endpoint = f"{HOST}:{self.server.port}"
        node.cli("app", "create", self.app)
        node.cli("host", "add", self.app, HOST, "--primary", str(self.old.certificate), "--backup", str(self.spare.request))
        node.api.must("PATCH", f"/v1/apps/{self.app}/hosts/{HOST}", {"endpoints": [self.endpoint]})
        self.probe()

    def fetch(self) -> list[str]:
        """The pins a client gets."""
        document = self.node.api.document(self.app).body.decode().split(".")[1]
        payload = json.loads(base64.urlsafe_b64decode(document + "=" * (-len(document) % 4)))
        return [f"{pin['alg']}/{pin['spki']}" for pin in payload["hosts"][0]["baseline"]["pins"]]

    def connects(self, pins: list[str]) -> bool:
        status = curl(HOST, self.server.port, pins)
        assert status in (0, 90), f"curl ended with {status}"
        return status == 0

    def probe(self) -> str:
        return self.node.cli("probe", self.endpoint).stdout

    def start(self, *more: str, settling: str = "20m") -> None:
        self.node.cli(
            "rotation", "start", self.app, HOST, "--name", "r", "--next", str(self.next.request), "--minimum-wait", "10m",
            "--sufficient-wait", "10m", "--settling", settling, *more,
        )  # fmt: skip

    def status(self) -> dict:
        return self.node.api.get(f"/v1/apps/{self.app}/rotations/r").json

    def advance(self, *more: str, fails: bool = False) -> subprocess.CompletedProcess:
        return self.node.cli("rotation", "advance", self.app, "r", *more, status=3 if fails else 0)

    def wait_until_ready(self) -> None:
        assert not self.status()["ready"]
        self.node.forward(hours=2)
        eventually(lambda: self.status()["ready"], "a rotation that may go on")

    def overridden(self) -> list[tuple[str, str, list[str]]]:
        """Who insisted, why, and on what."""
        events = self.node.api.history(f"/v1/apps/{self.app}/history")
        return [
            (event["actor"]["name"], event["reason"], [finding["code"] for finding in event["data"]["findings"]])
            for event in events
            if event["type"] == "GuardRailsOverridden"
        ]


@pytest.fixture
def world(node, tmp_path, request):
    world = World(node, tmp_path, request.node.name.replace("_", "-")[:60])
    yield world
    world.server.close()


def test_a_rotation_in_the_right_order_locks_nobody_out(world):
    assert "not seen before" not in world.probe()
    assert world.connects(world.fetch())

    world.start(settling="1h")
    lagging = world.fetch()
    assert world.next.pin in lagging and world.connects(lagging)
    early = world.advance(fails=True)
    assert "G10" in early.stderr, early.stderr
    assert world.status()["waits_for"][0]["met"] == "no"

    world.wait_until_ready()
    world.advance("--from", "deliver")
    assert world.status()["phase"] == "switch"

    # What the probes saw last is the old key.
    unseen = world.advance(fails=True)
    assert "G43" in unseen.stderr, unseen.stderr
    world.server.serve(world.next)
    assert world.connects(lagging) and world.connects(world.fetch())
    assert world.next.pin in world.probe()
    world.advance("--from", "switch")
    roles = {pin["pin"]: pin["role"] for pin in world.node.api.get(f"/v1/apps/{world.app}/hosts/{HOST}").json["baseline"]["pins"]}
    assert roles[world.next.pin] == "primary" and roles[world.old.pin] == "backup"

    soon = world.advance("--reason", "the old key is out of service", fails=True)
    assert "G11" in soon.stderr, soon.stderr
    world.wait_until_ready()
    world.advance("--from", "settle", "--reason", "the old key is out of service")
    assert world.old.pin not in world.fetch()
    assert world.connects(world.fetch()) and world.connects(lagging)

    # Until the last document with the old key is stale, the old key is not to be destroyed.
    assert "G11" in world.advance(fails=True).stderr
    world.wait_until_ready()
    world.advance("--from", "clean_up")
    assert world.status()["phase"] == "done"
    assert world.overridden() == []


def test_a_step_forced_too_early_breaks_what_the_rail_said_it_would(world):
    lagging = world.fetch()
    world.start()
    assert world.advance(fails=True)
    # Without a reason there is no insisting.
    assert world.advance("--force", fails=True)
    world.advance("--force", "--reason", "the certificate expires tonight")
    assert world.overridden() == [("first admin", "the certificate expires tonight", ["G10"])]

    world.server.serve(world.next)
    assert not world.connects(lagging), "the rail was wrong"
    assert world.connects(world.fetch())


def test_the_old_key_cannot_go_while_it_is_served(world):
    target = f"/v1/apps/{world.app}/hosts/{HOST}/pins/{base64.b64decode(world.old.pin[7:]).hex()}"
    world.node.cli("pin", "add", world.app, HOST, str(world.next.request))
    change = {"state": "retired", "reason": "tidying up"}
    refused = world.node.api.request("PATCH", target, change)
    expect_problem(refused, 422, "guard_rail")
    codes = {(finding["code"], finding["severity"]) for finding in refused.json["guard_rail_findings"]}
    assert ("G08", "block") in codes and ("G07", "override") in codes
    forced = world.node.api.request("PATCH", target, change | {"force": True})
    assert forced.status == 422, "what would lock everybody out is never forced"
    assert world.connects(world.fetch())


def test_a_compromised_key_goes_as_soon_as_the_next_is_served(world):
    world.node.cli(
        "rotation", "start", world.app, HOST, "--name", "r", "--next", str(world.next.certificate), "--emergency",
        "--reason", "the key was in a backup that is gone",
    )  # fmt: skip
    assert world.status()["phase"] == "switch"
    assert world.advance("--reason", "stolen", fails=True)
    world.server.serve(world.next)
    world.probe()
    world.advance("--reason", "stolen")
    assert world.connects(world.fetch())
    host = world.node.api.get(f"/v1/apps/{world.app}/hosts/{HOST}").json
    states = {pin["pin"]: pin["state"] for pin in host["baseline"]["pins"]}
    assert states[world.old.pin] == "revoked"
    world.server.serve(world.old)
    assert not world.connects(world.fetch()), "the stolen key is accepted"


def test_a_rotation_goes_on_after_the_server_was_killed_at_each_step(world):
    def killed():
        world.node.kill()
        world.node.start()

    world.start()
    killed()
    assert world.status()["phase"] == "deliver"
    world.wait_until_ready()
    world.advance()
    killed()
    assert world.status()["phase"] == "switch"
    world.server.serve(world.next)
    world.probe()
    killed()
    # What was seen before is known after.
    assert world.status()["ready"], world.status()
    world.advance()
    killed()
    assert world.status()["phase"] == "settle"
    world.wait_until_ready()
    world.advance("--reason", "done with")
    killed()
    world.wait_until_ready()
    world.advance()
    assert world.status()["phase"] == "done" and world.overridden() == []
    assert world.connects(world.fetch())


def test_a_rotation_can_be_aborted(world):
    world.start()
    world.node.cli("rotation", "abort", world.app, "r", "--reason", "the wrong key")
    assert world.status()["phase"] == "aborted"
    assert world.next.pin not in world.fetch()
    assert world.connects(world.fetch())


def test_a_rotation_does_exactly_what_its_dry_run_showed(world):
    target = f"/v1/apps/{world.app}/rotations"
    body = {"rotation": "r", "hosts": [HOST], "next": {"material": world.next.request.read_text()}}
    shown = world.node.api.must("POST", f"{target}?dry_run=true", body).json
    done = world.node.api.request("POST", f"{target}?plan_hash={shown['plan_hash']}", body)
    assert done.status in (200, 201), done
    assert world.status()["phase"] == "deliver"


def test_a_rotation_to_the_only_backup_names_its_later_obstacle(world):
    target = f"/v1/apps/{world.app}/rotations"
    started = world.node.api.must("POST", target, {"rotation": "r", "hosts": [HOST], "next": {"pin": world.spare.pin}}).json
    assert "G02" in [finding["code"] for finding in started["guard_rail_findings"]]
    for why in ["too early, to see", "too early, to see", "again"]:
        status = world.status()
        if "obstacle" in status:
            break
        world.node.cli("rotation", "advance", world.app, "r", "--force", "--reason", why)
    assert status["phase"] == "settle" and status["obstacle"]["type"] == "/problems/too_few_pins", status
    assert "Not possible" in world.node.cli("rotation", "status", world.app, "r").stdout


def test_certificates_and_keys_are_shown_with_their_pins(world):
    pins = {pin["pin"]: pin for pin in world.node.api.get(f"/v1/apps/{world.app}/hosts/{HOST}").json["baseline"]["pins"]}
    assert pins[world.old.pin]["certificates"][0]["dns_names"] == [HOST]
    assert pins[world.spare.pin]["request_seen"] is True


def test_a_private_key_is_refused_before_it_leaves_the_machine(world):
    done = world.node.cli("pin", "add", world.app, HOST, str(world.next.key), status=2)
    assert "private key" in done.stderr, done
    answer = world.node.api.request("POST", f"/v1/apps/{world.app}/hosts/{HOST}/pins", {"material": world.next.key.read_text(), "role": "backup"})
    assert answer.status == 422 and "private key" in answer.json["errors"][0]["detail"], answer
    assert "BEGIN" not in answer.body.decode()
