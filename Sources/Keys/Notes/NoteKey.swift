package import PinWire

/// The public key of a log or a witness that signs notes (C2SP signed-note).
///
/// People exchange it as text, a "vkey": `<name>+<key ID>+<base64(type ‖ public key)>`, the key ID in 8 hexadecimal digits.
package struct NoteKey: Hashable, Sendable {
    /// What is signed, and how: the type byte of the key.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// Ed25519 over the note's text (C2SP signed-note, type 0x01): a log's own signature.
        case ed25519 = 0x01
        /// Ed25519 over a time and the note's text (C2SP tlog-cosignature, type 0x04): a witness's signature.
        case cosignature = 0x04
    }

    /// Who signs. The name of a log's key is the log's origin.
    package let name: LogName
    /// What is signed, and how.
    package let kind: Kind
    /// The Ed25519 public key.
    package let publicKey: Ed25519PublicKey
    /// The first 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key), which stand before each signature.
    package let id: [UInt8]

    /// Names a key.
    package init(name: LogName, kind: Kind, publicKey: Ed25519PublicKey) {
        self.name = name
        self.kind = kind
        self.publicKey = publicKey
        self.id = Array(sha256(Array(name.text.utf8) + [0x0A, kind.rawValue] + publicKey.bytes).prefix(4))
    }

    /// Reads a vkey; nil unless it is exactly what ``text`` writes: the key ID is the one of name and key.
    package init?(text: String) {
        guard text.utf8.count <= LogName.maximumLength + 64 else { return nil }
        // Base64 has `+` too: the first two separate.
        let parts = text.utf8.split(separator: UInt8(ascii: "+"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let name = LogName(parts[0]), let bytes = Base64.decode(bytes: parts[2]),
            let kind = bytes.first.flatMap(Kind.init(rawValue:)), let publicKey = Ed25519PublicKey(bytes.dropFirst())
        else { return nil }
        self.init(name: name, kind: kind, publicKey: publicKey)
        guard self.text.utf8.elementsEqual(text.utf8) else { return nil }
    }

    /// The key as text, a "vkey".
    package var text: String {
        "\(self.name)+\(Hex.encode(self.id))+\(Base64.encode([self.kind.rawValue] + self.publicKey.bytes))"
    }

    /// Verifies a note's signature over the note's text; nil unless it is this key's.
    func verify(_ signature: [UInt8], over text: [UInt8]) -> SignedNote.Verified? {
        switch self.kind {
        case .ed25519:
            return self.publicKey.verifies(signature, over: text) ? .init(key: self, seconds: nil) : nil
        case .cosignature:
            guard signature.count == 8 + Ed25519PublicKey.signatureByteCount,
                // C2SP tlog-cosignature: the time must not exceed 2^63 - 1.
                let seconds = Int64(exactly: signature.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }),
                self.publicKey.verifies(
                    Array(signature.dropFirst(8)), over: Array("cosignature/v1\ntime \(seconds)\n".utf8) + text)
            else { return nil }
            return .init(key: self, seconds: seconds)
        }
    }
}

/// The private key with which a log signs its checkpoints.
package struct NoteSigner: Sendable {
    /// The public half, with the name under which it signs.
    package let key: NoteKey
    private let privateKey: Ed25519PrivateKey

    /// Names a private key.
    package init(name: LogName, privateKey: Ed25519PrivateKey) {
        self.key = NoteKey(name: name, kind: .ed25519, publicKey: privateKey.publicKey)
        self.privateKey = privateKey
    }

    /// Signs a note's text. Always the same for the same key and text.
    ///
    /// - Throws: ``Ed25519PrivateKey/Failure/signingFault``.
    package func sign(_ text: [UInt8]) throws(Ed25519PrivateKey.Failure) -> SignedNote.Signature {
        SignedNote.Signature(by: self.key, bytes: try self.privateKey.sign(text))
    }
}
