"""What people read is complete and in plain words: the contract, the guard rails' pages, and the server's sentences."""

import json
import re
from pathlib import Path

import pytest
from contract import CONTRACT, operations, resolved

ROOT = Path(__file__).parents[2]
SCHEMAS = CONTRACT["components"]["schemas"]


def properties(schema: dict, place: str, known: frozenset = frozenset()):
    """Every property below a schema, with its place. What only narrows a property that is declared beside is left out."""
    declared = schema.get("properties", {})
    if "$ref" in schema:
        known |= resolved({"$ref": schema["$ref"]}).get("properties", {}).keys()
    for name, value in declared.items():
        if not isinstance(value, dict):
            continue
        if name not in known:
            yield f"{place}.{name}", value
        yield from properties(value, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from properties(schema[key], f"{place}[]")
    for key in ("allOf", "anyOf", "oneOf"):
        for index, part in enumerate(schema.get(key, [])):
            if isinstance(part, dict):
                yield from properties(part, f"{place}/{key}/{index}", known | declared.keys())


def inline_schemas():
    """The schemas that stand in operations, parameters and responses themselves."""

    def walk(value, place: str):
        if isinstance(value, dict):
            for name, member in value.items():
                if name == "schema":
                    yield place, member
                elif name not in ("example", "examples"):
                    yield from walk(member, f"{place}/{name}")
        elif isinstance(value, list):
            for index, member in enumerate(value):
                yield from walk(member, f"{place}/{index}")

    for part in ("parameters", "headers", "requestBodies", "responses"):
        yield from walk(CONTRACT["components"].get(part, {}), part)
    yield from walk(CONTRACT["paths"], "paths")


def test_every_schema_of_the_contract_has_a_description():
    assert len(SCHEMAS) > 200
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description", "").strip()] == []


def test_every_property_of_the_contract_has_a_description_of_its_own_or_of_the_schema_it_names():
    named = [*SCHEMAS.items(), *((place, schema) for place, schema in inline_schemas())]
    found = [one for name, schema in named for one in properties(schema, name)]
    assert len(found) > 1200
    assert [place for place, value in found if not resolved(value).get("description", "").strip()] == []


def test_every_part_of_a_schema_has_a_name_that_a_schema_may_have():
    # A comma in a text without quotes ends it within braces: the rest becomes a member without a reader.
    def strays(value, place: str):
        if isinstance(value, dict):
            for name, member in value.items():
                if member is None and name not in ("example", "default", "const"):
                    yield f"{place}/{name}"
                elif name not in ("example", "examples", "enum"):
                    yield from strays(member, f"{place}/{name}")
        elif isinstance(value, list):
            for index, member in enumerate(value):
                yield from strays(member, f"{place}/{index}")

    assert list(strays(CONTRACT, "")) == []


def test_every_success_with_a_json_body_has_an_example():
    bodies = [
        (f"{operation['operationId']} {status} {kind}", content)
        for _, _, operation in operations()
        for status, response in operation["responses"].items()
        for kind, content in resolved(response).get("content", {}).items()
        if status.startswith("2") and "json" in kind
    ]
    assert len(bodies) > 100
    assert [name for name, content in bodies if "example" not in content and "examples" not in content] == []


def test_every_operation_has_a_summary_of_its_own_and_a_description():
    summaries = [operation["summary"] for _, _, operation in operations()]
    assert len(summaries) == len(set(summaries))
    assert [one["operationId"] for _, _, one in operations() if not one.get("description", "").strip()] == []


# One verb for one thing, in the contract's summaries and on the command line: (operation, command).
#
# | Verb           | Things                                           | Why                                          |
# |----------------|--------------------------------------------------|----------------------------------------------|
# | Create         | apps, tokens, webhooks, keys, calendar feeds     | they begin to exist                          |
# | Add            | hosts, pins, witnesses                           | a part of something that exists              |
# | Update         | apps, hosts, webhooks                            | some of their settings                       |
# | Start          | candidates, rotations                            | a process that ends                          |
# | Set            | settings of clients and of the fleet;            | the old value is replaced                    |
# |                | rollout plans                                    |                                              |
# | Remove         | hosts, webhooks, deployed clients, witnesses     | configuration: it can be added again         |
# | Drop           | candidates                                       | a proposal is given up, the baseline stays   |
# | Clear          | rollout plans                                    | a setting is emptied, the rollout stays      |
# | Compare        | an app at two moments                            | both are in the past or one is the present   |
# | Archive/Unarchive | apps                                          | opposites; an id that was used stays taken   |
# | Revert         | changes                                          | settings get the values from before it       |
# | Revoke         | tokens, calendar feeds, pins                     | a credential is never valid again            |
# | Retire         | signing keys, keys for reports, pins             | no longer used, and not compromised          |
# | Propose/Apply  | changes                                          | what is written down is not yet done         |
# | Withdraw/Reject | changes                                         | by those who wrote it, by those who judge it |
# | Publish        | roots of trust                                   | clients have it from then on                 |
# | Engage/Release | kill switches                                    | opposites                                    |
# | Delete         | whatever Wultra's administrative interface has   | that interface's own word                    |
COMMANDS = {
    "listNodes": "node list", "raiseFeatureLevel": "node raise-feature-level",
    "listApps": "app list", "createApp": "app create", "getApp": "app show", "updateApp": "app update",
    "getDocumentProof": "document prove", "updateLog": "log update",
    "archiveApp": "app archive", "unarchiveApp": "app unarchive", "revertAppChange": "app revert", "compareApp": "app compare",
    "listHosts": "host list", "addHost": "host add", "getHost": "host show", "updateHost": "host update", "removeHost": "host remove",
    "addPin": "pin add", "updatePin": "pin activate", "describeKeys": "pin describe", "inspect": "pin inspect",
    "startCandidate": "rollout start", "promoteCandidate": "rollout promote", "dropCandidate": "rollout drop",
    "setAppRolloutPlan": "rollout plan set", "setHostRolloutPlan": "rollout plan set",
    "getAppRolloutPlan": "rollout plan show", "getHostRolloutPlan": "rollout plan show",
    "clearAppRolloutPlan": "rollout plan clear", "clearHostRolloutPlan": "rollout plan clear",
    "pauseAppRollout": "rollout pause", "pauseHostRollout": "rollout pause",
    "resumeAppRollout": "rollout resume", "resumeHostRollout": "rollout resume",
    "advanceAppRollout": "rollout advance", "advanceHostRollout": "rollout advance",
    "jumpAppRollout": "rollout jump", "jumpHostRollout": "rollout jump",
    "rollBackAppRollout": "rollout roll-back", "rollBackHostRollout": "rollout roll-back",
    "startRotation": "rotation start", "advanceRotation": "rotation advance", "abortRotation": "rotation abort",
    "engageFleetKillSwitch": "kill engage", "engageAppKillSwitch": "kill engage", "engageHostKillSwitch": "kill engage",
    "releaseFleetKillSwitch": "kill release", "releaseAppKillSwitch": "kill release", "releaseHostKillSwitch": "kill release",
    "listKillSwitches": "kill list",
    "listGuardRails": "guard-rail list", "setGuardRail": "guard-rail lower", "setAppGuardRail": "guard-rail lower",
    "listClients": "client list", "getClient": "client show", "setClient": "client set", "removeClient": "client remove",
    "setClientKey": "client set-key",
    "listKeys": "key list", "createKey": "key create", "activateKey": "key activate", "retireKey": "key retire",
    "listRoots": "root list", "publishRoot": "root publish",
    "getLog": "log show", "openLog": "log open", "addLogKey": "log key add", "retireLogKey": "log key retire",
    "listWitnesses": "log witness list", "addWitness": "log witness add", "removeWitness": "log witness remove",
    "setQuorum": "log witness set-quorum",
    "listPrincipals": "access list", "getPrincipal": "access show", "addPrincipal": "access add", "grantRole": "access grant", "revokeGrant": "access revoke",
    "listRoles": "access role list", "setRole": "access role set", "removeRole": "access role remove",
    "listChanges": "change list", "getChange": "change show", "updateChange": "change update", "proposeChange": "change propose",
    "approveChange": "change approve", "rejectChange": "change reject", "withdrawChange": "change withdraw",
    "applyChange": "change apply", "reviewChange": "change review",
    "listApprovalRules": "access rule list", "setApprovalRule": "access rule set", "removeApprovalRule": "access rule remove",
    "listIdentityProviders": "access provider list", "setIdentityProvider": "access provider set",
    "removeIdentityProvider": "access provider remove", "listSignInRules": "access sign-in list",
    "setSignInRule": "access sign-in set", "removeSignInRule": "access sign-in remove", "listIdentities": "access identity list",
    "linkIdentity": "access identity link", "unlinkIdentity": "access identity unlink",
    "addApprovalKey": "access approval-key add", "removeApprovalKey": "access approval-key remove",
    "listFreezes": "access freeze list", "addFreeze": "access freeze add", "removeFreeze": "access freeze remove",
    "listTokens": "token list", "getToken": "token show", "createToken": "token create", "revokeToken": "token revoke",
    "listWebhooks": "webhook list", "createWebhook": "webhook create", "getWebhook": "webhook show",
    "updateWebhook": "webhook update", "removeWebhook": "webhook remove", "rotateWebhookSecret": "webhook rotate-secret",
    "testWebhook": "webhook test", "replayWebhook": "webhook replay", "replayWebhookDelivery": "webhook replay",
    "listTelemetryKeys": "telemetry key list", "createTelemetryKey": "telemetry key create",
    "retireTelemetryKey": "telemetry key retire", "getTelemetry": "telemetry show",
    "listCalendarFeeds": "calendar feed list", "createCalendarFeed": "calendar feed create",
    "revokeCalendarFeed": "calendar feed revoke", "getCalendar": "calendar show",
    "explain": "explain", "simulate": "simulate", "probe": "probe", "getExport": "export",
    "importRemoteConfig": "import", "importFile": "import", "applyAppSpec": "apply",
}  # fmt: skip

# Operations that several commands share, whose command is named after one thing that they do, or that only browsers need.
SHARED = {"signIn", "signOut", "updatePrincipal", "updatePin", "setGuardRail", "setAppGuardRail", "updateFleet"}

# What other summaries begin with.
VERBS = {
    "Check", "Delete", "Explain", "Export", "Fetch", "List", "Read", "Report", "Set", "Show", "Stream", "Subscribe", "Verify",
    "Add", "Create", "Prove", "Sign",
}  # fmt: skip


def test_every_summary_begins_with_a_verb_and_has_no_full_stop():
    for _, _, operation in operations():
        name, summary = operation["operationId"], operation["summary"]
        verb = summary.split()[0].rstrip(",")
        expected = {COMMANDS[name].split()[-1].split("-")[0].capitalize()} if name in COMMANDS else VERBS
        assert verb in expected and not summary.endswith("."), f"{name}: {summary!r} should begin with {expected}"


def test_every_operation_that_changes_or_asks_something_has_the_name_of_its_commands_verb():
    changing = {one["operationId"] for path, method, one in operations() if path.startswith("/v1/") and method != "get"}
    assert len(changing) > 50
    assert changing - COMMANDS.keys() <= SHARED <= changing
    assert COMMANDS.keys() <= {one["operationId"] for _, _, one in operations()}
    for name in changing - SHARED:
        # `set-key` of a client is `setClientKey`, and `roll-back` is `rollBackAppRollout`.
        last = COMMANDS[name].split()[-1]
        verb = "rollBack" if last == "roll-back" else last.split("-")[0]
        assert name.startswith(verb), f"{name} and {COMMANDS[name]}"


def test_every_delete_of_the_operators_interface_has_a_command_with_its_verb():
    deletions = {one["operationId"]: path for path, method, one in operations() if method == "delete"}
    # What a browser asks for to forget its cookie.
    assert {name for name, path in deletions.items() if path.startswith("/v1/")} - {"signOut"} <= COMMANDS.keys()
    assert all(name.startswith("delete") for name, path in deletions.items() if path.startswith("/compat/"))


def test_the_command_line_has_the_contracts_verbs(server):
    help = json.loads(server.cli("--experimental-dump-help").stdout)

    def names(command: dict, place: tuple = ()):
        yield " ".join(place)
        for one in command.get("subcommands", []):
            yield from names(one, (*place, one["commandName"]))

    there = set(names(help["command"]))
    assert sorted({*COMMANDS.values()} - there) == []


# Words that no colleague would say, with what to say instead. HelpTests.swift reads them too.
NOT_PLAIN = {
    re.compile(pattern, re.IGNORECASE): better
    for pattern, _, better in (
        line.partition("\t") for line in (ROOT / "Tests/plain-words.txt").read_text().splitlines() if line
    )
    if not pattern.startswith(("#", "help:"))
}

# Who reads it, and where it is written.
PLACES = {
    "the contract": ["openapi/openapi.yaml"],
    "the handbook": ["Sources/CHandbook/pages/*.md", "README.md", "CONTRIBUTING.md", "SECURITY.md"],
    "the pages for developers": ["Sources/**/README.md", "Tests/**/README.md", "CHANGELOG.md"],
    "texts and comments of the program": ["Sources/**/*.swift", "Sources/**/*.h"],
    "the schema and its tests": ["db/**/*.sql", "db/README.md"],
}


def sentences(file: Path):
    """The lines that have text, each with its number; of Swift and C their comments and quoted texts."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        text = line.strip().removeprefix("--").removeprefix("#").strip()
        if file.suffix in (".swift", ".h"):
            comment = re.search(r"(?:^|[^:/])//+ ?(.*)", line)
            quoted = re.search(r'"(.*)"', line)
            text = " ".join(part for part in (comment and comment[1], quoted and quoted[0]) if part)
        if text:
            yield number, text


def names_of_tests():
    """The name of every test and suite, with its place."""
    for file in sorted((ROOT / "Tests").rglob("*.swift")):
        text = file.read_text()
        for name in re.finditer(r"func `([^`]+)`|@(?:Test|Suite)\s*\(\s*\"([^\"]+)\"", text):
            yield f"{file.relative_to(ROOT)}:{text[: name.start()].count(chr(10)) + 1}", name[1] or name[2]
    for file in sorted((ROOT / "Tests/EndToEnd").glob("test_*.py")):
        for name in re.finditer(r"^def test_(\w+)", file.read_text(), re.MULTILINE):
            yield file.name, name[1].replace("_", " ")


@pytest.mark.parametrize("place", PLACES)
def test_text_for_people_is_in_plain_words(place):
    files = [file for pattern in PLACES[place] for file in ROOT.glob(pattern)]
    for pattern in PLACES[place]:
        assert any(ROOT.glob(pattern)), f"{pattern} has moved: name its files here"
    found = [
        f"{file.relative_to(ROOT)}:{number}: say {better!r} instead of {match[0]!r}"
        for file in files
        for number, line in sentences(file)
        for pattern, better in NOT_PLAIN.items()
        for match in pattern.finditer(line)
    ]
    assert found == [], "\n".join(found)


def test_words_that_are_not_plain_are_found():
    for line in ("Somebody asks.", "It goes by the clock.", 'x("Of each app")', "Kept for ever.", "Read it anew."):
        assert any(pattern.search(line) for pattern in NOT_PLAIN), line
    assert not any(pattern.search("one of each") for pattern in NOT_PLAIN)


# What a name begins with that goes on from its suite's, or has no subject.
FRAGMENTS = {
    "it", "its", "they", "their", "them", "he", "his", "who", "whom", "whose", "which", "that", "what", "and", "but", "or", "of",
    "when", "where", "while", "if", "as", "with", "without", "to", "for", "from", "in", "on", "at", "by", "under", "behind",
    "is", "are", "was", "has", "have", "does", "do", "can", "cannot", "may", "must", "never", "keeps", "takes", "leaves",
    "gives", "says", "tells", "lets", "asks", "shows", "stands", "refuses", "reads", "comes", "goes", "gets", "makes", "waits",
    "logs", "draws", "holds", "finds", "sees", "knows", "stops", "uses", "adds", "decides", "follows", "begins", "ends", "carries",
    "needs", "rolls", "creates", "deletes", "forgets", "remembers", "escapes", "matches", "come", "compete", "make", "hear", "keep",
}  # fmt: skip


def test_every_name_of_a_test_stands_alone():
    names = list(names_of_tests())
    assert len(names) > 2000
    fragments = [
        f"{place}: {name}" for place, name in names if name.split()[0].strip(",").lower() in FRAGMENTS or len(name.split()) < 3
    ]
    assert fragments == [], "\n".join(fragments)


def test_every_name_of_a_test_is_in_plain_words():
    found = [
        f"{place}: say {better!r} instead of {match[0]!r}"
        for place, name in names_of_tests()
        for pattern, better in NOT_PLAIN.items()
        for match in pattern.finditer(name)
    ]
    assert found == [], "\n".join(found)
