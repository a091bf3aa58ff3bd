"""A cluster of deploy/ha is backed up, loses its primary, all its data, or rows, and is restored under Patroni with the handbook's commands."""

import json
import os
import re
import signal

import pytest
from backups import MOMENT, Client
from clusters import ClusterSite, blocks
from handbook import ROOT, commands
from pinledger import eventually, from_now, host_body
from restored import codes, is_halted

pytestmark = pytest.mark.daily

APP = "com.example.cluster"
DAMAGED = 10
START = "systemctl start patroni"
#: What Patroni says of a standby that `make-standby` has made.
OF_A_BACKUP = "replica has been created using pgbackrest"


@pytest.fixture(scope="module")
def shared():
    """A cluster that is backed up, with a node on it."""
    site = ClusterSite()
    try:
        cluster = site.cluster
        install, begin = blocks("A backup of a cluster")
        for member in cluster.members:
            member.run(install)
        cluster.member("primary").run(begin)
        site.node, site.api = site.install_node()
        site.api.lower_rails()
        site.api.make_app(APP, "api.example.com")
        site.client = Client(site.api, APP)
        yield site
    finally:
        site.destroy()


@pytest.fixture
def site(shared):
    """The site with a node that runs. Every test leaves it so."""
    assert shared.is_whole, "an earlier test has failed, and left the site in pieces"
    shared.cluster.wait_until_whole()
    return shared


def change(site, host: str) -> None:
    site.change(site.api, "POST", f"/v1/apps/{APP}/hosts", host_body(host))


def goes_on(site, *hosts: str) -> None:
    """Everything acknowledged is there, and a change is recorded and served by the node as it runs."""
    eventually(lambda: site.api.get("/readyz?for=writes").status == 200, "the node's writes")
    document = site.client.take(site.api)
    assert all(host in str(document) for host in hosts), document
    site.change(site.api, "PATCH", f"/v1/apps/{APP}", {"display_name": hosts[-1]})
    assert site.fsck(site, "--acknowledged", "acknowledged")["status"] == "clean"


def is_unbroken(segments: list[str]) -> bool:
    """No segment is missing: numbers go on within each timeline, and from each timeline to the next."""
    numbers = sorted({int(name[8:16] + name[22:], 16) for name in segments})
    return numbers == list(range(numbers[0], numbers[-1] + 1))


def verify(member) -> None:
    member.run("pgbackrest --stanza=pinledger check")
    member.run("/etc/pgbackrest/verify")


def wait_for_no_leader(member) -> None:
    eventually(lambda: "Leader" not in member.run("patronictl -c /etc/patroni/config.yml list"), "the end of the lease")


def take_away(site, *, save_from=None) -> None:
    """Follows the page up to the restore: Patroni is stopped, no data are left in their place."""
    keep, stop, away, save = blocks("Restore under Patroni")[:4]
    site.cluster.members[1].run(keep)
    for member in site.cluster.members:
        member.root(stop)
        if member.data.exists():
            member.run(away)
            assert not member.data.exists()
    if save_from:
        save_from.run(save)


def command(how: int, timeline: str | None = None) -> str:
    """Restores the latest state (0), or a moment (1)."""
    return blocks("Restore under Patroni")[4:6][how].rstrip("\n") + (f" --target-timeline={timeline}" if timeline else "")


def begin(site, first) -> None:
    """Follows the page from a restored machine to a leader."""
    forget, start, settings = blocks("Restore under Patroni")[6:9]
    assert not list(first.data.glob("*.signal")) and "recovery_target" not in (first.data / "postgresql.auto.conf").read_text()
    wait_for_no_leader(first)
    first.run(forget)
    first.root(start)
    assert site.cluster.wait_for_primary() is first
    first.run(settings)


def restore(site, how: int, *, save_from=None, moment: str = MOMENT, timeline: str | None = None):
    """Follows the page up to a leader that was begun with a backup."""
    take_away(site, save_from=save_from)
    first = site.cluster.members[1]
    first.run(command(how, timeline), moment=moment)
    begin(site, first)
    return first


