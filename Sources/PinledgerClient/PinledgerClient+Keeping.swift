internal import PinWire
internal import Synchronization

// What outlasts the process: the stored document and roots, and the document that ships with the app.

extension PinledgerClient {
    /// What became of the documents that were there at the start.
    public struct LoadOutcome: Hashable, Sendable {
        /// Why the document that ships with the app does not count; nil where it does, or there is none. That is a mistake of the app's build,
        /// or the newest root of trust leaves out its key: then it judges until there is another one.
        public var builtin: VerificationFailure?
        /// Why the stored document is not used; nil where it is, or there is none.
        public var stored: VerificationFailure?
        /// Why the store could not be read.
        public var store: String?
        /// The version of the document that holds; nil for none.
        public var version: Int64?
    }

    /// How long the store may take: what is slower is a failure.
    private static let readLimit = Duration.seconds(30)
    private static let writeLimit = Duration.seconds(5)
    /// The time after which another connection waits for a store that could not be read, or took too long.
    private static let lookPause = Duration.seconds(10)
    /// How long a fetch waits for a read that took too long before.
    private static let slowReadLimit = Duration.milliseconds(100)

    /// Takes up the stored roots of trust and the stored document. The first fetch and the first connection do it where nobody has.
    ///
    /// A stored document is verified as a fetched one is: what was altered, is another app's or is older than the one that ships with the
    /// app is not used. It may be stale, and the device's clock may be behind: it was accepted once.
    ///
    /// A store that cannot be read is read again by the next call: a Keychain cannot be read before the device's first unlock.
    ///
    /// - Returns: What is not used, and why. Where nothing is, ``ClientConfiguration/withoutDocument`` decides about connections.
    public func load() async -> LoadOutcome { await self.look().value }

    /// The look at the store that is under way, or was.
    func look() -> Task<LoadOutcome, Never> {
        if let loading { return loading }
        // Owned by the actor, and ends by itself: the read has its time.
        let task = Task {
            let outcome = await self.takeStored()
            if outcome.store != nil { self.loading = nil }
            self.current.withLock { current in
                current.isLoaded = outcome.store == nil
                current.looksAgain = .now + Self.lookPause
            }
            return outcome
        }
        self.loading = task
        return task
    }

    /// Waits until the store was read, and not for long: a connection that is judged before has no document, or an older one. One that cannot be
    /// read, as a Keychain before the first unlock, is tried again every 10 seconds.
    package nonisolated func ready() async {
        guard self.current.withLock({ !$0.isLoaded && $0.looksAgain <= .now }) else { return }
        do { _ = try await self.look().result(atMost: self.connectionWait) } catch is TimedOut {
            // Further connections do not wait as well.
            self.current.withLock { $0.looksAgain = .now + Self.lookPause }
        } catch {
            // The connection was given up.
        }
    }

    private func takeStored() async -> LoadOutcome {
        var outcome = LoadOutcome()
        do {
            let stored = try await self.read()
            let fetched = self.storeFailure == nil ? nil : self.policy.document
            self.takeRoots(stored?.roots ?? [])
            outcome.builtin = self.takeBuiltin()
            outcome.stored = stored?.document.flatMap { self.refusal(of: $0) }
            if let stored, stored.document == nil, !stored.isWellFormed { outcome.stored = .malformedToken }
            self.isStoreRead = true
            self.storeFailure = nil
            if let held = self.policy.document, held.bytes == stored?.document {
                self.storedVersion = held.version
            } else if let fetched, fetched == self.policy.document {
                // It came while the store could not be read, and is stored with the next answer.
                self.storeFailure = "version \(fetched.version) is not stored yet"
            }
        } catch {
            outcome.builtin = self.takeBuiltin()
            outcome.store = "\(error)"
            self.storeFailure = outcome.store
        }
        // What ships with the app outlasts the process too.
        if let held = self.policy.document, held.bytes == self.configuration.builtinDocument {
            self.storedVersion = held.version
        }
        outcome.version = self.policy.document?.version
        self.tellOfUncoveredHosts()
        if let failure = outcome.builtin, self.isMistake(failure) { self.onFailure(.builtinDocument(failure)) }
        if let failure = outcome.stored, !failure.comesWithTime { self.onFailure(.storedDocument(failure)) }
        if let failure = outcome.store { self.onFailure(.store(failure)) }
        return outcome
    }

