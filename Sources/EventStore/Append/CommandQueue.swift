import PinWire
import Pinning
import Synchronization

/// The commands that wait for their batch, and what is decided of them already: urgent ones first, whose senders take turns, and
/// otherwise in the order they came.
///
/// While a batch commits, the commands behind it are decided one by one on its result. The sender of the next batch,
/// which is the writer or the thread of its connection, takes what is decided by then. No batch gathers more than its share of time
/// in decisions (``Writer/Limits/deciding``), so that an urgent command waits for the batch under way, and for no line.
///
/// There are two locks, taken in this order: `decided`, which is held while commands are decided, and `line`, for a few
/// instructions. Senders of commands take only `line`. The task that decides ahead gives way to the sender of a batch:
/// it takes `decided` for one decision at a time and never waits for it.
final class CommandQueue: Sendable {
    /// The waiting commands, and the tasks to wake for them.
    private struct Line {
        var commands = CommandLine<Pending, CommandRequest.Sender>()
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
        /// How long its commands took to decide: the urgent ones, and the others; nil where it has none of the kind.
        var spent: (urgent: Duration?, other: Duration?)
        /// The commands of the batch that is under way, and since when.
        var underway: [Pending] = []
        var sent = ContinuousClock.now
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
    ///
    /// - Returns: Nil where the decision that it brings is outdated; nothing is recorded then.
    func enter(_ request: CommandRequest) async throws(WriteFailure) -> Recorded? {
        let answer: Pending.Answer = await withCheckedContinuation { waiter in
            let pending = Pending(request, waiter)
            let (refusal, sleeper) = self.line.withLock { line -> (WriteFailure?, CheckedContinuation<Void, Never>?) in
                guard !line.isClosed else { return (Self.closed, nil) }
                guard self.hasRoom(for: request, in: line.commands) else { return (.overloaded, nil) }
                line.commands.add(pending, urgentOf: request.isUrgent ? request.sender : nil)
                guard !line.isInFlight else { return (nil, line.takeDecider()) }
                defer { line.writer = nil }
                return (nil, line.writer)
            }
            if let refusal { pending.answer(.failed(refusal)) }
            sleeper?.resume()
        }
        switch answer {
        case .recorded(let recorded): return recorded
        case .failed(let failure): throw failure
        case .outdated: return nil
        }
    }

    /// False where the line is full. One that is full has room for as many urgent commands again, half of them of one sender.
    private func hasRoom(
        for request: CommandRequest, in commands: CommandLine<Pending, CommandRequest.Sender>
    ) -> Bool {
        guard request.isUrgent else { return commands.count < self.limits.queue }
        guard commands.count >= self.limits.queue else { return true }
        return commands.count < 2 * self.limits.queue
            && commands.urgentCount(of: request.sender) < max(1, self.limits.queue / 2)
    }

    private static let closed = WriteFailure.unavailable("the server is shutting down")

    // MARK: Those who sleep

