import ClientFormats
import Crypto
import Foundation
import PinWire
import Pinning
import Testing

/// Keys of the clients' own tests.
enum WultraKeys {
    /// Whose private half only Wultra has.
    static let a = "BEG6g28LNWRcmdFzexSNTKPBYZnDtKrCyiExFKbktttfKAF7wG4Cx1Nycr5PwCoICG1dRseLyuDxUilAmppPxAo="
    static let b = "BC3kV9OIDnMuVoCdDR9nEA/JidJLTTDLuSA2TSZsGgODSshfbZg31MS90WC/HdbU/A5WL5GmyDkE/iks6INv+XE="
    private static let bPrivate =
        "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQgTqkO8z2fD4uCLn0S5IwbK0y8UN24cOVean+ndd3YiSqgCgYIKoZIzj0DAQeh"
        + "RANCAAQt5FfTiA5zLlaAnQ0fZxAPyYnSS00wy7kgNk0mbBoDg0rIX22YN9TEvdFgvx3W1PwOVi+Rpsg5BP4pLOiDb/lx"

    static func isSigned(_ message: [UInt8], _ signature: String, by key: String) throws -> Bool {
        let key = try P256.Signing.PublicKey(x963Representation: Data(WultraExamples.bytes(key)))
        let signature = try P256.Signing.ECDSASignature(derRepresentation: Data(WultraExamples.bytes(signature)))
        return key.isValidSignature(signature, for: Data(message))
    }

    static func privateKey() throws -> P256.Signing.PrivateKey {
        try P256.Signing.PrivateKey(derRepresentation: Data(WultraExamples.bytes(self.bPrivate)))
    }

    static func sign(_ message: [UInt8]) throws -> [UInt8] {
        Array(try self.privateKey().signature(for: Data(message)).derRepresentation)
    }
}

