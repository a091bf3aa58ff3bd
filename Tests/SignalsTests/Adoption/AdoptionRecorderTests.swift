import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import SeededRandom
import Testing

@testable import Signals

/// Clients that were seen, on their way into the database and out of it again.
@Suite(.timeLimit(.minutes(60)), .database)
struct AdoptionRecorderTests {
    /// A node's recorder and what it writes with.
    private struct Recorder {
        let pool: PostgresPool
        let recorder: AdoptionRecorder
        let log = LogRecorder()

        /// - Parameter hasKey: Whether it knows the key that salts are derived from.
        init(
            _ database: TestDatabase, as user: TestDatabase.User = .app, clock: ManualClock? = nil, hasKey: Bool = true
        ) async throws {
            self.pool = PostgresPool(
                configuration: try database.configuration(as: user, applicationName: "adoption"))
            let key = try KeyEncryptionKey([UInt8](repeating: 7, count: 32))
            self.recorder = AdoptionRecorder(
                store: AdoptionStore(pool: self.pool), salts: hasKey ? DailySalts(key, for: "installs") : nil,
                windowSeconds: 86_400, logger: self.log.logger,
                clock: { clock?.now ?? .wall }, currentVersion: { _ in 9 }
            )
        }

        func see(_ app: AppID, _ version: Int64, install: Int, times: Int = 1, isSigned: Bool = false) {
            let report = ClientReport(
                version: version, platform: .ios, install: InstallID(bytes: Array(sha256("\(install)".utf8).prefix(16)))
            )
            for _ in 0..<times { self.recorder.note([report], of: app, isSigned: isSigned) }
        }
    }

    private static func total(_ database: TestDatabase) async throws -> Int64 {
        try await database.query("SELECT coalesce(sum(reports), 0)::bigint FROM pinledger.adoption_count").only.int64(0)
    }

