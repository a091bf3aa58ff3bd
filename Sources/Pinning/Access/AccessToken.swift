package import Addresses
package import PinWire

/// The facts of an API token; never its text.
package struct AccessToken: Hashable, Sendable {
    /// What a token is for.
    package enum Kind: String, CaseIterable, Sendable {
        /// For people and programs; what has no other kind.
        case general
        /// For a build pipeline.
        case pipeline
        /// In the address of an app's calendar feed; it opens no other operation.
        case calendar
        /// To be exchanged, once, for a token of its principal; it opens no operation but that.
        case code
        /// What a sign-in gives: for a short time, what rules say of its identity.
        case session
    }

    /// What a token may do. Tokens from before there were roles have no terms: they may do everything.
    package struct Terms: Hashable, Sendable {
        package var kind: Kind
        /// What the token itself is limited to; nil for all that its principal may do.
        package var grants: [Grant]?
        /// The person or service account that it belongs to; nil for one on its own.
        package var principal: String?
        /// The networks from which it is accepted; none for all.
        package var networks: [IPNetwork]
        /// The sign-in that a session comes from; nil for other tokens.
        package var origin: SessionOrigin?

        package init(
            kind: Kind, grants: [Grant]?, principal: String? = nil, networks: [IPNetwork] = [],
            origin: SessionOrigin? = nil
        ) {
            self.kind = kind
            self.grants = grants
            self.principal = principal
            self.networks = networks
            self.origin = origin
        }

        package static let grantLimit = 50
        /// The most apps and hosts that its grants name together.
        package static let patternLimit = 200
        package static let networkLimit = 50
    }

    /// Public, and not derived from the secret.
    package let id: String
    package var name: String
    /// SHA-256 of the token's text, 32 bytes.
    package let digest: [UInt8]
    package let createdAt: Timestamp
    package var expiresAt: Timestamp
    /// Nil for a token from before there were roles.
    package let terms: Terms?
    package var revokedAt: Timestamp?
    /// The id of the token that was issued in its place; nil for none.
    package var replacedBy: String?

    package init(
        id: String, name: String, digest: [UInt8], createdAt: Timestamp, expiresAt: Timestamp, terms: Terms?,
        revokedAt: Timestamp? = nil, replacedBy: String? = nil
    ) {
        self.id = id
        self.name = name
        self.digest = digest
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.terms = terms
        self.revokedAt = revokedAt
        self.replacedBy = replacedBy
    }

    /// Whether the token is valid at `now`, wherever its principal stands.
    package func isValid(at now: Timestamp) -> Bool { self.revokedAt == nil && now < self.expiresAt }

    /// What it is for; the id says it of tokens from before there were roles.
    package var kind: Kind { self.terms?.kind ?? (self.id.hasPrefix(Self.feedPrefix) ? .calendar : .general) }

    /// The beginning of the ids of calendar feeds.
    package static let feedPrefix = "cal_"

    /// The name under which a calendar feed is recorded. No app's id has a colon.
    package static func feedName(_ name: String, of app: AppID) -> String { "calendar feed of \(app): \(name)" }

    /// The app whose calendar it opens; nil for a token that is no feed.
    package var feed: AppID? {
        guard self.kind == .calendar, self.name.hasPrefix("calendar feed of "),
            let colon = self.name.firstIndex(of: ":")
        else { return nil }
        return try? AppID(String(self.name[..<colon].dropFirst("calendar feed of ".count)))
    }

    /// Whether it may do everything because it was issued before there were roles.
    package var isUnscoped: Bool { self.terms == nil && self.kind != .calendar }

    /// Whether it is accepted from an address; an address that is not known is in no network.
    package func isAccepted(from address: IPAddress?) -> Bool {
        guard let networks = self.terms?.networks, !networks.isEmpty else { return true }
        return address.map { address in networks.contains { $0.contains(address) } } ?? false
    }

    package var json: JSON { self.json(lastUsedAt: nil) }

    /// - Parameter lastUsedAt: Nil where it was not used, or is not asked for.
    package func json(lastUsedAt: Timestamp?) -> JSON {
        .members([
            "token_id": .string(self.id),
            "name": .string(self.name),
            "kind": .string(self.kind.rawValue),
            "grants": self.terms?.grants.map { .array($0.map(\.json)) },
            "principal_id": self.terms?.principal.map { .string($0) },
            "networks": self.terms.flatMap { terms in
                terms.networks.isEmpty ? nil : .array(terms.networks.map { .string($0.description) })
            },
            "sign_in": self.terms?.origin?.json,
            "unscoped": .bool(self.isUnscoped),
            "created_at": .string(self.createdAt.rfc3339),
            "expires_at": .string(self.expiresAt.rfc3339),
            "last_used_at": lastUsedAt.map { .string($0.rfc3339) },
            "revoked_at": self.revokedAt.map { .string($0.rfc3339) },
            "replaced_by": self.replacedBy.map { .string($0) },
        ])
    }
}
