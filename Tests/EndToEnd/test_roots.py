"""The root of trust: a ceremony of people with offline keys, and servers, edges and apps that follow it."""

import base64
import hashlib
import json
import subprocess
from datetime import datetime, timezone

import pytest
from ceremony import Ceremony, Thief, run
from client_apps import World
from edges import Edge, Liar, answer, key_file, rename
from pinledger import BINARY, Server, canonical, eventually
from problems import expect_problem
from securesystemslib.signer import CryptoSigner, SSlibKey
from tls_server import openssl
from tuf.api.exceptions import DownloadHTTPError, UnsignedMetadataError
from tuf.api.metadata import Metadata, Root
from tuf.api.serialization import DeserializationError
from tuf.ngclient import Updater

HOST = "api.example.com"


@pytest.fixture
def rooted_server():
    made = Server(has_clock=True).start()
    yield made
    made.destroy()


@pytest.fixture
def ceremony(rooted_server, tmp_path):
    return Ceremony(tmp_path, rooted_server)


@pytest.fixture
def world(rooted_server, tmp_path):
    home = tmp_path / "app"
    home.mkdir()
    made = World(rooted_server, home, "com.example.rooted")
    yield made
    made.server.close()


def test_the_reference_implementation_of_tuf_takes_a_root_that_was_made_here(ceremony):
    path = ceremony.draft()
    root = Metadata[Root].from_file(str(path))
    root.verify_delegate(Root.type, root)
    assert root.signed.version == 1 and root.signed.expires == datetime(2036, 1, 1, tzinfo=timezone.utc)
    assert len(root.signed.get_delegated_role("targets").keyids) == len(ceremony.key_set())
    second = Metadata[Root].from_file(str(ceremony.draft(signers=("bob", "cleo"))))
    root.verify_delegate(Root.type, second)
    with pytest.raises(UnsignedMetadataError):
        root.verify_delegate(Root.type, Metadata[Root].from_file(str(ceremony.draft(signers=("bob", "eve")))))


