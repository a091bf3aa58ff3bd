"""How a history goes on after events were lost: `pinledger recover`, and what nodes, clients and auditors see of it."""

import json
import shutil
import subprocess

import pytest
from databases import Database
from nodes import start_node
from pinledger import API, EVERYTHING, eventually, free_port, from_now, host_body, pin_hex
from restored import KEPT, LOST, Restored, codes, is_halted

NEW = "com.example.memory.new"
RAISE = 1_000_000
DAMAGED, USAGE = 10, 2


class Lossy(Restored):
    """The lost changes are a kill switch, the revocations of a pin and of a token, a new app, and the end of a switch."""

    def prepare(self):
        api = self.server.api
        token = api.must("POST", "/v1/tokens", {"grants": EVERYTHING, "name": "stolen", "expires_at": from_now(days=1)}).json
        self.stolen, self.stolen_id = token["token"], token["token_id"]
        api.must("POST", f"/v1/apps/{KEPT}/hosts", host_body("old.example.com", mode="off"))
        self.pin = api.get(f"/v1/apps/{KEPT}/hosts/old.example.com").json["baseline"]["pins"][0]["pin"]
        api.must("PUT", f"/v1/apps/{KEPT}/kill-switch", {"reason": "drill", "expires_at": from_now(days=2)})
        self.kept_size = api.position()

    def lose(self):
        super().lose()
        api = self.server.api
        api.must("DELETE", f"/v1/tokens/{self.stolen_id}?reason=stolen")
        path = f"/v1/apps/{KEPT}/hosts/old.example.com/pins/{pin_hex(self.pin)}"
        api.must("PATCH", path, {"state": "revoked", "reason": "leaked", "force": True})
        api.must("DELETE", f"/v1/apps/{KEPT}/kill-switch?reason=drill+over")
        api.must("POST", "/v1/apps", {"app": NEW, "display_name": "New"})
        self.kept_version = api.payload(KEPT)["version"]
        eventually(lambda: self.memory(self.state)["documents"].get(NEW))

    def recover(self, database: str, *options: str, status: int = 0, state: str | None = None) -> str:
        done = self.server.cli(
            "recover", "--database", database, "--kek-file", self.key, "--state-directory", state or self.state, *options,
            status=status)  # fmt: skip
        return done.stdout + done.stderr

    def copy(self, name: str):
        """The state directory of another node that remembers the same."""
        copy = self.server.home / name
        shutil.copytree(self.state, copy)
        return str(copy)


@pytest.fixture(scope="module")
def lossy(own_server):
    lossy = Lossy(own_server)
    lossy.second, lossy.third = lossy.copy("second"), lossy.copy("third")
    return lossy


@pytest.fixture(scope="module")
def backup(lossy) -> str:
    return lossy.restore("lossy")


def size(lossy, name: str) -> int:
    return int(lossy.server.sql("SELECT next_position FROM pinledger.head", database=name))


def test_recover_shows_what_is_lost_and_changes_nothing_without_a_reason(lossy, backup):
    before = size(lossy, "lossy")
    said = lossy.recover(backup)
    assert f"from position {lossy.kept_size} on." in said and "of which no source has" not in said, said
    for event in ("KillSwitchEngaged", "TokenRevoked", "PinRevoked", "AppCreated", "KillSwitchReleased"):
        assert event in said, said
    assert "first admin" in said and "leaked key" in said, "who, and why"
    assert f"Can be repeated with --repeat: TokenRevoked token_id={lossy.stolen_id}" in said
    assert f"In force again, because its end is lost: KillSwitchReleased (app/{KEPT})" in said
    assert NEW in said and "the app is lost" in said
    assert f"Would begin epoch 1, and raise the version of every document by {RAISE}." in said
    assert "Would give the transparency log the name pins.example.com/log/epoch-1." in said
    assert size(lossy, "lossy") == before
    shown = json.loads(lossy.recover(backup, "--output", "json"))
    assert shown["kept_size"] == lossy.kept_size and shown["unknown_events"] == 0 and not shown["recorded"]
    assert [each["type"] for each in shown["lost_events"]][0] == "KillSwitchEngaged"
    assert len(shown["repeatable"]) == 3 and len(shown["in_force_again"]) == 1


def test_recover_finds_nothing_lost_where_the_database_goes_on(lossy):
    said = lossy.recover(lossy.server.connection_string)
    assert "nothing is lost" in said and "Would" not in said, said


