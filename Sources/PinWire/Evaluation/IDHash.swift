internal import Crypto

/// A keyed hash of an id (see ``Rollout/hashedID(_:salt:)``), 32 bytes.
struct IDHash: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    /// Nil unless `hex` is 64 hexadecimal digits.
    init?(hex: String) {
        guard let bytes = Hex.decode(hex), bytes.count == 32 else { return nil }
        self.init(bytes)
    }

    fileprivate init(_ bytes: some Sequence<UInt8>) {
        var words = SIMD4<UInt64>()
        for (place, byte) in bytes.enumerated() { words[place / 8] = words[place / 8] << 8 | UInt64(byte) }
        self.words = words
    }
}

/// Makes keyed hashes under one salt, with the key's part of the work done.
struct IDHasher: Sendable {
    private let keyed: HMAC<SHA256>

    init(salt: String) {
        self.keyed = HMAC<SHA256>(key: SymmetricKey(data: Rollout.idKey(salt: salt)))
    }

    func hash(of id: [UInt8]) -> IDHash {
        var hasher = self.keyed
        hasher.update(data: id)
        return IDHash(hasher.finalize())
    }
}

/// The first four bytes of ``sha256(_:)``, big-endian.
func sha256Beginning(_ bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBytes { bytes in
        var beginning: UInt32 = 0
        for byte in SHA256.hash(data: bytes).prefix(4) { beginning = beginning << 8 | UInt32(byte) }
        return beginning
    }
}
