"""Disks fill up: below the tables, below the write-ahead log, and below the server's own log."""

import contextlib
import errno
import os
import subprocess
import threading
import time
from pathlib import Path

from cluster import Cluster
from fronts import answers_before_commit, logs_before_answering
from ledger import Ledger, Template
from load import Writers, mixed_commands
from network import LONGEST_WAIT
from pinledger import API
from report import Experiment, Impossible, Measurement, megabytes, milliseconds
from slowness import within
from stage import Stage

CLIENTS = 16


class SmallDisk:
    """A file system of its own and of a few megabytes, that is gone when the experiment ends."""

    def __init__(self, stage: Stage, name: str, megabytes: int):
        if os.geteuid() != 0:
            raise Impossible("a small disk can be mounted by root alone")
        self.path = stage.directory / name
        self.path.mkdir()
        account = os.environ.get("PINLEDGER_TEST_PGUSER", "postgres")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700,uid={account},nosuid,nodev",
             "pinledger-torture", str(self.path)],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            self.path.rmdir()
            raise Impossible(f"a small disk cannot be mounted: {done.stderr.strip()}")
        stage.on_exit(self._unmount)
        self._filler = self.path / "filler"

    def _unmount(self) -> None:
        if subprocess.run(["umount", str(self.path)], capture_output=True).returncode != 0:
            # A process that is ending still has a file open there.
            subprocess.run(["umount", "--lazy", str(self.path)], check=True, capture_output=True)

    @property
    def free(self) -> int:
        figures = os.statvfs(self.path)
        return figures.f_bavail * figures.f_frsize

    def fill(self, but: int) -> None:
        """Leaves so many bytes, which the others may use up."""
        with self._filler.open("wb") as file:
            for left in reversed(range(100)):
                try:
                    return os.posix_fallocate(file.fileno(), 0, max(1, self.free - but))
                except OSError as error:
                    # The others write meanwhile, and may have taken what was free a moment ago.
                    if error.errno != errno.ENOSPC or not left:
                        raise

    def clear(self) -> None:
        self._filler.unlink()


class Supervisor(threading.Thread):
    """Starts PostgreSQL again whenever it has ended, as the service manager of its machine does."""

    def __init__(self, cluster: Cluster):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.restarts = 0
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.25):
            if not self.cluster.is_running:
                self.cluster.process = None
                self.restarts += 1
                self.cluster.spawn()

    def stop(self) -> None:
        self._ended.set()
        self.join(10)


def panics(cluster: Cluster) -> int:
    return cluster.log.read_text(errors="replace").count("PANIC:")


def await_refusal(writers: Writers, api: API | None, app: str, seconds: float = 60) -> float:
    """Until a write is answered 503; when that was. Behind a front that hides it the server itself is asked."""
    before, deadline = writers.answers[503], time.monotonic() + seconds
    while time.monotonic() < deadline:
        if api is None:
            if writers.answers[503] > before:
                return time.monotonic()
        elif api.request("PATCH", f"/v1/apps/{app}", {"display_name": f"{time.monotonic()}"}).status == 503:
            return time.monotonic()
        time.sleep(0.02)
    raise AssertionError(f"the disk is never full: {dict(writers.answers)}")


