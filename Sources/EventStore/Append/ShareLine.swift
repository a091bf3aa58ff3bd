/// The holders of a bounded number of places, of which each sharer has one at most, and the line of those who wait: a pure value.
///
/// First come, first served, but for those whose sharers hold a place already: they hold up nobody else.
struct ShareLine<Sharer: Hashable> {
    enum Action: Hashable {
        case grant, wait
        /// Too many wait already.
        case refuse
    }

    private let limit: Int
    private let waitingLimit: Int
    private var taken = 0
    private var busy: Set<Sharer> = []
    private var waiting: [(id: Int, sharers: Set<Sharer>)] = []

    init(limit: Int, waiting waitingLimit: Int) {
        self.limit = limit
        self.waitingLimit = waitingLimit
    }

    mutating func request(_ id: Int, _ sharers: Set<Sharer>) -> Action {
        if self.take(sharers) { return .grant }
        guard self.waiting.count < self.waitingLimit else { return .refuse }
        self.waiting.append((id, sharers))
        return .wait
    }

    /// Returns a place. Returns those who get theirs now.
    mutating func release(_ sharers: Set<Sharer>) -> [Int] {
        self.taken -= 1
        self.busy.subtract(sharers)
        var granted: [Int] = []
        self.waiting = self.waiting.filter { waiting in
            guard self.take(waiting.sharers) else { return true }
            granted.append(waiting.id)
            return false
        }
        return granted
    }

    /// Takes one who waits out of the line; false where it waits no longer.
    mutating func withdraw(_ id: Int) -> Bool {
        guard let index = self.waiting.firstIndex(where: { $0.id == id }) else { return false }
        self.waiting.remove(at: index)
        return true
    }

    private mutating func take(_ sharers: Set<Sharer>) -> Bool {
        guard self.taken < self.limit, self.busy.isDisjoint(with: sharers) else { return false }
        self.taken += 1
        self.busy.formUnion(sharers)
        return true
    }
}
