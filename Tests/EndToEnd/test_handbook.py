"""The handbook: each page by HTTP and by the command, links that lead somewhere, and generated parts that are up to date."""

import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import handbook
import pytest
from pinledger import BINARY

PAGES = handbook.names()
README = handbook.ROOT / "README.md"
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "Tests/README.md"] + [
    f"Sources/CHandbook/pages/{name}.md" for name in PAGES
]


def pinledger(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=60)


class Page(HTMLParser):
    """The elements of an HTML document."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.add(tag)
        self.attributes |= set(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"] or "")
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"] or "")


def test_the_command_lists_every_page():
    listed = pinledger("handbook")
    assert listed.returncode == 0
    lines = listed.stdout.splitlines()[1:]
    assert sorted(line.split()[0] for line in lines) == PAGES
    for line in lines:
        name, title = line.split(maxsplit=1)
        assert handbook.text(name).startswith(f"# {title}\n")


@pytest.mark.parametrize("name", PAGES)
def test_the_command_prints_a_page_as_it_was_written(name):
    assert pinledger("handbook", name).stdout == handbook.text(name)


def test_the_command_names_the_pages_when_it_is_asked_for_another():
    refused = pinledger("handbook", "roloouts")
    assert refused.returncode == 5 and refused.stdout == ""
    assert "roloouts" in refused.stderr and all(name in refused.stderr for name in PAGES)


def test_the_server_lists_every_page(api):
    answer = api.request("GET", "/handbook", token=None)
    assert answer.status == 200 and answer["Content-Type"] == "text/html; charset=utf-8"
    page = Page(answer.body.decode())
    assert {f"/handbook/{name}" for name in PAGES} <= set(page.links)


@pytest.mark.parametrize("name", PAGES)
def test_the_server_shows_a_page_that_loads_and_runs_nothing(api, name):
    answer = api.request("GET", f"/handbook/{name}", token=None)
    assert answer.status == 200 and answer["Content-Type"] == "text/html; charset=utf-8"
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "unsafe" not in policy
    assert answer["X-Content-Type-Options"] == "nosniff" and answer["Cache-Control"] == "public, max-age=300"
    text = answer.body.decode()
    page = Page(text)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "style")]
    assert "raw HTML omitted" not in text
    assert page.ids == handbook.anchors(handbook.text(name))
    # Every link within the handbook leads to a page, and where it names an anchor, to a heading.
    for link in page.links:
        if link.startswith("https://") or link == "/openapi.yaml" or link == "/handbook":
            continue
        path, _, anchor = link.partition("#")
        target = path.removeprefix("/handbook/") if path else name
        assert target in PAGES, link
        assert not anchor or anchor in handbook.anchors(handbook.text(target)), link


def test_the_style_of_a_page_is_the_one_that_its_policy_allows(api):
    import base64
    import hashlib

    answer = api.request("GET", "/handbook/rotations", token=None)
    style = re.search(rb"<style>(.*?)</style>", answer.body, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(style).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in answer["Content-Security-Policy"]


def test_a_page_has_an_entity_tag_and_is_answered_304_to_it(api):
    answer = api.request("GET", "/handbook/rotations", token=None)
    again = api.request("GET", "/handbook/rotations", token=None, headers={"If-None-Match": answer["ETag"]})
    assert (again.status, again.body, again["ETag"]) == (304, b"", answer["ETag"])
    other = api.request("GET", "/handbook/rollouts", token=None)
    assert other["ETag"] != answer["ETag"]


def test_a_page_that_does_not_exist_is_a_problem(api):
    for path in ("/handbook/roloouts", "/handbook/rotations.md", "/handbook/..%2frotations", "/handbook/%00"):
        assert api.request("GET", path, token=None).status in (400, 404), path


@pytest.mark.parametrize("path", DOCUMENTS)
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(path):
    file = handbook.ROOT / path
    text = file.read_text()
    for link in handbook.links(text):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (file.parent / name).resolve() if name else file
        assert target.exists() and target.is_relative_to(handbook.ROOT), link
        if anchor:
            assert anchor in handbook.anchors(target.read_text()), link


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


def test_every_page_is_embedded():
    source = (handbook.PAGES.parent / "handbook.c").read_text()
    assert sorted(re.findall(r'#embed "pages/([a-z-]+)\.md"', source)) == PAGES
    assert sorted(re.findall(r'^    \{"([a-z-]+)", ', source, re.M)) == PAGES


def check_generated(name: str, expected: str) -> None:
    before, part = handbook.generated_part(name)
    if os.environ.get("UPDATE"):
        (handbook.PAGES / f"{name}.md").write_text(before + expected)
        return
    assert part == expected, f"{name}.md is out of date: UPDATE=1 Tests/EndToEnd/run -k generated"


def test_the_generated_page_of_the_configuration_has_every_flag():
    check_generated("configuration", handbook.configuration())


def test_the_generated_page_of_problems_is_the_error_table(api):
    check_generated("problems", handbook.problems(api))


def test_the_generated_figures_are_those_that_were_measured():
    check_generated("performance", handbook.performance())


def test_every_variable_of_the_program_is_on_the_page_of_the_configuration():
    page = handbook.text("configuration")
    sources = "".join(file.read_text() for file in (handbook.ROOT / "Sources/pinledger").rglob("*.swift"))
    variables = set(re.findall(r'"((?:PINLEDGER|XDG|SSL)_[A-Z_]+)"', sources))
    variables |= {f"PINLEDGER_{name.upper()}" for name in handbook.settings()}
    assert len(variables) > 30
    assert [name for name in sorted(variables) if f"`{name}`" not in page and f"`{name}=" not in page] == []


def test_the_exit_codes_on_the_page_of_problems_are_those_of_the_program():
    source = (handbook.ROOT / "Sources/pinledger/Main.swift").read_text()
    codes = {int(code) for code in re.findall(r"case \w+ = (\d+)", source)} | {0}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", handbook.text("problems"), re.M)} == codes


def test_the_page_of_guard_rails_counts_them():
    page = handbook.text("guard-rails")
    assert f"{len(re.findall(r'^## G[0-9][0-9] ', page, re.M))} named rules" in page


def test_anchors_are_made_as_on_github():
    text = "# A title\n## What a kind *cannot* do\n```\n# no\n```\n## A title\n### `code`, and more: 1.5\n"
    assert handbook.anchors(text) == ["a-title", "what-a-kind-cannot-do", "a-title-1", "code-and-more-15"]
    assert handbook.links("[a](b.md#c) `[x](y)` [d](https://e)\n```\n[f](g)\n```\n") == ["b.md#c", "https://e"]


def test_every_test_that_the_threat_model_names_is_there():
    root = Path(__file__).parents[2]
    text = (root / "Sources/CHandbook/pages/threat-model.md").read_text()
    section = text.split("## What is tested of that")[1].split("\n## ")[0]
    rows = [row.split(" | ")[1].removesuffix(" |") for row in section.splitlines() if row.startswith("| ")][1:]
    assert len(rows) > 15
    for row in rows:
        file, _, name = row.partition(": ")
        source = (root / file.strip("`")).read_text()
        declaration = f"def {name}(" if file.endswith(".py`") else f"func `{name}`"
        assert not name or declaration in source, f"{file} has no test with the name: {name}"
