/// The part of a PKCS#12 file that is readable without OpenSSL and without a password.
enum KeyBags {
    // RFC 7292 appendix D and RFC 8018 appendix C, as encoded.
    private static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    private static let bagTypes: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x0C, 0x0A, 0x01]
    private static let pbes2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0D]
    private static let pbkdf2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0C]

    /// Whether a bag in the clear holds a key, itself encrypted or not.
    ///
    /// A file in BER may hide one from this; OpenSSL finds it.
    static func areVisible(in bytes: ArraySlice<UInt8>) -> Bool {
        var reader = DERReader(bytes)
        let parts = reader.next()?.children(atMost: 3) ?? []
        guard parts.count >= 2, let safes = self.content(parts[1]) else { return false }
        return safes.children(atMost: 1000).contains { safe in
            self.content(safe).map { self.hasKey($0, depth: 0) } ?? false
        }
    }

    /// The sequence within the octet string of a ContentInfo of type data; nil for other types.
    private static func content(_ info: DERValue) -> DERValue? {
        let parts = info.children(atMost: 2)
        guard parts.count == 2, parts[0].contents.elementsEqual(self.data),
            let octets = parts[1].children(atMost: 1).first, octets.tag == DERValue.octetString
        else { return nil }
        return octets.children(atMost: 1).first
    }

    private static func hasKey(_ bags: DERValue, depth: Int) -> Bool {
        bags.children(atMost: 1000).contains { bag in
            let parts = bag.children(atMost: 2)
            guard let type = parts.first?.contents, type.starts(with: self.bagTypes), type.count == 11 else {
                return false
            }
            switch type.last {
            case 1, 2: return true
            case 6:
                guard depth < 4, let inner = parts.last?.children(atMost: 1).first else { return false }
                return self.hasKey(inner, depth: depth + 1)
            default: return false
            }
        }
    }

    /// The number of rounds of an algorithm of password-based encryption; nil where it is unknown, as with scrypt.
    static func iterations(of algorithm: ArraySlice<UInt8>) -> Int? {
        var reader = DERReader(algorithm)
        guard let parts = reader.next()?.children(atMost: 2), parts.count == 2 else { return nil }
        guard parts[0].contents.elementsEqual(self.pbes2) else { return self.rounds(parts[1]) }
        guard let derivation = parts[1].children(atMost: 1).first?.children(atMost: 2), derivation.count == 2,
            derivation[0].contents.elementsEqual(self.pbkdf2)
        else { return nil }
        return self.rounds(derivation[1])
    }

    /// The number of rounds in parameters that are a salt, that number, and perhaps more.
    private static func rounds(_ parameters: DERValue) -> Int? {
        let parts = parameters.children(atMost: 2)
        guard parts.count == 2, parts[1].tag == DERValue.integer, (1...4).contains(parts[1].contents.count),
            let first = parts[1].contents.first, first < 0x80
        else { return nil }
        return parts[1].contents.reduce(0) { $0 << 8 | Int($1) }
    }
}
