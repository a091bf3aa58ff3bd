import EventStore
import Fixtures
import Foundation
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

/// Partitions whose entries are in entry bundles.
@Suite(.database, .timeLimit(.minutes(60)))
struct PruningTests {
    /// A ledger of 1000 events in partitions that end at 300, 600 and 10,000,000, and bundles of the events before 768.
    private struct Fixture {
        let database: TestDatabase
        let node: TestNode
        let app: AppID
        let directory: BundleDirectory
        let connection: PostgresConnection
        let partitions: [EventPartition]

        var snapshots: SnapshotStore { SnapshotStore(pool: self.node.pool, logger: .silent) }
        var reader: LedgerReader { LedgerReader(pool: self.node.pool) }
        var reading: LedgerReader { LedgerReader(pool: self.node.pool, bundles: self.directory) }

        /// All rows of events, but for what `column` names.
        func rows(of columns: String = "*") async throws -> [String] {
            try await self.database.query(
                "SELECT (e)::text FROM (SELECT \(columns) FROM pinledger.event ORDER BY position) e"
            )
            .map { try $0.text(0) }
        }

        /// Returns when the pruner tries again to put a copy in place.
        func waitForAttempt() async throws {
            let now = try await self.database.query("SELECT clock_timestamp()::text").only.text(0)
            let isTrying = try await eventually {
                try await self.database.query(
                    """
                    SELECT FROM pg_stat_activity WHERE pid = $1 AND query_start > $2::timestamptz
                        AND query ~ 'is_copy_visible|replace_partition'
                    """, [.int32(self.connection.backendPID), .text(now)]
                ).count == 1
            }
            #expect(isTrying)
        }

        func verify(_ partition: EventPartition) async throws {
            try await BundleWriter(directory: self.directory).verify(
                partition.bundles, with: try await self.reader.bundleRoots(at: partition.bundles), on: self.connection
            ) { _ in }
        }

        /// Writes the bundles that are missing or wrong, and returns their number.
        func write() async throws -> Int {
            try await BundleWriter(directory: self.directory).write(
                0..<768, with: try await self.reader.bundleRoots(at: 0..<768), on: self.connection
            ) { _ in }
        }

        /// Prunes the two full partitions.
        func prune() async throws {
            let pruner = try await Pruner(on: self.connection)
            for partition in self.partitions {
                try await pruner.check(partition, startingAt: 1000)
                try await self.verify(partition)
                try await pruner.keepSnapshot(at: 1000, verifiedBy: self.snapshots)
                try await pruner.prune(partition)
            }
        }

        /// Removes what keeps a partition from being pruned.
        func clear() async throws {
            try await self.database.execute(
                """
                DELETE FROM pinledger.command; DELETE FROM pinledger.webhook_feed; DELETE FROM pinledger.webhook_delivery;
                DELETE FROM pinledger.node
                """)
        }

        /// What a superuser does to events.
        func alter(_ sql: String) async throws {
            try await self.database.execute(
                """
                ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change; \(sql);
                ALTER TABLE pinledger.event ENABLE ALWAYS TRIGGER refuse_change;
                """)
        }

        /// Changes a byte of an entry in its bundle.
        func forge(_ position: Int64) throws {
            let path = self.directory.file(at: position)
            var entries = try #require(try self.directory.entries(of: UInt64(position) / 256))
            entries[Int(position % 256)][20] ^= 1
            try Data(try EntryBundle.encode(entries)).write(to: URL(fileURLWithPath: path))
        }

    }

