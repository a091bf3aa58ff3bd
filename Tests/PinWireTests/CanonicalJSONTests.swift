import Foundation
import PinWire
import SeededRandom
import Testing

@Suite struct `Canonical JSON` {
    @Test(arguments: ["arrays", "french", "structures", "unicode", "values", "weird"])
    func `the published files become the published bytes`(name: String) throws {
        let input = try JSON(parsing: testFile("Vectors/jcs/input/\(name).json"))
        let output = try testFile("Vectors/jcs/output/\(name).json")
        #expect(input.canonicalBytes == output)
        #expect(try JSON(parsing: output).canonicalBytes == output)
    }

    /// RFC 8785 appendix B, all finite rows.
    static let numbers: [(bits: UInt64, text: String)] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        // From the README of the published test data.
        (0x4340_0000_0000_0001, "9007199254740994"),
        (0x4340_0000_0000_0002, "9007199254740996"),
    ]

    @Test(arguments: numbers)
    func `a number is spelled as ECMAScript spells it`(bits: UInt64, text: String) throws {
        #expect(JSON.number(Double(bitPattern: bits)).canonicalText == text)
        #expect(try JSON(text: text).canonicalText == text)
    }

    @Test(arguments: [0x7fff_ffff_ffff_ffff, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000] as [UInt64])
    func `a number that is not finite is written as null`(bits: UInt64) {
        #expect(JSON.number(Double(bitPattern: bits)).canonicalText == "null")
    }

    @Test func `members are sorted by UTF-16 code units, as in RFC 8785 section 3.2.3`() throws {
        let text = #"""
            {
              "\u20ac": "Euro Sign",
              "\r": "Carriage Return",
              "\ufb33": "Hebrew Letter Dalet With Dagesh",
              "1": "One",
              "\ud83d\ude00": "Emoji: Grinning Face",
              "\u0080": "Control",
              "\u00f6": "Latin Small Letter O With Diaeresis"
            }
            """#
        let values = [
            "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign",
            "Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
        ]
        let canonical = try JSON(text: text).canonicalText
        let places = try values.map { try #require(canonical.range(of: $0)).lowerBound }
        #expect(places == places.sorted())
        #expect(canonical.hasPrefix(#"{"\r":"Carriage Return","1":"One","#))
    }

    @Test func `the example of RFC 8785 section 3.2.2 has the bytes of section 3.2.4`() throws {
        let text = #"""
            {
              "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
              "literals": [null, true, false]
            }
            """#
        let hex = """
            7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72
            75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
            5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31
            65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
            5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30
            30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d
            """
        #expect(try JSON(text: text).canonicalBytes == Hex.decode(hex.filter { !$0.isWhitespace }))
    }

    @Test func `canonical JSON escapes only the code points below 128 that it must`() {
        let escaped: [UInt8: String] = [
            0x08: #"\b"#, 0x09: #"\t"#, 0x0A: #"\n"#, 0x0C: #"\f"#, 0x0D: #"\r"#, 0x22: #"\""#, 0x5C: #"\\"#,
        ]
        for code in UInt8(0)..<128 {
            let plain = String(UnicodeScalar(code))
            let control = code < 16 ? "\\u000\(String(code, radix: 16))" : "\\u00\(String(code, radix: 16))"
            let expected = escaped[code] ?? (code < 0x20 ? control : plain)
            #expect(JSON.string(plain).canonicalText == "\"\(expected)\"")
        }
        #expect(JSON.string("\u{7F}\u{80}\u{2028}\u{FFFD}😀").canonicalText == "\"\u{7F}\u{80}\u{2028}\u{FFFD}😀\"")
    }

    @Test func `a number in canonical form reads back as the same double, and is its own canonical form`() throws {
        var generator = SeededGenerator(seed: 8785)
        for _ in 0..<TestDepth.rounds(20_000) {
            let value = Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            let text = JSON.number(value).canonicalText
            let read = try JSON(text: text)
            #expect(Double(text) == value)
            #expect(read.canonicalText == text)
            if case .number(let back) = read { #expect(back.bitPattern == value.bitPattern) }
        }
    }

    @Test func `a whole number near a power of ten reads back, whichever side it is on`() throws {
        for exponent in -30...40 {
            let power = try #require(Double("1e\(exponent)"))
            for value in [power.nextDown, power, power.nextUp, -power, power * 3, power / 3] {
                let text = JSON.number(value).canonicalText
                #expect(Double(text) == value)
                #expect(try JSON(text: text).canonicalText == text)
            }
        }
    }

    @Test func `canonical text reads back as the value it was`() throws {
        var generator = SeededGenerator(seed: 8259)
        for _ in 0..<TestDepth.rounds(2000) {
            let value = Self.randomValue(depth: 0, &generator)
            let bytes = value.canonicalBytes
            let read = try JSON(parsing: bytes)
            #expect(read == value)
            #expect(read.canonicalBytes == bytes)
        }
    }

    @Test func `Foundation reads the canonical form as the same value`() throws {
        var generator = SeededGenerator(seed: 7493)
        for _ in 0..<300 {
            let value = JSON.array([Self.randomValue(depth: 1, &generator)])
            let object = try JSONSerialization.jsonObject(with: Data(value.canonicalBytes))
            let rewritten = try JSONSerialization.data(withJSONObject: object)
            #expect(try JSON(parsing: rewritten) == value)
        }
    }

    private static func randomValue(depth: Int, _ generator: inout SeededGenerator) -> JSON {
        switch UInt8.random(in: 0..<(depth > 4 ? 7 : 10), using: &generator) {
        case 0: .null
        case 1: .bool(Bool.random(using: &generator))
        case 2, 3: .integer(Int64.random(in: -JSON.largestInteger...JSON.largestInteger, using: &generator))
        case 4: .number(Double.random(in: -1...1, using: &generator) / 7)
        case 5, 6: .string(Self.randomText(&generator))
        case 7, 8:
            .array(
                (0..<Int.random(in: 0...4, using: &generator)).map { _ in Self.randomValue(depth: depth + 1, &generator)
                })
        default:
            .object(
                Dictionary(
                    (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                        (Self.randomText(&generator), Self.randomValue(depth: depth + 1, &generator))
                    },
                    uniquingKeysWith: { first, _ in first }
                )
            )
        }
    }

    private static func randomText(_ generator: inout SeededGenerator) -> String {
        let alphabet = [
            "a", "B", "7", "\"", "\\", "/", "\u{0}", "\n", "\u{1F}", "\u{7F}", "é", "€", "\u{FB33}", "😀", "~",
        ]
        return (0..<Int.random(in: 0...6, using: &generator)).map { _ in alphabet.randomElement(using: &generator) ?? ""
        }
        .joined()
    }
}
