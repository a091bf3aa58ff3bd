"""In which country a client is, by its address: a database that libmaxminddb reads, made for the test."""

import json
import os
import signal

import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet
from pinledger import Server, eventually, pin_of, unbase64url

APP, HOST = "com.example.countries", "api.example.com"
AUSTRIA, GERMANY = "198.51.100.7", "2001:db8::7"


def write(file, networks: dict, kind: str = "Test-Country") -> None:
    """Replaces a file as geoipupdate does, by a new one in its place."""
    writer = MMDBWriter(6, kind, languages=["en"], ipv4_compatible=True)
    for network, value in networks.items():
        writer.insert_network(IPSet([network]), value)
    writer.to_db_file(str(file) + ".new")
    os.replace(str(file) + ".new", file)


def country(code) -> dict:
    return {"country": {"iso_code": code}}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    file = tmp_path_factory.mktemp("countries") / "countries.mmdb"
    write(file, {
        "198.51.100.0/24": country("AT"), "2001:db8::/32": country("DE"), "203.0.113.0/24": country(7),
        "192.0.2.0/24": {"registered_country": {"iso_code": "AT"}},
    })  # fmt: skip
    return file


@pytest.fixture(scope="module")
def country_server(database):
    server = Server(more=["--country-database", str(database), "--trusted-proxy", "127.0.0.0/8"])
    try:
        api = server.start().api
        api.make_app(APP, HOST)
        rollout = {"method": "geography", "countries": ["AT"], "basis_points": 10_000, "seed": ["install_id"]}
        api.must("POST", f"/v1/apps/{APP}/hosts/{HOST}/candidate", {
            "mode": "enforce", "pins": [{"pin": pin_of("next"), "role": "backup"}], "rollout": rollout,
        })  # fmt: skip
        yield server
    finally:
        server.destroy()


def arm(server, address: str | None, query: str = "") -> str:
    headers = {"X-Forwarded-For": address} if address else {}
    answer = server.api.request(
        "GET", f"/client/v1/apps/{APP}/evaluated?install_id=one{query}", headers=headers, token=None)  # fmt: skip
    assert answer.status == 200, str(answer)
    [host] = json.loads(unbase64url(answer.body.decode().split(".")[1]))["hosts"]
    return host["arm"]


@pytest.mark.parametrize(
    ("address", "query", "expected"),
    [
        (AUSTRIA, "", "candidate"),
        (f"{GERMANY}, {AUSTRIA}", "", "candidate"),
        (GERMANY, "", "baseline"),
        # A client whose country is known cannot state another; where it is unknown, the client's statement counts.
        (GERMANY, "&country=AT", "baseline"),
        (AUSTRIA, "&country=DE", "candidate"),
        ("8.8.8.8", "", "baseline"),  # address: sent as a header alone
        ("8.8.8.8", "&country=AT", "candidate"),  # address: sent as a header alone
        (None, "", "baseline"),
        # An entry without a country, and one whose country is no text.
        ("192.0.2.1", "", "baseline"),
        ("203.0.113.1", "", "baseline"),
    ],
)
def test_the_address_says_where_a_client_is(country_server, address, query, expected):
    assert arm(country_server, address, query) == expected


def test_a_replaced_database_is_taken_up_and_a_broken_one_is_not(country_server, database):
    write(database, {"198.51.100.0/24": country("DE"), "2001:db8::/32": country("AT")})
    country_server.process.send_signal(signal.SIGHUP)
    eventually(lambda: arm(country_server, GERMANY) == "candidate", "the new file")
    assert arm(country_server, AUSTRIA) == "baseline"
    mark = country_server.mark_log()
    # Shortened in its place too, which would end a process that had mapped it.
    with database.open("r+b") as file:
        file.truncate(100)
    country_server.process.send_signal(signal.SIGHUP)
    eventually(lambda: country_server.said("file_refused", mark), "the refusal")
    assert arm(country_server, GERMANY) == "candidate"
    mark = country_server.mark_log()
    write(database, {"2001:db8::/32": country("AT")}, kind="Test-ISP")
    country_server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "of the type Test-ISP" in str(country_server.said("file_refused", mark)), "the refusal of the other type")
    assert arm(country_server, GERMANY) == "candidate"


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_a_server_does_not_start_without_its_configured_country_database(tmp_path, content):
    file = tmp_path / "countries.mmdb"
    if content is not None:
        file.write_bytes(content)
    server = Server(more=["--country-database", str(file)])
    try:
        with pytest.raises(AssertionError, match="the country database cannot be read"):
            server.start()
    finally:
        server.destroy()
