/// How long to leave a project alone after a push that failed temporarily.
package struct PushBackoff: Hashable, Sendable {
    private var failures = 0

    /// The longest wait by default, and the longest that the service may ask for, in seconds.
    package static let limits = (own: 300.0, requested: 3600.0)

    package init() {}

    /// Counts a failure.
    ///
    /// - Parameters:
    ///   - random: Uniform from 0 to 1; half of the wait is random, so that nodes do not come together.
    ///   - requested: The seconds that the service asked for.
    /// - Returns: The seconds to wait: about 1, 2, 4 and so on.
    package mutating func delay(random: Double, requested: Int64? = nil) -> Double {
        let step = Double(1 << min(self.failures, 20))
        self.failures = min(self.failures + 1, 20)
        let own = min(step, Self.limits.own) * (0.5 + 0.5 * min(max(random, 0), 1))
        return max(own, min(Double(requested ?? 0), Self.limits.requested))
    }

    /// Counts a success: the next wait is the shortest again.
    package mutating func reset() { self.failures = 0 }
}
