import PinWire

/// What installs refused before a change, and refuse after it, of what probes saw servers present.
struct ClientRefusals {
    private let before: [ClientKind: ClientCheck]
    private let after: [ClientKind: ClientCheck]

    init(of change: GuardRailEvaluation) {
        self.before = change.before?.clientChecks(in: change.context) ?? [:]
        self.after = change.after.clientChecks(in: change.context)
    }

    /// Whether a finding of the state after the change says that installs refuse servers which they refused before it
    /// all the same: whoever comes to the rescue of a host that locks its clients out is not to blame that not all of
    /// them hear of it. That a pin does not match is no limit of a kind, and was no finding.
    func stood(before finding: ClientFinding) -> Bool {
        guard finding.severity == .breaks, Self.isAboutServed(finding.limit), let pattern = finding.host,
            let was = self.before[finding.kind], let old = was.view.hosts.first(where: { $0.pattern == pattern }),
            let now = self.after[finding.kind], let new = now.view.hosts.first(where: { $0.pattern == pattern }),
            !old.pins.isEmpty, was.enforces(old)
        else { return false }
        let refused = now.refused(at: new)
        return !refused.isEmpty && refused.allSatisfy { !was.accepts($0.pins, $0.certificates, at: old) }
    }

    /// Whether the limit breaks where servers are refused that probes saw, and nowhere else: neither does it end the
    /// app, nor are names refused that nobody looked at.
    private static func isAboutServed(_ limit: ClientLimit) -> Bool {
        switch limit {
        case .killSwitch, .versionKillSwitch, .modeOff, .reportOnly, .pinsValidUntil, .rollout, .leafOnly,
            .firstPinOnly, .certificateUnknown, .certificateExpired, .certificateRenewed, .commonNameMissing:
            true
        default: false
        }
    }
}