def interrupt(first, script: str, moment: str, number: int) -> str:
    """Begins the restore, and sends its processes a signal in mid-recovery. Returns what it said."""
    held = first.home / "held"
    held.unlink(missing_ok=True)
    process = first.begin(f"exec {script}", moment=moment)
    eventually(lambda: held.exists() or process.poll() is not None, "the middle of recovery")
    assert process.poll() is None, process.communicate()[0]
    # PostgreSQL has a session of its own.
    os.killpg(process.pid, number)
    if number == signal.SIGKILL:
        process.stdout.close()
        process.wait(120)
        said = ""
    else:
        said, _ = process.communicate(timeout=120)
    assert process.returncode != 0 and not first.data.exists(), said
    return said


def let_others_in(site, first) -> None:
    back_up, start = blocks("Restore under Patroni")[10:12]
    first.run(back_up)
    others = {member: len(member.log) for member in site.cluster.others(first)}
    for member in others:
        member.root(start)
    site.cluster.wait_until_whole()
    assert [member.name for member, mark in others.items() if OF_A_BACKUP not in member.log[mark:]] == []


def look(site, *, status: int) -> tuple[dict, dict]:
    """What fsck and doctor say, as the page asks them."""
    fsck, doctor = commands(blocks("Restore under Patroni")[9])
    report = json.loads(site.run(f"{fsck} --output json", site, status=status))
    found = {each["subject"]: each for each in json.loads(site.run(f"{doctor} --output json", site, status=None))}
    return report, found


def end_node(site) -> None:
    site.wait_for_memory(site.api)
    site.node.stop()


def test_each_backup_is_made_once_by_the_schedule_of_all_machines(site):
    cluster = site.cluster
    lines = (ROOT / "deploy/backup/crontab").read_text().splitlines()
    incremental, verifying = (next(line for line in lines if word in line) for word in ("--type=incr", "verify"))
    before = cluster.backups(cluster.members[0])
    for line in (incremental, verifying):
        said = [member.run(line.split(maxsplit=5)[5]) for member in cluster.members]
        assert said == ["", "", ""]
    # Every machine sees the same repository.
    assert {cluster.backups(member) for member in cluster.members} == {before + 1}


def test_the_archive_has_no_gap_though_the_primary_is_lost_while_the_repository_is_away(site):
    cluster = site.cluster
    former = cluster.member("primary")
    change(site, "archived.example.com")
    former.run("pgbackrest --stanza=pinledger check")
    with site.taken_apart():
        repository = cluster.directory / "repository"
        away = repository.rename(cluster.directory / "away")
        kept = []
        for number in range(3):
            change(site, f"kept-{number}.example.com")
            kept += cluster.execute("postgres", "SELECT pg_walfile_name(pg_switch_wal())")
        former.lose_data()
        # The failover needs no repository.
        promoted = cluster.wait_for_primary(other_than=former)
        goes_on(site, "archived.example.com", "kept-2.example.com")
        away.rename(repository)
        verify(promoted)
        segments = cluster.segments()
        assert {name for (name,) in kept} <= set(segments) and is_unbroken(segments), segments
        assert segments[-1][:8] > kept[-1][0][:8], "nothing of the new primary is archived"

        mark = len(former.log)
        former.root(START)
        cluster.wait_until_whole()
        assert OF_A_BACKUP in former.log[mark:]
        # No standby keeps what the repository has, such as the end of the former timeline.
        verify(promoted)
        timeline = cluster.segments()[-1][:8]
        eventually(lambda: [name for name in cluster.unarchived() if name[:8] < timeline] == [], "the standbys' archive")
    goes_on(site, "kept-2.example.com")


