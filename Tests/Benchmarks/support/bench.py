"""What one run of the benchmarks shares: how long to measure, and one cluster."""

import os
import shutil
import tempfile
from functools import cached_property
from pathlib import Path

from support.large import LargeLedger
from support.postgres import Cluster


class Bench:
    def __init__(self, *, quick: bool, reader_seconds: float | None = None):
        self.quick = quick
        #: How old the snapshot of `reader` becomes, where an option says so.
        self.reader_seconds = reader_seconds
        self.rounds = 1 if quick else 3
        #: How long one measurement takes.
        self.seconds = 1.0 if quick else 5.0
        parent = os.environ.get("PINLEDGER_BENCH_DIR", "/var/tmp")
        self.directory = Path(tempfile.mkdtemp(prefix="pinledger-bench-", dir=parent))
        # The database's account has to get there.
        self.directory.chmod(0o755)

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *error) -> None:
        try:
            if "cluster" in self.__dict__:
                self.cluster.stop()
            if "large" in self.__dict__:
                self.large.stop()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.directory / "postgresql").start()

    @cached_property
    def large(self) -> LargeLedger:
        """Made once, for all benchmarks that start on a long ledger."""
        return LargeLedger(self.directory / "large", self.pick(1_000_000, 20_000), self.pick(10_000, 200))

    def pick(self, full, quick):
        return quick if self.quick else full
