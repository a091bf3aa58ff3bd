package import PinWire
package import Pinning

/// The key by which outcomes of an app are counted.
package struct OutcomeKey: Hashable, Sendable {
    package var host: HostPattern
    package var arm: PolicySlot?
    /// The document's version; 0 for none, and for all versions without room of their own.
    package var version: Int64

    package init(host: HostPattern, arm: PolicySlot?, version: Int64) {
        self.host = host
        self.arm = arm
        self.version = version
    }
}

/// The installs that have reported already in one hour of one app: all of them, as long as there is room, and a sample
/// after that.
///
/// The installs' hashes draw the sample: at level `n` one of 2ⁿ installs is in it, the same ones for every host, arm
/// and version and on every node. So counts of the sample compare as those of all installs do, and no count claims more
/// evidence than there is. Each time the room is used up the level rises by one, and half of the counted installs are
/// dropped.
///
/// Clients choose the keys of outcomes, and anyone may be a client: so the number of cells is limited. The newest
/// versions of an app have half of the room to themselves, whatever other versions are invented; an outcome without
/// room counts with its host and arm, under version 0.
struct OutcomePool: Sendable {
    private struct Member: Hashable {
        var mark: InstallMark
        var cell: UInt16
    }

    private var members: Set<Member> = []
    private var cells: [OutcomeKey: UInt16] = [:]
    private(set) var level = 0

    /// The most cells of one hour, except those of version 0; and its guaranteed number under load.
    static let cellLimit = 2048
    static let leastCells = 64
    /// The same with all cells of version 0: more than an app has hosts and arms.
    static let highestCellCount = 8192
    /// The number of newest versions.
    static let newestVersions: Int64 = 16
    /// One of 2³² installs: more levels than there can be installs.
    static let highestLevel = 32

    var count: Int { self.members.count }
    var cellCount: Int { self.cells.count }

    /// The result of adding an outcome.
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
    ///   - key: Changed to the key that it is counted under.
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
