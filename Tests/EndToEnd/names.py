"""Names that no other test has given away."""

import uuid


def unique(beginning: str = "") -> str:
    """A name that begins so, and ends with letters and digits that no other one ends with."""
    return beginning + uuid.uuid4().hex[:12]
