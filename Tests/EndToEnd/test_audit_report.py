"""`pinledger audit report`, verified by its reader with other programs."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pinledger import BINARY

ORIGIN = "pins.example.com/log"
APP = "com.example.report"


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
def events(log) -> list[dict]:
    return log.api.history()


@pytest.fixture
def report(log, vkey, events, tmp_path) -> Path:
    """A report of the events 200 to 399, which continues an earlier checkpoint."""
    earlier = tmp_path / "earlier"
    earlier.write_text(log.cli("log", "checkpoint").stdout)
    directory = tmp_path / "report"
    done = log.cli(
        "audit", "report", str(directory), "--since", events[200]["time"], "--until", events[400]["time"],
        "--key", vkey, "--previous", str(earlier),
    )  # fmt: skip
    assert "Wrote 200 events" in done.stdout, done.stdout
    return directory


def blocks(report: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (report / "README.md").read_text(), re.DOTALL)


def shell(report: Path, number: int) -> subprocess.CompletedProcess:
    script = blocks(report, "sh")[number]
    return subprocess.run(["sh", "-ec", script], cwd=report, capture_output=True, text=True, timeout=60)


def python(report: Path) -> subprocess.CompletedProcess:
    [script] = blocks(report, "python")
    return subprocess.run([sys.executable, "-c", script], cwd=report, capture_output=True, text=True, timeout=120)


def test_a_reader_verifies_the_report_with_its_own_programs(log, report, events):
    for number in range(2):
        done = shell(report, number)
        assert done.returncode == 0, done.stderr
    done = python(report)
    assert done.returncode == 0, done.stderr
    assert "200 events are in the log of" in done.stdout
    lines = (report / "events.ndjson").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == events[200:400]
    summary = json.loads((report / "report.json").read_text())
    assert (summary["first_position"], summary["end_position"]) == (200, 400)
    assert [proof["old_size"] for proof in summary["consistency"]][:2] == [200, 400]


def test_the_documents_of_a_report_are_what_clients_had(log, report):
    summary = json.loads((report / "report.json").read_text())
    content = (report / f"documents/{APP}.json").read_bytes()
    shown = log.cli("document", "show", APP, "--position", "400").stdout
    assert json.loads(content) == json.loads(shown)
    assert summary["documents"][APP]["content_sha256"] == hashlib.sha256(content).hexdigest()
    assert summary["documents"][APP]["version"] == json.loads(content)["version"]


@pytest.mark.parametrize(
    ("name", "alter", "seen_by"),
    [
        ("events.ndjson", lambda text: text.replace(b"Shop", b"Shoq", 1), python),
        ("events.ndjson", lambda text: text[: text.rstrip().rfind(b"\n") + 1], python),
        ("log/checkpoint", lambda text: text.replace(b"\n5", b"\n4", 1), python),
        ("previous-checkpoint", lambda text: text.replace(b"\n", b"\n1", 1), python),
        ("checkpoint.text", lambda text: text + b"x", lambda report: shell(report, 1)),
        ("documents/com.example.report.json", lambda text: text + b" ", lambda report: shell(report, 0)),
    ],
)
def test_a_reader_sees_what_was_altered_in_a_report(report, name, alter, seen_by):
    path = report / name
    before = path.read_bytes()
    path.write_bytes(alter(before))
    assert path.read_bytes() != before
    assert seen_by(report).returncode != 0
    assert shell(report, 0).returncode != 0


def test_a_period_without_events_has_a_report(log, vkey, tmp_path):
    directory = tmp_path / "empty"
    done = log.cli(
        "audit", "report", str(directory), "--since", "2020-01-01", "--until", "2020-02-01", "--key", vkey)  # fmt: skip
    assert "Wrote 0 events and 0 documents" in done.stdout
    assert (directory / "events.ndjson").read_bytes() == b""
    assert shell(directory, 0).returncode == 0 and shell(directory, 1).returncode == 0
    assert python(directory).returncode == 0


@pytest.mark.parametrize("hashed", [False, True], ids=["alone", "with its hash"])
def test_an_entry_that_was_altered_in_the_database_is_not_reported(log, vkey, tmp_path, hashed):
    guard = "ALTER TABLE pinledger.event_00000000000000 {} TRIGGER refuse_change; "

    def replace(old: str, new: str) -> str:
        entry = f"convert_to(replace(convert_from(entry, 'UTF8'), '{old}', '{new}'), 'UTF8')"
        leaf = f", leaf_hash = sha256('\\x00'::bytea || {entry})" if hashed else ""
        return f"UPDATE pinledger.event SET entry = {entry}{leaf} WHERE position = 300; "

    entry = json.loads(log.sql("SELECT convert_from(entry, 'UTF8') FROM pinledger.event WHERE position = 300"))
    name = entry["data"]["display_name"]
    log.sql(guard.format("DISABLE") + replace(name, name[::-1]))
    try:
        # The node reads an entry with its hash, and refuses to serve what does not fit; the rest, the reader sees.
        report = ["audit", "report", str(tmp_path / "report"), "--since", "1d", "--key", vkey]
        refused = log.cli(*report, status=10 if hashed else 8).stderr
        assert ("does not lead to the checkpoint's root" if hashed else "the event at position 300") in refused
        verified = log.cli("audit", "verify", "--key", vkey, status=10 if hashed else 8)
        assert ("256-511" if hashed else "position 300") in verified.stdout + verified.stderr
    finally:
        log.sql(replace(name[::-1], name) + guard.format("ENABLE ALWAYS"))
    assert "findings      none" in log.cli("audit", "verify", "--key", vkey).stdout


def test_wrong_usage_is_refused_before_anything_is_written(log, vkey, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    (tmp_path / "nonsense").write_text("nonsense")
    new = str(tmp_path / "new")
    for more in (
        [str(tmp_path / "full"), "--since", "1d"],
        [new, "--since", "1d", "--until", "2d"],
        [new, "--since", "yesterday"],
        [new, "--since", "1d", "--previous", str(tmp_path / "nonsense")],
    ):
        log.cli("audit", "report", *more, "--key", vkey, status=2)
    assert not Path(new).exists()


def test_a_stranger_gets_no_report(log, vkey, tmp_path):
    command = [BINARY, "audit", "report", tmp_path / "new", "--since", "1d", "--key", vkey]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    server = ["--server", f"http://127.0.0.1:{log.api.port}"]
    done = subprocess.run([*command, *server], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4, done.stderr
