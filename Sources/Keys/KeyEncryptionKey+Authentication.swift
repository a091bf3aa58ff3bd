import CSodium

extension KeyEncryptionKey {
    /// HMAC-SHA-256 (RFC 2104) of `message` under a key of its own for each purpose, derived from this one: 32 bytes.
    ///
    /// For what a node keeps outside of itself and wants to know again. The derived key is wiped before this returns.
    package func authenticate(_ message: [UInt8], for purpose: String) -> [UInt8] {
        let context = Array("pinledger/kek/authenticate/v1\u{0}\(purpose)".utf8)
        var key = [UInt8](repeating: 0, count: 32)
        defer { SecureBytes.wipe(&key) }
        unsafe self.withPointer { bytes in
            _ = unsafe crypto_auth_hmacsha256(&key, context, UInt64(context.count), bytes)
        }
        var tag = [UInt8](repeating: 0, count: 32)
        _ = unsafe crypto_auth_hmacsha256(&tag, message, UInt64(message.count), key)
        return tag
    }
}
