"""What a node does and says while its database is away, takes no changes, or waits for a standby."""

import threading

import pytest
from databases import await_standby, standby
from nodes import start_node
from pinledger import API, Process, Server, eventually, free_port, from_now
from problems import expect_problem

APP, HOST = "com.example.trouble", "api.example.com"


@pytest.fixture(scope="module")
def database():
    """A `dev` server whose database other nodes share."""
    server = Server()
    try:
        server.start()
        server.api.make_app(APP, HOST)
        yield server
    finally:
        server.destroy()


@pytest.fixture
def node(database, request):
    node, api = start_node(
        database, request.node.name, "--kek-file", str(database.data / "key-encryption-key"), "--drain-timeout", "1",
        "--database-timeout", "5",
    )
    node.api = api
    try:
        yield node
    finally:
        if node.is_running:
            node.kill()


def rename(api, text: str, key: str):
    return api.request("PATCH", f"/v1/apps/{APP}", {"display_name": text}, {"Idempotency-Key": key})


def loud(node) -> list[str]:
    """Warnings and worse, without their times."""
    found = [line.split(" ", 1)[1] for line in node.log.read_text().splitlines() if " pinledger: " in line]
    return [line for line in found if not line.startswith(("notice", "info"))]


def test_an_unreachable_database_is_logged_once_and_changes_are_refused(database, node):
    api = node.api
    assert api.get("/readyz").json["can_write"] is True
    assert api.document(APP).status == 200
    database.sql("ALTER DATABASE pinledger ALLOW_CONNECTIONS false", database="postgres")
    try:
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'pinledger'", database="postgres"
        )
        eventually(lambda: not api.get("/readyz").json["can_write"], "word that nothing can be written")
        readiness = api.get("/readyz")
        assert (readiness.status, readiness.json["write_failure"]) == (200, "the database cannot be reached")
        assert api.document(APP).status == 200
        # Each looks for the database anew.
        for number in range(20):
            assert rename(api, "nothing", f"away {number}").status == 503
    finally:
        database.sql("ALTER DATABASE pinledger ALLOW_CONNECTIONS true", database="postgres")
    eventually(lambda: api.get("/readyz").json["can_write"], "word that changes are recorded")
    assert "write_failure" not in api.get("/readyz").json
    eventually(lambda: node.said("database_back"))
    assert rename(api, "something", "back").status == 200
    assert [len(node.said(code)) for code in ("database_lost", "database_back")] == [1, 1], node.tail()
    assert len(loud(node)) == len(set(loud(node))), "no line twice:\n" + node.tail()
    node.stop()


def test_a_full_disk_is_logged_once_with_its_reason(database, node):
    api = node.api
    database.sql(
        "CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
    )
    database.sql(
        "CREATE TRIGGER no_room BEFORE INSERT ON pinledger.event FOR EACH ROW EXECUTE FUNCTION public.no_room()"
    )
    try:
        for number in range(20):
            assert rename(api, f"no room {number}", f"full {number}").status == 503
        readiness = api.get("/readyz")
        assert readiness.status == 200, "documents are served"
        assert (readiness.json["can_write"], readiness.json["write_failure"]) == (False, "the database's disk is full")
    finally:
        database.sql("DROP FUNCTION public.no_room CASCADE")
    eventually(lambda: api.get("/readyz").json["can_write"], "word that changes are recorded again")
    eventually(lambda: node.said("writes_working"))
    assert [len(node.said(code)) for code in ("writes_failing", "writes_working")] == [1, 1], node.tail()
    # Refused requests could not be recorded either, which is said where the disk is full for more than five seconds.
    assert len([line for line in loud(node) if "code=audit_not_recorded" not in line]) == 1, node.tail()
    node.stop()


