import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Secrets
import Testing

@testable import Signals

/// What clients reported, on its way into the database and out of it again.
@Suite(.timeLimit(.minutes(60)), .database)
struct RecorderTests {
    /// A process and what it writes with.
    private struct Node {
        let pool: PostgresPool
        let recorder: TelemetryRecorder
        let log = LogRecorder()

        init(_ database: TestDatabase, _ name: String, clock: ManualClock? = nil) async throws {
            self.pool = PostgresPool(configuration: try database.configuration(as: .app, applicationName: "telemetry"))
            let store = TelemetryStore(pool: self.pool)
            let thread = ThreadExecutor()
            try thread.start(.background)
            self.recorder = TelemetryRecorder(
                store: store, intake: TelemetryIntake(salts: try salts(), rate: 0), node: name,
                thread: thread,
                logger: self.log.logger, clock: { clock?.now ?? .wall })
        }

        @discardableResult
        func take(
            _ numbers: Range<Int>, _ outcome: ConnectionOutcome = .success, seal: [UInt8]? = [1], ids: Bool = false
        ) throws -> ReportReceipt {
            let outcomes = numbers.map { number in
                OutcomeReport(
                    host: "api.example.com", outcome: outcome, servedPins: [served], arm: .candidate,
                    documentVersion: 3, platform: .ios, install: install(number), id: ids ? "id \(number)" : nil)
            }
            return self.recorder.intake.take(ReportBatch(outcomes), from: try origin(seal), at: .wall)
        }
    }

    private static func rows(_ database: TestDatabase) async throws -> Int64 {
        try await database.query("SELECT count(*) FROM pinledger.outcome_minute").only.int64(0)
    }

    @Test func `outcomes that two nodes counted are the same on both`() async throws {
        let database = try TestDatabase.current
        let nodes = [try await Node(database, "a"), try await Node(database, "b")]
        try nodes[0].take(0..<100, .failure(.pinMismatch))
        try nodes[1].take(50..<150, seal: [2])
        try nodes[1].take(0..<10, .failure(.chainInvalid), seal: nil)
        for node in nodes {
            await node.recorder.record()
            // A second time writes nothing.
            await node.recorder.record()
            #expect(node.log.text.isEmpty, "\(node.log.text)")
        }
        for node in nodes {
            let facts = try await node.recorder.summary(of: shop, hours: 2).facts
            #expect(facts.cells.count == 2)
            let cell = try #require(facts.cells.first)
            // Both saw 50 installs; nobody can tell in which order within a minute, and the failure counts.
            #expect(cell.isAuthenticated && cell.installs == 150 && (50...100).contains(cell.failing))
            #expect(cell.servedPins == [served] && cell.networkCount == 1)
            #expect(cell.minutes.reduce(0) { $0 + $1.installs } == 150)
            let advisory = try #require(facts.cells.last)
            #expect(!advisory.isAuthenticated && advisory.installs == 10 && advisory.failing == 10)
        }
        for node in nodes { await node.pool.close() }
    }

    @Test func `a process that restarts counts no install twice`() async throws {
        let database = try TestDatabase.current
        let first = try await Node(database, "a")
        try first.take(0..<30)
        await first.recorder.record()
        let second = try await Node(database, "a2")
        try second.take(0..<40, seal: [2])
        await second.recorder.record()
        #expect(try await second.recorder.summary(of: shop, hours: 2).facts.cells.map(\.installs) == [40])
        #expect(try await Self.rows(database) >= 2)
        for node in [first, second] { await node.pool.close() }
    }

    @Test func `no report is lost while the database refuses, and all are recorded afterwards`() async throws {
        let database = try TestDatabase.current
        let node = try await Node(database, "a")
        try await database.execute("ALTER TABLE pinledger.outcome_minute RENAME TO away")
        for round in 0..<3 {
            try node.take(round * 10..<round * 10 + 10, seal: [UInt8(round)])
            await node.recorder.record()
        }
        #expect(node.log.text.filter { $0.hasPrefix("warning") }.count == 1)
        try await database.execute("ALTER TABLE pinledger.away RENAME TO outcome_minute")
        await node.recorder.record()
        #expect(try await node.recorder.summary(of: shop, hours: 2).facts.cells.map(\.installs) == [30])
        #expect(node.log.text.count == 2)
        await node.pool.close()
    }

