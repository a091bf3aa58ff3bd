"""Rollouts that go on by a plan: holds of an hour, a killed server, two nodes, and what stands in the way."""

import re

import pytest
from names import unique
from nodes import start_node
from pinledger import API, Server, eventually, host_body, pin_hex, pin_of
from problems import expect_problem

HOST = "api.example.com"
HOUR = 3600


@pytest.fixture(scope="module")
def node(own_timed_server):
    return own_timed_server


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

    def until(self, is_so) -> dict:
        """The plan, once it is so or at its end."""

        def look() -> dict | None:
            plan = self.get()
            return plan if is_so(plan) or plan["phase"] in ("done", "rolled_back") else None

        plan = eventually(look, "what the plan was to become")
        assert is_so(plan), plan
        return plan

    def reaches(self, place: int) -> None:
        self.until(lambda plan: plan["phase"] == "done" or plan["step"] >= place)

    def events(self, *types: str) -> list[dict]:
        return [event for event in self.api.history(f"/v1/apps/{self.app}/history") if event["type"] in types]

    def shares(self) -> list[int]:
        return [event["data"]["basis_points"] for event in self.events("RolloutStepTaken")]


def hold_is_over(node: Server) -> None:
    """Lets two hours pass, and the server look at every plan: what has not gone on then waits for something else."""
    other = Rollout(node.api, unique("goes-on-"))
    other.plan(step(100, for_seconds=HOUR), step(200, for_seconds=HOUR), step(300))
    for place in (2, 3):
        node.forward(hours=1)
        # The server looks at the plans in rounds. The second step of this one comes in a later round than the first.
        other.reaches(place)


@pytest.fixture
def rollout(node, request):
    return Rollout(node.api, request.node.name.removeprefix("test_").replace("_", "-")[:60])


def step(points: int, **hold) -> dict:
    return {"basis_points": points, **hold}


def test_a_plan_goes_to_its_end_and_promotes(node, rollout):
    change = rollout.plan(
        step(100, for_seconds=HOUR), step(2500, for_seconds=HOUR), step(10_000, for_seconds=HOUR), bake_seconds=HOUR, at_end="promote"
    )
    assert [event["type"] for event in change["events"]] == ["RolloutPlanSet", "RolloutStepTaken"]
    assert change["exposures"][0]["effective_basis_points"] == 100
    for place in (2, 3):
        node.forward(hours=1)
        rollout.reaches(place)
    node.forward(hours=1)
    rollout.until(lambda plan: plan["phase"] == "baking")
    node.forward(hours=1)
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
    hold_is_over(node)
    assert rollout.share() == 100
    items = node.api.must("GET", f"/v1/attention?app={rollout.app}").json["items"]
    assert [item["kind"] for item in items if item["kind"].startswith("rollout")] == ["rollout_approval"]
    node.cli("rollout", "advance", rollout.app, HOST, "--step", "1")
    rollout.until(lambda plan: plan["phase"] == "done")
    assert rollout.share() == 200


def test_a_plan_can_be_paused_resumed_moved_and_rolled_back(node, rollout):
    rollout.plan(step(100, for_seconds=HOUR), step(200, for_seconds=HOUR), step(300, for_seconds=HOUR), step(400))
    rollout.do("pause", reason="lunch")
    hold_is_over(node)
    plan = rollout.get()
    assert (plan["phase"], plan["step"], plan["paused"]["cause"], plan["paused"]["detail"]) == ("running", 1, "requested", "lunch")
    edit = rollout.api.request("PATCH", rollout.host, {"rollout": {"basis_points": 5000}})
    expect_problem(edit, 409, "rollout_planned")
    assert "pause" in edit.json["detail"] and "clear" in edit.json["detail"]
    rollout.do("resume")
    for place in (2, 3):
        node.forward(hours=1)
        rollout.until(lambda plan, place=place: plan["step"] == place)
    rollout.do("jump", step=1)
    assert rollout.share() == 100
    change = rollout.do("roll-back", reason="errors")
    assert change["exposures"][0]["effective_basis_points"] == 0
    assert rollout.get()["phase"] == "rolled_back" and rollout.share() == 0
    refused = rollout.api.post(f"{rollout.host}/candidate/promote", {"reason": "now"})
    expect_problem(refused, 409, "rollout_rolled_back")
    rollout.plan(step(50, for_seconds=HOUR), step(60))
    assert rollout.share() == 50
    assert rollout.api.request("DELETE", f"{rollout.path}/plan").status == 200
    assert rollout.api.get(f"{rollout.path}/plan").status == 404
    assert rollout.share() == 50


def test_a_step_without_enough_reports_never_goes_on(node, rollout):
    rollout.plan(step(100, for_seconds=HOUR, installs=5), step(10_000, for_seconds=HOUR), at_end="promote", on_inconclusive="revert")
    # Reports have twice the time of the step.
    node.forward(hours=2)
    eventually(lambda: rollout.events("RolloutStepExtended"), "the step's extension")
    node.forward(hours=2)
    rollout.until(lambda plan: plan["phase"] == "rolled_back")
    assert rollout.shares() == [100]
    types = [event["type"] for event in rollout.events("RolloutStepExtended", "RolloutRolledBack", "CandidatePromoted")]
    assert types == ["RolloutStepExtended", "RolloutRolledBack"]
    assert rollout.share() == 0


