import Pinning
import Postgres
package import TransparencyLog

extension LedgerReader {
    /// Checks that a verified ledger goes on from an earlier state of it.
    ///
    /// - Parameters:
    ///   - position: The number of events of the earlier state.
    ///   - root: The root of the Merkle tree over them.
    ///   - head: The end of the verified ledger. The stored hashes between the two need not be right: the proof made of
    ///     them leads to both roots only if they are.
    /// - Throws: ``LedgerFault/forgotten(remembered:found:)``, ``LedgerFault/rewritten(remembered:)``, ``Behind``, or the
    ///   database's error.
    package func check(_ head: Head, goesOnFrom position: Int64, root: LogHash) async throws {
        guard position <= head.position else { throw LedgerFault.forgotten(remembered: position, found: head.position) }
        guard position > 0 else { return }
        do {
            let proof = try await self.consistencyProof(from: UInt64(position), to: UInt64(head.position))
            try proof.verify(oldRoot: root, newRoot: head.frontier.root)
        } catch is LogError {
            throw LedgerFault.rewritten(remembered: position)
        }
    }

    /// Whether a recovery has ended a history that had come so far, by the events that began epochs. Who asks has not
    /// verified the ledger.
    package func hasEnded(historyOf position: Int64, in epoch: Int64) async throws -> Bool {
        let rows = try await self.read(
            "SELECT position, entry, leaf_hash FROM pinledger.event WHERE type = 'HistoryRestored' ORDER BY position")
        var fleet = Fleet()
        for stored in try Self.stored(rows) {
            if case .fleet(let event) = stored.entry.event { fleet.evolve(event, at: stored.entry.effectiveAt) }
        }
        return fleet.hasEnded(historyOf: position, in: epoch)
    }

    /// The leaf hashes of the events at `positions`, in order; fewer where the ledger does not reach so far.
    package func leafHashes(at positions: Range<Int64>) async throws -> [LogHash] {
        try await self.hashes(
            HashRange(level: 0, indices: UInt64(positions.lowerBound)..<UInt64(positions.upperBound)))
    }

    /// The right edge of the tree over the first `size` events, by the stored hashes.
    package func storedFrontier(at size: Int64) async throws -> MerkleFrontier {
        try await self.frontier(at: UInt64(size))
    }
}
