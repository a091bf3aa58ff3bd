"""The parts of the handbook's pages that the program's own words make."""

import json
import re
import subprocess

from handbook import table
from pinledger import BINARY

# Commands that run on a server's machine: their flags are the server's configuration.
SERVER_COMMANDS = ["serve", "edge serve", "dev", "migrate", "doctor", "fsck", "config check", "token bootstrap", "key rewrap"]
# A command that has every option that operators' commands share.
OPERATORS_COMMAND = "app create"


def flags(command: str) -> list[dict]:
    """A command's flags as the argument parser tells them, each with `flag`, `variable`, `meaning` and `section`."""
    done = subprocess.run(
        [BINARY, *command.split(), "--experimental-dump-help"], capture_output=True, text=True, check=True, timeout=300
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
        [BINARY, "config", "show", "--database", "dbname=none", "--output", "json"], capture_output=True, text=True, check=True, timeout=300
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
