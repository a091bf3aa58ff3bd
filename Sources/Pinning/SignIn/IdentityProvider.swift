package import PinWire

/// An OpenID Connect provider whose identity tokens are accepted: a company's directory for its people, or a CI system for its jobs.
///
/// It opens nothing by itself: ``SignInRule``s say which of its identities may do what.
package struct IdentityProvider: Hashable, Sendable {
    /// The algorithms of signatures that can be accepted (RFC 7518 section 3.1, RFC 8037); `none` and those with a shared key are none of
    /// them.
    package enum Algorithm: String, CaseIterable, Comparable, Sendable {
        case rs256 = "RS256"
        case rs384 = "RS384"
        case rs512 = "RS512"
        case ps256 = "PS256"
        case ps384 = "PS384"
        case ps512 = "PS512"
        case es256 = "ES256"
        case es384 = "ES384"
        case es512 = "ES512"
        case edDSA = "EdDSA"

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package var name: RoleName
    /// What its tokens have in `iss`, to the character; its metadata is at this address.
    package var issuer: Issuer
    /// One of these must be in a token's `aud`.
    package var audiences: [String]
    package var algorithms: Set<Algorithm>
    /// The client by which people sign in with `pinledger login` (RFC 8628); nil for a provider of programs.
    package var clientID: String?
    /// What `pinledger login` asks for (RFC 6749 section 3.3), where it is not ``defaultScope``: some providers tell groups only with a
    /// scope of their own.
    package var scope: String?

    package init(
        name: RoleName, issuer: Issuer, audiences: [String], algorithms: Set<Algorithm> = [.rs256, .es256],
        clientID: String? = nil, scope: String? = nil
    ) {
        self.name = name
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.clientID = clientID
        self.scope = scope
    }

    package static let limit = 20
    package static let defaultScope = "openid profile email"
    package static let audienceLimit = 10
    /// Characters of an audience and of a client's id.
    static let textLimit = 255

    package var json: JSON { .object(self.members) }

    var members: [String: JSON] {
        var members: [String: JSON] = [
            "provider": .string(self.name.text),
            "issuer": .string(self.issuer.text),
            "audiences": .array(self.audiences.map { .string($0) }),
            "algorithms": .array(self.algorithms.sorted().map { .string($0.rawValue) }),
        ]
        if let clientID { members["client_id"] = .string(clientID) }
        if let scope { members["scope"] = .string(scope) }
        return members
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let name = try members.required("provider").parse(RoleName.init(_:))
            return try IdentityProvider(&members, name: name)
        }
    }

    /// Takes all members but the name.
    package init(_ members: inout JSONMembers, name: RoleName) throws(JSONDefect) {
        self.name = name
        self.issuer = try members.required("issuer").parse(Issuer.init(_:))
        let audiences = try members.required("audiences")
        self.audiences = []
        for audience in try audiences.elements(atMost: Self.audienceLimit) {
            self.audiences.append(try audience.printable(atMost: Self.textLimit))
        }
        guard !self.audiences.isEmpty else { throw audiences.defect("must have at least one audience") }
        self.algorithms = [.rs256, .es256]
        if let field = members.optional("algorithms") {
            self.algorithms = []
            for algorithm in try field.elements(atMost: Algorithm.allCases.count) {
                self.algorithms.insert(try algorithm.oneOf(Algorithm.self))
            }
            guard !self.algorithms.isEmpty else { throw field.defect("must name at least one algorithm") }
        }
        self.clientID = try members.optional("client_id")?.printable(atMost: Self.textLimit)
        self.scope = try members.optional("scope")?.printable(atMost: Self.textLimit)
    }
}

/// The identifier of an OpenID Connect provider: an `https` URL without query and fragment (OpenID Connect Discovery 1.0, section 3), kept
/// as it is written, since tokens are compared with it to the character.
package struct Issuer: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { self.text }

    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The most bytes of an issuer.
    package static let lengthLimit = 500

    package init(_ text: String) throws(Malformed) {
        guard text.utf8.count <= Self.lengthLimit else {
            throw Malformed(description: "must be at most \(Self.lengthLimit) characters")
        }
        guard !text.contains("?") else { throw Malformed(description: "must not have a query") }
        do throws(OutgoingURL.Malformed) { _ = try OutgoingURL(text) } catch {
            throw Malformed(description: error.description)
        }
        self.text = text
    }

    /// Where its metadata is: with `/.well-known/openid-configuration` behind it (section 4 of the same).
    package var metadataURL: OutgoingURL? {
        let base = self.text.hasSuffix("/") ? String(self.text.dropLast()) : self.text
        return try? OutgoingURL(base + "/.well-known/openid-configuration")
    }

    /// Whether anyone may become a user of the provider, so that its tokens alone say nothing: a rule must then name an owner.
    package var isShared: Bool {
        guard let url = try? OutgoingURL(self.text) else { return true }
        return Self.sharedHosts.contains(url.host) || url.host.hasSuffix(".actions.githubusercontent.com")
    }

    private static let sharedHosts: Set = [
        "token.actions.githubusercontent.com", "gitlab.com", "accounts.google.com", "api.bitbucket.org",
        "app.terraform.io", "agent.buildkite.com", "oidc.circleci.com", "appleid.apple.com",
        "login.microsoftonline.com",
    ]
}