def test_a_root_that_another_tool_has_made_and_signed_is_published(ceremony, tmp_path):
    signers = [CryptoSigner.generate_ed25519() for _ in range(2)]
    root = Root(version=1, expires=datetime(2036, 1, 1, tzinfo=timezone.utc))
    for signer in signers:
        root.add_key(signer.public_key, Root.type)
    root.roles["root"].threshold = 2
    [jwk] = ceremony.key_set()
    raw = base64.urlsafe_b64decode(jwk["x"] + "=").hex()
    identity = {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": raw}}
    keyid = hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    root.add_key(SSlibKey(keyid, "ed25519", "ed25519", {"public": raw}), "targets")
    metadata = Metadata(root)
    for signer in signers:
        metadata.sign(signer, append=True)
    path = tmp_path / "tuf.json"
    metadata.to_file(str(path))
    assert "It is signed by enough of its own keys." in run("root", "check", path)
    ceremony.server.cli("root", "publish", str(path), "--reason", "made elsewhere")
    served = ceremony.server.api.get("/client/v1/root.json")
    assert served.status == 200 and Metadata[Root].from_bytes(served.body).signed.version == 1


def test_a_tuf_client_that_is_pointed_at_the_server_follows_the_roots(ceremony, tmp_path):
    first = ceremony.publish()
    ceremony.new_key()
    ceremony.publish()
    third = ceremony.publish(expires="2037-01-01")
    updater = Updater(
        str(tmp_path / "tuf"), f"http://127.0.0.1:{ceremony.server.api.port}/client/v1/roots/", bootstrap=first.read_bytes()
    )  # fmt: skip
    with pytest.raises(DownloadHTTPError):
        # After the roots it looks for TUF's timestamps.
        updater.refresh()
    assert Metadata[Root].from_file(str(tmp_path / "tuf/root.json")).signed.version == 3
    assert ceremony.server.api.get("/client/v1/roots/3.root.json").body == third.read_bytes()
    for name in ("03.root.json", "3.root", "3.root.json.root.json", ".root.json"):
        assert ceremony.server.api.get(f"/client/v1/roots/{name}").status == 400, name


def test_a_root_that_some_tuf_tool_does_not_read_is_not_published(ceremony):
    path = ceremony.draft(signers=())
    file = json.loads(path.read_bytes())
    file["signed"]["roles"]["mirrors"] = {"keyids": [], "threshold": 1}
    path.write_bytes(canonical(file))
    for name in ("ada", "cleo"):
        run("root", "sign", path, "--key-file", ceremony.home / name)
    with pytest.raises(DeserializationError):
        Metadata[Root].from_file(str(path))
    assert "/signed/roles/mirrors" in run("root", "check", path, status=10)
    body = {"root": json.loads(path.read_bytes()), "reason": "a test"}
    expect_problem(ceremony.server.api.request("POST", "/v1/roots", body), 422, "invalid_value", "/root/signed/roles/mirrors")


def test_a_key_in_a_module_signs_what_the_payload_prints(ceremony, tmp_path):
    path = ceremony.draft(signers=("ada",))
    key, public, payload, signature = (tmp_path / name for name in ("hsm.pem", "hsm.pub", "payload", "hsm.sig"))
    openssl("genpkey", "-algorithm", "ed25519", "-out", str(key))
    openssl("pkey", "-in", str(key), "-pubout", "-out", str(public))
    payload.write_bytes(subprocess.run([BINARY, "root", "payload", path], capture_output=True, check=True).stdout)
    openssl("pkeyutl", "-sign", "-rawin", "-inkey", str(key), "-in", str(payload), "-out", str(signature))
    assert "The key is not in this root" in run("root", "sign", path, "--public-key", public, "--signature", signature)
    signature.write_bytes(bytes(64))
    assert "not one of this root" in run("root", "sign", path, "--public-key", public, "--signature", signature, status=10)


def test_roots_are_served_listed_and_recorded(ceremony):
    api = ceremony.server.api
    assert api.get("/client/v1/root.json").json["type"] == "/problems/root_unknown"
    first = ceremony.publish()
    ceremony.new_key()
    second = ceremony.publish()
    assert api.get("/client/v1/roots/1").body == first.read_bytes() and api.get("/client/v1/root.json").body == second.read_bytes()
    missing = api.get("/client/v1/roots/3")
    assert (missing.status, missing.headers["Cache-Control"]) == (404, "public, max-age=60")
    for text in ("0", "01", "-1", "x", "9007199254740992"):
        assert api.get(f"/client/v1/roots/{text}").status in (400, 404), text
    listed = api.get("/v1/roots").json["roots"]
    assert [root["version"] for root in listed] == [1, 2] and len(listed[1]["document_keys"]) == 2
    assert "2 of 3" in ceremony.server.cli("root", "list").stdout
    events = [event for event in api.get("/v1/history?type=RootPublished").json["events"]]
    assert [event["data"]["root"]["signed"]["version"] for event in events] == [2, 1] and events[0]["reason"] == "a test"


def test_a_small_token_publishes_no_root(ceremony):
    body = {"root": json.loads(ceremony.draft().read_bytes()), "reason": "mine"}
    for role in ("viewer", "editor", "approver", "auditor"):
        assert ceremony.server.api.holding(role).request("POST", "/v1/roots", body).status == 403
    assert ceremony.server.api.request("POST", "/v1/roots", body, token=None).status == 401
    assert ceremony.server.api.get("/v1/roots").json["roots"] == []


def test_a_root_that_too_few_have_signed_is_taken_by_nobody(ceremony, world, tmp_path):
    first = ceremony.publish()
    forged = ceremony.draft(signers=("ada", "eve"))
    answer_ = ceremony.server.api.request("POST", "/v1/roots", {"root": json.loads(forged.read_bytes()), "force": True, "reason": "x"})
    expect_problem(answer_, 422, "root_unsigned")
    assert "1 of 2" in answer_.json["detail"]
    thief, liar = Thief(), Liar()
    try:
        # A service in the thief's hands has the forged root, and a document of a key that is in it.
        liar.answers["/client/v1/roots/1"] = answer(200, first.read_bytes())
        liar.answers["/client/v1/roots/2"] = answer(200, forged.read_bytes())
        liar.documents[world.app] = thief.sign(ceremony.server.api.document(world.app).body, hosts=[])
        world.keys = first
        assert "no trust anchor" in world.fetch(service=f"http://127.0.0.1:{liar.port}", store=False, status=10)
        edge = Edge(tmp_path, liar.port, "x" * 40, first, "--upstream-interval", "1").start()
        try:
            eventually(lambda: "code=root_refused" in edge.log.read_text(), "the refusal")
            assert edge.api.get("/client/v1/roots/1").body == first.read_bytes()
            assert edge.api.get("/client/v1/roots/2").status == 404
        finally:
            edge.kill()
    finally:
        liar.close()


def test_a_stolen_key_is_revoked_without_an_app_release(ceremony, world):
    thief, liar = Thief(), Liar()
    try:
        world.keys = ceremony.publish(*ceremony.key_set(), thief.jwk, force=True)
        assert "matched" in world.fetch()
        # The thief controls what the install fetches for a while, and turns pinning off under a version that nothing comes after.
        document = ceremony.server.api.document(world.app).body
        liar.documents[world.app] = thief.sign(document, hosts=[], version=2**50)
        assert "unpinned" in world.fetch(service=f"http://127.0.0.1:{liar.port}")
        # An install that is cut off from everything else stays with that. With the next root it lets go of it.
        assert "older than the one" in world.fetch()
        ceremony.publish()
        assert "matched" in world.fetch()
        # Nor does the thief's document come back, or hold for a moment where the service is gone.
        assert "no trust anchor" in world.fetch(service=f"http://127.0.0.1:{liar.port}")
        assert "matched" in world.fetch(service="http://127.0.0.1:9")
    finally:
        liar.close()


def test_a_new_signing_key_reaches_apps_and_edges_with_the_next_root(ceremony, world, tmp_path):
    api = ceremony.server.api
    world.keys = shipped = ceremony.publish()
    world.fetch()
    reader = api.holding("viewer", name="edges")
    edge = Edge(tmp_path, ceremony.server.port, reader.token, shipped, "--upstream-interval", "1").start_ready()
    plain = Edge(
        tmp_path, edge.port, edge.token, key_file(ceremony.server, tmp_path / "jwks.json"), "--upstream-interval", "1", name="plain"
    ).start_ready()
    try:
        kid = ceremony.new_key()
        refused = api.request("POST", f"/v1/keys/{kid}/activate", {"reason": "too early"})
        assert refused.json["type"] in ("/problems/key_overlap", "/problems/guard_rail")
        ceremony.publish()
        ceremony.activate(kid)
        old = next(key["kid"] for key in api.get("/v1/keys").json["keys"] if key["state"] == "superseded")
        rename(api, world.app)
        edge.follows(api, world.app)
        assert {key["kid"] for key in edge.api.get("/client/v1/jwks.json").json["keys"]} == {kid, old}
        # An install that has not run since asks the edge, which has the roots too.
        assert "matched" in world.fetch(service=f"http://127.0.0.1:{edge.port}")
        # An edge that was started with a key set passes roots on, and trusts what is in its file.
        eventually(lambda: plain.api.get("/client/v1/roots/2").status == 200, "the root behind the edge")
        assert plain.refused("unknown_key") >= 1
        # What the edge has learned outlasts it, without an upstream.
        [active] = [key for key in ceremony.key_set() if key["kid"] == kid]
        ceremony.publish(active, force=True)
        eventually(lambda: edge.api.get("/client/v1/roots/3").status == 200, "the third root")
        body = edge.api.document(world.app).body
        eventually(lambda: edge.has_kept(body) and edge.has_kept(ceremony.file(3).read_bytes()), "the edge's disk")
        edge.kill()
        plain.kill()
        ceremony.server.stop()
        edge.start()
        assert edge.api.document(world.app).body == body and edge.api.get("/client/v1/root.json").body == ceremony.file(3).read_bytes()
        assert "matched" in world.fetch(service=f"http://127.0.0.1:{edge.port}", store=False)
    finally:
        for one in (edge, plain):
            if one.is_running:
                one.kill()


def test_a_stolen_key_is_revoked_by_the_commands_of_the_handbook(ceremony, world, tmp_path):
    api = ceremony.server.api
    reserve = ceremony.new_key()
    [stolen] = [key["kid"] for key in api.get("/v1/keys").json["keys"] if key["state"] == "active"]
    world.keys = shipped = ceremony.publish()
    world.fetch()
    edge = Edge(tmp_path, ceremony.server.port, api.holding("viewer", name="edges").token, shipped, "--upstream-interval", "1").start_ready()
    try:
        why = ("--force", "--reason", "it was stolen")
        ceremony.server.cli("key", "activate", reserve, *why)
        edge.follows(api, world.app)
        assert "matched" in world.fetch()
        keys = ceremony.keys(*ceremony.key_set())
        run("root", "draft", ceremony.file(2), "--after", ceremony.file(1), "--document-keys", keys, "--without", stolen)
        for name in ("ada", "cleo"):
            run("root", "sign", ceremony.file(2), "--key-file", ceremony.home / name)
        ceremony.server.cli("root", "publish", str(ceremony.file(2)), *why)
        eventually(lambda: edge.api.get("/client/v1/roots/2").status == 200, "the root at the edge")
        assert edge.api.document(world.app).status == 200
        ceremony.server.cli("key", "retire", stolen, *why)
        assert "matched" in world.fetch(store=False)
        assert api.get("/v1/roots").json["roots"][1]["document_keys"] == [reserve]
    finally:
        edge.kill()


def test_a_row_whose_keys_are_lost_begins_again_for_apps_that_ship_it(ceremony, world, tmp_path):
    old = ceremony.publish()
    for name in ("dora", "finn"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ceremony.home / name], check=True)
    new = ceremony.file(2)
    run("root", "draft", new, "--after", old, "--root-key", ceremony.home / "dora.pub", "--root-key", ceremony.home / "finn.pub", "--threshold", 2)
    for name in ("dora", "finn"):
        run("root", "sign", new, "--key-file", ceremony.home / name)
    refused = ceremony.server.cli("root", "publish", str(new), "--force", "--reason", "lost", status=3)
    assert "0 of 2 keys" in refused.stderr
    ceremony.server.cli("root", "publish", str(new), "--restart", "--reason", "lost", status=3)
    ceremony.server.cli("root", "publish", str(new), "--restart", "--force", "--reason", "lost")
    third = ceremony.file(3)
    run("root", "draft", third, "--after", new)
    for name in ("dora", "finn"):
        run("root", "sign", third, "--key-file", ceremony.home / name)
    ceremony.server.cli("root", "publish", str(third), "--reason", "goes on")
    reader = ceremony.server.api.holding("viewer", name="edges").token
    edges = [Edge(tmp_path, ceremony.server.port, reader, root, "--upstream-interval", "1", name=root.stem).start_ready() for root in (old, new)]
    try:
        for edge in edges:
            eventually(lambda edge=edge: edge.api.get("/client/v1/roots/3").body == third.read_bytes(), "the row")
            edge.follows(ceremony.server.api, world.app)
        for root in (old, new):
            world.keys = root
            assert "matched" in world.fetch(store=False, service=f"http://127.0.0.1:{edges[0].port}")
    finally:
        for edge in edges:
            edge.kill()


