"""openapi/openapi.yaml, as tests read it."""

from pathlib import Path

import yaml

# The loader in C takes a sixth of the time.
CONTRACT = yaml.load((Path(__file__).resolve().parents[3] / "openapi/openapi.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def resolved(value: dict) -> dict:
    """The value that a reference names, with what stands beside it."""
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


def examples_of(content: dict):
    """The examples of a body or a parameter, each with its name."""
    if "example" in content:
        yield "example", content["example"]
    for name, example in content.get("examples", {}).items():
        yield name, resolved(example)["value"]


def requests():
    """Operation, name, method, path, kind of content, its schema and the value of every example of what is sent."""
    for path, method, operation in operations():
        if "requestBody" in operation:
            for kind, content in resolved(operation["requestBody"])["content"].items():
                for name, value in examples_of(content):
                    yield operation["operationId"], name, method.upper(), path, kind, content["schema"], value


def answers():
    """Operation, status, name, schema and value of every example of what is answered in JSON."""
    for _, _, operation in operations():
        for status, response in operation["responses"].items():
            for kind, content in resolved(response).get("content", {}).items():
                if "json" in kind:
                    for name, value in examples_of(content):
                        yield operation["operationId"], status, name, content["schema"], value