def test_a_standby_whose_data_are_lost_with_the_primary_is_not_promoted_from_a_backup(site):
    cluster = site.cluster
    change(site, "confirmed.example.com")
    primary, synchronous = cluster.member("primary"), cluster.member("synchronous")
    with site.taken_apart():
        primary.kill()
        synchronous.lose_data()
        mark = len(synchronous.log)
        synchronous.root(START)
        # Patroni tries while the lease lasts, and waits for a leader afterwards.
        waiting = "waiting for leader to bootstrap"
        with cluster.logs():
            eventually(lambda: waiting in synchronous.log[mark:], "the end of the lease")
        said = synchronous.log[mark:]
        assert OF_A_BACKUP not in said and "promoted self" not in said, said
        assert not synchronous.data.exists() or not any(synchronous.data.iterdir())
        # The primary has all.
        primary.root(START)
        cluster.wait_until_whole()
    goes_on(site, "confirmed.example.com")


def test_the_third_machine_takes_over_by_hand_where_the_two_others_have_lost_their_data(site):
    cluster = site.cluster
    change(site, "received.example.com")
    third = cluster.member("replica")
    ((end,),) = cluster.execute("postgres", "SELECT pg_current_wal_lsn()")
    received = f"SELECT pg_last_wal_replay_lsn() >= '{end}'"
    eventually(lambda: cluster.execute("postgres", received, member=third) == [(True,)], "what the third is to have")
    with site.taken_apart():
        lost = cluster.others(third)
        for member in lost:
            member.lose_data()
        wait_for_no_leader(third)
        third.run(f"patronictl -c /etc/patroni/config.yml failover pinledger --candidate {third.name} --force")
        assert cluster.wait_for_primary() is third
        for member in lost:
            member.root(START)
        cluster.wait_until_whole()
    goes_on(site, "received.example.com")
    verify(third)


def test_all_data_are_lost_and_what_was_archived_is_restored_and_a_lost_kill_switch_repeated(site):
    cluster = site.cluster
    change(site, "restored.example.com")
    cluster.member("primary").run("pgbackrest --stanza=pinledger check")
    site.fsck(site, "--acknowledged", "acknowledged")
    kept = site.api.position()
    body = {"reason": "leaked key", "expires_at": from_now(days=1)}
    site.api.must("PUT", f"/v1/apps/{APP}/kill-switch", body)
    assert site.client.take(site.api)["kill_switches"]
    with site.taken_apart():
        end_node(site)
        for member in cluster.members:
            member.lose_data()
        first = restore(site, 0)
        # Nothing is missing since the report, which was made of what was archived; the node knows more.
        report, found = look(site, status=0)
        assert report["status"] == "clean" and found["key-encryption key"]["verdict"] == "ok"
        assert found["memory"]["verdict"] == "fail" and "pinledger recover" in found["memory"]["advice"], found
        let_others_in(site, first)
        site.node, site.api = site.start()
        is_halted(site.api, "a backup was restored")
        assert site.client.take(site.api)["kill_switches"]
        site.node.stop()
        recover = blocks("Restore under Patroni")[12]
        said = site.run(recover, site)
        lost_from = int(re.search(r"from position (\d+) on\.", said)[1])
        assert lost_from >= kept and "Epoch 1 has begun." in said and said.count("Repeated: ") == 1, said
        site.node, site.api = site.start()
        assert "history_restored" in codes(site.node)
        assert [each["scope"] for each in site.client.take(site.api)["kill_switches"]] == ["app"]
        site.api.must("DELETE", f"/v1/apps/{APP}/kill-switch?reason=over")
    goes_on(site, "restored.example.com")
    verify(first)


def test_nothing_is_lost_with_all_data_where_the_log_of_one_machine_is_left(site):
    cluster = site.cluster
    former = cluster.member("primary")
    change(site, "in-the-log.example.com")
    with site.taken_apart():
        end_node(site)
        for member in cluster.others(former):
            member.lose_data()
        former.kill()
        first = restore(site, 0, save_from=former)
        _, found = look(site, status=0)
        assert found["memory"]["verdict"] == "ok", found
        let_others_in(site, first)
        site.node, site.api = site.start()
        assert not {"memory_contradicted", "history_restored"} & set(codes(site.node))
    goes_on(site, "in-the-log.example.com")


