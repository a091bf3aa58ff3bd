package import PinWire
package import Pinning

/// All reports of an app's clients over some hours.
package struct TelemetrySummary: Sendable {
    package let app: AppID
    package var measuredAt: Timestamp
    /// By their beginnings.
    package private(set) var hours: [Timestamp: OutcomeHour]

    /// How far back the facts for rules go.
    package static let factHours: Int64 = 24
    /// The most cells in the facts for rules.
    package static let cellLimit = 4096

    package init(app: AppID, measuredAt: Timestamp, hours: [Timestamp: OutcomeHour] = [:]) {
        self.app = app
        self.measuredAt = measuredAt
        self.hours = hours
    }

    /// Replaces the earlier state of these hours.
    package mutating func take(_ hours: [Timestamp: OutcomeHour], at time: Timestamp) {
        self.hours.merge(hours) { $1 }
        self.measuredAt = time
    }

    /// Forgets the hours before one.
    package mutating func forget(before hour: Timestamp) { self.hours = self.hours.filter { $0.key >= hour } }

    /// All hours together, by host, arm, version and whether they were signed.
    package var cells: [(key: OutcomeCellKey, summary: OutcomeSummary)] {
        var cells: [OutcomeCellKey: OutcomeSummary] = [:]
        for hour in self.hours.values { cells.merge(hour.cells) { $0 + $1 } }
        return cells.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The highest level at which an hour was sampled.
    package func level(isAuthenticated: Bool) -> Int {
        self.hours.values.compactMap { $0.levels[isAuthenticated] }.max() ?? 0
    }

    /// The small form; if there are too many cells, the signed ones come first, and those with the most installs.
    package var facts: TelemetryFacts { self.facts(minutes: OutcomeCell.minuteLimit) }

    /// The same with the last `minutes` of each cell that have reports, up to their limit.
    package func facts(minutes: Int) -> TelemetryFacts {
        var cells = self.cells
        if cells.count > Self.cellLimit {
            // Anyone can create unsigned cells.
            cells.sort {
                $0.key.isAuthenticated == $1.key.isAuthenticated
                    ? $0.summary.total.installs > $1.summary.total.installs : $0.key.isAuthenticated
            }
            cells.removeLast(cells.count - Self.cellLimit)
            cells.sort { $0.key < $1.key }
        }
        return TelemetryFacts(
            measuredAt: self.measuredAt, cells: cells.map { OutcomeCell($0.key, $0.summary, minutes: minutes) })
    }
}

extension OutcomeSummary {
    fileprivate static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum += right
        return sum
    }
}

extension OutcomeCellKey: Comparable {
    package static func < (left: Self, right: Self) -> Bool {
        if left.key.host != right.key.host { return left.key.host < right.key.host }
        if left.key.version != right.key.version { return left.key.version > right.key.version }
        let arms = (left.key.arm?.rawValue ?? "", right.key.arm?.rawValue ?? "")
        if arms.0 != arms.1 { return arms.0 < arms.1 }
        return left.isAuthenticated && !right.isAuthenticated
    }
}

extension OutcomeCell {
    package init(_ cell: OutcomeCellKey, _ summary: OutcomeSummary, minutes: Int = Self.minuteLimit) {
        let networks = summary.networksOfADay
        self.init(
            host: cell.key.host, arm: cell.key.arm, version: cell.key.version, isAuthenticated: cell.isAuthenticated,
            minutes: summary.minutes.sorted { $0.key < $1.key }.suffix(minutes).map {
                OutcomeMinute(
                    minute: $0.key, installs: $0.value.installs, failing: $0.value.failing,
                    oneIn: summary.samples[$0.key.startOfHour] ?? 1, origins: summary.origins[$0.key] ?? [:])
            },
            networks: networks.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.networkLimit).map {
                NetworkShare(network: CoarseNetwork.text($0.key), failing: $0.value)
            },
            networkCount: networks.count,
            releases: summary.releases.sorted { ($1.value.installs, $0.key.text) < ($0.value.installs, $1.key.text) }
                .prefix(Self.releaseLimit).map {
                    ReleaseShare(release: $0.key, installs: $0.value.installs, failing: $0.value.failing)
                },
            servedPins: summary.pins.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.pinLimit).map(
                \.key),
            installs: summary.total.installs, failing: summary.total.failing
        )
    }
}
