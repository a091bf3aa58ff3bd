"""What strangers can send decides nothing: forged adoption, forged successes, forged failures, and key stores in reports."""

import base64
import json
import subprocess

import pytest
from pinledger import Server, eventually, pin_of
from reports import HOST, Key, adoption, cells, failure, install_id, outcome, path, send
from wire import Wire, get


@pytest.fixture(scope="module")
def believing_server():
    """Believes what is said of clients' addresses, so that reports can come from many networks."""
    server = Server(more=["--telemetry-rate", "0", "--trusted-proxy", "127.0.0.0/8"], has_clock=True)
    try:
        yield server.start()
    finally:
        server.destroy()


def make_app(server: Server, name: str) -> str:
    app = f"com.example.forged.{name}"
    server.api.make_app(app, HOST)
    return app


def now(server: Server) -> int:
    return int(server.clock.now().timestamp())


def ask_as(server: Server, app: str, version: int, installs: range) -> None:
    """As many requests, each of an install of its own that says that it holds the version."""
    with Wire(server.port) as wire:
        for first in range(installs.start, installs.stop, 50):
            said = [f'Pinledger-Client: version={version}, install="{install_id(number)}"' for number in range(first, first + 50)]
            wire.send(b"".join(get(f"/client/v1/apps/{app}/document", one) for one in said))
            for _ in said:
                assert wire.answer().status == 200


def sign_as(server: Server, app: str, key: Key, version: int, installs: range) -> None:
    """As many installs that report, signed, with the version."""
    for first in range(installs.start, installs.stop, 500):
        outcomes = [outcome(number) for number in range(first, min(first + 500, installs.stop))]
        body = json.dumps({"outcomes": outcomes, "document_version": version}).encode()
        answer = server.api.request("POST", path(app), body, headers=key.sign(body, now(server)), token=None)
        assert answer.json["taken"] == len(outcomes), str(answer)


class Rotation:
    """The key of a host is to be replaced, and may be as soon as clients have the next one."""

    def __init__(self, server: Server, name: str):
        self.server, self.app = server, make_app(server, name)
        self.old = server.api.payload(self.app)["version"]
        body = {"rotation": "r", "hosts": [HOST], "next": {"pin": pin_of("next")}, "goals": {"minimum_wait_seconds": 1}}
        server.api.must("POST", f"/v1/apps/{self.app}/rotations", body)
        self.new = server.api.payload(self.app)["version"]

    def adoption(self) -> dict:
        return adoption(self.server.api, self.app, f"?version={self.new}")

    def is_refused(self) -> bool:
        answer = self.server.api.request("POST", f"/v1/apps/{self.app}/rotations/r/advance?dry_run=true", {"reason": "why"})
        return answer.status == 422 and "G10" in [finding["code"] for finding in answer.json["guard_rail_findings"]]


def warnings(server: Server, app: str) -> list[dict]:
    """The findings on installs that say that they hold a version never made."""
    change = server.api.must("PATCH", f"/v1/apps/{app}?dry_run=true", {"display_name": "Store"}).json
    return [finding for finding in change["guard_rail_findings"] if finding["code"] == "G33"]


def test_forged_adoption_opens_no_gate(believing_server):
    rotation = Rotation(believing_server, "adoption")
    ask_as(believing_server, rotation.app, rotation.new, range(0, 1500))
    told = eventually(lambda: (found := rotation.adoption())["seen"]["identified"] >= 1500 and found)
    # For people it is shown as what it is.
    assert told["share"]["lower_basis_points"] >= 9900 and told["signed"]["basis"] == "unknown"
    assert "nothing_signed" in [gap["code"] for gap in told["not_known"]]
    assert rotation.is_refused()
    # The node reads the counts for the guard rails a moment later: those of other claims, which come last, are read with all before.
    ask_as(believing_server, rotation.app, rotation.new + 100, range(2000, 2050))
    eventually(lambda: warnings(believing_server, rotation.app), "a finding on the last claims")
    assert rotation.is_refused()
    assert "only signed reports count" in believing_server.cli("rotation", "status", rotation.app, "r").stdout


def test_signed_adoption_opens_a_gate_and_forged_adoption_closes_none(believing_server):
    rotation = Rotation(believing_server, "signed-adoption")
    ask_as(believing_server, rotation.app, rotation.old, range(5000, 6500))
    sign_as(believing_server, rotation.app, Key(believing_server.api, rotation.app), rotation.new, range(0, 1200))
    told = eventually(lambda: (found := rotation.adoption())["seen"]["identified"] >= 2700 and found)
    assert told["share"]["upper_basis_points"] < 9000 and told["signed"]["lower_basis_points"] >= 9900
    eventually(lambda: not rotation.is_refused())


def test_clients_that_claim_a_version_never_made_are_reported_and_not_counted(believing_server):
    app = make_app(believing_server, "restored")
    version = believing_server.api.payload(app)["version"]
    ask_as(believing_server, app, version + 100, range(0, 50))
    found = eventually(lambda: warnings(believing_server, app), "a warning")
    assert f"up to version {version + 100}" in found[0]["detail"], found
    told = adoption(believing_server.api, app, f"?version={version}")
    assert told["share"]["lower_basis_points"] == 0
    assert ("ahead", version + 100) in [(one["holds"], one.get("version")) for one in told["versions"]]
    assert f"version {version + 100}, which is not made" in believing_server.cli("app", "adoption", app).stdout


