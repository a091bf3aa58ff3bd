import EventStore
import Keys
import NIOCore
import PinWire
import Pinning
import Publishing
import Signals
import Synchronization

/// The prepared answers of a node that knows the ledger, besides documents: the key set, documents evaluated for single devices, and
/// deployed clients' own formats.
final class LedgerAnswers: Sendable {
    private let ledger: Ledger
    /// The documents evaluated for single devices.
    let evaluated: EvaluatedDocuments<PreparedAnswer>
    /// Whether other parts of a request than its target state the device's country.
    private let knowsCountries: Bool
    private let compat: CompatAnswers
    private let caching: ClientCaching
    private let keySet = Mutex<(version: Int64, answer: PreparedAnswer)?>(nil)

    init(services: Services, compat: CompatAnswers) {
        self.compat = compat
        self.ledger = services.ledger
        self.caching = services.caching
        self.knowsCountries = !services.countries.isEmpty
        let (intake, maxAge) = (services.adoption.intake, services.caching.maxAge)
        self.evaluated = EvaluatedDocuments(
            documents: services.publisher.table,
            signer: EvaluatedSigner(ledger: services.ledger, keys: services.keys)
        ) { document, body in
            PreparedAnswer(
                // Not stale-if-error: where no variant can be signed right after a kill switch, none from before may be
                // used.
                contentType: ClientHeaders.documentType, cacheControl: "private, max-age=\(maxAge), must-revalidate",
                body: body,
                document: PreparedAnswer.Document(appIndex: intake.index(of: document.app), version: document.version)
            )
        }
    }

    private static let prefix = Array("/client/v1/apps/".utf8)
    private static let suffix = Array("/evaluated".utf8)
    private static let keySetTarget = Array("/client/v1/jwks.json".utf8)

    /// The most candidates that are evaluated on an event loop: some ten microseconds.
    private static let candidateLimit = 32

    /// The answer to a request target, as ``PreparedAnswers/answer(to:)`` gives it.
    @Sendable func answer(to target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        guard !self.ledger.isReading else { return nil }
        if target.elementsEqual(Self.keySetTarget) { return try? self.currentKeySet() }
        return self.compat.ready(target) ?? self.evaluated(target)
    }

    /// The answer to a request for an evaluated document; nil where it is still to be signed, where other parts of the
    /// request matter, and for every other target.
    private func evaluated(_ target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        let path = target.prefix { $0 != UInt8(ascii: "?") }
        guard path.count > Self.prefix.count + Self.suffix.count, path.starts(with: Self.prefix),
            path.suffix(Self.suffix.count).elementsEqual(Self.suffix)
        else { return nil }
        let name = path[Self.prefix.count..<(path.count - Self.suffix.count)]
        guard let source = self.evaluated.ready(String(decoding: name, as: UTF8.self)),
            source.evaluator.candidateCount <= Self.candidateLimit,
            !self.knowsCountries || !source.evaluator.dependsOnCountry,
            let device = EvaluatedQuery.plain(target.dropFirst(path.count + 1))
        else { return nil }
        return source[source.evaluator.resolution(for: device)]
    }

    /// The JWKS (RFC 7517 section 5), prepared once for each version of the key ring.
    ///
    /// - Throws: ``LedgerFault`` where the ledger was not read to its end: keys may have been made or revoked since.
    @Sendable func currentKeySet() throws(LedgerFault) -> PreparedAnswer {
        if let fault = self.ledger.partialHalt { throw fault }
        let keys = self.ledger.view.state.keys
        return self.keySet.withLock { prepared in
            if let prepared, prepared.version == keys.version { return prepared.answer }
            let trusted = keys.keys.values.filter(\.isInKeySet).sorted {
                ($0.createdAt, $0.kid) < ($1.createdAt, $1.kid)
            }
            let json = JWK.set(trusted.compactMap { Ed25519PublicKey($0.publicKey).map { JWK($0) } })
            let answer = PreparedAnswer.keySet(PreparedBody(json.canonicalBytes), self.caching)
            prepared = (keys.version, answer)
            return answer
        }
    }
}

extension PreparedAnswer {
    /// The answer with a key set (RFC 7517 section 5).
    static func keySet(_ body: PreparedBody, _ caching: ClientCaching) -> PreparedAnswer {
        PreparedAnswer(contentType: ClientHeaders.keySetType, cacheControl: caching.keySet, body: body)
    }
}
