"""Requests by which other software of this kind was broken, and what every operation has to do with them."""

import base64
import json
import unicodedata
import urllib.parse

from operations import FILLINGS, MINE, NOWHERE, OTHER_HOST, OTHERS, ask, handle_names, name_of, parameters_of, target, try_out
from pinledger import API, Answer


def variants(name: str) -> list[str]:
    """Spellings that a careless comparison takes for the name."""
    spaced = [f"{name} ", f" {name}", f"{name}\t", f"{name}\u00a0", f"{name}\u200d", f"{name}\ufeff", f"{name}\x00", f"{name}\n"]
    cased = [name.upper(), name.swapcase(), name.title()]
    alike = [name.replace("e", "\u0435", 1), name.replace("o", "\u043e", 1), unicodedata.normalize("NFD", name.replace("e", "\u00e9", 1)),
             name.replace(".", "\u3002"), name.replace(".", "\uff0e"), name.translate({ord("a"): "\uff41"})]  # fmt: skip
    dotted = [f"{name}.", f".{name}", name.replace(".", "..", 1), f"{name}/", f"{name}%00", f"{name};", f"{name},{name}"]
    return [one for one in spaced + cased + alike + dotted if one != name]


STEPS = ["..", ".", "%2e%2e", "%2e", "..%2f..%2f", "%2f", "%252e%252e", "%c0%ae%c0%ae", "%c0%af", "%00", ";x=1", "%5c..%5c", "..;", "%u002e"]


def steps_out() -> list[str]:
    """Values of a path's parameter that lead out of its place, as they stand in the path."""
    return [value for step in STEPS for value in (step, f"{step}/{step}", f"x{step}", f"{step}%2f{MINE}")]


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


def rehearsed(one) -> str:
    """The query of an operation that makes an app of any name, so that it only says what it would make."""
    return "?dry_run=true" if name_of(one) == "applyAppSpec" else ""


def would_create(one, answer: Answer) -> bool:
    """Tells an answer that took the name for that of an app which does not exist."""
    return bool(rehearsed(one)) and answer.status == 200 and answer.json["events"][0]["type"] == "AppCreated"


# An operation's part in such values


def takes_no_other_spelling_for_an_app(apis: list[API], one, app: str, spellings: list[str]) -> None:
    for spelling in spellings:
        where = target(one[0], app=urllib.parse.quote(spelling, safe="")) + rehearsed(one)
        for api in apis:
            answer = ask(api, one, where)
            if would_create(one, answer):
                continue
            # Wultra's interface says of what is not there that it is deleted. A body may be wrong before there is an app.
            allowed = (200, 400, 404) if one[0].startswith("/compat/") else (400, 401, 404, 422)
            assert answer.status in allowed, f"{app}, {where}: {answer}"


def takes_no_other_spelling_for_an_id(admin: API, handles: dict, one, name: str, spellings: list[str]) -> None:
    for spelling in spellings:
        where = target(one[0], **({"app": OTHERS, "host": OTHER_HOST} | {name: urllib.parse.quote(spelling, safe="")}))
        answer = ask(admin, one, where)
        # An operation with no such thing to name may still say that its body is wrong.
        is_refused = answer.status in (400, 401, 403, 404, 409, 422)
        assert is_refused or one[1] == "get" and answer.status == 200, f"{name}, {where}: {answer}"
        if answer.status == 200:
            assert not answer.json.get(name), f"{name}, {where}: {answer}"


def reaches_no_other_operation(admin: API, one, name: str, values: list[str]) -> None:
    for value in values:
        answer = ask(admin, one, target(one[0], **{name: value}) + rehearsed(one))
        is_refused = answer.status in (400, 401, 403, 404, 405, 409, 422)
        # Deployed clients' servers answer so for what is not there.
        is_foreign = one[0].startswith("/compat/") and answer.status in (200, 500)
        is_harmless = one[1] == "get" and answer.status == 200 and "{position}" not in one[0] and MINE not in answer.body.decode()
        assert is_refused or would_create(one, answer) or is_foreign or is_harmless, f"{name}={value}: {answer}"


def refuses_bodies_that_explode(admin: API, one) -> None:
    for name, bomb in BOMBS.items():
        answer = ask(admin, one, body=bomb)
        assert 400 <= answer.status < 500 or one[0].startswith(("/compat/", "/client/")), f"{name}: {answer}"


def tells_nothing_of_an_app(mine: API, one) -> None:
    """Sees that another's app is answered like one that does not exist."""
    there, nowhere = (try_out(mine, one, app=app) for app in (OTHERS, NOWHERE))
    assert there.status == nowhere.status == 404, f"{there} and {nowhere}"
    if there.body:
        problems = [json.loads(answer.body.decode().replace(OTHERS, NOWHERE)) | {"instance": ""} for answer in (there, nowhere)]
        assert problems[0] == problems[1] and problems[0]["type"] == "/problems/app_unknown", f"{there} and {nowhere}"
    fields = [{name for name in answer.headers if name != "Date"} for answer in (there, nowhere)]
    assert fields[0] == fields[1], f"{fields}"


def tells_nothing_by_a_handle(mine: API, handles: dict, one) -> None:
    """Sees that a handle of another app's thing is answered like one that names nothing."""
    for name in handle_names(one):
        nowhere = {"host": "nothing.example.org", "kid": "none"}.get(name) or FILLINGS[name]
        theirs, nothing = (ask(mine, one, target(one[0], **{name: value})) for value in (handles[name], nowhere))
        assert theirs.status == nothing.status, f"{name}: {theirs} and {nothing}"
        assert theirs.status >= 400 or name == "host" and one[1] == "get", f"{name}: {theirs}"
        if theirs.body and theirs.status >= 400:
            # Texts name pins in base64.
            names = [handles[name]] + ([base64.b64encode(bytes.fromhex(handles[name])).decode()] if name == "pin" else [])
            said = [answer.body.decode() for answer in (theirs, nothing)]
            for one_name, other in zip(names, [nowhere, base64.b64encode(bytes.fromhex(FILLINGS["pin"])).decode()]):
                said = [text.replace(one_name, other) for text in said]
            said = [json.loads(text) | {"instance": ""} for text in said]
            assert said[0] == said[1], f"{name}: {said}"


QUOTES = ("'", "' OR '1'='1", "1; DROP TABLE pinledger.event--", "\\'", "$1", "%27", "1e9", "-1", "\x00", "*")


def takes_a_quote_for_a_value(admin: API, one, name: str) -> None:
    for value in QUOTES:
        where = f"{target(one[0])}?{urllib.parse.urlencode({name: value})}"
        answer = ask(admin, one, where)
        assert answer.status in (200, 400, 404, 409, 422), f"{where}: {answer}"


MARKUP = "<script>alert(1)</script>"


def shows_no_markup(admin: API, one) -> None:
    quoted = urllib.parse.quote(MARKUP, safe="")
    for asked in [f"{target(one[0])}?x={quoted}", *(target(one[0], **{name: quoted}) for name in parameters_of(one))]:
        answer = ask(admin, one, asked, Accept="text/html")
        assert answer["X-Content-Type-Options"] == "nosniff", asked
        if (answer["Content-Type"] or "").startswith("text/html"):
            assert MARKUP not in answer.body.decode(), f"{asked}: {answer}"
            assert "default-src 'none'" in (answer["Content-Security-Policy"] or ""), f"{asked}: {answer}"
