public import PinWire
internal import Synchronization

/// Tells the server what became of an app's pinned connections, and which document the install holds.
///
///     let reporter = PinledgerReporter(configuration, client: client, store: FileStore(path: path), transport: transport)
///     async let reports: Void = reporter.run()
///
/// It reports while the held document asks for it (`monitoring.enabled`), and hosts that the document covers; the page `telemetry` of the
/// handbook lists every byte of a report. A connection never waits for it. An outcome of a new kind is stored two seconds after it happened,
/// and how often it happened with the next batch: if the process dies before that, it is lost.
public actor PinledgerReporter {
    /// What became of a batch.
    @nonexhaustive
    public enum Delivery: Hashable, Sendable {
        /// There was nothing to send: nothing is new, this install does not report today, or the document asks for no reports.
        case idle
        case sent(outcomes: Int)
        /// The service refuses the batch for good, and it was dropped: with the status of its answer.
        case refused(status: Int)
        /// No service took it; it is sent again later. With the status of the last answer, where there was one.
        case postponed(status: Int?)
    }

    /// What goes wrong with reports, for the app's log: nothing else tells of it.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is to be sent cannot be read or stored, with the store's words.
        case store(String)
        /// The service refuses a batch for good, and it was dropped: with the status of its answer.
        case refused(status: Int)

        public var description: String {
            switch self {
            case .store(let words): "the store of the reports fails: \(words)"
            case .refused(let status):
                "a service answered \(status) to a report, which was dropped: compare the app's id, and the versions of library and server"
            }
        }
    }

    private let configuration: ReportConfiguration
    private let client: PinledgerClient
    private let store: any ClientStore
    private let transport: any ReportTransport
    private let clock: @Sendable () -> Timestamp
    private let random: @Sendable (Range<Double>) -> Double
    private let onFailure: @Sendable (Failure) -> Void
    private let content = Mutex(Content())
    /// The look at the store, until it has succeeded: before that nothing is written, which would replace what was not read. It is one read,
    /// which those who wait for it give a time.
    private var loading: Task<Bool, Never>?
    private let writes = StoreWrites()
    /// The flush that is under way: all who ask meanwhile get its result. It ends by itself: each service has its time.
    private var flushing: Task<Delivery, Never>?
    /// Why what is to be sent could not be read or stored; nil where it could.
    public private(set) var storeFailure: String?
    /// What became of the last batch.
    public private(set) var lastDelivery = Delivery.idle

    private struct Content {
        var journal = ReportJournal()
        /// Whether the store has another journal.
        var isUnsaved = false
        /// Whether an outcome of a new kind is to be stored soon.
        var isNews = false
        /// Whether the day's first failure was not sent yet.
        var isUrgent = false
        /// The pause that ends early where there is something to do sooner.
        var pause: Task<Void, Never>?
    }

    /// - Parameters:
    ///   - client: Whose app it is, and whose documents decide whether, and of which hosts, is reported.
    ///   - store: A store of its own: not the one of the document.
    ///   - onFailure: Told what goes wrong, each time it does. It must not block.
    ///   - clock: The time; for tests.
    ///   - random: A number from a range; for tests.
    public init(
        _ configuration: ReportConfiguration, client: PinledgerClient, store: any ClientStore,
        transport: any ReportTransport, onFailure: @escaping @Sendable (Failure) -> Void = { _ in },
        clock: @escaping @Sendable () -> Timestamp = SystemClock.now,
        random: @escaping @Sendable (Range<Double>) -> Double = { Double.random(in: $0) }
    ) {
        self.configuration = configuration
        self.client = client
        self.store = store
        self.transport = transport
        self.onFailure = onFailure
        self.clock = clock
        self.random = random
    }

    // MARK: Taking up

    /// Takes up a judged connection.
    ///
    /// - Parameters:
    ///   - policy: The policy that judged.
    ///   - chain: The pins of the validated chain.
    public nonisolated func record(
        _ verdict: ConnectionVerdict, of host: String, by policy: PinPolicy, chain: [Pin]
    ) {
        guard let outcome = verdict.reported, let decision = verdict.decision else { return }
        self.record(outcome, of: host, decision, policy, chain)
    }

    /// Takes up a connection whose chain the platform refused.
    public nonisolated func recordInvalidChain(of host: String, by policy: PinPolicy) {
        guard let decision = policy.decide(host, at: self.clock()) else { return }
        self.record(.failure(.chainInvalid), of: host, decision, policy, [])
    }

    private nonisolated func record(
        _ outcome: ConnectionOutcome, of host: String, _ decision: DeviceDecision, _ policy: PinPolicy, _ chain: [Pin]
    ) {
        let now = self.clock()
        guard let document = policy.document, document.issued.document.monitoring.isEnabled,
            self.configuration.isSampled(on: ReportDay(now)),
            let report = OutcomeReport(
                host: host, outcome: outcome, decision: decision, version: document.version, chain: chain, at: now)
        else { return }
        let pause = self.content.withLock { content -> Task<Void, Never>? in
            let change = content.journal.note(report, of: self.configuration.install)
            if change != .none { content.isUnsaved = true }
            switch change {
            case .none, .counted: return nil
            case .added:
                // The first of several wakes the sender; it stores them all.
                if content.isNews { return nil }
            case .firstFailure: content.isUrgent = true
            }
            content.isNews = true
            return content.pause
        }
        pause?.cancel()
    }

    // MARK: Keeping

    /// Takes up what an earlier run of the app did not send. ``run()`` and ``flush()`` do it too.
    ///
    /// - Returns: Whether the store could be read.
    @discardableResult
    public func load() async -> Bool { await self.look().value }

    private func look() -> Task<Bool, Never> {
        if let loading { return loading }
        let task = Task {
            let isRead = await self.takeStored()
            // It is tried again: a Keychain cannot be read before the device's first unlock.
            if !isRead { self.loading = nil }
            return isRead
        }
        self.loading = task
        return task
    }

    private func takeStored() async -> Bool {
        do {
            guard let bytes = try await self.store.read() else { return true }
            try StoreContent.require(.journal, bytes)
            guard let kept = ReportJournal(bytes, of: self.configuration.install) else { return true }
            self.content.withLock { content in
                var journal = kept
                for report in content.journal.pending { _ = journal.note(report, of: self.configuration.install) }
                content.journal = journal
            }
            return true
        } catch {
            self.note(storeFailure: "\(error)")
            return false
        }
    }

    /// Stores what is not sent yet: for an app that goes to the background. One write comes after the other.
    public func save() async {
        guard await self.isLoaded else { return }
        await Self.value(of: self.writes.begin { await self.write() })
    }

    /// Whether the store could be read, within a time that an app's end can wait for.
    private var isLoaded: Bool { get async { await Self.value(of: self.look()) ?? false } }

    /// The longest that an app's end waits for a store.
    private static let storeLimit = Duration.seconds(5)

    /// A task's value, unless it takes too long. A cancelled caller waits for it too: what it stores last is not to be lost.
    @discardableResult
    private static func value<Value: Sendable>(of task: Task<Value, Never>) async -> Value? {
        // Ends by itself, at the limit.
        await Task { try? await task.result(atMost: Self.storeLimit) }.value
    }

    private func write() async {
        let journal = self.content.withLock { content -> ReportJournal? in
            guard content.isUnsaved else { return nil }
            content.isUnsaved = false
            content.isNews = false
            return content.journal
        }
        guard let journal else { return }
        do {
            try await self.store.write(journal.bytes(of: self.configuration.install))
            self.storeFailure = nil
        } catch {
            self.note(storeFailure: "\(error)")
            self.content.withLock { $0.isUnsaved = true }
        }
    }

    private func note(storeFailure words: String) {
        self.storeFailure = words
        self.onFailure(.store(words))
    }

    // MARK: Sending

    /// Sends what there is, in as many batches as it takes, and stores what is left.
    @discardableResult
    public func flush() async -> Delivery {
        if let flushing { return await self.delivery(of: flushing) }
        let task = Task {
            defer { self.flushing = nil }
            return await self.sendAll()
        }
        self.flushing = task
        return await self.delivery(of: task)
    }

    /// A caller that is cancelled does not wait for services: what they have not taken is sent later.
    private func delivery(of task: Task<Delivery, Never>) async -> Delivery {
        (try? await task.result()) ?? .postponed(status: nil)
    }

    private func sendAll() async -> Delivery {
        // Where the store hangs, what is in memory is sent all the same.
        _ = await self.isLoaded
        // What was dropped is worse news than what comes of the rest.
        var delivery = Delivery.idle
        var outcomes = 0
        // As many as a full journal takes, so that no mistake, here or in a service, makes requests without end.
        rounds: for _ in 0...(2 * ReportJournal.dayLimit / ReportJournal.batchLimit) {
            let next = await self.deliver()
            switch next {
            case .idle: break rounds
            case .sent(let count):
                outcomes += count
                if case .refused = delivery {} else { delivery = .sent(outcomes: outcomes) }
            case .refused: delivery = next
            case .postponed:
                if case .refused = delivery {} else { delivery = next }
                break rounds
            }
        }
        await self.save()
        self.lastDelivery = delivery
        return delivery
    }

    private func deliver() async -> Delivery {
        let now = self.clock()
        guard self.client.policy.document?.issued.document.monitoring.isEnabled == true else {
            self.content.withLock { content in
                content.isUrgent = false
                if content.journal.dropPending() { content.isUnsaved = true }
            }
            return .idle
        }
        let isSampled = self.configuration.isSampled(on: ReportDay(now))
        // A document that is not stored does not outlast the process: the install would be behind again.
        let version = await self.client.storedVersion
        let batch = self.content.withLock { content -> ReportJournal.Batch? in
            content.isUrgent = false
            return content.journal.batch(holding: version, at: now, isSampled: isSampled)
        }
        guard let batch else { return .idle }
        switch await self.send(batch, at: now) {
        case 202?:
            self.content.withLock { content in
                content.journal.settle(batch, at: now)
                content.isUnsaved = true
            }
            return .sent(outcomes: batch.outcomes.count)
        case let status? where Self.isFinal(status):
            self.content.withLock { content in
                content.journal.drop(batch)
                content.isUnsaved = true
            }
            // A report of adoption alone is tried again later.
            if !batch.outcomes.isEmpty { self.onFailure(.refused(status: status)) }
            return batch.outcomes.isEmpty ? .postponed(status: status) : .refused(status: status)
        case let status: return .postponed(status: status)
        }
    }

    /// The status of the first answer that settles a batch, or else of the last one; nil where no service answered.
    private func send(_ batch: ReportJournal.Batch, at now: Timestamp) async -> Int? {
        let body = batch.body(of: self.configuration)
        let app = self.client.configuration.app
        var headers = [TransportRequest.Header("Content-Type", "application/json")]
        if let key = self.configuration.key {
            headers.append(.init("Pinledger-Signature", key.field(app: app, at: now, body: body)))
        }
        let transport = self.transport
        var last: Int?
        for service in self.configuration.services where service.isConfidential {
            let request = TransportRequest(
                service.resource("reports", of: app), headers: headers, body: body, limit: Self.answerLimit,
                timeout: self.configuration.timeout)
            let status = try? await within(request.timeout + .seconds(1)) { try await transport.post(request) }
            guard let status else { continue }
            last = status
            if status == 202 || Self.isFinal(status) { break }
        }
        return last
    }

    /// Whether the batch is refused whenever and wherever it comes. A signature (401) may be good by another clock, and a service that does
    /// not take reports (403, 404, 405) may not be the only one.
    private static func isFinal(_ status: Int) -> Bool { [400, 413, 415, 422].contains(status) }

    /// The most bytes of an answer that are read: nothing in it is of use but its status.
    private static let answerLimit = 65_536

    /// Sends and stores until the task is cancelled: a batch soon where an interval has passed since the last one, and then one at each
    /// interval, give or take a tenth; the day's first failure after 30 seconds; and what was not taken later and later, up to the
    /// interval.
    public func run() async {
        guard (try? await self.look().result()) != nil else { return }
        var failures = 0
        var next = ContinuousClock.now.advanced(by: self.firstPause)
        while !Task.isCancelled {
            let wasNews = await self.rest(until: &next, isRetrying: failures > 0)
            guard !Task.isCancelled else { break }
            if ContinuousClock.now >= next {
                if case .postponed = await self.flush() { failures += 1 } else { failures = 0 }
                next = ContinuousClock.now.advanced(by: self.pause(after: failures))
            } else if wasNews {
                await self.save()
            }
        }
        await self.save()
    }

    private static let urgentDelay = Duration.seconds(30)
    private static let saveDelay = Duration.seconds(2)
    /// The shortest interval, whatever an app asks for.
    private static let shortestInterval = Duration.seconds(10)

    /// Sleeps until the next batch is due, or something is to be stored, or something happens that changes one of the two.
    ///
    /// - Returns: Whether there was something to store soon when it began.
    private func rest(until next: inout ContinuousClock.Instant, isRetrying: Bool) async -> Bool {
        let now = ContinuousClock.now
        let urgent = now.advanced(by: Self.urgentDelay * self.random(0.9..<1.1))
        var due = next
        // In one step with the look at what there is, so that no wake is missed.
        let (pause, isNews) = self.content.withLock { content -> (Task<Void, Never>, Bool) in
            if content.isUrgent, !isRetrying { due = min(due, urgent) }
            let end = content.isNews ? min(due, now.advanced(by: Self.saveDelay)) : due
            // Owned by this call, which waits for it; it ends by itself.
            let pause = Task<Void, Never> { try? await Task.sleep(until: end, clock: .continuous) }
            content.pause = pause
            return (pause, content.isNews)
        }
        next = due
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
        return isNews
    }

    /// The time until the first batch: apps are ended long before an interval is over, so the last run's counts.
    private var firstPause: Duration {
        let sent = self.content.withLock { $0.journal.lastSent }
        let soon = Duration.seconds(20) * self.random(0.25..<1.0)
        guard let sent else { return soon }
        let passed = Duration.seconds(max(0, self.clock().seconds - sent.seconds))
        return max(soon, self.pause(after: 0) - passed)
    }

    /// The time until the next batch: doubled from 60 seconds with each failure, up to the interval.
    func pause(after failures: Int) -> Duration {
        let interval = max(self.configuration.interval, Self.shortestInterval)
        guard failures > 0 else { return interval * self.random(0.9..<1.1) }
        return min(interval, .seconds(60) * (1 << min(failures - 1, 20))) * self.random(0.5..<1.0)
    }
}
