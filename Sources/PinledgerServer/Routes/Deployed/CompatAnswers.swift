import EventStore
import NIOCore
import PinWire
import Pinning
import Publishing
import Signals
import Synchronization

/// Answers in deployed clients' own formats that are the same for equal requests: each is made when it is first asked
/// for, kept for a while under the one spelling of its request, and made again when the app's document has changed, or
/// the chains of its servers.
final class CompatAnswers: Sendable {
    private struct Entry {
        var answer: PreparedAnswer
        var app: AppID
        var version: Int64
        /// The ledger's revision in which the answer was found current; nil before it was looked at.
        var ledger: UInt64?
        /// The revision of the probes' results when it was found current.
        var revision: Int
        var served: [HostPattern: Set<Pin>]
        var until: ContinuousClock.Instant
        var size: Int
    }

    private struct Content {
        var entries: [String: Entry] = [:]
        var size = 0
    }

    private let services: Services
    private let content = Mutex(Content())

    /// The most bytes that are kept, with what compression may add to them. Clients can invent any number of names
    /// below a wildcard, so past this the cache is emptied.
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
        guard let entry = self.entry(String(decoding: target, as: UTF8.self)),
            entry.revision == self.services.observations.revision
        else { return nil }
        return entry.answer
    }

    /// The answer that is kept under a name.
    func ready(_ name: String) -> PreparedAnswer? {
        guard let entry = self.entry(name) else { return nil }
        let revision = self.services.observations.revision
        guard revision != entry.revision else { return entry.answer }
        guard let app = self.services.ledger.view.state.apps[entry.app],
            self.services.served(of: app, at: self.services.clock()) == entry.served
        else { return nil }
        self.content.withLock { content in
            if content.entries[name]?.served == entry.served { content.entries[name]?.revision = revision }
        }
        return entry.answer
    }

    private func entry(_ name: String) -> Entry? {
        let ledger = self.services.ledger
        let revision = ledger.revision
        guard let entry = self.content.withLock({ $0.entries[name] }), .now < entry.until else { return nil }
        guard entry.ledger != revision else { return entry }
        guard ledger.partialFault == nil, ledger.view.state.documentVersion(of: entry.app) == entry.version else {
            return nil
        }
        self.content.withLock { content in
            // Another one may have been kept meanwhile, of another version.
            if content.entries[name]?.version == entry.version { content.entries[name]?.ledger = revision }
        }
        return entry
    }

    /// Keeps an answer that was made from a view.
    ///
    /// - Parameters:
    ///   - name: The request target in its one spelling, of ASCII.
    ///   - revision: The revision of the probes' results before the view was made.
    func keep(_ answer: PreparedAnswer, as name: String, from view: ClientView, at revision: Int) {
        let seconds = Self.seconds(of: view)
        guard seconds > 0, name.utf8.allSatisfy({ $0 < 0x80 }) else { return }
        let size = 3 * answer.body.identity.bytes.readableBytes + name.utf8.count + Self.overhead
        guard size <= Self.limit / 4 else { return }
        let entry = Entry(
            answer: answer, app: view.app, version: view.document.version, ledger: nil, revision: revision,
            served: view.served, until: .now + .seconds(seconds), size: size)
        self.content.withLock { content in
            content.size += size - (content.entries.updateValue(entry, forKey: name)?.size ?? 0)
            guard content.size > Self.limit else { return }
            content.entries = [name: entry]
            content.size = size
        }
    }
}
