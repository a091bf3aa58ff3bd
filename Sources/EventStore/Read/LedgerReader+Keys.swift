package import Pinning
package import Postgres

extension LedgerReader {
    /// What the ledger says of signing keys now: the state of the streams `keys` and `log`, and of no other, read on a
    /// connection.
    ///
    /// - Throws: ``LedgerFault`` where an event is altered or does not fit, or the database's error.
    package static func signers(on connection: isolated PostgresConnection) throws -> LedgerState {
        var state = LedgerState()
        for stream in [StreamID.keys, .log] { try self.fold(stream, into: &state, on: connection) }
        return state
    }

    /// The ledger's feature level, read on a connection: the state of the stream `fleet`.
    ///
    /// - Throws: ``LedgerFault`` where an event is altered, does not fit or needs a later program, or the database's error.
    package static func featureLevel(on connection: isolated PostgresConnection) throws -> Int64 {
        var state = LedgerState()
        try self.fold(.fleet, into: &state, on: connection)
        return state.fleet.featureLevel
    }

    private static func fold(
        _ stream: StreamID, into state: inout LedgerState, on connection: isolated PostgresConnection
    ) throws {
        while true {
            let version = state.version(of: stream)
            let page = try self.stored(
                try connection.query(
                    prepared: Statements.streamEntries,
                    [.text(stream.text), .int64(version), .int64(.max), .int64(Self.foldPage)]
                ))
            for stored in page { try state.take(stored.entry) }
            guard page.count == Int(Self.foldPage) else { return }
        }
    }
}
