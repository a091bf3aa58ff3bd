"""Searching the history for a text, as a reviewer does."""

import threading
import urllib.parse

import pytest
from pinledger import eventually, from_now, host_body, pin_of
from problems import expect_problem

APP, HOST = "com.example.searched", "api.searched.example"


@pytest.fixture(scope="module")
def history(server):
    """An app with a short history, by position."""
    api = server.api
    api.make_app(APP, HOST)
    api.must("POST", f"/v1/apps/{APP}/hosts", host_body("other.searched.example"))
    body = {"expires_at": from_now(hours=1), "reason": 'Ticket OPS-4711: "Störung" on api'}
    answer = api.must("PUT", f"/v1/apps/{APP}/kill-switch", body)
    api.must("DELETE", f"/v1/apps/{APP}/kill-switch", {"reason": "over"})
    return answer


def found(api, text: str, **query) -> list[dict]:
    target = f"/v1/history?{urllib.parse.urlencode({'search': text, **query})}"
    events: list[dict] = []
    while target:
        page = api.must("GET", target).json
        events += page["events"]
        target = f"/v1/history?{urllib.parse.urlencode({'search': text, 'cursor': page['next_cursor'], **query})}" \
            if "next_cursor" in page else ""  # fmt: skip
    return events


def test_pins_hosts_reasons_and_requests_are_found(server, api, history):
    for text in ("OPS-4711", "ops-4711", '"Störung"', 'ticket ops-4711: "st'):
        assert [event["type"] for event in found(api, text)] == ["KillSwitchEngaged"], text
    assert {event["data"]["host"] for event in found(api, "other.searched.EXAMPLE")} == {"other.searched.example"}
    pin = next(pin for pin in api.get(f"/v1/apps/{APP}/hosts/{HOST}").json["baseline"]["pins"])["pin"]
    events = found(api, pin)
    assert events and all(pin in str(event) for event in events)
    (engaged,) = found(api, "OPS-4711")
    assert engaged in found(api, engaged["request_id"])
    assert found(api, "OPS-4711", type="HostAdded") == []
    assert found(api, "OPS-4711", stream=f"app/{APP}") == [engaged]
    assert found(api, "OPS-4711", until=engaged["time"]) == []
    assert found(api, "no such text anywhere") == []
    told = api.must("GET", f"/v1/apps/{APP}/history?search=OPS-4711").json["events"]
    assert told == [engaged]


def test_the_command_line_searches(server, history):
    shown = server.cli("history", "--search", "ops-4711").stdout
    assert shown.count("OPS-4711") == 1 and APP in shown
    assert "OPS-4711" in server.cli("history", APP, "--search", "Störung", "--since", "1d").stdout
    assert "OPS-4711" not in server.cli("history", "--search", pin_of("unknown")).stdout


def test_a_search_for_nothing_or_for_too_much_is_refused(api):
    for text in ("", "x" * 257):
        answer = api.get(f"/v1/history?search={text}")
        expect_problem(answer, 400, "malformed_request")
        assert "search" in answer.json["detail"]


def test_a_person_has_one_search_at_a_time_and_leaves_the_other_place_to_others(server, api):
    waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'pinledger.event'::regclass AND NOT granted"
    people = [api.holding("auditor", name=f"searcher-{number}") for number in range(3)]
    answers: list = []

    def search(person):
        answers.append(person.get("/v1/history?search=slow"))

    searches = [threading.Thread(target=search, args=[person]) for person in people[:2]]
    with server.locked("pinledger.event", "ACCESS EXCLUSIVE"):
        for number, thread in enumerate(searches, start=1):
            thread.start()
            eventually(lambda number=number: int(server.sql(waiting)) >= number, "a search that waits for the table")
            # Whose search it is has no second one; without a share, the first person's would take the second person's place.
            expect_problem(people[number - 1].get("/v1/history?search=second"), 503, "overloaded")
        expect_problem(people[2].get("/v1/history?search=third"), 503, "overloaded")
        assert answers == []
    for thread in searches:
        thread.join()
    # A table that stays locked for long ends a statement, which is not a matter of places.
    assert all(answer.status == 200 or answer.json["code"] != "overloaded" for answer in answers)
    api.must("GET", "/v1/history?search=slow")
