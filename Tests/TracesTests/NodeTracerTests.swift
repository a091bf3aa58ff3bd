import CoreMetrics
import Exposition
import PinWire
import Testing
import Tracing

@testable import TraceExport
@testable import Traces

@Suite("A node's tracer") struct NodeTracerTests {
    private struct Fields: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    private static func place(_ flags: String) -> InstrumentationContext {
        var context = InstrumentationContext.topLevel
        NodeTracer().extract(
            ["traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-\(flags)", "tracestate": "a=1"],
            into: &context, using: Fields())
        return context
    }

    private static func queue() -> SpanQueue { SpanQueue(metrics: NOOPMetricsHandler.instance) }

    @Test(arguments: [("01", 0.0, true), ("00", 1.0, false)])
    func `the sender of a trace decides whether it is recorded`(flags: String, ratio: Double, isRecorded: Bool) {
        let queue = Self.queue()
        let span = NodeTracer(queue: queue, ratio: ratio).startSpan("one", context: Self.place(flags))
        #expect(span.isRecording == isRecorded && span.trace.state == "a=1")
        span.end()
        #expect(queue.take(9).count == (isRecorded ? 1 : 0))
    }

    @Test(arguments: [(0.0, 0...0), (0.25, 150...350), (1.0, 1000...1000)])
    func `traces that begin here are recorded as often as asked for`(ratio: Double, count: ClosedRange<Int>) {
        let tracer = NodeTracer(queue: Self.queue(), ratio: ratio)
        #expect(count.contains((0..<1000).count { _ in tracer.startSpan("one", context: .topLevel).isRecording }))
    }

    @Test func `a part is a child of what it is part of`() async throws {
        let queue = Self.queue()
        let root = NodeTracer(queue: queue).startSpan("root", context: .topLevel, ofKind: .server)
        await InstrumentationContext.withValue(root.inner) {
            await traced("part") { span in
                #expect(span != nil)
                await traced("of the part") { _ in }
            }
        }
        root.end()
        let spans = queue.take(9)
        try #require(spans.map(\.name) == ["of the part", "part", "root"])
        #expect(spans[0].parent == spans[1].trace.spanID && spans[1].parent == spans[2].trace.spanID)
        #expect(spans[2].parent == nil && Set(spans.map(\.trace.traceID)).count == 1)
    }

    @Test func `a part of what is not recorded costs no span`() async {
        let silent = NodeTracer(queue: Self.queue()).startSpan("root", context: Self.place("00"))
        await InstrumentationContext.withValue(silent.inner) { await traced("part") { #expect($0 == nil) } }
        await traced("outside") { #expect($0 == nil) }
        #expect(InstrumentationContext.current == nil)
    }

    private struct Failure: Error {}

    @Test func `a part that throws is marked by the type of its error`() async throws {
        let queue = Self.queue()
        let root = NodeTracer(queue: queue).startSpan("root", context: .topLevel)
        _ = await InstrumentationContext.withValue(root.inner) {
            await #expect(throws: Failure.self) { try await traced("part") { _ in throw Failure() } }
        }
        let span = try #require(queue.take(1).first)
        #expect(span.status?.code == .error && span.events.first?.attributes.get("exception.type") == "Failure")
    }

    @Test func `a span ends once and a discarded one never`() {
        let queue = Self.queue()
        let tracer = NodeTracer(queue: queue)
        let (ended, discarded) = (tracer.startSpan("a", context: .topLevel), tracer.startSpan("b", context: .topLevel))
        ended.end()
        ended.end()
        discarded.discard()
        discarded.end()
        #expect(queue.take(9).map(\.name) == ["a"])
    }

    @Test func `a full queue drops what comes and counts it`() {
        let metrics = MetricRegistry()
        let queue = SpanQueue(metrics: metrics)
        let tracer = NodeTracer(queue: queue)
        for _ in 0..<(SpanQueue.limit + 3) { tracer.startSpan("a", context: .topLevel).end() }
        #expect(queue.take(.max).count == SpanQueue.limit)
        var samples = MetricSamples()
        metrics.collect(into: &samples)
        let text = String(decoding: MetricText.openMetrics.bytes(of: samples), as: UTF8.self)
        #expect(text.contains(#"pinledger_trace_spans_total{outcome="dropped"} 3"#))
    }

    @Test func `a place goes out in the fields it came in`() {
        var fields: [String: String] = [:]
        NodeTracer().inject(Self.place("01"), into: &fields, using: Fields())
        #expect(
            fields == [
                "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=1",
            ])
        fields = [:]
        NodeTracer().inject(.topLevel, into: &fields, using: Fields())
        #expect(fields.isEmpty)
    }

    @Test func `spans have the form of OTLP in JSON`() throws {
        let queue = Self.queue()
        let span = NodeTracer(queue: queue).startSpan(
            "GET /", context: Self.place("01"), ofKind: .server,
            at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 1_700_000_000_000_000_001))
        span.attributes = ["text": "a\"b", "number": 7, "list": .stringArray(["x"]), "flag": .bool(true), "half": 0.5]
        span.setStatus(.init(code: .error, message: "no"))
        // Earlier than the beginning: the clock was set back.
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 1_600_000_000_000_000_000))
        let bytes = OTLPText(resource: [("service.name", "test")], version: "1").bytes(of: queue.take(9))
        let resource = try #require(try JSON(parsing: bytes)["resourceSpans"]?.arrayValue?.first)
        #expect(
            resource["resource"] == ["attributes": [["key": "service.name", "value": ["stringValue": "test"]]]])
        let scope = try #require(resource["scopeSpans"]?.arrayValue?.first)
        #expect(scope["scope"] == ["name": "pinledger", "version": "1"])
        let json = try #require(scope["spans"]?.arrayValue?.first)
        #expect(json["traceId"] == "4bf92f3577b34da6a3ce929d0e0e4736" && json["parentSpanId"] == "00f067aa0ba902b7")
        #expect(json["kind"] == 2 && json["traceState"] == "a=1" && json["status"] == ["code": 2, "message": "no"])
        #expect(json["startTimeUnixNano"] == "1700000000000000001" && json["endTimeUnixNano"] == "1700000000000000001")
        #expect(
            json["attributes"] == [
                ["key": "flag", "value": ["boolValue": true]], ["key": "half", "value": ["doubleValue": .number(0.5)]],
                ["key": "list", "value": ["arrayValue": ["values": [["stringValue": "x"]]]]],
                ["key": "number", "value": ["intValue": "7"]], ["key": "text", "value": ["stringValue": "a\"b"]],
            ])
    }
}
