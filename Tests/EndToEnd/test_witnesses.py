"""Witnesses of the log (C2SP tlog-witness): real ones, over HTTP, that refuse a fork."""

import base64
import json
import subprocess

import pytest
from notes import unnote, vkeys
from pinledger import BINARY, Server, eventually
from problems import expect_problem
from restored import KEPT, LOST, Restored, codes, is_halted
from witness import Witness, sha256

ORIGIN = "pins.example.com/log"
CALLS = ["--allow-private-range", "127.0.0.0/8", "--allow-http-webhooks"]


class Witnessed(Restored):
    """The backup was made when the witnesses were there already."""

    def __init__(self, server):
        self.witnesses = [Witness(f"witness{number}.example.net/w") for number in range(3)]
        super().__init__(server)

    def prepare(self) -> None:
        api = self.server.api
        for witness in self.witnesses:
            witness.knows(*vkeys(self.server))
            api.must("POST", "/v1/log/witnesses", {"vkey": witness.vkey, "url": witness.url, "reason": "audit"})
        api.must("PUT", "/v1/log/quorum", {"quorum": 2, "reason": "audit"})

    def lose(self) -> None:
        super().lose()
        # The checkpoint of this change: the one that the backup does not have.
        self.shows_all()

    def cosigned(self) -> int:
        answer = self.server.api.get("/log/checkpoint")
        return size(answer.body.decode()) if answer.status == 200 else 0

    def shows_all(self) -> None:
        """Waits until what is recorded by now is cosigned. The server records events by itself too, at any time: only a
        checkpoint of just so many events may never be shown."""
        position = self.server.api.position()
        eventually(lambda: self.cosigned() >= position, f"a cosigned checkpoint of {position} events")


def size(note: str) -> int:
    """Of how many events a checkpoint is."""
    return int(note.split("\n")[1])


@pytest.fixture(scope="module")
def witnessed():
    server = Server(more=CALLS)
    try:
        witnessed = Witnessed(server.start())
        yield witnessed
        for witness in witnessed.witnesses:
            witness.close()
    finally:
        server.destroy()


def cosigners(note: str, witnesses: list[Witness]) -> list[Witness]:
    """The witnesses whose cosignature in a note is right, checked with code of this file alone."""
    text, signatures = unnote(note)
    found = []
    for witness in witnesses:
        if data := signatures.get((witness.name, witness.id)):
            time = int.from_bytes(data[:8], "big")
            witness.key.public_key().verify(data[8:], f"cosignature/v1\ntime {time}\n{text}".encode())
            found.append(witness)
    return found


def test_a_checkpoint_has_the_cosignatures_of_its_witnesses(witnessed):
    api = witnessed.server.api
    api.must("PATCH", f"/v1/apps/{LOST}", {"display_name": "Witnessed"})
    position = api.position()
    note = eventually(
        lambda: size(body := api.get("/log/checkpoint").body.decode()) >= position
        and len(cosigners(body, witnessed.witnesses)) == 3 and body)
    # Each checkpoint extends the one before.
    assert all(old < size for witness in witnessed.witnesses for old, size in witness.requests)
    listed = api.get("/v1/log/witnesses").json
    assert listed["quorum"] == 2
    assert all(each["cosigned_size"] >= size(note) and "failure" not in each for each in listed["witnesses"]), listed
    assert len(listed["witnesses"]) == 3
    # Our program verifies the quorum without a server, from what the operator has handed out.
    proof = witnessed.server.home / "proof"
    proof.write_bytes(api.get(f"/log/entries/{position - 1}/proof").body)
    shown = proof.read_text().partition("\n\n")[2]
    assert size(shown) >= position and len(cosigners(shown, witnessed.witnesses)) == 3
    trust = [word for witness in witnessed.witnesses for word in ("--witness", witness.vkey)]
    done = witnessed.server.cli(
        "audit", "verify-proof", str(proof), "--key", vkeys(witnessed.server)[0], *trust, "--quorum", "3")
    assert "cosigned by 3 of the known witnesses" in done.stderr
    assert json.loads(done.stdout)["position"] == position - 1


