import PinWire

extension Ed25519PublicKey {
    /// Reads a file with a public key: PEM of a SubjectPublicKeyInfo (RFC 7468 section 13, RFC 8410), or a line of OpenSSH. Nil for
    /// anything else.
    package init?(file bytes: [UInt8]) {
        guard bytes.count <= 8192, let text = String(ascii: bytes) else { return nil }
        if let key = SSHPublicKey.key(ofLine: text) {
            self = key
            return
        }
        let lines = text.split { $0.isNewline }.map { $0.filter { !$0.isWhitespace } }
        guard lines.count > 2, lines.first == "-----BEGINPUBLICKEY-----", lines.last == "-----ENDPUBLICKEY-----",
            let info = Base64.decode(lines.dropFirst().dropLast().joined()),
            let key = Ed25519PublicKey(info.suffix(Self.byteCount)), key.subjectPublicKeyInfo == info
        else { return nil }
        self = key
    }
}
