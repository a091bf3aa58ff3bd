import PinWire

/// A private key taken out of the encoding it came in, its numbers not yet checked.
///
/// The encodings: PKCS#8 (RFC 5208; RFC 5958 with its version 1 and the public half) of Ed25519 (RFC 8410), P-256 (RFC
/// 5915) and RSA (RFC 8017 appendix A.1.2, two primes), SEC1's ECPrivateKey and PKCS#1's RSAPrivateKey by themselves,
/// and the bare number of an Ed25519 or P-256 key.
enum PrivateKeyMaterial {
    /// 32 bytes, and the public half if the encoding has one.
    case ed25519(seed: SecureBytes, publicKey: [UInt8]?)
    /// 32 bytes, the highest first, and the point in either form (X9.63) if the encoding has one.
    case p256(number: SecureBytes, publicKey: [UInt8]?)
    /// An RSAPrivateKey in DER.
    case rsa(pkcs1: SecureBytes)

    /// The most bytes that are read: more than twice what a key of 8192 bits takes in PEM.
    static let maximumSize = 16 << 10

    private static let oidEd25519: [UInt8] = [0x2B, 0x65, 0x70]
    private static let oidEC: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let oidP256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    private static let oidRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    /// Reads uploaded bytes: PEM, DER, base64 of DER, or a number of 32 bytes by itself or in base64.
    ///
    /// A number says nothing of its algorithm, so it is taken for the expected one. A number that begins like DER is
    /// refused: it is a key cut short, because only one key in two thousand million begins so by chance.
    ///
    /// - Throws: ``KeyImportError``, but neither `wrongSize` nor `unusable`.
    init(importing bytes: some Collection<UInt8>, as algorithm: ClientKeyAlgorithm) throws(KeyImportError) {
        guard bytes.count <= Self.maximumSize else { throw .tooLarge }
        guard !bytes.isEmpty else { throw .malformed }
        let text = try PrivateKeyText(SecureBytes(copying: bytes))
        let number = text.isPEM ? nil : Self.number(text.bytes)
        switch (algorithm, number) {
        case (.ed25519, let number?) where text.bytes.count == 32: self = .ed25519(seed: number, publicKey: nil)
        case (.es256, let number?): self = .p256(number: number, publicKey: nil)
        default: try self.init(der: text.bytes)
        }
        guard self.algorithm == algorithm else { throw .otherAlgorithm }
    }

    /// Reads DER.
    ///
    /// - Throws: as ``init(importing:as:)``.
    init(der bytes: SecureBytes) throws(KeyImportError) {
        self = try bytes.withSpan { (span) throws(KeyImportError) in try Self.read(span, of: bytes) }
    }

    /// The key's algorithm.
    var algorithm: ClientKeyAlgorithm {
        switch self {
        case .ed25519: .ed25519
        case .p256: .es256
        case .rsa: .rsaSHA512
        }
    }

    /// 32 bytes as they are, or the 33 that Java's BigInteger writes for a number whose highest bit is set; nil for
    /// anything else. Fewer are refused: they may as well be a number cut short.
    private static func number(_ bytes: SecureBytes) -> SecureBytes? {
        bytes.withSpan { span in
            if span.count == 33, span[0] == 0, span[1] >= 0x80 { return bytes.part(1..<33) }
            guard span.count == 32, !Self.beginsLikeKey(span) else { return nil }
            return bytes
        }
    }

    /// Whether the bytes begin with a sequence and a version, as the encodings of all private keys do.
    private static func beginsLikeKey(_ bytes: Span<UInt8>) -> Bool {
        guard bytes[0] == DERElement.sequence else { return false }
        let header = bytes[1] < 0x80 ? 2 : 2 + Int(bytes[1] & 0x7F)
        return header <= 5 && bytes[header] == DERElement.integer && bytes[header + 1] == 1 && bytes[header + 2] <= 1
    }

    private static func read(_ span: Span<UInt8>, of bytes: SecureBytes) throws(KeyImportError) -> PrivateKeyMaterial {
        guard let whole = DERElement.sole(DERElement.sequence, of: span, in: 0..<span.count),
            let parts = DERElement.all(of: span, in: whole.contents)
        else { throw .malformed }
        let tags = parts.map(\.tag)
        if tags.starts(with: [DERElement.integer, DERElement.sequence, DERElement.octetString]) {
            return try self.pkcs8(parts, span, of: bytes)
        }
        if tags.starts(with: [DERElement.integer, DERElement.octetString]) {
            return try self.sec1(parts, span, of: bytes)
        }
        if self.isRSA(parts, span) { return .rsa(pkcs1: bytes) }
        switch tags {
        case [DERElement.sequence, DERElement.octetString]: throw .encrypted
        case [DERElement.sequence, DERElement.bitString], [DERElement.integer, DERElement.integer]: throw .publicOnly
        // A certificate: RFC 5280 section 4.1.
        case [DERElement.sequence, DERElement.sequence, DERElement.bitString]: throw .publicOnly
        default: throw .malformed
        }
    }

