"""The end-to-end tests depend neither on the clock nor on one another, and few wait in the quarantine, none for long.

What breaks a rule of rules.py today is counted in allowed.json, which may only shrink: UPDATE=1 Tests/Lint/run -k ratchet
"""

import ast
import collections
import json
import os
import re
from datetime import date, timedelta
from pathlib import Path

import pytest
import quarantine
from rules import ADVICE, RULES, Source

HERE = Path(__file__).parent
TESTS = HERE.parent
END_TO_END = TESTS / "EndToEnd"
ALLOWED = HERE / "allowed.json"
# A test that no longer counts is mended within this time, or taken out.
MOST_IN_QUARANTINE, LONGEST_IN_QUARANTINE = 10, timedelta(days=14)

# For each rule: sources that break it, and the nearest that do not.
BROKEN = [
    ("sleep", "import time\ndef test_a():\n    time.sleep(0.1)\n", [3]),
    ("sleep", "from time import sleep\ndef test_a():\n    sleep(6)  # sleeps:\n", [3]),
    ("short life", "def test_a(api):\n    api.ask(from_now(seconds=2))\n", [2]),
    ("short life", "def test_a(api):\n    api.ask(from_now(minutes=9))\n    api.ask(from_now(seconds=long(2)))\n", [2, 3]),
    ("position", "def test_a(api):\n    assert before == api.position()\n", [2]),
    ("position", "def test_a(api):\n    assert api.position() - before == 3\n", [2]),
    ("deadline", "def test_a():\n    deadline = time.monotonic() + 30\n", [2]),
    ("deadline", "def test_a():\n    end = time.monotonic() + 30\n    while time.monotonic() < end:\n        pass\n", [2]),
    ("limit", "def test_a():\n    subprocess.run([], timeout=60)\n    eventually(look, 'it', 10)\n    s.settimeout(2)\n", [2, 3, 4]),
    ("limit", "def test_a():\n    socket.create_connection(('127.0.0.1', 1), 5)\n    event.wait(5)\n    thread.join(30)\n", [2, 3, 4]),
    ("limit", "def ask(a, timeout: float = 5):\n    pass\ndef other(*, timeout=119.5):\n    eventually(a, seconds=3)\n", [1, 3, 4]),
    ("state", "SEEN = set()\ndef test_a():\n    SEEN.add(1)\n", [3]),
    ("state", "SEEN: dict[str, int] = {}\ndef test_a():\n    SEEN['a'] = 1\n    del SEEN['a']\n", [3, 4]),
    ("state", "LAST = None\ndef test_a():\n    global LAST\n    LAST = 1\n", [3]),
    ("import of a test", "from test_nodes import start\nimport test_tls as tls\n", [1, 2]),
    ("address", "def test_a():\n    socket.create_connection(('10.0.0.1', 1))\n    urlopen('https://example.com/a')\n", [2, 3]),
    ("address", "def test_a():\n    ask('https://8.8.8.8/a')\n    subprocess.run(['apt-get', 'update'])\n", [2, 3]),
    ("address", "def test_a():\n    listener.bind(('0.0.0.0', 0))\n", [2]),
    ("unhurried", "from pinledger import unhurried\ndef test_a():\n    until(unhurried(2))\n", [1, 3]),
    ("within", "def test_a():\n    assert took < within(2)\n", [2]),
    ("recorded", "def test_a(api):\n    before = api.recorded()\n", [2]),
]  # fmt: skip
SOUND = [
    ("sleep", "def test_a():\n    time.sleep(1)  # sleeps: the kernel's timer has no other sign\n    # sleeps: as above\n    time.sleep(2)\n"),
    ("short life", "def test_a(server):\n    server.clock.from_now(seconds=2)\n    from_now(hours=1)\n    from_now(seconds=-5)\n"),
    ("short life", "def test_a():\n    from_now(days=7, minutes=1)\n    from_now(hours=hours)\n"),
    ("short life", "def test_a():\n    # ends: refused before it is looked at\n    from_now(seconds=5)\n    from_now(seconds=600)\n"),
    ("position", "def test_a(api):\n    assert api.position() >= before\n    eventually(lambda: api.position() > before)\n"),
    ("deadline", "def test_a():\n    took = time.monotonic() - began\n    claims = time.time() + 3600\n"),
    ("limit", "def test_a():\n    run(timeout=300)\n    eventually(look, 'it')\n    run(timeout=0.1)  # limit: it goes on by itself\n    ','.join(a)\n"),
    ("state", "NAMES = ['a']\nNUMBERS = itertools.count()\ndef test_a():\n    NAMES = []\n    NAMES.append(next(NUMBERS))\n"),
    ("import of a test", "from nodes import start\nimport tests\n"),
    ("address", '"""Of 8.8.8.8."""\ndef test_a():\n    connect(("127.0.0.1", 1))\n    ask("203.0.113.9", "10.0.0.1", "2.5.29.17")  # address: an OID\n'),
    ("address", "def test_a(api):\n    api.ask('?minimum=3.1.0&maximum=3.1.2.0')\n    ask('10.0.0.0/8', 'https://192.0.2.1/')\n"),
    ("address", "@pytest.mark.daily\ndef test_a():\n    subprocess.run(['apt-get', 'update'])\n"),
    ("address", "pytestmark = [pytest.mark.daily]\ndef fetch():\n    urlopen('https://example.com')\n"),
    ("within", "def test_a():\n    assert a.within(b) and within\n"),
    ("recorded", "def test_a(answer):\n    assert answer.recorded == {}\n"),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_finds_what_breaks_it_and_nothing_beside(rule):
    broken = [(source, lines) for name, source, lines in BROKEN if name == rule]
    assert broken and rule in ADVICE
    for source, lines in broken:
        assert sorted({*RULES[rule](Source("test_x.py", source))}) == lines, source
    for source in [source for name, source in SOUND if name == rule]:
        assert [*RULES[rule](Source("test_x.py", source))] == [], source


def test_helpers_may_sleep_and_have_deadlines():
    source = Source("pinledger.py", "def eventually():\n    deadline = time.monotonic() + 180\n    time.sleep(0.05)\n")
    assert [line for rule in RULES.values() for line in rule(source)] == []


def findings() -> dict[str, dict[str, list[int]]]:
    """The lines that break a rule, by rule and file."""
    found: dict[str, dict[str, list[int]]] = {rule: {} for rule in RULES}
    for path in sorted(END_TO_END.rglob("*.py")):
        source = Source(str(path.relative_to(END_TO_END)), path.read_text())
        for rule, look in RULES.items():
            if lines := sorted({*look(source)}):
                found[rule][source.name] = lines
    return found


def compared(found: dict[str, dict[str, list[int]]], allowed: dict[str, dict[str, int]]) -> tuple[list[str], list[str]]:
    """The rules that a file breaks more often than it is allowed to, and less often."""
    more, fewer = [], []
    for rule, files in found.items():
        known = allowed.get(rule, {})
        for file in sorted({*files, *known}):
            lines, count = files.get(file, []), known.get(file, 0)
            if len(lines) > count:
                places = ", ".join(map(str, lines))
                more.append(f"{rule}: {file}: {len(lines)} instead of {count}, lines {places}: {ADVICE[rule]}")
            if len(lines) < count:
                fewer.append(f"{rule}: {file}: {len(lines)} instead of {count}")
    return more, fewer


def test_the_ratchet_only_turns_one_way():
    found = findings()
    more, fewer = compared(found, json.loads(ALLOWED.read_text()))
    assert more == [], "\n".join(more)
    if os.environ.get("UPDATE"):
        counts = {rule: {file: len(lines) for file, lines in files.items()} for rule, files in found.items() if files}
        ALLOWED.write_text(json.dumps(counts, indent=2) + "\n")
        return
    assert fewer == [], "\n".join([*fewer, "fewer than before: UPDATE=1 Tests/Lint/run -k ratchet writes it down"])


def test_the_ratchet_refuses_one_more_and_one_less():
    found = {"sleep": {"test_a.py": [3, 9], "test_b.py": [1]}, "state": {}}
    assert compared(found, {"sleep": {"test_a.py": 2, "test_b.py": 1}}) == ([], [])
    more, fewer = compared(found, {"sleep": {"test_a.py": 3}, "state": {"test_c.py": 1}})
    assert [one.split(":")[1] for one in more] == [" test_b.py"] and "lines 1" in more[0]
    assert fewer == ["sleep: test_a.py: 2 instead of 3", "state: test_c.py: 0 instead of 1"]


def guarantees() -> set[str]:
    """The files whose failures are never luck, as EndToEnd/outcomes.py names them."""
    tree = ast.parse((END_TO_END / "outcomes.py").read_text())
    (value,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GUARANTEES")
    return ast.literal_eval(value)


def complaints(text: str, today: date) -> list[str]:
    """The faults of a quarantine: `file::test | issue | YYYY-MM-DD`, a test a line."""
    lines = quarantine.lines(text)
    found = [f"{len(lines)} tests are more than {MOST_IN_QUARANTINE}"] if len(lines) > MOST_IN_QUARANTINE else []
    for line in lines:
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not parts[1] or not re.fullmatch(r"\d{4}-\d\d-\d\d", parts[2]):
            found.append(f"{line}: is not `file::test | issue | YYYY-MM-DD`")
            continue
        file, _, test = parts[0].partition("::")
        path = END_TO_END / file
        if not path.is_file() or not re.search(rf"^def {re.escape(test)}\(", path.read_text(), re.M):
            found.append(f"{line}: there is no such test in Tests/EndToEnd")
        if path.stem in guarantees():
            found.append(f"{line}: holds a guarantee")
        if today - date.fromisoformat(parts[2]) > LONGEST_IN_QUARANTINE:
            found.append(f"{line}: is older than {LONGEST_IN_QUARANTINE.days} days")
    return found


def test_the_quarantine_is_small_and_short():
    assert complaints(quarantine.FILE.read_text(), date.today()) == []


def test_a_quarantine_that_is_large_old_or_wrong_is_refused():
    today, name = date(2026, 3, 20), "test_contract.py::test_the_contract_is_served_as_it_is"
    assert complaints(f"# words\n\n{name} | 45 | 2026-03-06\n", today) == []
    assert len(complaints(f"{name} | 45 | 2026-03-20\n" * 11, today)) == 1
    for wrong, says in [
        (f"{name} | 45 | 2026-03-05", "older"), (f"{name} | 45", "is not"), (f"{name} |  | 2026-03-20", "is not"),
        (f"{name} | 45 | yesterday", "is not"), ("test_contract.py::test_none | 45 | 2026-03-20", "no such test"),
        ("test_none.py::test_none | 45 | 2026-03-20", "no such test"),
    ]:  # fmt: skip
        (complaint,) = complaints(wrong, today)
        assert says in complaint
    assert any("guarantee" in one for one in complaints("test_kill9.py::test_none | 45 | 2026-03-20", today))


def test_every_rule_has_its_advice_and_its_cases():
    counts = collections.Counter(name for name, _, _ in BROKEN)
    assert counts.keys() == RULES.keys() == ADVICE.keys()
