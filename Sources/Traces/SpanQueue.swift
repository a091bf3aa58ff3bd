package import CoreMetrics
import Exposition
import Metrics
import Synchronization

/// The spans that are over and not sent yet: at most ``limit``. What comes beyond that is dropped and counted, and holds up nobody.
package final class SpanQueue: Sendable {
    /// 4,096 spans are 2 to 4 MB, and at 500 operators' requests a second some seconds of an outage.
    package static let limit = 4096

    private let spans = Mutex<[FinishedSpan]>([])
    private let dropped: Counter
    private let sent: Counter
    private let refused: Counter

    package init(metrics: any MetricsFactory) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: MetricFamily.spans.rawValue, dimensions: [("outcome", outcome)], factory: metrics)
        }
        (self.sent, self.refused, self.dropped) = (counter("sent"), counter("refused"), counter("dropped"))
    }

    func add(_ span: FinishedSpan) {
        let isKept = self.spans.withLock { spans in
            guard spans.count < Self.limit else { return false }
            spans.append(span)
            return true
        }
        if !isKept { self.dropped.increment() }
    }

    /// Takes the oldest spans out; those that ended before a time are dropped.
    ///
    /// - Parameter end: Nanoseconds since 1970.
    package func take(_ count: Int, endedAfter end: UInt64 = 0) -> [FinishedSpan] {
        let (taken, late) = self.spans.withLock { spans in
            let late = spans.prefix { $0.end < end }.count
            let taken = Array(spans.dropFirst(late).prefix(count))
            spans.removeFirst(late + taken.count)
            return (taken, late)
        }
        if late > 0 { self.dropped.increment(by: late) }
        return taken
    }

    /// What has become of spans that were taken.
    package enum Outcome { case sent, refused, dropped }

    package func note(_ count: Int, _ outcome: Outcome) {
        switch outcome {
        case .sent: self.sent.increment(by: count)
        case .refused: self.refused.increment(by: count)
        case .dropped: self.dropped.increment(by: count)
        }
    }
}
