package import Keys
package import Pinning

/// A signing key that the ledger names: its public half, and the one purpose that its private half is sealed for.
package struct Signer: Hashable, Sendable {
    /// ``SealedSecret/documentRole`` or ``SealedSecret/checkpointRole``.
    package let role: String
    package let publicKey: Ed25519PublicKey
}

extension LedgerState {
    /// All signing keys that the ledger names, retired ones included, by their names.
    package var signers: [String: Signer] {
        let documents = self.keys.keys.values.map { ($0.kid, $0.publicKey, SealedSecret.documentRole) }
        let checkpoints = self.log.keys.map { ($0.kid, $0.publicKey, SealedSecret.checkpointRole) }
        var signers: [String: Signer] = [:]
        for (kid, bytes, role) in documents + checkpoints {
            signers[kid] = Ed25519PublicKey(bytes).map { Signer(role: role, publicKey: $0) }
        }
        return signers
    }
}
