/// Limits how much each network may report: a bucket of tokens that fills steadily, one token for each outcome.
///
/// A request is accepted while its network has a token; the cost of its content is taken afterwards, even if that is
/// more than there is: the next request waits until the debt is filled. Networks are remembered in bounded memory, and
/// those without debt are forgotten first; networks for which there is no room share one bucket.
package struct NetworkBuckets: Sendable {
    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    /// Tokens a second; 0 for no limit.
    package let rate: Double
    /// The most tokens that one may have.
    package let capacity: Double
    private var buckets: [UInt32: Bucket] = [:]
    private var shared: Bucket?
    private let limit: Int
    private var forgottenAt: ContinuousClock.Instant?

    /// Buckets that fill at `rate` tokens a second and hold ten seconds of it, for at most `limit` networks.
    package init(rate: Double, limit: Int = 65_536) {
        self.rate = rate
        // A request takes a whole token, however slowly they come.
        self.capacity = max(1, rate * 10)
        self.limit = limit
    }

    /// Seconds until a network may report; nil where it may now.
    package mutating func wait(of network: UInt32, at now: ContinuousClock.Instant) -> Double? {
        guard self.rate > 0 else { return nil }
        let tokens = self.bucket(of: network, at: now).tokens
        return tokens >= 1 ? nil : (1 - tokens) / self.rate
    }

    /// The whole tokens that a network has, and the seconds until its bucket is full.
    package func standing(of network: UInt32, at now: ContinuousClock.Instant) -> (tokens: Int, seconds: Double) {
        let tokens = self.bucket(of: network, at: now).tokens
        return (Int(max(0, tokens)), self.rate > 0 ? max(0, self.capacity - tokens) / self.rate : 0)
    }

    /// Takes tokens for the content of a request.
    package mutating func charge(_ count: Int, to network: UInt32, at now: ContinuousClock.Instant) {
        guard self.rate > 0 else { return }
        var bucket = self.bucket(of: network, at: now)
        bucket.tokens -= Double(count)
        if self.buckets[network] == nil, self.buckets.count >= self.limit { self.forget(at: now) }
        if self.buckets[network] == nil, self.buckets.count >= self.limit {
            self.shared = bucket
        } else {
            self.buckets[network] = bucket
        }
    }

    private func bucket(of network: UInt32, at now: ContinuousClock.Instant) -> Bucket {
        let isFull = self.buckets.count >= self.limit
        guard let known = self.buckets[network] ?? (isFull ? self.shared : nil) else {
            return Bucket(tokens: self.capacity, filledAt: now)
        }
        return self.filled(known, at: now)
    }

    private func filled(_ bucket: Bucket, at now: ContinuousClock.Instant) -> Bucket {
        let seconds = max(0, (now - bucket.filledAt) / .seconds(1))
        return Bucket(tokens: min(self.capacity, bucket.tokens + seconds * self.rate), filledAt: now)
    }

    private mutating func forget(at now: ContinuousClock.Instant) {
        // Examining all of them is too slow for every request.
        guard self.forgottenAt.map({ now - $0 >= .seconds(1) }) ?? true else { return }
        self.forgottenAt = now
        self.buckets = self.buckets.filter { self.filled($0.value, at: now).tokens < self.capacity }
    }
}
