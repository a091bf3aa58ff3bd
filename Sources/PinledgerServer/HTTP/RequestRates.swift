import HTTPTypes
import Signals
import Synchronization

/// Limits how many requests each of many callers may make in a second: networks of clients, or operators.
final class RequestRates: Sendable {
    /// What became of a request, and what its sender has left.
    struct Standing: Sendable {
        /// Seconds to wait for a request that comes too early; nil for one that is accepted.
        var wait: Double?
        /// Requests that may follow at once.
        var remaining: Int
        /// Requests that may come at once after a time without any, and the seconds in which as many come back.
        var quota: Int
        var window: Int
        /// Seconds until all of the quota is there again.
        var reset: Double

        /// The fields of draft-ietf-httpapi-ratelimit-headers.
        ///
        /// - Parameter policy: The limit's name, in letters.
        func fields(_ policy: String) -> [(HTTPField.Name, String)] {
            let reset = Int(min(self.reset, 3600).rounded(.up))
            return [
                (.rateLimitPolicy, "\"\(policy)\";q=\(self.quota);w=\(self.window)"),
                (.rateLimit, "\"\(policy)\";r=\(self.remaining);t=\(reset)"),
            ]
        }
    }

    private let buckets: Mutex<NetworkBuckets>

    /// - Parameter rate: Requests a second, ten times that at once; 0 for no limit.
    init(rate: Double) {
        self.buckets = Mutex(NetworkBuckets(rate: rate))
    }

    /// Changes the rate. Callers begin with a full quota then.
    func set(rate: Double) {
        self.buckets.withLock { if $0.rate != rate { $0 = NetworkBuckets(rate: rate) } }
    }

    /// Accepts a request of a caller, or says how long it has to wait; nil where there is no limit.
    ///
    /// - Parameter isUrgent: Whether it is accepted in any case. It counts where there is room: nobody gets into debt by it.
    func admit(_ caller: some Hashable, isUrgent: Bool = false) -> Standing? {
        // Hashed with the process's own seed: no client can find out which network shares another's bucket.
        let key = UInt32(truncatingIfNeeded: caller.hashValue)
        return self.buckets.withLock { buckets in
            guard buckets.rate > 0 else { return nil }
            let now = ContinuousClock.now
            let wait = buckets.wait(of: key, at: now)
            if wait == nil { buckets.charge(1, to: key, at: now) }
            let (tokens, seconds) = buckets.standing(of: key, at: now)
            return Standing(
                wait: isUrgent ? nil : wait, remaining: tokens, quota: Int(buckets.capacity),
                window: max(1, Int((buckets.capacity / buckets.rate).rounded())), reset: seconds)
        }
    }
}

extension HTTPField.Name {
    static let rateLimit = Self.constant("RateLimit")
    static let rateLimitPolicy = Self.constant("RateLimit-Policy")
}