    private static func run(_ body: (Fixture) async throws -> Void) async throws {
        let database = try TestDatabase.current
        try await database.execute(
            """
            SET ROLE pinledger_owner;
            ALTER TABLE pinledger.event DETACH PARTITION pinledger.event_00000000000000;
            DROP TABLE pinledger.event_00000000000000;
            SELECT pinledger.add_partition(0, 300), pinledger.add_partition(300, 600),
                pinledger.add_partition(600, 10000000);
            """)
        var configuration = try database.configuration(as: .superuser)
        configuration.statementTimeout = nil
        let connection = try await PostgresConnection.connect(configuration)
        let directory = BundleDirectory(path: NSTemporaryDirectory() + "bundles-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.request(.fleet(.setIssuer("test"))))
            _ = try await node.writer.execute(try Sample.create(app, hosts: 2))
            _ = try await node.writer.execute(try Sample.request(.keys(.create(kid: "k1", publicKey: sha256([2])))))
            while node.ledger.position < 1000 {
                let count = min(100, 1000 - node.ledger.position)
                let first = node.ledger.position
                let names = (first..<first + count).map { AppCommand.rename("n\($0)") }
                _ = try await node.writer.execute(try Sample.request(.app(app, names)))
            }
            try await SnapshotStore(pool: node.pool, logger: .silent).store(node.ledger.view)
            let fixture = Fixture(
                database: database, node: node, app: app, directory: directory, connection: connection,
                partitions: Array(try await EventPartition.all(on: connection).prefix(2)))
            #expect(try await fixture.write() == 3)
            try await body(fixture)
        }
        await connection.close()
    }

    @Test func `pruning takes the entries of apps away, and nothing else`() async throws {
        try await Self.run { fixture in
            let columns =
                "position, stream_version, recorded_at, stream, type, actor_kind, actor_id, leaf_hash, mac, signature"
            let (before, whole) = (try await fixture.rows(of: columns), try await fixture.rows())
            try await fixture.prune()
            #expect(try await fixture.rows(of: columns) == before)
            let missing = try await fixture.database.query(
                "SELECT position, stream FROM pinledger.event WHERE entry = '' ORDER BY position")
            #expect(try missing.allSatisfy { try $0.text(1) == "app/\(fixture.app)" && $0.int64(0) < 600 })
            // The fleet's event and the key's stay.
            #expect(missing.count == 597)
            let partitions = try await EventPartition.all(on: fixture.connection)
            #expect(partitions.map(\.isPruned) == [true, true, false, false])
            #expect(partitions.map(\.end) == [300, 600, 10_000_000, 20_000_000])
            let kept = try await fixture.connection.perform { try LedgerReader.signers(on: $0).keys.keys.count }
            #expect(kept == 1)

            // The node, which has its state, goes on, and a node starts from the snapshot.
            _ = try await fixture.node.writer.execute(try Sample.rename(fixture.app, "after"))
            let start = try await SnapshotStore(pool: fixture.node.pool, logger: .silent).load()
            #expect(start.view.head.position == 1000)
            #expect(start.unusable == 0)

            // And back.
            let pruner = try await Pruner(on: fixture.connection)
            for partition in fixture.partitions.reversed() {
                try await fixture.verify(partition)
                try await pruner.restore(partition, from: fixture.directory)
            }
            #expect(Array(try await fixture.rows().prefix(1000)) == whole)
            try await Ledgers.check(fixture.database)
            #expect(try await EventPartition.all(on: fixture.connection).allSatisfy { !$0.isPruned })
        }
    }

