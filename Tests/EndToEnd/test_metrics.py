"""Metrics: what monitoring systems read, with a token and on a listener of their own, and what the numbers count."""

import re
import threading
import time

import pytest
from pinledger import API, Server, eventually, free_port, from_now
from problems import expect_problem
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
from receiver import Receiver
from tls_server import Key, TLSServer

APP = "com.example.metrics"
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture(scope="module")
def metered():
    """A server with a listener for monitoring systems."""
    port = free_port()
    server = Server()
    server.environment["PINLEDGER_METRICS_LISTEN"] = f"127.0.0.1:{port}"
    try:
        server.start()
        server.monitoring = API(port, None)
        server.api.make_app(APP, "api.example.com")
        yield server
    finally:
        server.destroy()


def families(server: Server) -> dict:
    answer = server.monitoring.get("/metrics", **OPENMETRICS)
    assert answer.status == 200, answer
    return {family.name: family for family in openmetrics(answer.body.decode())}


def sample(server: Server, name: str, **labels: str) -> float | None:
    found = [each.value for family in families(server).values() for each in family.samples if each.name == name and each.labels == labels]
    assert len(found) < 2, found
    return found[0] if found else None


def test_both_formats_are_read_by_the_reader_of_prometheus(metered):
    answer = metered.monitoring.get("/metrics", **OPENMETRICS)
    assert answer["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answer["Vary"] == "Accept" and answer["Cache-Control"] == "no-store"
    strict = list(openmetrics(answer.body.decode()))
    plain = metered.monitoring.get("/metrics")
    assert plain["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert {family.name for family in prometheus(plain.body.decode())} == {
        family.name + ("_info" if family.type == "info" else "") for family in strict
    }
    assert all(family.documentation for family in strict)


def test_every_family_of_a_node_is_in_the_handbook(metered):
    page = metered.cli("handbook", "metrics").stdout
    for name in families(metered):
        assert f"`{name}`" in page


def test_operators_read_metrics_with_a_token_that_may_and_strangers_do_not(metered):
    api = metered.api
    assert api.get("/metrics").status == 200
    assert api.holding("viewer").get("/metrics").status == 200
    refused = api.holding("viewer", APP).get("/metrics")
    expect_problem(refused, 403, "permission_denied")
    assert API(api.port, None).get("/metrics").status == 401


def test_the_listener_for_monitoring_systems_has_nothing_that_is_not_public(metered):
    monitoring = metered.monitoring
    assert monitoring.get("/healthz").status == 200 and monitoring.get("/readyz").status == 200
    for target in ("/v1/whoami", "/v1/apps", f"/client/v1/apps/{APP}/document", "/log/checkpoint", "/compat/wultra/admin/apps"):
        for token in (None, metered.api.token):
            assert monitoring.request("GET", target, token=token).status == 404, target
    # Nor does a token give more of it.
    assert monitoring.request("GET", "/readyz", token=metered.api.token).json == monitoring.get("/readyz").json


def test_numbers_count_what_they_say(metered):
    api = metered.api

    def requests(operation: str, status: int) -> float:
        return sample(metered, "pinledger_requests_total", operation=operation, status=str(status), caller="operator") or 0

    before = requests("getApp", 200), requests("getApp", 404), sample(metered, "pinledger_append_batch_commands_sum")
    for _ in range(3):
        api.must("GET", f"/v1/apps/{APP}")
    assert api.get("/v1/apps/com.example.nothing").status == 404
    api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Counted"})
    assert requests("getApp", 200) == before[0] + 3 and requests("getApp", 404) == before[1] + 1
    assert sample(metered, "pinledger_request_duration_seconds_count", operation="getApp") == before[0] + before[1] + 4
    assert sample(metered, "pinledger_append_batch_commands_sum") > before[2]
    assert sample(metered, "pinledger_append_duration_seconds_count") >= 1
    assert eventually(lambda: sample(metered, "pinledger_ledger_position") == api.position())
    assert sample(metered, "pinledger_apps") == 1 and sample(metered, "pinledger_documents") == 1
    assert eventually(lambda: sample(metered, "pinledger_documents_behind") == 0)


def test_prepared_answers_are_counted_where_they_are_given(metered):
    api = API(metered.api.port, None)
    before = sample(metered, "pinledger_prepared_answers_total", status="200"), sample(metered, "pinledger_prepared_answers_total", status="304")
    first = eventually(lambda: (answer := api.document(APP)).status == 200 and answer)
    for _ in range(4):
        assert api.get(f"/client/v1/apps/{APP}/document", **{"If-None-Match": first["ETag"]}).status == 304
    assert sample(metered, "pinledger_prepared_answers_total", status="200") > before[0]
    assert sample(metered, "pinledger_prepared_answers_total", status="304") == before[1] + 4


def test_kill_switches_in_force_are_counted_by_scope(metered):
    target = f"/v1/apps/{APP}/kill-switch"
    metered.api.must("PUT", target, {"expires_at": from_now(hours=1), "reason": "drill"})
    assert eventually(lambda: sample(metered, "pinledger_kill_switches", scope="app") == 1)
    assert sample(metered, "pinledger_kill_switches", scope="everything") == 0
    metered.api.must("DELETE", f"{target}?reason=over")
    assert eventually(lambda: sample(metered, "pinledger_kill_switches", scope="app") == 0)


def test_the_state_of_the_node_is_one_of_its_states(metered):
    states = {each.labels["state"]: each.value for each in families(metered)["pinledger_node_state"].samples}
    assert states.pop("running") == 1 and set(states.values()) == {0}
    uses = {each.labels["use"]: each.value for each in families(metered)["pinledger_node_use"].samples}
    assert uses == {"serves": 1, "serves_documents": 1, "writes": 1, "signs": 1}


def test_metrics_name_no_app_host_or_person(metered):
    text = metered.monitoring.get("/metrics").body.decode()
    assert APP not in text and "example.com" not in text and "tok_" not in text
    assert re.search(r'pinledger_build_info\{version="\d', text)


def test_service_levels_are_shown_from_the_same_figures(metered):
    api = metered.api
    before = metered.cli_json("slo")
    kept = {level["name"]: level for level in before["levels"]}
    assert before["kept"] is True and kept["nodes_serve"]["all"] == 1 and kept["changes_in_time"]["all"] >= 1
    assert kept["documents_current"]["share"] == kept["documents_valid"]["share"] == 1
    for _ in range(5):
        assert api.get(f"/v1/apps/{APP}").status == 200 and api.get("/v1/apps/com.example.nothing").status == 404
    after = {level["name"]: level for level in metered.cli_json("slo")["levels"]}
    # What callers do wrong is no failure of the server.
    assert after["operators_answered"]["all"] >= kept["operators_answered"]["all"] + 10
    assert after["operators_answered"]["share"] == 1
    # With the addresses for monitoring systems there is no token, and each node counts.
    address = f"http://127.0.0.1:{metered.monitoring.port}"
    both = metered.cli_json("slo", address, address)
    assert next(level for level in both["levels"] if level["name"] == "nodes_serve")["all"] == 2
    table = metered.cli("slo", "--exit-code").stdout
    assert "every node serves documents" in table and "NOT KEPT" not in table


def test_service_levels_that_are_not_kept_end_the_command_with_an_error(metered):
    api = metered.api
    with metered.locked("pinledger.head", "ACCESS EXCLUSIVE"):
        # Reads go on; a change that cannot be recorded is a failure of the server.
        assert api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "late"}).status == 503
    shown = metered.cli("slo", "--exit-code", status=1).stdout
    assert "NOT KEPT" in shown
    # Only of the seconds from now on.
    api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "in time"})
    levels = {level["name"]: level for level in metered.cli_json("slo", "--over", "2")["levels"]}
    assert levels["operators_answered"]["kept"] is True


