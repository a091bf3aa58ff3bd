/// The key with which a node authenticates its snapshots, so that write access to the database is not enough to make
/// one.
///
/// The owner of the key supplies it as a function: this target neither sees nor stores it.
package struct SnapshotKey: Sendable {
    private let authenticator: @Sendable ([UInt8]) -> [UInt8]
    private let signature: @Sendable ([UInt8]) -> [UInt8]?
    /// The keys whose tags count; none where it is this one alone.
    private let accepted: [SnapshotKey]

    /// - Parameters:
    ///   - signer: What signs snapshots for nodes without the key; nil for nothing.
    ///   - authenticator: HMAC-SHA-256, or an equivalent, of its argument: 32 bytes.
    package init(signer: BatchSigner? = nil, _ authenticator: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        self.authenticator = authenticator
        self.signature = { signer?.signature(ofSnapshot: $0) }
        self.accepted = []
    }

    /// The key of a node that accepts the snapshots of several keys, while one takes the place of another.
    ///
    /// - Parameter current: The one with which the node makes snapshots.
    package init(accepting keys: [SnapshotKey], _ current: @escaping @Sendable () -> SnapshotKey) {
        self.authenticator = { current().tag(of: $0) }
        self.signature = { current().signature(of: $0) }
        self.accepted = keys
    }

    /// The tag of a message.
    func tag(of message: [UInt8]) -> [UInt8] { self.authenticator(message) }

    /// True for the tag that an accepted key makes of a message.
    func accepts(_ tag: [UInt8]?, of message: [UInt8]) -> Bool {
        self.accepted.isEmpty ? tag == self.tag(of: message) : self.accepted.contains { $0.accepts(tag, of: message) }
    }

    /// The signature of a snapshot with this seal, 72 bytes; nil where nothing signs.
    func signature(of seal: [UInt8]) -> [UInt8]? { self.signature(seal) }
}
