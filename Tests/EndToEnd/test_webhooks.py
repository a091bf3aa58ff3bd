"""Webhooks: every event reaches its receiver, signed, in order, and whatever dies in between none is lost."""

import collections
import re
import subprocess
import threading
import time

import pytest
from nodes import start_node
from pinledger import Server, canonical, eventually, host_body
from problems import expect_problem
from receiver import Receiver

#: The seconds that an attempt may take.
TIMEOUT = 6
SETTINGS = {
    "PINLEDGER_ALLOW_PRIVATE_RANGE": "127.0.0.0/8",
    "PINLEDGER_ALLOW_HTTP_WEBHOOKS": "1",
    # The lease of an attempt is three times as long: as long as no node takes over from one that was killed.
    "PINLEDGER_WEBHOOK_TIMEOUT": f"{TIMEOUT}",
}


@pytest.fixture(scope="module")
def hooked():
    """A server that may call receivers on this machine."""
    server = Server()
    server.environment |= SETTINGS
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture
def own():
    """The same, for one test alone."""
    server = Server()
    server.environment |= SETTINGS
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture
def add(hooked):
    """Adds webhooks that are removed after the test."""
    made = []

    def add(url: str, **body) -> tuple[str, str]:
        answer = hooked.api.must("POST", "/v1/webhooks", {"url": url} | body).json
        made.append(answer["webhook_id"])
        return answer["webhook_id"], answer["secret"]

    yield add
    for hook in made:
        hooked.api.request("DELETE", f"/v1/webhooks/{hook}")


def deliveries(api, hook: str, query: str = "") -> dict[int, dict]:
    found = api.must("GET", f"/v1/webhooks/{hook}/deliveries?limit=1000{query}").json["deliveries"]
    return {each["position"]: each for each in found}


def first_of_each(messages) -> list:
    """The messages without repetitions, which must be the same in every byte."""
    first = {}
    for message in messages:
        assert message.body == first.setdefault(message.id, message).body
    return list(first.values())


def test_every_event_arrives_signed_and_as_it_is_recorded(hooked, add):
    with Receiver() as receiver:
        hook, secret = add(receiver.url, description="everything")
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
        hooked.api.make_app("com.example.arrives", "api.example.com")
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "pins.example.com"})
        end = hooked.api.position()
        start = hooked.api.history("/v1/history")[-1]["position"]
        history = {event["position"]: event for event in hooked.api.history()}
        created = next(p for p, e in history.items() if e["type"] == "WebhookCreated" and e["data"]["webhook_id"] == hook)
        receiver.wait(lambda messages: len(messages) >= end - created - 1)
        assert start >= end - 1
        # The server may have recorded a warning by itself since.
        messages = sorted((each for each in receiver.messages if each.position < end), key=lambda each: each.position)
        assert [each.position for each in messages] == list(range(created + 1, end))
        for message in messages:
            assert message.verify(secret) and len(message.signatures) == 1
            assert message.entry == history[message.position]
            assert message.body == canonical(message.json), "canonical, so that it is the same each time"
            assert message.json["type"] == message.entry["type"]
            assert message.json["timestamp"] == message.entry["time"]
            assert message.json["webhook_id"] == hook
            assert message.id == message.json["id"] == f"whd_{hook.removeprefix('whk_')}_{message.position}"
            assert message.path == "/in" and message.headers["Content-Type"] == "application/json"
            assert message.headers["User-Agent"].startswith("pinledger/")
        assert not messages[0].verify("whsec_" + "A" * 43 + "=")
        assert secret not in str(history), "secrets are not in the ledger"
        eventually(lambda: all(each["state"] == "delivered" for each in deliveries(hooked.api, hook).values()))
        shown = hooked.api.get(f"/v1/webhooks/{hook}").json
        assert shown["progress"]["cursor"] >= end
        assert (shown["progress"]["retrying"], shown["progress"]["dead"]) == (0, 0)


def test_filters_choose_by_type_and_by_app(hooked, add):
    with Receiver() as receiver:
        hook, _ = add(receiver.url, types=["HostAdded"], apps=["com.example.chosen"])
        for app in ["com.example.chosen", "com.example.passed"]:
            hooked.api.make_app(app, "api.example.com")
        # Events are looked at in their order: with this one, all others have been passed or sent.
        hooked.api.must("POST", "/v1/apps/com.example.chosen/hosts", host_body("last.example.com"))
        receiver.wait(lambda messages: "last.example.com" in str(messages))
        eventually(lambda: all(each["state"] == "delivered" for each in deliveries(hooked.api, hook).values()))
        assert [(each.json["type"], each.entry["stream"]) for each in receiver.messages] == [
            ("HostAdded", "app/com.example.chosen")
        ] * 2
        assert sorted(deliveries(hooked.api, hook)) == [each.position for each in receiver.messages]