    @Test func `a replaced partition has what every partition has`() async throws {
        try await Self.run { fixture in
            func facts(_ leaf: String) async throws -> [String] {
                let rows = try await fixture.database.query(
                    """
                    SELECT replace(pg_get_indexdef(i.indexrelid), $1, 'LEAF') FROM pg_index i
                     WHERE i.indrelid = ('pinledger.' || $1)::regclass
                    UNION ALL SELECT c.relname || ' is attached' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                     WHERE i.indrelid = ('pinledger.' || $1)::regclass AND c.relispartition
                       AND c.relname NOT LIKE $1 || '\\_%'
                    UNION ALL SELECT t.tgname || t.tgenabled::text || t.tgtype::text FROM pg_trigger t
                     WHERE t.tgrelid = ('pinledger.' || $1)::regclass
                    UNION ALL SELECT o.conname || pg_get_constraintdef(o.oid) FROM pg_constraint o
                     WHERE o.conrelid = ('pinledger.' || $1)::regclass AND o.contype = 'c'
                    UNION ALL SELECT a.attname || a.attstorage::text || a.attnotnull::text FROM pg_attribute a
                     WHERE a.attrelid = ('pinledger.' || $1)::regclass AND a.attnum > 0
                    UNION ALL SELECT pg_get_userbyid(c.relowner) || c.reloptions::text FROM pg_class c
                     WHERE c.oid = ('pinledger.' || $1)::regclass
                    ORDER BY 1
                    """, [.text(leaf)])
                return try rows.map { try $0.text(0) }
            }
            let (leaf, other) = ("event_00000000000300", "event_00000000000600")
            let expected = try await facts(other)
            #expect(try await facts(leaf) == expected)
            try await fixture.prune()
            #expect(try await facts(leaf) == expected)
            let pruner = try await Pruner(on: fixture.connection)
            try await pruner.restore(fixture.partitions[1], from: fixture.directory)
            #expect(try await facts(leaf) == expected)
            for sql in [
                "UPDATE pinledger.event SET entry = 'x'", "DELETE FROM pinledger.\(leaf)", "TRUNCATE pinledger.\(leaf)",
            ] {
                let connection = try await fixture.database.connect()
                try await connection.query("SET session_replication_role = replica")
                #expect(await failure { try await connection.query(sql) }?.sqlState == "23001", "\(sql)")
            }
        }
    }

    @Test func `proofs need no entries`() async throws {
        try await Self.run { fixture in
            let root = fixture.node.ledger.view.head.frontier.root
            let proofs = try await fixture.reader.inclusionProof(of: 17, in: 1000)
            let old = try await fixture.reader.frontier(at: 299).root
            try await fixture.prune()
            #expect(try await fixture.reader.inclusionProof(of: 17, in: 1000).hashes == proofs.hashes)
            try await fixture.reader.consistencyProof(from: 299, to: 1000).verify(oldRoot: old, newRoot: root)
            try await fixture.reader.check(fixture.node.ledger.view.head, goesOnFrom: 299, root: old)
            let hashes = try #require(Tile(.hashes(level: 0), index: 1))
            #expect(try await fixture.reader.bytes(of: hashes, in: 1000)?.count == 8192)
            let bundle = try #require(Tile(.entries, index: 1))
            await #expect(throws: LedgerFault.pruned(position: 256, file: nil)) {
                try await fixture.reader.bytes(of: bundle, in: 1000)
            }
            let file = fixture.directory.file(at: 256)
            #expect(
                try await fixture.reading.bytes(of: bundle, in: 1000)
                    == Array(try #require(FileManager.default.contents(atPath: file))))
        }
    }

