import CSodium

extension KeyEncryptionKey {
    /// A key of 32 bytes for one use, derived from this one by HKDF-SHA-256 (RFC 5869): no salt, and
    /// `pinledger/kek/v2/` with the label as info. Its holder learns nothing of this key, nor of those for other uses.
    package func derived(for label: String) -> SecureBytes { Self.derive(label, from: self.root) }

    /// HMAC-SHA-256 (RFC 2104) of `message` under a key of its own for each purpose, derived from this one: 32 bytes.
    ///
    /// It authenticates data that a node stores outside of itself and reads back.
    package func authenticate(_ message: [UInt8], for purpose: String) -> [UInt8] {
        Self.hmac(message, under: self.derived(for: "authenticate/\(purpose)"))
    }

    /// ``authenticate(_:for:)`` for one purpose, for data that is authenticated often: the key is derived once.
    package func authenticator(for purpose: String) -> @Sendable ([UInt8]) -> [UInt8] {
        let key = self.derived(for: "authenticate/\(purpose)")
        return { Self.hmac($0, under: key) }
    }

    static func derive(_ label: String, from root: SecureBytes) -> SecureBytes {
        // 32 bytes are the expansion's first block: HMAC(PRK, info ‖ 1), with PRK = HMAC(salt, key).
        let salt = [UInt8](repeating: 0, count: self.byteCount)
        let info = Array("pinledger/kek/v2/\(label)\u{1}".utf8)
        let extracted = unsafe SecureBytes(count: self.byteCount) { pointer in
            unsafe root.withPointer { key in
                _ = unsafe crypto_auth_hmacsha256(pointer, key, UInt64(root.count), salt)
            }
        }
        return unsafe SecureBytes(count: self.byteCount) { pointer in
            unsafe extracted.withPointer { key in
                _ = unsafe crypto_auth_hmacsha256(pointer, info, UInt64(info.count), key)
            }
        }
    }

    private static func hmac(_ message: [UInt8], under key: SecureBytes) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: 32)
        unsafe key.withPointer { key in
            _ = unsafe crypto_auth_hmacsha256(&tag, message, UInt64(message.count), key)
        }
        return tag
    }
}
