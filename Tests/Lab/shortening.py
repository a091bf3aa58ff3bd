"""The shipped rules for a lab that runs for minutes: every time in which something has to come about is divided by one factor."""

import re
from pathlib import Path

import yaml

#: The divisor of all times.
FACTOR = 30
#: An alert waits no shorter than this for its condition to last, as a busy machine answers one scrape late; and no longer.
SHORTEST_HOLD, LONGEST_HOLD = 10, 60
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
RANGE = re.compile(r"\[(\d+)([smhd])\]")
#: An age, or how long something has lasted, beside a bound of a minute or more, in seconds. A time that is left until an end is not one:
#: ends are chosen, and not waited for.
AGE = re.compile(r"((?:time\(\) - (?:[^<>{}]|\{[^}]*\})+?|\w+_seconds\)?)\s*>\s*)(\d{2,}|\d+ \* \d+)\b(?!\.)")


def divided(seconds: float) -> str:
    return f"{round(1000 * seconds / FACTOR)}ms"


def expression(text: str) -> str:
    """The same expression about shorter times."""
    text = RANGE.sub(lambda found: f"[{divided(int(found[1]) * UNITS[found[2]])}]", text)
    return AGE.sub(lambda found: f"{found[1]}({found[2]}) / {FACTOR}", text)


def hold(text: str) -> str:
    """How long a condition lasts before the alert fires."""
    seconds = int(text[:-1]) * UNITS[text[-1]] / FACTOR
    return f"{round(min(max(seconds, SHORTEST_HOLD), LONGEST_HOLD))}s"


def shortened(path: Path) -> dict:
    rules = yaml.safe_load(path.read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["expr"] = expression(rule["expr"])
            if "for" in rule:
                rule["for"] = hold(rule["for"])
    return rules


def alerts(path: Path) -> dict[str, dict]:
    """The alerts of a file of rules, by name."""
    groups = yaml.safe_load(path.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}