    /// Tells of hosts that should be pinned, and that the document which holds says nothing of: once for each version.
    func tellOfUncoveredHosts() {
        guard let document = self.policy.document else { return }
        let missing = self.policy.uncovered(self.configuration.expectedHosts, at: self.now)
        let failure = ClientFailure.uncoveredHosts(missing, version: document.version)
        guard !missing.isEmpty, failure != self.toldUncovered else { return }
        self.toldUncovered = failure
        self.onFailure(failure)
    }

    /// Whether what speaks against the document that ships with the app is a mistake of the build, and not what comes with time: a newer
    /// document, or a root of trust that leaves out its key.
    private func isMistake(_ failure: VerificationFailure) -> Bool {
        !failure.comesWithTime && (failure != .unknownKey || self.laterRoots.isEmpty)
    }

    private func read() async throws -> StoredState? {
        // A read that hangs is waited for again, and not repeated beside it.
        let task = self.reading ?? Task { try await self.store.read() }
        self.reading = task
        do {
            let bytes = try await task.result(atMost: self.isReadSlow ? Self.slowReadLimit : Self.readLimit)
            self.reading = nil
            self.isReadSlow = false
            guard let bytes, !bytes.isEmpty else { return nil }
            try StoreContent.require(.state, bytes)
            return StoredState(bytes)
        } catch {
            self.isReadSlow = error is TimedOut
            if !self.isReadSlow { self.reading = nil }
            throw error
        }
    }

    /// Takes up the document that ships with the app; what speaks against it.
    private func takeBuiltin() -> VerificationFailure? {
        if let builtin, builtin.root == self.root { return builtin.failure }
        let failure = self.configuration.builtinDocument.flatMap { self.refusal(of: $0) }
        self.builtin = (failure, self.root)
        return failure
    }

    /// Takes up a document that was accepted before; what speaks against it, if anything does.
    private func refusal(of bytes: [UInt8]) -> VerificationFailure? {
        do throws(VerificationFailure) {
            _ = try self.take(UnverifiedDocument(bytes), at: nil)
            return nil
        } catch { return error }
    }

    /// Stores what holds when its turn comes: one write after the other, so that no older document is the last one. A store that is slow is not
    /// waited for to the end.
    func keep() async {
        let write = await self.writes.begin { await self.writeNow() }
        do { _ = try await write.result(atMost: Self.writeLimit) } catch let late as TimedOut {
            self.note(storeFailure: "\(late)")
        } catch {
            // The caller was cancelled; the write goes on.
        }
    }

    private func writeNow() async {
        let held = self.policy.document
        guard self.isStoreRead, held != nil || !self.laterRoots.isEmpty else { return }
        // A root and the document that it lets in are stored in one step. Until there is one, the store has both from before.
        if let held, !self.verifier.anchors.contains(held.keyID) { return }
        do {
            try await self.store.write(StoredState(roots: self.laterRoots, document: held).bytes)
            self.storedVersion = held?.version ?? 0
            self.storeFailure = nil
        } catch { self.note(storeFailure: "\(error)") }
    }

    private func note(storeFailure words: String) {
        self.storeFailure = words
        self.onFailure(.store(words))
    }
}

extension VerificationFailure {
    /// Whether it says only that a newer document is held: with a release, or while the store was locked, that happens to good documents.
    fileprivate var comesWithTime: Bool { self == .olderVersion || self == .issuedEarlier }
}