def test_an_app_s_events_stay_in_order_while_attempts_fail(hooked, add):
    failing = {"com.example.order0": 1, "com.example.order1": 3}

    def behave(message, count):
        app = message.entry["stream"].removeprefix("app/")
        return 503 if count == 1 and message.entry["stream_version"] == failing.get(app) else 200

    apps = [f"com.example.order{number}" for number in range(3)]
    with Receiver(behave) as receiver:
        hook, secret = add(receiver.url, apps=apps)
        for app in apps:
            hooked.api.make_app(app, "api.example.com")
        # The app that nothing fails of does not wait for the others.
        receiver.wait(lambda messages: len(receiver.of("app/com.example.order2")) == 6)
        receiver.wait(lambda messages: len(messages) == 20)
        for app in apps:
            versions = [each.entry["stream_version"] for each in receiver.of(f"app/{app}")]
            assert versions == sorted(versions)
            assert collections.Counter(versions) == {
                version: 2 if failing.get(app) == version else 1 for version in range(1, 7)
            }
        repeated = [each for each in receiver.of("app/com.example.order0") if each.entry["stream_version"] == 1]
        assert repeated[0].id == repeated[1].id and repeated[0].body == repeated[1].body
        assert all(each.verify(secret) for each in repeated), "signed anew, with the time of the attempt"
        assert repeated[1].received_at - repeated[0].received_at >= 1
        first = repeated[0].position
        eventually(lambda: deliveries(hooked.api, hook)[first]["state"] == "delivered")
        shown = deliveries(hooked.api, hook)[first]
        assert shown["attempts"] == 2 and shown["last_status"] == 200 and "last_error" not in shown


def test_redirects_are_not_followed(hooked, add):
    with Receiver() as other, Receiver(lambda message, count: (307, {"Location": other.url})) as receiver:
        hook, _ = add(receiver.url, types=["IssuerSet"])
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "redirected.example.com"})
        failed = eventually(lambda: deliveries(hooked.api, hook, "&state=failed"))
        (delivery,) = failed.values()
        assert delivery["last_status"] == 307 and "redirects are not followed" in delivery["last_error"]
        assert delivery["next_attempt_at"] > delivery["last_attempt_at"]
        assert other.connections == 0


def test_a_receiver_that_hangs_costs_its_own_time_only(hooked, add):
    release = threading.Event()

    def hang(message, count):
        release.wait(60)

    with Receiver(hang) as hanging, Receiver() as receiver:
        slow, _ = add(hanging.url, types=["IssuerSet"])
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "hanging.example.com"})
        hanging.wait(lambda messages: messages)
        # The attempt is under way while another receiver is added, and gets what happens then.
        add(receiver.url, types=["IssuerSet"])
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "others.example.com"})
        receiver.wait(lambda messages: messages)
        failed = eventually(lambda: deliveries(hooked.api, slow, "&state=failed"))
        delivery = failed[min(failed)]
        assert delivery["last_error"] == "no answer in time" and "last_status" not in delivery
        release.set()


@pytest.mark.daily
def test_an_attempt_lasts_as_long_as_its_time_limit_and_others_do_not_wait_for_it(hooked, add):
    release = threading.Event()
    with Receiver(lambda message, count: release.wait(60)) as hanging, Receiver() as receiver:
        hook, _ = add(hanging.url, types=["IssuerSet"])
        add(receiver.url, types=["IssuerSet"])
        started = time.monotonic()
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "limited.example.com"})
        eventually(lambda: deliveries(hooked.api, hook, "&state=failed"))
        assert TIMEOUT - 0.1 < time.monotonic() - started < TIMEOUT + 4
        assert receiver.messages[0].received_at < started + TIMEOUT
        release.set()


