import PinWire
import TransparencyLog

/// What signs the ends of batches, and snapshots: the private half of a batch key.
///
/// Nodes with the key-encryption key check the MAC of a batch (``BatchKey``), which costs next to nothing. The signature says
/// the same to those who must not have that key: nodes that only read, and auditors.
package struct BatchSigner: Sendable {
    /// The first 8 bytes of SHA-256(public key).
    private let id: [UInt8]
    private let sign: @Sendable ([UInt8]) -> [UInt8]?

    /// - Parameters:
    ///   - publicKey: The Ed25519 public key, 32 bytes.
    ///   - sign: The Ed25519 signature (RFC 8032) of its argument, 64 bytes; nil where it cannot be made. A batch goes without
    ///     then: it MUST NOT be held up, and nodes without the key wait for the next one.
    package init(publicKey: [UInt8], _ sign: @escaping @Sendable ([UInt8]) -> [UInt8]?) {
        self.id = BatchVerifier.id(of: publicKey)
        self.sign = sign
    }

    /// What is stored, 72 bytes: the key's id, and the signature.
    func signature(of end: Head) -> [UInt8]? { self.signature(over: BatchVerifier.message(for: end)) }

    /// The same of a snapshot, by the digest that ends it.
    func signature(ofSnapshot seal: [UInt8]) -> [UInt8]? {
        self.signature(over: BatchVerifier.message(forSnapshot: seal))
    }

    /// - Parameter message: Begins with a text that says of what it is: the key signs several kinds.
    func signature(over message: [UInt8]) -> [UInt8]? { self.sign(message).map { self.id + $0 } }
}

/// What verifies the signatures of batches and snapshots: the public half of a batch key.
///
/// As a MAC does, one right signature vouches for the whole ledger up to its end. It stands in the row of the event, which no
/// login of a node can change, so that an earlier end cannot be put in the place of a later one.
package struct BatchVerifier: Sendable {
    /// What is wrong with a signature.
    package enum Defect: Hashable, Sendable, CustomStringConvertible {
        case missing
        /// It says that it was made with another key.
        case otherKey
        case wrong

        package var description: String {
            switch self {
            case .missing: "there is no signature"
            case .otherKey: "the signature is made with another batch key"
            case .wrong: "the signature is not made with the batch key that it names"
            }
        }
    }

    /// The first 8 bytes of SHA-256(public key).
    let id: [UInt8]
    private let verify: @Sendable (_ signature: [UInt8], _ message: [UInt8]) -> Bool

    /// - Parameters:
    ///   - publicKey: The Ed25519 public key, 32 bytes.
    ///   - verify: Whether a signature of 64 bytes is the key's over a message.
    package init(
        publicKey: [UInt8], _ verify: @escaping @Sendable (_ signature: [UInt8], _ message: [UInt8]) -> Bool
    ) {
        self.id = Self.id(of: publicKey)
        self.verify = verify
    }

    /// What is wrong with the signature that is stored with the last event before an end of the ledger; nil where nothing is.
    package func defect(of signature: [UInt8]?, beside end: Head) -> Defect? {
        self.defect(of: signature, over: Self.message(for: end))
    }

    /// Whether a signature is this key's of a snapshot with this seal.
    func isRight(_ signature: [UInt8]?, ofSnapshot seal: [UInt8]) -> Bool {
        self.defect(of: signature, over: Self.message(forSnapshot: seal)) == nil
    }

    func defect(of signature: [UInt8]?, over message: [UInt8]) -> Defect? {
        guard let signature else { return .missing }
        guard signature.starts(with: self.id) else { return .otherKey }
        return self.verify(Array(signature.dropFirst(self.id.count)), message) ? nil : .wrong
    }

    /// What is signed: the text `pinledger/batch/v1` and a zero byte, the number of events (8 bytes, big-endian), and the
    /// root of the Merkle tree over them (32 bytes).
    static func message(for end: Head) -> [UInt8] {
        var message = Array("pinledger/batch/v1\u{0}".utf8)
        withUnsafeBytes(of: end.position.bigEndian) { unsafe message.append(contentsOf: $0) }
        return message + end.frontier.root.bytes
    }

    /// What is signed of a snapshot: the text `pinledger/signed-snapshot/v1`, a zero byte, and the seal (32 bytes).
    static func message(forSnapshot seal: [UInt8]) -> [UInt8] {
        Array("pinledger/signed-snapshot/v1\u{0}".utf8) + seal
    }

    static func id(of publicKey: [UInt8]) -> [UInt8] { Array(sha256(publicKey).prefix(8)) }
}

extension [BatchVerifier] {
    /// What is wrong with a signature of the ledger's end by any of these keys; nil where nothing is, or there are none.
    package func defect(of signature: [UInt8]?, beside end: Head) -> BatchVerifier.Defect? {
        let defects = self.map { $0.defect(of: signature, beside: end) }
        guard !defects.contains(nil) else { return nil }
        return defects.contains(.wrong) ? .wrong : defects.first ?? nil
    }
}
