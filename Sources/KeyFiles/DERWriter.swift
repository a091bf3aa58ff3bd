/// The few DER encodings (X.690) that a public key given as numbers needs.
enum DERWriter {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { self.value(DERValue.sequence, parts.flatMap(\.self)) }

    /// The positive integer of a big-endian magnitude.
    static func integer(_ magnitude: some Collection<UInt8>) -> [UInt8] {
        let digits = Array(magnitude.drop { $0 == 0 })
        guard let first = digits.first else { return self.value(DERValue.integer, [0]) }
        return self.value(DERValue.integer, first < 0x80 ? digits : [0] + digits)
    }

    /// A bit string of whole bytes.
    static func bitString(_ bytes: [UInt8]) -> [UInt8] { self.value(DERValue.bitString, [0] + bytes) }

    /// An object identifier, of which `contents` are the encoded arcs.
    static func objectIdentifier(_ contents: [UInt8]) -> [UInt8] { self.value(DERValue.objectIdentifier, contents) }

    static let null: [UInt8] = [0x05, 0x00]

    private static func value(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        guard contents.count >= 0x80 else { return [tag, UInt8(contents.count)] + contents }
        var length: [UInt8] = []
        var rest = contents.count
        while rest > 0 {
            length.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + contents
    }

    /// Algorithm identifiers of keys, each a whole SEQUENCE.
    enum Algorithm {
        /// rsaEncryption (RFC 8017 appendix C) with its NULL.
        static let rsa = DERWriter.sequence(
            DERWriter.objectIdentifier([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]), DERWriter.null)
        /// id-X25519, id-X448, id-Ed25519 and id-Ed448 (RFC 8410 section 3).
        static let x25519 = DERWriter.sequence(DERWriter.objectIdentifier([0x2B, 0x65, 0x6E]))
        static let x448 = DERWriter.sequence(DERWriter.objectIdentifier([0x2B, 0x65, 0x6F]))
        static let ed25519 = DERWriter.sequence(DERWriter.objectIdentifier([0x2B, 0x65, 0x70]))
        static let ed448 = DERWriter.sequence(DERWriter.objectIdentifier([0x2B, 0x65, 0x71]))

        /// id-ecPublicKey with a named curve (RFC 5480 section 2.1.1).
        static func ec(_ curve: [UInt8]) -> [UInt8] {
            DERWriter.sequence(
                DERWriter.objectIdentifier([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]),
                DERWriter.objectIdentifier(curve))
        }
    }

    /// A SubjectPublicKeyInfo (RFC 5280 section 4.1).
    static func publicKey(_ algorithm: [UInt8], _ key: [UInt8]) -> [UInt8] {
        self.sequence(algorithm, self.bitString(key))
    }
}
