package import PinWire
import Synchronization

/// The evaluated documents that a node serves: per app and resolution, each signed when it is first asked for and kept
/// for as long as the document it comes from is the current one, within a bound of memory.
///
/// They carry the freshness fields of that document. Ids of devices are looked at and not kept.
package final class EvaluatedDocuments<Answer: Sendable>: Sendable {
    private struct Content {
        var sources: [String: EvaluatedSource<Answer>] = [:]
        /// The apps of ``sources``, the longest there first.
        var order: [String] = []
    }

    private let documents: DocumentTable
    private let signer: EvaluatedSigner
    private let byteLimit: Int
    private let prepare: @Sendable (PublishedDocument, PreparedBody) -> Answer
    private let content = Mutex(Content())
    private let waiting = Atomic(0)

    /// Requests that may wait for variants to be signed.
    private static var waitingLimit: Int { 256 }

    /// - Parameters:
    ///   - byteLimit: what documents and variants may take of memory, roughly.
    ///   - prepare: makes what is kept of a signed variant and the document that it comes from.
    package init(
        documents: DocumentTable, signer: EvaluatedSigner, byteLimit: Int = 128 << 20,
        prepare: @escaping @Sendable (PublishedDocument, PreparedBody) -> Answer
    ) {
        self.documents = documents
        self.signer = signer
        self.byteLimit = byteLimit
        self.prepare = prepare
    }

    /// An app's current document where somebody has asked for a variant of it already. Costs two look-ups.
    package func ready(_ app: String) -> EvaluatedSource<Answer>? {
        guard let source = self.content.withLock({ $0.sources[app] }),
            let current = self.documents[named: app], current.body.isSame(as: source.document.body)
        else { return nil }
        return source
    }

    /// What a device gets; nil where the app has no document. Signs it where that is still to be done.
    ///
    /// - Throws: ``EvaluatedUnavailable``, and what keys cannot be had for.
    package func answer(_ app: String, for device: Device) async throws -> Answer? {
        guard let document = self.documents[named: app] else { return nil }
        if let source = self.ready(app), let answer = source[source.evaluator.resolution(for: device)] { return answer }
        guard self.waiting.add(1, ordering: .relaxed).newValue <= Self.waitingLimit else {
            self.waiting.subtract(1, ordering: .relaxed)
            throw EvaluatedUnavailable.overloaded
        }
        defer { self.waiting.subtract(1, ordering: .relaxed) }
        return try await self.signer.inTurn { signer, key in
            // Another one may have been published since: what is served never goes back.
            let source = try self.ready(app) ?? self.take(self.documents[named: app] ?? document)
            let resolution = source.evaluator.resolution(for: device)
            if let answer = source[resolution] { return answer }
            let body = try signer.sign(source.evaluator.document(for: resolution), as: source.issued, with: key)
            let prefix = DocumentTag.prefix(version: source.document.version)
            let answer = self.prepare(source.document, PreparedBody(body, tagPrefix: prefix))
            // Encodings are made of it too, together about as large again.
            source.keep(answer, of: resolution, byteCount: 2 * body.count, limit: self.byteLimit / 4)
            self.makeRoom(besides: app)
            return answer
        }
    }

    /// Makes a document ready to be decided by.
    private func take(_ document: PublishedDocument) throws -> EvaluatedSource<Answer> {
        let source = try EvaluatedSource<Answer>(document)
        let app = document.app.text
        self.content.withLock { content in
            if content.sources.updateValue(source, forKey: app) == nil { content.order.append(app) }
        }
        return source
    }

    /// Lets go of what was taken in first, until the rest is within the bound.
    private func makeRoom(besides app: String) {
        self.content.withLock { content in
            var cost = content.sources.values.reduce(0) { $0 + $1.cost }
            while cost > self.byteLimit, let place = content.order.firstIndex(where: { $0 != app }) {
                let oldest = content.order.remove(at: place)
                cost -= content.sources.removeValue(forKey: oldest)?.cost ?? 0
            }
        }
    }
}
