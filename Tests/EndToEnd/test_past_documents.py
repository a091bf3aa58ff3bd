"""What an app's document said at any moment, compared with what was served then."""

import hashlib
import json
import random

import pytest
from pinledger import FULL, from_now, host_body, pin_of
from problems import expect_problem

APP, OTHER = "com.example.past", "com.example.past.other"
SEED = 20261125


class Observer:
    """Makes changes of every kind, and notes after each which document is served."""

    def __init__(self, server):
        self.api = server.api
        self.chance = random.Random(SEED)
        #: The content digest of each version that was served, oldest first.
        self.seen: dict[int, str] = {}
        self.api.make_app(APP, "api.example.com", "cdn.example.com")
        self.api.make_app(OTHER, "api.example.com")
        self.note()
        for number in range(300):
            self.change(number)
            self.note()
        events = self.api.history()
        requests = {each["position"]: each.get("request_id", each["position"]) for each in events}
        #: The version of the document once the first so many events were recorded: it counts those of two streams. What
        #: the server records by itself, at any moment, is in other streams.
        self.versions = [0]
        for each in events:
            self.versions.append(self.versions[-1] + (each["stream"] in ("fleet", f"app/{APP}")))
        #: Where a change ended, from the first document on. Within one, no document was ever served.
        first = self.versions.index(min(self.seen))
        self.ends = [end for end in range(first, len(events) + 1) if requests.get(end - 1) != requests.get(end)]

    def note(self) -> None:
        info = self.api.get(f"/v1/apps/{APP}/document").json
        payload = self.api.payload(APP)
        assert payload["content_sha256"] == info["content_sha256"]
        assert self.seen.setdefault(info["version"], info["content_sha256"]) == info["content_sha256"]

    def change(self, number: int) -> None:
        host = self.chance.choice(["api.example.com", "cdn.example.com"])
        match self.chance.randrange(8):
            case 0:
                self.api.must("PATCH", f"/v1/apps/{OTHER}", {"display_name": f"Other {number}"})
            case 1:
                self.api.must("POST", f"/v1/apps/{APP}/hosts", host_body(f"h{number}.example.com"))
            case 2:
                # Refused once the host has too many.
                pin = {"pin": pin_of(f"past {number}"), "role": "backup", "state": self.chance.choice(["active", "staged"])}
                self.api.request("POST", f"/v1/apps/{APP}/hosts/{host}/pins", pin)
            case 3:
                self.api.must(
                    "PUT", f"/v1/apps/{APP}/kill-switch", {"reason": "drill", "expires_at": from_now(hours=1 + number % 20)})
            case 4:
                self.api.request("DELETE", f"/v1/apps/{APP}/kill-switch?reason=over&force=true")
            case 5:
                self.api.must("PATCH", "/v1/fleet", {"issuer": f"issuer {number}"})
            case 6:
                self.api.must(
                    "PATCH", f"/v1/apps/{APP}",
                    {"rollout": {"basis_points": self.chance.randrange(10_001)}, "reason": "ramp", "force": True})  # fmt: skip
            case 7:
                self.api.must("PATCH", f"/v1/apps/{APP}", {"pins_valid_until": from_now(days=1 + number % 50), "reason": "end"})

    def served_at(self, position: int) -> tuple[str, int]:
        """What was served once the first `position` events were recorded."""
        version = self.versions[position]
        return self.seen[version], version


@pytest.fixture(scope="module")
def observer(own_server):
    return Observer(own_server)


def content(observer, query: str):
    answer = observer.api.get(f"/v1/apps/{APP}/document/content?{query}")
    assert answer.status == 200, str(answer)
    return answer


def test_documents_of_random_past_positions_are_those_that_were_served(observer):
    assert len(observer.ends) > 200
    for position in observer.chance.choices(observer.ends, k=1000 if FULL else 200):
        answer = content(observer, f"position={position}")
        assert int(answer["Pinledger-Position"]) == position
        digest, version = observer.served_at(position)
        assert (hashlib.sha256(answer.body).hexdigest(), answer.json["version"]) == (digest, version), position


def test_a_past_document_is_found_by_its_time(observer):
    events = {each["position"]: each["time"] for each in observer.api.history()}
    for position in observer.chance.sample(range(observer.ends[0], observer.ends[-1]), 20):
        answer = content(observer, f"at={events[position]}")
        # Events of one instant come together.
        assert int(answer["Pinledger-Position"]) > position
        digest, _ = observer.served_at(int(answer["Pinledger-Position"]))
        assert hashlib.sha256(answer.body).hexdigest() == digest


def test_the_present_document_is_shown_without_a_moment(observer):
    assert hashlib.sha256(content(observer, "").body).hexdigest() == list(observer.seen.values())[-1]


@pytest.mark.parametrize(
    ("query", "status", "type"),
    [("position=0", 404, "app_unknown"), ("position=-1", 400, "malformed_request"), ("position=9007199254740991", 409, "position_ahead"),
     ("position=1&at=2026-01-01T00:00:00Z", 400, "malformed_request"), ("at=2999-01-01T00:00:00Z", 400, "malformed_request"),
     ("at=yesterday", 400, "malformed_request"), ("at=2020-01-01T00:00:00Z", 404, "app_unknown")],
)  # fmt: skip
def test_a_moment_that_cannot_be_shown_is_refused(observer, query, status, type):
    answer = observer.api.get(f"/v1/apps/{APP}/document/content?{query}")
    expect_problem(answer, status, type)


def test_the_command_shows_what_a_document_said(own_server, observer):
    position = observer.ends[40]
    shown = own_server.cli("document", "show", APP, "--position", str(position)).stdout
    assert hashlib.sha256(shown.rstrip("\n").encode()).hexdigest() == observer.served_at(position)[0]
    same = own_server.cli("document", "show", APP, "--event", str(position - 1)).stdout
    assert same == shown and json.loads(shown)["aud"] == APP
    assert "not both" in own_server.cli("document", "show", APP, "--event", "1", "--position", "2", status=2).stderr
    assert "need an app" in own_server.cli("document", "show", "--file", "x", "--at", "1d", status=2).stderr
