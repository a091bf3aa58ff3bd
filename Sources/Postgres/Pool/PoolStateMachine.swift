/// The leases of a pool's connections, and the line of waiting requests: a value without side effects.
///
/// Each method returns what the pool has to do; the pool does it after leaving its lock. A *slot* is the right to one
/// connection: the holder of a slot without a connection opens it, so the pool needs no task of its own.
///
/// Requests may be of a *kind*: those of one kind together have a share of the connections and of the line, so that the ones that
/// wait for a locked table leave the rest to others.
///
/// A slot is `free` → `leased` (by a request) → `idle` (with a connection) or `free` (without) → … ; `close()` frees
/// idle slots at once and leased ones when they come back.
struct PoolStateMachine {
    typealias Slot = Int
    typealias RequestID = UInt64
    typealias Kind = String

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

    private struct Waiting {
        var id: RequestID
        var kind: Kind?
    }

    let maximumConnections: Int
    let maximumWaiters: Int
    /// The most connections that requests of one kind hold at once. They fill half of the line.
    let maximumPerKind: Int
    private(set) var isClosed = false
    /// Used most recently last: a busy pool lets its other connections grow old.
    private(set) var idle: [Slot] = []
    private(set) var leased: Set<Slot> = []
    var waiting: [RequestID] { self.line.map(\.id) }
    private var line: [Waiting] = []
    /// The kind of the request that holds a slot, where it has one.
    private var kinds: [Slot: Kind] = [:]
    /// The kinds of those requests that hold a slot and have one.
    var holders: [Kind] { Array(self.kinds.values) }
    /// Slots without a connection; taken from the end.
    private var free: [Slot]
    /// Lent slots whose connection is not lent again.
    private var ending: Set<Slot> = []

    init(maximumConnections: Int, maximumWaiters: Int, maximumPerKind: Int = .max) {
        self.maximumConnections = max(1, maximumConnections)
        self.maximumWaiters = max(0, maximumWaiters)
        self.maximumPerKind = max(1, maximumPerKind)
        self.free = (0..<self.maximumConnections).reversed()
    }

    /// The order is kept: a slot that becomes free goes to a waiter and never stays free while one waits whose kind may hold it.
    mutating func request(_ id: RequestID, of kind: Kind? = nil) -> RequestAction {
        if self.isClosed { return .fail(.poolClosed) }
        if self.mayHold(kind) {
            if let slot = self.idle.popLast() {
                self.lend(slot, to: kind)
                return .lease(.connection(slot))
            }
            if let slot = self.free.popLast() {
                self.lend(slot, to: kind)
                return .lease(.vacancy(slot))
            }
        }
        guard self.line.count < self.maximumWaiters, self.mayWait(kind) else { return .fail(.poolExhausted) }
        self.line.append(Waiting(id: id, kind: kind))
        return .wait
    }

    private func mayHold(_ kind: Kind?) -> Bool {
        guard let kind else { return true }
        return self.kinds.values.count { $0 == kind } < self.maximumPerKind
    }

    private func mayWait(_ kind: Kind?) -> Bool {
        guard let kind, self.maximumPerKind < self.maximumConnections else { return true }
        return self.line.count { $0.kind == kind } < max(1, self.maximumWaiters / 2)
    }

    private mutating func lend(_ slot: Slot, to kind: Kind?) {
        self.leased.insert(slot)
        self.kinds[slot] = kind
    }

    /// Takes a request out of the line, after its time ran out or its task was cancelled; false if it has left already.
    mutating func withdraw(_ id: RequestID) -> Bool {
        guard let index = self.line.firstIndex(where: { $0.id == id }) else { return false }
        self.line.remove(at: index)
        return true
    }

    /// Gives a slot back, with its connection or, if that is broken or could not be opened, without.
    mutating func release(_ slot: Slot, hasConnection: Bool) -> ReleaseAction {
        guard self.leased.contains(slot) else { return .keep }
        let hasConnection = self.ending.remove(slot) == nil && hasConnection
        self.kinds[slot] = nil
        if !self.isClosed, let index = self.line.firstIndex(where: { self.mayHold($0.kind) }) {
            let next = self.line.remove(at: index)
            self.kinds[slot] = next.kind
            return .resume(next.id, hasConnection ? .connection(slot) : .vacancy(slot))
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

    /// Frees all idle slots, and lent ones once they come back: no connection of now is lent again.
    ///
    /// - Returns: The slots that were idle.
    mutating func dropAll() -> [Slot] {
        defer {
            self.free += self.idle
            self.idle = []
        }
        self.ending = self.leased
        return self.idle
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
            self.line.removeAll()
            self.idle.removeAll()
        }
        return CloseAction(failed: self.waiting, dropped: self.idle, isLast: self.leased.isEmpty)
    }
}
