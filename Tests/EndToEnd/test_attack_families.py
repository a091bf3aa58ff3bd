"""Families of attacks by which other software of this kind was broken. Each runs here over one operation of each kind of wiring, with
every value at the code that reads it (PathSpellingTests and ExplodingBodiesTests in Swift), and daily over every operation of the
contract (sweeps/). Those that need a scene of their own have it elsewhere: one-time codes in test_sign_in.py, certificates of operators
in test_operators_tls.py, names and timing of what a token does not see in test_access.py and Tests/Benchmarks/existence.py."""

import json
import re
import urllib.parse
from pathlib import Path

import pytest
from attacks import (
    BOMBS, reaches_no_other_operation, refuses_bodies_that_explode, shows_no_markup, takes_a_quote_for_a_value,
    takes_no_other_spelling_for_an_app, takes_no_other_spelling_for_an_id, tells_nothing_by_a_handle, variants,
)  # fmt: skip
from contract import resolved
from operations import (
    MINE, OPERATIONS, OTHERS, WITH_BODY, WITH_PARAMETERS, KeepAlive, ask, example, examined, handle_names, handles_of_others, is_operators,
    make_apps, named, parameters_of, sweep, target,
)  # fmt: skip
from pinledger import in_threads


@pytest.fixture(scope="module")
def admin(own_server):
    own_server.api.server = own_server
    make_apps(own_server.api)
    return own_server.api


@pytest.fixture(scope="module")
def mine(admin):
    """All rights on one app."""
    return admin.holding("admin", MINE)


@pytest.fixture(scope="module")
def handles(admin) -> dict[str, str]:
    return handles_of_others(admin)


@pytest.fixture
def unchanged(admin, handles):
    """Fails the test if something was recorded on this file's server while it ran."""
    mark = admin.mark()
    yield
    assert admin.since(mark) == []


# R1: identifiers that are one thing to a check, and another to a use

# The first operation of the contract with each parameter; reads of what is there first, since they would find it.
ONE_OF_EACH = {}
for each in sorted(WITH_PARAMETERS, key=lambda one: (one[0].startswith("/compat/"), one[1] != "get")):
    for parameter in parameters_of(each):
        ONE_OF_EACH.setdefault(parameter, each)


@pytest.mark.parametrize("name", ["getApp", "addHost", "getDocument"])
def test_another_spelling_of_an_app_is_no_app(admin, mine, unchanged, name):
    for app in (MINE, OTHERS):
        takes_no_other_spelling_for_an_app([KeepAlive(admin), KeepAlive(mine)], named(name), app, variants(app))


@pytest.mark.parametrize("name", [name for name, one in ONE_OF_EACH.items() if is_operators(one) and name in handle_names(one)])
def test_another_spelling_of_an_id_names_nothing(admin, handles, unchanged, name):
    takes_no_other_spelling_for_an_id(KeepAlive(admin), handles, ONE_OF_EACH[name], name, variants(handles[name]))


# R4: names of files, sockets and addresses that the server would open


def address_members(schema: dict, pointer: tuple = (), depth: int = 0):
    """The members of a body whose schema is that of an address that the server opens."""
    if depth > 6:
        return
    if "OutgoingURL" in schema.get("$ref", "") or pointer and pointer[-1] in ("url", "issuer", "endpoint"):
        yield pointer
        return
    schema = resolved(schema)
    for name, member in schema.get("properties", {}).items():
        yield from address_members(member, (*pointer, name), depth + 1)
    for kind in ("oneOf", "anyOf", "allOf"):
        for member in schema.get(kind, []):
            yield from address_members(member, pointer, depth + 1)


def opening_operations():
    for path, method, operation in WITH_BODY:
        content = resolved(operation["requestBody"])["content"].get("application/json")
        for pointer in {*address_members(content["schema"])} if content else ():
            yield path, method, operation, pointer


OPENING = [*opening_operations()]
# What is no address that the server opens, but has the name of one.
NOT_OPENED = {("updateFleet", ("issuer",))}
FORBIDDEN = [
    "file:///etc/passwd", "gopher://127.0.0.1/", "http://127.0.0.1/", "https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
    "https://169.254.169.254/latest/meta-data/", "https://0.0.0.0/", "https://10.0.0.1/", "https://192.168.1.1/", "https://localhost/",
    "https://127.1/", "https://2130706433/", "https://0x7f000001/", "unix:/var/run/docker.sock", "https://user:password@example.com/", "//x", "",
]  # fmt: skip


