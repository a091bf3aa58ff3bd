"""Clocks that are wrong, differ from node to node, and jump while the nodes run."""

import collections
import os
import shutil
import struct
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from ledger import Ledger
from load import Acknowledged, Samples, Writers, mixed_commands
from node import Node
from order import Subscriber
from pinledger import API, EVERYTHING, from_now
from report import Experiment, Impossible, Measurement
from stage import Stage

HOUR = 3600
DAY = 24 * HOUR
#: How many seconds the clocks of the two nodes are ahead, one state after the other. The database keeps the right time,
#: and a node that is further than a minute from it records and signs nothing, from a second after it is so.
STRAY = 48 * HOUR
NOTICE_SECONDS = 2
STATES = [(-30, 30), (45, -45), (STRAY, 0), (0, 0)]
CLIENTS = 8


class Clock:
    """The clocks of the processes that are started with it: the time of day, and the time since the machine started."""

    def __init__(self, library: Path, path: Path, ahead: int):
        self.library = library
        self.path = path
        self.path.write_bytes(bytes(16))
        self.set(ahead)

    def set(self, ahead: int, passed: int = 0) -> None:
        """From now on. The processes have the file in their memory, and see it at once. `passed`: seconds that have passed besides, by
        the clock that nobody sets."""
        self.ahead = ahead
        with self.path.open("r+b", buffering=0) as file:
            file.write(struct.pack("=qq", ahead, passed))

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "MOVED_CLOCK": str(self.path)}


def clocks_of(stage: Stage, *ahead: int) -> list[Clock]:
    """One for each of the nodes; of two, in the first state, where nothing else is said."""
    compiler = shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise Impossible("there is no C compiler to make a wrong clock with")
    library = stage.directory / "moved_clock.so"
    source = Path(__file__).parents[1] / "Support/system_under_test.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return [Clock(library, stage.directory / f"clock{place}", each) for place, each in enumerate(ahead or STATES[0])]


def ahead_of_us(api: API) -> float:
    """How many seconds a node's clock is ahead, by what it says."""
    said = api.get("/v1/whoami").json["server_time"]
    moment = datetime.fromisoformat(said.replace("Z", "+00:00"))
    return (moment - datetime.now(timezone.utc)).total_seconds()


