import EventStore
import Fixtures
import Pinning
import Postgres
import Testing
import TransparencyLog

/// What a superuser can do to the tables, and what the nodes say to it.
@Suite(.database, .timeLimit(.minutes(60)))
struct TamperTests {
    struct Damage: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sql: String
        var isExpected: @Sendable (LedgerFault) -> Bool
    }

    /// The ledger has positions 0 to 5; the node has seen 0, 1 and 2.
    static let damages: [Damage] = [
        Damage(
            testDescription: "a byte of an entry is changed",
            sql: "UPDATE pinledger.event SET entry = set_byte(entry, 10, get_byte(entry, 10) # 1) WHERE position = 4",
            isExpected: { $0 == .leafHash(position: 4) }
        ),
        Damage(
            testDescription: "a stored leaf hash is changed",
            sql: "UPDATE pinledger.event SET leaf_hash = sha256('x') WHERE position = 4",
            isExpected: { $0 == .leafHash(position: 4) }
        ),
        Damage(
            testDescription: "an entry is changed with its hash",
            sql: """
                UPDATE pinledger.event SET entry = convert_to(replace(convert_from(entry, 'UTF8'), 'Tester', 'Tamper'), 'UTF8')
                    WHERE position = 4;
                UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 4
                """,
            isExpected: { $0 == .fork(position: 6) }
        ),
        Damage(
            testDescription: "an entry is no entry",
            sql: """
                UPDATE pinledger.event SET entry = 'nonsense', leaf_hash = sha256('\\x00'::bytea || 'nonsense'::bytea)
                    WHERE position = 4
                """,
            isExpected: { if case .unreadable(position: 4, _) = $0 { true } else { false } }
        ),
        Damage(
            testDescription: "an entry stands in another's place",
            sql: """
                UPDATE pinledger.event e SET entry = f.entry, leaf_hash = f.leaf_hash FROM pinledger.event f
                    WHERE e.position = 4 AND f.position = 1
                """,
            isExpected: { $0 == .leafHash(position: 4) }
        ),
        Damage(
            testDescription: "two entries are swapped",
            sql: """
                UPDATE pinledger.event SET position = 1000 WHERE position = 3;
                UPDATE pinledger.event SET position = 3 WHERE position = 4;
                UPDATE pinledger.event SET position = 4 WHERE position = 1000
                """,
            isExpected: { $0 == .leafHash(position: 3) }
        ),
        Damage(
            testDescription: "an entry is older than the one before it",
            sql: """
                UPDATE pinledger.event SET entry = convert_to(regexp_replace(
                    convert_from(entry, 'UTF8'), '"time":"....-', '"time":"1999-'), 'UTF8') WHERE position = 4;
                UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 4
                """,
            isExpected: { $0 == .time(position: 4) }
        ),
        Damage(
            testDescription: "an entry is not the next of its stream",
            sql: """
                UPDATE pinledger.event SET entry = convert_to(replace(
                    convert_from(entry, 'UTF8'), '"stream_version":5', '"stream_version":6'), 'UTF8') WHERE position = 4;
                UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 4
                """,
            isExpected: { $0 == .streamVersion(position: 4) }
        ),
        Damage(
            testDescription: "an entry is written in another form",
            sql: """
                UPDATE pinledger.event SET entry = entry || ' '::bytea WHERE position = 4;
                UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 4
                """,
            isExpected: { if case .unreadable(position: 4, _) = $0 { true } else { false } }
        ),
        Damage(
            testDescription: "an entry is gone from the middle",
            sql: "DELETE FROM pinledger.event WHERE position = 4",
            isExpected: { $0 == .position(expected: 4, found: 5) }
        ),
        Damage(
            testDescription: "the tail is gone, and the head does not say so",
            sql: "DELETE FROM pinledger.event WHERE position >= 3",
            isExpected: { $0 == .position(expected: 3, found: 6) }
        ),
        Damage(
            testDescription: "the tail is gone, and the head says so",
            sql: """
                DELETE FROM pinledger.event WHERE position >= 2;
                UPDATE pinledger.head SET next_position = 2, frontier = sha256('x')
                """,
            isExpected: { $0 == .shrunk(from: 3, to: 2) }
        ),
        Damage(
            testDescription: "the head has another tree",
            sql: "UPDATE pinledger.head SET frontier = set_byte(frontier, 3, get_byte(frontier, 3) # 1)",
            isExpected: { $0 == .fork(position: 6) }
        ),
        Damage(
            testDescription: "the head has another position than its tree",
            sql: "UPDATE pinledger.head SET next_position = 7",
            isExpected: { $0 == .head(position: 7) }
        ),
        Damage(
            testDescription: "the head has a position below zero",
            sql: """
                ALTER TABLE pinledger.head DROP CONSTRAINT head_next_position_check;
                UPDATE pinledger.head SET next_position = -1
                """,
            isExpected: { $0 == .head(position: -1) }
        ),
        Damage(
            testDescription: "the head has the largest position there is",
            sql: "UPDATE pinledger.head SET next_position = 9223372036854775807",
            isExpected: { $0 == .head(position: .max) }
        ),
        Damage(
            testDescription: "there is no head",
            sql: "DELETE FROM pinledger.head",
            isExpected: { $0 == .head(position: nil) }
        ),
    ]

    private static let unguarded = """
        ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
        ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
        ALTER TABLE pinledger.head DISABLE TRIGGER refuse_change;
        """

    /// Read in pages, and by COPY.
    @Test(arguments: damages, [8000, 1])
    func `a ledger that does not fit stops the node, which serves on what it has verified`(
        damage: Damage, bulkSize: Int64
    ) async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let seen = try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            for number in 0..<2 { _ = try await node.writer.execute(try Sample.rename(app, "n\(number)")) }
            let seen = node.ledger.view
            for number in 2..<5 { _ = try await node.writer.execute(try Sample.rename(app, "n\(number)")) }
            return seen
        }
        #expect(seen.head.position == 3)
        try await database.execute("\(Self.unguarded) \(damage.sql)")
        let log = LogRecorder()
        let setup = TestNode.Setup.with { ($0.view, $0.logger, $0.bulkSize) = (seen, log.logger, bulkSize) }
        try await TestNode.run(on: database, setup) { node in
            #expect(await eventually { node.ledger.fault != nil })
            let fault = try #require(node.ledger.fault)
            #expect(damage.isExpected(fault), "\(fault)")
            #expect(node.ledger.view.head == seen.head)
            #expect(node.ledger.view.state.apps[app]?.displayName == "n1")
            await #expect(throws: WriteFailure.halted(fault)) {
                try await node.writer.execute(try Sample.rename(app, "more"))
            }
            #expect(await eventually { log.text.contains { $0.hasPrefix("critical") } })
        }
        // A node that only writes does not append to it either.
        try await TestNode.run(on: database, .with { ($0.view, $0.follows) = (seen, false) }) { node in
            await #expect(throws: WriteFailure.self) { try await node.writer.execute(try Sample.rename(app, "more")) }
            let fault = try #require(node.ledger.fault)
            #expect(damage.isExpected(fault), "\(fault)")
            #expect(node.ledger.view.head == seen.head, "nothing that is not checked is shown")
        }
    }

    @Test(arguments: [8000, 1000] as [Int64])
    func `nothing of a long stretch is shown before the whole of it is verified against the ledger`(
        bulkSize: Int64
    ) async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let seen = try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            let seen = node.ledger.view
            for _ in 0..<3 {
                let names = (0..<1500).map { AppCommand.rename("n\($0)") }
                _ = try await node.writer.execute(try Sample.request(.app(app, names)))
            }
            return seen
        }
        try await database.execute(
            """
            \(Self.unguarded)
            UPDATE pinledger.event SET entry = convert_to(replace(convert_from(entry, 'UTF8'), 'Tester', 'Tamper'), 'UTF8')
                WHERE position = 10;
            UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 10
            """
        )
        for follows in [true, false] {
            let setup = TestNode.Setup.with {
                ($0.view, $0.follows, $0.bulkSize) = (seen, follows, bulkSize)
            }
            try await TestNode.run(on: database, setup) { node in
                let watching = Task {
                    var shown: Set<Int64> = []
                    for await position in node.ledger.positions() { shown.insert(position) }
                    return shown
                }
                if !follows {
                    await #expect(throws: WriteFailure.self) {
                        try await node.writer.execute(try Sample.rename(app, "more"))
                    }
                }
                #expect(await eventually { node.ledger.fault == .fork(position: 4501) })
                node.ledger.close()
                let shown = await watching.value
                #expect(shown.isSubset(of: [1]))
                #expect(node.ledger.view.head == seen.head)
            }
        }
    }

    /// What stands beside a sound ledger and does not fit it, and what a node that appends says to it.
    static let misfits: [(sql: String, fault: LedgerFault)] = [
        ("UPDATE pinledger.stream SET version = version + 1", .streamHead(position: 2)),
        ("DELETE FROM pinledger.stream", .streamHead(position: 2)),
        (
            """
            INSERT INTO pinledger.event (
                position, stream_version, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash)
            SELECT 2, stream_version + 1, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash
            FROM pinledger.event WHERE position = 1
            """, .occupied(position: 2, index: "event_00000000000000_stream")
        ),
    ]

    @Test(arguments: misfits.indices)
    func `a mismatch with the head is damage, and not an unreachable database`(misfit: Int) async throws {
        let (sql, expected) = Self.misfits[misfit]
        let database = try TestDatabase.current
        let app = try Sample.app()
        let log = LogRecorder()
        try await TestNode.run(on: database, .with { $0.logger = log.logger }) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            _ = try await node.writer.execute(try Sample.rename(app, "one"))
            try await database.execute("\(Self.unguarded) \(sql)")
            await #expect(throws: WriteFailure.halted(expected)) {
                try await node.writer.execute(try Sample.rename(app, "more"))
            }
            #expect(node.ledger.fault == expected)
            #expect(await eventually { log.text.contains { $0.hasPrefix("critical") } })
            #expect(node.ledger.view.state.apps[app]?.displayName == "one")
        }
    }

    @Test func `a node that has followed to the end notices that the ledger was cut and grew otherwise`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let seen = try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            _ = try await node.writer.execute(try Sample.rename(app, "one"))
            return node.ledger.view
        }
        try await database.execute(
            """
            ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
            ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
            DELETE FROM pinledger.event WHERE position = 1;
            UPDATE pinledger.stream SET version = 1;
            UPDATE pinledger.head SET next_position = 1,
                frontier = (SELECT leaf_hash FROM pinledger.event WHERE position = 0)
            """
        )
        try await TestNode.run(on: database) { other in
            _ = try await other.insist(try Sample.rename(app, "two"))
            _ = try await TestNode.run(on: database, .with { ($0.name, $0.view) = ("first", seen) }) { node in
                #expect(await eventually { node.ledger.fault == .fork(position: 2) })
            }
            // Grown beyond it, the fork shows in the tree.
            _ = try await other.insist(try Sample.rename(app, "three"))
            _ = try await TestNode.run(on: database, .with { ($0.name, $0.view) = ("first", seen) }) { node in
                #expect(await eventually { node.ledger.fault == .fork(position: 3) })
            }
        }
    }
}
