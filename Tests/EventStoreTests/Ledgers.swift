import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

/// What must hold of every ledger, looked at from outside the code under test.
enum Ledgers {
    /// Reads all of it with SQL, checks what can be checked, and returns the fold.
    @discardableResult
    static func check(_ database: TestDatabase) async throws -> LedgerView {
        let connection = try await database.connect()
        let rows = try await connection.query(
            "SELECT position, stream, stream_version, recorded_at, type, actor_kind, actor_id, entry, leaf_hash "
                + "FROM pinledger.event ORDER BY position"
        )
        var view = LedgerView()
        var tree = StoredTree()
        var versions: [String: Int64] = [:]
        for (expected, row) in rows.enumerated() {
            let bytes = try row.bytes(7)
            let entry = try Entry(bytes: bytes)
            let stream = try row.text(1)
            versions[stream, default: 0] += 1
            #expect(try row.int64(0) == Int64(expected))
            #expect(entry.position == Int64(expected))
            #expect(entry.bytes == bytes)
            #expect(entry.stream.text == stream)
            #expect(try row.int64(2) == versions[stream])
            #expect(try row.int64(2) == entry.streamVersion)
            #expect(try row.timestamp(3) == entry.time.microseconds)
            #expect(try row.text(4) == entry.event.type)
            #expect(try row.text(5) == entry.origin.actor.kind.rawValue)
            #expect(try row.text(6) == entry.origin.actor.id)
            #expect(try row.bytes(8) == MerkleTree.leafHash(bytes).bytes)
            tree.append(leaf: MerkleTree.leafHash(bytes))
            #expect(entry.time >= view.head.lastTime)
            #expect(
                view.state.apply(entry.event, of: entry.stream, version: entry.streamVersion, at: entry.effectiveAt)
                    == .applied)
            _ = view.extend(with: bytes, at: entry.time)
        }
        let head = try await connection.query("SELECT next_position, frontier, last_time FROM pinledger.head").only
        #expect(try head.int64(0) == Int64(rows.count))
        #expect(try head.bytes(1) == tree.frontier.encoded)
        #expect(try head.timestamp(2) == view.head.lastTime.microseconds)
        #expect(view.head.frontier == tree.frontier)

        let streams = try await connection.query("SELECT name, version FROM pinledger.stream")
        #expect(try Dictionary(uniqueKeysWithValues: streams.map { (try $0.text(0), try $0.int64(1)) }) == versions)

        let nodes = try await connection.query(
            "SELECT level, index, hash FROM pinledger.tree_node ORDER BY level, index")
        var count = 0
        for row in nodes {
            let (level, index) = (Int(try row.int16(0)), UInt64(try row.int64(1)))
            let stored = try tree.hashes(HashRange(level: level, indices: index..<index + 1))
            #expect(stored.map(\.bytes) == [try row.bytes(2)])
            count += 1
        }
        #expect(count == rows.count / 256 + rows.count / 65_536)
        await connection.close()
        return view
    }

    /// The names that apps were given, in the order of recording.
    static func renames(_ database: TestDatabase) async throws -> [String] {
        try await database.query("SELECT entry FROM pinledger.event ORDER BY position").compactMap { row in
            guard case .app(.appRenamed(let name)) = try Entry(bytes: try row.bytes(0)).event else { return nil }
            return name
        }
    }
}
