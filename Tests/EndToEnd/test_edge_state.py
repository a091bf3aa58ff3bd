"""Edges in trouble: keys that are missing or stolen, files that cannot be read, slow upstreams, and what they remember through all of it."""

import base64
import contextlib
import hashlib
import http.client
import json
import signal
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from edges import APPS, ONE, TWO, Liar, Site, answer, rename, sign
from pinledger import API, eventually, free_port
from reports import failure


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.close()


@pytest.fixture
def liar():
    liar = Liar()
    yield liar
    liar.close()


@pytest.fixture
def kept(site):
    """A stopped edge that has kept all documents, and finds no upstream when it starts again."""
    edge = site.edge().start_ready()
    for app in APPS:
        edge.follows(site.server.api, app)
    eventually(lambda: edge.kept() >= len(APPS), "the documents on the disk")
    edge.stop()
    point_to(edge, free_port())
    yield edge
    if edge.is_running:
        edge.stop()


def point_to(edge, port: int) -> None:
    edge.arguments[edge.arguments.index("--upstream") + 1] = f"http://127.0.0.1:{port}"


def hang_up(edge) -> None:
    edge.process.send_signal(signal.SIGHUP)


def other_keys() -> str:
    raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    return json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": base64.urlsafe_b64encode(raw).rstrip(b"=").decode()}]})


# MARK: Keys


def test_documents_outlast_a_start_with_the_wrong_keys(site, kept):
    bodies = {app: site.server.api.document(app).body for app in APPS}
    right = kept.keys.read_text()
    kept.keys.write_text(other_keys())
    kept.start()
    eventually(lambda: kept.sample("pinledger_withheld_documents") == len(APPS), "the documents that are withheld")
    assert kept.api.document(ONE).status == 503 and kept.api.get("/readyz").status == 503
    # An edge writes what it holds once more when it stops.
    kept.stop()
    kept.keys.write_text(right)
    kept.start_ready()
    assert {app: kept.api.document(app).body for app in APPS} == bodies


def test_keys_that_come_back_bring_their_documents_back(site, kept):
    bodies = {app: site.server.api.document(app).body for app in APPS}
    right = kept.keys.read_text()
    kept.start_ready()
    kept.keys.write_text(other_keys())
    hang_up(kept)
    eventually(lambda: kept.api.document(ONE).status != 200, "the end of the document")
    kept.keys.write_text(right)
    hang_up(kept)
    eventually(lambda: {app: kept.api.document(app).body for app in APPS} == bodies, "the documents")


def test_a_stolen_key_hides_nothing_once_it_is_taken_out(site, kept, liar):
    body = site.server.api.document(ONE).body
    stolen = Ed25519PrivateKey.generate()
    keys = json.loads(kept.keys.read_text())
    kept.keys.write_text(json.dumps({"keys": keys["keys"] + [jwk(stolen)]}))
    point_to(kept, liar.port)
    kept.start_ready()
    high = sign(digested(site.server.api.payload(ONE) | {"version": 9999}), stolen, thumbprint(jwk(stolen)))
    liar.documents[ONE] = high
    liar.listed[ONE] = ('"high"', 9999)
    eventually(lambda: kept.api.document(ONE).body == high, "the thief's document")
    liar.documents[ONE] = body
    liar.listed[ONE] = (site.server.api.document(ONE)["ETag"], site.server.api.payload(ONE)["version"])
    kept.keys.write_text(json.dumps(keys))
    hang_up(kept)
    eventually(lambda: kept.api.document(ONE).body == body, "the right document")
    eventually(lambda: kept.has_kept(body), "the document on the disk")
    # Also after a restart without an upstream.
    kept.kill()
    point_to(kept, free_port())
    kept.start_ready()
    assert kept.api.document(ONE).body == body


def jwk(key: Ed25519PrivateKey) -> dict:
    raw = key.public_key().public_bytes_raw()
    return {"crv": "Ed25519", "kty": "OKP", "x": base64.urlsafe_b64encode(raw).rstrip(b"=").decode()}


def thumbprint(key: dict) -> str:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, separators=(",", ":")).encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def digested(payload: dict) -> dict:
    """The payload with the digest that its content has."""
    content = {name: value for name, value in payload.items() if name not in ("iat", "exp", "content_sha256")}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return payload | {"content_sha256": digest}


# MARK: The disk


