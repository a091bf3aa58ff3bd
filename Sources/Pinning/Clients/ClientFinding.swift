package import PinWire

/// What one kind of client cannot do with an app's state as it is, or does in a way that operators should know.
package struct ClientFinding: Hashable, Sendable {
    /// How bad it is.
    ///
    /// What servers present decides between the last two, as far as probes saw it, and else what is primary: what an
    /// install would refuse of a key in reserve is no lock-out yet. Which names an install connects to is not known, so
    /// that a name it would refuse counts as refused.
    package enum Severity: String, CaseIterable, Sendable, Hashable, Comparable {
        /// Worth knowing; the client does what the state says.
        case notice
        /// The client enforces less than the state says, or more, or something else: names go without pins, others' keys
        /// pass, pins are enforced that should not be, which what servers present still matches.
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
    /// What is the matter, as a sentence.
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
