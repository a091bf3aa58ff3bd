import CoreMetrics
import Exposition
import Metrics
import Synchronization

/// What a node counts of the requests that its operations answer.
final class RequestMetrics: Sendable {
    private struct Handles {
        let duration: Timer
        /// By status.
        var counters: [Int: Counter] = [:]
    }

    private let registry: MetricRegistry
    /// By the operation's id.
    private let handles = Mutex<[String: Handles]>([:])

    init(registry: MetricRegistry) { self.registry = registry }

    /// Counts a request that was answered.
    func note(_ route: Route, _ status: Int, since begun: ContinuousClock.Instant) {
        let duration = ContinuousClock.now - begun
        let operationID = route.operationID
        let (counter, timer) = self.handles.withLock { handles in
            var known =
                handles[operationID]
                ?? Handles(
                    duration: Timer(
                        label: MetricFamily.requestDuration.rawValue, dimensions: [("operation", operationID)],
                        factory: self.registry))
            let counter =
                known.counters[status]
                ?? Counter(
                    label: MetricFamily.requests.rawValue,
                    dimensions: [
                        ("operation", operationID), ("status", "\(status)"), ("caller", route.caller.rawValue),
                    ],
                    factory: self.registry)
            known.counters[status] = counter
            handles[operationID] = known
            return (counter, known.duration)
        }
        counter.increment()
        timer.record(duration: duration)
    }
}
