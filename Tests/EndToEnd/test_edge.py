"""Edges: what their clients get, while the upstream runs and while it is away, with which keys, and who may follow them."""

import base64
import gzip
import hashlib
import json
import re
import signal
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from documents import verify
from edges import APPS, HOST, ONE, THREE, TWO, Site, percentile, rename, secret, timed
from pinledger import BINARY, API, eventually, free_port, from_now
from reports import Key, failure
from streams import DocumentStream
from wire import Wire, get


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.close()


@pytest.fixture(scope="module")
def edge(site):
    edge = site.edge().start_ready()
    for app in APPS:
        edge.follows(site.server.api, app)
    return edge


# MARK: What clients get


def test_an_edge_answers_as_its_upstream_does(site, edge):
    for path in [*(f"/client/v1/apps/{app}/document" for app in APPS), "/client/v1/jwks.json"]:
        for coding in ("identity", "gzip", "br"):
            for request in ({}, {"If-None-Match": site.server.api.get(path, **{"Accept-Encoding": coding})["ETag"]}):
                fields = {"Accept-Encoding": coding} | request
                answers = [api.request("GET", path, headers=fields, token=None) for api in (site.server.api, edge.api)]
                wanted, got = answers
                assert (got.status, got.body) == (wanted.status, wanted.body)
                assert got.status == (304 if request else 200)
                for name in ("ETag", "Cache-Control", "Content-Type", "Content-Encoding", "Vary"):
                    assert got[name] == wanted[name], name
    payload = verify(edge.api.document(ONE).body.decode(), edge.api.get("/client/v1/jwks.json").json, ONE)
    assert payload["version"] == site.server.api.payload(ONE)["version"]


def test_an_edge_has_no_operators_and_says_where_there_is_nothing(edge):
    for path in ("/v1/apps", "/log/checkpoint", f"/client/v1/apps/{ONE}/evaluated", "/compat/dynapins/v1/pins"):
        assert edge.api.get(path).status == 404, path
    assert edge.api.post("/v1/apps", {"app": "com.example.x"}).status == 404
    answer = edge.api.document("com.example.none")
    assert (answer.status, answer.json["type"], answer["Cache-Control"]) == (404, "/problems/app_unknown", "public, max-age=5")
    assert edge.api.get("/metrics").status == 404


def test_readiness_says_what_an_edge_can_do(edge):
    ready = edge.api.get("/readyz").json
    assert ready == {"status": "ready", "serves": True, "serves_documents": True, "writes": False, "signs": False}
    assert edge.api.get("/readyz?for=serves_documents").status == 200
    assert edge.api.get("/readyz?for=writes").status == 503
    assert edge.api.get("/readyz?for=x").status == 400


def test_a_stream_at_an_edge_carries_new_documents(site, edge):
    stream = DocumentStream(edge.port, ONE)
    assert stream.take()["event"] == "document"
    rename(site.server.api, ONE)
    assert stream.take()["data"] == site.server.api.document(ONE).body.decode()
    stream.connection.close()


def times_of_kill_switches(site, second, count: int) -> list[float]:
    """How long each takes to an edge behind an edge, and each end of one."""
    second.follows(site.server.api, TWO)
    api, times = site.server.api, []
    for number in range(count):
        if number % 2 == 0:
            api.must("PUT", f"/v1/apps/{TWO}/kill-switch", {"reason": "drill", "expires_at": from_now(hours=1)})
        else:
            api.must("DELETE", f"/v1/apps/{TWO}/kill-switch?reason=over&force=true")
        wanted = api.document(TWO).body
        times.append(timed(lambda: second.api.document(TWO).body == wanted))
    return times


@pytest.mark.daily
def test_a_kill_switch_passes_two_edges_in_a_second(site, edge):
    second = site.behind(edge).start_ready()
    times = times_of_kill_switches(site, second, 20)
    assert percentile(times, 0.99) < 1, times
    second.stop()


def test_a_kill_switch_and_a_new_app_pass_two_edges(site, edge):
    second, api = site.behind(edge).start_ready(), site.server.api
    times_of_kill_switches(site, second, 4)
    # An app that is made later passes too.
    api.make_app("com.example.edge.later", HOST)
    second.follows(api, "com.example.edge.later")
    second.stop()


# MARK: The upstream is away


