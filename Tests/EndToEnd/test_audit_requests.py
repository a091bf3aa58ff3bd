"""What the ledger is told of requests that changed nothing: those that were refused or failed, and reads of what is confidential."""

import csv
import http.client
import io
import json
import random
import socket
import string
from types import SimpleNamespace

import pytest
from backups import Cluster
from nodes import start_node
from pinledger import API, Server, eventually, host_body

APP, OTHER = "com.example.audit.shop", "org.example.audit.till"


@pytest.fixture(scope="module")
def admin(own_server):
    api = own_server.api
    for app in (APP, OTHER):
        api.make_app(app, "shop.example.com")
    return api


def records(admin: API) -> list[dict]:
    events = admin.history("/v1/history", stream="audit")
    assert all(event["actor"]["kind"] == "system" and event["type"] == "RequestsAudited" for event in events)
    return [record for event in events for record in event["data"]["records"]]


def omitted(admin: API) -> int:
    return sum(event["data"]["omitted"] for event in admin.history("/v1/history", stream="audit"))


def found(admin: API, is_wanted) -> dict:
    """The record that is wanted, as soon as it is there."""
    return eventually(lambda: next(filter(is_wanted, records(admin)), None), "the record")


def test_a_denied_request_is_recorded_with_who_what_and_from_where(admin):
    viewer = admin.holding("viewer", name="looks only")
    answer = viewer.post(f"/v1/apps/{APP}/hosts", host_body("x.example.com"))
    assert answer.status == 403
    who = viewer.get("/v1/whoami").json["actor"]["id"]
    record = found(admin, lambda one: one.get("actor", {}).get("id") == who)
    assert (record["operation"], record["app"], record["outcome"], record["status"]) == ("addHost", APP, "denied", 403)
    assert record["problem"] == "permission_denied" and record["address"] == "127.0.0.1" and "proxy" not in record
    assert record["actor"]["name"] == "looks only"
    assert record["first_request_id"] == record["last_request_id"] == answer.headers["Request-Id"]


def test_an_app_that_a_token_does_not_see_is_recorded_as_denied(admin):
    till = admin.holding("admin", OTHER, name="till only")
    for app in (APP, "com.example.audit.nowhere"):
        assert till.get(f"/v1/apps/{app}").status == 404
        record = found(admin, lambda one: one.get("app") == app and one.get("actor", {}).get("name") == "till only")
        assert (record["outcome"], record["problem"]) == ("denied", "app_unknown")


def test_a_refused_change_is_recorded_and_a_recorded_one_is_not(admin):
    name = "refused changes"
    editor = admin.holding("editor", name=name)
    assert editor.post("/v1/apps", {"app": APP}).status == 409
    assert editor.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Audited"}).status == 200
    record = found(admin, lambda one: one.get("actor", {}).get("name") == name)
    assert (record["operation"], record["outcome"], record["problem"]) == ("createApp", "refused", "app_exists")
    # Requests are recorded in their order: with a later one, whatever was to be recorded of the change is there.
    admin.holding("viewer", name="comes later").post("/v1/apps", {"app": "com.example.audit.later"})
    found(admin, lambda one: one.get("actor", {}).get("name") == "comes later")
    assert not [one for one in records(admin) if one.get("actor", {}).get("name") == name and one["operation"] == "updateApp"]


def test_confidential_reads_are_recorded(admin):
    auditor = admin.holding("auditor", name="reviewer")
    reads = {
        "listHistory": "/v1/history", "listAppHistory": f"/v1/apps/{APP}/history", "listPrincipals": "/v1/access/principals",
        "listTokens": "/v1/tokens", "listKeys": "/v1/keys", "listWebhooks": "/v1/webhooks",
    }  # fmt: skip
    for _ in range(3):
        for path in reads.values():
            assert auditor.get(path).status == 200
    assert auditor.get("/v1/apps").status == 200
    for operation in reads:
        record = found(admin, lambda one: one.get("operation") == operation and one.get("actor", {}).get("name") == "reviewer")
        assert record["outcome"] == "read" and "problem" not in record
    mine = [one for one in records(admin) if one.get("actor", {}).get("name") == "reviewer"]
    # Further reads are counted into a record that comes an hour later.
    assert 1 <= sum(one["count"] for one in mine if one["operation"] == "listHistory") <= 3
    assert not [one for one in mine if one["operation"] == "listApps"]


