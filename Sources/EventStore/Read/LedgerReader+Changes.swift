package import PinWire
package import Pinning

extension LedgerReader {
    /// The change of an app that the event at a position belongs to: the neighbouring events of the app's stream with
    /// the same origin, which one command caused.
    ///
    /// Reads the change, and folds the app's stream up to it.
    ///
    /// - Returns: Nil where the event at `position` is not one of the app's stream.
    /// - Throws: ``LedgerFault`` where an event is missing, altered, or does not fit.
    package func change(of app: AppID, at position: Int64) async throws -> PastChange? {
        guard let given = try await self.entries(at: position..<position + 1, limit: 1).first?.entry,
            given.stream == .app(app)
        else { return nil }
        var entries = [given]
        var filter = Filter()
        filter.stream = .app(app)
        while true {
            // The app's events alone: those of others between them may be pruned.
            let page = try await self.history(
                filter, from: entries[0].position, ascending: false, limit: Int(Self.foldPage))
            var part = [entries[0]]
            for earlier in page.entries.map(\.entry) {
                guard part[part.count - 1].isOfSameChange(as: earlier) else { break }
                part.append(earlier)
            }
            entries.insert(contentsOf: part.dropFirst().reversed(), at: 0)
            guard part.count > page.entries.count, page.next != nil else { break }
        }
        while true {
            let last = entries[entries.count - 1]
            let page = try await self.entries(
                at: last.position + 1..<last.position + 1 + Self.foldPage, limit: Int(Self.foldPage))
            for later in page.map(\.entry) {
                guard later.isOfSameChange(as: entries[entries.count - 1]) else { break }
                entries.append(later)
            }
            guard entries[entries.count - 1].position == last.position + Self.foldPage else { break }
        }
        var past = try await self.past(of: app, at: entries[0].position)
        let before = past.state.apps[app]
        var events: [AppEvent] = []
        for entry in entries {
            try past.state.take(entry)
            if case .app(let event) = entry.event { events.append(event) }
        }
        guard let after = past.state.apps[app] else { throw LedgerFault.unfit(position: position) }
        return PastChange(position: entries[0].position, events: events, before: before, after: after)
    }
}
