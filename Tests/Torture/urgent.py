"""Kill switches beside everything that takes the server long: large changes, locked tables, busy readers, the whole fleet."""

import contextlib
import itertools
import threading
import time

import psycopg
from node import Node
from pinledger import from_now, host_body
from report import Experiment, Measurement, milliseconds, percentile
from stage import Stage
from starting import load

#: What an editor of one app sends at the same time.
SENDERS = 16
BIG = "com.example.big"
#: How long a switch may take to be answered, and to be served by every node, in seconds.
ANSWERED, SERVED = 1.0, 1.5


class Beside:
    """Threads that send requests until they are stopped, and count the answers."""

    def __init__(self, stage: Stage, line: contextlib.AbstractContextManager):
        self.answers: dict[str, list[int]] = {}
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        #: Taken for each request but reads: what a broken variant makes all wait for one another by.
        self._line = line
        stage.on_exit(self.stop)

    def run(self, what: str, count: int, send, *, is_read: bool = False) -> None:
        """`send` makes one request, with the number of the thread and of the request; it returns the status."""
        statuses = self.answers.setdefault(what, [])
        line = contextlib.nullcontext() if is_read else self._line

        def go(number: int) -> None:
            for turn in itertools.count():
                if self._ended.is_set():
                    return
                with line:
                    statuses.append(send(number, turn))

        self._threads += [threading.Thread(target=go, args=[number], daemon=True) for number in range(count)]
        for thread in self._threads[-count:]:
            thread.start()

    def wait_for(self, what: str, count: int, seconds: float = 300) -> None:
        deadline = time.monotonic() + seconds
        while len(self.answers[what]) < count:
            assert time.monotonic() < deadline, f"{what}: only {self.answers[what]}"
            time.sleep(0.05)

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(180)


def spec(hosts: int, turn: int) -> dict:
    """A spec whose every host changes from turn to turn."""
    names = [f"h{number}.example.com" for number in range(hosts)]
    return {
        "hosts": [host_body(name) | {"include_subdomains": turn % 2 == 0} for name in names], "reason": "the repository",
    }  # fmt: skip


def scopes(node: Node, app: str) -> list[str]:
    return [each["scope"] for each in node.api.payload(app)["kill_switches"]]


def switch(nodes: list[Node], at: int, app: str, engages: bool, line) -> tuple[int, float, float]:
    """Engages or releases an app's switch; returns the status, and after how many seconds it was answered and served by all."""
    path, begun = f"/v1/apps/{app}/kill-switch", time.monotonic()
    with line:
        if engages:
            answer = nodes[at].api.request("PUT", path, {"reason": "stolen key", "expires_at": from_now(days=1)})
        else:
            answer = nodes[at].api.request("DELETE", f"{path}?reason=over")
    answered = time.monotonic() - begun
    deadline = begun + 60
    for node in nodes:
        while answer.status == 200 and ("app" in scopes(node, app)) != engages and time.monotonic() < deadline:
            time.sleep(0.005)
    return answer.status, answered, time.monotonic() - begun


def flood(stage: Stage, is_broken: bool, *, everything: bool) -> Measurement:
    measurement = Measurement()
    ledger = stage.ledger()
    fleet = stage.size(200, 5000) if everything else 0
    if fleet:
        load(ledger, 4 * fleet, fleet)
    hosts = stage.size(150, 900)
    nodes = [stage.node(ledger) for _ in range(2)]
    apps = stage.apps(nodes[0], 4)
    nodes[0].api.must("PUT", f"/v1/apps/{BIG}/spec", spec(hosts, 0))
    for node in nodes:
        node.wait_for_documents([*apps, BIG])
    line = threading.Lock() if is_broken else contextlib.nullcontext()
    beside = Beside(stage, line)
    beside.run(
        "large changes", SENDERS,
        lambda number, turn: nodes[number % 2 if everything else 0].api.request(
            "PUT", f"/v1/apps/{BIG}/spec", spec(hosts, number + turn)).status)  # fmt: skip
    if everything:
        beside.run(
            "reads", 12,
            lambda number, _: nodes[number % 2].api.get(f"/v1/apps/{apps[number % 4]}/adoption").status,
            is_read=True)  # fmt: skip
        stage.on_exit(lock(ledger.superuser))
        beside.run("fleet", 1, lambda _, turn: fleet_switch(nodes[0], turn))
    beside.wait_for("large changes", 2)
    took: list[tuple[int, float, float]] = []
    # The broken variant shows it soon, and each of its switches takes long.
    for number in range(4 if is_broken else stage.size(8, 40)):
        took.append(switch(nodes, number % 2, apps[number // 2 % 4], number % 2 == 0, line))
        time.sleep(0.1)
    beside.stop()
    # The load is the experiment's own: it allows nothing more.
    slower = 1 if stage.is_release else 2
    refused = [status for status, _, _ in took if status != 200]
    answered, served = [each[1] for each in took], [each[2] for each in took]
    large = beside.answers["large changes"]
    measurement.figures |= {
        "switches": len(took), "refused": refused, "answered": answered, "served": served,
        "beside": {what: {str(status): them.count(status) for status in sorted(set(them))} for what, them in beside.answers.items()},
    }  # fmt: skip
    measurement.expect("every switch", not refused, f"{len(refused)} of {len(took)} were refused: {refused[:5]}")
    measurement.expect("answered at once", max(answered) < slower * ANSWERED, f"one took {max(answered):.1f} s")
    measurement.expect("served at once", max(served) < slower * SERVED, f"one took {max(served):.1f} s")
    if not is_broken:
        measurement.expect("large changes go on", 200 in large, f"of {len(large)} large changes none was recorded")
        measurement.expect("no 500", all(500 not in them for them in beside.answers.values()), str(beside.answers))
        stage.invariants(measurement, ledger, nodes[0])
    measurement.headline = (
        f"{len(took)} switches, {len(refused)} refused; answered {milliseconds(percentile(answered, 0.5))} (at most "
        f"{milliseconds(max(answered))}), served by both {milliseconds(percentile(served, 0.5))} ({milliseconds(max(served))}); "
        f"{large.count(200)} of {len(large)} large changes recorded"
    )
    return measurement


def fleet_switch(node: Node, turn: int) -> int:
    """Engages and releases the kill switch of every app, now and then."""
    time.sleep(1)
    if turn % 2 == 0:
        body = {"reason": "an outage", "expires_at": from_now(days=1)}
        return node.api.request("PUT", "/v1/kill-switch", body).status
    return node.api.request("DELETE", "/v1/kill-switch?reason=over").status


def lock(database: str):
    """Locks a table that no switch needs, as maintenance does; returns what gives the lock back."""
    connection = psycopg.connect(database)
    connection.execute("LOCK TABLE pinledger.adoption_count IN ACCESS EXCLUSIVE MODE")
    return connection.close


EXPERIMENTS = [
    Experiment(
        "F39", "sixteen large specs of one app at once, again and again, and kill switches of others beside them",
        "all wait in one line", {"answered at once", "served at once"}, lambda stage, is_broken: flood(stage, is_broken, everything=False),
    ),
    Experiment(
        "F40", "the same on both nodes, with a locked table, busy readers and switches of the whole fleet",
        "all wait in one line", {"answered at once", "served at once"}, lambda stage, is_broken: flood(stage, is_broken, everything=True),
    ),
]  # fmt: skip
