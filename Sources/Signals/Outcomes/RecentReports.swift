/// The reports that came lately, so that one that is sent again does not count again: at least the last ``limit`` ids,
/// at most twice as many.
///
/// It stores a 64-bit hash of each, with a key that the process draws for itself, so that no client can find two ids
/// with one hash.
package struct RecentReports: Sendable {
    package static let usual = 262_144

    private var newer: Set<Int> = []
    private var older: Set<Int> = []
    private let limit: Int

    init(limit: Int = Self.usual) { self.limit = limit }

    /// Notes an id; false where it is there already.
    mutating func insert(_ id: some Hashable, of app: some Hashable) -> Bool {
        var hasher = Hasher()
        hasher.combine(app)
        hasher.combine(id)
        let mark = hasher.finalize()
        guard !self.older.contains(mark), self.newer.insert(mark).inserted else { return false }
        if self.newer.count >= self.limit {
            self.older = self.newer
            self.newer = []
        }
        return true
    }
}
