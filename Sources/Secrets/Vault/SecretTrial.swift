package import Keys
package import PinWire
package import Pinning

/// The outcome of opening the secrets that a ledger names with a node's key-encryption keys: it shows whose keys those are. A pure value.
///
/// Stored secrets that the ledger does not name count for nothing: a node with another key, or a login of the database, may
/// have stored them.
package struct SecretTrial: Hashable, Sendable {
    /// A secret that the key does not open.
    package struct Failure: Hashable, Sendable, CustomStringConvertible {
        package var kind: StoredSecret.Kind
        package var id: String
        /// Nil where it is not stored.
        package var reason: SealedSecret.Invalid?

        package var description: String {
            let name = "the \(self.kind.noun) \(self.id)"
            return self.reason.map { "\(name) cannot be opened: \($0)" } ?? "\(name) is not stored"
        }
    }

    /// How many secrets a key opens.
    package private(set) var opened = 0
    /// Secrets that are stored, and that no key opens.
    package private(set) var failures: [Failure] = []
    /// Secrets that are not stored.
    package private(set) var missing: [Failure] = []

    /// Opens each stored secret that a state names.
    ///
    /// - Parameter now: When the state was read.
    package init(
        of keyEncryptionKeys: KeyEncryptionKeys, on secrets: [StoredSecret], in state: LedgerState, at now: Timestamp
    ) {
        let signers = state.signers
        let stored = Dictionary(secrets.map { ("\($0.kind.rawValue) \($0.id)", $0) }) { first, _ in first }
        for named in NamedSecret.all(in: state, at: now) {
            guard let secret = stored["\(named.kind.rawValue) \(named.id)"] else {
                self.missing.append(Failure(kind: named.kind, id: named.id))
                continue
            }
            do {
                try secret.check(with: keyEncryptionKeys[secret.keyEncryptionKeyID], signers: signers)
                self.opened += 1
            } catch {
                self.failures.append(Failure(kind: named.kind, id: named.id, reason: error))
            }
        }
    }

    /// The secrets that are missing or not opened, and that a later state names too: others may have been erased meanwhile.
    package func unusable(in state: LedgerState, at now: Timestamp) -> [Failure] {
        let named = Set(NamedSecret.all(in: state, at: now).map { "\($0.kind.rawValue) \($0.id)" })
        return (self.failures + self.missing).filter { named.contains("\($0.kind.rawValue) \($0.id)") }
    }

    /// True where secrets are stored, and no key opens any of them.
    package var isOfAnotherKey: Bool { self.opened == 0 && !self.failures.isEmpty }
}