def test_the_policy_for_verifiers_is_a_tlog_policy(witnessed):
    lines = witnessed.server.cli("log", "policy").stdout.splitlines()
    assert lines == [
        f"log {vkeys(witnessed.server)[0]}",
        *[f"witness w{number + 1} {each.vkey} {each.url}" for number, each in enumerate(witnessed.witnesses)],
        "group witnesses 2 w1 w2 w3", "quorum witnesses",
    ]  # fmt: skip


def test_no_newer_checkpoint_is_shown_without_the_quorum(witnessed):
    api = witnessed.server.api
    witnessed.shows_all()
    first, second, third = witnessed.witnesses
    third.answer = lambda body: (200, b"")
    # A cosignature of another text, under the right name and key.
    forged = second.key.sign(b"cosignature/v1\ntime 1\nanother text\n")
    line = f"\u2014 {second.name} {base64.b64encode(second.id + bytes(7) + bytes([1]) + forged).decode()}\n"
    second.answer = lambda body: (200, line.encode())
    api.must("PATCH", f"/v1/apps/{LOST}", {"display_name": "Not witnessed"})
    position = api.position()
    shown = witnessed.cosigned()
    try:
        assert shown < position
        eventually(lambda: first.size(ORIGIN) >= position)
        eventually(lambda: all("failure" in each for each in api.get("/v1/log/witnesses").json["witnesses"][1:]))
        failures = [each.get("failure", "") for each in api.get("/v1/log/witnesses").json["witnesses"]]
        assert "does not fit" in failures[1] and "without a cosignature" in failures[2]
        assert witnessed.cosigned() < position
        refused = api.get(f"/log/entries/{position - 1}/proof")
        expect_problem(refused, 503, "not_cosigned")
        assert api.get(f"/log/entries/{shown - 1}/proof").status == 200
        assert api.get(f"/log/entries/{position + 100}/proof").status == 404
        # Without a quorum, the node shows what it has verified itself.
        api.must("PUT", "/v1/log/quorum", {"quorum": 0})
        witnessed.shows_all()
    finally:
        second.answer = third.answer = None
        api.must("PUT", "/v1/log/quorum", {"quorum": 2})
    eventually(lambda: witnessed.cosigned() == api.position())


def test_the_words_of_a_witness_without_the_signature_of_the_log_halt_nobody(witnessed):
    api = witnessed.server.api
    liar = witnessed.witnesses[0]
    asked = []
    liar.answer = lambda body: (asked.append(body), (409, b"900719925474099\n") if len(asked) < 2 else (422, b"no"))[1]
    # It shows a checkpoint of a longer log, which it has cosigned and the log has not signed.
    held, root, note = liar.states[ORIGIN]
    text = f"{ORIGIN}\n{held + 1000}\n{base64.b64encode(sha256(b'another')).decode()}\n"
    liar.states[ORIGIN] = (held, root, text + "\n" + note.rpartition("\n\n")[2])
    try:
        for why in ("says that it has cosigned 900719925474099 entries", "answered 422: no"):
            api.must("PATCH", f"/v1/apps/{LOST}", {"display_name": why[:60]})
            eventually(lambda: why in api.get("/v1/log/witnesses").json["witnesses"][0].get("failure", ""))
            witnessed.shows_all()
        assert api.get("/readyz?for=writes").status == 200
    finally:
        liar.answer = None
        liar.states[ORIGIN] = (held, root, note)
    position = api.position()
    eventually(lambda: liar.size(ORIGIN) >= position)


def test_two_nodes_ask_the_same_witnesses(witnessed):
    node, api = witnessed.start("second", witnessed.server.connection_string, *CALLS)
    try:
        for number in range(4):
            api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": f"Two nodes {number}"})
            witnessed.shows_all()
        shown = api.get("/log/checkpoint").body.decode()
        assert len(cosigners(shown, witnessed.witnesses)) >= 2
        assert "witness_contradicted" not in codes(node)
    finally:
        node.stop()


