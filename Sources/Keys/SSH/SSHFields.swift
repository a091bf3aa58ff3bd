import PinWire

/// The fields of OpenSSH's binary formats (RFC 4251 section 5), read from the front: numbers of four bytes, and strings with their length
/// before them.
package struct SSHFields {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: some Collection<UInt8>) { self.rest = Array(bytes)[...] }

    package var isAtEnd: Bool { self.rest.isEmpty }

    /// So many bytes; nil where there are fewer.
    package mutating func bytes(_ count: Int) -> [UInt8]? {
        guard count <= self.rest.count else { return nil }
        defer { self.rest = self.rest.dropFirst(count) }
        return Array(self.rest.prefix(count))
    }

    /// A number of four bytes, the highest first.
    package mutating func number() -> UInt32? {
        self.bytes(4).map { $0.reduce(0) { $0 << 8 | UInt32($1) } }
    }

    /// The bytes of a string; nil where it is cut short.
    package mutating func string() -> [UInt8]? {
        guard let count = self.number() else { return nil }
        return self.bytes(Int(count))
    }

    /// Whether a string follows that is this text.
    package mutating func string(is text: String) -> Bool { self.string().map { $0 == Array(text.utf8) } ?? false }

    /// A string with its length before it.
    package static func string(_ bytes: some Collection<UInt8>) -> [UInt8] {
        Self.number(UInt32(bytes.count)) + bytes
    }

    package static func string(_ text: String) -> [UInt8] { Self.string(Array(text.utf8)) }

    package static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}

/// The public key of an OpenSSH key pair, of the type ssh-ed25519 (RFC 8709).
package enum SSHPublicKey {
    package static let type = "ssh-ed25519"
    /// The most bytes of a line that are read.
    private static let maximumSize = 4096

    /// Reads a line as `ssh-keygen` writes it to `id_ed25519.pub`: the type, the key in base64, and a comment. Nil for any other line,
    /// another type, and a key that is no point of the right group.
    package static func key(ofLine line: String) -> Ed25519PublicKey? {
        guard line.utf8.count <= Self.maximumSize else { return nil }
        let parts = line.split(maxSplits: 2) { $0 == " " || $0.isNewline }
        guard parts.count >= 2, parts[0] == Self.type, let blob = Base64.decode(String(parts[1])) else { return nil }
        return Self.key(of: blob)
    }

    /// Reads the binary form: the type and the key.
    package static func key(of blob: [UInt8]) -> Ed25519PublicKey? {
        var fields = SSHFields(blob)
        guard fields.string(is: Self.type), let key = fields.string(), fields.isAtEnd else { return nil }
        return Ed25519PublicKey(key)
    }

    package static func blob(_ key: Ed25519PublicKey) -> [UInt8] {
        SSHFields.string(Self.type) + SSHFields.string(key.bytes)
    }

    /// The line of a key, without a comment.
    package static func line(_ key: Ed25519PublicKey) -> String { "\(Self.type) \(Base64.encode(Self.blob(key)))" }
}