def test_the_operations_that_open_addresses_are_known():
    found = {(operation["operationId"], pointer) for _, _, operation, pointer in OPENING} - NOT_OPENED
    assert found == {
        ("createWebhook", ("url",)), ("updateWebhook", ("url",)), ("setIdentityProvider", ("issuer",)), ("addWitness", ("url",)),
        ("probe", ("endpoint",)), ("linkIdentity", ("issuer",)),
    }, "an operation that opens an address is new: guard it, and name it here"  # fmt: skip


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_of_this_machine_or_its_network_is_refused(admin, handles, unchanged, address):
    for path, method, operation, pointer in OPENING:
        name = operation["operationId"]
        if (name, pointer) in NOT_OPENED or name == "linkIdentity":
            continue
        body = example(operation)
        where = target(path, webhook_id=handles["webhook_id"])
        answer = ask(admin, (path, method, operation), where, body | {pointer[-1]: address})
        # What is refused is the address, and nothing before it.
        assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, f"/{pointer[-1]}"), f"{name}: {answer}"


# R6: another tenant's things by their handles


def test_a_handle_of_another_app_is_answered_like_one_that_names_nothing(admin, mine, handles):
    """Over every operation: only a handler can tell whose a thing is."""
    asking = KeepAlive(mine)
    with sweep(admin) as offenders:
        for one in WITH_PARAMETERS:
            if is_operators(one) and handle_names(one):
                with offenders.of(one):
                    tells_nothing_by_a_handle(asking, handles, one)


def test_a_cursor_or_key_of_another_caller_opens_nothing(admin, mine):
    for number in range(3):
        admin.must("PATCH", f"/v1/apps/{OTHERS}", {"display_name": f"Theirs {number}"}, {"Idempotency-Key": f"their key {number}"})
    lists = [f"/v1/apps/{OTHERS}/history", "/v1/history", "/v1/apps", "/v1/changes"]
    for path in lists:
        cursor = admin.get(f"{path}?limit=1").json.get("next_cursor")
        if cursor is None:
            continue
        for other in (f"/v1/apps/{MINE}/history", "/v1/apps", "/v1/changes"):
            answer = examined(mine.get(f"{other}?cursor={urllib.parse.quote(cursor)}"))
            assert OTHERS not in answer.body.decode(), answer
    # The same key for the same request, from another caller, is a request of its own.
    answer = examined(mine.request("PATCH", f"/v1/apps/{OTHERS}", {"display_name": "Theirs 0"}, {"Idempotency-Key": "their key 0"}))
    assert (answer.status, answer.json["type"]) == (404, "/problems/app_unknown")


# R7: paths out of their place


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_path_out_of_its_place_reaches_no_other_operation(admin, unchanged, name):
    values = ["..", "%2e%2e", "..%2f..%2f", "../..", "x%2f", f"..%2f{MINE}", "%c0%af", "%00", "..;"]
    reaches_no_other_operation(KeepAlive(admin), ONE_OF_EACH[name], name, values)


# R8: bodies that cost more than they are long

# Operations by what reads their bodies.
BODY_READERS = {
    "changes": ["createApp", "updateApp", "setRole"], "changes with keys": ["addHost", "addPin", "applyAppSpec"],
    "questions": ["signIn", "simulate", "explain"], "files": ["importFile", "inspect", "importRemoteConfig"],
    "reports": ["sendReports", "sendTrustKitReport", "sendPinReport"],
    "deployed clients": ["createWultraApp", "addWultraVersion", "verifyMueJamFingerprint"],
}  # fmt: skip


