import Concurrency
import EventStore
import NIOCore
import PinWire
import Pinning
import Publishing
import Signals

/// Answers in deployed clients' own formats that are the same for equal requests: each is made when it is first asked
/// for, kept for a while under the one spelling of its request, and made again when the app's document has changed, or
/// the chains of its servers.
final class CompatAnswers: Sendable {
    /// What came of making an answer.
    struct Made: Sendable {
        var answer: Result<PreparedAnswer, any Error>
        var app: AppID
        /// The document's; nil where there is none.
        var version: Int64?
        /// The ledger's revision in which the document was last found to be the app's.
        var ledger: UInt64?
        /// What probes had seen when the answer was last found to be right.
        var revision: Int
        var served: [HostPattern: Set<Pin>] = [:]
        /// When time alone makes another answer of it.
        var changesAt: Timestamp?
        /// Until when it is kept; nil where it is not.
        var until: ContinuousClock.Instant?
    }

    private let services: Services
    private let cache = SingleFlightCache<String, Made>(bytes: CompatAnswers.limit)

    /// The most bytes that are kept, with what compression may add to them: clients can invent any number of names below
    /// a wildcard.
    private static let limit = 64 * 1024 * 1024
    /// What an entry takes besides its body.
    private static let overhead = 2048
    /// For so long an answer is kept and may be cached at the most.
    static let seconds: Int64 = 30

    private static let prefix = Array("/compat/".utf8)

    init(services: Services) {
        self.services = services
    }

    /// For how many seconds a view holds, at most ``seconds``; 0 where it is about to change.
    static func seconds(of view: ClientView) -> Int64 {
        guard let end = view.changesAt else { return Self.seconds }
        return max(0, min(Self.seconds, (end.microseconds - view.now.microseconds) / 1_000_000))
    }

    /// The answer to a request target as it stands on the wire, where that is its one spelling; nil where there is
    /// something to be looked at or made first.
    func ready(_ target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        // Texts count as equal that are not the same bytes, but for those of ASCII.
        guard target.starts(with: Self.prefix), target.allSatisfy({ $0 < 0x80 }) else { return nil }
        let name = String(decoding: target, as: UTF8.self)
        guard let made = self.cache[name], self.isOfDocument(made, name),
            made.revision == self.services.observations.revision
        else { return nil }
        return try? made.answer.get()
    }

    /// The answer under a name: as it was made before, as another request makes it at this moment, or made now.
    ///
    /// - Parameters:
    ///   - name: The request target in its one spelling, of ASCII.
    ///   - make: Makes the answer of what is known then, which may be more than when it was asked for.
    func answer(as name: String, _ make: () async -> Made) async throws -> PreparedAnswer {
        let made = await self.cache.value(for: name) { made, isKept in
            isKept ? self.isCurrent(made, name) : self.isUnchanged(made)
        } make: {
            let made = await make()
            return (made, Self.size(of: made, as: name))
        }
        return try made.answer.get()
    }

    /// Whether a kept answer has not run out, and is of the app's document.
    private func isOfDocument(_ made: Made, _ name: String) -> Bool {
        let ledger = self.services.ledger
        let revision = ledger.revision
        guard let until = made.until, .now < until else { return false }
        guard made.ledger != revision else { return true }
        guard ledger.partialFault == nil, ledger.view.state.documentVersion(of: made.app) == made.version else {
            return false
        }
        // Another one may have been kept meanwhile, of another version.
        self.cache.update(name) { if $0.version == made.version { $0.ledger = revision } }
        return true
    }

    /// Whether a kept answer is right now.
    private func isCurrent(_ made: Made, _ name: String) -> Bool {
        guard self.isOfDocument(made, name) else { return false }
        let revision = self.services.observations.revision
        guard revision != made.revision else { return true }
        guard let app = self.services.ledger.view.state.apps[made.app],
            self.services.served(of: app, at: self.services.clock()) == made.served
        else { return false }
        self.cache.update(name) { if $0.served == made.served { $0.revision = revision } }
        return true
    }

    /// Whether nothing has come in between since another request has made an answer. What is not kept, since it could not
    /// be made or is about to change, is as good for those who waited.
    private func isUnchanged(_ made: Made) -> Bool {
        let ledger = self.services.ledger
        return ledger.partialFault == nil && ledger.view.state.documentVersion(of: made.app) == made.version
            && self.services.observations.revision == made.revision
            && made.changesAt.map { self.services.clock() < $0 } ?? true
    }

    /// What an answer takes of memory; nil where it is not kept.
    private static func size(of made: Made, as name: String) -> Int? {
        guard made.until != nil, case .success(let answer) = made.answer, name.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        let size = 3 * answer.body.identity.bytes.readableBytes + name.utf8.count + Self.overhead
        return size <= Self.limit / 4 ? size : nil
    }
}
