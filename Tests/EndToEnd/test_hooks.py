"""Certificates that ACME clients renew with new keys, while curl connects with the pins of documents, old ones included."""

import contextlib
import json
import os
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from names import unique
from people import Person
from pinledger import API, eventually, free_port
from problems import expect_problem
from renewals import GOALS, HOST, World, named
from tls_server import Key


@pytest.fixture
def world(brief_server, tmp_path, request):
    role = "admin" if "insisted" in request.node.name else "editor"
    with contextlib.closing(World(brief_server, tmp_path, unique("renewed"), role)) as world:
        yield world


def again(key: Key, path: Path) -> Path:
    """Another certificate of a key."""
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "47", "-key", key.key, "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-out", path],
        check=True, capture_output=True,
    )  # fmt: skip
    return path


def test_renewals_with_new_keys_lock_nobody_out(world, tmp_path):
    # The key that is pinned and served: nothing has to wait.
    said = world.hook(*world.deploy, *named(world.old))
    assert "serves the certificate" in said and world.serves(world.old.certificate) and world.phases() == []
    first, second = (Key(tmp_path, name, HOST, days=47) for name in ("first", "second"))
    said = world.hook(*world.deploy, *named(first))
    assert "publishes the next key" in said and "clients have the next key" in said and world.serves(world.old.certificate)
    # The ACME client runs its hook again, and renews once more: it changes nothing, and waits for its turn.
    world.hook(*world.deploy, *named(first))
    world.hook(*world.deploy, *named(second))
    assert world.phases() == ["deliver"] and world.serves(world.old.certificate)
    assert world.deployment()["next"]["pin"] == second.pin
    assert f"rotation {world.deployment()['current']['rotation']}" in world.hook("hook", "status", str(world.tls))
    # What may change another host of the app ends no phase of this one.
    grant = {"role": "admin", "apps": [world.app], "hosts": ["www.example.com"]}
    elsewhere = API(world.node.port, world.node.api.must("POST", "/v1/tokens", {"name": "elsewhere", "grants": [grant]}).json["token"])
    rotation = f"/v1/apps/{world.app}/rotations/{world.deployment()['current']['rotation']}"
    for action, body in (("advance", {}), ("advance", {"force": True, "reason": "test"}), ("abort", {"reason": "test"})):
        refused = elsewhere.post(f"{rotation}/{action}", body)
        expect_problem(refused, 403, "permission_denied")
    # Nor does it by a change that its owner has proposed with other rights.
    owner = Person(world.node.api, "owner", "admin", world.app)
    limited = world.node.api.must("POST", "/v1/tokens", {"name": "limited", "principal_id": owner.id, "grants": [grant]}).json
    for action, body in (("advance", {"force": True, "reason": "test"}), ("abort", {"reason": "test"})):
        change = owner.api.must("POST", f"{rotation}/{action}?change=new", body).json["change_id"]
        applied = API(world.node.port, limited["token"]).post(f"/v1/changes/{change}/apply", {})
        expect_problem(applied, 403, "permission_denied")
    # A certificate that soon ends is reported while the next one waits.
    assert "waits for the rotation" in world.resume("--alarm", "100d", status=3)

    world.resume_until(lambda: world.serves(first.certificate), "the first renewal")
    world.resume_until(lambda: world.serves(second.certificate), "the second renewal")
    world.resume_until(lambda: "current" not in world.deployment(), "the end of the rotation")
    assert world.phases() == ["done", "done"]
    roles = {pin["pin"]: pin["role"] for pin in world.node.api.get(f"/v1/apps/{world.app}/hosts/{HOST}").json["baseline"]["pins"] if pin["state"] == "active"}
    assert roles == {second.pin: "primary", world.spare.pin: "backup"}
    # The old key is there until its rotation is over, and one release longer.
    assert len(list((world.tls / "releases").iterdir())) == 2 and world.connections > 100
    assert not [one for one in world.node.api.history(f"/v1/apps/{world.app}/history") if one["type"] == "GuardRailsOverridden"]


def test_a_renewal_with_the_served_key_needs_no_server(world, tmp_path):
    world.hook(*world.deploy, *named(world.old))
    renewed = again(world.old, tmp_path / "again.pem")
    away = [f"http://127.0.0.1:{free_port()}" if one == world.url else one for one in world.deploy]
    world.hook(*away, "--certificate", str(renewed), "--key", str(world.old.key))
    assert world.serves(renewed)
    # Another key does need it, and waits.
    other = Key(tmp_path, "other", HOST)
    assert "reached" in world.hook(*away, *named(other), status=8)
    assert world.serves(renewed) and world.deployment()["current"]["pin"] == other.pin


