import Glibc
import NIOPosix
import PinWire
import Pinning
package import Probing
import Synchronization
package import Telemetry

/// What the handlers of a node work with where it is about clients' reports.
///
/// Reports are read on one thread of their own, which is less urgent to the system than those that serve documents; and
/// what waits for it is bounded, in bytes. Who comes when there is no room is told to come again.
package struct TelemetryTools: Sendable {
    package let recorder: TelemetryRecorder
    package let secrets: TelemetrySecrets
    /// Where proxies are whose word on clients' addresses is taken.
    let trustedProxies: [IPNetwork]
    private let thread = ReportThread()
    private let indexes = HostIndexes()

    package init(recorder: TelemetryRecorder, secrets: TelemetrySecrets, trustedProxies: [IPNetwork] = []) {
        self.recorder = recorder
        self.secrets = secrets
        self.trustedProxies = trustedProxies
    }

    /// Bytes of a body as it is sent, and as it is after it has been taken apart.
    static let bodyLimit = 256 * 1024
    static let inflatedLimit = 1024 * 1024

    /// Lets a request of so many bytes in, which MUST ``leave(_:)`` again. False where there is no room.
    func enter(_ bytes: Int) -> Bool { self.thread.enter(bytes) }

    func leave(_ bytes: Int) { self.thread.leave(bytes) }

    /// Does what takes its time.
    func work<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await self.thread.run(body)
    }

    /// Which hosts an app has, by name.
    func hosts(of app: App) -> ReportedHosts { self.indexes.index(of: app) }

    /// Ends the thread. Nothing may be under way.
    package func close() async { await self.thread.close() }
}

/// Indexes of the apps that were reported of lately, each made once for each version.
private final class HostIndexes: Sendable {
    private let indexes = Mutex<[AppID: (version: Int64, index: ReportedHosts)]>([:])
    private static let limit = 1000

    func index(of app: App) -> ReportedHosts {
        if let known = self.indexes.withLock({ $0[app.id] }), known.version == app.version { return known.index }
        let index = ReportedHosts(app)
        self.indexes.withLock { indexes in
            if indexes.count >= Self.limit { indexes = [:] }
            indexes[app.id] = (app.version, index)
        }
        return index
    }
}

/// The thread, started when it is needed first.
private final class ReportThread: Sendable {
    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let state = Mutex((isStarted: false, bytes: 0))

    /// Bytes of bodies that are read, or wait, at once.
    private static let limit = 32 * 1024 * 1024
    /// How much less urgent it is, as `nice` counts.
    private static let niceness: Int32 = 10

    func enter(_ bytes: Int) -> Bool {
        self.state.withLock { state in
            guard state.bytes + bytes <= Self.limit else { return false }
            state.bytes += bytes
            return true
        }
    }

    func leave(_ bytes: Int) { self.state.withLock { $0.bytes -= bytes } }

    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        let isFirst = self.state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        if isFirst {
            self.pool.start()
            // On Linux, of the calling thread alone.
            self.pool.submit { _ in _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness) }
        }
        return try await self.pool.runIfActive(body)
    }

    func close() async {
        guard self.state.withLock({ $0.isStarted }) else { return }
        // It only fails for a pool that cannot be ended.
        try? await self.pool.shutdownGracefully()
    }
}
