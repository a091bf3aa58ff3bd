"""`pinledger audit verify` on logs that were altered, and on logs that were wrong from the start."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from notes import root_of, sha256
from pinledger import BINARY, eventually

ORIGIN = "pins.example.com/log"
APP = "com.example.audit"
DAMAGED = 10


def canonical(event: dict) -> bytes:
    """RFC 8785, for the events of this file: integers and ASCII only."""
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


class Copy:
    """A log in a directory, of fewer than 65,536 entries."""

    def __init__(self, directory: Path):
        self.directory = directory

    def bundle(self, index: int) -> Path:
        [path] = [p for p in (self.directory / "tile/entries").rglob("*") if self.index(p) == index]
        return path

    def tile(self, level: int, index: int) -> Path:
        [path] = [p for p in (self.directory / f"tile/{level}").rglob("*") if self.index(p) == index]
        return path

    @staticmethod
    def index(path: Path) -> int | None:
        if path.is_dir():
            return None
        name = path.parent.name.removesuffix(".p") if path.parent.name.endswith(".p") else path.name
        return int(name)

    @property
    def entries(self) -> list[bytes]:
        found = []
        for path in sorted((self.directory / "tile/entries").rglob("*"), key=lambda p: self.index(p) or 0):
            if path.is_file():
                found += self.decode(path.read_bytes())
        return found

    @staticmethod
    def decode(bundle: bytes) -> list[bytes]:
        found, at = [], 0
        while at < len(bundle):
            length = int.from_bytes(bundle[at : at + 2], "big")
            found.append(bundle[at + 2 : at + 2 + length])
            at += 2 + length
        return found

    @staticmethod
    def encode(entries: list[bytes]) -> bytes:
        return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)

    def replace(self, position: int, entry: bytes, *, hashed: bool) -> None:
        """Puts another entry at a position, and with `hashed` its hash into the tile."""
        path = self.bundle(position // 256)
        entries = self.decode(path.read_bytes())
        entries[position % 256] = entry
        path.write_bytes(self.encode(entries))
        if hashed:
            tile = self.tile(0, position // 256)
            hashes, at = bytearray(tile.read_bytes()), position % 256 * 32
            hashes[at : at + 32] = sha256(b"\0" + entry)
            tile.write_bytes(bytes(hashes))

    def rebuild(self, entries: list[bytes], key: Ed25519PrivateKey, origin: str = ORIGIN) -> str:
        """Makes a whole log of the entries, signed with the key; returns its vkey."""
        shutil.rmtree(self.directory)
        leaves = [sha256(b"\0" + entry) for entry in entries]
        above = [root_of(leaves[at : at + 256]) for at in range(0, len(leaves) - len(leaves) % 256, 256)]
        files: dict[str, bytes] = {}
        for kind, parts, join in [("entries", entries, self.encode), ("0", leaves, b"".join), ("1", above, b"".join)]:
            for at in range(0, len(parts), 256):
                part = parts[at : at + 256]
                name = f"{at // 256:03}" + (f".p/{len(part)}" if len(part) < 256 else "")
                files[f"tile/{kind}/{name}"] = join(part)
        text = f"{origin}\n{len(entries)}\n{base64.b64encode(root_of(leaves)).decode()}\n"
        public = b"\1" + key.public_key().public_bytes_raw()
        identifier = sha256(origin.encode() + b"\n" + public)[:4]
        signature = base64.b64encode(identifier + key.sign(text.encode())).decode()
        files["checkpoint"] = f"{text}\n\u2014 {origin} {signature}\n".encode()
        for name, content in files.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return f"{origin}+{identifier.hex()}+{base64.b64encode(public).decode()}"


@pytest.fixture(scope="module")
def log(own_server):
    """A server with an open log of more than two full tiles."""
    api = own_server.api
    api.must("POST", "/v1/log", {"origin": ORIGIN, "reason": "audit"})
    api.make_app(APP, "api.example.com")
    for number in range(560):
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"Shop {number:03}"})
    return own_server


@pytest.fixture(scope="module")
def vkey(log) -> str:
    return log.api.get("/v1/log").json["keys"][0]["vkey"]


@pytest.fixture(scope="module")
def exported(log, vkey, tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("audit") / "log"
    log.cli("log", "export", str(directory), "--key", vkey)
    return directory


@pytest.fixture
def copy(exported, tmp_path) -> Copy:
    shutil.copytree(exported, tmp_path / "log")
    return Copy(tmp_path / "log")


def audit(copy: Copy, vkey: str, *more: str, status: int = DAMAGED) -> dict:
    """The report on a directory, by a process that knows nothing of a server."""
    alone = {"PATH": "/usr/bin:/bin", "HOME": str(copy.directory.parent)}
    command = [BINARY, "audit", "verify", str(copy.directory), "--key", vkey, "--output", "json", *more]
    done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout else {"stderr": done.stderr}


def found(report: dict) -> set[tuple]:
    """Code and positions of the findings."""
    return {(f["code"], f.get("position"), f.get("last_position", f.get("position"))) for f in report["findings"]}


def test_a_sound_copy_is_clean_and_its_report_is_the_checkpoint_s(copy, vkey):
    report = audit(copy, vkey, status=0)
    origin, size, root = (copy.directory / "checkpoint").read_text().splitlines()[:3]
    assert (report["status"], report["findings"]) == ("clean", [])
    assert (report["origin"], report["events"], report["position"]) == (origin, int(size), int(size))
    assert report["root"] == base64.b64decode(root).hex()


def test_a_server_is_audited_over_http_and_agrees_with_fsck(log, vkey, tmp_path):
    def reports() -> tuple[dict, str, dict] | None:
        """The three reports, where they are on one state: who fetched the log is recorded a moment later."""
        report = json.loads(log.cli("audit", "verify", "--key", vkey, "--output", "json").stdout)
        text = log.cli("audit", "verify", "--key", vkey).stdout
        fsck = json.loads(log.cli("fsck", "--database", log.connection_string, "--output", "json").stdout)
        return (report, text, fsck) if fsck["events"] == report["events"] else None

    report, text, fsck = eventually(reports, "a ledger at rest")
    assert report["status"] == "clean"
    assert report["root"] in text and "findings      none" in text
    assert (fsck["root"], fsck["events"]) == (report["root"], report["events"])
    # A report of either is an earlier state for the other.
    (tmp_path / "audit").write_text(json.dumps(report))
    (tmp_path / "fsck").write_text(json.dumps(fsck))
    log.cli("fsck", "--database", log.connection_string, "--previous", str(tmp_path / "audit"))
    log.cli("audit", "verify", "--key", vkey, "--previous", str(tmp_path / "fsck"))


def altered(entry: bytes) -> bytes:
    assert b"Shop" in entry
    return entry.replace(b"Shop", b"Shoq", 1)


def test_an_altered_entry_is_named(copy, vkey):
    copy.replace(300, altered(copy.entries[300]), hashed=False)
    assert found(audit(copy, vkey)) == {("leaf_hash_wrong", 300, 300), ("tree_wrong", None, None)}


def test_an_entry_altered_with_its_hash_is_named_by_its_tile(copy, vkey):
    copy.replace(300, altered(copy.entries[300]), hashed=True)
    assert found(audit(copy, vkey)) == {("tree_wrong", 256, 511), ("tree_wrong", None, None)}


def test_entries_in_another_order_are_named(copy, vkey):
    first, second = copy.entries[300:302]
    copy.replace(300, second, hashed=True)
    copy.replace(301, first, hashed=True)
    codes = found(audit(copy, vkey))
    assert {("position_wrong", 300, 300), ("position_wrong", 301, 301), ("tree_wrong", 256, 511)} <= codes


@pytest.mark.parametrize(
    ("level", "index", "at", "finding"),
    [(0, 1, 44 * 32, ("leaf_hash_wrong", 300, 300)), (1, 0, 32, ("tree_wrong", 256, 511))],
)
def test_an_altered_tile_is_named(copy, vkey, level, index, at, finding):
    path = copy.tile(level, index)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))
    # The entries make the checkpoint's root: only the tile is wrong.
    assert found(audit(copy, vkey)) == {finding}


def test_missing_bundles_and_tiles_are_named(copy, vkey):
    copy.bundle(1).unlink()
    assert found(audit(copy, vkey)) == {("position_missing", 256, 511)}
    copy.tile(0, 0).unlink()
    assert ("tree_wrong", 0, 255) in found(audit(copy, vkey))


@pytest.mark.parametrize("content", [b"", b"\0", b"\xff\xff", b"\0\1x" * 300, b"\0\0" * 256])
def test_a_malformed_bundle_is_a_finding(copy, vkey, content):
    copy.bundle(1).write_bytes(content)
    codes = {code for code, *_ in found(audit(copy, vkey))}
    assert codes & {"position_missing", "leaf_hash_wrong"}


def test_a_checkpoint_has_to_be_signed_by_the_log(copy, vkey):
    path = copy.directory / "checkpoint"
    text = path.read_text()
    path.write_text(text.replace("\n", "x\n", 1))
    assert "does not verify" in audit(copy, vkey)["stderr"]
    copy.rebuild(copy.entries, Ed25519PrivateKey.generate())
    assert "does not verify" in audit(copy, vkey)["stderr"]
    path.unlink()
    assert "no checkpoint" in audit(copy, vkey, status=5)["stderr"]


def test_history_that_was_rewritten_or_cut_off_does_not_continue_an_earlier_checkpoint(copy, vkey, tmp_path):
    kept = tmp_path / "kept-checkpoint"
    shutil.copy(copy.directory / "checkpoint", kept)
    entries, key = copy.entries, Ed25519PrivateKey.generate()
    report = tmp_path / "report.json"
    report.write_text(json.dumps(audit(copy, vkey, "--previous", str(kept), status=0)))
    # Whoever has the log's key can make another log that is sound in itself.
    entries[300] = altered(entries[300])
    forged = copy.rebuild(entries, key)
    assert audit(copy, forged, status=0)["findings"] == []
    assert found(audit(copy, forged, "--previous", str(report))) == {("history_rewritten", 0, len(entries) - 1)}
    forged = copy.rebuild(copy.entries[:-3], key)
    rewritten = found(audit(copy, forged, "--previous", str(report)))
    assert rewritten == {("history_rewritten", len(entries) - 3, len(entries) - 1)}
    # A checkpoint of another key is no evidence.
    assert "neither" in audit(copy, forged, "--previous", str(kept), status=2)["stderr"]


def changed(at: int, **members):
    """Alters members of the event at a position."""

    def alter(entries: list[bytes]) -> None:
        event = json.loads(entries[at]) | members
        entries[at] = canonical(event)

    return alter


def last_again(entries: list[bytes]) -> None:
    """One more event, of an app that was never created."""
    event = json.loads(entries[-1]) | {"position": len(entries), "stream": "app/com.example.none", "stream_version": 1}
    entries.append(canonical(event))


def not_canonical(entries: list[bytes]) -> None:
    entries[300] = json.dumps(json.loads(entries[300])).encode()


@pytest.mark.parametrize(
    ("alter", "finding"),
    [
        (changed(300, position=301), ("position_wrong", 300, 300)),
        (changed(300, stream_version=999_999), ("stream_version_wrong", 300, 300)),
        (changed(300, time="2001-01-01T00:00:00Z"), ("time_falls", 300, 300)),
        (changed(300, decided_at="2001-01-01T00:00:00Z"), ("decided_at_wrong", 300, 300)),
        (changed(300, type="AppNeverHeardOf"), ("entry_unreadable", 300, 300)),
        (changed(300, surplus=1), ("entry_unreadable", 300, 300)),
        (not_canonical, ("entry_unreadable", 300, 300)),
        (last_again, ("event_unfit", 1_000_000, 1_000_000)),
    ],
)
def test_a_log_with_a_sound_tree_over_impossible_events_is_damaged(copy, alter, finding):
    entries = copy.entries
    alter(entries)
    vkey = copy.rebuild(entries, Ed25519PrivateKey.generate())
    code, first, last = finding
    if first > len(entries):
        first = last = len(entries) - 1
    findings = found(audit(copy, vkey))
    assert (code, first, last) in findings
    assert not {found for found, *_ in findings} & {"tree_wrong", "leaf_hash_wrong"}


def test_a_checkpoint_of_another_name_does_not_belong_to_the_entries(copy):
    vkey = copy.rebuild(copy.entries, Ed25519PrivateKey.generate(), "pins.example.net/other")
    assert {code for code, *_ in found(audit(copy, vkey))} == {"checkpoint_wrong"}


def test_a_checkpoint_of_any_size_ends_the_audit_soon(copy):
    key = Ed25519PrivateKey.generate()
    for size, status in [(1 << 62, DAMAGED), (1 << 63, DAMAGED), (1 << 64, DAMAGED)]:
        vkey = copy.rebuild(copy.entries, key)
        text = f"{ORIGIN}\n{size}\n{base64.b64encode(sha256(b'x')).decode()}\n"
        identifier = bytes.fromhex(vkey.split("+")[1])
        signature = base64.b64encode(identifier + key.sign(text.encode())).decode()
        (copy.directory / "checkpoint").write_text(f"{text}\n\u2014 {ORIGIN} {signature}\n")
        report = audit(copy, vkey, status=status)
        if size == 1 << 62:
            assert any(f["code"] == "position_missing" for f in report["findings"])


def test_a_stranger_cannot_audit_a_server(log, vkey):
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    command = [BINARY, "audit", "verify", "--key", vkey, "--server", f"http://127.0.0.1:{log.api.port}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 4, done.stderr
