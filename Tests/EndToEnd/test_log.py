"""The transparency log, read by tools that are not ours."""

import base64
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from databases import Database
from notes import ORIGIN, root_of, sha256, verify_note, vkeys
from pinledger import BINARY
from problems import expect_problem
from tlog_scales import signing, tiles, tlog
from tlog_scales.backend import HttpBackend, LocalBackend
from tlog_scales.reader import TilesReader

APP = "com.example.log"


@pytest.fixture(scope="module")
def log(own_server):
    """A server with an open log of more than two full tiles."""
    api = own_server.api
    api.must("POST", "/v1/log", {"origin": ORIGIN, "reason": "audit"})
    api.make_app(APP, "api.example.com")
    for number in range(600):
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"Shop {number}"})
    return own_server


def reader(server) -> TilesReader:
    backend = HttpBackend(f"http://127.0.0.1:{server.api.port}/log")
    backend.session.headers["Authorization"] = f"Bearer {server.api.token}"
    return TilesReader(backend)


def checked(server):
    """The checkpoint, verified by foreign code, and the reader that it came from."""
    foreign = reader(server)
    checkpoint = foreign.get_checkpoint()
    checkpoint.verify(signing.Vkey.from_string(vkeys(server)[0]))
    assert checkpoint.origin == ORIGIN
    return checkpoint, foreign


@pytest.fixture(scope="module")
def long_log(own_server):
    """The API of a node whose log has more than 70,000 entries: tiles of three levels."""
    database = Database.make(own_server, "long_log")
    key = ["--kek-file", str(database.key)]
    load = os.environ.get("LEDGER_LOAD") or Path(BINARY).with_name("LedgerLoad")
    options = ["--events", "70000", "--apps", "300", "--database", database.connection_string]
    subprocess.run([load, *key, *options], check=True, capture_output=True)
    token = database.bootstrap(*key)
    node, api = database.serve(*key)
    api.token = token
    api.must("POST", "/v1/log", {"origin": ORIGIN})
    yield api
    node.stop()


@pytest.mark.daily
def test_foreign_code_verifies_a_log_of_70000_events(long_log):
    backend = HttpBackend(f"http://127.0.0.1:{long_log.port}/log")
    backend.session.headers["Authorization"] = f"Bearer {long_log.token}"
    foreign = TilesReader(backend)
    checkpoint = foreign.get_checkpoint()
    checkpoint.verify(signing.Vkey.from_string(long_log.get("/v1/log").json["keys"][0]["vkey"]))
    size = checkpoint.size
    assert size > 70_000 and checkpoint.origin == ORIGIN
    assert foreign.calculate_root_hash() == checkpoint.root_hash
    chance = random.Random(1)
    for position in [0, 65_535, 65_536, size - 1, *(chance.randrange(size) for _ in range(20))]:
        entry = foreign.get_entry(position)
        assert json.loads(entry)["position"] == position
        foreign.get_inclusion_proof(position, size).check(tiles.leaf_hash(entry), checkpoint.root_hash)
    for old in [1, 256, 65_535, 65_536, 65_537, size - 1, *(chance.randrange(1, size) for _ in range(10))]:
        earlier = TilesReader(backend)
        earlier.set_size(size)
        answer = long_log.get(f"/log/proofs/consistency?old_size={old}&size={size}").json
        hashes = [base64.b64decode(text) for text in answer["hashes"]]
        tlog.ConsistencyProof(old, size, hashes).check(earlier.mth(0, old), checkpoint.root_hash)


@pytest.mark.daily
def test_a_second_verifier_computes_the_tree_of_70000_entries(long_log):
    vkey = long_log.get("/v1/log").json["keys"][0]["vkey"]
    text = long_log.get("/log/checkpoint").body.decode()
    origin, size, root = verify_note(text, vkey).splitlines()
    size = int(size)

    def path(index: int) -> str:
        groups = [f"{index % 1000:03}"]
        while index := index // 1000:
            groups.insert(0, f"x{index % 1000:03}")
        return "/".join(groups)

    leaves: list[bytes] = []
    while len(leaves) < size:
        index, width = len(leaves) // 256, min(256, size - len(leaves))
        partial = f".p/{width}" if width < 256 else ""
        bundle = long_log.get(f"/log/tile/entries/{path(index)}{partial}").body
        at, first = 0, len(leaves)
        while at < len(bundle):
            length = int.from_bytes(bundle[at : at + 2], "big")
            leaves.append(sha256(b"\0" + bundle[at + 2 : at + 2 + length]))
            at += 2 + length
        assert len(leaves) == first + width
        tile = long_log.get(f"/log/tile/0/{path(index)}{partial}").body
        assert tile == b"".join(leaves[first:])
    assert (origin, base64.b64decode(root)) == (ORIGIN, root_of(leaves))
    # Tiles of the upper levels hold the roots of the full ones below.
    above = [root_of(leaves[start : start + 256]) for start in range(0, size - size % 256, 256)]
    assert long_log.get("/log/tile/1/000").body == b"".join(above[:256])
    assert long_log.get("/log/tile/2/000.p/1").body == root_of(leaves[:65_536])


