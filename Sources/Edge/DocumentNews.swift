import NIOCore
package import PinWire

/// What an upstream says of one app on its stream of all documents.
package struct DocumentNews: Hashable, Sendable {
    package let app: AppID
    /// The entity tag of the new document.
    package let tag: String
    /// The document; nil where it is to be fetched.
    package let document: [UInt8]?

    init?(_ data: ArraySlice<UInt8>) {
        guard let json = try? JSON(parsing: Array(data), limits: JSONLimits(depth: 2, nodes: 16)),
            let app = json["app"]?.stringValue.flatMap({ try? AppID($0) }), let tag = json["etag"]?.stringValue
        else { return nil }
        self.app = app
        self.tag = tag
        self.document = json["document"]?.stringValue.map { Array($0.utf8) }
    }
}

/// Reads server-sent events of documents (HTML standard, section 9.2) from pieces of a stream, within a limit.
///
/// Events of other kinds and ids are skipped: what is missed is found by the list.
package struct DocumentNewsReader {
    /// A line is longer than any that an upstream sends.
    package struct LineTooLong: Error, CustomStringConvertible {
        package var description: String { "a line of the stream has more than \(DocumentNewsReader.lineLimit) bytes" }
    }

    /// The most bytes of a line: a document of 64 KiB and what stands around it.
    static let lineLimit = 96 * 1024

    /// How long the upstream asks to wait before the stream is opened again, in milliseconds; nil where it asks for nothing.
    package private(set) var retry: Int?
    private var line: [UInt8] = []
    private var event = ""
    private var data: [UInt8] = []

    package init() {}

    /// The news that are complete with the next piece.
    package mutating func read(_ piece: some Collection<UInt8>) throws(LineTooLong) -> [DocumentNews] {
        var news: [DocumentNews] = []
        var rest = piece[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            try self.add(rest[..<end])
            if let document = self.endLine() { news.append(document) }
            rest = rest[rest.index(after: end)...]
        }
        try self.add(rest)
        return news
    }

    private mutating func add(_ bytes: some Collection<UInt8>) throws(LineTooLong) {
        guard self.line.count + bytes.count <= Self.lineLimit else { throw LineTooLong() }
        self.line += bytes
    }

    private mutating func endLine() -> DocumentNews? {
        defer { self.line.removeAll(keepingCapacity: true) }
        if self.line.last == UInt8(ascii: "\r") { self.line.removeLast() }
        guard !self.line.isEmpty else {
            defer { (self.event, self.data) = ("", []) }
            return self.event == "document" ? DocumentNews(self.data[...]) : nil
        }
        if let value = Self.value(of: "retry", in: self.line) {
            if value.count <= 6, let milliseconds = String(ascii: value).flatMap({ Int($0) }), milliseconds >= 0 {
                self.retry = milliseconds
            }
        } else if let value = Self.value(of: "event", in: self.line) {
            self.event = String(ascii: value) ?? ""
        } else if let value = Self.value(of: "data", in: self.line) {
            // One line holds all that an upstream says of a document.
            self.data = Array(value)
        }
        return nil
    }

    private static func value(of name: String, in line: [UInt8]) -> ArraySlice<UInt8>? {
        guard line.starts(with: "\(name):".utf8) else { return nil }
        let value = line.dropFirst(name.utf8.count + 1)
        return value.first == UInt8(ascii: " ") ? value.dropFirst() : value
    }
}