def test_an_unsound_line_in_the_file_hides_no_document(site, kept):
    body = site.server.api.document(ONE).body
    header, _, signature = body.split(b".")
    payload = site.server.api.payload(ONE) | {"version": 99_999}
    forged = sign(digested(payload), Ed25519PrivateKey.generate(), json.loads(kept.keys.read_text())["keys"][0]["kid"])
    with kept.state.joinpath("documents").open("ab") as file:
        file.write(forged + b"\n" + header + b".e30." + signature + b"\n")
    mark = kept.mark_log()
    kept.start_ready()
    assert kept.api.document(ONE).body == body
    eventually(lambda: kept.said("kept_document_refused", mark), "the line")


def test_a_file_that_cannot_be_read_is_not_taken_for_none(kept):
    file = kept.state / "documents"
    before = file.read_bytes()
    file.chmod(0o644)
    kept.spawn()
    assert kept.process.wait(300) == 1
    kept.process = None
    assert "can be read by others" in kept.written() and "chmod 600" in kept.written()
    assert file.read_bytes() == before
    file.chmod(0o600)


def test_two_edges_share_no_state_directory(site, kept):
    kept.start_ready()
    other = site.edge()
    other.arguments[other.arguments.index("--state-directory") + 1] = str(kept.state)
    other.spawn()
    assert other.process.wait(300) == 1
    other.process = None
    assert "another process uses the state directory" in other.written()
    # The lock goes with the process, however it ends.
    kept.kill()
    kept.start_ready()


def made(directory: Path) -> bool:
    with contextlib.suppress(FileExistsError):
        directory.mkdir()
    return directory.is_dir()


def test_a_disk_that_takes_no_file_takes_nothing_from_clients(site, kept):
    point_to(kept, site.server.port)
    kept.start_ready()
    # A directory takes the place of the next file, as soon as no write is under way.
    file = kept.state / "documents"
    eventually(lambda: made(kept.state / "documents.new"), "the directory")
    file.unlink()
    rename(site.server.api, ONE)
    kept.follows(site.server.api, ONE)
    eventually(lambda: kept.said("memory_not_kept"), "the line")
    (kept.state / "documents.new").rmdir()
    eventually(lambda: file.exists() and site.server.api.document(ONE).body in file.read_bytes(), "the file")


# MARK: What it has not got yet


def test_an_edge_without_documents_says_that_it_is_starting(site, liar):
    edge = site.edge(upstream=liar.port)
    liar.answers["/client/v1/documents"] = answer(500, b"{}")
    edge.start()
    refused = edge.api.document(ONE)
    assert (refused.status, refused.json["type"], refused["Cache-Control"]) == (503, "/problems/starting", "no-store")
    assert edge.api.get("/readyz").status == 503
    liar.documents[ONE] = site.server.api.document(ONE).body
    liar.listed[ONE] = (site.server.api.document(ONE)["ETag"], 1)
    del liar.answers["/client/v1/documents"]
    eventually(lambda: edge.api.get("/readyz").status == 200, "the documents")
    assert edge.api.document(TWO).status == 404
    edge.stop()


def test_a_document_that_has_ended_is_not_the_first_that_an_edge_serves(site, liar, tmp_path):
    own = Ed25519PrivateKey.generate()
    key = jwk(own)
    edge = site.edge(upstream=liar.port)
    edge.keys.write_text(json.dumps({"keys": [key]}))
    now = int(time.time())
    old = sign(digested(site.server.api.payload(ONE) | {"iat": now - 7200, "exp": now - 3600}), own, thumbprint(key))
    fresh = sign(digested(site.server.api.payload(TWO) | {"iat": now, "exp": now + 3600}), own, thumbprint(key))
    liar.documents = {ONE: old, TWO: fresh}
    liar.listed = {ONE: ('"old"', 1), TWO: ('"fresh"', 1)}
    edge.start_ready()
    assert edge.api.document(TWO).body == fresh and edge.api.document(ONE).status == 404
    assert edge.refused("expired") >= 1 and edge.sample("pinledger_expired_documents") == 0
    assert edge.sample("pinledger_next_document_expiry_timestamp_seconds") == now + 3600
    edge.stop()


# MARK: Slow upstreams


class Drip:
    """An answer whose body comes byte by byte. Its length is below every limit: what is announced to be too long is given up at once."""

    def __init__(self):
        self.begun = self.ended = 0

    def __call__(self, handler) -> None:
        self.begun += 1
        handler.send_response(200)
        handler.send_header("Content-Length", "60000")
        handler.end_headers()
        try:
            for _ in range(600):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.5)
        except OSError:
            pass
        handler.close_connection = True
        self.ended += 1


