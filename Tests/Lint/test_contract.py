"""The contract is valid, complete and said in words, and its examples fit their schemas."""

import functools
import json
from pathlib import Path

import contract_json
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


def parts(schema, place: str, is_condition: bool = False):
    """A schema and all schemas in it, each with its place and with whether it only says when another one holds."""
    yield place, schema, is_condition
    if not isinstance(schema, dict):
        return
    for key in ("properties", "patternProperties", "dependentSchemas"):
        for name, part in schema.get(key, {}).items():
            yield from parts(part, f"{place}.{name}", is_condition)
    for key in ("allOf", "anyOf", "oneOf", "prefixItems"):
        for index, part in enumerate(schema.get(key, [])):
            yield from parts(part, f"{place}/{key}/{index}", is_condition)
    for key in ("items", "propertyNames", "contains", "contentSchema"):
        if key in schema:
            yield from parts(schema[key], f"{place}/{key}", is_condition)
    for key in ("additionalProperties", "unevaluatedProperties"):
        # Generators know true and false here.
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key], f"{place}/{key}", is_condition)
    for key in ("not", "if", "then", "else"):
        if key in schema:
            yield from parts(schema[key], f"{place}/{key}", True)


def generators_fail_at(schema, is_condition: bool) -> str | None:
    """The reason for which a program that makes clients from the contract refuses a schema, or makes code that fails."""
    if isinstance(schema, bool):
        return "a boolean instead of a schema: use {}, `not` or `additionalProperties`"
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if "const" in schema and not types:
        return "a constant without its type"
    if is_condition:
        # Generators pass over conditions.
        return None
    if any(isinstance(value, bool) for value in [schema.get("const"), *schema.get("enum", [])]):
        return "a boolean as constant, which clients compare with its text: use `type: boolean` and `not`"
    if "properties" in schema and ("anyOf" in schema or "oneOf" in schema):
        return "alternatives beside members, of which clients have one or the other: use `if`, `then` and `else`"
    if "$ref" in schema and ("properties" in schema or "required" in schema):
        return "members beside a reference, of which clients have one or the other: use `allOf`"
    if "array" in types and "items" not in schema:
        return "an array without its items"
    if len(types) > 1 and {"array", "object"} & set(types):
        return "an array or object that may be of another type: use `oneOf`"
    if not schema.get("pattern", "^").startswith("^"):
        return "a pattern without ^, which clients compare from the beginning"
    return None


def test_a_client_can_be_made_of_every_schema_of_the_contract():
    named = [*SCHEMAS.items(), *inline_schemas()]
    found = [part for place, schema in named for part in parts(schema, place)]
    assert len(found) > 3000
    failures = [f"{place}: {why}" for place, part, is_condition in found if (why := generators_fail_at(part, is_condition))]
    assert failures == [], "\n".join(failures)


def test_a_schema_of_which_no_client_can_be_made_is_named():
    failing = [
        True, {"const": 1}, {"type": "boolean", "const": True}, {"enum": [False, None]}, {"properties": {}, "anyOf": [{}]},
        {"$ref": "", "required": []}, {"type": "array"}, {"type": ["array", "null"], "items": {}}, {"type": "string", "pattern": "b$"},
    ]  # fmt: skip
    assert [schema for schema in failing if not generators_fail_at(schema, False)] == []
    for key in ("not", "if", "then", "else"):
        assert [place for place, part, condition in parts({key: {"const": 1}}, "") if generators_fail_at(part, condition)] == [f"/{key}"]
        assert not any(generators_fail_at(part, condition) for _, part, condition in parts({key: {"type": "array"}}, ""))


def test_the_contract_in_json_is_that_in_yaml():
    kept = Path(__file__).resolve().parents[2] / "openapi/openapi.json"
    assert kept.read_text() == contract_json.text(), "run `python3 Tests/Support/python/contract_json.py`"


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


def test_every_example_of_a_problem_has_the_status_of_its_answer():
    problems = [
        (f"{operation} {name}", status, value) for operation, status, name, schema, value in answers()
        if schema == {"$ref": "#/components/schemas/Problem"}
    ]  # fmt: skip
    assert len(problems) > 300
    assert [place for place, status, value in problems if str(value["status"]) != status] == []


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
