"""openapi/openapi.yaml is valid, and it is what the server serves."""

from pathlib import Path

import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

FILE = Path(__file__).parents[2] / "openapi/openapi.yaml"


def test_the_contract_is_valid_openapi():
    contract = yaml.safe_load(FILE.read_text())
    assert contract["openapi"].startswith("3.1")
    assert [error.message for error in OpenAPIV31SpecValidator(contract).iter_errors()] == []


def test_the_contract_is_served_as_it_is(api):
    served = api.request("GET", "/openapi.yaml", token=None)
    assert served.status == 200
    assert served["Content-Type"] == "application/yaml"
    assert served.body == FILE.read_bytes()


def test_every_operation_has_a_name_of_its_own_and_says_what_can_go_wrong():
    contract = yaml.safe_load(FILE.read_text())
    names = [
        operation["operationId"]
        for path in contract["paths"].values()
        for method, operation in path.items()
        if method in ("get", "put", "post", "patch", "delete")
    ]
    assert len(names) == len(set(names)) > 30
