/// The key with which a node authenticates its snapshots, so that write access to the database is not enough to make
/// one.
///
/// The owner of the key supplies it as a function: this target neither sees nor stores it.
package struct SnapshotKey: Sendable {
    private let authenticator: @Sendable ([UInt8]) -> [UInt8]

    /// - Parameter authenticator: HMAC-SHA-256, or an equivalent, of its argument: 32 bytes.
    package init(_ authenticator: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        self.authenticator = authenticator
    }

    /// The tag of a message.
    func tag(of message: [UInt8]) -> [UInt8] { self.authenticator(message) }
}
