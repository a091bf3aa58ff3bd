"""The contract in JSON, made from the contract in YAML: openapi/openapi.json."""

import json
from pathlib import Path

from contract import CONTRACT


def lines(value, depth: int) -> str:
    """JSON with a line for each member down to a depth, so that a difference shows what changed."""
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "{\n" + ",\n".join(f"{json.dumps(name)}:{lines(member, depth - 1)}" for name, member in value.items()) + "\n}"


def text() -> str:
    return lines(CONTRACT, 3) + "\n"


if __name__ == "__main__":
    (Path(__file__).resolve().parents[3] / "openapi/openapi.json").write_text(text())
