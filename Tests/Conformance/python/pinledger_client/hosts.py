"""Names of hosts, and the patterns that stand for them."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

_LONGEST_NAME = 253
_NAME = re.compile("[!-~]+")
_UPPER_CASE = re.compile("[A-Z]+")


def ascii_lower(text: str) -> str:
    """The text with the letters of ASCII in lower case. `str.lower` also makes ASCII of others, such as the Kelvin sign."""
    return _UPPER_CASE.sub(lambda match: match[0].lower(), text)


def host_name(text: str) -> str | None:
    """The name in lower case, without its one trailing dot; none for a text that is no name.

    Names with other than ASCII characters have to come in A-labels.
    """
    name = text[:-1] if text.endswith(".") else text
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name) or "" in name.split("."):
        return None
    return ascii_lower(name)


def own_patterns(name: str) -> tuple[str, ...]:
    """The patterns that stand for the name and for no name with more labels: itself, and the wildcard of its parent."""
    parent = next(_parents(name), None)
    return (name,) if parent is None else (name, f"*.{parent}")


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.partition(".")[2]
        yield name


class HostPatterns:
    """The hosts of a document, to be found by the name of a connection."""

    def __init__(self, hosts: Iterable[dict[str, Any]]) -> None:
        self._hosts = {host["host"]: host for host in hosts}

    def find(self, name: str) -> dict[str, Any] | None:
        """The host whose pattern stands for the name; none if no pattern does."""
        for pattern in own_patterns(name):
            if (host := self._hosts.get(pattern)) is not None:
                return host
        for parent in _parents(name):
            for pattern in (f"*.{parent}", parent):
                host = self._hosts.get(pattern)
                if host is not None and host["include_subdomains"]:
                    return host
        return None