def test_recover_needs_something_that_is_known_from_outside(lossy, backup):
    said = lossy.recover(backup, state=str(lossy.server.home / "nothing"), status=USAGE)
    assert "nothing is known of the ledger from outside the database" in said and "--raise-by" in said
    for option in ("--repeat", "--no-repeat"):
        assert "--repeat and --no-repeat need --reason" in lossy.recover(backup, option, status=USAGE)
    said = lossy.recover(backup, "--raise-by", "1", "--reason", "why", status=USAGE)
    assert "leaves versions at or below those that clients hold" in said, said


def test_a_node_halts_until_recover_has_begun_a_new_epoch(lossy, backup):
    node, api = lossy.start("halted", backup)
    try:
        is_halted(api, "a backup was restored")
        # It serves what it has served before, though the database has it no longer.
        assert api.payload(LOST)["version"] == lossy.version and api.payload(NEW)["version"]
        # The stolen token would be valid again.
        assert API(api.port, lossy.stolen).get("/v1/apps").status == 503
    finally:
        node.stop()


def test_after_recover_nodes_go_on_and_clients_take_the_next_document(lossy, backup):
    tag = lossy.server.api.get(f"/v1/apps/{KEPT}")["ETag"]
    said = lossy.recover(backup, "--reason", "restored the backup", "--repeat")
    assert f"Epoch 1 has begun. The version of every document is raised by {RAISE}." in said, said
    assert said.count("Repeated: ") == 3 and "Restart every node now" in said
    node, api = lossy.start("recovered", backup)
    try:
        assert "history_restored" in codes(node) and "memory_contradicted" not in codes(node)
        assert api.get("/readyz?for=writes").status == 200
        # A client that holds the lost version takes this one, and with it the repeated switch.
        document = eventually(lambda: api.document(LOST).status == 200 and api.payload(LOST))
        assert document["version"] > lossy.version + RAISE // 2
        assert [each["scope"] for each in document["kill_switches"]] == ["app"]
        assert api.payload(KEPT)["version"] > lossy.kept_version
        # Revoked again.
        assert API(api.port, lossy.stolen).get("/v1/apps").status == 401
        pins = api.get(f"/v1/apps/{KEPT}/hosts/old.example.com").json["baseline"]["pins"]
        assert {each["pin"]: each["state"] for each in pins}[lossy.pin] == "revoked"
        # A change that was made for the lost state is refused, whatever its version.
        assert tag.strip('"').isdigit()
        stale = api.request("PATCH", f"/v1/apps/{KEPT}", {"display_name": "x"}, {"If-Match": tag})
        assert stale.status == 412 and stale["ETag"].startswith('"1.'), str(stale)
        api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": "x"}, {"If-Match": stale["ETag"]})
        fleet = api.get("/v1/fleet").json
        assert fleet["epoch"] == 1 and fleet["raised_by"] == RAISE
        restored = [each for each in api.history() if each["type"] == "HistoryRestored"]
        assert restored[0]["data"]["kept_size"] == lossy.kept_size and restored[0]["reason"] == "restored the backup"
        assert restored[0]["data"]["lost_size"] == lossy.memory(lossy.second)["position"]
        eventually(lambda: lossy.memory(lossy.state)["epoch"] == 1)
        kept = {file.name for file in (lossy.server.home / "remembering").iterdir()}
        assert {"memory.lost-in-epoch-0", "events.lost-in-epoch-0"} <= kept, kept
    finally:
        node.stop()
    # Once more, with the lost app still missing: nothing is recorded twice, and what the node remembers now fits.
    for state in (lossy.state, lossy.third):
        again = lossy.recover(backup, "--reason", "once more", "--repeat", state=state)
        assert "There was nothing to record." in again, again
    assert "versions are not raised" in lossy.recover(backup, "--raise-by", "5", "--reason", "once more")
    # The app that is lost gets a higher version when it is made again.
    node, api = lossy.start("again", backup)
    try:
        assert "history_restored" not in codes(node)
        api.must("POST", "/v1/apps", {"app": NEW, "display_name": "New"})
        assert api.payload(NEW)["version"] > RAISE
    finally:
        node.stop()


def test_other_nodes_go_on_with_the_new_epoch_too(lossy, backup):
    node, api = lossy.start("second", backup, state=lossy.second)
    try:
        assert "history_restored" in codes(node)
        assert api.get("/readyz?for=writes").status == 200
    finally:
        node.stop()
    said = lossy.recover(backup)
    assert "nothing is lost" in said, said
    # From a node that was not started since, it has nothing more to do either.
    said = lossy.recover(backup, "--reason", "once more", state=lossy.third)
    assert "There was nothing to record." in said, said


