"""Approvals with the approver's own key: made by file, by agent and by ssh-keygen, checked by the server and by ssh-keygen."""

import base64
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from people import Person, propose
from problems import expect_problem

SHOP = "com.example.signed.shop"
NAMESPACE = "pinledger-approval"


class Key:
    """An SSH key pair in a directory."""

    def __init__(self, home: Path, name: str, *, passphrase: str = "", kind: str = "ed25519"):
        self.file = home / name
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", name, "-f", self.file], check=True)
        self.line = (home / f"{name}.pub").read_text().strip()

    def sign(self, statement: bytes, namespace: str = NAMESPACE) -> str:
        done = subprocess.run(
            ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", self.file], input=statement, check=True, capture_output=True)  # fmt: skip
        return done.stdout.decode()


@pytest.fixture(scope="module")
def admin(own_server):
    own_server.api.make_app(SHOP, "shop.example.com")
    own_server.api.server = own_server
    return own_server.api


@pytest.fixture(scope="module")
def people(admin):
    made = {
        "ada": Person(admin, "Ada", "editor"), "bob": Person(admin, "Bob", "approver"), "eve": Person(admin, "Eve", "approver"),
    }  # fmt: skip
    rule = {"apps": ["com.example.signed.*"], "approvals": 1, "permissions": ["apps.change"]}
    admin.must("PUT", "/v1/access/approval-rules/two-people", rule)
    return made


@pytest.fixture(scope="module")
def keys(admin, people, tmp_path_factory) -> dict[str, Key]:
    home = tmp_path_factory.mktemp("keys")
    made = {name: Key(home, name) for name in ("bob", "spare", "stranger")}
    for name in ("bob", "spare"):
        admin.must("POST", f"/v1/access/principals/{people['bob'].id}/approval-keys", {"public_key": made[name].line})
    made["home"] = home
    return made


@pytest.fixture
def change(people) -> dict:
    return people["ada"].api.must("GET", f"/v1/changes/{propose(people['ada'].api, f'/v1/apps/{SHOP}')['change_id']}").json


def statement(change: dict, person: Person) -> bytes:
    content = {"change_id": change["change_id"], "content_sha256": change["content_sha256"], "principal_id": person.id}
    return json.dumps(content, separators=(",", ":")).encode()


def approve(person: Person, change: dict, signature: str | None = None):
    body = {"content_sha256": change["content_sha256"]} | ({"signature": signature} if signature else {})
    return person.api.post(f"/v1/changes/{change['change_id']}/approve", body)


def command(admin, person: Person, *arguments: str, status: int = 0, **more):
    """A command with a person's token."""
    environment = admin.server.environment
    admin.server.environment = environment | {"PINLEDGER_TOKEN": person.api.token} | more
    try:
        return admin.server.cli(*arguments, "--server", f"http://127.0.0.1:{admin.port}", status=status)
    finally:
        admin.server.environment = environment


def test_a_signature_of_ssh_keygen_approves_and_is_verified_by_ssh_keygen(people, keys, change):
    bob = people["bob"]
    answer = approve(bob, change, keys["bob"].sign(statement(change, bob)))
    assert answer.status == 200, str(answer)
    [event] = [event for event in answer.json["events"] if event["type"] == "ChangeApproved"]
    # An auditor has the event and the person's public key, and no need for this program.
    blob = base64.b64decode(event["data"]["signature"]["sshsig"])
    home = keys["home"]
    (home / "allowed").write_text(f"{bob.id} namespaces=\"{NAMESPACE}\" {keys['bob'].line}\n")
    armored = base64.encodebytes(blob).decode()
    (home / "event.sig").write_text(f"-----BEGIN SSH SIGNATURE-----\n{armored}-----END SSH SIGNATURE-----\n")
    said = {"change_id": event["data"]["change_id"], "content_sha256": event["data"]["content_sha256"], "principal_id": bob.id}
    verify = ["ssh-keygen", "-Y", "verify", "-f", home / "allowed", "-I", bob.id, "-n", NAMESPACE, "-s", home / "event.sig"]
    subprocess.run(verify, input=json.dumps(said, separators=(",", ":")).encode(), check=True, capture_output=True)
    assert people["ada"].api.post(f"/v1/changes/{change['change_id']}/apply", {}).status == 200


def test_a_stolen_token_does_not_approve_without_the_key(admin, people, keys, change):
    bob = people["bob"]
    answer = approve(bob, change)
    expect_problem(answer, 403, "approval_unsigned")
    # Nor does it get a key of its own in.
    answer = bob.api.post(f"/v1/access/principals/{bob.id}/approval-keys", {"public_key": keys["stranger"].line})
    expect_problem(answer, 403, "permission_denied")
    for signature in (
        keys["stranger"].sign(statement(change, bob)),
        keys["bob"].sign(statement(change, bob), "file"),
        keys["bob"].sign(statement(change, bob) + b"\n"),
        keys["bob"].sign(statement(change, people["eve"])),
        keys["bob"].sign(statement(change | {"content_sha256": "0" * 64}, bob)),
        keys["bob"].sign(statement(change | {"change_id": "chg_0000000000000000"}, bob)),
    ):
        answer = approve(bob, change, signature)
        expect_problem(answer, 422, "approval_signature_invalid")
    # Another person's signature is of no use to Eve, who has no key and approves without one.
    answer = approve(people["eve"], change, keys["bob"].sign(statement(change, bob)))
    expect_problem(answer, 422, "approval_signature_invalid")
    assert admin.get(f"/v1/changes/{change['change_id']}").json["approvals"] == []


@pytest.mark.parametrize("signature", ["", "x", "-----BEGIN SSH SIGNATURE-----\n!\n-----END SSH SIGNATURE-----", "A" * 5000, 7, []])
def test_a_text_that_is_no_signature_is_refused(people, change, signature):
    answer = people["bob"].api.post(
        f"/v1/changes/{change['change_id']}/approve", {"content_sha256": change["content_sha256"], "signature": signature})  # fmt: skip
    expect_problem(answer, 422, "invalid_value")
    assert answer.json["errors"][0]["pointer"] == "/signature"


def test_a_removed_key_counts_no_more(admin, people, keys, change):
    bob, path = people["bob"], f"/v1/access/principals/{people['bob'].id}/approval-keys"
    third = Key(keys["home"], f"third-{change['change_id']}")
    admin.must("POST", path, {"public_key": third.line})
    assert approve(bob, change, third.sign(statement(change, bob))).status == 200
    [kid] = [
        approval["signature"]["kid"] for approval in admin.get(f"/v1/changes/{change['change_id']}").json["approvals"]
    ]  # fmt: skip
    assert admin.request("DELETE", f"{path}/{kid}").status == 200
    answer = people["ada"].api.post(f"/v1/changes/{change['change_id']}/apply", {})
    expect_problem(answer, 409, "approvals_missing")
    assert approve(bob, change, keys["spare"].sign(statement(change, bob))).status == 200
    assert people["ada"].api.post(f"/v1/changes/{change['change_id']}/apply", {}).status == 200


def test_a_key_belongs_to_one_person(admin, people, keys):
    taken = admin.post(f"/v1/access/principals/{people['eve'].id}/approval-keys", {"public_key": keys["bob"].line})
    expect_problem(taken, 409, "approval_key_taken")
    again = admin.post(f"/v1/access/principals/{people['bob'].id}/approval-keys", {"public_key": keys["bob"].line})
    assert again.status == 200 and again.json["events"] == []
    ecdsa = Key(keys["home"], "ecdsa", kind="ecdsa")
    answer = admin.post(f"/v1/access/principals/{people['eve'].id}/approval-keys", {"public_key": ecdsa.line})
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, "/public_key")
    gone = admin.request("DELETE", f"/v1/access/principals/{people['bob'].id}/approval-keys/none")
    expect_problem(gone, 404, "approval_key_unknown")


