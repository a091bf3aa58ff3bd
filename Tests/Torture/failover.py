"""PostgreSQL fails over: to a standby that has everything, and to one that has not."""

import json
import os
import signal
import time

import psycopg
from checks import fsck
from cluster import Cluster, children
from kill import APPS, CLIENTS, expect_answers
from ledger import ACCOUNT, Ledger, Template, program
from load import Writers, mixed_commands
from pinledger import from_now
from report import Experiment, Measurement, milliseconds
from stage import Stage


class Pair:
    """Two servers of which one follows the other. Nodes know both."""

    def __init__(self, stage: Stage, *, is_synchronous: bool):
        self.is_synchronous = is_synchronous
        self.primary = Cluster(settings={"wal_level": "replica", "hot_standby": "on"})
        stage.on_exit(lambda: self.primary.destroy())
        self.primary.start()
        self.template = Template.make(self.primary, stage.directory)
        self.standby = Cluster(standby_of=self.primary)
        stage.on_exit(lambda: self.standby.destroy())
        self.standby.start()
        self.connect_standby()

    def connect_standby(self) -> None:
        """From here on commits wait for the standby, where they are to."""
        if self.is_synchronous:
            self.primary.configure(synchronous_standby_names="'*'")
        self.primary.wait_for_standby()

    def conninfo(self, name: str, user: str) -> str:
        # In an order of their own: the first is not always the primary.
        both = sorted([self.primary, self.standby], key=lambda cluster: cluster.port)
        hosts, ports = (",".join(each) for each in zip(*((str(each.home), str(each.port)) for each in both)))
        return f"host={hosts} port={ports} dbname={name} user={user}"

    def promote(self) -> float:
        """The standby takes the place of the primary, which is down; returns when it took connections."""
        self.standby.promote()
        moment = time.monotonic()
        self.primary, self.standby = self.standby, self.primary
        return moment

    def rebuild(self) -> None:
        """The former primary follows the present one."""
        self.standby.follow(self.primary)
        self.standby.start()
        self.connect_standby()


class PairLedger(Ledger):
    """A ledger on two servers."""

    def __init__(self, pair: Pair, name: str):
        self.pair = pair
        super().__init__(pair.template, name)
        pair.primary.wait_for_standby()

    @property
    def cluster(self) -> Cluster:
        return self.pair.primary

    @cluster.setter
    def cluster(self, _) -> None:
        pass

    def conninfo(self, *, port: int | None = None) -> str:
        return self.pair.conninfo(self.name, ACCOUNT)

    @property
    def audited(self) -> str:
        return self.cluster.conninfo(self.name, ACCOUNT)


def fail_over(stage: Stage, is_broken: bool, *, is_planned: bool) -> Measurement:
    """F04 and F05: the primary dies, or is shut down, again and again; its synchronous standby takes over."""
    measurement = Measurement()
    pair = Pair(stage, is_synchronous=not is_broken)
    ledger = PairLedger(pair, "failover")
    node = stage.node(ledger, "--state-directory", str(stage.directory / "state"), "--trust-database")
    reader = stage.node(ledger, is_reader=True)
    apps = stage.apps(node, APPS)
    reader.wait_for_documents(apps)
    previous = stage.before(ledger)
    process = node.pid
    count = 1 if is_broken else stage.size(2, 20 if is_planned else 10)
    commands = mixed_commands(apps, CLIENTS, 200_000, stage.seed)
    writers = Writers([lambda: node.port], node.api.token, stage.actor(node), commands, patience=5 if is_broken else 90)
    fetchers = [stage.fetcher(each.port, apps, rate=100) for each in (node, reader)]
    stage.on_exit(writers.stop)
    writers.start()
    recoveries = []
    for _ in range(count):
        writers.wait_for(writers.count + stage.random.randrange(100, 300))
        if is_broken:
            hold_back(pair)
            writers.wait_for(writers.count + 50)
        if is_planned and not is_broken:
            pair.primary.stop()
        else:
            pair.primary.kill()
        if is_broken:
            release(pair)
        promoted = pair.promote()
        if is_broken:
            break
        again = writers.first_success_after(promoted, 60)
        recoveries.append(again if again is not None else 99)
        pair.rebuild()
    writers.stop()
    samples = [fetcher.stop() for fetcher in fetchers]
    failures = sum(each.failures for each in samples)
    measurement.figures |= {
        "failovers": count, "writes_again_seconds": recoveries, "fetches": sum(len(each.all) for each in samples),
        "fetches_failed": failures,
    }  # fmt: skip
    measurement.expect("server stays up", node.is_running and node.pid == process, node.tail()[-300:])
    measurement.expect("documents served", failures == 0, f"{failures} fetches failed")
    if not is_broken:
        measurement.expect("writes again", max(recoveries) <= 30, f"{max(recoveries):.1f} s after the promotion")
        expect_answers(measurement, writers)
    stage.invariants(measurement, ledger, None if is_broken else node, writers.acknowledged, previous)
    measurement.headline = (
        f"{len(writers.acknowledged)} acknowledged, {measurement.figures['lost']} lost, "
        f"{measurement.figures['twice']} twice; {count} failovers, {failures} fetches failed"
        + (f", writes again in ≤ {milliseconds(max(recoveries))}" if recoveries else "")
    )
    return measurement


def receivers(pair: Pair) -> list[int]:
    """The processes of the standby that take in what the primary writes."""
    assert pair.standby.process is not None
    found = []
    for child in children(pair.standby.process.pid):
        with open(f"/proc/{child}/cmdline", "rb") as file:
            if b"walreceiver" in file.read():
                found.append(child)
    assert found, "the standby has no walreceiver"
    return found


