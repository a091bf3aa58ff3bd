"""Events for other programs: each form read by a program that is not this one."""

import csv
import io
import json
from datetime import datetime, timedelta, timezone
from hashlib import sha256

import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from pinledger import eventually, host_body
from problems import expect_problem

APP, HOST = "com.example.exports", "api.example.com"
#: Names that a spreadsheet would compute, or that would break a row.
NAMES = ["=1+2", "+49", "-2+3", "@SUM(A1)", 'say "hi", and more', "plain, with a comma", "Grüße", "plain"]


@pytest.fixture(scope="module")
def ledger(own_server):
    api = own_server.api
    api.must("POST", "/v1/apps", {"app": APP, "display_name": "Exports"})
    for name in NAMES:
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": name, "reason": "=cmd|' /C calc'!A0"})
    api.lower_rails()
    api.must("POST", f"/v1/apps/{APP}/hosts", host_body(HOST))
    end = (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    api.must("PUT", f"/v1/apps/{APP}/kill-switch", {"expires_at": end, "reason": "drill"})
    return own_server


def entries(server, condition: str = "true") -> list[bytes]:
    rows = server.sql(f"SELECT encode(entry, 'hex') FROM pinledger.event WHERE {condition} ORDER BY position")
    return [bytes.fromhex(row) for row in rows.split()]


def export(server, form: str, *options: str) -> str:
    return server.cli("audit", "export", "--format", form, *options).stdout


def exported(server, form: str) -> tuple[list[str], list[bytes]]:
    """The lines of all events, and the events. One that the server records meanwhile, of who reads, is in neither."""
    recorded = entries(server)
    lines = export(server, form).splitlines()
    assert len(lines) >= len(recorded)
    return lines[: len(recorded)], recorded


def test_lines_are_the_recorded_bytes(ledger):
    lines, recorded = exported(ledger, "ndjson")
    assert [line.encode() for line in lines] == recorded
    assert export(ledger, "ndjson", APP).encode().splitlines() == entries(ledger, f"stream = 'app/{APP}'")
    tokens = export(ledger, "ndjson", "--type", "token.*").encode().splitlines()
    assert tokens == entries(ledger, "type LIKE 'Token%'") and tokens


def test_an_export_goes_on_behind_the_last_event_that_it_has(ledger):
    all_lines, _ = exported(ledger, "ndjson")
    last = len(all_lines) - 1
    assert export(ledger, "ndjson", "--after", "3").splitlines()[: last - 3] == all_lines[4:]
    eventually(lambda: export(ledger, "ndjson", "--after", str(ledger.api.position() - 1)) == "", "an end without a later event")
    assert len(export(ledger, "csv", "--after", "3").splitlines()) > 1
    refused = ledger.api.get("/v1/history?after=-1")
    expect_problem(refused, 400, "malformed_request")
    assert ledger.api.must("GET", "/v1/history?after=3&order=oldest&limit=1").json["events"][0]["position"] == 4
    newest = ledger.api.must("GET", f"/v1/history?after={last - 1}").json["events"]
    assert newest[-1]["position"] == last


def test_a_table_has_each_event_in_a_row_and_no_formula(ledger):
    text = export(ledger, "csv", APP)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    recorded = [json.loads(entry) for entry in entries(ledger, f"stream = 'app/{APP}'")]
    assert [int(row["position"]) for row in rows] == [event["position"] for event in recorded]
    for row, event in zip(rows, recorded, strict=True):
        assert json.loads(row["data"]) == event["data"]
        assert (row["type"], row["actor_id"], row["time"]) == (event["type"], event["actor"]["id"], event["time"])
        assert row["reason"].removeprefix("'") == event.get("reason", "")
        assert not [cell for cell in row.values() if cell and cell[0] in "=+-@\t\r\n"]
    assert len([row for row in rows if row["reason"] == "'=cmd|' /C calc'!A0"]) == len(NAMES)
    assert text.startswith('"position","time","stream",')


def test_cloud_events_are_read_by_the_library_of_their_makers(ledger):
    lines, recorded_entries = exported(ledger, "cloudevents")
    for line, entry in zip(lines, recorded_entries, strict=True):
        event = JSONFormat().read(CloudEvent, line)
        recorded = json.loads(entry)
        assert event.get_id() == sha256(b"\0" + entry).hexdigest()
        assert event.get_type() == f"pinledger.{recorded['type']}" and event.get_subject() == recorded["stream"]
        assert event.get_time() == datetime.fromisoformat(recorded["time"])
        assert (event.get_datacontenttype(), event.get_data()) == ("application/json", recorded)
        assert event.get_source() == f"http://127.0.0.1:{ledger.port}"
        sequence = event.get_extension("sequence")
        assert int(sequence) == recorded["position"] and len(sequence) == 19


def test_events_for_a_siem_have_what_the_schemas_base_and_class_require(ledger):
    required = {
        "activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid", "actor", "entity",
    }  # fmt: skip
    found = {}
    for line, entry in zip(*exported(ledger, "ocsf"), strict=True):
        event, recorded = json.loads(line), json.loads(entry)
        assert required <= event.keys()
        assert (event["category_uid"], event["class_uid"]) == (3, 3004)
        assert event["activity_id"] in {1, 3, 4} and event["type_uid"] == 300400 + event["activity_id"]
        assert event["severity_id"] in {1, 3, 4}
        assert event["metadata"]["product"]["vendor_name"] and event["metadata"]["version"] == "1.1.0"
        assert event["metadata"]["uid"] == sha256(b"\0" + entry).hexdigest()
        assert event["actor"]["user"]["uid"] == recorded["actor"]["id"]
        assert event["entity"]["version"] == str(recorded["stream_version"])
        assert event["entity"]["uid"] and event["unmapped"]["entry"] == recorded
        assert event.get("comment") == recorded.get("reason")
        found[recorded["type"]] = (event["activity_name"], event["severity"], event["entity"]["type"])
    assert found["AppCreated"] == ("Create", "Informational", "app")
    assert found["AppRenamed"] == ("Update", "Informational", "app")
    assert found["TokenIssued"] == ("Create", "Medium", "access")
    assert found["KillSwitchEngaged"] == ("Create", "High", "app")


def test_an_unknown_form_is_refused_with_the_known_ones(ledger):
    said = ledger.cli("audit", "export", "--format", "xml", status=2).stderr
    for form in ["ndjson", "csv", "cloudevents", "ocsf"]:
        assert form in said
