package import PinWire
import Pinning
import Postgres

/// A version of an app's document, as the ledger makes it.
package struct DocumentVersion: Sendable, Hashable {
    /// The number of events of the ledger in it: those before this position.
    package var position: Int64
    package var version: Int64
    /// When the last event in it was recorded.
    package var since: Timestamp
    /// When the next version took its place; nil where none had before the end of what was asked for.
    package var until: Timestamp?
    /// SHA-256 of the content, 32 bytes, as in the documents that clients get.
    package var contentDigest: [UInt8]
}

extension LedgerReader {
    /// The versions of an app's document that stood between two positions, the oldest first: the one that stood at
    /// `start`, and one for each change of the app or of the fleet before `end`.
    ///
    /// The events of one change make one version: no document is made of a part of a change. Reads and folds the app's
    /// stream and the fleet's; the time grows with their lengths and with the number of versions, not with the ledger.
    ///
    /// - Parameter limit: The most versions, at least 1.
    /// - Returns: The versions, and the position of the next one where there are more.
    /// - Throws: ``LedgerFault`` where an event is missing, altered, or does not fit.
    package func documentVersions(
        of app: AppID, from start: Int64, to end: Int64, limit: Int
    ) async throws -> (versions: [DocumentVersion], next: Int64?) {
        var (state, versions) = (LedgerState(), [DocumentVersion]())
        var streams = [StreamPages(.fleet), StreamPages(.app(app))]
        var last: Entry?
        /// Notes the version that the events so far make.
        func note() {
            guard let last, let document = state.document(of: app) else { return }
            if !versions.isEmpty { versions[versions.count - 1].until = last.time }
            versions.append(
                DocumentVersion(
                    position: last.position + 1, version: document.version, since: last.time,
                    contentDigest: document.contentDigest))
        }
        while versions.count <= limit {
            for index in streams.indices { try await streams[index].fill(self, before: end) }
            let heads = streams.indices.compactMap { index in streams[index].next.map { (index, $0.position) } }
            guard let (index, position) = heads.min(by: { $0.1 < $1.1 }), let entry = streams[index].take() else {
                note()
                break
            }
            // A version that was replaced before the start is not asked for.
            if position >= start, let last, !entry.isOfSameChange(as: last) {
                note()
                // A document of a thousand hosts takes milliseconds.
                await Task.yield()
                try Task.checkCancellation()
            }
            try state.take(entry)
            last = entry
        }
        guard versions.count > limit else { return (versions, nil) }
        return (Array(versions.prefix(limit)), versions[limit].position)
    }

    /// A stream that is read page by page.
    private struct StreamPages {
        private let stream: StreamID
        private var version: Int64 = 0
        /// Read and not taken yet, the next one last.
        private var entries: [Entry] = []
        private var isAtEnd = false

        init(_ stream: StreamID) { self.stream = stream }

        var next: Entry? { self.entries.last }

        mutating func take() -> Entry? { self.entries.popLast() }

        /// Reads the next page, where the last one is used up.
        mutating func fill(_ reader: LedgerReader, before end: Int64) async throws {
            guard self.entries.isEmpty, !self.isAtEnd else { return }
            let rows = try await reader.read(
                Statements.streamEntries.sql,
                [.text(self.stream.text), .int64(self.version), .int64(end), .int64(LedgerReader.foldPage)])
            let page = try LedgerReader.stored(try await reader.whole(rows)).map(\.entry)
            self.isAtEnd = page.count < Int(LedgerReader.foldPage)
            if let last = page.last { self.version = last.streamVersion }
            self.entries = page.reversed()
        }
    }
}

extension Entry {
    /// Whether one command caused this entry and the one before it.
    func isOfSameChange(as earlier: Entry) -> Bool {
        self.position == earlier.position + 1 && self.stream == earlier.stream && self.origin == earlier.origin
            && self.time == earlier.time
    }
}