def database_disk(stage: Stage, is_broken: bool) -> Measurement:
    """F06: first the disk with the tables is full, then the one with the write-ahead log, each time under 16 writers."""
    measurement = Measurement()
    tables, log = SmallDisk(stage, "tables", 64), SmallDisk(stage, "log", 96)
    cluster = Cluster(
        settings={
            # Old segments are removed and not kept for use again: what the disk has left is what the log may grow by.
            "wal_recycle": "off", "min_wal_size": "'2MB'", "max_wal_size": "'1GB'", "autovacuum": "off",
        },
        initdb=[f"--waldir={log.path}", "--wal-segsize=1"],
    )  # fmt: skip
    stage.on_exit(cluster.destroy)
    cluster.start()
    supervisor = Supervisor(cluster)
    stage.on_exit(supervisor.stop)
    template = Template.make(cluster, stage.directory)
    cluster.execute("postgres", f"CREATE TABLESPACE small LOCATION '{tables.path}'")
    ledger = Ledger(template, "disk_full", tablespace="small")
    cluster.execute("postgres", "CHECKPOINT")
    node = stage.node(ledger)
    apps = stage.apps(node, 8)
    previous = stage.before(ledger)
    process, port = node.pid, node.port
    if is_broken:
        front = answers_before_commit(lambda: node.port, node.api.token)
        stage.on_exit(front.close)
        port = front.port
    commands = mixed_commands(apps, CLIENTS, 600 if is_broken else 40_000, stage.seed)
    writers = Writers([lambda: port], node.api.token, stage.actor(node), commands, patience=60)
    fetcher = stage.fetcher(node.port, apps)
    stage.on_exit(writers.stop)
    supervisor.start()
    recoveries: dict[str, float] = {}
    outage = stage.size(1.5, 10)
    disks = {"tables": (tables, 256 << 10)} if is_broken else {"tables": (tables, 256 << 10), "log": (log, 1 << 20)}
    if is_broken:
        tables.fill(but=64 << 10)
    writers.start()
    for name, (disk, rest) in disks.items():
        writers.wait_for(writers.count + 50)
        if not is_broken:
            disk.fill(but=rest)
        await_refusal(writers, node.api if is_broken else None, apps[0])
        time.sleep(outage)
        disk.clear()
        cleared = time.monotonic()
        if not is_broken:
            again = writers.first_success_after(cleared, 30)
            recoveries[name] = 99 if again is None else again
    if is_broken:
        writers.join()
        # Everything that was not lost is to arrive.
        front.drain()
    writers.stop()
    supervisor.stop()
    samples = fetcher.stop()

    slowest = max(writers.latencies, default=0)
    measurement.figures |= {
        "acknowledged": writers.count, "writes_again_seconds": recoveries, "longest_answer": slowest,
        "fetches": len(samples.all), "fetches_failed": samples.failures, "fetch_p99": samples.p(0.99),
        "panics": panics(cluster), "restarts_by_supervisor": supervisor.restarts,
        "answers": {str(status): count for status, count in sorted(writers.answers.items(), key=str)},
    }  # fmt: skip
    measurement.expect("server stays up", node.is_running and node.pid == process, node.tail()[-300:])
    measurement.expect("documents served", samples.failures == 0, f"{samples.failures} of {len(samples.all)} failed")
    if not is_broken:
        hung = {kind: count for kind, count in writers.answers.items() if kind in ("TimeoutError", "timeout")}
        measurement.expect("no 500", writers.answers[500] == 0, f"{writers.answers[500]} times 500")
        measurement.expect("no refusal", not writers.wrong, "; ".join(writers.wrong[:3]))
        measurement.expect("Retry-After", not writers.bare_503, f"{writers.bare_503} times 503 without Retry-After")
        measurement.expect("answered in time", slowest <= within(LONGEST_WAIT) and not hung, f"the slowest took {slowest:.1f} s; {hung}")
        measurement.expect("log was full", panics(cluster) > 0, "PostgreSQL never ran out of room for its log")
        # PostgreSQL itself may have to start again first.
        allowed = {"tables": 60, "log": 60}
        for name, seconds in recoveries.items():
            measurement.expect("recovers", seconds <= allowed[name], f"{name}: writes {seconds:.1f} s after there was room")
    stage.invariants(measurement, ledger, node, writers.acknowledged, previous)
    measurement.headline = (
        f"{len(writers.acknowledged)} acknowledged, {measurement.figures['lost']} lost, "
        f"{measurement.figures['twice']} twice; {samples.failures} of {len(samples.all)} fetches failed"
        + "".join(f"; {name} full: writes again in {milliseconds(seconds)}" for name, seconds in recoveries.items())
    )
    return measurement


def log_disk(stage: Stage, is_broken: bool) -> Measurement:
    """F06-log: the disk with the server's own log is full when the database fails, which makes it log much."""
    measurement = Measurement()
    disk = SmallDisk(stage, "log", 1)
    ledger = stage.ledger()
    node = stage.node(ledger, start=False)
    node.log = disk.path / "server.log"
    node.start()
    apps = stage.apps(node, 4)
    previous = stage.before(ledger)
    port, process = node.port, node.pid
    if is_broken:
        front = logs_before_answering(str(disk.path / "access.log"))
        stage.on_exit(front.close)
        port = front.port
    disk.fill(but=0)
    full = disk.free
    fetcher = stage.fetcher(port, apps)
    writers = Writers(
        [lambda: node.port], node.api.token, stage.actor(node), mixed_commands(apps, 4, 10_000, stage.seed), patience=60
    )
    stage.on_exit(writers.stop)
    writers.start()
    writers.wait_for(50)
    stage.cluster.kill()
    time.sleep(stage.size(0.7, 5))
    back = stage.cluster.start()
    again = writers.first_success_after(back, 60)
    time.sleep(0.3)
    logged = node.log.stat().st_size
    writers.stop()
    samples = fetcher.stop()
    disk.clear()
    measurement.figures |= {
        "fetches": len(samples.all), "fetches_failed": samples.failures, "writes_again_seconds": again,
        "bytes_free_when_full": full, "bytes_logged": logged, "answers": {str(k): v for k, v in writers.answers.items()},
    }  # fmt: skip
    measurement.expect("was full", full == 0, f"{megabytes(full)} were free")
    measurement.expect("server stays up", node.is_running and node.pid == process, f"{node.process}")
    measurement.expect("documents served", samples.failures == 0, f"{samples.failures} of {len(samples.all)} failed")
    measurement.expect("writes", again is not None, f"again after {again} s")
    measurement.expect("no 500", writers.answers[500] == 0, f"{writers.answers[500]} times 500")
    measurement.expect("no refusal", not writers.wrong, "; ".join(writers.wrong[:3]))
    stage.invariants(measurement, ledger, node, writers.acknowledged, previous)
    measurement.headline = (
        f"{samples.failures} of {len(samples.all)} fetches failed, {len(writers.acknowledged)} commands acknowledged, "
        f"writes again {milliseconds(99 if again is None else again)} after the database"
    )
    # The log lies on the disk that goes away.
    with contextlib.suppress(OSError):
        (stage.directory / "server.log").write_bytes(Path(node.log).read_bytes())
    return measurement


EXPERIMENTS = [
    Experiment(
        "F06", "the disk is full: below the tables, then below the write-ahead log; 16 clients write",
        "a front answers before the commit", {"lost"}, database_disk,
    ),
    Experiment(
        "F06-log", "the disk with the server's log is full while the database fails",
        "a server whose access log lies in the request's path", {"documents served"}, log_disk,
    ),
]  # fmt: skip
