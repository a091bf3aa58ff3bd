"""Nodes of two versions on one ledger: what operators see, and what an earlier program does about a later one's events."""

import subprocess
from pathlib import Path

import pytest
from databases import Database
from pinledger import API, Process, eventually, free_port, host_body
from problems import expect_problem

APP, HOST = "com.example.upgrades", "api.example.com"


def node_of(api: API) -> dict:
    live = [node for node in api.must("GET", "/v1/nodes").json["nodes"] if node["live"]]
    return live[0] if live else {}


def test_a_node_reports_itself_to_operators_and_is_gone_when_it_stops(server, api):
    eventually(lambda: node_of(api) != {})
    found = api.must("GET", "/v1/nodes").json
    node = node_of(api)
    assert (found["feature_level"], found["known_feature_level"], node["feature_level"]) == (1, 1, 1)
    assert (node["state"], node["read_only"], node["version"]) == ("running", False, server.cli("--version").stdout.strip())
    assert node["schema_version"] == int(server.sql("SELECT max(version) FROM pinledger.migration"))
    port = free_port()
    arguments = ["serve", "--database", server.connection_string, "--listen", f"127.0.0.1:{port}", "--read-only"]
    other = Process(server.home / "upgrades-reader.log", arguments, port)
    other.spawn()
    try:
        other.wait_until(lambda: API(port, api.token).get("/readyz").status == 200)
        eventually(lambda: len(api.must("GET", "/v1/nodes").json["nodes"]) == 2)
        text = server.cli("node", "list").stdout
        assert text.splitlines()[0] == "Feature level: 1 (the server's program knows up to 1)"
        assert "running, read-only" in text
    finally:
        other.stop()
    assert len(api.must("GET", "/v1/nodes").json["nodes"]) == 1
    assert API(api.port, None).get("/v1/nodes").status == 401


def test_the_feature_level_is_raised_no_further_than_the_program_knows(server, api):
    before = api.get("/v1/fleet")
    assert before.json["feature_level"] == 1
    refused = api.request("PUT", "/v1/fleet/feature-level", {"level": 2})
    expect_problem(refused, 409, "feature_level_unknown")
    assert refused.json["detail"] == "This program knows feature levels up to 1, and not 2."
    for level in [0, -1, "2", 1.5, 10**18]:
        assert api.request("PUT", "/v1/fleet/feature-level", {"level": level}).status == 422
    # The present level is nothing to record.
    api.must("PUT", "/v1/fleet/feature-level", {"level": 1})
    assert api.get("/v1/fleet")["ETag"] == before["ETag"]
    done = server.cli("node", "raise-feature-level", "2", status=6)
    assert "This program knows feature levels up to 1, and not 2." in done.stderr
    assert "pinledger node list" in done.stderr


@pytest.fixture(scope="module")
def ledger(own_server):
    """A ledger with an app, in a database of its own."""
    database = Database.make(own_server, "template_of_upgrades")
    own_server.api.token = database.bootstrap("--kek-file", str(database.key))
    node, api = database.serve("--kek-file", str(database.key))
    api.lower_rails()
    api.make_app(APP, HOST)
    eventually(lambda: api.document(APP).status == 200)
    node.stop()
    return database.name


@pytest.fixture
def database(own_server, ledger, request):
    return Database.make(own_server, f"upgrades_{abs(hash(request.node.name))}", like=ledger)


#: An event that only a later program knows, and what this one says about it.
LATER = {
    "level": ("fleet", "FeatureLevelRaised", {"level": 2},
              "it raises the feature level to 2, and this program knows 1"),
    "type": (f"app/{APP}", "AppRecoloured", {"colour": "blue"}, "this program does not know its type, AppRecoloured"),
}  # fmt: skip


@pytest.mark.parametrize("case", LATER)
def test_an_earlier_program_serves_on_beside_a_later_one_and_records_nothing(database, case):
    stream, kind, data, why = LATER[case]
    node, api = database.serve("--kek-file", str(database.key))
    try:
        eventually(lambda: api.get("/v1/apps").status == 200)
        served = api.document(APP)
        position = database.forge(stream, kind, data, database.key, is_guessed=False)
        eventually(lambda: api.get("/v1/apps").status == 503)
        refused = api.request("POST", f"/v1/apps/{APP}/hosts", host_body("other.example.com"))
        expect_problem(refused, 503, "upgrade_needed")
        assert refused.json["detail"] == f"the event at position {position} needs a later program than this node's: {why}."
        # Clients get what they got; strangers are told nothing, and no tool takes it for damage.
        assert api.document(APP).body == served.body
        public = api.request("GET", "/readyz", token=None)
        assert (public.status, public.json) == (
            200, {"status": "ready", "serves": True, "serves_documents": True, "writes": False, "signs": False})  # fmt: skip
        assert api.request("GET", "/readyz?for=writes", token=None).status == 503
        assert "upgrade_needed" in node.log.read_text()
        assert "fsck" not in node.log.read_text().split("upgrade_needed")[1].split("\n")[0]
        # So it does after a restart.
        node.stop()
        node, api = database.serve("--kek-file", str(database.key))
        assert api.document(APP).body == served.body
        assert api.request("POST", f"/v1/apps/{APP}/hosts", host_body("other.example.com")).status == 503
        if case == "level":
            found = database.doctor(1)["nodes"]
            assert found["verdict"] == "fail"
            assert found["detail"] == "the ledger is at the feature level 2, and this program knows 1"
            assert found["advice"] == "Use the program that the other nodes run."
        else:
            # No level says so, but the node does: within ten seconds.
            eventually(lambda: "is upgrade_needed" in database.doctor(0)["nodes"]["detail"])
            assert database.doctor(0)["nodes"]["verdict"] == "warn"
    finally:
        node.stop()


def test_commands_of_an_earlier_program_do_not_judge_or_change_a_later_ledger(database):
    options = ["--database", database.connection_string, "--kek-file", str(database.key)]
    database.server.cli("fsck", *options)
    database.forge("fleet", "FeatureLevelRaised", {"level": 2}, database.key, is_guessed=False)
    judged = database.server.cli("fsck", *options, status=1)
    assert "the ledger is at the feature level 2, and this program knows 1" in judged.stderr
    # What this program does not know is listed, and may be damage or not.
    database.forge(f"app/{APP}", "AppRecoloured", {"colour": "blue"}, database.key, is_guessed=False)
    judged = database.server.cli("fsck", *options, status=10)
    assert "AppRecoloured" in judged.stdout
    assert "Findings may be what only that program knows." in judged.stderr
    refused = database.server.cli("token", "bootstrap", *options, status=1)
    assert "needs a later program" in refused.stderr
    assert "Use the program that the nodes run." in refused.stderr


def test_the_patch_that_makes_the_next_version_fits_the_source():
    # The experiment F33 builds it, which takes too long here.
    root = Path(__file__).parents[2]
    patch = root / "Tests/Torture/next-version.patch"
    done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, f"change next-version.patch with the source that it changes:\n{done.stderr}"
