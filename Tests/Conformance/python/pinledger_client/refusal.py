"""Why a client does not take what it was given."""


class Refused(Exception):
    """A document or a root that a rule refuses. `reason` is the rule's code; `detail` is for people who look for the cause."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
