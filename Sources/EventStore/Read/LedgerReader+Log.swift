package import Pinning
import Postgres
package import TransparencyLog

extension LedgerReader {
    /// The bytes of a tile of hashes or of an entry bundle (C2SP tlog-tiles); nil where the ledger does not reach so
    /// far.
    ///
    /// - Parameter size: The number of events that the caller has verified, and that cover the tile.
    /// - Throws: ``LedgerFault/leafHash(position:)`` where an entry does not have its recorded hash, ``Behind``, or the
    ///   database's error.
    package func bytes(of tile: Tile, in size: UInt64) async throws -> [UInt8]? {
        try await self.onServer(with: Int64(clamping: size)) { reader in
            switch tile.content {
            case .hashes:
                let hashes = try await reader.hashes(tile.hashes)
                return hashes.count == tile.width ? hashes.flatMap(\.bytes) : nil
            case .entries:
                let range = tile.hashes.indices
                let stored = try await reader.entries(
                    at: Int64(range.lowerBound)..<Int64(range.upperBound), limit: tile.width)
                return stored.count == tile.width ? try EntryBundle.encode(stored.map(\.bytes)) : nil
            }
        }
    }

    /// The event that made a version of a stream; nil where the database has none.
    ///
    /// - Throws: ``LedgerFault`` where it cannot be read or does not have its recorded hash.
    package func entry(of stream: StreamID, version: Int64) async throws -> Stored? {
        try Self.stored(
            try await self.whole(
                try await self.read(Statements.entryOfStream.sql, [.text(stream.text), .int64(version)]))
        ).first
    }

    /// Proves that the leaf at `index` is in the tree of the first `size` entries.
    ///
    /// - Throws: ``LogError`` for an index outside the tree, ``Behind``, or the database's error.
    package func inclusionProof(of index: UInt64, in size: UInt64) async throws -> InclusionProof {
        let plan = try InclusionProof.plan(leafIndex: index, treeSize: size)
        let stored = try await self.read(plan, of: size)
        return try InclusionProof(leafIndex: index, treeSize: size, plan: plan, stored: stored)
    }

    /// Proves that the tree of the first `new` entries extends the one of the first `old`.
    ///
    /// - Throws: ``LogError`` for sizes out of order or 0, ``Behind``, or the database's error.
    package func consistencyProof(from old: UInt64, to new: UInt64) async throws -> ConsistencyProof {
        let plan = try ConsistencyProof.plan(from: old, to: new)
        return try ConsistencyProof(from: old, to: new, plan: plan, stored: try await self.read(plan, of: new))
    }

    private func read(_ plan: HashPlan, of size: UInt64) async throws -> [[LogHash]] {
        try await self.onServer(with: Int64(clamping: size)) { reader in
            var stored: [[LogHash]] = []
            for range in plan.ranges { stored.append(try await reader.hashes(range)) }
            return stored
        }
    }
}
