import Fixtures
import Testing

@testable import Postgres

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct ListenerTests {
    static func backend(_ channel: String) async throws -> Int32? {
        try await SharedDatabase.connect()
            .query("SELECT pid FROM pg_stat_activity WHERE query = $1", [.text("LISTEN \"\(channel)\"")])
            .first?.int32(0)
    }

    @Test func `notifications arrive in order, with their channel and payload`() async throws {
        let channel = TestServer.uniqueName("Grüße \"x\"")
        let listener = PostgresListener(
            configuration: try SharedDatabase.configuration(), channels: [channel, "other"])
        let sender = try await SharedDatabase.connect()
        var payloads: [String] = []
        for await event in listener.events() {
            switch event {
            case .connected:
                for number in 0..<20 {
                    try await sender.query("SELECT pg_notify($1, $2)", [.text(channel), .text("n\(number)")])
                }
            case .notification(let from, let payload):
                #expect(from == channel)
                payloads.append(payload)
            case .tick: break
            case .disconnected(let error): Issue.record(error)
            }
            if payloads.count == 20 { break }
        }
        #expect(payloads == (0..<20).map { "n\($0)" })
    }

    @Test func `a listener whose backend is terminated reconnects, says so, and receives again`() async throws {
        let channel = TestServer.uniqueName("channel")
        let listener = PostgresListener(configuration: try SharedDatabase.configuration(), channels: [channel])
        let sender = try await SharedDatabase.connect()
        var connections = 0
        var disconnections = 0
        for await event in listener.events() {
            switch event {
            case .connected:
                connections += 1
                if connections == 1 {
                    let backend = try #require(try await Self.backend(channel))
                    try await SharedDatabase.terminate(backend)
                } else {
                    try await sender.query("SELECT pg_notify($1, 'again')", [.text(channel)])
                }
            case .disconnected: disconnections += 1
            case .tick: break
            case .notification: #expect(connections == 2)
            }
            if case .notification = event { break }
        }
        #expect(connections == 2)
        #expect(disconnections == 1)
    }

    @Test func `ticks come while nothing happens, and while there is no server`() async throws {
        let configurations = [
            try SharedDatabase.configuration(),
            PostgresConfiguration(connectionString: "host=127.0.0.1 port=1 user=nobody"),
        ]
        for configuration in configurations {
            let listener = PostgresListener(
                configuration: configuration,
                channels: ["quiet"],
                pollInterval: .milliseconds(20)
            )
            var ticks = 0
            for await event in listener.events() {
                if event == .tick { ticks += 1 }
                if ticks == 5 { break }
            }
            #expect(ticks == 5)
        }
    }

    @Test func `the listener's connection ends with the reading task`() async throws {
        let channel = TestServer.uniqueName("ending")
        let listener = PostgresListener(configuration: try SharedDatabase.configuration(), channels: [channel])
        let task = Task {
            for await _ in listener.events() {}
        }
        #expect(try await eventually { try await Self.backend(channel) != nil })
        task.cancel()
        await task.value
        #expect(try await eventually { try await Self.backend(channel) == nil })
    }
}

@Suite struct BackoffTests {
    @Test func `pauses grow to the longest, which a listener that looks for a primary has longer`() {
        for longest in [5, 60] as [Int64] {
            var backoff = Backoff(longest: .seconds(longest))
            var last = Duration.zero
            for _ in 0..<20 { last = backoff.next() }
            #expect(last >= .seconds(longest) / 2 && last <= .seconds(longest))
            // A connection that stood for a while was no failed attempt.
            #expect(backoff.next(lived: .seconds(1)) <= .milliseconds(10))
        }
    }
}
