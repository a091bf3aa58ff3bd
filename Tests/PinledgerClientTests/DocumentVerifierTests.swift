import PinWire
import SeededRandom
import Testing

@testable import PinledgerClient

@Suite("Verification of documents")
struct DocumentVerifierTests {
    private let signer = Signer()

    private func verifier(_ signers: Signer...) throws -> DocumentVerifier {
        DocumentVerifier(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer))
    }

    private func verdict(
        _ bytes: [UInt8], holding held: [UInt8]? = nil, at now: Timestamp = Fixed.now
    ) throws -> VerificationFailure? {
        let verifier = try self.verifier()
        let before = try held.map { try verifier.verify(UnverifiedDocument($0), replacing: nil, at: now) }
        do throws(VerificationFailure) {
            _ = try verifier.verify(UnverifiedDocument(bytes), replacing: before, at: now)
            return nil
        } catch { return error }
    }

    @Test("A document that a trust anchor signed for this app passes, and keeps its bytes")
    func passes() throws {
        let bytes = try self.signer.sign(try Fixed.document())
        let verified = try self.verifier().verify(UnverifiedDocument(bytes), replacing: nil, at: Fixed.now)
        #expect(verified.version == 7 && verified.bytes == bytes && verified.keyID == self.signer.keyID)
        #expect(!verified.isStale(at: Fixed.now))
        #expect(verified.isStale(at: verified.issued.expiresAt))
    }

    @Test("Each rule refuses what breaks it, with its own reason")
    func refuses() throws {
        let document = try Fixed.document()
        let good = try self.signer.sign(document)
        let payload = document.payload(
            issuedAt: Timestamp(seconds: Fixed.issued), expiresAt: Timestamp(seconds: Fixed.issued + 86_400))
        func header(_ members: [String: JSON]) throws -> [UInt8] {
            let usual: [String: JSON] = [
                "alg": "EdDSA", "kid": .string(self.signer.keyID), "typ": "pinset+jws",
            ]
            return try self.signer.sign(payload, header: .object(usual.merging(members) { $1 }))
        }
        let spaced = Array(String(decoding: payload, as: UTF8.self).replacing(":", with: ": ").utf8)
        var unknown = try JSON(parsing: payload).objectValue ?? [:]
        unknown["more"] = 1
        let cases: [(VerificationFailure, [UInt8])] = [
            (.tooLarge, [UInt8](repeating: 65, count: DocumentVerifier.byteLimit + 1)),
            (.malformedToken, []),
            (.malformedToken, Array("a.b".utf8)),
            (.malformedToken, good + [UInt8(ascii: ".")]),
            (.malformedToken, good + [UInt8(ascii: "A")]),
            (.malformedToken, good + [0xC3, 0xA9]),
            (.unsupportedHeader, try header(["typ": "pinset-evaluated+jws"])),
            (.unsupportedHeader, try header(["alg": "none"])),
            (.unsupportedHeader, try header(["jwk": self.signer.jwk])),
            (.unknownKey, try Signer().sign(document)),
            (
                .wrongSignature,
                try Signer().sign(
                    payload, header: ["alg": "EdDSA", "kid": .string(self.signer.keyID), "typ": "pinset+jws"])
            ),
            (.malformedPayload, try self.signer.sign(spaced)),
            (.malformedPayload, try self.signer.sign(JSON.object(unknown).canonicalBytes)),
            (.malformedPayload, try self.signer.sign(Array("[]".utf8))),
            (.otherApp, try self.signer.sign(try Fixed.document(app: "com.example.till"))),
            (.otherIssuer, try self.signer.sign(try Fixed.document(issuer: "elsewhere.example.com"))),
            (.issuedAhead, try self.signer.sign(document, issued: Fixed.now.seconds + 301)),
        ]
        for (failure, bytes) in cases { #expect(try self.verdict(bytes) == failure, "\(failure)") }
        #expect(try self.verdict(try self.signer.sign(document, issued: Fixed.now.seconds + 300)) == nil)
        #expect(
            Set(cases.map(\.0)).union([.olderVersion, .contradiction, .issuedEarlier, .rootExpired])
                == Set(VerificationFailure.allCases))
    }

    @Test("A document goes on from the one that is held, or is refused")
    func goesOn() throws {
        let held = try self.signer.sign(try Fixed.document(7), issued: Fixed.issued)
        let cases: [(VerificationFailure?, [UInt8])] = [
            (.olderVersion, try self.signer.sign(try Fixed.document(6), issued: Fixed.issued + 10)),
            (.contradiction, try self.signer.sign(try Fixed.document(7, pins: [1, 3]), issued: Fixed.issued + 10)),
            (.issuedEarlier, try self.signer.sign(try Fixed.document(7), issued: Fixed.issued - 1)),
            (nil, try self.signer.sign(try Fixed.document(7), issued: Fixed.issued + 10)),
            (nil, try self.signer.sign(try Fixed.document(8), issued: Fixed.issued)),
            (nil, try self.signer.sign(try Fixed.document(8), issued: Fixed.issued - 1)),
            (nil, held),
        ]
        for (failure, bytes) in cases { #expect(try self.verdict(bytes, holding: held) == failure) }
    }

    @Test("A high version of a key that is revoked holds no later one up")
    func recovers() throws {
        let stolen = Signer()
        let before = DocumentVerifier(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(stolen, self.signer))
        let forged = try before.verify(
            UnverifiedDocument(try stolen.sign(try Fixed.document(9_000_000))), replacing: nil, at: Fixed.now)
        let genuine = UnverifiedDocument(try self.signer.sign(try Fixed.document(8)))
        #expect(throws: VerificationFailure.olderVersion) {
            try before.verify(genuine, replacing: forged, at: Fixed.now)
        }
        // The next release of the app ships without that key.
        let after = try self.verifier()
        #expect(try after.verify(genuine, replacing: forged, at: Fixed.now).version == 8)
        #expect(throws: VerificationFailure.unknownKey) {
            try after.verify(UnverifiedDocument(forged.bytes), replacing: nil, at: Fixed.now)
        }
    }

    @Test("A document that is changed anywhere is refused")
    func changedAnywhere() throws {
        let good = try self.signer.sign(try Fixed.document())
        let verifier = try self.verifier()
        var random = SeededGenerator(seed: 20)
        for place in good.indices {
            var bytes = good
            bytes[place] ^= UInt8.random(in: 1...255, using: &random)
            #expect(throws: VerificationFailure.self, "byte \(place)") {
                try verifier.verify(UnverifiedDocument(bytes), replacing: nil, at: Fixed.now)
            }
        }
        for length in 0..<good.count {
            #expect(throws: VerificationFailure.self) {
                try verifier.verify(UnverifiedDocument(Array(good[..<length])), replacing: nil, at: Fixed.now)
            }
        }
    }

    @Test("Key sets that cannot be told for sure are refused as a whole")
    func malformedAnchors() throws {
        let other = Signer()
        func with(_ members: [String: JSON]) -> JSON {
            .object((self.signer.jwk.objectValue ?? [:]).merging(members) { $1 })
        }
        // Of small order: a signature fits every message.
        let nobody = [UInt8](repeating: 0, count: 32)
        let lists: [[JSON]] = [
            [with(["kid": .string(RootOfTrust.thumbprint(nobody)), "x": .string(Base64URL.encode(nobody))])],
            [], [with(["kid": .string(other.keyID)])], [with(["kty": "EC"])], [with(["crv": "X25519"])],
            [with(["x": "AAAA"])], [self.signer.jwk, with(["x": 5])], Array(repeating: self.signer.jwk, count: 65),
        ]
        for list in lists {
            let text = JSON.object(["keys": .array(list)]).canonicalBytes
            #expect(throws: TrustAnchors.Malformed.self) { try TrustAnchors(jwks: text) }
        }
        #expect(throws: TrustAnchors.Malformed.self) { try TrustAnchors(jwks: Array("{".utf8)) }
        #expect(throws: TrustAnchors.Malformed.self) {
            try TrustAnchors(jwks: [UInt8](repeating: 32, count: TrustAnchors.byteLimit + 1))
        }
        #expect(try Signer.anchors(self.signer, other).keyIDs == [self.signer.keyID, other.keyID].sorted())
    }
}
