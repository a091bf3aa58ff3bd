import PinWire
import SeededRandom
import Testing

@Suite struct `Base64, base64url and hexadecimal` {
    /// RFC 4648 section 10.
    static let vectors = [
        ("", "", ""), ("f", "Zg==", "66"), ("fo", "Zm8=", "666f"), ("foo", "Zm9v", "666f6f"),
        ("foob", "Zm9vYg==", "666f6f62"), ("fooba", "Zm9vYmE=", "666f6f6261"), ("foobar", "Zm9vYmFy", "666f6f626172"),
    ]

    @Test(arguments: vectors)
    func `the vectors of RFC 4648 hold both ways`(text: String, base64: String, hex: String) {
        let bytes = Array(text.utf8)
        let url = base64.replacing("=", with: "")
        #expect(Base64.encode(bytes) == base64 && Base64.decode(base64) == bytes)
        #expect(Base64URL.encode(bytes) == url && Base64URL.decode(url) == bytes)
        #expect(Hex.encode(bytes) == hex && Hex.decode(hex) == bytes)
    }

    @Test func `the last two characters of the alphabets differ`() {
        let bytes: [UInt8] = [0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF]
        #expect(Base64.encode(bytes) == "++++////" && Base64URL.encode(bytes) == "----____")
        #expect(Base64.decode("++++////") == bytes && Base64URL.decode("----____") == bytes)
        #expect(Base64.decode("----____") == nil && Base64URL.decode("++++////") == nil)
    }

    @Test func `bytes of every length and value come back`() {
        var generator = SeededGenerator(seed: 4648)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Hex.decode(Hex.encode(bytes)) == bytes)
            #expect(Base64.encode(bytes[...]) == Base64.encode(bytes))
        }
    }

    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

    @Test func `a two-character ending is one byte only without stray bits`() {
        for (high, first) in Self.alphabet.enumerated() {
            for (low, second) in Self.alphabet.enumerated() {
                let url = String([first, second]).replacing("+", with: "-").replacing("/", with: "_")
                let expected: [UInt8]? = low % 16 == 0 ? [UInt8(high << 2 | low >> 4)] : nil
                #expect(Base64.decode("\(first)\(second)==") == expected)
                #expect(Base64URL.decode(url) == expected)
            }
        }
    }

    @Test func `a three-character ending is two bytes only without stray bits`() {
        for (value, last) in Self.alphabet.enumerated() {
            let expected: [UInt8]? = value % 4 == 0 ? [0, UInt8(value >> 2)] : nil
            #expect(Base64.decode("AA\(last)=") == expected)
            #expect(Base64URL.decode("AA\(last)".replacing("+", with: "-").replacing("/", with: "_")) == expected)
        }
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "Zg====", "=", "==", "====", "Z===", "=Zg=", "Z=g=", "Zm9v=", "Zm9v==", "Zm9v====",
        " Zg==", "Zg== ", "Zg==\n", "Z g=", "Zm9v\n", "Zm\n9v", "Zm9v\0", "Zm9é", "Zm9vYg", "Zg==Zg==", "Zm-_",
        "Zm9vY===", "\u{FEFF}Zm9v", "Ｚｍ９ｖ",
    ])
    func `only the canonical spelling is read as base64`(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: ["Z", "Zg=", "Zg==", "Zm8=", "Zm9vZ", " Zg", "Zg\n", "Zm+/", "Zm9é", "Zh", "Zm9"])
    func `only the canonical spelling is read as base64url`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: ["6", "6G", "66 ", "0x66", "6F", "FF", "g0", "6\u{301}", "６６"])
    func `only pairs of lower-case digits are read as hexadecimal`(text: String) {
        #expect(Hex.decode(text) == nil)
    }

    /// FIPS 180-4 examples and RFC 4231 test cases 1, 2 and 6.
    @Test func `the digests are those of the standards`() throws {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(Hex.encode(sha256("abc".utf8)) == abc)
        #expect(Hex.encode(sha256(Array("xabc".utf8).dropFirst())) == abc)
        #expect(
            Hex.encode(sha256([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        )
        let cases: [(key: [UInt8], message: String, mac: String)] = [
            (
                Array(repeating: 0x0b, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                Array(repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ]
        for (key, message, mac) in cases {
            #expect(Hex.encode(hmacSHA256(key: key, Array(message.utf8))) == mac)
        }
    }
}