def hold_back(pair: Pair) -> None:
    """The standby takes nothing in from here on."""
    pair.held = receivers(pair)
    for each in pair.held:
        os.kill(each, signal.SIGSTOP)


def release(pair: Pair) -> None:
    """What the primary sent meanwhile is thrown away with the processes that held it; the standby starts again by itself."""
    for each in pair.held:
        os.kill(each, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while True:
        try:
            # Until every process of the standby has ended, connections are still taken now and then.
            time.sleep(0.5)
            return pair.standby.connect("postgres").close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise


def lose(stage: Stage, is_broken: bool) -> Measurement:
    """F04-loss: an asynchronous standby takes over without the last events; `recover` goes on, and clients with it."""
    measurement = Measurement()
    pair = Pair(stage, is_synchronous=False)
    ledger = PairLedger(pair, "loss")
    state = stage.directory / "state"
    # The broken variant keeps nothing outside the database.
    options = [] if is_broken else ["--state-directory", str(state), "--trust-database"]
    node = stage.node(ledger, *options)
    apps = stage.apps(node, 4)
    api = node.api
    versions = {app: api.payload(app)["version"] for app in apps}
    pair.primary.wait_for_standby()
    time.sleep(0.5)
    kept = ledger.position()
    hold_back(pair)
    # The lost part: versions go up, and a kill switch is engaged.
    for number in range(stage.size(20, 200)):
        app = apps[number % len(apps)]
        api.must("PATCH", f"/v1/apps/{app}", {"display_name": f"Lost {number}"})
    api.must("PUT", f"/v1/apps/{apps[0]}/kill-switch", {"reason": "stolen key", "expires_at": from_now(days=1)})
    seen = {app: api.payload(app) for app in apps}
    lost = ledger.position() - kept
    if not is_broken:
        deadline = time.monotonic() + 60
        while json.loads((state / "memory").read_text().splitlines()[0])["position"] < ledger.position():
            assert time.monotonic() < deadline, "the node does not remember the end"
            time.sleep(0.05)
    pair.primary.kill()
    release(pair)
    pair.promote()
    # A client's rules: no lower version, and no other content in the same one.
    refused: list[str] = []

    def take(app: str, when: str) -> None:
        answer = api.document(app)
        if answer.status != 200:
            return
        payload = api.payload(app)
        before = seen[app]
        if payload["version"] < before["version"] or (
            payload["version"] == before["version"] and payload["content_sha256"] != before["content_sha256"]
        ):
            refused.append(f"{app} {when}: version {payload['version']} after {before['version']}")
        else:
            seen[app] = payload

    node.stop()
    node.spawn()
    node.wait_until(lambda: api.get("/healthz").status == 200)
    for app in apps:
        take(app, "after the failover")
    served = sum(api.document(app).status == 200 for app in apps)
    writes = api.request("PATCH", f"/v1/apps/{apps[1]}", {"display_name": "after"}).status
    repeated = 0
    if not is_broken:
        node.stop()
        done = program(
            "recover", "--database", ledger.conninfo(), "--kek-file", str(ledger.kek), "--state-directory", str(state),
            "--reason", "the standby was promoted too early", "--repeat", "--output", "json")  # fmt: skip
        report = json.loads(done.stdout)
        repeated = len(report["repeated"])
        measurement.figures["recover"] = {name: report[name] for name in ("kept_size", "unknown_events", "raised_by")}
        measurement.expect("lost events known", report["unknown_events"] == 0 and len(report["lost_events"]) == lost,
                           f"{len(report['lost_events'])} of {lost}, {report['unknown_events']} unknown")  # fmt: skip
        node.start()
    else:
        # Changes of the second history, up to the versions of the first.
        for number in range(2 * lost):
            api.request("PATCH", f"/v1/apps/{apps[number % len(apps)]}", {"display_name": f"Second {number}"})
    for app in apps:
        take(app, "in the end")
    switches = [each["scope"] for each in seen[apps[0]]["kill_switches"]]
    newest = {app: api.payload(app)["version"] for app in apps}
    measurement.figures |= {"lost_events": lost, "served_after_failover": served, "versions": versions | newest}
    measurement.expect("halts", is_broken or writes == 503, f"a change got {writes}")
    measurement.expect("documents served", served == len(apps), f"{served} of {len(apps)} apps")
    measurement.expect("clients agree", not refused, "; ".join(refused[:3]))
    measurement.expect("switch reaches clients", switches == ["app"] and newest[apps[0]] == seen[apps[0]]["version"],
                       f"{switches} in version {seen[apps[0]]['version']}, served {newest[apps[0]]}")  # fmt: skip
    if not is_broken:
        measurement.expect("sound", fsck(ledger).status == 0, "fsck found damage")
    measurement.headline = (
        f"{lost} events lost, {served} of {len(apps)} documents served by the restarted node; "
        + (f"{repeated} change repeated, clients refuse {len(refused)}" if not is_broken else f"clients refuse {len(refused)}")
    )
    return measurement


EXPERIMENTS = [
    Experiment(
        "F04", "the primary is killed under 16 clients, its synchronous standby promoted, again and again",
        "an asynchronous standby that lags", {"lost"}, lambda stage, is_broken: fail_over(stage, is_broken, is_planned=False),
        needs=("--state-directory",),
    ),
    Experiment(
        "F05", "switchovers under 16 clients: the primary is shut down, its standby promoted",
        "an asynchronous standby that lags", {"lost"}, lambda stage, is_broken: fail_over(stage, is_broken, is_planned=True),
        needs=("--state-directory",),
    ),
    Experiment(
        "F04-loss", "a standby takes over without the last events; the node halts, `recover` goes on",
        "a node that remembers nothing", {"clients agree", "switch reaches clients"}, lose, needs=("recover",),
    ),
]  # fmt: skip
