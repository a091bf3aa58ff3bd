import Concurrency
package import CoreMetrics
import LogLines
package import Logging
package import PinWire
package import Pinning
package import Postgres
import Synchronization
import TransparencyLog

/// A node's only way into the ledger: group commit without a timer.
///
/// While one batch commits, the next one gathers (``CommandQueue``): its commands are decided as they come, on the
/// result of the batch in flight, so that it goes out as soon as that one is done (``PipelinedAppender``). If that one
/// is not recorded, they are decided again. One statement appends all commands of a batch, and all senders, also those
/// of refused commands, are answered after the commit that they were judged against. Any number of nodes may write: the
/// head's row lock decides which is first, and the others read what came in between and decide again.
///
/// If the process dies before the commit, nothing is recorded. If it dies after the commit, the commands are recorded;
/// their senders got no answer, and learn the result by a repeated request with the same idempotency key.
package actor Writer {
    let ledger: Ledger
    let configuration: PostgresConfiguration
    let environment: DecisionEnvironment
    let clock: @Sendable () -> Timestamp
    let limits: Limits
    let logger: Logger
    private let metrics: AppendMetrics

    let queue: CommandQueue
    let largeDecisions: LargeDecisions
    private let notifier = AppendNotifier()
    var connection: PostgresConnection?
    /// Above zero, another node was writing a moment ago, and batches wait for a lease.
    private var contention = 0
    /// This node's lease, while it has one.
    var lease: AppendLease?
    /// Where the ledger ended when the last lease did.
    private var turnEnd: Int64 = 0

    package init(
        ledger: Ledger, configuration: PostgresConfiguration, limits: Limits = Limits(), logger: Logger,
        clock: @escaping @Sendable () -> Timestamp, environment: DecisionEnvironment,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance
    ) {
        self.metrics = AppendMetrics(metrics)
        self.ledger = ledger
        self.configuration = configuration
        self.limits = limits
        self.logger = logger
        self.clock = clock
        self.environment = environment
        self.queue = CommandQueue(limits: limits, clock: clock, environment: environment)
        self.largeDecisions = LargeDecisions(limits)
    }

    /// Records what a command causes.
    ///
    /// - Throws: ``WriteFailure``; all but `outcomeUnknown` mean that nothing was recorded.
    package nonisolated func execute(_ request: CommandRequest) async throws(WriteFailure) -> Recorded {
        if let refusal = self.ledger.refusal { throw refusal }
        let log = ChangeLog(logger: self.logger)
        do throws(WriteFailure) {
            let recorded = try await self.record(request)
            log.note(recorded, of: request)
            return recorded
        } catch {
            log.note(error, of: request)
            throw error
        }
    }

    /// How many commands wait for the next batch.
    package nonisolated var waitingCount: Int { self.queue.count }

    /// Answers all waiting senders, whatever the outcome of their commands: for a server that stops and waits no
    /// longer.
    package nonisolated func answerAll() { self.queue.answerAll() }

    /// Writes batches until cancelled; then answers all commands that still wait.
    package func run() async {
        let (queue, patience) = (self.queue, self.limits.patience)
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await PeriodicWorker(every: patience / 10, first: .afterInterval).run { queue.answerTheLate() }
                }
                // Runs before the tasks that were just answered, so that their next commands find it at work.
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

    /// Sleeps until a command comes. Before that, announces the last batch to the other nodes where that is pending,
    /// and checks the connection.
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

    /// Lets tasks that were just answered run first, for as long as more commands come of it: each batch costs the
    /// database as much as some twenty events, and their next commands would only be in the batch after it.
    private func waitForTheAnswered() async {
        for _ in 0..<Self.yields {
            let count = self.queue.count
            guard count < CommandQueue.largeBatch else { return }
            await Task.yield()
            guard self.queue.count > count else { return }
        }
    }

    private static let yields = 8

    /// How often an idle writer looks whether it could write.
    private static let glance = Duration.seconds(1)

    /// Finds out, while there is nothing to record, whether the database would record it: a broken connection shows
    /// without a round trip; conditions that only a write can show are tried for as long as they are in doubt.
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
            // `connected()` has logged it.
        }
    }

    // MARK: One batch

    /// Writes the next batch, and perhaps those behind it; all their senders are answered then.
    private func writeBatch() async {
        var pending: PendingBatch
        var ready: Batch?
        var hasReconnected = false
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
            } catch let fault as LedgerFault where fault.meansUpgrade {
                // The follower reads on to the end, and halts the node where the ledger is sound. A lease that was just begun
                // is lost with the connection; other nodes may be waiting for it.
                await self.drop()
                pending.fail(.halted(fault))
            } catch let fault as LedgerFault where fault.isPruned {
                // The follower reads on, from the bundles, or halts the node.
                await self.drop()
                pending.fail(.unavailable("this node has to read events first that are pruned"))
            } catch let fault as LedgerFault where fault.leavesHistory && !hasReconnected {
                // The connection may lead to a former primary. What a new one says counts.
                hasReconnected = true
                await self.drop()
            } catch let fault as LedgerFault {
                self.ledger.halt(fault)
                // This node's lease is lost with the connection; other nodes may be waiting for it.
                await self.drop()
                self.logger.log(.writerHalted, ["fault": "\(fault)"])
                pending.fail(.halted(fault))
            } catch let failure as WriteFailure {
                if failure == .outcomeUnknown { self.noteFailedWrite(failure) }
                pending.fail(failure)
            } catch {
                self.noteFailedWrite(error)
                await self.drop()
                let needsStandby = (error as? PostgresError)?.sqlState == "PL006"
                pending.fail(
                    .unavailable(
                        needsStandby
                            ? "the database has no synchronous standby, which this node requires"
                            : "the database did not take the change"))
            }
        }
        pending.answer()
    }

    /// Work that is cut off because this node stops is not a failure.
    private func noteFailedWrite(_ error: any Error) {
        self.logger.log(.batchNotRecorded, ["error": "\(error)"])
        if !Task.isCancelled { self.ledger.database.noteFailedWrite(error, self.logger) }
    }

    /// Decides, where that is not done, and appends once; without a conflict, so are the batches behind it.
    ///
    /// - Returns: The last batch; nil where that is answered too.
    private func send(_ pending: PendingBatch, _ ready: Batch?, on connection: PostgresConnection) async throws
        -> PipelinedAppender.SentBatch?
    {
        var pending = pending
        let (ledger, clock, environment) = (self.ledger, self.clock, self.environment)
        if self.contention > 0, self.lease == nil {
            // A node that loses even so takes the head's lock before deciding, and then cannot lose.
            var isLocked = pending.attempts > 3 || self.configuration.sessionSettings != .startup
            // Where a standby is required, what other nodes have appended is shown only after a commit of this node's.
            isLocked = isLocked || self.configuration.requiresSynchronousStandby
            if !isLocked { isLocked = try await !self.beginLease(on: connection) }
            if isLocked {
                self.contention -= 1
                return try await self.sendLocked(pending, on: connection)
            }
        }
        let view = ledger.view
        let batch =
            ready.flatMap { $0.base.head == view.head ? $0 : nil }
            ?? Batch(pending, on: view, at: clock(), environment: environment, within: self.limits)
        self.queue.putBack(pending.cut(to: batch.count))
        self.queue.begin(on: batch.after)
        let appender = PipelinedAppender(
            ledger: ledger, queue: self.queue, lease: self.lease, notifier: self.notifier, logger: self.logger,
            metrics: self.metrics)
        return await connection.perform { @Sendable [pending] connection in
            appender.run(pending, batch, on: connection)
        }
    }

    /// Decides and appends with the ledger's head locked: no other node can be first.
    private func sendLocked(_ pending: PendingBatch, on connection: PostgresConnection) async throws
        -> PipelinedAppender.SentBatch
    {
        let (ledger, now, environment, limits) = (self.ledger, self.clock(), self.environment, self.limits)
        // The decisions, also where the transaction in which they were made does not end.
        let decided = Decided()
        let begun = ContinuousClock.now
        defer { self.metrics.note(commands: pending.count, since: begun) }
        let outcome: Result<AppendOutcome, any Error>
        do {
            let appended = try await connection.transaction { @Sendable connection in
                let growth = try ledger.lockEnd(on: connection)
                let batch = Batch(pending, on: growth.view, at: now, environment: environment, within: limits)
                decided.content.withLock { $0 = (growth, batch) }
                ledger.beginWriting(batch)
                return try AppendOutcome(
                    appending: batch, isAnnounced: true, with: ledger.keys?.current, on: connection)
            }
            try await connection.checkCommitsWait()
            outcome = .success(appended)
        } catch {
            outcome = .failure(error)
        }
        guard let (growth, batch) = decided.content.withLock({ $0 }) else {
            _ = try outcome.get()
            throw WriteFailure.outcomeUnknown
        }
        if case .success = outcome {
            // The outcome is known whether or not this succeeds; the follower reads what is missing here.
            try? await connection.perform { @Sendable connection in try ledger.take(growth, on: connection) }
        }
        var sent = pending
        self.queue.putBack(sent.cut(to: batch.count))
        return PipelinedAppender.SentBatch(pending: sent, batch: batch, isAnnounced: true, outcome: outcome)
    }

    private final class Decided: Sendable {
        let content = Mutex<(growth: Ledger.Growth, batch: Batch)?>(nil)
    }

    /// Settles what is known of a batch's commands after one attempt.
    private func settle(_ pending: inout PendingBatch, _ sent: PipelinedAppender.SentBatch) async throws {
        switch try await self.outcome(of: sent) {
        case .appended:
            self.ledger.take(sent.batch)
            self.ledger.database.noteWrite(self.logger)
            self.notifier.note(sent.batch, isAnnounced: sent.isAnnounced)
            pending.takeRecorded(by: sent.batch)
            // A refused command may repeat one that was accepted: then that one's result is the answer.
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
        case .otherKey:
            // An operator has changed the key-encryption key. Where this node has the new one, it decides again with that.
            self.queue.pause()
            let ledger = self.ledger
            let isInForce = try await self.connected().perform { @Sendable connection in
                ledger.noteKey(of: try StoredEnd(try connection.query(Statements.head)))
            }
            if !isInForce { pending.fail(.noKey) }
        }
    }

    private func outcome(of sent: PipelinedAppender.SentBatch) async throws -> AppendOutcome {
        do { return try sent.outcome.get() } catch is AppendOutcome.RecordedAlready {
            return .duplicate
        } catch is AppendOutcome.OtherKey {
            return .otherKey
        } catch let error as PostgresError where error.code == .outcomeUnknown {
            self.queue.pause()
            await self.drop()
            // A batch that writes nothing has no outcome, and is decided again.
            return sent.batch.isEmpty ? .moved : try await self.findOutcome(of: sent.batch)
        }
    }

    /// Waits for a lease and takes in what others have appended; false where it gets none.
    private func beginLease(on connection: PostgresConnection) async throws -> Bool {
        let ledger = self.ledger
        let lease: AppendLease? = try await connection.perform { @Sendable connection in
            guard let lease = try AppendLease.begin(on: connection) else { return nil }
            // While this node waited, its follower went on reading, so that little is left to be read.
            try ledger.catchUp(on: connection)
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

    /// The number of leases, or batches, without another node's events after which no other node counts as writing.
    private static let memory = 8

    // MARK: Answers

    /// Settles those at `places` whose key is already recorded with their recorded results. Where that cannot be
    /// looked up, they may be recorded or not.
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
            for place in places where pending.answers[place] == nil { pending.settle(place, .failed(.outcomeUnknown)) }
        }
    }
}
