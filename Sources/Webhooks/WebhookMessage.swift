package import Keys
package import PinWire
package import Pinning

/// One message to a receiver, as the Standard Webhooks convention has it: the same id and the same bytes however often
/// it is sent.
package struct WebhookMessage: Hashable, Sendable {
    /// What `webhook-id` says; what receivers know a repetition by.
    package let id: String
    /// Canonical JSON.
    package let body: [UInt8]

    /// The message that carries an entry of the ledger.
    ///
    /// - Parameter bytes: The entry as it is stored, which stands in the message as it is.
    package init(webhook: String, entry: Entry, bytes: [UInt8]) {
        self.init(
            id: Self.id(webhook: webhook, position: entry.position), type: entry.event.type, time: entry.time.rfc3339,
            webhook: webhook, entry: bytes
        )
    }

    /// A message that only says that messages arrive. It is none of the ledger.
    ///
    /// - Parameter nonce: What sets it apart from other tests.
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
        // The members' names stand in canonical order, and no value needs an escape.
        body += Array(
            "\"id\":\"\(id)\",\"timestamp\":\"\(time)\",\"type\":\"\(type)\",\"webhook_id\":\"\(webhook)\"}".utf8)
        self.body = body
    }

    /// The id of the message that carries the entry at a position: the same on every attempt and every node.
    package static func id(webhook: String, position: Int64) -> String { "whd_\(webhook.dropFirst(4))_\(position)" }

    /// The fields that the convention asks for, signed with every one of `secrets`.
    package func fields(signedWith secrets: [WebhookSecret], at now: Timestamp) -> [(name: String, value: String)] {
        let signatures = secrets.map { $0.signature(id: self.id, timestamp: now.seconds, body: self.body) }
        return [
            ("webhook-id", self.id), ("webhook-timestamp", String(now.seconds)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
