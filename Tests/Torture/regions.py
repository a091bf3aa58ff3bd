"""Three regions: in each a machine of Patroni's cluster, a node that records, one that reads, an edge, and clients."""

import collections
import contextlib
import copy
import subprocess
import threading
import time
from pathlib import Path

from edges import Edge
from kill import expect_answers
from load import TROUBLE, Acknowledged, Client, Command, Fetcher, Samples, Writers, mixed_commands
from machines import Machines, MachinesLedger, local
from pinledger import Process, free_port, from_now
from report import Measurement
from stage import Stage
from wide_area import Link, WideArea

OBSERVER = "observer"
REGIONS = ("db1", "db2", "db3")
APPS = 6
#: Clients that write, in each region.
CLIENTS = 3


class RegionMachines(Machines):
    """A machine of the cluster in each region, which has the machine's name."""

    def __init__(self, stage: Stage, area: WideArea, **settings: str):
        self._area = area
        super().__init__(stage, **settings)

    def _configure(self, settings: dict[str, str]) -> None:
        config = self.config
        for machine in local.machines(config):
            config[machine]["host"] = self._area.addresses[machine]
        addresses = self._area.addresses[OBSERVER].rpartition(".")[0] + ".0/24"
        config["cluster"].update({"network": addresses} | settings)
        with (self.directory / "cluster.ini").open("w") as file:
            config.write(file)

    def _start(self) -> None:
        self.start_again()
        self.wait_until_whole()
        local.make_database(self.directory)
        # Without it every archive command fails, and each promotion asks in vain.
        local.make_repository(self.directory)

    def place(self, machine: str) -> contextlib.AbstractContextManager:
        return self._area.inside(machine)

    def conninfo(
        self, database: str, user: str = "postgres", *, port: int | None = None, nearest: str | None = None
    ) -> str:  # fmt: skip
        """With every machine, the nearest first, or with the machine of a port alone."""
        names = sorted(self.names, key=lambda name: name != nearest)
        if port is not None:
            names = [name for name in names if self.port(name) == port]
        hosts = ",".join(self._area.addresses[name] for name in names)
        ports = ",".join(str(self.port(name)) for name in names)
        told = super().conninfo(database, user)
        return f"host={hosts} port={ports} {told[told.index('dbname=') :]}"


class RegionLedger(MachinesLedger):
    """The ledger as a region's nodes connect to it: to their own region's machine, where it will do."""

    nearest: str | None = None

    def seen_from(self, region: str) -> "RegionLedger":
        seen = copy.copy(self)
        seen.nearest = region
        return seen

    def conninfo(self, *, port: int | None = None) -> str:
        return self.cluster.conninfo(self.name, local.ROLE, port=port, nearest=self.nearest)


