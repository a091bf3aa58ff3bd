import ClientFormats
import Crypto
import Foundation
import PinWire
import Pinning
import Testing

/// What the first SDK reads out of an answer: four members it needs, and the others where they are there.
private struct Envelope: Decodable {
    var domain: String
    var pins: [String]
    var created: String?
    var expires: String?
    var ttl_seconds: Int
    var keyId: String?
    var alg: String?
    var signature: String

    /// The signed text as the SDK puts it together again.
    var message: String {
        let pins = self.pins.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"domain":"\#(self.domain)","pins":[\#(pins)],"created":"\#(self.created ?? "")","#
            + #""expires":"\#(self.expires ?? "")","ttl_seconds":\#(self.ttl_seconds),"keyId":"\#(self.keyId ?? "")","#
            + #""alg":"\#(self.alg ?? "Ed25519")"}"#
    }
}

@Suite struct `An answer of Dynapins' first protocol` {
    // From the Dynapins server's own test keys.
    static let privateKey = "MC4CAQAwBQYDK2VwBCIEIEottsHhxfNBdKlEbCVOJZ0Pav1mfvjUruTuJMApfwjM"
    static let publicKey = "MCowBQYDK2VwAyEA9gocJEBHG+vcm2OH42ZEy8XiYarSBJ3ZBTA5Ni7J+Ac="
    static let message =
        #"{"domain":"example.com","pins":["88c3292097527f95650a51dac5945eca168bc4bb2664c30d022036a4c47cfcce","#
        + #""a814636663a69123492f4a7bd337a4ee8752233aacfe6b91e0993dc58c823fe1"],"created":"2025-10-17T11:19:41Z","#
        + #""expires":"2025-10-17T12:19:41Z","ttl_seconds":3600,"keyId":"7fda4c1e","alg":"Ed25519"}"#
    static let signature =
        "YfgwXFSRbB4zn1r1jtoqjkiLCxajox/tsLRtHRgwXiZ8i34JnfTMWjOl/L0yyR/cjJQ85sRP78fVyeAMxWD/CA=="

    private let key: Curve25519.Signing.PrivateKey
    private let pins: DynapinsPins

    init() throws {
        let seed = try #require(Base64.decode(Self.privateKey)).suffix(32)
        self.key = try Curve25519.Signing.PrivateKey(rawRepresentation: Data(seed))
        self.pins = try DynapinsPins(
            domain: "example.com",
            pins: [
                .hex("88c3292097527f95650a51dac5945eca168bc4bb2664c30d022036a4c47cfcce"),
                .hex("a814636663a69123492f4a7bd337a4ee8752233aacfe6b91e0993dc58c823fe1"),
            ])
    }

    private func envelope(microsecond: Int64 = 0) throws -> DynapinsEnvelope {
        let issued = try #require(Timestamp(rfc3339: "2025-10-17T11:19:41Z"))
        let keyID = DynapinsProtocol.ed25519.keyID(
            of: try #require(Base64.decode("MCowBQYDK2VwAyEA9gocJEBHG+vcm2OH42ZEy8XiYarSBJ3ZBTA5Ni7J+Ac=")))
        return DynapinsEnvelope(
            self.pins, issuedAt: Timestamp(microseconds: issued.microseconds + microsecond), ttlSeconds: 3600,
            keyID: keyID)
    }

    @Test func `an answer of Dynapins' first protocol has the signed bytes and the signature of the server's vector`()
        throws
    {
        let envelope = try self.envelope()
        #expect(String(decoding: envelope.signingBytes, as: UTF8.self) == Self.message)
        let spki = try #require(Base64.decode(Self.publicKey))
        #expect(Array(self.key.publicKey.rawRepresentation) == spki.suffix(32))
        // RFC 8032 makes the same signature every time; an implementation that blinds it makes another one as good.
        let signature = Array(try self.key.signature(for: envelope.signingBytes))
        #if canImport(Darwin)
            #expect(self.key.publicKey.isValidSignature(signature, for: envelope.signingBytes))
        #else
            #expect(Base64.encode(signature) == Self.signature)
        #endif
        let vector = try #require(Base64.decode(Self.signature))
        #expect(self.key.publicKey.isValidSignature(vector, for: envelope.signingBytes))
    }

    @Test func `an answer of Dynapins' first protocol is the signed bytes followed by the signature`() throws {
        let body = try #require(try self.envelope().body(signature: Base64.decode(Self.signature) ?? []))
        #expect(
            String(decoding: body, as: UTF8.self)
                == Self.message.dropLast() + #","signature":"\#(Self.signature)"}"#)
    }

    @Test func `an answer of Dynapins' first protocol is read and verified as the SDK does it`() throws {
        let envelope = try self.envelope()
        let signature = Array(try self.key.signature(for: envelope.signingBytes))
        let read = try JSONDecoder().decode(Envelope.self, from: Data(envelope.body(signature: signature) ?? []))
        #expect(read.domain == "example.com" && read.ttl_seconds == 3600)
        #expect(read.pins.first == "88c3292097527f95650a51dac5945eca168bc4bb2664c30d022036a4c47cfcce")
        let given = try #require(Data(base64Encoded: read.signature))
        #expect(self.key.publicKey.isValidSignature(given, for: Data(read.message.utf8)))
    }

    @Test func `an answer of Dynapins' first protocol has whole seconds`() throws {
        #expect(try self.envelope(microsecond: 999_999).signingBytes == Array(Self.message.utf8))
    }

    @Test func `an answer of Dynapins' first protocol may expire later than clients keep it`() throws {
        let envelope = DynapinsEnvelope(
            self.pins, issuedAt: RenderedApp.now, expiresAt: RenderedApp.now.adding(seconds: 86_400), ttlSeconds: 60,
            keyID: "7fda4c1e")
        let json = try JSON(parsing: envelope.signingBytes)
        #expect(json["created"] == "2025-10-17T10:40:00Z" && json["expires"] == "2025-10-18T10:40:00Z")
        #expect(json["ttl_seconds"] == 60)
    }

    @Test(arguments: [0, 63, 65, 70, 72])
    func `an answer of Dynapins' first protocol never carries a signature of another length`(count: Int) throws {
        let signature = [UInt8](repeating: 7, count: count)
        #expect(try self.envelope().body(signature: signature) == nil)
        #expect(DynapinsFingerprint(self.pins, ttlSeconds: 60).body(signature: signature) == nil)
        let token = DynapinsToken(self.pins, issuedAt: RenderedApp.now, ttlSeconds: 60, keyID: "x")
        #expect(token.body(signature: signature) == nil)
    }

    @Test func `the documented form of Dynapins' first protocol is one signed fingerprint`() throws {
        let fingerprint = DynapinsFingerprint(self.pins, ttlSeconds: 3600)
        let text = "88c3292097527f95650a51dac5945eca168bc4bb2664c30d022036a4c47cfcce"
        #expect(fingerprint.signingBytes == Array(text.utf8))
        let signature = Array(try self.key.signature(for: fingerprint.signingBytes))
        let body = try #require(fingerprint.body(signature: signature))
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"domain":"example.com","fingerprint":"\#(text)","signature":"\#(Base64.encode(signature))","#
                + #""ttl":3600}"#)
    }
}
