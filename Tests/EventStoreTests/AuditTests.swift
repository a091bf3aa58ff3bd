import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing

/// What an audit says of rows beside the events that do not fit them. None of it may end the process, or take longer
/// than the ledger is long.
@Suite(.database, .timeLimit(.minutes(60)))
struct AuditTests {
    private static let unguarded = """
        ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
        ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
        ALTER TABLE pinledger.tree_node DISABLE TRIGGER refuse_change;
        ALTER TABLE pinledger.head DISABLE TRIGGER refuse_change;
        ALTER TABLE pinledger.tree_node DROP CONSTRAINT tree_node_index_check,
            DROP CONSTRAINT tree_node_level_check, DROP CONSTRAINT tree_node_hash_check;
        ALTER TABLE pinledger.head DROP CONSTRAINT head_next_position_check, DROP CONSTRAINT head_frontier_check;
        ALTER TABLE pinledger.command DROP CONSTRAINT command_event_count_check;
        """

    /// The ledger has positions 0 to 599.
    static let damages: [(sql: String, code: LedgerFinding.Code)] = [
        ("DELETE FROM pinledger.head", .treeWrong),
        ("UPDATE pinledger.head SET next_position = -1", .treeWrong),
        ("UPDATE pinledger.head SET next_position = -9223372036854775808", .treeWrong),
        ("UPDATE pinledger.head SET next_position = 601", .positionMissing),
        ("UPDATE pinledger.head SET next_position = 599", .positionBeyondHead),
        ("UPDATE pinledger.head SET next_position = 0", .positionBeyondHead),
        ("UPDATE pinledger.head SET next_position = 9223372036854775807", .positionMissing),
        (
            "UPDATE pinledger.head SET next_position = 4611686018427387904, frontier = sha256('x')",
            .positionMissing
        ),
        ("UPDATE pinledger.head SET frontier = frontier || sha256('x')", .treeWrong),
        ("UPDATE pinledger.stream SET version = version + 1", .streamHeadWrong),
        ("UPDATE pinledger.stream SET version = 9223372036854775807", .streamHeadWrong),
        ("UPDATE pinledger.stream SET last_position = -9223372036854775808", .streamHeadWrong),
        ("DELETE FROM pinledger.stream", .streamHeadWrong),
        ("UPDATE pinledger.command SET first_position = 9223372036854775807", .commandWrong),
        ("UPDATE pinledger.command SET first_position = -9223372036854775808, event_count = -1", .commandWrong),
        ("UPDATE pinledger.command SET event_count = 2147483647", .commandWrong),
        ("UPDATE pinledger.event SET position = 9999999 WHERE position = 599", .positionMissing),
        ("UPDATE pinledger.event SET position = 9999999 WHERE position = 599", .positionBeyondHead),
        ("DELETE FROM pinledger.event WHERE position BETWEEN 3 AND 550", .positionMissing),
        (
            """
            UPDATE pinledger.event SET stream_version = 9223372036854775807, entry = 'x', leaf_hash = sha256('\\x0078')
            WHERE position = 5
            """, .entryUnreadable
        ),
        ("UPDATE pinledger.tree_node SET hash = sha256('x')", .treeWrong),
        ("INSERT INTO pinledger.tree_node VALUES (56, 9223372036854775807, sha256('x'))", .treeWrong),
        ("UPDATE pinledger.tree_node SET hash = 'short'", .treeWrong),
        ("INSERT INTO pinledger.tree_node VALUES (8, -1, sha256('x'))", .treeWrong),
        ("INSERT INTO pinledger.tree_node VALUES (-8, 1, sha256('x'))", .treeWrong),
        ("DELETE FROM pinledger.tree_node", .treeWrong),
    ]

