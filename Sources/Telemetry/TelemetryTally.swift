package import PinWire
import Pinning

/// What clients reported, counted in bounded memory until it is recorded: by app, minute and whether the reports were
/// signed, and for each hour who has reported already.
///
/// Signed and unsigned reports share no room: whoever makes up reports without a key crowds out nobody who has one.
package struct TelemetryTally: Sendable {
    /// What bounds it.
    package struct Limits: Sendable {
        /// Installs, per host, arm and version, of one hour of one app that are told apart before a sample is drawn.
        package var unitsPerHour = 32_768
        /// The same of all apps together.
        package var units = 1_048_576
        /// Minutes of apps that wait to be recorded, and what stands in them.
        package var minutes = 20_000
        package var waiting = 2_097_152

        package init() {}
    }

    /// Whose reports are counted together.
    struct Account: Hashable, Sendable {
        var app: AppID
        var isAuthenticated: Bool
    }

    private struct Place: Hashable {
        var account: Account
        var time: Timestamp
    }

    private let limits: Limits
    /// By the hour.
    private var pools: [Place: OutcomePool] = [:]
    private var minutes: [Place: OutcomeMinuteTally] = [:]
    private var unitCount = 0
    private var waitingCount = 0
    /// Reports that were counted and could not be kept until they were recorded.
    private var dropped: Int64 = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    // MARK: Counting

    /// Counts an outcome; false where there is no room for its host, arm and version in this hour.
    mutating func add(
        _ report: OutcomeReport, as key: OutcomeKey, of mark: InstallMark, in network: UInt32, by account: Account,
        at time: Timestamp
    ) -> Bool {
        let hour = Place(account: account, time: time.startOfHour)
        let isOffTime = report.isOffTime(at: time)
        let entry = self.pools[hour, default: OutcomePool()].enter(isOffTime ? nil : mark, key)
        if entry == .noRoom { return false }
        let minute = Place(account: account, time: time.startOfMinute)
        if self.minutes[minute] == nil { self.makeRoom() }
        let level = self.pools[hour]?.level ?? 0
        let cell = self.minutes[minute, default: OutcomeMinuteTally(level: level)].count(
            report, as: key, isOffTime: isOffTime)
        guard entry == .first else { return true }
        self.minutes[minute]?.add(report, of: mark, in: network, cell: cell)
        self.unitCount += 1
        self.waitingCount += 1
        if (self.pools[hour]?.count ?? 0) > self.limits.unitsPerHour { self.narrow(hour) }
        while self.unitCount > self.limits.units,
            let largest = self.pools.max(by: { $0.value.count < $1.value.count })?.key
        {
            self.narrow(largest)
        }
        return true
    }

    /// Halves an hour's sample.
    private mutating func narrow(_ hour: Place) {
        guard let before = self.pools[hour]?.count else { return }
        self.pools[hour]?.raiseLevel()
        self.unitCount -= before - (self.pools[hour]?.count ?? 0)
        guard let level = self.pools[hour]?.level else { return }
        for (minute, tally) in self.minutes where minute.account == hour.account && minute.time.startOfHour == hour.time
        {
            self.minutes[minute]?.narrow(to: level)
            self.waitingCount -= tally.units.count - (self.minutes[minute]?.units.count ?? 0)
        }
    }

    /// The oldest minute goes where a newer one needs its room: it is there only where nothing could be recorded for long.
    private mutating func makeRoom() {
        while self.minutes.count >= self.limits.minutes || self.waitingCount >= self.limits.waiting,
            let oldest = self.minutes.min(by: { $0.key.time < $1.key.time })
        {
            self.minutes[oldest.key] = nil
            self.waitingCount -= oldest.value.units.count
            self.dropped += oldest.value.cells.reduce(0) { $0 + $1.reports }
        }
    }

    // MARK: Recording

    /// The minutes that have changed since they were taken last, whole; those that are over are forgotten with that.
    package mutating func take(at time: Timestamp) -> [TelemetryRow] {
        var rows: [TelemetryRow] = []
        for (place, minute) in self.minutes {
            if minute.isChanged {
                rows.append(TelemetryRow(place.account.app, place.account.isAuthenticated, place.time, minute))
                self.minutes[place]?.isChanged = false
            }
            // A minute more, for a clock that is set back a little.
            if place.time.adding(seconds: 120) <= time {
                self.minutes[place] = nil
                self.waitingCount -= minute.units.count
            }
        }
        for (place, pool) in self.pools where place.time.adding(seconds: 3720) <= time {
            self.pools[place] = nil
            self.unitCount -= pool.count
        }
        return rows
    }

    /// How many reports found no room since this was asked last.
    package mutating func takeDropped() -> Int64 {
        defer { self.dropped = 0 }
        return self.dropped
    }
}

extension OutcomeReport {
    /// How far the client's clock may be from ours for the report to count: a day.
    package static let tolerance: Int64 = 86_400

    func isOffTime(at time: Timestamp) -> Bool {
        guard let claimed = self.time else { return false }
        return abs(claimed.seconds - time.seconds) > Self.tolerance
    }
}

extension Timestamp {
    /// When the minute began that this time is in.
    package var startOfMinute: Timestamp {
        let rest = self.seconds % 60
        return Timestamp(seconds: self.seconds - (rest < 0 ? rest + 60 : rest))
    }
}
