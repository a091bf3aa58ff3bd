import EventStore
import Fixtures
import Keys
import Postgres
import Publishing
import Testing

@Suite(.database, .timeLimit(.minutes(60)))
struct DocumentLagTests {
    @Test func `a node that only reads says that what it serves is older than the ledger`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            try await node.execute(try Sample.create(app))
            func isStored(_ version: Int) async throws -> Bool {
                try await database.query("SELECT FROM pinledger.document WHERE version = \(version)").count == 1
            }
            #expect(try await eventually { try await isStored(1) })
            try await database.execute("CREATE TABLE old AS TABLE pinledger.document")
            try await node.execute(try Sample.rename(app, "more"))
            #expect(try await eventually { try await isStored(2) })
        }
        try await database.execute(
            """
            CREATE TABLE new AS TABLE pinledger.document;
            DELETE FROM pinledger.document;
            INSERT INTO pinledger.document TABLE old
            """)
        let log = LogRecorder()
        let setup = PublishingNode.Setup.with { $0.node.user = .reader }
        try await PublishingNode.run(on: database, setup) { node in
            let position = try #require(try await database.query("SELECT next_position FROM pinledger.head").first)
            let end = try position.int64(0)
            #expect(await eventually { node.node.ledger.position == end && node[app] != nil })
            let patient = DocumentLag(
                ledger: node.node.ledger, table: node.publisher.table, grace: .seconds(60), logger: .silent)
            let lag = DocumentLag(
                ledger: node.node.ledger, table: node.publisher.table, grace: .zero, logger: log.logger)
            for lag in [patient, lag] { await lag.look() }
            #expect(patient.count == 0)
            #expect(lag.count == 1)
            #expect(log.text.contains { $0.hasPrefix("warning") && $0.contains("(version 1 instead of 2)") })
            await lag.look()
            #expect(log.text.filter { $0.hasPrefix("warning") }.count == 1, "once, and not at every look")

            try await database.execute(
                """
                DELETE FROM pinledger.document;
                INSERT INTO pinledger.document TABLE new;
                NOTIFY pinledger_document
                """)
            #expect(await eventually { node[app]?.version == 2 })
            await lag.look()
            #expect(lag.count == 0)
            #expect(log.text.contains { $0.hasPrefix("notice") })
        }
    }
}