def test_a_moment_before_a_wrong_delete_is_restored_under_patroni(site):
    cluster = site.cluster
    change(site, "before.example.com")
    site.fsck(site)
    ((early, timeline),) = cluster.execute(
        "postgres", "SELECT (clock_timestamp() - interval '1 ms')::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
    )
    change(site, "kept.example.com")
    site.fsck(site)
    ((moment,),) = cluster.execute("postgres", "SELECT clock_timestamp()::text")
    change(site, "lost.example.com")
    with site.taken_apart():
        end_node(site)
        last = "SELECT max(position) FROM pinledger.event"
        ((position,),) = cluster.execute("pinledger", last)
        tables = cluster.execute("pinledger", "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'pinledger.event'::regclass")
        for (table,) in [("pinledger.event",), *tables]:
            cluster.execute("pinledger", f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        cluster.execute("pinledger", f"DELETE FROM pinledger.event WHERE position >= {position - 3}")
        report, _ = look(site, status=DAMAGED)
        assert report["findings"]

        # At first a moment that was too early.
        first = restore(site, 1, moment=early)
        report, _ = look(site, status=DAMAGED)
        assert {each["code"] for each in report["findings"]} == {"history_rewritten", "version_fell"}
        assert restore(site, 1, moment=moment, timeline=str(int(timeline, 16))) is first
        report, found = look(site, status=0)
        assert report["status"] == "clean" and found["memory"]["verdict"] == "fail"
        let_others_in(site, first)
        said = site.run(blocks("Restore under Patroni")[12], site)
        assert "lost.example.com" in said and "has begun." in said, said
        site.node, site.api = site.start()
        assert "history_restored" in codes(site.node)
        document = site.client.take(site.api)
        assert "kept.example.com" in str(document) and "lost.example.com" not in str(document)
    # What was acknowledged after the moment is lost, and said to be.
    site.acknowledged.write_text("")
    goes_on(site, "kept.example.com")
    verify(first)


def test_a_restore_that_is_killed_leaves_nothing_that_patroni_starts_and_ends_at_its_target_when_run_again(site):
    cluster = site.cluster
    change(site, "earlier.example.com")
    ((moment, segment),) = cluster.execute(
        "postgres", "SELECT clock_timestamp()::text, pg_walfile_name(pg_current_wal_lsn()) FROM pg_switch_wal()"
    )
    change(site, "later.example.com")
    cluster.member("primary").run("pgbackrest --stanza=pinledger check")
    first = cluster.members[1]
    script = command(1, str(int(segment[:8], 16)))
    with site.taken_apart():
        end_node(site)
        take_away(site)
        # Recovery waits for the segment of the moment.
        get = first.home / "pgbackrest/archive-get"
        own = get.read_text()
        held = first.home / "held"
        get.write_text(own.replace("\n", f'\nif [ "$1" = {segment} ]; then touch {held}; while :; do sleep 0.1; done; fi\n', 1))
        interrupt(first, script, moment, signal.SIGKILL)
        work = first.home / "data.restoring"
        assert (work / "data/recovery.signal").exists()
        mark = len(first.log)
        first.root(START)
        with cluster.logs():
            eventually(lambda: "waiting for leader to bootstrap" in first.log[mark:], "Patroni without data")
        assert "promoted self" not in first.log[mark:] and not first.data.exists()
        first.root(blocks("Restore under Patroni")[1])

        # The PostgreSQL of the killed one goes on, and is ended by the next one.
        interrupt(first, script, moment, signal.SIGTERM)
        assert not work.exists()
        get.write_text(own)
        said = first.run(script, moment=moment)
        assert "recovery stopping before" in said and not work.exists(), said
        begin(site, first)
        report, found = look(site, status=0)
        assert report["status"] == "clean" and found["memory"]["verdict"] == "fail"
        let_others_in(site, first)
        said = site.run(blocks("Restore under Patroni")[12], site)
        assert "later.example.com" in said and "has begun." in said, said
        site.node, site.api = site.start()
        document = site.client.take(site.api)
        assert "earlier.example.com" in str(document) and "later.example.com" not in str(document)
    site.acknowledged.write_text("")
    goes_on(site, "earlier.example.com")
    verify(first)
