public import PinWire
internal import Synchronization

/// Tells the server what became of an app's pinned connections, and which document the install holds.
///
///     let reporter = PinledgerReporter(configuration, client: client, store: FileStore(path: path), transport: transport)
///     await reporter.load()
///     async let reports: Void = reporter.run()
///
/// It reports while the held document asks for it (`monitoring.enabled`), and hosts that the document covers; the page `telemetry` of the
/// handbook lists every byte. A connection never waits for it. What was not sent is stored two seconds after it happened: if the process
/// dies before that, it is lost.
public actor PinledgerReporter {
    /// What became of a batch.
    public enum Delivery: Hashable, Sendable {
        /// There was nothing to send, or this install does not report today.
        case idle
        case sent(outcomes: Int)
        /// The service refuses the batch for good, and it was dropped: with the status of its answer.
        case refused(status: Int)
        /// No service took it; it is sent again later.
        case postponed
    }

    private let configuration: ReportConfiguration
    private let client: PinledgerClient
    private let store: any ClientStore
    private let transport: any ReportTransport
    private let clock: @Sendable () -> Timestamp
    private let random: @Sendable (Range<Double>) -> Double
    private let content = Mutex(Content())
    /// The look at the store, which happens once, before anything is sent. It ends by itself: it is one read.
    private var loading: Task<Void, Never>?
    /// Why what is to be sent could not be read or stored; nil where it could.
    public private(set) var storeFailure: String?
    /// What became of the last batch.
    public private(set) var lastDelivery = Delivery.idle

    private struct Content {
        var journal = ReportJournal()
        /// Whether ``journal`` has an outcome that is not stored.
        var isUnsaved = false
        /// Whether the day's first failure was not sent yet.
        var isUrgent = false
        /// The pause that ends early where there is something to do sooner.
        var pause: Task<Void, Never>?
    }

    /// - Parameters:
    ///   - client: Whose documents decide whether, and of which hosts, is reported.
    ///   - store: A store of its own: not the one of the document.
    ///   - clock: The time; for tests.
    ///   - random: A number from a range; for tests.
    public init(
        _ configuration: ReportConfiguration, client: PinledgerClient, store: any ClientStore,
        transport: any ReportTransport,
        clock: @escaping @Sendable () -> Timestamp = SystemClock.now,
        random: @escaping @Sendable (Range<Double>) -> Double = { Double.random(in: $0) }
    ) {
        self.configuration = configuration
        self.client = client
        self.store = store
        self.transport = transport
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
            switch content.journal.note(report, of: self.configuration.install) {
            case .counted: return nil
            case .added:
                // The first of several wakes the sender; it stores them all.
                if content.isUnsaved { return nil }
            case .firstFailure: content.isUrgent = true
            }
            content.isUnsaved = true
            return content.pause
        }
        pause?.cancel()
    }

    // MARK: Sending

    /// Takes up what an earlier run of the app did not send. ``run()`` and ``flush()`` do it where nobody has.
    public func load() async {
        if let loading { return await loading.value }
        let task = Task { await self.look() }
        self.loading = task
        await task.value
    }

    private func look() async {
        do {
            guard let bytes = try await self.store.read(),
                let kept = ReportJournal(bytes, of: self.configuration.install)
            else { return }
            self.content.withLock { content in
                var journal = kept
                for report in content.journal.pending { _ = journal.note(report, of: self.configuration.install) }
                content.journal = journal
            }
        } catch { self.storeFailure = "\(error)" }
    }

    /// Sends what there is, in as many batches as it takes, and stores what is left.
    @discardableResult
    public func flush() async -> Delivery {
        await self.load()
        var delivery = Delivery.idle
        var outcomes = 0
        loop: while true {
            let next = await self.deliver()
            switch next {
            case .idle: break loop
            case .sent(let count):
                outcomes += count
                delivery = .sent(outcomes: outcomes)
            case .refused: delivery = next
            case .postponed:
                delivery = next
                break loop
            }
        }
        await self.save()
        self.lastDelivery = delivery
        return delivery
    }

    /// Stores what is not sent yet: for an app that goes to the background.
    public func save() async {
        await self.load()
        let bytes = self.content.withLock { content in
            content.isUnsaved = false
            return content.journal.bytes(of: self.configuration.install)
        }
        do {
            try await self.store.write(bytes)
            self.storeFailure = nil
        } catch { self.storeFailure = "\(error)" }
    }

    private func deliver() async -> Delivery {
        let now = self.clock()
        let document = self.client.policy.document
        let isSampled = self.configuration.isSampled(on: ReportDay(now))
        guard document?.issued.document.monitoring.isEnabled == true,
            let batch = self.content.withLock({
                $0.journal.batch(holding: document?.version ?? 0, at: now, isSampled: isSampled)
            })
        else { return .idle }
        let status = await self.send(batch, at: now)
        guard let status else { return .postponed }
        self.content.withLock { content in
            content.journal.settle(batch)
            content.isUrgent = false
        }
        return status == 202 ? .sent(outcomes: batch.outcomes.count) : .refused(status: status)
    }

    /// The status of the first answer that settles a batch; nil where no service gave one.
    private func send(_ batch: ReportJournal.Batch, at now: Timestamp) async -> Int? {
        let body = batch.body(of: self.configuration)
        var headers = [(name: "Content-Type", value: "application/json")]
        if let key = self.configuration.key {
            headers.append(("Pinledger-Signature", key.field(app: self.configuration.app, at: now, body: body)))
        }
        for service in self.configuration.services {
            let base = service.hasSuffix("/") ? String(service.dropLast()) : service
            let status = try? await self.transport.post(
                "\(base)/client/v1/apps/\(self.configuration.app)/reports", headers: headers, body: body,
                timeout: self.configuration.timeout)
            if let status, Self.settles(status) { return status }
        }
        return nil
    }

    /// Whether it is of no use to send the same again: it was taken, or is refused whenever it comes.
    private static func settles(_ status: Int) -> Bool {
        status == 202 || (400...499).contains(status) && status != 408 && status != 429
    }

    /// Sends and stores until the task is cancelled: a batch at each interval, give or take a tenth; the day's first failure after 30
    /// seconds; and what was not taken later and later, up to the interval.
    public func run() async {
        await self.load()
        var failures = 0
        var next = ContinuousClock.now.advanced(by: self.pause(after: 0))
        while !Task.isCancelled {
            let wasUnsaved = await self.rest(until: &next, isRetrying: failures > 0)
            guard !Task.isCancelled else { break }
            if ContinuousClock.now >= next {
                failures = await self.flush() == .postponed ? failures + 1 : 0
                next = ContinuousClock.now.advanced(by: self.pause(after: failures))
            } else if wasUnsaved {
                await self.save()
            }
        }
        await self.save()
    }

    private static let urgentDelay = Duration.seconds(30)
    private static let saveDelay = Duration.seconds(2)

    /// Sleeps until the next batch is due, or something is to be stored, or something happens that changes one of the two.
    ///
    /// - Returns: Whether there was something to store when it began.
    private func rest(until next: inout ContinuousClock.Instant, isRetrying: Bool) async -> Bool {
        let now = ContinuousClock.now
        let urgent = now.advanced(by: Self.urgentDelay * self.random(0.9..<1.1))
        var due = next
        // In one step with the look at what there is, so that no wake is missed.
        let (pause, isUnsaved) = self.content.withLock { content -> (Task<Void, Never>, Bool) in
            if content.isUrgent, !isRetrying { due = min(due, urgent) }
            let end = content.isUnsaved ? min(due, now.advanced(by: Self.saveDelay)) : due
            // Owned by this call, which waits for it; it ends by itself.
            let pause = Task<Void, Never> { try? await Task.sleep(until: end, clock: .continuous) }
            content.pause = pause
            return (pause, content.isUnsaved)
        }
        next = due
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
        return isUnsaved
    }

    /// The time until the next batch: doubled from 60 seconds with each failure, up to the interval.
    func pause(after failures: Int) -> Duration {
        let interval = self.configuration.interval
        guard failures > 0 else { return interval * self.random(0.9..<1.1) }
        return min(interval, .seconds(60) * (1 << min(failures - 1, 20))) * self.random(0.5..<1.0)
    }
}
