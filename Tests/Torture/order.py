"""Order: of edits that race, and of events that many write and many read."""

import collections
import http.client
import random
import threading
import time

from load import TROUBLE, Client, Command, Writers, sse_events
from pinledger import host_body, in_threads
from proxy import FaultProxy
from report import Experiment, Measurement
from stage import Stage

# MARK: F27

def racing_edits(stage: Stage, is_broken: bool) -> Measurement:
    """F27: many clients edit one app, each on the version that it has read."""
    measurement = Measurement()
    ledger = stage.ledger()
    nodes = [stage.node(ledger), stage.node(ledger)]
    node = nodes[0]
    (app,) = stage.apps(node, 1)
    nodes[1].wait_for_position(node.position())
    previous = stage.before(ledger)
    clients, wanted = 100, stage.size(15, 200)
    target = f"/v1/apps/{app}"
    lock = threading.Lock()
    #: (version that the client had read, version that its change made, the name it set)
    changes: list[tuple[int, int, str]] = []
    refusals: collections.Counter = collections.Counter()
    wrong: list[str] = []

    def edit(number: int) -> None:
        client = Client(lambda: nodes[number % 2].port, node.api.token)
        tag = client.request("GET", target)["ETag"]
        turn = 0
        while len(changes) < wanted:
            turn += 1
            name = f"client {number} turn {turn}"
            headers = {} if is_broken else {"If-Match": tag}
            answer = client.request("PATCH", target, {"display_name": name}, headers)
            read = int(tag.strip('"'))
            with lock:
                if answer.status == 200:
                    changes.append((read, int(answer["ETag"].strip('"')), name))
                elif answer.status == 412:
                    refusals[read] += 1
                    # A refusal says where the app stands, which is past what the client had read.
                    if answer["ETag"] is None or int(answer["ETag"].strip('"')) <= read:
                        wrong.append(f"412 on {tag} came with {answer['ETag']}")
                else:
                    wrong.append(str(answer))
            if answer["ETag"]:
                tag = answer["ETag"]

    started = time.monotonic()
    in_threads(clients, edit)
    took = time.monotonic() - started
    versions = collections.Counter(read for read, _, _ in changes)
    doubled = [version for version, count in versions.items() if count > 1]
    unseen = [change for change in changes if change[1] != change[0] + 1]
    recorded = [
        (event["stream_version"], event["data"]["display_name"])
        for event in node.api.history(f"/v1/apps/{app}/history") if event["type"] == "AppRenamed"
    ]  # fmt: skip
    made = sorted((version, name) for _, version, name in changes)
    final = node.api.get(target).json["display_name"]
    measurement.figures |= {
        "clients": clients, "changes": len(changes), "refused": sum(refusals.values()), "seconds": took,
        "overwritten_unseen": len(unseen), "versions_won_twice": len(doubled),
    }  # fmt: skip
    measurement.expect("one winner", not doubled, f"{len(doubled)} versions were won more than once")
    measurement.expect("nothing unseen", not unseen, f"{len(unseen)} changes overwrote what their sender had not seen")
    measurement.expect("412", not wrong, "; ".join(wrong[:3]))
    measurement.expect("serial", recorded == made, f"{len(recorded)} recorded, {len(made)} acknowledged")
    measurement.expect("final", bool(recorded) and final == recorded[-1][1], f"{final} instead of {recorded[-1:]}")
    stage.invariants(measurement, ledger, node, (), previous)
    measurement.headline = (
        f"{len(changes)} changes by {clients} clients, {len(doubled)} versions won twice, "
        f"{len(unseen)} overwrote unseen, {sum(refusals.values())} × 412"
    )
    return measurement


# MARK: F28

class Reader(threading.Thread):
    """Follows events from a position on, and begins again after the last one that it got, whatever happens."""

    def __init__(self, start: int):
        super().__init__(daemon=True)
        self.start_position = start
        self.seen: list[int] = []
        self.connections = 0
        self.errors: list[str] = []
        self.ended = threading.Event()

    @property
    def last(self) -> int:
        return self.seen[-1] if self.seen else self.start_position - 1


