"""The contract's examples of requests, and what must be there before each can be sent to a new server."""

import copy

from contract import requests
from names import unique

HOST = "api.example.com"
PIN = "19e7f18ad15c2644bc2fee19adc4b4787389d2152bb0a5c3fa8f6d92fc409212"
REQUESTS = [(operation, name, method, path, kind, value) for operation, name, method, path, kind, _, value in requests()]


def request_example(operation: str, name: str = "example"):
    (found,) = (value for known, label, *_, value in REQUESTS if (known, label) == (operation, name))
    return copy.deepcopy(found)


# Things that are made before an example can be sent.


def app(api) -> str:
    name = unique("com.example.example")
    api.must("POST", "/v1/apps", {"app": name})
    return name


def host(api) -> dict:
    name = app(api)
    api.must("POST", f"/v1/apps/{name}/hosts", request_example("addHost", "enforce"))
    return {"app": name}


def candidate(api, basis_points: int = 500) -> dict:
    place = host(api)
    body = request_example("startCandidate") | {"copy_baseline": True}
    body["rollout"]["basis_points"] = basis_points
    api.must("POST", f"/v1/apps/{place['app']}/hosts/{HOST}/candidate", body)
    return place


def slow_candidate(api) -> dict:
    """A candidate for hardly any device, so that plans go on from there."""
    place = candidate(api, 50)
    api.must("PATCH", f"/v1/apps/{place['app']}", {"rollout": {"basis_points": 50}})
    return place


def plan(operation: str, path: str, then: str | None = None):
    def scene(api) -> dict:
        place = slow_candidate(api)
        target = f"/v1/apps/{place['app']}{path}/rollout"
        body = request_example(operation)
        if then == "advance":
            body["steps"] = [step | {"approval": True} for step in body["steps"]]
        api.must("PUT", f"{target}/plan", body)
        if then == "advance":
            api.must("POST", f"{target}/jump", {"step": 2})
        if then == "resume":
            api.must("POST", f"{target}/pause", {"reason": "an example"})
        return place

    return scene


def third_pin(state: str):
    """A host that can do without the pin of the contract's examples, which is in this state."""

    def scene(api) -> dict:
        name = app(api)
        body = request_example("addHost", "enforce")
        body["baseline"]["pins"][0] |= {"state": state, "role": "backup"}
        body["baseline"]["pins"].append({"pin": "sha256/po+x/BZNFD7xKfkyV15douX9baUiBt72kn+isRuK5Ts=", "role": "primary"})
        api.must("POST", f"/v1/apps/{name}/hosts", body)
        return {"app": name}

    return scene


def telemetry_key(api) -> dict:
    name = app(api)
    made = api.must("POST", f"/v1/apps/{name}/telemetry-keys", {}).json
    return {"app": name, "key_id": made["key_id"]}


def rotation(api) -> dict:
    place = host(api)
    body = request_example("startRotation")
    api.must("POST", f"/v1/apps/{place['app']}/rotations", body)
    return place | {"rotation": body["rotation"]}


def webhook(api) -> dict:
    made = api.must("POST", "/v1/webhooks", {"url": "https://hooks.invalid/pins"}).json
    return {"webhook_id": made["webhook_id"], "position": "0"}


def signing_key(activate: bool = False):
    def scene(api) -> dict:
        api.must("POST", "/v1/keys", {})
        keys = api.get("/v1/keys").json["keys"]
        active, made = next(key["kid"] for key in keys if key["state"] == "active"), keys[-1]["kid"]
        if activate:
            api.must("POST", f"/v1/keys/{made}/activate", {"reason": "an example", "force": True})
        return {"kid": active if activate else made}

    return scene


def log_key(api) -> dict:
    """A key of the log beside another one."""
    if "origin" not in api.get("/v1/log").json:
        api.must("POST", "/v1/log", {"origin": "pins.example.com/log"})
    api.must("POST", "/v1/log/keys", {})
    return {"kid": next(key["kid"] for key in api.get("/v1/log").json["keys"] if "retired_at" not in key)}


def client(kind: str):
    def scene(api) -> dict:
        place = host(api)
        api.must("PUT", f"/v1/apps/{place['app']}/clients/{kind}", {"settings": {}})
        return place | {"client": kind}

    return scene


def certificate(api) -> dict:
    """A host of which a certificate is known, served by MueJam's path."""
    name = app(api)
    body = request_example("addHost", "enforce")
    body["baseline"]["pins"][0] = {"material": request_example("addWultraCertificate")["pem"], "role": "primary"}
    api.must("POST", f"/v1/apps/{name}/hosts", body)
    api.must("PUT", f"/v1/apps/{name}/clients/muejam", {"settings": {}})
    return {"app": name}


