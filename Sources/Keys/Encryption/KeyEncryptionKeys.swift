import Synchronization

/// The key-encryption keys with which a node works: the ledger's own and, while that is being changed, the one before or after it too.
///
/// Seals and MACs of any of them are accepted. The node seals and authenticates with the one in
/// force: the one that authenticates the ledger's end, as the node saw it last. `pinledger key rewrap` changes that in the same
/// transaction as all secrets, so a node with both keys records on, whenever that comes.
package final class KeyEncryptionKeys: Sendable {
    /// At least one; the first is in force until the ledger says otherwise.
    package let keys: [KeyEncryptionKey]
    private let place = Atomic(0)

    /// - Parameter other: The key that the ledger had before, or is about to have; nil for none.
    package init(_ key: KeyEncryptionKey, beside other: KeyEncryptionKey? = nil) {
        self.keys = [key] + [other].compactMap(\.self).filter { $0.id != key.id }
    }

    /// The key in force.
    package var current: KeyEncryptionKey { self.keys[self.place.load(ordering: .acquiring)] }

    /// The key of this name; where there is none, the one in force, whose user finds that it is another one.
    package subscript(id: String) -> KeyEncryptionKey { self.keys.first { $0.id == id } ?? self.current }

    /// Puts a key in force. A name of none of them changes nothing.
    ///
    /// - Parameter id: ``KeyEncryptionKey/idBytes``: 8 bytes.
    package func use(_ id: [UInt8]) {
        guard let place = self.keys.firstIndex(where: { $0.idBytes == id }) else { return }
        self.place.store(place, ordering: .releasing)
    }
}
