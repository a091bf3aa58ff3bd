import EventStore
import Keys
import NIOCore
import PinWire
import Pinning
import Publishing
import Signals
import Synchronization

/// The answers to clients' requests, by app and by request target: documents, the key set, and deployed clients' own
/// formats, each prepared when it is first asked for and for as long as it is current.
final class PreparedAnswers: Sendable {
    private struct Entry {
        var answer: PreparedAnswer
        /// The document table's generation in which it was found current.
        var generation: UInt64
    }

    private let ledger: Ledger
    private let documents: DocumentTable
    private let intake: AdoptionIntake
    private let documentCacheControl: String
    /// The documents evaluated for single devices.
    let evaluated: EvaluatedDocuments<PreparedAnswer>
    /// Whether other parts of a request than its target state the device's country.
    private let knowsCountries: Bool
    private let compat: CompatAnswers
    private let answers = Mutex<[String: Entry]>([:])
    private let keySet = Mutex<(version: Int64, answer: PreparedAnswer)?>(nil)

    init(services: Services, compat: CompatAnswers) {
        self.compat = compat
        self.ledger = services.ledger
        self.documents = services.publisher.table
        self.intake = services.adoption.intake
        self.documentCacheControl = "public, max-age=\(services.documentMaxAge), stale-if-error=86400"
        self.knowsCountries = !services.countries.isEmpty
        let (intake, maxAge) = (services.adoption.intake, services.documentMaxAge)
        self.evaluated = EvaluatedDocuments(
            documents: services.publisher.table,
            signer: EvaluatedSigner(ledger: services.ledger, keys: services.keys)
        ) { document, body in
            PreparedAnswer(
                // Not stale-if-error: where no variant can be signed right after a kill switch, none from before may be
                // used.
                contentType: "application/jose", cacheControl: "private, max-age=\(maxAge), must-revalidate",
                body: body,
                document: PreparedAnswer.Document(appIndex: intake.index(of: document.app), version: document.version)
            )
        }
    }

    private static let prefix = Array("/client/v1/apps/".utf8)
    private static let suffix = Array("/document".utf8)
    private static let evaluatedSuffix = Array("/evaluated".utf8)
    private static let keySetTarget = Array("/client/v1/jwks.json".utf8)

    /// The most candidates that are evaluated on an event loop: some ten microseconds.
    private static let candidateLimit = 32

    /// The answer to a request target in its form on the wire; nil for every target without one or in another spelling,
    /// with percent escapes or a query where none is known.
    func answer(to target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        if target.count > Self.prefix.count + Self.suffix.count, target.starts(with: Self.prefix),
            target.suffix(Self.suffix.count).elementsEqual(Self.suffix)
        {
            let name = target[Self.prefix.count..<(target.count - Self.suffix.count)]
            // Names of apps are ASCII: a repaired text that was not UTF-8 cannot match one.
            return self.document(of: String(decoding: name, as: UTF8.self))
        }
        guard !self.ledger.isReading else { return nil }
        if target.elementsEqual(Self.keySetTarget) { return try? self.currentKeySet() }
        return self.compat.ready(target) ?? self.evaluated(target)
    }

    /// The answer to a request for an evaluated document; nil where it is still to be signed, where other parts of the
    /// request matter, and for every other target.
    private func evaluated(_ target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        let path = target.prefix { $0 != UInt8(ascii: "?") }
        guard path.count > Self.prefix.count + Self.evaluatedSuffix.count, path.starts(with: Self.prefix),
            path.suffix(Self.evaluatedSuffix.count).elementsEqual(Self.evaluatedSuffix)
        else { return nil }
        let name = path[Self.prefix.count..<(path.count - Self.evaluatedSuffix.count)]
        guard let source = self.evaluated.ready(String(decoding: name, as: UTF8.self)),
            source.evaluator.candidateCount <= Self.candidateLimit,
            !self.knowsCountries || !source.evaluator.dependsOnCountry,
            let device = EvaluatedQuery.plain(target.dropFirst(path.count + 1))
        else { return nil }
        return source[source.evaluator.resolution(for: device)]
    }

    /// The answer with an app's document; nil where there is none.
    func document(of app: String) -> PreparedAnswer? {
        // Read first: a document that is published from here on makes the entry outdated.
        let generation = self.documents.generation
        let known = self.answers.withLock { $0[app] }
        if let known, known.generation == generation { return known.answer }
        guard let document = self.documents[named: app] else { return nil }
        let answer =
            if let known, known.answer.body.isSame(as: document.body) { known.answer } else {
                PreparedAnswer(
                    contentType: "application/jose", cacheControl: self.documentCacheControl, body: document.body,
                    document: PreparedAnswer.Document(
                        appIndex: self.intake.index(of: document.app), version: document.version)
                )
            }
        self.answers.withLock { $0[app] = Entry(answer: answer, generation: generation) }
        return answer
    }

    /// The JWKS (RFC 7517 section 5), prepared once for each version of the key ring.
    ///
    /// - Throws: ``LedgerFault`` where the ledger was not read to its end: keys may have been made or revoked since.
    func currentKeySet() throws(LedgerFault) -> PreparedAnswer {
        if let fault = self.ledger.partialHalt { throw fault }
        let keys = self.ledger.view.state.keys
        return self.keySet.withLock { prepared in
            if let prepared, prepared.version == keys.version { return prepared.answer }
            let trusted = keys.keys.values.filter(\.isInKeySet).sorted {
                ($0.createdAt, $0.kid) < ($1.createdAt, $1.kid)
            }
            let json = JWK.set(trusted.compactMap { Ed25519PublicKey($0.publicKey).map { JWK($0) } })
            let answer = PreparedAnswer(
                contentType: "application/jwk-set+json", cacheControl: "public, max-age=300, stale-if-error=86400",
                body: PreparedBody(json.canonicalBytes)
            )
            prepared = (keys.version, answer)
            return answer
        }
    }
}