def memory(server) -> int:
    """What a server's process holds, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


@pytest.mark.parametrize("reader", BODY_READERS)
def test_a_body_that_explodes_is_refused(admin, unchanged, reader):
    for name in BODY_READERS[reader]:
        refuses_bodies_that_explode(KeepAlive(admin), named(name))


def test_many_exploding_bodies_at_once_take_little_memory(admin):
    server = admin.server
    for _ in range(2):
        in_threads(20, lambda index: admin.post("/v1/apps", [*BOMBS.values()][index % len(BOMBS)]))
    before = memory(server)
    for _ in range(10):
        for answer in in_threads(20, lambda index: admin.post("/v1/apps", [*BOMBS.values()][index % len(BOMBS)])):
            assert 400 <= examined(answer).status < 500
    assert memory(server) - before < 50 << 20


# R9 and R13: secrets that come out again

CANARY = "c4n4ryc4n4ryc4n4ryc4n4ryc4n4ry"


def secrets_of(schema: dict, pointer: tuple = (), depth: int = 0):
    """The members of a body that may hold a secret: keys, passwords, tokens."""
    if depth > 5:
        return
    schema = resolved(schema)
    for name, member in schema.get("properties", {}).items():
        if re.search(r"password|private|secret|material|identity_token|code$|seed|signature", name):
            yield (*pointer, name)
        yield from secrets_of(member, (*pointer, name), depth + 1)
    for kind in ("oneOf", "anyOf", "allOf"):
        for member in schema.get(kind, []):
            yield from secrets_of(member, pointer, depth + 1)


def placed(body: dict, pointer: tuple, value) -> dict:
    body = json.loads(json.dumps(body))
    place = body
    for name in pointer[:-1]:
        place = place.setdefault(name, {})
        if not isinstance(place, dict):
            return body
    place[pointer[-1]] = value
    return body


def test_no_secret_that_comes_in_comes_out(admin):
    """In answers, the log, and all that the database holds."""
    server, sent, asking, stranger = admin.server, 0, KeepAlive(admin), KeepAlive(admin, token=None)
    key = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n"
    for path, method, operation in OPERATIONS:
        where = target(path)
        for scheme in (f"Bearer pk_adm_{CANARY}000000", f"Bearer {CANARY}", f"Basic {CANARY}", CANARY):
            answer = ask(stranger, (path, method, operation), where, Authorization=scheme)
            assert CANARY not in answer.body.decode(errors="replace"), answer
        if "requestBody" not in operation:
            continue
        content = resolved(operation["requestBody"])["content"].get("application/json")
        if content is None:
            continue
        for pointer in {*secrets_of(content["schema"])}:
            for value in (CANARY, key, {CANARY: CANARY}):
                answer = ask(asking, (path, method, operation), where, placed(example(operation), pointer, value))
                assert answer.status >= 400 and CANARY not in answer.body.decode(errors="replace"), (pointer, answer)
                sent += 1
    assert sent > 30
    assert CANARY not in server.log.read_text(errors="replace")
    tables = server.sql(
        "SELECT string_agg(format('%I', relname), ' ') FROM pg_class WHERE relnamespace = 'pinledger'::regnamespace AND relkind = 'r'")
    for table in tables.split():
        shows = " OR ".join(f"t::text LIKE '%{text}%'" for text in (CANARY, CANARY.encode().hex()))
        assert server.sql(f"SELECT count(*) FROM pinledger.{table} t WHERE {shows}") == "0", table


# R10: SQL that is put together from values; the sources are in Tests/Lint/test_sources.py

# One operation for each parameter of a query, and of a path.
ONE_QUERY_OF_EACH = {}
for each in OPERATIONS:
    for parameter in each[2].get("parameters", []) if each[1] == "get" and is_operators(each) else []:
        if resolved(parameter)["in"] == "query":
            ONE_QUERY_OF_EACH.setdefault(resolved(parameter)["name"], each)


def test_a_quote_in_a_query_is_a_value_or_refused(admin, unchanged):
    for name, one in ONE_QUERY_OF_EACH.items():
        takes_a_quote_for_a_value(KeepAlive(admin), one, name)


# R11: markup that comes in as a value


def test_markup_is_never_part_of_a_page(admin):
    pages = [one for one in OPERATIONS if any("text/html" in resolved(each).get("content", {}) for each in one[2]["responses"].values())]
    assert pages
    asking = KeepAlive(admin)
    for one in [*pages, *(ONE_OF_EACH[name] for name in ONE_OF_EACH if ONE_OF_EACH[name][1] == "get")]:
        shows_no_markup(asking, one)
