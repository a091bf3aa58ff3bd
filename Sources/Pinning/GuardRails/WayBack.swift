import PinWire

extension AppChange {
    /// What some checks would hold against enforcing again after a change that stops it, as warnings: who gives protection up should know
    /// what it takes to have it back.
    func wayBack(_ checks: (AppChange) -> [Finding]) -> [Finding] {
        self.events.flatMap { event -> [Finding] in
            guard case .modeSet(let pattern, let slot, let mode) = event, mode != .enforce,
                self.before?.hosts[pattern]?[slot]?.mode == .enforce, self.after.hosts[pattern]?[slot]?.mode == mode
            else { return [] }
            let back = AppEvent.modeSet(pattern, slot, .enforce)
            var restored = self.after
            restored.evolve(back, at: self.now)
            let way = AppChange(before: self.after, after: restored, events: [back], context: self.context)
            let lowered = self.context.fleet.loweredRails.union(self.after.loweredRails)
            return checks(way).filter { finding in
                finding.severity == .block || finding.severity == .override && !lowered.contains(finding.rail)
            }.map(Self.asWayBack)
        }
    }

    private static func asWayBack(_ finding: Finding) -> Finding {
        var finding = finding
        finding.detail =
            "As things are, the way back to enforce would \(finding.severity == .block ? "be refused" : "take force and a reason"). \(finding.detail)"
        finding.severity = .warn
        finding.refusal = nil
        return finding
    }
}