@pytest.mark.daily
def test_tiles_of_three_levels_are_audited(long_log, tmp_path):
    vkey = long_log.get("/v1/log").json["keys"][0]["vkey"]
    environment = os.environ | {"PINLEDGER_TOKEN": long_log.token, "PINLEDGER_SERVER": f"http://127.0.0.1:{long_log.port}"}

    def run(*command: str, status: int = 0) -> str:
        done = subprocess.run([BINARY, *command, "--key", vkey], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stderr
        return done.stdout

    directory = tmp_path / "log"
    run("log", "export", str(directory))
    assert json.loads(run("audit", "verify", str(directory), "--output", "json"))["status"] == "clean"
    for path, last in [("tile/2/000.p/1", 65_535), ("tile/1/000", 255)]:
        tile = directory / path
        content = bytearray(tile.read_bytes())
        content[0] ^= 1
        tile.write_bytes(bytes(content))
        report = json.loads(run("audit", "verify", str(directory), "--output", "json", status=10))
        assert [(one["code"], one["position"], one["last_position"]) for one in report["findings"]] == [("tree_wrong", 0, last)]
        content[0] ^= 1
        tile.write_bytes(bytes(content))


def test_foreign_code_verifies_checkpoint_tiles_and_entries(log):
    checkpoint, foreign = checked(log)
    assert checkpoint.size > 600
    assert foreign.calculate_root_hash() == checkpoint.root_hash
    history = log.api.history()
    for position in [0, 1, 255, 256, 511, 512, checkpoint.size - 1]:
        entry = foreign.get_entry(position)
        event = json.loads(entry)
        assert event["position"] == position
        assert {name: history[position][name] for name in event if name in history[position]} == event
        foreign.get_inclusion_proof(position, checkpoint.size).check(tiles.leaf_hash(entry), checkpoint.root_hash)


def test_a_second_verifier_agrees(log):
    text = log.api.get("/log/checkpoint").body.decode()
    origin, size, root = verify_note(text, vkeys(log)[0]).splitlines()
    foreign = reader(log)
    foreign.set_size(int(size))
    leaves = [sha256(b"\0" + foreign.get_entry(position)) for position in range(int(size))]
    assert (origin, base64.b64decode(root)) == (ORIGIN, root_of(leaves))


@pytest.mark.parametrize("old", [1, 2, 255, 256, 257, 512, 600])
def test_the_server_s_consistency_proofs_hold(log, old):
    checkpoint, foreign = checked(log)
    answer = log.api.get(f"/log/proofs/consistency?old_size={old}&size={checkpoint.size}").json
    hashes = [base64.b64decode(text) for text in answer["hashes"]]
    proof = tlog.ConsistencyProof(old, checkpoint.size, hashes)
    earlier = reader(log)
    earlier.set_size(checkpoint.size)
    proof.check(earlier.mth(0, old), checkpoint.root_hash)
    assert foreign.get_consistency_proof(old, checkpoint.size).node_hashes == hashes


@pytest.mark.parametrize("position", [0, 255, 256, 599])
def test_the_server_s_inclusion_proofs_hold(log, position):
    checkpoint, foreign = checked(log)
    answer = log.api.get(f"/log/proofs/inclusion?position={position}&size={checkpoint.size}").json
    hashes = [base64.b64decode(text) for text in answer["hashes"]]
    leaf = tiles.leaf_hash(foreign.get_entry(position))
    tlog.InclusionProof(position, checkpoint.size, hashes).check(leaf, checkpoint.root_hash)


def test_earlier_partial_tiles_stay(log):
    for width in [1, 7, 255]:
        answer = log.api.get(f"/log/tile/0/000.p/{width}")
        assert (answer.status, len(answer.body)) == (200, width * 32)
        assert answer["Cache-Control"] == "private, max-age=604800, immutable"
        assert answer["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "path",
    ["0", "0/0", "0/000.p/256", "0/000.p/0", "0/999", "8/000", "entries/x000/000", "entries/000.p/01", "-1/000", "0/../0"],
)
def test_paths_that_name_no_tile_are_not_found(log, path):
    answer = log.api.get(f"/log/tile/{path}")
    expect_problem(answer, 404, "not_found")


def test_the_log_is_for_holders_of_a_token(log):
    for path in ["checkpoint", "tile/0/000", "tile/entries/000", "proofs/inclusion?position=0", "entries/0/proof"]:
        assert log.api.request("GET", f"/log/{path}", token=None).status == 401
        password = base64.b64encode(f"auditor:{log.api.token}".encode()).decode()
        answer = log.api.request("GET", f"/log/{path}", headers={"Authorization": f"Basic {password}"}, token=None)
        assert answer.status == 200


def test_a_proof_file_is_verified_without_a_server(log, tmp_path):
    proof = log.cli("audit", "prove", "7").stdout
    file = tmp_path / "7.tlog-proof"
    file.write_text(proof)
    vkey = vkeys(log)[0]
    alone = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    def verify(*more: str):
        return subprocess.run([BINARY, "audit", "verify-proof", file, *more], env=alone, capture_output=True, text=True)

    done = verify("--key", vkey)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["position"] == 7
    # Another entry under the same proof.
    lines = proof.splitlines(keepends=True)
    entry = json.loads(base64.b64decode(lines[1].removeprefix("extra ")))
    entry["time"] = "2020-01-01T00:00:00Z"
    lines[1] = f"extra {base64.b64encode(json.dumps(entry).encode()).decode()}\n"
    file.write_text("".join(lines))
    assert verify("--key", vkey).returncode == 10
    file.write_text(proof)
    stranger = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    assert verify("--key", stranger).returncode == 10
    assert verify("--key", vkey, "--quorum", "1").returncode == 2
    assert verify("--key", "nonsense").returncode == 2


def test_an_export_is_a_log_of_its_own(log, tmp_path):
    directory = tmp_path / "log"
    export = ["log", "export", str(directory), "--key", vkeys(log)[0]]
    log.cli(*export)
    foreign = TilesReader(LocalBackend(directory))
    checkpoint = foreign.get_checkpoint()
    checkpoint.verify(signing.Vkey.from_string(vkeys(log)[0]))
    assert foreign.calculate_root_hash() == checkpoint.root_hash
    # More is added to it later; full tiles are not fetched again.
    full = directory / "tile/entries/000"
    before = full.stat().st_mtime_ns
    log.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Shop"})
    log.cli(*export)
    again = TilesReader(LocalBackend(directory)).get_checkpoint()
    # At least the change: who fetched the log is recorded a moment later.
    assert again.size > checkpoint.size and full.stat().st_mtime_ns == before
    # What was altered in the directory is found.
    full.write_bytes(full.read_bytes().replace(b"Shop", b"Shoq", 1))
    (directory / "tile/entries/001").write_bytes(b"\0\1x")
    assert "not" in log.cli(*export, status=10).stderr


def test_an_entry_altered_in_the_database_fits_no_earlier_checkpoint(log):
    """What a superuser can do with all triggers off."""
    checkpoint, foreign = checked(log)
    original = foreign.get_entry(3)
    altered = original.replace(b"Shop", b"Shod") if b"Shop" in original else original[:-1] + b" "
    assert sha256(b"\0" + altered) != tiles.leaf_hash(original)
    with pytest.raises(tlog.InclusionProofInvalid):
        foreign.get_inclusion_proof(3, checkpoint.size).check(tiles.leaf_hash(altered), checkpoint.root_hash)


def test_the_key_is_changed_with_overlap(log):
    old = vkeys(log)[0]
    api = log.api
    api.must("POST", "/v1/log/keys", {"reason": "rotation"})
    both = vkeys(log)
    assert len(both) == 2 and both[0] == old
    text = api.get("/log/checkpoint").body.decode()
    for vkey in both:
        verify_note(text, vkey)
    kid = api.get("/v1/log").json["keys"][0]["kid"]
    api.must("POST", f"/v1/log/keys/{kid}/retire", {})
    text = api.get("/log/checkpoint").body.decode()
    verify_note(text, both[1])
    with pytest.raises(KeyError):
        verify_note(text, old)
    last = api.get("/v1/log").json["keys"][1]["kid"]
    answer = api.post(f"/v1/log/keys/{last}/retire", {})
    expect_problem(answer, 409, "key_state")
    assert log.sql(f"SELECT count(*) FROM pinledger.signing_secret WHERE kid = '{kid}'").strip() == "0"


def test_a_log_is_opened_once(log):
    answer = log.api.post("/v1/log", {"origin": "pins.example.org/log"})
    expect_problem(answer, 409, "log_exists")


def test_before_it_is_opened_there_is_no_log(api):
    assert api.get("/v1/log").json == {
        "keys": [], "quorum": 0, "witnesses": [], "public": False, "document_proofs": False
    }  # fmt: skip
    for path in ["checkpoint", "tile/0/000", "entries/0/proof"]:
        answer = api.get(f"/log/{path}")
        expect_problem(answer, 409, "log_not_open")
    for origin in ["", "a b", "a+b", "\u00e4", "a" * 256]:
        assert api.post("/v1/log", {"origin": origin}).status == 422
    assert api.post("/v1/log/keys", {}).json["type"] == "/problems/log_not_open"


@pytest.mark.parametrize(
    "query", ["inclusion?position=100000", "inclusion?position=1&size=1", "inclusion?position=0&size=100000",
              "consistency?old_size=2&size=1", "consistency?old_size=1&size=100000"],
)  # fmt: skip
def test_trees_that_the_log_does_not_have_are_not_found(log, query):
    answer = log.api.get(f"/log/proofs/{query}")
    expect_problem(answer, 404, "not_found")


def test_the_history_of_the_log_is_shown(log):
    events = log.api.history(stream="log")
    assert events[0]["type"] == "LogOpened" and {event["stream"] for event in events} == {"log"}
    assert [event["type"] for event in log.api.history(type="log.*")] == [event["type"] for event in events]
