package import PinWire
package import Pinning

/// The outcomes of one host, arm and version over an hour or longer, whichever nodes saw them.
package struct OutcomeSummary: Hashable, Sendable {
    package struct Count: Hashable, Sendable {
        package var installs = 0
        package var failing = 0

        mutating func add(_ isFailing: Bool) {
            self.installs += 1
            if isFailing { self.failing += 1 }
        }

        static func += (left: inout Count, right: Count) {
            left.installs += right.installs
            left.failing += right.failing
        }
    }

    package var minutes: [Timestamp: Count] = [:]
    package var releases: [AdoptionKey.Release: Count] = [:]
    package var platforms: [ClientPlatform?: Count] = [:]
    /// Failing installs, by the beginning of the day (UTC) whose salt hashes the networks.
    package var networks: [Timestamp: [UInt32: Int]] = [:]
    /// All installs, by minute; only of a candidate with unsigned reports, where networks matter.
    package var origins: [Timestamp: [UInt32: Int]] = [:]
    package var reasons: [OutcomeReason: Int] = [:]
    package var pins: [Pin: Int64] = [:]
    package var total = Count()
    /// Reported connections, repeated ones included; never a sample.
    package var reports: Int64 = 0
    package var failures: Int64 = 0
    package var offTime: Int64 = 0
    /// Connections that went on after the pins had ended: none of ``reports``.
    package var unpinned: Int64 = 0
    /// The approximate number of installs, the sample scaled up.
    package var estimate: Int64 = 0
    /// How many installs each counted one stands for, by the beginning of the hour; only where it is a sample.
    package var samples: [Timestamp: Int] = [:]

    /// The most keys that are remembered of one hour.
    static let pinLimit = 64

    mutating func add(
        _ unit: OutcomeUnit, _ release: AdoptionKey.Release, at minute: Timestamp, hasOrigin: Bool = false
    ) {
        if hasOrigin { self.origins[minute, default: [:]][unit.network, default: 0] += 1 }
        self.total.add(unit.isFailing)
        self.minutes[minute, default: Count()].add(unit.isFailing)
        self.releases[release, default: Count()].add(unit.isFailing)
        self.platforms[unit.platform, default: Count()].add(unit.isFailing)
        guard let reason = unit.reason else { return }
        self.networks[minute.startOfDay, default: [:]][unit.network, default: 0] += 1
        self.reasons[reason, default: 0] += 1
    }

    package static func += (left: inout OutcomeSummary, right: OutcomeSummary) {
        left.minutes.merge(right.minutes) { $0 + $1 }
        left.releases.merge(right.releases) { $0 + $1 }
        left.platforms.merge(right.platforms) { $0 + $1 }
        left.networks.merge(right.networks) { $0.merging($1, uniquingKeysWith: +) }
        left.origins.merge(right.origins) { $0.merging($1, uniquingKeysWith: +) }
        left.reasons.merge(right.reasons, uniquingKeysWith: +)
        left.pins.merge(right.pins, uniquingKeysWith: +)
        left.total += right.total
        left.reports += right.reports
        left.failures += right.failures
        left.offTime += right.offTime
        left.unpinned += right.unpinned
        left.estimate += right.estimate
        left.samples.merge(right.samples) { max($0, $1) }
    }

    /// The failing installs by network, of the day with the most of them: a network has another hash each day, and two
    /// days' networks may be the same ones.
    package var networksOfADay: [UInt32: Int] {
        let days = self.networks.map { (day: $0.key, failing: $0.value.values.reduce(0, +), networks: $0.value) }
        return days.max { ($0.failing, $0.day) < ($1.failing, $1.day) }?.networks ?? [:]
    }

    /// Ends an hour in which one of 2^`level` installs was counted.
    mutating func close(level: Int) {
        self.estimate = Int64(self.total.installs) << Int64(level)
        if level > 0, let minute = self.minutes.keys.first { self.samples[minute.startOfHour] = 1 << level }
        // Clients name the keys, and may invent them.
        guard self.pins.count > Self.pinLimit else { return }
        let most = self.pins.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.pinLimit)
        self.pins = Dictionary(uniqueKeysWithValues: most.map { ($0.key, $0.value) })
    }
}

