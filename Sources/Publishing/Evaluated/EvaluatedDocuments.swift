package import Concurrency
package import PinWire
import Synchronization

/// The evaluated documents that a node serves: per app and resolution, each signed when it is first asked for and kept
/// for as long as its source is the current document, within a bound of memory.
///
/// They carry the freshness fields of that document. Ids of devices are used and not stored.
package final class EvaluatedDocuments<Answer: Sendable>: Sendable {
    private struct Entry {
        var source: EvaluatedSource<Answer>
        /// The memory that the source and its variants take, roughly.
        var cost: Int
    }

    private struct Content {
        var entries: [String: Entry] = [:]
        /// The apps of ``entries``, the oldest first.
        var order: [String] = []
        /// The memory of all entries together, in bytes.
        var cost = 0

        mutating func put(_ entry: Entry, of app: String) {
            self.cost += entry.cost
            if let old = self.entries.updateValue(entry, forKey: app) {
                self.cost -= old.cost
            } else {
                self.order.append(app)
            }
        }

        /// Notes that an app's variants take so many bytes more, or fewer.
        mutating func add(_ bytes: Int, to app: String) {
            guard self.entries[app] != nil else { return }
            self.entries[app]?.cost += bytes
            self.cost += bytes
        }

        /// Drops the oldest entries, until the rest is within the bound.
        mutating func makeRoom(within limit: Int, besides app: String) {
            while self.cost > limit, let place = self.order.firstIndex(where: { $0 != app }) {
                let oldest = self.order.remove(at: place)
                self.cost -= self.entries.removeValue(forKey: oldest)?.cost ?? 0
            }
        }
    }

    private let documents: DocumentTable
    private let signer: EvaluatedSigner
    private let byteLimit: Int
    private let prepare: @Sendable (PublishedDocument, PreparedBody) -> Answer
    private let content = Mutex(Content())
    private let limiter: ConcurrencyLimiter<String>

    /// - Parameters:
    ///   - byteLimit: what documents and variants may take of memory, roughly.
    ///   - limiter: bounds the requests that wait for variants to be signed: all together, and for each app, so that one
    ///     whose devices all come at once leaves places to the others.
    ///   - prepare: makes what is kept of a signed variant and the document that it comes from.
    package init(
        documents: DocumentTable, signer: EvaluatedSigner, byteLimit: Int = 128 << 20,
        limiter: ConcurrencyLimiter<String> = ConcurrencyLimiter(limit: 512) { _ in 256 },
        prepare: @escaping @Sendable (PublishedDocument, PreparedBody) -> Answer
    ) {
        self.documents = documents
        self.signer = signer
        self.byteLimit = byteLimit
        self.limiter = limiter
        self.prepare = prepare
    }

    /// An app's current document where a variant of it was asked for before. Costs two look-ups.
    package func ready(_ app: String) -> EvaluatedSource<Answer>? {
        guard let source = self.content.withLock({ $0.entries[app]?.source }),
            let current = self.documents[named: app], current.body.isSame(as: source.document.body)
        else { return nil }
        return source
    }

    /// The document for a device; nil where the app has no document. Signs it if necessary.
    ///
    /// - Throws: ``EvaluatedUnavailable``, and the errors of unavailable keys.
    package func answer(_ app: String, for device: Device) async throws -> Answer? {
        guard let document = self.documents[named: app] else { return nil }
        if let source = self.ready(app), let answer = source[source.evaluator.resolution(for: device)] { return answer }
        guard let place = self.limiter.take(for: [app]) else { throw EvaluatedUnavailable.overloaded }
        defer { place.release() }
        return try await self.signer.inTurn { signer, key in
            // Another one may have been published since: served documents never go back.
            let source = try self.ready(app) ?? self.take(self.documents[named: app] ?? document)
            let resolution = source.evaluator.resolution(for: device)
            if let answer = source[resolution] { return answer }
            let body = try signer.sign(source.evaluator.document(for: resolution), as: source.issued, with: key)
            let prefix = DocumentTag.prefix(version: source.document.version)
            let answer = self.prepare(source.document, PreparedBody(body, tagPrefix: prefix))
            // Encodings are made of it too, together about as large again.
            let grown = source.keep(answer, of: resolution, byteCount: 2 * body.count, limit: self.byteLimit / 4)
            // Only the signer changes sources: this is still the app's.
            self.content.withLock { content in
                content.add(grown, to: app)
                content.makeRoom(within: self.byteLimit, besides: app)
            }
            return answer
        }
    }

    /// Prepares a document for evaluation.
    private func take(_ document: PublishedDocument) throws -> EvaluatedSource<Answer> {
        let source = try EvaluatedSource<Answer>(document)
        self.content.withLock { $0.put(Entry(source: source, cost: source.cost), of: document.app.text) }
        return source
    }
}
