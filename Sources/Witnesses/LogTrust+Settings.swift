package import Keys
package import PinWire
package import Pinning

extension NoteKey {
    /// The key with which a log signs its checkpoints; nil where the ledger names one that is not an Ed25519 key.
    package init?(_ key: LogKey, of origin: LogName) {
        guard let publicKey = Ed25519PublicKey(key.publicKey) else { return nil }
        self.init(name: origin, kind: .ed25519, publicKey: publicKey)
    }

    /// The key with which a witness cosigns; nil where the ledger names one that is not an Ed25519 key.
    package init?(_ witness: LogWitness) {
        guard let publicKey = Ed25519PublicKey(witness.publicKey) else { return nil }
        self.init(name: witness.name, kind: .cosignature, publicKey: publicKey)
    }
}

extension LogTrust {
    /// What the ledger says of the log of this name: the keys that sign, its witnesses and their quorum; nil where none of
    /// the keys can be used.
    package init?(_ log: LogSettings, of origin: LogName) {
        self.init(
            log: log.signers.compactMap { NoteKey($0, of: origin) },
            witnesses: log.witnesses.compactMap { NoteKey($0) },
            quorum: Int(log.quorum))
    }
}
