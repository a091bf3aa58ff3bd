public import PinWire
internal import Synchronization

/// Holds an app's verified document, keeps it up to date, and says what holds for each connection.
///
///     let client = PinledgerClient(configuration, store: FileStore(path: path), transport: transport)
///     await client.load()
///     async let updates: Void = client.run()
///
/// Whatever fails, the last verified document stays: a service that is down, a document that is refused, a store that cannot be written.
/// If the process dies, the next one begins with the stored document, which it verifies again.
public actor PinledgerClient {
    /// What a refresh came to.
    public enum Refresh: Hashable, Sendable {
        /// The held document is the current one.
        case unchanged
        /// Another one holds from now on: of a higher version, or the same one signed again.
        case replaced(version: Int64)
    }

    let configuration: ClientConfiguration
    private let verifier: DocumentVerifier
    private let store: any ClientStore
    private let transport: any DocumentTransport
    private let clock: @Sendable () -> Timestamp
    let random: @Sendable (Range<Double>) -> Double
    private let current: Mutex<Current>

    /// What holds, and who waits for another policy.
    private struct Current {
        var policy: PinPolicy
        var watchers: [UInt64: AsyncStream<PinPolicy>.Continuation] = [:]
        var nextWatcher: UInt64 = 0
        /// Whether pins have refused a connection since the last fetch: the server may have a key that a newer document knows.
        var hasRefused = false

        mutating func hold(_ policy: PinPolicy) {
            self.policy = policy
            for watcher in self.watchers.values { watcher.yield(policy) }
        }
    }

    /// The fetch that is under way; all who ask meanwhile get its result. It ends by itself: each service has its time.
    private var flight: Task<Refresh, any Error>?
    /// Why the held document could not be read or stored; nil where it could.
    public private(set) var storeFailure: String?
    /// Why the last refresh, or the stream, had no document; nil where it had one, or there was none.
    public internal(set) var lastFailure: RefreshFailure?
    /// When a connection has last waited for a fetch.
    private var prepared: ContinuousClock.Instant?
    /// The write that is under way: the next one comes after it.
    private var writing: Task<Void, Never>?
    /// The look at the store, which happens once, before anything is fetched: without what is stored, an older document could take its
    /// place. It ends by itself: it is one read.
    private var loading: Task<LoadOutcome, Never>?

    /// - Parameters:
    ///   - clock: The time; for tests.
    ///   - random: A number from a range; for tests.
    public init(
        _ configuration: ClientConfiguration, store: any ClientStore, transport: any DocumentTransport,
        clock: @escaping @Sendable () -> Timestamp = SystemClock.now,
        random: @escaping @Sendable (Range<Double>) -> Double = { Double.random(in: $0) }
    ) {
        self.configuration = configuration
        self.verifier = DocumentVerifier(
            app: configuration.app, issuer: configuration.issuer, anchors: configuration.anchors)
        self.store = store
        self.transport = transport
        self.clock = clock
        self.random = random
        self.current = Mutex(
            Current(
                policy: PinPolicy(
                    document: nil, device: configuration.device, builtin: configuration.builtinPins,
                    ends: configuration.ends, generation: 0)))
    }

    /// What holds now. Take one for each connection.
    public nonisolated var policy: PinPolicy { self.current.withLock { $0.policy } }

    /// Each further policy, from now on: for pools that close connections which a new document refuses. One that is slow to take them
    /// misses all but the newest. The stream ends where its task is cancelled.
    public nonisolated var policies: AsyncStream<PinPolicy> {
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

    // MARK: Holding

    /// What became of the documents that were there at the start.
    public struct LoadOutcome: Hashable, Sendable {
        /// Why the document that ships with the app is not used; nil where it is, or there is none. That is a mistake of the app's build:
        /// stop there in development.
        public var builtin: VerificationFailure?
        /// Why the stored document is not used; nil where it is, or there is none.
        public var stored: VerificationFailure?
        /// Why the store could not be read.
        public var store: String?
    }

    /// Takes up the document that ships with the app, and then the stored one. Call it before the first connection; ``refresh()`` does
    /// it where nobody has.
    ///
    /// A stored document is verified as a fetched one is: what was altered, is another app's or is older than the one that ships with the
    /// app is not used. It may be stale, and the device's clock may be behind: it was accepted once.
    ///
    /// - Returns: What is not used, and why. Where nothing is, ``ClientConfiguration/withoutDocument`` decides about connections.
    @discardableResult
    public func load() async -> LoadOutcome {
        if let loading { return await loading.value }
        let task = Task { await self.look() }
        self.loading = task
        return await task.value
    }

    private func look() async -> LoadOutcome {
        var outcome = LoadOutcome()
        outcome.builtin = self.configuration.builtinDocument.flatMap { self.refusal(of: $0) }
        do {
            outcome.stored = try await self.store.read().flatMap { self.refusal(of: $0) }
        } catch {
            outcome.store = "\(error)"
            self.storeFailure = outcome.store
        }
        return outcome
    }

    /// Takes up a document that was accepted before; what speaks against it, if anything does.
    private func refusal(of bytes: [UInt8]) -> VerificationFailure? {
        do throws(VerificationFailure) {
            _ = try self.take(UnverifiedDocument(bytes), at: nil)
            return nil
        } catch { return error }
    }

    /// Verifies a document that a service has sent, lets it hold from now on, and stores it.
    func take(sent document: UnverifiedDocument) async throws(VerificationFailure) -> Refresh {
        let refresh = try self.take(document, at: self.clock())
        if refresh != .unchanged || self.storeFailure != nil { await self.keep() }
        return refresh
    }

    /// Verifies a document and lets it hold from now on.
    private func take(_ document: UnverifiedDocument, at now: Timestamp?) throws(VerificationFailure) -> Refresh {
        let held = self.policy.document
        let verified = try self.verifier.verify(document, replacing: held, at: now)
        guard verified != held else { return .unchanged }
        self.current.withLock { $0.hold($0.policy.replacing(verified)) }
        return .replaced(version: verified.version)
    }

    /// States what is known of the device from now on, such as when a user signs in.
    public nonisolated func setDevice(_ device: Device) {
        self.current.withLock { $0.hold($0.policy.replacing(device)) }
    }

    // MARK: Fetching

    /// Fetches the current document from the first service that has one, and lets it hold.
    ///
    /// Calls at the same time share one fetch, which goes on if one of the callers is cancelled.
    ///
    /// - Throws: ``RefreshFailure``; what holds stays.
    @discardableResult
    public func refresh() async throws -> Refresh {
        if let flight { return try await flight.value }
        // Owned by the actor until it has ended, and bounded by the services' times.
        let task = Task { try await self.fetch() }
        self.flight = task
        defer { self.flight = nil }
        return try await task.value
    }

    /// Fetches where that is due before a connection to a host: there is no document yet, the held one is stale and covers the host, or
    /// pins have refused a connection since the last fetch.
    ///
    /// At most every 10 seconds, and for at most `limit`: after that the connection goes on by the present policy, and the fetch
    /// beside it.
    public func prepare(for host: String, atMost limit: Duration = .seconds(3)) async {
        await self.load()
        let (policy, hasRefused) = self.current.withLock { ($0.policy, $0.hasRefused) }
        let now = self.clock()
        let isStale = policy.document?.isStale(at: now) ?? true
        guard hasRefused || isStale && policy.decide(host, at: now)?.reason != .hostUnknown,
            self.prepared.map({ $0.duration(to: .now) >= .seconds(10) }) ?? true
        else { return }
        self.prepared = .now
        await withCheckedContinuation { continuation in
            let first = First(continuation)
            // Both end by themselves: the fetch within its services' times, and the pause.
            Task {
                _ = try? await self.refresh()
                first.resume()
            }
            Task {
                try? await Task.sleep(for: limit)
                first.resume()
            }
        }
    }

    /// Notes that pins have refused a connection: the next ``prepare(for:atMost:)`` fetches.
    package nonisolated func noteRefusal() { self.current.withLock { $0.hasRefused = true } }

    private func fetch() async throws -> Refresh {
        await self.load()
        do {
            let refresh = try await self.askAll()
            self.current.withLock { $0.hasRefused = false }
            self.lastFailure = nil
            return refresh
        } catch {
            self.lastFailure = error
            throw error
        }
    }

    private func askAll() async throws(RefreshFailure) -> Refresh {
        var causes: [(service: String, cause: RefreshFailure.Cause)] = []
        for service in self.configuration.services {
            switch await self.ask(service) {
            case .found(let refresh): return refresh
            case .missed(let cause): causes.append((service, cause))
            }
        }
        throw RefreshFailure(causes: causes)
    }

    private enum Answer {
        case found(Refresh)
        case missed(RefreshFailure.Cause)
    }

    private func ask(_ service: String) async -> Answer {
        let held = self.policy.document
        var headers = [("Accept", "application/jose"), self.clientField]
        if let held { headers.append(("If-None-Match", "\"\(held.tag)\"")) }
        let response: DocumentResponse
        do {
            response = try await self.transport.get(
                self.address(of: "document", at: service), headers: headers.map { (name: $0.0, value: $0.1) },
                limit: DocumentVerifier.byteLimit, timeout: self.configuration.fetchTimeout)
        } catch { return .missed(.unreachable("\(error)")) }
        switch response.status {
        case 304:
            guard let held else { return .missed(.status(304)) }
            if self.storeFailure != nil { await self.keep() }
            return self.settled(.unchanged, held)
        case 200:
            do {
                let refresh = try await self.take(sent: UnverifiedDocument(response.body))
                guard let now = self.policy.document else { return .missed(.refused(.malformedPayload)) }
                return self.settled(refresh, now)
            } catch { return .missed(.refused(error)) }
        default: return .missed(.status(response.status))
        }
    }

    /// Judges an answer that brought nothing new: no one has signed that there is none. A service that is cut off, or lies, may say so
    /// without end: where the held document is stale, the next one is asked.
    private func settled(_ refresh: Refresh, _ held: VerifiedDocument) -> Answer {
        held.isStale(at: self.clock()) ? .missed(.stale) : .found(refresh)
    }

    /// What adoption is counted by.
    var clientField: (String, String) { ("Pinledger-Client", "version=\(self.policy.document?.version ?? 0)") }

    func address(of part: String, at service: String) -> String {
        let base = service.hasSuffix("/") ? String(service.dropLast()) : service
        return "\(base)/client/v1/apps/\(self.configuration.app)/\(part)"
    }

    /// Stores what holds when its turn comes: one write after the other, so that no older document is the last one.
    private func keep() async {
        let before = self.writing
        // Owned by the actor until it has ended: it is one write.
        let task = Task {
            await before?.value
            guard let bytes = self.policy.document?.bytes else { return }
            do {
                try await self.store.write(bytes)
                self.storeFailure = nil
            } catch { self.storeFailure = "\(error)" }
        }
        self.writing = task
        await task.value
    }

    /// Fetches now, and again and again until the task is cancelled: after the interval, or sooner where nothing could be fetched.
    public func run() async {
        var failures = 0
        while !Task.isCancelled {
            do {
                try await self.refresh()
                failures = 0
            } catch { failures += 1 }
            do { try await Task.sleep(for: self.pause(after: failures)) } catch { return }
        }
    }

    /// The time until the next fetch: doubled from 5 seconds with each failure, up to the interval, and never the same for all installs.
    func pause(after failures: Int) -> Duration {
        let interval = self.configuration.refreshInterval
        guard failures > 0 else { return interval * self.random(0.9..<1.1) }
        return min(interval, .seconds(5) * (1 << min(failures - 1, 20))) * self.random(0.5..<1.0)
    }
}

extension VerifiedDocument {
    /// The entity tag that the server gives these bytes, without its quotation marks. It is derived from them, so that no tag has to be stored, which could be another
    /// document's.
    var tag: String { "\(self.version).\(Base64URL.encode(sha256(self.bytes)))" }
}

extension ClientConfiguration {
    var ends: EndPolicies {
        EndPolicies(
            afterExpiry: self.afterExpiry, exceptions: self.afterExpiryByHost, withoutDocument: self.withoutDocument)
    }
}

/// A continuation that the first of several resumes.
private final class First: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = Mutex(continuation) }

    func resume() {
        let continuation = self.continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume()
    }
}
