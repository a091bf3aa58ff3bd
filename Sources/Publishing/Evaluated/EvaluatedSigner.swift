package import EventStore
import Keys
import NIOCore
import NIOPosix
import PinWire
import Pinning
package import Secrets

/// Why a node cannot sign an evaluated document now.
package enum EvaluatedUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
    /// It has no key-encryption key, or there is no signing key at all.
    case noKey
    /// Nothing is signed while the ledger is damaged or the clock is wrong.
    case halted
    /// Too many requests wait for it already.
    case overloaded

    package var description: String {
        switch self {
        case .noKey: "this node has no key to sign with"
        case .halted: "this node signs nothing while the ledger is damaged or the clock is wrong"
        case .overloaded: "too many documents wait to be signed"
        }
    }
}

/// Signs evaluated documents, one at a time, on a thread of its own: parsing a large document and signing many small
/// ones may be milliseconds of work each, which must delay neither clients' event loops nor the cooperative threads.
package actor EvaluatedSigner {
    private let ledger: Ledger
    private let keys: SigningKeys

    /// The thread of all signers, which lives as long as the process.
    private static let thread = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    package nonisolated var unownedExecutor: UnownedSerialExecutor { Self.thread.executor.asUnownedSerialExecutor() }

    /// The JOSE type of evaluated documents.
    package static let documentType = "pinset-evaluated+jws"

    package init(ledger: Ledger, keys: SigningKeys) {
        self.ledger = ledger
        self.keys = keys
    }

    /// Runs work on the signer with the key that signs now. The work does not wait, so that nothing else of this signer
    /// happens in between: of many requests for the same variant, one signs it.
    func inTurn<Result: Sendable>(
        _ work: @Sendable (isolated EvaluatedSigner, Key) throws -> Result
    ) async throws -> Result {
        let key = try await self.activeKey()
        return try work(self, key)
    }

    /// The key that signs now.
    struct Key: Sendable {
        var secret: Ed25519PrivateKey
        var kid: String
    }

    private func activeKey() async throws -> Key {
        guard self.keys.canSign, let active = self.ledger.view.state.keys.active else {
            throw EvaluatedUnavailable.noKey
        }
        guard self.ledger.fault == nil, self.ledger.suspension == nil else { throw EvaluatedUnavailable.halted }
        return Key(secret: try await self.keys.privateKey(of: active), kid: active.kid)
    }

    /// The compact JWS of an evaluated document, with the freshness fields of its source.
    func sign(_ document: Document, as issued: IssuedDocument, with key: Key) throws -> [UInt8] {
        let payload = document.payload(issuedAt: issued.issuedAt, expiresAt: issued.expiresAt)
        return Array(
            try CompactJWS.sign(payload, type: Self.documentType, keyID: key.kid, key: key.secret).utf8)
    }
}