    @Test func `rules get facts without waiting, and new ones within seconds`() async throws {
        let database = try TestDatabase.current
        let (node, other) = (try await Node(database, "a"), try await Node(database, "b"))
        let running = Task { await node.recorder.run() }
        #expect(node.recorder.facts(of: shop) == nil)
        #expect(await eventually { node.recorder.facts(of: shop)?.cells.isEmpty == true })
        try other.take(0..<20, .failure(.pinMismatch))
        await other.recorder.record()
        try node.take(20..<25)
        #expect(await eventually { node.recorder.facts(of: shop)?.cells.first?.installs == 25 })
        #expect(node.recorder.facts(of: shop)?.cells.first?.failing == 20)
        running.cancel()
        await running.value
        for each in [node, other] { await each.pool.close() }
    }

    @Test func `repeated reports are duplicates, whether by id or by signature`() async throws {
        let node = try await Node(try TestDatabase.current, "a")
        #expect(try node.take(0..<5, seal: [1], ids: true).taken == 5)
        #expect(try node.take(0..<6, seal: [2], ids: true).duplicate == 5)
        #expect(try node.take(6..<9, seal: [1]).duplicate == 3)
        // A client without a key cannot make a key owner's reports duplicates.
        #expect(try node.take(20..<22, seal: nil, ids: true).taken == 2)
        #expect(try node.take(20..<22, seal: [3], ids: true).taken == 2)
        await node.pool.close()
    }

    @Test func `signatures and ids do not crowd each other out`() throws {
        let intake = TelemetryIntake(salts: try salts(), rate: 0, recent: 10)
        func take(ids: Range<Int>, seal: UInt8) throws -> ReportReceipt {
            let outcomes = ids.map {
                OutcomeReport(host: "api.example.com", outcome: .success, install: install(1), id: "\($0)")
            }
            return intake.take(ReportBatch(outcomes), from: try origin([seal]), at: noon)
        }
        // Thirty ids under one signature: the signature is remembered, and the first ids are not.
        #expect(try take(ids: 0..<30, seal: 1).taken == 30)
        #expect(try take(ids: 100..<101, seal: 1).duplicate == 1)
        #expect(try take(ids: 0..<1, seal: 2).taken == 1)
        // One id, and thirty signatures.
        for seal in 3..<33 as Range<UInt8> { _ = try take(ids: 0..<0, seal: seal) }
        #expect(try take(ids: 0..<1, seal: 33).duplicate == 1)
        #expect(try take(ids: 200..<201, seal: 1).taken == 1)
    }

    @Test func `reports of an unknown candidate are counted apart, of whatever version`() async throws {
        let node = try await Node(try TestDatabase.current, "a")
        let outcomes = (0..<3).map {
            OutcomeReport(
                host: "api.example.com", outcome: .success, arm: .candidate, documentVersion: Int64($0 + 1),
                install: install($0))
        }
        #expect(node.recorder.intake.take(ReportBatch(outcomes), from: try origin(nil), at: .wall).taken == 3)
        await node.recorder.record()
        let cells = try await node.recorder.summary(of: shop, hours: 2).facts.cells
        #expect(cells.map(\.version) == [0] && cells.map(\.arm) == [.candidate] && cells.map(\.installs) == [3])
        await node.pool.close()
    }

    @Test func `hosts and versions that the app does not have are refused together`() async throws {
        let node = try await Node(try TestDatabase.current, "a")
        let outcomes = [
            ("api.example.com", 4), ("other.example.com", 3), ("x.api.example.com", 3), ("a.b.wild.example", 1),
        ]
        .map {
            OutcomeReport(
                host: $0.0, outcome: .success, documentVersion: Int64($0.1), install: install(1))
        }
        let receipt = node.recorder.intake.take(ReportBatch(outcomes), from: try origin(nil), at: .wall)
        #expect(receipt.refusals == [.hostUnknown: 3, .versionUnknown: 1] && receipt.taken == 0)
        #expect(node.recorder.intake.counts.refused == 4)
        await node.pool.close()
    }

