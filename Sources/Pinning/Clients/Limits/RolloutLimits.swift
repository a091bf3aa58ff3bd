import PinWire

/// What becomes of rollouts with kinds that know none.
enum RolloutLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard !check.profile.hasRollouts else { return [] }
        return check.view.hosts.filter(check.isRollingOut).map { host in
            let baseline = host.mode == nil ? "the pins built into the app" : "the baseline"
            return Self.withheld(
                host, check,
                "A candidate of \(host.pattern) is being rolled out, but \(check.title) does not support rollouts: every install uses \(baseline) until it is promoted.",
                remedy:
                    "Keep serving a key of the baseline until the candidate is promoted and has reached these installs."
            )
        }
    }

    /// A rollout that does not reach installs. Where a key of the candidate is served already that the baseline does
    /// not have, they are locked out, and devices inside the rollout connect.
    static func withheld(
        _ host: ClientView.Host, _ check: ClientCheck, _ detail: String, remedy: String
    ) -> ClientFinding {
        let candidate = Set((host.candidate ?? []).map(\.pin))
        let isServed = check.seen(at: host).contains { seen in
            seen.pins.contains(where: candidate.contains) && !check.accepts(seen.pins, seen.certificates, at: host)
        }
        return isServed && check.enforces(host)
            ? check.unheard(.rollout, host: host, detail, remedy: remedy)
            : check.finding(.rollout, .differs, host: host, detail, remedy: remedy)
    }
}
