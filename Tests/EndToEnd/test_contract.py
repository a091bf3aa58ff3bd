"""openapi/openapi.yaml is what the server serves. Tests/Lint/test_contract.py checks the file."""

from pathlib import Path

FILE = Path(__file__).parents[2] / "openapi/openapi.yaml"


def test_the_contract_is_served_as_it_is(api):
    served = api.request("GET", "/openapi.yaml", token=None)
    assert served.status == 200
    assert served["Content-Type"] == "application/yaml"
    assert served.body == FILE.read_bytes()
