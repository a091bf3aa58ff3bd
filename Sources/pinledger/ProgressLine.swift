import Foundation
import Synchronization

/// A line that says how far long work has come, on standard error: in a terminal one that is replaced, elsewhere a further line every
/// thirty seconds.
final class ProgressLine: Sendable {
    private struct State {
        var last: ContinuousClock.Instant
        var isShown = false
    }

    private let verb: String
    private let unit: String
    private let isTerminal: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - verb: What is done, in the past: `verified`.
    ///   - unit: What is counted, in the plural: `events`.
    init(_ verb: String, _ unit: String, isTerminal: Bool = isatty(STDERR_FILENO) == 1) {
        self.verb = verb
        self.unit = unit
        self.isTerminal = isTerminal
        // Work that takes no longer than this shows nothing.
        self.state = Mutex(State(last: .now))
    }

    /// Notes how far it has come.
    ///
    /// - Parameter total: Nil where that is unknown.
    func note(_ done: Int64, of total: Int64?) {
        let isDue = self.state.withLock { state in
            let now = ContinuousClock.now
            guard now - state.last >= (self.isTerminal ? .milliseconds(250) : .seconds(30)) else { return false }
            state.last = now
            state.isShown = true
            return true
        }
        guard isDue else { return }
        let text = Self.text(self.verb, self.unit, done, of: total)
        self.write(self.isTerminal ? "\r\u{1B}[2K\(text)" : "\(text)\n")
    }

    /// Takes the line away.
    func end() {
        let wasShown = self.state.withLock { state in
            defer { state.isShown = false }
            return state.isShown
        }
        if wasShown, self.isTerminal { self.write("\r\u{1B}[2K") }
    }

    static func text(_ verb: String, _ unit: String, _ done: Int64, of total: Int64?) -> String {
        guard let total, total > 0 else { return "\(verb) \(Self.grouped(done)) \(unit)" }
        let share = min(100, Int(Double(done) / Double(total) * 100))
        return "\(verb) \(Self.grouped(done)) of \(Self.grouped(total)) \(unit) (\(share) %)"
    }

    /// A number with commas between thousands.
    private static func grouped(_ number: Int64) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3), digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
