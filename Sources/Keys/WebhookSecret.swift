import CSodium
import PinWire

/// What a webhook is signed with: secret bytes that the receiver has too, as the Standard Webhooks convention
/// (standardwebhooks.com) has it.
///
/// Its text, `whsec_` and base64, is shown once, to whom it was made for; printing or dumping the value shows nothing.
package struct WebhookSecret: Sendable {
    /// Why a text is no secret.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description = "must be whsec_ and the base64 of 24 to 64 bytes"
    }

    /// The number of bytes of a secret that is made here.
    package static let byteCount = 32

    private let key: SecureBytes

    private init(_ key: SecureBytes) {
        self.key = key
    }

    /// Draws a new secret.
    package static func generate() -> WebhookSecret { WebhookSecret(SecureBytes.random(count: self.byteCount)) }

    /// Reads a secret's text.
    package init(parsing text: String) throws(Malformed) {
        guard text.hasPrefix("whsec_"), var bytes = Base64.decode(String(text.dropFirst(6))),
            (24...64).contains(bytes.count)
        else { throw Malformed() }
        defer { SecureBytes.wipe(&bytes) }
        self.init(SecureBytes(copying: bytes))
    }

    /// The whole text: the secret itself. It MUST NOT be stored or logged.
    package var revealedText: String {
        let text = unsafe self.key.withUnsafeBytes { bytes in unsafe Base64.encode(bytes) }
        return "whsec_\(text)"
    }

    /// The signature of a message as it stands in `webhook-signature`: `v1,` and the base64 of the HMAC-SHA-256 of
    /// `id.timestamp.body`.
    ///
    /// - Parameter timestamp: Seconds since the epoch, as in `webhook-timestamp`.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let head = Array("\(id).\(timestamp).".utf8)
        var state = crypto_auth_hmacsha256_state()
        var tag = [UInt8](repeating: 0, count: 32)
        unsafe self.key.withPointer { key in
            _ = unsafe crypto_auth_hmacsha256_init(&state, key, self.key.count)
        }
        unsafe crypto_auth_hmacsha256_update(&state, head, UInt64(head.count))
        unsafe crypto_auth_hmacsha256_update(&state, body, UInt64(body.count))
        unsafe crypto_auth_hmacsha256_final(&state, &tag)
        // What is left of the key's state would sign as well as the key.
        unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        return "v1,\(Base64.encode(tag))"
    }

    /// The secret at rest, bound to its name and its webhook.
    package func sealed(as id: String, of webhook: String, with key: KeyEncryptionKey) -> SealedSecret {
        SealedSecret(sealing: self.key, label: Self.label(id, webhook), with: key)
    }

    /// Opens what ``sealed(as:of:with:)`` made.
    ///
    /// - Throws: ``SealedSecret/Invalid``.
    package init(
        opening sealed: SealedSecret, as id: String, of webhook: String, with key: KeyEncryptionKey
    ) throws(SealedSecret.Invalid) {
        self.init(try sealed.open(label: Self.label(id, webhook), with: key))
    }

    private static func label(_ id: String, _ webhook: String) -> SealingLabel {
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
