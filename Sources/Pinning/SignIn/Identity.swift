package import PinWire

/// A subject of an identity provider: the same person or program for as long as the provider keeps its word.
package struct Identity: Hashable, Sendable {
    package var issuer: Issuer
    /// The token's `sub`: 1 to 255 printable ASCII characters (OpenID Connect Core 1.0, section 2).
    package var subject: String

    package init(issuer: Issuer, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    package static let subjectLimit = 255
    /// The most identities of one principal.
    package static let limit = 10
    /// The most identities of all, with those that were unlinked.
    package static let totalLimit = 2 * Access.principalLimit

    /// Follows from issuer and subject, so that nodes at which it signs in for the first time at once name it alike: 64 bits of their
    /// SHA-256 in hexadecimal. Where it is used for a decision, both are compared as well.
    package var id: String { "idn_" + self.digest }
    /// The id of the person that is made of it.
    package var principalID: String { "prn_" + self.digest }

    private var digest: String {
        Hex.encode(sha256(Array(self.issuer.text.utf8) + [0] + Array(self.subject.utf8)).prefix(8))
    }

    package static func isPrintable(_ text: String, atMost limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    var members: [String: JSON] {
        [
            "identity_id": .string(self.id), "issuer": .string(self.issuer.text), "subject": .string(self.subject),
        ]
    }

    package init(_ members: inout JSONMembers) throws(JSONDefect) {
        self.issuer = try members.required("issuer").parse(Issuer.init(_:))
        self.subject = try members.required("subject").printable(atMost: Self.subjectLimit)
    }
}

extension JSONField {
    /// 1 to `limit` printable ASCII characters: a set that no version of Unicode changes, so that what was recorded stays readable.
    func printable(atMost limit: Int) throws(JSONDefect) -> String {
        let text = try self.string()
        guard Identity.isPrintable(text, atMost: limit) else {
            throw self.defect("must be 1 to \(limit) printable ASCII characters")
        }
        return text
    }
}

/// An identity, and whose it is.
package struct LinkedIdentity: Hashable, Sendable {
    package let identity: Identity
    /// Nil for one that was unlinked: it signs in as no one until it is linked again, so that nobody becomes a second person by it.
    package var principal: String?

    var members: [String: JSON] {
        var members = self.identity.members
        members["principal_id"] = self.principal.map { .string($0) }
        return members
    }

    package var json: JSON { .object(self.members) }

    package init(identity: Identity, principal: String?) {
        self.identity = identity
        self.principal = principal
    }

    init(_ members: inout JSONMembers) throws(JSONDefect) {
        // Follows from the two others.
        _ = try members.required("identity_id").string()
        self.identity = try Identity(&members)
        self.principal = try members.optional("principal_id")?.string()
    }
}

/// How a session came about: who signed in, and the rules that admitted it.
package struct SessionOrigin: Hashable, Sendable {
    package var identity: Identity
    package var rules: [RuleReference]
    /// When the provider last had the person prove who they are, as it says; nil where it does not say.
    package var authenticatedAt: Timestamp?
    /// Whether a browser keeps the session's token as a cookie. What gives power away then needs a recent proof
    /// (``Access/checkProofIsRecent(for:in:)``).
    package var isForBrowser: Bool
    /// The id of the session by which a token was made for its own principal, at once or by a token that was made so, and with which it
    /// ends; nil for the session itself.
    package var session: String?

    package init(
        identity: Identity, rules: [RuleReference], authenticatedAt: Timestamp? = nil, isForBrowser: Bool = false,
        session: String? = nil
    ) {
        self.identity = identity
        self.rules = rules
        self.session = session
        self.authenticatedAt = authenticatedAt
        self.isForBrowser = isForBrowser
    }

    package var json: JSON {
        .members([
            "issuer": .string(self.identity.issuer.text), "subject": .string(self.identity.subject),
            "rules": .array(self.rules.map(\.json)),
            "authenticated_at": self.authenticatedAt.map { .string($0.rfc3339) },
            "browser": self.isForBrowser ? true : nil,
            "session": self.session.map { .string($0) },
        ])
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            let identity = try Identity(&m)
            var rules: [RuleReference] = []
            for rule in try m.required("rules").elements(atMost: SignInRule.limit) {
                rules.append(try RuleReference(rule))
            }
            return SessionOrigin(
                identity: identity, rules: rules,
                authenticatedAt: try m.optional("authenticated_at")?.timestamp(),
                isForBrowser: try m.optional("browser")?.bool() ?? false,
                session: try m.optional("session")?.string())
        }
    }
}

/// A sign-in rule as it was at one moment.
package struct RuleReference: Hashable, Sendable {
    package var name: RoleName
    package var revision: Int64

    package init(name: RoleName, revision: Int64) {
        self.name = name
        self.revision = revision
    }

    var json: JSON { ["rule": .string(self.name.text), "revision": .integer(self.revision)] }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            RuleReference(
                name: try m.required("rule").parse(RoleName.init(_:)),
                revision: try m.required("revision").integer(0...JSON.largestInteger))
        }
    }
}

/// A verified identity token, with what the session for it needs.
package struct SignIn: Hashable, Sendable {
    package var provider: RoleName
    package var identity: Identity
    package var claims: IdentityClaims
    /// The name for people of a principal that is made.
    package var displayName: String
    /// As whom its sender expects it to sign in (``Access/principalID(of:)``).
    package var principal: String
    /// Follows from the identity token, so that each gives one session.
    package var tokenID: String
    /// SHA-256 of the session token's text, 32 bytes.
    package var digest: [UInt8]
    /// ``SessionOrigin/authenticatedAt``.
    package var authenticatedAt: Timestamp?
    /// ``SessionOrigin/isForBrowser``.
    package var isForBrowser: Bool
    /// The id of the token that the same browser has until now: if it is a session in a browser, it ends, also another person's. Nil for none.
    package var earlier: String?

    package init(
        provider: RoleName, identity: Identity, claims: IdentityClaims, displayName: String, principal: String,
        tokenID: String, digest: [UInt8], authenticatedAt: Timestamp? = nil, isForBrowser: Bool = false,
        earlier: String? = nil
    ) {
        self.provider = provider
        self.identity = identity
        self.claims = claims
        self.displayName = displayName
        self.principal = principal
        self.tokenID = tokenID
        self.digest = digest
        self.authenticatedAt = authenticatedAt
        self.isForBrowser = isForBrowser
        self.earlier = earlier
    }
}
