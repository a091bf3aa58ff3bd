"""Which versions clients hold: counted from their requests on every path, recorded, added up over nodes, and told."""

import subprocess

from nodes import start_node
from pinledger import API, Process, Server, eventually, free_port, in_threads
from reports import adoption, install_bytes, install_id
from tls_clients import Streams, connect, make_certificate
from wire import Wire, get


def document_path(app: str) -> str:
    return f"/client/v1/apps/{app}/document"


def ask(api: API, app: str, condition: str | None = None, report: str | None = None, method: str = "GET"):
    headers = {}
    if condition is not None:
        headers["If-None-Match"] = condition
    if report is not None:
        headers["Pinledger-Client"] = report
    return api.request(method, document_path(app), headers=headers, token=None)


def sql(server: Server, statement: str) -> list[list[str]]:
    """The rows of a statement, run as superuser."""
    return [line.split("|") for line in server.sql(statement).splitlines()]


def counts(server: Server, app: str) -> dict[tuple, tuple]:
    """What is recorded: (version, app version, platform) to (requests, reports, identified), over all hours."""
    rows = sql(
        server,
        "SELECT version, app_version, platform, sum(requests), sum(reports), sum(identified) "
        f"FROM pinledger.adoption_count WHERE app = '{app}' GROUP BY 1, 2, 3",
    )
    return {(int(row[0]), row[1], row[2]): tuple(map(int, row[3:])) for row in rows}


def wait_for_counts(server: Server, app: str, expected: dict) -> None:
    try:
        eventually(lambda: counts(server, app) == expected)
    except AssertionError:
        assert counts(server, app) == expected
        raise


def tags(api: API, app: str, versions: int) -> list[tuple[int, str]]:
    """Makes so many further versions; the versions and tags, oldest first."""
    found = []
    for number in range(versions + 1):
        answer = api.document(app)
        tag = answer["ETag"]
        version = int(tag.strip('"').split(".")[0])
        assert version == api.payload(app)["version"]
        found.append((version, tag))
        if number < versions:
            api.must("PATCH", f"/v1/apps/{app}", {"version_gate": {"minimum": f"1.{number}"}})
    return found


def test_the_tag_begins_with_the_version_in_every_coding(own_server):
    app = "com.example.adoption.tag"
    own_server.api.make_app(app, "api.example.com")
    version = own_server.api.payload(app)["version"]
    for coding in ("identity", "gzip", "br"):
        answer = own_server.api.document(app, **{"Accept-Encoding": coding})
        assert answer["ETag"].startswith(f'"{version}.')
        assert own_server.api.document(app, **{"If-None-Match": answer["ETag"]}).status == 304
    info = own_server.api.get(f"/v1/apps/{app}/document").json
    assert info["etag"] == own_server.api.document(app)["ETag"]


def test_adoption_of_an_app_without_requests_is_unknown(own_server):
    app = "com.example.adoption.unknown"
    own_server.api.make_app(app, "api.example.com")
    told = adoption(own_server.api, app)
    assert told["share"] == {
        "at_least": told["current_version"], "basis": "unknown", "lower_basis_points": 0, "upper_basis_points": 10000, "sample": 0,
    }  # fmt: skip
    assert told["versions"] == []
    assert [gap["code"] for gap in told["not_known"]] == ["nothing_seen"]
    assert own_server.api.get("/v1/apps/com.example.nobody/adoption").status == 404
    assert own_server.api.request("GET", f"/v1/apps/{app}/adoption", token=None).status == 401
    for query in ("?hours=0", "?hours=841", "?version=0", "?version=x", "?since=1"):
        assert own_server.api.get(f"/v1/apps/{app}/adoption{query}").status == 400, query
    assert "not known" in own_server.cli("app", "adoption", app).stdout


def test_requests_are_counted_on_every_way_to_a_document(own_server):
    app = "com.example.adoption.ways"
    own_server.api.make_app(app, "api.example.com")
    # Each of these fetches is one with nothing in hand, and so are two more that look at the payload.
    (old, old_tag), (new, new_tag) = tags(own_server.api, app, 1)
    path = document_path(app)
    routed = f"/client/v1/apps/{app.replace('.', '%2E')}/document"
    with Wire(own_server.port) as wire:
        # From bytes; then decoded, by the second handler and by the router.
        for _ in range(5):
            assert wire.send(get(path, f"If-None-Match: {new_tag}")).answer().status == 304
        assert wire.send(get(path, f"If-None-Match: {old_tag}")).answer().status == 200
        assert wire.send(get(routed, f"If-None-Match: {new_tag}")).answer().status == 304
        assert wire.send(get(path, f"If-None-Match: {new_tag}")).answer().status == 304
        assert wire.send(get(path, 'If-None-Match: "x"')).answer().status == 200
        # What only looks is not counted.
        assert wire.send(get(path, f"If-None-Match: {new_tag}", method="HEAD")).answer("HEAD").status == 304
        assert wire.send(get(routed, method="HEAD")).answer("HEAD").status == 200
    wait_for_counts(
        own_server, app,
        {(new, "", ""): (7, 0, 0), (old, "", ""): (1, 0, 0), (-1, "", ""): (1, 0, 0), (0, "", ""): (4, 0, 0)},
    )  # fmt: skip
    told = adoption(own_server.api, app)
    assert told["seen"] == {"requests": 13, "reports": 0, "identified": 0}
    assert told["share"]["basis"] == "requests"
    assert told["share"]["basis_points"] == round(7 / 12 * 10000)
    assert [(version["holds"], version.get("version")) for version in told["versions"]] == [
        ("document", new), ("document", old), ("nothing", None), ("unknown", None),
    ]  # fmt: skip
    assert {gap["code"] for gap in told["not_known"]} == {
        "few_sightings", "no_installs", "unclear_versions", "nothing_signed",
    }  # fmt: skip


