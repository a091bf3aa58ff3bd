"""Edges whose upstream lies, or was restored from a backup: what their clients get all the same."""

import base64
import gzip
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from edges import APPS, ONE, TWO, Liar, Site, answer, endless, rename, sign
from pinledger import eventually


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.close()


@pytest.fixture
def lied_to(site, tmp_path):
    """An edge with the documents of the site, whose upstream is a liar now."""
    liar = Liar()
    edge = site.edge().start_ready()
    for app in APPS:
        edge.follows(site.server.api, app)
    eventually(lambda: edge.kept() >= len(APPS), "the documents on the disk")
    edge.stop()
    edge.arguments[edge.arguments.index("--upstream") + 1] = f"http://127.0.0.1:{liar.port}"
    liar.listed = {app: (site.server.api.document(app)["ETag"], site.server.api.payload(app)["version"]) for app in APPS}
    edge.liar, edge.mark = liar, edge.mark_log()
    edge.start_ready()
    yield edge
    assert edge.is_running, edge.tail()
    assert edge.said("request_failed") == []
    edge.stop()
    liar.close()


def forged(site, cause: str) -> bytes:
    """A document for the first app that must not be served."""
    body = site.server.api.document(ONE).body
    kid = jwt.get_unverified_header(body.decode())["kid"]
    payload = site.server.api.payload(ONE) | {"version": 9999}
    stranger = Ed25519PrivateKey.generate()
    header, _, signature = body.split(b".")
    match cause:
        case "unknown_key":
            return sign(payload, stranger, "strangers-key")
        case "wrong_signature":
            return sign(payload, stranger, kid)
        case "other_app":
            return site.server.api.document(TWO).body
        case "evaluated":
            return site.server.api.request("GET", f"/client/v1/apps/{ONE}/evaluated", token=None).body
        case "malformed":
            return b"<html>It works!</html>"
        case "none":
            header = base64.urlsafe_b64encode(b'{"alg":"none","kid":"%s","typ":"pinset+jws"}' % kid.encode()).rstrip(b"=")
            return header + b"." + body.split(b".")[1] + b"."
        case "payload":
            altered = base64.urlsafe_b64encode(json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()).rstrip(b"=")
            return b".".join([header, altered, signature])
    raise AssertionError(cause)


@pytest.mark.parametrize("way", ["list", "stream"])
@pytest.mark.parametrize(
    ("case", "cause"),
    [("unknown_key", "unknown_key"), ("wrong_signature", "wrong_signature"), ("other_app", "other_app"),
     ("evaluated", "malformed"), ("malformed", "malformed"), ("none", "malformed"), ("payload", "wrong_signature")],
)  # fmt: skip
def test_a_document_that_no_trusted_key_has_signed_for_its_app_is_not_served(site, lied_to, way, case, cause):
    before = lied_to.api.document(ONE).body
    document = forged(site, case)
    if way == "list":
        lied_to.liar.documents[ONE] = document
        lied_to.liar.listed[ONE] = ('"9999-other"', 9999)
    else:
        lied_to.liar.tell(ONE, '"9999-other"', document)
    eventually(lambda: lied_to.refused(cause) >= 1, cause)
    assert lied_to.api.document(ONE).body == before
    eventually(lambda: cause in {line["cause"] for line in lied_to.said("upstream_document_refused", lied_to.mark)}, "the line")


def test_an_upstream_that_was_restored_from_a_backup_takes_no_client_back(site, lied_to):
    old = lied_to.api.document(ONE).body
    rename(site.server.api, ONE)
    new = site.server.api.document(ONE)
    lied_to.liar.documents[ONE] = new.body
    lied_to.liar.listed[ONE] = (new["ETag"], site.server.api.payload(ONE)["version"])
    eventually(lambda: lied_to.api.document(ONE).body == new.body, "the new document")
    # The upstream has the old one again: says so, or offers it under a number that it makes up.
    lied_to.liar.documents[ONE] = old
    for version in (1, 10_000):
        refused = lied_to.refused("older")
        lied_to.liar.listed[ONE] = ('"old"', version)
        eventually(lambda: lied_to.refused("older") > refused, "the older document")
        assert lied_to.api.document(ONE).body == new.body
    lied_to.liar.tell(ONE, '"old"', old)
    lied_to.liar.documents.pop(ONE)
    lied_to.liar.listed.pop(ONE)
    # The list without it is taken in with what is new in it.
    rename(site.server.api, TWO)
    other = site.server.api.document(TWO)
    lied_to.liar.documents[TWO] = other.body
    lied_to.liar.listed[TWO] = (other["ETag"], site.server.api.payload(TWO)["version"])
    eventually(lambda: lied_to.api.document(TWO).body == other.body, "the list without the document")
    assert lied_to.api.document(ONE).body == new.body, "a document that the upstream has no longer stays"
    # Nor after a restart.
    eventually(lambda: new.body in lied_to.state.joinpath("documents").read_bytes(), "the document on the disk")
    lied_to.stop()
    lied_to.start_ready()
    assert lied_to.api.document(ONE).body == new.body


