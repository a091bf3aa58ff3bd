/// Values by key, bounded in number and in bytes: where there is no room, those that were taken in first go.
///
/// The newest value is kept in any case, however large: callers that do not want that look at its size first.
///
/// A look-up is part of the answer to nearly every request: it is inlinable, so that callers in other modules have it
/// specialised for their keys and values.
package struct BoundedCache<Key: Hashable, Value> {
    @usableFromInline
    struct Entry {
        @usableFromInline var value: Value
        var size: Int
        /// Which call of ``keep(_:for:size:)`` it comes from.
        var turn: UInt64
    }

    private let entryLimit: Int
    private let byteLimit: Int
    @usableFromInline var entries: [Key: Entry] = [:]
    /// What was taken in, the oldest first, from ``first`` on. Turns whose entry was replaced or removed are ignored.
    private var order: [(key: Key, turn: UInt64)] = []
    private var first = 0
    private var turn: UInt64 = 0
    private var size = 0

    /// - Parameters:
    ///   - entries: Values that are kept.
    ///   - bytes: What they may take together, by the sizes that callers give.
    package init(entries: Int = .max, bytes: Int = .max) {
        self.entryLimit = entries
        self.byteLimit = bytes
    }

    @inlinable
    package subscript(key: Key) -> Value? { self.entries[key]?.value }

    /// Keeps a value in the place of the key's last one.
    package mutating func keep(_ value: Value, for key: Key, size: Int = 0) {
        self.turn += 1
        self.size += size - (self.entries[key]?.size ?? 0)
        self.entries[key] = Entry(value: value, size: size, turn: self.turn)
        self.order.append((key, self.turn))
        self.makeRoom(besides: key)
    }

    /// Changes a value that is kept; its size stays.
    package mutating func update(_ key: Key, _ change: (inout Value) -> Void) {
        guard let place = self.entries.index(forKey: key) else { return }
        change(&self.entries.values[place].value)
    }

    /// Notes that a value, if it is kept, takes so many bytes more, or fewer.
    package mutating func grow(_ key: Key, by bytes: Int) {
        guard let place = self.entries.index(forKey: key) else { return }
        self.entries.values[place].size += bytes
        self.size += bytes
        self.makeRoom(besides: key)
    }

    private mutating func makeRoom(besides key: Key) {
        while self.entries.count > 1, self.entries.count > self.entryLimit || self.size > self.byteLimit {
            let oldest = self.order[self.first]
            self.first += 1
            guard let entry = self.entries[oldest.key], entry.turn == oldest.turn else { continue }
            if oldest.key == key {
                self.order.append(oldest)
            } else {
                self.entries[oldest.key] = nil
                self.size -= entry.size
            }
        }
        // Ignored turns are dropped once they are the larger part.
        guard self.order.count > 2 * self.entries.count + 16 else { return }
        self.order = self.order[self.first...].filter { self.entries[$0.key]?.turn == $0.turn }
        self.first = 0
    }
}

extension BoundedCache: Sendable where Key: Sendable, Value: Sendable {}
extension BoundedCache.Entry: Sendable where Key: Sendable, Value: Sendable {}
