"""Backups and restores with the commands of the handbook, by pgBackRest and with `pg_dump`, and how nodes go on after them."""

import json
import re
import shutil

import pytest
from backups import Client, Site, blocks
from handbook import commands
from pinledger import eventually, from_now, host_body
from restored import codes, is_halted

APP, OTHER = "com.example.backup", "com.example.backup.other"
DAMAGED, RAISE = 10, 1_000_000

TABLES_OF_EVENTS = """
    SELECT 'pinledger.event'
    UNION ALL SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'pinledger.event'::regclass
"""


@pytest.fixture(scope="module")
def shared():
    """A site whose database is archived."""
    site = Site()
    try:
        machine = site.primary = site.machine("primary")
        (_, files), (_, stanza) = blocks("Set up")
        machine.run(files)
        machine.start()
        machine.run(stanza)
        site.install(machine)
        node, api = site.start_node(machine)
        api.lower_rails()
        for app in (APP, OTHER):
            api.make_app(app, "api.example.com")
        site.wait_for_memory(api)
        node.stop()
        machine.run(backup("full"))
        yield site
    finally:
        site.destroy()


@pytest.fixture
def site(shared):
    """The site, on which a node can be started. Every test leaves it so."""
    assert shared.is_whole, "an earlier test has failed, and left the site in pieces"
    yield shared
    shared.end_nodes()


def backup(kind: str) -> str:
    """The handbook's command for a full backup, a differential or an incremental one."""
    ((_, block),) = blocks("Back up")
    return next(line for line in commands(block) if f"--type={kind}" in line)


def test_everything_in_the_repository_is_encrypted(site):
    files = [file for file in (site.primary.home / "repository").rglob("*") if file.is_file() and not file.is_symlink()]
    names = {file.name for file in files}
    assert {"archive.info", "backup.info", "backup.manifest"} <= names and len(files) > 10
    # What OpenSSL's passphrase encryption begins with.
    assert [str(file) for file in files if file.stat().st_size and not file.read_bytes().startswith(b"Salted__")] == []
    assert "cipher: aes-256-cbc" in site.primary.run(blocks("Verify")[0][1])
    passphrase = site.primary.home / "pgbackrest/conf.d/passphrase.conf"
    assert passphrase.stat().st_mode & 0o777 == 0o600
    right = passphrase.read_text()
    passphrase.write_text("[global]\nrepo1-cipher-pass=another\n")
    try:
        said = site.primary.run(
            "pgbackrest --stanza=pinledger --pg1-path=/var/lib/postgresql/15/rehearsal restore", status=None
        )
        assert "no backup set found to restore" in said, said
    finally:
        passphrase.write_text(right)


def documents(api) -> dict[str, bytes]:
    return {app: api.document(app).body for app in (APP, OTHER)}


def objects(machine) -> str:
    """The definitions of all objects of the database, with owners and grants."""
    text = machine.run("pg_dump --schema-only pinledger")
    # Releases of the last years begin and end with a line that has a random word.
    return "\n".join(line for line in text.splitlines() if not line.startswith(("\\restrict", "\\unrestrict")))


