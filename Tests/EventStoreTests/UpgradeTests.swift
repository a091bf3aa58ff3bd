import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

/// Nodes whose program is older than another one that shares their ledger.
@Suite(.database, .timeLimit(.minutes(60)))
struct UpgradeTests {
    private static func node(knowing level: Int64, bulkSize: Int64 = 8000) -> TestNode.Setup {
        .with { setup in
            setup.knownLevel = level
            setup.follows = false
            setup.bulkSize = bulkSize
        }
    }

    private static func fault(_ body: () async throws -> Void) async throws -> LedgerFault? {
        do { try await body() } catch let fault as LedgerFault { return fault }
        return nil
    }

    private static func raise(_ node: TestNode, to level: Int64) async throws {
        _ = try await node.writer.execute(try Sample.request(.fleet(.raiseFeatureLevel(level))))
    }

    @Test(arguments: [8000, 1] as [Int64])
    func `a node pauses at a feature level that it does not know, with all that came before`(bulkSize: Int64)
        async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(knowing: 2)) { new in
            _ = try await new.writer.execute(try Sample.create(app))
            try await TestNode.run(on: database, Self.node(knowing: 1, bulkSize: bulkSize)) { old in
                try await old.follower.catchUp()
                _ = try await new.writer.execute(try Sample.rename(app, "Before"))
                try await Self.raise(new, to: 2)
                _ = try await new.writer.execute(try Sample.rename(app, "Behind"))
                let expected = LedgerFault.needsUpgrade(position: 2, .featureLevel(2, known: 1))
                let fault = try await Self.fault { try await old.follower.catchUp() }
                #expect(fault == expected)
                #expect(old.ledger.view.head.position == 2)
                #expect(old.ledger.view.state.apps[app]?.displayName == "Before")
                old.ledger.halt(expected)
                // It read to the end once, and is too old all the same: tokens that are revoked from now on stay unknown to it.
                #expect(old.ledger.partialFault == expected)
                guard case .failure(let failure) = await old.attempt(try Sample.rename(app, "Old")) else {
                    Issue.record("an old node has recorded something")
                    return
                }
                #expect(failure == .halted(expected))
            }
            // So does one that starts.
            try await TestNode.run(on: database, Self.node(knowing: 1, bulkSize: bulkSize)) { old in
                let fault = try await Self.fault { try await old.follower.catchUp() }
                #expect(fault?.meansUpgrade == true)
                #expect(old.ledger.view.head.position == 2)
            }
            try await TestNode.run(on: database, Self.node(knowing: 2)) { upgraded in
                try await upgraded.follower.catchUp()
                #expect(upgraded.ledger.view.head == new.ledger.view.head)
                #expect(upgraded.ledger.view.state.fleet.featureLevel == 2)
            }
        }
        try await Ledgers.check(database)
    }

    @Test func `an old node that writes first learns of the level by the conflict, and records nothing`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(knowing: 2)) { new in
            _ = try await new.writer.execute(try Sample.create(app))
            try await TestNode.run(
                on: database,
                .with { setup in
                    setup.knownLevel = 1
                    setup.follows = true
                }
            ) { old in
                try await old.follower.catchUp()
                try await Self.raise(new, to: 2)
                guard case .failure(.halted(let fault)) = await old.attempt(try Sample.rename(app, "Old")) else {
                    Issue.record("an old node has recorded something")
                    return
                }
                #expect(fault == .needsUpgrade(position: 1, .featureLevel(2, known: 1)))
                // It holds up no other node: the lock of a lease that it had begun is gone.
                let held = """
                    SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                    WHERE l.locktype = 'advisory' AND d.datname = current_database()
                    """
                #expect(try await eventually { try await database.query(held).only.int64(0) == 0 })
            }
        }
        let renames = try await Ledgers.renames(database)
        #expect(renames == [])
    }

    /// Rewrites the entry at a position as a superuser without triggers, so that its type is unknown.
    ///
    /// - Parameter isConsistent: Whether the ledger's end is made to fit it.
    private static func makeUnknown(_ database: TestDatabase, at position: Int64, isConsistent: Bool) async throws {
        try await database.execute(
            """
            ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
            ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
            UPDATE pinledger.event
               SET entry = convert_to(replace(convert_from(entry, 'UTF8'), 'AppRenamed', 'AppRecoloured'), 'UTF8')
             WHERE position = \(position);
            UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = \(position);
            """)
        guard isConsistent else { return }
        var frontier = MerkleFrontier()
        for row in try await database.query("SELECT entry FROM pinledger.event ORDER BY position") {
            frontier.append(leaf: MerkleTree.leafHash(try row.bytes(0)))
        }
        let encoded = frontier.encoded.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try await database.execute("UPDATE pinledger.head SET frontier = '\\x\(encoded)'")
    }

    @Test(arguments: [8000, 1] as [Int64], [true, false])
    func `an event of an unknown type pauses a node only where the ledger is sound`(bulkSize: Int64, isSound: Bool)
        async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(knowing: 1)) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            for name in ["B", "C", "D"] { _ = try await node.writer.execute(try Sample.rename(app, name)) }
        }
        try await Self.makeUnknown(database, at: 2, isConsistent: isSound)
        try await TestNode.run(on: database, Self.node(knowing: 1, bulkSize: bulkSize)) { node in
            let fault = try await Self.fault { try await node.follower.catchUp() }
            if isSound {
                #expect(fault == .needsUpgrade(position: 2, .type("AppRecoloured")))
                #expect(node.ledger.view.state.apps[app]?.displayName == "B")
            } else {
                #expect(fault == .fork(position: 4))
                #expect(node.ledger.view.head.position == 0)
            }
        }
    }

    @Test func `a snapshot of a level that the program does not know is not started from`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database, Self.node(knowing: 2)) { node in
            try await Self.raise(node, to: 2)
            try await SnapshotStore(pool: node.pool, logger: node.logger).store(node.ledger.view)
            let old = try await SnapshotStore(pool: node.pool, knownLevel: 1, logger: node.logger).load()
            #expect((old.view.head.position, old.unusable) == (0, 1))
            let new = try await SnapshotStore(pool: node.pool, knownLevel: 2, logger: node.logger).load()
            #expect((new.view.head.position, new.view.state.fleet.featureLevel) == (1, 2))
        }
    }

    @Test func `nodes report themselves, are gone after a minute and forgotten after a day`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database, Self.node(knowing: 1)) { node in
            let registry = NodeRegistry(pool: node.pool)
            func report(_ name: String, _ state: String) -> NodeReport {
                NodeReport(
                    name: name, program: "0.1", schemaVersion: 10, featureLevel: 1, isReadOnly: false, state: state,
                    position: 7)
            }
            let ids = ["a", "b"].map { String(repeating: $0, count: 32) }
            try await registry.report(report("one", "running"), as: ids[0])
            try await registry.report(report("two", "running"), as: ids[1])
            try await registry.report(report("one", "draining"), as: ids[0])
            var nodes = try await registry.nodes()
            #expect(nodes.map(\.report) == [report("one", "draining"), report("two", "running")])
            #expect(nodes.map(\.isLive) == [true, true])
            #expect(nodes[0].startedAt < nodes[0].seenAt)
            try await database.execute("UPDATE pinledger.node SET seen_at = now() - interval '61 s' WHERE name = 'two'")
            nodes = try await registry.nodes()
            #expect(nodes.map(\.isLive) == [true, false])
            try await registry.forget(ids[0])
            nodes = try await registry.nodes()
            #expect(nodes.map(\.report.name) == ["two"])
            try await database.execute("UPDATE pinledger.node SET seen_at = now() - interval '25 hours'")
            nodes = try await registry.nodes()
            #expect(nodes.isEmpty)
            try await Housekeeping(ledger: node.ledger, pool: node.pool, logger: node.logger).sweep()
            #expect(try await database.query("SELECT count(*) FROM pinledger.node").only.int64(0) == 0)
        }
    }
}
