import PinWire
import Traces
import Tracing

/// Spans in the JSON of the OpenTelemetry protocol (OTLP 1.x, `ExportTraceServiceRequest`): ids in hexadecimal digits, 64-bit numbers as
/// strings, enumerations as numbers (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
struct OTLPText {
    /// What the spans are of: `service.name` and its like.
    let resource: [(name: String, value: String)]
    let version: String

    func bytes(of spans: [FinishedSpan]) -> [UInt8] {
        let scope: JSON = ["name": "pinledger", "version": .string(self.version)]
        let resource: JSON = ["attributes": .array(self.resource.map { Self.attribute($0.name, .string($0.value)) })]
        let scoped: JSON = ["scope": scope, "spans": .array(spans.map(Self.json))]
        let content: JSON = ["resource": resource, "scopeSpans": [scoped]]
        let message: JSON = ["resourceSpans": [content]]
        return message.canonicalBytes
    }

    private static func json(_ span: FinishedSpan) -> JSON {
        var members: [String: JSON] = [
            "traceId": .string("\(span.trace.traceID)"), "spanId": .string("\(span.trace.spanID)"),
            "name": .string(span.name), "kind": .integer(Self.number(of: span.kind)),
            "startTimeUnixNano": .string("\(span.start)"), "endTimeUnixNano": .string("\(span.end)"),
            "flags": 1, "attributes": Self.attributes(span.attributes),
        ]
        if let parent = span.parent { members["parentSpanId"] = .string("\(parent)") }
        if !span.trace.state.isEmpty { members["traceState"] = .string(span.trace.state) }
        if !span.events.isEmpty {
            members["events"] = .array(
                span.events.map { event in
                    [
                        "name": .string(event.name), "timeUnixNano": .string("\(event.nanosecondsSinceEpoch)"),
                        "attributes": Self.attributes(event.attributes),
                    ]
                })
        }
        if let status = span.status {
            var json: [String: JSON] = ["code": .integer(status.code == .ok ? 1 : 2)]
            if let message = status.message { json["message"] = .string(message) }
            members["status"] = .object(json)
        }
        return .object(members)
    }

    private static func number(of kind: SpanKind) -> Int64 {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func attributes(_ attributes: SpanAttributes) -> JSON {
        var values: [(String, SpanAttribute)] = []
        attributes.forEach { values.append(($0, $1)) }
        return .array(values.sorted { $0.0 < $1.0 }.map { Self.attribute($0, $1) })
    }

    private static func attribute(_ name: String, _ value: SpanAttribute) -> JSON {
        ["key": .string(name), "value": Self.value(value)]
    }

    private static func value(_ value: SpanAttribute) -> JSON {
        func list<Element>(_ values: [Element], _ one: (Element) -> SpanAttribute) -> JSON {
            ["arrayValue": ["values": .array(values.map { Self.value(one($0)) })]]
        }
        // The package forbids a switch over all of its cases.
        switch value {
        case .int32(let number): return ["intValue": .string("\(number)")]
        case .int64(let number): return ["intValue": .string("\(number)")]
        case .double(let number):
            return ["doubleValue": number == number.rounded() ? .string("\(number)") : .number(number)]
        case .bool(let value): return ["boolValue": .bool(value)]
        case .string(let text): return ["stringValue": .string(text)]
        case .stringConvertible(let value): return ["stringValue": .string("\(value)")]
        case .int32Array(let values): return list(values) { .int32($0) }
        case .int64Array(let values): return list(values) { .int64($0) }
        case .doubleArray(let values): return list(values) { .double($0) }
        case .boolArray(let values): return list(values) { .bool($0) }
        case .stringArray(let values): return list(values) { .string($0) }
        case .stringConvertibleArray(let values): return list(values) { .stringConvertible($0) }
        default: return ["stringValue": ""]
        }
    }
}
