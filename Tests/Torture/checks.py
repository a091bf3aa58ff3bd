"""The invariants, checked after every experiment: once by `pinledger fsck`, once here without the program."""

import collections
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import tree
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from ledger import Ledger, program
from load import Acknowledged
from node import Node
from pinledger import BINARY, unbase64url
from report import Measurement

CLEAN, DAMAGED = 0, 10


@dataclass
class Account:
    """The contents of a ledger's database."""

    events: int = 0
    faults: list[str] = field(default_factory=list)
    #: Acknowledged keys that are not there, and those that are there more than once.
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    root: str = ""
    versions: collections.Counter = field(default_factory=collections.Counter)

    def fault(self, text: str) -> None:
        if len(self.faults) < 20:
            self.faults.append(text)


def audit(ledger: Ledger, acknowledged: list[Acknowledged] = (), *, verify_hashes: bool = True) -> Account:
    """Reads every row of the ledger; with `verify_hashes` False as a reader would that trusts the rows."""
    account = Account()
    leaves: list[bytes] = []
    frontier = tree.Frontier()
    nodes: dict[tuple[int, int], bytes] = {}
    # An acknowledged command is recorded in one piece: the places of its events, by actor and key.
    places: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    last_time = ""
    with ledger.connect() as connection, connection.transaction():
        # One snapshot for all tables.
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        size, encoded = connection.execute("SELECT next_position, frontier FROM pinledger.head").fetchone()
        with connection.cursor("events") as cursor:
            cursor.itersize = 5000
            cursor.execute(
                "SELECT position, stream_version, stream, type, actor_kind, actor_id, entry, leaf_hash"
                " FROM pinledger.event ORDER BY position"
            )
            for expected, row in enumerate(cursor):
                position, version, stream, kind, actor_kind, actor_id, entry, stored = row
                if position != expected:
                    account.fault(f"position {expected} is followed up by {position}")
                    break
                account.events += 1
                account.versions[stream] += 1
                if version != account.versions[stream]:
                    account.fault(f"position {position}: {stream} goes to version {version}")
                if not verify_hashes:
                    continue
                content = json.loads(entry)
                columns = (position, version, stream, kind, actor_kind, actor_id)
                named = tuple(content[name] for name in ("position", "stream_version", "stream", "type"))
                if columns != (*named, content["actor"]["kind"], content["actor"]["id"]):
                    account.fault(f"position {position}: the columns and the entry disagree")
                # A whole second is written without a fraction, and "Z" stands behind "." in the alphabet.
                moment = content["time"].rstrip("Z")
                if "." not in moment:
                    moment += ".000000"
                if moment < last_time:
                    account.fault(f"position {position}: its time {moment} lies before {last_time}")
                last_time = moment
                leaf = tree.leaf_hash(entry)
                if leaf != stored:
                    account.fault(f"position {position}: the leaf's hash is not that of the entry")
                leaves.append(leaf)
                for level, index, node in frontier.append(leaf):
                    nodes[level, index] = node
                if key := content.get("idempotency_key"):
                    principal = content["actor"].get("principal_id")
                    owner = f"principal:{principal}" if principal else f"{actor_kind}:{actor_id}"
                    places[owner, key].append(position)
        if account.events != size:
            account.fault(f"the head is at {size}, and there are {account.events} events")
        streams = dict(connection.execute("SELECT name, version FROM pinledger.stream").fetchall())
        if streams != dict(account.versions):
            account.fault("the streams' lengths are not those of the events")
        commands = {
            (actor, key): (first, count)
            for actor, key, first, count in connection.execute(
                "SELECT actor, key, first_position, event_count FROM pinledger.command"
            )
        }
        if verify_hashes:
            if frontier.encoded != encoded:
                account.fault("the head's frontier is not that of the leaves")
            account.root = tree.root(leaves).hex()
            if tree.Frontier.decode(size, encoded).root.hex() != account.root:
                account.fault("the head's root is not that of the leaves")
            stored_nodes = {
                (level, index): node
                for level, index, node in connection.execute("SELECT level, index, hash FROM pinledger.tree_node")
            }
            if stored_nodes != nodes:
                account.fault("the stored nodes of the tree are not those of the leaves")
    for identity, found in places.items():
        if found != list(range(found[0], found[0] + len(found))):
            account.doubled.append(identity[1])
        elif commands.get(identity) != (found[0], len(found)):
            account.fault(f"the record of command {identity} is {commands.get(identity)}, its events are at {found}")
    for each in acknowledged:
        if each.actor is None:
            continue
        found = places.get((each.actor, each.key))
        if not found:
            # A command that changes nothing may be acknowledged too; it is on record all the same.
            if commands.get((each.actor, each.key), (0, 1))[1] != 0:
                account.lost.append(each.key)
        elif each.position is not None and each.position != found[-1] + 1:
            account.fault(f"{each.key} was acknowledged at {each.position} and is at {found}")
    return account


