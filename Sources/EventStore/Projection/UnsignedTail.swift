/// The events behind a node's view that no batch key it knows has signed, and what was done to find signatures among them.
///
/// Rows never change, so none is looked at twice, however long a node waits.
struct UnsignedTail: Hashable, Sendable {
    /// The number of events in the ledger.
    var end: Int64
    /// Positions of events that end no batch signed with a known key.
    private(set) var searched: Range<Int64>

    init(end: Int64) {
        self.end = end
        self.searched = end..<end
    }

    /// The positions to look at next: new events first; nil where all from `position` on were looked at.
    func unsearched(from position: Int64) -> Range<Int64>? {
        let new = max(position, self.searched.upperBound)
        if new < self.end { return new..<self.end }
        return position < self.searched.lowerBound ? position..<self.searched.lowerBound : nil
    }

    /// Records what was looked at in vain: a part of ``unsearched(from:)``, up to its end.
    mutating func note(searched part: Range<Int64>) {
        if part.upperBound == self.searched.lowerBound,
            part.upperBound < self.searched.upperBound || self.searched.isEmpty
        {
            self.searched = part.lowerBound..<self.searched.upperBound
        } else if part.lowerBound <= self.searched.upperBound {
            self.searched = self.searched.lowerBound..<max(part.upperBound, self.searched.upperBound)
        } else {
            // What lies before is looked at again: new events came faster than they were looked at.
            self.searched = part
        }
    }
}