class Subscriber(Reader):
    """Over server-sent events."""

    def __init__(self, port: int, token: str, start: int):
        super().__init__(start)
        self.port, self.token = port, token

    def run(self) -> None:
        while not self.ended.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                headers = {"Authorization": f"Bearer {self.token}", "Last-Event-ID": str(self.last)}
                connection.request("GET", "/v1/events", headers=headers)
                response = connection.getresponse()
                self.connections += 1
                if response.status == 409:
                    # This node has not read yet what the other one told already.
                    time.sleep(0.01)
                    continue
                if response.status != 200:
                    self.errors.append(f"{response.status} {response.read()[:300]!r}")
                    time.sleep(0.05)
                    continue
                for position, event in sse_events(response):
                    if event["position"] != position:
                        self.errors.append(f"id {position} with position {event['position']}")
                    self.seen.append(position)
                    if self.ended.is_set():
                        return
            except TROUBLE:
                time.sleep(0.005)
            except ValueError as error:
                self.errors.append(repr(error))
            finally:
                connection.close()


class Pager(Reader):
    """Over the history, page by page, with the cursor that the last page came with."""

    def __init__(self, port: int, token: str, start: int):
        super().__init__(start)
        self.client = Client(lambda: port, token, seconds=120)

    def run(self) -> None:
        cursor = ""
        # How much of a page that was not full is taken already.
        taken = 0
        while not self.ended.is_set():
            try:
                answer = self.client.request("GET", f"/v1/history?order=oldest&limit=50{cursor}")
            except TROUBLE:
                time.sleep(0.005)
                continue
            if answer.status != 200:
                self.errors.append(str(answer))
                time.sleep(0.05)
                continue
            self.connections += 1
            page = answer.json
            self.seen += [event["position"] for event in page["events"][taken:]]
            if "next_cursor" in page:
                cursor, taken = f"&cursor={page['next_cursor']}", 0
            else:
                # The end of the list has no cursor: the same page is asked for again, and grows.
                taken = len(page["events"])
                time.sleep(0.02)


def reader_order(stage: Stage, is_broken: bool) -> Measurement:
    return serial_cursor(stage) if is_broken else ledger_cursor(stage)