def wultra(text: bool = False):
    def scene(api) -> dict:
        place = client("wultra")(api)
        if text:
            rule = {"message_key": "update", "language": "en", "text": "There is a new version."}
            api.must("PUT", f"/v1/apps/{place['app']}/clients/wultra", {"settings": {"texts": [rule]}})
        return place

    return scene


def principal(api):
    return {"principal_id": api.must("POST", "/v1/access/principals", {"name": "Ada"}).json["principal_id"]}


def change(target: str):
    def scene(api) -> dict:
        name = app(api)
        made = api.must("PATCH", f"/v1/apps/{name}?change={target}", {"display_name": "Other", "reason": "an example"}).json
        return {"app": name, "change_id": made["change_id"]}

    return scene


def approver(api) -> dict:
    person = principal(api)["principal_id"]
    api.must("POST", f"/v1/access/principals/{person}/grants", {"role": "approver", "apps": ["*"]})
    return {"rule": "two-people"}


def provider(api) -> dict:
    """The provider of the rules' example."""
    body = {"issuer": "https://login.example.com", "audiences": ["pinledger"]}
    api.must("PUT", "/v1/access/identity-providers/company", body)
    return {"rule": "release"}


SCENES = {
    "signIn": lambda api: {}, "setIdentityProvider": lambda api: {"provider": "company"}, "setSignInRule": provider, "linkIdentity": lambda api: {},
    "updateChange": change("new"), "proposeChange": change("draft"), "approveChange": change("new"), "rejectChange": change("new"),
    "withdrawChange": change("new"), "applyChange": change("new"), "reviewChange": change("new"),
    "setApprovalRule": approver, "addFreeze": lambda api: {},
    "addPrincipal": lambda api: {}, "addApprovalKey": principal, "updatePrincipal": principal, "grantRole": principal,
    "setRole": lambda api: {"role": "release-manager"},
    "createApp": lambda api: {}, "addHost": lambda api: {"app": app(api)}, "importRemoteConfig": lambda api: {"app": app(api)},
    "importFile": lambda api: {"app": app(api), "format": "android_nsc"}, "applyAppSpec": lambda api: {"app": app(api)},
    "setClient dynapins": lambda api: host(api) | {"client": "dynapins"},
    "setClient wultra": lambda api: host(api) | {"client": "wultra"},
    "setClientKey": client("wultra"), "verifyMueJamFingerprint": certificate,
    "addServedWultraCertificate": wultra(), "addWultraCertificate": wultra(), "addWultraVersion": wultra(text=True),
    "setWultraText": wultra(), "createWultraApp": lambda api: {},
    "updateHost rollout": candidate, "promoteCandidate": lambda api: candidate(api, 10_000),
    "updatePin activate": third_pin("staged"), "updatePin retire": third_pin("active"), "updatePin revoke": third_pin("active"),
    "setAppRolloutPlan": slow_candidate, "setHostRolloutPlan": slow_candidate,
    "pauseAppRollout": plan("setAppRolloutPlan", ""), "resumeAppRollout": plan("setAppRolloutPlan", "", "resume"),
    "advanceAppRollout": plan("setAppRolloutPlan", "", "advance"), "jumpAppRollout": plan("setAppRolloutPlan", ""),
    "rollBackAppRollout": plan("setAppRolloutPlan", ""),
    "pauseHostRollout": plan("setHostRolloutPlan", f"/hosts/{HOST}"),
    "resumeHostRollout": plan("setHostRolloutPlan", f"/hosts/{HOST}", "resume"),
    "advanceHostRollout": plan("setHostRolloutPlan", f"/hosts/{HOST}", "advance"),
    "jumpHostRollout": plan("setHostRolloutPlan", f"/hosts/{HOST}"),
    "rollBackHostRollout": plan("setHostRolloutPlan", f"/hosts/{HOST}"),
    "retireTelemetryKey": telemetry_key, "advanceRotation": rotation, "abortRotation": rotation,
    "activateKey": signing_key(), "retireKey": signing_key(activate=True), "retireLogKey": log_key,
    "updateWebhook": webhook, "rotateWebhookSecret": webhook, "testWebhook": webhook, "replayWebhook": webhook,
    "replayWebhookDelivery": webhook,
    "simulate widen": candidate,
}  # fmt: skip
