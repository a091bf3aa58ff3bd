/// A pin: the SHA-256 of a certificate's SubjectPublicKeyInfo in DER (RFC 7469 section 2.4), 32 bytes.
///
/// Its canonical text is `sha256/` and 44 characters of base64.
public struct Pin: Hashable, Sendable, CustomStringConvertible, Comparable {
    // Inline rather than an array, because a large fleet has hundreds of thousands. The first byte is the highest of
    // the first word, so that words compare as the bytes do.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// The digest, 32 bytes.
    public var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            for (place, word) in [self.words.0, self.words.1, self.words.2, self.words.3].enumerated() {
                for byte in 0..<8 {
                    buffer[place * 8 + byte] = UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * byte))
                }
            }
            count = 32
        }
    }

    /// Nil unless `bytes` are 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        func word(_ place: Int) -> UInt64 {
            bytes[(place * 8)..<(place * 8 + 8)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.init(words: (word(0), word(1), word(2), word(3)))
    }

    init(words: (UInt64, UInt64, UInt64, UInt64)) {
        self.words = words
    }

    public static func == (left: Pin, right: Pin) -> Bool { left.words == right.words }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.words.0)
        hasher.combine(self.words.1)
        hasher.combine(self.words.2)
        hasher.combine(self.words.3)
    }

    /// Why a text is not a pin.
    public enum Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        case notBase64
        case wrongLength(Int)
        case sshKey

        public var description: String {
            switch self {
            case .notBase64:
                "must be sha256/ and 44 characters of base64 (the SHA-256 of the key's SubjectPublicKeyInfo), "
                    + "with padding and without spaces; this is not base64"
            case .wrongLength(let count):
                "must be sha256/ and 44 characters of base64 that spell 32 bytes, the SHA-256 of the key's "
                    + "SubjectPublicKeyInfo; this spells \(count)"
            case .sshKey:
                "must be sha256/ and 44 characters of base64; this begins as an SSH public key does, "
                    + "which is a key and not the SHA-256 of one"
            }
        }
    }

    /// The first characters of RSA, Ed25519 and ECDSA SSH public keys in base64, and a common misspelling of the first
    /// in tutorials.
    private static let sshBeginnings = ["AAAAB3Nza", "AAAAC3Nza", "AAAAE2VjZHNh", "AAAB3Nza", "BBBF4OzaC1yc2E"]

    /// Parses the canonical text, or the same without `sha256/`.
    public init(text: String) throws(Malformed) {
        let digits = text.hasPrefix("sha256/") ? String(text.dropFirst(7)) : text
        if Self.sshBeginnings.contains(where: { digits.hasPrefix($0) }) { throw .sshKey }
        guard let bytes = Base64.decode(digits) else { throw .notBase64 }
        guard let pin = Pin(bytes: bytes) else { throw .wrongLength(bytes.count) }
        self = pin
    }

    /// The digest alone in base64, 44 characters.
    public var base64: String { Base64.encode(self.bytes) }

    public var description: String {
        var out: [UInt8] = []
        self.appendText(to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Appends the canonical text as ASCII.
    package func appendText(to out: inout [UInt8]) {
        out.append(contentsOf: "sha256/".utf8)
        // 42 characters of six bits each, and one of the last four.
        var rest = self.words
        func shift(_ count: UInt64) {
            rest.0 = rest.0 << count | rest.1 >> (64 - count)
            rest.1 = rest.1 << count | rest.2 >> (64 - count)
            rest.2 = rest.2 << count | rest.3 >> (64 - count)
            rest.3 <<= count
        }
        for _ in 0..<43 {
            out.append(Self.alphabet[Int(rest.0 >> 58)])
            shift(6)
        }
        out.append(UInt8(ascii: "="))
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    public static func < (left: Pin, right: Pin) -> Bool { left.words < right.words }
}

extension Pin {
    /// Why a well-formed pin is known not to be the digest of a real key.
    public enum Placeholder: Hashable, Sendable {
        /// All bytes equal, or counting up or down by one: typed, not computed.
        case pattern
        /// The SHA-256 of nothing or of a line feed: the output of a failed pipeline of commands.
        case emptyInput
        /// Printed in documentation that people copy from. Some of these are keys of real authorities.
        case documentation(source: String)
    }

    /// Why this pin is a placeholder; nil for a pin that may be real.
    public var placeholder: Placeholder? {
        if let known = Self.documented[self.base64] { return known }
        let steps = Set(zip(self.bytes, self.bytes.dropFirst()).map { $1 &- $0 })
        if steps.count == 1, let step = steps.first, [0, 1, 255].contains(step) { return .pattern }
        // Tutorials write a pin as base64 of one repeated character (AAAA…=, BBBB…=).
        if Set(self.base64.utf8.prefix(42)).count == 1 { return .pattern }
        return nil
    }

    private static let documented: [String: Placeholder] = [
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=": .emptyInput,
        "AbpHGcgLb+kRsJGnwFEktk7uzpZOCcBY74+YBdrKVGs=": .emptyInput,
        "7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=": .documentation(source: "Android's"),
        "fwza0LRMXouZHRC8Ei+4PyuldPDcf3UKgO/04cDM1oE=": .documentation(source: "Android's"),
        "d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=": .documentation(source: "RFC 7469"),
        "E9CZ9INDbd+2eRQozYqqbQ2yXLVKB9+xcprMF+44U1g=": .documentation(source: "RFC 7469"),
        "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=": .documentation(source: "RFC 7469"),
        "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=": .documentation(source: "Apple's"),
        "TQEtdMbmwFgYUifM4LDF+xgEtd0z69mPGmkp014d6ZY=": .documentation(source: "TrustKit's"),
        "rFjc3wG7lTZe43zeYTvPq8k4xdDEutCmIhI5dn4oCeE=": .documentation(source: "TrustKit's"),
        "HXXQgxueCIU5TTLHob/bPbwcKOKw6DkfsTWYHbxbqTY=": .documentation(source: "TrustKit's"),
        "0SDf3cRToyZJaMsoS17oF72VMavLxj/N7WBNasNuiR8=": .documentation(source: "TrustKit's"),
    ]
}

/// The purpose of a pin.
public enum PinRole: String, CaseIterable, Sendable, Hashable {
    /// The pin of a key that is served now.
    case primary
    /// The pin of a key that is ready to be served.
    case backup
    /// The pin of a key that is kept offline.
    case emergency

    /// Whether a key of this role can replace the served one when that is lost.
    public var isReserve: Bool { self != .primary }
}

/// What a client does with a policy.
public enum PinMode: String, CaseIterable, Sendable, Hashable {
    /// Refuse a connection whose chain matches no pin.
    case enforce
    /// Let it through and report it.
    case reportOnly = "report_only"
    /// Ignore pins; ordinary TLS validation remains.
    case off

    /// How much protection the mode gives, for comparing two of them.
    public var strength: Int {
        switch self {
        case .enforce: 2
        case .reportOnly: 1
        case .off: 0
        }
    }
}