class Region:
    """What is in one region beside its machine."""

    def __init__(self, scene: "Regions", name: str):
        self.scene, self.name = scene, name
        stage, ledger = scene.stage, scene.ledger.seen_from(name)
        options = ["--require-synchronous"] if scene.is_synchronous else []
        state = ["--state-directory", str(stage.directory / f"state-{name}")]
        self.node = stage.node(ledger, *state, "--trust-database", *options, start=False)
        self.reader = stage.node(ledger, *options, is_reader=True, start=False)
        self.edge: Edge | None = None
        #: TLS in front of the node, for edges of other regions.
        self.front_port = free_port()
        self.front: subprocess.Popen | None = None
        self.fetchers: list[Fetcher] = []
        self.writers: Writers | None = None

    def inside(self) -> contextlib.AbstractContextManager:
        return self.scene.area.inside(self.name)

    @property
    def servers(self) -> list[Process]:
        return [self.node, self.reader, *([self.edge] if self.edge else [])]

    def start_front(self) -> None:
        address = f"{self.scene.area.addresses[self.name]}:{self.front_port}"
        configuration = self.scene.stage.directory / f"front-{self.name}.cfg"
        configuration.write_text(
            "defaults\n mode tcp\n timeout connect 4s\n timeout client 1h\n timeout server 1h\n"
            f"listen node\n bind {address} ssl crt {self.scene.certificate}\n server node 127.0.0.1:{self.node.port}\n"
        )
        with self.inside():
            program = local.find("haproxy")
            assert program is not None
            self.front = subprocess.Popen([program, "-db", "-f", str(configuration)], stdin=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip

    def make_edge(self, name: str, *first: "Region") -> Edge:
        """One in this region. It asks a node here, unless others are named, and goes on to the other regions'."""
        # The read-only node first: it has a change sooner, where the primary is far.
        addresses = [] if first else [f"http://127.0.0.1:{each.port}" for each in (self.reader, self.node)]
        for each in first or [each for each in self.scene.regions.values() if each is not self]:
            addresses.append(f"https://{self.scene.area.addresses[each.name]}:{each.front_port}")
        more = [part for address in addresses[1:] for part in ("--upstream", address)]
        more += ["--upstream-ca-file", f"{self.scene.certificate}.crt"]

        def end() -> None:
            if edge.is_running:
                edge.kill()

        with self.inside():
            edge = Edge(self.scene.stage.directory, 0, self.scene.edge_token, self.scene.keys, *more, name=name)
            edge.arguments[edge.arguments.index("--upstream") + 1] = addresses[0]
            self.scene.stage.on_exit(end)
            return edge.start_ready()

    def end(self) -> None:
        """Power is lost."""
        if self.front:
            self.front.kill()
            self.front.wait()
        for server in self.servers:
            if server.is_running:
                server.kill()
            server.process = None

    def start(self) -> None:
        self.start_front()
        with self.inside():
            # The edge last: it would go on to another region's node, and stay with that.
            for servers in ([self.node, self.reader], self.servers[2:]):
                for server in servers:
                    server.spawn()
                for server in servers:
                    server.wait_until(lambda server=server: server.api.get("/readyz").status == 200)
        self.fetch()

    def fetch(self) -> None:
        with self.inside():
            self.fetchers = [self.scene.stage.fetcher(each.port, self.scene.apps, rate=20) for each in self.servers]

    def run(self, commands: list[list[Command]]) -> Writers:
        """Clients of the node that records, all in this region."""
        with self.inside():
            self.writers = Writers(
                [lambda: self.node.port], self.node.api.token, self.scene.actor, commands, patience=600, pause=0.1
            )  # fmt: skip
            self.scene.writers.append(self.writers)
            self.scene.stage.on_exit(self.writers.stop)
            return self.writers.start()

    def write(self) -> None:
        self.scene.turns += 1
        prefix = f"{self.name}-{self.scene.turns} "
        self.run(mixed_commands(self.scene.apps, CLIENTS, 20_000, self.scene.stage.seed, prefix))

    def stop_clients(self) -> None:
        for fetcher in self.fetchers:
            self.scene.samples.append(fetcher.stop())
        self.fetchers = []
        if self.writers:
            self.writers.stop()
            self.writers = None


class Switch:
    """A kill switch: when it was asked for, answered, and served by each server that is looked at."""

    def __init__(self, scene: "Regions", at: Region, watched: list[Region], *, seconds: float = 180):
        scene.switches += 1
        self.app = scene.apps[scene.switches % len(scene.apps)]
        self.answered: float | None = None
        self.served: dict[str, float] = {}
        self._asked = time.monotonic()
        self._deadline = self._asked + seconds
        self._path = f"/v1/apps/{self.app}/kill-switch"
        self._at, self._number = at, scene.switches
        self._lock = threading.Lock()
        self._threads = [
            self._run(region, self._watch, f"{region.name} {kind}", server)
            for region in watched
            for kind, server in zip(("node", "reader", "edge"), region.servers, strict=True)
        ]
        self._threads.append(self._run(at, self._engage))

    @staticmethod
    def _run(region: Region, work, *arguments) -> threading.Thread:
        with region.inside():
            thread = threading.Thread(target=work, args=arguments, daemon=True)
            thread.start()
        return thread

    def _send(self, method: str, target: str, body: dict | None = None) -> float:
        """Repeats it, as an operator does, until it is taken; after how many seconds that was."""
        node = self._at.node
        client = Client(lambda: node.port, node.api.token)
        headers = {"Idempotency-Key": f"switch {self._number} {method}"}
        while time.monotonic() < self._deadline:
            with contextlib.suppress(*TROUBLE):
                answer = client.request(method, target, body, headers)
                if answer.status < 300:
                    return time.monotonic() - self._asked
                assert answer.status == 503, str(answer)
            time.sleep(0.2)
        raise AssertionError(f"{method} {target} is not taken")

    def _engage(self) -> None:
        self.answered = self._send("PUT", self._path, {"reason": "stolen key", "expires_at": from_now(days=1)})

    def _watch(self, name: str, server: Process) -> None:
        while time.monotonic() < self._deadline:
            with contextlib.suppress(*TROUBLE):
                if server.api.payload(self.app)["kill_switches"]:
                    with self._lock:
                        self.served[name] = time.monotonic() - self._asked
                    return
            time.sleep(0.02)

    def wait(self) -> "Switch":
        for thread in self._threads:
            thread.join()
        return self

    def release(self) -> None:
        with self._at.inside():
            self._deadline = time.monotonic() + 120
            self._send("DELETE", f"{self._path}?reason=over")

    @property
    def served_by_all(self) -> float | None:
        """After how many seconds; None where a server has not got it."""
        return max(self.served.values()) if len(self.served) == len(self._threads) - 1 else None


class Regions:
    """Everything in three regions. The experiment itself looks from a place that reaches all of them at once."""

    def __init__(self, stage: Stage, *, is_synchronous: bool = True, requires: bool = True):
        self.stage, self.measurement = stage, Measurement()
        self.is_synchronous = is_synchronous and requires
        self.area = WideArea(stage, *REGIONS, OBSERVER)
        self.samples: list[Samples] = []
        self.writers: list[Writers] = []
        self.turns = self.switches = 0
        entered = contextlib.ExitStack()
        entered.enter_context(self.area.inside(OBSERVER))
        stage.on_exit(entered.close)
        # The cluster and all servers are made before there is any distance.
        self.machines = RegionMachines(stage, self.area, **({} if is_synchronous else {"synchronous_mode": "false"}))
        self.ledger = RegionLedger(self.machines, stage.directory)
        self.regions = {name: Region(self, name) for name in REGIONS}
        first = self.regions[REGIONS[0]]
        for each in self.regions.values():
            with each.inside():
                each.node.start()
                each.reader.start()
        with first.inside():
            self.apps = stage.apps(first.node, APPS)
            self.actor = stage.actor(first.node)
            self.edge_token = first.node.api.holding("viewer", name="edges").token
            self.keys = stage.directory / "keys.json"
            self.keys.write_bytes(first.node.api.get("/client/v1/jwks.json").body)
        self.certificate = self._make_certificate()
        for each in self.regions.values():
            stage.on_exit(each.end)
            each.start_front()
        for each in self.regions.values():
            each.edge = each.make_edge(f"edge-{each.name}")
            with each.inside():
                for server in each.servers:
                    server.wait_until(lambda server=server: all(server.api.document(app).status == 200 for app in self.apps))
            each.fetch()
        self.previous = stage.before(self.ledger)

    def _make_certificate(self) -> Path:
        """Of all nodes, and its own authority, with its key in one file."""
        path = self.stage.directory / "front.pem"
        names = ",".join(f"IP:{self.area.addresses[name]}" for name in REGIONS)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=regions", "-addext", f"subjectAltName={names}", "-keyout", path, "-out", f"{path}.crt"],
            check=True, capture_output=True,
        )  # fmt: skip
        with path.open("a") as file:
            file.write(Path(f"{path}.crt").read_text())
        return path

    def roles(self) -> tuple[Region, Region, Region]:
        """That of the primary, that of its synchronous standby (or another one), and the third."""
        primary, synchronous, others = self.machines.roles()
        home, near, far = [each for each in (primary, synchronous, *others) if each is not None]
        return self.regions[home], self.regions[near], self.regions[far]

    def place(self, links: tuple[Link, Link, Link]) -> tuple[Region, Region, Region]:
        """Puts distance between the regions: from the primary's to its standby's, to the third, and between these two."""
        home, near, far = self.roles()
        pairs = ((home.name, near.name), (home.name, far.name), (near.name, far.name))
        self.area.link(dict(zip(pairs, links, strict=True)))
        return home, near, far

    # MARK: Breaking

    def lose(self, *regions: Region) -> None:
        """Nothing in them runs any more, and no packet tells of it."""
        self.area.cut(*(each.name for each in regions))
        for each in regions:
            self.machines.kill(each.name)
            fetchers, each.fetchers = each.fetchers, []
            # What they have fetched until now counts; what fails from now on does not.
            self.samples += [fetcher.stop() for fetcher in fetchers]
            each.end()
            each.stop_clients()

    def bring_back(self, *regions: Region) -> None:
        self.area.heal(*(each.name for each in regions))
        self.machines.start_again(*(each.name for each in regions))
        for each in regions:
            each.start()

    # MARK: Looking

    @property
    def acknowledged(self) -> list[Acknowledged]:
        return [each for writers in self.writers for each in writers.acknowledged]

    def acknowledged_between(self, start: float, end: float) -> int:
        return sum(start <= moment < end for writers in self.writers for moment in writers.times)

    def switch(self, at: Region, watched: list[Region]) -> Switch:
        """Engages one, and releases it once it is served by all."""
        done = Switch(self, at, watched).wait()
        done.release()
        return done

    def finish(self, *, is_broken: bool) -> Measurement:
        """Stops the clients, and checks what has to hold of every fault."""
        measurement = self.measurement
        for each in self.regions.values():
            each.stop_clients()
        self.machines.wait_until_whole()
        failures, count = sum(each.failures for each in self.samples), sum(len(each.all) for each in self.samples)
        measurement.figures |= {"fetches": count, "fetches_failed": failures}
        measurement.expect("documents served", failures == 0, f"{failures} of {count} fetches failed")
        contents = collections.defaultdict(set)
        for each in self.samples:
            for _, app, version, _, digest in each.documents:
                contents[app, version].add(digest)
        twofold = [each for each, digests in contents.items() if len(digests) > 1]
        measurement.expect("one content", not twofold, f"{len(twofold)} versions with two, such as {twofold[:3]}")
        home = self.roles()[0]
        if not is_broken:
            for writers in self.writers:
                expect_answers(measurement, writers)
            ready = {}
            for each in self.regions.values():
                with each.inside():
                    each.node.wait_until(lambda each=each: each.node.api.get("/readyz?for=writes").status == 200)
                    ready |= {f"{each.name} {server.port}": server.api.get("/readyz").status for server in each.servers}
            measurement.expect("nodes go on", set(ready.values()) == {200}, f"{ready}")
        with home.inside():
            self.stage.invariants(measurement, self.ledger, None if is_broken else home.node, self.acknowledged, self.previous)
        return measurement
