import PinWire
import Pinning
import Postgres
import TransparencyLog

/// The rows of a batch, column by column as the append statement takes them. They are filled while the batch gathers,
/// so that little work is left when the database is ready.
struct AppendRows: Sendable {
    private var streams = PostgresArray<String>()
    private var streamVersions = PostgresArray<Int64>()
    private var types = PostgresArray<String>()
    private var actorKinds = PostgresArray<String>()
    private var actorIDs = PostgresArray<String>()
    private var entries = PostgresArray<[UInt8]>()
    private var keyActors = PostgresArray<String>()
    private var keys = PostgresArray<String>()
    private var keyDigests = PostgresArray<[UInt8]>()
    private var keyFirsts = PostgresArray<Int64>()
    private var keyCounts = PostgresArray<Int32>()

    var isEmpty: Bool { self.entries.isEmpty && self.keys.isEmpty }

    mutating func append(_ entry: Entry, of stream: String, bytes: [UInt8]) {
        self.streams.append(stream)
        self.streamVersions.append(entry.streamVersion)
        self.types.append(entry.event.type)
        self.actorKinds.append(entry.origin.actor.kind.rawValue)
        self.actorIDs.append(entry.origin.actor.id)
        self.entries.append(bytes)
    }

    /// A command with an idempotency key, the position of its first event, and its number of events.
    mutating func append(_ key: CommandKey, digest: [UInt8], first: Int64, count: Int) {
        self.keyActors.append(key.actor)
        self.keys.append(key.key)
        self.keyDigests.append(digest)
        self.keyFirsts.append(first)
        self.keyCounts.append(Int32(clamping: count))
    }

    fileprivate var events: [PostgresValue] {
        [
            self.streams.value, self.streamVersions.value, self.types.value, self.actorKinds.value, self.actorIDs.value,
            self.entries.value,
        ]
    }

    fileprivate var commands: [PostgresValue] {
        [
            self.keyActors.value, self.keys.value, self.keyDigests.value, self.keyFirsts.value, self.keyCounts.value,
        ]
    }
}

extension Batch {
    /// The parameters of ``Statements/append``.
    ///
    /// - Parameter key: The key of nodes that authenticate what they append.
    func parameters(isAnnounced: Bool, key: BatchKey?) -> [PostgresValue] {
        let mac = key.map { PostgresValue.bytes($0.mac(of: self.after.head)) } ?? .null
        let signature = key?.signature(of: self.after.head).map { PostgresValue.bytes($0) } ?? .null
        let head: [PostgresValue] = [
            .int64(self.base.head.position),
            .bytes(self.base.head.frontier.encoded),
            .bytes(self.after.head.frontier.encoded),
            .timestamp(self.after.head.lastTime.microseconds),
        ]
        let tiles: [PostgresValue] = [
            .int16Array(self.tileRoots.map { Int16($0.level) }),
            .int64Array(self.tileRoots.map { Int64($0.index) }),
            .bytesArray(self.tileRoots.map(\.hash.bytes)),
        ]
        let streams: [PostgresValue] = [
            .textArray(self.streams.keys.map(\.text)),
            .int64Array(self.streams.values.map(\.before)),
            .int64Array(self.streams.values.map(\.after)),
            .int64Array(self.streams.values.map(\.last)),
        ]
        return head + self.rows.events + tiles + streams + self.rows.commands + [.bool(isAnnounced), mac, signature]
    }
}
