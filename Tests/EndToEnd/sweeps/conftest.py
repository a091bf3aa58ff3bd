"""Fixtures of the sweeps: one server with the apps of two owners."""

import operations
import pytest
from operations import MINE, KeepAlive
from pinledger import Server


@pytest.fixture(scope="module")
def swept():
    """A server for the sweeps of one file."""
    server = Server()
    try:
        server.start()
        operations.make_apps(server.api)
        yield server
    finally:
        server.destroy()


@pytest.fixture(scope="module")
def admin(swept):
    return KeepAlive(swept.api)


@pytest.fixture(scope="module")
def mine(admin):
    """All rights on one app."""
    return KeepAlive(admin.holding("admin", MINE))


@pytest.fixture(scope="module")
def handles(admin) -> dict[str, str]:
    return operations.handles_of_others(admin)
