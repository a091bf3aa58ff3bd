import Concurrency
package import CoreMetrics
import Exposition
import Keys
package import PinWire
package import Pinning
package import Postgres
package import Secrets
import Synchronization
package import Traces
import Tracing

/// The services that a node's handlers need for webhooks.
package struct WebhookServices: Sendable {
    package let secrets: WebhookSecrets
    package let store: WebhookStore
    /// Nil on a node that sends nothing.
    package let client: OutgoingClient?
    private let tracer: NodeTracer
    private let delivered: Counter
    private let failed: Counter
    private let dead: Counter
    private let measured = MeasuredQueue()
    /// Each test holds a connection of the API for as long as the receiver takes.
    private let tests = ConcurrencyLimiter<Never>(limit: 4)

    package init(
        pool: PostgresPool, secrets: WebhookSecrets? = nil, client: OutgoingClient? = nil,
        tracer: NodeTracer = NodeTracer(), metrics: any MetricsFactory = NOOPMetricsHandler.instance
    ) {
        func counter(_ outcome: DeliveryState) -> Counter {
            Counter(
                label: MetricFamily.webhookAttempts.rawValue, dimensions: [("outcome", outcome.rawValue)],
                factory: metrics)
        }
        (self.delivered, self.failed, self.dead) = (counter(.delivered), counter(.failed), counter(.dead))
        self.tracer = tracer
        self.secrets = secrets ?? WebhookSecrets(pool: pool, keyEncryptionKeys: nil)
        self.store = WebhookStore(pool: pool)
        self.client = client
    }

    /// What all nodes had still to deliver when this one looked last; nil where it has not, or could not.
    package var queue: WebhookQueue? { self.measured.value.withLock { $0 } }

    /// Counts what is still to be delivered, for ``queue``.
    func measure(_ active: [String]) async throws {
        let queue = try await self.store.queue(active: active)
        self.measured.value.withLock { $0 = queue }
    }

    /// What is still to be delivered is not known now.
    func forgetQueue() { self.measured.value.withLock { $0 = nil } }

    /// Counts what became of an attempt.
    func count(_ verdict: DeliveryVerdict) {
        switch verdict {
        case .delivered: self.delivered.increment()
        case .failed: self.failed.increment()
        case .dead: self.dead.increment()
        case .released: break
        }
    }

    private final class MeasuredQueue: Sendable {
        let value = Mutex<WebhookQueue?>(nil)
    }

    /// Signs a message and sends it.
    func send(
        _ message: WebhookMessage, to webhook: Webhook, by client: OutgoingClient, at now: Timestamp
    ) async -> Result<ReceiverAnswer, SendFailure> {
        let span = self.tracer.startSpan("POST webhook", ofKind: .client)
        defer { span.end() }
        span.attributes = [
            "http.request.method": "POST", "server.address": .string(webhook.settings.url.host),
            "pinledger.webhook": .string(webhook.id),
        ]
        do {
            let secrets = try await self.secrets.signing(webhook, at: now)
            var fields = message.fields(signedWith: secrets, at: now)
            // Where this is recorded, or belongs to a request that is part of a trace.
            if span.isRecording || span.isPart { self.tracer.inject(span.context, into: &fields, using: FieldList()) }
            let answer = try await client.post(message.body, to: webhook.settings.url, fields: fields)
            span.updateAttributes { $0["http.response.status_code"] = Int(answer.status) }
            if answer.status >= 400 { span.setStatus(.init(code: .error)) }
            return .success(answer)
        } catch let failure as SendFailure {
            span.recordError(failure)
            return .failure(failure)
        } catch {
            span.recordError(error)
            return .failure(.unsigned("\(error)"))
        }
    }

    /// Writes header fields as the client takes them.
    private struct FieldList: Injector {
        func inject(_ value: String, forKey key: String, into carrier: inout [(name: String, value: String)]) {
            carrier.append((key, value))
        }
    }

    /// Why no test can be sent.
    package enum TestUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// This node sends nothing.
        case noClient
        /// Too many tests are under way.
        case overloaded

        package var description: String {
            switch self {
            case .noClient: "this node sends no webhooks"
            case .overloaded: "too many tests of webhooks are under way"
            }
        }
    }

    /// Sends a webhook a message without an event, and returns the result.
    package func test(_ webhook: Webhook, at now: Timestamp) async throws(TestUnavailable) -> JSON {
        guard let client else { throw .noClient }
        guard let place = self.tests.take() else { throw .overloaded }
        defer { place.release() }
        let message = WebhookMessage(testOf: webhook.id, nonce: Hex.encode(Random.bytes(6)), at: now)
        let start = ContinuousClock.now
        let result = await self.send(message, to: webhook, by: client, at: now)
        let milliseconds = Int64((start.duration(to: .now) / .milliseconds(1)).rounded())
        var members: [String: JSON] = ["id": .string(message.id), "milliseconds": .integer(milliseconds)]
        switch result {
        case .success(let answer):
            members["status"] = .integer(Int64(answer.status))
            members["delivered"] = .bool((200...299).contains(answer.status))
            if !(200...299).contains(answer.status) {
                members["error"] = .string(DeliveryVerdict.text(of: answer))
            }
        case .failure(let failure):
            members["delivered"] = false
            members["error"] = .string(DeliveryVerdict.printable(failure.description))
        }
        return .object(members)
    }
}