def test_an_edge_recovers_from_an_upstream_that_gave_it_false_roots(ceremony, tmp_path):
    shipped = ceremony.publish()
    ceremony.new_key()
    second = ceremony.publish()
    liar = Liar()
    try:
        forged = Ceremony(tmp_path / "forger", ceremony.server) if (tmp_path / "forger").mkdir() is None else None
        false = forged.draft(*ceremony.key_set())
        liar.answers["/client/v1/roots/1"] = answer(200, false.read_bytes())
        edges = [
            Edge(tmp_path, liar.port, "x" * 40, keys, "--upstream-interval", "1", name=name).start()
            for name, keys in (("rooted", second), ("plain", key_file(ceremony.server, tmp_path / "jwks.json")))
        ]
        try:
            rooted, plain = edges
            eventually(lambda: "code=root_refused" in rooted.log.read_text(), "the refusal")
            eventually(lambda: plain.api.get("/client/v1/roots/1").status == 200, "the false root")
            liar.answers["/client/v1/roots/1"] = answer(200, shipped.read_bytes())
            liar.answers["/client/v1/roots/2"] = answer(200, second.read_bytes())
            for edge in edges:
                eventually(lambda edge=edge: edge.api.get("/client/v1/root.json").body == second.read_bytes(), "the right roots")
        finally:
            for edge in edges:
                edge.kill()
    finally:
        liar.close()


