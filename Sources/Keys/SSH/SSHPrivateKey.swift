import PinWire

/// Reads an Ed25519 private key in OpenSSH's own format (PROTOCOL.key), as `ssh-keygen -t ed25519` writes it without a passphrase.
package enum SSHPrivateKey {
    /// Why a file is no such key.
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case notOpenSSH
        case encrypted
        case otherType
        case contradictory

        package var description: String {
            switch self {
            case .notOpenSSH: "is not a private key in OpenSSH's format"
            case .encrypted: "is protected by a passphrase: add it to the agent (ssh-add), and sign with --ssh-agent"
            case .otherType: "is not of the type ssh-ed25519"
            case .contradictory: "is damaged: its halves do not belong together"
            }
        }
    }

    private static let (first, last) = (
        "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"
    )
    private static let magic = Array("openssh-key-v1".utf8) + [0]
    /// The most bytes that are read.
    package static let maximumSize = 16 << 10

    /// - Parameter text: The file's content. It stays in memory as long as the caller has it.
    package static func read(_ text: [UInt8]) throws(Failure) -> Ed25519PrivateKey {
        guard text.count <= Self.maximumSize else { throw .notOpenSSH }
        let lines = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        guard lines.count > 2, lines.first.map(Array.init) == Array(Self.first.utf8),
            lines.last.map(Array.init) == Array(Self.last.utf8),
            let bytes = Base64.decode(bytes: Array(lines.dropFirst().dropLast().joined()))
        else { throw .notOpenSSH }
        var fields = SSHFields(bytes)
        guard fields.bytes(Self.magic.count) == Self.magic, let cipher = fields.string(), fields.string() != nil,
            fields.string() != nil, fields.number() == 1, fields.string() != nil, let secret = fields.string(),
            fields.isAtEnd
        else { throw .notOpenSSH }
        guard cipher == Array("none".utf8) else { throw .encrypted }
        var parts = SSHFields(secret)
        guard let check = parts.number(), parts.number() == check, let type = parts.string() else { throw .notOpenSSH }
        guard type == Array(SSHPublicKey.type.utf8) else { throw .otherType }
        guard let publicKey = parts.string(), let expanded = parts.string(), expanded.count == 64,
            let key = try? Ed25519PrivateKey(seed: Array(expanded.prefix(Ed25519PrivateKey.seedByteCount))),
            key.publicKey.bytes == publicKey, Array(expanded.suffix(32)) == publicKey
        else { throw .contradictory }
        return key
    }
}
