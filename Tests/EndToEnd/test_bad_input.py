"""Whatever is sent, the answer is a problem that says what to do, nothing is recorded, and the server lives on."""

import errno
import json
import re
import socket
import zlib
from http.client import HTTPMessage

import pytest
from pinledger import Answer, host_body, pin_hex, pin_of
from problems import expect_problem

APP = "com.example.hard"
HOST = "api.example.com"
HOSTS = f"/v1/apps/{APP}/hosts"
PINS = f"{HOSTS}/{HOST}/pins"
PIN = f"{PINS}/{pin_hex(pin_of('api.example.com primary '))}"

NEW_PIN = {"pin": pin_of("a new one"), "role": "backup"}


@pytest.fixture(scope="module", autouse=True)
def app(server):
    server.api.make_app(APP, HOST)


@pytest.fixture(autouse=True)
def nothing_happens(app, unchanged):
    """Records nothing, and the server answers on: `unchanged` asks it."""


def raw(server, sent: bytes, *, close: bool = True, seconds: float = 60) -> Answer | None:
    """Sends bytes as they are and reads one answer; None where the connection is closed without any."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        try:
            connection.sendall(sent)
            if close:
                connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            # The server may have refused it, and be gone, before all of it was sent.
            assert error.errno in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN), error
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
                head, separator, body = received.partition(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head, re.I)
                if separator and length and len(body) >= int(length[1]):
                    break
        except ConnectionResetError:
            pass
    if not received:
        return None
    head, _, body = received.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    message = HTTPMessage()
    for field in fields:
        name, _, value = field.partition(":")
        message[name] = value.strip()
    return Answer(int(status.split()[1]), message, body)


def request(server, method: str, target: str, *fields: str, body: bytes = b"", token: bool = True) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *fields]
    if token:
        lines.append(f"Authorization: Bearer {server.api.token}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


# MARK: JSON

# The parser's refusals are in PinWireTests/JSONParserTests, and the requests that readers refuse in PinledgerServerTests/BadInputTests:
# one of each kind comes over a connection here.


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b"", ""),
        (b'{"app": "a", "app": "b"}', "/app"),
        (b'{"app": "\xff"}', "/app"),
        (b'{"app": "a"} // comment', ""),
        ('{"app": "a"}'.encode("utf-16"), ""),
        (b'{"baseline": {"pins": [{}, {"pin": tru}]}}', "/baseline/pins/1/pin"),
        (b"[" * 30_000, "/0" * 32),
        (b"[" + b"1," * 20_000 + b"1]", "/9999"),
    ],
    ids=["nothing", "a member twice", "invalid UTF-8", "a comment", "UTF-16", "no value", "deep arrays", "too many values"],
)
def test_malformed_json_is_refused_with_the_pointer_of_its_place(api, body, pointer):
    problem = expect_problem(api.post("/v1/apps", body), 400, "malformed_json", pointer)
    assert "byte" in problem["detail"]


# One for each operation that reads a body of its own.
VALUES = [
    ("POST", "/v1/apps", {"app": "a\u0000b"}, "/app"),
    ("POST", "/v1/apps", {"app": "a", "reason": "x" * 1001}, "/reason"),
    ("POST", "/v1/apps", {"app": "a", "a/b~c": "b"}, "/a~1b~0c"),
    ("POST", "/v1/apps", [], ""),
    ("PATCH", f"/v1/apps/{APP}", {"rollout": {"basis_points": 2**63}}, "/rollout/basis_points"),
    ("POST", HOSTS, host_body("API.example.com"), "/host"),
    ("POST", HOSTS, {"host": "new.example.com", "baseline": {"source": "document", "mode": "off", "pins": [{}]}},
     "/baseline/pins/0/pin"),
    ("PATCH", f"{HOSTS}/{HOST}", {"baseline": {"mode": "ENFORCE"}}, "/baseline/mode"),
    ("POST", PINS, {**NEW_PIN, "pin": "sha256/AAAA"}, "/pin"),
    ("PATCH", PIN, {"state": "staged"}, "/state"),
    ("POST", f"{HOSTS}/{HOST}/candidate", {}, "/mode"),
    ("POST", f"{HOSTS}/{HOST}/candidate/promote", {"mode": "off"}, "/mode"),
    ("PUT", f"/v1/apps/{APP}/kill-switch", {"reason": "why"}, "/expires_at"),
    ("PUT", "/v1/kill-switch", {"reason": "why", "expires_at": "9999999-01-01T00:00:00Z"}, "/expires_at"),
    ("POST", "/v1/tokens", {"name": "x", "grants": [{"role": "viewer", "apps": ["a*b"]}]}, "/grants/0/apps/0"),
    ("POST", "/v1/access/principals", {"name": "x", "kind": "robot"}, "/kind"),
    ("PATCH", "/v1/access/principals/prn_0000000000000000", {"name": "x", "suspended": True}, "/suspended"),
    ("PUT", "/v1/access/roles/own", {"permissions": ["apps.*"]}, "/permissions/0"),
    ("POST", "/v1/keys", {"alg": "none"}, "/alg"),
    ("PATCH", "/v1/fleet", {"issuer": "caf\u00e9"}, "/issuer"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "target", "body", "pointer"), VALUES)
def test_a_value_that_is_not_acceptable_is_refused_at_its_place(api, method, target, body, pointer):
    expect_problem(api.request(method, target, body), 422, "invalid_value", pointer)


def test_rules_refuse_with_problems_of_their_own(api):
    pin = pin_of("api.example.com primary ")
    few = {"source": "document", "mode": "enforce", "pins": [{"pin": pin_of("one"), "role": "primary"}]}
    for method, target, body, status, type in [
        ("POST", "/v1/apps", {"app": APP}, 409, "app_exists"),
        ("POST", "/v1/apps/com.example.nowhere/hosts", host_body(HOST), 404, "app_unknown"),
        ("GET", "/v1/apps/com.example.nowhere", None, 404, "app_unknown"),
        ("POST", HOSTS, host_body(HOST), 409, "host_exists"),
        ("POST", HOSTS, host_body("co.uk"), 422, "public_suffix"),
        ("POST", HOSTS, host_body("*.com"), 422, "public_suffix"),
        ("POST", HOSTS, {"host": "new.example.com", "baseline": few}, 422, "too_few_pins"),
        ("GET", f"{HOSTS}/other.example.com", None, 404, "host_unknown"),
        ("PATCH", f"{HOSTS}/other.example.com", {}, 404, "host_unknown"),
        ("POST", PINS, {"pin": pin, "role": "primary"}, 409, "pin_exists"),
        ("POST", PINS, {"pin": pin, "role": "backup"}, 422, "guard_rail"),
        ("POST", PINS, {**NEW_PIN, "pin": "sha256/" + "A" * 43 + "="}, 422, "pin_placeholder"),
        ("POST", PINS, {**NEW_PIN, "policy": "candidate"}, 409, "candidate_missing"),
        ("PATCH", f"{PINS}/{'0' * 64}", {"state": "retired"}, 404, "pin_unknown"),
        ("PATCH", PIN, {"state": "revoked"}, 422, "reason_required"),
        ("PATCH", f"{HOSTS}/{HOST}", {"baseline": {"mode": "off"}}, 422, "reason_required"),
        ("DELETE", f"{HOSTS}/{HOST}", None, 422, "reason_required"),
        ("DELETE", f"{HOSTS}/{HOST}/candidate", None, 409, "candidate_missing"),
        ("POST", f"{HOSTS}/{HOST}/candidate/promote", {}, 409, "candidate_missing"),
        ("DELETE", f"/v1/apps/{APP}/kill-switch", None, 409, "kill_switch_not_engaged"),
        ("POST", f"/v1/keys/{'A' * 43}/activate", {}, 404, "key_unknown"),
        ("DELETE", "/v1/tokens/tok_0000000000000000", None, 404, "token_unknown"),
    ]:
        expect_problem(api.request(method, target, body), status, type)


# MARK: Bodies

def test_a_body_that_is_too_large_is_refused(api):
    pad = b'{"app": "' + b"a" * 70_000 + b'"}'
    expect_problem(api.post("/v1/apps", pad[: 64 * 1024 + 1]), 413, "body_too_large")
    expect_problem(api.post("/v1/apps", pad[: 64 * 1024]), 400, "malformed_json")
    target = f"/v1/import/remote-config?app={APP}"
    expect_problem(api.post(target, b"[" + b" " * (1024 * 1024)), 413, "body_too_large")
    expect_problem(api.post(target, b"[" + b" " * (1024 * 1024 - 1)), 422, "import_refused")


def test_an_oversize_chunked_body_is_refused(server):
    head = request(server, "POST", "/v1/apps", "Content-Type: application/json", "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    expect_problem(raw(server, head + chunk * 2, close=False), 413, "body_too_large")


def test_an_oversize_body_that_is_only_declared_is_refused_before_it_comes(server):
    head = request(server, "POST", "/v1/apps", "Content-Type: application/json", "Content-Length: 10737418240")
    expect_problem(raw(server, head, close=False), 413, "body_too_large")


@pytest.mark.parametrize("token", [True, False])
def test_a_body_that_is_refused_is_not_read_to_its_end(server, token):
    """No client, least of all one without a token, may keep the server busy with gigabytes after the answer is known."""
    declared = 10 * 2**30
    fields = ["Content-Type: application/json", f"Content-Length: {declared}"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        connection.sendall(request(server, "POST", "/v1/apps", *fields, token=token))
        sent, chunk = 0, b" " * 65536
        with pytest.raises(OSError):
            while sent < 256 * 2**20:
                connection.sendall(chunk)
                sent += len(chunk)


def test_a_client_that_expects_100_continue_gets_it_or_a_refusal(server):
    """RFC 9110 section 10.1.1: 100 (Continue), or the final answer, before the body is sent."""
    body = b'{"display_name": "expected"}'
    fields = ["Content-Type: application/json", f"Content-Length: {len(body)}", "Expect: 100-continue"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        connection.sendall(request(server, "PATCH", f"/v1/apps/{APP}?dry_run=true", *fields))
        assert re.match(rb"HTTP/1.1 (100|4\d\d) ", connection.recv(1000))


def test_a_body_shorter_than_declared_records_nothing(server):
    head = request(server, "POST", "/v1/apps", "Content-Type: application/json", "Content-Length: 100")
    answer = raw(server, head + b'{"app": "com.example.short"}')
    assert answer is None or 400 <= answer.status < 500
    assert server.api.get("/v1/apps/com.example.short").status == 404


@pytest.mark.parametrize(
    "fields",
    [
        ["Content-Length: x"],
        ["Content-Length: -1"],
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: gzip"],
        ["Bad Header"],
        [": no name"],
    ],
)
def test_wrong_framing_is_refused_and_the_connection_closed(server, fields):
    sent = request(server, "POST", "/v1/apps", "Content-Type: application/json", *fields, body=b"{}\r\n\r\n")
    answer = raw(server, sent)
    assert answer is None or 400 <= answer.status < 500


def test_a_chunk_size_that_is_not_a_number_is_refused(server):
    head = request(server, "POST", "/v1/apps", "Content-Type: application/json", "Transfer-Encoding: chunked")
    answer = raw(server, head + b"zz\r\n{}\r\n0\r\n\r\n")
    assert answer is None or 400 <= answer.status < 500


@pytest.mark.parametrize("type", ["", "text/plain"])
def test_a_body_of_another_type_is_refused(api, type):
    expect_problem(api.post("/v1/apps", {"app": "com.example.type"}, **{"Content-Type": type}), 415, "unsupported_media_type")


def test_a_compressed_body_is_refused(api):
    body = zlib.compress(b" " * 1_000_000)
    answer = api.post("/v1/apps", body, **{"Content-Encoding": "deflate"})
    expect_problem(answer, (400, 415))


# MARK: Paths and queries

@pytest.mark.parametrize(
    "target",
    [f"/v1/apps/{APP}%ff", "/v1/apps/%2e%2e", "/v1/apps/..", f"{HOSTS}/API.example.com", "/client/v1/apps/a%00b/document", "/v1/tokens/tok_"],
)
def test_a_malformed_path_is_refused(api, target):
    methods = ["GET", "PATCH"] if target.startswith("/v1/apps") else ["GET"]
    if target.startswith("/v1/tokens"):
        methods = ["DELETE"]
    for method in methods:
        body = {} if method == "PATCH" else None
        expect_problem(api.request(method, target, body), 400, "malformed_request")


def test_a_pin_in_a_path_has_one_spelling(api):
    expect_problem(api.request("PATCH", f"{PINS}/{'A' * 64}", {"state": "active"}), 400, "malformed_request")


@pytest.mark.parametrize(
    "target",
    ["/", "//v1/apps", "/v1/x/../apps", "/../../etc/passwd", "/client/v1/jwks.json/", "/problems/nothing_of_this_name"],
)
def test_an_unknown_path_is_not_found(api, target):
    expect_problem(api.get(target), 404, "not_found")


@pytest.mark.parametrize("target", ["*", "v1/apps", "?x", "#", "http://localhost/v1/nothing"])
def test_a_target_that_is_not_a_path_is_refused(server, target):
    answer = raw(server, request(server, "GET", target))
    assert answer is None or 400 <= answer.status < 500


@pytest.mark.parametrize(
    ("target", "type"),
    [
        ("/v1/apps?x=1", "unknown_parameter"),
        ("/v1/apps?", None),
        ("/v1/apps?limit=0", "malformed_request"),
        ("/v1/apps?limit=%31%30%zz", "malformed_request"),
        ("/v1/apps?limit=1&limit=1", "malformed_request"),
        ("/v1/apps?cursor=%00", "invalid_cursor"),
        ("/v1/apps?cursor=" + "e" * 3000, "invalid_cursor"),
        ("/v1/history?since=2026-13-01T00:00:00Z", "malformed_request"),
        ("/v1/history?order=random", "malformed_request"),
        ("/v1/history?stream=app/", "malformed_request"),
        ("/v1/history?actor=%00", "malformed_request"),
        ("/v1/history?type=%00", "malformed_request"),
        ("/v1/events?after=-1", "malformed_request"),
        ("/v1/events?after=9007199254740991", "position_ahead"),
        ("/v1/events?app=com.example.nowhere", "app_unknown"),
        ("/client/v1/apps/com.example.hard/document?x=1", "unknown_parameter"),
        ("/healthz?x=" + "y" * 8000, "unknown_parameter"),
    ],
)
def test_a_malformed_query_is_refused(api, target, type):
    answer = api.get(target)
    if type is None:
        assert answer.status == 200
    else:
        expect_problem(answer, {"app_unknown": 404, "position_ahead": 409}.get(type, 400), type)


def test_a_stream_from_beyond_the_end_is_refused_however_it_is_asked_for(api):
    expect_problem(api.get("/v1/events", **{"Last-Event-ID": "999999"}), 409, "position_ahead")


def test_a_cursor_belongs_to_its_list_and_filters(api):
    cursor = api.must("GET", "/v1/history?limit=1").json["next_cursor"]
    assert api.get(f"/v1/history?limit=1&cursor={cursor}").status == 200
    for target in ("/v1/history?order=oldest&", "/v1/history?type=AppCreated&", f"/v1/apps/{APP}/history?", "/v1/apps?"):
        expect_problem(api.get(f"{target}cursor={cursor}"), 400, "invalid_cursor")


def test_a_thousand_query_parameters_are_refused(api):
    query = "&".join(f"p{number}=1" for number in range(1000))
    expect_problem(api.get(f"/v1/apps?{query}"), (400, 414), None)


def test_very_long_targets_and_headers_are_refused(server):
    for sent in (
        request(server, "GET", "/v1/apps/" + "a" * 100_000),
        request(server, "GET", "/healthz", "X-Long: " + "a" * 200_000),
        request(server, "GET", "/healthz", *(f"X-{number}: 1" for number in range(10_000))),
    ):
        answer = raw(server, sent)
        assert answer is None or 400 <= answer.status < 500, str(answer)


# MARK: Methods

@pytest.mark.parametrize(
    ("target", "method", "allowed"),
    [
        ("/v1/apps", "TRACE", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("/v1/apps", "PROPFIND", {"GET", "HEAD", "OPTIONS", "POST"}),
        (f"/v1/apps/{APP}", "DELETE", {"GET", "HEAD", "OPTIONS", "PATCH"}),
        (PIN, "HEAD", {"OPTIONS", "PATCH"}),
        (f"/client/v1/apps/{APP}/document", "POST", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_a_method_that_does_not_exist_is_refused_with_those_that_do(api, target, method, allowed):
    answer = api.request(method, target)
    if method == "HEAD":
        assert (answer.status, answer.body) == (405, b"")
    else:
        expect_problem(answer, 405, "method_not_allowed")
    assert {name.strip() for name in answer["Allow"].split(",")} == allowed


def test_options_lists_the_methods_of_a_path(api):
    answer = api.request("OPTIONS", "/v1/apps", token=None)
    assert (answer.status, answer.body) == (204, b"")
    assert "POST" in answer["Allow"]


@pytest.mark.parametrize("method", ["CONNECT", "get", "BREW", "G\xcbT", ""])
def test_a_malformed_method_is_refused(server, method):
    """By the HTTP parser, which closes the connection without a problem's words."""
    answer = raw(server, request(server, method, "/v1/apps"))
    assert answer is None or 400 <= answer.status < 500