def test_a_database_login_cannot_begin_an_epoch(lossy):
    """Neither does the event take effect, nor does it keep the node from serving what it has served."""
    database = Database(lossy.server, "forged_epoch")
    connection_string = lossy.restore("forged_epoch")
    end = lossy.memory(lossy.third)
    restored = {"epoch": 1, "kept_size": lossy.kept_size, "lost_root": end["root"], "lost_size": end["position"]}
    database.forge("fleet", "HistoryRestored", restored | {"raised_by": RAISE}, database.key)
    node, api = lossy.start("forged-epoch", connection_string, state=lossy.third)
    try:
        assert "end_unauthenticated" in codes(node) and "history_restored" not in codes(node)
        assert api.get("/readyz?for=writes").status == 503
        for app in (KEPT, LOST, NEW):
            assert api.payload(app)["version"] == end["documents"][app]["version"]
    finally:
        node.stop()
    said = lossy.recover(connection_string, status=DAMAGED, state=lossy.third)
    assert "is not sound by itself" in said and "fsck" in said, said


def test_a_node_that_remembers_more_than_the_recovery_knew_stays_halted(lossy):
    database = lossy.restore("ignorant")
    # Of the lost history this recovery knows only how far a report went.
    report = lossy.server.home / "report"
    report.write_text(
        json.dumps({"position": lossy.kept_size + 1, "root": "00" * 32, "epoch": 0, "documents": {LOST: 3}}))
    arguments = ["recover", "--database", database, "--kek-file", lossy.key, "--report", str(report)]
    lossy.server.cli(*arguments, "--reason", "only a report was left")
    node, api = lossy.start("ignorant", database, state=lossy.third)
    try:
        is_halted(api, "this node knows of")
    finally:
        node.stop()
    said = lossy.recover(database, "--reason", "with the node's memory", "--no-repeat", state=lossy.third)
    assert "Epoch 2 has begun." in said and "Repeated" not in said, said
    fourth = lossy.server.home / "fourth"
    shutil.copytree(lossy.third, fourth)
    node, api = lossy.start("knowing", database, state=str(fourth))
    try:
        assert "history_restored" in codes(node) and api.get("/readyz?for=writes").status == 200
    finally:
        node.stop()


def test_lost_changes_are_repeated_also_after_nodes_have_started(lossy):
    database, state = lossy.restore("cut_off"), str(lossy.server.home / "cut-off-state")
    shutil.copytree(lossy.third, state)
    before = size(lossy, "cut_off")
    # Nobody leaves a lost kill switch lost by leaving an option out.
    said = lossy.recover(database, "--reason", "restored the backup", state=state, status=USAGE)
    assert "3 lost changes can be repeated" in said and "--no-repeat" in said, said
    assert size(lossy, "cut_off") == before
    lossy.recover(database, "--reason", "restored the backup", "--no-repeat", state=state)
    node, api = lossy.start("cut-off", database, state=state)
    try:
        assert "history_restored" in codes(node)
        assert not api.payload(LOST)["kill_switches"]
        eventually(lambda: lossy.memory(state)["epoch"] == 1)
    finally:
        node.stop()
    shown = json.loads(lossy.recover(database, "--output", "json", state=state))
    assert len(shown["repeatable"]) == 3 and not shown["lost_events"] and not shown.get("epoch"), shown
    said = lossy.recover(database, "--reason", "once more", "--repeat", state=state)
    assert said.count("Repeated: ") == 3 and "has begun" not in said, said
    node, api = lossy.start("cut-off-again", database, state=state)
    try:
        assert [each["scope"] for each in api.payload(LOST)["kill_switches"]] == ["app"]
        api.must("DELETE", f"/v1/apps/{LOST}/kill-switch?reason=over")
    finally:
        node.stop()
    # What operators have ended since is not engaged again.
    again = lossy.recover(database, "--reason", "once more", "--repeat", state=state)
    assert "There was nothing to record." in again, again


def test_the_transparency_log_goes_on_under_a_name_that_points_to_the_lost_one(lossy, backup):
    node, api = lossy.start("log", backup)
    try:
        checkpoint = api.get("/log/checkpoint").body.decode().splitlines()
        assert checkpoint[0] == "pins.example.com/log/epoch-1"
        log = api.get("/v1/log").json
        assert log["earlier"][0]["origin"] == "pins.example.com/log"
        lost = json.loads((lossy.server.home / "remembering" / "memory.lost-in-epoch-0").read_text().splitlines()[0])
        assert (log["earlier"][0]["size"], log["earlier"][0]["root"]) == (lost["position"], lost["root"])
    finally:
        node.stop()


