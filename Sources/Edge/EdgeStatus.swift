package import PinWire
import Publishing
import Synchronization

/// What an edge knows of its upstream, for those who watch it.
package final class EdgeStatus: Sendable {
    /// What an edge asks its upstream for. Each fails by itself.
    enum Part: String, CaseIterable {
        case list, stream, documents, roots
    }

    private struct Content {
        var syncedAt: Timestamp?
        var isComplete = false
        var isFollowing = false
        /// The apps of whose documents the upstream listed others, that are not served since.
        var behind: Set<AppID> = []
        /// Apps of which a document was refused, and none served since: what the log has said already.
        var refused: Set<AppID> = []
        /// How often documents were refused, by cause.
        var refusals: [String: Int] = [:]
        var failures: [Part: String] = [:]
        /// Lines of refusals that may still be written in this minute.
        var lines = EdgeStatus.linesPerMinute
        var minute = ContinuousClock.now
    }

    private let content = Mutex(Content())
    /// Apps whose refusals are told once, and lines about them in a minute: an upstream can make up any number.
    private static let (refusedLimit, linesPerMinute) = (10_000, 20)

    package init() {}

    /// When this edge last served all that its upstream listed; nil where that was never so.
    package var syncedAt: Timestamp? { self.content.withLock { $0.syncedAt } }

    /// Whether this edge can tell what it has not got from what there is not: it has been through its upstream's list, or begins with
    /// what it has kept.
    package var isComplete: Bool { self.content.withLock { $0.isComplete } }

    /// Whether the stream of news stands.
    package var isFollowing: Bool { self.content.withLock { $0.isFollowing } }

    /// The number of apps of which the upstream lists a document that this edge does not serve.
    package var behindCount: Int { self.content.withLock { $0.behind.count } }

    /// How many documents were not served, by cause.
    package var refusals: [String: Int] { self.content.withLock { $0.refusals } }

    /// Notes that the edge begins with documents that it has kept.
    package func noteKept() { self.content.withLock { $0.isComplete = true } }

    /// Notes which apps' documents differ from those of the upstream's list.
    func note(behind: Set<AppID>, at time: Timestamp) {
        self.content.withLock { content in
            content.behind = behind
            if behind.isEmpty { content.syncedAt = time }
        }
    }

    /// Notes that the edge has been through a list.
    func noteRound(at time: Timestamp) {
        self.content.withLock { content in
            content.isComplete = true
            if content.behind.isEmpty { content.syncedAt = time }
        }
    }

    func note(following: Bool) { self.content.withLock { $0.isFollowing = following } }

    /// Notes why a part cannot be had, or with nil that it can; whether that is new.
    func note(_ failure: UpstreamFailure?, of part: Part) -> Bool {
        self.content.withLock { content in
            let before = content.failures.updateValue(failure.map { "\($0)" } ?? "", forKey: part) ?? ""
            if failure == nil { content.failures[part] = nil }
            return (failure == nil) != before.isEmpty
        }
    }

    /// Notes a document that is not served; whether to log that.
    func note(refused cause: String, of app: AppID) -> Bool {
        self.content.withLock { content in
            content.refusals[cause, default: 0] += 1
            guard !content.refused.contains(app) else { return false }
            if content.refused.count < Self.refusedLimit { content.refused.insert(app) }
            let now = ContinuousClock.now
            if now - content.minute > .seconds(60) { (content.lines, content.minute) = (Self.linesPerMinute, now) }
            content.lines -= 1
            return content.lines >= 0
        }
    }

    /// Notes that an app's document is the upstream's, or that the upstream has none any more.
    func note(settled app: AppID) {
        self.content.withLock { content in
            content.behind.remove(app)
            content.refused.remove(app)
        }
    }
}
