import EventStore
import Foundation
import Keys
import Logging
import PinWire
import Pinning
import Postgres
import Secrets

/// Measures the append path: writers that each wait for their command's commit before sending the next, on one or more
/// nodes that share a database. Prints one line of JSON.
@main
struct Main {
    static func main() async throws {
        let options = try Options(CommandLine.arguments.dropFirst())
        let nodes = try (0..<options.nodes).map { try BenchmarkNode(options, number: $0) }
        let outcome = try await withThrowingTaskGroup(of: Void.self, returning: Measurement.self) { group in
            for node in nodes { group.addTask { await node.run() } }
            for node in nodes { try await node.follower.catchUp() }
            let outcome = try await Self.measure(options, nodes)
            group.cancelAll()
            return outcome
        }
        for node in nodes { await node.close() }
        print(outcome.json)
    }

    /// Every writer renames an app of its own, again and again.
    private static func measure(_ options: Options, _ nodes: [BenchmarkNode]) async throws -> Measurement {
        let run = String(UInt32.random(in: 0...UInt32.max), radix: 36)
        let apps = try (0..<options.writers).map { try AppID("bench.a\(run).w\($0)") }
        // The other apps of the fleet: what the state holds must not slow the append down.
        for number in 0..<options.otherApps {
            try await nodes[0].write(
                .app(try AppID("other.a\(run).n\(number)"), [.create(displayName: "other")]), key: "o\(run)-\(number)"
            )
        }
        for (number, app) in apps.enumerated() {
            try await nodes[number % nodes.count].write(.app(app, [.create(displayName: "")]), key: "c\(run)-\(number)")
        }
        let start = nodes[0].ledger.position
        // The entries of the creations are as long as renamings without a name.
        let shortest = try await nodes[0].stored(from: start - 1).bytesPerEntry
        let padding = String(repeating: "x", count: max(0, options.entryBytes - Int(shortest) - 6))
        let began = ContinuousClock.now
        let end = began + .seconds(options.seconds)
        let latencies = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for (number, app) in apps.enumerated() {
                let node = nodes[number % nodes.count]
                group.addTask {
                    var latencies: [Duration] = []
                    var count = 0
                    while ContinuousClock.now < end {
                        count += 1
                        let name = "\(count)-" + padding
                        let sent = ContinuousClock.now
                        try await node.write(.app(app, [.rename(name)]), key: "\(run)-\(number)-\(count)")
                        latencies.append(ContinuousClock.now - sent)
                    }
                    return latencies
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let took = ContinuousClock.now - began
        let stored = try await nodes[0].stored(from: start)
        return Measurement(latencies: latencies, took: took, stored: stored)
    }
}

/// What the command line asks for.
struct Options {
    var database = ""
    /// The file with the key-encryption key that authenticates batches; nil for none.
    var kekFile: String?
    var writers = 32
    var seconds = 5
    var nodes = 1
    /// How large an entry is to be, about.
    var entryBytes = 0
    /// Apps that exist and are left alone.
    var otherApps = 0

    struct Usage: Error {}

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Usage() }
            switch (name, Int(value)) {
            case ("--database", _): self.database = value
            case ("--kek-file", _): self.kekFile = value
            case ("--writers", let number?): self.writers = number
            case ("--seconds", let number?): self.seconds = number
            case ("--nodes", let number?): self.nodes = number
            case ("--entry-bytes", let number?): self.entryBytes = number
            case ("--other-apps", let number?): self.otherApps = number
            default: throw Usage()
            }
        }
    }
}

/// The parts of a server that write and follow the ledger.
struct BenchmarkNode {
    let ledger: Ledger
    let pool: PostgresPool
    let writer: Writer
    let follower: Follower

    init(_ options: Options, number: Int) throws {
        let configuration = PostgresConfiguration(
            connectionString: options.database, applicationName: "pinledger-benchmark-\(number)")
        self.ledger = Ledger(
            keys: try options.kekFile.map { file in
                BatchKeys(try BatchKey(KeyEncryptionKey(text: try PrivateFile.read(file))))
            })
        var logger = Logger(label: "benchmark") { StreamLogHandler.standardError(label: $0) }
        // Appends are measured, and not the line that a node logs of each change: that costs as much again.
        logger.logLevel = .warning
        self.pool = PostgresPool(configuration: configuration)
        self.writer = Writer(
            ledger: self.ledger, configuration: configuration, logger: logger, clock: { Self.now },
            environment: DecisionEnvironment { _ in false }
        )
        self.follower = Follower(
            ledger: self.ledger, pool: self.pool,
            listener: PostgresListener(configuration: configuration, channels: [Follower.channel]), logger: logger
        )
    }

    private static var now: Timestamp { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.writer.run() }
            group.addTask { await self.follower.run() }
        }
    }

    func close() async {
        self.ledger.close()
        await self.pool.close()
    }

    /// Writes as an API client does: with an idempotency key, and again where the answer says so.
    func write(_ command: Command, key: String) async throws {
        let request = CommandRequest(
            command: command,
            origin: Origin(actor: Actor(kind: .local, id: "benchmark", name: "Benchmark"), idempotencyKey: key),
            digest: sha256(Array(key.utf8)),
            // An import needs only the hash of a backup.
            isImport: true
        )
        while true {
            do {
                _ = try await self.writer.execute(request)
                return
            } catch WriteFailure.overloaded, WriteFailure.unavailable {
                try await Task.sleep(for: .milliseconds(10))
            } catch WriteFailure.refused(.appUnknown) {
                // Made on another node a moment ago.
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// How many events stand from `position` on, and how large their entries are on average.
    func stored(from position: Int64) async throws -> (events: Int64, bytesPerEntry: Double) {
        let row = try await self.pool.read(
            "SELECT count(*), coalesce(avg(octet_length(entry)), 0)::float8 FROM pinledger.event WHERE position >= $1",
            [.int64(position)]
        ).only
        return (try row.int64(0), try row.double(1))
    }
}

/// What came out.
struct Measurement {
    var latencies: [Duration]
    var took: Duration
    var stored: (events: Int64, bytesPerEntry: Double)

    var json: String {
        let sorted = self.latencies.sorted()
        func milliseconds(_ share: Double) -> Double {
            guard !sorted.isEmpty else { return 0 }
            return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] / .milliseconds(1)
        }
        let rate = Double(sorted.count) / (self.took / .seconds(1))
        return """
            {"events_per_second":\(rate.rounded()),"p50_ms":\(milliseconds(0.5)),"p99_ms":\(milliseconds(0.99)),\
            "acknowledged":\(sorted.count),"events":\(self.stored.events),"bytes_per_entry":\(self.stored.bytesPerEntry)}
            """
    }
}
