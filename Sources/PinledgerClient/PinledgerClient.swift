public import PinWire
internal import Synchronization

/// Holds an app's verified document, keeps it up to date, and says what holds for each connection.
///
///     let client = PinledgerClient(configuration, store: FileStore(path: path), transport: transport) { log($0) }
///     async let updates: Void = client.run()
///
/// Whatever fails, the last verified document stays: a service that is down, a document that is refused, a store that cannot be written.
/// If the process dies, the next one begins with the stored document, which it verifies again.
public actor PinledgerClient {
    nonisolated let configuration: ClientConfiguration
    /// The services of its configuration.
    public nonisolated var services: [ServiceAddress] { self.configuration.services }
    package nonisolated var connectionWait: Duration { self.configuration.connectionWait }
    var verifier: DocumentVerifier
    let store: any ClientStore
    let transport: any DocumentTransport
    private let clock: @Sendable () -> Timestamp
    nonisolated var now: Timestamp { self.clock() }
    let random: @Sendable (Range<Double>) -> Double
    let onFailure: @Sendable (ClientFailure) -> Void
    nonisolated let current: Mutex<Current>

    /// What holds, and who waits for another policy.
    struct Current {
        var policy: PinPolicy
        var watchers: [UInt64: AsyncStream<PinPolicy>.Continuation] = [:]
        var nextWatcher: UInt64 = 0
        /// Whether pins have refused a connection since the last fetch: the server may have a key that a newer document knows.
        var hasRefused = false
        /// Whether the store was read.
        var isLoaded = false
        /// When a connection may look at the store again that could not be read, or took too long.
        var looksAgain = ContinuousClock.now
    }

    // The state of fetches: PinledgerClient+Fetching.

    /// The fetch that is under way; all who ask meanwhile get its result. It ends by itself: each service has its time.
    var flight: Flight?
    /// Why the last refresh, or the stream, had no document; nil where it had one, or there was none.
    public internal(set) var lastFailure: RefreshFailure?
    /// When a fetch that a connection or a stream asked for last began, or one last failed that took long.
    var lastTry: ContinuousClock.Instant?
    /// How many fetches have failed and taken long since the last one that did not fail.
    var slowFailures = 0
    /// The highest version that a stream has announced, and that is still waited for.
    var announced: Int64 = 0

    // The state of the store: PinledgerClient+Keeping.

    /// Why the held document could not be read or stored; nil where it could.
    public internal(set) var storeFailure: String?
    /// The look at the store, before anything is fetched: without what is stored, an older document could take its place. It ends by itself.
    var loading: Task<LoadOutcome, Never>?
    /// The read that is under way; it may outlast the look that began it.
    var reading: Task<[UInt8]?, any Error>?
    /// Whether the store could be read. Before that nothing is written, which would replace what was not read.
    var isStoreRead = false
    /// Whether the last read took too long.
    var isReadSlow = false
    /// What speaks against the document that ships with the app, once it was looked at, and the root of trust by which it was.
    var builtin: (failure: VerificationFailure?, root: RootOfTrust?)?
    let writes = StoreWrites()
    /// The failure that was last told of hosts without pins.
    var toldUncovered: ClientFailure?
    /// The version of the document in the store; 0 for none.
    var storedVersion: Int64 = 0

    // The state of the root of trust: PinledgerClient+Roots.

    /// The roots of trust after the one that ships with the app.
    var laterRoots: [RootOfTrust] = []
    /// The look for the next root that nothing has called for, beside the fetches. It ends by itself: each service has its time.
    var rootLook: Task<Void, Never>?
    /// When services were last asked for the next root.
    var lastRootLook: ContinuousClock.Instant?
    /// How long a process goes without asking for the next root while nothing calls for it: less than ``run()`` lets pass between two fetches.
    var rootPause = Duration.seconds(1800)
    /// Why the last root that a service has sent was not taken; nil where it was, or there was none.
    public internal(set) var rootFailure: RootOfTrust.Failure?

    /// The document that ships with the app holds at once, if it may be used.
    ///
    /// - Parameters:
    ///   - onFailure: Told what goes wrong beside the app's own calls, each time it does: nothing else tells of a mistyped issuer. It must not
    ///     block.
    ///   - clock: The time; for tests.
    public init(
        _ configuration: ClientConfiguration, store: any ClientStore, transport: any DocumentTransport,
        onFailure: @escaping @Sendable (ClientFailure) -> Void,
        clock: @escaping @Sendable () -> Timestamp = SystemClock.now
    ) {
        self.init(
            configuration, store: store, transport: transport, onFailure: onFailure, clock: clock,
            random: { Double.random(in: $0) })
    }

    /// - Parameter random: A number from a range.
    package init(
        _ configuration: ClientConfiguration, store: any ClientStore, transport: any DocumentTransport,
        onFailure: @escaping @Sendable (ClientFailure) -> Void, clock: @escaping @Sendable () -> Timestamp,
        random: @escaping @Sendable (Range<Double>) -> Double
    ) {
        let verifier = DocumentVerifier(
            app: configuration.app, issuer: configuration.issuer, anchors: configuration.anchors)
        let builtin = configuration.builtinDocument.flatMap {
            try? verifier.verify(UnverifiedDocument($0), replacing: nil, at: nil)
        }
        self.configuration = configuration
        self.verifier = verifier
        self.store = store
        self.transport = transport
        self.onFailure = onFailure
        self.clock = clock
        self.random = random
        self.current = Mutex(
            Current(
                policy: PinPolicy(
                    document: builtin, device: configuration.device, builtin: configuration.builtinPins,
                    ends: configuration.ends, generation: 0)))
    }

    deinit {
        self.current.withLock { current in for watcher in current.watchers.values { watcher.finish() } }
    }

    /// What holds now. Take one for each connection.
    public nonisolated var policy: PinPolicy { self.current.withLock { $0.policy } }

    /// Each further policy, from now on: for pools that close connections which a new document refuses. One that is slow to take them
    /// misses all but the newest. The stream ends with the client, and where its task is cancelled.
    public nonisolated func policyUpdates() -> AsyncStream<PinPolicy> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let watcher = self.current.withLock { current in
                let watcher = current.nextWatcher
                current.nextWatcher += 1
                current.watchers[watcher] = continuation
                return watcher
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.current.withLock { $0.watchers.removeValue(forKey: watcher) }
            }
        }
    }

    /// States what is known of the device from now on, such as when a user signs in.
    public nonisolated func setDevice(_ device: Device) { self.hold { $0.replacing(device) } }

    /// Verifies a document that a service has sent, lets it hold from now on, and stores it.
    func take(sent document: UnverifiedDocument) async throws(VerificationFailure) -> Refresh {
        let refresh = try self.take(document, at: self.now)
        self.lastFailure = nil
        if refresh != .unchanged { self.tellOfUncoveredHosts() }
        if refresh != .unchanged || self.storeFailure != nil { await self.keep() }
        return refresh
    }

    /// Verifies a document and lets it hold from now on.
    ///
    /// - Parameter now: Nil for a document that was accepted before.
    func take(_ document: UnverifiedDocument, at now: Timestamp?) throws(VerificationFailure) -> Refresh {
        let held = self.policy.document
        let verified = try self.verifier.verify(document, replacing: held, at: now)
        guard verified != held else { return .unchanged }
        self.hold { $0.replacing(verified) }
        return .replaced(version: verified.version)
    }

    /// Lets the next policy hold. It is made outside of the lock, which every connection takes, and again where another one was faster.
    private nonisolated func hold(_ next: (PinPolicy) -> PinPolicy) {
        while true {
            let policy = next(self.policy)
            let isHeld = self.current.withLock { current in
                guard current.policy.generation + 1 == policy.generation else { return false }
                current.policy = policy
                for watcher in current.watchers.values { watcher.yield(policy) }
                return true
            }
            if isHeld { return }
        }
    }
}

extension VerifiedDocument {
    /// The entity tag that the server gives these bytes, without its quotation marks. It is derived from them, so that no tag has to be
    /// stored, which could be another document's.
    var tag: String { "\(self.version).\(Base64URL.encode(sha256(self.bytes)))" }
}
