extension Rollout.Bucketing {
    /// The number of buckets, which is the unit of ``Rollout/basisPoints``.
    public static let bucketCount = 10_000

    /// The bucket of an id, from 0 to 9999; a device is in a rollout whose basis points lie above it.
    ///
    /// - `pinroll/v1`: u = the first four bytes, big-endian, of SHA-256 over `pinroll/v1` 00 salt 00 kind 00 id, where
    ///   an id of the shape of a UUID is in lower case; the bucket is u · 10000 / 2^32, rounded down.
    /// - `unleash-murmur3`: n = MurmurHash3_x86_32 over `salt:id` modulo 100, id as it is; the bucket is n · 100.
    ///   Unleash counts n + 1, and lets a device in where that is at most the percentage: the same devices.
    ///
    /// - Parameters:
    ///   - id: the device's id. It MUST NOT be blank, have a NUL, or be a ``Device/isSentinel(_:)``: the evaluation
    ///     never asks for the bucket of one that is.
    ///   - seed: the kind of the id.
    ///   - salt: the rollout's salt, which Unleash calls the group.
    public func bucket(of id: String, seed: Rollout.Seed, salt: String) -> Int {
        let bytes = Array(id.utf8)
        let message = self.prefix(seed: seed, salt: salt) + (self == .pinroll ? UUIDShape.folded(bytes) : bytes)
        return self.bucket(message: message)
    }

    /// The prefix that is hashed before the id.
    func prefix(seed: Rollout.Seed, salt: String) -> [UInt8] {
        switch self {
        case .pinroll: Array("pinroll/v1\u{0}\(salt)\u{0}\(seed.rawValue)\u{0}".utf8)
        case .unleash: Array("\(salt):".utf8)
        }
    }

    /// The bucket of a whole message: ``prefix(seed:salt:)`` and an id.
    func bucket(message: [UInt8]) -> Int {
        switch self {
        case .pinroll: Int((UInt64(sha256Beginning(message)) * UInt64(Self.bucketCount)) >> 32)
        case .unleash: Int(MurmurHash3.hash(message) % 100) * 100
        }
    }
}
