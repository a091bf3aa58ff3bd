"""Long ledgers: read from the beginning, and started from a snapshot, right or wrong."""

import hashlib
import hmac
import os
import subprocess
import time
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path

from ledger import Ledger
from node import Node, peak
from pinledger import BINARY, host_body
from report import Experiment, Measurement, MissingFeature, megabytes, milliseconds
from stage import Stage

NOTICE = "a snapshot cannot be used"
MARKED = "com.example.marked"
TRUE_NAME, FORGED_NAME = "Right as recorded", "Wrong as forged.."


def load(ledger: Ledger, events: int, apps: int) -> None:
    """Appends a long and lively history, made by the tool that the benchmarks use too."""
    places = [Path(BINARY).with_name("LedgerLoad"), Path(__file__).parents[2] / ".build/debug/LedgerLoad"]
    given = os.environ.get("LEDGER_LOAD")
    tool = Path(given) if given else next((each for each in places if os.access(each, os.X_OK)), None)
    if tool is None:
        raise MissingFeature("LedgerLoad is not built, or LEDGER_LOAD does not name it")
    done = subprocess.run(
        [str(tool), "--database", ledger.conninfo(), "--kek-file", str(ledger.kek), "--events", str(events), "--apps", str(apps)],
        capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"LedgerLoad ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")


