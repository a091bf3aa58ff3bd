"""The handbook: links that lead somewhere, pages that are complete, and sentences about the sources that are true of them."""

import re

import handbook

PAGES = handbook.names()
README = handbook.ROOT / "README.md"
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "Tests/README.md"] + [
    f"Sources/CHandbook/pages/{name}.md" for name in PAGES
]


def broken(path: str, text: str) -> list[str]:
    """The links of a document that lead to no file, or to no heading of it."""
    file = handbook.ROOT / path
    found = []
    for link in handbook.links(text):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (file.parent / name).resolve() if name else file
        if not target.exists() or not target.is_relative_to(handbook.ROOT):
            found.append(f"{path}: {link}: there is no such file")
        elif anchor and anchor not in handbook.anchors(target.read_text() if name else text):
            found.append(f"{path}: {link}: there is no such heading")
    return found


def test_every_link_leads_to_a_file_and_to_a_heading_of_it():
    found = [one for path in DOCUMENTS for one in broken(path, (handbook.ROOT / path).read_text())]
    assert found == [], "\n".join(found)


def test_a_link_that_leads_nowhere_is_found():
    text = "# Title\n[a](none.md) [b](#title) [c](#other) [d](LICENSE) [e](../../outside) [f](Tests/README.md#none)"
    assert [one.split(": ")[1] for one in broken("README.md", text)] == ["none.md", "#other", "../../outside", "Tests/README.md#none"]


def test_the_readme_is_short_and_leads_to_the_handbook():
    lines = README.read_text().splitlines()
    assert len(lines) <= 170
    assert "Sources/CHandbook/pages/concepts.md" in handbook.links(README.read_text())


def test_every_page_can_be_reached_from_the_readme():
    reached: set[str] = set()
    waiting = [README]
    while waiting:
        file = waiting.pop()
        for link in handbook.links(file.read_text()):
            target = (file.parent / link.partition("#")[0]).resolve()
            if target.parent == handbook.PAGES and target.stem not in reached:
                reached.add(target.stem)
                waiting.append(target)
    assert sorted(reached) == PAGES


def test_every_page_is_embedded_under_its_name():
    source = (handbook.PAGES.parent / "handbook.c").read_text()
    embedded = dict(re.findall(r'(\w+)\[\] = \{\n#embed "pages/([a-z-]+)\.md"', source))
    listed = re.findall(r'^    \{"([a-z-]+)", (\w+), sizeof (\w+)\}', source, re.M)
    assert sorted(embedded.values()) == PAGES
    assert sorted(name for name, _, _ in listed) == PAGES
    assert [name for name, text, size in listed if embedded[text] != name or size != text] == []


def test_the_generated_figures_are_those_that_were_measured():
    handbook.check_generated("performance", handbook.performance())


def test_every_variable_of_the_sources_is_on_the_page_of_the_configuration():
    page = handbook.text("configuration")
    sources = "".join(file.read_text() for file in (handbook.ROOT / "Sources/pinledger").rglob("*.swift"))
    variables = set(re.findall(r'"((?:PINLEDGER|XDG|SSL)_[A-Z_]+)"', sources))
    assert len(variables) > 10
    assert handbook.missing_variables(page, variables) == []


def test_the_exit_codes_on_the_page_of_problems_are_those_of_the_program():
    source = (handbook.ROOT / "Sources/pinledger/Main.swift").read_text()
    codes = {int(code) for code in re.findall(r"case \w+ = (\d+)", source)} | {0}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", handbook.text("problems"), re.M)} == codes


def test_the_page_of_retention_has_the_time_after_which_each_kind_of_row_is_deleted():
    table = handbook.text("retention").split("## What is kept, and how long")[1].split("\n## ")[0]
    migrations = "".join(file.read_text() for file in sorted((handbook.ROOT / "db/migrations").glob("*.sql")))
    bodies = re.findall(r"CREATE FUNCTION pinledger\.(forget_\w+)\((.*?)\nGRANT", migrations, re.S)
    times = {name: re.findall(r"interval '(\d+) days?'", body) for name, body in bodies}
    assert len(times) > 6 and {"forget_adoption", "forget_observations", "forget_token_uses"} <= times.keys()
    # The first interval is the usual one; what follows protects newer rows from other callers. Nodes have a day, reports a setting.
    kept = {name: found[0] for name, found in times.items() if found[:1] not in ([], ["1"]) and name != "forget_outcomes"}
    assert len(kept) > 4
    assert [f"{name}: {days} days" for name, days in kept.items() if not re.search(rf"\b{days} days\b", table)] == []
    settings = (handbook.ROOT / "Sources/pinledger/Settings/Setting+Declaration.swift").read_text()
    declared = re.search(r"case \.telemetryRetention:.*?integer\((\d+)\.\.\.(\d+)\).*?value\(\"(\d+)\"\)", settings, re.S)
    least, most, usual = declared.groups()
    assert f"| {usual} days; `--telemetry-retention` says otherwise, from {least} to {most} days |" in table


def test_the_page_of_guard_rails_counts_them():
    page = handbook.text("guard-rails")
    assert f"{len(re.findall(r'^## G[0-9][0-9] ', page, re.M))} named rules" in page


def test_anchors_are_made_as_on_github():
    text = "# A title\n## What a kind *cannot* do\n```\n# no\n```\n## A title\n### `code`, and more: 1.5\n"
    assert handbook.anchors(text) == ["a-title", "what-a-kind-cannot-do", "a-title-1", "code-and-more-15"]
    assert handbook.links("[a](b.md#c) `[x](y)` [d](https://e)\n```\n[f](g)\n```\n") == ["b.md#c", "https://e"]


def declares(source: str, file: str, name: str) -> bool:
    """A test of this name in the text of a file, which may run at landing or daily."""
    return re.search(rf"^def {re.escape(name)}\(", source, re.M) is not None if file.endswith(".py") else f"func `{name}`" in source


def test_every_test_that_the_threat_model_names_is_there():
    section = handbook.text("threat-model").split("## What is tested of that")[1].split("\n## ")[0]
    rows = [row.split(" | ")[1].removesuffix(" |") for row in section.splitlines() if row.startswith("| ")][1:]
    assert len(rows) > 15
    missing = []
    for row in rows:
        file, _, name = row.partition(": ")
        path = handbook.ROOT / file.strip("`")
        if not path.exists():
            missing.append(f"{file} is not there")
        elif name and not declares(path.read_text(), path.name, name):
            missing.append(f"{file} has no test with the name: {name}")
    assert missing == [], "\n".join(missing)
