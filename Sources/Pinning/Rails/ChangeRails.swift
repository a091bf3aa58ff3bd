import PinWire

/// The rails about a change as a whole: G15, G25 to G29, G32, G33, G36, G37.
enum ChangeRails {
    @Sendable static func findings(of change: Judgement) -> [Finding] {
        Self.rate(of: change) + Self.day(of: change) + Self.notYetKnown(about: change) + Self.killSwitch(of: change)
            + Self.mass(of: change) + Self.automatic(change) + Self.newHosts(of: change) + Self.versions(of: change)
    }

    /// Risky changes of an app within an hour that go without a second look.
    static let riskyPerHour = 3
    /// Hosts that one change of an app may touch unannounced, and the share of its pins that one may remove.
    static let hostsAtOnce = 20
    static let removedShare = 10

    /// G26.
    private static func rate(of change: Judgement) -> [Finding] {
        guard change.isRisky, let before = change.before else { return [] }
        let recent = before.riskyChanges.filter { change.now < $0.adding(seconds: 3600) }
        guard recent.count >= Self.riskyPerHour else { return [] }
        let until = recent[recent.count - Self.riskyPerHour].adding(seconds: 3600)
        return [
            Finding(
                .tooManyRiskyChanges,
                "\(recent.count) changes of this app took something away within the last hour already.",
                remedy:
                    "Stop and look whether they did what they should (`pinledger history \(change.id)`); go on after \(until)."
            )
        ]
    }

    /// G27. Time is UTC; 1970-01-01 was a Thursday.
    private static func day(of change: Judgement) -> [Finding] {
        let weekday = ((change.now.seconds / 86_400) % 7 + 7 + 3) % 7
        guard change.isRisky, weekday >= 5 else { return [] }
        return [
            Finding(
                .changeFreeze, .warn,
                "It is \(weekday == 5 ? "Saturday" : "Sunday") (UTC), and this takes something away.",
                remedy: "If it can wait, make it on a working day."
            )
        ]
    }

    /// G25 and G28, which reports of clients will tell.
    private static func notYetKnown(about change: Judgement) -> [Finding] {
        var findings: [Finding] = []
        if change.isRisky {
            findings.append(
                .unknown(
                    .canary, host: change.hosts.first,
                    "Whether clients go on connecting is not known: no reports of theirs are collected.",
                    remedy: "Try it as a candidate with a small rollout first, and watch the servers."
                )
            )
        }
        for pattern in change.hosts {
            guard let host = change.after.hosts[pattern] else { continue }
            let was = change.before?.hosts[pattern]
            let isNewWildcard = was == nil && pattern.isWildcard
            guard isNewWildcard || host.includesSubdomains && was?.includesSubdomains != true else { continue }
            findings.append(
                .unknown(
                    .oldClients, host: pattern,
                    "Whether every client that is out there understands \(isNewWildcard ? "a wildcard" : "subdomains") is not known: no reports of theirs are collected.",
                    remedy:
                        "Compare with the documentation of your oldest client; a host of its own is understood by all."
                )
            )
        }
        return findings
    }

    /// G29. Who may engage a kill switch and for how long is decided elsewhere; here, that it stands alone.
    private static func killSwitch(of change: Judgement) -> [Finding] {
        var findings: [Finding] = []
        for event in change.events {
            guard case .killSwitchEngaged(let pattern, let expiresAt) = event else { continue }
            if change.events.contains(where: \.changesPins) {
                findings.append(
                    Finding(
                        .killSwitchAlone, host: pattern,
                        "A kill switch and a change of pins in one: whoever looks back cannot tell which of them helped.",
                        remedy: "Engage the kill switch first, then change the pins."
                    )
                )
            }
            if change.now.adding(seconds: 86_400) < expiresAt {
                findings.append(
                    Finding(
                        .killSwitchAlone, .warn, host: pattern, "Pinning is off until \(expiresAt), more than a day.",
                        remedy: "Engage it for a shorter time, and again if need be."
                    )
                )
            }
        }
        return findings
    }

    /// G36.
    private static func mass(of change: Judgement) -> [Finding] {
        guard let before = change.before, change.hosts.count > 1, !before.hosts.isEmpty else { return [] }
        // The steps of a rotation go to the hosts that were named when it started, and do what was announced then.
        let isStep = change.events.contains { event in
            switch event {
            case .rotationAdvanced, .rotationAborted: true
            default: false
            }
        }
        guard !isStep else { return [] }
        // Kill switches that were engaged together end together, and that is recorded by itself.
        let isExpiry =
            change.context.actor == .system
            && change.events.allSatisfy { if case .killSwitchReleased = $0 { true } else { false } }
        guard !isExpiry else { return [] }
        var findings: [Finding] = []
        let remedy = "Look at the difference (`dry_run`), and insist if all of it is meant."
        if change.hosts.count > Self.hostsAtOnce {
            findings.append(
                Finding(.massChange, "This touches \(change.hosts.count) hosts at once.", remedy: remedy))
        }
        let all = before.hosts.values.reduce(0) { $0 + $1.publishedPins }
        let removed = change.hosts.reduce(0) { count, pattern in
            guard let was = before.hosts[pattern] else { return count }
            return count + was.lost(to: change.after.hosts[pattern])
        }
        if removed * 100 > all * Self.removedShare, removed > 1 {
            findings.append(
                Finding(.massChange, "This removes \(removed) of the app's \(all) published pins.", remedy: remedy))
        }
        return findings
    }

