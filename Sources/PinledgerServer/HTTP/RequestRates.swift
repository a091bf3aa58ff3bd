import Signals
import Synchronization

/// How many of the requests that cost the node most, and that everybody may make, one network may make in a second.
final class RequestRates: Sendable {
    private let buckets: Mutex<NetworkBuckets>

    /// - Parameter rate: Requests a second, ten times that at once; 0 for as many as come.
    init(rate: Double) {
        self.buckets = Mutex(NetworkBuckets(rate: rate))
    }

    /// Lets a request in; else says how many seconds its network has to wait.
    func admit(_ network: ClientNetwork) -> Double? {
        // Hashed with the process's own seed: nobody knows which network shares another's bucket.
        let key = UInt32(truncatingIfNeeded: network.hashValue)
        return self.buckets.withLock { buckets in
            let now = ContinuousClock.now
            if let wait = buckets.wait(of: key, at: now) { return wait }
            buckets.charge(1, to: key, at: now)
            return nil
        }
    }
}
