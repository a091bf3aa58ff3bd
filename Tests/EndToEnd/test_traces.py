"""Traces: W3C Trace Context in and out, and what a collector gets, read with OpenTelemetry's own definitions."""

import base64
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2
from pinledger import API, Server, eventually
from receiver import Receiver

APP = "com.example.traced"
SERVER, CLIENT = trace_pb2.Span.SPAN_KIND_SERVER, trace_pb2.Span.SPAN_KIND_CLIENT


class Collector:
    """Takes OTLP over HTTP in JSON, and refuses what is not exactly that."""

    def __init__(self):
        self.spans: list[trace_pb2.Span] = []
        self.resources: list[dict] = []
        self.requests: list[dict] = []
        self.statuses: list[int] = []
        self.retry_after = "1"
        self.answers: list[bytes] = []
        self.lock = threading.Lock()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with collector.lock:
                    collector.requests.append({"path": self.path} | dict(self.headers))
                    status = collector.statuses.pop(0) if collector.statuses else 200
                if status == 200:
                    collector.take(body)
                self.send_response(status)
                if status == 503:
                    self.send_header("Retry-After", collector.retry_after)
                answer = collector.answers.pop(0) if collector.answers and status == 200 else b"{}"
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, body: bytes) -> None:
        content = json.loads(body)
        # OTLP writes ids in hexadecimal digits where JSON of protobuf has base64; all else is the same, and unknown names are errors.
        for resource in content["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for name in ("traceId", "spanId", "parentSpanId"):
                        if name in span:
                            assert re.fullmatch("[0-9a-f]{16}|[0-9a-f]{32}", span[name])
                            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        message = json_format.ParseDict(content, ExportTraceServiceRequest())
        with self.lock:
            for resource in message.resource_spans:
                self.resources.append(facts(resource.resource.attributes))
                for scope in resource.scope_spans:
                    assert scope.scope.name == "pinledger"
                    self.spans += scope.spans

    def of(self, trace: str) -> list[trace_pb2.Span]:
        with self.lock:
            return [each for each in self.spans if each.trace_id.hex() == trace]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def facts(attributes) -> dict:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def new_trace() -> tuple[str, str]:
    return os.urandom(16).hex(), os.urandom(8).hex()


def parent(trace: str, span: str, flags: str = "01") -> dict:
    return {"traceparent": f"00-{trace}-{span}-{flags}"}


@pytest.fixture(scope="module")
def collector():
    collector = Collector()
    yield collector
    collector.stop()


@pytest.fixture(scope="module")
def traced(collector, tmp_path_factory):
    """A server that sends its traces to the collector."""
    fields = tmp_path_factory.mktemp("otlp") / "fields"
    fields.write_text("Authorization: Bearer for-the-collector\nX-Scope-OrgID: pins\n")
    fields.chmod(0o600)
    server = Server()
    server.environment |= {
        "PINLEDGER_OTLP_ENDPOINT": collector.url, "PINLEDGER_OTLP_HEADERS_FILE": str(fields), "PINLEDGER_LOG_FORMAT": "json",
        "PINLEDGER_ALLOW_HTTP_WEBHOOKS": "1", "PINLEDGER_ALLOW_PRIVATE_RANGE": "127.0.0.0/8",
    }  # fmt: skip
    try:
        server.start()
        server.api.make_app(APP, "api.example.com")
        yield server
    finally:
        server.destroy()


def test_a_change_is_one_trace_with_its_parts(traced, collector):
    trace, span = new_trace()
    change = parent(trace, span) | {"tracestate": "vendor=one"}
    [event] = traced.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Traced"}, change).json["events"]
    spans = eventually(lambda: len(found := collector.of(trace)) >= 3 and found, "the spans")
    root = next(each for each in spans if each.kind == SERVER)
    assert root.name == "PATCH /v1/apps/{app}" and root.parent_span_id.hex() == span and root.trace_state == "vendor=one"
    said = facts(root.attributes)
    assert said["http.request.method"] == "PATCH" and said["http.route"] == "/v1/apps/{app}"
    assert said["http.response.status_code"] == 200 and said["pinledger.app"] == APP
    assert said["pinledger.operation"] == "updateApp" and said["pinledger.actor"].startswith("token:")
    append, publish = (next(each for each in spans if each.name == name) for name in ("append", "publish"))
    assert append.parent_span_id == publish.parent_span_id == root.span_id
    assert facts(append.attributes)["pinledger.position"] == event["position"] + 1
    assert root.start_time_unix_nano <= append.start_time_unix_nano <= append.end_time_unix_nano <= publish.start_time_unix_nano
    assert publish.end_time_unix_nano <= root.end_time_unix_nano
    assert root.status.code == trace_pb2.Status.STATUS_CODE_UNSET


def test_a_read_of_the_history_shows_its_time_in_the_database(traced, collector):
    trace, span = new_trace()
    traced.api.must("GET", f"/v1/apps/{APP}/history", None, parent(trace, span))
    spans = eventually(lambda: len(found := collector.of(trace)) >= 2 and found, "the spans")
    database = [each for each in spans if each.name == "database"]
    assert database and all(each.kind == CLIENT and facts(each.attributes) == {"db.system.name": "postgresql"} for each in database)


def test_the_collector_learns_whose_spans_they_are_and_gets_the_header_fields(traced, collector):
    traced.api.must("GET", f"/v1/apps/{APP}")
    eventually(lambda: collector.resources, "a request")
    assert all(each["service.name"] == "pinledger" and each["service.version"] for each in collector.resources)
    assert len({each["service.instance.id"] for each in collector.resources}) == 1
    for request in collector.requests:
        assert request["path"] == "/v1/traces" and request["Content-Type"] == "application/json"
        assert request["Authorization"] == "Bearer for-the-collector" and request["X-Scope-OrgID"] == "pins"


def test_a_refused_change_names_its_problem_and_is_no_failure_of_the_server(traced, collector):
    trace, span = new_trace()
    assert traced.api.request("GET", "/v1/apps/com.example.nothing", headers=parent(trace, span)).status == 404
    [root] = eventually(lambda: collector.of(trace), "the span")
    assert facts(root.attributes)["error.type"] == "app_unknown" and root.status.code == trace_pb2.Status.STATUS_CODE_UNSET


def test_log_lines_and_later_requests_of_one_trace_bear_its_id(traced):
    trace, span = new_trace()
    traced.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Logged"}, parent(trace, span))
    lines = [json.loads(line) for line in traced.log.read_text().splitlines() if line.startswith("{")]
    recorded = [line for line in lines if line["code"] == "change_recorded" and line.get("trace_id") == trace]
    assert len(recorded) == 1 and recorded[0]["request_id"]
    assert sum("trace_id" in line for line in lines) < len(lines)


@pytest.mark.parametrize(
    "field",
    [
        "", "00", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x", "x" * 8000,
    ],
)  # fmt: skip
def test_a_malformed_place_is_ignored(traced, collector, field):
    name = f"Ignored {os.urandom(4).hex()}"
    traced.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": name}, {"traceparent": field})
    assert traced.api.must("GET", f"/v1/apps/{APP}").json["display_name"] == name
    assert not collector.of("0af7651916cd43dd8448eb211c80319c")


def test_a_trace_that_its_sender_does_not_record_is_not_recorded_here(traced, collector):
    (silent, span), (loud, other) = new_trace(), new_trace()
    traced.api.must("GET", f"/v1/apps/{APP}", None, parent(silent, span, "00"))
    traced.api.must("GET", f"/v1/apps/{APP}", None, parent(loud, other))
    eventually(lambda: collector.of(loud), "the recorded trace")
    assert not collector.of(silent)


def test_strangers_and_clients_cause_no_spans(traced, collector):
    trace, span = new_trace()
    stranger = API(traced.api.port, None)
    assert stranger.get(f"/v1/apps/{APP}", **parent(trace, span)).status == 401
    assert stranger.request("GET", f"/v1/apps/{APP}", headers=parent(trace, span), token="wrong").status == 401
    assert stranger.get(f"/client/v1/apps/{APP}/document", **parent(trace, span)).status == 200
    assert stranger.get("/client/v1/jwks.json", **parent(trace, span)).status == 200
    last, other = new_trace()
    traced.api.must("GET", f"/v1/apps/{APP}", None, parent(last, other))
    eventually(lambda: collector.of(last), "a later trace")
    assert not collector.of(trace)


def test_a_webhook_carries_its_place_and_is_a_span(traced, collector):
    with Receiver() as receiver:
        hook = traced.api.must("POST", "/v1/webhooks", {"url": receiver.url}).json["webhook_id"]
        traced.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": "Sent"})
        receiver.wait(lambda messages: any(each.entry["stream"] == f"app/{APP}" for each in messages))
        for message in receiver.messages:
            trace, span = re.fullmatch("00-([0-9a-f]{32})-([0-9a-f]{16})-01", message.headers["traceparent"]).groups()
            found = eventually(lambda: collector.of(trace), "the span of the attempt")
            assert [each.span_id.hex() for each in found] == [span] and found[0].kind == CLIENT
            assert facts(found[0].attributes)["pinledger.webhook"] == hook
        # A test is part of the request for it.
        trace, span = new_trace()
        traced.api.must("POST", f"/v1/webhooks/{hook}/test", {}, parent(trace, span))
        assert receiver.messages[-1].headers["traceparent"].split("-")[1] == trace
        traced.api.must("DELETE", f"/v1/webhooks/{hook}?reason=over")


def test_commands_pass_the_place_of_their_job_on(traced, collector):
    trace, span = new_trace()
    traced.environment["TRACEPARENT"] = f"00-{trace}-{span}-01"
    try:
        traced.cli("app", "show", APP)
    finally:
        del traced.environment["TRACEPARENT"]
    [root] = eventually(lambda: collector.of(trace), "the span")
    assert root.parent_span_id.hex() == span


def test_spans_are_sent_again_unless_the_collector_refuses_them(traced, collector):
    def outcome(name: str) -> float:
        text = traced.api.must("GET", "/metrics").body.decode()
        found = re.search(rf'^pinledger_trace_spans_total\{{outcome="{name}"\}} (\d+)', text, re.MULTILINE)
        return float(found[1]) if found else 0

    trace, span = new_trace()
    collector.statuses += [503, 503]
    traced.api.must("GET", f"/v1/apps/{APP}", None, parent(trace, span))
    assert len(eventually(lambda: collector.of(trace), "the span")) == 1
    assert outcome("dropped") == 0
    refused, lost = outcome("refused"), new_trace()
    collector.statuses += [400]
    traced.api.must("GET", f"/v1/apps/{APP}", None, parent(*lost))
    eventually(lambda: outcome("refused") > refused, "the refusal")
    assert not collector.of(lost[0])
    # A collector can refuse a part of what it takes.
    refused = outcome("refused")
    collector.answers += [b'{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}']
    traced.api.must("GET", f"/v1/apps/{APP}", None, parent(*new_trace()))
    eventually(lambda: outcome("refused") == refused + 1, "the refusal of a part")
    log = traced.log.read_text()
    assert '"code":"spans_not_sent"' in log and '"code":"spans_sent_again"' in log


def test_no_span_holds_a_secret(traced, collector):
    made = traced.api.must("POST", "/v1/tokens", {"name": "traced", "grants": [{"role": "viewer", "apps": ["*"]}]}).json["token"]
    traced.api.must("GET", f"/v1/history?search={made[-20:]}")
    # In place of a name, too.
    assert traced.api.get(f"/v1/apps/{made.lower().replace('_', '-')}").status == 404 and traced.api.get(f"/v1/tokens/{made}").status == 400
    trace, span = new_trace()
    traced.api.must("GET", f"/v1/apps/{APP}", None, parent(trace, span))
    eventually(lambda: collector.of(trace), "a later trace")
    text = "".join(str(each) for each in collector.spans)
    assert made[-20:] not in text and made.lower().replace("_", "-")[-20:] not in text and traced.api.token not in text and "search" not in text


def test_a_node_without_its_collector_serves_as_well(tmp_path):
    server = Server()
    server.environment |= {"PINLEDGER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PINLEDGER_TRACE_RATIO": "0.5"}
    try:
        server.start()
        server.api.make_app(APP, "api.example.com")
        assert server.api.document(APP).status == 200
        eventually(lambda: "the collector takes no traces" in server.log.read_text(), "the warning")
        server.restart()
        assert server.api.must("GET", f"/v1/apps/{APP}").status == 200
    finally:
        server.destroy()


@pytest.mark.parametrize("content", [b"no field", b"Authorization:", b"Bad name: x", b"X: \xff", b"X: a\x00b"])
def test_a_file_of_header_fields_that_holds_none_is_refused(traced, tmp_path, content):
    fields = tmp_path / "fields"
    fields.write_bytes(content)
    fields.chmod(0o600)
    failed = traced.cli("config", "check", "--database", "host=db", "--otlp-headers-file", str(fields), status=2)
    assert str(fields) in failed.stderr and "Write one field a line" in failed.stderr
