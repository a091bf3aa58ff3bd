package import Logging
package import PinWire
import Pinning
package import Postgres
import Synchronization
import TransparencyLog

/// A node's only way into the ledger: group commit without a timer.
///
/// While one batch commits, the next one gathers: its commands are decided as they come, on what the batch in flight will
/// leave behind, so that it goes out the moment that one is done; were that one not recorded, they are decided anew.
/// All commands of a batch are appended by one statement, and everybody, the refused included, is answered after the
/// commit that they were judged against. Any number of nodes may write: the head's row lock decides who was first, and who was
/// not reads what came in between and decides anew.
///
/// If the process dies before the commit, nothing is recorded; if it dies after it, the commands are recorded and their
/// senders, who got no answer, learn that by asking again with the same idempotency key.
package actor Writer {
    /// What bounds the writer.
    package struct Limits: Sendable {
        /// Commands that may wait.
        package var queue = 2000
        /// Commands in one batch.
        package var batch = 512
        /// How often one batch is decided anew because another node was first.
        package var attempts = 20
        /// How long a sender waits at the most. A command that is on its way by then may still be recorded.
        package var answer = Duration.seconds(5)
        /// How long a command may wait for its batch to be sent.
        package var patience = Duration.milliseconds(2500)
        /// How long to look for the outcome of a batch whose connection broke.
        package var settling = Duration.milliseconds(1500)

        package init() {}
    }

    /// A command whose sender waits. Touched by this actor alone.
    private final class Pending {
        let request: CommandRequest
        let since = ContinuousClock.now
        private var waiter: CheckedContinuation<Result<Recorded, WriteFailure>, Never>?

        init(_ request: CommandRequest, _ waiter: CheckedContinuation<Result<Recorded, WriteFailure>, Never>) {
            self.request = request
            self.waiter = waiter
        }

        /// Only the first answer is one.
        func answer(_ result: Result<Recorded, WriteFailure>) {
            self.waiter?.resume(returning: result)
            self.waiter = nil
        }
    }

    private let ledger: Ledger
    private let configuration: PostgresConfiguration
    private let isPublicSuffix: @Sendable (String) -> Bool
    private let clock: @Sendable () -> Timestamp
    private let limits: Limits
    private let logger: Logger

    private var connection: PostgresConnection?
    private var queue: [Pending] = []
    /// The commands of the batch that is being written.
    private var underway: [Pending] = []
    /// What the batch in flight leaves behind if it is recorded.
    private var flight: LedgerView?
    /// The first commands of the queue, decided on that.
    private var gathering: Batch?
    private var sleeper: CheckedContinuation<Void, Never>?
    private var isClosed = false
    /// More than none: another node was writing a moment ago, and batches wait for a turn.
    private var contention = 0
    /// This node's turn, while it has one.
    private var turn: Turn?

    package init(
        ledger: Ledger, configuration: PostgresConfiguration, limits: Limits = Limits(), logger: Logger,
        clock: @escaping @Sendable () -> Timestamp, isPublicSuffix: @escaping @Sendable (String) -> Bool
    ) {
        self.ledger = ledger
        self.configuration = configuration
        self.limits = limits
        self.logger = logger
        self.clock = clock
        self.isPublicSuffix = isPublicSuffix
    }

    /// Records what a command causes.
    ///
    /// - Throws: ``WriteFailure``; all but `outcomeUnknown` mean that nothing was recorded.
    package func execute(_ request: CommandRequest) async throws(WriteFailure) -> Recorded {
        guard !self.isClosed else { throw .unavailable("the server is shutting down") }
        if let fault = self.ledger.fault { throw .halted(fault) }
        if let why = self.ledger.suspension { throw .suspended(why) }
        guard self.queue.count < self.limits.queue else { throw .overloaded }
        let result: Result<Recorded, WriteFailure> = await withCheckedContinuation { answer in
            self.queue.append(Pending(request, answer))
            self.gather()
            self.sleeper?.resume()
            self.sleeper = nil
        }
        return try result.get()
    }

    /// The entries a command would record now, as if nobody else were writing.
    package nonisolated func rehearse(_ request: CommandRequest) throws(WriteFailure) -> Recorded {
        var batch = Batch(on: self.ledger.view, at: self.clock(), isPublicSuffix: self.isPublicSuffix)
        batch.add(request)
        if let recorded = batch.recorded(at: 0) { return recorded }
        guard case .failed(let failure) = batch.outcomes[0] else { throw .overloaded }
        throw failure
    }

    /// Writes batches until cancelled; then answers whoever still waits.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.watchQueue() }
            await self.writeBatches()
            group.cancelAll()
        }
    }

    /// Answers commands that have waited too long: a batch before them hangs, or the database is too slow for the load.
    private func watchQueue() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: self.limits.patience / 10)
            let now = ContinuousClock.now
            for pending in self.underway where pending.since < now - self.limits.answer {
                pending.answer(.failure(.outcomeUnknown))
            }
            let late = self.queue.prefix { $0.since < now - self.limits.patience }
            guard !late.isEmpty else { continue }
            self.queue.removeFirst(late.count)
            // It was decided with the ones that leave.
            self.gathering = nil
            self.gather()
            for pending in late {
                pending.answer(.failure(.unavailable("the database is too slow to take the change")))
            }
        }
    }

    private func writeBatches() async {
        await withTaskCancellationHandler {
            while !Task.isCancelled {
                await self.waitForTheAnswered()
                if let turn, self.queue.isEmpty || turn.isOver { await self.endTurn() }
                if self.queue.isEmpty {
                    await withCheckedContinuation { sleeper in
                        // Cancelled between the check above and here: nobody would wake it again.
                        if Task.isCancelled || self.isClosed { sleeper.resume() } else { self.sleeper = sleeper }
                    }
                    continue
                }
                let (pending, batch) = self.takeBatch()
                await self.write(pending, batch)
            }
        } onCancel: {
            // The task that runs the writer is the owner of this one, which ends at once.
            Task { await self.close() }
        }
        self.close()
        await self.connection?.close()
        self.connection = nil
    }

    private func close() {
        self.isClosed = true
        for pending in self.queue {
            pending.answer(.failure(.unavailable("the server is shutting down")))
        }
        self.queue = []
        self.gathering = nil
        self.sleeper?.resume()
        self.sleeper = nil
    }

    // MARK: One batch

    /// Decides what waits on what the batch in flight leaves behind.
    private func gather() {
        guard let flight, !self.queue.isEmpty else { return }
        var batch =
            self.gathering ?? Batch(on: flight, at: self.clock(), isPublicSuffix: self.isPublicSuffix)
        // The value is taken out while it grows, so that nothing in it is copied.
        self.gathering = nil
        while batch.count < min(self.queue.count, self.limits.batch) { batch.add(self.queue[batch.count].request) }
        self.gathering = batch
    }

    /// Lets tasks that were just answered go first, for as long as more commands come of it: each batch costs the
    /// database as much as some twenty events, and their next commands would only be in the one after it.
    ///
    /// A batch that is large already goes at once: then it is better to decide the next one while the database works.
    private func waitForTheAnswered() async {
        for _ in 0..<Self.turns {
            let count = self.queue.count
            guard count < Self.largeBatch else { return }
            await Task.yield()
            guard self.queue.count > count else { return }
        }
    }

    private static let turns = 8
    private static let largeBatch = 64

    /// The next commands, and the batch made of them where that holds on the ledger as it is now.
    private func takeBatch() -> ([Pending], Batch?) {
        var batch = self.gathering
        self.gathering = nil
        if batch?.base.head != self.ledger.view.head { batch = nil }
        let count = min(self.queue.count, self.limits.batch)
        let pending = Array(self.queue.prefix(count))
        self.queue.removeFirst(count)
        while let decided = batch?.count, decided < count { batch?.add(pending[decided].request) }
        return (pending, batch)
    }

    private func write(_ pending: [Pending], _ ready: Batch?) async {
        let requests = pending.map(\.request)
        self.underway = pending
        defer { self.underway = [] }
        var ready = ready
        var answers: [Int: Result<Recorded, WriteFailure>] = [:]
        var attempt = 0
        while answers.count < pending.count {
            attempt += 1
            guard attempt <= self.limits.attempts else {
                self.fail(&answers, pending.count, .unavailable("other nodes kept writing first"))
                break
            }
            do {
                let connection = try await self.connected()
                try await self.attempt(requests, ready, attempt, on: connection, &answers)
                ready = nil
            } catch let fault as LedgerFault {
                self.ledger.halt(fault)
                self.logger.critical(
                    "the ledger does not fit: this node stops writing", metadata: ["fault": "\(fault)"])
                self.fail(&answers, pending.count, .halted(fault))
            } catch let failure as WriteFailure {
                self.fail(&answers, pending.count, failure)
            } catch {
                self.logger.warning("a batch was not recorded", metadata: ["error": "\(error)"])
                await self.drop()
                self.fail(&answers, pending.count, .unavailable("the database did not take the change"))
            }
        }
        for (place, pending) in pending.enumerated() {
            pending.answer(answers[place] ?? .failure(.unavailable("the command was lost")))
        }
    }

    private func fail(_ answers: inout [Int: Result<Recorded, WriteFailure>], _ count: Int, _ failure: WriteFailure) {
        for place in 0..<count where answers[place] == nil { answers[place] = .failure(failure) }
    }

    /// Decides and appends once; answers what is settled by it.
    private func attempt(
        _ requests: [CommandRequest], _ ready: Batch?, _ number: Int, on connection: PostgresConnection,
        _ answers: inout [Int: Result<Recorded, WriteFailure>]
    ) async throws {
        var isLocked = false
        if self.contention > 0, self.turn == nil {
            // Who loses even so takes the head's lock before deciding, and then cannot lose.
            isLocked = number > 3 || self.configuration.sessionSettings != .startup
            if !isLocked { isLocked = try await !self.beginTurn(on: connection) }
        }
        let left = Set(answers.keys)
        let now = self.clock()
        let (ledger, isPublicSuffix) = (self.ledger, self.isPublicSuffix)
        let decided = Decided()
        let outcome: AppendOutcome
        defer {
            ledger.endWriting()
            self.flight = nil
        }
        do {
            if isLocked {
                self.contention -= 1
                outcome = try await connection.transaction { @Sendable connection in
                    let base = try ledger.catchUpLocked(on: connection)
                    let batch = Batch(requests, leavingOut: left, on: base, at: now, isPublicSuffix: isPublicSuffix)
                    decided.batch.withLock { $0 = batch }
                    ledger.beginWriting(batch)
                    return try AppendOutcome(appending: batch, on: connection)
                }
            } else {
                let view = ledger.view
                let batch =
                    ready.flatMap { $0.base.head == view.head ? $0 : nil }
                    ?? Batch(requests, leavingOut: left, on: view, at: now, isPublicSuffix: isPublicSuffix)
                decided.batch.withLock { $0 = batch }
                ledger.beginWriting(batch)
                self.flight = batch.after
                self.gather()
                outcome = try await connection.perform { @Sendable connection in
                    try AppendOutcome(appending: batch, on: connection)
                }
            }
        } catch is AppendOutcome.RecordedAlready {
            outcome = .duplicate
        } catch let error as PostgresError where error.code == .outcomeUnknown {
            await self.drop()
            guard let batch = decided.batch.withLock({ $0 }) else { throw error }
            // What writes nothing has no outcome, and is decided anew.
            outcome = batch.isEmpty ? .moved : try await self.settle(batch)
        }
        guard let batch = decided.batch.withLock({ $0 }) else { return }

        switch outcome {
        case .appended:
            ledger.advance(
                from: batch.base.head.position, to: batch.after, changing: batch.streams.keys, isLocal: true
            )
            try await self.answer(requests, by: batch, &answers)
        case .moved:
            self.contention = Self.memory
            await self.endTurn()
        case .duplicate:
            let keyed = requests.indices.filter { answers[$0] == nil && requests[$0].key != nil }
            try await self.answerRepeated(keyed, requests, on: connection, &answers)
        }
    }

    /// Waits for a turn and takes in what others have appended; false where none is to be had.
    private func beginTurn(on connection: PostgresConnection) async throws -> Bool {
        let ledger = self.ledger
        let grown: Bool? = try await connection.perform { @Sendable connection in
            let start = ledger.view
            guard let rows = try Turn.begin(from: start.head.position, on: connection) else { return nil }
            return try ledger.readOn(from: start, beginning: rows, on: connection).head.position > start.head.position
        }
        guard let grown else { return false }
        self.contention = grown ? Self.memory : self.contention - 1
        self.turn = Turn()
        return true
    }

    private func endTurn() async {
        guard self.turn != nil, let connection = self.connection else { return }
        self.turn = nil
        do { try await connection.perform { @Sendable connection in try Turn.end(on: connection) } } catch {
            await self.drop()
        }
    }

    /// Turns, or batches, without another node's events after which nobody else is taken to be writing.
    private static let memory = 8

    /// What was decided, also where the transaction it was decided in did not come to its end.
    private final class Decided: Sendable {
        let batch = Mutex<Batch?>(nil)
    }

    // MARK: Answers

    private func answer(
        _ requests: [CommandRequest], by batch: Batch, _ answers: inout [Int: Result<Recorded, WriteFailure>]
    ) async throws {
        // What is recorded is answered so, whatever happens from here on.
        for place in batch.outcomes.indices where answers[place] == nil {
            answers[place] = batch.recorded(at: place).map { .success($0) }
        }
        // A refused command may be the repetition of one that was accepted: then that one's result is the answer.
        let refused = batch.outcomes.indices.filter { place in
            if case .failed = batch.outcomes[place] { requests[place].key != nil } else { false }
        }
        if !refused.isEmpty {
            do {
                try await self.answerRepeated(refused, requests, on: try await self.connected(), &answers)
            } catch let fault as LedgerFault {
                throw fault
            } catch {
                await self.drop()
                for place in refused where answers[place] == nil { answers[place] = .failure(.outcomeUnknown) }
            }
        }
        for (place, outcome) in batch.outcomes.enumerated() where answers[place] == nil {
            switch outcome {
            case .recorded, .left: break
            case .failed(let failure): answers[place] = .failure(failure)
            case .repeats(let first):
                answers[place] = answers[first]?.map { recorded in
                    var recorded = recorded
                    recorded.isReplay = true
                    return recorded
                }
            }
        }
    }

    /// Answers those of `places` whose key is already recorded with what it recorded.
    private func answerRepeated(
        _ places: [Int], _ requests: [CommandRequest], on connection: PostgresConnection,
        _ answers: inout [Int: Result<Recorded, WriteFailure>]
    ) async throws {
        let keys = places.compactMap { requests[$0].key }
        let rows = try await connection.query(
            prepared: Statements.commands, [.textArray(keys.map(\.actor)), .textArray(keys.map(\.key))]
        )
        for row in rows {
            let place = places[Int(try row.int64(0)) - 1]
            guard try row.bytes(1) == requests[place].digest else {
                answers[place] = .failure(.keyReused)
                continue
            }
            let first = try row.int64(2)
            let count = Int64(try row.int32(3))
            let entries = try LedgerReader.stored(
                try await connection.query(
                    prepared: Statements.entries, [.int64(first), .int64(first + count), .int64(count)]
                )
            ).map(\.entry)
            let stream = requests[place].command.stream
            answers[place] = .success(
                Recorded(
                    entries: entries, position: first + count,
                    streamVersion: entries.last?.streamVersion ?? self.ledger.view.state.version(of: stream),
                    isReplay: true
                )
            )
        }
    }

    // MARK: The connection

    private func connected() async throws -> PostgresConnection {
        if let connection = self.connection, connection.isUsable { return connection }
        await self.drop()
        do {
            let connection = try await PostgresConnection.connect(self.configuration)
            self.connection = connection
            return connection
        } catch {
            self.logger.warning("cannot connect to write", metadata: ["error": "\(error)"])
            throw WriteFailure.unavailable("the database cannot be reached")
        }
    }

    private func drop() async {
        let connection = self.connection
        (self.connection, self.turn) = (nil, nil)
        await connection?.close()
    }

    /// Finds out whether a batch, whose connection broke before the answer, was recorded.
    ///
    /// - Throws: ``WriteFailure/outcomeUnknown`` where that cannot be found out for as long as ``Limits/settling``.
    private func settle(_ batch: Batch) async throws -> AppendOutcome {
        var delay = Duration.milliseconds(20)
        let deadline = ContinuousClock.now + self.limits.settling
        while true {
            do {
                return try await self.connected().transaction { @Sendable connection in
                    try AppendOutcome(of: batch, seenFrom: connection)
                }
            } catch {
                self.logger.warning("cannot find out what became of a batch", metadata: ["error": "\(error)"])
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