    @Test func `old minutes are forgotten, and recent ones never`() async throws {
        let database = try TestDatabase.current
        let clock = ManualClock()
        let node = try await Node(database, "a", clock: clock)
        let row = { (days: Int64) in
            TelemetryRow(
                app: shop, isAuthenticated: true, minute: Timestamp.wall.adding(seconds: -86_400 * days).startOfMinute,
                level: 0, content: Array("{}".utf8), units: [])
        }
        let store = TelemetryStore(pool: node.pool)
        try await store.record([row(0), row(1), row(5), row(20)], by: "a")
        let forget = "SELECT pinledger.forget_outcomes(now() - make_interval(days => $1))"
        _ = try await node.pool.query(forget, [.int32(14)])
        #expect(try await Self.rows(database) == 3)
        _ = try await node.pool.query(forget, [.int32(0)])
        #expect(try await Self.rows(database) == 2)
        await node.pool.close()
    }

    @Test func `secrets are sealed, bound to their app, and gone when they are erased`() async throws {
        let database = try TestDatabase.current
        let node = try await Node(database, "a")
        let key = try KeyEncryptionKey([UInt8](repeating: 7, count: 32))
        let vault = TelemetrySecrets(pool: node.pool, keyEncryptionKeys: KeyEncryptionKeys(key))
        let secret = try await vault.create("tlk_1", of: shop)
        let code = secret.code(app: shop.text, time: 7, body: [1, 2])
        let other = TelemetrySecrets(pool: node.pool, keyEncryptionKeys: KeyEncryptionKeys(key))
        let opened = try await other.secret("tlk_1", of: shop)
        #expect(opened.isAuthentic(code, app: shop.text, time: 7, body: [1, 2]))
        #expect(!opened.isAuthentic(code, app: shop.text, time: 8, body: [1, 2]))
        #expect(!opened.isAuthentic(code, app: "com.example.other", time: 7, body: [1, 2]))
        #expect(!opened.isAuthentic(code, app: shop.text, time: 7, body: [1, 3]))
        #expect(!opened.isAuthentic([], app: shop.text, time: 7, body: [1, 2]))
        #expect("\(opened)" == "tlsec_…")
        let third = TelemetrySecrets(pool: node.pool, keyEncryptionKeys: KeyEncryptionKeys(key))
        await #expect(throws: (any Error).self) { try await third.secret("tlk_1", of: appID("com.example.other")) }
        try await vault.erase("tlk_1")
        await #expect(throws: (any Error).self) { try await third.secret("tlk_1", of: shop) }
        await node.pool.close()
    }
}

/// A batch's origin, of an app with one host and three versions.
/// The same on every node.
private func salts() throws -> DailySalts {
    DailySalts(try KeyEncryptionKey([UInt8](repeating: 7, count: 32)), for: "reports")
}

private func origin(_ seal: [UInt8]?) throws -> TelemetryIntake.Origin {
    let commands: [AppCommand] = [
        .create(displayName: "Shop"), .addHost(api, includesSubdomains: false, mode: .off, pins: []),
        .addHost(host("*.wild.example"), includesSubdomains: false, mode: .off, pins: []),
    ]
    let context = DecisionContext(now: noon, reason: try Reason("test"), isForced: true) { _ in false }
    var state = LedgerState()
    for event in try state.decide(.app(shop, commands), in: context).events {
        _ = state.apply(event, of: .app(shop), at: noon)
    }
    let app = try #require(state.apps[shop])
    return TelemetryIntake.Origin(
        app: shop, hosts: ReportedHosts(app), version: app.version, network: CoarseNetwork(bits: 7),
        bucket: CoarseNetwork(bits: 7), seal: seal)
}
