import LogLines
package import Logging
import Synchronization

/// Writes the log lines that strangers can cause: a few of each kind at once, then one a second.
///
/// Omitted lines are counted, and reported with the next line of their kind or by ``tellLeftOut()``. Without a limit a
/// stranger could fill the disk, and hide the lines that operators need.
package final class LimitedLog: Sendable {
    /// The subject of a line. Each kind has a limit of its own.
    enum Kind: Int, CaseIterable {
        /// A request answered with 401, 403 or 429.
        case refusedRequest
        /// A request that ended with an error which has no problem type.
        case unforeseenError
        /// A connection closed because its network has its full number, or all are taken.
        case refusedConnection
        /// A connection that the system has no resources for.
        case failedAcceptance
        /// A request that gave way because requests held too much memory.
        case endedRequest

        var line: LogLine {
            switch self {
            case .refusedRequest: .requestRefused
            case .unforeseenError: .requestFailed
            case .refusedConnection: .connectionRefused
            case .failedAcceptance: .connectionsNotAccepted
            case .endedRequest: .requestEnded
            }
        }
    }

    private struct Line {
        var tokens = LimitedLog.burst
        var filledAt: ContinuousClock.Instant
        var leftOut = 0
    }

    /// Lines of one kind at once.
    static let burst = 20

    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let lines: Mutex<[Line]>

    /// - Parameter now: A clock that never goes back.
    package init(logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.logger = logger
        self.now = now
        self.lines = Mutex(Kind.allCases.map { _ in Line(filledAt: now()) })
    }

    /// Writes a line, or counts it where too many of its kind were written.
    func log(_ kind: Kind, _ details: @autoclosure () -> Logger.Metadata) {
        guard kind.line.declaration.level >= self.logger.logLevel else { return }
        guard let leftOut = self.take(kind) else { return }
        var details = details()
        if leftOut > 0 { details["left_out"] = "\(leftOut)" }
        self.logger.log(kind.line, details)
    }

    /// Reports how many lines were left out since the last one, for each kind that has room for a line.
    func tellLeftOut() {
        for kind in Kind.allCases where self.lines.withLock({ $0[kind.rawValue].leftOut }) > 0 {
            // There may be no room for this line either, and it is not one of the omitted ones.
            guard let leftOut = self.take(kind, counts: false), leftOut > 0 else { continue }
            self.logger.log(.linesLeftOut, ["about": "\(kind.line.rawValue)", "left_out": "\(leftOut)"])
        }
    }

    /// Takes the room for one line and returns how many were left out before it; nil where there is none.
    ///
    /// - Parameter counts: Whether a line without room counts as left out.
    private func take(_ kind: Kind, counts: Bool = true) -> Int? {
        let now = self.now()
        return self.lines.withLock { lines in
            var line = lines[kind.rawValue]
            defer { lines[kind.rawValue] = line }
            let seconds = (now - line.filledAt).components.seconds
            if seconds > 0 {
                line.tokens = min(Self.burst, line.tokens + Int(min(seconds, Int64(Self.burst))))
                line.filledAt = now
            }
            guard line.tokens > 0 else {
                if counts { line.leftOut += 1 }
                return nil
            }
            line.tokens -= 1
            defer { line.leftOut = 0 }
            return line.leftOut
        }
    }
}
