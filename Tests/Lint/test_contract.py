"""The contract is valid, complete and said in words, and its examples fit their schemas."""

import functools
import json

from contract import CONTRACT, answers, examples_of, operations, requests, resolved
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from verbs import COMMANDS, SHARED, VERBS

SCHEMAS = CONTRACT["components"]["schemas"]


def properties(schema: dict, place: str, known: frozenset = frozenset()):
    """Every property below a schema, with its place. What only narrows a property that is declared beside is left out."""
    declared = schema.get("properties", {})
    if "$ref" in schema:
        known |= resolved({"$ref": schema["$ref"]}).get("properties", {}).keys()
    for name, value in declared.items():
        if not isinstance(value, dict):
            continue
        if name not in known:
            yield f"{place}.{name}", value
        yield from properties(value, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from properties(schema[key], f"{place}[]")
    for key in ("allOf", "anyOf", "oneOf"):
        for index, part in enumerate(schema.get(key, [])):
            if isinstance(part, dict):
                yield from properties(part, f"{place}/{key}/{index}", known | declared.keys())


def inline_schemas():
    """The schemas that stand in operations, parameters and responses themselves."""

    def walk(value, place: str):
        if isinstance(value, dict):
            for name, member in value.items():
                if name == "schema":
                    yield place, member
                elif name not in ("example", "examples"):
                    yield from walk(member, f"{place}/{name}")
        elif isinstance(value, list):
            for index, member in enumerate(value):
                yield from walk(member, f"{place}/{index}")

    for part in ("parameters", "headers", "requestBodies", "responses"):
        yield from walk(CONTRACT["components"].get(part, {}), part)
    yield from walk(CONTRACT["paths"], "paths")


def test_every_schema_of_the_contract_has_a_description():
    assert len(SCHEMAS) > 200
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description", "").strip()] == []


def test_every_property_of_the_contract_has_a_description_of_its_own_or_of_the_schema_it_names():
    named = [*SCHEMAS.items(), *((place, schema) for place, schema in inline_schemas())]
    found = [one for name, schema in named for one in properties(schema, name)]
    assert len(found) > 1200
    assert [place for place, value in found if not resolved(value).get("description", "").strip()] == []


def test_every_part_of_a_schema_has_a_name_that_a_schema_may_have():
    # A comma in a text without quotes ends it within braces: the rest becomes a member without a reader.
    def strays(value, place: str):
        if isinstance(value, dict):
            for name, member in value.items():
                if member is None and name not in ("example", "default", "const"):
                    yield f"{place}/{name}"
                elif name not in ("example", "examples", "enum"):
                    yield from strays(member, f"{place}/{name}")
        elif isinstance(value, list):
            for index, member in enumerate(value):
                yield from strays(member, f"{place}/{index}")

    assert list(strays(CONTRACT, "")) == []


def test_every_success_with_a_json_body_has_an_example():
    bodies = [
        (f"{operation['operationId']} {status} {kind}", content)
        for _, _, operation in operations()
        for status, response in operation["responses"].items()
        for kind, content in resolved(response).get("content", {}).items()
        if status.startswith("2") and "json" in kind
    ]
    assert len(bodies) > 100
    assert [name for name, content in bodies if "example" not in content and "examples" not in content] == []


def test_every_operation_has_a_summary_of_its_own_and_a_description():
    summaries = [operation["summary"] for _, _, operation in operations()]
    assert len(summaries) == len(set(summaries))
    assert [one["operationId"] for _, _, one in operations() if not one.get("description", "").strip()] == []


def test_the_contract_is_valid_openapi():
    assert CONTRACT["openapi"].startswith("3.1")
    assert [error.message for error in OpenAPIV31SpecValidator(CONTRACT).iter_errors()] == []


def test_every_operation_has_a_name_of_its_own():
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names)) > 30


@functools.cache
def validator(schema: str) -> Draft202012Validator:
    """One for each schema: most operations share theirs."""
    return Draft202012Validator(json.loads(schema) | {"components": CONTRACT["components"]})


def misfits(cases) -> list[str]:
    """The places of examples that do not fit, each with the first error. Takes places, schemas and values."""
    found = []
    for place, schema, value in cases:
        for error in validator(json.dumps(schema, sort_keys=True, default=str)).iter_errors(value):
            found.append(f"{place}: {error.json_path}: {error.message[:200]}")
            break
    return found


def test_every_example_of_a_request_fits_its_schema():
    cases = [(f"{operation} {name}", schema, value) for operation, name, _, _, kind, schema, value in requests() if "json" in kind]
    assert len(cases) > 80
    found = misfits(cases)
    assert found == [], "\n".join(found)


def test_every_example_of_an_answer_fits_its_schema():
    cases = [(f"{operation} {status} {name}", schema, value) for operation, status, name, schema, value in answers()]
    assert len(cases) > 500
    found = misfits(cases)
    assert found == [], "\n".join(found)


def test_every_example_of_a_parameter_fits_its_schema():
    parameters = [
        (operation["operationId"], resolved(parameter)) for path, _, operation in operations()
        for parameter in operation.get("parameters", []) + CONTRACT["paths"][path].get("parameters", [])
    ]  # fmt: skip
    cases = [
        (f"{operation} {parameter['name']}", parameter["schema"], value)
        for operation, parameter in parameters for _, value in examples_of(parameter)
    ]  # fmt: skip
    assert len(cases) > 100
    found = misfits(cases)
    assert found == [], "\n".join(found)


def test_an_example_that_does_not_fit_is_named():
    schema = {"type": "object", "required": ["app"]}
    assert misfits([("fits", schema, {"app": "a"}), ("lacks", schema, {}), ("is a list", schema, [])]) == [
        "lacks: $: 'app' is a required property", "is a list: $: [] is not of type 'object'",
    ]  # fmt: skip


def test_every_summary_begins_with_a_verb_and_has_no_full_stop():
    for _, _, operation in operations():
        name, summary = operation["operationId"], operation["summary"]
        verb = summary.split()[0].rstrip(",")
        expected = {COMMANDS[name].split()[-1].split("-")[0].capitalize()} if name in COMMANDS else VERBS
        assert verb in expected and not summary.endswith("."), f"{name}: {summary!r} should begin with {expected}"


def test_every_operation_that_changes_or_asks_something_has_the_name_of_its_commands_verb():
    changing = {one["operationId"] for path, method, one in operations() if path.startswith("/v1/") and method != "get"}
    assert len(changing) > 50
    assert changing - COMMANDS.keys() <= SHARED <= changing
    assert COMMANDS.keys() <= {one["operationId"] for _, _, one in operations()}
    for name in changing - SHARED:
        # `set-key` of a client is `setClientKey`, and `roll-back` is `rollBackAppRollout`.
        last = COMMANDS[name].split()[-1]
        verb = "rollBack" if last == "roll-back" else last.split("-")[0]
        assert name.startswith(verb), f"{name} and {COMMANDS[name]}"


def test_every_delete_of_the_operators_interface_has_a_command_with_its_verb():
    deletions = {one["operationId"]: path for path, method, one in operations() if method == "delete"}
    # The operation with which a browser forgets its cookie.
    assert {name for name, path in deletions.items() if path.startswith("/v1/")} - {"signOut"} <= COMMANDS.keys()
    assert all(name.startswith("delete") for name, path in deletions.items() if path.startswith("/compat/"))
