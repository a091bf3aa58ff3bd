"""CPU time, memory and place of processes, read from /proc."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
SERVER_CORE, GENERATOR_CORE = 0, 1


def cpu_seconds(pid: int) -> float:
    """User and system time of one process, all its threads."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS


def tree_cpu_seconds(root: int) -> float:
    """User and system time of a process and of all that descend from it, those included that have ended."""
    parents: dict[int, list[int]] = {}
    times: dict[int, float] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = _stat(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents.setdefault(int(fields[1]), []).append(int(name))
        # A child that was waited for is in its parent's cutime and cstime.
        times[int(name)] = sum(int(value) for value in fields[11:15]) / TICKS
    total, waiting = 0.0, [root]
    while waiting:
        pid = waiting.pop()
        total += times.get(pid, 0.0)
        waiting += parents.get(pid, [])
    return total


def resident_kilobytes(pid: int) -> int:
    return _status(pid, "VmRSS")


def peak_kilobytes(pid: int) -> int:
    """The most that was ever resident (VmHWM)."""
    return _status(pid, "VmHWM")


def megabytes(kilobytes: float) -> float:
    """Of 10^6 bytes, as the goals have them; the kernel's kilobytes are of 1024."""
    return kilobytes * 1024 / 1e6


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may itself hold blanks: state is the first."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


def _status(pid: int, name: str) -> int:
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    raise ValueError(f"/proc/{pid}/status has no {name}")


def _machine_times() -> dict[str, list[int]]:
    """The lines of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal."""
    with open("/proc/stat") as file:
        return {line.split()[0]: [int(value) for value in line.split()[1:9]] for line in file if line.startswith("cpu")}


@dataclass
class Meter:
    """Measures what happens inside a `with`: the servers' CPU time, and what disturbed the measurement."""

    #: The processes whose CPU time counts as the server's.
    servers: Iterable[int]
    #: Whole trees (nginx with its worker, PostgreSQL with its backends) rather than single processes.
    trees: bool = False
    #: A postmaster.pid: the process in it is ours too, with all its children, though not a child of ours.
    detached: Path | None = None
    figures: dict[str, float] = field(default_factory=dict)

    def __enter__(self) -> "Meter":
        self.servers = list(self.servers)
        self._before = self._read()
        return self

    def __exit__(self, *error) -> None:
        now, ours, server, machine = self._read()
        began, ours_before, server_before, machine_before = self._before
        seconds = now - began

        def passed(cpu: str, columns: Iterable[int]) -> float:
            return sum(machine[cpu][column] - machine_before[cpu][column] for column in columns) / TICKS / seconds

        self.figures = {
            "measured_seconds": round(seconds, 3),
            "server_cpu_seconds": round(server - server_before, 3),
            # Cores that processes other than ours used. Interrupts count for no process.
            "other_cores": round(max(0.0, passed("cpu", (0, 1, 2)) - (ours - ours_before) / seconds), 3),
            "steal_cores": round(passed("cpu", (7,)), 3),
        }
        for core in (SERVER_CORE, GENERATOR_CORE):
            if f"cpu{core}" in machine:
                self.figures[f"core{core}_busy"] = round(passed(f"cpu{core}", (0, 1, 2, 5, 6, 7)), 3)

    def _read(self):
        cpu = tree_cpu_seconds if self.trees else cpu_seconds
        ours = tree_cpu_seconds(os.getpid())
        if self.detached and self.detached.exists():
            ours += tree_cpu_seconds(int(self.detached.read_text().split()[0]))
        return time.monotonic(), ours, sum(map(cpu, self.servers)), _machine_times()


class awake:
    """Inside this `with`, a core has something to do, which gives way to everything else.

    A core that rests takes up to some milliseconds to come back where it is a virtual one: that is then measured, and
    whatever keeps it busy seems to make the server quicker.
    """

    def __init__(self, core: int):
        self.core = core

    def __enter__(self) -> None:
        # It gives way at every turn: to a thousandth of its core even this class of processes has a right (EEVDF), and
        # would take it some milliseconds at a time.
        spin = "from os import sched_yield\nwhile True: sched_yield()"
        command = ["taskset", "-c", str(self.core), "chrt", "--idle", "0", sys.executable, "-c", spin]
        self.process = subprocess.Popen(command)

    def __exit__(self, *error) -> None:
        self.process.kill()
        self.process.wait()


class confined:
    """Inside this `with`, a process and its children, those that it has and those that it will have, run on one core."""

    def __init__(self, pid: int, core: int):
        self.pid, self.core = pid, core

    def __enter__(self) -> None:
        self.before = os.sched_getaffinity(self.pid)
        self._confine({self.core})

    def __exit__(self, *error) -> None:
        self._confine(self.before)

    def _confine(self, cores: set[int]) -> None:
        children = subprocess.run(["pgrep", "--parent", str(self.pid)], capture_output=True, text=True).stdout.split()
        for pid in [self.pid, *map(int, children)]:
            try:
                os.sched_setaffinity(pid, cores)
            except ProcessLookupError:
                continue


class pinned:
    """Inside this `with`, processes are started on one core, with all the threads they will have."""

    def __init__(self, core: int | None):
        self.core = core

    def __enter__(self) -> None:
        self.before = os.sched_getaffinity(0)
        if self.core is not None:
            os.sched_setaffinity(0, {self.core})

    def __exit__(self, *error) -> None:
        os.sched_setaffinity(0, self.before)
