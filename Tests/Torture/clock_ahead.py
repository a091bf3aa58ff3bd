"""A machine whose clock was ahead, with the database and a node on it, after the clock was put right."""

import json
import time
from collections.abc import Callable
from datetime import datetime, timezone

from checks import expect_invariants
from clocks import DAY, Clock, ahead_of_us, clocks_of
from cluster import Cluster
from ledger import Ledger, Template, program
from node import Node
from pinledger import API, EVERYTHING, from_now
from report import Experiment, Measurement
from stage import Stage

#: What clients grant an issue time beyond their clock.
TOLERANCE = 300
#: Within how many seconds everything is right again.
BOUND_SECONDS = 10


def wait_for(seconds: float, is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not (result := is_so()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return result


def clock_ahead(stage: Stage, is_broken: bool) -> Measurement:
    """F44: something is recorded while the clock is three, and a hundred, days ahead; then the clock is put right."""
    measurement = Measurement()
    [clock] = clocks_of(stage, 0)
    cluster = Cluster(environment=clock.environment)
    stage.on_exit(cluster.destroy)
    cluster.start()
    template = Template.make(cluster, stage.directory)
    slowest = 0.0
    for days in (3, 100):
        ledger = stage.ledger(template=template)
        slowest = max(slowest, put_right(stage, measurement, ledger, clock, days, is_broken=is_broken))
    measurement.figures["seconds"] = round(slowest, 2)
    measurement.headline = f"3 and 100 days ahead: a switch, a token and all documents right within {slowest:.1f} s"
    return measurement


def put_right(
    stage: Stage, measurement: Measurement, ledger: Ledger, clock: Clock, days: int, *, is_broken: bool
) -> float:
    """Returns after how many seconds everything was right."""
    clock.set(0)
    node = stage.node(ledger, environment=clock.environment)
    apps = stage.apps(node, 4)
    lasting = {"name": "lasting", "grants": EVERYTHING, "expires_at": from_now(days=300)}
    late = API(node.port, node.api.must("POST", "/v1/tokens", lasting).json["token"])
    clock.set(days * DAY)
    assert wait_for(60, lambda: is_recorded_ahead(late, ledger, apps[0])), "nothing is recorded while the clock is ahead"
    assert wait_for(60, lambda: all(issued_ahead(node, app) > TOLERANCE for app in apps)), "nothing is signed meanwhile"
    late.must("PUT", f"/v1/apps/{apps[2]}/kill-switch", {"reason": "ahead", "expires_at": from_now(days=days, hours=1)})
    if not is_broken:
        clock.set(0)
    began = time.monotonic()
    what = f"{days} days"
    wait_for(BOUND_SECONDS, lambda: abs(ahead_of_us(late)) < 2)
    switch = {"reason": "an incident", "expires_at": from_now(hours=1)}
    answer = node.api.request("PUT", f"/v1/apps/{apps[1]}/kill-switch", switch)
    measurement.expect("kill switch", answer.status == 200, f"{what}: {answer}")
    rest = began + BOUND_SECONDS - time.monotonic()
    wait_for(rest, lambda: all(issued_ahead(node, app) <= TOLERANCE for app in apps))
    taken = time.monotonic() - began
    ahead = max(issued_ahead(node, app) for app in apps)
    measurement.expect("documents accepted", ahead <= TOLERANCE, f"{what}: a document is {ahead:.0f} s ahead")
    if is_broken:
        return taken
    now = time.time()
    held = [each for each in node.api.payload(apps[1])["kill_switches"] if each["engaged_at"] <= now < each["expires_at"]]
    measurement.expect("switch in force", held, f"{what}: {node.api.payload(apps[1])['kill_switches']}")
    arguments = ["--database", ledger.conninfo(), "--kek-file", str(ledger.kek)]
    done = program("token", "bootstrap", *arguments, status=None)
    measurement.expect("token bootstrap", done.returncode == 0, f"{what}: {done.stderr}")
    if done.returncode == 0:
        status = API(node.port, done.stdout.split()[-1]).get("/v1/whoami").status
        measurement.expect("token bootstrap", status == 200, f"{what}: the new token gets {status}")
    expect_said(measurement, node, arguments, what)
    # The switch begins in the future, and no node releases it before its end.
    is_left = bool(node.api.payload(apps[2])["kill_switches"])
    measurement.expect("switch of the future stays", is_left, f"{what}: it was released")
    node.stop()
    # What starts now finds the same.
    node.start()
    node.wait_for_documents(apps)
    ahead = max(issued_ahead(node, app) for app in apps)
    measurement.expect("documents accepted", ahead <= TOLERANCE, f"{what}: after a start, a document is {ahead:.0f} s ahead")
    expect_invariants(measurement, ledger, stage.directory, node=node, findings_due=frozenset({"time_ahead"}))
    node.stop()
    return taken


def expect_said(measurement: Measurement, node: Node, arguments: list[str], what: str) -> None:
    """The node and the program say that the ledger is ahead, and until when."""
    until = node.api.get("/readyz").json.get("ledger_ahead_until", "")
    is_said = bool(until) and datetime.fromisoformat(until.replace("Z", "+00:00")) > datetime.now(timezone.utc)
    measurement.expect("readyz says it", is_said, f"{what}: {until or 'nothing'}")
    kinds = [item["kind"] for item in node.api.get("/v1/attention").json["items"]]
    measurement.expect("attention says it", "ledger_ahead" in kinds, f"{what}: {kinds}")
    lines = node.api.must("GET", "/metrics").body.decode().splitlines()
    gauge = [float(line.split()[1]) for line in lines if line.startswith("pinledger_ledger_ahead_seconds ")]
    measurement.expect("a metric says it", gauge and gauge[0] > DAY, f"{what}: {gauge}")
    lines = node.said("ledger_ahead")
    is_logged = len(lines) == 1 and lines[0]["level"] == "critical"
    measurement.expect("log says it once", is_logged, f"{what}: {len(lines)} lines")
    done = program("doctor", *arguments, "--listen", f"127.0.0.1:{node.port}", "--output", "json", status=None)
    found = {each["subject"]: each for each in json.loads(done.stdout)}
    verdict = found.get("ledger's time", {}).get("verdict")
    measurement.expect("doctor says it", verdict == "warn", f"{what}: {verdict}")


def is_recorded_ahead(late: API, ledger: Ledger, app: str) -> bool:
    """Changes the app; whether the ledger ends in the future then, since the node has noticed its clock."""
    late.request("PATCH", f"/v1/apps/{app}", {"display_name": f"at {time.monotonic()}"})
    [(last,)] = ledger.execute("SELECT last_time FROM pinledger.head")
    return last.timestamp() - time.time() > DAY


def issued_ahead(node: Node, app: str) -> float:
    """How many seconds the document of an app is ahead of the right time."""
    return node.api.payload(app)["iat"] - time.time()


EXPERIMENTS = [
    Experiment(
        "F44", "something is recorded while a machine's clock is days ahead, and the clock is put right",
        "the clock stays ahead", {"kill switch", "documents accepted"}, clock_ahead,
    ),
]  # fmt: skip
