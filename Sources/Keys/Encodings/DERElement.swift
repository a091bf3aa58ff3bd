/// One element of a DER encoding (X.690 section 10), as a range of the bytes.
///
/// Strict: lengths must have their one definite form, and nothing may be cut short. Tags above 30 are refused; no
/// structure of keys or signatures has one.
struct DERElement {
    /// The identifier octet.
    let tag: UInt8
    /// The range of the contents.
    let contents: Range<Int>

    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let null: UInt8 = 0x05
    static let objectIdentifier: UInt8 = 0x06
    static let sequence: UInt8 = 0x30
    /// `[0]`, constructed.
    static let context0: UInt8 = 0xA0
    /// `[1]`, constructed.
    static let context1: UInt8 = 0xA1
    /// `[1]`, primitive.
    static let primitive1: UInt8 = 0x81

    // An RSA private key has nine elements; no other structure that is read has more.
    private static let limit = 10

    /// The elements that fill a range of the bytes, one after the other; nil for bytes that are not DER, and for more
    /// than ten.
    static func all(of bytes: Span<UInt8>, in range: Range<Int>) -> [DERElement]? {
        var elements: [DERElement] = []
        var place = range.lowerBound
        while place < range.upperBound {
            guard elements.count < Self.limit, let element = Self.first(of: bytes, in: place..<range.upperBound) else {
                return nil
            }
            elements.append(element)
            place = element.contents.upperBound
        }
        return elements
    }

    /// The one element that fills a range, if it has this tag.
    static func sole(_ tag: UInt8, of bytes: Span<UInt8>, in range: Range<Int>) -> DERElement? {
        guard let all = Self.all(of: bytes, in: range), all.count == 1, all[0].tag == tag else { return nil }
        return all[0]
    }

    private static func first(of bytes: Span<UInt8>, in range: Range<Int>) -> DERElement? {
        guard range.count >= 2 else { return nil }
        let tag = bytes[range.lowerBound]
        guard tag & 0x1F != 0x1F else { return nil }
        var start = range.lowerBound + 2
        var length = Int(bytes[range.lowerBound + 1])
        if length >= 0x80 {
            // More than three octets would be sixteen megabytes, and no octets would be the indefinite form.
            let count = length & 0x7F
            guard (1...3).contains(count), range.upperBound - start >= count else { return nil }
            length = (0..<count).reduce(0) { $0 << 8 | Int(bytes[start + $1]) }
            guard length >= 0x80, length >= 1 << (8 * (count - 1)) else { return nil }
            start += count
        }
        guard range.upperBound - start >= length else { return nil }
        return DERElement(tag: tag, contents: start..<(start + length))
    }

    /// Whether the contents are these bytes.
    func isExactly(_ expected: [UInt8], in bytes: Span<UInt8>) -> Bool {
        self.contents.count == expected.count && self.copy(of: bytes) == expected
    }

    /// The contents in ordinary memory, for values that are not secret.
    func copy(of bytes: Span<UInt8>) -> [UInt8] {
        self.contents.map { bytes[$0] }
    }
}
