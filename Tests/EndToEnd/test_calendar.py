"""What expires and what needs attention, of real certificates and a real TLS server, as calendar programs and operators
see it."""

import base64
import hashlib
import subprocess
from datetime import datetime, timedelta, timezone

import icalendar
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pinledger import Server, eventually, free_port, from_now, pin_of

HOSTILE = "a,b;c\\d\r\nBEGIN:VALARM \x1b[31mred \u202eevil ключ 鍵"


def make_certificate(directory, name: str, days: int, subject: str = "/CN=api.example.com") -> tuple[str, x509.Certificate]:
    """A certificate for api.example.com made by openssl: its text and what it says."""
    path = directory / f"{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-utf8", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        + ["-keyout", str(directory / f"{name}.key"), "-out", str(path), "-days", str(days), "-subj", subject]
        + ["-addext", "subjectAltName=DNS:api.example.com"],
        check=True, capture_output=True,
    )  # fmt: skip
    return path.read_text(), x509.load_pem_x509_certificate(path.read_bytes())


def pin_of_key(certificate: x509.Certificate) -> str:
    spki = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "sha256/" + base64.b64encode(hashlib.sha256(spki).digest()).decode()


def add_host(api, app: str, primary: dict, backup: dict) -> None:
    api.must("POST", "/v1/apps", {"app": app})
    pins = [primary | {"role": "primary"}, backup | {"role": "backup"}]
    baseline = {"source": "document", "mode": "enforce", "pins": pins}
    body = {"host": "api.example.com", "baseline": baseline, "reason": "a test"}
    api.must("POST", f"/v1/apps/{app}/hosts", body | {"force": True})


def feed(api, app: str) -> icalendar.Calendar:
    answer = api.must("GET", f"/v1/apps/{app}/calendar.ics")
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    assert answer.body.endswith(b"END:VCALENDAR\r\n")
    lines = answer.body.split(b"\r\n")
    assert all(len(line) <= 75 and b"\n" not in line and b"\r" not in line for line in lines)
    for line in lines:
        line.decode()  # folded between characters
    return icalendar.Calendar.from_ical(answer.body)


def password(token: str) -> dict:
    return {"Authorization": "Basic " + base64.b64encode(f"calendar:{token}".encode()).decode()}


def test_a_certificates_end_is_in_the_calendar_with_its_alarms(api, tmp_path):
    (text, certificate), (spare, _) = make_certificate(tmp_path, "primary", 90), make_certificate(tmp_path, "backup", 300)
    add_host(api, "com.example.calendar", {"material": text}, {"material": spare})
    calendar = feed(api, "com.example.calendar")
    assert calendar["version"] == "2.0"
    assert "method" not in calendar
    assert calendar.errors == []
    first, second = calendar.walk("VEVENT")
    assert first.decoded("dtstart") == certificate.not_valid_after_utc
    assert first.errors == []
    assert abs(first.decoded("dtstamp") - datetime.now(timezone.utc)) < timedelta(minutes=1)
    assert "api.example.com" in str(first["summary"])
    assert pin_of_key(certificate) in str(first["description"])
    assert [alarm.decoded("trigger") for alarm in first.walk("VALARM")] == [-timedelta(days=days) for days in (30, 14, 7, 1)]
    assert {alarm["action"] for alarm in calendar.walk("VALARM")} == {"DISPLAY"}
    assert first["uid"] != second["uid"]

    shown = api.must("GET", "/v1/apps/com.example.calendar/calendar").json
    assert [entry["uid"] for entry in shown["entries"]] == [first["uid"], second["uid"]]
    assert shown["entries"][0]["certificate"]["serial"] == f"{certificate.serial_number:x}"
    assert shown["warn_days"] == [30, 14, 7, 1] and not shown["truncated"]


def test_a_short_lived_certificate_is_announced_at_half_of_its_life(api, tmp_path):
    (text, certificate), (spare, _) = make_certificate(tmp_path, "primary", 40), make_certificate(tmp_path, "backup", 6)
    add_host(api, "com.example.short", {"material": text}, {"material": spare})
    backup, primary = feed(api, "com.example.short").walk("VEVENT")
    assert [alarm.decoded("trigger").days for alarm in primary.walk("VALARM")] == [-20, -14, -7, -1]
    assert [alarm.decoded("trigger").days for alarm in backup.walk("VALARM")] == [-3, -1]


