package import Addresses
package import PinWire

/// That a token was used from a network: an observation of nodes, which decides nothing.
package struct TokenUse: Hashable, Sendable {
    /// The token's id.
    package let token: String
    /// A /24 of IPv4 or a /48 of IPv6.
    package let network: IPNetwork
    package let firstAt: Timestamp
    /// To the minute.
    package let lastAt: Timestamp

    package init(token: String, network: IPNetwork, firstAt: Timestamp, lastAt: Timestamp) {
        self.token = token
        self.network = network
        self.firstAt = firstAt
        self.lastAt = lastAt
    }

    package var json: JSON {
        [
            "network": .string(self.network.description),
            "first_used_at": .string(self.firstAt.rfc3339),
            "last_used_at": .string(self.lastAt.rfc3339),
        ]
    }

    /// How long a network is new, in seconds: a week.
    package static let newness: Int64 = 7 * 86_400
    /// How long a token was in use before another network is new, in seconds: a day, so that setting up is none.
    static let settling: Int64 = 86_400
    /// From how many networks a token was used whose next one is nothing new, such as that of a hosted build service.
    static let manyNetworks = 10

    /// The uses of one token from networks that are new at `now`, the latest first: none for a token that has not been in use for a day
    /// before, or that was used from many.
    static func fromNewNetworks(_ uses: [TokenUse], at now: Timestamp) -> [TokenUse] {
        uses.filter { use in
            guard now < use.firstAt.adding(seconds: Self.newness) else { return false }
            let before = uses.filter { $0.firstAt.adding(seconds: Self.settling) <= use.firstAt }
            return !before.isEmpty && before.count < Self.manyNetworks
        }.sorted { ($1.firstAt, $0.network.description) < ($0.firstAt, $1.network.description) }
    }
}

extension LedgerState {
    /// What needs attention of the uses of tokens: that a valid token that is bound to no network is used from a new one.
    ///
    /// - Parameters:
    ///   - uses: All uses of the tokens in question.
    ///   - isShown: Whether a token is shown to who asks.
    package func attention(
        to uses: [TokenUse], at now: Timestamp, showing isShown: (AccessToken) -> Bool
    ) -> [AttentionItem] {
        Dictionary(grouping: uses, by: \.token).compactMap { id, uses in
            guard let token = self.access.tokens[id], token.isWatched(at: now), isShown(token) else { return nil }
            let new = TokenUse.fromNewNetworks(uses, at: now)
            return new.first.map { self.attention(to: token, usedFrom: new, last: $0) }
        }
    }

    /// The ids of the tokens whose uses may need attention.
    package func tokensToWatch(at now: Timestamp, showing isShown: (AccessToken) -> Bool) -> [String] {
        self.access.tokens.values.filter { $0.isWatched(at: now) && isShown($0) }.map(\.id)
    }

    private func attention(to token: AccessToken, usedFrom new: [TokenUse], last: TokenUse) -> AttentionItem {
        let networks = new.prefix(5).map(\.network.description).joined(separator: ", ")
        let revocation =
            token.feed.map { "pinledger calendar feed revoke \($0) \(token.id)" }
            ?? "pinledger token revoke \(token.id)"
        var item = AttentionItem(
            .soon, .tokenNewNetwork, app: token.feed,
            "The token \(token.id) (\(token.name)) is used from \(new.count == 1 ? "a network" : "\(new.count) networks") "
                + "from which it was not used before: \(networks)\(new.count > 5 ? " and others" : "").",
            remedy: "Ask its holder. If it was someone else, revoke it: `\(revocation)`."
        )
        item.token = token.id
        item.date = last.firstAt
        return item
    }
}

extension AccessToken {
    /// Whether it is news that it is used from a new network: it is valid, no session, and bound to no networks.
    fileprivate func isWatched(at now: Timestamp) -> Bool {
        self.isValid(at: now) && self.kind != .session && self.kind != .code && self.terms?.networks.isEmpty ?? true
    }
}
