import LogLines
package import Logging
package import PinWire
package import Pinning
package import Postgres
import Synchronization
import TransparencyLog

/// A node's only way into the ledger: group commit without a timer.
///
/// While one batch commits, the next one gathers (``CommandQueue``): its commands are decided as they come, on what the
/// batch in flight will leave behind, so that it goes out the moment that one is done (``PipelinedAppender``); were that one not
/// recorded, they are decided anew. All commands of a batch are appended by one statement, and everybody, the refused
/// included, is answered after the commit that they were judged against. Any number of nodes may write: the head's row
/// lock decides who was first, and who was not reads what came in between and decides anew.
///
/// If the process dies before the commit, nothing is recorded; if it dies after it, the commands are recorded and their
/// senders, who got no answer, learn that by asking again with the same idempotency key.
package actor Writer {
    private let ledger: Ledger
    private let configuration: PostgresConfiguration
    private let environment: DecisionEnvironment
    private let clock: @Sendable () -> Timestamp
    private let limits: Limits
    private let logger: Logger

    private let queue: CommandQueue
    private let notifier = AppendNotifier()
    private var connection: PostgresConnection?
    /// More than none: another node was writing a moment ago, and batches wait for a turn.
    private var contention = 0
    /// This node's turn, while it has one.
    private var lease: AppendLease?
    /// Where the ledger ended when the last turn did.
    private var turnEnd: Int64 = 0

    package init(
        ledger: Ledger, configuration: PostgresConfiguration, limits: Limits = Limits(), logger: Logger,
        clock: @escaping @Sendable () -> Timestamp, environment: DecisionEnvironment
    ) {
        self.ledger = ledger
        self.configuration = configuration
        self.limits = limits
        self.logger = logger
        self.clock = clock
        self.environment = environment
        self.queue = CommandQueue(limits: limits, clock: clock, environment: environment)
    }

    /// Records what a command causes.
    ///
    /// - Throws: ``WriteFailure``; all but `outcomeUnknown` mean that nothing was recorded.
    package nonisolated func execute(_ request: CommandRequest) async throws(WriteFailure) -> Recorded {
        if let refusal = self.ledger.refusal { throw refusal }
        let log = ChangeLog(logger: self.logger)
        do throws(WriteFailure) {
            let recorded = try await self.queue.enter(request)
            log.note(recorded, of: request)
            return recorded
        } catch {
            log.note(error, of: request)
            throw error
        }
    }

    /// Answers everybody who waits, whatever becomes of their commands: for a server that stops and waits no longer.
    package nonisolated func answerAll() { self.queue.answerAll() }

    /// The entries a command would record now, as if nobody else were writing.
    package nonisolated func rehearse(_ request: CommandRequest) throws(WriteFailure) -> Recorded {
        var batch = Batch(on: self.ledger.view, at: self.clock(), environment: self.environment)
        batch.add(request)
        if let recorded = batch.recorded(at: 0) { return recorded }
        guard case .failed(let failure) = batch.outcomes[0] else { throw .overloaded }
        throw failure
    }

    /// Writes batches until cancelled; then answers whoever still waits.
    package func run() async {
        let (queue, patience) = (self.queue, self.limits.patience)
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: patience / 10)
                        queue.answerTheLate()
                    }
                }
                // Ahead of the tasks that were just answered, so that their next commands find it at work.
                group.addTask(priority: .high) { await queue.decideWhatComes() }
                await self.writeBatches()
                queue.close()
                group.cancelAll()
            }
        } onCancel: {
            queue.close()
        }
        await self.connection?.close()
        self.connection = nil
    }

    private func writeBatches() async {
        while !Task.isCancelled {
            await self.waitForTheAnswered()
            let count = self.queue.count
            if let lease, count == 0 || lease.isOver { await self.endLease() }
            guard count > 0 else {
                await self.rest()
                continue
            }
            await self.writeBatch()
            self.ledger.endWriting()
            self.queue.end()
        }
    }

    /// Sleeps until a command comes. Before that, tells the other nodes of what was recorded last, where they were not, and
    /// looks after the connection.
    private func rest() async {
        guard let wait = self.notifier.waitForOwed else {
            await self.queue.waitForCommand(atMost: Self.glance)
            if self.queue.count == 0, !Task.isCancelled { await self.lookAfterConnection() }
            return
        }
        guard let connection = self.connection else { return self.notifier.forget() }
        guard wait <= .zero else { return await self.queue.waitForCommand(atMost: wait) }
        let notifier = self.notifier
        do { try await connection.perform { @Sendable connection in try notifier.announce(on: connection) } } catch {
            self.logger.log(.announcementFailed, ["error": "\(error)"])
            notifier.forget()
        }
    }

    /// Lets tasks that were just answered go first, for as long as more commands come of it: each batch costs the
    /// database as much as some twenty events, and their next commands would only be in the one after it.
    private func waitForTheAnswered() async {
        for _ in 0..<Self.yields {
            let count = self.queue.count
            guard count < CommandQueue.largeBatch else { return }
            await Task.yield()
            guard self.queue.count > count else { return }
        }
    }

    private static let yields = 8

    /// How often a writer without work looks whether it could do some.
    private static let glance = Duration.seconds(1)

    /// Finds out, while nobody wants anything recorded, whether the database would do it: a connection that broke shows
    /// without a round trip; what only a write can show is tried for as long as it is in doubt.
    private func lookAfterConnection() async {
        guard self.ledger.refusal == nil else { return }
        do {
            if let connection = self.connection {
                do { try await connection.checkAlive() } catch { await self.drop() }
            }
            let connection = try await self.connected()
            guard self.ledger.database.isWritingInDoubt else { return }
            try await connection.perform { @Sendable connection in
                try connection.withStatementTimeout(Self.glance) { connection in
                    _ = try connection.query(prepared: Statements.rehearseAppend)
                }
            }
            self.ledger.database.noteWrite(self.logger)
        } catch let error as PostgresError {
            self.noteFailedWrite(error)
        } catch {
            // `connected()` has said so.
        }
    }

    // MARK: One batch

    /// Writes the next batch, and perhaps those behind it; everybody in them is answered then.
    private func writeBatch() async {
        var pending: PendingBatch
        var ready: Batch?
        if self.contention > 0, self.lease == nil {
            pending = self.queue.nextUndecided()
        } else {
            self.queue.begin(on: self.ledger.view)
            guard let next = self.queue.next() else { return }
            (pending, ready) = next
        }
        while !pending.isSettled {
            if let failure = self.ledger.refusal {
                pending.fail(failure)
                break
            }
            pending.attempts += 1
            guard pending.attempts <= self.limits.attempts else {
                pending.fail(.unavailable("other nodes kept writing first"))
                break
            }
            do {
                let connection = try await self.connected()
                guard let sent = try await self.send(pending, ready, on: connection) else { return }
                ready = nil
                pending = sent.pending
                try await self.settle(&pending, sent)
            } catch let fault as LedgerFault {
                self.ledger.halt(fault)
                // With it goes this node's turn, for which others may be waiting.
                await self.drop()
                self.logger.log(.writerHalted, ["fault": "\(fault)"])
                pending.fail(.halted(fault))
            } catch let failure as WriteFailure {
                if failure == .outcomeUnknown { self.noteFailedWrite(failure) }
                pending.fail(failure)
            } catch {
                self.noteFailedWrite(error)
                await self.drop()
                pending.fail(.unavailable("the database did not take the change"))
            }
        }
        pending.answer()
    }

    /// Nothing fails that is cut off because this node stops.
    private func noteFailedWrite(_ error: any Error) {
        self.logger.log(.batchNotRecorded, ["error": "\(error)"])
        if !Task.isCancelled { self.ledger.database.noteFailedWrite(error, self.logger) }
    }

    /// Decides, where that is not done, and appends once; where that is plain sailing, so are the batches behind it.
    ///
    /// - Returns: The batch it ended with; nil where that is answered too.
    private func send(_ pending: PendingBatch, _ ready: Batch?, on connection: PostgresConnection) async throws
        -> PipelinedAppender.SentBatch?
    {
        let (ledger, clock, environment) = (self.ledger, self.clock, self.environment)
        if self.contention > 0, self.lease == nil {
            // Who loses even so takes the head's lock before deciding, and then cannot lose.
            var isLocked = pending.attempts > 3 || self.configuration.sessionSettings != .startup
            if !isLocked { isLocked = try await !self.beginLease(on: connection) }
            if isLocked {
                self.contention -= 1
                return try await self.sendLocked(pending, on: connection)
            }
        }
        let view = ledger.view
        let batch =
            ready.flatMap { $0.base.head == view.head ? $0 : nil }
            ?? Batch(pending, on: view, at: clock(), environment: environment)
        self.queue.begin(on: batch.after)
        let appender = PipelinedAppender(
            ledger: ledger, queue: self.queue, lease: self.lease, notifier: self.notifier, logger: self.logger)
        return await connection.perform { @Sendable connection in appender.run(pending, batch, on: connection) }
    }

    /// Decides and appends with the ledger's head locked: nobody else can be first.
    private func sendLocked(_ pending: PendingBatch, on connection: PostgresConnection) async throws
        -> PipelinedAppender.SentBatch
    {
        let (ledger, now, environment) = (self.ledger, self.clock(), self.environment)
        // What was decided, also where the transaction it was decided in does not come to its end.
        let decided = Decided()
        let outcome: Result<AppendOutcome, any Error>
        do {
            outcome = .success(
                try await connection.transaction { @Sendable connection in
                    let base = try ledger.catchUp(on: connection, isLocking: true)
                    let batch = Batch(pending, on: base, at: now, environment: environment)
                    decided.batch.withLock { $0 = batch }
                    ledger.beginWriting(batch)
                    return try AppendOutcome(appending: batch, isAnnounced: true, on: connection)
                })
        } catch {
            outcome = .failure(error)
        }
        guard let batch = decided.batch.withLock({ $0 }) else {
            _ = try outcome.get()
            throw WriteFailure.outcomeUnknown
        }
        return PipelinedAppender.SentBatch(pending: pending, batch: batch, isAnnounced: true, outcome: outcome)
    }

    private final class Decided: Sendable {
        let batch = Mutex<Batch?>(nil)
    }

    /// Settles what can be said of a job's commands after one attempt.
    private func settle(_ pending: inout PendingBatch, _ sent: PipelinedAppender.SentBatch) async throws {
        switch try await self.outcome(of: sent) {
        case .appended:
            self.ledger.take(sent.batch)
            self.ledger.database.noteWrite(self.logger)
            self.notifier.note(sent.batch, isAnnounced: sent.isAnnounced)
            pending.takeRecorded(by: sent.batch)
            // A refused command may be the repetition of one that was accepted: then that one's result is the answer.
            let refused = sent.batch.refusedWithKey.filter { pending.answers[$0] == nil }
            if !refused.isEmpty { try await self.settleRepeated(&pending, refused) }
            pending.takeRefused(by: sent.batch)
        case .moved:
            self.queue.pause()
            self.contention = Self.memory
            await self.endLease()
        case .duplicate:
            self.queue.pause()
            try await self.settleRepeated(&pending, pending.openWithKey)
        }
    }

    private func outcome(of sent: PipelinedAppender.SentBatch) async throws -> AppendOutcome {
        do { return try sent.outcome.get() } catch is AppendOutcome.RecordedAlready {
            return .duplicate
        } catch let error as PostgresError where error.code == .outcomeUnknown {
            self.queue.pause()
            await self.drop()
            // What writes nothing has no outcome, and is decided anew.
            return sent.batch.isEmpty ? .moved : try await self.findOutcome(of: sent.batch)
        }
    }

    /// Waits for a turn and takes in what others have appended; false where none is to be had.
    private func beginLease(on connection: PostgresConnection) async throws -> Bool {
        let ledger = self.ledger
        let lease: AppendLease? = try await connection.perform { @Sendable connection in
            guard let lease = try AppendLease.begin(on: connection) else { return nil }
            // While this node waited, its follower went on reading: what is left to be read is little.
            try ledger.catchUp(on: connection, isLocking: false)
            return lease
        }
        guard let lease else { return false }
        self.contention = ledger.position > self.turnEnd ? Self.memory : self.contention - 1
        self.lease = lease
        return true
    }

    private func endLease() async {
        guard self.lease != nil, let connection = self.connection else { return }
        self.lease = nil
        self.turnEnd = self.ledger.position
        do { try await connection.perform { @Sendable connection in try AppendLease.end(on: connection) } } catch {
            await self.drop()
        }
    }

    /// Turns, or batches, without another node's events after which nobody else is taken to be writing.
    private static let memory = 8

    // MARK: Answers

    /// Settles those at `places` whose key is already recorded with what it recorded. Where that cannot be looked up,
    /// they may be recorded or not.
    ///
    /// - Throws: ``LedgerFault``.
    private func settleRepeated(_ pending: inout PendingBatch, _ places: [Int]) async throws {
        do {
            let requests = places.map { [requests = pending.requests] in ($0, requests[$0]) }
            let state = self.ledger.view.state
            let answers = try await self.connected().perform { @Sendable connection in
                try Repetition.answers(to: requests, on: connection) { state.version(of: $0) }
            }
            for (place, answer) in answers { pending.settle(place, answer) }
        } catch let fault as LedgerFault {
            throw fault
        } catch {
            await self.drop()
            for place in places where pending.answers[place] == nil { pending.settle(place, .failure(.outcomeUnknown)) }
        }
    }

    // MARK: The connection

    private func connected() async throws -> PostgresConnection {
        if let connection = self.connection, connection.isUsable { return connection }
        await self.drop()
        do {
            let connection = try await PostgresConnection.connect(self.configuration)
            self.connection = connection
            self.ledger.database.find(.writing, self.logger)
            return connection
        } catch {
            if !Task.isCancelled { self.ledger.database.lose(.writing, error, self.logger) }
            throw WriteFailure.unavailable("the database cannot be reached")
        }
    }

    private func drop() async {
        let connection = self.connection
        (self.connection, self.lease) = (nil, nil)
        await connection?.close()
    }

    /// Finds out whether a batch, whose connection broke before the answer, was recorded.
    ///
    /// - Throws: ``WriteFailure/outcomeUnknown`` where that cannot be found out for as long as ``Limits/settling``.
    private func findOutcome(of batch: Batch) async throws -> AppendOutcome {
        var delay = Duration.milliseconds(20)
        let deadline = ContinuousClock.now + self.limits.settling
        while true {
            do {
                return try await self.connected().transaction { @Sendable connection in
                    try AppendOutcome(of: batch, seenFrom: connection)
                }
            } catch {
                self.logger.log(.batchOutcomeUnknown, ["error": "\(error)"])
                await self.drop()
                guard ContinuousClock.now + delay < deadline, !Task.isCancelled else {
                    throw WriteFailure.outcomeUnknown
                }
                try? await Task.sleep(for: delay)
                delay = min(delay * 2, .seconds(1))
            }
        }
    }
}