def test_a_scan_leaves_its_requests_in_few_records(admin):
    """A scanner's thousand hostile requests, without a token and with wrong ones."""
    known = sum(one["count"] for one in records(admin) if "actor" not in one) + omitted(admin)
    mark = admin.mark()
    generator = random.Random(7)
    paths = ["/v1/../etc/passwd", "/v1/apps/%2e%2e%2f", "/.env", "/wp-login.php", "/v1/tokens", "/v1/keys", "/v1//apps", "/v1/apps;x",
             "/v1/apps/a/b/c/d/e", "/console/", "/v1/log?x=%00", "/v1/webhooks/' OR 1=1", "/v1/history?search=<script>"]  # fmt: skip
    answered = 0
    for number in range(1_000):
        path = generator.choice(paths).replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
        headers = {}
        if number % 3 == 0:
            headers["Authorization"] = "Bearer pk_adm_" + "".join(generator.choices(string.ascii_letters, k=36))
        connection = http.client.HTTPConnection("127.0.0.1", admin.port, timeout=30)
        connection.request(generator.choice(["GET", "POST", "DELETE", "PUT"]), path, headers=headers)
        response = connection.getresponse()
        response.read()
        assert 400 <= response.status < 500, (path, response.status)
        answered += 1
        connection.close()

    def counted() -> int:
        return sum(one["count"] for one in records(admin) if "actor" not in one) + omitted(admin) - known

    eventually(lambda: counted() == answered, "the last of the scan")
    made = [record for event in admin.history(stream="audit", after=mark - 1) for record in event["data"]["records"]]
    assert len(made) < 100, made
    kinds = {one["outcome"] for one in records(admin) if "actor" not in one}
    assert {"unauthenticated", "denied"} <= kinds


def test_the_record_is_for_those_who_may_read_it(admin):
    editor = admin.holding("editor")
    assert editor.get("/v1/history?stream=audit").status == 403
    assert not [event for event in editor.history() if event["stream"] == "audit"]
    assert [event for event in admin.holding("auditor").history("/v1/history", stream="audit")]


def test_the_command_line_shows_requests_and_reviews_access(own_server, admin):
    viewer = admin.holding("viewer", name="=formula")
    viewer.post("/v1/apps", {"app": "com.example.audit.no"})
    found(admin, lambda one: one.get("actor", {}).get("name") == "=formula")
    shown = own_server.cli("audit", "requests", "--outcome", "denied").stdout
    assert "createApp" in shown and "=formula" in shown and "127.0.0.1" in shown
    rows = list(csv.DictReader(io.StringIO(own_server.cli("audit", "requests", "--since", "1h", "--csv").stdout)))
    assert {"'=formula"} <= {row["actor_name"] for row in rows}
    assert all(row["outcome"] for row in rows)
    viewer.get("/v1/apps/com.example.audit.nothing")
    found(admin, lambda one: one.get("app") == "com.example.audit.nothing" and one["actor"]["name"] == "=formula")
    shown = own_server.cli("audit", "requests", "--outcome", "mistyped").stdout
    assert "com.example.audit.nothing" in shown and "createApp" not in shown
    assert "com.example.audit.nothing" not in own_server.cli("audit", "requests", "--outcome", "denied").stdout
    who = viewer.get("/v1/whoami").json["actor"]["id"]
    mine = own_server.cli_json("audit", "requests", "--actor", who)["requests"]
    assert {(one["operation"], one["is_mistyped"]) for one in mine} == {("createApp", False), ("getApp", True)}

    person = admin.must("POST", "/v1/access/principals", {"name": "Both"}).json["principal_id"]
    for role in ("editor", "approver"):
        admin.must("POST", f"/v1/access/principals/{person}/grants", {"role": role, "apps": [APP]})
    review = {line["id"]: line for line in own_server.cli_json("access", "review")["access"]}
    assert "writes changes and approves those of others" in review[person]["notes"] and "no valid token" in review[person]["notes"]
    assert "belongs to no principal" in review[who]["notes"]
    rows = list(csv.DictReader(io.StringIO(own_server.cli("access", "review", "--csv", "--ending", "365d").stdout)))
    assert any("ends soon" in row["notes"] for row in rows)


