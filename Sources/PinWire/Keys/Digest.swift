internal import Crypto

/// SHA-256 (FIPS 180-4) of `bytes`: 32 bytes.
public func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
    let digest =
        bytes.withContiguousStorageIfAvailable { SHA256.hash(data: UnsafeRawBufferPointer($0)) }
        ?? SHA256.hash(data: Array(bytes))
    return Array(digest)
}

/// HMAC-SHA-256 (RFC 2104) of `message` under `key`: 32 bytes.
public func hmacSHA256(key: some Collection<UInt8>, _ message: some Collection<UInt8>) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: Array(message), using: SymmetricKey(data: Array(key))))
}
