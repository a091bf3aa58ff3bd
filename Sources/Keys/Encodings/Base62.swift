/// Numbers in the digits `0-9A-Za-z`: letters and digits only, so that a double click selects a whole token.
enum Base62 {
    /// The 62 digits in order of their value.
    static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// `value` in at least `width` digits, padded with `0` on the left.
    static func encode(_ value: UInt32, width: Int) -> String {
        var digits: [UInt8] = []
        var rest = value
        while rest > 0 || digits.count < width {
            digits.append(self.alphabet[Int(rest % 62)])
            rest /= 62
        }
        return String(decoding: digits.reversed(), as: UTF8.self)
    }
}

/// The CRC-32 of zlib, PNG and IEEE 802.3.
///
/// Thirty bytes for each token do not repay a table or a call into zlib.
enum CRC32 {
    /// The checksum of `bytes`. It finds every change within 32 neighbouring bits, so every single character.
    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 {
                crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1
            }
        }
        return ~crc
    }
}
