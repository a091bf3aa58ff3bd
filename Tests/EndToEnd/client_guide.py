"""The guide for client authors, and the names that its code defines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "Sources/CHandbook/pages/client-integration.md").read_text()


@pytest.fixture(scope="module")
def guide() -> dict:
    """The names that the page's Python blocks define."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    names: dict = {}
    for block in blocks:
        exec(block, names)
    return names
