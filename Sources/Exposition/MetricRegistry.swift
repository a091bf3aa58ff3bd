package import CoreMetrics
import Synchronization

/// The counters and histograms of a node, behind the interface of swift-metrics.
///
/// A label is the name of a ``MetricFamily``; what bears another name, or lacks a label of its family, is not kept. Each family keeps at most
/// ``limit`` combinations of labels, so that a client that chooses a value cannot fill the memory.
package final class MetricRegistry: MetricsFactory {
    package static let limit = 2_000

    private struct Key: Hashable {
        var family: MetricFamily
        var labels: [String]
    }

    private let counters = Mutex<[Key: CounterCell]>([:])
    private let histograms = Mutex<[Key: HistogramCell]>([:])

    package init() {}

    /// Everything that was counted.
    package func collect(into samples: inout MetricSamples) {
        for (key, cell) in self.counters.withLock({ Self.ordered($0) }) {
            samples.add(key.family, MetricSamples.Sample(labels: key.labels, value: Double(cell.count)))
        }
        for (key, cell) in self.histograms.withLock({ Self.ordered($0) }) {
            let (counts, sum) = cell.content
            samples.add(key.family, MetricSamples.Distribution(labels: key.labels, counts: counts, sum: sum))
        }
    }

    private static func ordered<Cell>(_ cells: [Key: Cell]) -> [(key: Key, value: Cell)] {
        cells.sorted { $0.key.labels.lexicographicallyPrecedes($1.key.labels) }
    }

    private static func key(
        _ label: String, _ dimensions: [(String, String)], _ kind: MetricFamily.Kind
    ) -> Key? {
        guard let family = MetricFamily(rawValue: label), family.declaration.kind == kind else { return nil }
        let labels = family.declaration.labels.compactMap { name in dimensions.first { $0.0 == name }?.1 }
        return labels.count == family.declaration.labels.count ? Key(family: family, labels: labels) : nil
    }

    private static func cell<Cell: Sendable>(
        _ key: Key?, in cells: borrowing Mutex<[Key: Cell]>, _ make: (MetricFamily) -> Cell
    ) -> Cell? {
        guard let key else { return nil }
        let new = make(key.family)
        return cells.withLock { cells in
            if let known = cells[key] { return known }
            guard cells.count(where: { $0.key.family == key.family }) < Self.limit else { return nil }
            cells[key] = new
            return new
        }
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        Self.cell(Self.key(label, dimensions, .counter), in: self.counters) { _ in CounterCell() }
            ?? NOOPMetricsHandler.instance
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        self.histogram(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.histogram(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramCell? {
        Self.cell(Self.key(label, dimensions, .histogram), in: self.histograms) {
            HistogramCell(bounds: $0.declaration.bounds)
        }
    }

    // What was counted stays: a counter that begins again looks like a restart.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

/// A count that only grows.
private final class CounterCell: CounterHandler {
    private let value = Atomic<Int64>(0)

    var count: Int64 { self.value.load(ordering: .relaxed) }

    func increment(by amount: Int64) { self.value.wrappingAdd(amount, ordering: .relaxed) }

    func reset() {}
}

/// How many values fell into each bucket.
private final class HistogramCell: RecorderHandler, TimerHandler {
    private struct Content {
        var counts: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<Content>

    init(bounds: [Double]) {
        self.bounds = bounds
        self.state = Mutex(Content(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    var content: (counts: [UInt64], sum: Double) { self.state.withLock { ($0.counts, $0.sum) } }

    func record(_ value: Int64) { self.record(Double(value)) }

    func record(_ value: Double) {
        let bucket = self.bounds.firstIndex { value <= $0 } ?? self.bounds.count
        self.state.withLock { content in
            content.counts[bucket] += 1
            content.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { self.record(Double(duration) / 1e9) }
}