    /// G37.
    private static func automatic(_ change: Judgement) -> [Finding] {
        guard change.context.actor == .system else { return [] }
        let remedy = "A person decides this, with a reason."
        var findings: [Finding] = []
        for event in change.events {
            guard case .killSwitchEngaged(let pattern, _) = event else { continue }
            guard let pattern, change.after.monitoring.autoDisables else {
                findings.append(
                    Finding(.telemetryWeakens, "Reports would turn pinning off for a whole app.", remedy: remedy))
                continue
            }
            let sight = change.sight(of: pattern)
            let pins = change.arms.filter { $0.pattern == pattern }.map(\.activePins)
            let isLockedOut =
                sight.isKnown && pins.contains { set in sight.live.contains { set.isDisjoint(with: $0.chain.pins) } }
            if !isLockedOut {
                findings.append(
                    Finding(
                        .telemetryWeakens, host: pattern,
                        "Reports would turn pinning off while the served key is \(sight.isKnown ? "pinned" : "not known"): whoever can forge them could.",
                        remedy: remedy))
            }
        }
        if change.isRisky {
            findings.append(
                Finding(.telemetryWeakens, "The server itself would take protection away.", remedy: remedy))
        }
        return findings
    }

    /// G15 and G32.
    private static func newHosts(of change: Judgement) -> [Finding] {
        change.events.flatMap { event -> [Finding] in
            let pattern: HostPattern
            let isNew: Bool
            switch event {
            case .hostAdded(let added, _, _): (pattern, isNew) = (added, true)
            case .hostSubdomainsSet(let widened, true): (pattern, isNew) = (widened, false)
            default: return []
            }
            let includesSubdomains = change.after.hosts[pattern]?.includesSubdomains == true
            var findings: [Finding] = []
            if change.facts.ownHosts.contains(where: { name in
                pattern.matches(name) || includesSubdomains && name.hasSuffix(".\(pattern.name)")
            }) {
                findings.append(
                    Finding(
                        .bootstrapLoop, .warn, host: pattern,
                        "\(pattern) is where clients fetch their pins: once its key changes unannounced, they can no longer learn the new one.",
                        remedy: "Leave it unpinned (documents are signed), or build recovery pins into the app."
                    )
                )
            }
            if isNew, let reason = LookAlike.reason(pattern, among: change.after.hosts.keys) {
                findings.append(
                    Finding(
                        .hostName, .warn, host: pattern, reason,
                        remedy: "Compare it letter by letter with the name in the server's certificate."
                    )
                )
            }
            return findings
        }
    }
}

extension ChangeRails {
    /// G33 as far as clients tell: nobody can hold a document that was never made.
    fileprivate static func versions(of change: Judgement) -> [Finding] {
        guard let before = change.before else { return [] }
        let version = before.version + change.fleetVersion
        guard let share = change.facts.adoption(change.id, version + 1), share.basis != .unknown,
            share.lowerBasisPoints > 0
        else {
            return []
        }
        return [
            Finding(
                .restoredBackup, .warn,
                "Clients say that they hold documents later than version \(version), which is the last that this ledger made: it was restored from a backup, or they make it up.",
                remedy:
                    "If the database was restored, look for what is missing with `pinledger fsck` and an earlier report before you change anything: clients refuse documents of lower versions than they have."
            )
        ]
    }
}

extension AppEvent {
    /// Whether it changes which pins clients get.
    fileprivate var changesPins: Bool {
        switch self {
        case .pinActivated, .pinRetired, .pinRevoked, .candidatePromoted, .candidateStarted, .candidateDropped,
            .hostRemoved, .modeSet:
            true
        default: false
        }
    }
}

extension Host {
    fileprivate var publishedPins: Int {
        PolicySlot.allCases.reduce(0) { $0 + (self[$1]?.activePins.count ?? 0) }
    }

    /// How many published pins devices lose that get another host's policies instead, or none.
    fileprivate func lost(to other: Host?) -> Int {
        PolicySlot.allCases.reduce(0) { count, slot in
            count + (self[slot]?.lost(to: other?[slot] ?? other?[.baseline]).count ?? 0)
        }
    }
}
