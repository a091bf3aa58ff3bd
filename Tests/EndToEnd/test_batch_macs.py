"""Events that a database login records without the key-encryption key: no node that has the key believes them."""

import sys
from pathlib import Path

import psycopg
import pytest
from databases import APP, Database
from pinledger import API, eventually
from problems import expect_problem

sys.path.append(str(Path(__file__).parent.parent / "Torture"))

DAMAGED, FAILED = 10, 1


@pytest.fixture
def database(own_server, template_database, request):
    return Database.make(own_server, f"macs_{abs(hash(request.node.name))}", like=template_database)


@pytest.fixture
def wrong_key(database):
    return database.new_key()


def is_valid(api: API, token: str) -> bool:
    return API(api.port, token).get("/v1/apps").status == 200


def test_a_forged_token_is_never_taken_by_a_node_with_the_key(database, forged_token):
    text, event = forged_token
    node, api = database.serve("--kek-file", str(database.key))
    try:
        version = api.payload(APP)["version"]
        position = database.forge_token(event, key=database.key)
        eventually(lambda: api.get("/readyz?for=writes").status == 503, "the node halts")
        assert not is_valid(api, text)
        # It had read the whole ledger, so tokens of its own are good; nothing is recorded.
        refused = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
        expect_problem(refused, 503, "halted")
        assert "not authenticated" in str(refused)
        assert api.payload(APP)["version"] == version
        assert node.said("follower_halted") or node.said("writer_halted")
    finally:
        node.stop()
    # Nor by one that starts.
    node, api = database.serve("--kek-file", str(database.key))
    try:
        assert not is_valid(api, text) and not is_valid(api, database.server.api.token)
        assert node.said("end_unauthenticated")
        assert api.payload(APP)["version"] == version
    finally:
        node.stop()
    found = database.fsck(DAMAGED)
    assert {finding["code"] for finding in found} == {"mac_wrong"}
    assert {finding["position"] for finding in found} == {position}
    assert database.doctor(FAILED)["ledger's end"]["verdict"] == "fail"


def test_a_login_cannot_leave_the_mac_out(database, forged_token):
    with pytest.raises(psycopg.Error, match="another key-encryption key"):
        database.forge_token(forged_token[1], key=None)
    assert database.fsck(0) == []
    assert database.doctor(0)["ledger's end"]["verdict"] == "ok"


def test_the_mac_is_the_documented_one(database, forged_token):
    # With the key itself, computed by another program, the same event is taken.
    node, api = database.serve("--kek-file", str(database.key))
    try:
        database.forge_token(forged_token[1], key=database.key, is_guessed=False)
        eventually(lambda: is_valid(api, forged_token[0]), "the token is issued")
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
    finally:
        node.stop()
    assert database.fsck(0) == []


def test_nodes_without_the_key_believe_what_the_login_records(own_server, forged_token):
    # What the harness must see, or the tests before show nothing.
    database = Database.make(own_server, "keyless")
    database.bootstrap()
    node, api = database.serve()
    try:
        database.forge_token(forged_token[1], key=None)
        eventually(lambda: is_valid(api, forged_token[0]), "the forged token is taken")
    finally:
        node.stop()


def test_an_operator_can_trust_the_database_once(database, forged_token):
    database.forge_token(forged_token[1], key=database.key)
    node, api = database.serve("--kek-file", str(database.key), "--trust-database")
    try:
        assert node.said("end_trusted")
        assert api.get("/readyz?for=writes").status == 200
        # It is up to the operator to undo what was forged.
        assert is_valid(api, forged_token[0])
        api.must("DELETE", f"/v1/tokens/{forged_token[1]['data']['token_id']}")
        assert not is_valid(api, forged_token[0])
    finally:
        node.stop()
    node, api = database.serve("--kek-file", str(database.key))
    try:
        assert api.get("/readyz?for=writes").status == 200
    finally:
        node.stop()
    # The report still names the batch that no node has recorded.
    assert {finding["code"] for finding in database.fsck(DAMAGED)} == {"mac_wrong"}


def test_a_node_with_a_wrong_key_changes_nothing_whatever_it_is_told_to_trust(database, wrong_key):
    head = "SELECT next_position || ' ' || encode(mac, 'hex') FROM pinledger.head"
    before = database.execute(head)
    for options in ([], ["--trust-database"], ["--trust-database", "--state-directory", str(wrong_key) + "-state"]):
        said = database.refused("--kek-file", str(wrong_key), *options)
        assert "opens not the one secret that the ledger names" in said and "Nothing was changed" in said, said
    assert database.execute(head) == before
    node, api = database.serve("--kek-file", str(database.key))
    try:
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
    finally:
        node.stop()
    # Nothing stored shows whose key it is, and the ledger's end is another key's.
    before = database.execute(head)
    kid = database.execute("SELECT kid FROM pinledger.signing_secret")
    database.execute("SELECT pinledger.erase_signing_secret(%s)", kid)
    said = database.refused("--kek-file", str(wrong_key), "--trust-database")
    assert "nothing shows that it is this ledger's" in said, said
    assert database.execute(head) == before


