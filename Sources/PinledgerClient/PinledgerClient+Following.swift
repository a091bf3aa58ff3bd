internal import PinWire

// Streams of documents.

extension PinledgerClient {
    /// The longest silence of a stream: the server sends a comment every 15 seconds at least.
    private static let idleLimit = Duration.seconds(45)
    /// The longest pause that a server may ask for.
    private static let pauseLimit = Duration.seconds(300)
    /// How long a stream without a document has to be open to be of use.
    private static let usefulTime = Duration.seconds(20)

    /// Holds a stream of documents open until the task is cancelled, so that a kill switch holds a moment after it was engaged.
    ///
    /// Each document is verified as a fetched one is; one that the stream only announces, because it is large, is fetched. After a stream that
    /// ended, broke, sent what is not to be used, or has nothing newer than a stale document, the next service is tried: after a pause, which
    /// the server sets, and which doubles with each stream that was of no use. Let ``run()`` go on beside it: a stream may be cut without either side noticing.
    public func follow(_ transport: any StreamTransport) async {
        guard (try? await self.look().result()) != nil else { return }
        let (announcements, announce) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.followStreams(transport, announce) }
            // Beside the streams, which go on meanwhile.
            group.addTask { for await _ in announcements { await self.fetchAnnounced() } }
            await group.next()
            group.cancelAll()
        }
    }

    private func followStreams(
        _ transport: any StreamTransport, _ announce: AsyncStream<Void>.Continuation
    ) async {
        var failures = 0
        var turn = 0
        while !Task.isCancelled, !self.configuration.services.isEmpty {
            let service = self.configuration.services[turn % self.configuration.services.count]
            let end = await self.follow(service, transport, announce)
            guard !Task.isCancelled else { return }
            if let cause = end.cause { self.note(RefreshFailure(troubles: [.init(service: service, cause: cause)])) }
            if !end.isUseful {
                failures += 1
                turn += 1
            } else {
                failures = 0
            }
            do { try await Task.sleep(for: self.pause(after: failures, asked: end.retry)) } catch { return }
        }
    }

    /// How a stream ended.
    private struct End {
        /// Why; nil where it just ended, as it does when a node stops.
        var cause: RefreshFailure.Cause?
        /// Whether another document holds since it began, or it was open for a while: a stream is silent while nothing changes, and proxies
        /// cut it.
        var isUseful: Bool
        var retry: Duration?
    }

    private func follow(
        _ service: ServiceAddress, _ transport: any StreamTransport, _ announce: AsyncStream<Void>.Continuation
    ) async -> End {
        var headers = [TransportRequest.Header("Accept", "text/event-stream"), self.clientField]
        if let held = self.policy.document { headers.append(.init("Last-Event-ID", held.tag)) }
        let request = TransportRequest(
            service.resource("stream", of: self.configuration.app), headers: headers, limit: .max,
            timeout: Self.idleLimit)
        let reader = StreamReader(self, service, announce)
        let (began, before) = (ContinuousClock.now, self.policy.document)
        var cause: RefreshFailure.Cause?
        do {
            // A transport that does not heed a cancellation is not waited for.
            let status = try await within(nil) { try await transport.stream(request) { try await reader.take($0) } }
            if status != 200 { cause = .status(status) }
        } catch let failure as VerificationFailure {
            return End(cause: .refused(failure), isUseful: false, retry: await reader.retry)
        } catch is StreamReader.Stale {
            return End(cause: .stale, isUseful: false, retry: await reader.retry)
        } catch { cause = .unreachable("\(error)") }
        let wasOpen = await reader.hasBegun && began.duration(to: .now) >= Self.usefulTime
        return End(cause: cause, isUseful: self.policy.document != before || wasOpen, retry: await reader.retry)
    }

    /// The pause after a fetch that did not bring what was announced. Each brings what is there by then: also what was announced meanwhile.
    private static let announcedPause = Duration.seconds(10)
    /// How often an announced document is fetched before it is left to ``run()``: for two minutes, which is longer than caches may keep the
    /// one before.
    private static let announcedFetches = 12

    /// Fetches until the version is held that a stream has announced: a cache on the way may have the one before for a while.
    private func fetchAnnounced() async {
        do {
            // Not all installs at the same moment.
            try await Task.sleep(for: .seconds(2) * self.random(0..<1))
            for number in 1...Self.announcedFetches {
                guard self.isBehind else { return }
                _ = try? await self.refresh()
                guard self.isBehind else { return }
                // No one has signed what was announced: it is waited for no longer. What is announced from here on begins again.
                if number == Self.announcedFetches { self.announced = 0 }
                try await Task.sleep(for: Self.announcedPause)
            }
        } catch {
            // It was cancelled, and no stream is left that could announce more.
            self.announced = 0
        }
    }

    /// Whether a stream has announced a higher version than is held.
    var isBehind: Bool { self.announced > self.policy.document?.version ?? 0 }

    /// Notes the version that a stream announces.
    ///
    /// - Returns: Whether it is a higher one than is held.
    fileprivate func note(announced version: Int64) -> Bool {
        self.announced = max(self.announced, version)
        return version > self.policy.document?.version ?? 0
    }

    /// Takes a document that a stream has brought. One that is refused may need the next root of trust.
    fileprivate func take(streamed document: UnverifiedDocument, from service: ServiceAddress) async throws {
        do throws(VerificationFailure) { _ = try await self.take(sent: document) } catch {
            guard self.root != nil, self.mayFetchAgain(), await self.lookForRoots(beginningAt: service) else {
                throw error
            }
            _ = try await self.take(sent: document)
        }
    }

    /// Whether the held document should have been replaced by now.
    fileprivate var isStale: Bool { self.policy.document?.isStale(at: self.now) ?? false }

    /// The pause before the next stream: what the server asks for, and not less than what failures call for.
    func pause(after failures: Int, asked: Duration?) -> Duration {
        let own = failures > 0 ? min(Self.pauseLimit, .seconds(1) * (1 << min(failures - 1, 20))) : .milliseconds(500)
        return max(own * self.random(0.5..<1.0), min(asked ?? .zero, Self.pauseLimit))
    }
}

