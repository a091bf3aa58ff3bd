import EventStore
import Keys
import LogLines
import Logging
import Pinning
import Postgres
import Publishing
import Secrets
import TransparencyLog

/// Why no node vouches for the ledger to one that remembers nothing.
private enum Silence: Error, CustomStringConvertible {
    case noKey
    case noNode
    case noAnswer
    case notAsked(String)

    var description: String {
        switch self {
        case .noKey:
            "this node has neither the key-encryption key nor a batch public key, and can believe none"
        case .noNode: "none runs"
        case .noAnswer:
            "none that runs has answered within \(VouchRequests.patience); only nodes with the key-encryption key and a memory do, while they are neither halted nor suspended"
        case .notAsked(let why): "they cannot be asked: \(why)"
        }
    }
}

extension Silence {
    fileprivate var advice: String {
        let first =
            switch self {
            case .noKey:
                "Give it --batch-public-key with what `pinledger key batch-public-key` prints where the key-encryption key is, and start it again beside a node that runs."
            case .noNode, .noAnswer, .notAsked:
                "Start a node that remembers the ledger; this one asks it when it starts."
            }
        return first + Self.otherwise
    }

    private static let otherwise =
        " Otherwise give this one a checkpoint that `pinledger audit checkpoint` printed, with --expect-checkpoint FILE, or start it once with --trust-database."
}

/// How a node that remembers nothing of a ledger in use begins.
extension Node {
    /// A node without a memory cannot tell an old backup from the present database, so a node that can, the log's witnesses or an
    /// operator has to vouch for it.
    func checkBeginning(_ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool) async throws {
        let configuration = self.configuration.memory
        guard ledger.fault.map(\.meansUpgrade) ?? true, ledger.position > 0, configuration.expected == nil else {
            return
        }
        guard !configuration.trustsDatabase else {
            return try await self.checkOthersAgree(pool)
        }
        try await self.checkNoneIsHalted(pool)
        let silence: Silence
        switch await self.endVouchedByNodes(pool, atLeast: ledger.position) {
        case .success(let end):
            // The end may lie behind events that came meanwhile.
            try await self.haltOnDamage(ledger) { try await follower.catchUp() }
            try await self.halt(ledger, follower, pool, unlessItGoesOnFrom: end.position, end.root, in: end.epoch)
            if ledger.fault == nil { self.logger.log(.endVouched, ["position": "\(end.position)", "by": "node"]) }
            return
        case .failure(let failure): silence = failure
        }
        guard ledger.view.state.log.witnesses.isEmpty else {
            let checkpoints = try await self.checkpointsOfWitnesses(ledger.view.state.log)
            for checkpoint in checkpoints {
                try await self.halt(ledger, follower, pool, unlessItGoesOnFrom: checkpoint)
            }
            if ledger.fault == nil, let end = checkpoints.map(\.size).max() {
                self.logger.log(.endVouched, ["position": "\(end)", "by": "witness"])
            }
            return
        }
        throw CommandFailure(
            "this node remembers nothing, and the database has \(ledger.position) events: nothing shows that none is missing. No node vouches for them: \(silence)",
            advice: silence.advice
        )
    }

    /// The end of the ledger for which a node vouches that shares the database, is running and remembers it.
    ///
    /// - Parameter position: The end that this node has read. A node that shares the database gets there in a moment; an earlier end, or
    ///   that of an empty ledger, shows nothing of the events behind it, and is one of a node of another database: someone may pass
    ///   challenges on to it, and its answers back.
    private func endVouchedByNodes(_ pool: PostgresPool, atLeast position: Int64) async -> Result<VouchedEnd, Silence> {
        do {
            let keys = try self.configuration.keyEncryptionKeys?.keys.map { try $0.batchSigningKey().publicKey }
            let verifiers = (keys ?? self.configuration.batchPublicKeys).map(BatchVerifier.init)
            guard !verifiers.isEmpty else { return .failure(.noKey) }
            guard try await NodeRegistry(pool: pool).hasLiveWriter() else { return .failure(.noNode) }
            let requests = VouchRequests(pool: pool)
            let limit = ContinuousClock.now + VouchRequests.patience
            // A wrong answer, or a request that was taken away, leads to another request: a login of the database can do both.
            while ContinuousClock.now < limit {
                let challenge = Self.challenge()
                guard try await requests.ask(challenge) else {
                    return .failure(.notAsked("the database has no primary that takes a request"))
                }
                let answer = await self.answer(to: challenge, requests, until: limit)
                try? await requests.withdraw(challenge)
                if let answer, let end = VouchedEnd(answer: answer, to: challenge, verifiedBy: verifiers),
                    end.position >= position
                {
                    return .success(end)
                }
                try await Task.sleep(for: .milliseconds(500))
            }
            return .failure(.noAnswer)
        } catch {
            return .failure(.notAsked("\(error)"))
        }
    }

    private static func challenge() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<VouchedEnd.challengeLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// The answer to a challenge; nil where none has come, or the request is there no longer.
    private func answer(
        to challenge: [UInt8], _ requests: VouchRequests, until limit: ContinuousClock.Instant
    ) async -> [UInt8]? {
        while ContinuousClock.now < limit, !Task.isCancelled {
            // A connection that fails is no answer yet.
            switch try? await requests.answer(to: challenge) {
            case .answered(let answer): return answer
            case .gone: return nil
            case .waiting, nil: break
            }
            // Each look may take a connection to a primary of its own.
            try? await Task.sleep(for: .seconds(1))
        }
        return nil
    }
}