    /// The number of commands that wait.
    var count: Int { self.line.withLock { $0.commands.count } }

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
                    if line.isClosed || line.isTimeOver || line.commands.count > 0 { return true }
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
            self.drop(&decided)
            return self.line.withLock { line in
                defer { (line.writer, line.decider) = (nil, nil) }
                line.isClosed = true
                return (line.commands.remove { _ in true }.removed, [line.writer, line.decider])
            }
        }
        for pending in waiting { pending.answer(.failed(Self.closed)) }
        for sleeper in sleepers { sleeper?.resume() }
    }

    /// Answers commands that have waited too long: a batch before them hangs, or more comes than can be decided or recorded.
    func answerTheLate() {
        let now = ContinuousClock.now
        self.answer(underwaySince: now - self.limits.answer, waitingSince: now - self.limits.patience)
    }

    /// Answers all commands that have come so far, without waiting for their outcome.
    func answerAll() {
        let now = ContinuousClock.now
        self.answer(underwaySince: now, waitingSince: now, why: Self.closed)
    }

    private static let tooSlow = WriteFailure.unavailable("the database is too slow to take the change")

    /// - Parameter why: The answer to those in line, where it is not that which holds them up.
    private func answer(
        underwaySince begun: ContinuousClock.Instant, waitingSince come: ContinuousClock.Instant,
        why: WriteFailure? = nil
    ) {
        let (hanging, late, decider, why) = self.decided.withLock { decided in
            let hanging = decided.underway.filter { $0.since < begun }
            let why = why ?? (!decided.underway.isEmpty && decided.sent < come ? Self.tooSlow : .overloaded)
            let (late, losesClaims, decider) = self.line.withLock { line in
                let (late, losesClaims) = line.commands.remove { $0.since < come }
                return (late, losesClaims, late.isEmpty ? nil : line.takeDecider())
            }
            // The batch was decided with some of those that leave.
            if losesClaims { self.drop(&decided) }
            return (hanging, late, decider, why)
        }
        decider?.resume()
        for pending in hanging { pending.answer(.failed(.outcomeUnknown)) }
        for pending in late { pending.answer(.failed(why)) }
    }

    /// Drops the decisions: their commands wait in line again.
    private func drop(_ decided: inout Decided) {
        decided.batch = nil
        decided.spent = (nil, nil)
        self.line.withLock { $0.commands.release() }
    }

    // MARK: Batches

    /// Sets the view on which the next commands are decided; decisions on another view are dropped.
    func begin(on base: LedgerView) {
        self.decided.withLock { decided in
            if decided.batch?.base.head != base.head { self.drop(&decided) }
            decided.base = base
        }
        let decider = self.line.withLock { line in
            line.isInFlight = true
            return line.commands.count == 0 ? nil : line.takeDecider()
        }
        decider?.resume()
    }

    /// Announces that the batch under way has another result: nothing is decided until the next ``begin(on:)``.
    func pause() {
        self.decided.withLock { decided in
            decided.base = nil
            self.drop(&decided)
        }
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
                let pending = line.commands.takeClaimed()
                return (pending, line.commands.count == 0 ? nil : line.takeDecider())
            }
            decided.spent = (nil, nil)
            (decided.underway, decided.sent) = (pending, .now)
            decided.base = batch.after
            return ((PendingBatch(pending), batch), decider)
        }
    }

    /// A batch this large is sent as it is: it is better to decide the next one while the database works.
    static let largeBatch = 64

    /// The next commands, undecided.
    func nextUndecided() -> PendingBatch {
        self.decided.withLock { decided in
            self.drop(&decided)
            let pending = self.line.withLock { $0.commands.take(atMost: self.limits.batch) }
            (decided.underway, decided.sent) = (pending, .now)
            return PendingBatch(pending)
        }
    }

    /// Puts commands of ``nextUndecided()`` back before all others: there was no time to decide them.
    func putBack(_ pending: [Pending]) {
        guard !pending.isEmpty else { return }
        let returned = Set(pending.map { ObjectIdentifier($0) })
        self.decided.withLock { decided in
            decided.underway.removeAll { returned.contains(ObjectIdentifier($0)) }
            self.drop(&decided)
            self.line.withLock {
                $0.commands.putBack(pending.map { ($0, $0.request.isUrgent ? $0.request.sender : nil) })
            }
        }
    }

    /// Decides the next undecided command; false where there is none, or enough is decided.
    private func decideNext(_ decided: inout Decided, atMost limit: Int) -> Bool {
        guard let base = decided.base else { return false }
        let count = decided.batch?.count ?? 0
        guard count < self.limits.batch else { return false }
        let mayBeUrgent = decided.spent.urgent.map { $0 < self.limits.decidingUrgent } ?? true
        let mayBeOther = count < limit && decided.spent.other.map { $0 < self.limits.deciding } ?? true
        guard let next = self.line.withLock({ $0.commands.claim(urgent: mayBeUrgent, other: mayBeOther) }) else {
            return false
        }
        if decided.batch == nil { decided.batch = Batch(on: base, at: self.clock(), environment: self.environment) }
        let begun = ContinuousClock.now
        decided.batch?.add(next.command.request)
        let time = ContinuousClock.now - begun
        if next.isUrgent {
            decided.spent.urgent = (decided.spent.urgent ?? .zero) + time
        } else {
            decided.spent.other = (decided.spent.other ?? .zero) + time
        }
        return true
    }
}
