import PinWire
import TransparencyLog

/// The key with which nodes authenticate the batches that they append, so that the right to write to the database is not
/// enough to add an event.
///
/// The MAC of a batch covers the ledger's end behind it: the number of events, the time of the last one, and the root of
/// the Merkle tree, and so every event before. A node computes it only over an end that it has made from events it has
/// verified, so one valid MAC vouches for the whole ledger up to there.
///
/// The owner of the key supplies the MAC as a function: this target neither sees nor stores the key.
package struct BatchKey: Sendable {
    /// What is wrong with a MAC.
    package enum Defect: Hashable, Sendable, CustomStringConvertible {
        case missing
        /// It says that it was made with another key.
        case otherKey
        case wrong

        package var description: String {
            switch self {
            case .missing: "there is no MAC"
            case .otherKey:
                "the MAC is made with another key-encryption key than this node's; after a key change, start the node with the new one"
            case .wrong: "the MAC is not made with the key-encryption key that it names"
            }
        }
    }

    /// The key's public name: 8 bytes.
    package let id: [UInt8]
    private let authenticator: @Sendable ([UInt8]) -> [UInt8]
    let signer: BatchSigner?

    /// - Parameters:
    ///   - id: 8 bytes; the database refuses MACs with any other number of them.
    ///   - signer: What signs batches for those who do not have the key; nil for nothing.
    ///   - authenticator: HMAC-SHA-256 of its argument under a key that is used for nothing else: 32 bytes.
    package init(
        id: [UInt8], signer: BatchSigner? = nil, _ authenticator: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        self.id = id
        self.signer = signer
        self.authenticator = authenticator
    }

    /// The signature that is stored with the last event before an end of the ledger; nil where nothing signs.
    package func signature(of end: Head) -> [UInt8]? { self.signer?.signature(of: end) }

    /// What is stored beside an end of the ledger, 40 bytes: the key's id, and the MAC of the position (8 bytes), the time of the last
    /// event (8 bytes, microseconds since 1970; both big-endian) and the root (32 bytes).
    package func mac(of end: Head) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(48)
        for number in [end.position, end.lastTime.microseconds] {
            withUnsafeBytes(of: number.bigEndian) { unsafe message.append(contentsOf: $0) }
        }
        return self.id + self.authenticator(message + end.frontier.root.bytes)
    }

    /// What is wrong with the MAC that is stored beside an end of the ledger; nil where nothing is.
    package func defect(of mac: [UInt8]?, beside end: Head) -> Defect? {
        guard let mac else { return .missing }
        guard mac.starts(with: self.id) else { return .otherKey }
        let right = self.mac(of: end)
        guard mac.count == right.count else { return .wrong }
        // In a time that does not depend on where they differ.
        return zip(mac, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0 ? nil : .wrong
    }
}

/// The ledger's end as the database states it. It is to be believed once the events make it, and where a node has the key,
/// once the MAC is right.
package struct StoredEnd: Sendable {
    package var head: Head
    /// As ``BatchKey/mac(of:)`` makes it, if it is right; nil where only nodes without a key have appended.
    package var mac: [UInt8]?
}
