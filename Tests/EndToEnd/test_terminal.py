"""Commands in a terminal: a pager, what is watched, the progress of long work, and the names that a shell completes."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest
from pinledger import BINARY, Server, eventually

SHOP, HOST = "com.example.shop", "api.example.com"


@pytest.fixture(scope="module")
def node(own_server):
    own_server.api.make_app(SHOP, HOST)
    return own_server


class Terminal:
    """A command whose output, and if asked for its input, is a terminal."""

    def __init__(self, server: Server | None, *words: str, size: tuple[int, int] | None = None, **variables: str):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PINLEDGER_", "COLUMNS", "NO_COLOR"))}
        environment |= {"TERM": "xterm", "LESS": "FRX"} | variables
        if server:
            environment |= {"PINLEDGER_DATA": str(server.data)}
        self.screen, inside = pty.openpty()
        if size:
            termios.tcsetwinsize(inside, size)
        self.process = subprocess.Popen([BINARY, *words], env=environment, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
        os.close(inside)
        self.shown = b""

    def read(self, seconds: float = 0.2) -> str:
        """All that was shown so far."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and select.select([self.screen], [], [], left)[0]:
            try:
                piece = os.read(self.screen, 65536)
            except OSError:
                break
            self.shown += piece
        return self.shown.decode(errors="replace")

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def end(self) -> int:
        deadline = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
        self.read()
        os.close(self.screen)
        return self.process.wait(5)


