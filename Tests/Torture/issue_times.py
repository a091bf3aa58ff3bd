"""The issue times of one app's documents, signed in turn by nodes whose clocks differ by seconds."""

import threading
import time

from clocks import clocks_of, written_by_clock
from node import Node
from report import Experiment, Measurement
from stage import Stage

#: By how many seconds a node's time is off until it asks the database again, half a minute later.
APART = 2


def falls(issued: list[tuple[int, int]]) -> list[str]:
    """Where a later version was issued earlier. A client that compares issue times whatever the version refuses it."""
    found, latest = [], 0
    for version, moment in sorted(issued):
        if moment < latest:
            found.append(f"version {version} was issued {latest - moment} s before what came before it")
        latest = max(latest, moment)
    return found


class Editor(threading.Thread):
    """Changes one app at one node over and over, and reads what the node then serves."""

    def __init__(self, node: Node, app: str):
        super().__init__(daemon=True)
        self.node, self.app = node, app
        self.ended = threading.Event()
        self.issued: list[tuple[int, int]] = []
        self.refused: list[str] = []

    def run(self) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            name = {"display_name": f"{self.node.port} {number}"}
            answer = self.node.api.request("PATCH", f"/v1/apps/{self.app}", name)
            if answer.status != 200:
                self.refused.append(str(answer))
                continue
            payload = self.node.api.payload(self.app)
            self.issued.append((payload["version"], payload["iat"]))


def issue_times(stage: Stage, is_broken: bool) -> Measurement:
    """F46: two nodes write one app, and their clocks are two seconds apart."""
    measurement = Measurement()
    refused: list[str] = []
    if is_broken:
        ledger = written_by_clock(stage, 0, APART)
        time.sleep(stage.size(2, 5))
        issued = [(version, int(moment)) for version, moment in ledger.execute("SELECT id, time FROM public.by_clock")]
    else:
        ledger = stage.ledger()
        clocks = clocks_of(stage, 0, 0)
        nodes = [stage.node(ledger, environment=clock.environment) for clock in clocks]
        [app] = stage.apps(nodes[0], 1)
        nodes[1].wait_for_documents([app])
        nodes[1].wait_for_position(nodes[0].position())
        issued = []
        for number in range(stage.size(1, 6)):
            # The clock by which a node carries the database's time on, until it asks again.
            clocks[number % 2].set(0, passed=APART * (number // 2 + 1))
            editors = [Editor(node, app) for node in nodes]
            for editor in editors:
                editor.start()
            time.sleep(stage.size(8, 10))
            for editor in editors:
                editor.ended.set()
            for editor in editors:
                editor.join()
                issued += editor.issued
                refused += editor.refused
            if number + 1 < stage.size(1, 6):
                # Until both have asked the database, so that the next round finds them together.
                time.sleep(31)
        stage.invariants(measurement, ledger, nodes[0])
    fell = falls(issued)
    versions = len({version for version, _ in issued})
    measurement.figures |= {"versions": versions, "falls": fell[:20], "refused": refused[:5]}
    measurement.expect("issue times rise", not fell, f"{len(fell)} falls: {'; '.join(fell[:2])}")
    measurement.expect("no refusal", not refused, "; ".join(refused[:3]))
    measurement.expect("versions enough", versions > 50, f"{versions} versions show nothing")
    measurement.headline = f"{versions} versions by two clocks {APART} s apart: issue times fall {len(fell)}×"
    return measurement


EXPERIMENTS = [
    Experiment(
        "F46", "two nodes whose clocks are two seconds apart write one app", "each signs by its own clock",
        {"issue times rise"}, issue_times, met_by={"versions enough"},
    ),
]  # fmt: skip
