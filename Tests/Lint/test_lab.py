"""The lab of alerts, as far as files show it: every alert has a fault, and every cure follows the page that it comes from."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "Lab"), str(TESTS / "Torture"), str(TESTS / "EndToEnd")]

import shortening  # noqa: E402
from faults import FAULTS  # noqa: E402
from lab import RULES  # noqa: E402
from runbook import Section  # noqa: E402
from unforced import UNFORCED  # noqa: E402

ALERTS = shortening.alerts(RULES)


def test_every_alert_is_forced_or_says_why_not():
    forced = [fault.alert for fault in FAULTS]
    assert len(set(forced)) == len(forced)
    assert set(forced) | set(UNFORCED) == set(ALERTS) and not set(forced) & set(UNFORCED)
    assert all(fault.companions <= set(ALERTS) for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.alert)
def test_the_runbook_says_what_the_cure_follows(fault):
    assert Section.of(fault.alert).says(fault.follows), fault.follows


@pytest.mark.parametrize(
    "expression, shorter",
    [
        ("increase(a_total[15m]) > 0", "increase(a_total[30000ms]) > 0"),
        ("time() - max by (job) (a_seconds) > 600", "time() - max by (job) (a_seconds) > (600) / 30"),
        ('time() - a_seconds{name="b"} > 2 * 86400', 'time() - a_seconds{name="b"} > (2 * 86400) / 30'),
        ("max by (job) (a_seconds) > 60", "max by (job) (a_seconds) > (60) / 30"),
        # A time that is left, a share and a number are what they are.
        ("min by (job) (a_seconds) - time() < 7 * 86400", "min by (job) (a_seconds) - time() < 7 * 86400"),
        ("rate(a[5m]) > 14.4 * 0.0001", "rate(a[10000ms]) > 14.4 * 0.0001"),
        ("waiting_reports > 5000", "waiting_reports > 5000"),
        ("histogram_quantile(0.99, a_seconds_bucket) > 1", "histogram_quantile(0.99, a_seconds_bucket) > 1"),
    ],
)
def test_rules_are_shortened_in_their_times_alone(expression, shorter):
    assert shortening.expression(expression) == shorter


@pytest.mark.parametrize("given, shorter", [("30s", "10s"), ("10m", "20s"), ("15m", "30s"), ("1d", "60s")])
def test_an_alert_waits_for_ten_seconds_to_a_minute(given, shorter):
    assert shortening.hold(given) == shorter
