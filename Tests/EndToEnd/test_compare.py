"""An app at two moments compared, and the versions of its document between two times."""

import base64
import hashlib
import time

import pytest
from pinledger import API, from_now, host_body, pin_of
from problems import expect_problem

APP, HOST = "com.example.compare", "api.example.com"


class Story:
    """An app of which each document that a client could fetch is known."""

    def __init__(self, server):
        self.api: API = server.api
        self.fetched: list[tuple[int, str]] = []
        self.positions: list[int] = []
        self.times: list[str] = []
        self.api.make_app(APP, HOST)
        self.note()
        self.did("POST", f"/v1/apps/{APP}/hosts", host_body("cdn.example.com"))
        self.did("PATCH", f"/v1/apps/{APP}", {"display_name": "Compared", "fallback": {"use_builtin_pins": False}})
        self.did("PUT", "/v1/kill-switch", {"reason": "drill", "expires_at": from_now(hours=1)})
        self.did("DELETE", "/v1/kill-switch?reason=over&force=true")
        self.did("PATCH", f"/v1/apps/{APP}/hosts/cdn.example.com", {"baseline": {"mode": "report_only"}, "reason": "w", "force": True})

    def did(self, method: str, target: str, body=None) -> None:
        time.sleep(0.02)
        self.api.must(method, target, body)
        self.note()

    def note(self) -> None:
        payload = self.api.payload(APP)
        self.fetched.append((payload["version"], payload["content_sha256"]))
        self.positions.append(self.api.position())
        self.times.append(self.api.history()[-1]["time"])

    def compare(self, query: str) -> dict:
        return self.api.must("GET", f"/v1/apps/{APP}/differences?{query}").json


@pytest.fixture(scope="module")
def story(own_server):
    return Story(own_server)


def pointers(items: list[dict]) -> list[str]:
    return [item["pointer"] for item in items]


def test_the_versions_between_two_times_are_those_that_clients_could_fetch(story):
    page = story.api.must("GET", f"/v1/apps/{APP}/document/versions").json
    found = [(each["version"], each["content_sha256"]) for each in page["versions"]]
    # The app's creation and its first host are two changes before the first fetch.
    assert found[-len(story.fetched):] == story.fetched
    assert len(found) == len(story.fetched) + 1
    times = [(each["since"], each.get("until")) for each in page["versions"]]
    assert all(until == following[0] for (_, until), following in zip(times, times[1:]))
    assert times[-1][1] is None
    for each in page["versions"]:
        content = story.api.must("GET", f"/v1/apps/{APP}/document/content?position={each['position']}")
        assert hashlib.sha256(content.body).hexdigest() == each["content_sha256"]


def test_a_period_begins_with_the_version_that_stood_at_its_beginning(story):
    path = f"/v1/apps/{APP}/document/versions"
    # Exactly at the time of the third change, and until just before the fifth.
    page = story.api.must("GET", f"{path}?since={story.times[2]}&until={story.times[4]}").json["versions"]
    assert [each["version"] for each in page] == [version for version, _ in story.fetched[2:4]]
    assert "until" not in page[-1]
    # Before the first host, the app was there.
    whole = story.api.must("GET", path).json["versions"]
    earlier = story.api.must("GET", f"{path}?until={story.times[0]}").json["versions"]
    assert [each["content_sha256"] for each in earlier] == [whole[0]["content_sha256"]]
    assert story.api.must("GET", f"{path}?until=2001-01-01T00:00:00Z").json["versions"] == []


def test_versions_come_in_pages(story):
    path = f"/v1/apps/{APP}/document/versions"
    whole = story.api.must("GET", path).json["versions"]
    found, cursor = [], ""
    while cursor is not None:
        answer = story.api.must("GET", f"{path}?limit=2{cursor and f'&cursor={cursor}'}")
        found += answer.json["versions"]
        cursor = answer.json.get("next_cursor")
        assert ("Link" in answer.headers) == (cursor is not None)
    assert found == whole
    assert story.api.get(f"{path}?cursor=e30").status == 400
    assert story.api.get(f"{path}?since={story.times[4]}&until={story.times[2]}").status == 400
    assert story.api.get("/v1/apps/com.example.nobody/document/versions").status == 404
    assert story.api.request("GET", path, token=None).status == 401


