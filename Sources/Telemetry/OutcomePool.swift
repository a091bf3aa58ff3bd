package import PinWire
package import Pinning

/// What outcomes are counted by, within an app.
package struct OutcomeKey: Hashable, Sendable {
    package var host: HostPattern
    package var arm: PolicySlot?
    package var version: Int64

    package init(host: HostPattern, arm: PolicySlot?, version: Int64) {
        self.host = host
        self.arm = arm
        self.version = version
    }
}

/// Who has reported already in one hour of one app: exactly, as long as there is room, and from then on of a sample.
///
/// The sample is drawn by the installs' hashes: at level `n` one of 2ⁿ installs is in it, the same ones for every host,
/// arm and version and on every node. So what is counted of the sample compares as what it was drawn from does, and no
/// count claims more evidence than there is. Each time the room is used up the level rises by one, and half of those who
/// were counted are no longer.
struct OutcomePool: Sendable {
    private struct Member: Hashable {
        var mark: InstallMark
        var cell: UInt16
    }

    private var members: Set<Member> = []
    private var cells: [OutcomeKey: UInt16] = [:]
    private(set) var level = 0

    /// Cells of one hour.
    static let cellLimit = 2048
    /// One of 2³² installs: more levels than there can be installs.
    static let highestLevel = 32

    var count: Int { self.members.count }

    /// What became of an outcome.
    enum Entry: Hashable {
        /// It is the first one of its install.
        case first
        case known
        /// The install is not in the sample.
        case notSampled
        case noRoom
    }

    /// - Parameter mark: Nil for a report that is counted and is no install's outcome.
    mutating func enter(_ mark: InstallMark?, _ key: OutcomeKey) -> Entry {
        guard let cell = self.cell(of: key) else { return .noRoom }
        guard let mark else { return .known }
        guard mark.isSampled(at: self.level) else { return .notSampled }
        return self.members.insert(Member(mark: mark, cell: cell)).inserted ? .first : .known
    }

    private mutating func cell(of key: OutcomeKey) -> UInt16? {
        if let cell = self.cells[key] { return cell }
        guard self.cells.count < Self.cellLimit else { return nil }
        let cell = UInt16(self.cells.count)
        self.cells[key] = cell
        return cell
    }

    /// Halves the sample.
    mutating func raiseLevel() {
        guard self.level < Self.highestLevel else { return }
        self.level += 1
        let level = self.level
        self.members = self.members.filter { $0.mark.isSampled(at: level) }
    }
}

extension InstallMark {
    /// Whether the install is in the sample of one in 2^`level`.
    package func isSampled(at level: Int) -> Bool { self.bits.trailingZeroBitCount >= level }
}
