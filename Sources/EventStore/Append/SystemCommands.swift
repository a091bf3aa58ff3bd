package import Concurrency
package import LogLines
package import Logging
package import Pinning

/// How the node itself changes the ledger, as the actor `system`: what time, plans, reports or receivers have made due.
///
/// Nobody repeats such a command, so it carries no idempotency key: every node works out again what is due, and the
/// stream's version, or the state that the writer finds, lets one of them record it. If the process dies before it is
/// recorded, another round or another node does it.
package struct SystemCommands: Sendable {
    /// What became of a command.
    package enum Outcome: Hashable, Sendable {
        case recorded
        /// The stream has changed since it was looked at: look at it again.
        case stale
        /// As the state is now, or by a rule.
        case refused(Refusal)
        /// Nothing can be recorded at the moment: a later round tries again.
        case unavailable
    }

    private let ledger: Ledger
    private let writer: Writer
    private let logger: Logger

    package init(ledger: Ledger, writer: Writer, logger: Logger) {
        self.ledger = ledger
        self.writer = writer
        self.logger = logger
    }

    /// A worker that pauses while this node may record nothing: the node has logged why, and need not repeat it.
    package func worker(every interval: Duration, first: PeriodicWorker.First = .atOnce) -> PeriodicWorker {
        PeriodicWorker(every: interval, first: first) { [ledger] in ledger.refusal != nil }
    }

    /// Records what a command causes, or logs why it is not recorded.
    ///
    /// - Parameters:
    ///   - reason: What history says of the change.
    ///   - version: The stream's version that the caller has looked at; nil where any will do.
    ///   - line: What is logged of a failure, with it in `error`. A stale version is no failure.
    ///   - isExpected: Whether a refusal is not worth a line.
    package func submit(
        _ command: Command, because reason: String? = nil, at version: Int64? = nil, failure line: LogLine,
        _ details: @autoclosure () -> Logger.Metadata = [:], expecting isExpected: (Refusal) -> Bool = { _ in false }
    ) async -> Outcome {
        let request = CommandRequest(
            command: command, origin: Origin(actor: .system, reason: reason.flatMap { try? Reason($0) }),
            expectedVersion: version, digest: [UInt8](repeating: 0, count: 32))
        do throws(WriteFailure) {
            _ = try await self.writer.execute(request)
            return .recorded
        } catch {
            let outcome = Outcome(error)
            switch outcome {
            case .stale: return outcome
            case .refused(let refusal) where isExpected(refusal): return outcome
            default: break
            }
            self.logger.log(line, details().merging(["error": "\(error)"]) { $1 })
            return outcome
        }
    }
}

extension SystemCommands.Outcome {
    fileprivate init(_ failure: WriteFailure) {
        self =
            switch failure {
            case .stale: .stale
            case .refused(let refusal): .refused(refusal)
            case .planStale, .keyReused, .tooLarge, .unreadable, .overloaded, .unavailable, .suspended, .noKey,
                .outcomeUnknown,
                .halted:
                .unavailable
            }
    }
}
