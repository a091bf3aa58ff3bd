import PinWire

/// One change of the fleet as the input of the guard rails.
struct FleetChange {
    let before: Fleet
    let after: Fleet
    let events: [FleetEvent]
    let apps: AppTable
    let context: DecisionContext
}

/// The rails about the kill switch over everything: G09, G25.
enum FleetRails {
    /// The number of hosts that are named; further ones are counted.
    private static let limit = 20

    static func findings(of change: FleetChange) -> [Finding] {
        change.events.flatMap { Self.unmatched(after: $0, change) + Self.unreached(by: $0, change) }
    }

    /// G09 where the end of the switch turns enforcing on: released, or engaged again for a shorter time. It is
    /// overridden with a reason: one forgotten app does not keep all others unprotected.
    private static func unmatched(after event: FleetEvent, _ change: FleetChange) -> [Finding] {
        let context = change.context
        // A switch that has expired holds nothing back any more.
        guard context.rails.contains(.liveChainUnmatched), let was = change.before.killSwitch,
            was.isInForce(at: context.now)
        else { return [] }
        switch event {
        case .killSwitchReleased: break
        case .killSwitchEngaged(let end) where end < was.expiresAt: break
        case .killSwitchEngaged, .issuerSet, .guardRailSet, .historyRestored, .featureLevelRaised, .railsOverridden:
            return []
        }
        var findings: [Finding] = []
        var (missed, unseen) = (0, 0)
        let apps = change.apps.values.filter { $0.enforces(at: context.now) }
        for app in apps.sorted(by: { $0.id < $1.id }) {
            for (pattern, host) in app.hosts.sorted(by: { $0.key < $1.key })
            where host.enforces && host.killSwitch?.isInForce(at: context.now) != true {
                let observed = AppChange.observed(of: pattern, nil, app, context)
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
                            "\(LiveRails.place(of: miss)), but the \(slot.rawValue) of \(pattern) of \(app.id) has no matching pin: without the kill switch its devices would refuse the server.",
                            remedy:
                                "First deploy a certificate whose key is pinned at \(miss.endpoint), or engage a kill switch for \(pattern) of \(app.id) alone before you release this one."
                        )
                    )
                }
            }
        }
        if missed > findings.count, let last = findings.indices.last {
            findings[last].detail += " The same applies to \(missed - findings.count) more hosts."
        }
        if unseen > 0 {
            findings.append(
                .unknown(
                    .liveChainUnmatched, host: nil,
                    "For \(unseen) hosts it is unknown whether the served key is pinned.",
                    remedy: "Have a node probe them regularly (--vantage), and check `pinledger attention`."
                )
            )
        }
        return findings
    }

    /// G25: the declared kinds of clients that the engaged switch does not reach. It refuses nothing.
    private static func unreached(by event: FleetEvent, _ change: FleetChange) -> [Finding] {
        guard change.context.rails.contains(.oldClients), case .killSwitchEngaged = event else { return [] }
        let context = change.context.knowing(fleet: change.after)
        var appCount = 0
        var counts: [ClientKind: Int] = [:]
        for app in change.apps.values where !app.clients.isEmpty {
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
            "In \(appCount) apps, some installs never receive the kill switch and keep enforcing. By kinds of clients and the number of their apps: \(list.joined(separator: ", ")).",
            remedy:
                "Have servers present keys that these installs have pins of; `pinledger compat APP` shows what reaches an app's installs."
        )
        finding.limit = .killSwitch
        return [finding]
    }
}

extension App {
    /// Whether its devices enforce anything, by the state of the app as a whole.
    fileprivate func enforces(at now: Timestamp) -> Bool {
        self.killSwitch?.isInForce(at: now) != true && self.pinsValidUntil.map { now < $0 } ?? true
    }
}
