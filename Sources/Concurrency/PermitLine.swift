/// The holders of a bounded number of permits, and the line of waiting requests: a value without side effects.
///
/// First come, first served, even where a later request needs fewer permits, so that none waits forever.
struct PermitLine {
    typealias RequestID = UInt64

    enum RequestAction: Hashable {
        case grant, wait
        /// Too many requests wait already.
        case refuse
    }

    let maximumPermits: Int
    let maximumWaiting: Int
    private(set) var free: Int
    private(set) var waiting: [(id: RequestID, count: Int)] = []

    init(maximumPermits: Int, maximumWaiting: Int) {
        self.maximumPermits = max(0, maximumPermits)
        self.maximumWaiting = max(0, maximumWaiting)
        self.free = self.maximumPermits
    }

    /// Takes permits that nobody waits for; false where there are not so many.
    mutating func take(_ count: Int) -> Bool {
        guard self.waiting.isEmpty, count <= self.free else { return false }
        self.free -= count
        return true
    }

    /// - Parameter count: From 1 to ``maximumPermits``.
    mutating func request(_ id: RequestID, count: Int) -> RequestAction {
        if self.take(count) { return .grant }
        guard self.waiting.count < self.maximumWaiting else { return .refuse }
        self.waiting.append((id, count))
        return .wait
    }

    /// Returns permits to the line. Returns the requests that get theirs now.
    mutating func release(_ count: Int) -> [RequestID] {
        self.free = min(self.free + count, self.maximumPermits)
        return self.grantNext()
    }

    /// Takes a request out of the line. Returns whether it was still there, and the requests that get their permits
    /// now: it may have been before others that need fewer.
    mutating func withdraw(_ id: RequestID) -> (wasWaiting: Bool, granted: [RequestID]) {
        guard let index = self.waiting.firstIndex(where: { $0.id == id }) else { return (false, []) }
        self.waiting.remove(at: index)
        return (true, self.grantNext())
    }

    private mutating func grantNext() -> [RequestID] {
        var granted: [RequestID] = []
        while granted.count < self.waiting.count, case let next = self.waiting[granted.count], next.count <= self.free {
            self.free -= next.count
            granted.append(next.id)
        }
        self.waiting.removeFirst(granted.count)
        return granted
    }
}
