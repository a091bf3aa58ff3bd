"""The handbook by HTTP and by the command, and the parts of it that the program's own words make. Tests/Lint checks its text."""

import base64
import hashlib
import http.client
import re
import subprocess
from html.parser import HTMLParser

import generated
import handbook
from pinledger import BINARY

PAGES = handbook.names()


def pinledger(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=300)


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


def test_the_command_prints_a_page_as_it_was_written():
    """One page stands for all: the list has each of them, and the program embeds their files."""
    longest = max(PAGES, key=lambda name: len(handbook.text(name)))
    assert pinledger("handbook", longest).stdout == handbook.text(longest)


def test_the_command_names_the_pages_when_it_is_asked_for_another():
    refused = pinledger("handbook", "roloouts")
    assert refused.returncode == 5 and refused.stdout == ""
    assert "roloouts" in refused.stderr and all(name in refused.stderr for name in PAGES)


def test_the_server_lists_every_page(api):
    answer = api.request("GET", "/handbook", token=None)
    assert answer.status == 200 and answer["Content-Type"] == "text/html; charset=utf-8"
    page = Page(answer.body.decode())
    assert {f"/handbook/{name}" for name in PAGES} <= set(page.links)


def check_page(name: str, answer: http.client.HTTPResponse, text: str) -> None:
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "public, max-age=300"
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


def test_the_server_shows_each_page_so_that_it_loads_and_runs_nothing(api):
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=300)
    failed = []
    try:
        for name in PAGES:
            connection.request("GET", f"/handbook/{name}")
            answer = connection.getresponse()
            text = answer.read().decode()
            try:
                check_page(name, answer, text)
            except AssertionError as error:
                failed.append(f"{name}: {error}")
    finally:
        connection.close()
    assert failed == [], "\n".join(failed)


def test_the_style_of_a_page_is_the_one_that_its_policy_allows(api):
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


def test_the_generated_page_of_the_configuration_has_every_flag():
    handbook.check_generated("configuration", generated.configuration())


def test_the_generated_page_of_problems_is_the_error_table(api):
    handbook.check_generated("problems", generated.problems(api))


def test_every_setting_of_a_file_has_its_variable_on_the_page_of_the_configuration():
    variables = {f"PINLEDGER_{name.upper()}" for name in generated.settings()}
    assert len(variables) > 20
    assert handbook.missing_variables(handbook.text("configuration"), variables) == []