def test_clients_that_say_who_they_are_are_counted_once_each(own_server):
    app = "com.example.adoption.installs"
    own_server.api.make_app(app, "api.example.com")
    (old, _), (new, _) = tags(own_server.api, app, 1)
    fetched = 4
    for number in range(100):
        platform = "ios" if number % 2 else "android"
        said = f'platform={platform}, app_version="2.{number % 3}", install="{install_id(number)}"'
        # All had the old one and asked twice; eighty have asked again.
        for _ in range(2):
            assert ask(own_server.api, app, report=f"version={old}, {said}").status == 200
        if number < 80:
            assert ask(own_server.api, app, report=f"version={new}, {said}").status == 200
    # An unreadable statement is no error, and a readable one may state nothing.
    for report in ("=", "version=1 2", "version=(", 'install="short"', "unknown", "", "a" * 2000):
        assert ask(own_server.api, app, report=report).status == 200
    eventually(lambda: sum(row[0] for row in counts(own_server, app).values()) == 287 + fetched)
    recorded = counts(own_server, app)
    assert recorded[0, "", ""] == (7 + fetched, 0, 0)
    assert recorded[new, "2.0.0", "android"] == (14, 0, 14)
    assert {key[0] for key in recorded} == {old, new, 0}
    told = adoption(own_server.api, app, f"?version={new}")
    share = told["share"]
    assert share["basis"] == "installs"
    assert abs(told["seen"]["installs"] - 100) <= 10
    assert share["lower_basis_points"] < 8000 < share["upper_basis_points"]
    assert abs(share["basis_points"] - 8000) < 700
    first = told["versions"][0]
    assert first["version"] == new and abs(first["installs"] - 80) <= 8
    assert {part["platform"]: part["sightings"] for part in first["platforms"]} == {"ios": 40, "android": 40}
    assert adoption(own_server.api, app, f"?version={old}")["share"]["basis_points"] > 9900
    text = own_server.cli("app", "adoption", app, "--version", str(new)).stdout
    assert f"version {new}" in text and "about " in text and "95 % confidence" in text
    assert own_server.cli_json("app", "adoption", app, "--hours", "2")["window"]["hours"] == 2
    # The id is nowhere: not in the database, not in the log.
    dump = subprocess.run(
        ["pg_dump", "--data-only", "--table=pinledger.adoption_*", own_server.connection_string],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    log = own_server.log.read_text(errors="replace")
    for number in (0, 57, 99):
        for spelling in (install_id(number), install_bytes(number).hex()):
            assert spelling not in dump and spelling not in log


def test_clients_that_come_back_to_a_stream_are_counted_too(own_server):
    app = "com.example.adoption.stream"
    own_server.api.make_app(app, "api.example.com")
    (old, old_tag), (version, tag) = tags(own_server.api, app, 1)
    target = f"/client/v1/apps/{app}/stream"
    # By the door, and by the router.
    for field in ([], ["Accept-Language: de", "Connection: Keep-Alive, X"]):
        for last in [old_tag, tag, "x", None]:
            fields = [] if last is None else ["Last-Event-ID: " + last.strip('"')]
            with Wire(own_server.port) as wire:
                wire.send(get(target, *fields, "Pinledger-Client: platform=ios", *field))
                wire.socket.recv(1000)
    wait_for_counts(
        own_server, app,
        {(old, "", "ios"): (2, 0, 0), (version, "", "ios"): (2, 0, 0), (-1, "", "ios"): (2, 0, 0), (0, "", ""): (4, 0, 0)},
    )  # fmt: skip


def test_requests_over_http_2_are_counted_too(own_server, tmp_path):
    app = "com.example.adoption.h2"
    own_server.api.make_app(app, "api.example.com")
    (version, tag) = tags(own_server.api, app, 0)[0]
    certificate, key = make_certificate(tmp_path, "adoption")
    port = free_port()
    options = ["serve", "--database", own_server.connection_string, "--listen", f"127.0.0.1:{port}", "--read-only"]
    options += ["--tls-certificate", str(certificate), "--tls-key", str(key)]
    # Without the key-encryption key it would count requests and no installs.
    options += ["--kek-file", str(own_server.data / "key-encryption-key")]
    node = Process(own_server.home / "tls.log", options, port)
    node.spawn()
    try:
        node.wait_until(lambda: connect(node).answer_to("/readyz").status == 200)
        path = document_path(app)
        routed = f"/client/v1/apps/{app.replace('.', '%2E')}/document"
        install = install_id(7)
        with Streams(node) as wire:
            wire.send(Streams.request(1, path, ("if-none-match", tag)))
            wire.send(Streams.request(3, path, ("if-none-match", tag), ("pinledger-client", "platform=web")))
            wire.send(Streams.request(5, path, ("pinledger-client", f'version={version}, install="{install}"')))
            wire.send(Streams.request(7, routed, ("if-none-match", tag), ("pinledger-client", "platform=web")))
            wire.send(Streams.request(9, path, ("if-none-match", '"x"'), ("if-none-match", tag)))
            wire.send(
                Streams.request(11, path, ("pinledger-client", "version=1"), ("pinledger-client", f"version={version}"))
            )
            wire.send(Streams.request(13, path, ("if-none-match", tag), method="HEAD"))
            wire.wait(1, 3, 5, 7, 9, 11, 13)
        wait_for_counts(
            own_server, app,
            {(version, "", ""): (4, 0, 1), (version, "", "web"): (2, 0, 0), (0, "", ""): (2, 0, 0)},
        )  # fmt: skip
    finally:
        node.stop()


def test_two_nodes_add_up_at_the_same_time(own_server):
    app = "com.example.adoption.nodes"
    own_server.api.make_app(app, "api.example.com")
    (version, tag) = tags(own_server.api, app, 0)[0]
    node, second = start_node(own_server, "second", "--read-only", "--kek-file", str(own_server.data / "key-encryption-key"))
    try:
        def client(index: int) -> None:
            api = own_server.api if index % 2 else second
            for number in range(50):
                ask(api, app, tag)
                ask(api, app, tag, f'platform=ios, app_version="1.{number % 20}", install="{install_id(index * 50 + number)}"')

        in_threads(4, client)
        eventually(lambda: sum(row[0] for row in counts(own_server, app).values()) == 402)
        recorded = counts(own_server, app)
        assert recorded[version, "", ""] == (200, 0, 0)
        assert sum(row[0] for key, row in recorded.items() if key[2] == "ios") == 200
        for api in (own_server.api, second):
            told = adoption(api, app)
            assert told["seen"]["requests"] == 402 and told["seen"]["identified"] == 200
            assert abs(told["seen"]["installs"] - 200) <= 15
    finally:
        node.stop()


def test_a_node_that_stops_in_order_records_everything(own_server):
    app = "com.example.adoption.stop"
    own_server.api.make_app(app, "api.example.com")
    (version, tag) = tags(own_server.api, app, 0)[0]
    node, second = start_node(own_server, "stopping", "--read-only")
    for _ in range(25):
        assert ask(second, app, tag).status == 304
    node.stop()
    assert counts(own_server, app).get((version, "", "")) == (25, 0, 0)


def test_recorded_adoption_outlives_a_power_cut():
    server = Server()
    app = "com.example.adoption.killed"
    try:
        server.start().api.make_app(app, "api.example.com")
        (version, tag) = tags(server.api, app, 0)[0]
        for number in range(40):
            ask(server.api, app, tag, f'install="{install_id(number)}"')
        expected = {(version, "", ""): (40, 0, 40), (0, "", ""): (2, 0, 0)}
        wait_for_counts(server, app, expected)
        server.kill()
        server.start()
        assert counts(server, app) == expected
        # The same installs come again, and are the same installs.
        for number in range(40):
            ask(server.api, app, tag, f'install="{install_id(number)}"')
        wait_for_counts(server, app, {(version, "", ""): (80, 0, 80), (0, "", ""): (2, 0, 0)})
        assert abs(adoption(server.api, app)["seen"]["installs"] - 40) <= 4
    finally:
        server.destroy()


def test_a_node_that_may_not_write_counts_in_its_memory_and_says_so(own_server):
    app = "com.example.adoption.reader"
    own_server.api.make_app(app, "api.example.com")
    (version, tag) = tags(own_server.api, app, 0)[0]
    sql(own_server, "CREATE ROLE adoption_reader LOGIN IN ROLE pinledger_reader")
    database = own_server.connection_string.replace("user=pinledger_dev", "user=adoption_reader")
    port = free_port()
    node = Process(
        own_server.home / "memory.log",
        ["serve", "--database", database, "--listen", f"127.0.0.1:{port}", "--read-only"], port,
    )  # fmt: skip
    api = API(port, own_server.api.token)
    node.spawn()
    try:
        node.wait_until(lambda: api.get("/readyz").status == 200)
        for _ in range(30):
            ask(api, app, tag)
        eventually(lambda: "in its memory only" in node.log.read_text())
        told = adoption(api, app)
        assert told["share"]["at_least"] == version
        assert told["versions"][0]["requests"]["last_hour"] == 30
        assert (version, "", "") not in counts(own_server, app)
        assert node.log.read_text().count("in its memory only") == 1
    finally:
        node.stop()
