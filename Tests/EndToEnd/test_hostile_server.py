"""Texts of a hostile server: whatever its answers hold, no command's terminal obeys it."""

import concurrent.futures
import json
import os
import pty
import shlex
import subprocess
import threading
import unicodedata

import pytest
from hostile_server import hostile_server
from pinledger import BINARY

#: Commands that go on until they are ended.
ENDLESS = {("hook", "cert-manager")}
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def leaves(command: dict):
    below = [one for one in command.get("subcommands", []) if one["commandName"] != "help"]
    if not below:
        yield command
    for one in below:
        yield from leaves(one)


def examples(per_command: int) -> list[tuple[list[str], set[str]]]:
    """The words of so many examples of every command that asks a server, each once, with the command's flags."""
    help_ = json.loads(subprocess.run([BINARY, "--experimental-dump-help"], capture_output=True, check=True, timeout=300).stdout)
    found: dict[tuple, set[str]] = {}
    for leaf in leaves(help_["command"]):
        flags = {f"--{(argument.get('preferredName') or {}).get('name')}" for argument in leaf.get("arguments", [])}
        path = [*(leaf.get("superCommands") or [])[1:], leaf["commandName"]]
        if "--server" not in flags or tuple(path) in ENDLESS:
            continue
        lines = leaf.get("discussion", "").replace("\\\n", "").split("\n")
        words = [shlex.split(line)[1:] for line in lines if line.startswith("pinledger ")]
        own = [one for one in words if one[: len(path)] == path and not {"--watch", "--server"} & set(one)]
        found |= {tuple(one): flags for one in own[:per_command]}
    return [(list(words), flags) for words, flags in found.items()]


def obeyed(text: str) -> set[str]:
    """The characters of a text that a terminal obeys."""
    return {c for c in text if (unicodedata.category(c) == "Cc" and c not in "\n\t") or unicodedata.bidirectional(c) in DIRECTIONS}


class Run:
    """A command whose standard output is a terminal."""

    def __init__(self, words: list[str], address: str, home):
        self.words = words
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PINLEDGER_DATA": str(home / "none"), "PINLEDGER_TOKEN": "pk_text"}
        screen, inside = pty.openpty()
        self.shown = b""
        reader = threading.Thread(target=self.read, args=(screen,))
        reader.start()
        done = subprocess.run(
            [BINARY, *words, "--server", address], env=environment | {"PAGER": "cat", "LANG": "C.UTF-8"}, cwd=home,
            stdin=subprocess.DEVNULL, stdout=inside, stderr=subprocess.PIPE, timeout=300)  # fmt: skip
        os.close(inside)
        reader.join()
        self.status = done.returncode
        # The terminal itself puts a carriage return before each line feed.
        self.text = self.shown.decode().replace("\r\n", "\n") + done.stderr.decode()

    def read(self, screen: int) -> None:
        try:
            while piece := os.read(screen, 65536):
                self.shown += piece
        except OSError:
            # The other end is closed.
            pass
        os.close(screen)


@pytest.fixture
def home(tmp_path, certificates):
    """A directory with the files that examples name."""
    for name in ("server.pem", "next.csr", "old.pem", "renewed.pem"):
        (tmp_path / name).write_bytes(certificates[0].path.read_bytes())
    (tmp_path / "network_security_config.xml").write_text("<network-security-config/>")
    return tmp_path


@pytest.mark.parametrize(
    ("form", "poisons_all", "per_command"),
    # All examples take some 60 processor seconds for each form.
    [pytest.param([], False, 1, id="free texts"), pytest.param([], False, 99, id="free texts, all examples", marks=pytest.mark.daily),
     pytest.param([], True, 99, id="all texts", marks=pytest.mark.daily),
     pytest.param(["--output", "yaml"], False, 99, id="free texts in yaml", marks=pytest.mark.daily),
     pytest.param(["--output", "json"], True, 99, id="all texts in json", marks=pytest.mark.daily)])  # fmt: skip
def test_no_command_shows_what_a_terminal_obeys(home, poisons_all, form, per_command):
    commands = [words for words, flags in examples(per_command) if not form or "--output" in flags and "--csv" not in words]
    with hostile_server(poisons_all) as (address, asked), concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda words: Run([*words, *form], address, home), commands))
    found = {" ".join(run.words): obeyed(run.text) for run in runs}
    assert not {words: characters for words, characters in found.items() if characters}
    # They have shown something: nearly all succeed where only free texts are hostile.
    assert len(asked) >= len(commands) > 90
    assert poisons_all or sum(run.status == 0 for run in runs) > len(runs) * 0.8, [(run.words, run.text) for run in runs if run.status]
