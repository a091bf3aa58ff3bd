import PinWire
import Pinning
import Synchronization

/// The commands that wait for their batch, in the order they came, and what is decided of them already.
///
/// While a batch commits, the commands behind it are decided one by one on its result. The sender of the next batch,
/// which is the writer or the thread of its connection, takes what is decided by then.
///
/// There are two locks, taken in this order: `decided`, which is held while commands are decided, and `line`, for a few
/// instructions. Senders of commands take only `line`. The task that decides ahead gives way to the sender of a batch:
/// it takes `decided` for one decision at a time and never waits for it.
final class CommandQueue: Sendable {
    /// The waiting commands, and the tasks to wake for them.
    private struct Line {
        var waiting: [Pending] = []
        var isClosed = false
        /// A batch is under way: new commands are decided on its result.
        var isInFlight = false
        /// There may be something to decide.
        var hasNews = false
        /// The writer has slept for its time.
        var isTimeOver = false
        var writer: CheckedContinuation<Void, Never>?
        var decider: CheckedContinuation<Void, Never>?

        mutating func takeDecider() -> CheckedContinuation<Void, Never>? {
            self.hasNews = true
            defer { self.decider = nil }
            return self.decider
        }
    }

    /// The decided commands.
    private struct Decided {
        /// The result of the batch under way if it is recorded.
        var base: LedgerView?
        /// The first of the waiting commands, decided on it.
        var batch: Batch?
        /// The commands of the batch that is under way.
        var underway: [Pending] = []
    }

    private let limits: Writer.Limits
    private let clock: @Sendable () -> Timestamp
    private let environment: DecisionEnvironment
    private let line = Mutex(Line())
    private let decided = Mutex(Decided())
    /// A sender takes its batch, or is about to.
    private let isTaking = Atomic(false)

    init(
        limits: Writer.Limits, clock: @escaping @Sendable () -> Timestamp,
        environment: DecisionEnvironment
    ) {
        self.limits = limits
        self.clock = clock
        self.environment = environment
    }

    // MARK: Senders

    /// Waits in line, and for the answer.
    func enter(_ request: CommandRequest) async throws(WriteFailure) -> Recorded {
        let result: Result<Recorded, WriteFailure> = await withCheckedContinuation { waiter in
            let pending = Pending(request, waiter)
            let (refusal, sleeper) = self.line.withLock { line -> (WriteFailure?, CheckedContinuation<Void, Never>?) in
                guard !line.isClosed else { return (Self.closed, nil) }
                guard line.waiting.count < self.limits.queue else { return (.overloaded, nil) }
                line.waiting.append(pending)
                guard !line.isInFlight else { return (nil, line.takeDecider()) }
                defer { line.writer = nil }
                return (nil, line.writer)
            }
            if let refusal { pending.answer(.failure(refusal)) }
            sleeper?.resume()
        }
        return try result.get()
    }

    private static let closed = WriteFailure.unavailable("the server is shutting down")

    // MARK: Those who sleep

    /// The number of commands that wait.
    var count: Int { self.line.withLock { $0.waiting.count } }