def test_a_document_that_comes_slowly_holds_up_no_other(site, kept, liar):
    point_to(kept, liar.port)
    kept.start_ready()
    drip = liar.answers[f"/client/v1/apps/{ONE}/document"] = Drip()
    # A large document is fetched.
    liar.tell(ONE, '"slow"')
    liar.listed[ONE] = ('"slow"', 9999)
    eventually(lambda: drip.begun, "the request for the slow document")
    rename(site.server.api, TWO)
    new = site.server.api.document(TWO)
    liar.tell(TWO, new["ETag"], new.body)
    eventually(lambda: kept.api.document(TWO).body == new.body, "the other document")
    assert not drip.ended, "while the slow one is under way"


@pytest.mark.daily
def test_a_list_that_comes_slowly_is_given_up(site, kept, liar):
    point_to(kept, liar.port)
    liar.answers["/client/v1/documents"] = Drip()
    kept.start_ready()
    eventually(lambda: "no whole answer within" in str(kept.said("upstream_lost")), "the end of the list")
    del liar.answers["/client/v1/documents"]
    rename(site.server.api, ONE)
    new = site.server.api.document(ONE)
    liar.documents[ONE] = new.body
    liar.listed[ONE] = (new["ETag"], site.server.api.payload(ONE)["version"])
    eventually(lambda: kept.api.document(ONE).body == new.body, "the new document")


def test_a_stream_that_ends_at_once_is_asked_for_with_pauses(kept, liar):
    asked = []

    def page(handler) -> None:
        asked.append(time.monotonic())
        answer(200, b"<html>", Content_Type="text/html")(handler)

    liar.answers["/client/v1/documents/stream"] = page
    point_to(kept, liar.port)
    mark = kept.mark_log()
    kept.start_ready()
    eventually(lambda: len(asked) >= 6, "the requests")
    # Five times the first pause is one second at most; a slow machine only makes it more.
    assert asked[5] - asked[0] > 1.5, "the pauses grow"
    assert [line["part"] for line in kept.said("upstream_lost", mark)].count("stream") == 1
    assert kept.said("upstream_back", mark) == []


def test_an_upstream_that_makes_up_apps_fills_neither_log_nor_memory(kept, liar):
    point_to(kept, liar.port)
    kept.start_ready()
    for number in range(5000):
        liar.write(b'event: document\ndata: {"app":"com.example.a%d","etag":"x","version":1,"document":"x.y.z"}\n\n' % number)
    eventually(lambda: kept.refused("malformed") >= 5000, "the refusals")
    assert len(kept.said("upstream_document_refused")) <= 40


# MARK: Several addresses of the upstream


def test_an_edge_whose_first_address_does_not_answer_begins_with_the_next_one(site):
    edge = site.edge("--upstream", f"http://127.0.0.1:{site.server.port}", upstream=free_port()).start_ready()
    for app in APPS:
        edge.follows(site.server.api, app)
    assert edge.said("upstream_changed")[0]["upstream"] == f"http://127.0.0.1:{site.server.port}"
    edge.stop()


def test_an_edge_goes_on_to_the_next_address_when_one_ends(site, liar):
    for app in APPS:
        document = site.server.api.document(app)
        liar.documents[app] = document.body
        liar.listed[app] = (document["ETag"], site.server.api.payload(app)["version"])
    edge = site.edge("--upstream", f"http://127.0.0.1:{site.server.port}", upstream=liar.port).start_ready()
    eventually(lambda: edge.sample("pinledger_upstream_stream") == 1, "the stream")
    assert edge.said("upstream_changed") == []
    liar.answers = {path: answer(503, b"{}") for path in ("/client/v1/documents", "/client/v1/documents/stream")}
    for stream in liar.streams:
        stream.put(None)
    rename(site.server.api, ONE)
    edge.follows(site.server.api, ONE)
    assert edge.said("upstream_changed")[0]["upstream"] == f"http://127.0.0.1:{site.server.port}"
    eventually(lambda: edge.sample("pinledger_upstream_stream") == 1, "the stream of the next one")
    # Reports go there too.
    report = json.dumps({"outcomes": [failure(1)]}).encode()
    assert edge.api.request("POST", f"/client/v1/apps/{ONE}/reports", report, token=None).status == 202
    eventually(lambda: edge.sample("pinledger_edge_reports_total", outcome="forwarded") == 1, "the report")
    edge.stop()


