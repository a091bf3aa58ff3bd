import PinWire
import SeededRandom
import Testing

/// What is read of documents whose form a later program has extended.
struct DocumentEnvelopeTests {
    /// The golden document with a change to its members; the digest is that of the result unless told otherwise.
    private func payload(digest: String? = nil, _ change: (inout [String: JSON]) -> Void) throws -> [UInt8] {
        guard case .object(var members) = try JSON(parsing: try testFile("Golden/document-full.json")) else {
            return []
        }
        change(&members)
        var content = members
        for freshness in ["content_sha256", "iat", "exp"] { content[freshness] = nil }
        members["content_sha256"] = .string(digest ?? Hex.encode(sha256(JSON.object(content).canonicalBytes)))
        return JSON.object(members).canonicalBytes
    }

    @Test func `every document of this form has the same envelope by both readers`() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<100 {
            let document = try randomDocument(&generator)
            let payload = document.payload(
                issuedAt: Timestamp(seconds: 1_800_000_000), expiresAt: Timestamp(seconds: 1_800_086_400))
            let issued = try IssuedDocument(payload: payload)
            #expect(try DocumentEnvelope(anyForm: payload) == DocumentEnvelope(issued))
        }
    }

    @Test func `members of a later form do not keep a document from being read`() throws {
        let later = try self.payload { members in
            members["note"] = "hello"
            members["hosts"] = [["host": ["a later form": 1]]]
            members["bucketing"] = "pinroll/v2"
        }
        #expect(throws: IssuedDocument.Malformed.self) { try IssuedDocument(payload: later) }
        let envelope = try DocumentEnvelope(anyForm: later)
        let plain = try IssuedDocument(payload: try testFile("Golden/document-full.json"))
        #expect(envelope.app == plain.document.app && envelope.version == plain.document.version)
        #expect(envelope.contentDigest != plain.contentDigest && !envelope.isEvaluated)
    }

    @Test func `a payload that contradicts itself is refused`() throws {
        let good = try self.payload { $0["note"] = "hello" }
        let bad: [[UInt8]] = [
            try self.payload(digest: String(repeating: "0", count: 64)) { $0["note"] = "hello" },
            try self.payload(digest: "0") { _ in }, try self.payload { $0["version"] = -1 },
            try self.payload { $0["version"] = "1" }, try self.payload { $0["aud"] = "a b" },
            try self.payload { $0["aud"] = nil }, try self.payload { $0["iat"] = nil },
            try self.payload { $0["exp"] = 253_402_300_800 }, [UInt8(ascii: " ")] + good, good + [UInt8(ascii: " ")],
            [], Array("[]".utf8), Array("{}".utf8),
            Array(repeating: UInt8(ascii: "["), count: 100_000),
        ]
        for payload in bad {
            #expect(throws: IssuedDocument.Malformed.self) { try DocumentEnvelope(anyForm: payload) }
        }
        _ = try DocumentEnvelope(anyForm: good)
    }

    @Test func `a document for single devices is known as one`() throws {
        let payload = try self.payload { $0["evaluated_from"] = .string(String(repeating: "a", count: 64)) }
        #expect(try DocumentEnvelope(anyForm: payload).isEvaluated)
    }
}
