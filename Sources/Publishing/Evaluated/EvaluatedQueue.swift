import Synchronization

/// Limits how many requests wait for variants to be signed: all together, and for each app, so that an app whose
/// devices all come at once leaves places to the others.
package final class EvaluatedQueue: Sendable {
    private struct Content {
        var count = 0
        /// No app has zero.
        var apps: [String: Int] = [:]
    }

    private let content = Mutex(Content())
    private let limit: Int
    private let appLimit: Int

    /// A queue with `limit` places, of which one app gets at most `appLimit`.
    package init(limit: Int = 512, appLimit: Int = 256) {
        self.limit = limit
        self.appLimit = appLimit
    }

    /// Takes a place, which the caller must leave again; false where there is none.
    package func enter(_ app: String) -> Bool {
        self.content.withLock { content in
            let own = content.apps[app, default: 0]
            guard content.count < self.limit, own < self.appLimit else { return false }
            content.count += 1
            content.apps[app] = own + 1
            return true
        }
    }

    /// Gives back a place that ``enter(_:)`` took: once for each.
    package func leave(_ app: String) {
        self.content.withLock { content in
            let own = content.apps[app, default: 0] - 1
            content.count -= 1
            content.apps[app] = own > 0 ? own : nil
        }
    }
}
