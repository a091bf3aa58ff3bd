import PinWire
import Testing

@testable import Pinning

/// What ends with a session, and with what a session ends.
@Suite struct SessionEndTests {
    private var state = LedgerState()

    init() throws {
        try self.give(.identity(.setProvider(company)))
        try self.give(.identity(.setRule(developers)))
        try self.give(.identity(.signIn(Self.inBrowser("tok_w"))))
        let grant = Grant.everywhere(.editor)
        try self.give(.grantRole(id: "grt_1", principal: identity("1").principalID, grant))
    }

    private static func inBrowser(_ id: String, _ subject: String = "1", after earlier: String? = nil) -> SignIn {
        var new = signIn(subject, as: id)
        (new.isForBrowser, new.authenticatedAt, new.earlier) = (true, noon, earlier)
        return new
    }

    private mutating func give(_ command: AccessCommand, by token: String? = nil) throws {
        var context = PinningTests.context("why", at: noon)
        context.commander = token.map {
            Actor(kind: .token, id: $0, name: "Ada", principalID: identity("1").principalID)
        }
        for event in try self.state.decide(.access(command), in: context).events {
            _ = self.state.apply(event, of: .access, at: noon)
        }
    }

    private func isAccepted(_ id: String) -> Bool {
        let access = self.state.access
        return access.tokens[id].map {
            $0.isValid(at: noon) && access.isPrincipalActive(of: $0)
                && access.rights(of: $0, at: noon).allowsEverywhere(.changeApps)
        } ?? false
    }

    /// A token of the person's own.
    private func own(_ id: String) -> AccessCommand {
        .issueToken(
            newToken(
                id, digest: sha256(id.utf8), until: noon.adding(seconds: 600), nil, of: identity("1").principalID))
    }

    @Test func `a token that a session made for its principal ends with it, and so does what that made`() throws {
        var test = self
        try test.give(test.own("tok_a"), by: "tok_w")
        try test.give(test.own("tok_b"), by: "tok_a")
        #expect(test.isAccepted("tok_a") && test.isAccepted("tok_b"))
        #expect(test.state.access.tokens["tok_b"]?.terms?.origin?.session == "tok_w")
        try test.give(.revokeToken(id: "tok_w"), by: "tok_w")
        #expect(!test.isAccepted("tok_a") && !test.isAccepted("tok_b"))
    }

    @Test func `a sign-in in a browser ends the session that the browser had`() throws {
        var test = self
        try test.give(.identity(.signIn(Self.inBrowser("tok_x", after: "tok_w"))))
        #expect(!test.isAccepted("tok_w") && test.isAccepted("tok_x"))
        // Again, with the cookie that is over already.
        try test.give(.identity(.signIn(Self.inBrowser("tok_y", after: "tok_w"))))
        #expect(test.isAccepted("tok_x") && test.isAccepted("tok_y"))
    }

    @Test func `a sign-in of another person in the same browser ends the first one's session`() throws {
        var test = self
        try test.give(.identity(.signIn(Self.inBrowser("tok_o", "2", after: "tok_w"))))
        #expect(!test.isAccepted("tok_w"))
        #expect(test.state.access.tokens["tok_o"]?.isValid(at: noon) == true)
    }

    @Test func `a sign-in ends no session that is in no browser`() throws {
        var test = self
        try test.give(.identity(.signIn(signIn(as: "tok_s"))))
        try test.give(.identity(.signIn(Self.inBrowser("tok_x", after: "tok_s"))))
        for id in ["tok_w", "tok_s", "tok_x"] { #expect(test.isAccepted(id)) }
    }
}
