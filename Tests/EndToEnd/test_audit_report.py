"""`pinledger audit report`, verified by its reader with other programs."""

import hashlib
import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    earlier.write_text(log.cli("audit", "checkpoint").stdout)
    directory = tmp_path / "report"
    done = log.cli(
        "audit", "report", str(directory), "--since", events[200]["time"], "--until", events[400]["time"],
        "--key", vkey, "--previous", str(earlier),
    )  # fmt: skip
    assert ": 200 events, verified against" in done.stdout, done.stdout
    return directory


def blocks(report: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (report / "README.md").read_text(), re.DOTALL)


def shell(report: Path, number: int) -> subprocess.CompletedProcess:
    script = blocks(report, "sh")[number]
    return subprocess.run(["sh", "-ec", script], cwd=report, capture_output=True, text=True, timeout=300)


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
    assert ": 0 events, verified" in done.stdout and "as the server states them: 0." in done.stdout
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
    done = subprocess.run([*command, *server], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 4, done.stderr


class Liar:
    """A server with a sound log, and with other answers as a test says."""

    def __init__(self, log: Path, answers: dict[str, list]):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                status, body = 404, b"{}"
                if answers.get(path):
                    status, body = answers[path].pop(0)
                elif path.startswith("/log/") and (log / path.removeprefix("/log/")).is_file():
                    status, body = 200, (log / path.removeprefix("/log/")).read_bytes()
                elif path == "/v1/apps":
                    status, body = 200, b'{"apps":[]}'
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *error) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def exported(log, vkey, events, tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("report") / "log"
    log.cli("log", "export", str(directory), "--key", vkey)
    return directory


def last_event(position: int) -> tuple[int, bytes]:
    """The answer of a history whose last event before some time is at a position."""
    return 200, json.dumps({"events": [{"position": position}]}).encode()


@pytest.mark.parametrize("said", [(199, 349), (149, 399), (249, 399), (199, 449), (399, 2), (10**15, 1)])
def test_a_server_cannot_leave_out_events_of_the_period(exported, events, vkey, tmp_path, said):
    answers = {"/v1/history": [last_event(position) for position in said]}
    with Liar(exported, answers) as server:
        command = [BINARY, "audit", "report", tmp_path / "new", "--key", vkey, "--server", server]
        times = ["--since", events[200]["time"], "--until", events[400]["time"]]
        done = subprocess.run([*command, *times], capture_output=True, text=True, timeout=300)
    assert done.returncode == (6 if max(said) > 10**9 else 10), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_times_of_an_honest_server_fit(exported, events, vkey, tmp_path):
    with Liar(exported, {"/v1/history": [last_event(199), last_event(399)]}) as server:
        command = [BINARY, "audit", "report", tmp_path / "new", "--key", vkey, "--server", server]
        times = ["--since", events[200]["time"], "--until", events[400]["time"]]
        done = subprocess.run([*command, *times], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert ": 200 events" in done.stdout and [path.name for path in tmp_path.iterdir()] == ["new"]


def test_the_text_of_a_server_does_not_move_the_cursor(exported, vkey, tmp_path):
    problem = {"type": "/problems/x", "detail": "\x1b]0;title\x07 no", "advice": "\x1b[2J Go"}
    with Liar(exported, {"/v1/history": [(500, json.dumps(problem).encode())]}) as server:
        command = [BINARY, "audit", "report", tmp_path / "new", "--since", "1d", "--key", vkey, "--server", server]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "title" in done.stderr
    assert "\x1b" not in done.stderr and "\x07" not in done.stderr


def test_an_answer_that_is_too_long_is_a_finding(exported, vkey):
    with Liar(exported, {"/log/tile/entries/001": [(200, b"\0\1x" * 10_000_000)]}) as server:
        command = [BINARY, "audit", "verify", "--key", vkey, "--server", server, "--output", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 10
    findings = {(one["code"], one["position"], one["last_position"]) for one in json.loads(done.stdout)["findings"]}
    assert findings == {("position_missing", 256, 511)}


def test_the_readme_names_the_key_that_signed(log, vkey, tmp_path):
    log.api.must("POST", "/v1/log/keys", {"reason": "rotation"})
    keys = log.api.get("/v1/log").json["keys"]
    log.api.must("POST", f"/v1/log/keys/{keys[0]['kid']}/retire", {})
    both = ["--key", vkey, "--key", keys[1]["vkey"]]
    log.cli("audit", "report", str(tmp_path / "report"), "--since", "1d", *both)
    assert shell(tmp_path / "report", 1).returncode == 0
    done = python(tmp_path / "report")
    assert done.returncode == 0, done.stderr
