import LogLines
import Logging
import Postgres
import Synchronization

/// What a node last saw of its database: whether it answers, and whether it records changes.
///
/// A trouble is logged once when it begins and once when it ends, however often it occurs meanwhile. If the process
/// dies, the next one finds out for itself.
package final class DatabaseState: Sendable {
    /// The uses of the database. It is back when neither use fails.
    enum Use: Hashable, Sendable {
        case reading, writing
    }

    private struct Trouble {
        let since = ContinuousClock.now
        var reason: String
        /// How often it occurred.
        var count = 1

        var metadata: Logger.Metadata {
            let seconds = Int64((self.since.duration(to: .now) / .seconds(1)).rounded())
            return ["seconds": "\(seconds)", "failures": "\(self.count)"]
        }
    }

    private struct Content {
        var lost: [Use: Trouble] = [:]
        var refusal: Trouble?
    }

    private let content = Mutex(Content())

    /// Why changes are not recorded, for people who may not see the log; nil where they are recorded, as far as is
    /// known.
    package var writeFailure: String? {
        self.content.withLock { content in
            content.refusal?.reason ?? (content.lost[.writing] ?? content.lost[.reading])?.reason
        }
    }

    /// Whether the writer met a condition whose end only a write can show.
    var isWritingInDoubt: Bool {
        self.content.withLock { $0.refusal != nil || $0.lost[.writing] != nil }
    }

    /// Records that no connection could be opened, or that it broke.
    func lose(_ use: Use, _ error: any Error, _ logger: Logger) {
        let isNew = self.content.withLock { content in
            defer {
                content.lost[use, default: Trouble(reason: "the database cannot be reached", count: 0)].count += 1
            }
            return content.lost.isEmpty
        }
        if isNew {
            logger.log(.databaseLost, ["error": "\(error)"])
        }
    }

    /// Records that the database answered.
    func find(_ use: Use, _ logger: Logger) {
        let ended = self.content.withLock { content -> Trouble? in
            guard let trouble = content.lost.removeValue(forKey: use) else { return nil }
            return content.lost.isEmpty ? trouble : nil
        }
        if let ended { logger.log(.databaseBack, ended.metadata) }
    }

    /// Records that a change was not recorded, though there was a connection, or that its outcome is unknown.
    func noteFailedWrite(_ error: any Error, _ logger: Logger) {
        if let error = error as? PostgresError, error.code == .connectionFailed || error.code == .connectionLost {
            return self.lose(.writing, error, logger)
        }
        let reason = Self.reason(error)
        let isNew = self.content.withLock { content in
            defer {
                content.refusal = content.refusal ?? Trouble(reason: reason, count: 0)
                content.refusal?.count += 1
                content.refusal?.reason = reason
            }
            return content.refusal == nil
        }
        if isNew {
            logger.log(.writesFailing, ["reason": "\(reason)", "error": "\(error)"])
        }
    }

    /// Records that a change was recorded, or would be.
    func noteWrite(_ logger: Logger) {
        self.find(.writing, logger)
        guard let ended = self.content.withLock({ $0.refusal.take() }) else { return }
        logger.log(.writesWorking, ended.metadata)
    }

    /// The server's own text is left out: strangers may read this one.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? PostgresError else {
            return "the database does not confirm changes: perhaps it waits for a standby"
        }
        switch (error.code, error.sqlState) {
        case (_, "53100"?): return "the database's disk is full"
        case (_, "25006"?): return "the database only reads: it is a standby, or was set to"
        case (_, "PL006"?): return "the database has no synchronous standby, which this node requires"
        case (_, "42501"?): return "the database's role may not write"
        // A check of a table is named.
        case (_, "23514"?) where error.constraint == nil:
            return "the table of events has no partition for the next ones: nodes try to make it every ten seconds"
        case (.server, "55P03"?), (.server, "57014"?), (.outcomeUnknown, _):
            return "the database does not confirm changes in time: perhaps it waits for a standby"
        case (_, let state?): return "the database refuses changes (SQLSTATE \(state))"
        case (_, nil): return "the database does not take changes"
        }
    }
}
