import NIOCore
import NIOPosix

/// The requests of one event loop that are not answered to the end, and how much memory they hold together. Used on that
/// loop alone.
///
/// A client decides how long its request is held: by a flow-control window that it keeps closed, or a body that it does
/// not end. Time limits bound one request, not the sum of all; this does. Where the sum is above the limit, the
/// requests without progress for the longest time give way. The node's limit is divided among its loops, as its
/// connections are.
final class HeldRequests {
    /// What a request costs without its bodies: an HTTP/2 stream's channel, its handlers and its task.
    static let baseSize = 20 * 1024

    private struct Node {
        var request: RequestAccount?
        var bytes = 0
        var older = HeldRequests.none
        var newer = HeldRequests.none
    }

    private static let none = -1

    private let limit: Int
    private var nodes: ContiguousArray<Node> = []
    private var free: [Int] = []
    /// The ends of the list in the order of the last progress.
    private var oldest = HeldRequests.none
    private var newest = HeldRequests.none
    private(set) var bytes = 0
    private var isGivingWay = false
    /// Requests have given way whose memory the allocator may still keep.
    private var mustTrim = false

    /// - Parameter limit: The most bytes that the requests may hold together.
    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a request; the result is its place.
    func add(_ request: RequestAccount, on loop: any EventLoop) -> Int {
        let place = self.free.popLast() ?? self.nodes.count
        let node = Node(request: request, bytes: Self.baseSize)
        if place == self.nodes.count { self.nodes.append(node) } else { self.nodes[place] = node }
        self.bytes += Self.baseSize
        self.append(place)
        self.check(on: loop)
        return place
    }

    /// A request has made progress, and holds so many bytes more, or fewer.
    func move(_ place: Int, by bytes: Int, on loop: any EventLoop) {
        self.nodes[place].bytes += bytes
        self.bytes += bytes
        if self.newest != place {
            self.unlink(place)
            self.append(place)
        }
        if bytes > 0 { self.check(on: loop) }
    }

    /// A request holds so many bytes more, without progress.
    func grow(_ place: Int, by bytes: Int, on loop: any EventLoop) {
        self.nodes[place].bytes += bytes
        self.bytes += bytes
        self.check(on: loop)
    }

    func remove(_ place: Int) {
        self.bytes -= self.nodes[place].bytes
        self.unlink(place)
        self.nodes[place] = Node()
        self.free.append(place)
        guard self.oldest == Self.none else { return }
        // The list is empty, and may have been long.
        self.nodes = []
        self.free = []
    }

    /// Has the allocator give memory back to the system once the requests that gave way are gone. Called in every round.
    func makeRound() {
        guard self.mustTrim, !self.isGivingWay, self.bytes < self.limit / 2 else { return }
        self.mustTrim = false
        // It is slow, and the loop must not wait.
        NIOThreadPool.singleton.submit { _ in Memory.giveBack() }
    }

    // MARK: Giving way

    /// The number of requests that give way at once, before the loop handles anything else.
    private static let share = 100

    private func check(on loop: any EventLoop) {
        guard self.bytes > self.limit, !self.isGivingWay else { return }
        self.isGivingWay = true
        self.mustTrim = true
        self.giveWay(on: loop)
    }

    private func giveWay(on loop: any EventLoop) {
        // Not from here: the caller that asked for memory is in the middle of its work.
        loop.assumeIsolated().execute {
            for _ in 0..<Self.share {
                // Well below the limit: otherwise the next request would have to displace another again.
                guard self.bytes > self.limit / 8 * 7, self.oldest != Self.none else {
                    self.isGivingWay = false
                    return
                }
                let request = self.nodes[self.oldest].request
                // The place is free at once, whenever the connection is actually closed.
                request?.giveWay()
            }
            self.giveWay(on: loop)
        }
    }

    // MARK: The list

    private func append(_ place: Int) {
        self.nodes[place].older = self.newest
        self.nodes[place].newer = Self.none
        if self.newest == Self.none { self.oldest = place } else { self.nodes[self.newest].newer = place }
        self.newest = place
    }

    private func unlink(_ place: Int) {
        let (older, newer) = (self.nodes[place].older, self.nodes[place].newer)
        if older == Self.none { self.oldest = newer } else { self.nodes[older].newer = newer }
        if newer == Self.none { self.newest = older } else { self.nodes[newer].older = older }
    }
}