def test_streamed_events_and_their_followers_tell_epochs_apart(lossy, backup):
    node, api = lossy.start("stream", backup)
    try:
        def first(seen: str) -> tuple[str, str]:
            done = subprocess.run(
                ["curl", "-sN", "--max-time", "3", "-H", f"Authorization: Bearer {api.token}", "-H", f"Last-Event-ID: {seen}",
                 f"http://127.0.0.1:{api.port}/v1/events"], capture_output=True, text=True)  # fmt: skip
            lines = [line for line in done.stdout.splitlines() if line.startswith(("id:", "event:"))]
            return lines[0], lines[1]

        # A follower that has seen lost events is sent what stands in their place.
        lost = lossy.memory(lossy.third)["position"] - 1
        assert first(str(lost)) == (f"id: 1.{lossy.kept_size}", "event: HistoryRestored")
        assert first(str(lossy.kept_size - 2))[0] == f"id: {lossy.kept_size - 1}"
        assert first(f"1.{lossy.kept_size}")[0] == f"id: 1.{lossy.kept_size + 1}"
        assert api.get("/v1/events", **{"Last-Event-ID": "1.01"}).status == 400
    finally:
        node.stop()


def test_a_second_loss_after_a_recovery_halts_a_node_again(lossy):
    database = lossy.restore("again")
    node, api = lossy.start("twice", database)
    try:
        is_halted(api, "a backup was restored")
    finally:
        node.stop()
    said = lossy.recover(database)
    assert "Would begin epoch 2, and raise the version of every document by 2000000." in said, said


def test_fsck_finds_a_recovered_ledger_clean(lossy, backup):
    report = json.loads(
        lossy.server.cli("fsck", "--database", backup, "--kek-file", lossy.key, "--output", "json").stdout)
    assert report["status"] == "clean"
    # The head repeats what the event says. Whoever changes it there is named.
    lossy.server.sql("UPDATE pinledger.head SET raised_by = 7", database="lossy")
    done = lossy.server.cli("fsck", "--database", backup, "--output", "json", status=DAMAGED)
    assert [each["code"] for each in json.loads(done.stdout)["findings"]] == ["columns_differ"]
    lossy.server.sql(f"UPDATE pinledger.head SET raised_by = {RAISE}", database="lossy")


def test_recover_names_where_other_events_stand_in_the_place_of_lost_ones(lossy):
    database = lossy.restore("forked")
    node, api = start_node(lossy.server, "forgetful", "--kek-file", lossy.key, database=database)
    for number in range(20):
        api.must("POST", f"/v1/apps/{LOST}/hosts", host_body(f"h{number}.example.com"))
    node.stop()
    state = lossy.third
    shown = json.loads(lossy.recover(database, "--output", "json", state=state))
    assert shown["kept_size"] == lossy.kept_size and shown["unknown_events"] == 0
    assert "other events were recorded in the place of lost ones" in shown["contradictions"][0]["fault"]
    assert [each["type"] for each in shown["lost_events"]][0] == "KillSwitchEngaged"
    # A checkpoint that went further has no events, and those of the node count all the same.
    checkpoint = lossy.server.home / "further"
    lossy.server.api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": "further"})
    checkpoint.write_bytes(lossy.server.api.get("/log/checkpoint").body)
    shown = json.loads(lossy.recover(database, "--expect-checkpoint", str(checkpoint), "--output", "json", state=state))
    assert shown["lost"]["size"] == int(checkpoint.read_text().splitlines()[1]) and shown["unknown_events"] > 0
    assert shown["kept_size"] == lossy.kept_size and shown["repeatable"]
    # Without the node's events it still says how many there were.
    events = lossy.server.home / "third" / "events"
    damaged = events.read_bytes().replace(b"leaked key", b"leaked kex")
    events.write_bytes(damaged)
    said = lossy.recover(database, state=state)
    assert "The lost events cannot be shown" in said and "its events are not those of the memory" in said, said
    assert "of which no source has" in said and "Would begin epoch 1" in said


