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
    var verifier: DocumentVerifier
    private let store: any ClientStore
    let transport: any DocumentTransport
    private let clock: @Sendable () -> Timestamp
    var now: Timestamp { self.clock() }
    let random: @Sendable (Range<Double>) -> Double
    let current: Mutex<Current>

    /// What holds, and who waits for another policy.
    struct Current {
        var policy: PinPolicy
        var watchers: [UInt64: AsyncStream<PinPolicy>.Continuation] = [:]
        var nextWatcher: UInt64 = 0
        /// Whether pins have refused a connection since the last fetch: the server may have a key that a newer document knows.
        var hasRefused = false

    }

    /// The fetch that is under way; all who ask meanwhile get its result. It ends by itself: each service has its time.
    private(set) var flight: Task<Refresh, any Error>?
    /// Why the held document could not be read or stored; nil where it could.
    public private(set) var storeFailure: String?
    /// Why the last refresh, or the stream, had no document; nil where it had one, or there was none.
    public internal(set) var lastFailure: RefreshFailure?
    /// When a fetch that a connection or a stream asked for has last begun.
    var prepared: ContinuousClock.Instant?
    /// The write that is under way: the next one comes after it.
    private var writing: Task<Void, Never>?
    /// The look at the store, before anything is fetched: without what is stored, an older document could take its place. It ends by itself:
    /// it is one read.
    private var loading: Task<LoadOutcome, Never>?
    /// Whether the store could be read. Before that nothing is written, which would replace what was not read.
    private var isStoreRead = false
    /// What speaks against the document that ships with the app, once it was looked at.
    private var builtin: VerificationFailure??
    /// The root of trust by which it was looked at.
    private var builtinRoot: RootOfTrust?
    /// The roots of trust after the one that ships with the app.
    var laterRoots: [RootOfTrust] = []
    /// Why the last root that a service has sent was not taken; nil where it was, or there was none.
    public internal(set) var rootFailure: RootOfTrust.Failure?
    /// The version of the document in the store; 0 for none.
    private(set) var storedVersion: Int64 = 0

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

    /// Takes up the stored roots of trust, the document that ships with the app, and then the stored one. Call it before the first connection;
    /// ``refresh()`` does it where nobody has.
    ///
    /// A stored document is verified as a fetched one is: what was altered, is another app's or is older than the one that ships with the
    /// app is not used. It may be stale, and the device's clock may be behind: it was accepted once.
    ///
    /// A store that cannot be read is read again by the next call: a Keychain cannot be read before the device's first unlock.
    ///
    /// - Returns: What is not used, and why. Where nothing is, ``ClientConfiguration/withoutDocument`` decides about connections.
    @discardableResult
    public func load() async -> LoadOutcome {
        if let loading { return await loading.value }
        let task = Task { await self.look() }
        self.loading = task
        let outcome = await task.value
        if outcome.store != nil { self.loading = nil }
        return outcome
    }

    private func look() async -> LoadOutcome {
        var outcome = LoadOutcome()
        do {
            let stored = try await self.store.read().map { StoredState($0) }
            let fetched = self.storeFailure == nil ? nil : self.policy.document
            self.takeRoots(stored?.roots ?? [])
            outcome.builtin = self.takeBuiltin()
            outcome.stored = stored?.document.flatMap { self.refusal(of: $0) }
            self.isStoreRead = true
            self.storeFailure = nil
            if let held = self.policy.document, held.bytes == stored?.document {
                self.noteStored(held)
            } else if let fetched, fetched == self.policy.document {
                // It came while the store could not be read, and is stored with the next answer.
                self.storeFailure = "version \(fetched.version) is not stored yet"
            }
        } catch {
            outcome.builtin = self.takeBuiltin()
            outcome.store = "\(error)"
            self.storeFailure = outcome.store
        }
        return outcome
    }

    /// Takes up the document that ships with the app; what speaks against it.
    private func takeBuiltin() -> VerificationFailure? {
        if let builtin, self.builtinRoot == self.root { return builtin }
        let builtin = self.configuration.builtinDocument.flatMap { self.refusal(of: $0) }
        (self.builtin, self.builtinRoot) = (.some(builtin), self.root)
        return builtin
    }

    private func noteStored(_ document: VerifiedDocument) {
        self.storedVersion = document.version
        self.storeFailure = nil
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
        self.lastFailure = nil
        return refresh
    }

    /// Verifies a document and lets it hold from now on.
    private func take(_ document: UnverifiedDocument, at now: Timestamp?) throws(VerificationFailure) -> Refresh {
        let held = self.policy.document
        let verified = try self.verifier.verify(document, replacing: held, at: now)
        guard verified != held else { return .unchanged }
        self.hold { $0.replacing(verified) }
        return .replaced(version: verified.version)
    }

    /// States what is known of the device from now on, such as when a user signs in.
    public nonisolated func setDevice(_ device: Device) { self.hold { $0.replacing(device) } }

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
        var hasLooked = false
        for service in self.configuration.services {
            switch await self.ask(service, &hasLooked) {
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

    /// - Parameter hasLooked: Whether this fetch has looked for the next root already, at all services.
    private func ask(_ service: String, _ hasLooked: inout Bool) async -> Answer {
        let answer = await self.askForDocument(service)
        let cause: RefreshFailure.Cause? = if case .missed(let cause) = answer { cause } else { nil }
        guard !hasLooked, self.isRootDue(after: cause) else { return answer }
        hasLooked = true
        guard await self.lookForRoots(at: service) else { return answer }
        // What was refused may be trusted now, and what is held no more.
        let again = await self.askForDocument(service)
        await self.keep()
        return again
    }

    private func askForDocument(_ service: String) async -> Answer {
        let held = self.policy.document.flatMap { self.verifier.anchors.contains($0.keyID) ? $0 : nil }
        var headers = [(name: "Accept", value: "application/jose"), self.clientField]
        if let held { headers.append(("If-None-Match", "\"\(held.tag)\"")) }
        let response: DocumentResponse
        do {
            response = try await self.transport.get(
                Self.address(of: "document", self.configuration.app, at: service), headers: headers,
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
        refresh == .unchanged && held.isStale(at: self.clock()) ? .missed(.stale) : .found(refresh)
    }

    /// What adoption is counted by.
    var clientField: (name: String, value: String) {
        ("Pinledger-Client", "version=\(self.policy.document?.version ?? 0)")
    }

    static func address(of part: String, _ app: AppID, at service: String) -> String {
        self.address(of: "apps/\(app)/\(part)", at: service)
    }

    static func address(of resource: String, at service: String) -> String {
        let base = service.hasSuffix("/") ? String(service.dropLast()) : service
        return "\(base)/client/v1/\(resource)"
    }

    /// Stores what holds when its turn comes: one write after the other, so that no older document is the last one.
    private func keep() async {
        let before = self.writing
        // Owned by the actor until it has ended: it is one write.
        let task = Task {
            await before?.value
            let held = self.policy.document
            guard self.isStoreRead, held != nil || !self.laterRoots.isEmpty else { return }
            // A root and the document that it lets in are stored in one step. Until there is one, the store has both from before.
            if let held, !self.verifier.anchors.contains(held.keyID) { return }
            do {
                try await self.store.write(StoredState(roots: self.laterRoots, document: held).bytes)
                self.storedVersion = held?.version ?? 0
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
        let interval = max(self.configuration.refreshInterval, .seconds(10))
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