def test_two_moments_are_compared_in_settings_and_document(story):
    first, last = story.positions[0], story.positions[-1]
    found = story.compare(f"from_position={first}&to_position={last}")
    assert pointers(found["settings"]) == ["/display_name", "/fallback/use_builtin_pins", "/hosts/cdn.example.com"]
    assert pointers(found["document"]) == ["/fallback/use_builtin_pins", "/hosts/cdn.example.com", "/version"]
    assert (found["from"]["version"], found["from"]["content_sha256"]) == story.fetched[0]
    assert (found["to"]["version"], found["to"]["content_sha256"]) == story.fetched[-1]
    # The other way round everything is the other way round.
    back = story.compare(f"from_position={last}&to_position={first}")
    assert [(item["pointer"], item["after"], item["before"]) for item in found["settings"]] == [
        (item["pointer"], item["before"], item["after"]) for item in back["settings"]
    ]
    assert story.compare(f"from_position={first}") == found
    # What holds for every app shows in the document.
    fleet = story.compare(f"from_position={story.positions[2]}&to_at={story.times[3]}")
    assert fleet["settings"] == []
    assert pointers(fleet["document"]) == ["/kill_switches", "/version"]
    same = story.compare(f"from_at={story.times[3]}&to_at={story.times[3]}")
    assert same["settings"] == same["document"] == []


def test_counters_and_times_are_no_settings(story):
    pins = f"/v1/apps/{APP}/hosts/{HOST}/pins"
    pin = pin_of("compare staged")
    story.api.must("POST", pins, {"pin": pin, "role": "backup", "state": "staged"})
    start = story.api.position()
    path = base64.b64decode(pin.removeprefix("sha256/")).hex()
    story.api.must("PATCH", f"{pins}/{path}", {"state": "active"})
    story.api.must("PATCH", f"/v1/apps/{APP}", {"rollout": {"basis_points": 500}})
    found = pointers(story.compare(f"from_position={start}")["settings"])
    assert [each.split("/")[-1] for each in found] == ["state", "rollout"], found


@pytest.mark.parametrize(
    "query, status, kind",
    [("from_position=1&from_at=2026-01-01T00:00:00Z", 400, "malformed_request"), ("to_at=2999-01-01T00:00:00Z", 400, "malformed_request"),
     ("from_position=0", 404, "app_unknown"), ("from_position=9007199254740991", 409, "position_ahead"),
     ("from=4", 400, "unknown_parameter")],
)  # fmt: skip
def test_moments_that_cannot_be_compared_are_refused(story, query, status, kind):
    answer = story.api.get(f"/v1/apps/{APP}/differences?{query}")
    expect_problem(answer, status, kind)


def test_the_commands_show_both(story, own_server):
    first, last = story.positions[0], story.positions[-1]
    text = own_server.cli("app", "compare", APP, "--from", str(first), "--to", str(last)).stdout
    assert "+ host cdn.example.com" in text and "~ display name: " in text
    lines = own_server.cli("app", "compare", APP, "--from", str(first), "--text").stdout.splitlines()
    assert lines[0].startswith(f"--- {APP} at position {first}, version ")
    assert '-    "use_builtin_pins": true' in lines and '+    "use_builtin_pins": false' in lines
    table = own_server.cli("document", "versions", APP, "--since", story.times[2]).stdout.splitlines()
    path = f"/v1/apps/{APP}/document/versions?since={story.times[2]}"
    assert len(table) == 1 + len(story.api.must("GET", path).json["versions"])
    assert table[1].split()[0] == str(story.fetched[2][0])
    assert own_server.cli("app", "compare", APP, "--from", "soon", status=2).stderr.startswith("pinledger: soon is not a time")
