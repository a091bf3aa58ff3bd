"""Conditional writes, repeated writes, and writes that are only rehearsed."""

import json

import pytest
from pinledger import EVERYTHING, from_now, host_body, in_threads, pin_hex, pin_of
from problems import expect_problem

APP = "com.example.writes"
HOST = "api.example.com"


@pytest.fixture(scope="module", autouse=True)
def app(server):
    server.api.make_app(APP, HOST)


def add_pin(api, text: str, **headers):
    return api.post(f"/v1/apps/{APP}/hosts/{HOST}/pins", {"pin": pin_of(text), "role": "backup"}, **headers)


@pytest.mark.parametrize(
    "resource", [f"/v1/apps/{APP}", f"/v1/apps/{APP}/hosts", f"/v1/apps/{APP}/hosts/{HOST}", "/v1/fleet"]
)
def test_a_stale_change_is_refused_with_the_current_tag(api, resource):
    tag = api.get(resource)["ETag"]
    method, target, body = {
        "/v1/fleet": ("PATCH", "/v1/fleet", lambda text: {"issuer": text}),
    }.get(resource, ("PATCH", f"/v1/apps/{APP}", lambda text: {"display_name": text}))
    first = api.request(method, target, body(f"first for {resource}"), {"If-Match": tag})
    assert first.status == 200, str(first)
    assert first["ETag"] != tag
    mark = api.mark()
    stale = api.request(method, target, body(f"second for {resource}"), {"If-Match": tag})
    expect_problem(stale, 412, "stale_version")
    assert stale["ETag"] == first["ETag"] == api.get(resource)["ETag"]
    assert f'"{stale.json["current_version"]}"' == first["ETag"]
    assert api.since(mark) == []
    again = api.request(method, target, body(f"second for {resource}"), {"If-Match": stale["ETag"]})
    assert again.status == 200
    assert api.request(method, target, body(f"third for {resource}"), {"If-Match": "*"}).status == 200


def test_one_of_many_changes_for_one_version_wins(api):
    tag = api.get(f"/v1/apps/{APP}")["ETag"]
    mark = api.mark()
    answers = in_threads(
        16, lambda n: api.request("PATCH", f"/v1/apps/{APP}", {"display_name": f"racer {n}"}, {"If-Match": tag})
    )
    assert sorted(answer.status for answer in answers) == [200] + [412] * 15
    assert len(api.since(mark)) == 1
    (winner,) = (answer for answer in answers if answer.status == 200)
    assert api.get(f"/v1/apps/{APP}").json["display_name"] == winner.json["events"][0]["data"]["display_name"]


def test_the_answer_to_a_change_names_its_position_and_shows_its_events(api):
    answer = add_pin(api, "positions")
    assert answer.status == 201
    assert answer["Location"] == f"/v1/apps/{APP}/hosts/{HOST}"
    position = answer.json["position"]
    assert answer["Pinledger-Position"] == str(position) and position <= api.position()
    assert [event["type"] for event in answer.json["events"]] == ["PinStaged", "PinActivated"]
    assert answer.json["events"] == api.history()[position - 2 : position]
    assert answer["ETag"] == api.get(f"/v1/apps/{APP}")["ETag"]


def test_fifty_parallel_requests_with_one_key_are_recorded_once(api):
    mark = api.mark()
    answers = in_threads(50, lambda _: add_pin(api, "one key", **{"Idempotency-Key": "fifty"}))
    assert {answer.status for answer in answers} == {201}
    assert len({json.dumps(answer.recorded) for answer in answers}) == 1, "every answer is the first one's"
    assert [answer["Idempotency-Replayed"] for answer in answers].count(None) == 1
    assert all(answer["Idempotency-Replayed"] in (None, "true") for answer in answers)
    assert len({(answer["ETag"], answer["Pinledger-Position"], answer["Location"]) for answer in answers}) == 1
    assert len(api.since(mark)) == 2
    later = add_pin(api, "one key", **{"Idempotency-Key": "fifty"})
    # Findings of guard rails are given once, with the first answer.
    replayed = {answer.body for answer in answers if answer["Idempotency-Replayed"]}
    assert (later.status, later["Idempotency-Replayed"], {later.body}) == (201, "true", replayed)


def test_a_key_stands_for_one_request_alone(api):
    assert add_pin(api, "reuse", **{"Idempotency-Key": "reuse"}).status == 201
    mark = api.mark()
    for answer in (
        add_pin(api, "reuse, but another", **{"Idempotency-Key": "reuse"}),
        api.post(f"/v1/apps/{APP}/hosts", host_body("reuse.example.com"), **{"Idempotency-Key": "reuse"}),
        api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "reuse"}, {"Idempotency-Key": '"reuse"'}),
    ):
        expect_problem(answer, 422, "idempotency_key_reused")
    assert api.since(mark) == []


