/// The numbers of one moment, by family.
package struct MetricSamples: Sendable {
    /// A number, and the values of its labels.
    package struct Sample: Sendable {
        package var labels: [String]
        package var value: Double
    }

    /// What was recorded for a histogram.
    package struct Distribution: Sendable {
        package var labels: [String]
        /// How many values are in each bucket alone, the infinite one last.
        package var counts: [UInt64]
        package var sum: Double
    }

    private(set) var samples: [MetricFamily: [Sample]] = [:]
    private(set) var distributions: [MetricFamily: [Distribution]] = [:]

    package init() {}

    /// - Parameter labels: As many values as the family has labels.
    package mutating func add(_ family: MetricFamily, _ value: Double, _ labels: String...) {
        self.samples[family, default: []].append(Sample(labels: labels, value: value))
    }

    package mutating func add(_ family: MetricFamily, _ count: Int, _ labels: String...) {
        self.samples[family, default: []].append(Sample(labels: labels, value: Double(count)))
    }

    mutating func add(_ family: MetricFamily, _ sample: Sample) { self.samples[family, default: []].append(sample) }

    mutating func add(_ family: MetricFamily, _ distribution: Distribution) {
        self.distributions[family, default: []].append(distribution)
    }
}
