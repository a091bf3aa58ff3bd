/// Strict base64 (RFC 4648 section 4): padded, standard alphabet, one spelling for each byte string.
public enum Base64 {
    /// The canonical text of `bytes`, padded with `=`.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        BaseCodec.encode(bytes, alphabet: BaseCodec.standard, padded: true)
    }

    /// The decoded bytes of `text`, or nil unless it is exactly what ``encode(_:)`` writes for them: no white space, no
    /// missing padding, no stray bits in the last character.
    public static func decode(_ text: String) -> [UInt8]? {
        self.decode(bytes: text.utf8)
    }

    /// The decoded bytes of a text in ASCII, or nil as ``decode(_:)``.
    package static func decode(bytes text: some Collection<UInt8>) -> [UInt8]? {
        BaseCodec.decode(Array(text), alphabet: BaseCodec.standard, padded: true)
    }

    /// The bytes that decoders on devices make of `text`: white space anywhere is skipped, padding may be missing, and
    /// stray bits in the last character are dropped. Nil for anything else.
    package static func decodeLoosely(_ text: String) -> [UInt8]? {
        let characters = text.utf8.filter { $0 != 0x20 && !(0x09...0x0D).contains($0) }
        return BaseCodec.decodeLoosely(characters)
    }
}

/// Strict base64url without padding (RFC 4648 section 5 as RFC 7515 uses it).
public enum Base64URL {
    /// The canonical text of `bytes`, without padding.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        BaseCodec.encode(bytes, alphabet: BaseCodec.urlSafe, padded: false)
    }

    /// The decoded bytes of `text`, or nil unless it is exactly what ``encode(_:)`` writes for them.
    public static func decode(_ text: String) -> [UInt8]? {
        self.decode(bytes: text.utf8)
    }

    /// The decoded bytes of a text in ASCII, or nil as ``decode(_:)``.
    package static func decode(bytes text: some Collection<UInt8>) -> [UInt8]? {
        BaseCodec.decode(Array(text), alphabet: BaseCodec.urlSafe, padded: false)
    }
}

/// Lower-case hexadecimal.
public enum Hex {
    /// Two lower-case digits for each byte.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(unsafeUninitializedCapacity: bytes.count * 2) { out in
            var at = 0
            for byte in bytes {
                out[at] = digits[Int(byte >> 4)]
                out[at + 1] = digits[Int(byte & 15)]
                at += 2
            }
            return at
        }
    }

    /// The decoded bytes of `text`, or nil for an odd length or anything but `0-9a-f`.
    public static func decode(_ text: String) -> [UInt8]? {
        func digit(_ character: UInt8) -> UInt8? {
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        let characters = Array(text.utf8)
        guard characters.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 2)
        for at in stride(from: 0, to: characters.count, by: 2) {
            guard let high = digit(characters[at]), let low = digit(characters[at + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

private enum BaseCodec {
    static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    static let urlSafe = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let standardReverse = Self.reversed(standard)
    private static let urlSafeReverse = Self.reversed(urlSafe)

    /// The value of each character; 255 for those outside the alphabet.
    private static func reversed(_ alphabet: [UInt8]) -> [UInt8] {
        var reverse = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { reverse[Int(character)] = UInt8(value) }
        return reverse
    }

    static func encode(_ bytes: some Collection<UInt8>, alphabet: [UInt8], padded: Bool) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { out in
            var at = 0
            var group: UInt32 = 0
            var held = 0
            for byte in bytes {
                group = group << 8 | UInt32(byte)
                held += 1
                if held == 3 {
                    for shift in stride(from: 18, through: 0, by: -6) {
                        out[at] = alphabet[Int(group >> UInt32(shift)) & 63]
                        at += 1
                    }
                    group = 0
                    held = 0
                }
            }
            if held > 0 {
                group <<= UInt32(8 * (3 - held))
                for place in 0..<4 where place <= held || padded {
                    out[at] =
                        place <= held ? alphabet[Int(group >> UInt32(18 - 6 * place)) & 63] : UInt8(ascii: "=")
                    at += 1
                }
            }
            return at
        }
    }

    static func decode(_ text: [UInt8], alphabet: [UInt8], padded: Bool) -> [UInt8]? {
        let reverse = alphabet == self.standard ? self.standardReverse : self.urlSafeReverse
        var characters = text
        if padded {
            guard characters.count.isMultiple(of: 4) else { return nil }
            var padding = 0
            while padding < 2, characters.last == UInt8(ascii: "=") {
                characters.removeLast()
                padding += 1
            }
            guard characters.count % 4 != 0 || padding == 0 else { return nil }
        }
        guard characters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for character in characters {
            let value = reverse[Int(character)]
            guard value != 255 else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
                bits &= (1 << UInt32(held)) - 1
            }
        }
        // Bits left over must be zero, or two texts would spell the same bytes.
        return bits == 0 ? bytes : nil
    }

    /// The bytes of base64 with or without padding, whatever its last character's stray bits are.
    static func decodeLoosely(_ text: [UInt8]) -> [UInt8]? {
        var characters = text[...]
        var padding = 0
        while padding < 2, characters.last == UInt8(ascii: "=") {
            characters.removeLast()
            padding += 1
        }
        guard characters.count % 4 != 1, padding == 0 || (characters.count + padding).isMultiple(of: 4) else {
            return nil
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count * 3 / 4)
        var bits: UInt32 = 0
        var held: UInt32 = 0
        for character in characters {
            let value = self.standardReverse[Int(character)]
            guard value != 255 else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> held))
                bits &= (1 << held) - 1
            }
        }
        return bytes
    }
}
