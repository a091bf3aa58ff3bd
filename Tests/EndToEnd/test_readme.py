"""The tours in the README and in the handbook do what they say.

Under the heading of a tour, in order:

- A block fenced with ```sh is a bash script, run with `set -e` in one directory that all share, with the program on the
  PATH.
- A block fenced with ```sh background is started and left running; it is waited for until `/readyz` answers at the
  address it names with `--listen` (default 127.0.0.1:8440).
- A block fenced with ```text is what the block before it prints: each line, in order, must be found in the output, with
  `…` for anything within a line. A line of `…` alone stands for any number of lines.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest
from pinledger import BINARY, eventually

ROOT = Path(__file__).parents[2]
# Each tour's file and the heading of its section.
TOURS = [("README.md", "Five-minute tour"), ("Sources/CHandbook/pages/tour.md", "Tour")]


def blocks(text: str, heading: str) -> list[tuple[str, str]]:
    """The fenced blocks of the tour: info string and content."""
    section = re.search(rf"^(#+) *{heading}[^\n]*\n(.*?)(?=^#{{1,6}} |\Z)", without_fences(text), re.M | re.S)
    if section is None:
        pytest.fail(f"there is no heading {heading!r}")
    # The places of the section are those of the text: fences were blanked out, not removed.
    level = len(section[1])
    end = re.compile(rf"^#{{1,{level}}} ", re.M).search(without_fences(text), section.end(1) + 1)
    tour = text[section.start() : end.start() if end else len(text)]
    return [(info.strip(), body) for info, body in re.findall(r"^```([^\n`]*)\n(.*?)^```$", tour, re.M | re.S)]


def without_fences(text: str) -> str:
    """The text with every fenced line replaced by spaces of its length: a comment in a script is no heading."""
    return re.sub(r"^```.*?^```$", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.M | re.S)


def check_output(expected: str, output: str) -> None:
    lines = output.splitlines()
    at = 0
    for line in expected.splitlines():
        if line.strip() in ("", "…"):
            continue
        pattern = re.compile(".*".join(re.escape(" ".join(part.split())) for part in line.split("…")))
        while at < len(lines) and not pattern.search(" ".join(lines[at].split())):
            at += 1
        assert at < len(lines), f"the tour shows\n  {line}\nwhich is not (or not in this order) in\n{output}"
        at += 1


@pytest.fixture
def port():
    """The port that `pinledger dev` listens on by default: one tour at a time, whatever processes run the tests."""
    with open(Path(tempfile.gettempdir()) / "pinledger-tours.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize(("path", "heading"), TOURS)
def test_a_tour_does_what_it_says(path, heading, port):
    tour = blocks((ROOT / path).read_text(), heading)
    assert any(info.split()[:1] == ["sh"] for info, _ in tour), "the tour has no commands"

    home = Path(tempfile.mkdtemp(prefix="pinledger-tour-"))
    # Started by root, the database runs as the account postgres, which has to get there.
    home.chmod(0o755)
    directory = home / "pinledger"
    # A copy of what is in the repository, with the program where a build would have put it.
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.split(b"\0")
    # What else lies in the directory may have any name at all.
    for name in map(os.fsdecode, filter(None, tracked)):
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name)
    programs = home / "bin"
    programs.mkdir()
    (programs / "pinledger").symlink_to(BINARY)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PINLEDGER_")}
    environment |= {"PATH": f"{programs}:{environment['PATH']}", "NO_COLOR": "1"}

    running: list[subprocess.Popen] = []
    try:
        output = ""
        for info, body in tour:
            match info.split():
                case ["sh"]:
                    done = subprocess.run(
                        ["bash", "-euo", "pipefail", "-c", body], cwd=directory, env=environment, timeout=600,
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    )  # fmt: skip
                    output = done.stdout
                    assert done.returncode == 0, f"{body}\nended with {done.returncode}:\n{output}"
                case ["sh", "background"]:
                    output = start(body, directory, environment, running, home / f"background-{len(running)}.log")
                case ["text"]:
                    check_output(body, output)
    finally:
        for process in reversed(running):
            if process.poll() is None:
                # The whole group: bash, and what it started.
                os.killpg(process.pid, signal.SIGTERM)
        for process in running:
            process.wait(timeout=120)
        stop_databases(home)
        shutil.rmtree(home, ignore_errors=True)


def start(body: str, directory: Path, environment: dict, running: list, log: Path) -> str:
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", body], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
            stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    running.append(process)
    address = re.search(r"--listen[ =](\S+)", body)
    url = f"http://{address[1] if address else '127.0.0.1:8440'}/readyz"

    def said() -> str | None:
        """The output, once the server is ready: it ends with what to do next."""
        assert process.poll() is None, f"{body}\nended with {process.returncode}:\n{log.read_text()}"
        try:
            is_ready = urllib.request.urlopen(url, timeout=300).status == 200
        except OSError:
            is_ready = False
        return log.read_text() if is_ready and "Stop with" in log.read_text() else None

    return eventually(said, f"an answer of {url}", 300)


def stop_databases(home: Path) -> None:
    """Ends a database that a server left behind."""
    for file in home.rglob("postmaster.pid"):
        pid = int(file.read_text().split()[0])
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            continue
        eventually(lambda file=file: not file.exists(), "the end of a database that a server left behind")


@pytest.mark.parametrize(
    ("expected", "output", "fits"),
    [
        ("a\nb", "a\nx\nb", True),
        ("a\nb", "b\na", False),
        ("x … z", "x yyy z", True),
        ("x … z", "x yyy", False),
        ("…\nb", "a\nb", True),
        ("a   b", "a b", True),
        ("version (1)", "version (1)", True),
    ],
)
def test_the_runner_compares_what_is_shown_with_what_is_printed(expected, output, fits):
    if fits:
        check_output(expected, output)
    else:
        with pytest.raises(AssertionError):
            check_output(expected, output)


def test_the_runner_finds_the_blocks_of_the_tour_alone():
    text = (
        "# Title\n```sh\nno\n```\n## Five-minute tour\nWords\n```sh\n# not a heading\none\n```\n### Part\n"
        "```text\ntwo\n```\n```sh background\nthree\n```\n## Next\n```sh\nno\n```\n"
    )
    assert blocks(text, "Five-minute tour") == [("sh", "# not a heading\none\n"), ("text", "two\n"), ("sh background", "three\n")]
