"""A pytest plugin: the processor seconds of each file's tests and of all processes that they start, beside a budget.

Wall time says what else the machine does; processor time says what the tests do. The budget stands in budget.json; a run of all
files that goes above it by a fifth names the files that grew, and BUDGET=write writes it again.
"""

import hashlib
import json
import os
import time
import uuid
from pathlib import Path

import pytest

BUDGET = Path(__file__).with_name("budget.json")
#: Stands in the environment of every process that tests start, also of those that have another parent by now.
MARK = "TESTS_PROCESSOR_TIME_OF"
TICKS = os.sysconf("SC_CLK_TCK")


def reference() -> float:
    """The processor seconds of work that is always the same: what makes figures of two machines comparable."""
    began = time.process_time()
    digest = b""
    for number in range(200_000):
        digest = hashlib.sha256(digest + number.to_bytes(4)).digest()
    return time.process_time() - began


class ProcessorTime:
    """The processor time of this process and all that it started."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        os.environ[MARK] = self.mark
        self.own = os.getpid()
        self.seen: dict[int, tuple[float, int]] = {}
        self.ended = 0.0

    def seconds(self) -> float:
        now = dict(self._processes())
        for pid, (seconds, parent) in self.seen.items():
            # The time of one that its parent waited for is in the parent's sum; that of the others is in nobody's.
            if pid not in now and parent not in self.seen:
                self.ended += seconds
        self.seen = now
        return self.ended + sum(seconds for seconds, _ in now.values())

    def _processes(self):
        wanted = f"{MARK}={self.mark}".encode()
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                if int(entry.name) != self.own and wanted not in Path(entry.path, "environ").read_bytes():
                    continue
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(entry.name), (sum(int(ticks) for ticks in fields[11:15]) / TICKS, int(fields[1]))


class Meter:
    """The processor seconds per file, measured in one process of the run."""

    def __init__(self, config):
        self.config = config
        self.time = ProcessorTime()
        self.files: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if item.path.stem not in self.files:
            self.files[item.path.stem] = -self.time.seconds()
        result = yield
        if nextitem is None or nextitem.path != item.path:
            self.files[item.path.stem] += self.time.seconds()
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self):
        # A run that was broken off has a file that did not end.
        whole = {file: seconds for file, seconds in self.files.items() if seconds >= 0}
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["processor_seconds"] = whole
        else:
            self.config.stash[SECONDS].update(whole)


SECONDS = pytest.StashKey[dict[str, float]]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Takes what one of several processes measured."""
    node.config.stash[SECONDS].update(getattr(node, "workeroutput", {}).get("processor_seconds", {}))


def pytest_configure(config):
    config.stash[SECONDS] = {}
    config.pluginmanager.register(Meter(config), "processor-time")


def pytest_terminal_summary(terminalreporter, config):
    measured = config.stash[SECONDS]
    if len(measured) < 20:
        return
    total = sum(measured.values())
    slowest = sorted(measured.items(), key=lambda item: -item[1])[:30]
    terminalreporter.write_line(f"processor seconds: {total:.0f}; " + " ".join(f"{file} {seconds:.0f}" for file, seconds in slowest))
    speed = reference()
    if os.environ.get("BUDGET") == "write":
        rounded = {file: round(seconds, 1) for file, seconds in sorted(measured.items())}
        BUDGET.write_text(json.dumps({"reference": round(speed, 3), "files": rounded}, indent=2) + "\n")
        return
    if not BUDGET.exists():
        return
    budget = json.loads(BUDGET.read_text())
    scale = speed / budget["reference"]
    allowed = {file: budget["files"].get(file, 0) * scale for file in measured}
    if total > 1.2 * sum(allowed.values()):
        grown = sorted(((measured[file] - allowed[file], file) for file in measured), reverse=True)[:5]
        terminalreporter.write_line(
            f"OVER BUDGET: {total:.0f} processor seconds, {sum(allowed.values()):.0f} expected here; most of it in "
            + ", ".join(f"{file} (+{more:.0f})" for more, file in grown)
            + ". Make them cheaper, or say why and run with BUDGET=write."
        )
