/// The leases of a pool's connections, and the line of waiting requests: a value without side effects.
///
/// Each method returns what the pool has to do; the pool does it after leaving its lock. A *slot* is the right to one
/// connection: the holder of a slot without a connection opens it, so the pool needs no task of its own.
///
/// A slot is `free` → `leased` (by a request) → `idle` (with a connection) or `free` (without) → … ; `close()` frees
/// idle slots at once and leased ones when they come back.
struct PoolStateMachine {
    typealias Slot = Int
    typealias RequestID = UInt64

    /// The outcome of a request.
    enum Lease: Hashable {
        /// The slot's connection, idle since that instant.
        case connection(Slot)
        /// The slot without a connection: the holder opens one.
        case vacancy(Slot)
    }

    enum RequestAction: Hashable {
        case lease(Lease)
        case wait
        case fail(PostgresError.Code)
    }

    enum ReleaseAction: Hashable {
        /// Pass the lease on to the request that has waited longest.
        case resume(RequestID, Lease)
        /// Keep the connection, if there is one, for the next request.
        case keep
        /// Drop the slot's connection. `isLast`: the pool is closed and nothing of it is left.
        case drop(isLast: Bool)
    }

    struct CloseAction: Hashable {
        var failed: [RequestID]
        var dropped: [Slot]
        var isLast: Bool
    }

    let maximumConnections: Int
    let maximumWaiters: Int
    private(set) var isClosed = false
    /// Used most recently last: a busy pool lets its other connections grow old.
    private(set) var idle: [Slot] = []
    private(set) var leased: Set<Slot> = []
    private(set) var waiting: [RequestID] = []
    /// Slots without a connection; taken from the end.
    private var free: [Slot]

    init(maximumConnections: Int, maximumWaiters: Int) {
        self.maximumConnections = max(1, maximumConnections)
        self.maximumWaiters = max(0, maximumWaiters)
        self.free = (0..<self.maximumConnections).reversed()
    }

    /// The order is kept: a slot that becomes free goes to a waiter and never stays free while one waits.
    mutating func request(_ id: RequestID) -> RequestAction {
        if self.isClosed { return .fail(.poolClosed) }
        if let slot = self.idle.popLast() {
            self.leased.insert(slot)
            return .lease(.connection(slot))
        }
        if let slot = self.free.popLast() {
            self.leased.insert(slot)
            return .lease(.vacancy(slot))
        }
        guard self.waiting.count < self.maximumWaiters else { return .fail(.poolExhausted) }
        self.waiting.append(id)
        return .wait
    }

    /// Takes a request out of the line, after its time ran out or its task was cancelled; false if it has left already.
    mutating func withdraw(_ id: RequestID) -> Bool {
        guard let index = self.waiting.firstIndex(of: id) else { return false }
        self.waiting.remove(at: index)
        return true
    }

    /// Gives a slot back, with its connection or, if that is broken or could not be opened, without.
    mutating func release(_ slot: Slot, hasConnection: Bool) -> ReleaseAction {
        guard self.leased.contains(slot) else { return .keep }
        if !self.isClosed, !self.waiting.isEmpty {
            return .resume(self.waiting.removeFirst(), hasConnection ? .connection(slot) : .vacancy(slot))
        }
        self.leased.remove(slot)
        if self.isClosed { return .drop(isLast: self.leased.isEmpty) }
        guard hasConnection else {
            self.free.append(slot)
            return .drop(isLast: false)
        }
        self.idle.append(slot)
        return .keep
    }

    /// Frees an idle slot whose connection has grown old; false if it is in use.
    mutating func retire(_ slot: Slot) -> Bool {
        guard let index = self.idle.firstIndex(of: slot) else { return false }
        self.idle.remove(at: index)
        self.free.append(slot)
        return true
    }

    mutating func close() -> CloseAction {
        self.isClosed = true
        defer {
            self.waiting.removeAll()
            self.idle.removeAll()
        }
        return CloseAction(failed: self.waiting, dropped: self.idle, isLast: self.leased.isEmpty)
    }
}
