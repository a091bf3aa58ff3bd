"""Rollouts that go on by a plan: short holds, a killed server, two nodes, and what stands in the way."""

import re
import time

import pytest
from pinledger import API, Server, from_now, host_body, pin_hex, pin_of, unhurried
from test_nodes import start_node

HOST = "api.example.com"


@pytest.fixture(scope="module")
def node():
    server = Server()
    try:
        yield server.start()
    finally:
        server.destroy()


class Rollout:
    """A host with a candidate that no device gets yet."""

    def __init__(self, api: API, name: str, share: int = 0):
        self.api, self.app = api, f"com.example.{name}"
        self.host = f"/v1/apps/{self.app}/hosts/{HOST}"
        self.path = f"{self.host}/rollout"
        api.make_app(self.app, HOST)
        extra = [{"pin": pin_of(f"{name} next"), "role": "backup"}]
        body = {"mode": "enforce", "copy_baseline": True, "pins": extra, "rollout": {"basis_points": share}}
        api.must("POST", f"{self.host}/candidate", body)

    def plan(self, *steps: dict, **more) -> dict:
        return self.api.must("PUT", f"{self.path}/plan", {"steps": list(steps), **more}).json

    def get(self) -> dict:
        return self.api.must("GET", f"{self.path}/plan").json

    def do(self, action: str, **body) -> dict:
        return self.api.must("POST", f"{self.path}/{action}", body).json

    def share(self) -> int:
        return self.api.must("GET", self.host).json["rollout"]["basis_points"]

    def until(self, is_so, seconds: float = 180) -> dict:
        deadline = time.monotonic() + seconds
        while True:
            plan = self.get()
            if is_so(plan):
                return plan
            assert time.monotonic() < deadline, plan
            time.sleep(0.1)

    def events(self, *types: str) -> list[dict]:
        return [event for event in self.api.history(f"/v1/apps/{self.app}/history") if event["type"] in types]

    def shares(self) -> list[int]:
        return [event["data"]["basis_points"] for event in self.events("RolloutStepTaken")]


@pytest.fixture
def rollout(node, request):
    return Rollout(node.api, request.node.name.removeprefix("test_").replace("_", "-")[:60])


def step(points: int, **hold) -> dict:
    return {"basis_points": points, **hold}


def test_a_plan_goes_to_its_end_and_promotes(rollout):
    change = rollout.plan(
        step(100, for_seconds=1), step(2500, for_seconds=1), step(10_000, for_seconds=1), bake_seconds=1, at_end="promote"
    )
    assert [event["type"] for event in change["events"]] == ["RolloutPlanSet", "RolloutStepTaken"]
    assert change["exposures"][0]["effective_basis_points"] == 100
    rollout.until(lambda plan: plan["phase"] == "done")
    assert rollout.shares() == [100, 2500, 10_000]
    events = rollout.events("RolloutStepTaken", "RolloutBakeStarted", "RolloutPlanFinished", "CandidatePromoted")
    assert [event["type"] for event in events][-3:] == ["RolloutBakeStarted", "RolloutPlanFinished", "CandidatePromoted"]
    assert [event["actor"]["kind"] for event in events] == ["token"] + ["system"] * 5
    times = [event["time"] for event in events]
    assert times == sorted(times)
    host = rollout.api.must("GET", rollout.host).json
    assert "candidate" not in host and host["rollout_plan"]["phase"] == "done"


def test_a_step_waits_for_a_person(node, rollout):
    rollout.plan(step(100, approval=True), step(200))
    time.sleep(2.5)
    assert rollout.share() == 100
    items = node.api.must("GET", f"/v1/attention?app={rollout.app}").json["items"]
    assert [item["kind"] for item in items if item["kind"].startswith("rollout")] == ["rollout_approval"]
    node.cli("rollout", "advance", rollout.app, HOST, "--step", "1")
    rollout.until(lambda plan: plan["phase"] == "done")
    assert rollout.share() == 200


