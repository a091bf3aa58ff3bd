package import PinWire
package import Pinning
import Postgres

extension LedgerReader {
    /// An app at an earlier position, with all that its document is made of, and the instant of the last event in it.
    package struct Past: Sendable {
        /// The app and what holds for every app; nothing else of the ledger.
        package var state: LedgerState
        /// When the last of them was recorded; nil where there is none.
        package var time: Timestamp?
    }

    /// An app as it was after the first `position` events of the ledger.
    ///
    /// Reads and folds only the app's own stream and the fleet's, each by its index: the time grows with their lengths,
    /// not with the ledger's. Memory is one page of events.
    ///
    /// - Throws: ``LedgerFault`` where an event is missing, altered, or does not fit.
    package func past(of app: AppID, at position: Int64) async throws -> Past {
        try await self.past(of: [.fleet, .app(app)], at: position)
    }

    /// Some streams as they were after the first `position` events of the ledger; nothing else of it.
    ///
    /// - Throws: As ``past(of:at:)``, or ``Behind``.
    package func past(of streams: [StreamID], at position: Int64) async throws -> Past {
        try await self.onServer(with: position) { reader in
            var past = Past(state: LedgerState(), time: nil)
            for stream in streams {
                try await reader.fold(stream, before: position, into: &past.state)
            }
            if position > 0 {
                let rows = try await reader.read(Statements.times.sql, [.int64Array([position - 1])])
                guard let row = rows.first else { throw try await reader.absence(of: position - 1) }
                past.time = Timestamp(microseconds: try row.timestamp(1))
            }
            return past
        }
    }

    private func fold(_ stream: StreamID, before position: Int64, into state: inout LedgerState) async throws {
        while true {
            let version = state.version(of: stream)
            let rows = try await self.read(
                Statements.streamEntries.sql,
                [.text(stream.text), .int64(version), .int64(position), .int64(Self.foldPage)]
            )
            let page = try Self.stored(try await self.whole(rows))
            for stored in page { try state.take(stored.entry) }
            guard page.count == Int(Self.foldPage) else { return }
            // Long streams are folded page by page, and other tasks run on this thread in between.
            await Task.yield()
        }
    }

    static let foldPage: Int64 = 500
}

extension LedgerState {
    /// Takes in the next event of a stream that is read by itself.
    mutating func take(_ entry: Entry) throws(LedgerFault) {
        switch self.apply(entry.event, of: entry.stream, version: entry.streamVersion, at: entry.effectiveAt) {
        case .applied: return
        case .notNext: throw .streamVersion(position: entry.position)
        case .unfit: throw .unfit(position: entry.position)
        }
    }
}
