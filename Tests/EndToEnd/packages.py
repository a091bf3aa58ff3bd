"""The Debian package, made of the tests' own build."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
from pinledger import BINARY

PACKAGE = Path(__file__).parents[2] / "deploy/package"


def run(*command, **more) -> str:
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=1800, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def build(program, out: Path) -> Path:
    environment = os.environ | {
        "COMPRESSION": "none", "SOURCE_DATE_EPOCH": "1767225600", "MAINTAINER": "Pinledger packages <packages@pinledger.org>",
    }  # fmt: skip
    return Path(run(PACKAGE / "build-deb", program, out, env=environment).strip())


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """Built once for all processes of a run: a debug build takes ten seconds of a core for each file of completions."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "built-package"
    shared.mkdir(exist_ok=True)
    with open(shared / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found := next(shared.glob("*.deb"), None):
            return found
        built = build(BINARY, tmp_path_factory.mktemp("package"))
        # In one step: another process may not take half of one for the package.
        return built.rename(shared / built.name)
