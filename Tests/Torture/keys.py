"""Key-encryption keys: nodes that are started with a wrong one beside those with the right one."""

import os
import time
from pathlib import Path

import batch_mac
from ledger import Ledger, program
from load import Writers, mixed_commands
from node import Node
from pinledger import free_port, from_now
from report import Experiment, Measurement, milliseconds
from stage import Stage

CLIENTS = 8


def make_key(directory: Path) -> Path:
    key = directory / "wrong-key"
    key.write_text(os.urandom(32).hex())
    key.chmod(0o600)
    return key


def authenticate(ledger: Ledger, key: Path) -> None:
    """The end of a ledger that grows gets a MAC of whatever key."""
    while True:
        with ledger.connect() as connection:
            if batch_mac.authenticate_end(connection, key):
                return


def start_in_vain(ledger: Ledger, key: Path, *options: str) -> bool:
    """True where a node with this key does not start, and says that it changed nothing."""
    done = program(
        "serve", "--database", ledger.conninfo(), "--kek-file", str(key), "--listen", f"127.0.0.1:{free_port()}",
        "--trust-database", *options, status=None)  # fmt: skip
    return done.returncode != 0 and "Nothing was changed" in done.stderr


def switches(nodes: list[Node], apps: list[str], what: str) -> list[str]:
    """A kill switch through each node; returns what did not come of it."""
    failed = []
    for node, app in zip(nodes, apps, strict=True):
        answer = node.api.request(
            "PUT", f"/v1/apps/{app}/kill-switch", {"reason": f"stolen key {what}", "expires_at": from_now(days=1)})  # fmt: skip
        if answer.status not in (200, 201):
            failed.append(f"{what}: {answer.status} through {node.log.stem}")
        elif not node.api.payload(app)["kill_switches"]:
            failed.append(f"{what}: not served by {node.log.stem}")
    return failed


def wrong_key(stage: Stage, is_broken: bool) -> Measurement:
    """F38: nodes with a wrong key-encryption key, told to trust the database, are started beside two that record."""
    measurement = Measurement()
    ledger = stage.ledger()
    nodes = [stage.node(ledger), stage.node(ledger)]
    apps = stage.apps(nodes[0], 8)
    nodes[1].wait_for_documents(apps)
    previous = stage.before(ledger)
    key = make_key(stage.directory)
    # Apps with a kill switch are of no use to the writers, which change hosts.
    commands = mixed_commands(apps[4:], CLIENTS, 200_000, stage.seed)
    writers = Writers(
        [lambda: nodes[0].port, lambda: nodes[1].port], nodes[0].api.token, stage.actor(nodes[0]), commands,
        patience=5 if is_broken else 60)  # fmt: skip
    stage.on_exit(writers.stop)
    writers.start()
    rounds = 1 if is_broken else stage.size(3, 10)
    refused = 0
    pauses = []
    for number in range(rounds):
        writers.wait_for(writers.count + stage.random.randrange(20, 200))
        if is_broken:
            # As a node does that authenticates the end before it opens a secret.
            authenticate(ledger, key)
            continue
        options = ["--state-directory", str(stage.directory / f"state{number}")] if number % 2 else []
        refused += start_in_vain(ledger, key, *options)
        again = writers.first_success_after(time.monotonic(), 60)
        pauses.append(99 if again is None else again)
    failed = switches(nodes, apps[:2], "while the nodes run")
    writers.stop()
    for node in nodes:
        node.stop()
        node.spawn()
        node.wait_until(lambda node=node: node.api.get("/healthz").status == 200)
    failed += switches(nodes, apps[2:4], "after a restart")
    measurement.expect("changes go on", not failed, "; ".join(failed))
    measurement.figures |= {"rounds": rounds, "refused": refused, "pauses": pauses, "failed": failed}
    if not is_broken:
        measurement.expect("wrong key refused", refused == rounds, f"{refused} of {rounds} starts")
        measurement.expect("writes again", max(pauses) <= 30, f"{max(pauses):.1f} s after a start")
        stage.invariants(measurement, ledger, nodes[0], writers.acknowledged, previous)
        # The way out, where a wrong key has authenticated the end all the same: one node with the right key, once.
        for node in nodes:
            node.stop()
        authenticate(ledger, key)
        trusting = stage.node(ledger, "--trust-database")
        trusting.stop()
        nodes[0].start()
        answer = nodes[0].api.request("PATCH", f"/v1/apps/{apps[4]}", {"display_name": "The way out"})
        measurement.expect("way out", answer.status == 200, f"a change got {answer.status}")
        stage.invariants(measurement, ledger, nodes[0], writers.acknowledged, previous)
    measurement.headline = (
        f"{len(writers.acknowledged)} acknowledged, {refused} of {rounds} starts with a wrong key refused, {len(failed)} of 4 kill switches failed"
        + (f"; writes again in ≤ {milliseconds(max(pauses))}" if pauses else "")
    )
    return measurement


EXPERIMENTS = [
    Experiment(
        "F38", "nodes with a wrong key, told to trust the database, start beside two that record",
        "the end is authenticated before a secret is opened", {"changes go on"}, wrong_key,
        needs=("--trust-database",),
    ),
]  # fmt: skip