def test_an_edge_starts_and_serves_while_its_upstream_is_dead(site):
    edge = site.edge().start_ready()
    for app in APPS:
        edge.follows(site.server.api, app)
    eventually(lambda: edge.kept() >= len(APPS), "the documents on the disk")
    bodies = {app: edge.api.document(app).body for app in APPS}
    edge.kill()
    # Cut off, as by a power failure while it was written.
    with edge.state.joinpath("documents").open("ab") as file:
        file.write(b"eyJhbGciOi")
    edge.arguments[edge.arguments.index("--upstream") + 1] = f"http://127.0.0.1:{free_port()}"
    mark = edge.mark_log()
    edge.start_ready()
    assert {app: edge.api.document(app).body for app in APPS} == bodies
    eventually(lambda: edge.said("upstream_lost", mark), "the loss")
    assert edge.sample("pinledger_upstream_stream") == 0 and edge.sample("pinledger_upstream_sync_timestamp_seconds") is None
    edge.stop()


def test_an_edge_goes_on_when_its_upstream_comes_back(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("away"))
    try:
        edge = site.edge().start_ready()
        edge.follows(site.server.api, ONE)
        site.server.stop()
        body = edge.api.document(ONE).body
        eventually(lambda: edge.said("upstream_lost"), "the loss")
        assert edge.api.document(ONE).body == body and edge.api.get("/readyz").status == 200
        site.server.start()
        rename(site.server.api, ONE)
        edge.follows(site.server.api, ONE)
        eventually(lambda: edge.said("upstream_back"), "the return")
        eventually(lambda: edge.sample("pinledger_upstream_stream") == 1, "the stream")
        lost = [line["part"] for line in edge.said("upstream_lost")]
        assert len(lost) == len(set(lost)), "each part is lost once"
    finally:
        site.close()


# MARK: Keys


def test_keys_come_from_the_file_alone_and_are_taken_over_while_it_runs(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("keys"))
    try:
        api = site.server.api
        edge = site.edge().start_ready()
        edge.follows(api, ONE)
        old = json.loads(edge.keys.read_bytes())
        kid = api.must("POST", "/v1/keys", {"reason": "the yearly change"}).json["events"][0]["data"]["kid"]
        api.must("POST", f"/v1/keys/{kid}/activate", {"force": True, "reason": "a test cannot wait"})
        rename(api, ONE)
        before = edge.api.document(ONE).body
        eventually(lambda: edge.refused("unknown_key") >= 1, "the unknown key")
        assert edge.api.document(ONE).body == before and edge.api.get("/client/v1/jwks.json").json == old
        # The file is damaged first: the earlier keys stay.
        both = api.get("/client/v1/jwks.json").json
        edge.keys.write_text("{")
        edge.process.send_signal(signal.SIGHUP)
        eventually(lambda: edge.said("file_refused"), "the refusal")
        edge.keys.write_text(json.dumps(both))
        edge.process.send_signal(signal.SIGHUP)
        edge.follows(api, ONE)
        assert edge.api.get("/client/v1/jwks.json").json == both
        # Without the old key, what it has signed is served no more.
        for app in APPS:
            rename(api, app)
            edge.follows(api, app)
        edge.keys.write_text(json.dumps(old))
        edge.process.send_signal(signal.SIGHUP)
        eventually(lambda: edge.api.document(ONE).status == 404, "the end of the document")
        eventually(lambda: edge.said("documents_dropped"), "the line")
        edge.keys.write_text(json.dumps(both))
        edge.process.send_signal(signal.SIGHUP)
        edge.follows(api, ONE)
    finally:
        site.close()


# MARK: Who may follow


def test_the_list_of_documents_is_for_holders_of_a_token(site, edge):
    for path in ("/client/v1/documents", "/client/v1/documents/stream"):
        for api in (site.server.api, edge.api):
            assert api.request("GET", path, token=None).status == 401
            assert api.request("GET", path, token="x" * 40).status == 401
        # An operator's token of the server is none of the edge.
        assert edge.api.request("GET", path, token=site.reader.token).status == 401
    listed = edge.api.request("GET", "/client/v1/documents", token=edge.token)
    mine = site.reader.get("/client/v1/documents")
    assert {entry["app"] for entry in mine.json["documents"]} >= set(APPS)
    eventually(lambda: edge.api.request("GET", "/client/v1/documents", token=edge.token).json == site.reader.get("/client/v1/documents").json)
    assert listed["Cache-Control"] == "private, no-cache"
    again = site.reader.get("/client/v1/documents", **{"If-None-Match": site.reader.get("/client/v1/documents")["ETag"]})
    assert (again.status, again.body) == (304, b"")