def test_a_plan_can_be_paused_resumed_moved_and_rolled_back(rollout):
    seconds = unhurried(1)
    rollout.plan(step(100, for_seconds=seconds), step(200, for_seconds=1), step(300, for_seconds=600), step(400))
    rollout.do("pause", reason="lunch")
    time.sleep(seconds + 1.5)
    plan = rollout.get()
    assert (plan["phase"], plan["step"], plan["paused"]["cause"], plan["paused"]["detail"]) == ("running", 1, "requested", "lunch")
    edit = rollout.api.request("PATCH", rollout.host, {"rollout": {"basis_points": 5000}})
    assert (edit.status, edit.json["type"]) == (409, "/problems/rollout_planned")
    assert "pause" in edit.json["detail"] and "clear" in edit.json["detail"]
    rollout.do("resume")
    rollout.until(lambda plan: plan.get("step") == 3)
    rollout.do("jump", step=1)
    assert rollout.share() == 100
    change = rollout.do("roll-back", reason="errors")
    assert change["exposures"][0]["effective_basis_points"] == 0
    assert rollout.get()["phase"] == "rolled_back" and rollout.share() == 0
    refused = rollout.api.post(f"{rollout.host}/candidate/promote", {"reason": "now"})
    assert (refused.status, refused.json["type"]) == (409, "/problems/rollout_rolled_back")
    rollout.plan(step(50, for_seconds=600), step(60))
    assert rollout.share() == 50
    assert rollout.api.request("DELETE", f"{rollout.path}/plan").status == 200
    assert rollout.api.get(f"{rollout.path}/plan").status == 404
    assert rollout.share() == 50


def test_a_step_without_enough_reports_never_goes_on(rollout):
    rollout.plan(step(100, for_seconds=1, installs=5), step(10_000, for_seconds=1), at_end="promote", on_inconclusive="revert")
    rollout.until(lambda plan: plan["phase"] == "rolled_back")
    assert rollout.shares() == [100]
    types = [event["type"] for event in rollout.events("RolloutStepExtended", "RolloutRolledBack", "CandidatePromoted")]
    assert types == ["RolloutStepExtended", "RolloutRolledBack"]
    assert rollout.share() == 0


def test_a_plan_begins_at_its_time_and_not_before(node, rollout):
    rollout.plan(step(100), starts_at=from_now(seconds=unhurried(4)))
    assert (rollout.get()["phase"], rollout.share()) == ("scheduled", 0)
    entries = node.api.must("GET", f"/v1/apps/{rollout.app}/calendar").json["entries"]
    assert [entry["kind"] for entry in entries if entry["kind"].startswith("rollout")] == ["rollout_starts"]
    rollout.until(lambda plan: plan["phase"] == "done")
    assert rollout.share() == 100
    late = rollout.api.request("PUT", f"{rollout.path}/plan", {"steps": [step(200)], "starts_at": from_now(seconds=-5)})
    assert (late.status, late.json["type"]) == (422, "/problems/invalid_expiry")


def test_a_kill_switch_holds_a_plan_and_does_not_end_it(rollout):
    seconds = unhurried(1)
    rollout.plan(step(100, for_seconds=seconds), step(200))
    body = {"reason": "test", "expires_at": from_now(seconds=600)}
    rollout.api.must("PUT", f"{rollout.host}/kill-switch", body)
    time.sleep(seconds + 1.5)
    waits = [wait for wait in rollout.get()["waits_for"] if wait["kind"] == "kill_switch"]
    held = rollout.share()
    assert held == 100 and waits[0]["met"] == "no", waits
    rollout.api.must("DELETE", f"{rollout.host}/kill-switch")
    rollout.until(lambda plan: plan["phase"] == "done")


def test_a_refused_step_pauses_the_plan_and_says_why(rollout):
    api = rollout.api
    api.must("POST", f"{rollout.host}/pins", {"pin": pin_of("third"), "role": "backup"})
    rollout.plan(step(10_000, for_seconds=unhurried(2)), at_end="promote")
    # Somebody revokes a pin that the candidate holds too: it can never be promoted.
    pin = pin_hex(host_body(HOST)["baseline"]["pins"][0]["pin"])
    api.must("PATCH", f"{rollout.host}/pins/{pin}", {"state": "revoked", "reason": "stolen", "force": True})
    plan = rollout.until(lambda plan: "paused" in plan)
    assert plan["paused"]["cause"] == "blocked" and "revoked" in plan["paused"]["detail"], plan
    assert plan["obstacle"]["type"] == "/problems/pin_revoked"
    items = api.must("GET", f"/v1/attention?app={rollout.app}").json["items"]
    assert [item["severity"] for item in items if item["kind"] == "rollout_paused"] == ["soon"]
    paused = rollout.events("RolloutPaused")
    assert [event["actor"]["kind"] for event in paused] == ["system"]


