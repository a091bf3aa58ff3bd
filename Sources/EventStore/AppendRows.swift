import PinWire
import Pinning
import Postgres
import TransparencyLog

/// The entries of a batch, column by column as the append wants them: they are put there while the batch gathers, so that
/// nothing is left to do when the database is ready for it.
struct AppendRows: Sendable {
    private(set) var streams: [String?] = []
    private(set) var streamVersions: [Int64?] = []
    private(set) var types: [String?] = []
    private(set) var actorKinds: [String?] = []
    private(set) var actorIDs: [String?] = []
    private(set) var entries: [[UInt8]?] = []

    mutating func append(_ entry: Entry, of stream: String, bytes: [UInt8]) {
        self.streams.append(stream)
        self.streamVersions.append(entry.streamVersion)
        self.types.append(entry.event.type)
        self.actorKinds.append(entry.origin.actor.kind.rawValue)
        self.actorIDs.append(entry.origin.actor.id)
        self.entries.append(bytes)
    }
}

extension Batch {
    /// The parameters of ``Statements/append``.
    var parameters: [PostgresValue] {
        let streams = self.streams.sorted { $0.key.text < $1.key.text }
        return [
            .int64(self.base.head.position),
            .bytes(self.base.head.frontier.encoded),
            .bytes(self.after.head.frontier.encoded),
            .timestamp(self.after.head.lastTime.microseconds),
            .textArray(self.rows.streams),
            .int64Array(self.rows.streamVersions),
            .textArray(self.rows.types),
            .textArray(self.rows.actorKinds),
            .textArray(self.rows.actorIDs),
            .bytesArray(self.rows.entries),
            .int16Array(self.tileRoots.map { Int16($0.level) }),
            .int64Array(self.tileRoots.map { Int64($0.index) }),
            .bytesArray(self.tileRoots.map(\.hash.bytes)),
            .textArray(streams.map(\.key.text)),
            .int64Array(streams.map(\.value.before)),
            .int64Array(streams.map(\.value.after)),
            .int64Array(streams.map(\.value.last)),
            .textArray(self.keyed.map(\.key.actor)),
            .textArray(self.keyed.map(\.key.key)),
            .bytesArray(self.keyed.map { self.digests[$0.place] }),
            .int64Array(self.keyed.map(\.first)),
            .int32Array(self.keyed.map { Int32($0.count) }),
        ]
    }
}
