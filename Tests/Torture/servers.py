"""Several database servers, and what one of them or one table keeps waiting: nodes that read must neither halt nor lag."""

import copy
import threading
import time
from collections.abc import Callable

from failover import Pair, PairLedger
from ledger import ACCOUNT, Ledger
from lost_switch import engage, has_switch
from node import Node
from pinledger import API
from report import Experiment, Measurement, milliseconds
from slowness import within
from stage import Stage

#: Clients that read all the time.
READERS = 6


class Burst:
    """Operators who read through a node, all at once, until `stop`."""

    def __init__(self, stage: Stage, nodes: list[Node], path: str, count: int = READERS):
        self._ends = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=(API(node.port, node.api.token), path), daemon=True)
            for node in nodes for _ in range(count)
        ]  # fmt: skip
        stage.on_exit(self.stop)
        for thread in self._threads:
            thread.start()

    def _read(self, api: API, path: str) -> None:
        while not self._ends.is_set():
            try:
                api.get(path)
            except (OSError, ValueError):
                time.sleep(0.05)

    def stop(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()


def rename(node: Node, app: str, name: str) -> None:
    node.api.must("PATCH", f"/v1/apps/{app}", {"display_name": name})


def versions(node: Node, apps: list[str]) -> dict[str, int]:
    return {app: node.api.payload(app)["version"] for app in apps}


def read_from_both(stage: Stage, is_broken: bool) -> Measurement:
    """F41: a read-only node prefers a standby, which is restarted beside bursts of reads, lags again and again, and then stands still."""
    measurement = Measurement()
    pair = Pair(stage, is_synchronous=False)
    ledger = PairLedger(pair, "both")
    node = stage.node(ledger)
    reader = stage.node(ledger, is_reader=True)
    apps = stage.apps(node, 4)
    reader.wait_for_documents(apps)
    fetcher = stage.fetcher(reader.port, apps, rate=100)
    rounds = 1 if is_broken else stage.size(1, 6)
    for number in range(rounds):
        pair.standby.stop()
        # So that the few connections go to the primary that are in use now.
        time.sleep(3)
        if is_broken:
            break
        pair.standby.start()
        pair.primary.wait_for_standby()
        # And further ones to the standby.
        bursts = [Burst(stage, [reader], path) for path in ("/v1/history?limit=100", f"/v1/apps/{apps[0]}/adoption", "/v1/nodes")]
        for _ in range(6):
            lag(pair, 1.5, lambda change=number: rename(node, apps[change % len(apps)], f"{time.monotonic()}"))
        for burst in bursts:
            burst.stop()
    if is_broken:
        # The primary dies, and a standby takes over that lacks what the reader has taken in.
        for number in range(20):
            rename(node, apps[number % len(apps)], f"lost {number}")
        reader.wait_for_position(node.position())
        pair.primary.kill()
        pair.standby.start()
        pair.promote()
        time.sleep(5)
    else:
        pair.standby.execute("postgres", "SELECT pg_wal_replay_pause()")
        engage(node, apps[0])
    behind = catch_up(node, reader, apps)
    samples = fetcher.stop()
    if not is_broken:
        # It remembers more than the standby has.
        reader.stop()
        reader.start()
        is_served = catch_up(node, reader, apps) is not None
        measurement.expect("starts beside a standby that stands still", is_served, "a document of the other node does not come")
        pair.standby.execute("postgres", "SELECT pg_wal_replay_resume()")
    halted = [line for line in reader.log.read_text().splitlines() if "_halted" in line or "ledger_replaced" in line]
    readiness = reader.api.get("/readyz").status
    measurement.figures |= {"rounds": rounds, "fetches": len(samples.all), "seconds_behind": behind}
    measurement.expect("no halt", not halted and readiness == 200, f"/readyz {readiness}; {'; '.join(halted[:2])}")
    measurement.expect("documents served", samples.failures == 0, f"{samples.failures} fetches failed")
    measurement.expect("documents go on", behind is not None, "a document of the other node does not come")
    if not is_broken:
        stage.invariants(measurement, ledger, node)
    measurement.headline = (
        f"{rounds} restarts of the standby, {len(samples.all)} fetches, {samples.failures} failed; "
        f"{len(halted)} halts, the last change served "
        + (f"after {milliseconds(behind)}" if behind is not None else "never")
    )
    return measurement


def lag(pair: Pair, seconds: float, change: Callable[[], None]) -> None:
    """Changes while the standby applies nothing for so long, and then everything."""
    pair.standby.execute("postgres", "SELECT pg_wal_replay_pause()")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        change()
    pair.standby.execute("postgres", "SELECT pg_wal_replay_resume()")


def catch_up(node: Node, reader: Node, apps: list[str], seconds: float = 20) -> float | None:
    """After how many seconds the reader serves what the node does; None where it does not."""
    started = time.monotonic()
    while time.monotonic() < started + seconds:
        try:
            if versions(node, apps) == versions(reader, apps):
                return time.monotonic() - started
        except AssertionError:
            pass
        time.sleep(0.02)
    return None


def await_switch(node: Node, app: str, seconds: float = 120) -> None:
    """Returns when a node serves the switch, or does not come to it."""
    deadline = time.monotonic() + seconds
    while not has_switch(node.api.payload(app)) and time.monotonic() < deadline:
        time.sleep(0.005)


def lock_a_table(stage: Stage, is_broken: bool) -> Measurement:
    """F42: clients of two nodes read a table that somebody has locked; kill switches are engaged at one, and served by both."""
    measurement = Measurement()
    ledger = stage.ledger()
    nodes = [stage.node(ledger), stage.node(ledger)]
    apps = stage.apps(nodes[0], stage.size(6, 12))
    nodes[1].wait_for_documents(apps)
    limit = 1 if stage.is_release else 2
    delays = []
    with ledger.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE pinledger.adoption_count IN ACCESS EXCLUSIVE MODE")
        burst = Burst(stage, nodes, f"/v1/apps/{apps[0]}/adoption")
        # Until all their requests wait.
        time.sleep(1)
        for app in apps:
            if is_broken:
                nodes[1].pause()
            engage(nodes[0], app)
            started = time.monotonic()
            if is_broken:
                time.sleep(2 * within(limit))
                nodes[1].resume()
            await_switch(nodes[1], app)
            delays.append(time.monotonic() - started)
            if is_broken:
                break
            time.sleep(0.5)
    burst.stop()
    measurement.figures |= {"switches": len(delays), "served_seconds": delays}
    measurement.expect("served in time", max(delays) <= within(limit), f"the slowest took {max(delays):.2f} s")
    if not is_broken:
        stage.invariants(measurement, ledger, nodes[0])
    measurement.headline = f"{len(delays)} switches, served by the other node in ≤ {milliseconds(max(delays))}"
    return measurement


def follow_standby(stage: Stage, is_broken: bool) -> Measurement:
    """F43: kill switches reach read-only nodes of a standby: one that knows it alone, and one that knows the primary too."""
    measurement = Measurement()
    pair = Pair(stage, is_synchronous=False)
    ledger = PairLedger(pair, "standby")
    node = stage.node(ledger)
    readers = [stage.node(on_standby(ledger), is_reader=True), stage.node(ledger, is_reader=True)]
    apps = stage.apps(node, 2 if is_broken else stage.size(6, 12))
    for reader in readers:
        reader.wait_for_documents(apps)
    limit = 1.5 if stage.is_release else 2.5
    if is_broken:
        pair.standby.configure(recovery_min_apply_delay=f"'{2 * within(limit):.0f}s'")
    delays: list[list[float]] = [[], []]
    for app in apps:
        engage(node, app)
        started = time.monotonic()
        waiting = dict(enumerate(readers))
        while waiting and time.monotonic() < started + 120:
            for place in [place for place, reader in waiting.items() if has_switch(reader.api.payload(app))]:
                delays[place].append(time.monotonic() - started)
                del waiting[place]
            time.sleep(0.005)
        for place in waiting:
            delays[place].append(120)
        time.sleep(0.3)
    slowest = [max(each) for each in delays]
    measurement.figures |= {"switches": len(apps), "served_seconds": delays}
    measurement.expect(
        "served in time", max(slowest) <= within(limit), f"the slowest took {slowest[0]:.2f} s and {slowest[1]:.2f} s")  # fmt: skip
    measurement.headline = (
        f"{len(apps)} switches, served in ≤ {milliseconds(slowest[0])} by a node that knows the standby alone,"
        f" ≤ {milliseconds(slowest[1])} by one that knows both servers"
    )
    return measurement


def on_standby(ledger: PairLedger) -> Ledger:
    """The same ledger for a node that knows its standby alone."""
    seen = copy.copy(ledger)
    seen.conninfo = lambda *, port=None: ledger.pair.standby.conninfo(ledger.name, ACCOUNT)
    return seen


EXPERIMENTS = [
    Experiment(
        "F41", "the standby that a read-only node prefers is restarted beside bursts of reads, lags again and again, and stands still",
        "a standby that is promoted without the last events", {"no halt"}, read_from_both,
    ),
    Experiment(
        "F42", "clients of two nodes read a table that is locked; kill switches are engaged at one, and served by both",
        "the other node stands still", {"served in time"}, lock_a_table,
    ),
    Experiment(
        "F43", "kill switches reach read-only nodes of a standby", "a standby that applies the log seconds later",
        {"served in time"}, follow_standby,
    ),
]  # fmt: skip
