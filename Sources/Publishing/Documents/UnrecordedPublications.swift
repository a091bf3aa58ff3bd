package import PinWire
package import Pinning
import Synchronization

/// The documents that this node has signed and that the ledger does not record yet, in the order of their versions, for as long
/// as the ledger is to record documents.
///
/// Held in memory only: what a node has signed and not recorded when its process dies is recorded by any node that finds the
/// document published, unless a later version has replaced it by then.
package final class UnrecordedPublications: Sendable {
    private let queue = Mutex<[AppID: [Publication]]>([:])
    private let wakeUp = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The most publications of one app that wait. While nothing can be recorded, the oldest are given up.
    package static let limit = 64

    package init() {}

    /// Yields when there may be something to take.
    package var arrivals: AsyncStream<Void> { self.wakeUp.stream }

    package func add(_ publication: Publication, of app: AppID) {
        self.queue.withLock { queue in
            // Signing a version again makes no other publication of it.
            guard publication.version > queue[app]?.last?.version ?? 0 else { return }
            queue[app, default: []].append(publication)
            if let count = queue[app]?.count, count > Self.limit { queue[app]?.removeFirst(count - Self.limit) }
        }
        self.wakeUp.continuation.yield()
    }

    /// Takes back what could not be recorded for now.
    package func giveBack(_ publications: [Publication], of app: AppID) {
        self.queue.withLock { queue in
            queue[app] = Array((publications + (queue[app] ?? [])).suffix(Self.limit))
        }
    }

    /// Takes all that wait.
    package func take() -> [AppID: [Publication]] {
        self.queue.withLock { queue in
            defer { queue = [:] }
            return queue
        }
    }
}
