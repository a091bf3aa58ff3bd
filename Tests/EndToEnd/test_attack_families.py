"""Families of attacks by which other software of this kind was broken, each over every operation of the contract, so that a new
operation is covered by being there. Those that need a scene of their own have it elsewhere: one-time codes in test_sign_in.py,
certificates of operators in test_operators_tls.py, names and timing of what a token does not see in test_access.py and
Tests/Benchmarks/existence.py."""

import base64
import json
import re
import unicodedata
import urllib.parse
from pathlib import Path

import pytest
from contract import CONTRACT, operations, resolved
from pinledger import API, from_now, host_body, in_threads, pin_hex, pin_of
from test_access import FILLINGS
from test_changes import Person

ROOT = Path(__file__).parents[2]
MINE, HOST = "com.example.families.mine", "mine.example.com"
OTHERS, OTHER_HOST = "org.example.families.theirs", "theirs.example.org"
SECRET = re.compile(r"pk_(adm|ci|tel|cal|cli|wrp|ses|web)_[0-9A-Za-z]{36}|-----BEGIN [A-Z ]*PRIVATE KEY")
# Streams do not end by themselves.
STREAMS = {"streamEvents", "streamDocument", "streamDocuments"}
OPERATIONS = [one for one in operations() if one[2]["operationId"] not in STREAMS]
WITH_BODY = [one for one in OPERATIONS if "requestBody" in one[2]]
WITH_PARAMETERS = [one for one in OPERATIONS if "{" in one[0]]
ON_APPS = [one for one in OPERATIONS if "{app}" in one[0]]


def name_of(one) -> str:
    return one[2]["operationId"] if isinstance(one, tuple) else str(one)


def over(chosen):
    return pytest.mark.parametrize("one", chosen, ids=name_of)


@pytest.fixture(scope="module")
def admin(own_server):
    api = own_server.api
    api.server = own_server
    api.make_app(MINE, HOST)
    api.make_app(OTHERS, OTHER_HOST)
    return api


@pytest.fixture(scope="module")
def mine(admin):
    """All rights on one app."""
    return admin.holding("admin", MINE)


@pytest.fixture(scope="module")
def handles(admin) -> dict[str, str]:
    """Things of another app, or of the installation, by the names of their parameters."""
    path = f"/v1/apps/{OTHERS}"
    person = Person(admin, "Their admin", "admin", "org.example.*")
    made = {
        # Principals belong to no app: who reads access on one app sees their names, and no grants on others.
        "host": OTHER_HOST, "pin": pin_hex(pin_of(f"{OTHER_HOST} primary ")), "token_id": person.token_id,
        "grant_id": admin.get(f"/v1/access/principals/{person.id}").json["grants"][0]["grant_id"],
        "key_id": admin.must("POST", f"{path}/telemetry-keys", {}).json["key_id"],
        "feed": admin.must("POST", f"{path}/calendar-feeds", {}).json["feed_id"],
        "webhook_id": admin.must("POST", "/v1/webhooks", {"url": "https://hooks.invalid/pins"}).json["webhook_id"],
        "kid": admin.get("/v1/keys").json["keys"][0]["kid"],
        "change_id": person.api.must("PATCH", f"{path}?change=new", {"display_name": "Theirs", "reason": "x"}).json["change_id"],
        "freeze_id": admin.must("POST", "/v1/access/freezes", {
            "apps": ["org.example.*"], "from": from_now(days=1), "until": from_now(days=2)}).json["freeze_id"],
    }  # fmt: skip
    made["rule"] = "theirs"
    admin.must("PUT", "/v1/access/approval-rules/theirs", {"apps": ["org.example.families.none"], "approvals": 1, "permissions": ["apps.change"]})
    return made


def is_open(one) -> bool:
    """Whether a server of the test's may be asked: what clients ask for is public."""
    return one[0].startswith("/v1/") or one[0].startswith("/calendars/")


def target(path: str, **values: str) -> str:
    filled = {"app": MINE, "host": HOST} | {name: value for name, value in FILLINGS.items() if name != "host"} | values
    return re.sub(r"\{(\w+)\}", lambda match: filled.get(match[1], "x"), path)


def examined(answer):
    """An answer as every family wants it: no error of the server's, and a refusal gives nothing away."""
    assert answer.status < 500 or answer.status == 503, answer
    if answer.status >= 400:
        said = answer.body.decode(errors="replace") + "".join(f"{name}: {value}\n" for name, value in answer.headers.items())
        assert not SECRET.search(said), said
        assert str(ROOT) not in said and ".swift:" not in said and "SQLSTATE" not in said, said
    return answer


