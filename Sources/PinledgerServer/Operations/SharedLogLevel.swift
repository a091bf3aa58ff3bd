package import Logging
import Synchronization

/// The lowest level that all loggers of a process write. It may change while the node runs.
package final class SharedLogLevel: Sendable {
    private let level: Mutex<Logger.Level>

    package init(_ level: Logger.Level) {
        self.level = Mutex(level)
    }

    package var value: Logger.Level { self.level.withLock { $0 } }

    package func set(_ level: Logger.Level) { self.level.withLock { $0 = level } }
}
