"""Commands through the admin API, from many clients at once: wrk, with a name and an idempotency key per request."""

import itertools

from support.generators import HERE, wrk
from support.servers import Node

APPS = 64
_runs = itertools.count()
_RENAME = HERE / "wrk-rename.lua"


def make_apps(node: Node) -> None:
    for number in range(APPS):
        node.api.must("POST", "/v1/apps", {"app": f"com.example.admin{number}"})


def rename_apps(node: Node, clients: int, seconds: float) -> dict:
    """As many commands as the node takes from so many clients. Whether all were recorded is the caller's to check."""
    assert node.api.token
    arguments = [node.api.token, str(APPS), f"run{next(_runs)}"]
    figures = wrk(node.url, clients, seconds, core=None, script=_RENAME, arguments=arguments)
    return figures | {"answered": figures["requests"] - figures["errors"]}
