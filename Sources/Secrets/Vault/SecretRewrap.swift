package import Keys
package import Postgres

/// Changes the key-encryption key of every secret that is sealed in the database.
///
/// The secrets and their labels stay. All of it happens in the caller's transaction: if the process dies before the
/// commit, everything is sealed as it was. It may be run again: secrets that are already sealed with the new key are
/// opened with it, and left as they are.
package struct SecretRewrap: Sendable {
    /// The result.
    package struct Outcome: Sendable {
        /// How many secrets of each kind were sealed with the new key.
        package var rewrapped: [StoredSecret.Kind: Int] = [:]
        /// How many were sealed with it already.
        package var left: [StoredSecret.Kind: Int] = [:]
        /// Stored signing keys that the ledger does not name. They sign nothing, and their labels are unknown: they
        /// stay as they are.
        package var unnamed: [String] = []
    }

    /// Why it was not done.
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case sameKey(String)
        case cannotOpen(StoredSecret.Kind, String, SealedSecret.Invalid)
        /// The rows after the change are not the ones that were to be written.
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
    private let signers: [String: Signer]

    /// The number of secrets that one statement seals.
    private static let pageSize = 500

    /// - Parameter signers: The ledger's signing keys, by their names.
    /// - Throws: ``Failure/sameKey(_:)``.
    package init(
        from old: KeyEncryptionKey, to new: KeyEncryptionKey, signers: [String: Signer]
    ) throws(Failure) {
        guard old.id != new.id else { throw .sameKey(old.id) }
        self.old = old
        self.new = new
        self.signers = signers
    }

    /// Changes the key within the connection's transaction: nothing takes effect before that is committed.
    ///
    /// - Throws: ``Failure`` or the database's error; the transaction MUST be rolled back then.
    package func run(on connection: isolated PostgresConnection) throws -> Outcome {
        try connection.query("SELECT pinledger.lock_secrets()")
        var outcome = Outcome()
        for kind in StoredSecret.Kind.allCases {
            var open: [StoredSecret] = []
            for stored in try StoredSecret.all(kind, on: connection) {
                if stored.label(self.signers) == nil {
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
            // The rows read here are those that the next start will read.
            for stored in try StoredSecret.all(kind, on: connection) where stored.label(self.signers) != nil {
                try self.check(stored)
            }
        }
        return outcome
    }

    private func check(_ stored: StoredSecret) throws(Failure) {
        do { try stored.check(with: self.new, signers: self.signers) } catch {
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
        guard let label = stored.label(self.signers) else {
            throw .cannotOpen(stored.kind, stored.id, .otherPublicKey)
        }
        do {
            // A secret that is not what its name says MUST NOT be sealed again.
            try stored.check(with: self.old, signers: self.signers)
            return try stored.sealed().rewrapped(label: label, from: self.old, to: self.new)
        } catch {
            throw .cannotOpen(stored.kind, stored.id, error)
        }
    }
}
