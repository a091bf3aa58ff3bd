"""The handbook's pages: their files, links and anchors, and the parts of them that are generated."""

import json
import re
import subprocess
from pathlib import Path

from pinledger import BINARY

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "Sources/CHandbook/pages"

# Commands that run on a server's machine: their flags are the server's configuration.
SERVER_COMMANDS = ["serve", "edge serve", "dev", "migrate", "doctor", "fsck", "config check", "token bootstrap", "key rewrap"]
# A command that has every option that operators' commands share.
OPERATORS_COMMAND = "app create"


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


def flags(command: str) -> list[dict]:
    """A command's flags as the argument parser tells them, each with `flag`, `variable`, `meaning` and `section`."""
    done = subprocess.run(
        [BINARY, *command.split(), "--experimental-dump-help"], capture_output=True, text=True, check=True, timeout=60
    )
    found = []
    for argument in json.loads(done.stdout)["command"].get("arguments", []):
        names = {name["name"] for name in argument.get("names") or []}
        if argument["kind"] == "positional" or not argument["shouldDisplay"] or names & {"help", "version"}:
            continue
        flag = "--" + argument["preferredName"]["name"]
        if argument["kind"] == "option":
            flag += f" {argument['valueName'].upper()}"
        meaning = argument.get("abstract", "")
        variable = re.search(r"\s*\[env: ([^\]]+)\]", meaning)
        meaning = meaning.replace(variable[0], "") if variable else meaning
        if argument.get("defaultValue"):
            meaning += f" Default: `{argument['defaultValue']}`."
        name, _, how = variable[1].partition(",") if variable else ("", "", "")
        found.append({
            "flag": f"`{flag}`", "variable": (f"`{name}`" if name else "") + (f",{how}" if how else ""), "meaning": meaning,
            "section": argument.get("sectionTitle", ""),
        })  # fmt: skip
    return found


def settings() -> dict[str, dict]:
    """What may stand in a configuration file, by name, as `pinledger config show` tells it."""
    done = subprocess.run(
        [BINARY, "config", "show", "--database", "dbname=none", "--output", "json"], capture_output=True, text=True, check=True, timeout=60
    )
    return {one["setting"]: one for one in json.loads(done.stdout)}


def configuration() -> str:
    """The flags of the commands that run on a server's machine, and those that operators' commands share."""
    keys = settings()

    def key(flag: dict, commands: list[str]) -> str:
        name = flag["flag"].strip("`").split()[0].removeprefix("--").replace("-", "_")
        # Commands that are no server have flags of these names too, some without a variable: the file holds what servers use.
        if not flag["variable"] or name == "config":
            return ""
        if commands == ["`edge serve`"]:
            return f"`{name}`"
        if name not in keys:
            return ""
        return f"`{name}`" + (", reloaded" if keys[name]["reloaded"] else "")

    rows: dict[tuple, tuple[dict, list[str]]] = {}
    for command in SERVER_COMMANDS:
        for flag in flags(command):
            row = rows.setdefault((flag["flag"], flag["variable"], flag["meaning"]), (flag, []))
            row[1].append(f"`{command}`")
    sections = sorted({flag["section"] for flag, _ in rows.values()})
    parts = []
    for section in sections:
        parts.append(f"### {section or 'General'}\n\n")
        parts.append(table(["Flag", "Variable", "In the file", "Meaning", "Commands"], [
            [flag["flag"], flag["variable"], key(flag, commands), flag["meaning"], ", ".join(commands)]
            for flag, commands in rows.values() if flag["section"] == section
        ]) + "\n")  # fmt: skip
    shared = [[flag["flag"], flag["meaning"]] for flag in flags(OPERATORS_COMMAND) if flag["flag"] != "`--name NAME`"]
    parts.append("### Operators' commands\n\n" + table(["Flag", "Meaning"], shared))
    return "".join(parts)


def problems(api) -> str:
    """The error table, as the server shows it."""
    listed = api.must("GET", "/problems").json["problems"]
    return table(["Type", "Status", "Title", "What to do"], [
        [f"`{one['type'].removeprefix('/problems/')}`", str(one["status"]), one["title"], one["advice"]] for one in listed
    ])  # fmt: skip


def performance() -> str:
    """The goals of every benchmark that was kept, each with the figure it was judged by."""
    rows = []
    for file in sorted((ROOT / "Tests/Benchmarks/results").glob("*.json")):
        result = json.loads(file.read_text())
        for goal in result["goals"]:
            rows.append([f"`{result['name']}`", goal["text"], goal["figure"], "yes" if goal["met"] else "**no**"])
    return table(["Benchmark", "Goal", "Figure", "Met"], rows)


def generated_part(name: str) -> tuple[str, str]:
    """What stands before a page's generated part, and the part: all that follows the first paragraph below the heading."""
    heading = {"configuration": "## Flags", "problems": "## Types", "performance": "## Figures"}[name]
    page = text(name)
    start = page.index("\n\n", page.index(f"\n{heading}\n") + len(heading) + 3) + 2
    return page[:start], page[start:]
