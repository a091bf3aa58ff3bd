package import PinWire
import Pinning

/// Clients' reports, counted in bounded memory until they are recorded: by app, minute and whether the reports were
/// signed, with the installs that have reported already in each hour.
///
/// Signed and unsigned reports share no room: a client that invents reports without a key displaces none that has one.
/// Apps share the room, and where it runs out, those that use the most give way.
package struct TelemetryTally: Sendable {
    /// The limits of its memory.
    package struct Limits: Sendable {
        /// Installs, per host, arm and version, of one hour of one app that are counted exactly before a sample is
        /// drawn.
        package var unitsPerHour = 32_768
        /// The same of all apps together.
        package var units = 1_048_576
        /// Hosts, arms and versions of all apps together, but for a few that each app has in any case.
        package var cells = 262_144
        /// The most minutes of apps in memory, and their contents, in sizes of units.
        package var minutes = 50_000
        package var waiting = 2_097_152

        package init() {}
    }

    /// The reports that are counted together.
    struct Account: Hashable, Sendable {
        var app: AppID
        var isAuthenticated: Bool
    }

    private struct Slot: Hashable {
        var account: Account
        var time: Timestamp
    }

    private let limits: Limits
    /// By the hour.
    private var pools: [Slot: OutcomePool] = [:]
    private var minutes: [Slot: OutcomeMinuteTally] = [:]
    /// The minutes that have changed since they were recorded.
    private var changed: Set<Slot> = []
    private var unitCount = 0
    private var cellCount = 0
    private var waiting = 0
    /// The minute in which ended minutes were last forgotten.
    private var forgottenAt: Timestamp?
    /// Reports that were counted and could not be kept until they were recorded.
    private var dropped: Int64 = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    // MARK: Counting

    /// Counts an outcome; false where there is no room for its host, arm and version in this hour.
    ///
    /// - Parameter newest: The app's version.
    mutating func add(
        _ report: OutcomeReport, as key: OutcomeKey, of mark: InstallMark, in network: UInt32, by account: Account,
        newest: Int64, at time: Timestamp
    ) -> Bool {
        let hour = Slot(account: account, time: time.startOfHour)
        let isOffTime = report.isOffTime(at: time)
        // What no pin has judged makes no install one that was counted.
        let isCounted = !isOffTime && report.outcome != .unpinned
        var key = key
        let isCrowded = self.cellCount >= self.limits.cells
        let pool = Self.enter(
            isCounted ? mark : nil, &key, newest: newest, isCrowded: isCrowded,
            into: &self.pools[hour, default: OutcomePool()])
        self.cellCount += pool.newCells
        if pool.entry == .noRoom { return false }
        let minute = Slot(account: account, time: time.startOfMinute)
        let tally = Self.count(
            report, as: key, of: pool.entry == .first ? mark : nil, in: network, isOffTime: isOffTime,
            into: &self.minutes[minute, default: OutcomeMinuteTally(level: pool.level)])
        self.waiting += tally.newWeight
        if !tally.wasChanged { self.changed.insert(minute) }
        if self.minutes.count > self.limits.minutes || self.waiting > self.limits.waiting {
            self.makeRoom(at: minute.time)
        }
        guard pool.entry == .first else { return true }
        self.unitCount += 1
        if pool.count > self.limits.unitsPerHour { self.narrow(hour) }
        if self.unitCount > self.limits.units { self.narrowLargest() }
        return true
    }

    // Each looks an hour or a minute up once: this runs for every outcome.

    private static func enter(
        _ mark: InstallMark?, _ key: inout OutcomeKey, newest: Int64, isCrowded: Bool, into pool: inout OutcomePool
    ) -> (entry: OutcomePool.Entry, level: Int, count: Int, newCells: Int) {
        let before = pool.cellCount
        let entry = pool.enter(mark, &key, newest: newest, isCrowded: isCrowded)
        return (entry, pool.level, pool.count, pool.cellCount - before)
    }

    /// - Parameter mark: Nil where its install is not counted.
    private static func count(
        _ report: OutcomeReport, as key: OutcomeKey, of mark: InstallMark?, in network: UInt32, isOffTime: Bool,
        into tally: inout OutcomeMinuteTally
    ) -> (wasChanged: Bool, newWeight: Int) {
        let (wasChanged, before) = (tally.isChanged, tally.weight)
        let cell = tally.count(report, as: key, isOffTime: isOffTime)
        if let mark { tally.add(report, of: mark, in: network, cell: cell) }
        return (wasChanged, tally.weight - before)
    }

    // MARK: Bounds

    /// Halves an hour's sample.
    private mutating func narrow(_ hour: Slot) {
        guard let before = self.pools[hour]?.count else { return }
        self.pools[hour]?.raiseLevel()
        guard let pool = self.pools[hour] else { return }
        self.unitCount -= before - pool.count
        for number in 0..<60 {
            let minute = Slot(account: hour.account, time: hour.time.adding(seconds: Int64(number) * 60))
            guard let weight = self.minutes[minute]?.weight else { continue }
            self.minutes[minute]?.narrow(to: pool.level)
            self.waiting -= weight - (self.minutes[minute]?.weight ?? 0)
            self.changed.insert(minute)
        }
    }

    /// Halves the samples of the hours that have the most, until there is some room again: finding them is too slow for
    /// every report.
    private mutating func narrowLargest() {
        let goal = self.limits.units - self.limits.units / 8
        for (hour, _) in self.pools.map({ ($0.key, $0.value.count) }).sorted(by: { $0.1 > $1.1 }) {
            guard self.unitCount > goal else { return }
            self.narrow(hour)
        }
    }

    /// Drops minutes where newer ones need their room, some more than necessary: finding them is too slow for every
    /// report.
    ///
    /// First it drops ended minutes that are recorded, which loses nothing. Then the oldest of the others, and finally
    /// the largest of the present ones: that happens only where nothing could be recorded for long.
    private mutating func makeRoom(at now: Timestamp) {
        let recorded = self.minutes.filter { !$0.value.isChanged && $0.key.time < now }.keys
        self.drop(recorded.sorted { $0.time < $1.time }, share: 8, at: now)
        guard self.minutes.count > self.limits.minutes || self.waiting > self.limits.waiting else { return }
        let order = self.minutes.map { (slot: $0.key, isOver: $0.key.time < now, weight: $0.value.weight) }.sorted {
            if $0.isOver != $1.isOver { return $0.isOver }
            return $0.isOver ? $0.slot.time < $1.slot.time : $0.weight > $1.weight
        }
        self.drop(order.map(\.slot), share: 64, at: now)
    }

    /// Drops minutes in their order, until one of so many parts of the room is free.
    private mutating func drop(_ slots: [Slot], share: Int, at now: Timestamp) {
        for slot in slots {
            guard
                self.minutes.count > self.limits.minutes - self.limits.minutes / share
                    || self.waiting > self.limits.waiting - self.limits.waiting / share
            else { return }
            guard let tally = self.minutes.removeValue(forKey: slot) else { continue }
            self.changed.remove(slot)
            self.waiting -= tally.weight
            // Later counts of the same minute replace all of its records.
            self.dropped += slot.time >= now ? tally.reports : tally.news
        }
    }

    /// Forgets the minutes and hours that are over.
    private mutating func forget(at time: Timestamp) {
        guard self.forgottenAt != time.startOfMinute else { return }
        self.forgottenAt = time.startOfMinute
        // A minute more, for a clock that is set back a little.
        for slot in self.minutes.keys.filter({ $0.time.adding(seconds: 120) <= time }) {
            self.waiting -= self.minutes.removeValue(forKey: slot)?.weight ?? 0
        }
        for slot in self.pools.keys.filter({ $0.time.adding(seconds: 3720) <= time }) {
            guard let pool = self.pools.removeValue(forKey: slot) else { continue }
            self.unitCount -= pool.count
            self.cellCount -= pool.cellCount
        }
    }

    // MARK: Recording

    /// A minute to be recorded.
    struct Taken: Sendable {
        var account: Account
        var minute: Timestamp
        var tally: OutcomeMinuteTally

        /// Slow for a large minute.
        var row: TelemetryRow { TelemetryRow(self.account.app, self.account.isAuthenticated, self.minute, self.tally) }
    }

    /// The minutes that have changed since they were last taken, whole; ended ones are forgotten then.
    mutating func take(at time: Timestamp) -> [Taken] {
        var taken: [Taken] = []
        taken.reserveCapacity(self.changed.count)
        for slot in self.changed {
            guard let tally = self.minutes[slot] else { continue }
            taken.append(Taken(account: slot.account, minute: slot.time, tally: tally))
            self.minutes[slot]?.setTaken()
        }
        self.changed.removeAll(keepingCapacity: true)
        self.forget(at: time)
        return taken
    }

    /// How many reports found no room since this was last asked.
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
    /// When the minute of this time began.
    package var startOfMinute: Timestamp {
        let rest = self.seconds % 60
        return Timestamp(seconds: self.seconds - (rest < 0 ? rest + 60 : rest))
    }
}