    @Test func `records of several nodes at once add up, and none waits endlessly`() async throws {
        let database = try TestDatabase.current
        let apps = try (0..<40).map { try AppID("com.example.app\($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for node in 0..<4 {
                group.addTask {
                    // In another order on each node.
                    var generator = SeededGenerator(seed: TestSeed.chosen(or: 40) &+ UInt64(node))
                    let node = (number: node, parts: try await Recorder(database))
                    for round in 0..<5 {
                        for app in apps.shuffled(using: &generator) {
                            for version in [7, 8, 9].shuffled(using: &generator) as [Int64] {
                                node.parts.see(app, version, install: node.number * 100 + round)
                            }
                        }
                        await node.parts.recorder.record()
                    }
                    #expect(await node.parts.recorder.unrecordedRows.isEmpty)
                    #expect(node.parts.log.text.isEmpty, "\(node.parts.log.text)")
                    await node.parts.pool.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await Self.total(database) == 4 * 5 * 40 * 3)
        let reader = try await Recorder(database, as: .reader)
        for app in apps.prefix(3) {
            let summary = try await reader.recorder.summary(of: app, hours: 24)
            // Two of twenty may share a register.
            #expect((18...20).contains(summary.facts.installs ?? 0))
            #expect(summary.versions.map(\.holding.held) == [.document(9), .document(8), .document(7)])
            #expect(summary.versions.allSatisfy { (18...20).contains($0.holding.installs) })
            #expect(summary.facts.total == AdoptionCount(reports: 300 / 5, identified: 300 / 5))
        }
        await reader.pool.close()
    }

    @Test func `no request is lost while the database refuses, and all are recorded once afterwards`() async throws {
        let database = try TestDatabase.current
        let app = try AppID("com.example.app")
        let node = try await Recorder(database)
        node.see(app, 8, install: 1, times: 3)
        await node.recorder.record()
        try await database.execute("ALTER TABLE pinledger.adoption_count RENAME TO away")
        node.see(app, 8, install: 2, times: 4)
        await node.recorder.record()
        await node.recorder.record()
        #expect(await node.recorder.unrecordedRows.map(\.count.reports) == [4])
        #expect(node.log.text.filter { $0.hasPrefix("warning") }.count == 2)
        try await database.execute("ALTER TABLE pinledger.away RENAME TO adoption_count")
        node.see(app, 8, install: 3)
        await node.recorder.record()
        await node.recorder.record()
        #expect(try await Self.total(database) == 8)
        #expect(try await node.recorder.summary(of: app, hours: 1).facts.installs == 3)
        await node.pool.close()
    }

    @Test func `requests that are not recorded yet are in the node's own figures, once`() async throws {
        let database = try TestDatabase.current
        let app = try AppID("com.example.app")
        let (node, other) = (try await Recorder(database), try await Recorder(database))
        node.see(app, 8, install: 1, times: 3)
        #expect(try await node.recorder.summary(of: app, hours: 1).facts.total.reports == 3)
        #expect(try await other.recorder.summary(of: app, hours: 1).facts.total.reports == 0)
        await node.recorder.record()
        node.see(app, 9, install: 1)
        for (recorder, count) in [(node.recorder, 4), (other.recorder, 3)] as [(AdoptionRecorder, Int64)] {
            let facts = try await recorder.summary(of: app, hours: 1).facts
            #expect(facts.total.reports == count)
            #expect(facts.installs == 1)
        }
        for each in [node, other] { await each.pool.close() }
    }

    @Test func `a node that may only read keeps its counts, and says so once`() async throws {
        let database = try TestDatabase.current
        let app = try AppID("com.example.app")
        let node = try await Recorder(database, as: .reader)
        for _ in 0..<3 {
            node.see(app, 8, install: 1)
            await node.recorder.record()
        }
        #expect(try await Self.total(database) == 0)
        #expect(try await node.recorder.summary(of: app, hours: 1).facts.total.reports == 3)
        #expect(node.log.text.count == 1)
        #expect(node.log.text.first?.contains("in its memory only") == true)
        await node.pool.close()
    }

    @Test func `a request counts in the hour and the day in which it came`() async throws {
        let database = try TestDatabase.current
        let app = try AppID("com.example.app")
        let clock = ManualClock()
        let node = try await Recorder(database, clock: clock)
        for install in 0..<3 {
            node.see(app, 8, install: install)
            await node.recorder.record()
            clock.advance(seconds: 86_400)
        }
        let rows = try await database.query(
            "SELECT count(DISTINCT hour), count(DISTINCT day) FROM pinledger.adoption_count, pinledger.adoption_sketch")
        #expect(try rows.only.int64(0) == 3)
        // Each by the salts of its day and of the day before.
        #expect(try rows.only.int64(1) == 4)
        // The clock has gone on by a day since the last one.
        for (hours, installs) in [(25, 1), (49, 1), (73, 1)] as [(Int64, Int64?)] {
            #expect(try await node.recorder.summary(of: app, hours: hours).facts.installs == installs, "\(hours)")
        }
        await node.pool.close()
    }

    @Test func `an install of yesterday is one and the same today`() async throws {
        let database = try TestDatabase.current
        let app = try AppID("com.example.app")
        let clock = ManualClock()
        let node = try await Recorder(database, clock: clock)
        for install in 0..<3 { node.see(app, 8, install: install, isSigned: true) }
        await node.recorder.record()
        clock.advance(seconds: 86_400)
        for install in 0..<3 { node.see(app, 9, install: install, isSigned: true) }
        await node.recorder.record()
        let other = try await Recorder(database, clock: clock)
        for each in [node, other] {
            let signed = try await each.recorder.summary(of: app, hours: 24).facts.signed
            #expect(signed.installs == 3)
            #expect(signed.share(holdingAtLeast: 9).basisPoints == 10_000)
            await each.pool.close()
        }
    }

    @Test func `a node without the key counts requests and no installs`() async throws {
        let app = try AppID("com.example.app")
        let node = try await Recorder(try TestDatabase.current, hasKey: false)
        node.see(app, 8, install: 1, times: 3, isSigned: true)
        await node.recorder.record()
        let facts = try await node.recorder.summary(of: app, hours: 1).facts
        #expect(facts.total == AdoptionCount(reports: 3) && facts.installs == nil && facts.signed.installs == nil)
        await node.pool.close()
    }

    @Test func `an impossible version is counted apart, with the stated version`() async throws {
        let app = try AppID("com.example.app")
        let node = try await Recorder(try TestDatabase.current)
        node.see(app, 109, install: 1, times: 3, isSigned: true)
        node.see(app, 9, install: 2)
        await node.recorder.record()
        let facts = try await node.recorder.summary(of: app, hours: 1).facts
        #expect(facts.claims == AdoptionClaims(sightings: 4, ahead: [109: 3]))
        #expect(facts.installs == 1 && facts.signed.installs == nil)
        await node.pool.close()
    }

    @Test func `a surge of requests is reported once an hour`() async throws {
        let database = try TestDatabase.current
        let app = try AppID("com.example.app")
        try await database.execute(
            """
            INSERT INTO pinledger.adoption_count
            VALUES ('com.example.app', date_trunc('hour', now()) - interval '3 hours', 8, '', '', 1500, 0, 0)
            """)
        let node = try await Recorder(database)
        let running = Task { await node.recorder.run() }
        func request(_ count: Int64) {
            var batch = AdoptionBatch()
            let index = node.recorder.intake.index(of: app)
            batch.steady = [.init(index: index, version: 9, holding: count, empty: 0)]
            node.recorder.intake.take(batch)
        }
        request(15_000)
        await node.recorder.lookForSurges()
        #expect(node.recorder.surge(of: app) == nil && node.log.text.isEmpty)
        request(1)
        for _ in 0..<2 { await node.recorder.lookForSurges() }
        let surge = try #require(node.recorder.surge(of: app))
        #expect(surge.sightings == 15_001 && surge.usual == 1500)
        #expect(node.log.text.filter { $0.contains("far more") }.count == 1)
        running.cancel()
        await running.value
        await node.pool.close()
    }

    @Test func `adoption facts are made on demand, and kept at hand`() async throws {
        let database = try TestDatabase.current
        let app = try AppID("com.example.app")
        let node = try await Recorder(database)
        node.see(app, 8, install: 1)
        #expect(node.recorder.facts(of: app) == nil)
        let running = Task { await node.recorder.run() }
        #expect(await eventually { node.recorder.facts(of: app) != nil })
        let facts = try #require(node.recorder.facts(of: app))
        #expect(facts.share(holdingAtLeast: 8).basisPoints == 10_000)
        #expect(facts.windowSeconds == 86_400)
        // What is counted up to the end is recorded.
        node.see(app, 8, install: 2)
        running.cancel()
        await running.value
        #expect(try await Self.total(database) == 2)
        await node.pool.close()
    }

    @Test func `the adoption cache holds a bounded number of apps, each for as long as it is asked for`() throws {
        let cache = AdoptionFactsCache(windowSeconds: 60)
        let start = ContinuousClock.now
        let apps = try (0..<1001).map { try AppID("com.example.app\($0)") }
        let facts = AdoptionFacts(measuredAt: Timestamp(seconds: 0), windowSeconds: 60, holdings: [])
        for (number, app) in apps.enumerated() {
            #expect(cache.facts(of: app, at: start + .milliseconds(number)) == nil)
            cache.keep(facts, of: app, at: start)
        }
        #expect(cache.wanted(at: start + .seconds(29)).isEmpty)
        #expect(cache.wanted(at: start + .seconds(30)).count == 1000)
        #expect(cache.facts(of: apps[1], at: start + .seconds(300)) == facts)
        #expect(cache.wanted(at: start + .seconds(700)) == [apps[1]])
        // The first one had to go.
        #expect(cache.facts(of: apps[0], at: start + .seconds(700)) == nil)
    }

    @Test func `old adoption records are forgotten`() async throws {
        let database = try TestDatabase.current
        let app = try await database.connect(as: .app)
        for days in [1, 7, 9, 40] {
            try await app.query(
                """
                SELECT pinledger.add_adoption_counts('{a}', ARRAY[now() - make_interval(days => $1)], '{1}', '{""}', '{""}',
                    '{1}', '{0}', '{0}')
                """, [.int32(Int32(days))])
        }
        try await app.query("SELECT pinledger.forget_adoption(now() - interval '35 days')")
        #expect(try await app.query("SELECT count(*) FROM pinledger.adoption_count").only.int64(0) == 3)
        // A request for more does not get it.
        try await app.query("SELECT pinledger.forget_adoption(now() + interval '1 year')")
        #expect(try await app.query("SELECT count(*) FROM pinledger.adoption_count").only.int64(0) == 2)
        await app.close()
    }
}
