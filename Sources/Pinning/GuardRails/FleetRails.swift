import PinWire

/// The rails about the kill switch over everything.
enum FleetRails {
    /// Hosts that are named; of further ones their number is said.
    private static let limit = 20

    /// What is to be said of a command, the gravest first.
    static func findings(
        of command: FleetCommand, in state: LedgerState, _ context: DecisionContext
    ) -> [Finding] {
        Self.unmatched(after: command, in: state, context) + Self.unheard(of: command, in: state, context)
    }

    /// G09 where the end of the switch is what turns enforcing on: released, or engaged anew for a shorter time. It is
    /// overridden with a reason: one forgotten app does not keep all others unprotected.
    private static func unmatched(
        after command: FleetCommand, in state: LedgerState, _ context: DecisionContext
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
        let apps = state.apps.values.filter { $0.enforces(at: context.now) }
        for app in apps.sorted(by: { $0.id < $1.id }) {
            for (pattern, host) in app.hosts.sorted(by: { $0.key < $1.key })
            where host.enforces && host.killSwitch?.isInForce(at: context.now) != true {
                let observed = GuardRailEvaluation.observed(of: pattern, nil, app, context)
                if !observed.isComplete { unseen += 1 }
                for slot in PolicySlot.allCases {
                    guard let policy = host[slot], policy.mode == .enforce else { continue }
                    let pins = Set(policy.activePins.map(\.pin))
                    guard let miss = observed.live.first(where: { pins.isDisjoint(with: $0.chain.pins) }) else {
                        continue
                    }
                    missed += 1
                    guard findings.count < Self.limit else { continue }
                    findings.append(
                        Finding(
                            .liveChainUnmatched, .override, host: pattern, policy: slot,
                            "\(LiveRails.place(of: miss)), and the \(slot.rawValue) of \(pattern) of \(app.id) has no pin that matches it: without the kill switch its devices would refuse the server.",
                            remedy:
                                "Redeploy the right certificate at \(miss.endpoint) first, one whose key is pinned, or engage a kill switch for \(pattern) of \(app.id) alone before you end this one."
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

    /// G25: which declared kinds of clients do not hear of the switch that is being engaged. It holds nothing up.
    private static func unheard(
        of command: FleetCommand, in state: LedgerState, _ context: DecisionContext
    ) -> [Finding] {
        guard context.rails.contains(.oldClients), case .engageKillSwitch(let end) = command else { return [] }
        var fleet = state.fleet
        fleet.evolve(.killSwitchEngaged(expiresAt: end), at: context.now)
        let context = context.knowing(fleet: fleet)
        var appCount = 0
        var counts: [ClientKind: Int] = [:]
        for app in state.apps.values where !app.clients.isEmpty {
            let view = app.clientView(in: context)
            let kinds = app.clients.filter { kind, client in
                let check = ClientCheck(kind: kind, settings: client.settings, view: view)
                return SwitchLimits.findings(of: check).contains { $0.limit == .killSwitch }
            }.keys
            if !kinds.isEmpty { appCount += 1 }
            for kind in kinds { counts[kind, default: 0] += 1 }
        }
        guard appCount > 0 else { return [] }
        let list = counts.sorted { $0.key < $1.key }.map { "`\($0.key.rawValue)` of \($0.value)" }
        var finding = Finding(
            .oldClients, .warn,
            "Of \(appCount) apps some installs do not hear of a kill switch and go on enforcing. By kinds of clients and the number of their apps: \(list.joined(separator: ", ")).",
            remedy:
                "Have servers present keys that these installs have pins of; `pinledger compat APP` tells what reaches those of an app."
        )
        finding.limit = .killSwitch
        return [finding]
    }
}

extension App {
    /// Whether its devices enforce anything, as far as the app as a whole says.
    fileprivate func enforces(at now: Timestamp) -> Bool {
        self.killSwitch?.isInForce(at: now) != true && self.pinsValidUntil.map { now < $0 } ?? true
    }
}
