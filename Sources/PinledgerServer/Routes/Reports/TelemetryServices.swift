import NIOCore
import PinWire
import Pinning
package import Secrets
package import Signals
import Synchronization

/// The services that a node's handlers need for clients' reports.
///
/// Reports are collected and read on the recorder's thread, which yields to those that serve documents; and the bytes
/// that wait for it, or are still incomplete, are bounded (``BodyRoom``). A client that comes when there is no room is
/// asked to retry.
package struct TelemetryServices: Sendable {
    package let recorder: TelemetryRecorder
    package let secrets: TelemetrySecrets
    /// The addresses of proxies whose statement of clients' addresses is trusted.
    let trustedProxies: TrustedProxies
    private let room = SharedBodyRoom()
    private let indexes = HostIndexes()

    package init(
        recorder: TelemetryRecorder, secrets: TelemetrySecrets, trustedProxies: TrustedProxies = TrustedProxies()
    ) {
        self.recorder = recorder
        self.secrets = secrets
        self.trustedProxies = trustedProxies
    }

    /// The most bytes of a body as it is sent, and after decompression.
    static let bodyLimit = 256 * 1024
    static let inflatedLimit = 1024 * 1024

    /// Collects a request's body as far as there is room for it, and does something with it; nil where there is no room.
    func withBody<Result>(
        of exchange: Exchange, _ use: ([UInt8]) async throws -> Result
    ) async throws -> Result? {
        var body: [UInt8] = []
        let isWhole: Bool
        do {
            isWhole = try await withTaskExecutorPreference(self.recorder.executor) {
                try await exchange.collectBody { piece in
                    guard self.room.grow(body.count, by: piece.readableBytes) else { return false }
                    body.append(contentsOf: piece.readableBytesView)
                    return true
                }
            }
        } catch {
            self.room.abandon(body.count)
            throw error
        }
        guard isWhole else {
            self.room.abandon(body.count)
            return nil
        }
        guard self.room.enter(body.count) else { return nil }
        defer { self.room.leave(body.count) }
        return try await use(body)
    }

    /// Runs slow work.
    func work<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await self.recorder.perform(body)
    }

    /// The hosts of an app, by name.
    func hosts(of app: App) -> ReportedHosts { self.indexes.index(of: app) }
}

/// Indexes of the apps with recent reports, each made once for each version.
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

/// The room for bodies, of all requests.
private final class SharedBodyRoom: Sendable {
    private let room = Mutex(BodyRoom())

    func grow(_ count: Int, by more: Int) -> Bool { self.room.withLock { $0.grow(count, by: more) } }

    func abandon(_ count: Int) { self.room.withLock { $0.abandon(count) } }

    func enter(_ count: Int) -> Bool { self.room.withLock { $0.enter(count) } }

    func leave(_ count: Int) { self.room.withLock { $0.leave(count) } }
}
