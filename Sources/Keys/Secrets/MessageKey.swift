import CSodium
import PinWire

/// Secret bytes that two parties share, with which one proves to the other that a message is its own: HMAC-SHA-256 (RFC
/// 2104).
///
/// Printing or dumping the value shows nothing.
package struct MessageKey: Sendable {
    /// The number of bytes of a key that is made here.
    package static let byteCount = 32

    private let key: SecureBytes

    private init(_ key: SecureBytes) {
        self.key = key
    }

    /// Draws a new key.
    package static func generate() -> MessageKey { MessageKey(SecureBytes.random(count: self.byteCount)) }

    /// Reads a key's text: a prefix and the base64 of 24 to 64 bytes. Nil for anything else.
    package init?(parsing text: String, prefix: String) {
        guard text.hasPrefix(prefix), var bytes = Base64.decode(String(text.dropFirst(prefix.count))),
            (24...64).contains(bytes.count)
        else { return nil }
        defer { SecureBytes.wipe(&bytes) }
        self.init(SecureBytes(copying: bytes))
    }

    /// The whole text: the key itself. It MUST NOT be stored or logged.
    package func revealedText(prefix: String) -> String {
        let text = unsafe self.key.withUnsafeBytes { bytes in unsafe Base64.encode(bytes) }
        return prefix + text
    }

    /// The code of a message that consists of two parts, one behind the other: 32 bytes.
    package func code(of head: [UInt8], _ body: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        var tag = [UInt8](repeating: 0, count: 32)
        unsafe self.key.withPointer { key in
            _ = unsafe crypto_auth_hmacsha256_init(&state, key, self.key.count)
        }
        unsafe crypto_auth_hmacsha256_update(&state, head, UInt64(head.count))
        unsafe crypto_auth_hmacsha256_update(&state, body, UInt64(body.count))
        unsafe crypto_auth_hmacsha256_final(&state, &tag)
        // The rest of the key's state would sign as well as the key.
        unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        return tag
    }

    /// Whether a code is that of a message, compared in constant time.
    package func isAuthentic(_ code: [UInt8], of head: [UInt8], _ body: [UInt8]) -> Bool {
        let right = self.code(of: head, body)
        guard code.count == right.count else { return false }
        return unsafe sodium_memcmp(code, right, right.count) == 0
    }

    /// The key at rest.
    func sealed(under label: SealingLabel, with key: KeyEncryptionKey) -> SealedSecret {
        SealedSecret(sealing: self.key, label: label, with: key)
    }

    /// Opens what ``sealed(under:with:)`` made.
    init(
        opening sealed: SealedSecret, under label: SealingLabel, with key: KeyEncryptionKey
    ) throws(SealedSecret.Invalid) {
        self.init(try sealed.open(label: label, with: key))
    }
}

extension MessageKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the key.
    package var description: String { "a message key" }

    /// Never the key.
    package var debugDescription: String { self.description }

    /// Shows nothing to `dump`.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A secret that is stored sealed, bound to its name and its owner.
package protocol SealableSecret: Sendable {
    /// The label of a secret: its name and its owner.
    static func label(_ id: String, of owner: String) -> SealingLabel

    /// The secret at rest, bound to its name and its owner.
    func sealed(as id: String, of owner: String, with key: KeyEncryptionKey) -> SealedSecret

    /// Opens what ``sealed(as:of:with:)`` made.
    ///
    /// - Throws: ``SealedSecret/Invalid``.
    init(
        opening sealed: SealedSecret, as id: String, of owner: String, with key: KeyEncryptionKey
    ) throws(SealedSecret.Invalid)
}

/// A sealable secret that is drawn at random, without parameters.
package protocol DrawnSecret: SealableSecret {
    /// Draws a new secret.
    static func generate() -> Self
}
