package import Keys
package import Postgres

/// Changes the key-encryption key of everything that is sealed in the database.
///
/// What a secret is, and what it is bound to, stays. All of it happens in the caller's transaction: if the process dies
/// before the commit, everything is sealed as it was. It may be run again: what is sealed with the new key already is
/// opened with it, and left as it is.
package struct SecretRewrap: Sendable {
    /// What was done.
    package struct Outcome: Sendable {
        /// How many secrets of each kind were sealed with the new key.
        package var rewrapped: [StoredSecret.Kind: Int] = [:]
        /// How many were sealed with it already.
        package var left: [StoredSecret.Kind: Int] = [:]
        /// Stored signing keys that the ledger does not name. Nothing is signed with them, and nobody knows what they
        /// are bound to: they stay as they are.
        package var unnamed: [String] = []
    }

    /// Why it was not done.
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case sameKey(String)
        case cannotOpen(StoredSecret.Kind, String, SealedSecret.Invalid)
        /// What the database has after the change is not what was to be put there.
        case notStored(StoredSecret.Kind)

        package var description: String {
            switch self {
            case .sameKey(let id): "both key-encryption keys are the same one, \(id)"
            case .cannotOpen(let kind, let id, let reason): "the \(kind.noun) \(id) cannot be opened: \(reason)"
            case .notStored(let kind):
                "the database did not keep what was sealed of the kind \(kind.rawValue)"
            }
        }
    }

    private let old: KeyEncryptionKey
    private let new: KeyEncryptionKey
    private let publicKeys: [String: Ed25519PublicKey]

    /// Secrets that are sealed by one statement.
    private static let pageSize = 500

    /// - Parameter publicKeys: The public halves of the ledger's signing keys, by their names.
    /// - Throws: ``Failure/sameKey(_:)``.
    package init(
        from old: KeyEncryptionKey, to new: KeyEncryptionKey, publicKeys: [String: Ed25519PublicKey]
    ) throws(Failure) {
        guard old.id != new.id else { throw .sameKey(old.id) }
        self.old = old
        self.new = new
        self.publicKeys = publicKeys
    }

    /// Does it, within the connection's transaction: nothing counts before that is committed.
    ///
    /// - Throws: ``Failure`` or the database's error; the transaction MUST be rolled back then.
    package func run(on connection: isolated PostgresConnection) throws -> Outcome {
        try connection.query("SELECT pinledger.lock_secrets()")
        var outcome = Outcome()
        for kind in StoredSecret.Kind.allCases {
            var open: [StoredSecret] = []
            for stored in try StoredSecret.all(kind, on: connection) {
                if stored.label(self.publicKeys) == nil {
                    outcome.unnamed.append(stored.id)
                } else if stored.keyEncryptionKeyID == self.new.id {
                    try self.check(stored)
                    outcome.left[kind, default: 0] += 1
                } else {
                    open.append(stored)
                }
            }
            for start in stride(from: 0, to: open.count, by: Self.pageSize) {
                let page = open[start..<min(start + Self.pageSize, open.count)]
                try self.rewrap(page, kind, on: connection)
            }
            if !open.isEmpty { outcome.rewrapped[kind] = open.count }
            // What stands there now is what the next start will read.
            for stored in try StoredSecret.all(kind, on: connection) where stored.label(self.publicKeys) != nil {
                try self.check(stored)
            }
        }
        return outcome
    }

    private func check(_ stored: StoredSecret) throws(Failure) {
        do { try stored.check(with: self.new, publicKeys: self.publicKeys) } catch {
            throw .cannotOpen(stored.kind, stored.id, error)
        }
    }

    private func rewrap(
        _ page: ArraySlice<StoredSecret>, _ kind: StoredSecret.Kind, on connection: isolated PostgresConnection
    ) throws {
        let sealed = try page.map { stored in try self.rewrapped(stored) }
        let taken = try connection.query(
            "SELECT pinledger.rewrap_secrets($1, $2, $3, $4, $5, $6)",
            [
                .text(kind.rawValue), .textArray(page.map(\.id)), .bytesArray(page.map(\.nonce)), .text(self.new.id),
                .bytesArray(sealed.map(\.nonce)), .bytesArray(sealed.map(\.ciphertext)),
            ]
        ).only.int64(0)
        guard taken == Int64(page.count) else { throw Failure.notStored(kind) }
    }

    private func rewrapped(_ stored: StoredSecret) throws(Failure) -> SealedSecret {
        guard let label = stored.label(self.publicKeys) else {
            throw .cannotOpen(stored.kind, stored.id, .otherPublicKey)
        }
        do {
            // A secret that is not what its name says is not to be sealed once more.
            try stored.check(with: self.old, publicKeys: self.publicKeys)
            return try stored.sealed().rewrapped(label: label, from: self.old, to: self.new)
        } catch {
            throw .cannotOpen(stored.kind, stored.id, error)
        }
    }
}