@Suite struct `What Wultra's clients verify` {
    /// The command-line tool's test certificate, in the two spellings that tools and clients have of it.
    @Test func `Wultra's clients verify a certificate's SHA-256, which tools print in hexadecimal digits`() throws {
        let bytes = try #require(
            Hex.decode("9eed43381cf7d58e4563a951364255fc776707a043542a7b997d27c646ee6fb6"))
        let entry = WultraEntry(name: "www.google.com", fingerprint: bytes, expires: 1_540_280_280)
        #expect(
            entry.signingInput
                == Array("www.google.com&nu1DOBz31Y5FY6lRNkJV/HdnB6BDVCp7mX0nxkbub7Y=&1540280280".utf8))
    }

    /// From the clients' tests; some of them have milliseconds, and the signature does not mind.
    @Test(arguments: [
        (
            WultraKeys.a, "www.google.com", "nu1DOBz31Y5FY6lRNkJV/HdnB6BDVCp7mX0nxkbub7Y=", Int64(1_540_280_280_000),
            "MEQCIGDeccZP1CqyOCX9//L7duCKY8eYxYfKUAr0z4XWi7//AiAaOyhAtFqpcpULGzVescjmGgVrPIY77h9D45em9y9o8w=="
        ),
        (
            WultraKeys.b, "github.com", "MRFQDEpmASza4zPsP8ocnd5FyVREDn7kE3Fr/zZjwHQ=", 1_591_185_600_000,
            "MEYCIQDoeBkao6W8wOqLGcicPzjQdzcA2y6ZXMdqQ+rgw7dSCQIhAN+CaYIizKRYQFc8OfQ84OEGiBjjfVqPVrnKFfUuVebr"
        ),
        (
            WultraKeys.b, "github.com", "kqN/vV4hpTqVxxbhFE9EL1grlND6/Gc+tnF6TrUaiKc=", 1_710_460_799,
            "MEUCICB69UpMPOdtrsR6XcJqHEh2L2RO4oSJ3SZ7BYnTBJbGAiEAnZ7rEWdMVGwa59Wx5QbAorEFxXH89Iu0CnqWa96Eda0="
        ),
        (
            WultraKeys.b, "github.com", "trmmrz6GbL4OajB+fdoXOzcrLTrD8GrxX5dxh3OEgAg=", 1_652_184_000,
            "MEUCIQCs1y/nyrKh4+2DIuX/PufUYiaVUdt2FBZQg6rBeZ/r4QIgNlT4owBwJ1ThrDsE0SwGipTNI74vP1vNyLNEwuXY4lE="
        ),
    ])
    func `Wultra's clients verify name, fingerprint and expiry of an entry`(
        key: String, name: String, fingerprint: String, expires: Int64, signature: String
    ) throws {
        let entry = WultraEntry(name: name, fingerprint: WultraExamples.bytes(fingerprint), expires: expires)
        #expect(try WultraKeys.isSigned(entry.signingInput, signature, by: key))
        let later = WultraEntry(name: name, fingerprint: entry.fingerprint, expires: expires + 1)
        #expect(try !WultraKeys.isSigned(later.signingInput, signature, by: key))
    }

    /// The reference's vector: the body must come out byte for byte, or the signature is not of it.
    @Test func `Wultra's clients verify the challenge and exactly the body`() throws {
        let certificate = WultraExamples.certificate(
            1, "api.example.com", sha256: WultraExamples.bytes("ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="))
        let app = WultraExamples.app(.init("api.example.com", .enforce, certificate))
        let template = WultraInitTemplate(WultraExamples.view(app), ClientSettings())
        let body = template.body(at: WultraExamples.noon)
        let expected =
            #"{"timestamp":1760697600,"fingerprints":[{"name":"api.example.com","#
            + #""fingerprint":"ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=","expires":4102444800}]}"#
        #expect(WultraExamples.text(body) == expected)
        let challenge = try WultraChallenge("AAECAwQFBgcICQoLDA0ODw==")
        let signature =
            "MEUCIQDO0C63cBJAeYBH3szcg4il6U4vAlUcruOEe7VFAPSJrAIgM4a2MKmCg8oiwPE0xROfJ9j4CJs77h8ZCz13AhYOcYs="
        #expect(try WultraKeys.isSigned(challenge.signingInput(of: body), signature, by: WultraKeys.b))
        let other = try WultraChallenge("AAECAwQFBgcICQoLDA0ODg==")
        #expect(try !WultraKeys.isSigned(other.signingInput(of: body), signature, by: WultraKeys.b))
    }

    @Test(arguments: [16, 17, 31, 32])
    func `Wultra's clients may send a challenge of 16 to 32 bytes`(count: Int) throws {
        let text = Base64.encode(Array(repeating: UInt8(251), count: count))
        let challenge = try WultraChallenge(text)
        #expect(challenge.text == text)
        #expect(challenge.signingInput(of: [1, 2]) == Array(text.utf8) + [0x26, 1, 2])
    }

    @Test(arguments: [
        nil, "", " ", "AAECAwQFBgcICQoLDA0ODw", "AAECAwQFBgcICQoLDA0ODw=", "AAECAwQFBgcICQoLDA0ODw== ",
        " AAECAwQFBgcICQoLDA0ODw==", "AAECAwQFBgcICQoLDA0ODx==", "AAECAwQFBgcICQoLDA0ODw==AAAA",
        "__________________8_____", "AAECAwQFBgcI\nCQoLDA0ODw==", "000102030405060708090a0b0c0d0e0f!",
        "AAECAwQFBgcICQoLDA0O", Base64.encode(Array(repeating: UInt8(1), count: 33)),
        Base64.encode(Array(repeating: UInt8(1), count: 3000)), "*", "AAAA",
        "AAECAwQFBgcICQoLDA0ODw==&AAECAwQFBgcICQoLDA0ODw==",
    ])
    func `a malformed challenge gets no signed answer`(header: String?) throws {
        let error = #expect(throws: WultraError.self) { try WultraChallenge(header) }
        #expect(error?.code == .invalidChallenge && error?.status == 403)
        #expect(
            error.map { WultraExamples.text($0.body) }?.hasPrefix(#"{"code":"INVALID_CHALLENGE","message":""#) == true)
    }

    @Test func `Wultra's clients get the verifying key as a point`() {
        let body = WultraPublicKey.body(WultraExamples.bytes(WultraKeys.b))
        #expect(WultraExamples.text(body) == #"{"publicKey":"\#(WultraKeys.b)"}"#)
    }

    @Test(
        arguments: [
            (.appNotFound("a\"b"), 404, #"{"code":"APP_NOT_FOUND","message":"There is no app a\"b."}"#),
            (
                .publicKeyNotFound("shop"), 404,
                #"{"code":"PUBLIC_KEY_NOT_FOUND","message":"There is no public key of an app shop."}"#
            ),
        ] as [(WultraError, Int, String)])
    func `Wultra's clients can verify an error too`(error: WultraError, status: Int, body: String) {
        #expect(error.status == status)
        #expect(WultraExamples.text(error.body) == body)
    }
}
