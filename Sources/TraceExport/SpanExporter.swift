import AsyncHTTPClient
import Concurrency
import LogLines
package import Logging
import NIOCore
import NIOHTTP1
package import NIOSSL
import PinWire
package import Traces
import Tracing

/// Sends the spans of a ``SpanQueue`` to a collector, by OTLP over HTTP in JSON.
///
/// What the collector cannot take now is sent again, with the pauses that it asks for, for half a minute; then it is dropped and counted.
/// Spans are for diagnosis: nothing of the node waits for them, and what is not sent when the process dies is lost.
package struct SpanExporter: Sendable {
    /// Where spans go.
    package struct Destination: Sendable {
        /// The collector's URL for traces.
        package let url: String
        /// Fields of each request, such as a token for the collector.
        package let fields: [(name: String, value: String)]
        package let tls: TLSConfiguration

        /// - Parameter base: The collector's address, to which `/v1/traces` is added.
        package init(base: String, fields: [(name: String, value: String)], tls: TLSConfiguration) {
            self.url = (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/v1/traces"
            self.fields = fields
            self.tls = tls
        }
    }

    private let queue: SpanQueue
    private let destination: Destination
    private let client: HTTPClient
    private let text: OTLPText
    private let userAgent: String
    private let logger: Logger
    private let health: Health

    /// Spans of one request.
    private static let batch = 512
    private static let interval = Duration.seconds(1)
    /// From the beginning of a request to the end of its answer.
    private static let timeout = Duration.seconds(10)
    /// How long one batch is tried.
    private static let patience = Duration.seconds(30)
    private static let patienceNanoseconds: UInt64 = 30_000_000_000
    private static let answerLimit = 64 * 1024

    /// - Parameter node: The name that tells this process from other nodes.
    package init(
        of queue: SpanQueue, to destination: Destination, node: String, service: String, version: String, logger: Logger
    ) {
        self.queue = queue
        self.destination = destination
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(10))
        configuration.tlsConfiguration = destination.tls
        configuration.decompression = .disabled
        configuration.connectionPool.retryConnectionEstablishment = false
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.text = OTLPText(
            resource: [
                ("service.name", service), ("service.version", version), ("service.instance.id", node),
            ], version: version)
        self.userAgent = "pinledger/\(version)"
        self.logger = logger
        self.health = Health()
    }

    /// Works until cancelled. What is left then has two seconds to be sent.
    package func run() async {
        var asked = ContinuousClock.now
        await PeriodicWorker(every: Self.interval, first: .afterInterval).run {
            if .now >= asked { asked = await self.sendAll() }
        }
        await finish(within: .seconds(2)) { _ = await self.sendAll() }
        self.queue.note(self.queue.take(.max).count, .dropped)
        // Spans that end later are not sent.
        try? await self.client.shutdown()
    }

    /// Sends what waits.
    ///
    /// - Returns: Before when nothing more is to be sent.
    private func sendAll() async -> ContinuousClock.Instant {
        while true {
            let now = DefaultTracerClock.now.nanosecondsSinceEpoch
            let spans = self.queue.take(Self.batch, endedAfter: now - min(now, Self.patienceNanoseconds))
            guard !spans.isEmpty else { return .now }
            let asked = await self.send(spans)
            guard spans.count == Self.batch, !Task.isCancelled, asked <= .now else { return asked }
        }
    }

    private func send(_ spans: [FinishedSpan]) async -> ContinuousClock.Instant {
        let body = self.text.bytes(of: spans)
        let end = ContinuousClock.now + Self.patience
        var pause = Duration.seconds(1)
        while true {
            switch await self.post(body) {
            case .taken(let refused):
                let refused = min(refused, spans.count)
                self.queue.note(spans.count - refused, .sent)
                if refused > 0 {
                    self.queue.note(refused, .refused)
                    self.tell("the collector refused \(refused) of \(spans.count) spans")
                } else if self.health.isRestored() {
                    self.logger.log(.spansSentAgain)
                }
                return .now
            case .refused(let why):
                self.queue.note(spans.count, .refused)
                self.tell(why)
                return .now
            case .failed(let why, let wait):
                self.tell(why)
                let next = ContinuousClock.now + max(pause, wait ?? .zero)
                guard next < end, (try? await Task.sleep(until: next, clock: .continuous)) != nil else {
                    self.queue.note(spans.count, .dropped)
                    return next
                }
                pause = min(pause * 2, .seconds(8))
            }
        }
    }

    private func tell(_ why: String) {
        if self.health.isLost() { self.logger.log(.spansNotSent, ["error": "\(why)"]) }
    }

    private enum Answer {
        /// With how many spans of it the collector refused.
        case taken(refused: Int)
        /// The same would be refused again.
        case refused(String)
        case failed(String, wait: Duration?)
    }

    /// Posts once. Which answers may be repeated: OTLP specification, "OTLP/HTTP Response", "Failures".
    private func post(_ body: [UInt8]) async -> Answer {
        var request = HTTPClientRequest(url: self.destination.url)
        request.method = .POST
        request.headers.add(name: "User-Agent", value: self.userAgent)
        request.headers.add(name: "Content-Type", value: "application/json")
        for (name, value) in self.destination.fields { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(bytes: body))
        // The client's own limit ends with the head: a body that comes byte by byte would have no end.
        let (client, sent) = (self.client, request)
        return await withTaskGroup(of: Answer.self) { group in
            group.addTask {
                do {
                    let response = try await client.execute(sent, deadline: .distantFuture)
                    return await Self.answer(response)
                } catch {
                    return .failed("\(error)", wait: nil)
                }
            }
            group.addTask {
                try? await Task.sleep(for: Self.timeout)
                return .failed("no whole answer within \(Self.timeout)", wait: nil)
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failed("cancelled", wait: nil)
        }
    }

    private static func answer(_ response: HTTPClientResponse) async -> Answer {
        // Read to its end, so that the connection can be used again. A longer one ends it.
        let body = try? await response.body.collect(upTo: Self.answerLimit)
        switch response.status.code {
        case 200...299:
            let json = body.flatMap { try? JSON(parsing: Array($0.readableBytesView)) }
            // A 64-bit number is a string there; other programs write numbers.
            let refused = json?["partialSuccess"]?["rejectedSpans"]
            let count = refused?.integerValue ?? refused?.stringValue.flatMap { Int64($0) } ?? 0
            return .taken(refused: Int(clamping: max(0, count)))
        case 429, 502, 503, 504:
            let wait = response.headers.first(name: "Retry-After").flatMap { Int64($0) }
            return .failed("status \(response.status.code)", wait: wait.map { .seconds(min(max($0, 0), 300)) })
        default: return .refused("status \(response.status.code)")
        }
    }
}
