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
    /// - Parameter bytes: The entry as it is stored, which stands unchanged in the message.
    package init(webhook: String, entry: Entry, bytes: [UInt8]) {
        self.init(
            id: Self.id(webhook: webhook, position: entry.position), type: entry.event.type, time: entry.time.rfc3339,
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

    /// The id of the message that carries the entry at a position: the same on every attempt and every node.
    package static func id(webhook: String, position: Int64) -> String { "whd_\(webhook.dropFirst(4))_\(position)" }

    /// The header fields of the convention, signed with every one of `secrets`.
    package func fields(signedWith secrets: [WebhookSecret], at now: Timestamp) -> [(name: String, value: String)] {
        let signatures = secrets.map { $0.signature(id: self.id, timestamp: now.seconds, body: self.body) }
        return [
            ("webhook-id", self.id), ("webhook-timestamp", String(now.seconds)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
