import COpenSSL
import Keys
import PinWire
import Testing

@Suite struct `P-256` {
    /// A signature of Wultra's, and what it is over.
    struct Vector: CustomTestStringConvertible {
        var point: String
        var message: String
        var signature: String
        var testDescription: String { self.message }
    }

    static let vectors = [
        Vector(
            point: "BEG6g28LNWRcmdFzexSNTKPBYZnDtKrCyiExFKbktttfKAF7wG4Cx1Nycr5PwCoICG1dRseLyuDxUilAmppPxAo=",
            message: "www.google.com&nu1DOBz31Y5FY6lRNkJV/HdnB6BDVCp7mX0nxkbub7Y=&1540280280000",
            signature:
                "MEQCIGDeccZP1CqyOCX9//L7duCKY8eYxYfKUAr0z4XWi7//AiAaOyhAtFqpcpULGzVescjmGgVrPIY77h9D45em9y9o8w=="
        ),
        Vector(
            point: WultraKey.point,
            message: "github.com&MRFQDEpmASza4zPsP8ocnd5FyVREDn7kE3Fr/zZjwHQ=&1591185600000",
            signature:
                "MEYCIQDoeBkao6W8wOqLGcicPzjQdzcA2y6ZXMdqQ+rgw7dSCQIhAN+CaYIizKRYQFc8OfQ84OEGiBjjfVqPVrnKFfUuVebr"
        ),
        Vector(
            point: WultraKey.point,
            message: "github.com&kqN/vV4hpTqVxxbhFE9EL1grlND6/Gc+tnF6TrUaiKc=&1710460799",
            signature:
                "MEUCICB69UpMPOdtrsR6XcJqHEh2L2RO4oSJ3SZ7BYnTBJbGAiEAnZ7rEWdMVGwa59Wx5QbAorEFxXH89Iu0CnqWa96Eda0="
        ),
        Vector(
            point: WultraKey.point,
            message: "github.com&trmmrz6GbL4OajB+fdoXOzcrLTrD8GrxX5dxh3OEgAg=&1652184000",
            signature:
                "MEUCIQCs1y/nyrKh4+2DIuX/PufUYiaVUdt2FBZQg6rBeZ/r4QIgNlT4owBwJ1ThrDsE0SwGipTNI74vP1vNyLNEwuXY4lE="
        ),
        Vector(
            point: WultraKey.point,
            message: "AAECAwQFBgcICQoLDA0ODw==&"
                + #"{"timestamp":1760697600,"fingerprints":[{"name":"api.example.com","#
                + #""fingerprint":"ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=","expires":4102444800}]}"#,
            signature:
                "MEUCIQDO0C63cBJAeYBH3szcg4il6U4vAlUcruOEe7VFAPSJrAIgM4a2MKmCg8oiwPE0xROfJ9j4CJs77h8ZCz13AhYOcYs="
        ),
    ]

    @Test(arguments: vectors)
    func `the signatures of Wultra's clients verify`(_ vector: Vector) throws {
        let key = try #require(P256PublicKey(x963: base64(vector.point)))
        let signature = try #require(ECDSASignature(der: base64(vector.signature)))
        #expect(key.verifies(signature, over: Array(vector.message.utf8)))
        #expect(!key.verifies(signature, over: Array((vector.message + "0").utf8)))
        #expect(Base64.encode(signature.der) == vector.signature)
        #expect(ECDSASignature(raw: signature.raw) == signature)
    }

