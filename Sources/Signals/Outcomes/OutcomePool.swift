package import PinWire
package import Pinning

/// What outcomes are counted by, within an app.
package struct OutcomeKey: Hashable, Sendable {
    package var host: HostPattern
    package var arm: PolicySlot?
    /// Of the document; 0 for none, and for all those that have no room of their own.
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
///
/// What outcomes are counted by is the clients' to say, and anybody's: so there are so many cells and no more. The newest
/// versions of an app have half of the room to themselves, whatever others are made up; what finds no room counts with its
/// host and arm, under version 0.
struct OutcomePool: Sendable {
    private struct Member: Hashable {
        var mark: InstallMark
        var cell: UInt16
    }

    private var members: Set<Member> = []
    private var cells: [OutcomeKey: UInt16] = [:]
    private(set) var level = 0

    /// Cells of one hour, but for those of version 0; and as many as it has in any crowd.
    static let cellLimit = 2048
    static let leastCells = 64
    /// The same with all those of version 0: more than an app has hosts and arms.
    static let highestCellCount = 8192
    /// So many versions are the newest.
    static let newestVersions: Int64 = 16
    /// One of 2³² installs: more levels than there can be installs.
    static let highestLevel = 32

    var count: Int { self.members.count }
    var cellCount: Int { self.cells.count }

    /// What became of an outcome.
    enum Entry: Hashable {
        /// It is the first one of its install.
        case first
        case known
        /// The install is not in the sample.
        case notSampled
        case noRoom
    }

    /// - Parameters:
    ///   - mark: Nil for a report that is counted and is no install's outcome.
    ///   - key: Becomes the one that it is counted under.
    ///   - newest: The app's version.
    ///   - isCrowded: Whether all apps together have as many cells as there may be.
    mutating func enter(
        _ mark: InstallMark?, _ key: inout OutcomeKey, newest: Int64, isCrowded: Bool = false
    ) -> Entry {
        guard let cell = self.cell(of: &key, newest: newest, isCrowded: isCrowded) else { return .noRoom }
        guard let mark else { return .known }
        guard mark.isSampled(at: self.level) else { return .notSampled }
        return self.members.insert(Member(mark: mark, cell: cell)).inserted ? .first : .known
    }

    private mutating func cell(of key: inout OutcomeKey, newest: Int64, isCrowded: Bool) -> UInt16? {
        if let cell = self.cells[key] { return cell }
        let isNew = key.version > newest - Self.newestVersions
        let room = isCrowded ? Self.leastCells : isNew ? Self.cellLimit : Self.cellLimit / 2
        if self.cells.count >= room {
            key.version = 0
            if let cell = self.cells[key] { return cell }
        }
        guard self.cells.count < Self.highestCellCount else { return nil }
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
