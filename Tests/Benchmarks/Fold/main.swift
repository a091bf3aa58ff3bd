// Measures how quickly a ledger is folded: FoldBenchmark CONNINFO [fold|snapshot|load]…
//
// `fold` reads the whole ledger into an empty node, `snapshot` keeps a snapshot of it, `load` starts from the newest
// snapshot. Each prints one JSON object. Run one of them at a time for figures of memory that mean something.
import EventStore
import Glibc
import Logging
import PinWire
import Pinning
import Postgres
import TransparencyLog

guard CommandLine.arguments.count >= 3,
    CommandLine.arguments.dropFirst(2).allSatisfy(["fold", "snapshot", "load"].contains)
else {
    print("usage: FoldBenchmark CONNINFO fold|snapshot|load…")
    exit(64)
}

/// What the process has used so far.
func usage() -> (cpu: Double, peakMegabytes: Double, megabytes: Double) {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
    var pages = 0.0
    if let file = fopen("/proc/self/statm", "r") {
        var line = [CChar](repeating: 0, count: 256)
        if fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            pages = Double(text.split(separator: " ").dropFirst().first ?? "0") ?? 0
        }
        fclose(file)
    }
    return (
        seconds(usage.ru_utime) + seconds(usage.ru_stime), Double(usage.ru_maxrss) / 1024,
        pages * Double(getpagesize()) / 1_048_576
    )
}

func rounded(_ value: Double) -> JSON { .number((value * 1000).rounded() / 1000) }

func report(_ name: String, _ view: LedgerView, _ work: Duration, cpu: Double) {
    let now = usage()
    let report: JSON = [
        "what": .string(name), "position": .integer(view.head.position),
        "apps": .integer(Int64(view.state.apps.count)),
        "root": .string(view.head.frontier.root.description),
        "seconds": rounded(work / .seconds(1)), "cpu_seconds": rounded(now.cpu - cpu),
        "rss_megabytes": rounded(now.megabytes), "peak_rss_megabytes": rounded(now.peakMegabytes),
    ]
    print(report.canonicalText)
}

func fold(_ pool: PostgresPool, _ logger: Logger) async throws -> LedgerView {
    let ledger = Ledger()
    let listener = PostgresListener(configuration: pool.configuration, channels: [])
    try await Follower(ledger: ledger, pool: pool, listener: listener, logger: logger).catchUp()
    return ledger.view
}

func measure(_ name: String, _ pool: PostgresPool) async throws {
    let logger = Logger(label: "fold")
    let clock = ContinuousClock()
    let store = SnapshotStore(pool: pool, logger: logger)
    var view = LedgerView()
    if name == "snapshot" { view = try await fold(pool, logger) }
    let cpu = usage().cpu
    let start = clock.now
    switch name {
    case "fold": view = try await fold(pool, logger)
    case "snapshot": try await store.store(view)
    default: view = try await store.load().view
    }
    report(name, view, start.duration(to: clock.now), cpu: cpu)
}

let pool = PostgresPool(configuration: PostgresConfiguration(connectionString: CommandLine.arguments[1]))
for name in CommandLine.arguments.dropFirst(2) { try await measure(name, pool) }
await pool.close()
