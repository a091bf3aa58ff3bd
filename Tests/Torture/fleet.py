"""Very many apps: what is urgent for one of them, beside work on all of them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from checks import fsck
from node import Node
from pinledger import API, eventually, from_now
from report import Experiment, Measurement, milliseconds
from stage import Stage

#: Seconds within which an app's own switch has to be answered, and served by every node, with a release build. Others take some five
#: times as long for everything.
ANSWERED, SERVED = 1.0, 1.5
DEBUG = 5
CLIENTS = 8
#: How often two nodes together sign a document of a change of everything. A node signs what another one has signed a moment ago, which
#: weighs more in a small fleet.
SHARE = {"full": 1.3, "short": 1.9}


class FleetSwitch(threading.Thread):
    """A kill switch of all apps, whose answer takes as long as all documents take."""

    def __init__(self, node: Node, hours: int):
        super().__init__(daemon=True)
        self.api = API(node.port, node.api.token)
        self.hours = hours
        self.seconds = 0.0

    def run(self) -> None:
        began = time.monotonic()
        body = {"reason": f"drill of {self.hours} hours", "expires_at": from_now(hours=self.hours), "force": True}
        self.api.must("PUT", "/v1/kill-switch", body)
        self.seconds = time.monotonic() - began


def single_beside_fleet(stage: Stage, is_broken: bool) -> Measurement:
    """F45: while two nodes sign a kill switch of all apps, one app gets a switch of its own."""
    measurement = Measurement()
    ledger = stage.ledger()
    nodes = [stage.node(ledger), stage.node(ledger)]
    apps = [f"com.example.app{number}" for number in range(stage.size(400, 5000))]
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda app: API(nodes[0].port, ledger.token).make_app(app, "api.example.com"), apps))
    for node in nodes:
        node.wait_for_documents(apps)
    slack = 1 if stage.is_release else DEBUG
    rounds = stage.size(2, 6)
    answered, served, fleet = [], [], []
    overlapped = 0
    before = signatures(nodes)
    for number in range(rounds):
        app, node = apps[number], nodes[number % 2]
        position = nodes[0].position()
        everything = FleetSwitch(nodes[0], number + 2)
        everything.start()
        eventually(lambda position=position: nodes[0].position() > position, "the switch of all apps")
        wanted = time.monotonic()
        if is_broken:
            # One line for all changes: the next is taken up when the one before is answered.
            everything.join()
        node.api.must("PUT", f"/v1/apps/{app}/kill-switch", {"reason": "stolen key", "expires_at": from_now(days=1)})
        answered.append(time.monotonic() - wanted)
        overlapped += everything.is_alive()
        for each in nodes:
            eventually(lambda each=each, app=app: serves_own(each, app), f"the switch of {app}")
        served.append(time.monotonic() - wanted)
        everything.join()
        fleet.append(everything.seconds)
    share = (signatures(nodes) - before) / rounds / len(apps)
    measurement.figures |= {"apps": len(apps), "signatures_each": share, "answered": answered, "served": served, "fleet": fleet, "overlapped": overlapped}
    measurement.expect("answered", max(answered) <= ANSWERED * slack, f"after up to {max(answered):.2f} s")
    measurement.expect("served", max(served) <= SERVED * slack, f"after up to {max(served):.2f} s")
    overtaken = overlapped if not is_broken else 0
    measurement.expect("overtakes", overtaken > 0, "every switch of all apps was answered before that of one app")
    if not is_broken:
        limit = stage.size(SHARE["short"], SHARE["full"])
        measurement.expect("shared", share <= limit, f"each document was signed {share:.2f} times")
        for node in nodes:
            without = [app for app in apps if not has_fleet_switch(node, app)]
            measurement.expect("whole fleet", not without, f"{len(without)} documents without the switch of all apps")
        measurement.expect("sound", fsck(ledger).status == 0, "fsck found damage")
    measurement.headline = (
        f"{len(apps)} apps: the fleet's switch is answered after ≤ {milliseconds(max(fleet))}; an app's own beside it after"
        f" ≤ {milliseconds(max(answered))}, served by both nodes after ≤ {milliseconds(max(served))}; each document signed {share:.2f}×"
    )
    return measurement


def signatures(nodes: list[Node]) -> int:
    """How many documents the nodes have signed."""
    name = "pinledger_signed_documents_total "
    lines = [line for node in nodes for line in node.api.must("GET", "/metrics").body.decode().splitlines()]
    return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


def serves_own(node: Node, app: str) -> bool:
    return any(each["scope"] == "app" for each in node.api.payload(app)["kill_switches"])


def has_fleet_switch(node: Node, app: str) -> bool:
    return any(each["scope"] != "app" for each in node.api.payload(app)["kill_switches"])


EXPERIMENTS = [
    Experiment(
        "F45", "two nodes sign a kill switch of all apps, and one app gets a switch of its own meanwhile",
        "one line for all changes", {"overtakes"}, single_beside_fleet,
    ),
]  # fmt: skip
