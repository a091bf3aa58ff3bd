/// A dictionary of few entries in two arrays, ordered by key.
///
/// It takes a third of the memory of a `Dictionary` of three entries, and has an order of its own. Look-up is by
/// bisection, insertion moves the entries behind: for tens of entries, not for thousands.
package struct SortedMap<Key: Comparable & Hashable & Sendable, Value: Hashable & Sendable>: Hashable, Sendable {
    package private(set) var keys: [Key]
    // Optional, so that one entry can be changed in place, up to its removal. Never nil between two calls.
    private var slots: [Value?]

    package init() {
        self.keys = []
        self.slots = []
    }

    package var count: Int { self.keys.count }
    package var isEmpty: Bool { self.keys.isEmpty }

    /// The values in order of their keys.
    package var values: some Sequence<Value> { self.slots.lazy.compactMap(\.self) }

    /// Calls `read` with every value where it lies, in order; none is nil.
    package func forEachValue(_ read: (borrowing Value?) -> Void) {
        self.slots.withUnsafeBufferPointer { slots in
            for place in slots.indices { read(slots[place]) }
        }
    }

    package mutating func reserveCapacity(_ count: Int) {
        self.keys.reserveCapacity(count)
        self.slots.reserveCapacity(count)
    }

    /// Adds an entry whose key lies behind all others; false, and nothing changed, where it does not.
    package mutating func append(_ key: Key, _ value: Value) -> Bool {
        if let last = self.keys.last, key <= last { return false }
        self.keys.append(key)
        self.slots.append(value)
        return true
    }

    package subscript(key: Key) -> Value? {
        get {
            let (place, isThere) = self.find(key)
            return isThere ? self.slots[place] : nil
        }
        _modify {
            let (place, isThere) = self.find(key)
            if !isThere {
                self.keys.insert(key, at: place)
                self.slots.insert(nil, at: place)
            }
            defer {
                if case .none = self.slots[place] {
                    self.keys.remove(at: place)
                    self.slots.remove(at: place)
                }
            }
            yield &self.slots[place]
        }
    }

    /// The index of `key`, or the one it would have.
    private func find(_ key: Key) -> (place: Int, isThere: Bool) {
        var (low, high) = (0, self.keys.count)
        while low < high {
            let middle = (low + high) / 2
            if self.keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return (low, low < self.keys.count && self.keys[low] == key)
    }
}

extension SortedMap: Sequence {
    package struct Iterator: IteratorProtocol {
        private let keys: [Key]
        private let slots: [Value?]
        private var place = 0

        fileprivate init(keys: [Key], slots: [Value?]) {
            self.keys = keys
            self.slots = slots
        }

        package mutating func next() -> (key: Key, value: Value)? {
            guard self.place < self.keys.count, let value = self.slots[self.place] else { return nil }
            defer { self.place += 1 }
            return (self.keys[self.place], value)
        }
    }

    package func makeIterator() -> Iterator { Iterator(keys: self.keys, slots: self.slots) }
}

extension SortedMap: ExpressibleByDictionaryLiteral {
    /// As a dictionary's, except that the later of two entries of one key counts.
    package init(dictionaryLiteral elements: (Key, Value)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}
