import PinWire

/// The secret that signs a webhook's messages: bytes that the receiver has too, in the form of the Standard Webhooks
/// convention (standardwebhooks.com).
///
/// Its text, `whsec_` and base64, is shown once, to the person who creates it; printing or dumping the value shows
/// nothing.
package struct WebhookSecret: DrawnSecret {
    /// Why a text is not a secret.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description = "must be whsec_ and the base64 of 24 to 64 bytes"
    }

    /// The number of bytes of a secret that is made here.
    package static let byteCount = MessageKey.byteCount

    private static let prefix = "whsec_"

    private let key: MessageKey

    private init(_ key: MessageKey) {
        self.key = key
    }

    /// Draws a new secret.
    package static func generate() -> WebhookSecret { WebhookSecret(.generate()) }

    /// Reads a secret's text.
    package init(parsing text: String) throws(Malformed) {
        guard let key = MessageKey(parsing: text, prefix: Self.prefix) else { throw Malformed() }
        self.init(key)
    }

    /// The whole text: the secret itself. It MUST NOT be stored or logged.
    package var revealedText: String { self.key.revealedText(prefix: Self.prefix) }

    /// The signature of a message as it stands in `webhook-signature`: `v1,` and the base64 of the HMAC-SHA-256 of
    /// `id.timestamp.body`.
    ///
    /// - Parameter timestamp: Seconds since the epoch, as in `webhook-timestamp`.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        "v1,\(Base64.encode(self.key.code(of: Array("\(id).\(timestamp).".utf8), body)))"
    }

    /// The secret at rest, bound to its name and its webhook.
    package func sealed(as id: String, of webhook: String, with key: KeyEncryptionKey) -> SealedSecret {
        self.key.sealed(under: Self.label(id, of: webhook), with: key)
    }

    /// Opens what ``sealed(as:of:with:)`` made.
    ///
    /// - Throws: ``SealedSecret/Invalid``.
    package init(
        opening sealed: SealedSecret, as id: String, of webhook: String, with key: KeyEncryptionKey
    ) throws(SealedSecret.Invalid) {
        self.init(try MessageKey(opening: sealed, under: Self.label(id, of: webhook), with: key))
    }

    /// The label that binds a sealed secret to its name and its webhook.
    package static func label(_ id: String, of webhook: String) -> SealingLabel {
        SealingLabel(role: "webhook", algorithm: "HMAC-SHA256", keyID: id, publicKey: Array(webhook.utf8))
    }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the secret.
    package var description: String { "whsec_…" }

    /// Never the secret.
    package var debugDescription: String { self.description }

    /// Shows nothing to `dump`.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public names of a webhook and of its secrets: a prefix and 16 base62 characters.
package enum WebhookName {
    /// Draws a name for a webhook: `whk_…`, 95 random bits.
    package static func webhook() -> String { "whk_" + Random.base62(16) }

    /// Draws a name for a secret: `whs_…`.
    package static func secret() -> String { "whs_" + Random.base62(16) }

    /// Whether a text has the form of a webhook's name.
    package static func isWebhook(_ text: String) -> Bool {
        text.utf8.count == 20 && text.hasPrefix("whk_") && text.utf8.dropFirst(4).allSatisfy(Base62.alphabet.contains)
    }
}
