package import PinWire

/// The facts of an API token; never its text.
package struct AccessToken: Hashable, Sendable {
    /// Public, and not derived from the secret.
    package let id: String
    package var name: String
    /// SHA-256 of the token's text, 32 bytes.
    package let digest: [UInt8]
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package var revokedAt: Timestamp?

    /// Whether the token is valid at `now`.
    package func isValid(at now: Timestamp) -> Bool { self.revokedAt == nil && now < self.expiresAt }
}

/// All API tokens ever issued: the state of the stream `access`.
package struct Access: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    package var tokens: [String: AccessToken] = [:]
    /// Token id by digest.
    package var idByDigest: [[UInt8]: String] = [:]

    /// The longest life of a token: a year.
    package static let longestSeconds: Int64 = 366 * 86_400

    package init() {}

    package mutating func evolve(_ event: AccessEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .tokenIssued(let id, let name, let digest, let expiresAt):
            self.tokens[id] = AccessToken(id: id, name: name, digest: digest, createdAt: time, expiresAt: expiresAt)
            self.idByDigest[digest] = id
        case .tokenRevoked(let id): self.tokens[id]?.revokedAt = time
        }
    }

    package func decide(_ command: AccessCommand, in context: DecisionContext) throws(Refusal) -> [AccessEvent] {
        switch command {
        case .issueToken(let id, let name, let digest, let expiresAt):
            guard self.tokens[id] == nil, self.idByDigest[digest] == nil else { throw .tokenExists(id) }
            guard context.now < expiresAt else { throw .expiryNotAhead(expiresAt) }
            let limit = context.now.adding(seconds: Self.longestSeconds)
            guard expiresAt <= limit else { throw .expiryTooFar(expiresAt, limit: limit) }
            return [.tokenIssued(id: id, name: name, digest: digest, expiresAt: expiresAt)]
        case .revokeToken(let id):
            guard let token = self.tokens[id] else { throw .tokenUnknown(id) }
            guard token.revokedAt == nil else { throw .tokenRevoked(id) }
            return [.tokenRevoked(id: id)]
        }
    }
}

/// A fact about an API token.
package enum AccessEvent: Hashable, Sendable {
    case tokenIssued(id: String, name: String, digest: [UInt8], expiresAt: Timestamp)
    case tokenRevoked(id: String)
}

/// A command about API tokens.
package enum AccessCommand: Hashable, Sendable {
    case issueToken(id: String, name: String, digest: [UInt8], expiresAt: Timestamp)
    case revokeToken(id: String)
}