def falls_between_nodes(samples: list[Samples]) -> list[str]:
    """Where a document of a later version was issued earlier, or one version has two contents, whichever node served it."""
    issued: dict[str, dict[int, list[int]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    contents: dict[tuple[str, int], set[str]] = collections.defaultdict(set)
    for each in samples:
        for _, app, version, moment, content in each.documents:
            issued[app][version].append(moment)
            contents[app, version].add(content)
    found = [f"{app} has {len(them)} contents at version {at}" for (app, at), them in contents.items() if len(them) > 1]
    for app, versions in issued.items():
        latest = 0
        for version in sorted(versions):
            if min(versions[version]) < latest:
                by = latest - min(versions[version])
                found.append(f"{app}: version {version} was issued {by} s before what came before it")
            latest = max(latest, *versions[version])
    return found


def wrong_clocks(stage: Stage, is_broken: bool) -> Measurement:
    return order_by_clock(stage) if is_broken else order_by_position(stage)


def order_by_position(stage: Stage) -> Measurement:
    """F11: two nodes whose clocks are apart, and jump by days; clients write to both and fetch from both."""
    measurement = Measurement()
    ledger = stage.ledger()
    clocks = clocks_of(stage)
    nodes = [stage.node(ledger, environment=clock.environment) for clock in clocks]
    apps = stage.apps(nodes[0], 6)
    *busy, quiet = apps
    short_lived = nodes[0].api.must("POST", "/v1/tokens", {"grants": EVERYTHING, "name": "short-lived", "expires_at": from_now(seconds=3)}).json
    nodes[1].wait_for_documents(apps)
    nodes[1].wait_for_position(nodes[0].position())
    start = nodes[0].position()
    previous = stage.before(ledger)
    actor, token = stage.actor(nodes[0]), nodes[0].api.token
    processes = [node.pid for node in nodes]
    readers = [Subscriber(node.port, token, start) for node in nodes]
    for reader in readers:
        reader.start()
        stage.on_exit(reader.ended.set)
    fetchers = [stage.fetcher(node.port, apps) for node in nodes]
    writers = Writers(
        [lambda node=node: node.port for node in nodes], token, actor, mixed_commands(busy, CLIENTS, 40_000, stage.seed)
    )
    stage.on_exit(writers.stop)
    writers.start()
    accepted_late: list[int] = []
    by_turns: list[Acknowledged] = []
    refused: list[str] = []
    withheld = 0
    for number, state in enumerate(STATES):
        for clock, ahead in zip(clocks, state, strict=True):
            clock.set(ahead)
        changed = time.monotonic()
        deadline = changed + stage.size(4, 15)
        for node in nodes:
            said = ahead_of_us(node.api)
            measurement.expect("the database's time", abs(said) < 2, f"{said:.0f} s ahead")
        if STRAY in state:
            # A node that starts with such a clock looks at once for documents that seem old to it.
            stray = stage.node(ledger, environment=clocks[state.index(STRAY)].environment)
        # One client that goes from node to node, each command after the answer to the one before.
        turn = 0
        while time.monotonic() < deadline:
            turn += 1
            key = f"state {number} turn {turn}"
            sent = time.monotonic()
            answer = nodes[turn % 2].api.request(
                "PATCH", f"/v1/apps/{busy[turn % len(busy)]}", {"display_name": key}, {"Idempotency-Key": key}
            )
            if answer.status == 200:
                by_turns.append(Acknowledged(key, actor, int(answer["Pinledger-Position"]), 200, answer.body))
            elif answer.status == 503 and answer.json["type"] == "/problems/clock_wrong":
                withheld += 1
                is_right = clocks[turn % 2].ahead != STRAY and sent > changed + NOTICE_SECONDS
                measurement.expect("right clocks write", not is_right, "a node whose clock is right refuses to write")
            else:
                refused.append(str(answer))
            if answer.status == 200 and clocks[turn % 2].ahead == STRAY:
                is_late = sent > changed + NOTICE_SECONDS
                measurement.expect("wrong clocks do not write", not is_late, "a node that is two days ahead writes")
            time.sleep(0.02)
        if STRAY in state:
            stray.stop()
        if number > 0:
            for node, clock in zip(nodes, clocks, strict=True):
                answer = API(node.port, short_lived["token"]).get("/v1/whoami")
                if answer.status == 200:
                    accepted_late.append(clock.ahead)
                elif answer.status != 401:
                    refused.append(str(answer))
    writers.stop()
    final = ledger.position()
    deadline = time.monotonic() + 30
    while any(reader.last < final - 1 for reader in readers) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    for reader in readers:
        reader.ended.set()
    samples = [fetcher.stop() for fetcher in fetchers]

    missed = sum(len(set(range(start, final)) - set(reader.seen)) for reader in readers)
    unordered = sum(one >= other for reader in readers for one, other in zip(reader.seen, reader.seen[1:]))  # noqa: B905
    # A command that is sent after the answer to another stands later in the ledger.
    per_client: dict[str, list[int]] = collections.defaultdict(list)
    for each in writers.acknowledged:
        if each.position is not None:
            per_client[each.key.split(" command ")[0]].append(each.position)
    per_client["by turns"] = [each.position or 0 for each in by_turns]
    swapped = sum(one > other for them in per_client.values() for one, other in zip(them, them[1:]))  # noqa: B905
    on_one_node = [fall for each in samples for fall in each.falls()]
    between = falls_between_nodes(samples)
    ahead = {app: nodes[0].api.payload(app)["iat"] - time.time() for app in apps}
    failures = sum(each.failures for each in samples)
    measurement.figures |= {
        "states": STATES, "events": final - start, "acknowledged_by_turns": len(by_turns), "missed": missed,
        "out_of_order": unordered, "swapped": swapped, "falls_on_one_node": on_one_node[:20],
        "falls_between_nodes": between[:20], "fetches": sum(len(each.all) for each in samples),
        "fetches_failed": failures,
        # A client with the right time takes no document from the future.
        "withheld": withheld,
        "issued_ahead_seconds": {"edited": max(ahead[app] for app in busy), "not edited": ahead[quiet]},
        "expired_token_accepted_by_clocks": accepted_late,
        "answers": {str(status): count for status, count in writers.answers.items()},
    }  # fmt: skip
    measurement.expect("every event", missed == 0, f"{missed} events were missed")
    measurement.expect("in order", unordered == 0, f"{unordered} events came out of order")
    measurement.expect("cause before effect", swapped == 0, f"{swapped} commands stand before what they followed")
    fell = on_one_node + between
    measurement.expect("issue times rise", not fell, f"{len(fell)} falls: {'; '.join(fell[:2])}")
    measurement.expect("documents served", failures == 0, f"{failures} fetches failed")
    measurement.expect("no 500", writers.answers[500] == 0, f"{writers.answers[500]} times 500")
    measurement.expect("no refusal", not writers.wrong and not refused, "; ".join([*writers.wrong[:3], *refused[:3]]))
    measurement.expect("token", not accepted_late, f"expired, accepted: {accepted_late}")
    measurement.expect("noticed", withheld > 0, "a node that is two days ahead takes every change")
    future = max(ahead.values())
    measurement.expect("nothing from the future", future < 2, f"a document is {future:.0f} s from the future")
    lives = all(node.is_running and node.pid == process for node, process in zip(nodes, processes, strict=True))
    measurement.expect("servers stay up", lives, "a server ended")
    nodes[1].wait_for_position(final)
    stage.invariants(measurement, ledger, nodes[1], [*writers.acknowledged, *by_turns], previous)
    measurement.headline = (
        f"{final - start} events under {len(STATES)} settings of two clocks: {missed} missed, {swapped} out of order; "
        f"issue times fall {len(fell)}×; {withheld} writes withheld; documents at most {max(0, *ahead.values()):.0f} s ahead"
    )
    return measurement


#: Records events with the time of its own clock, over and over.
WRITER = """
import sys, time, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    while True:
        connection.execute("INSERT INTO public.by_clock (time) VALUES (%s)", [time.time()])
        time.sleep(0.005)
"""


def written_by_clock(stage: Stage, *ahead: int) -> Ledger:
    """A table into which two processes write, each the time that it has."""
    ledger = stage.ledger()
    ledger.execute("CREATE TABLE public.by_clock (id bigserial, time double precision)")
    for clock in clocks_of(stage, *ahead):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, ledger.superuser], env=os.environ | clock.environment, stdin=subprocess.DEVNULL
        )
        stage.on_exit(lambda writer=writer: (writer.kill(), writer.wait()))
    return ledger


def order_by_clock(stage: Stage) -> Measurement:
    """A table whose order is the time that each writer has, read by `time > last`."""
    measurement = Measurement()
    ledger = written_by_clock(stage)
    seen, last = 0, 0.0
    deadline = time.monotonic() + stage.size(2, 5)
    with ledger.connect() as connection:
        while time.monotonic() < deadline:
            for (moment,) in connection.execute("SELECT time FROM public.by_clock WHERE time > %s ORDER BY time", [last]):
                seen, last = seen + 1, moment
            time.sleep(0.01)
        stored = connection.execute("SELECT count(*) FROM public.by_clock WHERE time <= %s", [last]).fetchone()[0]
    missed = stored - seen
    measurement.figures |= {"events": stored, "missed": missed}
    measurement.expect("every event", missed == 0, f"{missed} of {stored} events were missed")
    measurement.headline = f"{missed} of {stored} events missed"
    return measurement


EXPERIMENTS = [
    Experiment(
        "F11", "the clocks of two nodes are apart, and one jumps two days", "order by the writers' clocks", {"every event"},
        wrong_clocks,
    ),
]  # fmt: skip
