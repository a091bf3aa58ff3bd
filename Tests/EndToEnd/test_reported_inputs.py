"""Files that people reported, through the command line; `PinledgerServerTests/ReportedInputTests` sends them over HTTP."""

import base64
import json
import shutil
from pathlib import Path

import pytest
from names import unique
from problems import expect_problem

FILES = Path(__file__).parent.parent / "ReportedInputs"
HOST = "api.example.com"


def path(name: str) -> str:
    return str(FILES / name)


def digest(name: str) -> str:
    return (FILES / name).read_text().strip()


@pytest.fixture
def app(server) -> str:
    name = unique("com.example.reported.")
    server.cli("app", "create", name)
    return name


def import_dry(server, format: str, name: str, *more: str, status: int = 0):
    return server.cli(
        "import", format, path(name), "--app", unique("com.example.new."), "--dry-run", *more, status=status
    )


def add_host(server, app: str, primary: str, backup: str, *more: str, host: str = HOST, status: int = 0):
    return server.cli("host", "add", app, host, "--primary", primary, "--backup", backup, *more, status=status)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("o01-pinset-under-domain.xml", "inside of a domain"),
        ("o02-pinset-in-base-config.xml", "No pin-set belongs in base-config"),
        ("o04-dummy-backup-BBBB.xml", "a backup is the pin of another key"),
    ],
)
def test_a_reported_file_with_pins_that_no_install_has_is_refused(server, name, words):
    assert words in import_dry(server, "android_nsc", name, status=3).stderr


def test_a_reported_file_is_imported_as_clients_read_it(server):
    for format, name, more in [
        ("android_nsc", "o03-digest-lower-case.xml", []),
        ("hpkp", "o05-hpkp-report-only-first.txt", ["--host", HOST]),
        ("hpkp", "o06-hpkp-two-sha512.txt", ["--host", HOST]),
    ]:
        assert f"add {HOST} with 2 pins, mode enforce" in import_dry(server, format, name, *more).stdout


def test_a_reported_file_of_another_program_makes_no_app(server, api, tmp_path):
    name = unique("com.example.new.")
    for mark in ["", "\ufeff"]:
        file = tmp_path / "pins.json"
        file.write_text(mark + (FILES / "o07-react-native-pins.json").read_text())
        refused = server.cli("import", "remote-config", str(file), "--app", name, status=3)
        assert "has no member of ssl_pinning_config" in refused.stderr
    assert api.get(f"/v1/apps/{name}").status == 404


def test_a_reported_fingerprint_is_refused_in_a_file_and_by_itself(server, app):
    for given in [path("o08-browser-fingerprint.txt"), digest("o08-browser-fingerprint.txt")]:
        assert "(G40)" in add_host(server, app, given, path("b1.csr"), status=3).stderr
    for given in [f"SHA256 Fingerprint={digest('o08-browser-fingerprint.txt')}", "ab" * 20]:
        assert "(G40)" in add_host(server, app, given, path("b1.csr"), status=2).stderr


def test_a_pin_is_the_same_with_what_is_pasted_along_and_in_digits_where_the_app_has_its_key(server, app):
    add_host(server, app, path("b1.csr"), path("o00-next.csr"))
    pin = digest("b2.pin")
    for given in [f" {pin}\n", f'"sha256/{pin}",', f'pin-sha256="{pin}"; max-age=60']:
        assert f"sha256/{pin}" in server.cli("pin", "add", app, HOST, given, "--dry-run", "-o", "json").stdout
    inspected = json.loads(server.cli("pin", "inspect", path("b1.csr"), "-o", "json").stdout)
    known = inspected["items"][0]["request"]["key"]["pin"]
    digits = base64.b64decode(known.removeprefix("sha256/")).hex()
    assert "G41" in server.cli("pin", "add", app, HOST, digits, "--dry-run", status=3).stderr
    unknown = base64.b64decode(pin).hex()
    assert "(G40)" in server.cli("pin", "add", app, HOST, unknown, "--dry-run", status=3).stderr


def test_a_reported_fingerprint_is_refused_and_a_pin_in_any_spelling_taken_over_http(server, api, app):
    add_host(server, app, path("b1.csr"), path("o00-next.csr"))
    pins = f"/v1/apps/{app}/hosts/{HOST}/pins?dry_run=true"
    for member in ["pin", "material"]:
        refused = api.post(pins, {member: digest("o08-browser-fingerprint.txt"), "role": "backup"})
        problem = expect_problem(refused, 422, "invalid_value")
        assert "(G40)" in str(problem)
        for text in [f"sha256//{digest('b2.pin')}", digest("b2.pin").rstrip("=")]:
            planned = api.must("POST", pins, {member: text, "role": "backup"}).json
            assert f"sha256/{digest('b2.pin')}" in str(planned["events"])


def test_a_reported_key_that_clients_refuse_is_refused(server, app):
    for backup in ["o09-secp256k1.pem", "o09-secp256k1.csr", "o09-ed25519.pem"]:
        refused = add_host(server, app, path("o09-p256.pem"), path(backup), status=3).stderr
        assert "G21" in refused and "Ed25519, or RSA" not in refused


def test_a_reported_chain_has_its_servers_key(server, app):
    shown = server.cli_json("pin", "inspect", path("o10-chain-with-v1-root.pem"))["items"][0]["certificate"]
    assert shown["common_name"] == HOST
    add_host(server, app, path("o10-chain-with-v1-root.pem"), path("b1.csr"))
    pins = server.cli_json("pin", "list", app, HOST)["pins"]
    assert [pin["pin"] for pin in pins if pin["role"] == "primary"] == [shown["key"]["pin"]]


def test_a_reported_hash_of_a_certificates_text_is_named(server, app, tmp_path):
    add_host(server, app, path("o11-leaf.pem"), path("b1.csr"))
    wrong = digest("o11-sha256-of-pem-text.pin")
    refused = server.cli("pin", "add", app, HOST, wrong, "--role", "backup", "--dry-run", status=3).stderr
    assert "G16" in refused and "the PEM text of the certificate" in refused
    # A file with a pin in curl's spelling, and the same by itself.
    file = tmp_path / "pin.txt"
    shutil.copy(path("b2.pin"), file)
    for given in [f"sha256//{digest('b2.pin')}", digest("b2.pin"), str(file)]:
        planned = server.cli("pin", "add", app, HOST, given, "--role", "backup", "--dry-run").stdout
        assert digest("b2.pin") in planned


def test_a_host_whose_name_has_two_hyphens_is_pinned_and_explained(server, app):
    add_host(server, app, path("b1.csr"), path("b2.csr"), host="qa--shop.example.com")
    add_host(server, app, path("b1.csr"), path("b2.csr"), host="*.example.com")
    told = server.cli("explain", app, "qa--shop.example.com", "Under_Score.example.com.").stdout
    assert "qa--shop.example.com: enforce" in told and "under_score.example.com: enforce" in told