def test_a_plan_goes_on_after_a_power_cut_between_steps():
    server = Server()
    try:
        server.start()
        rollout = Rollout(server.api, "power-cut")
        rollout.plan(*(step(100 * number, for_seconds=2) for number in range(1, 6)), step(600))
        for seen in (2, 4):
            rollout.until(lambda plan, seen=seen: plan["phase"] == "done" or plan["step"] >= seen)
            server.kill()
            server._stop_database()
            server.start()
        rollout.until(lambda plan: plan["phase"] == "done", 180)
        assert rollout.shares() == [100, 200, 300, 400, 500, 600], "each step once, in order"
    finally:
        server.destroy()


def test_two_nodes_take_each_step_once(node):
    second, api = start_node(node, "second-driver", "--kek-file", str(node.data / "key-encryption-key"))
    try:
        rollouts = [Rollout(node.api, f"twice{number}") for number in range(3)]
        for rollout in rollouts:
            rollout.plan(*(step(100 * number, for_seconds=1) for number in range(1, 5)), step(500))
        for rollout in rollouts:
            rollout.until(lambda plan: plan["phase"] == "done", 180)
            assert rollout.shares() == [100, 200, 300, 400, 500]
            assert rollout.events("RolloutPaused") == []
            assert api.get(f"{rollout.path}/plan").json["phase"] == "done"
    finally:
        second.stop()


def test_the_command_line_shows_how_far_a_plan_is(node, rollout):
    node.cli("rollout", "plan", "set", rollout.app, HOST, "--step", "1:1h,installs=500", "--step", "25.5:1d,approval", "--step", "100:1d", "--bake", "2d", "--promote", "--on-inconclusive", "revert")  # fmt: skip
    plan = rollout.get()
    assert plan["steps"] == [
        {"basis_points": 100, "for_seconds": 3600, "installs": 500},
        {"basis_points": 2550, "for_seconds": 86_400, "approval": True},
        {"basis_points": 10_000, "for_seconds": 86_400},
    ]
    assert (plan["bake_seconds"], plan["at_end"], plan["on_inconclusive"]) == (172_800, "promote", "revert")
    rollout.api.must("PATCH", f"/v1/apps/{rollout.app}", {"rollout": {"basis_points": 5000}})
    status = node.cli("rollout", "status", rollout.app).stdout
    assert "0.5 % of devices get the candidate of api.example.com" in status, status
    assert "plan: [1 %] -> 25.5 % -> 100 % -> promotion  running" in status, status
    assert "[ ] the step has lasted long enough" in status, status
    # Whether it is not known, or is known to be none, depends on whether the node has counted for the first time by now.
    assert re.search(r"\[[? ]\] enough installs", status), status
    assert "next: step 2" in status, status
    assert "step 3" in node.cli("rollout", "jump", rollout.app, HOST, "--step", "3", "--dry-run").stdout.replace("=", " ")
    node.cli("rollout", "pause", rollout.app, HOST, "--reason", "lunch")
    assert "paused since" in node.cli("rollout", "plan", "show", rollout.app, HOST).stdout
    node.cli("rollout", "resume", rollout.app, HOST)
    node.cli("rollout", "roll-back", rollout.app, HOST, "--reason", "errors")
    assert "rolled back at" in node.cli("rollout", "status", rollout.app).stdout
    node.cli("rollout", "plan", "clear", rollout.app, HOST)


def test_both_arms_of_a_rollout_need_the_served_key(own_server):
    """An "A/B test" of two keys of which the server presents one, without probes: no pin in common."""
    api = own_server.api
    api.must("PUT", "/v1/guard-rails/G42", {"lowered": False, "reason": "the rule itself is tested"})
    app = "com.example.ab"
    api.must("POST", "/v1/apps", {"app": app})
    api.must("POST", f"/v1/apps/{app}/hosts", host_body(HOST))
    pins = [{"pin": pin_of("b"), "role": "primary"}, {"pin": pin_of("b2"), "role": "backup"}]
    body = {"mode": "enforce", "copy_baseline": False, "pins": pins, "rollout": {"basis_points": 5000}}
    answer = api.post(f"/v1/apps/{app}/hosts/{HOST}/candidate", body)
    assert (answer.status, answer.json["type"]) == (422, "/problems/guard_rail")
    finding = next(one for one in answer.json["guard_rail_findings"] if one["code"] == "G42")
    assert finding["detail"].startswith("Baseline and candidate of api.example.com share no pin"), finding
