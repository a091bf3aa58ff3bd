package import Concurrency
package import PinWire
package import Synchronization

/// The evaluated documents that a node serves: per app and resolution, each signed when it is first asked for and kept
/// for as long as its source is the current document, within a bound of memory.
///
/// They carry the freshness fields of that document. Ids of devices are used and not stored.
package final class EvaluatedDocuments<Answer: Sendable>: Sendable {
    @usableFromInline let documents: DocumentTable
    private let signer: EvaluatedSigner
    private let byteLimit: Int
    private let prepare: @Sendable (PublishedDocument, PreparedBody) -> Answer
    /// With what each source and its variants take of memory, roughly.
    @usableFromInline let sources: Mutex<BoundedCache<String, EvaluatedSource<Answer>>>
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
        self.sources = Mutex(BoundedCache(bytes: byteLimit))
        self.limiter = limiter
        self.prepare = prepare
    }

    /// An app's current document where a variant of it was asked for before. Costs two look-ups. Inlinable, as what it
    /// needs is, so that each request has it specialised for the answers of the server.
    @inlinable
    package func ready(_ app: String) -> EvaluatedSource<Answer>? {
        guard let source = self.sources.withLock({ $0[app] }),
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
            // The signer alone changes sources: this is still the app's.
            self.sources.withLock { $0.grow(app, by: grown) }
            return answer
        }
    }

    /// Prepares a document for evaluation.
    private func take(_ document: PublishedDocument) throws -> EvaluatedSource<Answer> {
        let source = try EvaluatedSource<Answer>(document)
        self.sources.withLock { $0.keep(source, for: document.app.text, size: source.cost) }
        return source
    }
}
