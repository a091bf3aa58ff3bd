package import PinWire
import Postgres

extension LedgerReader {
    /// The number of positions probed at once: two reads find a position among a thousand events, four among a million.
    private static let probes: Int64 = 32

    /// The position of the first event that was recorded at `time` or later; that of the next event where there is none.
    ///
    /// Times never fall from one position to the next, so that a few events are enough, however long the ledger is.
    ///
    /// - Throws: ``LedgerFault`` where an event is missing.
    package func position(at time: Timestamp) async throws -> Int64 {
        try await self.onOneServer { try await $0.place(of: time) }
    }

    private func place(of time: Timestamp) async throws -> Int64 {
        // Events before `low` are earlier than the time, those from `high` on are not.
        var (low, high) = (Int64(0), try await self.head().position)
        while low < high {
            let step = max(1, (high - low) / Self.probes)
            let positions = Array(stride(from: low, to: high, by: Int(step)))
            let rows = try await self.read(Statements.times.sql, [.int64Array(positions)])
            for (index, position) in positions.enumerated() {
                guard index < rows.count else { throw LedgerFault.position(expected: position, found: high) }
                let found = try rows[index].int64(0)
                guard found == position else { throw LedgerFault.position(expected: position, found: found) }
                guard Timestamp(microseconds: try rows[index].timestamp(1)) < time else {
                    high = position
                    break
                }
                low = position + 1
            }
        }
        return low
    }
}
