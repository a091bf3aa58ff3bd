/// MurmurHash3_x86_32, Austin Appleby's hash of 32 bits. It distributes well and is not cryptographic.
package enum MurmurHash3 {
    /// The hash of `bytes` under `seed`.
    package static func hash(_ bytes: [UInt8], seed: UInt32 = 0) -> UInt32 {
        var hash = seed
        let blocks = bytes.count / 4
        for block in 0..<blocks {
            let word =
                UInt32(bytes[block * 4]) | UInt32(bytes[block * 4 + 1]) << 8 | UInt32(bytes[block * 4 + 2]) << 16
                | UInt32(bytes[block * 4 + 3]) << 24
            hash ^= Self.scrambled(word)
            hash = Self.rotated(hash, by: 13) &* 5 &+ 0xE654_6B64
        }
        var rest: UInt32 = 0
        for place in stride(from: bytes.count - 1, through: blocks * 4, by: -1) {
            rest = rest << 8 | UInt32(bytes[place])
        }
        hash ^= Self.scrambled(rest)
        hash ^= UInt32(truncatingIfNeeded: bytes.count)
        hash = (hash ^ hash >> 16) &* 0x85EB_CA6B
        hash = (hash ^ hash >> 13) &* 0xC2B2_AE35
        return hash ^ hash >> 16
    }

    private static func scrambled(_ word: UInt32) -> UInt32 {
        Self.rotated(word &* 0xCC9E_2D51, by: 15) &* 0x1B87_3593
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
