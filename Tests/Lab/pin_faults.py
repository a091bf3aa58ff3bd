"""Alerts about pins, keys of hosts, tokens, roots and changes."""

import copy
from datetime import timedelta
from types import SimpleNamespace

from ceremony import Ceremony, run
from cryptography.hazmat.primitives import serialization
from fault import Fault
from lab import APP, HOST, Lab
from pinledger import from_now
from runbook import Section
from tls_server import Key, TLSServer

#: The status of `pinledger probe` where no address has presented a chain.
NOTHING_SEEN = 10


def engage(lab: Lab) -> None:
    lab.change(f"/v1/apps/{APP}/kill-switch", {"reason": "a drill", "expires_at": from_now(hours=1)}, "PUT")


def release(lab: Lab, section: Section) -> None:
    lab.shows(APP, lab.command(*section.command("pinledger attention")))
    lab.shows("a drill", lab.command(*section.command("pinledger history --type KillSwitchEngaged")))
    lab.command("kill", "release", APP, "--reason", "the drill is over")


def deploy_wrong(lab: Lab) -> None:
    lab.present(Key(lab.directory, "wrong", HOST))


def deploy_right(lab: Lab, section: Section) -> None:
    lab.shows(HOST, lab.command(*section.command("pinledger attention")))
    lab.site.serve(lab.served)
    lab.command(*section.command("pinledger probe HOST:PORT", **{"HOST:PORT": f"{HOST}:{lab.site.port}"}))


def deploy_old(lab: Lab) -> None:
    old = copy.copy(lab.served)
    old.certificate = lab.directory / "old.pem"
    public = serialization.load_pem_private_key(lab.served.key.read_bytes(), None).public_key()
    old.certificate.write_bytes(lab.authority.certify(public, HOST, timedelta(days=5)))
    lab.present(old)


def renew(lab: Lab, section: Section) -> None:
    lab.present(lab.served)


def end_pins(lab: Lab) -> None:
    lab.change(f"/v1/apps/{APP}", {"pins_valid_until": from_now(days=5), "reason": "a drill"})


def move_end(lab: Lab, section: Section) -> None:
    lab.command(*section.command("pinledger app update APP --pins-valid-until 30d", APP=APP))


def issue_token(lab: Lab) -> None:
    made = lab.change("/v1/tokens", {"name": "short", "grants": [{"role": "viewer", "apps": ["*"]}], "expires_at": from_now(days=3)}, "POST")
    lab.kept["token"] = made.json["token_id"]


def rotate_token(lab: Lab, section: Section) -> None:
    lab.shows(lab.kept["token"], lab.command(*section.command("pinledger token list")))
    lab.command(*section.command("pinledger token rotate"), lab.kept["token"])
    lab.command(*section.command("pinledger token revoke ID", ID=lab.kept["token"]), "--reason", "rotated")


def publish_short_root(lab: Lab) -> None:
    lab.kept["ceremony"] = ceremony = Ceremony(lab.directory, SimpleNamespace(api=lab.clients, cli=lab.command))
    ceremony.publish(expires=from_now(days=80)[:10])


def publish_long_root(lab: Lab, section: Section) -> None:
    ceremony = lab.kept["ceremony"]
    following = ceremony.file(2)
    words = section.command(
        "pinledger root draft FILE --after PREVIOUS --expires 1825d", FILE=str(following), PREVIOUS=str(ceremony.file(1)))  # fmt: skip
    lab.command(*words)
    for name in ("ada", "bob"):
        run("root", "sign", following, "--key-file", lab.directory / name)
    lab.command("root", "publish", str(following), "--reason", "a later end")


def bypass_approvals(lab: Lab) -> None:
    hurried, lab.kept["approver"] = lab.person("Root", "admin"), lab.person("Bob", "approver")
    rule = {"apps": [APP], "approvals": 1, "permissions": ["apps.change"]}
    lab.change("/v1/access/approval-rules/lab", rule, "PUT")
    made = hurried.must("PATCH", f"/v1/apps/{APP}?bypass_approvals=true", {"display_name": "In a hurry", "reason": "an outage"})
    lab.kept["change"] = made.json["change_id"]


def review(lab: Lab, section: Section) -> None:
    lab.shows(lab.kept["change"], lab.command(*section.command("pinledger change list --status applied")))
    words = section.command("pinledger change review ID", ID=lab.kept["change"])
    lab.command(*words, "--reason", "looked at it", token=lab.kept["approver"].token)
    lab.change("/v1/access/approval-rules/lab?reason=over", {}, "DELETE")


def close_site(lab: Lab) -> None:
    lab.site.close()
    lab.command("probe", f"{HOST}:{lab.site.port}", status=NOTHING_SEEN)


def open_site(lab: Lab, section: Section) -> None:
    words = section.command("pinledger probe HOST:PORT", **{"HOST:PORT": f"{HOST}:{lab.site.port}"})
    lab.shows("nothing listens on the port", lab.command(*words, status=NOTHING_SEEN))
    lab.site = TLSServer(lab.served, port=lab.site.port)
    lab.command(*words)


def allow_nothing(lab: Lab) -> None:
    lab.first.restart(allow_private_range=None)
    lab.command("probe", f"{HOST}:{lab.site.port}", status=NOTHING_SEEN)


def allow_loopback(lab: Lab, section: Section) -> None:
    words = section.command("pinledger probe HOST:PORT", **{"HOST:PORT": f"{HOST}:{lab.site.port}"})
    lab.shows("loopback", lab.command(*words, status=NOTHING_SEEN))
    lab.first.restart(allow_private_range=["127.0.0.0/8"])
    lab.command(*words)


PIN_FAULTS = [
    Fault("PinledgerKillSwitch", "a kill switch is engaged", engage, "`pinledger attention` lists it", release, labels=(("scope", "app"),)),
    Fault(
        "PinledgerUnpinnedKey", "a host presents a key that is not pinned", deploy_wrong, "deploy the right one again", deploy_right,
    ),
    Fault(
        "PinledgerPinsEnd", "the pins of an app end in five days", end_pins,
        "Move it ahead: `pinledger app update APP --pins-valid-until 30d`", move_end,
    ),
    Fault("PinledgerTokenExpires", "a token ends in three days", issue_token, "once nothing uses it, end it", rotate_token),
    Fault(
        "PinledgerCertificateExpires", "a host presents a certificate that ends in five days", deploy_old, "Renew them", renew,
    ),
    Fault(
        "PinledgerRootExpires", "a root of trust that ends in 80 days is published", publish_short_root,
        "Draft it with a later end, have it signed by enough people, and publish it", publish_long_root,
    ),
    Fault("PinledgerUnreviewed", "a change bypasses its approvals", bypass_approvals, "`pinledger change review ID`", review),
    Fault(
        "PinledgerProbesFail", "a host's server is down", close_site,
        "after a repair, `pinledger probe` on a node with a name ends the alert sooner", open_site,
    ),
    Fault(
        "PinledgerProbesUnable", "a node may look at no private address", allow_nothing, "`--allow-private-range`", allow_loopback,
        on="first", companions=frozenset({"PinledgerDown"}),
    ),
]  # fmt: skip