extension OutcomeSummary.Count {
    fileprivate static func + (left: Self, right: Self) -> Self {
        Self(installs: left.installs + right.installs, failing: left.failing + right.failing)
    }
}

/// The key of a summary.
package struct OutcomeCellKey: Hashable, Sendable {
    package var key: OutcomeKey
    package var isAuthenticated: Bool

    package init(_ key: OutcomeKey, isAuthenticated: Bool) {
        self.key = key
        self.isAuthenticated = isAuthenticated
    }
}

/// One hour of one app, merged from the records of all nodes.
package struct OutcomeHour: Hashable, Sendable {
    package private(set) var cells: [OutcomeCellKey: OutcomeSummary] = [:]
    /// One of 2^level installs is counted, of signed and unsigned ones separately.
    package private(set) var levels: [Bool: Int] = [:]

    package init() {}

    /// - Parameter rows: The rows of one hour. An install that several nodes saw counts where it was seen first; where
    ///   two saw it in the same minute the failure counts.
    package init(_ rows: [TelemetryRow]) {
        for isAuthenticated in [true, false] {
            self.add(rows.filter { $0.isAuthenticated == isAuthenticated }, isAuthenticated)
        }
    }

    private struct Member: Hashable {
        var mark: InstallMark
        var cell: Int
    }

    private struct Sighting {
        var minute: Timestamp
        var unit: OutcomeUnit
        var release: AdoptionKey.Release

        func precedes(_ other: Self) -> Bool {
            if self.minute != other.minute { return self.minute < other.minute }
            if self.unit.isFailing != other.unit.isFailing { return self.unit.isFailing }
            // Any order is good if every reader uses the same.
            return self.unit.network < other.unit.network
        }
    }

    private mutating func add(_ rows: [TelemetryRow], _ isAuthenticated: Bool) {
        // A sample narrowed by one node is narrowed for all.
        guard let highest = rows.map(\.level).max() else { return }
        let level = min(highest, OutcomePool.highestLevel)
        self.levels[isAuthenticated] = level
        var keys: [OutcomeKey] = []
        var indices: [OutcomeKey: Int] = [:]
        var summaries: [OutcomeSummary] = []
        var members: [Member: Sighting] = [:]
        for row in rows {
            guard let (cells, releases) = row.read else { continue }
            let local = cells.map { cell in
                if let index = indices[cell.key] { return index }
                indices[cell.key] = keys.count
                keys.append(cell.key)
                summaries.append(OutcomeSummary())
                return keys.count - 1
            }
            for (cell, index) in zip(cells, local) {
                summaries[index].reports += cell.reports
                summaries[index].failures += cell.failures
                summaries[index].offTime += cell.offTime
                summaries[index].unpinned += cell.unpinned
                summaries[index].pins.merge(cell.pins, uniquingKeysWith: +)
            }
            for unit in OutcomeUnit.read(row.units) {
                guard local.indices.contains(Int(unit.cell)), unit.mark.isSampled(at: level) else { continue }
                let sighting = Sighting(
                    minute: row.minute, unit: unit, release: Self.release(unit.release, among: releases))
                let member = Member(mark: unit.mark, cell: local[Int(unit.cell)])
                if let known = members[member], !sighting.precedes(known) { continue }
                members[member] = sighting
            }
        }
        let haveOrigins = keys.map { !isAuthenticated && $0.arm == .candidate }
        for (member, sighting) in members {
            summaries[member.cell].add(
                sighting.unit, sighting.release, at: sighting.minute, hasOrigin: haveOrigins[member.cell])
        }
        for (key, var summary) in zip(keys, summaries) {
            summary.close(level: level)
            self.cells[OutcomeCellKey(key, isAuthenticated: isAuthenticated)] = summary
        }
    }

    private static func release(_ index: UInt8, among releases: [AppRelease]) -> AdoptionKey.Release {
        if index == OutcomeUnit.noRelease { return .unsaid }
        return releases.indices.contains(Int(index) - 1) ? .release(releases[Int(index) - 1]) : .other
    }
}
