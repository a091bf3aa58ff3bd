"""The log's tree, signed notes and proofs, computed and verified with code of these tests alone."""

import base64
import hashlib
import json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ORIGIN = "pins.example.com/log"


def vkeys(server) -> list[str]:
    return [key["vkey"] for key in server.api.get("/v1/log").json["keys"] if "retired_at" not in key]


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def root_of(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, as it is written there."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return sha256(b"\1" + root_of(leaves[:half]) + root_of(leaves[half:]))


def unnote(text: str):
    """A signed note, taken apart as C2SP says: text, and signatures by name and key id."""
    body, _, signatures = text.rpartition("\n\n")
    lines = [line.removeprefix("\u2014 ").split(" ") for line in signatures.splitlines()]
    return body + "\n", {(name, base64.b64decode(data)[:4]): base64.b64decode(data)[4:] for name, data in lines}


def verify_note(text: str, vkey: str) -> str:
    """Verifies a note with code of these tests alone."""
    name, identifier, key = vkey.split("+", 2)
    raw = base64.b64decode(key)
    assert sha256(name.encode() + b"\n" + raw)[:4].hex() == identifier and raw[0] == 1
    body, signatures = unnote(text)
    Ed25519PublicKey.from_public_bytes(raw[1:]).verify(signatures[name, bytes.fromhex(identifier)], body.encode())
    return body


def root_over(entry: bytes, index: int, size: int, hashes: list[bytes]) -> bytes:
    """The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2)."""
    node, last = sha256(b"\0" + entry), size - 1
    for each in hashes:
        assert last > 0
        if index & 1 or index == last:
            node = sha256(b"\1" + each + node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = sha256(b"\1" + node + each)
        index, last = index >> 1, last >> 1
    assert last == 0
    return node


def opened(text: str, vkey: str) -> dict:
    """The entry of a proof file, verified with the code of these tests alone."""
    head, _, note = text.partition("\n\n")
    first, extra, index, *hashes = head.split("\n")
    assert first == "c2sp.org/tlog-proof@v1"
    entry = base64.b64decode(extra.removeprefix("extra "))
    origin, size, root, *_ = verify_note(note, vkey).split("\n")
    assert origin == ORIGIN
    place = int(index.removeprefix("index "))
    assert root_over(entry, place, int(size), [base64.b64decode(each) for each in hashes]) == base64.b64decode(root)
    return json.loads(entry)
