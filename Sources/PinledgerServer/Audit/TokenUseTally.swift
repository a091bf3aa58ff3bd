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

    /// The most that wait; what comes beyond is left out.
    static let limit = 20_000

    private let uses = Mutex<Set<Use>>([])

    init() {}

    /// Notes that a token was accepted.
    func note(_ token: String, from network: ClientNetwork) {
        let use = Use(token: token, network: network)
        self.uses.withLock { uses in
            guard uses.count < Self.limit || uses.contains(use) else { return }
            uses.insert(use)
        }
    }

    /// Takes out what waits.
    func take() -> Set<Use> {
        self.uses.withLock { uses in
            defer { uses = [] }
            return uses
        }
    }

    /// Puts back what could not be reported.
    func putBack(_ uses: some Sequence<Use>) {
        for use in uses { self.note(use.token, from: use.network) }
    }
}