def test_a_token_for_one_app_follows_that_app_alone(site):
    narrow = site.server.api.holding("viewer", ONE, name="one app")
    assert [entry["app"] for entry in narrow.get("/client/v1/documents").json["documents"]] == [ONE]
    edge = site.edge(token=narrow.token).start_ready()
    edge.follows(site.server.api, ONE)
    rename(site.server.api, TWO)
    rename(site.server.api, ONE)
    edge.follows(site.server.api, ONE)
    assert edge.api.document(TWO).status == 404 and edge.sample("pinledger_documents") == 1
    edge.stop()


def test_a_stream_of_all_documents_ends_with_its_token(site):
    made = site.server.api.must("POST", "/v1/tokens", {"name": "short", "grants": [{"role": "viewer", "apps": ["*"]}]}).json
    with Wire(site.server.port) as stream:
        stream.send(get("/client/v1/documents/stream", f"Authorization: Bearer {made['token']}")).until(b": pinledger")
        site.server.api.must("DELETE", f"/v1/tokens/{made['token_id']}")
        rename(site.server.api, THREE)
        stream.wait_for_end()


# MARK: Reports


def test_reports_are_passed_on_as_they_came(site, edge):
    api = site.server.api
    key = Key(api, ONE)
    path = f"/client/v1/apps/{ONE}/reports"
    body = gzip.compress(json.dumps({"outcomes": [failure(number) for number in range(3)]}).encode())
    answer = edge.api.request(
        "POST", path, body, {"Content-Encoding": "gzip"} | key.sign(body), token=None)
    assert (answer.status, answer.json) == (202, {"queued": True}), answer
    eventually(lambda: edge.sample("pinledger_edge_reports_total", outcome="forwarded") == 1, "the report")
    # What the server refuses is not sent again and again.
    assert edge.api.request("POST", path, b"{}", token=None).status == 202
    eventually(lambda: edge.sample("pinledger_edge_reports_total", outcome="refused") == 1, "the refusal")
    assert edge.sample("pinledger_waiting_reports") == 0
    for status, request in [
        (404, ("/client/v1/apps/com.example.none/reports", b"{}", {})),
        (415, (path, b"{}", {"Content-Type": "text/plain"})),
        (413, (path, b"x" * 300_000, {})),
    ]:
        assert edge.api.request("POST", request[0], request[1], request[2], token=None).status == status


# MARK: Export


def test_an_export_is_served_by_any_web_server(site, tmp_path):
    token = secret(tmp_path / "token", site.reader.token)
    directory = tmp_path / "pins"
    command = ["edge", "export", str(directory), "--upstream", f"http://127.0.0.1:{site.server.port}",
               "--upstream-token-file", str(token), "--trusted-keys", str(site.keys)]  # fmt: skip
    assert "documents are in" in site.server.cli(*command).stdout
    port = free_port()
    web = subprocess.Popen(["python3", "-m", "http.server", str(port), "--bind", "127.0.0.1", "-d", directory], stderr=subprocess.DEVNULL)
    try:
        static = API(port, None)

        def is_up() -> bool:
            try:
                return static.get("/client/v1/jwks.json").status == 200
            except OSError:
                return False

        eventually(is_up)
        for app in APPS:
            assert static.document(app).body == site.server.api.document(app).body
    finally:
        web.kill()
        web.wait()
    # A newer file is not replaced by an older document; a damaged one is.
    file = directory / f"client/v1/apps/{ONE}/document"
    old = file.read_bytes()
    rename(site.server.api, ONE)
    site.server.cli(*command)
    assert file.read_bytes() == site.server.api.document(ONE).body != old
    file.write_bytes(b"x")
    assert "1 of them are new" in site.server.cli(*command).stdout
    other = secret(tmp_path / "other.json", json.dumps({"keys": [public_jwk()]}))
    command[-1] = str(other)
    refused = site.server.cli(*command, status=10)
    assert "were not written" in refused.stderr and "not among the trusted ones" in refused.stderr