def test_a_command_that_fails_is_run_again(world):
    failing = [one if not one.startswith("echo") else "echo broken configuration; exit 7" for one in world.deploy]
    said = world.hook(*failing, *named(world.old), status=1)
    assert "broken configuration" in said and "(7)" in said and world.deployment()["command_due"] is True
    assert "has not succeeded" in world.hook("hook", "status", str(world.tls))
    world.resume(status=1)
    world.hook(*world.deploy, *named(world.old))
    assert world.deployment()["command_due"] is False


def test_the_end_of_the_served_certificate_can_be_insisted_on(world, tmp_path):
    world.hook(*world.deploy, *named(world.old))
    key = Key(tmp_path, "urgent", HOST)
    world.stop.set()
    world.clients.join(30)
    # No client of this test has the next key yet: it would be refused.
    world.hook(*world.deploy, "--insist-before", "100d", *named(key))
    assert world.serves(key.certificate)
    [event] = [one for one in world.node.api.history(f"/v1/apps/{world.app}/history") if one["type"] == "GuardRailsOverridden"]
    assert event["reason"].startswith("the served certificate ends at")


def expired(key: Key, path: Path) -> Path:
    """A certificate of a key that ended in 2021."""
    secret = serialization.load_pem_private_key(key.key.read_bytes(), None)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    builder = x509.CertificateBuilder(name, name, secret.public_key(), 1, datetime(2020, 1, 1), datetime(2021, 1, 1))
    certificate = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), False).sign(secret, hashes.SHA256())
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path


FAULTS = ["no key", "another key", "open key", "no certificate", "a key in it", "another name", "over", "nothing named", "not a link", "damaged state",
          "open directory", "open parent", "linked state"]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_defective_certificate_is_refused_and_changes_nothing(world, tmp_path, fault):
    other = Key(tmp_path, "other", HOST)
    world.hook(*world.deploy, *named(world.old))
    certificate, key, status = other.certificate, other.key, 2
    if fault == "no key":
        key = tmp_path / "missing"
    elif fault == "another key":
        key = world.old.key
    elif fault == "open key":
        key.chmod(0o644)
    elif fault == "no certificate":
        certificate = other.request
    elif fault == "a key in it":
        certificate = tmp_path / "both.pem"
        certificate.write_bytes(other.key.read_bytes() + other.certificate.read_bytes())
    elif fault == "another name":
        other = Key(tmp_path, "elsewhere", "www.example.com")
        certificate, key = other.certificate, other.key
    elif fault == "over":
        certificate = expired(other, tmp_path / "expired.pem")
    elif fault == "open directory":
        world.tls.chmod(0o777)
    elif fault == "open parent":
        world.tls.parent.chmod(0o777)
    elif fault == "linked state":
        (world.tls / "deployment.json").rename(tmp_path / "state")
        (world.tls / "deployment.json").symlink_to(tmp_path / "state")
    elif fault == "not a link":
        (world.tls / "live").unlink()
        (world.tls / "live").mkdir()
        certificate, key, status = world.old.certificate, world.old.key, 3
    elif fault == "damaged state":
        (world.tls / "deployment.json").write_text("{")
        status = 1
    live, state = os.readlink(world.tls / "live") if fault != "not a link" else None, (world.tls / "deployment.json").read_bytes()
    arguments = [] if fault == "nothing named" else ["--certificate", str(certificate), "--key", str(key)]
    world.hook(*world.deploy, *arguments, status=status)
    assert world.phases() == []
    if live:
        assert (os.readlink(world.tls / "live"), (world.tls / "deployment.json").read_bytes()) == (live, state)


def test_a_key_that_people_rotate_to_is_served_with_their_rotation(world, tmp_path):
    world.hook(*world.deploy, *named(world.old))
    key = Key(tmp_path, "by-hand", HOST)
    world.node.cli("rotation", "start", world.app, HOST, "--name", "by-hand", "--next", str(key.certificate), *GOALS)
    assert "by-hand is in the phase deliver" in world.hook(*world.deploy, *named(key))
    world.resume_until(lambda: world.phases() != ["deliver"] and world.serves(key.certificate), "the certificate")
    world.resume_until(lambda: "current" not in world.deployment(), "the end of the rotation")
    assert world.phases() == ["done"]


