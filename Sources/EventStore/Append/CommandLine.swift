/// The order in which waiting commands are decided: those that are decided or being decided already, as they were claimed; then the
/// urgent ones; then all others. Each of the three is first come, first served. A pure value.
struct CommandLine<Command> {
    private struct Place {
        var command: Command
        var isUrgent: Bool
    }

    private var places: [Place] = []
    /// The number of places at the front that are claimed.
    private var claimedCount = 0
    /// The number of urgent places behind those.
    private var urgentCount = 0

    var count: Int { self.places.count }

    mutating func add(_ command: Command, isUrgent: Bool) {
        let place = Place(command: command, isUrgent: isUrgent)
        guard isUrgent else { return self.places.append(place) }
        self.places.insert(place, at: self.claimedCount + self.urgentCount)
        self.urgentCount += 1
    }

    /// Claims the next command, to decide it; nil where none waits.
    ///
    /// - Parameter urgentOnly: Whether only an urgent one is claimed.
    mutating func claim(urgentOnly: Bool = false) -> (command: Command, isUrgent: Bool)? {
        guard self.claimedCount < self.places.count, self.urgentCount > 0 || !urgentOnly else { return nil }
        let next = self.places[self.claimedCount]
        self.claimedCount += 1
        if next.isUrgent { self.urgentCount -= 1 }
        return (next.command, next.isUrgent)
    }

    /// Takes out all claimed commands, in the order in which they were claimed.
    mutating func takeClaimed() -> [Command] {
        let taken = self.places.prefix(self.claimedCount).map(\.command)
        self.places.removeFirst(taken.count)
        self.claimedCount = 0
        return taken
    }

    /// Takes out the first commands without claims: all claims are given up.
    mutating func take(atMost limit: Int) -> [Command] {
        self.release()
        let taken = self.places.prefix(limit).map(\.command)
        self.places.removeFirst(taken.count)
        self.order()
        return taken
    }

    /// Gives up all claims: urgent commands are first again.
    mutating func release() {
        guard self.claimedCount > 0 else { return }
        self.claimedCount = 0
        self.order()
    }

    /// Puts commands back that were taken out, each before all others of its kind. All claims are given up.
    mutating func putBack(_ commands: [(command: Command, isUrgent: Bool)]) {
        self.places.insert(
            contentsOf: commands.map { Place(command: $0.command, isUrgent: $0.isUrgent) }, at: 0)
        self.claimedCount = 0
        self.order()
    }

    /// Removes the commands that satisfy a condition. Where a claimed one is among them, all claims are given up.
    ///
    /// - Returns: The removed commands, and whether claims were given up.
    mutating func remove(where isLeaving: (Command) -> Bool) -> (removed: [Command], losesClaims: Bool) {
        let removed = self.places.filter { isLeaving($0.command) }.map(\.command)
        guard !removed.isEmpty else { return ([], false) }
        let losesClaims = self.places.prefix(self.claimedCount).contains { isLeaving($0.command) }
        if losesClaims { self.claimedCount = 0 }
        self.places.removeAll { isLeaving($0.command) }
        self.order()
        return (removed, losesClaims)
    }

    /// Brings the places behind the claimed ones into their order.
    private mutating func order() {
        let rest = self.places[self.claimedCount...]
        let urgent = rest.filter(\.isUrgent)
        self.urgentCount = urgent.count
        guard !urgent.isEmpty else { return }
        self.places.replaceSubrange(self.claimedCount..., with: urgent + rest.filter { !$0.isUrgent })
    }
}
