"""Every example request of the contract is accepted by a new server. Tests/Lint/test_contract.py compares them with their schemas."""

import re

import pytest
from examples import HOST, PIN, REQUESTS, SCENES, host
from pinledger import Server

# What the world around a new server decides: nothing is served, no time has passed, no receiver is there.
REFUSED = {
    "updateChange example": (409, "change_content_stale"),
    "signIn example": (401, "identity_token_invalid"),
    "linkIdentity example": (404, "principal_unknown"),
    "approveChange example": (403, "approval_not_counted"),
    "reviewChange example": (409, "change_state"),
    "explain then": (404, "app_unknown"),
    "revertAppChange example": (404, "event_unknown"),
    "advanceRotation example": (422, "guard_rail"),
    "addServedWultraCertificate example": (400, None),
    "activateKey example": (409, "key_overlap"),
    "retireKey example": (409, "key_overlap"),
    "publishRoot example": (422, "guard_rail"),
    "replayWebhookDelivery example": (404, "delivery_unknown"),
}


@pytest.fixture(scope="module")
def new_server():
    server = Server(lowers_rails=False)
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.mark.parametrize("operation, name, method, path, kind, value", REQUESTS, ids=[f"{one[0]} {one[1]}" for one in REQUESTS])
def test_an_example_request_is_accepted_by_a_new_server(new_server, operation, name, method, path, kind, value):
    api = new_server.api
    scene = SCENES.get(f"{operation} {name}") or SCENES.get(operation) or host
    place = {"host": HOST, "pin": PIN, "code": "G13"} | scene(api)
    query = f"?app={place['app']}" if path.startswith("/v1/import/") else ""
    target = re.sub(r"{(\w+)}", lambda match: place[match[1]], path) + query
    body = value.encode() if isinstance(value, str) else value
    answer = api.request(method, target, body, {"Content-Type": kind})
    expected = REFUSED.get(f"{operation} {name}")
    if expected is None:
        assert answer.status < 300, f"{method} {target}: {answer}"
    else:
        problem = answer.json.get("type", "").removeprefix("/problems/") or None
        assert (answer.status, problem) == expected, str(answer)
