import Concurrency
package import Logging
import Synchronization

/// Writes a warning once and counts those that equal it: when a minute is over, the last of them is written with the number
/// of all that came since (`repeated`).
///
/// What fails a thousand times a second for the same reason fills no disk so. Lines are equal where level, text and
/// metadata are. Those below a warning are all written.
package struct RepeatedLines: LogHandler {
    private var handler: any LogHandler
    private let held: HeldLines
    private let level: SharedLogLevel

    package init(_ handler: any LogHandler, held: HeldLines, level: SharedLogLevel) {
        self.handler = handler
        self.held = held
        self.level = level
    }

    /// The level of all loggers of the process.
    package var logLevel: Logger.Level {
        get { self.level.value }
        set { self.level.set(newValue) }
    }

    package var metadata: Logger.Metadata {
        get { self.handler.metadata }
        set { self.handler.metadata = newValue }
    }

    package var metadataProvider: Logger.MetadataProvider? {
        get { self.handler.metadataProvider }
        set { self.handler.metadataProvider = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.handler[metadataKey: key] }
        set { self.handler[metadataKey: key] = newValue }
    }

    package func log(event: LogEvent) {
        guard event.level >= .warning else { return self.handler.log(event: event) }
        let (handler, now) = (self.handler, ContinuousClock.now)
        self.held.take(event, of: handler.metadata, at: now) { handler.log(event: $0) }
    }
}

/// The warnings of the last minute, and how often each was repeated. Shared by all loggers of a process, and bounded.
package final class HeldLines: Sendable {
    private struct Line {
        var end: ContinuousClock.Instant
        /// The last equal one that was not written.
        var held: (event: LogEvent, write: @Sendable (LogEvent) -> Void)?
        var count = 0
    }

    private let lines = Mutex<[String: Line]>([:])
    private let interval: Duration
    /// More lines than that are not remembered, and written each time.
    private static let capacity = 500

    package init(interval: Duration = .seconds(60)) {
        self.interval = interval
    }

    func take(
        _ event: LogEvent, of metadata: Logger.Metadata, at now: ContinuousClock.Instant,
        _ write: @escaping @Sendable (LogEvent) -> Void
    ) {
        let name = Self.name(of: event, metadata)
        let end = now + self.interval
        let (isNew, due) = self.lines.withLock { lines -> (Bool, Line?) in
            guard var line = lines[name] else {
                if lines.count >= Self.capacity { lines = lines.filter { $0.value.end > now || $0.value.count > 0 } }
                if lines.count < Self.capacity { lines[name] = Line(end: end) }
                return (true, nil)
            }
            line.held = (event, write)
            line.count += 1
            guard line.end <= now else {
                lines[name] = line
                return (false, nil)
            }
            lines[name] = Line(end: end)
            return (false, line)
        }
        if isNew { write(event) }
        if let due { Self.write(due) }
    }

    /// Writes what was held back for longer than the interval, once in a while, until cancelled; then all of it.
    package func run() async {
        await PeriodicWorker(every: self.interval / 10, first: .afterInterval).run { self.writeHeld(before: .now) }
        self.writeHeld(before: nil)
    }

    /// - Parameter end: Only lines whose minute was over then; nil for all.
    package func writeHeld(before end: ContinuousClock.Instant?) {
        let due = self.lines.withLock { lines in
            let due = lines.filter { line in end.map { line.value.end <= $0 } ?? true }
            for name in due.keys { lines[name] = nil }
            return due.values.filter { $0.count > 0 }
        }
        for line in due { Self.write(line) }
    }

    private static func write(_ line: Line) {
        guard let (event, write) = line.held else { return }
        var counted = event
        counted.metadata = (event.metadata ?? [:]).merging(["repeated": "\(line.count)"]) { $1 }
        write(counted)
    }

    private static func name(of event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let fields = all.map { "\($0.key)=\($0.value)" }.sorted()
        return ([event.level.rawValue, "\(event.message)"] + fields).joined(separator: "\n")
    }
}