HOSTILE = {
    "garbage": answer(200, b"\xff\xfe\x00garbage"),
    "deep": answer(200, b"[" * 100_000),
    "wrong types": answer(200, b'{"documents":[{"app":7,"etag":null}]}'),
    "no app": answer(200, b'{"documents":[{"app":"../../etc/passwd","etag":"x","version":1}]}'),
    "redirect": answer(302, b"", Location="http://127.0.0.1:9/elsewhere"),
    "endless": endless(b"a" * 65536),
    "error": answer(500, b"{}"),
    "bomb": answer(200, gzip.compress(b'{"documents":[' + b" " * 50_000_000), Content_Encoding="gzip"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_unusable_list_changes_nothing(site, lied_to, name):
    bodies = {app: lied_to.api.document(app).body for app in APPS}
    lied_to.liar.answers["/client/v1/documents"] = HOSTILE[name]
    eventually(lambda: lied_to.said("upstream_lost", lied_to.mark), "the line")
    assert {app: lied_to.api.document(app).body for app in APPS} == bodies
    # And it goes on afterwards.
    del lied_to.liar.answers["/client/v1/documents"]
    eventually(lambda: lied_to.said("upstream_back", lied_to.mark), "the return")


@pytest.mark.parametrize("name", ["garbage", "redirect", "endless", "error"])
def test_an_unusable_document_changes_nothing(site, lied_to, name):
    before = lied_to.api.document(ONE).body
    lied_to.liar.answers[f"/client/v1/apps/{ONE}/document"] = HOSTILE[name]
    lied_to.liar.listed[ONE] = ('"other"', 9999)
    eventually(lambda: lied_to.sample("pinledger_documents_behind") == 1, "the app that is behind")
    assert lied_to.api.document(ONE).body == before


@pytest.mark.parametrize(
    "piece",
    [b"a" * 10_000_000, b"event: document\ndata: {\n\n", b"event: document\ndata: " + b"[" * 50_000 + b"\n\n",
     b"\x00\xff\n\n\n\r\r\n", b"event: document\n\n" * 1000],
    ids=["long line", "no JSON", "deep", "bytes", "empty"],
)  # fmt: skip
def test_an_unusable_stream_changes_nothing(site, lied_to, piece):
    before = lied_to.api.document(ONE).body
    lied_to.liar.write(piece)
    # What comes after it is taken, on this stream or on the next.
    rename(site.server.api, ONE)
    new = site.server.api.document(ONE)
    lied_to.liar.documents[ONE] = new.body
    lied_to.liar.listed[ONE] = (new["ETag"], site.server.api.payload(ONE)["version"])
    eventually(lambda: lied_to.api.document(ONE).body == new.body, "the new document")
    assert before != new.body


def test_a_list_of_very_many_apps_is_bounded(lied_to):
    entries = [{"app": f"com.example.flood.a{number}", "etag": f'"{number}"', "version": 1} for number in range(20_000)]
    lied_to.liar.answers["/client/v1/documents"] = answer(200, json.dumps({"documents": entries}).encode())
    eventually(lambda: lied_to.sample("pinledger_documents") >= len(APPS), "an answer")
    assert lied_to.api.get("/readyz").status == 200
    del lied_to.liar.answers["/client/v1/documents"]


# MARK: Reports


def test_reports_wait_while_the_upstream_is_away(lied_to):
    path = f"/client/v1/apps/{ONE}/reports"
    lied_to.liar.answers[path] = answer(503, b"{}")
    bodies = [json.dumps({"number": number}).encode() for number in range(40)]
    for body in bodies:
        assert lied_to.api.request("POST", path, body, {"X-Forwarded-For": "203.0.113.9"}, token=None).status == 202
    eventually(lambda: lied_to.said("reports_not_forwarded"), "the line")
    del lied_to.liar.answers[path]
    eventually(lambda: len(lied_to.liar.reports) == len(bodies), "the reports")
    assert sorted(body for _, _, body in lied_to.liar.reports) == sorted(bodies)
    # The client's own word on its address is nobody's: no proxy is trusted.
    assert {fields["X-Forwarded-For"] for _, fields, _ in lied_to.liar.reports} == {"127.0.0.1"}
    assert all("Authorization" not in fields for _, fields, _ in lied_to.liar.reports)
