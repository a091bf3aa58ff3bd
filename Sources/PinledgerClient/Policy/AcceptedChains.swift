package import PinWire
internal import Synchronization

/// The chains that were let through, by host: connections with them may be open, and nothing else tells which.
package final class AcceptedChains: Sendable {
    /// The most chains of a host, and the most hosts, that are remembered one by one.
    package static let (chainLimit, hostLimit) = (16, 1000)

    private struct Content {
        var chains: [String: Set<[Pin]>] = [:]
        /// Hosts with more chains than that.
        var crowded: Set<String> = []
        /// Whether there were more hosts than that.
        var isFull = false
    }

    private let content = Mutex(Content())

    package init() {}

    /// Notes a chain of a host, whose name may be in any spelling.
    package func insert(_ chain: [Pin], of host: String) {
        guard let name = HostPattern.canonical(host) else { return }
        self.content.withLock { content in
            guard content.chains[name] != nil || content.chains.count < Self.hostLimit else {
                content.isFull = true
                return
            }
            guard content.chains[name]?.contains(chain) != true else { return }
            guard content.chains[name]?.count ?? 0 < Self.chainLimit else {
                content.crowded.insert(name)
                return
            }
            content.chains[name, default: []].insert(chain)
        }
    }

    /// The hosts of which a chain is refused, or may be.
    package struct Refused {
        /// Those that are known by name, in the spelling of patterns.
        package var named: Set<String>
        /// Whether one that is not would be refused: its chains are not known.
        fileprivate var others: (String) -> Bool

        package func contains(_ host: String) -> Bool { self.named.contains(host) || self.others(host) }
    }

    /// Whether a chain is refused, or may be, of the hosts that are remembered one by one.
    package func containsRefused(_ isRefused: (String, [Pin]) -> Bool) -> Bool {
        let content = self.content.withLock { $0 }
        return content.crowded.contains { isRefused($0, []) }
            || content.chains.contains { host, chains in chains.contains { isRefused(host, $0) } }
    }

    /// Takes out the chains that are refused, and says of which hosts they were. The others stay.
    ///
    /// - Parameter isRefused: Whether a host refuses a chain; an empty one stands for a chain that is not known.
    package func takeRefused(_ isRefused: @escaping (String, [Pin]) -> Bool) -> Refused {
        let before = self.content.withLock { $0 }
        var named = before.crowded.filter { isRefused($0, []) }
        var taken: [String: Set<[Pin]>] = [:]
        for (host, chains) in before.chains {
            let refused = chains.filter { isRefused(host, $0) }
            guard !refused.isEmpty else { continue }
            named.insert(host)
            taken[host] = refused
        }
        self.content.withLock { content in
            // Chains that came meanwhile stay.
            for (host, chains) in taken {
                content.chains[host]?.subtract(chains)
                if content.chains[host]?.isEmpty == true { content.chains[host] = nil }
            }
            content.crowded.subtract(named)
        }
        return Refused(named: named) { host in
            before.isFull && before.chains[host] == nil && isRefused(host, [])
        }
    }
}
