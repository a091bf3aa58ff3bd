"""Alerts and dashboards: every rule does what its test says, and every query is about metrics that a node shows. Tests/Lab raises the alerts
and asks the dashboard."""

import json
import re
import shutil
import subprocess
import urllib.parse
from pathlib import Path

import handbook
import pytest
import yaml
from ceremony import Ceremony
from edges import Edge, key_file
from pinledger import API, Server, eventually, free_port
from tls_server import Key, TLSServer

pytestmark = pytest.mark.daily
DEPLOY = handbook.ROOT / "deploy"
RULES, UNIT, DASHBOARD = DEPLOY / "prometheus/pinledger.rules.yml", DEPLOY / "prometheus/pinledger.test.yml", DEPLOY / "grafana/pinledger.json"
APP, HOST = "com.example.monitoring", "api.example.com"
ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if "alert" in rule]
#: Metrics that a node shows with a certificate, an archive, an access log, a collector of traces or a Firebase project alone.
ELSEWHERE = {
    "pinledger_own_certificate_expiry_timestamp_seconds", "pinledger_own_certificate_lifetime_seconds",
    "pinledger_database_archive_failing", "pinledger_access_log_lines_total", "pinledger_trace_spans_total",
    "pinledger_firebase_apps",
}  # fmt: skip
TESTS_OF_RULES = yaml.safe_load(UNIT.read_text())
PANELS = [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]
QUERIES = [(f"{panel['title']} {target['refId']}", target["expr"]) for panel in PANELS for target in panel["targets"]]


def promtool(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def monitored(tmp_path_factory):
    """A node, and a Prometheus that scrapes it."""
    port, own, edges = free_port(), free_port(), free_port()
    more = ["--allow-private-range", "127.0.0.0/8", "--allow-http-webhooks", "--resolve", f"{HOST}=127.0.0.1"]
    server = Server(more=more)
    server.environment["PINLEDGER_METRICS_LISTEN"] = f"127.0.0.1:{port}"
    home = tmp_path_factory.mktemp("scraping")
    shutil.copy(RULES, home)
    (home / "prometheus.yml").write_text(yaml.safe_dump({
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [RULES.name],
        "scrape_configs": [{"job_name": "pinledger", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]},
                           {"job_name": "edges", "static_configs": [{"targets": [f"127.0.0.1:{edges}"]}]}],
    }))  # fmt: skip
    prometheus = tls = edge = None
    try:
        server.start()
        served, spare = Key(home, "served", HOST), Key(home, "spare", HOST)
        tls = TLSServer(served)
        server.cli("app", "create", APP)
        server.cli("host", "add", APP, HOST, "--primary", str(served.certificate), "--backup", str(spare.request))
        # Nothing listens there: its messages wait.
        server.api.must("POST", "/v1/webhooks", {"url": f"http://127.0.0.1:{free_port()}/"})
        server.api.must("PATCH", f"/v1/apps/{APP}/hosts/{HOST}", {"endpoints": [f"{HOST}:{tls.port}"]})
        server.cli("probe", f"{HOST}:{tls.port}")
        Ceremony(home, server).publish()
        edge = Edge(
            home, server.port, server.api.holding("viewer", name="edges").token, key_file(server, home / "keys.json"),
            "--metrics-listen", f"127.0.0.1:{edges}").start_ready()  # fmt: skip
        with (home / "log").open("wb") as log:
            prometheus = subprocess.Popen(
                ["prometheus", f"--config.file={home}/prometheus.yml", f"--storage.tsdb.path={home}/data",
                 f"--web.listen-address=127.0.0.1:{own}"], stdout=log, stderr=log)  # fmt: skip
        server.prometheus = API(own, None)

        def scraped() -> bool:
            # 503 while it opens its data.
            try:
                is_ready = server.prometheus.get("/-/ready").status == 200
            except OSError:
                is_ready = False
            return is_ready and all(value(server, f'up{{job="{job}"}}') == 1 for job in ("pinledger", "edges"))

        eventually(scraped, "the first scrape")
        yield server
    finally:
        if prometheus:
            prometheus.kill()
            prometheus.wait()
        if tls:
            tls.close()
        if edge:
            edge.kill()
        server.destroy()


def query(server: Server, expression: str) -> list:
    answer = server.prometheus.get("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
    assert answer.status == 200, (expression, answer)
    return answer.json["data"]["result"]


def value(server: Server, expression: str) -> float | None:
    found = query(server, expression)
    return float(found[0]["value"][1]) if found else None


def test_the_rules_are_sound_and_pass_their_tests():
    for arguments in (("check", "rules", RULES), ("test", "rules", UNIT)):
        done = promtool(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_tests_of_the_rules_notice_an_alert_that_never_fires(tmp_path):
    for rule in ALERTS:
        rules = yaml.safe_load(RULES.read_text())
        for other in (one for group in rules["groups"] for one in group["rules"] if one.get("alert") == rule["alert"]):
            other["expr"] = "vector(0) > 1"
        place = tmp_path / rule["alert"]
        place.mkdir()
        (place / RULES.name).write_text(yaml.safe_dump(rules))
        # The tests that expect it alone: all of them take seconds for each alert.
        tests = [
            test for test in TESTS_OF_RULES["tests"]
            if any(one["alertname"] == rule["alert"] and one.get("exp_alerts") for one in test.get("alert_rule_test", []))
        ]  # fmt: skip
        assert tests, f"no test expects {rule['alert']}"
        (place / UNIT.name).write_text(yaml.safe_dump(TESTS_OF_RULES | {"tests": tests}))
    files = sorted(tmp_path.glob(f"*/{UNIT.name}"))
    # In one stream: it names the file at one end, and what failed of it at the other.
    done = subprocess.run(
        ["promtool", "test", "rules", *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800
    )  # fmt: skip
    said = re.split(r"^Unit Testing: +", done.stdout, flags=re.M)
    failed = {Path(part.split()[0]).parent.name for part in said[1:] if "FAILED" in part}
    assert done.returncode != 0 and failed == {rule["alert"] for rule in ALERTS}, done.stdout


def test_every_query_is_about_metrics_and_labels_that_a_node_shows(monitored):
    # Nodes look at the deliveries every 15 seconds.
    eventually(lambda: value(monitored, "pinledger_webhook_oldest_delivery_timestamp_seconds"), "the first look")
    shown: dict[str, set[str]] = {}
    for series in monitored.prometheus.get('/api/v1/series?match[]={job=~"pinledger|edges"}').json["data"]:
        shown.setdefault(series["__name__"], set()).update(series)
    # The histogram of appends begins with the first one, which a node that has started has made.
    expressions = QUERIES + [(rule["alert"], rule["expr"]) for rule in ALERTS]
    for title, expression in expressions:
        for name, matchers in re.findall(r"(?<!:)\b(pinledger_\w+|up)(?:\{([^}]*)\})?", expression):
            if name in ELSEWHERE:
                continue
            assert name in shown, (title, name)
            labels = set(re.findall(r"(\w+)\s*=", matchers))
            assert labels <= shown[name], (title, name, labels - shown[name])