/// Takes the documents out of one stream.
private actor StreamReader {
    /// Nothing newer comes, although the held document is stale.
    struct Stale: Error, CustomStringConvertible { let description = "\(RefreshFailure.Cause.stale)" }

    private let client: PinledgerClient
    private let service: ServiceAddress
    private let announce: AsyncStream<Void>.Continuation
    private var stream = EventStream()
    /// Whether a byte has come.
    private(set) var hasBegun = false

    var retry: Duration? { self.stream.retry }

    init(_ client: PinledgerClient, _ service: ServiceAddress, _ announce: AsyncStream<Void>.Continuation) {
        self.client = client
        self.service = service
        self.announce = announce
    }

    /// - Throws: ``VerificationFailure`` for a document that is refused, and ``Stale``: such a service is left.
    func take(_ bytes: [UInt8]) async throws {
        self.hasBegun = true
        for event in try self.stream.feed(bytes) where event.kind == "document" {
            if event.data.first == UInt8(ascii: "{") {
                guard let version = Self.version(announcedBy: event.data) else { continue }
                if await self.client.note(announced: version) { self.announce.yield() }
            } else {
                try await self.client.take(streamed: UnverifiedDocument(event.data), from: self.service)
            }
        }
        // A stream begins with a comment and with what is newer than the held document. Where the next comment comes, there is nothing newer.
        if self.stream.comments > 1, self.stream.isBetweenEvents, await self.client.isStale { throw Stale() }
    }

    private static func version(announcedBy data: [UInt8]) -> Int64? {
        let json = try? JSON(parsing: data, limits: JSONLimits(depth: 4, nodes: 64))
        guard let version = json?["version"]?.integerValue, version > 0 else { return nil }
        return version
    }
}
