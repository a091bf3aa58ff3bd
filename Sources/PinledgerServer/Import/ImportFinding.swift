import PinWire
import Pinning

/// Something that an import has to say about a file: where, what and what to do.
struct ImportFinding: Sendable, Hashable {
    enum Severity: String, Sendable {
        /// Nothing is recorded.
        case fatal
        /// Recorded, and somebody should look.
        case warning
        /// A default was taken.
        case note
    }

    var severity: Severity
    var pointer: JSONPointer
    /// What is the matter, as a sentence without a full stop.
    var message: String
    var advice: String

    var json: JSON {
        [
            "severity": .string(self.severity.rawValue), "pointer": .string(self.pointer.text),
            "detail": .string(self.message), "advice": .string(self.advice),
        ]
    }
}

/// What an import makes of a file: the commands, the plan in words, and everything there is to say about it.
struct ImportPlan: Sendable {
    var commands: [AppCommand] = []
    var steps: [String] = []
    var findings: [ImportFinding] = []

    var fatal: [ImportFinding] { self.findings.filter { $0.severity == .fatal } }

    var findingsJSON: JSON { .array(self.findings.map(\.json)) }
    var stepsJSON: JSON { .array(self.steps.map { .string($0) }) }
}
