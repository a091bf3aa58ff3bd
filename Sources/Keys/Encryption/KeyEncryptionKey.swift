import CSodium
import PinWire

/// The key that seals private keys at rest: 32 bytes in locked memory.
///
/// It comes from a file or from the environment, and is never stored in the database beside the secrets that it seals.
/// Nothing is encrypted or authenticated with the key itself: each use has a key of its own, derived from it by HKDF
/// (``derived(for:)``).
package struct KeyEncryptionKey: Sendable {
    /// The number of bytes of the key.
    package static let byteCount = 32

    /// Why no key could be made.
    package enum Invalid: Error, Hashable, Sendable {
        /// The key is not 32 bytes.
        case wrongLength(Int)
        /// The text is neither base64 nor hexadecimal of 32 bytes.
        case malformedText
    }

    /// The key's public name: hexadecimal of the first 8 bytes of SHA-256("pinledger/kek/v1" ‖ key).
    ///
    /// It tells which key is needed and, made by a hash, nothing about the key.
    package var id: String { Hex.encode(self.idBytes) }
    /// ``id`` as 8 bytes.
    package let idBytes: [UInt8]

    /// The key itself, from which others are derived.
    let root: SecureBytes
    /// The derived key that seals secrets.
    let sealing: SecureBytes

    /// Takes a key of 32 bytes.
    ///
    /// - Throws: ``Invalid/wrongLength(_:)``.
    package init(_ key: SecureBytes) throws(Invalid) {
        guard key.count == Self.byteCount else { throw .wrongLength(key.count) }
        self.root = key
        self.sealing = Self.derive("seal", from: key)
        self.idBytes = Self.id(of: key)
    }

    /// Takes a key of 32 bytes in ordinary memory, which stays the caller's to wipe.
    ///
    /// - Throws: ``Invalid/wrongLength(_:)``.
    package init(_ key: [UInt8]) throws(Invalid) {
        try self.init(SecureBytes(copying: key))
    }

    /// Reads a key file or variable: base64 (44 characters, padded) or hexadecimal (64) of 32 bytes, with white space
    /// around it at most.
    ///
    /// It is decoded straight into locked memory. The text itself stays in the process as long as the caller keeps it.
    ///
    /// - Throws: ``Invalid/malformedText``.
    package init(text: some Collection<UInt8>) throws(Invalid) {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        var characters = [UInt8](text.drop(while: isSpace))
        defer { SecureBytes.wipe(&characters) }
        while let last = characters.last, isSpace(last) {
            characters.removeLast()
        }
        // libsodium's decoder of base64 ignores some octets outside its alphabet.
        guard characters.count == 64 || characters.count == 44, characters.allSatisfy({ $0 < 0x80 }) else {
            throw .malformedText
        }
        let key = try unsafe SecureBytes(count: Self.byteCount) { pointer throws(Invalid) in
            try unsafe Self.decode(characters, into: pointer)
        }
        try self.init(key)
    }

    // libsodium's own decoders work in constant time and write into the given memory.
    private static func decode(_ text: [UInt8], into key: UnsafeMutablePointer<UInt8>) throws(Invalid) {
        var text = text.map(CChar.init(bitPattern:))
        defer { unsafe sodium_memzero(&text, text.count) }
        var count = 0
        let status =
            text.count == 64
            ? unsafe sodium_hex2bin(key, self.byteCount, text, text.count, nil, &count, nil)
            : unsafe sodium_base642bin(
                key,
                self.byteCount,
                text,
                text.count,
                nil,
                &count,
                nil,
                sodium_base64_VARIANT_ORIGINAL
            )
        guard status == 0, count == self.byteCount else { throw .malformedText }
    }

    private static func id(of key: SecureBytes) -> [UInt8] {
        var state = crypto_hash_sha256_state()
        var digest = [UInt8](repeating: 0, count: 32)
        let domain = Array("pinledger/kek/v1".utf8)
        unsafe crypto_hash_sha256_init(&state)
        unsafe crypto_hash_sha256_update(&state, domain, UInt64(domain.count))
        unsafe key.withPointer { bytes in
            _ = unsafe crypto_hash_sha256_update(&state, bytes, UInt64(key.count))
        }
        unsafe crypto_hash_sha256_final(&state, &digest)
        return Array(digest.prefix(8))
    }
}
