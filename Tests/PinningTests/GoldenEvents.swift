import Foundation

/// `Golden/events.ndjson`: one entry's canonical bytes a line, of every type of event and every shape of its data. Lines
/// are added, never changed: ledgers hold such bytes.
enum GoldenEvents {
    static let lines: [[UInt8]] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/events.ndjson")
        guard let data = try? Data(contentsOf: file) else { return [] }
        return data.split(separator: UInt8(ascii: "\n")).map { Array($0) }
    }()

    /// A line's words, for a failed test.
    static func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }
}
