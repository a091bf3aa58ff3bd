package import PinWire

/// One pin as people write it: on a command line, in a request, in a file or in a header.
///
/// The canonical text of events and documents is read by ``Pin/init(text:)``, which takes that one spelling alone.
package struct WrittenPin: Hashable, Sendable {
    package let pin: Pin
    package let spelling: PinSpelling

    /// Why a text is no pin.
    package enum Malformed: Error, Hashable, Sendable {
        /// A text that is meant as a pin.
        case digest(Pin.Malformed)
        /// A pin of a hash that is not SHA-256, with the hash's name.
        case otherHash(String)
        /// A certificate's fingerprint in hexadecimal: 20 bytes (SHA-1) or, where the text says so, 32 (SHA-256).
        case fingerprint([UInt8])
        /// Hexadecimal digits in a number that fits no known hash.
        case hexDigits(byteCount: Int)
        /// Several pins or fingerprints.
        case several
        /// A pin, perhaps, and words that belong to none.
        case otherText
    }

    /// The most characters of a pin in any spelling, with some to spare.
    static let longest = 200

    /// Reads a text that holds one pin, as ``Upload`` reads texts: with white space, quotation marks, `,` or `;` around it,
    /// or in a `Public-Key-Pins` header.
    package init(_ text: String) throws(Malformed) {
        let bytes = Array(text.utf8)
        if PinText.isSSHKey(ASCII.trim(bytes[...])) { throw .digest(.sshKey) }
        let items: [Upload.Item]
        do throws(PinText.Defect) { items = try PinText.read(bytes[...], atMost: 1) } catch {
            throw error.reason ?? (error.place == .whole ? .digest(.notBase64) : .otherText)
        }
        guard let item = items.first else { throw .digest(.wrongLength(0)) }
        guard items.count == 1 else { throw .several }
        switch item {
        case .pin(let pin, let spelling):
            self.pin = pin
            self.spelling = spelling
        case .fingerprint(let bytes): throw .fingerprint(bytes)
        case .certificate, .publicKey, .request: throw .digest(.notBase64)
        }
    }

    /// Reads one word, without white space and quotation marks around it and no longer than ``longest``.
    ///
    /// - Throws: ``Malformed``, for hexadecimal digits without a pin's beginning too.
    init(word text: String) throws(Malformed) {
        // Before anything compares it: other text is slow to compare.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { throw .digest(.notBase64) }
        let lower = text.lowercased()
        for beginning in Self.beginnings.map(\.0) + ["sha1/", "sha1:", "sha256:"] where lower.hasPrefix(beginning) {
            let rest = Self.unquoted(Array(lower.utf8.dropFirst(beginning.utf8.count))[...])
            guard let (bytes, spelling) = Self.hex(String(decoding: rest, as: UTF8.self)) else { continue }
            if bytes.count == 20 { throw .fingerprint(bytes) }
            guard let pin = Pin(bytes: bytes) else { throw .hexDigits(byteCount: bytes.count) }
            self.pin = pin
            self.spelling = spelling
            return
        }
        for (beginning, spelling) in Self.beginnings where lower.hasPrefix(beginning) {
            let digits = Self.unquoted(Array(text.utf8.dropFirst(beginning.utf8.count))[...])
            let digest = String(decoding: digits, as: UTF8.self)
            // A digest may begin with a slash itself: the second one is curl's where a whole digest follows it.
            if beginning.hasSuffix("//"), digest.prefix(while: { $0 != "=" }).count == 42 { continue }
            self.pin = try Self.digest(digest)
            self.spelling = spelling
            return
        }
        for hash in ["sha1", "sha384", "sha512"] where lower.hasPrefix(hash + "/") || lower.hasPrefix("pin-\(hash)=") {
            throw .otherHash(hash == "sha1" ? "SHA-1" : "SHA-" + hash.dropFirst(3))
        }
        self.pin = try Self.digest(text)
        self.spelling = Self.isURLSafe(text) ? .base64URL : .base64
    }

    /// The texts before a digest, the longer ones first.
    private static let beginnings: [(String, PinSpelling)] = [
        ("pin-sha256=", .header), ("sha256//", .curl), ("sha256/", .sha256),
    ]

    /// A digest in base64 or base64url, with or without padding.
    private static func digest(_ text: String) throws(Malformed) -> Pin {
        // A pin has one prefix at the most.
        guard !text.contains("sha256/") else { throw .digest(.notBase64) }
        var standard = text
        if Self.isURLSafe(text) {
            standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        }
        if standard.utf8.count == 43, standard.last != "=" { standard += "=" }
        do { return try Pin(text: standard) } catch {
            // Decoders on devices drop stray bits, so that BBBB…= is a digest to them, and known to be nobody's.
            if let pin = Base64.decodeLoosely(standard).flatMap({ Pin(bytes: $0) }), pin.placeholder != nil {
                return pin
            }
            throw .digest(error)
        }
    }

    /// True for a text with characters of base64url, and none of base64 alone.
    private static func isURLSafe(_ text: String) -> Bool {
        text.utf8.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
            && !text.utf8.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
    }

    /// The bytes of hexadecimal digits in lower case with or without colons, from 16 bytes on; nil for anything else.
    static func hex(_ lower: String) -> (bytes: [UInt8], spelling: PinSpelling)? {
        if let bytes = Hex.decode(lower) { return bytes.count >= 16 ? (bytes, .hex) : nil }
        let pairs = lower.split(separator: ":", omittingEmptySubsequences: false)
        guard pairs.count >= 16, pairs.allSatisfy({ $0.utf8.count == 2 }) else { return nil }
        return Hex.decode(pairs.joined()).map { ($0, .colonHex) }
    }

    /// `text` without quotation marks around it, be they one or two of each kind.
    static func unquoted(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }
        var text = text.drop(while: isQuote)
        while let last = text.last, isQuote(last) { text.removeLast() }
        return text
    }
}

