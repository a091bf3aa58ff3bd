import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

@Suite(.database, .timeLimit(.minutes(60)))
struct SnapshotTests {
    /// A ledger with something of everything, and a snapshot of it.
    private static func fill(_ node: TestNode) async throws -> AppID {
        let app = try Sample.app()
        _ = try await node.writer.execute(try Sample.create(app, hosts: 5))
        _ = try await node.writer.execute(try Sample.create(try Sample.app(), hosts: 1))
        _ = try await node.writer.execute(try Sample.request(.fleet(.setIssuer("test"))))
        let terms = AccessToken.Terms(kind: .general, grants: [.everywhere(.editor)], principal: "prn_1")
        let changes: [AccessCommand] = [
            .addPrincipal(id: "prn_1", .person, name: "Ada"),
            .grantRole(id: "grt_1", principal: "prn_1", .everywhere(.auditor)),
            .defineRole(try RoleName("reader"), [.readApps, .readHistory]),
            .issueToken(
                NewToken(
                    id: "t1", name: "Token", digest: sha256([1]), expiresAt: Timestamp.wall.adding(seconds: 3600),
                    terms: terms)),
        ]
        for change in changes { _ = try await node.writer.execute(try Sample.request(.access(change))) }
        _ = try await node.writer.execute(try Sample.request(.keys(.create(kid: "k1", publicKey: sha256([2])))))
        let pattern = try Sample.host("h0.example.com")
        let expiry = Timestamp.wall.adding(seconds: 3600)
        _ = try await node.writer.execute(
            try Sample.request(.app(app, [.engageKillSwitch(pattern, expiresAt: expiry)]), reason: "test")
        )
        let pin = Sample.pin()
        let revoked: [AppCommand] = [
            .addPin(pattern, .baseline, .init(pin: pin, role: .emergency, isActive: false, note: "in the safe")),
            .revokePin(pattern, .baseline, pin),
        ]
        _ = try await node.writer.execute(try Sample.request(.app(app, revoked), reason: "test"))
        return app
    }

    @Test func `a snapshot gives what the whole ledger gives, and the node goes on from it`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try await Self.fill(node)
            let store = SnapshotStore(pool: node.pool, logger: .silent)
            #expect(try await store.load().view.head.position == 0)
            let view = node.ledger.view
            try await store.store(view)
            try await store.store(view)
            let loaded = try await store.load().view
            let full = try await node.fullFold()
            #expect(loaded.head == full.head)
            #expect(loaded.state.json == full.state.json)
            #expect(loaded.state.apps == full.state.apps)
            #expect(loaded.state.fleet == full.state.fleet)
            #expect(loaded.state.keys == full.state.keys)
            #expect(loaded.state.access == full.state.access)