class Ramp:
    """A host's candidate that goes from one device in a hundred to all."""

    def __init__(self, server: Server, name: str, **monitoring):
        self.server, self.app = server, make_app(server, name)
        self.host = f"/v1/apps/{self.app}/hosts/{HOST}"
        server.api.must("PATCH", f"/v1/apps/{self.app}", {"monitoring": {"enabled": True, "reaction": "act", **monitoring}})
        body = {"mode": "enforce", "copy_baseline": True, "rollout": {"basis_points": 0}}
        server.api.must("POST", f"{self.host}/candidate", body)

    def plan(self, **hold) -> None:
        steps = [{"basis_points": 100, **hold}, {"basis_points": 10_000}]
        self.server.api.must("PUT", f"{self.host}/rollout/plan", {"steps": steps})
        self.version = self.server.api.payload(self.app)["version"]

    def share(self) -> int:
        return self.server.api.must("GET", self.host).json["rollout"]["basis_points"]

    def current(self) -> dict:
        return self.server.api.must("GET", f"{self.host}/rollout/plan").json

    def waits(self) -> str:
        return " ".join(wait["detail"] for wait in self.current()["waits_for"])

    def succeed(self, count: int, key: Key | None = None, networks: int = 1, first: int = 0) -> None:
        self.report(outcome, count, key, networks, first)

    def report(self, made, count: int, key: Key | None = None, networks: int = 1, first: int = 0) -> None:
        """As many installs in so many networks report the outcomes that are made for their numbers."""
        for network in range(networks):
            numbers = range(first + network * count // networks, first + (network + 1) * count // networks)
            for start in range(numbers.start, numbers.stop, 400):
                chunk = range(start, min(start + 400, numbers.stop))
                outcomes = [made(number, arm="candidate") for number in chunk]
                body = json.dumps({"outcomes": outcomes, "document_version": self.version}).encode()
                headers = {"X-Forwarded-For": f"198.51.{network}.7"} | (key.sign(body, now(self.server)) if key else {})
                answer = self.server.api.request("POST", path(self.app), body, headers=headers, token=None)
                assert answer.json["taken"] == len(outcomes), str(answer)


def test_a_few_forged_failures_pause_no_rollout(believing_server):
    ramp = Ramp(believing_server, "failures")
    ramp.plan(for_seconds=600)
    failures = [failure(number, arm="candidate") for number in range(5)]
    assert send(believing_server.api, ramp.app, failures, document_version=ramp.version).json["taken"] == 5

    def verdicts():
        return believing_server.api.must("GET", f"/v1/apps/{ramp.app}/reactions").json["verdicts"]

    verdict = eventually(verdicts)[0]
    assert verdict["step"] == "page" and "advisory" in verdict["reasons"] and "too_few_networks" in verdict["reasons"], verdict

    def alarms():
        items = believing_server.api.must("GET", f"/v1/attention?app={ramp.app}").json["items"]
        return [item["severity"] for item in items if item["kind"] == "failing_reports"]

    assert eventually(alarms) == ["soon"]
    # Signed failures of many come later, and hold their rollout: the worker that does it has passed the forged ones.
    held = Ramp(believing_server, "held")
    held.plan(for_seconds=600)
    held.report(failure, 20, Key(believing_server.api, held.app), networks=4)
    assert eventually(lambda: held.current().get("paused"), "a pause")["cause"] == "reports"
    assert "paused" not in ramp.current() and ramp.current()["phase"] == "running"


def test_reports_bring_no_key_stores(believing_server, certificates, tmp_path):
    app = make_app(believing_server, "store")
    store, der = tmp_path / "store.p12", tmp_path / "certificate.der"
    source = str(certificates[0].path)
    subprocess.run(["openssl", "pkcs12", "-export", "-nokeys", "-in", source, "-out", store, "-passout", "pass:"], check=True)
    subprocess.run(["openssl", "x509", "-in", source, "-outform", "der", "-out", der], check=True)

    def report(chain: str, device: str) -> None:
        body = {"hostname": HOST, "validation-result": 1, "app-vendor-id": device, "served-certificate-chain": [chain]}
        answer = believing_server.api.request("POST", path(app, "/trustkit"), body, token=None)
        assert answer.json["taken"] == 1, str(answer)

    report(base64.b64encode(store.read_bytes()).decode(), "one")
    cell = eventually(lambda: cells(believing_server.api, app).get((None, 0, False)))
    assert cell["served_pins"] == []
    report(base64.b64encode(der.read_bytes()).decode(), "two")
    eventually(lambda: cells(believing_server.api, app)[None, 0, False]["served_pins"] == [certificates[0].pin])


def test_forged_successes_advance_no_rollout(believing_server):
    forged, signed = (Ramp(believing_server, name) for name in ("successes", "signed"))
    counted = Ramp(believing_server, "counted", count_unsigned=True)
    for ramp in (forged, counted, signed):
        ramp.plan(installs=500)
    # What the server makes of reports is no part of what clients get.
    assert "count_unsigned" not in believing_server.api.payload(counted.app)["monitoring"]
    assert believing_server.api.get(f"/v1/apps/{counted.app}").json["monitoring"]["count_unsigned"] is True
    key = Key(believing_server.api, signed.app)
    # Reports count from the first minute on that began after a step.
    for ramp in (forged, counted, signed):
        eventually(lambda: ramp.share() == 100, "the first step")
    believing_server.forward(minutes=1)
    forged.succeed(600)
    counted.succeed(600)
    signed.succeed(600, key)
    # By now whatever was to happen by itself has happened: what is signed is looked at in the same rounds.
    eventually(lambda: signed.share() == 10_000)
    eventually(lambda: "600 did so in unsigned reports" in forged.waits())
    eventually(lambda: "too few networks" in counted.waits())
    assert (forged.share(), counted.share()) == (100, 100)
    # From five networks, of which each counts for a fifth; other installs, since the first ones have reported this hour.
    counted.succeed(1000, networks=5, first=600)
    eventually(lambda: counted.share() == 10_000)
    assert forged.share() == 100
