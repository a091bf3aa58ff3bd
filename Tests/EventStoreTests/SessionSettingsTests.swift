import EventStore
import Fixtures
import Postgres
import Testing

/// Settings that a login of the database may give its role, or an owner the database.
@Suite(.database, .timeLimit(.minutes(60)))
struct SessionSettingsTests {
    private static let settings: [(name: String, theirs: String, ours: String)] = [
        ("default_transaction_read_only", "on", "off"),
        ("default_transaction_isolation", "serializable", "read committed"),
        ("default_transaction_deferrable", "on", "off"), ("idle_session_timeout", "100", "0"), ("jit", "on", "off"),
        ("plan_cache_mode", "force_custom_plan", "auto"), ("enable_indexscan", "off", "on"),
        ("enable_bitmapscan", "off", "on"),
    ]

    @Test func `sessions do not take the settings of their database or role on which they rely`() async throws {
        let database = try TestDatabase.current
        for setting in Self.settings {
            try await database.execute("ALTER DATABASE \(database.name) SET \(setting.name) = '\(setting.theirs)'")
        }
        let connection = try await database.connect(as: .app)
        for setting in Self.settings {
            #expect(try await connection.query("SHOW \(setting.name)").only.text(0) == setting.ours)
        }
        try await TestNode.run(on: database) { node in
            _ = try await node.writer.execute(try Sample.create(try Sample.app()))
        }
        await connection.close()
    }
}