# MARK: Tokens and headers

def test_a_request_without_a_valid_token_learns_nothing(server, api):
    good = api.token
    flipped = good[:-8] + ("a" if good[-8] != "a" else "b") + good[-7:]
    for header, type in [
        (None, "token_missing"),
        ("", "token_missing"),
        ("Bearer", "token_missing"),
        (f"Basic {good}", "token_missing"),
        (good, "token_missing"),
        ("Bearer x", "token_malformed"),
        (f"Bearer {good[:-1]}", "token_malformed"),
        (f"Bearer {good}x", "token_malformed"),
        (f"Bearer {flipped}", "token_malformed"),
        (f"Bearer {good.replace('pk_adm', 'pk_xyz')}", "token_malformed"),
        ("Bearer " + "a" * 6000, "token_malformed"),
        # A well-formed token that was never issued: the checksum is over the secret alone.
        (f"Bearer {good.replace('pk_adm', 'pk_ci')}", "token_invalid"),
    ]:
        for method, target in [("GET", "/v1/apps"), ("POST", "/v1/apps"), ("GET", "/v1/events"), ("GET", "/v1/whoami")]:
            headers = {} if header is None else {"Authorization": header}
            body = {"app": "com.example.sneaky"} if method == "POST" else None
            answer = api.request(method, target, body, headers, token=None)
            expect_problem(answer, 401, type)
            assert answer["WWW-Authenticate"].startswith("Bearer")
    # Two tokens are no token.
    answer = raw(server, request(server, "GET", "/v1/apps", "Authorization: Bearer x"))
    assert answer is not None and answer.status in (400, 401), str(answer)


