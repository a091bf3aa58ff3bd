import CSodium

/// Extracts the binary encoding of a private key from the text around it.
///
/// The text is PEM (RFC 7468), in which certificates, public keys and parameters may stand before the key, or base64
/// (RFC 4648 section 4) with white space anywhere. Everything stays in locked memory.
struct PrivateKeyText {
    /// The decoded bytes of the text, or the input itself where it is not text.
    let bytes: SecureBytes
    /// Whether it was PEM, whose contents are always DER.
    let isPEM: Bool

    /// - Throws: ``KeyImportError/malformed``, ``KeyImportError/encrypted`` or ``KeyImportError/publicOnly``.
    init(_ input: SecureBytes) throws(KeyImportError) {
        if let body = try input.withSpan({ (text) throws(KeyImportError) in try Self.body(of: text) }) {
            guard let bytes = Self.decode(input, body) else { throw .malformed }
            self.bytes = bytes
            self.isPEM = true
        } else {
            // Neither DER nor a raw number consists of printable characters only, but a text that was cut short or
            // mistyped does.
            if input.withSpan({ Self.isPrintable($0, 0..<$0.count) }) {
                guard let bytes = Self.decode(input, 0..<input.count) else { throw .malformed }
                self.bytes = bytes
            } else {
                self.bytes = input
            }
            self.isPEM = false
        }
    }

    /// The range of the base64 of the first private key; nil where the text has no PEM.
    private static func body(of text: Span<UInt8>) throws(KeyImportError) -> Range<Int>? {
        let dashes = "-----"
        let begin = "-----BEGIN "
        var place = 0
        var isPublic = false
        while let start = Self.place(of: begin, in: text, from: place) {
            let labelStart = start + begin.utf8.count
            guard let labelEnd = Self.place(of: dashes, in: text, from: labelStart), labelEnd - labelStart <= 40 else {
                throw .malformed
            }
            let label = String(decoding: (labelStart..<labelEnd).map { text[$0] }, as: UTF8.self)
            let bodyStart = labelEnd + dashes.utf8.count
            guard let end = Self.place(of: "-----END \(label)-----", in: text, from: bodyStart) else {
                throw .malformed
            }
            switch label {
            case "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY":
                // RFC 1421's headers, which OpenSSL writes into encrypted keys only.
                if (bodyStart..<end).contains(where: { text[$0] == UInt8(ascii: ":") }) { throw .encrypted }
                return bodyStart..<end
            case "ENCRYPTED PRIVATE KEY": throw .encrypted
            case "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE": isPublic = true
            case "EC PARAMETERS": break
            default: throw .malformed
            }
            place = end + dashes.utf8.count
        }
        if isPublic { throw .publicOnly }
        if place > 0 { throw .malformed }
        return nil
    }

    private static func place(of pattern: String, in text: Span<UInt8>, from start: Int) -> Int? {
        let pattern = Array(pattern.utf8)
        var place = start
        while place + pattern.count <= text.count {
            if text[place] == pattern[0], pattern.indices.allSatisfy({ text[place + $0] == pattern[$0] }) {
                return place
            }
            place += 1
        }
        return nil
    }

    /// Whether a range has printable characters of ASCII and white space only.
    private static func isPrintable(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        range.allSatisfy { (0x20...0x7E).contains(text[$0]) || (0x09...0x0D).contains(text[$0]) }
    }

    /// The decoded bytes of a range of base64; nil where it is malformed or empty.
    private static func decode(_ text: SecureBytes, _ range: Range<Int>) -> SecureBytes? {
        // libsodium's decoder works in constant time and writes into the given memory, but takes an octet above 127 for
        // one of the alphabet, and ignores zeros.
        guard text.withSpan({ Self.isPrintable($0, range) }) else { return nil }
        let capacity = range.count / 4 * 3 + 3
        var count = 0
        let whole = try? unsafe SecureBytes(count: capacity) { (bytes) throws(KeyImportError) in
            let status = unsafe text.withPointer { start in
                unsafe sodium_base642bin(
                    bytes, capacity,
                    UnsafeRawPointer(start + range.lowerBound).assumingMemoryBound(to: CChar.self), range.count,
                    " \t\r\n", &count, nil, sodium_base64_VARIANT_ORIGINAL)
            }
            guard status == 0, count > 0 else { throw .malformed }
        }
        return whole?.part(0..<count)
    }
}