def test_recover_learns_of_lost_events_from_what_receivers_of_webhooks_have(lossy):
    database = lossy.restore("delivered")
    events = lossy.server.api.must("GET", "/v1/history?order=oldest&limit=1000").json["events"]
    messages = [
        {"entry": event, "id": f"whd_x_{event['position']}", "timestamp": event["time"], "type": event["type"], "webhook_id": "whk_x"}
        for event in events
    ]  # fmt: skip
    messages.insert(3, {"id": "whd_x_test_1", "timestamp": events[0]["time"], "type": "WebhookTest", "webhook_id": "whk_x"})
    file = lossy.server.home / "delivered"

    def recover(*options: str, status: int = 0) -> str:
        done = lossy.server.cli(
            "recover", "--database", database, "--kek-file", lossy.key, "--delivered", str(file), *options, status=status)
        return done.stdout + done.stderr

    # What the database has is no loss, in whatever form of JSON a receiver stores it.
    kept = [message for message in messages if message.get("entry", {}).get("position", 0) < lossy.kept_size]
    file.write_text("\n\n".join(json.dumps(message, indent=None) for message in kept) + "\n")
    assert "nothing is lost" in recover()
    for bad in ("[]", "nonsense", '{"webhook_id": "whk_x", "entry": {"position": 4}}', "x" * 600_000):
        file.write_text(json.dumps(messages[0]) + "\n" + bad)
        assert f"{file}: line 2 " in recover(status=USAGE), bad[:60]
    # Entries by themselves, as an export has them, and messages.
    file.write_text("\n".join(json.dumps(each) for each in [*events, *messages]))
    shown = json.loads(recover("--output", "json"))
    lost = [event for event in events if event["position"] >= lossy.kept_size]
    assert [(each["position"], each["type"]) for each in shown["lost_events"]] == [
        (event["position"], event["type"]) for event in lost
    ]
    assert shown["kept_size"] == lossy.kept_size and shown["unknown_events"] == 0
    assert shown["contradictions"][0]["source"] == str(file)
    versions = {each["app"]: each["served_version"] for each in shown["documents"]}
    assert versions[LOST] >= lossy.version and versions[KEPT] >= lossy.kept_version
    # A type filter leaves gaps.
    file.write_text("\n".join(json.dumps(message) for message in [*kept, messages[-1]]))
    shown = json.loads(recover("--output", "json"))
    assert (shown["kept_size"], shown["unknown_events"]) == (lossy.kept_size, len(lost) - 1)
    # Nobody has recovered so often.
    file.write_text(json.dumps(messages[-1] | {"id": f"whd_x_9007199254740991.{events[-1]['position']}"}))
    assert "a source names the epoch 9007199254740991" in recover(status=USAGE)
    # A recovery that was lost too, and raised versions by nobody knows how much.
    file.write_text(json.dumps(messages[-1] | {"id": f"whd_x_1.{events[-1]['position']}"}))
    assert "Give --raise-by" in recover(status=USAGE)
    # What a later program has recorded is counted.
    later = events[-1] | {"type": "LaterEvent", "position": events[-1]["position"] + 1}
    file.write_text("\n".join(json.dumps(each) for each in [*messages, later]))
    assert json.loads(recover("--output", "json"))["unknown_events"] == 1
    file.write_text("\n".join(json.dumps(each) for each in [*events, *messages]))
    said = recover("--reason", "restored the backup", "--no-repeat")
    assert "Epoch 1 has begun" in said and "Repeated" not in said
    # It goes on where it stopped: the messages are of a history that has ended, and can still be repeated.
    said = recover("--reason", "restored the backup", "--repeat")
    assert "has begun" not in said and "Repeated: TokenRevoked" in said
    node, api = start_node(lossy.server, "delivered", "--kek-file", lossy.key, database=database)
    try:
        assert api.payload(LOST)["version"] > max(lossy.version, versions[LOST])
        assert api.payload(LOST)["kill_switches"], "the lost kill switch is engaged again"
        assert API(node.port, lossy.stolen).get("/v1/apps").status == 401
    finally:
        node.stop()
    again = recover("--reason", "once more", "--repeat")
    assert "has begun" not in again and "Repeated" not in again, again


def test_versions_are_raised_by_hand_where_nothing_remembers_them(lossy):
    database = lossy.restore("forgotten")
    done = lossy.server.cli(
        "recover", "--database", database, "--kek-file", lossy.key, "--raise-by", "5000", "--reason", "nothing was kept")
    assert "raised by 5000" in done.stdout
    port = free_port()
    node, api = start_node(
        lossy.server, "by-hand", "--kek-file", lossy.key, "--admin-listen", f"127.0.0.1:{port}", database=database)
    try:
        assert api.payload(LOST)["version"] > 5000
    finally:
        node.stop()