def test_a_stored_checkpoint_that_is_not_cosigned_is_not_shown(witnessed):
    """By somebody with the database's login: the function stores what it is given."""
    api, sql = witnessed.server.api, witnessed.server.sql
    witnessed.shows_all()
    before = api.get("/log/checkpoint").body.decode()
    forged = f"{ORIGIN}\n{size(before)}\n{base64.b64encode(sha256(b'x')).decode()}\n\n" + before.rpartition("\n\n")[2]
    sql(f"SELECT pinledger.keep_cosigned_checkpoint('{ORIGIN}', {size(before)}, '\\x{forged.encode().hex()}')")
    shown = api.get("/log/checkpoint").body.decode()
    assert size(shown) >= size(before) and len(cosigners(shown, witnessed.witnesses)) >= 2
    ahead = api.position() + 1000
    sql(f"SELECT pinledger.keep_cosigned_checkpoint('{ORIGIN}', {ahead}, '\\x00')")
    assert size(before) <= int(sql("SELECT size FROM pinledger.cosigned_checkpoint")) < ahead
    eventually(lambda: sql("SELECT note FROM pinledger.cosigned_checkpoint").strip() != f"\\x{forged.encode().hex()}")


def test_a_witness_refuses_a_fork_and_the_node_that_has_it_halts(witnessed):
    """Yesterday's backup, on a node that remembers nothing and is told to trust the database: the witnesses remember."""
    assert all(witness.size(ORIGIN) > 0 for witness in witnessed.witnesses)
    before = [witness.size(ORIGIN) for witness in witnessed.witnesses]
    state = str(witnessed.server.home / "forked")
    node, api = witnessed.start("forked", witnessed.restore("forked"), "--trust-database", *CALLS, state=state)
    try:
        eventually(lambda: api.get("/readyz?for=writes").status == 503)
        is_halted(api, "a backup was restored")
        assert "witness_contradicted" in codes(node)
        assert api.get("/log/checkpoint").status == 503
        # The server that has all events goes on: what a witness holds may only have grown.
        assert all(witness.size(ORIGIN) >= held for witness, held in zip(witnessed.witnesses, before))
        witnessed.server.api.must("PATCH", f"/v1/apps/{LOST}", {"display_name": "Not forked"})
        witnessed.shows_all()
    finally:
        node.stop()


def test_a_fork_that_has_grown_past_the_witnesses_is_found_too(witnessed):
    witnesses = witnessed.witnesses
    for witness in witnesses:
        witness.answer, witness.is_shown = lambda body: (500, b"down"), False
    state = str(witnessed.server.home / "grown")
    node, api = witnessed.start("grown", witnessed.restore("grown"), "--trust-database", *CALLS, state=state)
    try:
        while api.position() <= max(witness.size(ORIGIN) for witness in witnesses):
            api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": f"Fork {api.position()}"})
        for witness in witnesses:
            witness.answer, witness.is_shown = None, True
        eventually(lambda: api.get("/readyz?for=writes").status == 503)
        is_halted(api, "other events were recorded in the place of lost ones")
    finally:
        node.stop()
        for witness in witnesses:
            witness.answer, witness.is_shown = None, True


def test_a_node_that_remembers_nothing_asks_the_witnesses(witnessed):
    url = f"{witnessed.witnesses[0].url}/{sha256(ORIGIN.encode()).hex()}/checkpoint"
    database = witnessed.server.connection_string
    for number, place in enumerate(("witnesses", url)):
        state = str(witnessed.server.home / f"asking-{number}")
        node, api = witnessed.start(f"asking-{number}", database, "--expect-checkpoint", place, *CALLS, state=state)
        try:
            assert api.get("/readyz?for=writes").status == 200
        finally:
            node.stop()
        node, api = witnessed.start(
            f"asking-lost-{number}", witnessed.restore(f"asked_{number}"), "--expect-checkpoint", place, *CALLS,
            state=state + "-lost")  # fmt: skip
        try:
            is_halted(api, "a backup was restored")
            assert "memory_contradicted" in codes(node)
        finally:
            node.stop()
    # Also where nobody tells it to, and no node runs that it could ask.
    database = witnessed.restore("asked")
    witnessed.postgres("psql", "-d", "asked", "-c", "DELETE FROM pinledger.node")
    node, api = witnessed.start("asking-by-itself", database, *CALLS, state=str(witnessed.server.home / "asking-by-itself"))
    try:
        is_halted(api, "a backup was restored")
        assert "memory_contradicted" in codes(node)
    finally:
        node.stop()


