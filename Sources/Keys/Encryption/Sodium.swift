import CSodium

/// Starts libsodium once.
enum Sodium {
    // A static is initialised once, on first use, whichever thread comes first. sodium_init itself chooses the
    // implementations for this CPU and opens the random source, and everything in this module uses it before calling
    // anything else. It fails only where the system has no randomness, and no process may go on there.
    private static let isReady = sodium_init() >= 0

    /// Makes sure that libsodium has started. After the first call it costs one load.
    static func start() {
        precondition(self.isReady, "libsodium found no source of randomness")
    }
}

/// Randomness from libsodium, which on Linux is getrandom(2).
package enum Random {
    /// `count` unpredictable bytes, fit for keys, nonces and salts.
    package static func bytes(_ count: Int) -> [UInt8] {
        Sodium.start()
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe randombytes_buf(&bytes, count)
        return bytes
    }

    /// An unpredictable number of at least 0 and below `bound`, uniformly distributed.
    ///
    /// libsodium draws again where a remainder would prefer small numbers. A bound of 0 or 1 gives 0.
    package static func number(below bound: UInt32) -> UInt32 {
        Sodium.start()
        return randombytes_uniform(bound)
    }

    /// `count` unpredictable characters of `0-9A-Za-z`: 5.95 bits each.
    package static func base62(_ count: Int) -> String {
        let characters = (0..<count).map { _ in Base62.alphabet[Int(self.number(below: 62))] }
        return String(decoding: characters, as: UTF8.self)
    }
}

/// Comparison that takes as long for unequal values as for equal ones.
package enum ConstantTime {
    /// Whether two byte strings are the same. Only their lengths, which are no secret, show in the time it takes.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        Sodium.start()
        return unsafe sodium_memcmp(left, right, left.count) == 0
    }
}
