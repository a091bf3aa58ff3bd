import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Testing

@testable import Publishing
@testable import Secrets

/// Nodes whose key-encryption key is another ledger's.
@Suite(.database, .timeLimit(.minutes(60)))
struct SigningKeyTests {
    private static func trial(_ key: KeyEncryptionKey, _ node: TestNode) async throws -> SecretTrial {
        let secrets = try await node.pool.withConnection { connection in
            try await connection.perform { @Sendable connection in
                try StoredSecret.Kind.allCases.flatMap { try StoredSecret.all($0, on: connection) }
            }
        }
        return SecretTrial(of: key, on: secrets, in: node.ledger.view.state, at: .wall)
    }

    @Test func `a key that opens nothing of what the ledger names is another ledger's`() async throws {
        let database = try TestDatabase.current
        let (right, wrong) = (try KeyEncryptionKey.random(), try KeyEncryptionKey.random())
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = right }) { node in
            // Where nothing is named, nothing is shown.
            #expect(try await Self.trial(wrong, node.node).isOfAnotherKey == false)
            try await node.makeKey()
            // Nodes with a wrong key store secrets too, which the ledger does not name.
            _ = try await SigningKeys(pool: node.node.pool, keyEncryptionKey: wrong).create()
            _ = try await TelemetrySecrets(pool: node.node.pool, keyEncryptionKey: wrong)
                .create("stray", of: try Sample.app())
            let (good, bad) = (try await Self.trial(right, node.node), try await Self.trial(wrong, node.node))
            #expect(good.opened == 1 && good.failures.isEmpty && !good.isOfAnotherKey)
            #expect(bad.opened == 0 && bad.failures.count == 1 && bad.isOfAnotherKey)
            let said = try #require(bad.failures.first).description
            #expect(said.contains("signing key") && said.contains(right.id) && said.contains(wrong.id))
        }
    }
}
