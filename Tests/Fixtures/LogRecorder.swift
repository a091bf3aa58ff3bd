package import Logging
import Synchronization

/// Keeps what is logged.
package final class LogRecorder: Sendable {
    private let lines = Mutex<[String]>([])

    package init() {}

    /// Every line so far: level, message and metadata.
    package var text: [String] { self.lines.withLock { $0 } }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = .debug
        return logger
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            self.recorder.lines.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
        }
    }
}

extension Logger {
    /// Goes nowhere.
    package static var silent: Logger { Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() } }
}
