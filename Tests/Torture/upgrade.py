"""Two versions of the program on one ledger: nodes are replaced one after the other, back and forth, and the upgrade is ended."""

import os
import subprocess
import sys
import time
from pathlib import Path

from kill import CLIENTS, expect_answers
from load import Fetcher, Writers, mixed_commands
from node import Node
from pinledger import BINARY
from report import Experiment, Measurement, milliseconds
from stage import Stage

APPS = 10


def next_version() -> str:
    """The next version of the program: built here unless PINLEDGER_NEXT_BIN names it."""
    if named := os.environ.get("PINLEDGER_NEXT_BIN"):
        return named
    script = Path(__file__).with_name("build-next-version")
    done = subprocess.run([script], stdout=subprocess.PIPE, stderr=sys.stderr, text=True, timeout=3600)
    if done.returncode != 0:
        raise AssertionError("the next version cannot be built: does next-version.patch fit the source?")
    return done.stdout.strip()


def contents(fetchers: list[Fetcher]) -> dict[tuple[str, int], set[str]]:
    """What was served of each version of each document, by the digest of its content."""
    found: dict[tuple[str, int], set[str]] = {}
    for fetcher in fetchers:
        for _, app, version, _, digest in fetcher.samples.documents:
            found.setdefault((app, version), set()).add(digest)
    return found


class Fleet:
    """Three nodes, two of which record, each with one version of the program or the other."""

    def __init__(self, stage: Stage, ledger, programs: tuple[str, str]):
        self.stage, self.ledger, self.programs = stage, ledger, programs
        self.nodes = [stage.node(ledger), stage.node(ledger), stage.node(ledger, is_reader=True)]
        #: Seconds that each replacement took, until the node was ready again.
        self.replacements: list[float] = []

    def replace(self, node: Node, *, later: bool) -> None:
        """Stops a node as an operator does, and starts the other version in its place."""
        node.stop()
        node.program = self.programs[later]
        self.replacements.append(node.start())

    def served(self, app: str) -> list[bytes]:
        return [node.api.document(app).body for node in self.nodes]

    def agree(self, apps: list[str]) -> list[str]:
        """The apps of which the nodes serve other bytes, although they know the same events."""
        position = max(node.position() for node in self.nodes)
        for node in self.nodes:
            node.wait_for_position(position)
        different = []
        for app in apps:
            deadline = time.monotonic() + 30
            while len(set(self.served(app))) > 1:
                if time.monotonic() > deadline:
                    different.append(app)
                    break
                time.sleep(0.05)
        return different


