"""Damage done by an attacker who may do anything to the database: every piece of it is found, named, and not published."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

import tree
from checks import DAMAGED, audit, fsck, verify_documents
from ledger import Ledger
from node import Node
from pinledger import pin_of
from report import Experiment, Measurement
from stage import Stage
from synthetic import extend

#: Where single events are damaged: in the middle, past the first full tile of the tree.
PLACE = 300


@dataclass
class Damage:
    name: str
    #: Statements, as superuser, with the guards switched off.
    do: Callable[[Ledger], list[str]]
    #: Positions, or apps, of which fsck names one.
    named: set = None
    #: A server that starts on it must refuse to, or halt and publish nothing.
    stops_start: bool = True
    #: A server that runs while it happens must halt, with no event written after it.
    stops_running: bool = False
    #: Whether a report from before the damage is needed to notice it.
    needs_previous: bool = False
    #: A checker that trusts the columns sees it.
    shows_without_hashes: bool = True


def flip(column: str, where: str, *, at: int = 40) -> str:
    return f"UPDATE pinledger.{where.split(' WHERE ')[0]} SET {column} = set_byte({column}, {at}, get_byte({column}, {at}) # 1) WHERE {where.split(' WHERE ')[1]}"  # noqa: E501


TAIL = "(SELECT next_position FROM pinledger.head)"


def tail_frontier(ledger: Ledger, count: int) -> str:
    """The right edge of the tree without its last leaves: what an attacker who cuts off the tail would put there."""
    frontier = tree.Frontier()
    for (leaf,) in ledger.execute("SELECT leaf_hash FROM pinledger.event ORDER BY position LIMIT %s", count):
        frontier.append(leaf)
    return frontier.encoded.hex()


def cut_tail(ledger: Ledger) -> list[str]:
    """Thoroughly: the events, the streams and the head all fit together afterwards."""
    size = ledger.position()
    kept = size - 20
    return [
        f"DELETE FROM pinledger.event WHERE position >= {kept}",
        f"UPDATE pinledger.head SET next_position = {kept}, frontier = '\\x{tail_frontier(ledger, kept)}'",
        "UPDATE pinledger.stream s SET version = e.version, last_position = e.last FROM"
        " (SELECT stream, max(stream_version) AS version, max(position) AS last FROM pinledger.event GROUP BY 1) e"
        " WHERE e.stream = s.name",
        f"DELETE FROM pinledger.command WHERE first_position >= {kept}",
    ]


def damages(app: str) -> list[Damage]:
    at = f"event WHERE position = {PLACE}"
    swap = (
        "UPDATE pinledger.event a SET entry = b.entry, leaf_hash = b.leaf_hash FROM pinledger.event b"
        f" WHERE (a.position, b.position) IN (({PLACE}, {PLACE + 1}), ({PLACE + 1}, {PLACE}))"
    )
    return [
        Damage("byte of an entry", lambda _: [flip("entry", at)], {PLACE}, shows_without_hashes=False),
        Damage(
            "byte of an entry, leaf hash made to fit",
            lambda _: [flip("entry", at), f"UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = {PLACE}"],  # noqa: E501
            {PLACE}, shows_without_hashes=False,
        ),
        Damage("byte of a leaf hash", lambda _: [flip("leaf_hash", at, at=3)], {PLACE}, shows_without_hashes=False),
        Damage("a row deleted", lambda _: [f"DELETE FROM pinledger.event WHERE position = {PLACE}"], {PLACE}),
        Damage("two rows swapped", lambda _: [swap], {PLACE, PLACE + 1}, shows_without_hashes=False),
        Damage(
            "tail deleted", lambda ledger: [f"DELETE FROM pinledger.event WHERE position >= {TAIL} - 5"],
            set(range(1000)),
        ),
        Damage(
            "tail cut off, head and streams made to fit", cut_tail, set(range(1000)),
            stops_running=True, needs_previous=True, shows_without_hashes=False,
        ),
        Damage(
            "byte of the head's frontier", lambda _: [flip("frontier", "head WHERE singleton", at=5)], set(range(1000)),
            stops_running=True, shows_without_hashes=False,
        ),
        Damage(
            "byte of a tree node", lambda _: [flip("hash", "tree_node WHERE level = 8 AND index = 0", at=5)],
            {0, 255, 256}, stops_start=False, shows_without_hashes=False,
        ),
        Damage(
            "a stream's version", lambda _: [f"UPDATE pinledger.event SET stream_version = stream_version + 10000 WHERE position = {PLACE}"],  # noqa: E501
            {PLACE}, stops_start=False,
        ),
        Damage(
            "a stream's length", lambda _: [f"UPDATE pinledger.stream SET version = version + 1 WHERE name = 'app/{app}'"],  # noqa: E501
            {app, f"app/{app}"}, stops_start=False,
        ),
        Damage(
            "byte of a document", lambda _: [flip("body", f"document WHERE app = '{app}'", at=200)], {app},
            stops_start=False, shows_without_hashes=False,
        ),
    ]  # fmt: skip


def strike(ledger: Ledger, statements: list[str]) -> None:
    """With every guard of the ledger switched off, and on again as if nothing had been."""
    with ledger.connect() as connection, connection.transaction():
        tables = [
            name for (name,) in connection.execute(
                "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE n.nspname = 'pinledger' AND c.relkind IN ('r', 'p')"
            )
        ]  # fmt: skip
        for table in tables:
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for statement in statements:
            connection.execute(statement)
        for table, trigger in connection.execute(
            "SELECT tgrelid::regclass::text, tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'pinledger' AND NOT tgisinternal"
        ).fetchall():
            connection.execute(f'ALTER TABLE {table} ENABLE ALWAYS TRIGGER "{trigger}"')


def names(findings, wanted: set) -> bool:
    """Whether a finding is about one of those places."""
    for finding in findings.report.get("findings", []):
        about = {finding.get("position"), finding.get("app"), finding.get("of")}
        if about & wanted or any(f" {place} " in f" {finding['detail']} " for place in wanted if isinstance(place, str)):
            return True
    return False


def try_to_start(node: Node) -> tuple[dict | None, int | None, str]:
    """What a server that starts says at /readyz; of one that does not, its exit status and its last words."""
    node.spawn()
    assert node.process is not None
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        code = node.process.poll()
        if code is not None:
            node.process = None
            return None, code, node.tail()[-400:]
        try:
            return node.api.get("/readyz").json, None, ""
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server neither starts nor ends")


def corruption(stage: Stage, is_broken: bool) -> Measurement:
    """F32."""
    measurement = Measurement()
    base = stage.ledger()
    node = stage.node(base)
    (app,) = stage.apps(node, 1)
    extend(base, [f"app/{app}"], 600)
    node.wait_for_position(base.position())
    node.api.must("POST", f"/v1/apps/{app}/hosts/api.example.com/pins", {"pin": pin_of("last"), "role": "backup"})
    stage_version = node.api.payload(app)["version"]
    node.stop()
    previous = stage.before(base)
    outcomes: dict[str, dict] = {}
    cases = damages(app)
    for damage in cases:
        copy = stage.ledger(like=base)
        outcome = outcomes[damage.name] = {}
        if is_broken:
            strike(copy, damage.do(copy))
            account = audit(copy, verify_hashes=False)
            outcome["found"] = bool(account.faults)
            measurement.expect("found", outcome["found"], f"{damage.name} is not seen")
            # A checker without hashes still finds something; one that finds nothing is broken.
            saw = "seen" if outcome["found"] else "not seen"
            measurement.expect("sees what is plain", outcome["found"] == damage.shows_without_hashes, f"{damage.name} is {saw}")
            copy.drop()
            continue
        running = stage.node(copy)
        good = running.api.document(app).body
        strike(copy, damage.do(copy))
        # The program's own checker, and the one here.
        findings = fsck(copy, previous=previous if damage.needs_previous else None)
        outcome["fsck"] = {"status": findings.status, "findings": findings.report.get("findings", [])[:5]}
        measurement.expect("found", findings.status == DAMAGED, f"{damage.name}: fsck exits {findings.status}")
        measurement.expect(
            "named", names(findings, damage.named), f"{damage.name}: fsck says {findings.report.get('findings', [])[:2]}"
        )
        # The server that runs goes on with what it knows, and stops where it sees that it does not fit.
        deadline = time.monotonic() + 4
        readiness = running.api.get("/readyz")
        while damage.stops_running and readiness.json["status"] == "ready" and time.monotonic() < deadline:
            time.sleep(0.05)
            readiness = running.api.get("/readyz")
        outcome["running"] = readiness.json
        document = running.api.document(app)
        measurement.expect(
            "serves the last good", document.status == 200 and document.body == good,
            f"{damage.name}: {document.status} {'' if document.body == good else 'another document'}",
        )  # fmt: skip
        if damage.stops_running:
            halted = readiness.json["status"] == "halted" and not readiness.json["writes"]
            measurement.expect("halts", halted, f"{damage.name}: /readyz says {readiness}")
        running.destroy()
        # The server that starts afterwards.
        starting = stage.node(copy, start=False)
        starts, code, words = try_to_start(starting)
        outcome["start"] = {"readiness": starts, "exit": code, "words": words}
        if damage.stops_start:
            refuses = code != 0 if starts is None else not starts["writes"]
            measurement.expect("refuses to start", refuses, f"{damage.name}: it starts, and says {starts}")
            measurement.expect("says why", not words or "damaged" in words, f"{damage.name}: {words}")
        elif starts:
            # A damaged document may be signed again, which gives other bytes than before the damage; they have to verify.
            faults = verify_documents(copy, starting) if damage.name == "byte of a document" else []
            measurement.expect("publishes nothing bad", not faults, f"{damage.name}: {'; '.join(faults)}")
        starting.destroy()
        copy.drop()
    if not is_broken:
        follower(stage, measurement, base, app, outcomes)
        older_backup(stage, measurement, base, app, outcomes, previous)
    found = sum(
        each["found"] if is_broken else each["fsck"]["status"] == DAMAGED for each in outcomes.values() if each
    )  # fmt: skip
    measurement.figures |= {"cases": outcomes, "found": found, "version": stage_version}
    measurement.headline = f"{found} of {len(outcomes)} kinds of damage found"
    if not is_broken:
        running = sum(each["running"].get("status") == "halted" for each in outcomes.values())
        starting = sum(
            each["start"]["readiness"] is None or each["start"]["readiness"]["status"] == "halted"
            for each in outcomes.values() if "start" in each
        )  # fmt: skip
        measurement.headline += f" and named; {running} stop a running server's publishing, {starting} a starting one's"
    return measurement


def follower(stage: Stage, measurement: Measurement, base: Ledger, app: str, outcomes: dict) -> None:
    """Events that a running node has not read yet are damaged before it does: it halts, and serves what it verified."""
    kinds: dict[str, Callable[[int], str]] = {
        "byte of an entry": lambda at: flip("entry", f"event WHERE position = {at}"),
        "a row deleted": lambda at: f"DELETE FROM pinledger.event WHERE position = {at}",
    }
    if stage.is_short:
        del kinds["a row deleted"]
    for kind, statement in kinds.items():
        copy = stage.ledger(like=base)
        behind = stage.node(copy)
        good = behind.api.document(app).body
        behind.pause()
        first = copy.position()
        extend(copy, [f"app/{app}"], 8)
        strike(copy, [statement(first + 4)])
        behind.resume()
        deadline = time.monotonic() + 60
        while (readiness := behind.api.get("/readyz")).json["status"] == "ready" and time.monotonic() < deadline:
            time.sleep(0.05)
        document = behind.api.document(app)
        name = f"unread events, {kind}"
        findings = fsck(copy)
        outcomes[name] = {
            "fsck": {"status": findings.status, "findings": findings.report.get("findings", [])[:5]},
            "running": readiness.json,
        }  # fmt: skip
        measurement.expect("halts", readiness.json["status"] == "halted", f"{name}: /readyz says {readiness}")
        same = document.status == 200 and document.body == good
        measurement.expect("serves the last good", same, f"{name}: {document.status}")
        refused = behind.api.request("PATCH", f"/v1/apps/{app}", {"display_name": "on sand"})
        measurement.expect("writes nothing", refused.status == 503, f"{name}: a write got {refused}")
        measurement.expect("alarms", "critical" in behind.log.read_text(), f"{name}: nothing critical in the log")
        measurement.expect("found", findings.status == DAMAGED, f"{name}: fsck exits {findings.status}")
        named = {first + 4, first + 3, first + 5}
        measurement.expect("named", names(findings, named), f"{name}: fsck says {outcomes[name]['fsck']}")
        behind.destroy()
        copy.drop()


def older_backup(stage: Stage, measurement: Measurement, base: Ledger, app: str, outcomes: dict, previous) -> None:
    """The state of yesterday is put back below a running server: by pg_dump and pg_restore, as an operator would."""
    name = "an older backup restored"
    copy = stage.ledger(like=base)
    running = stage.node(copy)
    dump = stage.cluster.home / f"{copy.name}.dump"
    arguments = ["-h", str(stage.cluster.home), "-p", str(stage.cluster.port), "-U", "postgres"]
    stage.cluster.run("pg_dump", *arguments, "--format=custom", f"--file={dump}", copy.name)
    for number in range(5):
        pin = {"pin": pin_of(f"later {number}"), "role": "backup"}
        running.api.must("POST", f"/v1/apps/{app}/hosts/api.example.com/pins", pin)
    later = stage.directory / "later.json"
    before = fsck(copy, save=later)
    measurement.expect("sound", before.status == 0, f"before the restoration: {before.text[:300]}")
    version = running.api.payload(app)["version"]
    deadline = time.monotonic() + 60
    while (wanted := running.api.payload(app)["version"]) != version and time.monotonic() < deadline:
        version = wanted
        time.sleep(0.1)
    good = running.api.document(app).body
    copy.execute("DROP SCHEMA pinledger CASCADE")
    try:
        stage.cluster.run("pg_restore", *arguments, "--dbname", copy.name, str(dump))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        raise AssertionError(f"the backup could not be restored: {error}") from error
    dump.unlink()
    deadline = time.monotonic() + 60
    while (readiness := running.api.get("/readyz")).json["status"] == "ready" and time.monotonic() < deadline:
        time.sleep(0.05)
    document = running.api.document(app)
    findings = fsck(copy, previous=later)
    outcomes[name] = {
        "fsck": {"status": findings.status, "findings": findings.report.get("findings", [])[:5]},
        "running": readiness.json,
    }  # fmt: skip
    measurement.expect("halts", readiness.json["status"] == "halted", f"{name}: /readyz says {readiness}")
    same = document.status == 200 and document.body == good
    measurement.expect("serves the last good", same, f"{name}: {document.status}")
    measurement.expect("found", findings.status == DAMAGED, f"{name}: fsck exits {findings.status}")
    running.destroy()
    copy.drop()


EXPERIMENTS = [
    Experiment(
        "F32", "the database is damaged by its superuser, in many ways", "a checker that looks at no hash", {"found"},
        corruption, needs=("fsck",), met_by={"sees what is plain"},
    ),
]  # fmt: skip