def test_a_webhook_whose_receiver_is_gone_is_paused_until_it_is_resumed(hooked, add):
    is_gone = threading.Event()
    is_gone.set()
    with Receiver(lambda message, count: 410 if is_gone.is_set() else 200) as receiver, Receiver() as other:
        hook, _ = add(receiver.url, types=["IssuerSet", "WebhookPaused"])
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "gone.example.com"})
        eventually(lambda: hooked.api.get(f"/v1/webhooks/{hook}").json["paused"])
        assert hooked.api.get(f"/v1/webhooks/{hook}").json["pause_cause"] == "gone"
        (paused,) = [e for e in hooked.api.history() if e["type"] == "WebhookPaused"]
        assert paused["actor"]["kind"] == "system" and "410" in paused["reason"]
        add(other.url, types=["IssuerSet"])
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "waits.example.com"})
        # An event that another webhook gets would reach this one in the same round.
        other.wait(lambda messages: messages)
        assert len(receiver.messages) == 1
        is_gone.clear()
        hooked.cli("webhook", "resume", hook, "--reason", "it is back")
        receiver.wait(lambda messages: len(messages) == 4)
        kinds = [each.json["type"] for each in first_of_each(receiver.messages)]
        assert sorted(kinds) == ["IssuerSet", "IssuerSet", "WebhookPaused"]


def test_a_webhook_can_be_tested_even_while_it_is_paused(hooked, add):
    status = 200
    with Receiver(lambda message, count: status) as receiver:
        hook, secret = add(receiver.url, types=["IssuerSet"])
        hooked.cli("webhook", "pause", hook)
        answer = hooked.api.post(f"/v1/webhooks/{hook}/test")
        assert answer.status == 200 and answer.json["delivered"] is True and answer.json["status"] == 200
        (message,) = receiver.messages
        assert message.verify(secret) and message.json["type"] == "WebhookTest" and "entry" not in message.json
        assert message.id == answer.json["id"] and message.body == canonical(message.json)
        assert "Delivered" in hooked.cli("webhook", "test", hook).stdout
        status = 500
        answer = hooked.api.post(f"/v1/webhooks/{hook}/test").json
        assert answer["delivered"] is False and answer["error"] == "answered 500"
        assert "answered 500" in hooked.cli("webhook", "test", hook, status=1).stderr


def test_replaced_secrets_sign_too_for_a_day(hooked, add):
    with Receiver() as receiver:
        hook, old = add(receiver.url, types=["IssuerSet"])
        new = hooked.cli("webhook", "rotate-secret", hook, "--reason", "yearly").stdout.strip()
        assert new != old and new.startswith("whsec_")
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "rotated.example.com"})
        receiver.wait(lambda messages: messages)
        (message,) = receiver.messages
        assert len(message.signatures) == 2 and message.verify(new) and message.verify(old)
        third = hooked.api.must("POST", f"/v1/webhooks/{hook}/rotate-secret", {}).json["secret"]
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "again.example.com"})
        receiver.wait(lambda messages: len(messages) == 2)
        assert len(receiver.messages[1].signatures) == 3
        assert all(receiver.messages[1].verify(secret) for secret in [third, new, old]), "the day counts for each"
        for _ in range(3):
            last = hooked.api.must("POST", f"/v1/webhooks/{hook}/rotate-secret", {}).json["secret"]
        hooked.api.must("PATCH", "/v1/fleet", {"issuer": "many.example.com"})
        receiver.wait(lambda messages: len(messages) == 3)
        assert len(receiver.messages[2].signatures) == 5, "four replaced ones at the most"
        assert receiver.messages[2].verify(last) and receiver.messages[2].verify(new)
        assert not receiver.messages[2].verify(old)


def test_a_secret_is_shown_once(hooked, add):
    key = {"Idempotency-Key": "webhook once"}
    first = hooked.api.must("POST", "/v1/webhooks", {"url": "https://hooks.example.com/"}, key)
    again = hooked.api.must("POST", "/v1/webhooks", {"url": "https://hooks.example.com/"}, key)
    assert again["Idempotency-Replayed"] == "true" and again.json["events"] == first.json["events"]
    assert "secret" in first.json and "secret" not in again.json
    hook = first.json["webhook_id"]
    shown = hooked.api.get(f"/v1/webhooks/{hook}").body + hooked.api.get("/v1/webhooks").body
    assert b"whsec_" not in shown and b"whs_" not in shown
    tag = hooked.api.get(f"/v1/webhooks/{hook}")["ETag"]
    stale = hooked.api.request("DELETE", f"/v1/webhooks/{hook}", headers={"If-Match": '"0"'})
    assert stale.status == 412
    mark = hooked.api.mark()
    rehearsed = hooked.api.request("DELETE", f"/v1/webhooks/{hook}?dry_run=true").json
    assert rehearsed["difference"][0]["pointer"] == f"/{hook}" and hooked.api.since(mark) == []
    hooked.api.must("DELETE", f"/v1/webhooks/{hook}", headers={"If-Match": tag})
    gone = hooked.api.get(f"/v1/webhooks/{hook}")
    expect_problem(gone, 404, "webhook_unknown")


