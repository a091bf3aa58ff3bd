"""The verbs of the contract's operations and of the command line."""

import json
from pathlib import Path

# One verb for one thing, in the contract's summaries and on the command line: (operation, command).
#
# | Verb           | Things                                           | Why                                          |
# |----------------|--------------------------------------------------|----------------------------------------------|
# | Create         | apps, tokens, webhooks, keys, calendar feeds     | they begin to exist                          |
# | Add            | hosts, pins, witnesses                           | a part of something that exists              |
# | Update         | apps, hosts, webhooks                            | some of their settings                       |
# | Start          | candidates, rotations                            | a process that ends                          |
# | Set            | settings of clients and of the fleet;            | the old value is replaced                    |
# |                | rollout plans                                    |                                              |
# | Remove         | hosts, webhooks, deployed clients, witnesses     | configuration: it can be added again         |
# | Drop           | candidates                                       | a proposal is given up, the baseline stays   |
# | Clear          | rollout plans                                    | a setting is emptied, the rollout stays      |
# | Compare        | an app at two moments                            | both are in the past or one is the present   |
# | Archive/Unarchive | apps                                          | opposites; an id that was used stays taken   |
# | Revert         | changes                                          | settings get the values from before it       |
# | Revoke         | tokens, calendar feeds, pins                     | a credential is never valid again            |
# | Retire         | signing keys, keys for reports, pins             | no longer used, and not compromised          |
# | Propose/Apply  | changes                                          | what is written down is not yet done         |
# | Withdraw/Reject | changes                                         | by those who wrote it, by those who judge it |
# | Publish        | roots of trust                                   | clients have it from then on                 |
# | Engage/Release | kill switches                                    | opposites                                    |
# | Delete         | whatever Wultra's administrative interface has   | that interface's own word                    |
#
# HelpTests.swift looks for the commands.
COMMANDS: dict[str, str] = json.loads((Path(__file__).resolve().parents[1] / "commands.json").read_text())

# Operations that several commands share, whose command is named after one thing that they do, or that only browsers need.
SHARED = {"signIn", "signOut", "updatePrincipal", "updatePin", "setGuardRail", "setAppGuardRail", "updateFleet"}

# Beginnings of other summaries.
VERBS = {
    "Check", "Delete", "Explain", "Export", "Fetch", "List", "Read", "Report", "Set", "Show", "Stream", "Subscribe", "Verify",
    "Add", "Create", "Prove", "Sign",
}  # fmt: skip