def test_a_key_that_a_refused_request_carried_can_be_used_again(api):
    key = {"Idempotency-Key": "refused first"}
    refused = api.post(f"/v1/apps/{APP}/hosts", host_body("co.uk"), **key)
    assert refused.status == 422
    assert api.post(f"/v1/apps/{APP}/hosts", host_body("refused-first.example.com"), **key).status == 201


def test_a_repeated_change_that_would_now_be_refused_is_still_answered_by_its_first_result(api):
    key = {"Idempotency-Key": "later impossible"}
    first = api.post(f"/v1/apps/{APP}/hosts", host_body("impossible.example.com"), **key)
    assert first.status == 201
    api.must("DELETE", f"/v1/apps/{APP}/hosts/impossible.example.com?reason=gone")
    again = api.post(f"/v1/apps/{APP}/hosts", host_body("impossible.example.com"), **key)
    assert (again.status, again.recorded) == (201, first.recorded)
    assert api.get(f"/v1/apps/{APP}/hosts/impossible.example.com").status == 404


def test_a_repeated_change_with_a_stale_condition_is_still_answered_by_its_first_result(api):
    headers = {"Idempotency-Key": "stale replay", "If-Match": api.get(f"/v1/apps/{APP}")["ETag"]}
    first = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Stale replay"}, headers)
    again = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Stale replay"}, headers)
    assert (first.status, again.status, again.recorded) == (200, 200, first.recorded)


def test_a_change_that_changes_nothing_records_nothing(api):
    name = api.get(f"/v1/apps/{APP}").json["display_name"]
    mark = api.mark()
    answer = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": name})
    assert (answer.status, answer.json["events"]) == (200, [])
    assert api.request("PATCH", f"/v1/apps/{APP}", {}).status == 200
    assert api.since(mark) == []


def test_a_rehearsal_shows_events_and_difference_and_records_nothing(api, unchanged):
    pin = pin_of("rehearsed")
    tag, document = api.get(f"/v1/apps/{APP}")["ETag"], api.document(APP)["ETag"]
    answer = api.post(
        f"/v1/apps/{APP}/hosts/{HOST}/pins?dry_run=true", {"pin": pin, "role": "backup"},
        **{"Idempotency-Key": "rehearsed"},
    )  # fmt: skip
    assert answer.status == 200, "nothing was created"
    assert answer["Location"] is None
    assert answer.json["dry_run"] is True
    assert [event["type"] for event in answer.json["events"]] == ["PinStaged", "PinActivated"]
    (change,) = (item for item in answer.json["difference"] if pin.replace("/", "~1") in item["pointer"])
    assert change["before"] is None
    assert change["after"]["pin"] == pin and change["after"]["state"] == "active"
    assert (api.get(f"/v1/apps/{APP}")["ETag"], api.document(APP)["ETag"]) == (tag, document)


def test_a_rehearsal_is_refused_as_the_change_would_be(api, unchanged):
    for method, target, body, headers, type in [
        ("POST", f"/v1/apps/{APP}/hosts", host_body("co.uk"), {}, "public_suffix"),
        ("POST", "/v1/apps", {"app": APP}, {}, "app_exists"),
        ("PATCH", f"/v1/apps/{APP}", {"display_name": "x"}, {"If-Match": '"1"'}, "stale_version"),
        ("PUT", f"/v1/apps/{APP}/kill-switch", {"expires_at": from_now(hours=1)}, {}, "reason_required"),
    ]:
        answer = api.request(method, f"{target}?dry_run=true", body, headers)
        assert answer.json["type"] == f"/problems/{type}"


