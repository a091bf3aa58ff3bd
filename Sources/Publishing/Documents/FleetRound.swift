import PinWire

/// A publisher's way through all apps, for changes that concern each of them: which app is next, and for which changes every app has had
/// its turn. A pure value.
///
/// The apps stand in a circle. A change that comes while another one is under way goes once round from where the work is: none begins
/// again, so that the last apps get their turn however often the fleet is changed. Each node has an order of its own, so that several
/// nodes seldom work on one app at once, and each skips what has come from another one.
struct FleetRound {
    /// Work that is asked for and not begun.
    private struct Request {
        /// The number of apps to be looked at; nil for all.
        var count: Int?
        /// The ledger's position up to which all changes of everything are done then; nil where no request waits.
        var position: Int64?
    }

    /// A change of everything that requests wait for.
    private struct Change {
        /// The number of turns, since the beginning, after which every app has had its own.
        var end: Int
        var position: Int64
    }

    private let seed: UInt64
    private var order: [AppID] = []
    private var next = 0
    /// Turns since the beginning.
    private var turns = 0
    /// The number of turns up to which there is work.
    private var goal = 0
    private var asked: Request?
    /// The changes under way, the oldest first.
    private var changes: [Change] = []

    /// - Parameter seed: Another one makes another order.
    init(seed: UInt64) { self.seed = seed }

    /// True where no app is to have a turn.
    var isDone: Bool { self.asked == nil && self.turns >= self.goal }

    // MARK: Asking

    /// Asks for a turn of every app.
    ///
    /// - Parameter position: Where the ledger is with the change, if requests wait for it.
    mutating func ask(through position: Int64? = nil) {
        self.asked = Request(count: nil, position: position ?? self.asked?.position)
    }

    /// Asks for a turn of the next `count` apps, unless all are to have one.
    mutating func ask(for count: Int) {
        if self.asked == nil { self.asked = Request(count: count) }
    }

    /// Notes that the ledger has come to `position`, without a further change of everything.
    ///
    /// - Returns: False where one before it is still under way.
    mutating func pass(_ position: Int64) -> Bool {
        if self.asked?.position != nil {
            self.asked?.position = position
        } else if !self.changes.isEmpty {
            self.changes[self.changes.count - 1].position = position
        } else {
            return true
        }
        return false
    }

    // MARK: Working

    /// True where something is asked for, and more apps than stand in the circle are to have a turn: ``take(order:)`` comes first.
    func isShort(of count: Int) -> Bool { self.asked != nil && self.order.count < count }

    /// The apps in the order of this round.
    static func order(_ apps: some Sequence<AppID>, seed: UInt64) -> [AppID] {
        apps.map { (AppSpread.number(of: $0, seed: seed), $0) }.sorted { $0 < $1 }.map(\.1)
    }

    /// Takes in the order of more apps, those of the present one among them.
    mutating func take(order: [AppID]) {
        let growth = max(0, order.count - self.order.count)
        let upNext = self.next < self.order.count ? self.order[self.next] : nil
        self.next = upNext.flatMap { order.firstIndex(of: $0) } ?? 0
        self.order = order
        // Each change under way passes the added apps too, at the most.
        for index in self.changes.indices { self.changes[index].end += growth }
        if self.turns < self.goal { self.goal += growth }
    }

    /// Begins what is asked for.
    mutating func begin() {
        guard let asked else { return }
        self.asked = nil
        let end = self.turns + min(asked.count ?? self.order.count, self.order.count)
        self.goal = max(self.goal, end)
        if let position = asked.position { self.changes.append(Change(end: end, position: position)) }
    }

    /// The app whose turn it is; nil where there is no work that was begun.
    mutating func take() -> AppID? {
        guard self.turns < self.goal, !self.order.isEmpty else { return nil }
        defer {
            self.next = (self.next + 1) % self.order.count
            self.turns += 1
        }
        return self.order[self.next]
    }

    /// Ends the changes for which every app has had its turn. Called when nothing that was taken is under way.
    ///
    /// - Returns: The position up to which changes of everything are done; nil where none has ended.
    mutating func finish() -> Int64? {
        let done = self.changes.prefix { $0.end <= self.turns }
        self.changes.removeFirst(done.count)
        return done.last?.position
    }

    /// Gives up all work.
    ///
    /// - Returns: The position of the last change of everything that requests wait for; nil where none does.
    mutating func abandon() -> Int64? {
        defer { (self.asked, self.changes, self.goal) = (nil, [], self.turns) }
        return self.asked?.position ?? self.changes.last?.position
    }
}