            _ = try await node.writer.execute(try Sample.rename(app, "after"))
            try await TestNode.run(on: database, .with { ($0.name, $0.view) = ("second", loaded) }) { second in
                #expect(await eventually { second.ledger.position == node.ledger.position })
                #expect(second.ledger.fault == nil)
                #expect(second.ledger.view.head == node.ledger.view.head)
                #expect(second.ledger.view.state.json == node.ledger.view.state.json)
            }
        }
    }

    /// What can be done to a stored snapshot, and whether it is to be noticed as damage.
    static let damages: [(sql: String, isDamage: Bool)] = [
        ("UPDATE pinledger.snapshot_part SET body = set_byte(body, 5, get_byte(body, 5) # 1) WHERE number = 0", true),
        ("UPDATE pinledger.snapshot_part SET body = substr(body, 2) WHERE number = 0", true),
        ("UPDATE pinledger.snapshot_part SET body = body || '\\x00'::bytea WHERE number = 256", true),
        ("UPDATE pinledger.snapshot_part SET body = '' WHERE number = 100", true),
        ("DELETE FROM pinledger.snapshot_part WHERE number = 0", true),
        ("DELETE FROM pinledger.snapshot_part WHERE number = 16", true),
        ("DELETE FROM pinledger.snapshot_part WHERE number = 256", true),
        ("DELETE FROM pinledger.snapshot_part", true),
        ("UPDATE pinledger.snapshot_part SET number = number + 1000", true),
        ("UPDATE pinledger.snapshot SET digests = set_byte(digests, 8000, get_byte(digests, 8000) # 1)", true),
        ("UPDATE pinledger.snapshot SET digests = substr(digests, 33)", true),
        ("UPDATE pinledger.snapshot SET digests = ''", true),
        ("UPDATE pinledger.snapshot SET frontier = substr(frontier, 33)", true),
        ("UPDATE pinledger.snapshot SET frontier = set_byte(frontier, 3, get_byte(frontier, 3) # 1)", true),
        ("UPDATE pinledger.snapshot SET position = 1000", true),
        ("UPDATE pinledger.snapshot SET position = position - 1", true),
        ("UPDATE pinledger.snapshot SET fold_version = fold_version + 1", false),
        ("UPDATE pinledger.snapshot SET fold_version = fold_version - 1", false),
        ("DELETE FROM pinledger.snapshot", false),
    ]

    /// As a node without a key-encryption key, and with one.
    static let keys: [SnapshotKey?] = [nil, Self.key(1)]

    static func key(_ number: UInt8) -> SnapshotKey { SnapshotKey { hmacSHA256(key: [number], $0) } }

    @Test(arguments: damages.indices, [0, 1])
    func `a defective snapshot is ignored, and the whole ledger is read`(
        damage: Int, more: Int
    ) async throws {
        let database = try TestDatabase.current
        let damage = Self.damages[damage]
        try await TestNode.run(on: database) { node in
            let app = try await Self.fill(node)
            // Trees of an odd and of an even number of leaves.
            for number in 0..<more { _ = try await node.writer.execute(try Sample.rename(app, "n\(number)")) }
            for key in Self.keys {
                let log = LogRecorder()
                let store = SnapshotStore(pool: node.pool, key: key, logger: log.logger)
                try await database.execute("DELETE FROM pinledger.snapshot")
                try await store.store(node.ledger.view)
                try await database.execute(damage.sql)
                let start = try await store.load()
                #expect(start.view.head.position == 0)
                #expect(start.unusable == (damage.isDamage ? 1 : 0))
                #expect(log.text.contains { $0.hasPrefix("error") } == damage.isDamage)
            }
            try await TestNode.run(on: database, .with { $0.name = "second" }) { second in
                #expect(await eventually { second.ledger.position == node.ledger.position })
                #expect(second.ledger.fault == nil)
                #expect(second.ledger.view.state.json == node.ledger.view.state.json)
            }
        }
    }

    @Test func `the snapshot before a damaged newest one is taken`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let store = SnapshotStore(pool: node.pool, logger: .silent)
            for _ in 0..<3 {
                _ = try await node.writer.execute(try Sample.create(try Sample.app()))
                try await store.store(node.ledger.view)
            }
            for (number, position) in [(1, 2), (2, 1), (3, 0)] {
                try await database.execute(
                    "UPDATE pinledger.snapshot_part SET body = 'x' WHERE position = \(position + 1)")
                let start = try await store.load()
                #expect(start.view.head.position == Int64(position) && start.unusable == number)
                #expect(start.view.state.apps.count == position)
            }
        }
    }

    @Test func `only a snapshot made with the node's key is believed, and a node without one stays silent about it`()
        async throws
    {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(try Sample.app()))
            func store(_ key: SnapshotKey?) -> SnapshotStore {
                SnapshotStore(pool: node.pool, key: key, logger: .silent)
            }
            for (maker, reader, isBelieved) in [
                (Self.key(1), Self.key(1), true), (Self.key(1), Self.key(2), false), (nil, Self.key(1), false),
                (Self.key(1), nil, true), (nil, nil, true),
            ] as [(SnapshotKey?, SnapshotKey?, Bool)] {
                try await database.execute("DELETE FROM pinledger.snapshot")
                try await store(maker).store(node.ledger.view)
                let start = try await store(reader).load()
                #expect(start.view.head.position == (isBelieved ? 1 : 0))
                #expect(start.unusable == (isBelieved ? 0 : 1))
            }
            // Not even with the tag that a node without a key makes, and not with a part and its digest exchanged.
            let seal = """
                sha256('pinledger/snapshot/v1\\000'::bytea || int4send(fold_version) || int8send(position) || frontier
                    || sha256(digests))
                """
            for change in [
                "UPDATE pinledger.snapshot SET tag = \(seal)",
                """
                UPDATE pinledger.snapshot_part SET body = '\\x0101' WHERE number = 256;
                UPDATE pinledger.snapshot SET digests = substr(digests, 1, 32 * 256) || sha256('\\x0101');
                """,
            ] {
                try await database.execute("DELETE FROM pinledger.snapshot")
                try await store(Self.key(1)).store(node.ledger.view)
                try await database.execute(change)
                #expect(try await store(Self.key(1)).load().unusable == 1)
            }
        }
    }

    @Test func `a changed key takes over the snapshots that the old one authenticates, and no others`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            func store(_ key: SnapshotKey) -> SnapshotStore {
                SnapshotStore(pool: node.pool, key: key, logger: .silent)
            }
            for key in [Self.key(1), Self.key(3)] {
                _ = try await node.writer.execute(try Sample.create(try Sample.app()))
                try await store(key).store(node.ledger.view)
            }
            for expected in [1, 0] {
                let retagged = try await node.pool.withConnection { connection in
                    try await connection.transaction { @Sendable connection in
                        try SnapshotStore.retag(from: Self.key(1), to: Self.key(2), on: connection)
                    }
                }
                #expect(retagged.count == expected && retagged.left == 0)
            }
            #expect(try await store(Self.key(2)).load().view.head.position == 1)
            #expect(try await store(Self.key(1)).load().view.head.position == 0)
            #expect(try await store(Self.key(3)).load().view.head.position == 2)
        }
    }

    @Test func `a node that accepts two keys starts from snapshots of both, and makes those of the one in force`()
        async throws
    {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            func position(_ key: SnapshotKey) async throws -> Int64 {
                try await SnapshotStore(pool: node.pool, key: key, logger: .silent).load().view.head.position
            }
            let both = SnapshotKey(accepting: [Self.key(1), Self.key(2)]) { Self.key(2) }
            for key in [Self.key(1), both] {
                _ = try await node.writer.execute(try Sample.create(try Sample.app()))
                #expect(try await position(both) == node.ledger.position - 1)
                try await SnapshotStore(pool: node.pool, key: key, logger: .silent).store(node.ledger.view)
            }
            #expect(try await position(both) == 2)
            #expect(try await position(Self.key(2)) == 2)
            #expect(try await position(Self.key(1)) == 1)
            #expect(try await position(Self.key(3)) == 0)
        }
    }

    @Test func `an audit finds that a snapshot is what the ledger makes, or halts the ledger`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try await Self.fill(node)
            let store = SnapshotStore(pool: node.pool, logger: .silent)
            let position = node.ledger.position
            try await store.store(node.ledger.view)
            _ = try await node.writer.execute(try Sample.rename(app, "after"))

            let good = try await store.load()
            let (ledger, log) = (Ledger(view: good.view), LogRecorder())
            let audit = SnapshotAudit(of: good, ledger: ledger, pool: node.pool, share: 1, logger: log.logger)
            await audit?.run()
            #expect(audit != nil && ledger.fault == nil && log.text.contains { $0.hasPrefix("info") })

            // A state that is not the ledger's, stored as a node would store it.
            try await database.execute("DELETE FROM pinledger.snapshot")
            var wrong = good.view
            _ = wrong.state.apps.update(app) { $0.displayName = "forged" }
            try await store.store(wrong)
            let bad = try await store.load()
            #expect(bad.view.head.position == position && bad.unusable == 0)
            let other = Ledger(view: bad.view)
            let otherLog = LogRecorder()
            let follower = Follower(
                ledger: other, pool: node.pool,
                listener: PostgresListener(configuration: try database.configuration(), channels: []),
                logger: .silent
            )
            let second = SnapshotAudit(of: bad, ledger: other, pool: node.pool, share: 1, logger: otherLog.logger)
            let following = Task { await follower.run(beside: second) }
            #expect(await eventually { other.fault == .snapshot(position: position) })
            #expect(otherLog.text.contains { $0.hasPrefix("critical") })
            following.cancel()
            await following.value
            #expect(
                SnapshotAudit(
                    of: try await SnapshotStore(pool: node.pool, key: Self.key(9), logger: .silent).load(),
                    ledger: other, pool: node.pool, logger: .silent) == nil)
        }
    }

    @Test func `an audit finds an entry that was changed together with its hash, whatever state it makes`() async throws
    {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try await Self.fill(node)
            let names = (0..<300).map { AppCommand.rename("n\($0)") }
            _ = try await node.writer.execute(try Sample.request(.app(app, names)))
            try await SnapshotStore(pool: node.pool, logger: .silent).store(node.ledger.view)
            let head = node.ledger.view.head
            // Who did it is in no state; and the recorded root of the full tile stays as it was.
            try await database.execute(
                """
                ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                UPDATE pinledger.event SET entry = convert_to(
                    replace(convert_from(entry, 'UTF8'), 'Tester', 'Tamper'), 'UTF8') WHERE position = 40;
                UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 40
                """)
            let start = try await SnapshotStore(pool: node.pool, logger: .silent).load()
            #expect(start.view.head == head && start.unusable == 0)
            let ledger = Ledger(view: start.view)
            await SnapshotAudit(of: start, ledger: ledger, pool: node.pool, share: 1, logger: .silent)?.run()
            #expect(ledger.fault == .fork(position: head.position))
        }
    }

    @Test func `a snapshot is kept when the ledger has grown enough since the newest stored one`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            var cadence = Housekeeping.Cadence()
            (cadence.events, cadence.fewEvents) = (10, 4)
            let housekeeping = Housekeeping(
                ledger: node.ledger, pool: node.pool, snapshotKey: Self.key(1), cadence: cadence, logger: .silent)
            func stored() async throws -> [Int64] {
                try await housekeeping.keepSnapshot()
                let rows = try await database.query("SELECT position FROM pinledger.snapshot ORDER BY position")
                return try rows.map { try $0.int64(0) }
            }
            func grow(_ count: Int) async throws {
                for _ in 0..<count { _ = try await node.writer.execute(try Sample.create(try Sample.app())) }
            }
            try await grow(3)
            #expect(try await stored() == [])
            try await grow(1)
            #expect(try await stored() == [4])
            try await grow(9)
            #expect(try await stored() == [4])
            try await database.execute("UPDATE pinledger.snapshot SET created_at = now() - interval '16 minutes'")
            #expect(try await stored() == [4, 13])
            try await grow(10)
            #expect(try await stored() == [4, 13, 23])
            let store = SnapshotStore(pool: node.pool, key: Self.key(1), logger: .silent)
            #expect(try await store.load().view.head == node.ledger.view.head)
        }
    }

    @Test func `nodes that store the same snapshot at once store it once, and it can be started from`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            _ = try await Self.fill(node)
            let (view, store) = (node.ledger.view, SnapshotStore(pool: node.pool, logger: .silent))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await store.store(view) } }
                try await group.waitForAll()
            }
            let rows = try await database.query(
                """
                SELECT (SELECT count(*) FROM pinledger.snapshot), count(*) FROM pinledger.snapshot_part
                """)
            #expect(try (rows.only.int64(0), rows.only.int64(1)) == (1, Int64(LedgerState.snapshotPartCount)))
            #expect(try await store.load().view.head == view.head)
        }
    }

    @Test func `a part too many hides no snapshot`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(try Sample.app()))
            let store = SnapshotStore(pool: node.pool, logger: .silent)
            try await store.store(node.ledger.view)
            // The application's role can add such a row.
            let app = try await database.connect(as: .app)
            try await app.query(
                """
                SELECT pinledger.store_snapshot_part(\(LedgerState.foldVersion), 1, \(LedgerState.snapshotPartCount), 'more')
                """)
            #expect(try await store.load().view.head == node.ledger.view.head)
        }
    }

    @Test func `parts of a snapshot stay only with the snapshot, and go with it`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(try Sample.app()))
            let alone = await failure {
                try await node.pool.query("SELECT pinledger.store_snapshot_part(1, 1, 1, 'part')")
            }
            #expect(alone?.sqlState == "23503")
            try await SnapshotStore(pool: node.pool, logger: .silent).store(node.ledger.view)
            try await database.execute("DELETE FROM pinledger.snapshot")
            let rows = try await database.query("SELECT count(*) FROM pinledger.snapshot_part")
            #expect(try rows.only.int64(0) == 0)
        }
    }

    @Test func `three snapshots are kept`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let store = SnapshotStore(pool: node.pool, logger: .silent)
            for _ in 0..<5 {
                _ = try await node.writer.execute(try Sample.create(try Sample.app()))
                try await store.store(node.ledger.view)
            }
            let rows = try await database.query("SELECT position FROM pinledger.snapshot ORDER BY position")
            #expect(try rows.map { try $0.int64(0) } == [3, 4, 5])
            #expect(try await store.load().view.head.position == 5)
        }
    }
}
