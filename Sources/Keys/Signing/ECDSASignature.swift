/// An ECDSA signature on P-256: two numbers of 32 bytes each, in either of the forms that clients expect.
package struct ECDSASignature: Hashable, Sendable {
    /// The number of bytes of ``raw``.
    package static let rawByteCount = 64

    /// Both numbers one after the other, r‖s, each 32 bytes and the highest first, as in a JWS (RFC 7518 section 3.4).
    package let raw: [UInt8]

    /// Takes r‖s; nil unless it is 64 bytes. Only the key can tell whether it fits.
    package init?(raw: some Collection<UInt8>) {
        guard raw.count == Self.rawByteCount else { return nil }
        self.raw = Array(raw)
    }

    /// Reads an ECDSA-Sig-Value (RFC 3279 section 2.2.3) in DER; nil for anything but its one encoding of two numbers
    /// of at most 32 bytes.
    package init?(der: [UInt8]) {
        let span = der.span
        guard let whole = DERElement.sole(DERElement.sequence, of: span, in: 0..<span.count),
            let numbers = DERElement.all(of: span, in: whole.contents), numbers.count == 2,
            numbers.allSatisfy({ $0.tag == DERElement.integer }),
            let r = Self.number(numbers[0].copy(of: span)), let s = Self.number(numbers[1].copy(of: span))
        else { return nil }
        self.raw = r + s
    }

    /// The ECDSA-Sig-Value in DER (RFC 3279 section 2.2.3): 8 to 72 bytes.
    package var der: [UInt8] {
        let numbers = Self.integer(self.raw.prefix(32)) + Self.integer(self.raw.suffix(32))
        return [DERElement.sequence, UInt8(numbers.count)] + numbers
    }

    /// 32 bytes of the contents of an INTEGER; nil for a negative number, one that is not as short as possible, and one
    /// that is too large.
    private static func number(_ contents: [UInt8]) -> [UInt8]? {
        guard let first = contents.first, first < 0x80 else { return nil }
        if first == 0, contents.count > 1, contents[1] < 0x80 { return nil }
        let digits = contents.drop { $0 == 0 }
        guard digits.count <= 32 else { return nil }
        return [UInt8](repeating: 0, count: 32 - digits.count) + digits
    }

    private static func integer(_ number: some Collection<UInt8>) -> [UInt8] {
        var digits = Array(number.drop { $0 == 0 })
        // Zero has one octet, and a number whose highest bit is set would be negative without another one.
        if (digits.first ?? 0x80) >= 0x80 { digits.insert(0, at: 0) }
        return [DERElement.integer, UInt8(digits.count)] + digits
    }
}
