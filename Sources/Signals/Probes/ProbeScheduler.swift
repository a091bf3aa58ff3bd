import Concurrency
package import CoreMetrics
package import EventStore
import Exposition
import LogLines
package import Logging
package import PinWire
package import Pinning
package import Probing
import Synchronization

/// Probes the services of all hosts on a schedule, from this node's place in the network, and stores the chains of all
/// nodes.
///
/// A node without a name for its place probes only on request, as ``unnamed``. If the process dies, the next one
/// repeats the probes since the last record (one probe at the most).
package final class ProbeScheduler: Sendable {
    private let summary: ObservationSummary
    private let store: ObservationStore
    private let ledger: Ledger
    private let look: @Sendable (ProbeTarget) async -> ProbeReport
    private let onSeen: @Sendable (Observation) -> Void
    /// The name of this node's place in the network.
    package let vantage: String
    /// The name that all nodes share whose place has no name. It stands for no known place: two of them may be the same
    /// machine, and so it does not count as a second point of view (G24).
    package static let unnamed = "unnamed"
    private let schedule: ProbeSchedule
    private let isScheduled: Bool
    private let records: Bool
    private let clock: @Sendable () -> Timestamp
    private let logger: Logger
    private let reached: Counter
    private let failed: Counter
    private let unable: Counter
    /// How often it reads other nodes' results.
    private let readingInterval: Duration
    /// The time up to which all records have been read; nil until all of them were read once.
    private let readUntil = Mutex<Timestamp?>(nil)
    /// The ledger's endpoints when they were last listed, and its position then.
    private let targets = Mutex<(position: Int64, endpoints: [Endpoint: Bool])>((-1, [:]))

    /// Probes at once; each may have several connections.
    private static let concurrency = 32

    /// - Parameters:
    ///   - isScheduled: Whether it probes by itself, and not only on request.
    ///   - records: Whether it may write to the database.
    ///   - onSeen: Called with each observation of a host's endpoint by this node.
    package init(
        summary: ObservationSummary, store: ObservationStore, ledger: Ledger, vantage: String, schedule: ProbeSchedule,
        isScheduled: Bool, records: Bool, logger: Logger, metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        readingInterval: Duration = .seconds(5),
        clock: @escaping @Sendable () -> Timestamp, onSeen: @escaping @Sendable (Observation) -> Void = { _ in },
        probe: @escaping @Sendable (ProbeTarget) async -> ProbeReport
    ) {
        self.summary = summary
        self.store = store
        self.ledger = ledger
        self.look = probe
        self.onSeen = onSeen
        self.vantage = vantage
        self.schedule = schedule
        self.isScheduled = isScheduled
        self.records = records
        self.logger = logger
        func counter(_ outcome: String) -> Counter {
            Counter(label: MetricFamily.probes.rawValue, dimensions: [("outcome", outcome)], factory: metrics)
        }
        (self.reached, self.failed, self.unable) = (counter("reached"), counter("failed"), counter("unable"))
        self.readingInterval = readingInterval
        self.clock = clock
    }

    /// Reads all records. Where it cannot, it logs that, and ``run()`` tries again: until then the chains of servers
    /// are unknown, and the guard rails say so.
    package func load() async { await self.readNews() }

    /// Probes an endpoint now. The result is recorded where the endpoint belongs to an app's host.
    package func probe(_ endpoint: Endpoint) async -> Observation {
        let report = await self.look(endpoint.target)
        let observation = Observation(report, of: endpoint, from: self.vantage, at: self.clock())
        self.count(observation)
        guard self.watched()[endpoint] != nil else { return observation }
        await self.keep(observation)
        return observation
    }

    private func count(_ observation: Observation) {
        let counter = observation.isEvidence ? self.failed : self.unable
        (observation.chains.isEmpty ? counter : self.reached).increment()
    }

    /// The endpoints of all hosts and what is known of them, in numbers.
    package func overview(at now: Timestamp) -> ProbeOverview {
        self.summary.overview(of: self.watched().keys, at: now)
    }

    /// Probes due endpoints, and reads other nodes' results; until cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.follow() }
            guard self.isScheduled else { return }
            group.addTask { await self.patrol() }
        }
    }

    // MARK: Reading

    private func follow() async {
        await PeriodicWorker(every: self.readingInterval, first: .afterInterval).run { await self.readNews() }
    }

    /// Reads the records since the last successful read.
    private func readNews() async {
        // Clocks of other nodes may be a little behind, and their records take a moment.
        let from = self.readUntil.withLock { $0 }?.adding(seconds: -60)
        let now = self.clock()
        do {
            try await self.store.read(after: from) { self.summary.take($0, $1) }
            self.readUntil.withLock { $0 = now }
        } catch {
            // The probe of a node that stops is not evidence.
            guard !Task.isCancelled else { return }
            self.logger.log(.observationsUnreadable, ["error": "\(error)"])
        }
    }

    // MARK: Probing

    private func patrol() async {
        var due: [Endpoint: (time: Timestamp, isUrgent: Bool)] = [:]
        var generator = SystemRandomNumberGenerator()
        await PeriodicWorker(every: .seconds(1)).run {
            let now = self.clock()
            let watched = self.watched()
            due = due.filter { watched[$0.key] != nil }
            // Drawn once for each probe, and again when a rotation begins or ends to watch.
            for (endpoint, isUrgent) in watched where due[endpoint]?.isUrgent != isUrgent {
                let history = self.summary.history(of: endpoint, from: self.vantage)
                let next = self.schedule.next(
                    after: .init(last: history?.last, failures: history?.failures ?? 0), isWatched: isUrgent, now: now,
                    random: Double.random(in: 0..<1, using: &generator)
                )
                due[endpoint] = (next, isUrgent)
            }
            let ready = due.filter { $0.value.time <= now }.sorted { $0.value.time < $1.value.time }.map(\.key)
            await self.probe(all: ready)
            for endpoint in ready { due[endpoint] = nil }
        }
    }

    private func probe(all endpoints: [Endpoint]) async {
        await withDiscardingTaskGroup { group in
            // As many tasks as there may be probes at once, each taking the next of its share.
            for lane in 0..<min(Self.concurrency, endpoints.count) {
                group.addTask {
                    for index in stride(from: lane, to: endpoints.count, by: Self.concurrency) {
                        guard !Task.isCancelled else { return }
                        _ = await self.probe(endpoints[index])
                    }
                }
            }
        }
    }

    private func keep(_ observation: Observation) async {
        let before = self.summary.history(of: observation.endpoint, from: self.vantage)?.failures ?? 0
        let failures = observation.chains.isEmpty ? (observation.isEvidence ? before + 1 : before) : 0
        self.summary.take(observation, failures: failures)
        self.onSeen(observation)
        guard self.records else { return }
        do { try await self.store.record(observation, failures: failures) } catch {
            self.logger.log(.observationNotRecorded, ["endpoint": "\(observation.endpoint)", "error": "\(error)"])
        }
    }

    // MARK: What to probe

    /// The endpoints of all hosts, and whether a rotation waits for their chains. Looked up again only when the ledger
    /// has grown.
    private func watched() -> [Endpoint: Bool] {
        let view = self.ledger.view
        let known = self.targets.withLock { $0.position == view.head.position ? $0.endpoints : nil }
        if let known { return known }
        var endpoints: [Endpoint: Bool] = [:]
        for app in view.state.apps.values {
            let urgent = Set(
                app.rotations.filter { $0.phase == .switch || $0.phase == .settle }.flatMap(\.hosts))
            for (pattern, host) in app.hosts {
                for endpoint in host.probed(of: pattern) {
                    endpoints[endpoint] = endpoints[endpoint] ?? false || urgent.contains(pattern)
                }
            }
        }
        self.targets.withLock { $0 = (view.head.position, endpoints) }
        return endpoints
    }
}