def test_reports_that_an_address_refuses_leave_documents_where_they_are(site, liar):
    for app in APPS:
        document = site.server.api.document(app)
        liar.documents[app] = document.body
        liar.listed[app] = (document["ETag"], site.server.api.payload(app)["version"])
    path = f"/client/v1/apps/{ONE}/reports"
    liar.answers[path] = answer(503, b"{}")
    edge = site.edge("--upstream", f"http://127.0.0.1:{site.server.port}", upstream=liar.port).start_ready()
    report = json.dumps({"outcomes": [failure(1)]}).encode()
    assert edge.api.request("POST", path, report, token=None).status == 202
    eventually(lambda: edge.sample("pinledger_edge_reports_total", outcome="forwarded") == 1, "the report, at the next address")
    assert edge.said("upstream_changed") == []
    edge.stop()


# MARK: Reports


def test_reports_that_the_upstream_refuses_hold_up_no_others(site):
    edge = site.edge().start_ready()
    path = f"/client/v1/apps/{ONE}/reports"
    wrong = {"Pinledger-Signature": f'keyid="tlk_0000000000000000", time={int(time.time())}, mac=:{"A" * 43}=:'}
    body = json.dumps({"outcomes": [failure(1)]}).encode()
    for _ in range(40):
        assert edge.api.request("POST", path, body, wrong, token=None).status == 202
    assert edge.api.request("POST", path, body, token=None).status == 202
    eventually(lambda: edge.sample("pinledger_edge_reports_total", outcome="forwarded") == 1, "the good report")
    eventually(lambda: edge.sample("pinledger_edge_reports_total", outcome="refused") == 40, "the refusals")
    edge.stop()


def test_reports_that_hang_hold_up_no_documents(site, kept, liar):
    point_to(kept, liar.port)
    kept.start_ready()
    path = f"/client/v1/apps/{ONE}/reports"
    drip = liar.answers[path] = Drip()
    for _ in range(40):
        assert kept.api.request("POST", path, b"{}", token=None).status == 202
    eventually(lambda: drip.begun, "the first report")

    def comes_while_reports_hang() -> bool:
        ended = drip.ended
        rename(site.server.api, ONE)
        new = site.server.api.document(ONE)
        liar.documents[ONE] = new.body
        liar.listed[ONE] = (new["ETag"], site.server.api.payload(ONE)["version"])
        eventually(lambda: kept.api.document(ONE).body == new.body, "the new document")
        return drip.ended == ended

    # The edge gives a report up after a while. A document that waited for that would see one end each time.
    assert any(comes_while_reports_hang() for _ in range(5)), "every document came after the end of a report"
    kept.kill()


def test_reports_that_were_acknowledged_are_passed_on_before_an_edge_ends(site, kept, liar):
    point_to(kept, liar.port)
    kept.start_ready()
    path = f"/client/v1/apps/{ONE}/reports"
    for number in range(30):
        assert kept.api.request("POST", path, b'{"number":%d}' % number, token=None).status == 202
    kept.stop()
    # One that was under way may be sent once more: the server counts it once.
    assert {body for _, _, body in liar.reports} == {b'{"number":%d}' % number for number in range(30)}


# MARK: Edges behind edges


def test_a_token_that_is_taken_out_of_the_file_ends_its_stream(site):
    edge = site.edge().start_ready()
    behind = site.behind(edge).start_ready()
    behind.follows(site.server.api, ONE)
    eventually(lambda: behind.sample("pinledger_upstream_stream") == 1, "the stream")
    downstream = edge.home / "downstream"
    downstream.write_text("x" * 40 + "\n")
    hang_up(edge)
    eventually(lambda: edge.api.request("GET", "/client/v1/documents", token=edge.token).status == 401, "the end of the token")
    before = behind.api.document(ONE).body
    rename(site.server.api, ONE)
    edge.follows(site.server.api, ONE)
    eventually(lambda: behind.sample("pinledger_upstream_stream") == 0, "the end of the stream")
    assert behind.api.document(ONE).body == before
    behind.stop()
    edge.stop()


def test_one_token_takes_not_all_streams(site):
    connections, statuses = [], []
    for _ in range(52):
        connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=300)
        connection.request("GET", "/client/v1/documents/stream", headers={"Authorization": f"Bearer {site.reader.token}"})
        statuses.append(connection.getresponse().status)
        connections.append(connection)
    other: API = site.server.api.holding("viewer", name="another")
    connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=300)
    connection.request("GET", "/client/v1/documents/stream", headers={"Authorization": f"Bearer {other.token}"})
    assert connection.getresponse().status == 200
    for each in [*connections, connection]:
        each.close()
    assert statuses == [200] * 50 + [503] * 2
