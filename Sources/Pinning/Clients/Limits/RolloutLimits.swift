import PinWire

/// What becomes of rollouts with kinds that know none. Those of remote configuration are judged apart.
enum RolloutLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard check.kind != .remoteConfig else { return [] }
        return check.view.hosts.filter(check.isRollingOut).map { host in
            let baseline = host.mode == nil ? "the pins built into the app" : "the baseline"
            return check.finding(
                .rollout, .differs, host: host,
                "A candidate of \(host.pattern) is being rolled out, and \(check.kind.title) knows no rollouts: every install goes by \(baseline) until it is promoted.",
                remedy:
                    "Keep serving a key of the baseline until the candidate is promoted and has reached these installs."
            )
        }
    }
}
