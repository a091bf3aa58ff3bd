internal import PinWire

/// Reads server-sent events (WHATWG HTML, section 9.2.6) out of bytes as they arrive: a value, whose cost grows linearly with them.
///
/// A line, and the data of an event, may have ``lineLimit`` bytes: the server sends no document of more than 64 KiB.
struct EventStream: Sendable {
    /// The most bytes of a line, and of an event's data.
    static let lineLimit = 128 << 10

    struct Event: Hashable, Sendable {
        /// `event`; `message` where there is none.
        var kind = "message"
        /// `data`: its lines, with line feeds between them.
        var data: [UInt8] = []
    }

    /// Why a stream is given up.
    enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case tooLong

        var description: String { "it sends a line of more than \(EventStream.lineLimit) bytes" }
    }

    /// The server's time to reconnect, `retry`; nil where it has said none.
    private(set) var retry: Duration?
    private var line: [UInt8] = []
    /// Whether the last byte was a carriage return: a line feed after it belongs to the same end.
    private var wasReturn = false
    private var kind: String?
    private var data: [UInt8]?
    private var isFirstLine = true
    /// How many comments have come: the server's sign of life.
    private(set) var comments = 0
    /// Whether nothing of an event is there that is not complete.
    var isBetweenEvents: Bool { self.line.isEmpty && self.kind == nil && self.data == nil }

    /// Takes in what came, and returns the events that it completes.
    mutating func feed(_ bytes: some Sequence<UInt8>) throws(Failure) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n"):
                defer { self.wasReturn = false }
                if !self.wasReturn { try self.end(&events) }
            case UInt8(ascii: "\r"):
                self.wasReturn = true
                try self.end(&events)
            default:
                self.wasReturn = false
                guard self.line.count < Self.lineLimit else { throw .tooLong }
                self.line.append(byte)
            }
        }
        return events
    }

    /// Takes in a line.
    private mutating func end(_ events: inout [Event]) throws(Failure) {
        defer { self.line.removeAll(keepingCapacity: true) }
        if self.isFirstLine, self.line.starts(with: [0xEF, 0xBB, 0xBF]) { self.line.removeFirst(3) }
        self.isFirstLine = false
        guard !self.line.isEmpty else {
            if let data = self.data { events.append(Event(kind: self.kind ?? "message", data: data)) }
            self.kind = nil
            self.data = nil
            return
        }
        let colon = self.line.firstIndex(of: UInt8(ascii: ":")) ?? self.line.endIndex
        var value = self.line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        if colon == self.line.startIndex { self.comments += 1 }
        switch String(ascii: self.line[..<colon]) {
        case "event": self.kind = String(ascii: value)
        case "data":
            // In place: an event of very many lines costs no more than its bytes.
            guard (self.data?.count ?? 0) + value.count < Self.lineLimit else { throw .tooLong }
            if self.data == nil { self.data = [] } else { self.data?.append(UInt8(ascii: "\n")) }
            self.data?.append(contentsOf: value)
        case "retry":
            if value.count < 10, let number = String(ascii: value).flatMap({ UInt32($0) }) {
                self.retry = .milliseconds(number)
            }
        default: break
        }
    }
}