def example(operation: dict):
    """The body of the contract's own example, so that nothing is refused for its body alone."""
    content = resolved(operation["requestBody"])["content"].get("application/json", {})
    return content.get("example") or next(iter(content.get("examples", {"": {"value": {}}}).values()))["value"]


def ask(api: API, one, where: str, body=..., **headers):
    path, method, operation = one
    if body is ...:
        body = example(operation) if "requestBody" in operation else None
    return examined(api.request(method.upper(), where, body, headers or None))


def rehearsed(one) -> str:
    """The query of an operation that makes an app of any name, so that it only says what it would make."""
    return "?dry_run=true" if one[2]["operationId"] == "applyAppSpec" else ""


def would_create(one, answer) -> bool:
    """Whether it took the name for that of an app which does not exist."""
    return bool(rehearsed(one)) and answer.status == 200 and answer.json["events"][0]["type"] == "AppCreated"


# R1: identifiers that are one thing to a check, and another to a use


def variants(name: str) -> list[str]:
    """Spellings that a careless comparison takes for the name."""
    spaced = [f"{name} ", f" {name}", f"{name}\t", f"{name}\u00a0", f"{name}\u200d", f"{name}\ufeff", f"{name}\x00", f"{name}\n"]
    cased = [name.upper(), name.swapcase(), name.title()]
    alike = [name.replace("e", "\u0435", 1), name.replace("o", "\u043e", 1), unicodedata.normalize("NFD", name.replace("e", "\u00e9", 1)),
             name.replace(".", "\u3002"), name.replace(".", "\uff0e"), name.translate({ord("a"): "\uff41"})]  # fmt: skip
    dotted = [f"{name}.", f".{name}", name.replace(".", "..", 1), f"{name}/", f"{name}%00", f"{name};", f"{name},{name}"]
    return [one for one in spaced + cased + alike + dotted if one != name]


@over(ON_APPS)
def test_another_spelling_of_an_app_is_no_app(admin, mine, one):
    before = admin.recorded()
    for app in (MINE, OTHERS):
        for variant in variants(app):
            where = target(one[0], app=urllib.parse.quote(variant, safe="")) + rehearsed(one)
            for api in (admin, mine):
                answer = ask(api, one, where)
                if would_create(one, answer):
                    continue
                # Wultra's interface says of what is not there that it is deleted. A body may be wrong before there is an app.
                allowed = (200, 400, 404) if one[0].startswith("/compat/") else (400, 401, 404, 422)
                assert answer.status in allowed, (where, answer)
    assert admin.recorded() == before


# What is no id of a thing that someone made: values of the contract, and names that a request may give.
NO_HANDLES = {"position", "code", "client", "format", "id", "key", "language", "rotation", "provider", "identity_id", "role", "principal_id", "domain"}


@over([one for one in WITH_PARAMETERS if is_open(one)])
def test_another_spelling_of_an_id_names_nothing(admin, handles, one):
    before = admin.recorded()
    for name in re.findall(r"\{(\w+)\}", one[0]):
        if name in NO_HANDLES | {"app"}:
            continue
        for variant in variants(handles[name]):
            where = target(one[0], **({"app": OTHERS, "host": OTHER_HOST} | {name: urllib.parse.quote(variant, safe="")}))
            answer = ask(admin, one, where)
            # What has no such thing to name may still say that its body is wrong.
            assert answer.status in (400, 401, 403, 404, 409, 422) or one[1] == "get" and answer.status == 200, (name, variant, answer)
            if answer.status == 200:
                assert not answer.json.get(name), answer
    assert admin.recorded() == before


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
def test_an_address_of_this_machine_or_its_network_is_refused(admin, handles, address):
    before = admin.recorded()
    for path, method, operation, pointer in OPENING:
        name = operation["operationId"]
        if (name, pointer) in NOT_OPENED or name == "linkIdentity":
            continue
        body = example(operation)
        where = target(path, webhook_id=handles["webhook_id"])
        answer = ask(admin, (path, method, operation), where, body | {pointer[-1]: address})
        # What is refused is the address, and nothing before it.
        assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, f"/{pointer[-1]}"), f"{name}: {answer}"
    assert admin.recorded() == before


# R6: another tenant's things by their handles


