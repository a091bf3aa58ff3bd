package import PinWire

/// A limit that one kind of client meets with an app's present state, or a behaviour that operators should know.
package struct ClientFinding: Hashable, Sendable {
    /// The severity of a finding.
    ///
    /// The chains that servers present, as far as probes saw them, decide between the last two; otherwise the primary
    /// pins do: a refusal of a key in reserve is not a lock-out yet. It is unknown which names an install connects to,
    /// so that a name it would refuse counts as refused.
    package enum Severity: String, CaseIterable, Sendable, Hashable, Comparable {
        /// Worth knowing; the client does what the state says.
        case notice
        /// The client enforces less than the state says, or more, or something else: names have no pins, others' keys
        /// are accepted, or pins are enforced that should not be and that the presented chains still match.
        case differs
        /// Connections that should work are refused, or the app ends.
        case breaks

        package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
        private var rank: Int {
            switch self {
            case .notice: 0
            case .differs: 1
            case .breaks: 2
            }
        }
    }

    package var kind: ClientKind
    package var limit: ClientLimit
    package var severity: Severity
    package var host: HostPattern?
    package var pin: Pin?
    /// What is wrong, as a sentence.
    package var detail: String
    /// What to do instead, as a sentence.
    package var remedy: String

    package init(
        _ kind: ClientKind, _ limit: ClientLimit, _ severity: Severity, host: HostPattern? = nil, pin: Pin? = nil,
        _ detail: String, remedy: String
    ) {
        self.kind = kind
        self.limit = limit
        self.severity = severity
        self.host = host
        self.pin = pin
        self.detail = detail
        self.remedy = remedy
    }

    /// The finding as it is shown.
    package var json: JSON {
        .members([
            "client": .string(self.kind.rawValue),
            "limit": .string(self.limit.rawValue),
            "severity": .string(self.severity.rawValue),
            "host": self.host.map { .string($0.text) },
            "pin": self.pin.map { .string($0.description) },
            "detail": .string(self.detail),
            "remedy": .string(self.remedy),
        ])
    }
}
