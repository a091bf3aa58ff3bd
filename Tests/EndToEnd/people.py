"""People and services: with tokens of their own, by identity providers, and with changes that they propose."""

from names import unique
from pinledger import API

#: The options of a server that may call providers and receivers on this machine.
CALLS = ["--allow-private-range", "127.0.0.0/8", "--allow-http-webhooks"]


class Person:
    """A principal with a token of its own."""

    def __init__(self, admin: API, name: str, role: str, *apps: str, kind: str = "person"):
        self.id = admin.must("POST", "/v1/access/principals", {"name": name, "kind": kind}).json["principal_id"]
        admin.must("POST", f"/v1/access/principals/{self.id}/grants", {"role": role, "apps": list(apps) or ["*"]})
        self.api = self.another_token(admin)

    def another_token(self, admin: API) -> API:
        made = admin.must("POST", "/v1/tokens", {"name": "own", "principal_id": self.id}).json
        self.token_id = made["token_id"]
        return API(admin.port, made["token"])


def renaming(name: str | None = None) -> dict:
    return {"display_name": name or unique("Shop "), "reason": "new name"}


def propose(api: API, path: str, body: dict | None = None, query: str = "change=new", method: str = "PATCH") -> dict:
    answer = api.request(method, f"{path}?{query}", renaming() if body is None and method == "PATCH" else body)
    assert answer.status == 202, answer
    assert answer.headers["Location"] == f"/v1/changes/{answer.json['change_id']}"
    return answer.json["change"]


def know(api: API, name: str, issuer: str, **more) -> None:
    api.must("PUT", f"/v1/access/identity-providers/{name}", {"issuer": issuer, "audiences": ["pinledger"]} | more)


def admit(api: API, name: str, provider: str, conditions: dict, *grants: dict, kind: str = "person", **more) -> None:
    body = {"provider": provider, "kind": kind, "claims": conditions, "grants": list(grants)} | more
    api.must("PUT", f"/v1/access/sign-in-rules/{name}", body)
