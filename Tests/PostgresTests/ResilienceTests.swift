import Fixtures
import Glibc
import Postgres
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct ResilienceTests {
    @Test func `a pool and a listener survive a restart of the server`() async throws {
        try await TestCluster.run { cluster in
            let pool = PostgresPool(
                configuration: PostgresConfiguration(connectionString: cluster.connectionString), maximumConnections: 2)
            let listener = PostgresListener(
                configuration: PostgresConfiguration(connectionString: cluster.connectionString), channels: ["news"])
            try await pool.query("CREATE TABLE t (a int8)")
            try await pool.query("INSERT INTO t VALUES (1)")
            var connections = 0
            for await event in listener.events() {
                if event == .connected {
                    connections += 1
                    if connections == 1 {
                        try await cluster.control("restart")
                        #expect(try await pool.query("SELECT a FROM t").only.int64(0) == 1)
                    } else {
                        try await pool.query("SELECT pg_notify('news', 'back')")
                    }
                }
                if event == .notification(channel: "news", payload: "back") { break }
            }
            #expect(connections == 2)
            await pool.close()
        }
    }

    @Test func `calls fail at once while the server is down, and work later`() async throws {
        try await TestCluster.run { cluster in
            let pool = PostgresPool(configuration: PostgresConfiguration(connectionString: cluster.connectionString))
            try await pool.query("SELECT 1")
            try await cluster.control("stop")
            let error = await failure { try await pool.query("SELECT 1") }
            #expect(error?.code == .connectionFailed)
            #expect(error?.isRetryable == true)
            try await cluster.control("start")
            #expect(try await pool.query("SELECT 1").count == 1)
            await pool.close()
        }
    }

    @Test func `a refused connection is reported and leaves no thread behind`() async throws {
        let configuration = PostgresConfiguration(connectionString: "host=127.0.0.1 port=1 user=u password=hush")
        let error = await failure { try await PostgresConnection.connect(configuration) }
        #expect(error?.code == .connectionFailed)
        #expect(error.map { "\($0)" }?.contains("hush") == false)
    }

    @Test func `a server that never answers is given up after the connect timeout`() async throws {
        let silent = try SilentServer()
        let error = await failure {
            try await PostgresConnection.connect(
                PostgresConfiguration(
                    connectionString: "host=127.0.0.1 port=\(silent.port) sslmode=disable",
                    connectTimeout: .milliseconds(300)
                )
            )
        }
        #expect(error?.code == .connectionFailed)

        // The next host gets its turn.
        let database = try TestServer.environment("PINLEDGER_TEST_PGPORT")
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration(
                connectionString: "host=127.0.0.1,127.0.0.1 port=\(silent.port),\(database) user=postgres "
                    + "dbname=postgres target_session_attrs=read-write",
                connectTimeout: .seconds(2)
            )
        )
        #expect(connection.isUsable)

        // A cancelled task does not wait for it.
        let other = try SilentServer()
        let task = Task {
            try await PostgresConnection.connect(
                PostgresConfiguration(
                    connectionString: "host=127.0.0.1 port=\(other.port) sslmode=disable",
                    connectTimeout: .seconds(36_000)
                )
            )
        }
        #expect(await eventually { other.isAsked })
        task.cancel()
        #expect(await failure { try await task.value }?.code == .cancelled)
    }

    @Test func `a connection that is released ends its session`() async throws {
        var connection: PostgresConnection? = try await SharedDatabase.connect()
        let backend = try #require(connection?.backendPID)
        connection = nil
        let observer = try await SharedDatabase.connect()
        #expect(
            try await eventually {
                try await observer.query("SELECT FROM pg_stat_activity WHERE pid = $1", [.int32(backend)]).isEmpty
            }
        )
    }
}

/// Listens, and accepts nothing but what the kernel does.
private final class SilentServer: Sendable {
    let port: Int
    private let listening: CInt

    init() throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(listen(listening, 1) == 0)
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = getsockname(listening, $0, &length)
            }
        }
        self.listening = listening
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(self.listening) }

    /// Tells that somebody has connected.
    var isAsked: Bool {
        var listening = pollfd(fd: self.listening, events: Int16(POLLIN), revents: 0)
        return poll(&listening, 1, 0) == 1
    }
}
