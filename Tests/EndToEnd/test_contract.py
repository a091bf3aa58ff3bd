"""The files in openapi are what the server serves. Tests/Lint/test_contract.py checks them."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "openapi"


@pytest.mark.parametrize(("name", "kind"), [("openapi.yaml", "application/yaml"), ("openapi.json", "application/json")])
def test_the_contract_is_served_as_it_is(api, name, kind):
    served = api.request("GET", f"/{name}", token=None)
    assert served.status == 200
    assert served["Content-Type"] == kind
    assert served.body == (FOLDER / name).read_bytes()
