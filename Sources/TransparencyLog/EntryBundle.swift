/// A run of entries as the log serves them: each after its length in two bytes, big-endian (C2SP tlog-tiles).
package enum EntryBundle {
    /// The largest entry that has a place in a bundle, and so in the log.
    package static let maximumEntrySize = Int(UInt16.max)

    /// Writes entries one after the other.
    ///
    /// - Throws: ``LogError/entryTooLarge(byteCount:)`` above ``maximumEntrySize``.
    package static func encode(_ entries: some Sequence<[UInt8]>) throws(LogError) -> [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries {
            guard let length = UInt16(exactly: entry.count) else { throw .entryTooLarge(byteCount: entry.count) }
            bytes.append(UInt8(length >> 8))
            bytes.append(UInt8(length & 0xFF))
            bytes.append(contentsOf: entry)
        }
        return bytes
    }

    /// Reads all entries of a bundle.
    ///
    /// - Throws: ``LogError/malformedBundle`` if the bytes end within an entry or hold more than 256 of them.
    package static func decode(_ bytes: some Collection<UInt8>) throws(LogError) -> [[UInt8]] {
        try self.slices(of: [UInt8](bytes)).map { Array($0) }
    }

    /// The same entries where they lie in the bundle: to be looked at once.
    ///
    /// - Throws: as ``decode(_:)``.
    package static func slices(of bytes: [UInt8]) throws(LogError) -> [ArraySlice<UInt8>] {
        var entries: [ArraySlice<UInt8>] = []
        entries.reserveCapacity(min(Tile.fullWidth, bytes.count / 2))
        var start = 0
        while start < bytes.count {
            guard bytes.count - start >= 2, entries.count < Tile.fullWidth else { throw .malformedBundle }
            let length = Int(bytes[start]) << 8 | Int(bytes[start + 1])
            start += 2
            guard bytes.count - start >= length else { throw .malformedBundle }
            entries.append(bytes[start..<start + length])
            start += length
        }
        return entries
    }
}
