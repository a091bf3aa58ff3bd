/// The order in which waiting commands are decided: those that are decided or being decided already, as they were claimed; then the
/// urgent ones, whose senders take turns; then all others, first come, first served. A pure value.
struct CommandLine<Command, Sender: Hashable> {
    private struct Place {
        var command: Command
        /// The sender of an urgent command, and the round of its turn; nil for all other commands.
        var turn: (sender: Sender, round: Int)?

        var isUrgent: Bool { self.turn != nil }
    }

    private var claimed: [Place] = []
    // Slices, whose first element leaves at no cost.
    private var urgent: ArraySlice<Place> = []
    private var others: ArraySlice<Place> = []
    private var rounds = Rounds<Sender>()

    var count: Int { self.claimed.count + self.urgent.count + self.others.count }

    /// Adds a command.
    ///
    /// - Parameter sender: The sender of an urgent one; nil for all others.
    mutating func add(_ command: Command, urgentOf sender: Sender? = nil) {
        guard let sender else { return self.others.append(Place(command: command)) }
        let round = self.rounds.join(sender)
        let last = self.urgent.lastIndex { $0.turn.map { $0.round <= round } ?? true }
        self.urgent.insert(
            Place(command: command, turn: (sender, round)), at: last.map { $0 + 1 } ?? self.urgent.startIndex)
    }

    /// The number of a sender's urgent commands.
    func urgentCount(of sender: Sender) -> Int { (self.claimed + self.urgent).count { $0.turn?.sender == sender } }

    /// Claims the next command, to decide it; nil where none waits that may be claimed.
    mutating func claim(urgent mayBeUrgent: Bool = true, other mayBeOther: Bool = true) -> (
        command: Command, isUrgent: Bool
    )? {
        let urgent = mayBeUrgent ? Self.takeFirst(of: &self.urgent) : nil
        guard let next = urgent ?? (mayBeOther ? Self.takeFirst(of: &self.others) : nil) else { return nil }
        if let turn = next.turn { self.rounds.take(turn.round) }
        self.claimed.append(next)
        return (next.command, next.isUrgent)
    }

    private static func takeFirst(of lane: inout ArraySlice<Place>) -> Place? {
        guard let first = lane.popFirst() else { return nil }
        // A slice keeps what has left it.
        if lane.isEmpty { lane = [] }
        return first
    }

    /// Takes out all claimed commands, in the order in which they were claimed.
    mutating func takeClaimed() -> [Command] {
        defer { self.claimed = [] }
        return self.claimed.map(\.command)
    }

    /// Takes out the first commands without claims: all claims are given up.
    mutating func take(atMost limit: Int) -> [Command] {
        self.release()
        var taken: [Command] = []
        while taken.count < limit, let next = self.claim() { taken.append(next.command) }
        self.claimed = []
        return taken
    }

    /// Gives up all claims: each command is before all others of its kind again.
    mutating func release() {
        guard !self.claimed.isEmpty else { return }
        self.urgent = self.claimed.filter(\.isUrgent) + self.urgent
        self.others = self.claimed.filter { !$0.isUrgent } + self.others
        self.claimed = []
    }

    /// Puts commands back that were taken out, each before all others of its kind. All claims are given up.
    mutating func putBack(_ commands: [(command: Command, urgentOf: Sender?)]) {
        self.release()
        self.claimed = commands.map { command, sender in
            Place(command: command, turn: sender.map { ($0, 0) })
        }
        self.release()
    }

    /// Removes the commands that satisfy a condition. Where a claimed one is among them, all claims are given up.
    ///
    /// - Returns: The removed commands, and whether claims were given up.
    mutating func remove(where isLeaving: (Command) -> Bool) -> (removed: [Command], losesClaims: Bool) {
        let losesClaims = self.claimed.contains { isLeaving($0.command) }
        let removed = (self.claimed + self.urgent + self.others).map(\.command).filter(isLeaving)
        guard !removed.isEmpty else { return ([], false) }
        self.claimed.removeAll { isLeaving($0.command) }
        self.urgent.removeAll { isLeaving($0.command) }
        self.others.removeAll { isLeaving($0.command) }
        if losesClaims { self.release() }
        return (removed, losesClaims)
    }
}
