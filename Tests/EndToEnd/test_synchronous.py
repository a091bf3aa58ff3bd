"""A node that insists on a synchronous standby, on a server that has none."""

import json

from databases import await_standby, standby
from nodes import start_node
from problems import expect_problem

APP = "com.example.synchronous"


def test_a_node_that_requires_a_standby_records_nothing_without_one(own_server, tmp_path):
    own_server.api.make_app(APP, "api.example.com")
    key = ["--kek-file", str(own_server.data / "key-encryption-key")]
    await_standby(own_server, "elsewhere")
    try:
        with standby(own_server, "elsewhere", tmp_path / "log"):
            node, api = start_node(own_server, "demanding", *key, "--require-synchronous")
        # As a cluster manager does that has the primary go on alone.
        await_standby(own_server, None)
        try:
            assert api.document(APP).status == 200
            refused = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
            expect_problem(refused, 503, "database_unavailable")
            assert "no synchronous standby" in refused.json["detail"]
            assert "no synchronous standby" in api.get("/readyz").json["write_failure"]
            assert api.get("/readyz?for=writes").status == 503
        finally:
            node.stop()
    finally:
        await_standby(own_server, None)
    # A node beside it that does not insist records.
    own_server.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})


def test_doctor_judges_what_the_database_keeps(own_server):
    def durability(status: int, *options: str) -> dict:
        done = own_server.cli(
            "doctor", "--database", own_server.connection_string, "--kek-file", str(own_server.data / "key-encryption-key"),
            "--listen", f"127.0.0.1:{own_server.port}", "--output", "json", *options, status=status)  # fmt: skip
        return {finding["subject"]: finding for finding in json.loads(done.stdout)}["durability"]

    usual = durability(0)
    assert usual["verdict"] == "ok" and "for no standby" in usual["detail"]
    assert durability(1, "--require-synchronous")["verdict"] == "fail"
