"""A pytest plugin: what runs at each landing, which failures may be tried again, and what was running when a run was ended.

Markers:
  daily      runs in `make test-all` alone: real time, the network, sweeps over all operations, long experiments
  guarantee  never tried again: a failure of it is a promise that was broken once

Tests/run gives the folder of its logs in PINLEDGER_TEST_LOGS. `failed.json` in it holds the failures of the run, which `again` reads.
"""

import json
import os
from pathlib import Path

import pytest
import quarantine

LOGS = os.environ.get("PINLEDGER_TEST_LOGS")
#: Their tests hold what the ledger promises whatever happens: a failure is never luck.
GUARANTEES = {
    "test_kill9", "test_lost_answers", "test_sealing", "test_damage", "test_batch_macs", "test_batch_signatures", "test_hostile_text",
}  # fmt: skip
FAILURES = pytest.StashKey[list[dict]]()


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also what runs in `make test-all` alone")


def pytest_configure(config):
    config.addinivalue_line("markers", "daily: runs in `make test-all` alone")
    config.addinivalue_line("markers", "guarantee: never tried again")
    config.stash[FAILURES] = []


def pytest_collection_modifyitems(config, items):
    waived = quarantine.issues()
    for item in items:
        if "sweeps" in item.path.parent.parts:
            item.add_marker(pytest.mark.daily)
        if item.path.stem in GUARANTEES:
            item.add_marker(pytest.mark.guarantee)
        name = item.nodeid.partition("[")[0]
        if name in waived:
            item.add_marker(pytest.mark.xfail(reason=f"quarantined: {waived[name]}", strict=False))
    # A file or a test that is named runs as a whole.
    named = any(Path(argument.partition("::")[0]).is_file() for argument in config.args)
    if config.getoption("--all") or named or config.getoption("keyword"):
        return
    daily = [item for item in items if item.get_closest_marker("daily")]
    if daily:
        items[:] = [item for item in items if not item.get_closest_marker("daily")]
        config.hook.pytest_deselected(items=daily)


def pytest_runtest_logstart(nodeid):
    if LOGS and (worker := os.environ.get("PYTEST_XDIST_WORKER", "main")):
        Path(LOGS, f".running-{worker}").write_text(nodeid)


def pytest_sessionfinish(session):
    if LOGS and (worker := os.environ.get("PYTEST_XDIST_WORKER", "main")):
        Path(LOGS, f".running-{worker}").unlink(missing_ok=True)
    if LOGS and not hasattr(session.config, "workerinput"):
        Path(LOGS, "failed.json").write_text(json.dumps(session.config.stash[FAILURES], indent=2))


class Failures:
    """Collects the failures, in the process that prints them."""

    def __init__(self, config):
        self.config = config

    def pytest_runtest_logreport(self, report):
        if report.failed:
            text = str(report.longrepr)
            self.config.stash[FAILURES].append({
                "test": report.nodeid, "when": report.when, "guarantee": "guarantee" in report.keywords,
                "failure": next((line for line in reversed(text.splitlines()) if line.startswith("E ")), text[-300:]).strip(),
            })  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    session.config.pluginmanager.register(Failures(session.config), "failures")
