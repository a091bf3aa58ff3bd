"""Proofs that the log records a published document, for people who may not read the log."""

import json

import pytest
from notes import ORIGIN, opened, vkeys
from pinledger import API, Process, eventually, free_port, host_body, unbase64url
from problems import expect_problem

APP, HOST = "com.example.proved", "api.example.com"
PATH = f"/client/v1/apps/{APP}/document.tlog-proof"


@pytest.fixture(scope="module")
def log(own_server):
    own_server.api.must("POST", "/v1/log", {"origin": ORIGIN})
    own_server.api.make_app(APP, HOST)
    return own_server


@pytest.fixture(scope="module")
def stranger(log):
    return API(log.api.port, None)


def payload(api) -> dict:
    return json.loads(unbase64url(api.document(APP).body.decode().split(".")[1]))


def test_a_server_that_records_no_documents_has_no_proofs(stranger):
    answer = stranger.get(PATH)
    expect_problem(answer, 404, "no_document_proof")
    assert "not recorded" in answer.json["detail"]
    assert stranger.get("/client/v1/apps/com.example.nowhere/document.tlog-proof").json["type"] == "/problems/app_unknown"


def test_a_stranger_verifies_that_the_document_it_has_is_in_the_log(log, stranger):
    log.api.must("PATCH", "/v1/log", {"document_proofs": True})
    # A document that is published already, and every later one.
    for change in range(4):
        if change:
            log.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"Shop {change}"})
        answer = eventually(lambda: (found := stranger.get(PATH)).status == 200 and found, "a proof")
        assert answer["Cache-Control"] == "public, max-age=5"
        entry = opened(answer.body.decode(), vkeys(log)[0])
        document = payload(stranger)
        assert entry["type"] == "DocumentPublished" and entry["stream"] == f"watch/{APP}"
        assert entry["data"] == {"content_sha256": document["content_sha256"], "version": document["version"]}
        # Nothing else: who changed the app, and why, is for those who may read the log.
        assert entry["actor"]["kind"] == "system" and "reason" not in entry
    for path in ["/log/checkpoint", f"/log/entries/{entry['position']}/proof", "/log/tile/0/000.p/1"]:
        assert stranger.get(path).status == 401


def test_every_version_is_recorded_once_and_in_order(log):
    for number in range(20):
        log.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"Shop {number}"})
    last = payload(log.api)["version"]

    def recorded() -> list[int]:
        answer = log.api.must("GET", f"/v1/history?stream=watch/{APP}&type=DocumentPublished&order=oldest&limit=1000").json
        return [event["data"]["version"] for event in answer["events"]]

    eventually(lambda: recorded()[-1:] == [last], "the last version")
    versions = recorded()
    assert versions == sorted(set(versions))
    assert set(range(last - 19, last + 1)) <= set(versions)


def test_a_change_leaves_no_proof_of_the_earlier_document(log, stranger):
    before = eventually(lambda: (found := stranger.get(PATH)).status == 200 and found, "a proof").body
    log.api.must("POST", f"/v1/apps/{APP}/hosts", host_body("new.example.com"))
    answer = stranger.get(PATH)
    # Either there is none yet, or one of the new document.
    if answer.status == 404:
        assert answer["Retry-After"] == "1" and "not in the log yet" in answer.json["detail"]
    else:
        assert answer.status == 200 and answer.body != before


def test_the_command_line_proves_a_document(log, tmp_path):
    proof = eventually(lambda: log.cli("document", "prove", APP).stdout, "a proof")
    (tmp_path / "proof").write_text(proof)
    (tmp_path / "document").write_bytes(log.api.document(APP).body)
    verify = ["audit", "verify-proof", str(tmp_path / "proof"), "--key", vkeys(log)[0]]
    done = log.cli(*verify, "--document", str(tmp_path / "document"))
    assert "DocumentPublished" in done.stdout
    log.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "another"})
    (tmp_path / "later").write_bytes(log.api.document(APP).body)
    refused = log.cli(*verify, "--document", str(tmp_path / "later"), status=10)
    assert "not the publication of version" in refused.stderr
    other = log.cli("audit", "prove", "0").stdout
    (tmp_path / "other").write_text(other)
    log.cli("audit", "verify-proof", str(tmp_path / "other"), *verify[3:], "--document", str(tmp_path / "document"), status=10)


def test_a_public_log_is_read_by_everyone_and_a_private_one_by_nobody_else(log, stranger):
    refused = log.api.request("PATCH", "/v1/log", {"public": True})
    expect_problem(refused, 422, "reason_required")
    assert "no setting is given" in log.cli("log", "update", status=2).stderr
    log.cli("log", "update", "--public", "--reason", "transparency report")
    paths = ["/log/checkpoint", "/log/tile/0/000.p/1", "/log/tile/entries/000.p/1", "/log/proofs/inclusion?position=0",
             "/log/proofs/consistency?old_size=1", "/log/entries/0/proof"]  # fmt: skip
    for path in paths:
        assert stranger.get(path).status == 200, path
    assert stranger.get(paths[1])["Cache-Control"].startswith("public, ")
    # A wrong token is still a wrong token.
    assert log.api.request("GET", paths[0], token="plk_wrong").status == 401
    assert "Readers: everyone" in log.cli("log", "show").stdout
    log.cli("log", "update", "--no-public")
    for path in paths:
        assert stranger.get(path).status == 401, path
    assert log.api.get(paths[1])["Cache-Control"].startswith("private, ")


def test_a_listener_for_clients_alone_has_the_log_only_while_it_is_public(log, tmp_path):
    admin = free_port()
    port = free_port()
    node = Process(
        tmp_path / "apart.log",
        ["serve", "--database", log.connection_string, "--kek-file", str(log.data / "key-encryption-key"), "--listen",
         f"127.0.0.1:{port}", "--admin-listen", f"127.0.0.1:{admin}"], port)  # fmt: skip
    clients, operators = API(port, None), API(admin, log.api.token)
    node.spawn()
    node.wait_until(lambda: clients.get("/healthz").status == 200)
    for token in (None, log.api.token):
        assert clients.request("GET", "/log/checkpoint", token=token).status == 404
    assert operators.request("GET", "/log/checkpoint", token=None).status == 401
    assert operators.get("/log/checkpoint").status == 200
    assert eventually(lambda: clients.get(PATH).status == 200, "a proof")
    log.cli("log", "update", "--public", "--reason", "transparency report")
    eventually(lambda: clients.get("/log/checkpoint").status == 200, "the public log")
    log.cli("log", "update", "--no-public")
    eventually(lambda: clients.get("/log/checkpoint").status == 404, "the private log")
    node.stop()
