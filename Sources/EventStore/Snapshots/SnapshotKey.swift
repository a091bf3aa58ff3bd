/// The key with which a node authenticates its snapshots, so that write access to the database is not enough to make
/// one.
///
/// The owner of the key supplies it as a function: this target neither sees nor stores it.
package struct SnapshotKey: Sendable {
    private let authenticator: @Sendable ([UInt8]) -> [UInt8]
    private let signer: BatchSigner?

    /// - Parameters:
    ///   - signer: What signs snapshots for nodes without the key; nil for nothing.
    ///   - authenticator: HMAC-SHA-256, or an equivalent, of its argument: 32 bytes.
    package init(signer: BatchSigner? = nil, _ authenticator: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        self.signer = signer
        self.authenticator = authenticator
    }

    /// The tag of a message.
    func tag(of message: [UInt8]) -> [UInt8] { self.authenticator(message) }

    /// The signature of a snapshot with this seal, 72 bytes; nil where nothing signs.
    func signature(of seal: [UInt8]) -> [UInt8]? { self.signer?.signature(ofSnapshot: seal) }
}