def test_the_command_signs_with_a_file(admin, people, keys, change):
    bob, id = people["bob"], change["change_id"]
    wrong = command(admin, bob, "change", "approve", id, "--content", "0" * 64, "--key-file", str(keys["bob"].file), status=6)
    assert f"the change's content is {change['content_sha256']}, not {'0' * 64}" in wrong.stderr
    command(admin, bob, "change", "approve", id, "--content", change["content_sha256"], "--key-file", str(keys["bob"].file))
    assert "approved, signed" in command(admin, bob, "change", "show", id).stdout


def test_the_command_signs_by_agent(admin, people, keys, change):
    bob, id, digest = people["bob"], change["change_id"], change["content_sha256"]
    locked = Key(keys["home"], f"locked-{id}", passphrase="secret word")
    admin.must("POST", f"/v1/access/principals/{bob.id}/approval-keys", {"public_key": locked.line})
    refused = command(admin, bob, "change", "approve", id, "--content", digest, "--key-file", str(locked.file), status=2)
    assert "ssh-add" in refused.stderr
    socket = str(keys["home"] / f"agent-{id}")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    try:
        known = {"SSH_AUTH_SOCK": socket}
        # It says 1 where it has no keys, and 2 where it does not answer yet.
        while subprocess.run(["ssh-add", "-l"], env=os.environ | known, capture_output=True).returncode == 2:
            assert agent.poll() is None
            time.sleep(0.02)
        empty = command(admin, bob, "change", "approve", id, "--content", digest, "--ssh-agent", status=1, **known)
        assert "none of your approval keys" in empty.stderr
        (ask := keys["home"] / "ask").write_text("#!/bin/sh\necho secret word\n")
        ask.chmod(0o755)
        unlocked = os.environ | known | {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
        for key in (keys["stranger"], locked):
            subprocess.run(["ssh-add", "-q", key.file], env=unlocked, check=True, capture_output=True)
        command(admin, bob, "change", "approve", id, "--content", digest, "--ssh-agent", **known)
    finally:
        agent.terminate()
        agent.wait()
    gone = command(admin, bob, "change", "approve", id, "--content", digest, "--ssh-agent", status=1, SSH_AUTH_SOCK=socket)
    assert "does not answer" in gone.stderr
    [approval] = admin.get(f"/v1/changes/{id}").json["approvals"]
    [kid] = [key["kid"] for key in admin.get(f"/v1/access/principals/{bob.id}").json["approval_keys"] if key["kid"] == approval["signature"]["kid"]]
    admin.request("DELETE", f"/v1/access/principals/{bob.id}/approval-keys/{kid}")


def test_a_key_on_another_machine_signs_what_the_command_prints(admin, people, keys, change):
    bob, id = people["bob"], change["change_id"]
    printed = command(admin, bob, "change", "approve", id, "--statement").stdout
    assert printed.encode() == statement(change, bob)
    (file := keys["home"] / f"{id}.sig").write_text(keys["bob"].sign(printed.encode()))
    command(admin, bob, "change", "approve", id, "--content", change["content_sha256"], "--signature", str(file))
    assert admin.get(f"/v1/changes/{id}").json["approvals"][0]["signature"]["kid"]


def test_a_rule_for_signed_approvals_binds_those_without_a_key(admin, people, keys):
    rule = {"apps": [SHOP], "approvals": 1, "permissions": ["apps.change"], "signed": True}
    people_with_keys = [one for one in admin.get("/v1/access/principals").json["principals"] if one.get("approval_keys")]
    assert [one["principal_id"] for one in people_with_keys] == [people["bob"].id]
    admin.must("PUT", "/v1/access/approval-rules/signed", rule)
    assert "1, signed" in admin.server.cli("access", "rule", "list").stdout
    change = people["ada"].api.get(f"/v1/changes/{propose(people['ada'].api, f'/v1/apps/{SHOP}')['change_id']}").json
    # Eve's counts for the other rule, and Bob's for both.
    assert approve(people["eve"], change).status == 200
    answer = people["ada"].api.post(f"/v1/changes/{change['change_id']}/apply", {})
    assert [need["rule"] for need in answer.json["approvals_needed"]] == ["signed"]
    assert approve(people["bob"], change, keys["bob"].sign(statement(change, people["bob"]))).status == 200
    assert people["ada"].api.post(f"/v1/changes/{change['change_id']}/apply", {}).status == 200
    assert admin.request("DELETE", "/v1/access/approval-rules/signed").status == 200


def test_the_ledger_with_signed_approvals_verifies(admin, keys):
    report = json.loads(admin.server.cli("fsck", "--database", admin.server.connection_string, "--output", "json").stdout)
    assert report["finding_count"] == 0 and report["events"] > 30


def test_a_key_is_added_and_removed_by_command(admin, people, tmp_path):
    eve = people["eve"]
    key = Key(tmp_path, "eve")
    admin.server.cli("access", "approval-key", "add", eve.id, "--key-file", f"{key.file}.pub", "--reason", "her laptop")
    [known] = admin.get(f"/v1/access/principals/{eve.id}").json["approval_keys"]
    assert known["kid"] in admin.server.cli("access", "show", eve.id).stdout
    refused = admin.server.cli("access", "approval-key", "add", eve.id, "--key-file", str(key.file), status=2)
    assert "ends in .pub" in refused.stderr
    admin.server.cli("access", "approval-key", "remove", eve.id, known["kid"])
    assert "approval_keys" not in admin.get(f"/v1/access/principals/{eve.id}").json
