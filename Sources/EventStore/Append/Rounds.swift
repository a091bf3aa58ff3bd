/// The rounds in which those who wait get their turns: in each round a sender has one, so that none waits for more than one turn of each
/// other sender. A pure value.
///
/// After start-time fair queueing (Goyal, Vin, Cheng: "Start-time Fair Queueing", SIGCOMM 1996), with turns of equal size.
struct Rounds<Sender: Hashable> {
    private var present = 0
    /// The last round in which a sender has a turn, of those that have one in this round or later.
    private var last: [Sender: Int] = [:]

    /// Gives a sender its next turn.
    ///
    /// - Returns: The round that it is in. The turns of one round are taken in the order in which they were given.
    mutating func join(_ sender: Sender) -> Int {
        let round = self.last[sender].map { max(self.present, $0 + 1) } ?? self.present
        self.last[sender] = round
        return round
    }

    /// Notes that a turn of a round is taken: later turns are in no earlier one.
    mutating func take(_ round: Int) {
        guard round > self.present else { return }
        self.present = round
        self.last = self.last.filter { $0.value >= round }
    }
}
