import Foundation
package import Logging
import PinWire
import Synchronization
import Traces

/// The form in which a process writes its log to standard error.
package enum LogFormat: String, CaseIterable, Sendable {
    /// Lines for people.
    case text
    /// One JSON object (RFC 8259) a line, for programs.
    case json

    /// A handler that writes lines of this form.
    package func handler(label: String) -> any LogHandler {
        switch self {
        case .text: StreamLogHandler.standardError(label: label, metadataProvider: .trace)
        case .json: JSONLogHandler(metadataProvider: .trace) { Self.write($0) }
        }
    }

    /// One line at a time: lines of two threads do not mix.
    private static let turn = Mutex(())

    private static func write(_ line: [UInt8]) {
        Self.turn.withLock { _ in
            // What cannot be written has nowhere else to go.
            try? FileHandle.standardError.write(contentsOf: line)
        }
    }
}

/// Writes each line of the log as one JSON object: `time` (RFC 3339), `level`, `message`, and the details of the line, `code` among them,
/// by their names.
///
/// What comes from outside is a JSON string like any other: it can neither end the line nor add a member.
struct JSONLogHandler: LogHandler {
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let write: @Sendable ([UInt8]) -> Void

    /// The members that a detail cannot replace.
    private static let own: Set = ["time", "level", "message"]

    /// - Parameter write: Called with a whole line, its line feed included.
    init(metadataProvider: Logger.MetadataProvider? = nil, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.metadataProvider = metadataProvider
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        var members: [String: JSON] = [:]
        let details = [self.metadataProvider?.get() ?? [:], event.metadata ?? [:]]
            .reduce(self.metadata) { $0.merging($1) { $1 } }
        for (name, value) in details { members[Self.own.contains(name) ? "detail_\(name)" : name] = Self.json(value) }
        members["time"] = .string(now.rfc3339)
        members["level"] = .string(event.level.rawValue)
        members["message"] = .string("\(event.message)")
        if let error = event.error, members["error"] == nil { members["error"] = .string("\(error)") }
        self.write(JSON.object(members).canonicalBytes + [UInt8(ascii: "\n")])
    }

    private static func json(_ value: Logger.Metadata.Value) -> JSON {
        switch value {
        case .string(let text): .string(text)
        case .stringConvertible(let value): .string(value.description)
        case .array(let values): .array(values.map(Self.json))
        case .dictionary(let members): .object(members.mapValues(Self.json))
        }
    }
}
