"""openapi/openapi.yaml, as tests read it."""

from pathlib import Path

import yaml

CONTRACT = yaml.safe_load((Path(__file__).parents[2] / "openapi/openapi.yaml").read_text())


def resolved(value: dict) -> dict:
    """What a reference names, with what stands beside it."""
    while "$ref" in value:
        target = CONTRACT
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        value = target | {name: more for name, more in value.items() if name != "$ref"}
    return value


def operations():
    """Path, method and description of every operation."""
    for path, item in CONTRACT["paths"].items():
        for method, operation in item.items():
            if method in ("get", "put", "post", "patch", "delete"):
                yield path, method, operation