def test_a_plan_begins_at_its_time_and_not_before(node, rollout):
    rollout.plan(step(100), starts_at=node.clock.from_now(hours=3))
    hold_is_over(node)
    assert (rollout.get()["phase"], rollout.share()) == ("scheduled", 0)
    entries = node.api.must("GET", f"/v1/apps/{rollout.app}/calendar").json["entries"]
    assert [entry["kind"] for entry in entries if entry["kind"].startswith("rollout")] == ["rollout_starts"]
    node.forward(hours=1)
    rollout.until(lambda plan: plan["phase"] == "done")
    assert rollout.share() == 100
    late = rollout.api.request("PUT", f"{rollout.path}/plan", {"steps": [step(200)], "starts_at": node.clock.from_now(seconds=-5)})
    expect_problem(late, 422, "invalid_expiry")


def test_a_kill_switch_holds_a_plan_and_does_not_end_it(node, rollout):
    rollout.plan(step(100, for_seconds=HOUR), step(200))
    body = {"reason": "test", "expires_at": node.clock.from_now(hours=12)}
    rollout.api.must("PUT", f"{rollout.host}/kill-switch", body)
    hold_is_over(node)
    waits = [wait for wait in rollout.get()["waits_for"] if wait["kind"] == "kill_switch"]
    held = rollout.share()
    assert held == 100 and waits[0]["met"] == "no", waits
    rollout.api.must("DELETE", f"{rollout.host}/kill-switch")
    # The step's hour begins again.
    node.forward(hours=1)
    rollout.until(lambda plan: plan["phase"] == "done")


def test_a_refused_step_pauses_the_plan_and_says_why(node, rollout):
    api = rollout.api
    api.must("POST", f"{rollout.host}/pins", {"pin": pin_of("third"), "role": "backup"})
    rollout.plan(step(10_000, for_seconds=HOUR), at_end="promote")
    # Somebody revokes a pin that the candidate holds too: it can never be promoted.
    pin = pin_hex(host_body(HOST)["baseline"]["pins"][0]["pin"])
    api.must("PATCH", f"{rollout.host}/pins/{pin}", {"state": "revoked", "reason": "stolen", "force": True})
    node.forward(hours=1)
    plan = rollout.until(lambda plan: "paused" in plan)
    assert plan["paused"]["cause"] == "blocked" and "revoked" in plan["paused"]["detail"], plan
    assert plan["obstacle"]["type"] == "/problems/pin_revoked"
    items = api.must("GET", f"/v1/attention?app={rollout.app}").json["items"]
    assert [item["severity"] for item in items if item["kind"] == "rollout_paused"] == ["soon"]
    paused = rollout.events("RolloutPaused")
    assert [event["actor"]["kind"] for event in paused] == ["system"]


def test_a_plan_goes_on_after_a_power_cut_between_steps():
    server = Server(has_clock=True)
    try:
        server.start()
        rollout = Rollout(server.api, "power-cut")
        rollout.plan(*(step(100 * number, for_seconds=HOUR) for number in range(1, 6)), step(600))
        for place in range(2, 7):
            if place == 4:
                # After a step; the next one comes due while no server runs.
                server.kill()
                server._stop_database()
                server.clock.move(hours=1)
                server.start()
            else:
                server.forward(hours=1)
            if place == 2:
                # While the step is due, or being taken.
                server.kill()
                server._stop_database()
                server.start()
            rollout.reaches(place)
        rollout.until(lambda plan: plan["phase"] == "done")
        assert rollout.shares() == [100, 200, 300, 400, 500, 600], "each step once, in order"
    finally:
        server.destroy()


def test_two_nodes_take_each_step_once(node):
    second, api = start_node(node, "second-driver", "--kek-file", str(node.data / "key-encryption-key"))
    try:
        rollouts = [Rollout(node.api, f"twice{number}") for number in range(3)]
        for rollout in rollouts:
            rollout.plan(*(step(100 * number, for_seconds=HOUR) for number in range(1, 5)), step(500))
        for place in range(2, 6):
            node.forward(hours=1)
            for rollout in rollouts:
                rollout.reaches(place)
        for rollout in rollouts:
            rollout.until(lambda plan: plan["phase"] == "done")
            assert rollout.shares() == [100, 200, 300, 400, 500]
            assert rollout.events("RolloutPaused") == []
            eventually(lambda rollout=rollout: api.get(f"{rollout.path}/plan").json["phase"] == "done", "the end on the other node")
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
    expect_problem(answer, 422, "guard_rail")
    finding = next(one for one in answer.json["guard_rail_findings"] if one["code"] == "G42")
    assert finding["detail"].startswith("Baseline and candidate of api.example.com share no pin"), finding