@over([one for one in WITH_PARAMETERS if is_open(one)])
def test_a_handle_of_another_app_is_answered_like_one_that_names_nothing(admin, mine, handles, one):
    before = admin.recorded()
    for name in re.findall(r"\{(\w+)\}", one[0]):
        if name in NO_HANDLES | {"app"}:
            continue
        bogus = {"host": "nothing.example.org", "kid": "none"}.get(name) or FILLINGS[name]
        theirs, nothing = (ask(mine, one, target(one[0], **{name: value})) for value in (handles[name], bogus))
        assert theirs.status == nothing.status, (name, theirs, nothing)
        assert theirs.status >= 400 or name in ("host",) and one[1] == "get", (name, theirs)
        if theirs.body and theirs.status >= 400:
            # Texts name pins in base64.
            names = [handles[name]] + ([base64.b64encode(bytes.fromhex(handles[name])).decode()] if name == "pin" else [])
            said = [answer.body.decode() for answer in (theirs, nothing)]
            for one_name, other in zip(names, [bogus, base64.b64encode(bytes.fromhex(FILLINGS["pin"])).decode()]):
                said = [text.replace(one_name, other) for text in said]
            said = [json.loads(text) | {"instance": ""} for text in said]
            assert said[0] == said[1]
    assert admin.recorded() == before


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

STEPS = ["..", ".", "%2e%2e", "%2e", "..%2f..%2f", "%2f", "%252e%252e", "%c0%ae%c0%ae", "%c0%af", "%00", ";x=1", "%5c..%5c", "..;", "%u002e"]


@over(WITH_PARAMETERS)
def test_a_path_out_of_its_place_reaches_no_other_operation(admin, one):
    before = admin.recorded()
    for name in re.findall(r"\{(\w+)\}", one[0]):
        for step in STEPS:
            for value in (step, f"{step}/{step}", f"x{step}", f"{step}%2f{MINE}"):
                answer = ask(admin, one, target(one[0], **{name: value}) + rehearsed(one))
                assert answer.status in (400, 401, 403, 404, 405, 409, 422) or would_create(one, answer) or (
                    # Deployed clients' servers answer so for what is not there.
                    one[0].startswith("/compat/") and answer.status in (200, 500)
                ) or one[1] == "get" and answer.status == 200 and "{position}" not in one[0] and MINE not in answer.body.decode(), (value, answer)  # fmt: skip
    assert admin.recorded() == before


# R8: bodies that cost more than they are long

BOMBS = {
    "deep arrays": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "many members": b"{" + b",".join(b'"m%d":0' % number for number in range(50_000)) + b"}",
    "many elements": b'{"a":[' + b"0," * 200_000 + b"0]}",
    "one member twice": b'{"reason":"a","reason":"b"}',
    "a long name": b'{"' + b"k" * 500_000 + b'":0}',
    "a long number": b'{"a":' + b"9" * 500_000 + b"}",
    "a huge exponent": b'{"a":1e999999999}',
    "escapes": b'{"a":"' + b"\\u0000" * 80_000 + b'"}',
    "lone surrogates": b'{"a":"\\ud800"}',
    "no text at all": bytes(range(128, 256)) * 1000,
}


