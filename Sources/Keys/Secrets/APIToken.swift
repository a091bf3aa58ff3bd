import PinWire

/// The purpose of a bearer token; it shows in the token's text.
package enum TokenKind: String, CaseIterable, Hashable, Sendable {
    /// A person's or administrator's token.
    case administrator = "adm"
    /// A build pipeline's.
    case pipeline = "ci"
    /// For sending telemetry, nothing else.
    case telemetry = "tel"
    /// A client population's app key.
    case client = "cli"
    /// A wrapped secret, to be unwrapped once.
    case wrapping = "wrp"
    /// In the address of an app's calendar feed, for nothing else.
    case calendar = "cal"
    /// A session's.
    case session = "ses"
    /// A session's in a browser, which sends it as a cookie, and in no other way.
    case browser = "web"
}

/// A bearer token: `pk_<kind>_<30 base62 characters><6 base62 characters of checksum>`.
///
/// The 30 characters are 178 random bits, so a plain SHA-256 is enough to store. The checksum lets the server refuse a
/// typo or an invented token before any look-up, and lets secret scanners tell real tokens from similar texts. The text
/// is shown once, to the person who creates it; printing, interpolating or dumping the value shows its kind only.
package struct APIToken: Sendable {
    /// Why a text is not a token.
    package enum Invalid: Error, Hashable, Sendable {
        /// Not `pk_`, a known kind, `_` and 36 base62 characters.
        case malformed
        /// The form of a token with a checksum that is not its own: mistyped or invented.
        case wrongChecksum
    }

    /// The number of random characters.
    package static let secretLength = 30

    /// The number of characters of the checksum.
    package static let checksumLength = 6

    /// The token's purpose.
    package let kind: TokenKind

    /// The whole text: the secret itself. It MUST NOT be stored or logged.
    package let revealedText: String

    /// Makes a new token.
    package static func generate(_ kind: TokenKind) -> APIToken {
        APIToken(kind: kind, secret: Random.base62(self.secretLength))
    }

    /// Makes the token of a secret of 30 base62 characters.
    init(kind: TokenKind, secret: String) {
        self.kind = kind
        self.revealedText = "pk_\(kind.rawValue)_\(secret)\(Self.checksum(of: secret.utf8))"
    }

    /// Reads a token; nothing around it is ignored.
    ///
    /// - Throws: ``Invalid``. A token that passes has the form of one, and may still be unknown.
    package init(parsing text: String) throws(Invalid) {
        // Longer than any token: a header of megabytes is not split.
        guard text.utf8.count <= 64 else { throw .malformed }
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "pk", let kind = TokenKind(rawValue: String(parts[1])) else {
            throw .malformed
        }
        let characters = Array(parts[2].utf8)
        guard characters.count == Self.secretLength + Self.checksumLength,
            characters.allSatisfy(Base62.alphabet.contains)
        else { throw .malformed }
        let checksum = Self.checksum(of: characters.prefix(Self.secretLength))
        guard characters.suffix(Self.checksumLength).elementsEqual(checksum.utf8) else { throw .wrongChecksum }
        self.kind = kind
        self.revealedText = text
    }

    /// SHA-256 of the whole text, for storage and look-up: 32 bytes.
    package var digest: [UInt8] { sha256(self.revealedText.utf8) }

    /// Whether the token is the one whose ``digest`` was stored, in constant time.
    package func matches(digest: [UInt8]) -> Bool {
        ConstantTime.areEqual(self.digest, digest)
    }

    /// CRC-32 of the secret in base62, padded with `0` to six characters.
    static func checksum(of secret: some Sequence<UInt8>) -> String {
        Base62.encode(CRC32.checksum(of: secret), width: self.checksumLength)
    }
}

extension APIToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind; never the secret.
    package var description: String { "pk_\(self.kind.rawValue)_…" }

    /// The kind; never the secret.
    package var debugDescription: String { self.description }

    /// Shows nothing but the kind to `dump`.
    package var customMirror: Mirror { Mirror(self, children: ["kind": self.kind]) }
}

/// The public name of a token: `tok_` and 16 base62 characters, drawn apart from the secret.
///
/// It names the token in events, logs and revocations, and grants nothing.
package struct TokenID: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    package let description: String

    /// Draws a new id: 95 random bits.
    package static func generate() -> TokenID {
        TokenID(text: "tok_" + Random.base62(16))
    }

    /// The id that follows from a digest of at least 8 bytes, of which 64 bits count.
    package static func following(from digest: [UInt8]) -> TokenID {
        TokenID(text: "tok_" + Hex.encode(digest.prefix(8)))
    }

    /// Reads an id; `nil` for anything but `tok_` and 16 base62 characters.
    package init?(_ text: String) {
        guard text.utf8.count == 20, text.hasPrefix("tok_"),
            text.utf8.dropFirst(4).allSatisfy(Base62.alphabet.contains)
        else { return nil }
        self.init(text: text)
    }

    private init(text: String) {
        self.description = text
    }
}
