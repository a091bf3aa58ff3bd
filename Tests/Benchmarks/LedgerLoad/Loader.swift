import EventStore
import PinWire
import Pinning
import Postgres
import TransparencyLog

/// Appends events to a ledger in batches, by the function that every writer uses.
struct Loader {
    private let pool: PostgresPool
    private let key: BatchKey?
    private var head = Head()
    private var versions: [AppID: Int64] = [:]
    private var time: Timestamp
    private(set) var entryBytes: Int64 = 0

    /// Seconds between one batch and the next; zero behind events of the present, so that the ledger does not end in the future.
    private var pace: Int64 = 20

    init(pool: PostgresPool, key: BatchKey?, start: Timestamp) {
        self.pool = pool
        self.key = key
        self.time = start
    }

    var position: Int64 { self.head.position }
    var root: String { self.head.frontier.root.description }

    /// Learns where the ledger ends, and how long its streams are.
    mutating func readExisting() async throws {
        self.head = try await LedgerReader(pool: self.pool).head()
        if self.head.lastTime > self.time { (self.time, self.pace) = (self.head.lastTime, 0) }
        let rows = try await self.pool.query("SELECT name, version FROM pinledger.stream")
        for row in rows {
            guard let app = StreamID(text: try row.text(0))?.app else { continue }
            self.versions[app] = try row.int64(1)
        }
    }

    mutating func append(_ lines: [Story.Line]) async throws {
        guard !lines.isEmpty else { return }
        self.time = self.time.adding(seconds: self.pace)
        var after = self.head.frontier
        var entries: [Entry] = []
        var bytes: [[UInt8]] = []
        var roots: [TileRoot] = []
        var streams: [AppID: (before: Int64, after: Int64, last: Int64)] = [:]
        for line in lines {
            let version = self.versions[line.app, default: 0] + 1
            self.versions[line.app] = version
            let position = self.head.position + Int64(entries.count)
            streams[line.app] = (streams[line.app]?.before ?? version - 1, version, position)
            let entry = Entry(
                position: position, stream: .app(line.app), streamVersion: version,
                time: self.time, event: .app(line.event), origin: line.origin
            )
            entries.append(entry)
            bytes.append(entry.bytes)
            self.entryBytes += Int64(bytes[bytes.count - 1].count)
            roots += after.append(leaf: MerkleTree.leafHash(bytes[bytes.count - 1]))
        }
        let grown = streams.sorted { $0.key < $1.key }
        let end = Head(position: self.head.position + Int64(lines.count), frontier: after, lastTime: self.time)
        let rows = try await self.pool.query(
            Self.statement,
            [
                .int64(self.head.position), .bytes(self.head.frontier.encoded), .bytes(after.encoded),
                .timestamp(self.time.microseconds),
                .textArray(entries.map(\.stream.text)), .int64Array(entries.map(\.streamVersion)),
                .textArray(entries.map(\.event.type)), .textArray(entries.map(\.origin.actor.kind.rawValue)),
                .textArray(entries.map(\.origin.actor.id)), .bytesArray(bytes),
                .int16Array(roots.map { Int16($0.level) }), .int64Array(roots.map { Int64($0.index) }),
                .bytesArray(roots.map(\.hash.bytes)),
                .textArray(grown.map { "app/\($0.key)" }), .int64Array(grown.map(\.value.before)),
                .int64Array(grown.map(\.value.after)), .int64Array(grown.map(\.value.last)),
                .textArray([]), .textArray([]), .bytesArray([]), .int64Array([]), .int32Array([]),
                .bool(true), self.key.map { .bytes($0.mac(of: end)) } ?? .null,
                self.key?.signature(of: end).map { .bytes($0) } ?? .null,
            ]
        )
        guard try rows.only.text(0) == "appended" else { throw Moved() }
        self.head = end
    }

    /// Another process wrote to the ledger.
    struct Moved: Error {}

    private static let statement = """
        SELECT outcome FROM pinledger.append(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
            $24, $25)
        """
}
