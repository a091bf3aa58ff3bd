package import Pinning
package import Postgres

extension LedgerReader {
    /// The signing keys as the ledger has them now, from their own stream alone, read on a connection.
    ///
    /// - Throws: ``LedgerFault`` where an event is altered or does not fit, or the database's error.
    package static func keys(on connection: isolated PostgresConnection) throws -> KeyRing {
        var state = LedgerState()
        while true {
            let version = state.version(of: .keys)
            let page = try self.stored(
                try connection.query(
                    prepared: Statements.streamEntries,
                    [.text(StreamID.keys.text), .int64(version), .int64(.max), .int64(Self.foldPage)]
                ))
            for stored in page { try state.take(stored.entry) }
            guard page.count == Int(Self.foldPage) else { return state.keys }
        }
    }
}
