import ArgumentParser
import PinWire
import TransparencyLog

/// A form in which events leave for other programs.
enum EventExport: String, CaseIterable, ExpressibleByArgument {
    case ndjson, csv, cloudevents, ocsf

    /// What stands before the first event; nil for nothing.
    var header: [UInt8]? { self == .csv ? CSVRow.header.bytes : nil }

    /// An event with its end of line.
    ///
    /// - Parameters:
    ///   - event: An entry of the ledger, as the server shows it.
    ///   - server: The address of the server that showed it.
    func line(of event: JSON, from server: String) throws(CommandFailure) -> [UInt8] {
        let entry = event.canonicalBytes
        guard let position = event["position"]?.integerValue, let moment = event["time"]?.stringValue,
            let time = Timestamp(rfc3339: moment), let type = event["type"]?.stringValue,
            let stream = event["stream"]?.stringValue
        else { throw CommandFailure("the server has shown an event without a position, time, type or stream") }
        switch self {
        case .ndjson: return entry + [UInt8(ascii: "\n")]
        case .csv: return CSVRow(event).bytes
        case .cloudevents, .ocsf:
            let facts = ExportedEvent(
                entry: event, id: Hex.encode(MerkleTree.leafHash(entry).bytes), position: position, time: time,
                type: type, stream: stream, server: server)
            return (self == .ocsf ? facts.ocsf : facts.cloudEvent).canonicalBytes + [UInt8(ascii: "\n")]
        }
    }
}

/// An event with what every form for other programs is made from.
struct ExportedEvent {
    let entry: JSON
    /// The hash of its leaf in the transparency log, in hexadecimal digits: no other event has it, in any epoch.
    let id: String
    let position: Int64
    let time: Timestamp
    let type: String
    let stream: String
    /// The address of the server.
    let server: String

    /// CloudEvents 1.0.2, structured content mode, with the extension `sequence`: nineteen digits, which sort as text.
    var cloudEvent: JSON {
        let digits = "\(self.position)"
        return [
            "specversion": "1.0", "id": .string(self.id), "source": .string(self.server),
            "type": .string("pinledger.\(self.type)"), "subject": .string(self.stream),
            "time": .string(self.time.rfc3339), "datacontenttype": "application/json",
            "sequence": .string(String(repeating: "0", count: max(0, 19 - digits.count)) + digits),
            "data": self.entry,
        ]
    }
}
