import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

@Suite(.database, .timeLimit(.minutes(1)))
struct SnapshotTests {
    /// A ledger with something of everything, and a snapshot of it.
    private static func fill(_ node: TestNode) async throws -> AppID {
        let app = try Sample.app()
        _ = try await node.writer.execute(try Sample.create(app, hosts: 5))
        _ = try await node.writer.execute(try Sample.create(try Sample.app(), hosts: 1))
        _ = try await node.writer.execute(try Sample.request(.fleet(.setIssuer("test"))))
        let token = AccessCommand.issueToken(
            id: "t1", name: "Token", digest: sha256([1]), expiresAt: Timestamp.wall.adding(seconds: 3600)
        )
        _ = try await node.writer.execute(try Sample.request(.access(token)))
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
            #expect(try await store.load().head.position == 0)
            let view = node.ledger.view
            try await store.store(view)
            try await store.store(view)
            let loaded = try await store.load()
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

    static let damages = [
        "UPDATE pinledger.snapshot SET body = set_byte(body, 20, get_byte(body, 20) # 1)",
        "UPDATE pinledger.snapshot SET body = substr(body, 2)",
        "UPDATE pinledger.snapshot SET digest = sha256('x')",
        "UPDATE pinledger.snapshot SET body = '{}', digest = sha256('{}')",
        "UPDATE pinledger.snapshot SET frontier = substr(frontier, 33)",
        "UPDATE pinledger.snapshot SET frontier = set_byte(frontier, 3, get_byte(frontier, 3) # 1)",
        "UPDATE pinledger.snapshot SET position = 1000",
        "UPDATE pinledger.snapshot SET fold_version = fold_version + 1",
        "UPDATE pinledger.snapshot SET fold_version = fold_version - 1",
        "DELETE FROM pinledger.snapshot",
    ]

    @Test(arguments: damages, [0, 1]) func `a snapshot that is no good is passed over, and the whole ledger is read`(
        damage: String, more: Int
    ) async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try await Self.fill(node)
            // Trees of an odd and of an even number of leaves.
            for number in 0..<more { _ = try await node.writer.execute(try Sample.rename(app, "n\(number)")) }
            let store = SnapshotStore(pool: node.pool, logger: .silent)
            try await store.store(node.ledger.view)
            try await database.execute(damage)
            let view = try await store.load()
            #expect(view.head.position == 0)
            try await TestNode.run(on: database, .with { ($0.name, $0.view) = ("second", view) }) { second in
                #expect(await eventually { second.ledger.position == node.ledger.position })
                #expect(second.ledger.fault == nil)
                #expect(second.ledger.view.state.json == node.ledger.view.state.json)
            }
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
            #expect(try await store.load().head.position == 5)
        }
    }
}
