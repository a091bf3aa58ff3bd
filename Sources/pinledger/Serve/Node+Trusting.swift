import EventStore
import Keys
import LogLines
import Logging
import Pinning
import Postgres
import Secrets

/// How far a node believes its database because an operator says so, and its key-encryption key because it opens something.
extension Node {
    /// Refuses to trust the database beside a node that does not: it may hold another history than clients have seen, and this
    /// node would go on with it. `recover`, which goes on with another history on purpose, does so.
    func checkOthersAgree(_ pool: PostgresPool) async throws {
        guard !self.configuration.memory.isRecovered else { return }
        let doubt = try await pool.reading { connection in
            try await connection.perform { @Sendable connection in
                // In this order: what a node reports was recorded before.
                let nodes = try NodeRegistry.nodes(on: connection)
                let position = try LedgerReader.end(on: connection).head.position
                return NodeRegistry.doubt(of: nodes, aboutLedgerOf: position)
            }
        }
        if let doubt { throw Self.refusal("--trust-database is refused", doubt) }
    }

    /// Refuses to begin where a node that shares the database is halted: what it remembers may be all that shows a loss.
    func checkNoneIsHalted(_ pool: PostgresPool) async throws {
        guard let name = try await NodeRegistry(pool: pool).haltedNode() else { return }
        throw Self.refusal(
            "this node remembers nothing, and does not begin beside a node that may know of a loss",
            "the node \(name), which shares this database, is halted")
    }

    private static func refusal(_ refused: String, _ doubt: String) -> CommandFailure {
        CommandFailure(
            "\(refused): \(doubt)",
            advice:
                "Read that node's log. If it says that events are missing or were replaced, follow `pinledger handbook recovery`. To vouch for the ledger, give --expect-checkpoint what `pinledger audit checkpoint` prints. Where the ledger is right all the same, stop the other nodes first; one that was killed counts for a minute.",
            status: .notVerified)
    }

    /// Refuses a key-encryption key that shows nothing of being the ledger's, before anything is authenticated with it. Earlier ends show
    /// nothing: those from before a change of the key are the former key's.
    ///
    /// - Parameter defect: What is wrong with the MAC of the ledger's end.
    func checkKey(
        opensSecretsOf state: LedgerState, _ pool: PostgresPool, beside defect: BatchKey.Defect
    ) async throws {
        guard let keyEncryptionKeys = self.configuration.keyEncryptionKeys else { return }
        let trial = try await self.trial(of: keyEncryptionKeys, in: state, pool)
        try Self.refuse(trial, of: keyEncryptionKeys)
        guard trial.opened == 0, defect == .otherKey else { return }
        throw CommandFailure(
            "another key authenticates the ledger's end, and no secret is stored that the key-encryption key \(keyEncryptionKeys.current.id) opens: nothing shows that it is this ledger's",
            advice:
                "Nothing was changed. Give the key-encryption key with which the other nodes run, or restore the rows of pinledger.signing_secret from a backup: `pinledger handbook backup`, \"Lost keys\".",
            status: .notVerified)
    }

    /// Refuses a key-encryption key of another ledger. Where it is this ledger's, and the private half of the active signing key is
    /// gone or damaged, the node starts, and says that it cannot sign: clients need what it serves.
    func checkSigning(_ keys: SigningKeys, _ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool) async throws {
        guard keys.hasKeyEncryptionKey, let keyEncryptionKeys = self.configuration.keyEncryptionKeys else { return }
        switch ledger.fault {
        case nil:
            // The ledger's end is authenticated with the key, so the key is right.
            guard let active = ledger.view.state.keys.active else { return }
            do { _ = try await keys.privateKey(of: active) } catch let unavailable as SigningKeys.Unavailable {
                self.logger.log(.signingKeyUnavailable, ["fault": "\(unavailable)"])
            }
        case .unauthenticated(_, _, .otherKey):
            // Either this node has the wrong key, or the database states another one without reason. A key that the ledger has or had
            // authenticates nothing here: the node has halted, and serves.
            guard (try? await follower.keyIsOfLedger()) == false,
                let state = try? await pool.withConnection({ try await LedgerReader.signers(on: $0) }),
                let trial = try? await self.trial(of: keyEncryptionKeys, in: state, pool)
            else { return }
            try Self.refuse(trial, of: keyEncryptionKeys)
        default: return
        }
    }

    private func trial(
        of keyEncryptionKeys: KeyEncryptionKeys, in state: LedgerState, _ pool: PostgresPool
    ) async throws -> SecretTrial {
        let now = Self.clock()
        let secrets = try await pool.reading { connection in
            try await connection.perform { @Sendable connection in
                try StoredSecret.named(in: state, at: now, on: connection)
            }
        }
        return SecretTrial(of: keyEncryptionKeys, on: secrets, in: state, at: now)
    }

    private static func refuse(_ trial: SecretTrial, of keyEncryptionKeys: KeyEncryptionKeys) throws {
        guard trial.isOfAnotherKey, let first = trial.failures.first else { return }
        let count = trial.failures.count
        throw CommandFailure(
            "the key-encryption key \(keyEncryptionKeys.current.id) opens \(count == 1 ? "not the one secret" : "none of the \(count) secrets") that the ledger names: \(first)",
            advice:
                "Nothing was changed. Give the key-encryption key with which the other nodes run, or none to serve without signing. If a wrong key has authenticated the ledger's end, stop all nodes, and start one that has the right key once with --trust-database.",
            status: .notVerified)
    }
}
