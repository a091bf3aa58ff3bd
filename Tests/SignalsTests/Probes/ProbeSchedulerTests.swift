import Addresses
import EventStore
import Fixtures
import Logging
import PinWire
import Pinning
import Probing
import Synchronization
import Testing

@testable import Signals

/// Nodes that look, on one database.
@Suite(.database, .timeLimit(.minutes(60))) struct `A probeScheduler` {
    private let log = LogRecorder()
    private let made: MadeCertificates

    init() throws {
        self.made = try MadeCertificates.shared.get()
    }

    /// A lookout that sees one certificate wherever it looks, or fails.
    private func probeScheduler(
        _ node: TestNode, _ summary: ObservationSummary, vantage: String = "here", failure: ProbeFailure? = nil,
        clock: @escaping @Sendable () -> Timestamp = { probeTime }
    ) -> ProbeScheduler {
        let certificate = self.made.ec
        return ProbeScheduler(
            summary: summary, store: ObservationStore(pool: node.pool), ledger: node.ledger, vantage: vantage,
            schedule: ProbeSchedule(), isScheduled: false, records: true, logger: self.log.logger,
            readingInterval: .milliseconds(10), clock: clock,
            probe: { target in
                if let failure { return ProbeReport(target: target, failure: failure) }
                guard let address = IPAddress("192.0.2.1") else { return ProbeReport(target: target) }
                let chain = PresentedChain(certificates: [certificate], keyKind: .ecdsa, version: "TLSv1.3")
                let service = ServedChains(chains: [chain], otherKind: .absent)
                return ProbeReport(
                    target: target, addresses: [AddressReport(address: address, outcome: .served(service))])
            }
        )
    }

    private func run(_ probeScheduler: ProbeScheduler, while body: () async throws -> Void) async throws {
        let result = await withTaskGroup(of: Void.self, returning: Result<Void, any Error>.self) { group in
            group.addTask { await probeScheduler.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            group.cancelAll()
            return result
        }
        try result.get()
    }

    private var warnings: Int {
        self.log.text.count { $0.contains("observations_unreadable") }
    }

    @Test func `a probe scheduler learns what another node sees`() async throws {
        try await TestNode.run(2, on: .current) { nodes in
            _ = try await nodes[0].writer.execute(Sample.create(Sample.app(), hosts: 1))
            let (here, there) = (ObservationSummary(), ObservationSummary())
            let first = self.probeScheduler(nodes[0], here)
            let second = self.probeScheduler(nodes[1], there, vantage: "there")
            await second.load()
            #expect(try there.facts(of: endpoint()) == nil)
            try await self.run(second) {
                _ = await first.probe(try endpoint())
                let known = try #require(try here.facts(of: endpoint()))
                let isKnown = try await eventually { try there.facts(of: endpoint()) == known }
                #expect(isKnown)
            }
            // And one that begins later.
            let later = ObservationSummary()
            await self.probeScheduler(nodes[1], later).load()
            #expect(try later.facts(of: endpoint()) == here.facts(of: endpoint()))
        }
    }

    @Test func `a probe scheduler records nothing for endpoints that no host names`() async throws {
        try await TestNode.run(on: .current) { node in
            let summary = ObservationSummary()
            let observation = await self.probeScheduler(node, summary).probe(try endpoint())
            #expect(try observation.chains.count == 1 && summary.facts(of: endpoint()) == nil)
        }
    }

    @Test func `a probe scheduler counts a failure against the host only where it is evidence`() async throws {
        try await TestNode.run(on: .current) { node in
            _ = try await node.writer.execute(Sample.create(Sample.app(), hosts: 1))
            let summary = ObservationSummary()
            for (kind, seconds, failures) in [
                (ProbeFailure.Kind.refused, Int64(0), 1), (.refused, 60, 2), (.resolverFailed, 120, 2),
            ] {
                let failure = ProbeFailure(.connection, kind, "it failed")
                let probeScheduler = self.probeScheduler(
                    node, summary, failure: failure, clock: { probeTime + seconds })
                _ = await probeScheduler.probe(try endpoint())
                #expect(try summary.history(of: endpoint(), from: "here")?.failures == failures)
            }
        }
    }

    @Test func `a probe scheduler resumes reading where it last could`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let time = Mutex(probeTime)
            let now: @Sendable () -> Timestamp = { time.withLock { $0 } }
            let summary = ObservationSummary()
            let probeScheduler = self.probeScheduler(node, summary, clock: now)
            await probeScheduler.load()
            try await database.execute("REVOKE SELECT ON pinledger.observation FROM pinledger_app")
            let store = ObservationStore(pool: node.pool)
            try await store.record(try observation(["192.0.2.1": [certificate(1)]], at: probeTime + 10), failures: 0)
            try await self.run(probeScheduler) {
                _ = await eventually { self.warnings > 0 }
                time.withLock { $0 = probeTime + 3600 }
                let count = self.warnings
                _ = await eventually { self.warnings > count + 2 }
                #expect(self.warnings > count + 2)
                #expect(try summary.facts(of: endpoint()) == nil)
                try await database.execute("GRANT SELECT ON pinledger.observation TO pinledger_app")
                let isKnown = try await eventually { try summary.facts(of: endpoint()) != nil }
                #expect(isKnown)
            }
        }
    }

    @Test func `a probe scheduler begins without the records, and reads them as soon as it can`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let store = ObservationStore(pool: node.pool)
            try await store.record(
                try observation(["192.0.2.1": [certificate(1)]], at: probeTime + -86_400), failures: 0)
            try await database.execute("REVOKE SELECT ON pinledger.observation FROM pinledger_app")
            let summary = ObservationSummary()
            let probeScheduler = self.probeScheduler(node, summary)
            await probeScheduler.load()
            #expect(try self.warnings == 1 && summary.facts(of: endpoint()) == nil)
            try await database.execute("GRANT SELECT ON pinledger.observation TO pinledger_app")
            try await self.run(probeScheduler) {
                let isKnown = try await eventually { try summary.facts(of: endpoint()) != nil }
                #expect(isKnown)
            }
        }
    }
}
