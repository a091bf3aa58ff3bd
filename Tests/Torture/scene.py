"""Patroni's cluster with nodes and clients on it: what the experiments with it have in common."""

import collections

from kill import CLIENTS, expect_answers
from load import Writers, mixed_commands
from machines import Machines, MachinesLedger
from report import Measurement
from stage import Stage

APPS = 8


class Scene:
    """The cluster, three nodes on it, 16 clients that write and three that fetch."""

    def __init__(self, stage: Stage, *, is_synchronous: bool = True, requires: bool = True, **settings: str):
        self.stage, self.measurement = stage, Measurement()
        self.machines = Machines(stage, **({} if is_synchronous else {"synchronous_mode": "false"}), **settings)
        self.ledger = MachinesLedger(self.machines, stage.directory)
        self._options = ["--require-synchronous"] if is_synchronous and requires else []
        self.node = self.add_node()
        # The second one finds the primary through haproxy.
        through_haproxy = self.add_node(int(self.machines.config["cluster"]["haproxy_primary_port"]))
        reader = stage.node(self.ledger, *self._options, is_reader=True)
        self.nodes = [self.node, through_haproxy, reader]
        self.apps = stage.apps(self.node, APPS)
        for each in self.nodes:
            each.wait_for_documents(self.apps)
        self.previous = stage.before(self.ledger)
        self.processes = [each.pid for each in self.nodes]
        self.fetchers = [stage.fetcher(each.port, self.apps, rate=50) for each in self.nodes]
        self.writers: list[Writers] = []
        self.write([self.node, through_haproxy], CLIENTS)

    def add_node(self, database_port: int | None = None):
        state = self.stage.directory / f"state-{database_port}"
        return self.stage.node(
            self.ledger, "--state-directory", str(state), "--trust-database", *self._options,
            database_port=database_port,
        )  # fmt: skip

    def write(self, nodes: list, clients: int, prefix: str = "", *, patience: float = 240) -> Writers:
        commands = mixed_commands(self.apps, clients, 200_000, self.stage.seed, prefix)
        ports = [lambda node=node: node.port for node in nodes]
        token, actor = self.node.api.token, self.stage.actor(self.node)
        # A client that is refused waits a moment, as Retry-After asks; a paused server is not flooded.
        writers = Writers(ports, token, actor, commands, patience=patience, pause=0.1)
        self.stage.on_exit(writers.stop)
        self.writers.append(writers)
        return writers.start()

    def warm_up(self, count: int = 200) -> None:
        writers = self.writers[0]
        assert writers.wait_for(writers.count + count, 120), f"nothing is written: {dict(writers.answers)}"

    @property
    def acknowledged(self) -> list:
        return [each for writers in self.writers for each in writers.acknowledged]

    def acknowledged_between(self, start: float, end: float) -> int:
        return sum(start <= moment < end for writers in self.writers for moment in writers.times)

    def longest_pause(self, start: float, end: float) -> float:
        """How long nothing was acknowledged."""
        times = sorted(moment for writers in self.writers for moment in writers.times if start <= moment < end)
        return max(b - a for a, b in zip([start, *times], [*times, end], strict=True))

    def writes_again(self, since: float) -> float:
        again = self.writers[0].first_success_after(since, 90)
        return 99 if again is None else again

    def finish(self, *, is_broken: bool) -> Measurement:
        """Stops the clients, and checks what has to hold of every fault."""
        measurement = self.measurement
        for writers in self.writers:
            writers.stop()
        samples = [fetcher.stop() for fetcher in self.fetchers]
        self.machines.wait_until_whole()
        failures, count = sum(each.failures for each in samples), sum(len(each.all) for each in samples)
        measurement.figures |= {"fetches": count, "fetches_failed": failures}
        measurement.expect("documents served", failures == 0, f"{failures} of {count} fetches failed")
        alive = [each.is_running and each.pid == pid for each, pid in zip(self.nodes, self.processes, strict=True)]
        measurement.expect("servers stay up", all(alive), f"{alive}: {self.nodes[0].tail()[-300:]}")
        contents = collections.defaultdict(set)
        for each in samples:
            for _, app, version, _, digest in each.documents:
                contents[app, version].add(digest)
        twofold = [each for each, digests in contents.items() if len(digests) > 1]
        measurement.expect("one content", not twofold, f"{len(twofold)} versions with two, such as {twofold[:3]}")
        if not is_broken:
            expect_answers(measurement, self.writers[0])
            ready = [each.api.get("/readyz?for=writes").status for each in self.nodes[:2]]
            is_whole = ready == [200, 200] and not self.faults()
            measurement.expect("nodes go on", is_whole, f"/readyz?for=writes: {ready}; {self.faults()}")
        self.stage.invariants(
            measurement, self.ledger, None if is_broken else self.node, self.acknowledged, self.previous
        )
        return measurement

    def faults(self) -> str:
        """Why nodes have halted, by their logs."""
        told = [line for each in self.nodes for line in each.log.read_text().splitlines() if " critical " in line]
        return "; ".join(line[line.find("code=") :][:200] for line in told)

    @property
    def headline(self) -> str:
        figures = self.measurement.figures
        return f"{len(self.acknowledged)} acknowledged, {figures['lost']} lost, {figures['twice']} twice; "