def test_foreign_text_in_the_calendar_stays_text(api, tmp_path):
    subject = "/CN=" + HOSTILE.replace("\\", "\\\\").replace("/", "\\/")
    text, _ = make_certificate(tmp_path, "primary", 90, subject)
    spare, _ = make_certificate(tmp_path, "backup", 300)
    add_host(api, "com.example.hostile", {"material": text}, {"material": spare})
    api.must("PATCH", "/v1/apps/com.example.hostile", {"display_name": "Shop, the; \\n one"})
    calendar = feed(api, "com.example.hostile")
    # The package leaves what RFC 7986 added as it stands in the text.
    assert calendar["name"] == r"Pins of Shop\, the\; \\n one"
    events = calendar.walk("VEVENT")
    assert len(events) == 2 and len(calendar.walk("VALARM")) == 8
    summary = next(str(event["summary"]) for event in events if "red" in str(event["summary"]))
    assert "ключ 鍵" in summary
    assert not any(character in summary for character in "\x1b\r\n\u202e")


def test_an_app_without_dates_has_a_calendar_all_the_same(api):
    api.must("POST", "/v1/apps", {"app": "com.example.empty"})
    calendar = feed(api, "com.example.empty")
    assert calendar.walk("VEVENT") == []
    assert calendar.subcomponents


def test_kill_switches_and_the_end_of_pins_are_dates_too(api):
    add_host(api, "com.example.ends", {"pin": pin_of("a")}, {"pin": pin_of("b")})
    end, valid = from_now(hours=5), from_now(days=25)
    api.must("PATCH", "/v1/apps/com.example.ends", {"pins_valid_until": valid})
    api.must("PUT", "/v1/apps/com.example.ends/kill-switch", {"expires_at": end, "reason": "a test"})
    entries = api.must("GET", "/v1/apps/com.example.ends/calendar").json["entries"]
    assert [(entry["kind"], entry["date"]) for entry in entries] == [("kill_switch_ends", end), ("pins_valid_until", valid)]
    items = api.must("GET", "/v1/attention?app=com.example.ends&severity=urgent").json["items"]
    assert [(item["kind"], item["code"]) for item in items] == [("kill_switch", "G29")]
    api.must("DELETE", "/v1/apps/com.example.ends/kill-switch?reason=over")


def test_the_feed_takes_the_token_as_a_password_and_nothing_else_does(api):
    api.must("POST", "/v1/apps", {"app": "com.example.password"})
    target = "/v1/apps/com.example.password/calendar.ics"
    assert api.request("GET", target, headers=password(api.token), token=None).status == 200
    wrong = api.token[:-1] + ("A" if api.token[-1] != "A" else "B")
    broken = [None, password(wrong), password(""), {"Authorization": "Basic !!!"}, {"Authorization": "Basic"}, {"Authorization": "Basic Ym9i"}]
    for headers in broken:
        refused = api.request("GET", target, headers=headers, token=None)
        assert refused.status == 401, str(headers)
        assert refused["WWW-Authenticate"].startswith('Basic realm="pinledger", charset="UTF-8", Bearer realm="pinledger"')
    elsewhere = api.request("GET", "/v1/apps", headers=password(api.token), token=None)
    assert elsewhere.status == 401
    assert elsewhere["WWW-Authenticate"] == 'Bearer realm="pinledger"'


def test_the_calendar_of_an_unknown_app_is_not_found(api):
    for target in ["/v1/apps/com.example.none/calendar", "/v1/apps/com.example.none/calendar.ics", "/v1/attention?app=com.example.none"]:
        assert api.get(target).status == 404
    assert api.get("/v1/attention?severity=grave").status == 400


@pytest.fixture(scope="module")
def seeing():
    """A server that probes api.example.com on this machine."""
    options = ["--allow-private-range", "127.0.0.0/8", "--resolve", "api.example.com=127.0.0.1"]
    server = Server(more=options + ["--vantage", "here", "--probe-interval", "1", "--warn-days", "300,20"])
    try:
        yield server.start()
    finally:
        server.destroy()