def test_deliveries_are_listed_page_by_page_and_replayed(hooked, add):
    with Receiver() as receiver:
        hook, _ = add(receiver.url, types=["IssuerSet"])
        for number in range(5):
            hooked.api.must("PATCH", "/v1/fleet", {"issuer": f"page{number}.example.com"})
        eventually(lambda: len(deliveries(hooked.api, hook, "&state=delivered")) == 5)
        positions, target = [], f"/v1/webhooks/{hook}/deliveries?state=delivered&limit=2"
        while target:
            page = hooked.api.must("GET", target)
            positions += [each["position"] for each in page.json["deliveries"]]
            link = page["Link"]
            target = link and re.fullmatch(r'<(.+)>; rel="next"', link)[1]
        assert positions == sorted(deliveries(hooked.api, hook), reverse=True)

        answer = hooked.api.post(f"/v1/webhooks/{hook}/deliveries/{positions[2]}/replay")
        assert answer.status == 202 and answer.json == {"replayed": 1}
        receiver.wait(lambda messages: len(messages) == 6)
        assert receiver.messages[5].position == positions[2]
        eventually(lambda: len(deliveries(hooked.api, hook, "&state=delivered")) == 5)
        assert "again: 5." in hooked.cli(
            "webhook", "replay", hook, "--from", str(positions[-1]), "--until", str(positions[0] + 1)
        ).stdout
        receiver.wait(lambda messages: len(messages) == 11)
        assert [each.position for each in receiver.messages[6:]] == sorted(positions)
        assert len(first_of_each(receiver.messages)) == 5
        unknown = hooked.api.post(f"/v1/webhooks/{hook}/deliveries/0/replay")
        expect_problem(unknown, 404, "delivery_unknown")
        assert "delivered" in hooked.cli("webhook", "deliveries", hook).stdout
        assert hooked.cli("webhook", "show", hook).stdout.count("IssuerSet") == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/", "https://127.0.0.1/", "https://localhost/", "https://a.localhost:8443/",
        "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/",
        "https://[fe80::1]/", "https://2130706433/", "https://0x7f.1/", "https://user@hooks.example.com/",
        "https://hooks.example.com/#a", "ftp://hooks.example.com/", "https://hooks.example.com/" + "a" * 2048, "", 7,
    ],
)  # fmt: skip
def test_a_url_that_leads_inside_is_refused(api, unchanged, url):
    answer = api.post("/v1/webhooks", {"url": url})
    assert answer.status == 422 and answer.json["errors"][0]["pointer"] == "/url"


def test_a_name_that_leads_inside_is_not_called(hooked, add):
    """Here 127.0.0.0/8 is allowed and ::1 is not: the name passes, and its address is found out at every attempt."""
    hook, _ = add("http://ip6-localhost:9/", types=["IssuerSet"])
    hooked.api.must("PATCH", "/v1/fleet", {"issuer": "inside.example.com"})
    (delivery,) = eventually(lambda: deliveries(hooked.api, hook, "&state=failed")).values()
    assert re.match("not called: ::1 |the name cannot be resolved", delivery["last_error"]), delivery