def test_a_node_stops_while_a_commit_hangs(database, node):
    assert node.api.document(APP).status == 200
    await_standby(database, "nobody")
    try:
        answers = []
        change = threading.Thread(target=lambda: answers.append(rename(node.api, "hangs", "hangs")))
        change.start()
        eventually(lambda: database.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") != "0")
        # The commit hangs for ever: a node that waited for it would never end.
        node.process.terminate()
        assert node.process.wait(timeout=300) == 0, node.tail()
        change.join()
        # The sender of the change gets the answer that its outcome is unknown.
        assert [(answer.status, answer.json["type"]) for answer in answers] == [(503, "/problems/outcome_unknown")]
        node.process = None
    finally:
        await_standby(database, None)


def test_a_node_that_starts_without_its_standby_serves_what_it_remembers(database, tmp_path):
    options = ["--kek-file", str(database.data / "key-encryption-key"), "--state-directory", str(tmp_path / "memory"),
               "--require-synchronous", "--database-timeout", "5", "--drain-timeout", "1"]  # fmt: skip
    await_standby(database, "elsewhere")
    try:
        with standby(database, "elsewhere", tmp_path / "log"):
            node, api = start_node(database, "remembering", *options, "--trust-database")
            assert rename(api, "before", "before").status == 200
            eventually(lambda: api.payload(APP)["version"] > 1)
            served = api.document(APP).body
            node.stop()
        # Without the standby it has nothing that it may take in.
        node.spawn()
        node.wait_until(lambda: api.get("/readyz?for=serves_documents").status == 200)
        assert api.document(APP).body == served
        assert (api.get("/readyz").status, api.get("/readyz").json["writes"]) == (503, False)
        refused = rename(api, "meanwhile", "meanwhile")
        expect_problem(refused, 503, "starting")
        reason = "waits for a synchronous standby"
        eventually(lambda: reason in rename(api, "meanwhile", "meanwhile").json["detail"], "the reason")
        assert len(node.said("end_unconfirmed")) == 1, node.tail()
        # One that remembers nothing listens all the same, and says that it serves nothing.
        port = free_port()
        ephemeral = Process(
            database.home / "ephemeral.log",
            ["serve", "--database", database.connection_string, "--listen", f"127.0.0.1:{port}", *options[:2], *options[4:]], port)
        ephemeral.spawn()
        ephemeral.wait_until(lambda: API(port, None).request("GET", "/healthz").status == 200)
        assert API(port, None).request("GET", "/readyz?for=serves_documents").status == 503
        ephemeral.stop()
        with standby(database, "elsewhere", tmp_path / "again"):
            eventually(lambda: api.get("/readyz?for=writes").status == 200, "word that changes are recorded")
            assert rename(api, "after", "after").status == 200
            node.stop()
        # A command does not wait.
        database.cli("token", "bootstrap", "--database", database.connection_string, *options[:5], status=8)
    finally:
        await_standby(database, None)


def test_a_node_that_starts_while_the_database_is_away_serves_what_it_remembers(tmp_path):
    server = Server()
    try:
        server.start()
        server.api.make_app(APP, HOST)
        kek, state = str(server.data / "key-encryption-key"), str(tmp_path / "memory")
        options = ["--kek-file", kek, "--state-directory", state, "--database-timeout", "5", "--drain-timeout", "1"]
        node, api = start_node(server, "away", *options, "--trust-database")
        eventually(lambda: api.document(APP).status == 200, "the document")
        served = api.document(APP).body
        node.stop()
        # A node that remembers nothing has nothing to serve, and says why it ends.
        forgetful = Process(
            tmp_path / "forgetful.log",
            ["serve", "--database", server.connection_string, "--listen", f"127.0.0.1:{free_port()}", "--kek-file", kek],
            0)  # fmt: skip
        server.stop()
        forgetful.spawn()
        assert forgetful.process.wait(300) == 8 and "the database cannot be used" in forgetful.written()
        node.spawn()
        node.wait_until(lambda: api.get("/readyz?for=serves_documents").status == 200)
        assert api.document(APP).body == served
        assert (api.get("/readyz").status, api.get("/readyz").json["writes"]) == (503, False)
        refused = rename(api, "meanwhile", "meanwhile")
        expect_problem(refused, 503, "starting")
        # Another start of it is as good.
        node.stop()
        node.spawn()
        node.wait_until(lambda: api.get("/readyz?for=serves_documents").status == 200)
        server.start()
        eventually(lambda: api.get("/readyz?for=writes").status == 200, "word that changes are recorded")
        assert rename(api, "after", "after").status == 200
        assert len(node.said("ledger_read")) == 1, node.tail()
        # Nor does a password that was changed take anything from clients.
        node.stop()
        node.arguments = [word.replace("user=pinledger_dev", "user=another") for word in node.arguments]
        node.spawn()
        node.wait_until(lambda: api.get("/readyz?for=serves_documents").status == 200)
        assert "another" in str(node.said("database_lost")[-1])
        node.stop()
    finally:
        server.destroy()


def patient_node(database, name: str, *options: str):
    """A node with three apps: no limit of its own ends its wait for a table, only the end of the lock does."""
    node, api = start_node(
        database, name, *options, "--database-timeout", "600",
        database=f"{database.connection_string} application_name={name} options='-c lock_timeout=0'",
    )  # fmt: skip
    apps = [f"com.example.{name.replace('_', '')}{number}" for number in range(3)]
    for app in apps:
        database.api.make_app(app, HOST)
        eventually(lambda app=app: api.document(app).status == 200)
    return node, api, apps


@pytest.mark.parametrize("options", [["--kek-file"], ["--read-only"]], ids=["signing", "read-only"])
def test_clients_that_wait_for_a_locked_table_keep_no_kill_switch_from_a_node(database, options):
    key = [str(database.data / "key-encryption-key")] if options == ["--kek-file"] else []
    name = f"beside_a_lock{options[0].replace('-', '_')}"
    node, api, apps = patient_node(database, name, *options, *key)
    readers = [threading.Thread(target=api.get, args=(f"/v1/apps/{apps[0]}/adoption",), daemon=True) for _ in range(8)]
    waiting = f"SELECT count(*) >= 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = '{name}'"
    with database.locked("pinledger.adoption_count", "ACCESS EXCLUSIVE"):
        for reader in readers:
            reader.start()
        eventually(lambda: database.sql(waiting) == "t", "clients that wait for the table")
        # The first one may come before the last client waits.
        for app in apps:
            database.api.must("PUT", f"/v1/apps/{app}/kill-switch", {"reason": "stolen key", "expires_at": from_now(days=1)})
            eventually(lambda app=app: api.payload(app)["kill_switches"], "the kill switch at the other node")
    for reader in readers:
        reader.join()
    node.kill()


def test_a_locked_table_of_documents_keeps_no_kill_switch_from_a_node_that_signs(database):
    key = str(database.data / "key-encryption-key")
    node, api, apps = patient_node(database, "beside_locked_documents", "--kek-file", key)
    switch = {"reason": "stolen key", "expires_at": from_now(days=1)}
    with database.locked("pinledger.document", "ACCESS EXCLUSIVE"):
        # Every document, and then single ones: each kind is stored by a task of its own, and both wait.
        database.api.must("PUT", "/v1/kill-switch", switch)
        for app in apps:
            database.api.must("PUT", f"/v1/apps/{app}/kill-switch", switch)
            eventually(lambda app=app: len(api.payload(app)["kill_switches"]) == 2, "the kill switches at the other node")
    # What waited is stored once the table is free.
    stored = "SELECT app FROM pinledger.document WHERE convert_from(body, 'UTF8') = '{}'"
    for app in apps:
        eventually(lambda app=app: database.sql(stored.format(api.document(app).body.decode())) == app, "the stored document")
    database.api.must("DELETE", "/v1/kill-switch?reason=over")
    node.kill()
