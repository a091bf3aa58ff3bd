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
    var isChanged = true

    /// Different keys that are remembered of one cell and minute.
    static let pinLimit = 16
    static let releaseLimit = 64

    init(level: Int) { self.level = level }

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
        }
        self.cells[place].reports += report.count
        if report.outcome.isFailure { self.cells[place].failures += report.count }
        if isOffTime { self.cells[place].offTime += report.count }
        self.isChanged = true
        return place
    }

    /// Counts the install of a report.
    mutating func add(_ report: OutcomeReport, of mark: InstallMark, in network: UInt32, cell: Int) {
        self.units.append(
            OutcomeUnit(
                mark: mark, network: network, cell: UInt16(cell), release: self.place(of: report.release),
                outcome: report.outcome, platform: report.platform))
        guard report.outcome.isFailure, let pin = report.servedPins.first else { return }
        if self.cells[cell].pins[pin] != nil || self.cells[cell].pins.count < Self.pinLimit {
            self.cells[cell].pins[pin, default: 0] += 1
        }
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
        self.units.removeAll { !$0.mark.isSampled(at: level) }
        self.isChanged = true
    }
}
