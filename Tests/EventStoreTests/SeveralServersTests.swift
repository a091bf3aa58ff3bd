import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

/// Nodes whose pools have connections to a primary and to a standby that lags behind it.
@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct SeveralServersTests {
    /// A node that prefers the standby and records nothing, beside one that records on the primary.
    private struct Scene {
        var standby: TestCluster
        var primary: TestDatabase
        var recorder: TestNode
        var reader: TestNode
        var app: AppID

        /// Records so many events, each of its own.
        func record(_ count: Int) async throws {
            for number in 0..<count {
                _ = try await self.recorder.writer.execute(
                    try Sample.rename(self.app, "\(self.recorder.ledger.position) \(number)"))
            }
        }

        /// Does something while others take and return the pool's connections, so that nobody knows which one comes next.
        func shufflingConnections(_ body: () async throws -> Void) async throws {
            let pool = self.reader.pool
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        while !Task.isCancelled {
                            _ = try? await pool.withConnection { try await $0.query("SELECT pg_is_in_recovery()") }
                        }
                    }
                }
                defer { group.cancelAll() }
                try await body()
            }
        }
    }

    private static func run(
        bulkSize: Int64 = 8000, follows: Bool = false, _ body: (Scene) async throws -> Void
    ) async throws {
        try await TestCluster.run { cluster in
            let primary = try await cluster.database()
            try await cluster.withStandby { standby in
                let both = TestCluster.database(on: standby, cluster)
                let recording = TestNode.Setup.with { $0.name = "recorder" }
                let reading = TestNode.Setup.with {
                    $0.name = "reader"
                    $0.follows = follows
                    $0.bulkSize = bulkSize
                    $0.configureListener = { $0.preferredServer = .readWrite }
                    $0.poolSize = 2
                    $0.configurePool = { $0.preferredServer = .preferStandby }
                }
                let app = try Sample.app()
                try await TestNode.run(on: primary, recording) { recorder in
                    _ = try await recorder.writer.execute(try Sample.create(app))
                    try await TestNode.run(on: both, reading) { reader in
                        try await body(
                            Scene(standby: standby, primary: primary, recorder: recorder, reader: reader, app: app))
                    }
                }
            }
        }
    }

    /// Pages of a few entries, and one COPY.
    @Test(arguments: [8000, 1] as [Int64])
    func `a node whose connections lead to a primary and to a standby behind it does not halt`(
        bulkSize: Int64
    ) async throws {
        try await Self.run(bulkSize: bulkSize) { scene in
            let (ledger, follower) = (scene.reader.ledger, scene.reader.follower)
            #expect(
                try await eventually {
                    try await follower.catchUp()
                    return ledger.position == 1
                })
            #expect(try await scene.standby.connectToBoth(scene.reader.pool) == [false, true])
            try await scene.standby.setReplay(false)
            try await scene.shufflingConnections {
                for _ in 0..<40 {
                    try await scene.record(1)
                    // The node takes in what the primary has, and is not misled by what the standby lacks.
                    for _ in 0..<8 { try await follower.catchUp() }
                    #expect(ledger.fault == nil)
                }
                let end = scene.recorder.ledger.position
                #expect(
                    try await eventually {
                        try await follower.catchUp()
                        return ledger.position == end
                    })
            }
            try await scene.standby.setReplay(true)
            try await scene.record(1)
            let end = scene.recorder.ledger.position
            #expect(
                try await eventually {
                    try await follower.catchUp()
                    return ledger.position == end
                })
        }
    }

    @Test func `a node leaves a standby whose replay stands still for the primary, which announces more`() async throws
    {
        try await Self.run(follows: true) { scene in
            let ledger = scene.reader.ledger
            ledger.hold(scene.reader.pool, logger: .silent)
            func isThere() async -> Bool {
                let end = scene.recorder.ledger.position
                return await eventually { ledger.position == end }
            }
            #expect(await isThere())
            try await scene.standby.setReplay(false)
            for _ in 0..<3 {
                try await scene.record(1)
                #expect(await isThere())
            }
            // Announcements that are not true lead nowhere.
            _ = try await scene.primary.query("SELECT pg_notify('pinledger_position', '9007199254740991')")
            try await scene.record(1)
            #expect(await isThere())
            #expect(ledger.fault == nil && ledger.endSeen == ledger.position)
            try await scene.standby.setReplay(true)
            try await scene.record(1)
            #expect(await isThere())
        }
    }

    @Test func `a node that begins to follow beside a standby that stands still reads from the primary`() async throws {
        try await TestCluster.run { cluster in
            let primary = try await cluster.database()
            try await cluster.withStandby { standby in
                let app = try Sample.app()
                try await TestNode.run(on: primary) { recorder in
                    _ = try await recorder.writer.execute(try Sample.create(app))
                    let isThere = try await eventually {
                        try await TestCluster.database(on: standby).query("SELECT next_position FROM pinledger.head")
                            .only.int64(0) == 1
                    }
                    #expect(isThere)
                    try await standby.setReplay(false)
                    _ = try await recorder.writer.execute(try Sample.rename(app, "unseen"))
                    let reading = TestNode.Setup.with {
                        $0.name = "reader"
                        $0.configurePool = { $0.preferredServer = .preferStandby }
                        $0.configureListener = { $0.preferredServer = .readWrite }
                    }
                    // Nothing is announced any more.
                    try await TestNode.run(on: TestCluster.database(on: standby, cluster), reading) { reader in
                        #expect(await eventually { reader.ledger.position == 2 })
                    }
                    try await standby.setReplay(true)
                }
            }
        }
    }

    @Test func `a primary is asked for what a standby lacks, where the connection string names one`() async throws {
        try await Self.run { scene in
            try await scene.standby.setReplay(false)
            try await scene.record(2)
            let reader = LedgerReader(pool: scene.reader.pool)
            #expect(try await reader.loss(before: 3) == nil)
            // It has fewer than that itself.
            #expect(try await reader.loss(before: 4) == 3)
            try await scene.reader.follower.catchUpOnPrimary()
            #expect(scene.reader.ledger.position == 3)
            try await scene.standby.setReplay(true)
        }
    }

    @Test func `a node with connections to both halts where the primary itself has lost events`() async throws {
        try await Self.run { scene in
            let (ledger, follower) = (scene.reader.ledger, scene.reader.follower)
            try await scene.record(3)
            #expect(try await scene.standby.connectToBoth(scene.reader.pool) == [false, true])
            let end = scene.recorder.ledger.position
            #expect(
                try await eventually {
                    try await follower.catchUp()
                    return ledger.position == end
                })
            try await scene.primary.execute(
                """
                ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                DELETE FROM pinledger.event WHERE position >= 2;
                UPDATE pinledger.head SET next_position = 2, frontier = (
                    SELECT sha256('\\x01'::bytea || string_agg(leaf_hash, '' ORDER BY position)) FROM pinledger.event)
                """)
            try await scene.shufflingConnections {
                var fault: LedgerFault?
                for _ in 0..<1000 where fault == nil {
                    do { try await follower.catchUp() } catch let found as LedgerFault { fault = found }
                }
                #expect(fault == .shrunk(from: end, to: 2))
            }
        }
    }

    @Test func `a ledger is compared with an earlier state on a server that has all of it`() async throws {
        try await Self.run { scene in
            let (pool, recorder) = (scene.reader.pool, scene.recorder)
            recorder.ledger.hold(pool, logger: .silent)
            #expect(try await scene.standby.connectToBoth(pool) == [false, true])
            try await scene.standby.setReplay(false)
            try await scene.record(3)
            let root = try await LedgerReader(pool: recorder.pool).storedFrontier(at: 1).root
            // The connection to the primary is in use, so that the standby is asked first.
            try await pool.withConnection { _ in
                try await LedgerReader(pool: pool).check(recorder.ledger.view.head, goesOnFrom: 1, root: root)
            }
        }
    }

    @Test func `a node that starts waits for a standby that lacks what documents say, and for no primary`() async throws
    {
        try await TestCluster.run { cluster in
            let primary = try await cluster.database()
            try await cluster.withStandby { standby in
                try await TestNode.run(on: primary) { recorder in
                    _ = try await recorder.writer.execute(try Sample.create(try Sample.app()))
                    let onStandby = TestCluster.database(on: standby)
                    try await TestNode.run(on: onStandby, .with { $0.follows = false }) { reader in
                        try await reader.follower.readToEnd(through: 1)
                        try await standby.setReplay(false)
                        _ = try await recorder.writer.execute(try Sample.create(try Sample.app()))
                        async let reading: Void = reader.follower.readToEnd(through: 2)
                        // It has asked, and the standby said one.
                        #expect(try await LedgerReader(pool: reader.pool).loss(before: 2) == nil)
                        try await standby.setReplay(true)
                        try await reading
                        #expect(reader.ledger.position == 2)
                    }
                    let lost = LedgerFault.shrunk(from: 3, to: 2)
                    await #expect(throws: lost) { try await recorder.follower.readToEnd(through: 3) }
                }
            }
        }
    }
}