    /// Sleeps until a command waits, the queue is closed or the time is over. For the writer alone, while nothing is
    /// under way.
    func waitForCommand(atMost limit: Duration) async {
        self.line.withLock { $0.isTimeOver = false }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                guard (try? await Task.sleep(for: limit)) != nil else { return }
                self.endWait()
            }
            await withCheckedContinuation { sleeper in
                let isAwake = self.line.withLock { line in
                    // The time may be over before the writer sleeps.
                    if line.isClosed || line.isTimeOver || !line.waiting.isEmpty { return true }
                    line.writer = sleeper
                    return false
                }
                if isAwake { sleeper.resume() }
            }
            group.cancelAll()
        }
    }

    private func endWait() {
        let writer = self.line.withLock { line in
            line.isTimeOver = true
            defer { line.writer = nil }
            return line.writer
        }
        writer?.resume()
    }

    /// Decides the commands that come while batches are under way, until the queue is closed.
    func decideWhatComes() async {
        while true {
            await withCheckedContinuation { sleeper in
                let isAwake = self.line.withLock { line in
                    if line.isClosed || line.hasNews { return true }
                    line.decider = sleeper
                    return false
                }
                if isAwake { sleeper.resume() }
            }
            guard
                !self.line.withLock({
                    $0.hasNews = false; return $0.isClosed
                })
            else { return }
            while self.decideAhead() {}
        }
    }

    /// Decides the first undecided command; false where there is none, enough is decided, or a sender decides itself.
    private func decideAhead() -> Bool {
        // A sender that waits for the lock must not find it taken again.
        guard !self.isTaking.load(ordering: .relaxed) else { return false }
        return self.decided.withLockIfAvailable { self.decideNext(&$0, atMost: self.limits.batch) } ?? false
    }

    /// Ends every wait: waiting commands are answered so, and new ones are refused.
    func close() {
        let (waiting, sleepers) = self.decided.withLock { decided in
            decided.batch = nil
            return self.line.withLock { line in
                defer { (line.waiting, line.writer, line.decider) = ([], nil, nil) }
                line.isClosed = true
                return (line.waiting, [line.writer, line.decider])
            }
        }
        for pending in waiting { pending.answer(.failure(Self.closed)) }
        for sleeper in sleepers { sleeper?.resume() }
    }

    /// Answers commands that have waited too long: a batch before them hangs, or the database is too slow for the load.
    func answerTheLate() {
        let now = ContinuousClock.now
        self.answer(
            underwaySince: now - self.limits.answer, waitingSince: now - self.limits.patience, why: Self.tooSlow)
    }

    /// Answers all commands that have come so far, without waiting for their outcome.
    func answerAll() {
        let now = ContinuousClock.now
        self.answer(underwaySince: now, waitingSince: now, why: Self.closed)
    }

    private static let tooSlow = WriteFailure.unavailable("the database is too slow to take the change")

    private func answer(
        underwaySince begun: ContinuousClock.Instant, waitingSince come: ContinuousClock.Instant, why: WriteFailure
    ) {
        let (hanging, late, decider) = self.decided.withLock { decided in
            let hanging = decided.underway.filter { $0.since < begun }
            let (late, decider) = self.line.withLock { line in
                let late = Array(line.waiting.prefix { $0.since < come })
                line.waiting.removeFirst(late.count)
                return (late, late.isEmpty ? nil : line.takeDecider())
            }
            // The batch was decided with the commands that leave.
            if !late.isEmpty { decided.batch = nil }
            return (hanging, late, decider)
        }
        decider?.resume()
        for pending in hanging { pending.answer(.failure(.outcomeUnknown)) }
        for pending in late { pending.answer(.failure(why)) }
    }

    // MARK: Batches

    /// Sets the view on which the next commands are decided; decisions on another view are dropped.
    func begin(on base: LedgerView) {
        self.decided.withLock { decided in
            if decided.batch?.base.head != base.head { decided.batch = nil }
            decided.base = base
        }
        let decider = self.line.withLock { line in
            line.isInFlight = true
            return line.waiting.isEmpty ? nil : line.takeDecider()
        }
        decider?.resume()
    }

    /// Announces that the batch under way has another result: nothing is decided until the next ``begin(on:)``.
    func pause() {
        self.decided.withLock { decided in (decided.base, decided.batch) = (nil, nil) }
        self.line.withLock { $0.isInFlight = false }
    }

    /// Announces that nothing is under way any more.
    func end() {
        self.decided.withLock { decided in
            decided.base = nil
            decided.underway = []
        }
        self.line.withLock { $0.isInFlight = false }
    }

    /// The next batch, after ``begin(on:)`` or another batch; nil where no command waits. The commands behind it are
    /// decided on it.
    func next() -> (PendingBatch, Batch)? {
        self.isTaking.store(true, ordering: .relaxed)
        let (taken, decider) = self.takeNext()
        // Woken before, it would find the lock taken, and sleep again.
        self.isTaking.store(false, ordering: .relaxed)
        decider?.resume()
        return taken
    }

    private func takeNext() -> ((PendingBatch, Batch)?, CheckedContinuation<Void, Never>?) {
        self.decided.withLock { decided in
            // A batch costs the database as much as some twenty events: it is better to decide a few more now than to
            // send two batches.
            while self.decideNext(&decided, atMost: min(Self.largeBatch, self.limits.batch)) {}
            guard let batch = decided.batch.take() else { return (nil, nil) }
            let (pending, decider) = self.line.withLock { line in
                let pending = Array(line.waiting.prefix(batch.count))
                line.waiting.removeFirst(pending.count)
                return (pending, line.waiting.isEmpty ? nil : line.takeDecider())
            }
            decided.underway = pending
            decided.base = batch.after
            return ((PendingBatch(pending), batch), decider)
        }
    }

    /// A batch this large is sent as it is: it is better to decide the next one while the database works.
    static let largeBatch = 64

    /// The next commands, undecided.
    func nextUndecided() -> PendingBatch {
        self.decided.withLock { decided in
            decided.batch = nil
            decided.underway = self.line.withLock { line in
                defer { line.waiting.removeFirst(min(line.waiting.count, self.limits.batch)) }
                return Array(line.waiting.prefix(self.limits.batch))
            }
            return PendingBatch(decided.underway)
        }
    }

    /// Decides the first undecided command; false where there is none, or enough is decided.
    private func decideNext(_ decided: inout Decided, atMost limit: Int) -> Bool {
        guard let base = decided.base else { return false }
        let count = decided.batch?.count ?? 0
        guard count < limit else { return false }
        let next = self.line.withLock { $0.waiting.count > count ? $0.waiting[count] : nil }
        guard let next else { return false }
        if decided.batch == nil { decided.batch = Batch(on: base, at: self.clock(), environment: self.environment) }
        decided.batch?.add(next.request)
        return true
    }
}