@pytest.mark.parametrize("value", ["1", '"1", "2"', '"99999999999999999999"'])
def test_a_bad_if_match_is_refused(api, value):
    answer = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "New"}, {"If-Match": value})
    expect_problem(answer, (400, 412))


@pytest.mark.parametrize("value", ["", "a\tb", "caf\u00e9"])
def test_a_bad_idempotency_key_is_refused(server, value):
    body = b'{"display_name": "New"}'
    fields = ["Content-Type: application/json", f"Content-Length: {len(body)}", f"Idempotency-Key: {value}"]
    answer = raw(server, request(server, "PATCH", f"/v1/apps/{APP}", *fields, body=body))
    expect_problem(answer, 400, "malformed_request")


@pytest.mark.parametrize("value", ["x", " "])
def test_a_bad_last_event_id_is_refused(api, value):
    expect_problem(api.get("/v1/events", **{"Last-Event-ID": value}), 400, "malformed_request")


def test_the_id_of_an_event_in_an_epoch_to_come_is_refused(api):
    expect_problem(api.get("/v1/events", **{"Last-Event-ID": "1.5"}), 409, "position_ahead")


# MARK: The problems themselves

def test_every_problem_has_a_page_at_its_type(api):
    known = {problem["type"]: problem for problem in api.get("/problems").json["problems"]}
    for type, problem in known.items():
        assert re.fullmatch(r"/problems/[a-z_]+", type)
        answer = api.request("GET", type, token=None)
        assert (answer.status, answer.json) == (200, problem)
        assert 400 <= problem["status"] < 600


def test_a_detail_never_carries_control_characters_back(api):
    answer = api.get("/%1b%5b31m%0d%0a" + "x" * 50)
    problem = expect_problem(answer, 404)
    assert re.fullmatch(r"[\x20-\x7e]+", problem["detail"])
    answer = api.get("/v1/apps?%1b%5b31m=1")
    assert re.fullmatch(r"[\x20-\x7e]+", expect_problem(answer, 400)["detail"])
    assert "\x1b" not in json.dumps(answer.json)
