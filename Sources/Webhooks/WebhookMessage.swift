package import Keys
package import PinWire
package import Pinning

/// One message to a receiver, in the form of the Standard Webhooks convention: the same id and the same bytes however
/// often it is sent.
package struct WebhookMessage: Hashable, Sendable {
    /// The value of `webhook-id`, by which receivers recognise a repetition.
    package let id: String
    /// Canonical JSON.
    package let body: [UInt8]

    /// The message that carries an entry of the ledger.
    ///
    /// - Parameters:
    ///   - bytes: The entry as it is stored, which stands unchanged in the message.
    ///   - epoch: The number of the epoch in which it was recorded.
    package init(webhook: String, entry: Entry, bytes: [UInt8], epoch: Int64) {
        self.init(
            id: Self.id(webhook: webhook, EpochNumber(epoch: epoch, number: entry.position)), type: entry.event.type,
            time: entry.time.rfc3339,
            webhook: webhook, entry: bytes
        )
    }

    /// A message that only shows that messages arrive. It is not an event of the ledger.
    ///
    /// - Parameter nonce: Distinguishes it from other tests.
    package init(testOf webhook: String, nonce: String, at now: Timestamp) {
        self.init(
            id: "whd_\(webhook.dropFirst(4))_test_\(nonce)", type: Self.testType, time: now.rfc3339, webhook: webhook,
            entry: nil
        )
    }

    package static let testType = "WebhookTest"

    private init(id: String, type: String, time: String, webhook: String, entry: [UInt8]?) {
        self.id = id
        var body = Array("{".utf8)
        if let entry { body += Array("\"entry\":".utf8) + entry + Array(",".utf8) }
        // The members' names are in canonical order, and no value needs an escape.
        body += Array(
            "\"id\":\"\(id)\",\"timestamp\":\"\(time)\",\"type\":\"\(type)\",\"webhook_id\":\"\(webhook)\"}".utf8)
        self.body = body
    }

    /// The id of the message that carries the entry at a position: the same on every attempt and every node. After a loss,
    /// an event has another id than the lost one at its position, so that receivers do not take it for a repetition.
    package static func id(webhook: String, _ position: EpochNumber) -> String {
        "whd_\(webhook.dropFirst(4))_\(position)"
    }

    /// The header fields of the convention, signed with every one of `secrets`.
    package func fields(signedWith secrets: [WebhookSecret], at now: Timestamp) -> [(name: String, value: String)] {
        let signatures = secrets.map { $0.signature(id: self.id, timestamp: now.seconds, body: self.body) }
        return [
            ("webhook-id", self.id), ("webhook-timestamp", String(now.seconds)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
