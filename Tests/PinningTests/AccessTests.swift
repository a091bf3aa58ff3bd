import PinWire
import Pinning
import Testing

@Suite struct `API access` {
    static let hour = noon.adding(seconds: 3600)
    static let limit = noon.adding(seconds: 366 * 86_400)
    static let digest = sha256([1])
    static let issue = AccessCommand.issueToken(newToken("tok_1"))

    private func issued() throws -> Access {
        var access = Access()
        for event in try access.decide(Self.issue, in: context()) { access.evolve(event, at: noon) }
        return access
    }

    @Test func `an issued token is known by id and by digest`() throws {
        let access = try self.issued()
        #expect(try Access().decide(Self.issue, in: context()) == [.tokenIssued(newToken("tok_1"))])
        let token = try #require(access.tokens["tok_1"])
        #expect(access.idByDigest == [Self.digest: "tok_1"] && access.version == 1)
        #expect(token.name == "CI" && token.createdAt == noon && token.revokedAt == nil)
        #expect(token.isValid(at: noon) && token.isValid(at: Timestamp(microseconds: Self.hour.microseconds - 1)))
        #expect(!token.isValid(at: Self.hour))
    }

    @Test func `no two tokens have one id or one digest`() throws {
        let access = try self.issued()
        #expect(throws: Refusal.tokenExists("tok_1")) {
            try access.decide(.issueToken(newToken("tok_1", digest: sha256([2]))), in: context())
        }
        #expect(throws: Refusal.tokenExists("tok_2")) {
            try access.decide(.issueToken(newToken("tok_2")), in: context())
        }
    }

    @Test func `tokens have an end, within a year`() throws {
        func issue(until end: Timestamp) -> AccessCommand {
            .issueToken(newToken("tok_2", digest: sha256([2]), until: end))
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
            try access.decide(.issueToken(newToken("tok_3")), in: context())
        }
    }

    /// An issued token and the event of the one that takes its place.
    private func replaced(after overlap: Int64) throws -> (access: Access, events: [AccessEvent]) {
        var access = try self.issued()
        var new = newToken("tok_2", digest: sha256([2]), until: noon.adding(seconds: 90_000))
        new.replaced = TokenReplacement(token: "tok_1", overlap: overlap)
        let events = try access.decide(.issueToken(new), in: context())
        for event in events { access.evolve(event, at: noon.adding(seconds: 60)) }
        return (access, events)
    }

    @Test(arguments: [(600, 660), (0, 60), (86_400, 3600)])
    func `a replaced token ends after the overlap, and never later than it would have`(overlap: Int64, end: Int64)
        throws
    {
        let (access, events) = try self.replaced(after: overlap)
        #expect(events.count == 1)
        let token = try #require(access.tokens["tok_1"])
        #expect(token.expiresAt == noon.adding(seconds: end) && token.replacedBy == "tok_2" && token.revokedAt == nil)
        #expect(access.tokens["tok_2"]?.expiresAt == noon.adding(seconds: 90_000))
    }

    @Test func `a token is replaced again where the text of the first one was lost`() throws {
        var (access, _) = try self.replaced(after: 600)
        var new = newToken("tok_3", digest: sha256([3]))
        new.replaced = TokenReplacement(token: "tok_1", overlap: 3000)
        for event in try access.decide(.issueToken(new), in: context()) {
            access.evolve(event, at: noon.adding(seconds: 90))
        }
        #expect(access.tokens["tok_1"]?.replacedBy == "tok_3")
        #expect(access.tokens["tok_1"]?.expiresAt == noon.adding(seconds: 660))
    }

    @Test func `no token replaces one that is revoked, unknown or no token of people and programs`() throws {
        var access = try self.issued()
        access.evolve(.tokenRevoked(id: "tok_1"), at: noon)
        access.evolve(.tokenIssued(feed("cal_1", sha256([7]))), at: noon)
        for (id, refusal) in [
            ("tok_1", Refusal.tokenRevoked("tok_1")), ("tok_9", .tokenUnknown("tok_9")),
            ("cal_1", .tokenUnknown("cal_1")),
        ] {
            var new = newToken("tok_2", digest: sha256([2]))
            new.replaced = TokenReplacement(token: id)
            #expect(throws: refusal) { try access.decide(.issueToken(new), in: context()) }
        }
    }

    @Test func `a token's digest is never shown to people`() throws {
        let token = try #require(try self.issued().tokens["tok_1"])
        #expect(
            token.json.canonicalText
                == #"{"created_at":"2026-01-31T12:00:00Z","expires_at":"2026-01-31T13:00:00Z","grants":[{"apps":["*"],"role":"admin"}],"kind":"general","name":"CI","token_id":"tok_1","unscoped":false}"#
        )
    }

    @Test func `a token from before there were roles may do everything, and is marked`() throws {
        let old = try #require(examples["TokenIssued"])
        #expect(old.event.schema == 1 && old.json["schema"] == 1)
        var access = Access()
        access.evolve(
            try #require(try Entry(bytes: old.bytes).event.ofAccess), at: noon)
        let token = try #require(access.tokens["tok_1"])
        #expect(token.isUnscoped && token.json["unscoped"] == true)
        let rights = access.rights(of: token, at: noon)
        #expect(Permission.allCases.allSatisfy { rights.allowsEverywhere($0) })
        // What is issued now always says what it may do.
        #expect(throws: Refusal.grantTooWide(.everywhere(.admin))) {
            try access.decide(
                .issueToken(
                    NewToken(id: "tok_2", name: "x", digest: sha256([9]), expiresAt: Self.hour, terms: nil)),
                in: context())
        }
    }

    @Test func `a calendar feed from before there were roles opens nothing else`() throws {
        var access = Access()
        access.evolve(
            .tokenIssued(
                NewToken(
                    id: "cal_1", name: "calendar feed of com.example.shop: phone", digest: Self.digest,
                    expiresAt: Self.hour, terms: nil)), at: noon)
        let feed = try #require(access.tokens["cal_1"])
        #expect(feed.kind == .calendar && !feed.isUnscoped && feed.feed == shop)
        #expect(access.rights(of: feed, at: noon) == .nothing)
        // The manager of its app may revoke it.
        #expect(access.apps(of: feed) == [.one(shop)])
    }

    @Test func `an event in a form that no program has recorded needs a later one`() throws {
        let entry = try #require(examples["TokenIssued.granted"])
        #expect(entry.event.schema == 2)
        var members = try #require(try JSON(parsing: entry.bytes).objectValue)
        members["schema"] = 3
        let bytes = JSON.object(members).canonicalBytes
        #expect(LaterProgram(unread: bytes) == .schema(3, type: "TokenIssued"))
        #expect(throws: JSONDefect.self) { try Entry(bytes: bytes) }
        // The members of one form in another are a defect, and not a later form.
        members["schema"] = 1
        #expect(throws: JSONDefect.self) { try Entry(bytes: JSON.object(members).canonicalBytes) }
        #expect(LaterProgram(unread: JSON.object(members).canonicalBytes) == nil)
    }

    @Test func `a token says what it may do`() throws {
        let entry = try #require(examples["TokenIssued.own"])
        var members = try #require(try JSON(parsing: entry.bytes).objectValue)
        var data = try #require(members["data"]?.objectValue)
        data["principal_id"] = nil
        members["data"] = .object(data)
        #expect(throws: JSONDefect.self) { try Entry(bytes: JSON.object(members).canonicalBytes) }
    }
}

extension Event {
    fileprivate var ofAccess: AccessEvent? {
        if case .access(let event) = self { event } else { nil }
    }
}