def test_an_export_lists_its_objects_for_a_store(site, tmp_path):
    directory, objects = tmp_path / "pins", tmp_path / "objects"
    command = ["edge", "export", str(directory), "--upstream", f"http://127.0.0.1:{site.server.port}", "--objects", str(objects),
               "--upstream-token-file", str(secret(tmp_path / "token", site.reader.token)), "--trusted-keys", str(site.keys)]  # fmt: skip
    site.server.cli(*command, "--document-max-age", "30")
    lines = objects.read_text().splitlines()
    listed = [json.loads(line) for line in lines]
    # The key set first, as its documents need it; each with what a server sends with it.
    keys = [each["key"] for each in listed]
    assert keys == ["client/v1/jwks.json"] + sorted(keys[1:]) and {f"client/v1/apps/{app}/document" for app in APPS} <= set(keys)
    for each in listed:
        assert hashlib.sha256((directory / each["file"]).read_bytes()).hexdigest() == each["sha256"]
        served = API(site.server.port, None).get(f"/{each['key']}")
        assert served.body == (directory / each["file"]).read_bytes()
        assert served["Content-Type"] == each["content_type"]
        # A store does not notice that a document comes near its end.
        said = served["Cache-Control"].removesuffix(", stale-if-error=3600")
        assert re.sub("max-age=60", "max-age=30", said) == each["cache_control"]
    # What has not changed has the same line.
    rename(site.server.api, ONE)
    site.server.cli(*command, "--document-max-age", "30")
    assert set(objects.read_text().splitlines()) ^ set(lines) == {
        line for line in lines + objects.read_text().splitlines() if json.loads(line)["key"].split("/")[3:4] == [ONE]}  # fmt: skip


def public_jwk() -> dict:
    raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    return {"kty": "OKP", "crv": "Ed25519", "x": base64.urlsafe_b64encode(raw).rstrip(b"=").decode()}


# MARK: Settings


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "no trusted keys are given"),
        (["--trusted-keys", "{keys}"], "no upstream is given"),
        (["--trusted-keys", "/nonexistent", "--upstream", "http://127.0.0.1:1"], "cannot be read"),
        (["--trusted-keys", "{empty}", "--upstream", "http://127.0.0.1:1"], "nor a JWKS"),
        (["--trusted-keys", "{private}", "--upstream", "http://127.0.0.1:1"], "nor a JWKS"),
        (["--trusted-keys", "{keys}", "--upstream", "ftp://x"], "must be an address"),
        (["--trusted-keys", "{keys}", "--upstream", "http://pins.example.com", "--upstream-token-file", "{token}"], "plain http"),
        (["--trusted-keys", "{keys}", "--upstream", "http://127.0.0.1:1", "--downstream-token-file", "{short}"], "fewer than 22"),
        (["--trusted-keys", "{keys}", "--upstream", "http://127.0.0.1:1", "--upstream-interval", "0"], "must be from 1 to 3600"),
        (["--trusted-keys", "{keys}", "--upstream", "http://127.0.0.1:1", "--config", "{config}"], "there is no setting database"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused_with_a_way_on(site, tmp_path, more, said):
    files = {
        "keys": site.keys, "token": secret(tmp_path / "token", site.reader.token), "short": secret(tmp_path / "short", "abc"),
        "empty": secret(tmp_path / "empty.json", '{"keys":[]}'), "config": secret(tmp_path / "config.yaml", "database: x\n"),
        "private": secret(tmp_path / "private.json", json.dumps({"keys": [public_jwk() | {"d": "AA"}]})),
    }  # fmt: skip
    arguments = [each.format(**files) if each.startswith("{") else each for each in more]
    done = site.server.cli("edge", "serve", *arguments, status=2)
    assert said in done.stderr, done.stderr


def test_settings_come_from_variables_and_a_file_too(site, tmp_path):
    config = tmp_path / "edge.yaml"
    port = free_port()
    config.write_text(f"upstream: http://127.0.0.1:{site.server.port}\ntrusted_keys: {site.keys}\nlisten: 127.0.0.1:{port}\n")
    token = secret(tmp_path / "token", site.reader.token)
    environment = site.server.environment | {"PINLEDGER_UPSTREAM_TOKEN_FILE": str(token), "PINLEDGER_CONFIG": str(config)}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([BINARY, "edge", "serve"], env=environment, stdout=log, stderr=log)
    try:
        api = API(port, None)

        def is_ready() -> bool:
            try:
                return api.get("/readyz").status == 200
            except OSError:
                return False

        eventually(is_ready)
        eventually(lambda: api.document(ONE).body == site.server.api.document(ONE).body)
    finally:
        process.terminate()
        assert process.wait(300) == 0


def test_a_log_in_json_has_one_object_in_each_line(site):
    edge = site.edge("--log-format", "json", upstream=free_port()).start()
    eventually(lambda: edge.said("upstream_lost"), "the line")
    assert edge.api.get("/client/v1/documents", Authorization="Bearer \"}{").status == 401
    edge.stop()
    lines = [json.loads(line) for line in edge.log.read_text().splitlines()]
    assert all({"time", "level", "message"} <= line.keys() for line in lines)
    assert [line["code"] for line in lines if line["code"].startswith("server_")][-3:] == ["server_stopping", "server_draining", "server_stopped"]
    assert next(line for line in lines if line["code"] == "server_serving")["listen"] == f"127.0.0.1:{edge.port}"