def verify_documents(ledger: Ledger, node: Node) -> list[str]:
    """Fetches every app's document and checks its signature, its version and that every node would serve the same."""
    faults = []
    keys = {}
    for key in node.api.request("GET", "/client/v1/jwks.json", token=None).json["keys"]:
        keys[key["kid"]] = Ed25519PublicKey.from_public_bytes(unbase64url(key["x"]))
    streams = dict(ledger.execute("SELECT name, version FROM pinledger.stream"))
    for name, version in streams.items():
        if not name.startswith("app/"):
            continue
        app = name.removeprefix("app/")
        wanted = version + streams.get("fleet", 0)
        # The publisher follows at its own pace.
        deadline = time.monotonic() + 120
        while True:
            answer = node.api.document(app)
            if answer.status == 200:
                header, payload, signature = answer.body.decode().split(".")
                content = json.loads(unbase64url(payload))
                if content["version"] >= wanted or time.monotonic() > deadline:
                    break
            elif time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if answer.status != 200:
            faults.append(f"{app}: {answer}")
            continue
        try:
            keys[json.loads(unbase64url(header))["kid"]].verify(
                unbase64url(signature), f"{header}.{payload}".encode()
            )  # fmt: skip
        except (InvalidSignature, KeyError) as error:
            faults.append(f"{app}: the signature does not verify: {error!r}")
        if content["version"] != wanted or content["aud"] != app:
            faults.append(f"{app}: version {content['version']} for {content['aud']} instead of {wanted}")
    return faults


# MARK: fsck

@dataclass
class Findings:
    status: int
    report: dict
    text: str

    def are(self, codes: frozenset[str]) -> bool:
        """Whether these kinds were found, and no other."""
        found = {each["code"] for each in self.report.get("findings", [])}
        # A ledger that ends in the future is sound.
        return self.status == (DAMAGED if codes - {"time_ahead"} else CLEAN) and found == codes


def write_acknowledged(path: Path, acknowledged: list[Acknowledged]) -> Path:
    with path.open("w") as file:
        for each in acknowledged:
            if each.actor is not None:
                line = {"actor": each.actor, "idempotency_key": each.key, "position": each.position}
                file.write(json.dumps(line) + "\n")
    return path


def fsck(
    ledger: Ledger, *, acknowledged: Path | None = None, previous: Path | None = None, server: int | None = None,
    save: Path | None = None, version: str = BINARY,
) -> Findings:  # fmt: skip
    arguments = ["fsck", "--database", ledger.audited, "--output", "json"]
    if acknowledged:
        arguments += ["--acknowledged", str(acknowledged)]
    if previous:
        arguments += ["--previous", str(previous)]
    if server:
        arguments += ["--server", f"http://127.0.0.1:{server}"]
    done = program(*arguments, status=None, seconds=300, version=version)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {}
    if save and report:
        save.write_text(done.stdout)
    return Findings(done.returncode, report, (done.stdout + done.stderr)[-3000:])


def expect_invariants(
    measurement: Measurement, ledger: Ledger, directory: Path, *, acknowledged: list[Acknowledged] = (),
    node: Node | None = None, previous: Path | None = None, has_fsck: bool = True, version: str = BINARY,
    findings_due: frozenset[str] = frozenset(),
) -> Account:  # fmt: skip
    """The criteria of every experiment: nothing lost, nothing twice, and the ledger whole, by both checkers. `findings_due`: the codes
    of what fsck has to find, and nothing else."""
    faults = verify_documents(ledger, node) if node else []
    account = audit(ledger, list(acknowledged))
    measurement.figures |= {
        "acknowledged": len(acknowledged), "lost": len(account.lost), "twice": len(account.doubled),
        "events": account.events, "root": account.root,
    }  # fmt: skip
    measurement.expect("lost", not account.lost, f"{len(account.lost)} lost, such as {account.lost[:3]}")
    measurement.expect("twice", not account.doubled, f"{len(account.doubled)} twice, such as {account.doubled[:3]}")
    measurement.expect("ledger", not account.faults, "; ".join(account.faults[:5]))
    measurement.expect("documents", not faults, "; ".join(faults[:5]))
    measurement.expect("has fsck", has_fsck, "the program has no fsck")
    if has_fsck:
        path = write_acknowledged(directory / f"{ledger.name}-acknowledged.jsonl", list(acknowledged))
        port = node.port if node else None
        for _ in range(4):
            findings = fsck(ledger, acknowledged=path, previous=previous, server=port, version=version)
            if not findings.are(findings_due) or findings.report.get("position") == account.events:
                break
            # The server records who asked it for something, a moment after. Both checkers are to see the same ledger.
            account = audit(ledger, list(acknowledged))
        measurement.figures["fsck"] = {"status": findings.status, "findings": findings.report.get("findings", [])[:20]}
        details = "; ".join(each["detail"] for each in findings.report.get("findings", [])[:3])
        is_right = findings.are(findings_due)
        measurement.expect("fsck", is_right, f"exit {findings.status}: {details or findings.text[-400:]}")
        if is_right:
            agrees = findings.report.get("root") == account.root and findings.report.get("position") == account.events
            measurement.expect("fsck agrees", agrees, f"{findings.report.get('position')} {findings.report.get('root')}")
    return account
