internal import Crypto

/// A keyed hash of an id (see ``Rollout/hashedID(_:salt:)``), 32 bytes.
struct IDHash: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    /// Nil unless `hex` is 64 hexadecimal digits.
    init?(hex: String) {
        guard let bytes = Hex.decode(hex), bytes.count == 32 else { return nil }
        self = bytes.withUnsafeBytes { IDHash($0) }
    }

    /// - Parameter bytes: 32 of them.
    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self.words = bytes.loadUnaligned(as: SIMD4<UInt64>.self)
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
        return hasher.finalize().withUnsafeBytes { IDHash($0) }
    }
}

/// The first four bytes of ``sha256(_:)``, big-endian.
func sha256Beginning(_ bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBytes { bytes in
        SHA256.hash(data: bytes).withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
    }
}