    /// Damage to the snapshot at position 2 of three events, and the words for it.
    static let wrongSnapshots: [(sql: String, detail: String)] = [
        (
            "UPDATE pinledger.snapshot_part SET body = body || '\\x00'::bytea WHERE number = 256",
            "not those that were written"
        ),
        ("DELETE FROM pinledger.snapshot_part WHERE number = 0", "not those that were written"),
        ("UPDATE pinledger.snapshot SET digests = substr(digests, 33)", "not those that were written"),
        (
            "UPDATE pinledger.snapshot SET frontier = set_byte(frontier, 3, get_byte(frontier, 3) # 1)",
            "not the ledger's"
        ),
        ("UPDATE pinledger.snapshot SET position = 1", "not the ledger's"),
        ("UPDATE pinledger.snapshot SET position = 4", "more events than the ledger has"),
    ]

    @Test func `an audit names snapshots that no node would start from, and one that the events do not make`()
        async throws
    {
        let database = try TestDatabase.current
        let key = SnapshotTests.key(1)
        let app = try Sample.app()
        try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            _ = try await node.writer.execute(try Sample.rename(app, "Right"))
            try await SnapshotStore(pool: node.pool, key: key, logger: .silent).store(node.ledger.view)
            _ = try await node.writer.execute(try Sample.rename(app, "Later"))
            try await SnapshotStore(pool: node.pool, key: key, logger: .silent).store(node.ledger.view)
        }
        let connection = try await database.connect()
        func findings(after sql: String = "", with key: SnapshotKey? = nil) async throws -> [LedgerFinding] {
            var expectations = LedgerAuditor.Expectations()
            expectations.snapshotKey = key
            return try await LedgerAuditor(expectations: expectations).audit(on: connection) { connection, send in
                try connection.execute(script: "BEGIN; \(sql)")
                try LedgerAuditor.read(connection, send)
                try connection.execute(script: "ROLLBACK")
            }.0.findings.kept
        }
        #expect(try await findings().isEmpty)
        #expect(try await findings(with: key).isEmpty)
        for (sql, detail) in Self.wrongSnapshots {
            let place = "WHERE position = 2"
            let statement = sql.contains("WHERE") ? sql.replacing("WHERE", with: "\(place) AND") : "\(sql) \(place)"
            let found = try await findings(after: statement)
            #expect(found.map(\.code) == [.snapshotWrong] && found[0].detail.contains(detail), "\(sql): \(found)")
        }
        // Of another key, and made with the right one by whoever had it.
        let other = try await findings(with: SnapshotTests.key(2))
        #expect(
            other.map(\.code) == [.snapshotWrong, .snapshotWrong] && other[0].detail.contains("key-encryption key"))
        try await database.execute("DELETE FROM pinledger.snapshot")
        try await TestNode.run(on: database) { node in
            try await node.follower.catchUp()
            var forged = node.ledger.view
            forged.state.fleet.issuer = "forged"
            try await SnapshotStore(pool: node.pool, key: key, logger: .silent).store(forged)
        }
        let forged = try await findings(with: key)
        #expect(
            forged.map(\.code) == [.snapshotWrong] && forged[0].detail.contains("not what the ledger's events make"))
        await connection.close()
    }

    @Test func `an audit names any damage, and ends`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, key: "first"))
            let names = (0..<599).map { AppCommand.rename("n\($0)") }
            _ = try await node.writer.execute(try Sample.request(.app(app, names)))
        }
        try await database.execute(Self.unguarded)
        let connection = try await database.connect()
        for (sql, code) in Self.damages {
            let outcome = try await LedgerAuditor().audit(on: connection) { connection, send in
                // Put back at the end, by a transaction that is not committed.
                try connection.execute(script: "BEGIN; \(sql)")
                try LedgerAuditor.read(connection, send)
                try connection.execute(script: "ROLLBACK")
            }.0
            let codes = Set(outcome.findings.kept.map(\.code))
            #expect(codes.contains(code), "\(sql): \(codes)")
        }
        let sound = try await LedgerAuditor().run(on: connection) { _ in }.0
        #expect(sound.findings.kept.map(\.code).allSatisfy { $0 == .guardMissing })
        #expect(sound.state.apps.keys.first.flatMap { sound.ends[.app($0)]?.position } == 599)
        await connection.close()
    }
}
