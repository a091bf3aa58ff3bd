import PinWire
import Pinning

/// One node's counts of one app in one minute.
struct OutcomeMinuteTally: Sendable {
    /// The counts of one host, arm and version.
    struct Cell: Hashable, Sendable {
        var key: OutcomeKey
        /// Reported connections, repeated ones included.
        var reports: Int64 = 0
        /// The failed ones of these.
        var failures: Int64 = 0
        /// The reports whose client's clock is too far from now; they count as no install's outcome.
        var offTime: Int64 = 0
        /// The connections that went on after the pins had ended. They are none of ``reports``.
        var unpinned: Int64 = 0
        /// The keys presented to failing clients, by the number of counted installs.
        var pins: [Pin: Int64] = [:]
    }

    private(set) var cells: [Cell] = []
    private var indices: [OutcomeKey: Int] = [:]
    private(set) var releases: [AppRelease] = []
    private(set) var units: [OutcomeUnit] = []
    /// The level of the hour's sample.
    private(set) var level: Int
    /// The approximate memory, in sizes of units.
    private(set) var weight = 0
    /// The number of different keys that all of its cells remember.
    private var pinCount = 0
    /// Reported connections; and those since it was last taken.
    private(set) var reports: Int64 = 0
    private(set) var news: Int64 = 0
    /// Whether it has changed since it was last taken.
    private(set) var isChanged = false

    /// The most different keys of one cell and minute, and of one minute.
    static let pinLimit = 16
    static let pinLimitOfAll = 2048
    static let releaseLimit = 64
    private static let cellWeight = 8
    private static let pinWeight = 4

    init(level: Int) { self.level = level }

    /// Notes that its present state is recorded, or will be.
    mutating func setTaken() {
        self.isChanged = false
        self.news = 0
    }

    /// Counts the connections of a report.
    ///
    /// - Returns: The cell's index.
    mutating func count(_ report: OutcomeReport, as key: OutcomeKey, isOffTime: Bool) -> Int {
        let index: Int
        if let known = self.indices[key] {
            index = known
        } else {
            index = self.cells.count
            self.indices[key] = index
            self.cells.append(Cell(key: key))
            self.weight += Self.cellWeight
        }
        if report.outcome == .unpinned {
            self.cells[index].unpinned += report.count
        } else {
            self.cells[index].reports += report.count
            if report.outcome.isFailure { self.cells[index].failures += report.count }
            if isOffTime { self.cells[index].offTime += report.count }
        }
        self.reports += report.count
        self.news += report.count
        self.isChanged = true
        return index
    }

    /// Counts the install of a report.
    mutating func add(_ report: OutcomeReport, of mark: InstallMark, in network: UInt32, cell: Int) {
        self.units.append(
            OutcomeUnit(
                mark: mark, network: network, cell: UInt16(cell), release: self.index(of: report.release),
                outcome: report.outcome, platform: report.platform))
        self.weight += 1
        guard report.outcome.isFailure, let pin = report.servedPins.first else { return }
        if self.cells[cell].pins[pin] == nil {
            guard self.cells[cell].pins.count < Self.pinLimit, self.pinCount < Self.pinLimitOfAll else { return }
            self.pinCount += 1
            self.weight += Self.pinWeight
        }
        self.cells[cell].pins[pin, default: 0] += 1
    }

    private mutating func index(of release: AppRelease?) -> UInt8 {
        guard let release else { return OutcomeUnit.noRelease }
        if let index = self.releases.firstIndex(of: release) { return UInt8(index + 1) }
        guard self.releases.count < Self.releaseLimit else { return OutcomeUnit.otherRelease }
        self.releases.append(release)
        return UInt8(self.releases.count)
    }

    /// Takes over the hour's sample.
    mutating func narrow(to level: Int) {
        guard level > self.level else { return }
        self.level = level
        let before = self.units.count
        self.units.removeAll { !$0.mark.isSampled(at: level) }
        self.weight -= before - self.units.count
        self.isChanged = true
    }
}
