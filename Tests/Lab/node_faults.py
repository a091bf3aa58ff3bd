"""Faults of processes, their files, disks and clocks."""

import signal
import threading
from datetime import timedelta

from fault import Fault
from lab import APP, Lab
from pinledger import eventually
from report import Impossible
from runbook import Section


def kill_reader(lab: Lab) -> None:
    lab.reader.kill()


def start_reader(lab: Lab, section: Section) -> None:
    assert not lab.reader.is_running
    lab.reader.start()


def rename_job(lab: Lab) -> None:
    lab.prometheus.reload("nodes")


def name_job(lab: Lab, section: Section) -> None:
    lab.prometheus.reload("pinledger")


def forget_everything(lab: Lab) -> None:
    """The edge behind the edge starts with an empty disk, and without a token that its upstream takes."""
    lab.far_edge.stop()
    lab.kept["state"] = lab.far_edge.state
    lab.kept["token"] = lab.far_edge.settings["upstream_token_file"]
    wrong = lab.directory / "wrong.token"
    wrong.touch(mode=0o600)
    wrong.write_text("x" * 30 + "\n")
    lab.far_edge.write(state_directory=str(lab.far_edge.home / "empty"), upstream_token_file=str(wrong))
    lab.far_edge.start(until=lambda: lab.far_edge.api.get("/healthz").status == 200)


def remember(lab: Lab, section: Section) -> None:
    said = lab.far_edge.api.get("/readyz")
    assert said.status == 503, str(said)
    lab.far_edge.restart(state_directory=str(lab.kept["state"]), upstream_token_file=lab.kept["token"])


class Crashes(threading.Thread):
    """A process that ends by SIGSEGV as soon as it serves, and a service manager that starts it again each time."""

    def __init__(self, lab: Lab):
        super().__init__(daemon=True)
        self.service, self.prometheus = lab.edge, lab.prometheus
        self._ends = threading.Event()
        self.count = 0

    def run(self) -> None:
        starts = f'pinledger_start_time_seconds{{instance="{self.service.instance}"}}'
        while not self._ends.is_set():
            before = self.prometheus.value(starts)
            assert self.service.process is not None
            self.service.process.send_signal(signal.SIGSEGV)
            self.service.process.wait()
            self.service.process = None
            self.count += 1
            self.service.start()
            # Prometheus counts only the starts that it has seen.
            eventually(lambda before=before: self.prometheus.value(starts) not in (None, before), "the scrape of the new process")

    def stop(self) -> None:
        self._ends.set()
        self.join()


def crash(lab: Lab) -> None:
    crashes = lab.kept["crashes"] = Crashes(lab)
    lab.on_exit(crashes.stop)
    crashes.start()


def end_crashes(lab: Lab, section: Section) -> None:
    lab.kept["crashes"].stop()
    assert lab.kept["crashes"].count > 3


def fill_disk(lab: Lab) -> None:
    if lab.disk is None:
        raise Impossible("a small disk can be mounted by root alone")
    lab.disk.fill(0)
    lab.change(f"/v1/apps/{APP}", {"display_name": "Changed on a full disk"})


def make_room(lab: Lab, section: Section) -> None:
    assert eventually(lambda: lab.second.said("memory_not_kept"), "the line of the log")[0]["error"]
    lab.disk.clear()


def break_settings(lab: Lab) -> None:
    lab.kept["settings"] = lab.first.file.read_bytes()
    lab.first.file.write_text("listen: [127.0.0.1\n")
    lab.first.reload()


def mend_settings(lab: Lab, section: Section) -> None:
    refused = lab.first.said("file_refused")[-1]
    assert str(lab.first.file) in str(refused), refused
    lab.first.file.write_bytes(lab.kept["settings"])
    lab.first.reload()


def near_end(lab: Lab) -> None:
    lab.authority.issue("edge", left=timedelta(days=5))


def renew(lab: Lab, section: Section) -> None:
    lab.authority.issue("edge")


def set_clock(lab: Lab) -> None:
    lab.clock.set(3600)


def synchronize(lab: Lab, section: Section) -> None:
    lab.clock.set(0)


NODE_FAULTS = [
    Fault(
        "PinledgerDown", "SIGKILL for the read-only node", kill_reader,
        "A node does not answer Prometheus. Look whether the process runs", start_reader, on="reader",
    ),
    Fault(
        "PinledgerMissing", "the scrape job has another name", rename_job, "Check that the job is called `pinledger`", name_job,
    ),
    Fault(
        "PinledgerNotServing", "an edge with an empty disk, whose token its upstream does not know", forget_everything,
        "`/readyz` on operators' address says why", remember, on="far-edge", companions=frozenset({"PinledgerEdgeStale"}),
    ),
    Fault(
        "PinledgerRestarts", "an edge ends by SIGSEGV again and again", crash,
        "The last lines before each start say why it ended", end_crashes, on="edge",
        companions=frozenset({"PinledgerEdgeStale"}),
    ),
    Fault(
        "PinledgerMemoryNotKept", "the disk with the state directory is full", fill_disk, "Make room", make_room, on="second",
    ),
    Fault(
        "PinledgerFileRefused", "the configuration is broken YAML at a reload", break_settings,
        "`file_refused` in the log names it and says why", mend_settings, on="first",
    ),
    Fault(
        "PinledgerOwnCertificateExpires", "the certificate of an edge ends in five days of sixty", near_end,
        "Look at what renews it", renew, on="edge",
    ),
    Fault(
        "PinledgerSuspended", "the clock of a server is an hour ahead", set_clock, "Synchronize both (NTP)", synchronize,
        on="second", labels=(("state", "suspended"),), companions=frozenset({"PinledgerDocumentsBehind", "PinledgerBehind"}),
    ),
]  # fmt: skip
