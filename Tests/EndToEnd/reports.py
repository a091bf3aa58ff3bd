"""Clients' reports: reports of connections with their keys, and the versions that they hold."""

import base64
import hashlib
import hmac
import json
import time

from pinledger import API

#: The host whose connections are reported.
HOST = "api.example.com"


def install_bytes(number: int) -> bytes:
    return hashlib.sha256(f"install {number}".encode()).digest()[:16]


def install_id(number: int) -> str:
    return base64.urlsafe_b64encode(install_bytes(number)).decode().rstrip("=")


def outcome(number: int, **more) -> dict:
    return {"host": HOST, "outcome": "success", "install": install_id(number), **more}


def failure(number: int, reason: str = "pin_mismatch", **more) -> dict:
    return outcome(number, **(more | {"outcome": "failure", "reason": reason}))


class Key:
    """A key for reports, as a client has it."""

    def __init__(self, api: API, app: str):
        made = api.must("POST", f"/v1/apps/{app}/telemetry-keys", {"note": "for a test"})
        assert made.status == 201
        self.app, self.id, self.text = app, made.json["key_id"], made.json["secret"]
        self.secret = base64.b64decode(self.text.removeprefix("tlsec_"))

    def sign(self, body: bytes, when: int | None = None, app: str | None = None) -> dict:
        when = int(time.time()) if when is None else when
        message = f"pinledger-reports/v1\n{app or self.app}\n{when}\n".encode() + body
        mac = base64.b64encode(hmac.new(self.secret, message, hashlib.sha256).digest()).decode()
        return {"Pinledger-Signature": f'keyid="{self.id}", time={when}, mac=:{mac}:'}


def path(app: str, kind: str = "") -> str:
    return f"/client/v1/apps/{app}/reports{kind}"


def send(api: API, app: str, outcomes: list, key: Key | None = None, **shared):
    body = json.dumps({"outcomes": outcomes, **shared}).encode()
    return api.request("POST", path(app), body, headers=key.sign(body) if key else {}, token=None)


def cells(api: API, app: str, query: str = "") -> dict:
    """By arm, version and whether they were signed."""
    told = api.must("GET", f"/v1/apps/{app}/telemetry{query}").json
    return {(cell.get("arm"), cell["version"], cell["authenticated"]): cell for cell in told["cells"]}


def adoption(api: API, app: str, query: str = "") -> dict:
    return api.must("GET", f"/v1/apps/{app}/adoption{query}").json
