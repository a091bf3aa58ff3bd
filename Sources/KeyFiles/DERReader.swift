/// One value of a DER encoding (X.690), as a range of the bytes.
struct DERValue {
    /// The identifier octet; of a tag above 30 the first octet alone.
    let tag: UInt8
    /// The contents; where the encoding is cut short, the rest of them.
    let contents: ArraySlice<UInt8>
    /// Whether all of the contents are there.
    let isComplete: Bool

    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06
    static let sequence: UInt8 = 0x30
    static let context0: UInt8 = 0xA0

    /// The values inside, at most `limit`.
    func children(atMost limit: Int) -> [DERValue] {
        var reader = DERReader(self.contents)
        var children: [DERValue] = []
        while children.count < limit, let child = reader.next() { children.append(child) }
        return children
    }
}

/// A reader of the outline of DER, to recognise a structure before OpenSSL reads it.
///
/// It is lenient, so that a damaged private key is still recognised: contents that are cut short end where the bytes
/// do, and contents of indefinite length (BER) are all bytes that follow.
struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.rest = bytes
    }

    /// The next value; nil at the end, at an end-of-contents mark and at bytes without a header.
    mutating func next() -> DERValue? {
        var rest = self.rest
        guard let tag = rest.popFirst(), tag != 0, let first = rest.popFirst() else { return nil }
        // No structure that is recognised here has a tag above 30.
        guard tag & 0x1F != 0x1F else { return nil }
        var length = Int(first)
        if first == 0x80 {
            self.rest = rest[rest.endIndex...]
            return DERValue(tag: tag, contents: rest, isComplete: true)
        }
        if first > 0x80 {
            guard first <= 0x84 else { return nil }
            length = 0
            for _ in 0..<(first & 0x7F) {
                guard let byte = rest.popFirst() else { return nil }
                length = length << 8 | Int(byte)
            }
        }
        let contents = rest.prefix(length)
        self.rest = rest.dropFirst(length)
        return DERValue(tag: tag, contents: contents, isComplete: contents.count == length)
    }
}

/// The kind of a DER encoding, by its outline.
enum DERShape: Hashable, Sendable {
    /// Three parts, the last of them a signature: a certificate, a request or a revocation list.
    case signed
    /// A SubjectPublicKeyInfo.
    case publicKey
    /// A bare RSA public key (PKCS#1).
    case rsaPublicKey
    /// PKCS#8, PKCS#1, SEC 1 or OpenSSL's form for DSA.
    case privateKey
    /// PKCS#8 encrypted with a passphrase.
    case encryptedPrivateKey
    /// PKCS#7.
    case message
    /// PKCS#12.
    case keyStore
    case unknown

    init(_ bytes: ArraySlice<UInt8>) {
        var reader = DERReader(bytes)
        guard let outer = reader.next(), outer.tag == DERValue.sequence else {
            self = .unknown
            return
        }
        let parts = outer.children(atMost: 6)
        let tags = parts.map(\.tag)
        guard let first = parts.first, let tag = tags.first else {
            self = .unknown
            return
        }
        switch tag {
        case DERValue.sequence:
            if first.children(atMost: 1).first?.tag == DERValue.objectIdentifier {
                switch tags.dropFirst().first {
                case DERValue.bitString: self = .publicKey
                case DERValue.octetString: self = .encryptedPrivateKey
                default: self = .unknown
                }
            } else {
                self = .signed
            }
        case DERValue.integer:
            switch tags.dropFirst().first {
            case DERValue.octetString: self = .privateKey
            case DERValue.sequence: self = first.contents.elementsEqual([3]) ? .keyStore : .privateKey
            case DERValue.integer:
                let isAllIntegers = tags.allSatisfy { $0 == DERValue.integer }
                self = tags.count == 2 ? .rsaPublicKey : tags.count == 6 && isAllIntegers ? .privateKey : .unknown
            default: self = .unknown
            }
        case DERValue.objectIdentifier: self = .message
        default: self = .unknown
        }
    }
}
