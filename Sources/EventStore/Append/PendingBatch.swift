import Synchronization

/// A command whose sender waits.
final class Pending: Sendable {
    let request: CommandRequest
    let since = ContinuousClock.now
    private let waiter: Mutex<CheckedContinuation<Answer, Never>?>

    /// The answer to a sender.
    enum Answer: Sendable {
        case recorded(Recorded)
        case failed(WriteFailure)
        /// The decision that it brought rests on a state that has changed: nothing is recorded, and its sender decides again.
        case outdated
    }

    init(_ request: CommandRequest, _ waiter: CheckedContinuation<Answer, Never>) {
        self.request = request
        self.waiter = Mutex(waiter)
    }

    /// Only the first call answers; later ones have no effect.
    func answer(_ answer: Answer) {
        let waiter = self.waiter.withLock { waiter in
            defer { waiter = nil }
            return waiter
        }
        waiter?.resume(returning: answer)
    }
}

/// Commands that go to the ledger together, with the results that are settled so far. All are answered together at the
/// end.
struct PendingBatch: Sendable {
    private var pending: [Pending]
    private(set) var answers: [Int: Pending.Answer] = [:]
    /// How often they were sent by themselves, and not behind another batch.
    var attempts = 0

    init(_ pending: [Pending]) {
        self.pending = pending
    }

    var count: Int { self.pending.count }

    var requests: [CommandRequest] { self.pending.map(\.request) }

    /// The indices of commands with an idempotency key that are still open.
    var openWithKey: [Int] {
        self.pending.indices.filter { self.answers[$0] == nil && self.pending[$0].request.key != nil }
    }

    var isSettled: Bool { self.answers.count == self.pending.count }

    /// Keeps the first `count` commands; returns those of the rest that are open, and answers the others.
    mutating func cut(to count: Int) -> [Pending] {
        var open: [Pending] = []
        for place in self.pending.indices.dropFirst(count) {
            guard let answer = self.answers.removeValue(forKey: place) else {
                open.append(self.pending[place])
                continue
            }
            self.pending[place].answer(answer)
        }
        self.pending.removeLast(max(0, self.pending.count - count))
        return open
    }

    mutating func settle(_ place: Int, _ answer: Pending.Answer) {
        self.answers[place] = answer
    }

    /// A settled result stays, whatever happened then.
    mutating func fail(_ failure: WriteFailure) {
        for place in self.pending.indices where self.answers[place] == nil { self.answers[place] = .failed(failure) }
    }

    /// Takes over the results of a batch that is now appended.
    mutating func takeRecorded(by batch: Batch) {
        for place in batch.outcomes.indices where self.answers[place] == nil {
            self.answers[place] = batch.recorded(at: place).map { .recorded($0) }
        }
        self.takeRepeated(by: batch)
    }

    /// Takes over the other results: refusals, and repetitions.
    mutating func takeRefused(by batch: Batch) {
        for (place, outcome) in batch.outcomes.enumerated() where self.answers[place] == nil {
            switch outcome {
            case .failed(let failure): self.answers[place] = .failed(failure)
            case .outdated: self.answers[place] = .outdated
            case .recorded, .repeats, .left: break
            }
        }
        self.takeRepeated(by: batch)
    }

    /// Answers repetitions of commands of the same batch as those are answered, and as any later repetition is:
    /// findings of guard rails are given once, with the first answer.
    private mutating func takeRepeated(by batch: Batch) {
        for (place, outcome) in batch.outcomes.enumerated() where self.answers[place] == nil {
            guard case .repeats(let first) = outcome else { continue }
            guard case .recorded(var recorded)? = self.answers[first] else {
                self.answers[place] = self.answers[first]
                continue
            }
            recorded.isReplay = true
            recorded.findings = []
            self.answers[place] = .recorded(recorded)
        }
    }

    /// Answers all senders.
    func answer() {
        for (place, pending) in self.pending.enumerated() {
            pending.answer(self.answers[place] ?? .failed(.unavailable("the command was lost")))
        }
    }
}
