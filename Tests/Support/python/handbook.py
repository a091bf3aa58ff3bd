"""The handbook's pages: their files, links and anchors, and their generated parts."""

import json
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "Sources/CHandbook/pages"


def names() -> list[str]:
    return sorted(page.stem for page in PAGES.glob("*.md"))


def text(name: str) -> str:
    return (PAGES / f"{name}.md").read_text()


def without_fences(markdown: str) -> str:
    """The text with every fenced block replaced by blanks of its length: what is in one is neither heading nor link."""
    return re.sub(r"^```.*?^```$", lambda block: re.sub(r"[^\n]", " ", block[0]), markdown, flags=re.M | re.S)


def anchors(markdown: str) -> list[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+?)\s*$", without_fences(markdown), re.M):
        base = re.sub(r"[^\w -]", "", heading.replace("`", "").lower()).replace(" ", "-")
        count = sum(one == base or re.fullmatch(re.escape(base) + r"-\d+", one) is not None for one in found)
        found.append(base if count == 0 else f"{base}-{count}")
    return found


def links(markdown: str) -> list[str]:
    """The targets of a page's links."""
    prose = re.sub(r"`[^`\n]*`", "", without_fences(markdown))
    return re.findall(r"\]\(([^()\s]+)\)", prose)


def table(header: list[str], rows: list[list[str]]) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |\n"

    return line(header) + "|---" * len(header) + "|\n" + "".join(map(line, rows))


def performance() -> str:
    """The goals of every benchmark that was kept, each with the figure it was judged by."""
    rows = []
    for file in sorted((ROOT / "Tests/Benchmarks/results").glob("*.json")):
        result = json.loads(file.read_text())
        for goal in result["goals"]:
            rows.append([f"`{result['name']}`", goal["text"], goal["figure"], "yes" if goal["met"] else "**no**"])
    return table(["Benchmark", "Goal", "Figure", "Met"], rows)


def generated_part(name: str) -> tuple[str, str]:
    """The text before a page's generated part, and the part: all that follows the first paragraph below the heading."""
    heading = {"configuration": "## Flags", "problems": "## Types", "performance": "## Figures"}[name]
    page = text(name)
    start = page.index("\n\n", page.index(f"\n{heading}\n") + len(heading) + 3) + 2
    return page[:start], page[start:]


def check_generated(name: str, expected: str) -> None:
    """Compares a page's generated part with what it is to be, or writes it with UPDATE in the environment."""
    before, part = generated_part(name)
    if os.environ.get("UPDATE"):
        (PAGES / f"{name}.md").write_text(before + expected)
        return
    by = "Lint" if name == "performance" else "EndToEnd"
    assert part == expected, f"{name}.md is out of date: UPDATE=1 Tests/{by}/run -k generated"


def missing_variables(page: str, variables: set[str]) -> list[str]:
    """The variables that a page does not name."""
    return [name for name in sorted(variables) if f"`{name}`" not in page and f"`{name}=" not in page]


def blocks(name: str, heading: str) -> list[tuple[str, str]]:
    """The commands under a heading of a page: whose they are, which stands behind `sh`, and their text."""
    page = text(name)
    blank = without_fences(page)
    start = re.search(rf"^#+ {re.escape(heading)}$", blank, re.M)
    assert start, f"there is no heading {heading!r}"
    end = re.compile(r"^#+ ", re.M).search(blank, start.end())
    section = page[start.end() : end.start() if end else len(page)]
    return re.findall(r"^```sh (database|node|root)\n(.*?)^```$", section, re.M | re.S)


def commands(block: str) -> list[str]:
    """A block's commands, one for each line that does not go on."""
    return block.replace("\\\n", " ").splitlines()