def test_a_node_does_not_start_on_the_word_of_too_few_witnesses(witnessed):
    database, state = witnessed.server.connection_string, str(witnessed.server.home / "unanswered")
    first, second, _ = witnessed.witnesses
    held = second.states[ORIGIN]
    text, _, signatures = held[2].rpartition("\n\n")
    first.is_shown = False
    second.states[ORIGIN] = (*held[:2], text.replace(f"\n{held[0]}\n", f"\n{held[0] + 5}\n") + "\n\n" + signatures)
    try:
        said = witnessed.refused(database, "--expect-checkpoint", "witnesses", *CALLS, state=state)
        assert "1 of 3 witnesses gave a checkpoint" in said and "answered 404" in said and "cannot be believed" in said
        url = f"{second.url}/{sha256(ORIGIN.encode()).hex()}/checkpoint"
        assert "cannot be believed" in witnessed.refused(database, "--expect-checkpoint", url, *CALLS, state=state)
        said = witnessed.refused(database, "--expect-checkpoint", second.url, *CALLS, state=state)
        assert "answered 404" in said
        assert "http is not allowed" in witnessed.refused(database, "--expect-checkpoint", url, state=state)
    finally:
        first.is_shown, second.states[ORIGIN] = True, held


def test_recover_raises_versions_by_what_the_witnesses_know(witnessed):
    known = [max(witness.size(ORIGIN) for witness in witnessed.witnesses)]
    shown = witnessed.server.cli(
        "recover", "--database", witnessed.restore("recovered"), "--kek-file", witnessed.key, "--expect-checkpoint",
        "witnesses", *CALLS)  # fmt: skip
    known.append(max(witness.size(ORIGIN) for witness in witnessed.witnesses))
    assert any(str(size) in shown.stdout for size in range(known[0], known[1] + 1)), shown.stdout


def test_a_fork_after_a_recovery_is_found_too(witnessed):
    """The history that the recovery ended was longer than the one that is lost now."""
    for number in range(10):
        witnessed.server.api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": f"Long {number}"})
    position = witnessed.server.api.position()
    eventually(lambda: all(witness.size(ORIGIN) >= position for witness in witnessed.witnesses))
    database = witnessed.restore("twice")
    witnessed.server.cli(
        "recover", "--database", database, "--kek-file", witnessed.key, "--expect-checkpoint", "witnesses", *CALLS,
        "--reason", "the first loss")  # fmt: skip
    node, api = witnessed.start(
        "twice", database, "--trust-database", *CALLS, state=str(witnessed.server.home / "twice"))
    try:
        key = api.get("/v1/log").json
        assert key["origin"] != ORIGIN
        for witness in witnessed.witnesses:
            witness.knows(key["keys"][-1]["vkey"])
        eventually(lambda: api.get("/log/checkpoint").status == 200)
        file = witnessed.server.home / "backup-of-twice"
        witnessed.postgres("pg_dump", "-Fc", "-f", str(file), "twice")
        api.must("PATCH", f"/v1/apps/{KEPT}", {"display_name": "Lost again"})
        position = api.position()
        eventually(lambda: all(witness.size(key["origin"]) >= position for witness in witnessed.witnesses))
        assert position < max(witness.size(ORIGIN) for witness in witnessed.witnesses)
    finally:
        node.stop()
    witnessed.postgres("createdb", "thrice")
    witnessed.postgres("pg_restore", "--exit-on-error", "-d", "thrice", str(file))
    again = database.replace("dbname=twice", "dbname=thrice")
    for options in (["--trust-database"], ["--expect-checkpoint", "witnesses"]):
        state = str(witnessed.server.home / f"thrice{options[0]}")
        node, api = witnessed.start(f"thrice{options[0]}", again, *options, *CALLS, state=state)
        try:
            eventually(lambda: api.get("/readyz?for=writes").status == 503)
            is_halted(api, "a backup was restored")
        finally:
            node.stop()