    @Test func `a reader with the bundles reads what it read before`() async throws {
        try await Self.run { fixture in
            func all(_ reader: LedgerReader) async throws -> [String] {
                var found = try await reader.entries(at: 0..<1000, limit: 1000).map {
                    String(decoding: $0.bytes, as: UTF8.self)
                }
                for (ascending, text) in [(true, nil), (false, nil), (true, "n59"), (false, "N59")] as [(Bool, String?)]
                {
                    var filter = LedgerReader.Filter()
                    filter.text = text.map { Array($0.utf8) }
                    if text == nil { filter.stream = .app(fixture.app) }
                    var boundary: Int64?
                    repeat {
                        let page = try await reader.history(
                            filter, from: boundary, ascending: ascending, limit: 70, width: 130)
                        found += page.entries.map { "\($0.entry.position)" }
                        boundary = page.next
                    } while boundary != nil
                }
                found.append(
                    "\(try await reader.past(of: fixture.app, at: 412).state.apps[fixture.app]?.displayName ?? "")")
                found.append("\(try await reader.documentVersions(of: fixture.app, from: 3, to: 1000, limit: 50))")
                found.append("\(try await reader.change(of: fixture.app, at: 555)?.events.count ?? 0)")
                found.append("\(try await reader.entry(of: .app(fixture.app), version: 300)?.entry.position ?? 0)")
                return found
            }
            let before = try await all(fixture.reader)
            try await fixture.prune()
            #expect(try await all(fixture.reading) == before)
            // A bundle with another entry is as good as none.
            try fixture.forge(412)
            await #expect(throws: LedgerFault.pruned(position: 412, file: fixture.directory.file(at: 412))) {
                try await fixture.reading.entries(at: 400..<420, limit: 20)
            }
            #expect(try await fixture.reading.entries(at: 413..<500, limit: 100).count == 87)
        }
    }

    @Test func `a reader without the bundles says which entry is missing`() async throws {
        try await Self.run { fixture in
            try await fixture.prune()
            let reader = fixture.reader
            await #expect(throws: LedgerFault.pruned(position: 599, file: nil)) {
                try await reader.entries(at: 599..<700, limit: 100)
            }
            #expect(try await reader.entries(at: 600..<1000, limit: 1000).count == 400)
            await #expect(throws: LedgerFault.self) { try await reader.past(of: fixture.app, at: 900) }
            await #expect(throws: LedgerFault.self) {
                try await reader.documentVersions(of: fixture.app, from: 900, to: 1000, limit: 5)
            }
            await #expect(throws: LedgerFault.self) { try await reader.change(of: fixture.app, at: 900) }
            // A history ends before it, and then says so; the same for a search, which may not pass over it.
            for text in [nil, "n"] as [String?] {
                var filter = LedgerReader.Filter()
                filter.stream = .app(fixture.app)
                filter.text = text.map { Array($0.utf8) }
                let page = try await reader.history(filter, from: 650, ascending: false, limit: 100)
                #expect(page.entries.map(\.entry.position) == Array((600..<650).reversed()))
                #expect(page.next == 600)
                await #expect(throws: LedgerFault.pruned(position: 599, file: nil)) {
                    try await reader.history(filter, from: page.next, ascending: false, limit: 100)
                }
            }
            var filter = LedgerReader.Filter()
            filter.text = Array("no such text".utf8)
            await #expect(throws: LedgerFault.self) {
                try await reader.history(filter, from: nil, ascending: true, limit: 10)
            }
            // What needs no entry of an app goes on.
            filter = LedgerReader.Filter()
            filter.types = ["SigningKeyCreated", "IssuerSet"]
            #expect(try await reader.history(filter, from: nil, ascending: true, limit: 10).entries.count >= 1)
            #expect(try await reader.hasEnded(historyOf: 10, in: 1) == false)
        }
    }

    @Test(arguments: [8000, 100])
    func `a fold from the beginning needs the bundles`(bulkSize: Int64) async throws {
        try await Self.run { fixture in
            try await fixture.prune()
            func fold(_ bundles: BundleDirectory?) async throws -> LedgerView {
                let ledger = Ledger()
                let follower = Follower(
                    ledger: ledger, pool: fixture.node.pool, bundles: bundles,
                    listener: PostgresListener(configuration: fixture.node.pool.configuration, channels: []),
                    logger: .silent, bulkSize: bulkSize)
                try await follower.catchUp()
                return ledger.view
            }
            let view = try await fold(fixture.directory)
            #expect(view.head == fixture.node.ledger.view.head)
            #expect(view.state.json == fixture.node.ledger.view.state.json)
            await #expect(throws: LedgerFault.pruned(position: 1, file: nil)) { try await fold(nil) }
            // Where it was not pruned, it is damage.
            try await fixture.alter("UPDATE pinledger.event SET entry = '' WHERE position = 900")
            await #expect(throws: LedgerFault.unreadable(position: 900, "it is empty")) {
                try await fold(fixture.directory)
            }
            try fixture.forge(300)
            let file = fixture.directory.file(at: 300)
            await #expect(throws: LedgerFault.pruned(position: 300, file: file)) { try await fold(fixture.directory) }
        }
    }

    @Test func `a snapshot is checked with the bundles, and not at all without them`() async throws {
        try await Self.run { fixture in
            try await fixture.prune()
            let store = SnapshotStore(pool: fixture.node.pool, logger: .silent)
            let start = try await store.load()
            for bundles in [fixture.directory, nil] {
                let lines = LogRecorder()
                let ledger = Ledger(view: start.view)
                let audit = try #require(
                    SnapshotAudit(
                        of: start, ledger: ledger, pool: fixture.node.pool, bundles: bundles, share: 1,
                        logger: lines.logger))
                await audit.run()
                #expect(ledger.fault == nil)
                let code = bundles == nil ? "snapshot_not_audited" : "snapshot_verified"
                #expect(lines.text.count == 1 && lines.text.allSatisfy { $0.contains(code) }, "\(lines.text)")
            }
        }
    }

    @Test func `an audit reads the bundles, and names what they do not hold`() async throws {
        try await Self.run { fixture in
            try await fixture.prune()
            func audit(_ bundles: BundleDirectory?) async throws -> LedgerAuditor.Outcome {
                var expectations = LedgerAuditor.Expectations()
                expectations.bundles = bundles
                let connection = try await fixture.database.connect(as: .reader)
                return try await LedgerAuditor(expectations: expectations).run(on: connection) { _ in }.0
            }
            let sound = try await audit(fixture.directory)
            #expect(sound.findings.isEmpty, "\(sound.findings.kept)")
            #expect(sound.root == fixture.node.ledger.view.head.frontier.root)
            #expect(sound.state.json == fixture.node.ledger.view.state.json)

            try fixture.forge(77)
            try fixture.forge(580)
            let found = try await audit(fixture.directory).findings.kept
            #expect(found.map(\.code) == [.bundleMissing, .bundleMissing], "\(found)")
            #expect(found.map(\.position) == [77, 580])

            let missing = try await audit(nil).findings
            #expect(missing.count == 597)
            #expect(missing.codes == [.bundleMissing])
            // Damage beside them is found all the same.
            try await fixture.alter("UPDATE pinledger.event SET leaf_hash = sha256('x') WHERE position = 20")
            #expect(try await audit(nil).findings.kept.contains { $0.code == .treeWrong })
        }
    }

    @Test func `an entry that is missing although it was not pruned is damage, whatever the bundles hold`() async throws
    {
        try await Self.run { fixture in
            let pruner = try await Pruner(on: fixture.connection)
            try await pruner.keepSnapshot(at: 1000, verifiedBy: fixture.snapshots)
            try await pruner.prune(fixture.partitions[0])
            let start = try await SnapshotStore(pool: fixture.node.pool, logger: .silent).load()
            // Of the fleet, of a partition that is not pruned, and of one for which there are no bundles.
            try await fixture.alter("UPDATE pinledger.event SET entry = '' WHERE position IN (0, 333, 900)")
            var expectations = LedgerAuditor.Expectations()
            expectations.bundles = fixture.directory
            let connection = try await fixture.database.connect(as: .reader)
            let found = try await LedgerAuditor(expectations: expectations).run(on: connection) { _ in }.0.findings
            #expect(found.kept.map(\.code) == [.entryMissing, .entryMissing, .entryMissing], "\(found.kept)")
            #expect(found.kept.map(\.position) == [0, 333, 900])
            await #expect(throws: LedgerFault.unreadable(position: 900, "it is empty")) {
                try await fixture.reading.entries(at: 900..<901, limit: 1)
            }
            // Nor does it keep the snapshot from being refuted.
            let ledger = Ledger(view: start.view)
            let audit = try #require(
                SnapshotAudit(
                    of: start, ledger: ledger, pool: fixture.node.pool, bundles: fixture.directory, share: 1,
                    logger: .silent))
            await audit.run()
            #expect(ledger.fault == .unreadable(position: 900, "it is empty"))
        }
    }

    @Test func `files that are wrong are found before anything is pruned, and never restored`() async throws {
        try await Self.run { fixture in
            try fixture.forge(310)
            let file = fixture.directory.file(at: 256)
            await #expect(throws: BundleWriter.Failure.wrong(file: file)) {
                try await fixture.verify(fixture.partitions[1])
            }
            // Another partition's bundles are right, and writing again mends the wrong one.
            #expect(try await fixture.write() == 1)
            try await fixture.prune()

            try fixture.forge(310)
            let pruner = try await Pruner(on: fixture.connection)
            let forged = await failure {
                try await pruner.restore(fixture.partitions[1], from: fixture.directory)
            }
            #expect(forged?.sqlState == "XX001")
            try FileManager.default.removeItem(atPath: file)
            let missing = await failure {
                try await pruner.restore(fixture.partitions[1], from: fixture.directory)
            }
            #expect(missing?.sqlState == "23502")
            #expect(try await EventPartition.all(on: fixture.connection).map(\.isPruned) == [true, true, false, false])
            // What is pruned cannot be written again.
            await #expect(throws: LedgerFault.pruned(position: 256, file: file)) { _ = try await fixture.write() }
        }
    }

    @Test func `a right file is not replaced by what an administrator has made of the ledger`() async throws {
        try await Self.run { fixture in
            let right = try #require(FileManager.default.contents(atPath: fixture.directory.file(at: 300)))
            try await fixture.alter(
                "UPDATE pinledger.event SET entry = 'other', leaf_hash = sha256('\\x00'::bytea || 'other') WHERE position = 300"
            )
            await #expect(throws: BundleWriter.Failure.altered(256..<512)) { _ = try await fixture.write() }
            await #expect(throws: BundleWriter.Failure.self) { try await fixture.verify(fixture.partitions[1]) }
            #expect(FileManager.default.contents(atPath: fixture.directory.file(at: 300)) == right)
        }
    }

    @Test func `a file that cannot be read is no file that is missing`() async throws {
        try await Self.run { fixture in
            try await fixture.prune()
            let file = fixture.directory.file(at: 256)
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
            await #expect(throws: BundleDirectory.Unreadable.self) {
                try await fixture.reading.entries(at: 256..<300, limit: 10)
            }
            let connection = try await fixture.database.connect(as: .reader)
            var expectations = LedgerAuditor.Expectations()
            expectations.bundles = fixture.directory
            let found = try await LedgerAuditor(expectations: expectations).run(on: connection) { _ in }.0.findings
            #expect(found.count == 256)
            #expect(found.codes == [.bundleMissing])
        }
    }

    @Test func `the snapshot that nodes need stays, whatever an account of a server stores`() async throws {
        try await Self.run { fixture in
            let key = SnapshotKey { sha256([7] + $0) }
            let store = SnapshotStore(pool: fixture.node.pool, key: key, logger: .silent)
            try await fixture.database.execute("DELETE FROM pinledger.snapshot")
            try await store.store(fixture.node.ledger.view)
            let pruner = try await Pruner(on: fixture.connection)
            try await pruner.keepSnapshot(at: 1000, verifiedBy: store)
            try await pruner.prune(fixture.partitions[0])

            let connection = try await fixture.database.connect(as: .app)
            for position in 1000...1004 {
                _ = try await fixture.node.writer.execute(try Sample.rename(fixture.app, "n\(position)"))
                try await connection.query(
                    "SELECT pinledger.store_snapshot(\(LedgerState.foldVersion), \(position), '', '', sha256('x'))")
            }
            try await connection.query(
                "SELECT pinledger.retag_snapshot(fold_version, position, tag, sha256('y')) FROM pinledger.snapshot")
            let beyond = await failure {
                try await connection.execute(
                    script: """
                        BEGIN; SELECT pinledger.store_snapshot_part(1, 2000, 0, 'x');
                        SELECT pinledger.store_snapshot(1, 2000, '', '', sha256('x')); COMMIT
                        """)
            }
            #expect(beyond?.sqlState == "23503")
            #expect(try await store.load().view.head.position == 1000)

            // One that does not verify is not kept in its place.
            await #expect(throws: PruningObstacle.noSnapshot(end: 1004)) {
                try await pruner.keepSnapshot(at: 1004, verifiedBy: store)
            }
            #expect(try await store.load().view.head.position == 1000)
        }
    }

    @Test func `a changed key takes over what is kept of a snapshot, where the account may change that`() async throws {
        try await Self.run { fixture in
            func key(_ byte: UInt8) -> SnapshotKey { SnapshotKey { sha256([byte] + $0) } }
            func store(_ byte: UInt8) -> SnapshotStore {
                SnapshotStore(pool: fixture.node.pool, key: key(byte), logger: .silent)
            }
            func retag(_ connection: PostgresConnection) async throws -> [Int] {
                let retagged = try await connection.transaction { @Sendable connection in
                    try SnapshotStore.retag(
                        from: SnapshotKey { sha256([7] + $0) }, to: SnapshotKey { sha256([8] + $0) }, on: connection)
                }
                return [retagged.count, retagged.left]
            }
            try await fixture.database.execute("DELETE FROM pinledger.snapshot")
            try await store(7).store(fixture.node.ledger.view)
            let pruner = try await Pruner(on: fixture.connection)
            try await pruner.keepSnapshot(at: 1000, verifiedBy: store(7))
            // The server's own account changes what nodes start from, and not what is kept of it.
            let app = try await fixture.database.connect(as: .app)
            #expect(try await retag(app) == [1, 1])
            #expect(try await !store(8).isKept(at: 1000))
            #expect(try await store(7).isKept(at: 1000))
            #expect(try await store(8).load().view.head.position == 1000)
            // An account that may migrate does both, also afterwards.
            #expect(try await retag(fixture.connection) == [0, 0])
            #expect(try await store(8).isKept(at: 1000))
        }
    }

    @Test func `the kept snapshot of the form before stays, for the way back`() async throws {
        try await Self.run { fixture in
            let form = LedgerState.foldVersion
            for (number, kept) in [(form - 2, 800), (form - 1, 900), (form, 950), (form + 1, 990)] {
                try await fixture.database.execute(
                    """
                    INSERT INTO pinledger.snapshot (fold_version, position, frontier, digests, tag, kept_tag)
                    VALUES (\(number), \(kept), '', '', sha256(''), sha256(''))
                    """)
            }
            let pruner = try await Pruner(on: fixture.connection)
            try await pruner.keepSnapshot(at: 1000, verifiedBy: fixture.snapshots)
            let kept = try await fixture.database.query(
                "SELECT position FROM pinledger.snapshot WHERE kept_tag IS NOT NULL ORDER BY position")
            #expect(try kept.map { try $0.int64(0) } == [900, 990, 1000])
        }
    }

    @Test func `a partition stays as long as something needs its entries`() async throws {
        try await Self.run { fixture in
            let pruner = try await Pruner(on: fixture.connection)
            let (first, last) = (
                fixture.partitions[0],
                try #require(try await EventPartition.all(on: fixture.connection).dropFirst(2).first)
            )
            await #expect(throws: PruningObstacle.noSnapshot(end: 300)) { try await pruner.prune(first) }
            try await pruner.keepSnapshot(at: 1000, verifiedBy: fixture.snapshots)
            try await pruner.check(first, startingAt: 300)
            await #expect(throws: PruningObstacle.notFull(1000)) { try await pruner.check(last, startingAt: 1000) }
            await #expect(throws: PruningObstacle.noSnapshot(end: 300)) {
                try await pruner.check(first, startingAt: 299)
            }
            let obstacles: [(sql: String, obstacle: PruningObstacle)] = [
                (
                    "INSERT INTO pinledger.command VALUES ('token:a', 'key', sha256('x'), 299, 1, now())",
                    .commands(1)
                ),
                ("INSERT INTO pinledger.webhook_feed VALUES ('w1', 1, 299)", .webhook("w1")),
                (
                    """
                    INSERT INTO pinledger.webhook_feed VALUES ('w2', 1, 900);
                    INSERT INTO pinledger.webhook_delivery (webhook, position, stream, type) VALUES ('w2', 299, 's', 't')
                    """,
                    .webhook("w2")
                ),
                (
                    "SELECT pinledger.report_node('\(String(repeating: "a", count: 32))', 'host:1', '0.1', 11, 1, false, 'running', 299)",
                    .node("host:1")
                ),
            ]
            for (sql, obstacle) in obstacles {
                try await fixture.database.execute(sql)
                await #expect(throws: obstacle) { try await pruner.check(first, startingAt: 1000) }
                // Deliveries are asked for again where it would be too late.
                guard case .webhook = obstacle else {
                    try await fixture.clear()
                    continue
                }
                await #expect(throws: obstacle) { try await pruner.prune(first) }
                #expect(
                    try await fixture.database.query("SELECT to_regclass('pinledger.event_00000000000000_copy')").only
                        .isNull(0))
                try await fixture.clear()
            }
            let other = try await fixture.database.connect()
            await #expect(throws: PruningObstacle.underWay) { _ = try await Pruner(on: other) }
        }
    }

    @Test func `a reader that holds a lock delays the replacement, and changes go on meanwhile`() async throws {
        try await Self.run { fixture in
            let blocker = try await fixture.database.connect()
            try await blocker.execute(script: "BEGIN; SELECT count(*) FROM pinledger.event")
            let pruner = try await Pruner(on: fixture.connection)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await pruner.keepSnapshot(at: 1000, verifiedBy: fixture.snapshots)
                    try await pruner.prune(fixture.partitions[0])
                }
                try await fixture.waitForAttempt()
                for number in 0..<20 {
                    _ = try await fixture.node.writer.execute(try Sample.rename(fixture.app, "beside \(number)"))
                }
                try await fixture.waitForAttempt()
                #expect(try await EventPartition.all(on: blocker).allSatisfy { !$0.isPruned })
                try await blocker.execute(script: "COMMIT")
                try await group.waitForAll()
            }
            #expect(try await EventPartition.all(on: fixture.connection).first?.isPruned == true)
        }
    }

    @Test func `a transaction from before sees all events until it ends`() async throws {
        try await Self.run { fixture in
            let earlier = try await fixture.database.connect()
            // It has a snapshot, and no lock of the events yet.
            try await earlier.execute(
                script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pinledger.head")
            let pruner = try await Pruner(on: fixture.connection)
            try await pruner.keepSnapshot(at: 1000, verifiedBy: fixture.snapshots)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await pruner.prune(fixture.partitions[0]) }
                for _ in 0..<2 { try await fixture.waitForAttempt() }
                #expect(try await earlier.query("SELECT count(*) FROM pinledger.event").only.int64(0) == 1000)
                try await earlier.execute(script: "COMMIT")
                try await group.waitForAll()
            }
            #expect(try await EventPartition.all(on: fixture.connection).first?.isPruned == true)
        }
    }

    @Test func `no account of a server may prune`() async throws {
        try await Self.run { fixture in
            for user in [TestDatabase.User.app, .reader] {
                let connection = try await fixture.database.connect(as: user)
                #expect(await failure { _ = try await Pruner(on: connection) }?.sqlState == "42501")
                for sql in [
                    "SELECT pinledger.copy_partition(0, true)", "SELECT pinledger.replace_partition(0, true, 1)",
                    "INSERT INTO pinledger.pruned_partition VALUES (0, 1)",
                ] {
                    #expect(await failure { try await connection.query(sql) }?.sqlState == "42501", "\(sql)")
                }
            }
        }
    }
}