extension WrittenPin.Malformed: CustomStringConvertible {
    /// The end of a sentence that begins with the text's place.
    package var description: String {
        switch self {
        case .digest(let reason):
            "is no pin, which is the SHA-256 of a key's SubjectPublicKeyInfo, such as sha256/ and 44 characters of base64; "
                + Self.defect(reason)
        case .otherHash(let name):
            "is a pin of \(name), and pins are of SHA-256; give the certificate or the public key"
        case .fingerprint(let bytes):
            "is a certificate's fingerprint (\(bytes.count == 20 ? "SHA-1" : "SHA-256")) and not a pin, which is the SHA-256 of the key; give the certificate itself (G40)"
        case .hexDigits(let byteCount):
            "is \(byteCount) bytes in hexadecimal, and a pin has 32; give the certificate or the public key"
        case .several: "has several keys or pins, but one is expected; give each separately"
        case .otherText: "has more in it than one pin; give the pin alone, in one line"
        }
    }

    private static func defect(_ reason: Pin.Malformed) -> String {
        switch reason {
        case .notBase64: "this is not base64 of 32 bytes"
        case .wrongLength(let count): "this is \(count) bytes, and a pin has 32"
        case .sshKey: "this begins as an SSH public key does, which is a key and not the SHA-256 of one"
        }
    }
}

/// The written form of a pin.
package enum PinSpelling: String, CaseIterable, Hashable, Sendable {
    /// `sha256/` and base64, as OkHttp and this project write it.
    case sha256 = "sha256/…"
    /// `sha256//` and base64, as curl and wget write it.
    case curl = "sha256//…"
    /// `pin-sha256="…"`, as RFC 7469 writes it.
    case header = "pin-sha256=\"…\""
    case base64
    /// Base64 with `-` and `_`, as JSON Web Tokens have it.
    case base64URL = "base64url"
    /// 64 hexadecimal digits.
    case hex
    /// 32 pairs of hexadecimal digits with colons between them, the usual form of certificates' fingerprints.
    case colonHex = "colon hex"
    /// The same with white space between them, as other programs write fingerprints.
    case spacedHex = "spaced hex"

    /// Whether fingerprints of whole certificates are as a rule written in this form (guard rail G40).
    package var isAmbiguous: Bool { [.hex, .colonHex, .spacedHex].contains(self) }
}
