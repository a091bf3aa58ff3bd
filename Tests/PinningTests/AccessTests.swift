import PinWire
import Pinning
import Testing

@Suite struct `API access` {
    static let hour = noon.adding(seconds: 3600)
    static let limit = noon.adding(seconds: 366 * 86_400)
    static let digest = sha256([1])
    static let issue = AccessCommand.issueToken(id: "tok_1", name: "CI", digest: digest, expiresAt: hour)

    private func issued() throws -> Access {
        var access = Access()
        for event in try access.decide(Self.issue, in: context()) { access.evolve(event, at: noon) }
        return access
    }

    @Test func `an issued token is known by id and by digest`() throws {
        let access = try self.issued()
        #expect(
            try Access().decide(Self.issue, in: context())
                == [.tokenIssued(id: "tok_1", name: "CI", digest: Self.digest, expiresAt: Self.hour)]
        )
        let token = try #require(access.tokens["tok_1"])
        #expect(access.idByDigest == [Self.digest: "tok_1"] && access.version == 1)
        #expect(token.name == "CI" && token.createdAt == noon && token.revokedAt == nil)
        #expect(token.isValid(at: noon) && token.isValid(at: Timestamp(microseconds: Self.hour.microseconds - 1)))
        #expect(!token.isValid(at: Self.hour))
    }

    @Test func `no two tokens have one id or one digest`() throws {
        let access = try self.issued()
        #expect(throws: Refusal.tokenExists("tok_1")) {
            try access.decide(
                .issueToken(id: "tok_1", name: "x", digest: sha256([2]), expiresAt: Self.hour), in: context())
        }
        #expect(throws: Refusal.tokenExists("tok_2")) {
            try access.decide(
                .issueToken(id: "tok_2", name: "x", digest: Self.digest, expiresAt: Self.hour), in: context())
        }
    }

    @Test func `tokens have an end, within a year`() throws {
        func issue(until end: Timestamp) -> AccessCommand {
            .issueToken(id: "tok_2", name: "x", digest: sha256([2]), expiresAt: end)
        }
        let access = Access()
        let insisting = context("w", isForced: true)
        #expect(throws: Refusal.expiryNotAhead(noon)) { try access.decide(issue(until: noon), in: insisting) }
        #expect(try access.decide(issue(until: Self.limit), in: context()).count == 1)
        let later = Timestamp(microseconds: Self.limit.microseconds + 1)
        #expect(throws: Refusal.expiryTooFar(later, limit: Self.limit)) {
            try access.decide(issue(until: later), in: insisting)
        }
    }

    @Test func `a token is revoked once`() throws {
        var access = try self.issued()
        let events = try access.decide(.revokeToken(id: "tok_1"), in: context())
        #expect(events == [.tokenRevoked(id: "tok_1")])
        for event in events { access.evolve(event, at: noon.adding(seconds: 1)) }
        #expect(access.tokens["tok_1"]?.revokedAt == noon.adding(seconds: 1))
        #expect(access.tokens["tok_1"]?.isValid(at: noon) == false)
        #expect(throws: Refusal.tokenRevoked("tok_1")) { try access.decide(.revokeToken(id: "tok_1"), in: context()) }
        #expect(throws: Refusal.tokenUnknown("tok_9")) { try access.decide(.revokeToken(id: "tok_9"), in: context()) }
        #expect(throws: Refusal.tokenExists("tok_3")) {
            try access.decide(
                .issueToken(id: "tok_3", name: "x", digest: Self.digest, expiresAt: Self.hour), in: context())
        }
    }

    @Test func `a token's digest is never shown to people`() throws {
        let token = try #require(try self.issued().tokens["tok_1"])
        #expect(
            token.json.canonicalText
                == #"{"created_at":"2026-01-31T12:00:00Z","expires_at":"2026-01-31T13:00:00Z","name":"CI","token_id":"tok_1"}"#
        )
    }
}
