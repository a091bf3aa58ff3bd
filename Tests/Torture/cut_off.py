"""`recover` is killed before it has repeated a lost kill switch, and a node starts before anyone runs it again."""

import json
import os
import subprocess
import time
from pathlib import Path

from checks import fsck
from ledger import Ledger, program
from lost_switch import engage, has_switch
from pinledger import BINARY
from report import Experiment, Measurement
from stage import Stage

#: Whatever comes behind the event that begins the epoch waits: there the command is killed.
WAITING = """
    CREATE FUNCTION pinledger.wait_here() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
    CREATE TRIGGER wait_here BEFORE INSERT ON pinledger.event
        FOR EACH ROW WHEN (NEW.type = 'KillSwitchEngaged') EXECUTE FUNCTION pinledger.wait_here();
"""
GOING_ON = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep';
    DROP TRIGGER wait_here ON pinledger.event;
    DROP FUNCTION pinledger.wait_here();
"""


def kill_recover(arguments: list[str], ledger: Ledger) -> int:
    """Kills the command once the new epoch is recorded; its exit status."""
    ledger.execute(WAITING)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PINLEDGER_")}
    process = subprocess.Popen(
        [BINARY, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        sleeping = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
        deadline = time.monotonic() + 120
        while not ledger.value(sleeping):
            assert process.poll() is None, f"recover ended with {process.returncode} before it repeated anything"
            assert time.monotonic() < deadline, "recover does not come to the lost switch"
            time.sleep(0.02)
    finally:
        process.kill()
        status = process.wait()
        ledger.execute(GOING_ON)
    return status


def cut_off(stage: Stage, is_broken: bool) -> Measurement:
    """F48: a backup without a kill switch takes the ledger's place, and the recovery is cut off, or leaves the switch out."""
    measurement = Measurement()
    before, missing, rounds = [], [], stage.size(2, 20)
    for number in range(rounds):
        is_killed = number % 2 == 0
        ledger = stage.ledger()
        state = stage.directory / f"state-{number}"
        node = stage.node(ledger, "--state-directory", str(state), "--trust-database")
        apps = stage.apps(node, 2)
        node.stop()
        backup = stage.ledger(like=ledger)
        node.start()
        engage(node, apps[0])
        node.wait_until(lambda node=node: has_switch(node.api.payload(apps[0])))
        served = node.api.payload(apps[0])["version"]
        node.stop()
        recover = [
            "recover", "--database", backup.conninfo(), "--kek-file", str(backup.kek), "--memory", str(state),
            "--reason", "a backup was restored", "--output", "json",
        ]  # fmt: skip
        if is_killed:
            kill_recover([*recover, "--repeat"], backup)
        else:
            # Without a terminal nobody is asked, and nothing begins.
            position = backup.position()
            refused = program(*recover, status=None)
            if refused.returncode == 0 or backup.position() != position:
                before.append(f"round {number}: recover without --repeat began an epoch")
            program(*recover, "--no-repeat")
        # A node starts by itself, and sets aside what it remembers.
        node = stage.node(backup, "--state-directory", str(state))
        node.wait_for_documents(apps)
        measurement.expect("a later document", node.api.payload(apps[0])["version"] > served, "a version fell")
        node.stop()
        if is_broken:
            for file in Path(state).glob("*.lost-in-epoch-*"):
                file.unlink()
        report = json.loads(program(*recover, "--repeat").stdout)
        node.start()
        node.wait_for_documents(apps)
        if not has_switch(node.api.payload(apps[0])):
            missing.append(f"round {number}: repeated {len(report['repeated'])}, and the document has no switch")
        else:
            # A release is not undone by one more repetition.
            node.api.request("DELETE", f"/v1/apps/{apps[0]}/kill-switch?reason=over")
            node.stop()
            again = json.loads(program(*recover, "--repeat").stdout)
            measurement.expect("a release stays", not again["repeated"], f"round {number}: {again['repeated']}")
        node.destroy()
        if not is_broken:
            measurement.expect("sound", fsck(backup).status == 0, "fsck found damage")
    measurement.figures |= {"rounds": rounds, "missing": len(missing)}
    measurement.expect("nothing begins unasked", not before, "; ".join(before[:3]))
    measurement.expect("switch is back", not missing, "; ".join(missing[:3]))
    measurement.headline = f"{rounds} recoveries cut off, a node started in between; the switch was missing {len(missing)} times"
    return measurement


EXPERIMENTS = [
    Experiment(
        "F48", "`recover` is killed before it repeats a lost kill switch, or told to leave it; a node starts; `recover --repeat`",
        "a node that throws away what it has set aside", {"switch is back"}, cut_off, needs=("recover",),
    ),
]  # fmt: skip
