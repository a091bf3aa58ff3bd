"""The JSON Schema of files with specs of apps, made from the contract: openapi/specs.schema.json."""

import copy
import json
from pathlib import Path

from contract import CONTRACT

SCHEMAS = CONTRACT["components"]["schemas"]


def schema() -> dict:
    """A file has the specs that requests have, with the app's id in each, and pins may name files with their keys."""
    app = copy.deepcopy(SCHEMAS["GivenAppSpec"])
    for name in ("reason", "force"):
        del app["properties"][name]
    app["required"] = ["app"]
    app["description"] = "What an app is to be. Members that are left out stay as they are, unless the plan prunes."
    app["properties"] = {"app": {"$ref": "#/components/schemas/AppID", "description": "The app's id."}} | app["properties"]
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pinledger: specs of apps",
        "description": "What `pinledger plan` and `pinledger apply` take.",
        "type": "object",
        "minProperties": 1,
        "properties": {"apps": {"description": "The apps, each once.", "type": "array", "items": {"$ref": "#/$defs/App"}}},
        "additionalProperties": False,
    }
    definitions: dict[str, dict] = {}
    whole["properties"] |= {name: with_definitions(section, definitions) for name, section in shared().items()}
    definitions["App"] = with_definitions(app, definitions)
    whole["$defs"] = dict(sorted(definitions.items()))
    return whole


def shared() -> dict[str, dict]:
    """The sections of what all apps share. Their entries are the requests of the API, each with its name."""
    rule = {"rule": {"$ref": "#/components/schemas/RoleName", "description": "The rule's name."}}
    access = {
        "roles": entries("NewRole", {"role": {"$ref": "#/components/schemas/RoleName", "description": "The role's name."}}),
        "principals": {
            "description": "People and service accounts, each once.",
            "type": "array",
            "items": obj(
                "A person or a service account.",
                {
                    "name": {"$ref": "#/components/schemas/Name"},
                    "kind": {"description": "What it is. Default: a person.", "enum": ["person", "service"]},
                    "grants": {
                        "description": "All roles that it is to have by itself. Default: as they are.",
                        "type": "array",
                        "items": {"$ref": "#/components/schemas/GivenGrant"},
                    },
                },
                ["name"],
            ),
        },
        "identity_providers": entries(
            "NewIdentityProvider", {"provider": {"$ref": "#/components/schemas/RoleName", "description": "The provider's name."}}
        ),
        "sign_in_rules": entries("NewSignInRule", rule),
        "approval_rules": entries("NewApprovalRule", rule),
    }
    fleet = {
        "issuer": SCHEMAS["FleetUpdate"]["properties"]["issuer"],
        "lowered_guard_rails": {
            "description": "All guard rails that are lowered to a warning, whatever the app.",
            "type": "array",
            "items": {"type": "string"},
        },
    }
    return {
        "fleet": obj("The settings of the fleet. What is left out stays as it is.", fleet),
        "access": obj("Who may do what. A list that is left out says nothing.", access),
        "webhooks": entries("NewWebhook", {}),
    }


def obj(description: str, properties: dict, required: list[str] | None = None) -> dict:
    shape = {"description": description, "type": "object", "properties": properties, "additionalProperties": False}
    return shape | ({"required": required} if required else {})


def entries(request: str, name: dict) -> dict:
    """A list of what a request takes, without what belongs to the command, and with what the request has in its path."""
    entry = copy.deepcopy(SCHEMAS[request])
    for member in ("reason", "force"):
        del entry["properties"][member]
    entry["properties"] = name | entry["properties"]
    entry["required"] = [*name, *entry["required"]]
    return {"description": entry["description"], "type": "array", "items": entry}


def with_definitions(value, definitions: dict):
    """The same schema with references to `$defs`, which is filled with all that it refers to."""
    if isinstance(value, list):
        return [with_definitions(each, definitions) for each in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for key, each in value.items():
        if key in ("example", "examples"):
            continue
        if key == "$ref":
            name = each.rsplit("/", 1)[1]
            if name not in definitions:
                definitions[name] = {}
                definitions[name] = with_definitions(pin_with_file() if name == "NewPin" else SCHEMAS[name], definitions)
            result[key] = f"#/$defs/{name}"
        else:
            result[key] = with_definitions(each, definitions)
    return result


def pin_with_file() -> dict:
    pin = copy.deepcopy(SCHEMAS["NewPin"])
    pin["description"] = "A pin, or the key that it is of."
    pin["properties"]["file"] = {
        "description": "A file with a certificate, a signing request or a public key, relative to this file.",
        "type": "string",
    }
    for part in ("if", "then", "else"):
        del pin[part]
    pin["oneOf"] = [{"required": [name]} for name in ("pin", "material", "material_base64", "file")]
    return pin


def text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (Path(__file__).resolve().parents[3] / "openapi/specs.schema.json").write_text(text())
