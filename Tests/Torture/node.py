"""Server processes: `pinledger serve` on a ledger, any number of them, with options, limits and clocks of their own."""

import os
import signal
import subprocess
import time
from pathlib import Path

from ledger import Ledger
from pinledger import API, BINARY, Process, free_port

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(process: int) -> int:
    """Bytes of memory that a process holds."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE


def peak(process: int) -> int:
    """The most bytes of memory that it has held."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ValueError("no VmHWM")


def runnable_share(process: int, seconds: float) -> float:
    """How much of the time, from now on for so long, a process's threads run or wait for a core, added up.

    One that never sleeps counts as 1, however little a busy machine lets it run (Linux, scheduler/sched-stats.rst).
    """
    before, started = _runnable_seconds(process), time.monotonic()
    time.sleep(seconds)
    after, elapsed = _runnable_seconds(process), time.monotonic() - started
    return sum(after[thread] - before.get(thread, 0) for thread in after) / elapsed


def _runnable_seconds(process: int) -> dict[str, float]:
    seconds = {}
    for thread in Path(f"/proc/{process}/task").iterdir():
        try:
            runs, waits, _ = (thread / "schedstat").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has ended.
        seconds[thread.name] = (int(runs) + int(waits)) / 1e9
    if not seconds:
        raise RuntimeError(f"no schedstat of process {process}: the kernel has none, or the process has ended")
    return seconds


class Node(Process):
    """One `pinledger serve`. It is not running before `start`."""

    def __init__(
        self, ledger: Ledger, directory: Path, name: str, *options: str,
        database_port: int | None = None, environment: dict | None = None, prefix: list[str] | None = None,
        is_reader: bool = False,
    ):  # fmt: skip
        port = free_port()
        arguments = ["serve", "--database", ledger.conninfo(port=database_port), "--listen", f"127.0.0.1:{port}"]
        arguments += ["--read-only"] if is_reader else ["--kek-file", str(ledger.kek)]
        super().__init__(directory / f"{name}.log", [*arguments, *options], port, environment)
        # How long a change waits for the database is part of what is tried.
        self.environment.pop("PINLEDGER_DATABASE_TIMEOUT")
        # And so is what runs before what.
        if "MOVED_CLOCK" not in self.environment:
            self.environment.pop("LD_PRELOAD")
        # Every client of a stage comes from one address.
        self.environment |= {f"PINLEDGER_{what}_PER_NETWORK": "0" for what in ("CONNECTIONS", "STREAMS", "REQUESTS")}
        # And one token stands for many operators.
        self.environment["PINLEDGER_REQUESTS_PER_OPERATOR"] = "0"
        self.prefix = prefix or []
        #: What is started: the program under test, or another version of it.
        self.program = BINARY
        self.api = API(port, ledger.token)

    def spawn(self) -> None:
        assert self.process is None
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C is for the experiments, which stop the server themselves.
            self.process = subprocess.Popen(
                [*self.prefix, self.program, *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=True,
            )  # fmt: skip

    def start(self, seconds: float = 300) -> float:
        """Starts, and returns after how many seconds it was ready."""
        started = time.monotonic()
        self.spawn()
        self.wait_until(lambda: self.api.get("/readyz").status == 200, seconds)
        taken = time.monotonic() - started
        if "--read-only" not in self.arguments:
            self.api.lower_rails()
        return taken

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM, without waiting."""
        os.kill(self.pid, signal.SIGTERM)

    def destroy(self) -> None:
        """Ends it whatever it does; SIGKILL ends paused processes too."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self.process = None

    def position(self) -> int:
        return self.api.position()

    def wait_for_position(self, position: int, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while self.position() < position:
            if time.monotonic() > deadline:
                raise AssertionError(f"the node does not reach position {position}: {self.api.get('/readyz')}")
            time.sleep(0.02)

    def wait_for_documents(self, apps: list[str], seconds: float = 120) -> None:
        """Until every app's document is served."""
        deadline = time.monotonic() + seconds
        for app in apps:
            while (answer := self.api.document(app)).status != 200:
                if time.monotonic() > deadline:
                    raise AssertionError(f"no document of {app}: {answer}\n{self.tail()}")
                time.sleep(0.02)
