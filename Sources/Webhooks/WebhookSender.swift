import Concurrency
package import EventStore
import LogLines
package import Logging
package import PinWire
import Pinning
import Postgres
import Secrets

/// Delivers the ledger's events to the receivers that the ledger names.
///
/// The ledger is the outbox: positions are dense and complete when they are visible, so that one cursor for each
/// webhook is enough to miss nothing. Any number of nodes do this on one database; a lease keeps two nodes from
/// attempting one delivery, and only the first open delivery of a stream is ever attempted, so that a receiver gets an
/// app's events in order. If the process dies during an attempt, the first node that comes after the end of the lease
/// repeats it with the same id: a receiver may get a message twice and never misses one.
package actor WebhookSender {
    /// The limits of a node's part.
    package struct Limits: Sendable {
        /// Attempts at once.
        package var attempts = 16
        /// Attempts at once on one webhook.
        package var attemptsOfOne = 2

        package init() {}
    }

    private let ledger: Ledger
    private let commands: SystemCommands
    private let tools: WebhookServices
    private let client: OutgoingClient
    private let node: String
    private let limits: Limits
    private let clock: @Sendable () -> Timestamp
    private let logger: Logger

    /// The version of the webhooks' stream that ``feeds`` reflects; nil where that is unknown.
    private var followed: Int64?
    private var feeds: [String: WebhookStore.Feed] = [:]
    /// Removed webhooks that still have rows.
    private var closing: Set<String> = []
    /// Attempts under way, by webhook.
    private var underway: [String: Int] = [:]
    /// The webhook whose turn is next.
    private var turn = 0
    private var nextSweep = ContinuousClock.now

    private let wakeUps = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// - Parameter node: The name by which people tell this node from the others.
    package init(
        ledger: Ledger, writer: Writer, tools: WebhookServices, client: OutgoingClient, node: String,
        limits: Limits = Limits(), logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.ledger = ledger
        self.commands = SystemCommands(ledger: ledger, writer: writer, logger: logger)
        self.tools = tools
        self.client = client
        self.node = node
        self.limits = limits
        self.logger = logger
        self.clock = clock
    }

    /// Works until cancelled. Attempts under way then have a moment left; other nodes take over the rest.
    package func run() async {
        let (ledger, wake) = (self.ledger, self.wakeUps.continuation)
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in ledger.positions() { wake.yield() } }
            // For what is to be tried again, and for leases of nodes that died.
            group.addTask { await PeriodicWorker(every: .seconds(1)).run { wake.yield() } }
            group.addTask { await PeriodicWorker(every: .seconds(15)).run { await self.measure() } }
            for await _ in self.wakeUps.stream {
                for attempt in await self.next() {
                    group.addTask {
                        await self.deliver(attempt.lease, to: attempt.webhook)
                        await self.end(attempt.lease)
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Counts what is still to be delivered. A node that cannot tell says nothing: an old count would look like messages that wait.
    private func measure() async {
        guard self.ledger.fault == nil else { return self.tools.forgetQueue() }
        let active = self.ledger.view.state.webhooks.hooks.values.filter { !$0.isPaused }.map(\.id)
        do { try await self.tools.measure(active) } catch { self.tools.forgetQueue() }
    }

    // MARK: What is to be done

    /// Advances the feeds and begins due deliveries.
    private func next() async -> [(lease: WebhookStore.Lease, webhook: Webhook)] {
        guard self.ledger.fault == nil, self.ledger.suspension == nil else { return [] }
        let view = self.ledger.view
        // Also where no webhook is left: a change that was applied has perhaps removed the last one.
        do { try await self.sweep(view.state.webhooks) } catch {
            if !(error is CancellationError) { self.logger.log(.webhooksDelayed, ["error": "\(error)"]) }
            return []
        }
        guard
            !view.state.webhooks.hooks.isEmpty || !self.closing.isEmpty || self.followed != view.state.webhooks.version
        else { return [] }
        do {
            try await self.follow(view)
            let active = view.state.webhooks.inOrder.filter { !$0.isPaused }
            for webhook in active { try await self.feed(webhook, until: view.head.position) }
            let begun = await self.begin(active)
            await self.close()
            return begun
        } catch is CancellationError {
            return []
        } catch {
            self.logger.log(.webhooksDelayed, ["error": "\(error)"])
            return []
        }
    }

    /// Begins feeds for new webhooks, and finds those of removed ones.
    private func follow(_ view: LedgerView) async throws {
        let webhooks = view.state.webhooks
        guard self.followed != webhooks.version else { return }
        var feeds = try await self.tools.store.feeds()
        for webhook in webhooks.hooks.values where feeds[webhook.id] == nil {
            try await self.tools.store.open(webhook)
        }
        // A feed that this node does not know may be newer than its view.
        self.closing = Set(
            feeds.filter { webhooks.hooks[$0.key] == nil && $0.value.createdAt < view.head.position }.keys)
        feeds = try await self.tools.store.feeds()
        self.feeds = feeds.filter { webhooks.hooks[$0.key] != nil }
        self.followed = webhooks.version
    }

    /// Removes some rows of removed webhooks. The rest has its turn after the other webhooks.
    private func close() async {
        guard let id = self.closing.randomElement() else { return }
        do {
            if try await self.tools.store.close(id) { self.closing.remove(id) }
            if !self.closing.isEmpty { self.wakeUps.continuation.yield() }
        } catch {
            self.logger.log(.webhookNotCleared, ["webhook": "\(id)", "error": "\(error)"])
        }
    }

    private func feed(_ webhook: Webhook, until position: Int64) async throws {
        for _ in 0..<Self.feedings {
            guard let cursor = self.feeds[webhook.id]?.cursor, cursor < position,
                let moved = try await self.tools.store.feed(webhook, until: position)
            else { return }
            self.feeds[webhook.id]?.cursor = moved
            // So many are open that the rest waits in the ledger, or another node was as quick.
            guard moved > cursor else { return }
        }
        self.wakeUps.continuation.yield()
    }

    /// Pages of the ledger that one webhook takes in before the others have their turn.
    private static let feedings = 10

    /// Begins due deliveries of each webhook by itself: a database error for one does not delay the others.
    private func begin(_ active: [Webhook]) async -> [(lease: WebhookStore.Lease, webhook: Webhook)] {
        var left = self.limits.attempts - self.underway.values.reduce(0, +)
        guard left > 0, !active.isEmpty else { return [] }
        self.turn = (self.turn + 1) % active.count
        var begun: [(lease: WebhookStore.Lease, webhook: Webhook)] = []
        for webhook in active[self.turn...] + active[..<self.turn] {
            let count = min(left, self.limits.attemptsOfOne - self.underway[webhook.id, default: 0])
            guard count > 0, !Task.isCancelled else { continue }
            do {
                let leases = try await self.tools.store.lease(
                    count, of: webhook.id, for: self.leaseSeconds, node: self.node)
                if !leases.isEmpty { self.underway[webhook.id, default: 0] += leases.count }
                left -= leases.count
                begun += leases.map { ($0, webhook) }
            } catch {
                self.logger.log(.webhookDelayed, ["webhook": "\(webhook.id)", "error": "\(error)"])
            }
        }
        return begun
    }

    /// Long enough for an attempt and its settling, in every case.
    private var leaseSeconds: Int { Int((self.client.limits.total * 3 / .seconds(1)).rounded(.up)) }

    private func end(_ lease: WebhookStore.Lease) {
        let count = self.underway[lease.webhook, default: 1] - 1
        self.underway[lease.webhook] = count == 0 ? nil : count
        self.wakeUps.continuation.yield()
    }

    /// Erases old secrets once an hour.
    private func sweep(_ webhooks: Webhooks) async throws {
        guard ContinuousClock.now >= self.nextSweep else { return }
        try await self.tools.secrets.eraseUnused(webhooks, at: self.clock())
        self.nextSweep = .now + .seconds(3600)
    }

    // MARK: One attempt

    private func deliver(_ lease: WebhookStore.Lease, to webhook: Webhook) async {
        let result = await self.attempt(lease, to: webhook)
        let now = self.clock()
        let verdict = DeliveryVerdict(
            result, attempt: lease.round, first: lease.firstAttempt, now: now, random: .random(in: 0..<1)
        )
        // Not cancelled with the rest: a message that the receiver has need not be sent again.
        let since = await finish(within: .seconds(1)) { await self.settle(lease, verdict) }
        self.tools.count(verdict)
        switch verdict {
        case .delivered, .released: break
        case .failed(_, _, let error, let isGone):
            self.logger.log(
                .webhookMessageFailed,
                ["webhook": "\(webhook.id)", "position": "\(lease.position)", "error": "\(error)"])
            if isGone { return await self.pause(webhook, .gone, because: "the receiver answered 410 Gone") }
        case .dead(_, let error):
            self.logger.log(
                .webhookMessageDead, ["webhook": "\(webhook.id)", "position": "\(lease.position)", "error": "\(error)"])
        }
        if let since, max(since, webhook.resumedAt ?? since).adding(seconds: Backoff.patience) < now {
            await self.pause(webhook, .failing, because: "nothing could be delivered for three days")
        }
    }

    private func attempt(
        _ lease: WebhookStore.Lease, to webhook: Webhook
    ) async -> Result<ReceiverAnswer, SendFailure> {
        let message: WebhookMessage
        do {
            message = WebhookMessage(
                webhook: webhook.id, entry: try Entry(bytes: lease.entry), bytes: lease.entry,
                epoch: self.ledger.view.state.fleet.epoch(at: lease.position))
        } catch { return .failure(.unsigned("the event cannot be read")) }
        return await self.tools.send(message, to: webhook, by: self.client, at: self.clock())
    }

    /// Records the result of an attempt. Where the database refuses it, the attempt is repeated after the lease.
    private func settle(_ lease: WebhookStore.Lease, _ verdict: DeliveryVerdict) async -> Timestamp? {
        for pause in [Duration.milliseconds(200), .seconds(1), .zero] {
            do { return try await self.tools.store.settle(lease, verdict) } catch {
                self.logger.log(.webhookResultNotRecorded, ["webhook": "\(lease.webhook)", "error": "\(error)"])
                guard (try? await Task.sleep(for: pause)) != nil else { return nil }
            }
        }
        return nil
    }

    private func pause(_ webhook: Webhook, _ why: WebhookPause, because reason: String) async {
        let outcome = await self.commands.submit(
            .webhooks(.pause(id: webhook.id, why)), because: reason, failure: .webhookNotPaused
        ) { if case .webhookUnknown = $0 { true } else { false } }
        guard outcome == .recorded else { return }
        self.logger.log(.webhookPaused, ["webhook": "\(webhook.id)", "reason": "\(reason)"])
    }
}
