"""Where experiments take place: clusters, ledgers and nodes that are all gone when the experiment ends, however it ends."""

import contextlib
import random
import re
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from checks import expect_invariants, fsck
from cluster import Cluster
from ledger import Ledger, Template, program
from load import Acknowledged, Fetcher, actor_of, document_paths
from node import Node
from pinledger import BINARY
from proxy import FaultProxy
from report import Measurement


class Features:
    """What the program can do, by its own help."""

    def __init__(self):
        self._commands = set(re.findall(r"^  ([a-z]+) ", program("--help").stdout, re.MULTILINE))
        self._options = set(re.findall(r"--[a-z-]+", program("serve", "--help").stdout))
        self.version = program("--version").stdout.strip()

    def __contains__(self, name: str) -> bool:
        return name in (self._options if name.startswith("--") else self._commands)


class Ground:
    """What all experiments of one run share: a cluster, and in it a template to make ledgers from."""

    def __init__(self):
        # First what can fail, and leaves nothing behind.
        self.features = Features()
        self.directory = Path(tempfile.mkdtemp(prefix="pinledger-torture-"))
        self.directory.chmod(0o755)
        self._lock = threading.Lock()
        self._cluster: Cluster | None = None
        self._template: Template | None = None

    @property
    def template(self) -> Template:
        with self._lock:
            if self._template is None:
                # The one whose template could not be made.
                if self._cluster is not None:
                    self._cluster.destroy()
                self._cluster = Cluster(settings={"wal_buffers": "'16MB'", "max_wal_size": "'1GB'"})
                self._cluster.start()
                self._template = Template.make(self._cluster, self.directory)
            return self._template

    def restore(self) -> None:
        """The shared cluster as an experiment may expect it: running, with no setting of an earlier one."""
        if self._cluster is None:
            return
        if not self._cluster.is_running:
            self._cluster.process = None
            self._cluster.start()

    def destroy(self, *, keeps_logs: bool = False) -> None:
        if self._cluster is not None:
            self._cluster.destroy()
        if not keeps_logs:
            shutil.rmtree(self.directory, ignore_errors=True)


class Stage:
    """One run of one experiment, or of its broken variant."""

    def __init__(self, ground: Ground, name: str, *, is_short: bool, is_release: bool, seed: int):
        self.ground, self.name, self.is_short, self.is_release, self.seed = ground, name, is_short, is_release, seed
        self.random = random.Random(seed)
        self.directory = ground.directory / name
        self.directory.mkdir()
        self.features = ground.features
        self._exits = contextlib.ExitStack()
        self._fetchers: list[Fetcher] = []
        self._count = 0

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *exception) -> None:
        self._exits.close()

    def size(self, short, full):
        """A number of anything, by the form that is run."""
        return short if self.is_short else full

    def supports(self, name: str) -> bool:
        return name in self.features

    @property
    def cluster(self) -> Cluster:
        return self.ground.template.cluster

    def on_exit(self, clean_up: Callable) -> None:
        """Called at the end, the last first."""
        self._exits.callback(clean_up)

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{re.sub('[^a-z0-9]+', '_', self.name.lower())}_{kind}{self._count}"

    # MARK: Making things

    def ledger(self, *apps: str, like: Ledger | None = None, template: Template | None = None) -> Ledger:
        """A ledger of its own, with no app in it, or a copy of another one that nobody uses."""
        template = template or (like.template if like else self.ground.template)
        name = self._name("ledger")
        ledger = Ledger(template, name, like=like.name) if like else Ledger(template, name)
        self.on_exit(ledger.drop)
        return ledger

    def node(self, ledger: Ledger, *options: str, start: bool = True, **more) -> Node:
        """A server, running unless `start` is False. `more`: see ``Node``."""
        node = Node(ledger, self.directory, self._name("node"), *options, **more)
        self.on_exit(node.destroy)
        if start:
            node.start()
        return node

    def proxy(self, target: int | Callable[[], int | None]) -> FaultProxy:
        proxy = FaultProxy(target, seed=self.seed)
        self.on_exit(proxy.close)
        return proxy

    def database_proxy(self) -> FaultProxy:
        return self.proxy(self.cluster.port)

    def fetcher(self, port: int, apps: list[str], rate: float = 100) -> Fetcher:
        fetcher = Fetcher(self.directory, self._name("fetcher"), port, document_paths(apps), rate)
        self.on_exit(fetcher.destroy)
        self._fetchers.append(fetcher)
        return fetcher

    def apps(self, node: Node, count: int, *hosts: str) -> list[str]:
        """Makes apps, whose documents are served when this returns."""
        apps = [f"com.example.app{number}" for number in range(count)]
        for app in apps:
            node.api.make_app(app, *(hosts or ("api.example.com",)))
        node.wait_for_documents(apps)
        return apps

    def actor(self, node: Node) -> str:
        return actor_of(node.api.token, node.port)

    # MARK: Invariants

    def before(self, ledger: Ledger) -> Path | None:
        """An fsck report that a later one must extend."""
        if not self.supports("fsck"):
            return None
        path = self.directory / f"{ledger.name}-before.json"
        findings = fsck(ledger, save=path)
        if findings.status != 0:
            raise AssertionError(f"fsck is not content before anything happened: {findings.text}")
        return path

    def invariants(
        self, measurement: Measurement, ledger: Ledger, node: Node | None, acknowledged: list[Acknowledged] = (),
        previous: Path | None = None, version: str = BINARY,
    ) -> None:  # fmt: skip
        falls = [fall for fetcher in self._fetchers if fetcher.samples for fall in fetcher.samples.falls()]
        measurement.expect("versions", not falls, "; ".join(falls[:3]))
        expect_invariants(
            measurement, ledger, self.directory, acknowledged=acknowledged, node=node, previous=previous,
            has_fsck=self.supports("fsck"), version=version,
        )  # fmt: skip
