import COpenSSL

/// A key in OpenSSL's form, made once and then used by any number of threads.
///
/// OpenSSL holds the private key in ordinary memory, which it overwrites before it frees it. After every call here, the
/// thread's queue of errors is empty.
@safe final class OpenSSLKey: Sendable {
    /// The hash applied to a message before it is signed.
    enum Hash {
        case sha256
        case sha512

        fileprivate var function: OpaquePointer? {
            switch self {
            case .sha256: unsafe EVP_sha256()
            case .sha512: unsafe EVP_sha512()
            }
        }
    }

    // @safe class and nonisolated(unsafe), invariant: the pointer is set in `init` and freed in `deinit`, and the
    // object behind it never changes as far as callers can tell. OpenSSL lets threads share such a key: its caches
    // (exports to providers, RSA's blinding) are under locks of its own, and everything else that signing needs is in a
    // context that each call makes for itself.
    private nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes over a key; nil for a null pointer.
    private init?(_ pointer: OpaquePointer?) {
        ERR_clear_error()
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(self.pointer)
    }

    /// Reads an ECPrivateKey in DER. Without a public half in it, OpenSSL computes that; nil unless the number is from
    /// 1 to the order of the curve less 1.
    convenience init?(sec1 der: SecureBytes) {
        unsafe self.init(Self.decode(der, EVP_PKEY_EC))
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, self.pointer, nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_private_check(context) == 1 else { return nil }
    }

    /// Reads an RSAPrivateKey in DER. It does not check that the numbers belong together.
    convenience init?(pkcs1 der: SecureBytes) {
        unsafe self.init(Self.decode(der, EVP_PKEY_RSA))
    }

    /// Reads a SubjectPublicKeyInfo in DER (RFC 5280 section 4.1) with nothing after it, whose key is of an algorithm
    /// by OpenSSL's name, such as `EC`. A point is known to be on its curve.
    convenience init?(subjectPublicKeyInfo der: [UInt8], algorithm: String) {
        var count = 0
        let key = unsafe der.withUnsafeBufferPointer { buffer in
            var place = buffer.baseAddress
            let key = unsafe d2i_PUBKEY(nil, &place, buffer.count)
            if let start = buffer.baseAddress, let place = unsafe place { count = unsafe place - start }
            return unsafe key
        }
        unsafe self.init(key)
        guard count == der.count, unsafe EVP_PKEY_is_a(self.pointer, algorithm) == 1 else { return nil }
    }

    private static func decode(_ der: SecureBytes, _ type: CInt) -> OpaquePointer? {
        unsafe der.withPointer { start in
            var place: UnsafePointer<UInt8>? = unsafe start
            return unsafe d2i_PrivateKey(type, nil, &place, der.count)
        }
    }

    /// Makes an RSA key and gives its RSAPrivateKey in DER; nil where OpenSSL fails. It takes up to seconds.
    static func generateRSA(bits: CInt) -> SecureBytes? {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1
        else { return nil }
        defer { unsafe EVP_PKEY_free(key) }
        let count = unsafe i2d_PrivateKey(key, nil)
        guard count > 0 else { return nil }
        return try? unsafe SecureBytes(count: Int(count)) { (bytes) throws(KeyFault) in
            var place: UnsafeMutablePointer<UInt8>? = unsafe bytes
            guard unsafe i2d_PrivateKey(key, &place) == count else { throw .generation }
        }
    }

    /// The number of bits of the modulus or of the order of the curve.
    var bits: Int { unsafe Int(EVP_PKEY_get_bits(self.pointer)) }

    /// The public half as a SubjectPublicKeyInfo in DER; nil where OpenSSL has no memory.
    var subjectPublicKeyInfo: [UInt8]? {
        defer { ERR_clear_error() }
        let count = unsafe i2d_PUBKEY(self.pointer, nil)
        guard count > 0 else { return nil }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, used in
            var place = buffer.baseAddress
            used = unsafe i2d_PUBKEY(self.pointer, &place) == count ? Int(count) : 0
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// Signs a message: an ECDSA-Sig-Value in DER with a key on a curve, PKCS#1 v1.5 with an RSA key. Nil where OpenSSL
    /// fails.
    func sign(_ message: [UInt8], _ hash: Hash) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(context) }
        let capacity = unsafe Int(EVP_PKEY_get_size(self.pointer))
        guard capacity > 0, unsafe EVP_DigestSignInit(context, nil, hash.function, nil, self.pointer) == 1 else {
            return nil
        }
        let signature = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, used in
            var count = capacity
            let isDone = unsafe EVP_DigestSign(context, buffer.baseAddress, &count, message, message.count) == 1
            used = isDone ? count : 0
        }
        return signature.isEmpty ? nil : signature
    }

    /// Whether a signature in the form of ``sign(_:_:)`` is this key's over a message.
    func verifies(_ signature: [UInt8], over message: [UInt8], _ hash: Hash) -> Bool {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestVerifyInit(context, nil, hash.function, nil, self.pointer) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
