import AsyncHTTPClient
import Concurrency
import LogLines
package import Logging
import NIOCore
import NIOHTTP1
package import NIOSSL
import PinWire
package import Traces

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
    /// From the beginning of a request to the head of its answer.
    private static let timeout = TimeAmount.seconds(10)
    /// How long one batch is tried.
    private static let patience = Duration.seconds(30)
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
        await PeriodicWorker(every: Self.interval, first: .afterInterval).run { await self.sendAll() }
        await finish(within: .seconds(2)) { await self.sendAll() }
        // Spans that end later are not sent.
        try? await self.client.shutdown()
    }

    private func sendAll() async {
        while true {
            let spans = self.queue.take(Self.batch)
            guard !spans.isEmpty else { return }
            await self.send(spans)
            guard spans.count == Self.batch, !Task.isCancelled else { return }
        }
    }

    private func send(_ spans: [FinishedSpan]) async {
        let body = self.text.bytes(of: spans)
        let end = ContinuousClock.now + Self.patience
        var pause = Duration.seconds(1)
        while true {
            switch await self.post(body) {
            case .taken:
                self.queue.note(spans.count, .sent)
                if self.health.isRestored() { self.logger.log(.spansSentAgain) }
                return
            case .refused(let why):
                self.queue.note(spans.count, .refused)
                self.tell(why)
                return
            case .failed(let why, let wait):
                self.tell(why)
                let wait = max(pause, wait ?? .zero)
                guard ContinuousClock.now + wait < end, (try? await Task.sleep(for: wait)) != nil else {
                    return self.queue.note(spans.count, .dropped)
                }
                pause = min(pause * 2, .seconds(8))
            }
        }
    }

    private func tell(_ why: String) {
        if self.health.isLost() { self.logger.log(.spansNotSent, ["error": "\(why)"]) }
    }

    private enum Answer {
        case taken
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
        do {
            let response = try await self.client.execute(request, timeout: Self.timeout)
            // Read, so that the connection can be used again. A longer answer ends it.
            _ = try? await response.body.collect(upTo: Self.answerLimit)
            switch response.status.code {
            case 200...299: return .taken
            case 429, 502, 503, 504:
                let wait = response.headers.first(name: "Retry-After").flatMap { Int64($0) }
                return .failed(
                    "status \(response.status.code)", wait: wait.map { .seconds(min(max($0, 0), 60)) })
            default: return .refused("status \(response.status.code)")
            }
        } catch {
            return .failed("\(error)", wait: nil)
        }
    }
}
