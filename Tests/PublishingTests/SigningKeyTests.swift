import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Testing

@testable import Publishing
@testable import Secrets

/// Nodes whose key-encryption key is another ledger's, and nodes whose signing key is gone.
@Suite(.database, .timeLimit(.minutes(60)))
struct SigningKeyTests {
    private static func trial(_ key: KeyEncryptionKey, _ node: TestNode) async throws -> SecretTrial {
        let (state, now) = (node.ledger.view.state, Timestamp.wall)
        let secrets = try await node.pool.withConnection { connection in
            try await connection.perform { @Sendable connection in
                try StoredSecret.named(in: state, at: now, on: connection)
            }
        }
        return SecretTrial(of: KeyEncryptionKeys(key), on: secrets, in: state, at: now)
    }

    @Test func `a key that opens nothing of what the ledger names is another ledger's`() async throws {
        let database = try TestDatabase.current
        let (right, wrong) = (try KeyEncryptionKey.random(), try KeyEncryptionKey.random())
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = right }) { node in
            // Where nothing is named, nothing is shown.
            #expect(try await Self.trial(wrong, node.node).isOfAnotherKey == false)
            try await node.makeKey()
            // Nodes with a wrong key store secrets too, which the ledger does not name.
            _ = try await SigningKeys(pool: node.node.pool, keyEncryptionKeys: KeyEncryptionKeys(wrong)).create()
            _ = try await TelemetrySecrets(pool: node.node.pool, keyEncryptionKeys: KeyEncryptionKeys(wrong))
                .create("stray", of: try Sample.app())
            let (good, bad) = (try await Self.trial(right, node.node), try await Self.trial(wrong, node.node))
            #expect(good.opened == 1 && good.failures.isEmpty && !good.isOfAnotherKey)
            #expect(bad.opened == 0 && bad.failures.count == 1 && bad.isOfAnotherKey)
            let said = try #require(bad.failures.first).description
            #expect(said.contains("signing key") && said.contains(right.id) && said.contains(wrong.id))
        }
    }

    @Test func `a secret that is gone, or that another key has sealed, is found without taking the key for another's`()
        async throws
    {
        let database = try TestDatabase.current
        let (right, other) = (try KeyEncryptionKey.random(), try KeyEncryptionKey.random())
        let app = try Sample.app()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = right }) { node in
            try await node.makeKey()
            try await node.execute(try Sample.create(app))
            let secrets = TelemetrySecrets(pool: node.node.pool, keyEncryptionKeys: KeyEncryptionKeys(right))
            for id in ["tk_kept", "tk_gone", "tk_other"] {
                let owner =
                    id == "tk_other"
                    ? TelemetrySecrets(pool: node.node.pool, keyEncryptionKeys: KeyEncryptionKeys(other)) : secrets
                _ = try await owner.create(id, of: app)
                try await node.execute(try Sample.request(.telemetryKey(app, .add(id: id, note: nil))))
            }
            try await secrets.erase("tk_gone")
            let trial = try await Self.trial(right, node.node)
            #expect(trial.opened == 2 && !trial.isOfAnotherKey)
            let state = node.node.ledger.view.state
            let found = trial.unusable(in: state, at: .wall)
            #expect(found.map(\.id) == ["tk_other", "tk_gone"])
            #expect(found.last?.description == "the telemetry key tk_gone is not stored")
            #expect(found.first?.description.contains("cannot be opened") == true)
            // A secret that is retired before the node has looked is no fault.
            try await node.execute(try Sample.request(.telemetryKey(app, .retire(id: "tk_gone")), reason: "test"))
            #expect(trial.unusable(in: node.node.ledger.view.state, at: .wall).map(\.id) == ["tk_other"])
            let faults = SecretFaults()
            #expect(faults.take(found, tellingAtMost: 1) == Array(found.prefix(1)) && faults.all == found)
            #expect(faults.take(found, tellingAtMost: 1) == Array(found.dropFirst()))
            #expect(faults.take(Array(found.prefix(1)), tellingAtMost: 1).isEmpty)
            #expect(faults.all.map(\.id) == ["tk_other"])
        }
    }

    @Test func `a node with two keys opens what either has sealed, and seals with the one in force`() async throws {
        let database = try TestDatabase.current
        let (old, new) = (try KeyEncryptionKey.random(), try KeyEncryptionKey.random())
        let ring = KeyEncryptionKeys(old, beside: new)
        let app = try Sample.app()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = old }) { node in
            let pool = node.node.pool
            func kept(_ secret: String) async throws -> String {
                try await database.query(
                    "SELECT kek_id FROM pinledger.telemetry_secret WHERE secret = $1", [.text(secret)]
                ).only.text(0)
            }
            _ = try await TelemetrySecrets(pool: pool, keyEncryptionKeys: KeyEncryptionKeys(old)).create(
                "tk_old", of: app)
            _ = try await TelemetrySecrets(pool: pool, keyEncryptionKeys: KeyEncryptionKeys(new)).create(
                "tk_new", of: app)
            let secrets = TelemetrySecrets(pool: pool, keyEncryptionKeys: ring)
            for id in ["tk_old", "tk_new"] { _ = try await secrets.secret(id, of: app) }
            for (number, key) in [old, new, old].enumerated() {
                ring.use(key.idBytes)
                _ = try await secrets.create("tk_\(number)", of: app)
                #expect(try await kept("tk_\(number)") == key.id)
                // Signing keys likewise.
                let made = try await SigningKeys(pool: pool, keyEncryptionKeys: ring).create()
                let row = try await database.query(
                    "SELECT kek_id FROM pinledger.signing_secret WHERE kid = $1", [.text(made.keyID)])
                #expect(try row.only.text(0) == key.id)
            }
            // A third key stays what it was: another one.
            let other = TelemetrySecrets(pool: pool, keyEncryptionKeys: KeyEncryptionKeys(try .random(), beside: new))
            _ = try await other.secret("tk_new", of: app)
            await #expect(throws: SecretUnavailable.self) { try await other.secret("tk_old", of: app) }
        }
    }

    @Test func `a private half that is gone keeps a node from signing, and from nothing else`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let app = try Sample.app()
        let kid = try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            let kid = try await node.makeKey()
            try await node.execute(try Sample.create(app))
            #expect(await eventually { node[app]?.version == 1 })
            return kid
        }
        let columns = "kid, kek_id, nonce, ciphertext"
        let row = try await database.query("SELECT \(columns) FROM pinledger.signing_secret").only
        let values: [PostgresValue] = [
            .text(try row.text(0)), .text(try row.text(1)), .bytes(try row.bytes(2)), .bytes(try row.bytes(3)),
        ]
        _ = try await database.query("SELECT pinledger.erase_signing_secret($1)", [.text(kid)])
        let view = try await TestNode.run(on: database) { try await $0.fullFold() }
        try await PublishingNode.run(
            on: database,
            .with {
                $0.keyEncryptionKey = key
                $0.node.view = view
            }
        ) { node in
            let active = try #require(node.node.ledger.view.state.keys.active)
            await #expect(throws: SigningKeys.Unavailable.missing(kid)) { try await node.keys.privateKey(of: active) }
            #expect(!node.keys.canSign && node.keys.hasKeyEncryptionKey)
            #expect(node.keys.trouble?.contains(kid) == true)
            // A change is recorded without waiting for a signature, and no document is held back for it.
            try await node.execute(try Sample.rename(app, "x"))
            await node.publisher.prepare(within: .zero)
            #expect(node[app]?.version == 1)
            // The row comes back from a backup.
            _ = try await database.query(
                "INSERT INTO pinledger.signing_secret (\(columns)) VALUES ($1, $2, $3, $4)", values)
            #expect(await eventually { node[app]?.version == 2 })
            #expect(node.keys.canSign && node.keys.trouble == nil)
        }
    }

    @Test func `a node notices that the private half that it signs with is stored no more`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            let kid = try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app))
            await node.publisher.findActiveKey()
            #expect(node.keys.trouble == nil)
            _ = try await database.query("SELECT pinledger.erase_signing_secret($1)", [.text(kid)])
            await node.publisher.findActiveKey()
            #expect(node.keys.trouble?.contains("in the database no more") == true)
            // The node goes on with what it has in memory.
            #expect(node.keys.canSign)
            try await node.execute(try Sample.rename(app, "x"))
            #expect(await eventually { node[app]?.version == 2 })
            #expect(node.keys.trouble != nil)
        }
    }
}
