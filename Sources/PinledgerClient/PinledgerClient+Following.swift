internal import PinWire

extension PinledgerClient {
    /// The longest silence of a stream: the server sends a comment every 15 seconds at least.
    private static let idleLimit = Duration.seconds(45)
    /// The longest pause that a server may ask for.
    private static let pauseLimit = Duration.seconds(300)

    /// Holds a stream of documents open until the task is cancelled, so that a kill switch holds a moment after it was engaged.
    ///
    /// Each document is verified as a fetched one is. After a stream that ended, broke, sent what is not to be used, or has nothing newer than
    /// a stale document, the next service is tried: after a pause, which the server sets, and which doubles with each stream that was of no
    /// use. Let ``run()`` go on beside it: a stream may be cut without either side noticing.
    public func follow(_ transport: any StreamTransport) async {
        await self.load()
        var failures = 0
        var turn = 0
        while !Task.isCancelled, !self.configuration.services.isEmpty {
            let service = self.configuration.services[turn % self.configuration.services.count]
            let end = await self.follow(service, transport)
            guard !Task.isCancelled else { return }
            if let cause = end.cause { self.lastFailure = RefreshFailure(causes: [(service, cause)]) }
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
        /// Whether it has brought a document, or was open for a while: a stream is silent while nothing changes, and proxies cut it.
        var isUseful: Bool
        var retry: Duration?
    }

    /// How long a stream without a document has to be open to be of use.
    private static let usefulTime = Duration.seconds(20)

    private func follow(_ service: String, _ transport: any StreamTransport) async -> End {
        var headers = [(name: "Accept", value: "text/event-stream")]
        headers.append(self.clientField)
        if let held = self.policy.document { headers.append(("Last-Event-ID", held.tag)) }
        let reader = StreamReader(self, service)
        let began = ContinuousClock.now
        var cause: RefreshFailure.Cause?
        do {
            let status = try await transport.stream(
                Self.address(of: "stream", self.configuration.app, at: service), headers: headers, idle: Self.idleLimit
            ) { try await reader.take($0) }
            if status != 200 { cause = .status(status) }
        } catch let failure as VerificationFailure {
            return End(cause: .refused(failure), isUseful: false, retry: await reader.retry)
        } catch is StreamReader.Stale {
            return End(cause: .stale, isUseful: false, retry: await reader.retry)
        } catch { cause = .unreachable("\(error)") }
        let wasOpen = await reader.hasBegun && began.duration(to: .now) >= Self.usefulTime
        return End(cause: cause, isUseful: await reader.hasBrought || wasOpen, retry: await reader.retry)
    }

    /// Fetches a document that a stream announces because it is too large for it: not more often than connections may, and not all installs at
    /// the same moment.
    fileprivate func fetchAnnounced() async throws -> Bool {
        guard self.mayFetchAgain() else { return false }
        try await Task.sleep(for: .seconds(2) * self.random(0..<1))
        return try await self.refresh() != .unchanged
    }

    /// Takes a document that a stream has brought. One that is refused may need the next root of trust.
    fileprivate func take(streamed document: UnverifiedDocument, from service: String) async throws {
        do throws(VerificationFailure) { _ = try await self.take(sent: document) } catch {
            guard self.root != nil, self.mayFetchAgain(), await self.lookForRoots(at: service) else { throw error }
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
    struct Stale: Error, CustomStringConvertible {
        let description = "it has nothing newer than the held document, which is stale"
    }

    private let client: PinledgerClient
    private let service: String
    private var stream = EventStream()
    /// Whether a byte has come.
    private(set) var hasBegun = false
    /// Whether a document has come that is in use.
    private(set) var hasBrought = false

    var retry: Duration? { self.stream.retry }

    init(_ client: PinledgerClient, _ service: String) {
        self.client = client
        self.service = service
    }

    /// - Throws: ``VerificationFailure`` for a document that is refused, and ``Stale``: such a service is left.
    func take(_ bytes: [UInt8]) async throws {
        self.hasBegun = true
        let events = try self.stream.feed(bytes).filter { $0.kind == "document" }
        for event in events {
            if event.data.first == UInt8(ascii: "{") {
                if try await self.client.fetchAnnounced() { self.hasBrought = true }
            } else {
                try await self.client.take(streamed: UnverifiedDocument(event.data), from: self.service)
                self.hasBrought = true
            }
        }
        if events.isEmpty, await self.client.isStale { throw Stale() }
    }
}