def test_a_dump_is_restored_into_a_new_cluster_and_a_node_goes_on_with_it(site):
    node, api = site.start_node(site.primary)
    client = Client(api, APP)
    site.change(api, "POST", f"/v1/apps/{APP}/hosts", host_body("dumped.example.com"))
    client.take(api)
    served = documents(api)
    # A document is served a moment before it is stored.
    stored = f"SELECT max(version) FROM pinledger.document WHERE app = '{APP}'"
    eventually(lambda: site.primary.cluster.execute("pinledger", stored) == [(client.version,)], "the stored document")
    ((_, dump),) = blocks("Dump")
    site.primary.run(dump)
    site.wait_for_memory(api)
    node.stop()
    site.fsck(site.primary)

    machine = site.machine("new")
    try:
        (machine.home / "conf.d/none.conf").touch()
        machine.start()
        shutil.move(site.primary.home / "dumps/pinledger.dump", machine.home / "dumps")
        ((_, restore),) = blocks("Restore into a new cluster")
        roles = "".join(f"{line}\n" for line in commands(restore) if line.startswith(("createuser", "psql")))
        into = restore.removeprefix(roles)
        assert "pg_restore" in into and roles + into == restore
        # Without the roles nothing is restored.
        said = machine.run(into, status=1)
        assert 'role "pinledger_owner" does not exist' in said
        assert machine.cluster.execute("pinledger", "SELECT to_regnamespace('pinledger')::text")[0][0] is None
        machine.run("dropdb pinledger")
        machine.run(roles + into)
        assert objects(machine) == objects(site.primary)
        settings = "SELECT count(*) FROM pg_db_role_setting"
        assert site.primary.cluster.execute("postgres", settings) == [(0,)], (
            "settings of roles would be missing in a dump"
        )

        assert site.fsck(machine, "--previous", "report.json", "--acknowledged", "acknowledged")["status"] == "clean"
        assert "up to date" in site.pinledger('migrate --database "$DATABASE" --dry-run', machine)
        # The node itself goes on with the primary in other tests.
        state = shutil.copytree(site.state, site.home / "state-of-the-new")
        node, api = site.start_node(machine, state=state)
        assert documents(api) == served
        assert api.get("/readyz?for=writes").status == 200
        assert not {"memory_contradicted", "history_restored"} & set(codes(node))
        # The sealed key signs on, for clients that have the keys from before.
        before = client.version
        api.must("POST", f"/v1/apps/{APP}/hosts", host_body("restored.example.com"))
        document = client.take(api)
        assert document["version"] > before and "restored.example.com" in str(document)
        node.stop()
        assert site.fsck(machine)["status"] == "clean"
    finally:
        machine.cluster.stop()


def test_nothing_acknowledged_is_lost_when_the_latest_state_is_restored(site):
    machine = site.primary
    node, api = site.start_node(machine)
    client = Client(api, APP)
    site.change(api, "POST", f"/v1/apps/{APP}/hosts", host_body("first.example.com"))
    machine.run(backup("diff"))
    site.change(api, "POST", f"/v1/apps/{APP}/hosts", host_body("second.example.com"))
    machine.run(backup("incr"))
    site.change(api, "POST", f"/v1/apps/{APP}/hosts", host_body("third.example.com"))
    client.take(api)
    site.wait_for_memory(api)
    _, (_, restore), (_, add_log), (_, begin_again) = latest = blocks("Restore the latest state")
    with site.taken_apart():
        # With this, the archive has all that was acknowledged; and then the disk is gone.
        machine.run(commands(begin_again)[0])
        machine.cluster.kill()
        node.kill()
        shutil.rmtree(machine.cluster.data)
        machine.run(restore)
        machine.start()
        node, api = goes_on(site, client, "third.example.com")

        # Now what was recorded last is not archived: only the old log has it.
        site.change(api, "POST", f"/v1/apps/{APP}/hosts", host_body("fourth.example.com"))
        ((segment,),) = machine.cluster.execute("postgres", "SELECT pg_walfile_name(pg_current_wal_lsn())")
        assert not [file for file in machine.archived() if file.name.startswith(segment)]
        client.take(api)
        site.wait_for_memory(api)
        machine.cluster.kill()
        node.kill()
        machine.run(latest[0][1] + restore + add_log)
        machine.start()
        node, _ = goes_on(site, client, "fourth.example.com")
        node.stop()
        machine.run(begin_again)
        assert "full backup" in machine.run("pgbackrest --stanza=pinledger info")