def test_nodes_with_the_right_key_get_back_an_end_that_a_wrong_one_has_authenticated(database, wrong_key):
    right = ["--kek-file", str(database.key)]
    database.authenticate_end(wrong_key)
    node, api = database.serve(*right)
    try:
        refused = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
        expect_problem(refused, 503, "halted")
        assert "--trust-database" in node.log.read_text()
        # Beside a halted node nothing is trusted.
        said = database.refused(*right, "--trust-database")
        assert "--trust-database is refused" in said and "is halted" in said, said
    finally:
        node.stop()
    assert "--trust-database" in database.doctor(FAILED)["ledger's end"]["advice"]
    node, api = database.serve(*right, "--trust-database")
    node.stop()
    node, api = database.serve(*right)
    try:
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
    finally:
        node.stop()
    assert database.fsck(0) == []


def test_a_node_whose_signing_key_was_erased_starts_serves_and_says_that_it_cannot_sign(database):
    node, api = database.serve("--kek-file", str(database.key))
    try:
        kid = database.execute("SELECT kid FROM pinledger.signing_secret")
        database.execute("SELECT pinledger.erase_signing_secret(%s)", kid)
        eventually(lambda: kid in api.get("/readyz").json.get("signing_key_fault", ""), "the node notices it")
        assert node.said("signing_key_not_stored")
        # The node still has the key in memory.
        assert api.get("/readyz").json["can_sign"] is True
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Before"})
        version = api.payload(APP)["version"]
    finally:
        node.stop()
    node, api = database.serve("--kek-file", str(database.key))
    try:
        assert node.said("signing_key_unavailable")
        ready = api.get("/readyz").json
        assert ready["status"] == "ready" and kid in ready["signing_key_fault"]
        assert (ready["serves"], ready["writes"], ready["signs"], ready["can_sign"]) == (True, True, False, False)
        # Nobody is kept from recording, and clients have the document that is there.
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "After"})
        assert api.payload(APP)["version"] == version
    finally:
        node.stop()


def test_a_node_starts_and_serves_whatever_secret_cannot_be_opened_and_says_which(database):
    node, api = database.serve("--kek-file", str(database.key))
    try:
        api.must("PUT", f"/v1/apps/{APP}/clients/ssl_pinning", {"settings": {}})
        client = api.must("POST", f"/v1/apps/{APP}/clients/ssl_pinning/key", {}).json["key"]["key_id"]
        telemetry = api.must("POST", f"/v1/apps/{APP}/telemetry-keys", {}).json["key_id"]
        hook = api.must("POST", "/v1/webhooks", {"url": "https://hooks.invalid/pins"}).json["webhook_id"]
        api.must("POST", "/v1/log", {"origin": "pins.example.com/log"})
        log = api.get("/v1/log").json["keys"][0]["kid"]
        assert "secret_faults" not in api.get("/readyz").json
        version = api.payload(APP)["version"]
    finally:
        node.stop()
    with psycopg.connect(database.superuser) as connection:
        connection.execute("UPDATE pinledger.webhook_secret SET ciphertext = set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1)")
        connection.execute("DELETE FROM pinledger.client_secret")
        connection.execute("DELETE FROM pinledger.telemetry_secret")
        connection.execute("DELETE FROM pinledger.signing_secret WHERE kid = %s", [log])
    node, api = database.serve("--kek-file", str(database.key))
    try:
        eventually(lambda: len(api.get("/readyz").json.get("secret_faults", [])) == 4, "the node has looked")
        ready = api.get("/readyz").json
        assert (ready["status"], ready["serves"], ready["writes"], ready["signs"]) == ("ready", True, True, True)
        faults = "\n".join(ready["secret_faults"])
        for text in (client, telemetry, log, "webhook secret", "cannot be opened", "is not stored"):
            assert text in faults
        assert node.said("secret_unavailable")
        metrics = api.get("/metrics").body.decode()
        for kind in ("signing", "client", "telemetry", "webhook"):
            assert f'pinledger_unusable_secrets{{kind="{kind}"}} 1' in metrics
        # Documents are served, and changes are published.
        assert api.payload(APP)["version"] == version
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "After"})
        eventually(lambda: api.payload(APP)["version"] == version + 1, "the change is signed")
        # What takes a secret says so, and whoever sees some apps alone learns of none.
        tested = api.must("POST", f"/v1/webhooks/{hook}/test", {}).json
        assert tested["delivered"] is False and "cannot be opened" in tested["error"]
        assert "secret_faults" not in api.holding("viewer", APP).get("/readyz").json
    finally:
        node.stop()


