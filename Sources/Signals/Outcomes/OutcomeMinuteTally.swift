import PinWire
import Pinning

/// What one node has seen of one app in one minute.
struct OutcomeMinuteTally: Sendable {
    /// What was seen of one host, arm and version.
    struct Cell: Hashable, Sendable {
        var key: OutcomeKey
        /// Connections that were reported, repeated ones included.
        var reports: Int64 = 0
        /// Of these, those that failed.
        var failures: Int64 = 0
        /// Those that the client's clock puts too far from now to say anything of now; they are no installs' outcomes.
        var offTime: Int64 = 0
        /// What failing clients were shown, by how many of the installs that are counted.
        var pins: [Pin: Int64] = [:]
    }

    private(set) var cells: [Cell] = []
    private var places: [OutcomeKey: Int] = [:]
    private(set) var releases: [AppRelease] = []
    private(set) var units: [OutcomeUnit] = []
    /// Of the hour's sample.
    private(set) var level: Int
    /// About how much memory it takes, in units' sizes.
    private(set) var weight = 0
    /// Different keys that all of its cells remember.
    private var pinCount = 0
    /// Connections that were reported; and those that were since it was taken last.
    private(set) var reports: Int64 = 0
    private(set) var news: Int64 = 0
    /// Whether it is no longer what was taken last.
    private(set) var isChanged = false

    /// Different keys that are remembered of one cell and minute, and of one minute.
    static let pinLimit = 16
    static let pinLimitOfAll = 2048
    static let releaseLimit = 64
    private static let cellWeight = 8
    private static let pinWeight = 4

    init(level: Int) { self.level = level }

    /// Notes that it is recorded as it stands, or will be.
    mutating func setTaken() {
        self.isChanged = false
        self.news = 0
    }

    /// Counts the connections of a report.
    ///
    /// - Returns: The cell's place.
    mutating func count(_ report: OutcomeReport, as key: OutcomeKey, isOffTime: Bool) -> Int {
        let place: Int
        if let known = self.places[key] {
            place = known
        } else {
            place = self.cells.count
            self.places[key] = place
            self.cells.append(Cell(key: key))
            self.weight += Self.cellWeight
        }
        self.cells[place].reports += report.count
        if report.outcome.isFailure { self.cells[place].failures += report.count }
        if isOffTime { self.cells[place].offTime += report.count }
        self.reports += report.count
        self.news += report.count
        self.isChanged = true
        return place
    }

    /// Counts the install of a report.
    mutating func add(_ report: OutcomeReport, of mark: InstallMark, in network: UInt32, cell: Int) {
        self.units.append(
            OutcomeUnit(
                mark: mark, network: network, cell: UInt16(cell), release: self.place(of: report.release),
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

    private mutating func place(of release: AppRelease?) -> UInt8 {
        guard let release else { return OutcomeUnit.noRelease }
        if let place = self.releases.firstIndex(of: release) { return UInt8(place + 1) }
        guard self.releases.count < Self.releaseLimit else { return OutcomeUnit.otherRelease }
        self.releases.append(release)
        return UInt8(self.releases.count)
    }

    /// Takes the hour's sample over.
    mutating func narrow(to level: Int) {
        guard level > self.level else { return }
        self.level = level
        let before = self.units.count
        self.units.removeAll { !$0.mark.isSampled(at: level) }
        self.weight -= before - self.units.count
        self.isChanged = true
    }
}