def goes_on(site, client: Client, host: str):
    """Starts the node, which goes on where it was, on a ledger with all that was acknowledged."""
    site.fsck(site.primary, "--acknowledged", "acknowledged")
    found = site.doctor(site.primary)
    assert {found[subject]["verdict"] for subject in ("memory", "key-encryption key", "migrations")} == {"ok"}, found
    node, api = site.start_node(site.primary)
    assert not {"memory_contradicted", "history_restored"} & set(codes(node))
    assert host in str(client.take(api))
    site.change(api, "PATCH", f"/v1/apps/{OTHER}", {"display_name": host})
    return node, api


def test_a_point_before_an_accident_is_restored_and_the_lost_kill_switch_repeated(site):
    machine = site.primary
    node, api = site.start_node(machine)
    client = Client(api, APP)
    now = "SELECT clock_timestamp()::text, timeline_id FROM pg_control_checkpoint()"
    ((early, timeline),) = machine.cluster.execute("postgres", now)
    site.change(api, "POST", f"/v1/apps/{APP}/hosts", host_body("kept.example.com"))
    kept = api.position()
    site.fsck(machine)
    ((moment, _),) = machine.cluster.execute("postgres", now)
    engaged = api.must("PUT", f"/v1/apps/{APP}/kill-switch", {"reason": "leaked key", "expires_at": from_now(days=1)}).json["events"]
    assert client.take(api)["kill_switches"]
    site.wait_for_memory(api)
    before_the_accident = site.pinledger('fsck --database "$DATABASE" --output json', machine)

    with site.taken_apart():
        # An accident of a superuser, who may do anything in the database.
        for (table,) in machine.cluster.execute("pinledger", TABLES_OF_EVENTS):
            machine.cluster.execute("pinledger", f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        machine.cluster.execute("pinledger", f"DELETE FROM pinledger.event WHERE position >= {kept - 2}")
        found = site.pinledger(
            'fsck --database "$DATABASE" --output json --previous report.json', machine, status=DAMAGED
        )
        assert json.loads(found)["findings"]
        node.stop()
        machine.cluster.stop()
        ((_, restore), (_, again), (_, recover)) = blocks("Restore a point in time")
        # At first a moment that was too early.
        machine.run(restore, moment=early)
        machine.start()
        site.pinledger('fsck --database "$DATABASE" --kek-file kek', machine)
        machine.cluster.stop()
        machine.run(again.replace("--target-timeline=1", f"--target-timeline={timeline}"), moment=moment)
        machine.start()

        # Nothing is missing since the report from before that moment, and the kill switch is since the later one.
        site.pinledger('fsck --database "$DATABASE" --kek-file kek --previous report.json', machine)
        (site.desk / "later.json").write_text(before_the_accident)
        found = site.pinledger(
            'fsck --database "$DATABASE" --output json --previous later.json', machine, status=DAMAGED
        )
        assert {each["code"] for each in json.loads(found)["findings"]} == {"history_rewritten", "version_fell"}
        memory = site.doctor(machine)["memory"]
        assert memory["verdict"] == "fail" and "pinledger recover" in memory["advice"], memory
        node, api = site.start_node(machine)
        is_halted(api, "a backup was restored")
        assert "memory_contradicted" in codes(node)
        # It still serves the kill switch, which the database has no longer.
        assert client.take(api)["kill_switches"]
        node.stop()

        said = site.run(recover, machine)
        lost_from = int(re.search(r"from position (\d+) on\.", said)[1])
        # The requests of the site itself may have been recorded between.
        assert kept <= lost_from <= engaged[0]["position"] and "Can be repeated with --repeat: KillSwitchEngaged" in said, said
        assert "Epoch 1 has begun." in said and said.count("Repeated: ") == 1, said
        lost = client.version
        node, api = site.start_node(machine)
        assert "history_restored" in codes(node) and api.get("/readyz?for=writes").status == 200
        document = client.take(api)
        assert document["version"] > lost + RAISE // 2
        assert [each["scope"] for each in document["kill_switches"]] == ["app"]
        assert "kept.example.com" in str(document)
        api.must("DELETE", f"/v1/apps/{APP}/kill-switch?reason=over")
        assert not client.take(api)["kill_switches"]
        site.wait_for_memory(api)
        node.stop()
        assert site.fsck(machine)["status"] == "clean"
        machine.run(blocks("Restore the latest state")[-1][1])


def flip(file, _) -> None:
    """Changes one bit in the middle of a file."""
    wrong = bytearray(file.read_bytes())
    wrong[len(wrong) // 2] ^= 1
    file.write_bytes(wrong)


def confuse(file, other) -> None:
    """Gives a file another one's contents, which can be read."""
    file.write_bytes(other.read_bytes())


def test_a_damaged_segment_of_the_log_is_found_and_does_not_end_a_restore_early(site):
    machine = site.primary
    node, api = site.start_node(machine)
    for name in ("before", "in the damaged segment", "behind it"):
        site.change(api, "PATCH", f"/v1/apps/{APP}", {"display_name": name})
        machine.run("pgbackrest --stanza=pinledger check")
    node.stop()
    site.fsck(machine)
    verify = commands(blocks("Verify")[0][1])[0]
    machine.run(verify)
    before, segment, _ = machine.archived()[-3:]
    right = segment.read_bytes()
    ((_, rehearse),) = blocks("Rehearse a restore")
    machine.run(rehearse)
    copy = machine.rehearsal()
    try:
        for damage in (flip, confuse):
            damage(segment, before)
            copy.log.unlink(missing_ok=True)
            said = machine.run(verify, status=1)
            assert "status: error" in said, said
            with pytest.raises(RuntimeError, match="could not restore file"):
                machine.start(copy)
            segment.write_bytes(right)
        # The database did not open, so nothing is spoilt: with the right segment it goes on.
        machine.run(verify)
        machine.start(copy)
        command = 'fsck --database "$DATABASE" --previous report.json --acknowledged acknowledged'
        site.pinledger(command, machine, port=copy.port)
        assert copy.execute("postgres", "SHOW archive_mode") == [("off",)]
    finally:
        copy.stop()
        segment.write_bytes(right)
        shutil.rmtree(copy.data)


def test_a_damaged_backup_is_found_and_not_restored(site):
    machine = site.primary
    bundles = (machine.home / "repository/backup/pinledger/latest/bundle").iterdir()
    largest = max(bundles, key=lambda file: file.stat().st_size)
    right = largest.read_bytes()
    flip(largest, None)
    verify = commands(blocks("Verify")[0][1])[0]
    try:
        said = machine.run(verify, status=1)
        assert "status: invalid" in said, said
        ((_, rehearse),) = blocks("Rehearse a restore")
        said = machine.run(rehearse, status=None)
        assert "ERROR" in said, said
    finally:
        largest.write_bytes(right)
        shutil.rmtree(machine.home / "rehearsal", ignore_errors=True)
    machine.run(verify)


def test_a_segment_that_is_missing_altogether_is_noticed_by_fsck_with_an_earlier_report(site):
    machine = site.primary
    node, api = site.start_node(machine)
    machine.cluster.execute("postgres", "SELECT pg_switch_wal()")
    site.change(api, "PATCH", f"/v1/apps/{APP}", {"display_name": "in the missing segment"})
    machine.run("pgbackrest --stanza=pinledger check")
    node.stop()
    site.fsck(machine)
    segment = machine.archived()[-1]
    right = segment.read_bytes()
    segment.unlink()
    copy = machine.rehearsal()
    try:
        machine.run(commands(blocks("Verify")[0][1])[0])
        ((_, rehearse),) = blocks("Rehearse a restore")
        machine.run(rehearse)
        machine.start(copy)
        site.pinledger('fsck --database "$DATABASE" --previous report.json', machine, port=copy.port, status=DAMAGED)
    finally:
        copy.stop()
        shutil.rmtree(copy.data, ignore_errors=True)
        segment.write_bytes(right)