def ledger_cursor(stage: Stage) -> Measurement:
    """F28: 64 writers, quick and slow, over two nodes; eight subscribers whose connections are cut at random."""
    measurement = Measurement()
    ledger = stage.ledger()
    slow = stage.database_proxy()
    nodes = [stage.node(ledger), stage.node(ledger, database_port=slow.port)]
    apps = stage.apps(nodes[0], 16)
    start = nodes[0].position()
    nodes[1].wait_for_position(start)
    previous = stage.before(ledger)
    # One node's way to the database takes its time, another time for every message.
    slow.set(latency=0.001, jitter=0.02)
    fronts: list[FaultProxy] = [stage.proxy(node.port) for node in nodes]
    readers: list[Reader] = [Subscriber(fronts[n % 2].port, nodes[0].api.token, start) for n in range(8)]
    readers += [Pager(front.port, nodes[0].api.token, 0) for front in fronts]
    for reader in readers:
        reader.start()
        stage.on_exit(reader.ended.set)

    def commands(number: int) -> list[Command]:
        """Small ones, one event each, and some that record up to twenty events in one piece."""
        chance = random.Random(stage.seed * 100 + number)
        made = []
        for turn in range(100_000):
            key, app = f"writer {number} turn {turn}", chance.choice(apps)
            if chance.random() < 0.02 and turn < 2000:
                made.append(Command(key, "POST", f"/v1/apps/{app}/hosts", host_body(f"h{turn}.w{number}.example.com")))
            else:
                made.append(Command(key, "PATCH", f"/v1/apps/{app}", {"display_name": key}))
            if turn > 5000:
                break
        return made

    actor = stage.actor(nodes[0])
    writers = Writers(
        [lambda: nodes[0].port, lambda: nodes[1].port], nodes[0].api.token, actor, [commands(n) for n in range(64)]
    )
    stage.on_exit(writers.stop)
    seconds = stage.size(8, 60)
    writers.start()
    deadline = time.monotonic() + seconds
    cuts = 0
    while time.monotonic() < deadline:
        time.sleep(stage.random.random() * 0.6)
        cuts += stage.random.choice(fronts).reset_all()
    writers.stop()
    slow.heal()
    final = ledger.position()
    # Every subscriber gets the time to catch up, and then a moment more, in which nothing may follow.
    deadline = time.monotonic() + 120
    while any(reader.last < final - 1 for reader in readers) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    for reader in readers:
        reader.ended.set()
    lost = sum(len(set(range(reader.start_position, final)) - set(reader.seen)) for reader in readers)
    doubled = sum(len(reader.seen) - len(set(reader.seen)) for reader in readers)
    unordered = sum(one >= other for reader in readers for one, other in zip(reader.seen, reader.seen[1:]))  # noqa: B905
    errors = [error for reader in readers for error in reader.errors]
    measurement.figures |= {
        "events": final - start, "readers": len(readers), "connections_cut": cuts, "missed": lost, "seen_twice": doubled,
        "out_of_order": unordered, "acknowledged": len(writers.acknowledged),
        "connections": [reader.connections for reader in readers],
    }  # fmt: skip
    measurement.expect("every event", lost == 0, f"{lost} events were missed")
    measurement.expect("once", doubled == 0, f"{doubled} events came twice")
    measurement.expect("in order", unordered == 0, f"{unordered} events came out of order")
    measurement.expect("no errors", not errors, "; ".join(errors[:3]))
    measurement.expect("cuts", cuts > 0, "no connection was cut")
    measurement.expect("no refusal", not writers.wrong, "; ".join(writers.wrong[:3]))
    nodes[1].wait_for_position(final)
    stage.invariants(measurement, ledger, nodes[1], writers.acknowledged, previous)
    measurement.headline = (
        f"{final - start} events, {len(readers)} readers cut {cuts}×: {lost} missed, {doubled} twice, {unordered} out of order"
    )
    return measurement


def serial_cursor(stage: Stage) -> Measurement:
    """A table with a serial number, read by `id > last`: numbers are drawn before the commit and appear after it."""
    measurement = Measurement()
    ledger = stage.ledger()
    ledger.execute("CREATE TABLE public.serial (id bigserial PRIMARY KEY, writer int)")
    ended = threading.Event()

    def write(number: int) -> None:
        chance = random.Random(stage.seed * 100 + number)
        with ledger.connect() as connection:
            while not ended.is_set():
                with connection.transaction():
                    connection.execute("INSERT INTO public.serial (writer) VALUES (%s)", [number])
                    time.sleep(chance.random() * 0.02)

    seen: list[int] = []

    def read() -> None:
        last = 0
        with ledger.connect() as connection:
            while not ended.is_set():
                for (number,) in connection.execute("SELECT id FROM public.serial WHERE id > %s ORDER BY id", [last]):
                    seen.append(number)
                    last = number

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(64)]
    threads.append(threading.Thread(target=read, daemon=True))
    for thread in threads:
        thread.start()
    stage.on_exit(ended.set)
    time.sleep(stage.size(3, 10))
    ended.set()
    for thread in threads:
        thread.join(20)
    stored = {number for (number,) in ledger.execute("SELECT id FROM public.serial")}
    # Events stored after the last look count as lost for none.
    lost = [number for number in stored - set(seen) if number < max(seen)]
    measurement.figures |= {"events": len(stored), "missed": len(lost)}
    measurement.expect("every event", not lost, f"{len(lost)} of {len(stored)} events were missed")
    measurement.headline = f"{len(lost)} of {len(stored)} events missed"
    return measurement


EXPERIMENTS = [
    Experiment(
        "F27", "100 clients on two nodes edit one app with If-Match", "If-Match left out: the last write wins",
        {"one winner", "nothing unseen"}, racing_edits,
    ),
    Experiment(
        "F28", "64 writers on two nodes, one slow; 8 event streams and 2 history readers, cut at random",
        "a serial number read by id > last", {"every event"}, reader_order,
    ),
]  # fmt: skip
