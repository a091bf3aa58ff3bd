import CSodium
import PinWire

/// A signature of an Ed25519 key in OpenSSH's format SSHSIG (PROTOCOL.sshsig, version 1), as `ssh-keygen -Y sign` makes it and
/// `ssh-keygen -Y verify` checks it.
package struct SSHSignature: Hashable, Sendable {
    /// Why bytes are no such signature.
    package enum Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        case notArmored
        case notSSHSIG
        case otherKeyType
        case otherHash

        package var description: String {
            switch self {
            case .notArmored: "is not between -----BEGIN SSH SIGNATURE----- and -----END SSH SIGNATURE-----, in base64"
            case .notSSHSIG: "is not a signature in OpenSSH's format SSHSIG, version 1"
            case .otherKeyType: "is not of a key of the type ssh-ed25519"
            case .otherHash: "uses a hash that is neither sha512 nor sha256"
            }
        }
    }

    /// The hashes that the format knows.
    private enum Hash: String {
        case sha256
        case sha512

        func digest(_ message: [UInt8]) -> [UInt8] {
            switch self {
            case .sha256: return PinWire.sha256(message)
            case .sha512:
                Sodium.start()
                var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha512_BYTES))
                _ = unsafe crypto_hash_sha512(&digest, message, UInt64(message.count))
                return digest
            }
        }
    }

    package let publicKey: Ed25519PublicKey
    /// What the signature is for; one made for something else does not fit.
    package let namespace: String
    private let hash: Hash
    /// 64 bytes.
    private let signature: [UInt8]

    private static let magic = Array("SSHSIG".utf8)
    private static let (first, last) = ("-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----")
    /// The most bytes that are read: those of an Ed25519 key take about 300 with their armor.
    package static let maximumSize = 4096

    /// Reads the text form.
    package init(armored text: String) throws(Malformed) {
        guard text.utf8.count <= Self.maximumSize else { throw .notArmored }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
        guard lines.count > 2, lines.first == Self.first, lines.last == Self.last,
            let bytes = Base64.decode(lines.dropFirst().dropLast().joined())
        else { throw .notArmored }
        try self.init(bytes)
    }

    /// Reads the binary form.
    package init(_ bytes: [UInt8]) throws(Malformed) {
        var fields = SSHFields(bytes)
        guard fields.bytes(Self.magic.count) == Self.magic, fields.number() == 1, let key = fields.string(),
            let namespace = fields.string().flatMap({ String(ascii: $0) }),
            fields.string() == [], let hash = fields.string(), let signature = fields.string(), fields.isAtEnd
        else { throw .notSSHSIG }
        guard let publicKey = SSHPublicKey.key(of: key) else { throw .otherKeyType }
        guard let known = String(ascii: hash).flatMap(Hash.init(rawValue:)) else { throw .otherHash }
        var parts = SSHFields(signature)
        guard parts.string(is: SSHPublicKey.type), let value = parts.string(), parts.isAtEnd,
            value.count == Ed25519PublicKey.signatureByteCount
        else { throw .notSSHSIG }
        self.publicKey = publicKey
        self.namespace = namespace
        self.hash = known
        self.signature = value
    }

    private init(_ publicKey: Ed25519PublicKey, namespace: String, signature: [UInt8]) {
        self.publicKey = publicKey
        self.namespace = namespace
        self.hash = .sha512
        self.signature = signature
    }

    /// Makes a signature over a message.
    ///
    /// - Parameter sign: Signs the bytes that it gets with the private half of `publicKey`, 64 bytes: from a file, or by an agent.
    /// - Throws: What `sign` throws; ``Ed25519PrivateKey/Failure/signingFault`` where the signature does not verify.
    package init(
        of message: [UInt8], namespace: String, by publicKey: Ed25519PublicKey, _ sign: ([UInt8]) throws -> [UInt8]
    ) throws {
        let signature = try sign(Self.signed(message, namespace, .sha512))
        self.init(publicKey, namespace: namespace, signature: signature)
        guard self.verifies(message, namespace: namespace) else { throw Ed25519PrivateKey.Failure.signingFault }
    }

    /// What the key signs of a message.
    private static func signed(_ message: [UInt8], _ namespace: String, _ hash: Hash) -> [UInt8] {
        Self.magic + SSHFields.string(namespace) + SSHFields.string([]) + SSHFields.string(hash.rawValue)
            + SSHFields.string(hash.digest(message))
    }

    /// Whether the signature is ``publicKey``'s over `message`, made for `namespace`.
    package func verifies(_ message: [UInt8], namespace: String) -> Bool {
        self.namespace == namespace
            && self.publicKey.verifies(self.signature, over: Self.signed(message, self.namespace, self.hash))
    }

    /// The binary form.
    package var bytes: [UInt8] {
        Self.magic + SSHFields.number(1) + SSHFields.string(SSHPublicKey.blob(self.publicKey))
            + SSHFields.string(self.namespace) + SSHFields.string([]) + SSHFields.string(self.hash.rawValue)
            + SSHFields.string(SSHFields.string(SSHPublicKey.type) + SSHFields.string(self.signature))
    }

    /// The text form, with lines of 70 characters as `ssh-keygen` writes them.
    package var armored: String {
        var (lines, rest): ([String], Substring) = ([], Base64.encode(self.bytes)[...])
        while !rest.isEmpty {
            lines.append(String(rest.prefix(70)))
            rest = rest.dropFirst(70)
        }
        return ([Self.first] + lines + [Self.last]).joined(separator: "\n") + "\n"
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> String {
        String(self.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
