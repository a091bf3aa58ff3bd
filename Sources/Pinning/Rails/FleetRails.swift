import PinWire

/// G09 where the end of the kill switch over everything is what turns enforcing on: released, or engaged anew for a
/// shorter time. It is overridden with a reason: one forgotten app does not keep all others unprotected.
enum FleetRails {
    /// Hosts that are named; of further ones their number is said.
    private static let limit = 20

    /// What is to be said of a command, the gravest first.
    static func findings(
        of command: FleetCommand, in state: LedgerState, _ context: DecisionContext
    ) -> [Finding] {
        // One that has run out holds nothing back any more.
        guard context.rails.contains(.liveChainUnmatched), let was = state.fleet.killSwitch,
            was.isInForce(at: context.now)
        else { return [] }
        switch command {
        case .releaseKillSwitch: break
        case .engageKillSwitch(let end) where end < was.expiresAt: break
        case .engageKillSwitch, .setIssuer, .setGuardRail: return []
        }
        var findings: [Finding] = []
        var (missed, unseen) = (0, 0)
        for app in state.apps.values where app.enforces(at: context.now) {
            for (pattern, host) in app.hosts
            where host.enforces && host.killSwitch?.isInForce(at: context.now) != true {
                let sight = Judgement.sight(of: pattern, nil, app, context)
                if !sight.isComplete { unseen += 1 }
                for slot in PolicySlot.allCases {
                    guard let policy = host[slot], policy.mode == .enforce else { continue }
                    let pins = Set(policy.activePins.map(\.pin))
                    guard let miss = sight.live.first(where: { pins.isDisjoint(with: $0.chain.pins) }) else { continue }
                    missed += 1
                    guard findings.count < Self.limit else { continue }
                    findings.append(
                        Finding(
                            .liveChainUnmatched, .override, host: pattern, policy: slot,
                            "\(LiveRails.place(of: miss)), and the \(slot.rawValue) of \(pattern) of \(app.id) has no pin that matches it: without the kill switch its devices would refuse the server.",
                            remedy:
                                "Publish the pin of the key that is served first, or engage a kill switch for \(pattern) of \(app.id) alone before you end this one."
                        )
                    )
                }
            }
        }
        if missed > findings.count, let last = findings.indices.last {
            findings[last].detail += " So it is in \(missed - findings.count) more places."
        }
        if unseen > 0 {
            findings.append(
                .unknown(
                    .liveChainUnmatched, host: nil,
                    "Whether the key that is served is pinned is not known of \(unseen) hosts.",
                    remedy: "Have a node probe them on a schedule (--vantage), and see `pinledger attention`."
                )
            )
        }
        return findings
    }
}

extension App {
    /// Whether its devices enforce anything, as far as the app as a whole says.
    fileprivate func enforces(at now: Timestamp) -> Bool {
        self.killSwitch?.isInForce(at: now) != true && self.pinsValidUntil.map { now < $0 } ?? true
    }
}
