import EventStore
import NIOCore
import Observing
import PinWire
import Pinning
import Synchronization

/// Answers in deployed clients' own formats that are the same for everybody who asks for the same: each is made when it
/// is first asked for, kept by its request target for a while, and made anew when the app's document has changed, or what
/// its servers present.
final class CompatAnswers: Sendable {
    private struct Entry {
        var answer: PreparedAnswer
        var app: AppID
        var version: Int64
        /// Of what probes had seen when it was found current.
        var revision: Int
        var served: [HostPattern: Set<Pin>]
        var until: ContinuousClock.Instant
    }

    private let services: Services
    private let entries = Mutex<[String: Entry]>([:])

    /// Targets that are kept. Names below a wildcard are as many as somebody makes up, so past this all begins anew.
    private static let limit = 10_000
    /// For so long an answer is kept and may be cached. What is signed says when it was, and does not become old.
    static let seconds: Int64 = 30

    private static let prefix = Array("/compat/".utf8)

    init(services: Services) {
        self.services = services
    }

    /// The answer to a request target as it stands on the wire; nil where it is still to be made.
    func ready(_ target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        guard target.starts(with: Self.prefix) else { return nil }
        return self.ready(String(decoding: target, as: UTF8.self))
    }

    func ready(_ target: String) -> PreparedAnswer? {
        let ledger = self.services.ledger
        guard let entry = self.entries.withLock({ $0[target] }), .now < entry.until, ledger.partialFault == nil else {
            return nil
        }
        let state = ledger.view.state
        guard state.documentVersion(of: entry.app) == entry.version else { return nil }
        let revision = self.services.observations.revision
        if revision != entry.revision {
            guard let app = state.apps[entry.app],
                self.services.served(of: app, at: self.services.clock()) == entry.served
            else { return nil }
            self.entries.withLock { $0[target]?.revision = revision }
        }
        return entry.answer
    }

    /// Keeps an answer that was made from a view.
    ///
    /// - Parameter revision: Of what probes had seen before the view was made.
    func keep(_ answer: PreparedAnswer, to target: String, from view: ClientView, at revision: Int) {
        let seconds = min(Self.seconds, view.changesAt.map { $0.seconds - view.now.seconds } ?? Self.seconds)
        guard seconds > 0 else { return }
        let entry = Entry(
            answer: answer, app: view.app, version: view.document.version, revision: revision, served: view.served,
            until: .now + .seconds(seconds))
        self.entries.withLock { entries in
            if entries.count >= Self.limit { entries.removeAll(keepingCapacity: true) }
            entries[target] = entry
        }
    }
}
