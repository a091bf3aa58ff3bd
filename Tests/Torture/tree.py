"""The Merkle tree of RFC 6962, computed here and not by the program."""

import hashlib


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """The roots of the complete subtrees of a growing tree, largest first, and the nodes completed on the way."""

    def __init__(self, size: int = 0, roots: list[bytes] | None = None):
        self.size = size
        self.roots = roots or []

    @classmethod
    def decode(cls, size: int, encoded: bytes) -> "Frontier":
        return cls(size, [encoded[start : start + 32] for start in range(0, len(encoded), 32)])

    @property
    def encoded(self) -> bytes:
        return b"".join(self.roots)

    def append(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Adds a leaf; the nodes at levels 8, 16, … that it completes, as (level, index, hash)."""
        completed = []
        node, size, level = leaf, self.size, 0
        while size & 1:
            node = node_hash(self.roots.pop(), node)
            size >>= 1
            level += 1
            if level % 8 == 0:
                completed.append((level, self.size >> level, node))
        self.roots.append(node)
        self.size += 1
        return completed

    @property
    def root(self) -> bytes:
        if not self.roots:
            return hashlib.sha256(b"").digest()
        node = self.roots[-1]
        for left in reversed(self.roots[:-1]):
            node = node_hash(left, node)
        return node


def root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1, level by level: nothing in common with ``Frontier``."""
    count = len(leaves)
    if count == 0:
        return hashlib.sha256(b"").digest()
    level = leaves
    # Pairing up from the left, an odd last node rising as it is, gives the same tree as the recursion.
    while len(level) > 1:
        paired = [node_hash(level[index], level[index + 1]) for index in range(0, len(level) - 1, 2)]
        if len(level) % 2:
            paired.append(level[-1])
        level = paired
    return level[0]
