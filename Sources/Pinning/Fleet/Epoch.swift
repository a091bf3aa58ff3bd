package import PinWire

/// A stretch of the ledger's history that begins where lost events could not be restored.
///
/// Positions and versions of streams from ``firstPosition`` on may have been used before, with another content. The number
/// of the epoch tells the two apart wherever one of them leaves the database.
package struct Epoch: Hashable, Sendable {
    /// Grows with every epoch. The history before the first loss is epoch 0.
    package var number: Int64
    /// The position of its first event, which is the number of events that the loss has left.
    package var firstPosition: Int64
    /// When it was begun.
    package var beganAt: Timestamp
    /// The number of events of the lost history that were known of when it was begun; nil where nothing remembered it.
    package var lostSize: Int64?

    package init(number: Int64, firstPosition: Int64, beganAt: Timestamp, lostSize: Int64?) {
        self.number = number
        self.firstPosition = firstPosition
        self.beganAt = beganAt
        self.lostSize = lostSize
    }
}

/// What an operator found out about a loss, and how the history goes on after it.
package struct HistoryRestoration: Hashable, Sendable {
    /// The end of a ledger: what a checkpoint states.
    package struct End: Hashable, Sendable {
        /// The number of events.
        package var size: Int64
        /// The root of the Merkle tree over them, 32 bytes.
        package var root: [UInt8]

        package init(size: Int64, root: [UInt8]) {
            self.size = size
            self.root = root
        }
    }

    /// The number of the epoch that begins.
    package var epoch: Int64
    /// The number of events that are left.
    package var keptSize: Int64
    /// The furthest end of the lost history that was known; nil where nothing remembered it.
    package var lost: End?
    /// What every document's version is raised by, beyond all that were ever served.
    package var raisedBy: Int64

    package init(epoch: Int64, keptSize: Int64, lost: End?, raisedBy: Int64) {
        self.epoch = epoch
        self.keptSize = keptSize
        self.lost = lost
        self.raisedBy = raisedBy
    }

    /// The most that versions can be raised by, altogether: they stay below 10^15, the longest that entity tags state.
    package static let largestRaise: Int64 = 100_000_000_000_000
}

/// A position or a version together with the epoch that it belongs to, as it leaves the database: in entity tags, and as the
/// id of webhook messages and of streamed events. Text: `12` in epoch 0, `3.12` in epoch 3.
package struct EpochNumber: Hashable, Sendable, CustomStringConvertible {
    package var epoch: Int64
    package var number: Int64

    package init(epoch: Int64, number: Int64) {
        self.epoch = epoch
        self.number = number
    }

    package var description: String { self.epoch == 0 ? "\(self.number)" : "\(self.epoch).\(self.number)" }

    /// Reads what ``description`` writes; nil for every other text.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part -> Int64? in
            guard part.utf8.count <= 16, part.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
            return Int64(part)
        }
        guard numbers.count == parts.count, let last = numbers.last, last <= JSON.largestInteger else { return nil }
        switch numbers.count {
        case 1: self.init(epoch: 0, number: last)
        case 2 where (1...JSON.largestInteger).contains(numbers[0]): self.init(epoch: numbers[0], number: last)
        default: return nil
        }
        guard self.description == text else { return nil }
    }
}