def await_rows(ledger: Ledger, query: str, count: int = 1, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while ledger.value(query) < count:
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s there are not {count}: {query}")
        time.sleep(0.05)


def await_documents(node: Node, ledger: Ledger) -> None:
    """Until the documents of all of the node's apps are stored."""
    await_rows(ledger, "SELECT count(*) FROM pinledger.document", node.api.get("/readyz").json["apps"])


def take_snapshot(ledger: Ledger) -> bytes:
    """The digests of what a node keeps next, which is taken away from it. A node that finds none keeps one, within ten seconds at most."""
    ledger.execute("DELETE FROM pinledger.snapshot")
    await_rows(ledger, "SELECT count(*) FROM pinledger.snapshot", seconds=120)
    digests = bytes(ledger.value("SELECT digests FROM pinledger.snapshot"))
    ledger.execute("DELETE FROM pinledger.snapshot")
    return digests


# MARK: F30

def replay(stage: Stage, is_broken: bool) -> Measurement:
    """F30: a node reads the whole ledger while another one serves; both come to the same."""
    measurement = Measurement()
    events = 3000 if is_broken else stage.size(100_000, 1_000_000)
    apps = 20 if is_broken else stage.size(100, 5000)
    ledger = stage.ledger()
    load(ledger, events // 2, apps)
    serving = stage.node(ledger)
    # The other half, with apps of its own, is followed in pieces as it comes.
    load(ledger, events // 2, apps)
    total = ledger.position()
    serving.wait_for_position(total, 120)
    await_documents(serving, ledger)
    previous = stage.before(ledger)
    sample = [app for (app,) in ledger.execute("SELECT app FROM pinledger.document ORDER BY md5(app) LIMIT 50")]
    followed = take_snapshot(ledger)
    fetcher = stage.fetcher(serving.port, sample, rate=200)
    begun = time.monotonic()
    time.sleep(stage.size(1.5, 5))
    started = time.monotonic()
    node = stage.node(ledger, start=False)
    seconds = node.start(600)
    ended = time.monotonic()
    samples = fetcher.stop()
    memory = peak(node.pid)
    wrong = [app for app in sample if serving.api.document(app).body != node.api.document(app).body]
    # Who is left alone keeps the next one: otherwise it might be the other node's, which is compared with itself.
    serving.stop()
    replayed = take_snapshot(ledger)
    if is_broken:
        # Who goes on from here has one event more than the fold that is compared with it.
        node.api.must("PATCH", f"/v1/apps/{sample[0]}", {"display_name": "One event more"})
        followed = take_snapshot(ledger)

    same = followed == replayed
    quiet, busy = samples.between(begun + 0.3, started), samples.between(started, ended)
    base, p99 = quiet.p(0.99), busy.p(0.99)
    measurement.figures |= {
        "events_replayed": total, "seconds": seconds, "events_per_second": total / seconds, "memory_peak": memory,
        "fetch_p99_before": base, "fetch_p99": p99, "fetches_failed": samples.failures,
    }  # fmt: skip
    measurement.expect("same state", same, "the state after the replay is not the one that the other node came to")
    measurement.expect("same documents", not wrong, f"{len(wrong)} of {len(sample)} differ, such as {wrong[:3]}")
    if not is_broken:
        if stage.is_release:
            allowed = min(60, 1 + total / 20_000)
            measurement.expect("in time", seconds <= allowed, f"{seconds:.1f} s for {total} events, allowed {allowed:.1f}")
            # Twice the latency that is no noise where the clients share the machine.
            limit = max(2 * base, 0.05)
            measurement.expect("fetch p99", p99 <= limit, f"{milliseconds(p99)}, before {milliseconds(base)}")
        measurement.expect("memory", memory <= 512e6, megabytes(memory))
        measurement.expect("documents served", samples.failures == 0, f"{samples.failures} fetches failed")
        stage.invariants(measurement, ledger, node, (), previous)
    measurement.headline = (
        f"{total} events in {milliseconds(seconds)}, {megabytes(memory)} at the most; the state is "
        f"{'the same' if same else 'another one'}; fetch p99 meanwhile {milliseconds(p99)}"
    )
    return measurement


# MARK: F31

@dataclass
class Kept:
    """A row of the table of snapshots, and the rows of its parts."""

    fold: int
    position: int
    frontier: bytes
    digests: bytes
    tag: bytes
    parts: list[bytes]

    @classmethod
    def of(cls, ledger: Ledger) -> "Kept":
        await_rows(ledger, "SELECT count(*) FROM pinledger.snapshot", seconds=120)
        (row,) = ledger.execute("SELECT fold_version, position, frontier, digests, tag FROM pinledger.snapshot")
        return cls(*row, [body for (body,) in ledger.execute("SELECT body FROM pinledger.snapshot_part ORDER BY number")])

    def put(self, ledger: Ledger) -> None:
        ledger.execute(
            "INSERT INTO pinledger.snapshot (fold_version, position, frontier, digests, tag) VALUES (%s, %s, %s, %s, %s)",
            self.fold, self.position, self.frontier, self.digests, self.tag,
        )  # fmt: skip
        for number, body in enumerate(self.parts):
            ledger.execute("INSERT INTO pinledger.snapshot_part VALUES (%s, %s, %s, %s)", self.fold, self.position, number, body)

    def but(self, **changes) -> "Kept":
        return Kept(**{**self.__dict__, **changes})

    def forged(self, kek: bytes | None) -> "Kept":
        """With another name in it and a tag that fits; authenticated, where the forger has the key."""
        assert b"".join(self.parts).count(TRUE_NAME.encode()) == 1 and len(TRUE_NAME) == len(FORGED_NAME)
        parts = [part.replace(TRUE_NAME.encode(), FORGED_NAME.encode()) for part in self.parts]
        digests = b"".join(hashlib.sha256(part).digest() for part in parts)
        place = b"pinledger/snapshot/v1\0" + self.fold.to_bytes(4, "big") + self.position.to_bytes(8, "big")
        seal = hashlib.sha256(place + self.frontier + hashlib.sha256(digests).digest()).digest()
        tag = seal
        if kek is not None:
            # HKDF-SHA-256 (RFC 5869) without a salt, of one block.
            extracted = hmac.digest(bytes(32), kek, "sha256")
            key = hmac.digest(extracted, b"pinledger/kek/v2/authenticate/snapshot\x01", "sha256")
            tag = hmac.digest(key, seal, "sha256")
        return self.but(parts=parts, digests=digests, tag=tag)

    def with_changed_byte(self) -> "Kept":
        """In the largest part, in its middle."""
        place = max(range(len(self.parts)), key=lambda number: len(self.parts[number]))
        part, half = self.parts[place], len(self.parts[place]) // 2
        changed = part[:half] + bytes([part[half] ^ 1]) + part[half + 1 :]
        return self.but(parts=[*self.parts[:place], changed, *self.parts[place + 1 :]])


def name_of_marked(node: Node) -> str:
    return node.api.get(f"/v1/apps/{MARKED}").json["display_name"]


def snapshots(stage: Stage, is_broken: bool) -> Measurement:
    """F31: a node starts from a snapshot, if it is right, and from the ledger if not; and says so."""
    measurement = Measurement()
    events = 3000 if is_broken else stage.size(30_000, 1_000_000)
    apps = 20 if is_broken else stage.size(200, 10_000)
    ledger = stage.ledger()
    load(ledger, events, apps)
    node = stage.node(ledger)
    node.api.make_app(MARKED)
    node.api.must("PATCH", f"/v1/apps/{MARKED}", {"display_name": TRUE_NAME})
    await_documents(node, ledger)
    node.stop()
    previous = stage.before(ledger)

    def start_and_keep(name: str) -> tuple[float, Kept]:
        """From the beginning, and what such a node keeps."""
        ledger.execute("DELETE FROM pinledger.snapshot")
        node = stage.node(ledger, start=False)
        seconds = node.start(600)
        assert name_of_marked(node) == name
        kept = Kept.of(ledger)
        node.stop()
        return seconds, kept

    from_beginning, kept = start_and_keep(TRUE_NAME)
    kek = b64decode(ledger.kek.read_text())
    outcomes: dict[str, dict] = {}

    def start(name: str, *rows: Kept, **more) -> tuple[Node, dict]:
        ledger.execute("DELETE FROM pinledger.snapshot")
        for row in rows:
            row.put(ledger)
        node = stage.node(ledger, start=False, **more)
        outcome = outcomes[name] = {"seconds": node.start(600), "name": name_of_marked(node)}
        outcome["position"] = node.position()
        outcome["noticed"] = NOTICE in node.log.read_text(errors="replace")
        return node, outcome

    if is_broken:
        # Without the key it cannot know who made the snapshot, and the comparison with the ledger is turned off.
        node, outcome = start(
            "forged", kept.forged(None), is_reader=True, environment={"PINLEDGER_SNAPSHOT_AUDIT": "0"}
        )  # fmt: skip
        time.sleep(1)
        ready = node.api.get("/readyz")
        is_true = name_of_marked(node) == TRUE_NAME
        measurement.expect("true to the ledger", is_true, f"the API says {outcome['name']!r} of what is {TRUE_NAME!r}")
        measurement.expect("noticed", outcome["noticed"] or ready.json["status"] == "halted", f"nothing is said of it: {ready}")
        measurement.figures["cases"] = outcomes
        measurement.headline = f"the node serves {outcome['name']!r} where the ledger says {TRUE_NAME!r}"
        return measurement

    bad: list[str] = []

    def expect_passed_over(name: str, *rows: Kept) -> None:
        bad.append(name)
        node, outcome = start(name, *rows)
        whole = outcome["name"] == TRUE_NAME and outcome["position"] == ledger.position()
        measurement.expect("noticed", outcome["noticed"], f"{name}: the log does not say so")
        measurement.expect("true to the ledger", whole, f"{name}: {outcome}")
        measurement.expect("serves", node.api.document(MARKED).status == 200, f"{name}: no document")
        node.stop()

    node, outcome = start("right", kept)
    right = outcome["name"] == TRUE_NAME and outcome["position"] == ledger.position()
    measurement.expect("true to the ledger", right, f"right: {outcome}")
    measurement.expect("no false alarm", not outcome["noticed"], "a right snapshot is skipped")
    if stage.is_release:
        measurement.expect("in time", outcome["seconds"] <= 1, f"ready after {outcome['seconds']:.2f} s, allowed 1 s")
    if not stage.is_short:
        # What a start takes besides, such as reading the documents, is the same with and without.
        gains = outcome["seconds"] < from_beginning * 0.8
        measurement.expect("is used", gains, f"{outcome['seconds']:.2f} s instead of {from_beginning:.2f} s")
    stage.invariants(measurement, ledger, node, (), previous)
    # What it keeps is what it started from.
    again = take_snapshot(ledger)
    measurement.expect("restored", again == kept.digests, "the state read from a snapshot gives another snapshot")
    # One more event, for a second and newer snapshot.
    node.api.must("POST", f"/v1/apps/{MARKED}/hosts", host_body("late.example.com"))
    node.stop()
    _, newer = start_and_keep(TRUE_NAME)

    expect_passed_over("a byte changed", newer.with_changed_byte())
    expect_passed_over("cut off", newer.but(parts=newer.parts[: len(newer.parts) // 3]))
    expect_passed_over("of another ledger", newer.but(frontier=bytes([newer.frontier[0] ^ 1]) + newer.frontier[1:]))
    expect_passed_over("of another position", newer.but(position=newer.position - 1))
    expect_passed_over("forged without the key", newer.forged(None))
    expect_passed_over("the newest of two damaged", kept, newer.with_changed_byte())

    # What cannot be told from a right one is compared with the ledger afterwards, without haste.
    # One node after the other: one that writes stores snapshots of its own.
    late = {
        "forged with the key": (newer.forged(kek), {}),
        "forged, for a node without key": (newer.forged(None), {"is_reader": True}),
    }
    for name, (forged, more) in late.items():
        node, outcome = start(name, forged, **more)
        began = time.monotonic()
        while (ready := node.api.get("/readyz")).json["status"] == "ready" and time.monotonic() - began < 120 + events / 2000:
            time.sleep(0.05)
        outcome["found_after"] = time.monotonic() - began
        outcome["readiness"] = ready.json
        measurement.expect("found later", ready.json["status"] == "halted", f"{name}: {ready}")
        measurement.expect("serves", node.api.document(MARKED).status == 200, f"{name}: no document")
        node.destroy()
    seconds = outcomes["right"]["seconds"]
    measurement.figures |= {"events": events, "from_beginning_seconds": from_beginning, "cases": outcomes}
    passed_over = sum(outcomes[name]["noticed"] for name in bad)
    found = [each["found_after"] for each in outcomes.values() if "found_after" in each]
    measurement.headline = (
        f"{events} events: ready after {milliseconds(seconds)} (from the beginning {milliseconds(from_beginning)}); "
        f"{passed_over} of {len(bad)} bad snapshots skipped, {len(found)} forged ones found within {max(found):.1f} s"
    )
    return measurement


EXPERIMENTS = [
    Experiment(
        "F30", "a node reads a long ledger from its beginning beside one that serves", "one event is left out",
        {"same state"}, replay,
    ),
    Experiment(
        "F31", "start from snapshots: right, damaged, foreign, forged", "a node that trusts them",
        {"true to the ledger"}, snapshots,
    ),
]  # fmt: skip