def test_a_login_that_damages_secrets_documents_and_the_end_takes_no_document_from_clients(database, tmp_path):
    options = ["--kek-file", str(database.key), "--state-directory", str(tmp_path / "state")]
    node, api = database.serve(*options, "--trust-database")
    try:
        api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Before"})
        document = api.get(f"/client/v1/apps/{APP}/document").body
        kept = tmp_path / "state/documents"
        eventually(lambda: document in kept.read_bytes(), "the document is kept")
    finally:
        node.stop()
    for table, id in (("signing", "kid"), ("client", "secret"), ("telemetry", "secret"), ("webhook", "secret")):
        database.execute(
            f"""
            SELECT pinledger.rewrap_secrets(
                %s, array_agg({id}), array_agg(nonce), 'other', array_agg(nonce), array_agg('\\x00'::bytea))
            FROM pinledger.{table}_secret
            """, table)  # fmt: skip
    damaged = database.execute(
        """
        SELECT pinledger.publish_documents(
            array_agg(app), array_agg(version), array_agg(position), array_agg(content_sha256), array_agg(issued_at),
            array_agg(expires_at), array_agg(kid), array_agg('damaged'::bytea), NULL, array_agg(sha256(body)))
        FROM pinledger.document WHERE app = %s
        """, APP)  # fmt: skip
    assert damaged == [APP]

    def is_served(halted: bool) -> None:
        node, api = database.serve(*options)
        try:
            eventually(lambda: api.get(f"/client/v1/apps/{APP}/document").body == document, "the kept document is served")
            assert document in kept.read_bytes()
            ready = api.get("/readyz").json
            assert (ready["serves"], ready["signs"]) == (True, False)
            assert ready["writes"] is not halted
            assert node.said("end_unauthenticated" if halted else "documents_restored")
        finally:
            node.stop()

    is_served(halted=False)
    # The end as well: the node that the key has authenticated before halts, and serves on.
    assert database.execute(
        "SELECT pinledger.authenticate_head(next_position, mac, overlay(mac placing '\\xdeadbeefdeadbeef'::bytea from 1)) "
        "FROM pinledger.head"
    )
    is_served(halted=True)
    # Nothing is authenticated while no secret shows whose key it is: before a change of the key, another one was the ledger's.
    head = database.execute("SELECT encode(mac, 'hex') FROM pinledger.head")
    assert "Nothing was changed" in database.refused(*options, "--trust-database")
    assert database.execute("SELECT encode(mac, 'hex') FROM pinledger.head") == head


def test_sealed_secrets_that_a_login_stores_are_bounded(database):
    for kind, columns in (("signing", 4), ("client", 5), ("telemetry", 5), ("webhook", 5)):
        with pytest.raises(psycopg.errors.CheckViolation):
            database.execute(
                f"SELECT pinledger.store_{kind}_secret({', '.join(['%s'] * (columns - 2))}, %s, %s)",
                *["junk"] * (columns - 2), b"0" * 24, b"0" * 20_000)  # fmt: skip


def test_a_node_without_the_key_records_nothing_where_others_have_it(database):
    node, api = database.serve()
    try:
        assert api.get("/readyz?for=serves").status == 200
        assert api.get("/readyz?for=writes").status == 503
        refused = api.request("PATCH", f"/v1/apps/{APP}", {"display_name": "Another"})
        expect_problem(refused, 503, "no_key_encryption_key")
    finally:
        node.stop()
    assert database.fsck(0) == []


def test_a_token_from_before_there_were_roles_may_do_everything_and_is_marked(database, forged_token):
    # Another ledger's token, in the form in which tokens were recorded before.
    text, event = forged_token
    data = {name: event["data"][name] for name in ("expires_at", "name", "sha256", "token_id")}
    options = ["--kek-file", str(database.key)]
    found = database.doctor(0)["access"]
    assert found["verdict"] == "ok", found
    database.forge("access", "TokenIssued", data, database.key, is_guessed=False)
    found = database.doctor(0)["access"]
    assert found["verdict"] == "warn" and data["token_id"] in found["detail"], found
    node, api = database.serve(*options)
    try:
        old = API(api.port, text)
        who = old.get("/v1/whoami").json
        assert who["token"]["unscoped"] is True and "grants" not in who["token"]
        assert all(one["everywhere"] for one in who["permissions"])
        old.must("PATCH", f"/v1/apps/{APP}", {"display_name": "As before"})
        old.must("POST", "/v1/keys", {})
        # What it makes says what it may do.
        made = old.holding("viewer", APP)
        assert made.get("/v1/whoami").json["token"]["unscoped"] is False
        old.must("DELETE", f"/v1/tokens/{data['token_id']}?reason=replaced")
        assert old.get("/v1/whoami").status == 401
    finally:
        node.stop()
    assert database.doctor(0)["access"]["verdict"] == "ok"
    assert database.fsck(0) == []
