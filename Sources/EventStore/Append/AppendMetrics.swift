import CoreMetrics
import Exposition
import Metrics

/// What a node measures of its appends.
struct AppendMetrics: Sendable {
    private let commands: Recorder
    private let duration: Timer

    init(_ factory: any MetricsFactory) {
        self.commands = Recorder(label: MetricFamily.appendedBatches.rawValue, factory: factory)
        self.duration = Timer(label: MetricFamily.appendDuration.rawValue, factory: factory)
    }

    /// Notes a batch that was recorded, refused or failed.
    func note(commands count: Int, since begun: ContinuousClock.Instant) {
        self.commands.record(count)
        self.duration.record(duration: ContinuousClock.now - begun)
    }
}
