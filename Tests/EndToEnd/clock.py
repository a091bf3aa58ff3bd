"""A clock that a test moves: the time of day and the time since the start of a server, its database and its commands."""

import functools
import hashlib
import os
import shutil
import stat
import struct
import subprocess
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "Support/system_under_test.c"


@functools.cache
def library() -> Path:
    """The library that servers are started with, compiled once for each version of its source."""
    directory = Path(tempfile.gettempdir(), f"pinledger-tests-{os.getuid()}")
    directory.mkdir(mode=0o755, exist_ok=True)
    # The database's account reads the library there, and no other account may have put one there for us to run.
    found = directory.lstat()
    assert stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022, f"{directory} is not ours: remove it"
    made = directory / f"system-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    if not made.exists():
        compiler = shutil.which("cc") or shutil.which("clang")
        assert compiler, "the tests need a C compiler: apt-get install gcc"
        draft = directory / f"{made.name}.{os.getpid()}"
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(draft), str(SOURCE), "-ldl"], check=True)
        draft.rename(made)
    return made


class MovedClock:
    """The time for the processes that are started with its environment. It begins with the machine's time, and only goes forward."""

    def __init__(self, path: Path):
        self.path = path
        self.ahead = timedelta()
        path.write_bytes(bytes(16))
        # The database runs under another account.
        path.chmod(0o644)

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(library()), "MOVED_CLOCK": str(self.path)}

    def now(self) -> datetime:
        return datetime.now(timezone.utc) + self.ahead

    def from_now(self, **interval) -> str:
        """An instant of this clock as the API reads it: from_now(hours=1)."""
        return (self.now() + timedelta(**interval)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def move(self, **interval) -> None:
        """From now on, for all processes that run with it, without a look at what they are doing: `Server.forward` looks."""
        step = timedelta(**interval)
        assert step > timedelta() and step % timedelta(seconds=1) == timedelta(), "whole seconds, and forward"
        self.ahead += step
        seconds = int(self.ahead.total_seconds())
        with self.path.open("r+b", buffering=0) as file:
            file.write(struct.pack("=qq", seconds, seconds))