def test_long_text_is_shown_by_the_pager_and_short_text_is_not(node, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho BEGUN\ncat\necho ENDED\n")
    pager.chmod(0o755)
    terminal = Terminal(None, "handbook", "rotations", PAGER=str(pager))
    assert terminal.end() == 0
    shown = terminal.shown.decode().replace("\r", "")
    assert shown.startswith("BEGUN\n# ") and shown.endswith("ENDED\n") and len(shown) > 3000
    for words, variables in [
        (("app", "list"), {"PAGER": str(pager)}), (("history", "--output", "json"), {"PAGER": str(pager)}),
        (("history",), {"PINLEDGER_PAGER": "cat", "PAGER": str(pager)}),
    ]:  # fmt: skip
        terminal = Terminal(node, *words, **variables)
        assert terminal.end() == 0 and "BEGUN" not in terminal.shown.decode() and SHOP in terminal.shown.decode(), words
    # A failure is shown, and the command ends as it does without.
    terminal = Terminal(node, "history", "com.example.nothing", PAGER=str(pager))
    assert terminal.end() == 5 and "com.example.nothing" in terminal.shown.decode()
    # What the pager has read and not shown is its own affair.
    terminal = Terminal(node, "history", PAGER="head -n 1; false")
    assert terminal.end() == 0 and terminal.shown.decode().count("\n") == 1
    # Where there is none, the text is there all the same.
    terminal = Terminal(node, "history", PAGER="/nowhere/pager")
    assert terminal.end() == 0 and SHOP in terminal.shown.decode()


@pytest.mark.skipif(not shutil.which("less"), reason="less is not installed")
def test_less_waits_for_its_reader_in_a_terminal_of_its_own(node):
    # A shell's terminal: programs that are not in front of it are stopped when they read.
    child, screen = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm", LESS="FRX", PINLEDGER_DATA=str(node.data))
        os.environ.pop("PAGER", None)
        os.execl("/bin/bash", "bash", "--norc", "-i")
    shown = b""

    def reads(text: str) -> bool:
        nonlocal shown
        while select.select([screen], [], [], 0.1)[0]:
            shown += os.read(screen, 65536)
        return text.encode() in shown

    try:
        os.write(screen, b"PS1='READY> '\n")
        eventually(lambda: reads("READY> "), "the shell")
        os.write(screen, f"{BINARY} handbook rotations; echo ENDED=$?\n".encode())
        eventually(lambda: reads("# Rotat"), "the page", 60)
        # Control-C is the pager's, and the reader is still there.
        os.write(screen, b"\x03 ")
        time.sleep(0.5)
        assert not reads("ENDED=0")
        os.write(screen, b"q")
        eventually(lambda: reads("ENDED=0"), "the end", 60)
        # What fits the screen needs no reader.
        os.write(screen, f"{BINARY} history --limit 1; echo AGAIN=$?\n".encode())
        eventually(lambda: reads("AGAIN=0"), "the second end", 60)
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(screen)
        os.waitpid(child, 0)


def test_a_watched_list_replaces_the_one_before(node):
    terminal = Terminal(node, "change", "list", "--watch", "0.5")
    eventually(lambda: terminal.read().count("\x1b[H\x1b[2J") >= 3, "the third time")
    assert terminal.process.poll() is None
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() != 0


def test_a_watch_goes_on_while_the_server_is_away(tmp_path):
    server = Server()
    try:
        server.start()
        server.api.make_app(SHOP, HOST)
        terminal = Terminal(server, "app", "adoption", SHOP, "--watch", "0.5")
        eventually(lambda: "HOLDS" in terminal.read(), "the first answer")
        server.stop()
        eventually(lambda: "pinledger: " in terminal.read(), "the failure")
        shown = len(terminal.read())
        server.start()
        eventually(lambda: "HOLDS" in terminal.read()[shown:], "the answer after it")
        terminal.process.send_signal(signal.SIGINT)
        terminal.end()
        # The first time a failure ends it.
        terminal = Terminal(server, "app", "adoption", "com.example.nothing", "--watch", "0.5")
        assert terminal.end() == 5
    finally:
        server.destroy()


def test_an_output_that_is_no_terminal_is_watched_without_control_characters(node):
    process = subprocess.Popen(
        [BINARY, "node", "list", "--watch", "0.5", "--output", "json"], env=os.environ | {"PINLEDGER_DATA": str(node.data)},
        stdout=subprocess.PIPE, text=True)  # fmt: skip
    lines = [process.stdout.readline() for _ in range(3)]
    process.kill()
    process.wait()
    assert all(line.startswith("{") and line.endswith("}\n") for line in lines), lines
    for wrong in ("0", "-1", "nan", "1e9"):
        done = subprocess.run([BINARY, "node", "list", "--watch", wrong], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stdout == "", wrong


def test_a_table_fits_the_terminal_and_is_whole_for_programs(node):
    node.cli("app", "update", SHOP, "--name", "A name " * 26)
    whole = node.cli("app", "list").stdout.splitlines()
    assert any(len(line) > 180 for line in whole)
    for columns in ("80", "60"):
        terminal = Terminal(node, "app", "list", COLUMNS=columns, NO_COLOR="1")
        assert terminal.end() == 0
        lines = terminal.shown.decode().replace("\r", "").splitlines()
        assert max(len(line) for line in lines) <= int(columns) and SHOP in terminal.shown.decode(), lines
    # The terminal's own size, where no variable gives one.
    terminal = Terminal(node, "app", "list", size=(24, 70))
    assert terminal.end() == 0
    assert 60 < max(len(line) for line in terminal.shown.decode().replace("\r", "").splitlines()) <= 70
    # A program's line is whole, whatever the variable says.
    piped = subprocess.run(
        [BINARY, "app", "list"], env=os.environ | {"PINLEDGER_DATA": str(node.data), "COLUMNS": "40"}, capture_output=True, text=True,
        timeout=120)  # fmt: skip
    assert piped.stdout.splitlines() == whole


@pytest.mark.parametrize(
    "variables, coloured", [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)])  # fmt: skip
def test_states_have_a_colour_in_a_terminal_that_shows_it(node, variables, coloured):
    terminal = Terminal(node, "pin", "list", SHOP, HOST, COLUMNS="200", **variables)
    assert terminal.end() == 0
    assert ("\x1b[32mactive\x1b[0m" in terminal.shown.decode()) is coloured
    assert ("\x1b" in terminal.shown.decode()) is coloured


def completed(server: Server, script: Path, *words: str, **variables: str) -> list[str]:
    """What bash offers for the last word."""
    ask = """
        source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_KEY=9
        _pinledger; printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = os.environ | {"PINLEDGER_DATA": str(server.data), "PATH": f"{script.parent}:{os.environ['PATH']}"} | variables
    done = subprocess.run(
        ["bash", "-c", ask, str(script), *words], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout.split()


def test_a_shell_completes_the_names_that_the_server_has(node, tmp_path):
    (tmp_path / "pinledger").symlink_to(Path(BINARY).resolve())
    script = tmp_path / "completion"
    script.write_text(subprocess.run([BINARY, "--generate-completion-script", "bash"], capture_output=True, text=True, timeout=60).stdout)
    hook = node.api.must("POST", "/v1/webhooks", {"url": "https://hooks.example.com/"}).json["webhook_id"]
    assert completed(node, script, "pinledger", "app", "show", "") == [SHOP]
    assert completed(node, script, "pinledger", "app", "show", "com.ex") == [SHOP]
    assert completed(node, script, "pinledger", "host", "show", SHOP, "") == [HOST]
    assert completed(node, script, "pinledger", "webhook", "show", "") == [hook]
    assert "rotations" in completed(node, script, "pinledger", "handbook", "rot")
    # The server of the command line is asked, with its token and no other; where it is away, nothing is offered, and nothing said.
    assert completed(node, script, "pinledger", "app", "show", "--server", "http://127.0.0.1:1", "") == []
    assert completed(node, script, "pinledger", "app", "show", "", PINLEDGER_DATA=str(tmp_path), PINLEDGER_TOKEN="x") == []


def test_the_progress_of_long_work_is_a_line_that_goes_away(node):
    terminal = Terminal(node, "fsck")
    assert terminal.end() == 0
    shown = terminal.shown.decode()
    # What takes a moment has no progress to show; where it did, the line was taken away.
    assert re.sub(r"(\r\x1b\[2Kread [\d,]+ of [\d,]+ events \(\d+ %\))+\r\x1b\[2K", "", shown).count("\x1b") == 0
    quiet = node.cli("fsck")
    assert quiet.stderr == "" or "read" not in quiet.stderr
