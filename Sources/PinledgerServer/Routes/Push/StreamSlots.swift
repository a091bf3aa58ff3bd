import NIOCore
import Synchronization

/// Bounds how many streams of one kind are open at once: on a node, on one connection, and of one network.
final class StreamSlots: Sendable {
    private struct Open {
        var count = 0
        /// By the other end of the connection; none has zero.
        var connections: [SocketAddress: Int] = [:]
        var networks: [ClientNetwork: Int] = [:]
    }

    private let open = Mutex(Open())
    private let limit: Int
    private let connectionLimit: Int
    private let networkLimit: Int

    /// - Parameters:
    ///   - limit: Streams at once.
    ///   - connectionLimit: Streams that one connection may have of them. HTTP/2 lets a client open many.
    ///   - networkLimit: Streams that one network may have of them.
    init(limit: Int, connectionLimit: Int = .max, networkLimit: Int = .max) {
        self.limit = limit
        self.connectionLimit = connectionLimit
        self.networkLimit = networkLimit
    }

    /// A place that is given back once.
    final class Slot: Sendable {
        private let slots: StreamSlots
        private let peer: SocketAddress?
        private let network: ClientNetwork?
        private let isTaken = Atomic(true)

        fileprivate init(_ slots: StreamSlots, _ peer: SocketAddress?, _ network: ClientNetwork?) {
            self.slots = slots
            self.peer = peer
            self.network = network
        }

        func release() {
            if self.isTaken.exchange(false, ordering: .relaxed) { self.slots.giveBack(self.peer, self.network) }
        }

        // A response that is never written still gives its place back.
        deinit { self.release() }
    }

    /// How many are taken.
    var count: Int { self.open.withLock { $0.count } }

    /// A place; nil where all are taken, or all that the connection or its network may have.
    ///
    /// - Parameters:
    ///   - peer: The other end of the connection, address and port; nil where it has no more than one stream.
    ///   - network: Where the client is; nil where that is not limited.
    func take(for peer: SocketAddress? = nil, in network: ClientNetwork? = nil) -> Slot? {
        self.open.withLock { open in
            guard open.count < self.limit else { return nil }
            let neighbours = network.map { open.networks[$0, default: 0] } ?? 0
            guard neighbours < self.networkLimit else { return nil }
            if let peer {
                let own = open.connections[peer, default: 0]
                guard own < self.connectionLimit else { return nil }
                open.connections[peer] = own + 1
            }
            if let network { open.networks[network] = neighbours + 1 }
            open.count += 1
            return Slot(self, peer, network)
        }
    }

    private func giveBack(_ peer: SocketAddress?, _ network: ClientNetwork?) {
        self.open.withLock { open in
            open.count -= 1
            if let network {
                let left = open.networks[network, default: 0] - 1
                open.networks[network] = left > 0 ? left : nil
            }
            guard let peer else { return }
            let own = open.connections[peer, default: 0] - 1
            open.connections[peer] = own > 0 ? own : nil
        }
    }
}
