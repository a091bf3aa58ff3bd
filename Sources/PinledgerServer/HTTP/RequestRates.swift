import Signals
import Synchronization

/// Limits how many of the most expensive public requests one network may make in a second.
final class RequestRates: Sendable {
    private let buckets: Mutex<NetworkBuckets>

    /// - Parameter rate: Requests a second, ten times that at once; 0 for no limit.
    init(rate: Double) {
        self.buckets = Mutex(NetworkBuckets(rate: rate))
    }

    /// Accepts a request; otherwise returns how many seconds its network has to wait.
    func admit(_ network: ClientNetwork) -> Double? {
        // Hashed with the process's own seed: no client can find out which network shares another's bucket.
        let key = UInt32(truncatingIfNeeded: network.hashValue)
        return self.buckets.withLock { buckets in
            let now = ContinuousClock.now
            if let wait = buckets.wait(of: key, at: now) { return wait }
            buckets.charge(1, to: key, at: now)
            return nil
        }
    }
}
