"""Notifications by any role that may read the database: they are only hints."""

import json
import subprocess

from pinledger import Server, eventually, host_body

APP = "com.example.notified"

PAYLOADS = [
    "app@1@9223372036854775807", "app@1@-9223372036854775808", f"{APP}@9223372036854775807@9223372036854775807",
    "app@99999999999999999999@1", "9223372036854775807", "-9223372036854775808", "@@", "", "é" * 3000, "\u0301\u0316" * 1900,
    "a@1@1 " * 1300,
]  # fmt: skip


def test_no_notification_of_a_reader_ends_a_node(own_server):
    """Anybody who may connect to the database may notify."""
    server: Server = own_server
    server.api.make_app(APP, "api.example.com")

    def psql(user: str, *commands: str) -> None:
        arguments = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", f"{server.data}/postgresql", "-U", user, "-d", "pinledger"]
        subprocess.run([*arguments, *(f"--command={command}" for command in commands)], check=True, timeout=120)

    psql("postgres", "CREATE ROLE stranger LOGIN IN ROLE pinledger_reader")
    for channel in ("pinledger_document", "pinledger_position", "pinledger"):
        psql("stranger", *(f"NOTIFY {channel}, '{payload}'" for payload in PAYLOADS))
    # What is notified in truth is still heard, and the tick that looks by itself still comes.
    for host in ("after.example.com", "later.example.com"):
        server.api.must("POST", f"/v1/apps/{APP}/hosts", host_body(host))
        eventually(lambda: host in json.dumps(server.api.payload(APP)), "the document")
    assert server.is_running and server.api.get("/healthz").status == 200
