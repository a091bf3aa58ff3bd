import Synchronization

/// The keys with which a node authenticates batches: the ledger's own and, while that is being changed, the one before or after it too.
///
/// An end of the ledger that any of them authenticates is accepted. Batches get the MAC of the one in force: the database takes
/// batches only of the key that authenticates its present end.
package final class BatchKeys: Sendable {
    /// At least one; the first is in force until the ledger says otherwise.
    let keys: [BatchKey]
    private let place = Atomic(0)
    private let onChange: @Sendable (_ id: [UInt8]) -> Void

    /// - Parameter onChange: Takes the name of a key that comes into force.
    package init(
        _ key: BatchKey, beside others: [BatchKey] = [],
        onChange: @escaping @Sendable (_ id: [UInt8]) -> Void = { _ in }
    ) {
        self.keys = [key] + others
        self.onChange = onChange
    }

    /// The key in force.
    var current: BatchKey { self.keys[self.place.load(ordering: .acquiring)] }

    /// The defect of the MAC that is stored beside an end of the ledger; nil where one of the keys has made it.
    package func defect(of mac: [UInt8]?, beside end: Head) -> BatchKey.Defect? {
        guard let mac else { return .missing }
        guard let named = self.keys.first(where: { mac.starts(with: $0.id) }) else { return .otherKey }
        return named.defect(of: mac, beside: end)
    }

    /// Puts the key in force that a MAC names.
    ///
    /// - Returns: False where it names none of them; the one in force stays then.
    func use(named mac: [UInt8]) -> Bool {
        guard let place = self.keys.firstIndex(where: { mac.starts(with: $0.id) }) else { return false }
        if self.place.exchange(place, ordering: .acquiringAndReleasing) != place { self.onChange(self.keys[place].id) }
        return true
    }
}
