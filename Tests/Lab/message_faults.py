"""Faults of what nodes send: messages of webhooks, spans of traces; and of the nightly check."""

from database_faults import rename
from fault import Fault
from lab import APP, Lab
from runbook import Section


def webhook(lab: Lab) -> str:
    """The webhook of these faults, which the first of them makes."""
    if "webhook" not in lab.kept:
        made = lab.change("/v1/webhooks", {"url": lab.receiver.url, "types": ["AppRenamed"]}, "POST").json
        lab.kept["webhook"] = made["webhook_id"]
    return lab.kept["webhook"]


def refuse_messages(lab: Lab) -> None:
    lab.receiver.behave = lambda message, count: 503
    webhook(lab)
    rename(lab)


def take_messages(lab: Lab, section: Section) -> None:
    lab.shows(webhook(lab), lab.command(*section.command("pinledger webhook list")))
    lab.shows("503", lab.command(*section.command("pinledger webhook deliveries ID", ID=webhook(lab))))
    lab.receiver.behave = lambda message, count: 200
    waiting = lab.api.must("GET", f"/v1/webhooks/{webhook(lab)}/deliveries").json["deliveries"]
    lab.command(*section.command("pinledger webhook replay ID POSITION", ID=webhook(lab), POSITION=str(waiting[-1]["position"])))


def pause_webhook(lab: Lab) -> None:
    lab.command("webhook", "pause", webhook(lab), "--reason", "a drill")


def resume_webhook(lab: Lab, section: Section) -> None:
    lab.shows(webhook(lab), lab.command(*section.command("pinledger webhook list")))
    lab.command(*section.command("pinledger webhook resume ID", ID=webhook(lab)))


def damage_secret(lab: Lab) -> None:
    webhook(lab)
    [(lab.kept["secret"],)] = lab.ledger.execute("SELECT ciphertext FROM pinledger.webhook_secret")
    lab.ledger.execute("UPDATE pinledger.webhook_secret SET ciphertext = set_byte(ciphertext, 0, 255 - get_byte(ciphertext, 0))")
    lab.first.restart()


def restore_secret(lab: Lab, section: Section) -> None:
    assert any("webhook secret" in line["fault"] for line in lab.first.said("secret_unavailable"))
    lab.ledger.execute("UPDATE pinledger.webhook_secret SET ciphertext = %s", lab.kept["secret"])
    lab.first.restart()


def refuse_spans(lab: Lab) -> None:
    lab.collector.status = 400
    rename(lab)


def take_spans(lab: Lab, section: Section) -> None:
    assert lab.first.settings["otlp_endpoint"] == lab.collector.url
    lab.collector.status = 200


def fail_check(lab: Lab) -> None:
    """The check runs while the database does not answer."""
    lab.primary.stop()
    lab.check(8)
    lab.primary.start()
    lab.primary.wait_for_standby()


def check_again(lab: Lab, section: Section) -> None:
    lab.check(0)


def forget_check(lab: Lab) -> None:
    lab.write_check(failed=False, age=2 * 86400)


MESSAGE_FAULTS = [
    Fault(
        "PinledgerWebhookDelayed", "the receiver of a webhook answers 503", refuse_messages,
        "once the receiver works again, `pinledger webhook replay ID POSITION` sends one at once", take_messages,
    ),
    Fault(
        "PinledgerPausedWebhook", "a webhook is paused", pause_webhook, "`pinledger webhook resume ID` delivers them", resume_webhook,
    ),
    Fault(
        "PinledgerUnusableSecrets", "the row of a webhook's secret is damaged", damage_secret, "restore the rows", restore_secret,
        on="first", companions=frozenset({"PinledgerDown"}),
    ),
    Fault(
        "PinledgerLinesDropped", "the collector of traces refuses spans", refuse_spans, "Look at the disk with the access log, and at"
        " `--otlp-endpoint`", take_spans, on="first",
    ),
    Fault(
        "PinledgerCheckFails", "the nightly check runs while the database is down", fail_check,
        "Status 8 means that the database did not answer: run it again", check_again,
        companions=frozenset({"PinledgerStandbyLost", "PinledgerRecordsNothing"}),
    ),
    Fault("PinledgerCheckMissing", "the nightly check has not run for two days", forget_check, "run it now", check_again),
]  # fmt: skip
