import ClientFormats
import Crypto
import Foundation
import PinWire
import Pinning
import Testing

/// What the second SDK reads: all of it is needed, and the numbers are integers.
private struct Body: Decodable { var jws: String }

private struct Header: Decodable {
    var alg: String
    var kid: String
}

private struct Payload: Decodable {
    var domain: String
    var pins: [String]
    var iat: Int
    var exp: Int
    var ttl_seconds: Int
}

@Suite struct `An answer of Dynapins' second protocol` {
    // Made with a public test key of Wultra's, and accepted by the SDK 0.2.0.
    static let publicKey =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeRX04gOcy5WgJ0NH2cQD8mJ0ktNMMu5IDZNJmwaA4NKyF9tmDfUxL3RYL8d1tT8DlYvkabI"
        + "OQT+KSzog2/5cQ=="
    static let privateKey =
        "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQgTqkO8z2fD4uCLn0S5IwbK0y8UN24cOVean+ndd3YiSqgCgYIKoZIzj0DAQeh"
        + "RANCAAQt5FfTiA5zLlaAnQ0fZxAPyYnSS00wy7kgNk0mbBoDg0rIX22YN9TEvdFgvx3W1PwOVi+Rpsg5BP4pLOiDb/lx"
    static let token =
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IjA2ZTQzYWU5IiwidHlwIjoiSldUIn0."
        + "eyJkb21haW4iOiJhcGkuZXhhbXBsZS5jb20iLCJleHAiOjQxMDI0NDQ4MDAsImlhdCI6MTc2MDY5NzYwMCwicGlucyI6WyJ5cGVCRXNvYnZj"
        + "cjZ3akd6bWlQY1RhZUc3L2dVZkU1eXVZQjNoYS91U0xzPSIsIlBpUG9GZ0E1V1VvemlVOWxaT0d4Tkl1OWVnQ0kxQ3hLeTNQdXJ0V2NBSjA9"
        + "Il0sInR0bF9zZWNvbmRzIjozNjAwfQ."
        + "d1AGkqvEUa_GZ9I0BtF7ZrIY_SX-jj4B2ZqXTX9aF6CeMJ3yfeQcLVBS_Wxgyagt1rBQ9kp8Fre-rCwuq4U0VQ"
    static let parts = token.split(separator: ".").map(String.init)

    private let pins: DynapinsPins

    init() throws {
        self.pins = try DynapinsPins(
            domain: "api.example.com",
            pins: [
                Pin(text: "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="),
                Pin(text: "PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0="),
            ])
    }

    private func made() throws -> DynapinsToken {
        DynapinsToken(
            self.pins, issuedAt: RenderedApp.now, expiresAt: Timestamp(seconds: 4_102_444_800), ttlSeconds: 3600,
            keyID: DynapinsProtocol.es256.keyID(of: try #require(Base64.decode(Self.publicKey))))
    }

    @Test func `an answer of Dynapins' second protocol has the signed bytes of the vector, which its key signed`()
        throws
    {
        let made = try self.made()
        #expect(String(decoding: made.signingBytes, as: UTF8.self) == Self.parts[0] + "." + Self.parts[1])
        let raw = try #require(Base64URL.decode(Self.parts[2]))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        let key = try P256.Signing.PublicKey(derRepresentation: #require(Base64.decode(Self.publicKey)))
        #expect(key.isValidSignature(signature, for: made.signingBytes))
        #expect(made.body(signature: raw) == Array(#"{"jws":"\#(Self.token)"}"#.utf8))
    }

    @Test func `an answer of Dynapins' second protocol is read and verified as the SDK does it`() throws {
        let key = try P256.Signing.PrivateKey(derRepresentation: #require(Base64.decode(Self.privateKey)))
        let spki = Array(key.publicKey.derRepresentation)
        #expect(Base64.encode(spki) == Self.publicKey)
        let token = DynapinsToken(
            self.pins, issuedAt: Timestamp(microseconds: RenderedApp.now.microseconds + 999_999), ttlSeconds: 600,
            keyID: DynapinsProtocol.es256.keyID(of: spki))
        let made = try key.signature(for: token.signingBytes)
        let body = try #require(token.body(signature: Array(made.rawRepresentation)))
        let parts = try JSONDecoder().decode(Body.self, from: Data(body)).jws.split(separator: ".").map(String.init)
        try #require(parts.count == 3)

        let header = try JSONDecoder().decode(Header.self, from: Data(Base64URL.decode(parts[0]) ?? []))
        #expect(header.alg == "ES256" && header.kid == "06e43ae9")
        let payload = try JSONDecoder().decode(Payload.self, from: Data(Base64URL.decode(parts[1]) ?? []))
        #expect(payload.domain == "api.example.com")
        #expect(payload.pins == self.pins.pins.map(\.base64))
        #expect(payload.pins.allSatisfy { Data(base64Encoded: $0)?.count == 32 })
        #expect(payload.iat == 1_760_697_600 && payload.exp == 1_760_698_200 && payload.ttl_seconds == 600)

        let raw = try #require(Base64URL.decode(parts[2]))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        #expect(key.publicKey.isValidSignature(signature, for: Array((parts[0] + "." + parts[1]).utf8)))
        // What OpenSSL makes of itself is refused before a client has to.
        #expect(token.body(signature: Array(made.derRepresentation)) == nil)
    }

    @Test func `the vector of Dynapins' second protocol is read as the SDK reads it`() throws {
        let payload = try JSONDecoder().decode(Payload.self, from: Data(Base64URL.decode(Self.parts[1]) ?? []))
        #expect(payload.exp == 4_102_444_800 && payload.iat == 1_760_697_600 && payload.pins.count == 2)
    }

    @Test func `an answer of Dynapins' second protocol echoes a literal wildcard`() throws {
        let pins = try DynapinsPins(domain: "*.Example.com", pins: self.pins.pins)
        let token = DynapinsToken(pins, issuedAt: RenderedApp.now, ttlSeconds: 60, keyID: "06e43ae9")
        let payload = String(decoding: token.signingBytes, as: UTF8.self).split(separator: ".").map(String.init)[1]
        #expect(try JSON(parsing: Base64URL.decode(payload) ?? [])["domain"] == "*.Example.com")
    }
}
