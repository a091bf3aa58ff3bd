import SeededRandom

/// Makes damaged inputs of those that are in order.
enum Damage {
    /// What strangers try: the ends of ranges, other spellings, what ends and what nests.
    private static let pieces: [[UInt8]] =
        [
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "4294967296",
            "-1",
            "1e400", "-0", "00", "0x7f", "\u{0}", "\r\n", "\"", "\\", "\\u0000", "\\ud800", "{", "}", "[", "]", ",",
            ":", "@",
            "/", "%", "%00", "..", "<!--", "]]>", "&#x10ffff;", "\u{301}\u{316}", "\u{1F1E6}", "\u{FEFF}", "\u{212A}",
            "9999-12-31T23:59:60Z", "1969-12-31T23:59:59Z", "-----BEGIN ", "=", "null", "true",
        ].map { Array($0.utf8) } + [
            [0xFF], [0xFF, 0xFF, 0xFF, 0xFF], [0x80], [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0xC0, 0x80],
            [0xED, 0xA0, 0x80], [0, 0, 0, 0, 0, 0, 0, 0], [0x84, 0x7F, 0xFF, 0xFF, 0xFF],
        ]

    /// One input, which follows from the generator alone.
    static func input(from seeds: [[UInt8]], _ random: inout SeededGenerator) -> [UInt8] {
        guard var bytes = seeds.randomElement(using: &random) else {
            return (0..<Int.random(in: 0...64, using: &random)).map { _ in random.pick(Self.pieces) }.flatMap { $0 }
        }
        for _ in 0..<random.pick([1, 1, 1, 2, 4, 8]) {
            guard !bytes.isEmpty else { return random.pick(Self.pieces) }
            let place = Int.random(in: 0..<bytes.count, using: &random)
            let range = place..<min(bytes.count, place + Int.random(in: 1...32, using: &random))
            switch UInt8.random(in: 0..<9, using: &random) {
            case 0, 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            case 3: bytes.removeLast(bytes.count - place)
            case 4: bytes.removeSubrange(range)
            case 5: bytes.insert(contentsOf: bytes[range], at: place)
            case 6: bytes.insert(contentsOf: random.pick(Self.pieces), at: place)
            case 7: bytes.replaceSubrange(range, with: random.pick(Self.pieces))
            default: Self.replaceNumber(in: &bytes, from: place, &random)
            }
        }
        return bytes
    }

    /// Puts the end of a range in the place of the next number.
    private static func replaceNumber(in bytes: inout [UInt8], from place: Int, _ random: inout SeededGenerator) {
        let isDigit = { (byte: UInt8) in byte &- UInt8(ascii: "0") < 10 }
        guard let start = bytes[place...].firstIndex(where: isDigit) else { return }
        let end = bytes[start...].firstIndex { !isDigit($0) } ?? bytes.count
        bytes.replaceSubrange(start..<end, with: Self.pieces[Int.random(in: 0..<7, using: &random)])
    }
}