def test_doctor_says_whether_witnesses_cosign(witnessed):
    api = witnessed.server.api
    witnessed.shows_all()
    doctor = [BINARY, "doctor", "--database", witnessed.server.connection_string, "--kek-file", witnessed.key,
              "--listen", f"127.0.0.1:{witnessed.server.port}", "--output", "json"]  # fmt: skip

    def finding() -> dict:
        done = subprocess.run(doctor, capture_output=True, text=True, timeout=300)
        return {finding["subject"]: finding for finding in json.loads(done.stdout)}["witnesses"]

    eventually(lambda: finding()["verdict"] == "ok")
    second, third = witnessed.witnesses[1:]
    second.answer = third.answer = lambda body: (500, b"down")
    try:
        api.must("PATCH", f"/v1/apps/{LOST}", {"display_name": "Examined"})
        eventually(lambda: finding()["verdict"] == "fail")
        assert "1 of 3 cosign" in finding()["detail"] and second.name in finding()["detail"]
    finally:
        second.answer = third.answer = None
    witnessed.shows_all()


@pytest.mark.parametrize(
    ("change", "status", "problem"),
    [
        (lambda witness: {"vkey": witness.vkey[:-4] + "AAA=", "url": witness.url}, 422, "invalid_value"),
        (lambda witness: {"vkey": witness.vkey, "url": "https://10.0.0.1/"}, 422, "invalid_value"),
        (lambda witness: {"vkey": witness.vkey, "url": witness.url + "?a=b"}, 422, "invalid_value"),
        (lambda witness: {"vkey": witness.vkey, "url": "ftp://w.example.net"}, 422, "invalid_value"),
        (lambda witness: {"vkey": witness.vkey, "url": witness.url}, 409, "witness_exists"),
        (lambda witness: {"url": witness.url}, 422, "invalid_value"),
    ],
)  # fmt: skip
def test_a_witness_that_cannot_be_added_is_refused(witnessed, change, status, problem):
    refused = witnessed.server.api.post("/v1/log/witnesses", change(witnessed.witnesses[0]))
    expect_problem(refused, status, problem)


def test_a_key_of_the_log_is_no_witness(witnessed):
    body = {"vkey": vkeys(witnessed.server)[0], "url": witnessed.witnesses[0].url}
    refused = witnessed.server.api.post("/v1/log/witnesses", body)
    assert refused.status == 422 and "0x04" in str(refused)


def test_fewer_witnesses_than_the_quorum_are_refused(witnessed):
    api = witnessed.server.api
    refused = api.request("PUT", "/v1/log/quorum", {"quorum": 4})
    expect_problem(refused, 409, "quorum_unreachable")
    removed = witnessed.witnesses[2]
    witnessed.server.cli("log", "witness", "remove", removed.id.hex(), "--reason", "no longer run")
    assert [each["key_id"] for each in api.get("/v1/log/witnesses").json["witnesses"]] == [
        witness.id.hex() for witness in witnessed.witnesses[:2]
    ]
    refused = api.request("DELETE", f"/v1/log/witnesses/{witnessed.witnesses[0].id.hex()}")
    expect_problem(refused, 409, "quorum_unreachable")
    refused = api.request("DELETE", f"/v1/log/witnesses/{removed.id.hex()}")
    expect_problem(refused, 404, "witness_unknown")
    listed = witnessed.server.cli("log", "witness", "list").stdout
    assert "Quorum: 2" in listed and witnessed.witnesses[0].name in listed
