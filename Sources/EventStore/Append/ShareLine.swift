/// The holders of a bounded number of places, of which each sharer has one at most, and the line of those who wait: a pure value.
///
/// Senders take turns. Nobody is held up by those whose sharers hold a place already.
struct ShareLine<Sender: Hashable, Sharer: Hashable> {
    enum Action: Hashable {
        case grant, wait
        /// Too many wait already, or too many of one sender.
        case refuse
    }

    private struct Waiting {
        var id: Int
        var sender: Sender
        var round: Int
        var sharers: Set<Sharer>
    }

    private let limit: Int
    private let waitingLimit: Int
    private var taken = 0
    private var busy: Set<Sharer> = []
    private var waiting: [Waiting] = []
    private var rounds = Rounds<Sender>()

    init(limit: Int, waiting waitingLimit: Int) {
        self.limit = limit
        self.waitingLimit = waitingLimit
    }

    mutating func request(_ id: Int, of sender: Sender, _ sharers: Set<Sharer>) -> Action {
        let hasRoom =
            self.waiting.count < self.waitingLimit
            && self.waiting.count { $0.sender == sender } < max(1, self.waitingLimit / 2)
        guard hasRoom || self.isFree(sharers) else { return .refuse }
        let turn = Waiting(id: id, sender: sender, round: self.rounds.join(sender), sharers: sharers)
        if self.take(turn) { return .grant }
        let index = self.waiting.lastIndex { $0.round <= turn.round }.map { $0 + 1 } ?? 0
        self.waiting.insert(turn, at: index)
        return .wait
    }

    /// Returns a place. Returns those who get theirs now.
    mutating func release(_ sharers: Set<Sharer>) -> [Int] {
        self.taken -= 1
        self.busy.subtract(sharers)
        var granted: [Int] = []
        self.waiting = self.waiting.filter { waiting in
            guard self.take(waiting) else { return true }
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

    private func isFree(_ sharers: Set<Sharer>) -> Bool {
        self.taken < self.limit && self.busy.isDisjoint(with: sharers)
    }

    private mutating func take(_ turn: Waiting) -> Bool {
        guard self.isFree(turn.sharers) else { return false }
        self.rounds.take(turn.round)
        self.taken += 1
        self.busy.formUnion(turn.sharers)
        return true
    }
}