def test_another_program_is_not_taken_for_a_node(metered):
    failed = metered.cli("slo", "http://127.0.0.1:9", status=8)
    assert "127.0.0.1:9" in failed.stderr


def test_probes_reports_and_deliveries_are_counted(tmp_path):
    host, port = "api.example.com", free_port()
    more = ["--allow-private-range", "127.0.0.0/8", "--allow-http-webhooks", "--resolve", f"{host}=127.0.0.1", "--vantage", "here"]
    server = Server(more=more)
    server.environment["PINLEDGER_METRICS_LISTEN"] = f"127.0.0.1:{port}"
    key = Key(tmp_path, "served", host, days=40)
    tls = TLSServer(key)
    try:
        server.start()
        server.monitoring, api = API(port, None), server.api
        api.make_app(APP, host)
        endpoints = f"{host}:{tls.port}", f"{host}:{free_port()}"
        api.must("PATCH", f"/v1/apps/{APP}/hosts/{host}", {"endpoints": list(endpoints)})
        for endpoint in endpoints:
            api.must("POST", "/v1/probes", {"endpoint": endpoint})
        assert [sample(server, "pinledger_endpoints", state=each) for each in ("unprobed", "reached", "failing")] == [0, 1, 1]
        reached, failed, unable = (sample(server, "pinledger_probes_total", outcome=each) for each in ("reached", "failed", "unable"))
        assert reached >= 1 and failed >= 1 and unable == 0
        left = sample(server, "pinledger_next_certificate_expiry_timestamp_seconds") - time.time()
        assert 39 * 86400 < left <= 40 * 86400

        eventually(lambda: API(api.port, None).document(APP).status == 200, "the document")
        before = sample(server, "pinledger_client_sightings_total", outcome="counted")
        for _ in range(5):
            assert API(api.port, None).document(APP).status == 200
        eventually(lambda: sample(server, "pinledger_client_sightings_total", outcome="counted") >= before + 5, "the clients")
        report = {"outcomes": [{"host": host, "outcome": "success", "install": "AAAAAAAAAAAAAAAAAAAAAA"}]}
        taken = API(api.port, None).post(f"/client/v1/apps/{APP}/reports", report)
        assert taken.status == 202, taken
        figures = {name: sample(server, "pinledger_client_reports_total", outcome=name) for name in ("taken", "duplicate", "refused")}
        assert figures == {name: taken.json[name] for name in figures} and sum(figures.values()) == 1

        with Receiver() as receiver:
            api.must("POST", "/v1/webhooks", {"url": receiver.url})
            api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Counted"})
            eventually(lambda: (sample(server, "pinledger_webhook_attempts_total", outcome="delivered") or 0) >= 1, "a delivery")
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Waiting"})
        eventually(lambda: sample(server, "pinledger_webhook_attempts_total", outcome="failed") >= 1, "an attempt that fails")
        eventually(lambda: sample(server, "pinledger_webhook_open_deliveries", state="failed"), "the look at the deliveries")
        assert time.time() - sample(server, "pinledger_webhook_oldest_delivery_timestamp_seconds") < 300
        assert sample(server, "pinledger_signed_documents_total") >= 3
        assert sample(server, "pinledger_connections", listener="everything") >= 0
    finally:
        tls.close()
        server.destroy()


def test_a_probe_by_hand_from_an_unnamed_place_is_no_failure_that_stays(metered):
    endpoint = f"api.example.com:{free_port()}"
    metered.api.must("PATCH", f"/v1/apps/{APP}/hosts/api.example.com", {"endpoints": [endpoint]})
    metered.api.must("POST", "/v1/probes", {"endpoint": endpoint})
    assert [sample(metered, "pinledger_endpoints", state=each) for each in ("unprobed", "reached", "failing")] == [1, 0, 0]


def test_metrics_are_shown_while_the_database_gives_no_answer(metered):
    waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'pinledger.head'::regclass AND NOT granted"
    answers = []
    with metered.locked("pinledger.head", "ACCESS EXCLUSIVE"):
        # A change that has to wait for the database, and has begun before the metrics are asked for, is answered after them.
        change = threading.Thread(target=lambda: answers.append(metered.api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Waits"})))
        change.start()
        eventually(lambda: metered.sql(waiting) != "0", "a change that waits")
        assert sample(metered, "pinledger_apps") == 1
        assert answers == []
    change.join()
    assert answers[0].status in (200, 503)
