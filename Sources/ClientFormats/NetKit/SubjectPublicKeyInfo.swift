/// A SubjectPublicKeyInfo (RFC 5280 section 4.1) in DER.
enum SubjectPublicKeyInfo {
    /// The raw key: the contents of the BIT STRING, which is PKCS#1 for RSA and the X9.63 point for EC, as in
    /// `SecKeyCopyExternalRepresentation`. Nil for anything but exactly one SubjectPublicKeyInfo.
    static func rawKey(of der: [UInt8]) -> [UInt8]? {
        var rest = der[...]
        guard var parts = Self.take(0x30, from: &rest), rest.isEmpty,
            Self.take(0x30, from: &parts) != nil, let bits = Self.take(0x03, from: &parts), parts.isEmpty,
            // A key is whole bytes: no bits of the last one are unused.
            bits.first == 0, bits.count > 1
        else { return nil }
        return Array(bits.dropFirst())
    }

    /// Takes the contents of the element at the start; nil unless it has this tag and a definite length in its shortest
    /// form.
    private static func take(_ tag: UInt8, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.popFirst() == tag, let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), rest.count >= count, rest.first != 0 else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
            guard length >= 0x80 else { return nil }
        }
        guard rest.count >= length else { return nil }
        defer { rest = rest.dropFirst(length) }
        return rest.prefix(length)
    }
}