def memory(server) -> int:
    """What a server's process holds, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


@over(WITH_BODY)
def test_a_body_that_explodes_is_refused(admin, one):
    before = admin.recorded()
    for name, bomb in BOMBS.items():
        answer = ask(admin, one, target(one[0]), bomb)
        assert 400 <= answer.status < 500 or one[0].startswith(("/compat/", "/client/")), f"{name}: {answer}"
    assert admin.recorded() == before


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
    server, sent = admin.server, 0
    key = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n"
    for path, method, operation in OPERATIONS:
        where = target(path)
        for scheme in (f"Bearer pk_adm_{CANARY}000000", f"Bearer {CANARY}", f"Basic {CANARY}", CANARY):
            answer = ask(API(server.port, None), (path, method, operation), where, Authorization=scheme)
            assert CANARY not in answer.body.decode(errors="replace"), answer
        if "requestBody" not in operation:
            continue
        content = resolved(operation["requestBody"])["content"].get("application/json")
        if content is None:
            continue
        for pointer in {*secrets_of(content["schema"])}:
            for value in (CANARY, key, {CANARY: CANARY}):
                answer = ask(admin, (path, method, operation), where, placed(example(operation), pointer, value))
                assert answer.status >= 400 and CANARY not in answer.body.decode(errors="replace"), (pointer, answer)
                sent += 1
    assert sent > 30
    assert CANARY not in server.log.read_text(errors="replace")
    tables = server.sql("SELECT string_agg(format('%I', relname), ' ') FROM pg_class WHERE relnamespace = 'pinledger'::regnamespace AND relkind = 'r'")
    for table in tables.split():
        assert server.sql(f"SELECT count(*) FROM pinledger.{table} t WHERE t::text LIKE '%{CANARY}%' OR t::text LIKE '%{CANARY.encode().hex()}%'") == "0", table


# R10: SQL that is put together from values

# What is put into SQL beside parameters: names of columns and conditions that are constants of the program, and numbers. No text of a
# request, a file or a row is among them; a channel's name is quoted.
INTERPOLATED = {
    "EventStore/Audit/AuditDeposits": {"PostgresConfiguration.isPrimaryAndWaitsForNone"},
    "EventStore/Audit/LedgerAuditor": {"AuditPage.columns"},
    "EventStore/Database/NodeRegistry": {"isLive", "Self.isLive", "PostgresConfiguration.isPrimaryAndWaitsForNone"},
    "EventStore/Database/Statements": {"PostgresConfiguration.commitsWait", "fold", "days"},
    "EventStore/Pruning/BundleWriter": {"columns", "positions.lowerBound", "positions.upperBound"},
    "EventStore/Read/BulkReader": {"LedgerPage.columns", "positions.lowerBound", "positions.upperBound"},
    "EventStore/Read/LedgerReader": {"clause()", "order", "parameters.count + 1"},
    "Postgres/Connection/PostgresConfiguration": {"requirement"},
    "Postgres/Connection/PostgresConnection+Transaction": {"scope", "timeout?.wholeMilliseconds ?? 0"},
    "Postgres/Listener/ListenerLoop": {"Self.quoted(channel)"},
    "Publishing/Documents/DocumentStore": {"source"},
    "Signals/TokenUses/TokenUseStore": {"Self.recentLimit", "PostgresConfiguration.isPrimaryAndWaitsForNone"},
    "Webhooks/WebhookStore": {"condition"},
    # What an operator is told to run by themselves.
    "pinledger/Serve/DoctorCommand+Durability": {"name"}, "pinledger/Serve/MigrateCommand": {"name"},
}  # fmt: skip


def interpolations() -> dict[str, set[str]]:
    """What is put into literals that begin like SQL, by the files that do it."""
    words = "SELECT|INSERT|UPDATE|DELETE|COPY|CREATE|ALTER|SET|WITH|CALL|LISTEN|NOTIFY|TRUNCATE|DROP|LOCK|GRANT|BEGIN|SHOW|DECLARE|FETCH"
    statement = re.compile(rf'"(?:"")?\s*(?:{words})\b')
    literal = re.compile(r'"""(?:(?!""").)*"""|"(?:[^"\\\n]|\\\([^)\n]*\)|\\.)*"', re.S)
    found = {}
    for file in (ROOT / "Sources").rglob("*.swift"):
        for text in literal.findall(file.read_text()):
            values = re.findall(r"\\\(((?:[^()]|\([^()]*\))*)\)", text) if statement.match(text) else []
            if values:
                found.setdefault(str(file.relative_to(ROOT / "Sources").with_suffix("")), set()).update(values)
    # A regular expression of SQL's own.
    found.pop("EventStore/Pruning/EventPartition", None)
    return found


def test_sql_is_put_together_from_constants_alone():
    assert interpolations() == INTERPOLATED


@over([one for one in OPERATIONS if one[1] == "get" and is_open(one)])
def test_a_quote_in_a_query_is_a_value_or_refused(admin, one):
    for parameter in one[2].get("parameters", []):
        parameter = resolved(parameter)
        if parameter["in"] != "query":
            continue
        for value in ("'", "' OR '1'='1", "1; DROP TABLE pinledger.event--", "\\'", "$1", "%27", "1e9", "-1", "\x00", "*"):
            where = f"{target(one[0])}?{urllib.parse.urlencode({parameter['name']: value})}"
            answer = ask(admin, one, where)
            assert answer.status in (200, 400, 404, 409, 422), (where, answer)


# R11: markup that comes in as a value

MARKUP = "<script>alert(1)</script>"


@over([one for one in OPERATIONS if one[1] == "get"])
def test_markup_is_never_part_of_a_page(admin, one):
    where = target(one[0])
    quoted = urllib.parse.quote(MARKUP, safe="")
    names = re.findall(r"\{(\w+)\}", one[0])
    for asked in [f"{where}?x={quoted}", *(target(one[0], **{name: quoted}) for name in names)]:
        answer = ask(admin, one, asked, Accept="text/html")
        assert answer["X-Content-Type-Options"] == "nosniff"
        if (answer["Content-Type"] or "").startswith("text/html"):
            assert MARKUP not in answer.body.decode(), answer
            assert "default-src 'none'" in (answer["Content-Security-Policy"] or ""), answer


# R5: what no token opens


def test_only_the_sign_in_answers_operators_without_a_token(admin):
    """The table of these is in RouteTableTests.swift; this is what the running server does."""
    open_ones = set()
    for one in OPERATIONS:
        if one[0].startswith(("/v1/", "/compat/wultra/admin/")) and ask(
            API(admin.port, None), one, target(one[0]), {} if "requestBody" in one[2] else None
        ).status != 401:
            open_ones.add(name_of(one))
    assert open_ones == {"getSignIn", "signIn"}
