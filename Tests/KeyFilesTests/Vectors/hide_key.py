#!/usr/bin/env python3
"""Writes a PKCS#12 file whose key lies in an encrypted part, without a checksum: hide_key.py KEY.PEM OUT. Password x."""

import subprocess
import sys


def tlv(tag, *contents):
    body = b"".join(contents)
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def oid(hexadecimal):
    return tlv(0x06, bytes.fromhex(hexadecimal))


key = subprocess.run(
    ["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", sys.argv[1], "-outform", "der"], check=True, capture_output=True
).stdout
bags = tlv(0x30, tlv(0x30, oid("2a864886f70d010c0a0101"), tlv(0xA0, key)))
salt, vector, rounds = b"saltsalt", bytes(16), 2048
derived = subprocess.run(
    ["openssl", "kdf", "-keylen", "32", "-kdfopt", "digest:SHA256", "-kdfopt", "pass:x", "-kdfopt", "salt:saltsalt"]
    + ["-kdfopt", f"iter:{rounds}", "-binary", "PBKDF2"],
    check=True,
    capture_output=True,
).stdout
encrypted = subprocess.run(
    ["openssl", "enc", "-aes-256-cbc", "-K", derived.hex(), "-iv", vector.hex()],
    input=bags,
    check=True,
    capture_output=True,
).stdout
hmac_sha256 = tlv(0x30, oid("2a864886f70d0209"), b"\5\0")
derivation = tlv(
    0x30,
    oid("2a864886f70d01050c"),
    tlv(0x30, tlv(0x04, salt), tlv(0x02, rounds.to_bytes(2, "big")), hmac_sha256),
)
cipher = tlv(0x30, oid("60864801650304012a"), tlv(0x04, vector))
algorithm = tlv(0x30, oid("2a864886f70d01050d"), tlv(0x30, derivation, cipher))
content = tlv(0x30, oid("2a864886f70d010701"), algorithm, tlv(0x80, encrypted))
safe = tlv(0x30, oid("2a864886f70d010706"), tlv(0xA0, tlv(0x30, b"\2\1\0", content)))
safes = tlv(0x30, oid("2a864886f70d010701"), tlv(0xA0, tlv(0x04, tlv(0x30, safe))))
with open(sys.argv[2], "wb") as file:
    file.write(tlv(0x30, b"\2\1\3", safes))
