import EventStore
import Foundation
import Postgres

/// A second cluster, which a test may stop and restart without harming the others.
///
/// It lies beside the one of `with-postgres`, which removes it even if the test does not come to it; a postmaster whose
/// directory is gone ends itself.
package struct TestCluster: Sendable {
    package struct Failure: Error {
        package var output: String
    }

    let root: String
    private let bin: String
    /// Part of the socket's name alone: nobody else's is in its directory.
    let port = 33_000

    init() throws {
        let data = try TestServer.environment("PINLEDGER_TEST_PGDATA")
        self.bin = try TestServer.environment("PINLEDGER_TEST_PGBIN")
        self.root = URL(fileURLWithPath: data).deletingLastPathComponent().path + "/\(TestServer.uniqueName("c"))"
    }

    /// Starts a cluster (as root, as the user `postgres`), and removes it when the closure is done.
    package static func run(_ body: (TestCluster) async throws -> Void) async throws {
        let cluster = try TestCluster()
        try await cluster.shell(
            """
            if [ "$(id -u)" -eq 0 ]; then chown -R postgres "$ROOT"; fi
            as_server cp -a --reflink=auto '\(try await Blank.shared.data())' "$ROOT/data"
            """
        )
        let result: Result<Void, any Error>
        do {
            try await cluster.control("start")
            try await body(cluster)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try? await cluster.control("stop")
        try? FileManager.default.removeItem(atPath: cluster.root)
        try result.get()
    }

    /// A cluster that nobody has started, which each begins as a copy of: made by whoever needs it first.
    private actor Blank {
        static let shared = Blank()
        private var made: Task<String, any Error>?

        func data() async throws -> String {
            if let made { return try await made.value }
            let task = Task {
                let cluster = try TestCluster()
                try await cluster.shell(
                    """
                    if [ "$(id -u)" -eq 0 ]; then chown -R postgres "$ROOT"; fi
                    as_server "$BIN/initdb" -D "$ROOT/data" -U postgres -A trust -E UTF8 --locale=C -N
                    """
                )
                return cluster.root + "/data"
            }
            self.made = task
            return try await task.value
        }
    }

    /// Leads to its database `postgres`, as the superuser.
    package var connectionString: String { "host=\(self.root) port=\(self.port) user=postgres dbname=postgres" }

    /// Its database `postgres`, migrated, with the accounts that tests use.
    package func database() async throws -> TestDatabase {
        let database = TestDatabase(name: "postgres", server: "host=\(self.root) port=\(self.port)")
        let connection = try await database.connect()
        _ = try await Migrator().migrate(on: connection)
        try await connection.execute(script: TemplateDatabase.roles)
        await connection.close()
        return database
    }

    /// `start`, `stop` or `restart`; the latter two do not let sessions finish.
    package func control(_ action: String) async throws {
        try await self.shell(
            """
            as_server "$BIN/pg_ctl" \(action) -D "$ROOT/data" -m immediate -w -t 30 -l "$ROOT/data/log" \
                -o "-p \(self.port) -F -c listen_addresses= \
                    -c unix_socket_directories=$ROOT -c unix_socket_permissions=0777"
            """
        )
    }

    /// Starts a standby of this name that receives the log and applies none of it. It ends with the cluster.
    package func receiveLog(as name: String) async throws {
        try await self.shell(
            """
            mkdir -p "$ROOT/received" && if [ "$(id -u)" -eq 0 ]; then chown postgres "$ROOT/received"; fi
            as_server "$BIN/pg_receivewal" --synchronous --no-loop -D "$ROOT/received" \
                -d "host=$ROOT port=\(self.port) user=postgres application_name=\(name)" >/dev/null 2>&1 &
            """
        )
    }

    /// Not by Foundation's Process: the server would inherit what that waits on.
    func shell(_ script: String) async throws {
        let prelude = """
            set -eu
            ROOT='\(self.root)' BIN='\(self.bin)'
            as_server() {
                if [ "$(id -u)" -eq 0 ]; then
                    cd / && setpriv --reuid=postgres --regid="$(id -g postgres)" --init-groups -- "$@"
                else
                    "$@"
                fi
            }

            """
        try FileManager.default.createDirectory(atPath: self.root, withIntermediateDirectories: true)
        let file = self.root + "/script"
        try (prelude + script).write(toFile: file, atomically: true, encoding: .utf8)
        let command = "/bin/bash '\(file)' >'\(file).output' 2>&1 </dev/null"
        // On a thread of its own, because it waits.
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: system(command)) }
        }
        guard status == 0 else {
            throw Failure(output: (try? String(contentsOfFile: file + ".output", encoding: .utf8)) ?? "")
        }
    }
}
