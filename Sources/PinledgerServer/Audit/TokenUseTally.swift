import Addresses
import Synchronization

/// The tokens that were accepted since the last report, each with the networks from which: one of each, however many requests come.
///
/// If the process dies, at most ten seconds of it are lost.
package final class TokenUseTally: Sendable {
    struct Use: Hashable, Sendable {
        var token: String
        var network: ClientNetwork
    }

    /// The most that wait, and the most of one token; what comes beyond is left out.
    static let (limit, tokenLimit) = (20_000, 60)

    private struct Content {
        var uses: Set<Use> = []
        var counts: [String: Int] = [:]
    }

    private let content = Mutex(Content())

    init() {}

    /// Notes that a token was accepted.
    func note(_ token: String, from network: ClientNetwork) {
        let use = Use(token: token, network: network)
        self.content.withLock { content in
            guard content.uses.count < Self.limit, content.counts[token, default: 0] < Self.tokenLimit,
                content.uses.insert(use).inserted
            else { return }
            content.counts[token, default: 0] += 1
        }
    }

    /// Takes out what waits.
    func take() -> Set<Use> {
        self.content.withLock { content in
            defer { content = Content() }
            return content.uses
        }
    }

    /// Puts back what could not be reported.
    func putBack(_ uses: some Sequence<Use>) {
        for use in uses { self.note(use.token, from: use.network) }
    }
}