class Presenting:
    """`openssl s_server` with a certificate."""

    def __init__(self, directory, name: str, port: int):
        files = ["-cert", str(directory / f"{name}.pem"), "-key", str(directory / f"{name}.key")]
        self.command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-quiet", *files]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def test_a_served_key_that_is_not_pinned_is_urgent_until_it_is_pinned(seeing, tmp_path):
    api, app, port = seeing.api, "com.example.seen", free_port()
    (text, pinned), (spare, _) = make_certificate(tmp_path, "primary", 200), make_certificate(tmp_path, "backup", 400)
    _, other = make_certificate(tmp_path, "other", 15)
    add_host(api, app, {"material": text}, {"material": spare})
    api.must("PATCH", f"/v1/apps/{app}", {"pins_valid_until": from_now(days=30)})

    def items(kind: str) -> list[dict]:
        return [item for item in api.must("GET", f"/v1/attention?app={app}").json["items"] if item["kind"] == kind]

    with Presenting(tmp_path, "primary", port):
        api.must("PATCH", f"/v1/apps/{app}/hosts/api.example.com", {"endpoints": [f"api.example.com:{port}"]})

        # The node announces 300 days before: the served certificate has 200 left.
        [expiry] = eventually(lambda: [item for item in items("certificate_expires") if "endpoint" in item])
        assert expiry["severity"] == "soon" and expiry["code"] == "G23"
        assert expiry["endpoint"] == f"api.example.com:{port}"
        assert expiry["pin"] == pin_of_key(pinned)
        assert items("served_key_unpinned") == []
        seeing.cli("attention", app, "--exit-code")

    with Presenting(tmp_path, "other", port):
        [item] = eventually(lambda: items("served_key_unpinned"))
        assert (item["severity"], item["code"], item["host"]) == ("urgent", "G09", "api.example.com")
        assert item["pin"] == pin_of_key(other)
        entries = api.must("GET", f"/v1/apps/{app}/calendar").json["entries"]
        [entry] = [entry for entry in entries if entry["kind"] == "served_certificate_expires"]
        assert entry["pin"] == pin_of_key(other)

        # The same on the command line, which a monitor can ask.
        shown = seeing.cli("attention", app, "--exit-code", status=1).stdout
        assert "urgent" in shown and "G09" in shown and pin_of_key(other) in shown
        assert seeing.cli_json("attention", app, "--severity", "urgent")["counts"]["urgent"] == 1
        assert "served_certificate_expires" in seeing.cli("calendar", app).stdout
        printed = seeing.cli("calendar", app, "--ics").stdout
        assert icalendar.Calendar.from_ical(printed).walk("VEVENT")

    with Presenting(tmp_path, "primary", port):
        eventually(lambda: not items("served_key_unpinned"))

    # What came about by itself is recorded, by the system, beside the app's own history, and published nothing.
    def warnings() -> list[dict]:
        return api.must("GET", f"/v1/history?stream=watch/{app}&order=oldest").json["events"]

    eventually(lambda: any((event["type"], event["data"]["kind"]) == ("WarningCleared", "served_key_unpinned") for event in warnings()))
    told = [(event["type"], event["data"]["kind"], event["data"].get("severity")) for event in warnings()]
    assert ("WarningRaised", "certificate_expires", "soon") in told
    assert told.index(("WarningRaised", "served_key_unpinned", "urgent")) < told.index(("WarningCleared", "served_key_unpinned", None))
    assert told.count(("WarningRaised", "served_key_unpinned", "urgent")) == 1
    assert all(event["actor"]["kind"] == "system" for event in warnings())
    expiry = next(event["data"] for event in warnings() if event["data"].get("pin") == pin_of_key(pinned) and "endpoint" in event["data"])
    assert (expiry["lead_seconds"], expiry["code"], expiry["host"]) == (300 * 86400, "G23", "api.example.com")
    assert f"{app} has a new warning" in seeing.cli("history", "--stream", f"watch/{app}").stdout
    version = api.must("GET", f"/v1/apps/{app}").json["version"]
    assert all(event["stream"] == f"app/{app}" for event in api.must("GET", f"/v1/apps/{app}/history").json["events"])
    assert api.must("GET", f"/v1/apps/{app}/history").json["events"][0]["stream_version"] == version


def test_malformed_horizons_are_refused(tmp_path):
    server = Server(home=tmp_path)
    done = server.cli("dev", "--data", str(tmp_path / "x"), "--warn-days", "30,soon", status=2)
    assert "--warn-days must be days" in done.stderr
