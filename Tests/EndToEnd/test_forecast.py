"""The forecast of renewals, by what probes of a real TLS server see and what clients hold."""

import pytest
from pinledger import Server
from tls_server import Key, TLSServer, serving

HOST = "api.example.com"
DAY = 86_400


@pytest.fixture(scope="module")
def node():
    with serving(HOST, DAY) as server:
        yield server


def make_app(node: Server, directory, name: str, days: int, *more: str) -> str:
    """An app with a host whose certificate lives so many days from now."""
    app, served, spare = f"com.example.{name}", Key(directory, f"{name}-served", HOST, days), Key(directory, f"{name}-spare", HOST)
    tls = TLSServer(served)
    node.cli("app", "create", app)
    node.cli("host", "add", app, HOST, "--primary", str(served.certificate), "--backup", str(spare.request), *more)
    endpoint = f"{HOST}:{tls.port}"
    node.api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"endpoints": [endpoint]})
    node.cli("probe", endpoint)
    return app


def forecast(node: Server, app: str, *more: str) -> dict:
    return node.cli_json("forecast", app, *more)["hosts"][0]


def test_shorter_lives_leave_less_time(node, tmp_path):
    app = make_app(node, tmp_path, "shorter", 199)
    host = forecast(node, app, "--adoption-days", "20")
    assert host["verdict"] == "survives" and host["next"]["spare"].startswith("sha256/")
    lives = [era["lifetime_seconds"] // DAY for era in host["eras"]]
    assert lives == [199, 100, 47] and [era["from"][:10] for era in host["eras"][1:]] == ["2027-03-15", "2029-03-15"]
    slack = [era["slack_seconds"]["at_most"] for era in host["eras"]]
    assert slack[2] == 47 * DAY * 2 // 3 - 21 * DAY - 1 and slack == sorted(slack, reverse=True)
    # 31 days between renewals, of which a day is for delivery.
    assert forecast(node, app, "--adoption-days", "29")["verdict"] == "tight"
    assert forecast(node, app, "--adoption-days", "31")["verdict"] == "fails"
    assert "then on" in node.cli("forecast", app, "--adoption-days", "20").stdout
    shown = node.cli("forecast", app, "--adoption-days", "31", "--exit-code", status=1).stdout
    assert "2029-03-15" in shown and "fails" in shown and "47 d" in shown
    node.cli("forecast", app, "--adoption-days", "20", "--exit-code")


def test_adoption_that_was_not_measured_is_unknown(node, tmp_path):
    app = make_app(node, tmp_path, "unmeasured", 199)
    host = forecast(node, app)
    assert host["verdict"] == "unknown" and "at_least" not in host["next"]["slack_seconds"]
    assert "is not known" in node.cli("forecast", app, "--exit-code", status=1).stdout
    # A probe is what tells how long the certificate lives.
    node.cli("app", "create", "com.example.unseen")
    node.cli("host", "add", "com.example.unseen", "other.example.com", "--mode", "off")
    assert forecast(node, "com.example.unseen")["verdict"] == "unaffected"


def test_the_forecast_tells_nothing_of_apps_that_its_reader_does_not_see(node, tmp_path):
    app = make_app(node, tmp_path, "hidden", 90)
    stranger = node.api.holding("viewer", "com.example.else.*")
    hidden, missing = (stranger.get(f"/v1/apps/{name}/forecast") for name in (app, "com.example.missing"))
    assert hidden.status == missing.status == 404 and hidden.json["type"] == missing.json["type"] == "/problems/app_unknown"
    assert node.api.get(f"/v1/apps/{app}/forecast?adoption_hours=9000").status == 400
    assert node.api.holding("viewer", app).get(f"/v1/apps/{app}/forecast").status == 200
