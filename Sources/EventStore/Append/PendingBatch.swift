import Synchronization

/// A command whose sender waits.
final class Pending: Sendable {
    let request: CommandRequest
    let since = ContinuousClock.now
    private let waiter: Mutex<CheckedContinuation<Result<Recorded, WriteFailure>, Never>?>

    init(_ request: CommandRequest, _ waiter: CheckedContinuation<Result<Recorded, WriteFailure>, Never>) {
        self.request = request
        self.waiter = Mutex(waiter)
    }

    /// Only the first call answers; later ones have no effect.
    func answer(_ result: Result<Recorded, WriteFailure>) {
        let waiter = self.waiter.withLock { waiter in
            defer { waiter = nil }
            return waiter
        }
        waiter?.resume(returning: result)
    }
}

/// Commands that go to the ledger together, with the results that are settled so far. All are answered together at the
/// end.
struct PendingBatch: Sendable {
    private let pending: [Pending]
    private(set) var answers: [Int: Result<Recorded, WriteFailure>] = [:]
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

    mutating func settle(_ place: Int, _ result: Result<Recorded, WriteFailure>) {
        self.answers[place] = result
    }

    /// A settled result stays, whatever happened then.
    mutating func fail(_ failure: WriteFailure) {
        for place in self.pending.indices where self.answers[place] == nil { self.answers[place] = .failure(failure) }
    }

    /// Takes over the results of a batch that is now appended.
    mutating func takeRecorded(by batch: Batch) {
        for place in batch.outcomes.indices where self.answers[place] == nil {
            self.answers[place] = batch.recorded(at: place).map { .success($0) }
        }
        self.takeRepeated(by: batch)
    }

    /// Takes over the other results: refusals, and repetitions.
    mutating func takeRefused(by batch: Batch) {
        for (place, outcome) in batch.outcomes.enumerated() where self.answers[place] == nil {
            if case .failed(let failure) = outcome { self.answers[place] = .failure(failure) }
        }
        self.takeRepeated(by: batch)
    }

    /// Answers repetitions of commands of the same batch as those are answered, and as any later repetition is:
    /// findings of guard rails are given once, with the first answer.
    private mutating func takeRepeated(by batch: Batch) {
        for (place, outcome) in batch.outcomes.enumerated() where self.answers[place] == nil {
            guard case .repeats(let first) = outcome else { continue }
            self.answers[place] = self.answers[first]?.map { recorded in
                var recorded = recorded
                recorded.isReplay = true
                recorded.findings = []
                return recorded
            }
        }
    }

    /// Answers all senders.
    func answer() {
        for (place, pending) in self.pending.enumerated() {
            pending.answer(self.answers[place] ?? .failure(.unavailable("the command was lost")))
        }
    }
}
