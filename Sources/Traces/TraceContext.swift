import PinWire
package import Tracing

/// A request's place in a trace, as the W3C's Trace Context spells it (https://www.w3.org/TR/trace-context/).
package struct TraceContext: Hashable, Sendable {
    /// The trace's id: 16 bytes, not all of them zero.
    package let traceID: TraceID
    /// The id of the span that the request belongs to: 8 bytes, not all of them zero.
    package let spanID: SpanID
    /// Whether who began the trace records it.
    package let isSampled: Bool
    /// What other systems add to the trace, passed on as it came; empty for nothing.
    package let state: String

    package init(traceID: TraceID, spanID: SpanID, isSampled: Bool, state: String = "") {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
        self.state = state
    }

    /// Characters of `tracestate` that are passed on. A longer one is dropped, as section 3.3.1.5 allows.
    private static let stateLimit = 512

    /// Reads the two header fields. `state` is dropped where it is too long or not printable ASCII.
    ///
    /// - Parameter parent: `traceparent`: of version 00 exactly, or of a later one that begins like it (section 4.3).
    /// - Returns: Nil where `parent` is malformed: the trace begins here then.
    package init?(parent: String, state: String?) {
        let bytes = Array(parent.utf8)
        guard bytes.count >= 55, bytes.count <= 255, bytes[2] == Self.dash, bytes[35] == Self.dash,
            bytes[52] == Self.dash,
            let version = Self.hex(bytes[0..<2])?.first, version != 0xFF,
            version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == Self.dash,
            let traceID = Self.hex(bytes[3..<35]).flatMap({ TraceID($0) }),
            let spanID = Self.hex(bytes[36..<52]).flatMap({ SpanID($0) }),
            let flags = Self.hex(bytes[53..<55])?.first
        else { return nil }
        self.init(traceID: traceID, spanID: spanID, isSampled: flags & 1 == 1, state: Self.passable(state))
    }

    /// `traceparent`: version, trace id, span id and flags in lower-case hexadecimal digits.
    package var parent: String {
        "00-\(self.traceID)-\(self.spanID)-\(self.isSampled ? "01" : "00")"
    }

    private static let dash = UInt8(ascii: "-")

    private static func hex(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        Hex.decode(String(decoding: digits, as: UTF8.self))
    }

    /// The state, where it is a list of at most 32 members `key=value` (section 3.3.1); empty members are allowed.
    private static func passable(_ state: String?) -> String {
        guard let state, state.utf8.count <= Self.stateLimit, state.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return "" }
        let members = state.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        let isValid = members.allSatisfy { member in
            let text = member.drop { $0 == 0x20 }
            guard !text.isEmpty else { return true }
            let parts = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && !parts[0].isEmpty && parts[0].allSatisfy(Self.isOfKey)
                && parts[1].contains { $0 != 0x20 } && !parts[1].contains(UInt8(ascii: "="))
        }
        return isValid && members.count <= 32 ? state : ""
    }

    private static func isOfKey(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            || Array("_-*/@".utf8).contains(byte)
    }
}

/// The id of a trace: 16 bytes, not all of them zero.
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }

    /// A random one. It need not be unpredictable.
    package static func random() -> TraceID {
        // Only the first byte is kept from being zero.
        TraceID(known: [.random(in: 1...UInt8.max)] + (0..<15).map { _ in .random(in: .min ... .max) })
    }

    private init(known bytes: [UInt8]) { self.bytes = bytes }

    /// The last 53 bits as a share of all such numbers, from 0 to less than 1: the same on every node.
    var share: Double {
        Double(self.bytes[8...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & (1 << 53 - 1)) / Double(UInt64(1) << 53)
    }

    /// 32 lower-case hexadecimal digits.
    package var description: String { Hex.encode(self.bytes) }
}

/// The id of a span within its trace: 8 bytes, not all of them zero.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 8, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }

    static func random() -> SpanID {
        SpanID(known: [.random(in: 1...UInt8.max)] + (0..<7).map { _ in .random(in: .min ... .max) })
    }

    private init(known bytes: [UInt8]) { self.bytes = bytes }

    /// 16 lower-case hexadecimal digits.
    package var description: String { Hex.encode(self.bytes) }
}

extension InstrumentationContext {
    private enum TraceKey: InstrumentationContextKey {
        typealias Value = TraceContext
        static var nameOverride: String? { "pinledger-trace" }
    }

    private enum SpanKey: InstrumentationContextKey {
        typealias Value = NodeSpan
        static var nameOverride: String? { "pinledger-span" }
    }

    /// The place in a trace of what the task does now; nil outside of every trace.
    package var trace: TraceContext? {
        get { self[TraceKey.self] }
        set { self[TraceKey.self] = newValue }
    }

    /// The span that is recorded of what the task does now; nil where none is.
    var span: NodeSpan? {
        get { self[SpanKey.self] }
        set { self[SpanKey.self] = newValue }
    }
}