def test_an_export_for_web_servers_has_the_roots(ceremony, tmp_path):
    ceremony.server.api.make_app("com.example.exported", HOST)
    shipped = ceremony.publish()
    ceremony.new_key()
    ceremony.publish()
    token, place = tmp_path / "token", tmp_path / "www"
    token.write_text(ceremony.server.api.holding("viewer").token)
    token.chmod(0o600)
    run("edge", "export", place, "--upstream", f"http://127.0.0.1:{ceremony.server.port}", "--upstream-token-file", token, "--trusted-keys", shipped,
        "--objects", tmp_path / "objects")  # fmt: skip
    for version in (1, 2):
        for name in (f"{version}", f"{version}.root.json"):
            assert (place / "client/v1/roots" / name).read_bytes() == ceremony.file(version).read_bytes()
    assert (place / "client/v1/root.json").read_bytes() == ceremony.file(2).read_bytes()
    objects = [json.loads(line) for line in (tmp_path / "objects").read_text().splitlines()]
    assert {"client/v1/roots/1", "client/v1/roots/2", "client/v1/root.json"} <= {one["key"] for one in objects}


def test_a_root_that_has_ended_lets_no_document_in_until_the_next_one(ceremony, world):
    world.keys = ceremony.publish(expires="1h")
    world.fetch()
    held = (world.home / "store").read_bytes()
    ceremony.server.forward(hours=1)
    rename(ceremony.server.api, world.app)
    eventually(lambda: ceremony.server.api.document(world.app).body != held, "the next document")
    assert "the root of trust has ended" in world.fetch()
    assert (world.home / "store").read_bytes() == held
    late = ceremony.draft()
    assert "ended at" in ceremony.server.cli("attention").stdout
    run("root", "draft", ceremony.home / "later.json", "--after", ceremony.file(1), "--expires", "1825d")
    for name in ("ada", "bob"):
        run("root", "sign", ceremony.home / "later.json", "--key-file", ceremony.home / name)
    # What was drafted without a new end is refused.
    assert ceremony.server.api.request("POST", "/v1/roots", {"root": json.loads(late.read_bytes())}).json["type"] == "/problems/root_expired"
    ceremony.server.cli("root", "publish", str(ceremony.home / "later.json"))
    assert "Document" not in world.fetch() and (world.home / "store").read_bytes().endswith(ceremony.server.api.document(world.app).body)
