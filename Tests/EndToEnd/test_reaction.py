"""Reports of failures, judged by what servers present: an honest mistake is rolled back, forged reports raise an alert."""

import json

import pytest
from pinledger import Server, eventually
from reports import Key as ReportKey, failure, path
from tls_server import Key, TLSServer

HOST = "api.example.com"


@pytest.fixture(scope="module")
def node():
    server = Server(
        more=["--allow-private-range", "127.0.0.0/8", "--resolve", f"{HOST}=127.0.0.1"]
        + ["--telemetry-rate", "0", "--trusted-proxy", "127.0.0.0/8"],
        has_clock=True,
    )
    try:
        yield server.start()
    finally:
        server.destroy()


class World:
    """An app whose candidate reaches half of the devices, and which wants verdicts carried out."""

    def __init__(self, node: Server, name: str, tls: TLSServer, candidate: dict, baseline: list[Key], reaction: str):
        self.node, self.app = node, f"com.example.reaction.{name}"
        node.cli("app", "create", self.app)
        node.cli("host", "add", self.app, HOST, "--primary", str(baseline[0].certificate), "--backup", str(baseline[1].request))
        host = f"/v1/apps/{self.app}/hosts/{HOST}"
        node.api.must("PATCH", host, {"endpoints": [f"{HOST}:{tls.port}"]})
        node.api.must("POST", f"{host}/candidate", {"mode": "enforce", "rollout": {"basis_points": 5000}, **candidate})
        monitoring = {"enabled": True, "failure_threshold_bp": 500, "auto_disable": True, "reaction": reaction}
        node.api.must("PATCH", f"/v1/apps/{self.app}", {"monitoring": monitoring})
        self.version = node.api.payload(self.app)["version"]
        self.key = ReportKey(node.api, self.app)

    def report(self, installs: range) -> None:
        """As many failing installs of the candidate, in four networks."""
        for network in range(4):
            outcomes = [failure(number, arm="candidate") for number in installs if number % 4 == network]
            body = json.dumps({"outcomes": outcomes, "document_version": self.version}).encode()
            headers = self.key.sign(body, int(self.node.clock.now().timestamp())) | {"X-Forwarded-For": f"198.51.{network}.7"}
            answer = self.node.api.request("POST", path(self.app), body, headers=headers, token=None)
            assert answer.status == 202 and answer.json["taken"] == len(outcomes), str(answer)

    def events(self) -> list[dict]:
        """What the server did by itself, the oldest first."""
        history = self.node.api.history(f"/v1/apps/{self.app}/history")
        return [event for event in history if event["actor"]["kind"] == "system"]

    def verdict(self) -> dict:
        """On the candidate, once something was reported of it."""
        return eventually(lambda: self.node.api.must("GET", f"/v1/apps/{self.app}/reactions").json["verdicts"], "a verdict")[0]

    def alarms(self) -> list[dict]:
        """The attention items about them. A node reads the reports once a request asks for them."""

        def found() -> list[dict]:
            items = self.node.api.must("GET", f"/v1/attention?app={self.app}").json["items"]
            return [item for item in items if item["kind"] == "failing_reports"]

        return eventually(found, "an alarm")


def fail(node: Server, *worlds: World) -> None:
    """Sixty installs of each app report a failure, in two minutes of the server's clock: those of one minute would not do."""
    for world in worlds:
        world.report(range(0, 20))
    eventually(lambda: worlds[0].verdict()["step"] == "hold", "a verdict on too few installs")
    assert "too_few_installs" in worlds[0].verdict()["reasons"]
    node.forward(minutes=1)
    for world in worlds:
        world.report(range(20, 60))


def test_a_reaction_without_support_by_probes_is_never_taken(node, tmp_path):
    old, following, spare = (Key(tmp_path, name, HOST) for name in ("old", "following", "spare"))
    tls = TLSServer(old)
    try:
        own = {
            "copy_baseline": False,
            "pins": [
                {"material": old.certificate.read_text(), "role": "primary"},
                {"material": spare.request.read_text(), "role": "backup"},
            ],
        }
        node.cli("probe", f"{HOST}:{tls.port}")
        # The candidate lacks the key that will be served; in another app it has it, and reports are forged.
        mistake = World(node, "mistake", tls, own, [old, following], "act")
        shadow = World(node, "shadow", tls, own, [old, following], "shadow")
        attack = World(node, "attack", tls, {"copy_baseline": True}, [old, following], "act")
        twin = World(node, "twin", tls, own, [old, following], "act")
        tls.serve(following)
        node.cli("probe", f"{HOST}:{tls.port}")

        fail(node, mistake, shadow, attack)

        done = eventually(lambda: len(found := mistake.events()) > 1 and found, "a reaction")
        assert [event["type"] for event in done] == ["TelemetryReacted", "RolloutRolledBack"]
        reacted, rolled_back = done[0]["data"], done[1]["data"]
        assert (reacted["host"], reacted["arm"], reacted["step"]) == (HOST, "candidate", "roll_back")
        assert reacted["verdict"]["live_key"] == "unpinned" and reacted["verdict"]["ln_e"] > 6.907755
        sample = reacted["verdict"]["evidence"]["sample"]
        # As soon as they suffice, which may be before the last report is counted.
        assert 30 <= sample["installs"] == sample["failing"] <= 60
        assert rolled_back["cause"] == "reports"
        host = node.api.must("GET", f"/v1/apps/{mistake.app}/hosts/{HOST}").json
        assert host["rollout"]["basis_points"] == 0 and "candidate" in host
        assert node.api.payload(mistake.app)["hosts"][0]["rollout"]["basis_points"] == 0

        # The same reports, in the shadow, and where the served key is pinned.
        eventually(lambda: attack.verdict()["evidence"]["sample"]["installs"] == 60, "all reports")
        assert (attack.verdict()["step"], attack.verdict()["live_key"]) == ("page", "pinned")
        assert shadow.verdict()["step"] == "roll_back"
        # The worker that reacts looks at all apps in each round: by the time that it reacts to later reports, it has passed these.
        fail(node, twin)
        eventually(twin.events, "a reaction to the later reports")
        assert attack.events() == [] and shadow.events() == []
        # Once it is done, nothing is done again.
        assert len(mistake.events()) == 2
        alarm = attack.alarms()[0]
        assert alarm["severity"] == "urgent" and alarm["host"] == HOST and "page" not in alarm["detail"]
        assert "With the reaction `act`, the server would take this step" in shadow.alarms()[0]["detail"]

        told = node.cli("telemetry", "reactions", attack.app, "--threshold", "5").stdout
        assert "live_key_pinned" in told and "With a threshold of 500 basis points" in told
        lax = node.api.must("GET", f"/v1/apps/{attack.app}/reactions?failure_threshold_bp=9999").json
        assert "stage_test" not in lax["would_have_fired"]["arms"][0]
    finally:
        tls.close()