    private static func pkcs8(
        _ parts: [DERElement], _ span: Span<UInt8>, of bytes: SecureBytes
    ) throws(KeyImportError) -> PrivateKeyMaterial {
        let more = parts.dropFirst(3).map(\.tag)
        guard parts[0].isExactly([0], in: span) || parts[0].isExactly([1], in: span),
            [[], [DERElement.context0], [DERElement.primitive1], [DERElement.context0, DERElement.primitive1]]
                .contains(more),
            let algorithm = DERElement.all(of: span, in: parts[1].contents), let name = algorithm.first,
            name.tag == DERElement.objectIdentifier
        else { throw .malformed }
        let parameter = algorithm.count == 2 ? algorithm[1] : nil
        let key = parts[2].contents
        var publicKey: [UInt8]?
        if let last = parts.last, last.tag == DERElement.primitive1 {
            publicKey = try self.bits(last.contents, span)
        }
        switch name.copy(of: span) {
        case self.oidEd25519 where algorithm.count == 1:
            guard let seed = DERElement.sole(DERElement.octetString, of: span, in: key), seed.contents.count == 32
            else {
                throw .malformed
            }
            return .ed25519(seed: bytes.part(seed.contents), publicKey: publicKey)
        case self.oidEC where parameter?.tag == DERElement.objectIdentifier:
            guard parameter?.isExactly(self.oidP256, in: span) == true else { throw .otherAlgorithm }
            guard let inner = DERElement.sole(DERElement.sequence, of: span, in: key),
                let parts = DERElement.all(of: span, in: inner.contents),
                parts.map(\.tag).starts(with: [DERElement.integer, DERElement.octetString])
            else { throw .malformed }
            return try self.sec1(parts, span, of: bytes, publicKey: publicKey)
        case self.oidRSA where algorithm.count == 1 || parameter?.tag == DERElement.null:
            guard let inner = DERElement.sole(DERElement.sequence, of: span, in: key),
                let parts = DERElement.all(of: span, in: inner.contents), self.isRSA(parts, span)
            else { throw .malformed }
            return .rsa(pkcs1: bytes.part(key))
        default: throw .otherAlgorithm
        }
    }

    private static func sec1(
        _ parts: [DERElement], _ span: Span<UInt8>, of bytes: SecureBytes, publicKey: [UInt8]? = nil
    ) throws(KeyImportError) -> PrivateKeyMaterial {
        var publicKey = publicKey
        let more = parts.dropFirst(2)
        guard parts[0].isExactly([1], in: span),
            [[], [DERElement.context0], [DERElement.context1], [DERElement.context0, DERElement.context1]]
                .contains(more.map(\.tag))
        else { throw .malformed }
        for part in more {
            if part.tag == DERElement.context0 {
                // Parameters that spell the curve out are refused with other curves: RFC 5480 section 2.1.1 bans them.
                let curve = DERElement.sole(DERElement.objectIdentifier, of: span, in: part.contents)
                guard curve?.isExactly(self.oidP256, in: span) == true else { throw .otherAlgorithm }
            } else {
                let string = DERElement.sole(DERElement.bitString, of: span, in: part.contents)
                guard let string else { throw .malformed }
                publicKey = try self.bits(string.contents, span)
            }
        }
        // RFC 5915 section 3 wants all 32 bytes; old software left zeros at the beginning out.
        let count = parts[1].contents.count
        guard (1...32).contains(count) else { throw .malformed }
        let zeros = [UInt8](repeating: 0, count: 32 - count)
        return .p256(number: SecureBytes(zeros, bytes.part(parts[1].contents)), publicKey: publicKey)
    }

    /// Whether the elements are those of an RSAPrivateKey with two primes.
    private static func isRSA(_ parts: [DERElement], _ span: Span<UInt8>) -> Bool {
        parts.count == 9 && parts.allSatisfy { $0.tag == DERElement.integer && !$0.contents.isEmpty }
            && parts[0].isExactly([0], in: span)
    }

    /// The contents of a bit string of whole octets.
    private static func bits(_ contents: Range<Int>, _ span: Span<UInt8>) throws(KeyImportError) -> [UInt8] {
        guard let unused = contents.first, span[unused] == 0 else { throw .malformed }
        return contents.dropFirst().map { span[$0] }
    }
}
