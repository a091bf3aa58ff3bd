"""Faults of the key-encryption key and of what knows it."""

import os
from pathlib import Path

from authority import replace
from database_faults import rename
from fault import Fault
from lab import Lab
from ledger import program
from runbook import Section


def new_key(lab: Lab, name: str) -> Path:
    replace(lab.directory / name, os.urandom(32).hex().encode() + b"\n")
    return lab.directory / name


def rewrap(lab: Lab) -> None:
    """Without `next_kek_file` on any node."""
    lab.kept["next kek"] = new_key(lab, "next-kek")
    for _ in range(2):
        program(
            "key", "rewrap", "--database", lab.ledger.superuser, "--kek-file", str(lab.ledger.kek),
            "--next-kek-file", str(lab.kept["next kek"]))  # fmt: skip


def give_next_key(lab: Lab, section: Section) -> None:
    former, lab.ledger.kek = lab.ledger.kek, lab.kept["next kek"]
    lab.kept["former kek"] = former
    keys = [lab.batch_public_key(kek) for kek in (former, lab.ledger.kek)]
    lab.reader.restart(batch_public_key=keys)
    for server in (lab.first, lab.second):
        server.restart(kek_file=str(lab.ledger.kek))
    rename(lab)


def forget_public_key(lab: Lab) -> None:
    """The read-only node has the public half of a key that no server has, and that of the one before the last change, without which it knows of no event."""
    known = [lab.kept["former kek"]] if "former kek" in lab.kept else []
    lab.reader.restart(batch_public_key=[lab.batch_public_key(kek) for kek in (*known, new_key(lab, "foreign-kek"))])
    rename(lab)


def give_public_key(lab: Lab, section: Section) -> None:
    lab.reader.restart(batch_public_key=[lab.batch_public_key(lab.ledger.kek)])


KEY_FAULTS = [
    Fault(
        "PinledgerOtherKey", "`pinledger key rewrap`, and no node has the next key", rewrap,
        "give it as `kek_file`, and restart the node", give_next_key, on="first",
        companions=frozenset({"PinledgerRecordsNothing", "PinledgerDown", "PinledgerSuspended", "PinledgerBehind", "PinledgerDocumentsBehind"}),
    ),
    Fault(
        "PinledgerBehind", "a read-only node does not know who signs the newest events", forget_public_key,
        "A node that is also `unsigned` knows nobody who signed the newest events", give_public_key, on="reader",
        companions=frozenset({"PinledgerSuspended", "PinledgerDown", "PinledgerDocumentsBehind"}),
    ),
]  # fmt: skip
