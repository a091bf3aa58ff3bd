import Foundation
package import Postgres

extension TestCluster {
    /// Starts a standby that follows this cluster, and removes it when the closure is done.
    package func withStandby(_ body: (TestCluster) async throws -> Void) async throws {
        let standby = try TestCluster()
        try await standby.shell(
            """
            if [ "$(id -u)" -eq 0 ]; then chown -R postgres "$ROOT"; fi
            as_server "$BIN/pg_basebackup" -R -X stream -c fast -D "$ROOT/data" \
                -d "host=\(self.root) port=\(self.port) user=postgres"
            """
        )
        let result: Result<Void, any Error>
        do {
            try await standby.control("start")
            try await body(standby)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try? await standby.control("stop")
        try? FileManager.default.removeItem(atPath: standby.root)
        try result.get()
    }

    /// The migrated database of a cluster and of its standbys: whoever connects prefers the servers in this order.
    package static func database(on servers: TestCluster...) -> TestDatabase {
        let ports = servers.map { "\($0.port)" }
        return TestDatabase(
            name: "postgres",
            server:
                "host=\(servers.map(\.root).joined(separator: ",")) port=\(ports.joined(separator: ","))")
    }

    /// Has this standby apply nothing more of what it receives, or go on.
    package func setReplay(_ isOn: Bool) async throws {
        let database = TestCluster.database(on: self)
        try await database.query("SELECT pg_wal_replay_\(isOn ? "resume" : "pause")()")
        // A pause begins a moment after it was asked for.
        let state = isOn ? "not paused" : "paused"
        _ = try await eventually {
            try await database.query("SELECT pg_get_wal_replay_pause_state()").only.text(0) == state
        }
    }

    /// Opens two connections of a pool that prefers this standby, as it has them after a restart of the standby: one to the primary,
    /// which is lent next, and one to the standby, which has as many events.
    ///
    /// - Returns: Which of them lead to a standby, in the order of their opening.
    package func connectToBoth(_ pool: PostgresPool) async throws -> [Bool] {
        try await self.control("stop")
        return try await pool.withConnection { first in
            try await self.control("start")
            let head = "SELECT next_position FROM pinledger.head"
            let end = try await first.query(head).only.int64(0)
            _ = try await eventually {
                try await TestCluster.database(on: self).query(head).only.int64(0) == end
            }
            return try await pool.withConnection { second in
                [try await Self.isStandby(first), try await Self.isStandby(second)]
            }
        }
    }

    private static func isStandby(_ connection: PostgresConnection) async throws -> Bool {
        try await connection.query("SELECT pg_is_in_recovery()").only.bool(0)
    }
}
