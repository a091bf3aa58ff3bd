internal import PinWire

extension PinledgerClient {
    /// The longest silence of a stream: the server sends a comment every 15 seconds at least.
    private static let idleLimit = Duration.seconds(45)
    /// The longest pause that a server may ask for.
    private static let pauseLimit = Duration.seconds(300)

    /// Holds a stream of documents open until the task is cancelled, so that a kill switch holds a moment after it was engaged.
    ///
    /// Each document is verified as a fetched one is. Where a stream ends, breaks or sends what is not to be used, the next service is tried
    /// after a pause, which the server sets and failures double. Let ``run()`` go on beside it: a stream may be cut without either side
    /// noticing.
    public func follow(_ transport: any StreamTransport) async {
        await self.load()
        var failures = 0
        var turn = 0
        while !Task.isCancelled, !self.configuration.services.isEmpty {
            let service = self.configuration.services[turn % self.configuration.services.count]
            let end = await self.follow(service, transport)
            if let cause = end.cause {
                self.lastFailure = RefreshFailure(causes: [(service, cause)])
                turn += 1
            }
            failures = end.isUseful ? 0 : failures + 1
            do { try await Task.sleep(for: self.pause(after: failures, asked: end.retry)) } catch { return }
        }
    }

    /// How a stream ended.
    private struct End {
        /// Why; nil where it just ended, as it does when a node stops.
        var cause: RefreshFailure.Cause?
        /// Whether it has sent a document that is in use.
        var isUseful: Bool
        var retry: Duration?
    }

    private func follow(_ service: String, _ transport: any StreamTransport) async -> End {
        var headers = [(name: "Accept", value: "text/event-stream")]
        headers.append((name: self.clientField.0, value: self.clientField.1))
        if let held = self.policy.document { headers.append(("Last-Event-ID", held.tag)) }
        let reader = StreamReader(self)
        do {
            let status = try await transport.stream(
                self.address(of: "stream", at: service), headers: headers, idle: Self.idleLimit
            ) { try await reader.take($0) }
            let cause: RefreshFailure.Cause? = status == 200 ? nil : .status(status)
            return End(cause: cause, isUseful: await reader.isUseful, retry: await reader.retry)
        } catch let failure as VerificationFailure {
            return End(cause: .refused(failure), isUseful: false, retry: await reader.retry)
        } catch {
            return End(cause: .unreachable("\(error)"), isUseful: await reader.isUseful, retry: await reader.retry)
        }
    }

    /// The pause before the next stream: what the server asks for, and not less than what failures call for.
    func pause(after failures: Int, asked: Duration?) -> Duration {
        let own = failures > 0 ? min(Self.pauseLimit, .seconds(1) * (1 << min(failures - 1, 20))) : .milliseconds(500)
        return max(own * self.random(0.5..<1.0), min(asked ?? .zero, Self.pauseLimit))
    }
}

/// Takes the documents out of one stream.
private actor StreamReader {
    private let client: PinledgerClient
    private var stream = EventStream()
    /// Whether a document has come that is in use.
    private(set) var isUseful = false

    var retry: Duration? { self.stream.retry }

    init(_ client: PinledgerClient) { self.client = client }

    /// - Throws: ``VerificationFailure`` for a document that is refused: such a service is left.
    func take(_ bytes: [UInt8]) async throws {
        for event in try self.stream.feed(bytes) where event.kind == "document" {
            if event.data.first == UInt8(ascii: "{") {
                // Too large for the stream: it is there to be fetched.
                try await self.client.refresh()
            } else {
                _ = try await self.client.take(sent: UnverifiedDocument(event.data))
            }
            self.isUseful = true
        }
    }
}
