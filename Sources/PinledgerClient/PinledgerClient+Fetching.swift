internal import PinWire
internal import Synchronization

// Fetches: one at a time, from the first service that has a document which may be used.

extension PinledgerClient {
    /// What a refresh came to.
    public enum Refresh: Hashable, Sendable {
        /// The held document is the current one.
        case unchanged
        /// Another one holds from now on: of a higher version, or the same one signed again.
        case replaced(version: Int64)
    }

    /// A fetch that is under way.
    struct Flight {
        let task: Task<Refresh, any Error>
        var began = ContinuousClock.now
    }

    /// Fetches the current document from the first service that has one, and lets it hold.
    ///
    /// Calls at the same time share one fetch, which goes on where a caller is cancelled.
    ///
    /// - Throws: ``RefreshFailure``, and what holds stays; `CancellationError` where the task is cancelled.
    @discardableResult
    public func refresh() async throws -> Refresh {
        if let flight { return try await flight.task.result() }
        // Owned by the actor until it has ended, and bounded by the services' times.
        let task = Task {
            defer { self.flight = nil }
            return try await self.fetch()
        }
        self.flight = Flight(task: task)
        return try await task.result()
    }

    private func fetch() async throws -> Refresh {
        _ = await self.load()
        // A cache on the way may not have yet what a stream has announced.
        let (refresh, troubles) = await self.askAll(pastCaches: self.isBehind)
        self.lookForRootsIfDue(leavingOut: Self.unreachable(troubles))
        guard let refresh else {
            let failure = RefreshFailure(troubles: troubles)
            if let began = self.flight?.began, began.duration(to: .now) >= Self.slowTime {
                self.slowFailures += 1
                self.lastTry = .now
            }
            self.note(failure)
            throw failure
        }
        self.current.withLock { $0.hasRefused = false }
        self.lastFailure = nil
        self.slowFailures = 0
        return refresh
    }

    private static func unreachable(_ troubles: [RefreshFailure.Trouble]) -> [ServiceAddress] {
        troubles.compactMap { if case .unreachable = $0.cause { $0.service } else { nil } }
    }

    /// How long a fetch may take before its failure counts as one that holds connections up: others cost nothing.
    private static let slowTime = Duration.seconds(3)

    func note(_ failure: RefreshFailure) {
        self.lastFailure = failure
        self.onFailure(.refresh(failure))
    }

    /// - Parameter pastCaches: Whether caches on the way are to ask the service.
    private func askAll(pastCaches: Bool) async -> (refresh: Refresh?, troubles: [RefreshFailure.Trouble]) {
        var troubles: [RefreshFailure.Trouble] = []
        var hasLooked = false
        for service in self.configuration.services {
            switch await self.ask(service, pastCaches, &hasLooked, leavingOut: Self.unreachable(troubles)) {
            case .found(let refresh): return (refresh, troubles)
            case .missed(let cause): troubles.append(.init(service: service, cause: cause))
            }
        }
        return (nil, troubles)
    }

    private enum Answer {
        case found(Refresh)
        case missed(RefreshFailure.Cause)
    }

    /// - Parameters:
    ///   - hasLooked: Whether this fetch has looked for the next root already, at all services.
    ///   - dead: Services that this fetch could not reach.
    private func ask(
        _ service: ServiceAddress, _ pastCaches: Bool, _ hasLooked: inout Bool, leavingOut dead: [ServiceAddress]
    ) async -> Answer {
        let answer = await self.askForDocument(service, pastCaches)
        let cause: RefreshFailure.Cause? = if case .missed(let cause) = answer { cause } else { nil }
        guard !hasLooked, self.needsRoot(after: cause) else { return answer }
        hasLooked = true
        guard await self.lookForRoots(beginningAt: service, leavingOut: dead) else { return answer }
        // What was refused may be trusted now, and what is held no more.
        let again = await self.askForDocument(service, pastCaches)
        await self.keep()
        return again
    }

    private func askForDocument(_ service: ServiceAddress, _ pastCaches: Bool) async -> Answer {
        // One of a key that is trusted no more is held until there is another one, whatever a service says of it.
        let held = self.policy.document.flatMap { self.verifier.anchors.contains($0.keyID) ? $0 : nil }
        var headers = [TransportRequest.Header("Accept", "application/jose"), self.clientField]
        if let held { headers.append(.init("If-None-Match", "\"\(held.tag)\"")) }
        if pastCaches { headers.append(.init("Cache-Control", "no-cache")) }
        let response: DocumentResponse
        do {
            response = try await self.get(
                TransportRequest(
                    service.resource("document", of: self.configuration.app), headers: headers,
                    limit: DocumentVerifier.byteLimit, timeout: self.configuration.fetchTimeout))
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
        refresh == .unchanged && held.isStale(at: self.now) ? .missed(.stale) : .found(refresh)
    }

    /// Sends a request. A transport that forgets the time is not waited for.
    func get(_ request: TransportRequest) async throws -> DocumentResponse {
        let transport = self.transport
        return try await within(request.timeout + .seconds(1)) { try await transport.get(request) }
    }

    /// What adoption is counted by.
    var clientField: TransportRequest.Header {
        .init("Pinledger-Client", "version=\(self.policy.document?.version ?? 0)")
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
