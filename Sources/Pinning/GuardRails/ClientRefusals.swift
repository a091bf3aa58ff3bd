import PinWire

/// The servers, as probes saw them, that installs refused before a change and refuse after it.
struct ClientRefusals {
    private let before: [ClientKind: ClientCheck]
    private let after: [ClientKind: ClientCheck]

    init(of change: AppChange) {
        self.before = change.before?.clientChecks(in: change.context) ?? [:]
        self.after = change.after.clientChecks(in: change.context)
    }

    /// Whether a finding after the change says that installs refuse servers which they refused before all the same: a
    /// change that rescues a host from a lock-out is not to blame for clients that it does not reach. A pin that does
    /// not match is not a limit of a kind, and was no finding.
    func stood(before finding: ClientFinding) -> Bool {
        guard finding.severity == .breaks, Self.isAboutServed(finding.limit), let pattern = finding.host,
            let was = self.before[finding.kind], let old = was.view.hosts.first(where: { $0.pattern == pattern }),
            let now = self.after[finding.kind], let new = now.view.hosts.first(where: { $0.pattern == pattern }),
            !old.pins.isEmpty, was.enforces(old)
        else { return false }
        let refused = now.refused(at: new)
        return !refused.isEmpty && refused.allSatisfy { !was.accepts($0.pins, $0.certificates, at: old) }
    }

    /// Whether the limit only breaks servers that probes saw: it neither ends the app, nor makes it refuse names that
    /// no probe examined.
    private static func isAboutServed(_ limit: ClientLimit) -> Bool {
        switch limit {
        case .killSwitch, .versionKillSwitch, .modeOff, .reportOnly, .pinsValidUntil, .rollout, .leafOnly,
            .firstPinOnly, .certificateUnknown, .certificateExpired, .certificateRenewed, .commonNameMissing:
            true
        default: false
        }
    }
}
