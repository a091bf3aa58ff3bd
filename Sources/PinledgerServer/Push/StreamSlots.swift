import NIOCore
import Synchronization

/// Bounds how many streams of one kind are open at once, on a node and on one connection.
final class StreamSlots: Sendable {
    private struct Open {
        var count = 0
        /// By the other end of the connection; none has zero.
        var connections: [SocketAddress: Int] = [:]
    }

    private let open = Mutex(Open())
    private let limit: Int
    private let connectionLimit: Int

    /// - Parameters:
    ///   - limit: Streams at once.
    ///   - connectionLimit: Streams that one connection may have of them. HTTP/2 lets a client open many.
    init(limit: Int, connectionLimit: Int = .max) {
        self.limit = limit
        self.connectionLimit = connectionLimit
    }

    /// A place that is given back once.
    final class Slot: Sendable {
        private let slots: StreamSlots
        private let peer: SocketAddress?
        private let isTaken = Atomic(true)

        fileprivate init(_ slots: StreamSlots, _ peer: SocketAddress?) {
            self.slots = slots
            self.peer = peer
        }

        func release() {
            if self.isTaken.exchange(false, ordering: .relaxed) { self.slots.giveBack(self.peer) }
        }

        // A response that is never written still gives its place back.
        deinit { self.release() }
    }

    /// How many are taken.
    var count: Int { self.open.withLock { $0.count } }

    /// A place; nil where all are taken, or all that the connection may have.
    ///
    /// - Parameter peer: The other end of the connection, address and port; nil where it has no more than one stream.
    func take(for peer: SocketAddress? = nil) -> Slot? {
        self.open.withLock { open in
            guard open.count < self.limit else { return nil }
            if let peer {
                let own = open.connections[peer, default: 0]
                guard own < self.connectionLimit else { return nil }
                open.connections[peer] = own + 1
            }
            open.count += 1
            return Slot(self, peer)
        }
    }

    private func giveBack(_ peer: SocketAddress?) {
        self.open.withLock { open in
            open.count -= 1
            guard let peer else { return }
            let own = open.connections[peer, default: 0] - 1
            open.connections[peer] = own > 0 ? own : nil
        }
    }
}
