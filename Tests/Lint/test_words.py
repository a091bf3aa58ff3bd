"""Texts that people read are in plain words: the contract, the handbook, the program's sentences, and the names of tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Words that no colleague would say, with what to say instead. HelpTests.swift reads them too.
NOT_PLAIN = {
    re.compile(pattern, re.IGNORECASE): better
    for pattern, _, better in (
        line.partition("\t") for line in (ROOT / "Tests/plain-words.txt").read_text().splitlines() if line
    )
    if not pattern.startswith(("#", "help:"))
}

# The readers of each text, and where it is written.
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
    for file in sorted(file for folder in ("EndToEnd", "Lint") for file in (ROOT / "Tests" / folder).rglob("test_*.py")):
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


# Beginnings of a name that goes on from its suite's, or has no subject.
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
