import PinWire
package import Pinning

/// An event as somewhere outside the database has it: a receiver of webhooks, an export. Nothing authenticates it.
package struct DeliveredEvent: Sendable {
    package var position: Int64
    /// The event; nil where it needs a later program.
    package var entry: Entry?
    /// The entry as it was recorded and hashed.
    package var bytes: [UInt8]
    /// The number of the epoch in which it was recorded; nil where the source does not say.
    package var epoch: Int64?

    /// Why a file is not read.
    package struct Defect: Error, Hashable, Sendable, CustomStringConvertible {
        package var line: Int
        package var reason: String
        package var description: String { "line \(self.line) \(self.reason)" }
    }

    /// The most bytes of a line: an entry of the largest size, with its message around it, in any form of JSON.
    private static let lineLimit = 1 << 19

    /// Reads a file of lines of JSON: messages as webhooks carry them, or entries by themselves. Messages without an event are left
    /// out, which tests are.
    ///
    /// - Throws: ``Defect`` at the first line that is neither.
    package static func list(_ bytes: [UInt8]) throws(Defect) -> [DeliveredEvent] {
        var events: [DeliveredEvent] = []
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            guard line.count <= Self.lineLimit else {
                throw Defect(line: number, reason: "has \(line.count) bytes, and at most \(Self.lineLimit) are read")
            }
            do { if let event = try Self.event(Array(line)) { events.append(event) } } catch {
                throw Defect(line: number, reason: "is neither a message of a webhook nor an event: \(error)")
            }
        }
        return events
    }

    private static func event(_ line: [UInt8]) throws -> DeliveredEvent? {
        let json = try JSON(parsing: line, limits: .stored(depth: 18, nodes: 100_000))
        let message = json["webhook_id"]
        guard let value = message == nil ? json : json["entry"] else { return nil }
        // Receivers store messages in forms of their own; what is recorded is the canonical one.
        let bytes = value.canonicalBytes
        let number = json["id"]?.stringValue.flatMap { id in id.split(separator: "_").last.flatMap(EpochNumber.init) }
        let epoch = message == nil ? nil : number?.epoch
        do throws(JSONDefect) {
            let entry = try Entry(bytes: bytes)
            guard entry.streamVersion <= entry.position + 1 else {
                throw JSONDefect(pointer: JSONPointer(["stream_version"]), message: "is larger than the ledger")
            }
            return DeliveredEvent(position: entry.position, entry: entry, bytes: bytes, epoch: epoch)
        } catch {
            guard LaterProgram(unread: bytes) != nil, let position = value["position"]?.integerValue,
                (0..<JSON.largestInteger).contains(position)
            else { throw error }
            return DeliveredEvent(position: position, entry: nil, bytes: bytes, epoch: epoch)
        }
    }
}
