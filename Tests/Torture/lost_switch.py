"""A kill switch that clients have got is lost with the primary, and has to reach them again."""

import json
import shutil
import time
from pathlib import Path

from checks import fsck
from failover import Pair, PairLedger, hold_back, release
from ledger import program
from load import Writers, mixed_commands
from node import Node
from pinledger import from_now
from report import Experiment, Measurement
from stage import Stage

#: How many seconds ago the switch was served when the primary dies.
AGES = (0.1, 0.5, 1, 2, 5)
CLIENTS = 4


class Clients:
    """Clients of each node: none takes a lower version, and none goes without the switch that it has got."""

    def __init__(self, nodes: list[Node], apps: list[str]):
        self.apps = apps
        # A node may be a moment behind the other one.
        self.versions = {node: dict.fromkeys(apps, 0) for node in nodes}
        self.refused: list[str] = []
        self.without: list[str] = []

    def fetch(self, node: Node, when: str, *, switched: str, of_both: bool = False) -> None:
        """`of_both`: those who have fetched from either node fetch from this one."""
        for app in self.apps:
            if node.api.document(app).status != 200:
                self.refused.append(f"{when}: no document of {app}")
                continue
            payload = node.api.payload(app)
            known = max(self.versions[each][app] for each in (self.versions if of_both else [node]))
            if payload["version"] < known:
                self.refused.append(f"{when}: version {payload['version']} of {app} after {known}")
            self.versions[node][app] = max(known, payload["version"])
            if app == switched and not has_switch(payload):
                self.without.append(f"{when}: version {payload['version']} has no switch")


def has_switch(payload: dict) -> bool:
    return [each["scope"] for each in payload["kill_switches"]] == ["app"]


def keep_switch(stage: Stage, is_broken: bool) -> Measurement:
    """F04-switch: two nodes serve a kill switch that only the primary has; it dies, and `recover` goes on."""
    measurement = Measurement()
    pair = Pair(stage, is_synchronous=False)
    ledger = PairLedger(pair, "lost_switch")
    states = [stage.directory / f"state-{number}" for number in range(2)]
    nodes = [stage.node(ledger, "--state-directory", str(state), "--trust-database") for state in states]
    apps = stage.apps(nodes[0], 4)
    for node in nodes:
        node.wait_for_documents(apps)
    clients = Clients(nodes, apps)
    rounds = 1 if is_broken else stage.size(2, 50)
    repeated, unknown = 0, 0
    for number in range(rounds):
        age = AGES[number % len(AGES)]
        # As many as write at a time when something goes wrong.
        commands = mixed_commands(apps[1:], CLIENTS, 20_000, stage.seed + number, f"round {number} ")
        writers = Writers(
            [lambda node=node: node.port for node in nodes], nodes[0].api.token, stage.actor(nodes[0]), commands,
            patience=1, request_seconds=5, pause=0.1)  # fmt: skip
        stage.on_exit(writers.stop)
        writers.start()
        assert writers.wait_for(50, 60), f"nothing is written: {dict(writers.answers)}"
        hold_back(pair)
        before = [copy_of(state) for state in states] if is_broken else []
        engage(nodes[number % 2], apps[0])
        for node in nodes:
            node.wait_until(lambda node=node: has_switch(node.api.payload(apps[0])))
        for node in nodes:
            clients.fetch(node, f"round {number}", switched=apps[0])
        # The age that the switch has when the primary dies: what the rounds differ in.
        time.sleep(age)
        for node in nodes:
            clients.fetch(node, f"round {number}", switched=apps[0])
        pair.primary.kill()
        release(pair)
        pair.promote()
        # Under load until now: clients that get no answer end by themselves.
        writers.stop()
        # One node is started again and finds the loss, the other one has run all the while.
        restarted = nodes[number % 2]
        restarted.stop()
        put_back(states, before, number % 2)
        restarted.spawn()
        restarted.wait_until(lambda: restarted.api.get("/healthz").status == 200)
        for node in nodes:
            # One that remembers too little goes on with what is left.
            if not is_broken:
                node.wait_until(lambda node=node: node.api.get("/readyz?for=writes").status == 503)
            clients.fetch(node, f"round {number}, halted", switched=apps[0])
        for node in nodes:
            node.stop()
        put_back(states, before, 1 - number % 2)
        memories = [word for state in states for word in ("--memory", str(state))]
        done = program(
            "recover", "--database", ledger.conninfo(), "--kek-file", str(ledger.kek), *memories,
            "--reason", "the standby was promoted too early", "--repeat", "--output", "json")  # fmt: skip
        report = json.loads(done.stdout)
        repeated += len(report["repeated"])
        unknown += report["unknown_events"]
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_for_documents(apps)
            clients.fetch(node, f"round {number}, recovered", switched=apps[0], of_both=True)
        # Where it was lost there is none.
        nodes[0].api.request("DELETE", f"/v1/apps/{apps[0]}/kill-switch?reason=over")
        pair.rebuild()
        pair.primary.wait_for_standby()
    measurement.figures |= {"rounds": rounds, "repeated": repeated, "unknown_events": unknown}
    measurement.expect("versions never fall", not clients.refused, "; ".join(clients.refused[:3]))
    measurement.expect("switch stays", not clients.without, "; ".join(clients.without[:3]))
    if not is_broken:
        measurement.expect("lost events known", unknown == 0, f"{unknown} events of the lost history that no node has kept")
        measurement.expect("sound", fsck(ledger).status == 0, "fsck found damage")
    measurement.headline = (
        f"{rounds} rounds, {repeated} switches repeated, {unknown} events unknown; a version fell {len(clients.refused)} times,"
        f" the switch was missing {len(clients.without)} times"
    )
    return measurement


def engage(node: Node, app: str) -> None:
    node.api.must("PUT", f"/v1/apps/{app}/kill-switch", {"reason": "stolen key", "expires_at": from_now(days=1)})


def copy_of(state: Path) -> Path:
    copy = state.with_name(f"{state.name}-before")
    shutil.copytree(state, copy, dirs_exist_ok=True)
    return copy


def put_back(states: list[Path], before: list[Path], number: int) -> None:
    """Makes a node that is down remember what it did before the switch, where there is such a copy."""
    if before:
        shutil.rmtree(states[number])
        shutil.copytree(before[number], states[number])


EXPERIMENTS = [
    Experiment(
        "F04-switch", "two nodes serve a kill switch under load, and the primary dies that alone has it; `recover` goes on",
        "nodes that remember the moment before the switch", {"versions never fall", "switch stays"}, keep_switch,
        needs=("recover",),
    ),
]  # fmt: skip