    /// An encoding of the key of Wultra's clients.
    struct Encoding: CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) {
            self.testDescription = name
            self.bytes = bytes
        }

        init(_ name: String, _ text: String) { self.init(name, Array(text.utf8)) }
    }

    static let encodings = [
        Encoding("PKCS#8", base64(WultraKey.pkcs8)),
        Encoding("PKCS#8 with the curve named twice", base64(WultraKey.published)),
        Encoding("SEC1", base64(WultraKey.sec1)),
        Encoding("SEC1 without the point", base64(WultraKey.sec1WithoutPoint)),
        Encoding("SEC1 with the compressed point", base64(WultraKey.sec1Compressed)),
        Encoding("number", base64(WultraKey.number)),
        Encoding("PKCS#8 in base64", WultraKey.pkcs8),
        Encoding("SEC1 in base64", WultraKey.sec1),
        Encoding("number in base64", WultraKey.number),
        Encoding("PKCS#8 in PEM", pem("PRIVATE KEY", WultraKey.pkcs8)),
        Encoding("SEC1 in PEM", pem("EC PRIVATE KEY", WultraKey.sec1)),
    ]

    @Test(arguments: encodings)
    func `the key of Wultra's clients is read from each encoding and signs`(_ encoding: Encoding) throws {
        let key = try P256PrivateKey(importing: encoding.bytes)
        #expect(Base64.encode(key.publicKey.x963) == WultraKey.point)
        #expect(Base64.encode(key.publicKey.subjectPublicKeyInfo) == WultraKey.publicKey)
        let message = Array("challenge&{}".utf8)
        let known = try #require(P256PublicKey(x963: base64(WultraKey.point)))
        let signature = try key.sign(message)
        #expect(known.verifies(try #require(ECDSASignature(der: signature.der)), over: message))
        #expect(known.verifies(try #require(ECDSASignature(raw: signature.raw)), over: message))
        #expect(try key.sign(message) != signature)
    }

    @Test func `text is read with white space, parameters and certificates around it`() throws {
        let parameters = pem("EC PARAMETERS", "BggqhkjOPQMBBw==")
        let publicKey = pem("PUBLIC KEY", WultraKey.publicKey)
        let key = pem("EC PRIVATE KEY", WultraKey.sec1)
        for text in [
            "\(parameters)\n\(key)\n",
            "subject=/CN=a\r\n\(publicKey)\r\n\(key.split(separator: "\n").joined(separator: "\r\n"))",
            key.split(separator: "\n").joined(separator: " "), "\n \(WultraKey.number)\r\n",
            pem("", WultraKey.pkcs8).split(separator: "\n").dropFirst().dropLast().joined(separator: "\n") + "\n",
        ] {
            #expect(Base64.encode(try P256PrivateKey(importing: text.utf8).publicKey.x963) == WultraKey.point)
        }
    }

    // The order of the group, and the generator (SEC 2 section 2.4.2).
    static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
    static let generator = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"

    @Test func `the smallest and the largest number are keys, and numbers beyond them are not`() throws {
        let one = try P256PrivateKey(importing: [UInt8](repeating: 0, count: 31) + [1])
        #expect(Hex.encode(one.publicKey.x963[1..<33]) == Self.generator)
        var largest = hex(Self.order)
        largest[31] -= 1
        let last = try P256PrivateKey(importing: largest)
        #expect(Hex.encode(last.publicKey.x963[1..<33]) == Self.generator)
        #expect(last.publicKey != one.publicKey)
        // As Java's BigInteger writes it.
        #expect(try P256PrivateKey(importing: Base64.encode([0] + largest).utf8).publicKey == last.publicKey)
        for number in [
            [UInt8](repeating: 0, count: 32), hex(Self.order), [UInt8](repeating: 0xFF, count: 32),
        ] {
            #expect(throws: KeyImportError.unusable) { try P256PrivateKey(importing: number) }
        }
        #expect(throws: KeyImportError.malformed) { try P256PrivateKey(importing: [0] + base64(WultraKey.number)) }
    }

    @Test func `a point off the curve, and anything but 65 bytes, is no public key`() {
        let point = base64(WultraKey.point)
        for bit in stride(from: 0, to: point.count * 8, by: 7) {
            var other = point
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(P256PublicKey(x963: other) == nil)
            #expect(ERR_peek_error() == 0)
        }
        #expect(P256PublicKey(x963: [3] + point[1..<33]) == nil)
        #expect(P256PublicKey(x963: [0]) == nil)
        let info = base64(WultraKey.publicKey)
        for count in info.indices { #expect(P256PublicKey(subjectPublicKeyInfo: info.prefix(count)) == nil) }
        #expect(P256PublicKey(subjectPublicKeyInfo: info + [0]) == nil)
    }

    @Test(arguments: [
        "", "30", "3000", "3003020101", "3009020101020101020101",
        // Cut short, with something behind it, in BER's longer form.
        "30060201010201", "300602010102010100", "308106020101020101", "30070282000102 0101",
        // Negative, longer than it must be, of 33 bytes.
        "3006020181020101", "300702020001020101",
        "302602210100000000000000000000000000000000000000000000000000000000000000000201 01",
        // Other types.
        "3106020101020101", "3006040101020101",
    ])
    func `a signature in any but the one encoding in DER is refused`(text: String) {
        let bytes = hex(text.filter { $0 != " " })
        #expect(bytes.count * 2 == text.filter { $0 != " " }.utf8.count)
        #expect(ECDSASignature(der: bytes) == nil)
    }

    @Test(arguments: [
        ("00", "7f", "300602010002017f"), ("80", "ff", "300802020080020200ff"), ("0100", "01", "300702020100020101"),
    ])
    func `numbers of a signature are as short in DER as they can be`(r: String, s: String, der: String) throws {
        func padded(_ number: String) -> [UInt8] { hex(String(repeating: "0", count: 64 - number.count) + number) }
        let signature = try #require(ECDSASignature(raw: padded(r) + padded(s)))
        #expect(Hex.encode(signature.der) == der)
        #expect(ECDSASignature(der: hex(der)) == signature)
        for count in [0, 63, 65] { #expect(ECDSASignature(raw: [UInt8](repeating: 1, count: count)) == nil) }
    }

    @Test func `one key signs on many threads at once`() async throws {
        let key = try P256PrivateKey.generate()
        let count = try await withThrowingTaskGroup { group in
            for number in 0..<64 {
                group.addTask {
                    let message = [UInt8](repeating: UInt8(number), count: number)
                    return key.publicKey.verifies(try key.sign(message), over: message)
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 64)
    }

    @Test func `generated P-256 keys differ`() throws {
        let keys = try (0..<8).map { _ in try P256PrivateKey.generate().publicKey }
        #expect(Set(keys).count == 8)
    }
}
