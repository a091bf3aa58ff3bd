import PinWire

/// A reason not to serve a key, as the end of a sentence that begins with the key (guard rail G21).
struct KeyObjection: Hashable, Sendable {
    var severity: GuardRail.Severity
    var reason: String

    /// The kinds of keys that every client takes, as the end of a remedy.
    static let soundKinds = "P-256, P-384, or RSA of at least 2048 bits"
}

extension KeyFacts {
    /// The weaknesses that were found when the key was read, and what clients refuse: the latter is judged again, because
    /// keys were stored before it was.
    var objections: [KeyObjection] {
        var objections = self.weaknesses.map { KeyObjection(severity: .block, reason: $0) }
        switch self.acceptance {
        case .everywhere: break
        case .inPlaces(let reason): objections.append(KeyObjection(severity: .override, reason: reason))
        case .nowhere(let reason):
            if !self.weaknesses.contains(reason) { objections.append(KeyObjection(severity: .block, reason: reason)) }
        }
        return objections
    }
}
