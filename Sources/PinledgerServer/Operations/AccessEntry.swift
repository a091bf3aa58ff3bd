import Addresses
import PinWire
import Pinning

/// What the access log says of one answered request. It has no secret: neither query nor fields of the request, and of paths only those
/// that hold none.
struct AccessEntry {
    var time: Timestamp
    var address: IPAddress
    var method: String
    var path: String
    /// Nil where no operation of the contract was asked for, and for what is answered from prepared bytes.
    var operation: String?
    var status: Int
    /// Bytes of the body before any coding of the transfer; nil where the answer is a stream.
    var bytes: Int?
    /// From the whole head of the request to its answer; nil for what is answered from prepared bytes.
    var duration: Duration?
    var requestID: String?
    var traceID: String?
    var actor: Actor?
    var app: AppID?

    /// One line, its line feed included.
    func line(_ form: LogFormat) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        switch form {
        case .json: self.writeJSON(to: &line)
        case .text: self.writeText(to: &line)
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private func writeJSON(to line: inout [UInt8]) {
        line += #"{"time":""#.utf8
        line += self.time.rfc3339.utf8
        line.append(UInt8(ascii: "\""))
        func add(_ name: StaticString, _ text: String?) {
            guard let text else { return }
            line += ",\"\(name)\":".utf8
            JSON.appendQuoted(text, to: &line)
        }
        func add(_ name: StaticString, _ number: Int?) {
            guard let number else { return }
            line += ",\"\(name)\":\(number)".utf8
        }
        add("address", self.address.description)
        add("method", self.method)
        add("path", self.path)
        add("operation", self.operation)
        add("status", self.status)
        add("bytes", self.bytes)
        add("microseconds", self.duration.map(Self.microseconds))
        add("request_id", self.requestID)
        add("trace_id", self.traceID)
        add("actor", self.actor.map(Self.name))
        add("app", self.app?.text)
        line.append(UInt8(ascii: "}"))
    }

    private func writeText(to line: inout [UInt8]) {
        line += "\(self.time.rfc3339) \(self.address) \(self.method) ".utf8
        // What HTTP/2 lets into a path ends no line.
        line += self.path.utf8.map { $0 > 0x20 && $0 != 0x7F ? $0 : UInt8(ascii: "?") }
        line += " \(self.status)".utf8
        if let bytes { line += " \(bytes)B".utf8 }
        if let duration { line += " \(Self.microseconds(duration))us".utf8 }
        func add(_ name: StaticString, _ text: String?) {
            guard let text else { return }
            line += " \(name)=\(text.printable)".utf8
        }
        add("operation", self.operation)
        add("app", self.app?.text)
        add("actor", self.actor.map(Self.name))
        add("request_id", self.requestID)
        add("trace_id", self.traceID)
    }

    private static func name(_ actor: Actor) -> String { "\(actor.kind.rawValue):\(actor.id)" }

    private static func microseconds(_ duration: Duration) -> Int {
        Int(clamping: Int64((duration / .microseconds(1)).rounded()))
    }
}

extension AccessEntry {
    /// What the first part of a path may be, where there is no operation at it.
    private static let beginnings: Set = [
        "calendars", "client", "compat", "handbook", "healthz", "log", "metrics", "openapi.json", "openapi.yaml",
        "problems", "readyz", "v1",
    ]

    /// The path of a request as far as it can hold no secret: without the query, and with its parameters only where the operation took
    /// them. Where it did not, someone may have sent a token in place of a name.
    static func shownPath(_ path: Substring, of route: Route?, status: Int) -> String {
        if let route {
            guard status < 400, !route.takesSecret, let shown = String(path.utf8.prefix(512)) else { return route.path }
            return shown
        }
        let segments = path.split(separator: "/", maxSplits: 1)
        guard let first = segments.first else { return "/" }
        guard Self.beginnings.contains(String(first)) else { return "/…" }
        return "/\(first)\(segments.count > 1 ? "/…" : "")"
    }
}