def test_certificates_are_checked_for_the_name_although_the_connection_is_made_to_an_address(tmp_path):
    def made(name: str, subject: str) -> tuple[str, str]:
        paths = (str(tmp_path / f"{name}.pem"), str(tmp_path / f"{name}.key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
            + ["-subj", f"/CN={subject}", "-addext", f"subjectAltName={subject_name(subject)}", "-out", paths[0]]
            + ["-keyout", paths[1]],
            check=True, capture_output=True,
        )  # fmt: skip
        return paths

    def subject_name(subject: str) -> str:
        return f"IP:{subject}" if subject[0].isdigit() else f"DNS:{subject}"

    certificates = {name: made(name, name) for name in ["localhost", "127.0.0.1", "other.example"]}
    trusted = tmp_path / "trusted.pem"
    trusted.write_text("".join(open(paths[0]).read() for paths in certificates.values()))
    server = Server()
    server.environment |= {
        "PINLEDGER_ALLOW_PRIVATE_RANGE": "127.0.0.0/8, ::1", "PINLEDGER_WEBHOOK_CA_FILE": str(trusted),
    }  # fmt: skip
    try:
        server.start()
        for name, certificate, is_right in [
            ("localhost", "localhost", True), ("127.0.0.1", "127.0.0.1", True), ("localhost", "other.example", False),
            ("localhost", "127.0.0.1", False),
        ]:  # fmt: skip
            with Receiver(certificate=certificates[certificate]) as receiver:
                url = f"https://{name}:{receiver.port}/"
                hook = server.api.must("POST", "/v1/webhooks", {"url": url}).json["webhook_id"]
                result = server.api.must("POST", f"/v1/webhooks/{hook}/test", {}).json
                assert result["delivered"] is is_right, (name, certificate, result)
                assert len(receiver.messages) == (1 if is_right else 0)
    finally:
        server.destroy()


def test_two_nodes_deliver_everything_once(hooked, add):
    api = hooked.api
    node, second = start_node(
        hooked, "webhooks", "--kek-file", str(hooked.data / "key-encryption-key"), "--allow-private-range",
        "127.0.0.0/8", "--allow-http-webhooks",
    )  # fmt: skip
    try:
        with Receiver() as receiver:
            apps = [f"com.example.twice{number}" for number in range(5)]
            hook, secret = add(receiver.url, apps=apps)
            for app in apps:
                api.make_app(app)
            for number in range(20):
                for place, app in enumerate(apps):
                    (api, second)[place % 2].must("PATCH", f"/v1/apps/{app}", {"display_name": f"n{number}"})
            receiver.wait(lambda messages: len(messages) >= 105)
            eventually(lambda: len(deliveries(api, hook, "&state=delivered")) == 105)
            assert len(receiver.messages) == 105 and all(each.verify(secret) for each in receiver.messages)
            for app in apps:
                versions = [each.entry["stream_version"] for each in receiver.of(f"app/{app}")]
                assert versions == list(range(1, 22))
    finally:
        node.stop()


def test_a_message_that_arrived_when_the_server_was_killed_comes_again_with_the_same_id(own):
    """The cut is between the receiver's taking the message and the server's hearing of it."""
    first, killed = threading.Lock(), threading.Event()

    def behave(message, count):
        if first.acquire(blocking=False):
            own.kill()
            killed.set()
        return 200

    with Receiver(behave) as receiver:
        hook = own.api.must("POST", "/v1/webhooks", {"url": receiver.url, "types": ["IssuerSet"]}).json["webhook_id"]
        for number in range(3):
            try:
                own.api.request("PATCH", "/v1/fleet", {"issuer": f"killed{number}.example.com"})
            except OSError:
                break
        assert killed.wait(120)
        own.start()
        recorded = [each["position"] for each in own.api.history() if each["type"] == "IssuerSet"]
        eventually(lambda: len(deliveries(own.api, hook, "&state=delivered")) == len(recorded))
        positions = [each.position for each in receiver.messages]
        assert positions == [recorded[0], *recorded], "the first one twice, the others once, in order"
        assert len(first_of_each(receiver.messages)) == len(recorded)
        # One that never reached the receiver counts too.
        assert deliveries(own.api, hook)[recorded[0]]["attempts"] >= 2


def test_no_delivery_is_lost_whenever_the_server_is_killed(own):
    """Killed again and again, at moments that come as they come: before a message is sent, while it is on its way, after it
    arrived, while the receiver thinks."""
    moments = collections.Counter()

    def behave(message, count):
        time.sleep(0.01)
        return 503 if message.position % 17 == 0 and count == 1 else 200

    apps = [f"com.example.cut{number}" for number in range(4)]
    with Receiver(behave) as receiver:
        answer = own.api.must("POST", "/v1/webhooks", {"url": receiver.url, "apps": apps}).json
        hook, secret = answer["webhook_id"], answer["secret"]
        for app in apps:
            own.api.make_app(app)
        for round in range(5):
            for number in range(8):
                for app in apps:
                    own.api.must("PATCH", f"/v1/apps/{app}", {"display_name": f"r{round} n{number}"})
                if number == round + 1:
                    break
            time.sleep(0.013 * round)
            own.kill()
            moments[len(receiver.messages)] += 1
            own.start()
        wanted = {
            each["position"] for each in own.api.history() if each["stream"].removeprefix("app/") in apps
        }
        eventually(lambda: set(deliveries(own.api, hook, "&state=delivered")) == wanted)
        assert {each.position for each in receiver.messages} == wanted
        assert all(each.verify(secret) for each in receiver.messages)
        first = first_of_each(receiver.messages)
        for app in apps:
            versions = [each.entry["stream_version"] for each in first if each.entry["stream"] == f"app/{app}"]
            assert versions == list(range(1, len(versions) + 1)), "the first time each came they came in order"
        print(f"\n{len(wanted)} events, {len(receiver.messages)} messages; killed after {sorted(moments)} messages")