def test_an_auditor_who_does_not_see_an_app_is_shown_probes_for_it_as_denied(own_server, admin):
    probing = admin.holding("admin", APP, name="probes for others")
    assert probing.get(f"/v1/apps/{OTHER}").status == 404
    rule = {"apps": [OTHER], "approvals": 1, "permissions": ["apps.change"]}
    person = admin.must("POST", "/v1/access/principals", {"name": "Approves for others"}).json["principal_id"]
    admin.must("POST", f"/v1/access/principals/{person}/grants", {"role": "approver", "apps": [OTHER]})
    admin.must("PUT", "/v1/access/approval-rules/others", rule)
    assert probing.request("DELETE", "/v1/access/approval-rules/others").status == 404
    admin.must("DELETE", "/v1/access/approval-rules/others")
    who = probing.get("/v1/whoami").json["actor"]["id"]
    for problem in ("app_unknown", "approval_rule_unknown"):
        found(admin, lambda one: one.get("problem") == problem and one.get("actor", {}).get("id") == who)
    admin.must("PUT", "/v1/access/roles/audits-alone", {"permissions": ["audit.read", "history.read"]})
    grants = [{"role": "audits-alone", "apps": ["*"]}, {"role": "viewer", "apps": [APP]}]
    partial = admin.must("POST", "/v1/tokens", {"name": "sees one app", "grants": grants}).json["token"]
    for token in (partial, None):
        shown = own_server.cli("audit", "requests", "--actor", who, "--outcome", "denied", token=token).stdout
        assert "app_unknown" in shown and "approval_rule_unknown" in shown


def test_access_as_it_stood_at_a_moment(own_server, admin):
    auditor = admin.holding("auditor", name="reviews the past")
    person = admin.must("POST", "/v1/access/principals", {"name": "Was here"}).json["principal_id"]
    grant = admin.must("POST", f"/v1/access/principals/{person}/grants", {"role": "editor", "apps": [APP]}).json["grant_id"]
    token = admin.must("POST", "/v1/tokens", {"name": "theirs", "principal_id": person}).json["token_id"]
    then = admin.position()
    admin.must("DELETE", f"/v1/access/grants/{grant}")
    admin.must("DELETE", f"/v1/tokens/{token}")
    past, now = (auditor.get(f"/v1/access{query}").json for query in (f"?position={then}", ""))
    [before], [after] = ([one for one in answer["principals"] if one["principal_id"] == person] for answer in (past, now))
    assert [one["grant_id"] for one in before["grants"]] == [grant] and after["grants"] == []
    assert token in [one["token_id"] for one in past["tokens"]] and token not in [one["token_id"] for one in now["tokens"]]
    assert {one["role"] for one in past["roles"]} >= {"viewer", "admin"} and "sha256" not in json.dumps(past)
    # By its time too, and the same.
    [event] = [one for one in admin.history(type="TokenIssued") if one["data"]["token_id"] == token]
    assert auditor.get(f"/v1/access?at={event['time']}").json["principals"] == past["principals"]
    # For who may read all access, and no others.
    assert admin.holding("auditor", APP).get("/v1/access").status == 403
    for query, status in (("at=2099-01-01T00:00:00Z", 400), ("position=1&at=2026-01-01T00:00:00Z", 400), (f"position={10**9}", 409)):
        assert auditor.get(f"/v1/access?{query}").status == status
    lines = list(csv.DictReader(io.StringIO(own_server.cli("access", "review", "--position", str(then), "--csv").stdout)))
    [line] = [line for line in lines if line["id"] == person]
    assert (line["name"], line["valid_tokens"], line["last_change"]) == ("Was here", "1", "") and "editor" in line["may_do"]
    [line] = [line for line in csv.DictReader(io.StringIO(own_server.cli("access", "review", "--csv").stdout)) if line["id"] == person]
    assert line["valid_tokens"] == "0" and "no valid token" in line["notes"]
    found(admin, lambda one: one.get("operation") == "getAccess" and one["outcome"] == "read")