def test_every_kind_of_change_can_be_rehearsed(api, unchanged):
    hosts = f"/v1/apps/{APP}/hosts"
    pin = pin_hex(pin_of(f"{HOST} backup "))
    for method, target, body in [
        ("POST", "/v1/apps?dry_run=true", {"app": "com.example.rehearsed"}),
        ("PATCH", f"/v1/apps/{APP}?dry_run=true", {"version_gate": {"minimum": "9.0"}}),
        ("POST", f"{hosts}?dry_run=true", host_body("rehearsed.example.com")),
        ("PATCH", f"{hosts}/{HOST}?dry_run=true", {"include_subdomains": True}),
        ("DELETE", f"{hosts}/{HOST}?dry_run=true&reason=why", None),
        ("POST", f"{hosts}/{HOST}/candidate?dry_run=true", {"mode": "report_only", "reason": "why"}),
        ("PATCH", f"{hosts}/{HOST}/pins/{pin}?dry_run=true", {"role": "emergency"}),
        ("PUT", "/v1/kill-switch?dry_run=true", {"expires_at": from_now(hours=1), "reason": "why"}),
        ("PUT", f"{hosts}/{HOST}/kill-switch?dry_run=true", {"expires_at": from_now(hours=1), "reason": "why"}),
        ("PATCH", "/v1/fleet?dry_run=true", {"issuer": "rehearsed.example.com"}),
        ("POST", "/v1/keys?dry_run=true", {}),
        ("POST", "/v1/tokens?dry_run=true", {"grants": EVERYTHING, "name": "rehearsed"}),
    ]:
        answer = api.request(method, target, body)
        assert answer.status == 200, f"{method} {target}: {answer}"
        assert answer.json["dry_run"] is True and answer.json["events"], f"{method} {target}"
        assert answer.json["difference"], f"{method} {target}"
        assert "token" not in answer.json, "a secret of a token that does not exist"


def test_a_token_is_shown_once_works_expires_and_is_revoked(api, timed):
    key = {"Idempotency-Key": "a token"}
    made = api.post("/v1/tokens", {"grants": EVERYTHING, "name": "pipeline", "reason": "for the build"}, **key)
    assert made.status == 201
    token, identifier = made.json["token"], made.json["token_id"]
    assert api.request("GET", "/v1/whoami", token=token).json["token"]["token_id"] == identifier
    again = api.post("/v1/tokens", {"grants": EVERYTHING, "name": "pipeline", "reason": "for the build"}, **key)
    assert again.status == 201 and again["Idempotency-Replayed"] == "true"
    assert "token" not in again.json
    assert token.encode() not in api.get("/v1/tokens").body + api.get("/v1/history").body

    api.must("DELETE", f"/v1/tokens/{identifier}?reason=the%20build%20moved")
    refused = api.request("GET", "/v1/whoami", token=token)
    expect_problem(refused, 401, "token_invalid")
    twice = api.request("DELETE", f"/v1/tokens/{identifier}?reason=again")
    expect_problem(twice, 409, "token_revoked")

    short = timed.api.post("/v1/tokens", {"grants": EVERYTHING, "name": "short", "expires_at": timed.clock.from_now(hours=1)}).json["token"]
    assert timed.api.request("GET", "/v1/whoami", token=short).status == 200
    timed.forward(hours=1)
    over = timed.api.request("GET", "/v1/whoami", token=short)
    expect_problem(over, 401, "token_invalid")


def test_pages_of_lists_are_complete_and_without_repetition(api):
    for number in range(7):
        api.must("POST", "/v1/apps", {"app": f"com.example.page.{number}"})
    seen, target = [], "/v1/apps?limit=3"
    while target:
        answer = api.must("GET", target)
        seen += [app["app"] for app in answer.json["apps"]]
        link = answer["Link"]
        target = link.partition("<")[2].partition(">")[0] if link else None
    assert seen == sorted(set(seen)) and len(seen) >= 8
    events, target = [], "/v1/history?limit=7&type=AppCreated,HostAdded"
    while target:
        answer = api.must("GET", target)
        events += answer.json["events"]
        link = answer["Link"]
        target = link.partition("<")[2].partition(">")[0] if link else None
    wanted = [event for event in api.history() if event["type"] in ("AppCreated", "HostAdded")]
    assert events == wanted[::-1]


@pytest.mark.parametrize("exists", [False, True])
def test_an_import_that_is_sent_again_is_answered_as_the_first_time(api, exists):
    app = f"com.example.repeated.{exists}"

    def configuration(enabled: bool) -> dict:
        pins = {"primary": pin_of("import primary"), "backup": pin_of("import backup")}
        return {"hosts": {"api.example.com": {"enabled": enabled, "pins": pins}}}

    if exists:
        api.must("POST", "/v1/apps", {"app": app})
    key = {"Idempotency-Key": f"import-{app}"}
    first = api.post(f"/v1/import/remote-config?app={app}", configuration(True), **key)
    assert first.status == (200 if exists else 201), str(first)
    again = api.post(f"/v1/import/remote-config?app={app}", configuration(True), **key)
    assert (again.status, again.recorded, again["Location"]) == (first.status, first.recorded, first["Location"])
    assert first["Idempotency-Replayed"] is None and again["Idempotency-Replayed"] == "true"
    other = api.post(f"/v1/import/remote-config?app={app}", configuration(False), **key)
    expect_problem(other, 422, "idempotency_key_reused")