def test_a_rotation_that_others_force_on_is_followed(world, tmp_path):
    world.hook(*world.deploy, *named(world.old))
    world.hook(*world.deploy, "--certificate", str(again(world.old, tmp_path / "again.pem")), "--key", str(world.old.key))
    key, other = Key(tmp_path, "forced", HOST), Key(tmp_path, "other", HOST)
    world.hook(*world.deploy, *named(key))
    rotation = world.deployment()["current"]["rotation"]
    world.hook(*world.deploy, *named(other))
    # So that every client has the key.
    eventually(lambda: world.node.api.get(f"/v1/apps/{world.app}/rotations/{rotation}").json["ready"], "the gate")
    for _ in range(2):
        world.node.cli("rotation", "advance", world.app, rotation, "--force", "--reason", "test")
    assert world.phases() == ["settle"] and world.serves(tmp_path / "again.pem")
    world.resume()
    assert world.serves(key.certificate)
    # What was served before stays, with its key, as long as the rotation goes on: also after a renewal with the same key.
    before = world.deployment()["previous"]
    world.hook(*world.deploy, "--certificate", str(again(key, tmp_path / "same.pem")), "--key", str(key.key))
    assert world.deployment()["previous"] == before and (world.tls / "releases" / before / "privkey.pem").read_bytes() == world.old.key.read_bytes()
    assert "Dropped" in world.hook("hook", "drop", str(world.tls)) and world.deployment()["current"]["pin"] == other.pin
    assert "waits" in world.resume() and world.serves(tmp_path / "same.pem")


def test_a_rotation_that_is_aborted_after_the_switch_is_undone(world, tmp_path):
    world.hook(*world.deploy, *named(world.old))
    key = Key(tmp_path, "undone", HOST)
    world.hook(*world.deploy, *named(key))
    rotation = world.deployment()["current"]["rotation"]
    eventually(lambda: world.node.api.get(f"/v1/apps/{world.app}/rotations/{rotation}").json["ready"], "the gate")
    world.node.cli("rotation", "advance", world.app, rotation)
    world.tls.joinpath("deployment.json").write_text(json.dumps(world.deployment() | {"command": f"echo >> {world.home}/reloads; false"}))
    # Its server never reports the new key: the phase does not end by itself.
    assert "failed" in world.resume(status=1) and world.serves(key.certificate) and world.deployment()["command_due"] is True
    world.node.cli("rotation", "abort", world.app, rotation, "--keep-next", "--reason", "test")
    world.tls.joinpath("deployment.json").write_text(json.dumps(world.deployment() | {"command": f"echo >> {world.home}/reloads"}))
    said = world.resume(status=3)
    assert "serves again the certificate from before" in said and "was aborted" in said and world.serves(world.old.certificate)
    world.hook("hook", "drop", str(world.tls))
    world.resume()


def test_the_backup_of_an_emergency_is_served_and_its_phases_are_for_people(world):
    world.hook(*world.deploy, *named(world.old))
    world.node.cli("rotation", "start", world.app, HOST, "--name", "now", "--emergency", "--next", world.spare.pin, "--reason", "leaked")
    certificate = again(world.spare, world.home / "spare-new.pem")
    said = world.hook(*world.deploy, "--certificate", str(certificate), "--key", str(world.spare.key))
    assert "serves the certificate" in said and world.serves(certificate)
    world.resume()
    assert world.phases() == ["switch"] and world.deployment()["current"]["rotation"] == "now"


def test_an_aborted_rotation_and_a_missed_hook_are_noticed(world, tmp_path):
    source = [tmp_path / "acme.pem", tmp_path / "acme.key"]

    def renew(key: Key) -> None:
        source[0].write_bytes(key.certificate.read_bytes())
        source[1].touch(0o600)
        source[1].write_bytes(key.key.read_bytes())

    def given() -> list[str]:
        return ["--certificate", str(source[0]), "--key", str(source[1])]

    renew(world.old)
    world.hook(*world.deploy, *given())
    # The ACME client renews, and its hook does not run to its end.
    missed = Key(tmp_path, "missed", HOST, days=100)
    renew(missed)
    assert "publishes the next key" in world.resume()
    rotation = world.deployment()["current"]["rotation"]
    world.node.cli("rotation", "abort", world.app, rotation, "--reason", "test")
    assert "was aborted" in world.resume(status=3) and world.serves(world.old.certificate)
    world.hook("hook", "drop", str(world.tls))
    world.resume()
    # What is there no longer is reported, also where nothing waits.
    assert "no other one waits" in world.resume("--alarm", "200d", status=3)
    (world.tls / "releases" / os.readlink(world.tls / "live").split("/")[-1]).rename(tmp_path / "gone")
    assert "no certificate that can be read" in world.resume(status=3)
    world.hook(*world.deploy, *named(world.old))
    assert world.serves(world.old.certificate)