@pytest.mark.parametrize(
    "head, status, problem",
    [
        (b"GET /v1/apps HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "malformed_request"),
        (b"GET /v1/apps HTTP/1.1\r\nHost: a\r\nX-Large: " + b"a" * 9000 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"\x16\x03\x01 nothing of HTTP\r\n\r\n", 400, "malformed_request"),
    ],
)
def test_a_head_that_cannot_be_read_is_recorded(head, status, problem):
    # Strangers' requests are recorded at once on a node where there were none before.
    server = Server(lowers_rails=False)
    try:
        api = server.start().api
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head)
            answer = connection.recv(4096)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        record = found(api, lambda one: one.get("status") == status and "operation" not in one)
        assert (record["outcome"], record["problem"], record["address"]) == ("refused", problem, "127.0.0.1")
        assert record["first_request_id"].encode() in answer and "actor" not in record
    finally:
        server.destroy()


def test_a_read_only_node_has_its_requests_recorded_by_another_one(own_server, admin):
    login = "audit_reader"
    own_server.sql(f"CREATE ROLE {login} LOGIN; GRANT pinledger_reader TO {login}")
    database = own_server.connection_string.replace("user=pinledger_dev", f"user={login}")
    node, reader = start_node(own_server, "audit reader", "--read-only", database=database)
    try:
        name = "reads elsewhere"
        auditor = API(reader.port, admin.holding("auditor", name=name).token)
        eventually(lambda: auditor.get("/v1/history").status == 200, "the token on the other node")
        record = found(admin, lambda one: one.get("operation") == "listHistory" and one.get("actor", {}).get("name") == name)
        assert record["outcome"] == "read"
        [event] = [one for one in admin.history(stream="audit") if record in one["data"]["records"]]
        assert event["data"]["node"].endswith(" (read-only)")
        # What a login of such a node writes there that is no record stops nothing.
        own_server.sql(f"SET ROLE {login}; SELECT pinledger.deposit_audit('forged', 'x y', 0)")
        assert auditor.post("/v1/apps", {"app": "com.example.audit.elsewhere"}).status in (403, 503)
        found(admin, lambda one: one.get("operation") == "createApp" and one.get("actor", {}).get("name") == name)
        assert own_server.said("audit_deposit_unreadable")
        assert own_server.sql("SELECT count(*) FROM pinledger.audit_deposit") == "0"
    finally:
        node.stop()


def test_a_node_on_a_standby_leaves_its_records_in_the_primary_and_is_seen_there(own_server, admin):
    primary = SimpleNamespace(home=own_server.data / "postgresql", port=5432)
    standby = Cluster(standby_of=primary)
    login = "audit_standby"
    own_server.sql(f"CREATE ROLE {login} LOGIN; GRANT pinledger_reader TO {login}")
    standby.configure(max_connections=own_server.sql("SHOW max_connections"))
    try:
        standby.start()
        database = f"host={standby.home},{primary.home} port={standby.port},{primary.port} dbname=pinledger user={login}"
        node, reader = start_node(own_server, "audit standby", "--read-only", database=database)
        try:
            name = "reads from a standby"
            auditor = API(reader.port, admin.holding("auditor", name=name).token)
            eventually(lambda: auditor.get("/v1/history").status == 200, "the token on the standby's node")
            record = found(
                admin, lambda one: one.get("operation") == "listHistory" and one.get("actor", {}).get("name") == name)
            assert record["outcome"] == "read"
            sessions = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'audit_standby'"
            assert standby.execute("pinledger", sessions)[0][0] > 0, "the node does read from the standby"
            # Who migrates or raises the feature level learns of it.
            readers = "SELECT count(*) FROM pinledger.node WHERE is_read_only AND seen_at > now() - interval '1 minute'"
            eventually(lambda: own_server.sql(readers) == "1", "the node reports itself")
        finally:
            node.stop()
    finally:
        standby.destroy()