def upgrade(stage: Stage, is_broken: bool) -> Measurement:
    """F33: a rolling upgrade, forth and back and forth again under load, then its end, then a node of the earlier version."""
    measurement = Measurement()
    later = next_version()
    ledger = stage.ledger()
    fleet = Fleet(stage, ledger, (BINARY, later))
    first, second, reader = fleet.nodes
    apps = stage.apps(first, APPS)
    reader.wait_for_documents(apps)
    previous = stage.before(ledger)
    commands = mixed_commands(apps, CLIENTS, 400_000, stage.seed)
    writers = Writers(
        [lambda: first.port, lambda: second.port], first.api.token, stage.actor(first), commands,
        patience=10 if is_broken else 120)  # fmt: skip
    fetchers = [stage.fetcher(node.port, apps, rate=50) for node in fleet.nodes]
    stage.on_exit(writers.stop)
    writers.start()
    writers.wait_for(100)

    # The schema first, while the earlier version runs.
    subprocess.run([later, "migrate", "--database", ledger.superuser], check=True, capture_output=True, timeout=120)
    fleet.replace(first, later=False)
    refused = early = raised = None
    ends = time.monotonic() + stage.size(30, 600)
    rounds = 0
    while rounds == 0 or (time.monotonic() < ends and not is_broken):
        for node in (reader, second, first):
            fleet.replace(node, later=True)
            writers.wait_for(writers.count + stage.random.randrange(50, 150))
            if node is second:
                early = second.api.request("PUT", "/v1/fleet/note", {"note": "too early", "force": True, "reason": "x"})
                refused = second.api.request("PUT", "/v1/fleet/feature-level", {"level": 2})
            if is_broken and node is second:
                # The other one is still of the earlier version: what the refusal prevents is done all the same.
                ledger.execute("UPDATE pinledger.node SET seen_at = now() - interval '1 hour'")
                raised = second.api.request("PUT", "/v1/fleet/feature-level", {"level": 2})
                time.sleep(12)
                break
        rounds += 1
        if is_broken:
            break
        for node in stage.random.sample([first, second, reader], 3):
            fleet.replace(node, later=False)
            writers.wait_for(writers.count + stage.random.randrange(50, 150))
    if not is_broken:
        for node in (reader, second, first):
            fleet.replace(node, later=True)
    writers.stop()
    different = [] if is_broken else fleet.agree(apps)
    if not is_broken:
        raised = first.api.request("PUT", "/v1/fleet/feature-level", {"level": 2})
        first.api.must("PUT", "/v1/fleet/note", {"note": "hello", "reason": "all know it"})
        different += fleet.agree(apps)
        # One of the earlier version that comes too late: it serves what the others sign, and records nothing.
        second.stop()
        second.program = BINARY
        second.spawn()
        second.wait_until(lambda: second.api.get("/healthz").status == 200)
        first.api.must("PATCH", f"/v1/apps/{apps[0]}", {"display_name": "after the upgrade"})
        deadline = time.monotonic() + 30
        while (same := fleet.served(apps[0])).count(same[0]) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        late = second.api.request("PATCH", f"/v1/apps/{apps[0]}", {"display_name": "by an earlier version"})
        measurement.expect(
            "late one serves", same.count(same[0]) == 3 and first.api.payload(apps[0])["note"] == "hello",
            f"an earlier version serves other bytes: {second.tail()[-300:]}")  # fmt: skip
        measurement.expect(
            "late one waits", (late.status, late.json["type"]) == (503, "/problems/upgrade_needed"), str(late))
        fleet.replace(second, later=True)
        different += fleet.agree(apps)
    samples = [fetcher.stop() for fetcher in fetchers]

    measurement.expect("same bytes", not different, f"nodes serve other bytes of {different[:3]}")
    twofold = {place: found for place, found in contents(fetchers).items() if len(found) > 1}
    measurement.expect("one content", not twofold, f"{len(twofold)} versions with two contents: {list(twofold)[:2]}")
    measurement.expect(
        "too early", early is not None and early.json.get("type") == "/problems/feature_level_too_low", str(early))
    measurement.expect(
        "refused beside an earlier one", refused is not None and refused.json.get("type") == "/problems/older_nodes",
        str(refused))  # fmt: skip
    measurement.expect("raised", raised is not None and raised.status == 200, str(raised))
    expect_answers(measurement, writers)
    measurement.figures |= {
        "rounds": rounds, "replacements": len(fleet.replacements), "ready_seconds": fleet.replacements,
        "fetches": sum(len(each.all) for each in samples),
    }  # fmt: skip
    if is_broken:
        measurement.expect("has fsck", True, "")
    else:
        stage.invariants(measurement, ledger, first, writers.acknowledged, previous, version=later)
    measurement.headline = (
        f"{len(writers.acknowledged)} acknowledged, {measurement.figures.get('lost', '?')} lost, "
        f"{measurement.figures.get('twice', '?')} twice; {len(fleet.replacements)} replacements, ready in "
        f"≤ {milliseconds(max(fleet.replacements))}; {len(twofold)} versions with two contents"
    )
    return measurement


EXPERIMENTS = [
    Experiment(
        "F33", "rolling upgrade of three nodes to the next version, forth and back, then its end",
        "the feature level is raised while an earlier version runs", {"all answered"}, upgrade,
    ),
]  # fmt: skip
