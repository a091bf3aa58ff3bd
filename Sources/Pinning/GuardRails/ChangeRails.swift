import PinWire

/// The rails about a change as a whole: G15, G26 to G29, G32, G33, G36, G37.
enum ChangeRails {
    static func findings(of change: AppChange) -> [Finding] {
        Self.rate(of: change) + Self.day(of: change) + Self.notYetKnown(about: change) + Self.killSwitch(of: change)
            + Self.mass(of: change) + Self.automatic(change) + Self.newHosts(of: change) + Self.versions(of: change)
    }

    /// Risky changes of an app within an hour without a second look.
    static let riskyPerHour = 3
    /// Hosts that one change of an app may touch without force, and the share of its pins that one may remove.
    static let hostsAtOnce = 20
    static let removedShare = 10

    /// G26.
    private static func rate(of change: AppChange) -> [Finding] {
        guard change.isRisky, let before = change.before else { return [] }
        // A reaction of the server rests on probes of each host, not on a guess after the last change: people's
        // changes, which may be what is wrong, do not prevent it. Its own are counted.
        let isReaction = Self.isReaction(change)
        let limit = isReaction ? Reaction.weakenedPerHour : Self.riskyPerHour
        let times =
            isReaction
            ? before.reactionsTaken.filter { $0.done.step == .reportOnly }.map(\.done.at) : before.riskyChanges
        // Those from the future are of a clock that has been put right since.
        let recent = times.filter { $0 <= change.now && change.now < $0.adding(seconds: 3600) }
        guard recent.count >= limit else { return [] }
        let until = recent[recent.count - limit].adding(seconds: 3600)
        return [
            Finding(
                .tooManyRiskyChanges,
                "\(recent.count) changes have already removed something from this app within the last hour.",
                remedy:
                    "Stop and check that they had the intended effect (`pinledger history \(change.id)`); continue after \(until)."
            )
        ]
    }

    /// G27. Time is UTC; 1970-01-01 was a Thursday.
    private static func day(of change: AppChange) -> [Finding] {
        let weekday = ((change.now.seconds / 86_400) % 7 + 7 + 3) % 7
        guard change.isRisky, weekday >= 5 else { return [] }
        return [
            Finding(
                .changeFreeze, .warn,
                "It is \(weekday == 5 ? "Saturday" : "Sunday") (UTC), and this change removes protection or pins.",
                remedy: "If the change can wait, make it on a working day."
            )
        ]
    }

    /// G28, which needs clients' reports.
    private static func notYetKnown(about change: AppChange) -> [Finding] {
        guard change.isRisky else { return [] }
        return [
            .unknown(
                .canary, host: change.hosts.first,
                "Whether clients can still connect is unknown: this rail does not use their reports.",
                remedy: "Try the change as a candidate with a small rollout first, and watch the servers."
            )
        ]
    }

    /// G29. Other rules decide who may engage a kill switch and for how long; this one, that it stands alone.
    private static func killSwitch(of change: AppChange) -> [Finding] {
        var findings: [Finding] = []
        for event in change.events {
            guard let (pattern, expiresAt) = event.engagement else { continue }
            if change.events.contains(where: \.changesPins) {
                findings.append(
                    Finding(
                        .killSwitchAlone, host: pattern,
                        "The change engages a kill switch and changes pins at once: later nobody can tell which of them helped.",
                        remedy: "Engage the kill switch first, then change the pins."
                    )
                )
            }
            if change.now.adding(seconds: 86_400) < expiresAt {
                findings.append(
                    Finding(
                        .killSwitchAlone, .warn, host: pattern, "Pinning is off until \(expiresAt), more than a day.",
                        remedy: "Engage it for a shorter time, and again if necessary."
                    )
                )
            }
        }
        return findings
    }

    /// G36.
    private static func mass(of change: AppChange) -> [Finding] {
        guard let before = change.before, change.hosts.count > 1, !before.hosts.isEmpty else { return [] }
        // The steps of a rotation change the hosts that were named when it started, as announced then.
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
            && change.events.allSatisfy(\.isRelease)
        guard !isExpiry else { return [] }
        var findings: [Finding] = []
        let remedy = "Review the difference (`dry_run`), and force the change if all of it is intended."
        if change.hosts.count > Self.hostsAtOnce {
            findings.append(
                Finding(.massChange, "The change touches \(change.hosts.count) hosts at once.", remedy: remedy))
        }
        let all = before.hosts.values.reduce(0) { $0 + $1.publishedPins }
        let removed = change.hosts.reduce(0) { count, pattern in
            guard let was = before.hosts[pattern] else { return count }
            return count + was.lost(to: change.after.hosts[pattern])
        }
        if removed * 100 > all * Self.removedShare, removed > 1 {
            findings.append(
                Finding(
                    .massChange, "The change removes \(removed) of the app's \(all) published pins.", remedy: remedy))
        }
        return findings
    }

    /// G37.
    private static func automatic(_ change: AppChange) -> [Finding] {
        guard change.context.actor == .system else { return [] }
        let remedy = "A person must decide this, with a reason."
        var findings: [Finding] = []
        for event in change.events {
            guard let (pattern, _) = event.engagement else { continue }
            guard let pattern, change.after.monitoring.autoDisables, change.after.monitoring.reaction == .act else {
                findings.append(
                    Finding(.telemetryWeakens, "Reports would turn pinning off for more than one host.", remedy: remedy)
                )
                continue
            }
            if !Self.locksOut(pattern, nil, change) {
                let isKnown = change.observed(of: pattern).isKnown
                findings.append(
                    Finding(
                        .telemetryWeakens, host: pattern,
                        "Reports would turn pinning off while the served key is \(isKnown ? "pinned" : "unknown"): an attacker who forges reports could do the same.",
                        remedy: remedy))
            }
        }
        for event in change.events {
            switch event {
            case .rolloutPlanSet(let pattern, _), .rolloutPlanCleared(let pattern),
                .rolloutStepApproved(let pattern, _),
                .rolloutResumed(let pattern):
                findings.append(
                    Finding(
                        .telemetryWeakens, host: pattern, "The server itself would decide how a rollout continues.",
                        remedy: remedy))
            case .candidatePromoted(let pattern) where !Self.isPlanned(pattern, change):
                findings.append(
                    Finding(
                        .telemetryWeakens, host: pattern, "The server itself would promote a candidate.",
                        remedy: remedy))
            default: break
            }
        }
        findings += Self.weakenings(change)
        if change.isRisky, !change.events.allSatisfy({ Self.isStep($0, change) || Self.isReaction($0) }) {
            findings.append(
                Finding(.telemetryWeakens, "The server itself would remove protection.", remedy: remedy))
        }
        return findings
    }

    /// Whether servers present a key that a policy of the host (nil for any of them) does not accept, which no report
    /// can forge.
    private static func locksOut(_ pattern: HostPattern, _ slot: PolicySlot?, _ change: AppChange) -> Bool {
        let observed = change.observed(of: pattern)
        let sets = change.arms.filter { $0.pattern == pattern && slot ?? $0.slot == $0.slot }.map(\.activePins)
        return observed.isKnown
            && sets.contains { set in observed.live.contains { set.isDisjoint(with: $0.chain.pins) } }
    }

    /// Modes that the server itself would weaken: only after reports, and only where the pins are wrong beyond doubt.
    private static func weakenings(_ change: AppChange) -> [Finding] {
        change.events.compactMap { event in
            guard case .modeSet(let pattern, let slot, let mode) = event else { return nil }
            let isAllowed =
                mode == .reportOnly && change.after.monitoring.reaction == .act
                && Self.isReaction(change) && Self.locksOut(pattern, slot, change)
            guard !isAllowed else { return nil }
            return Finding(
                .telemetryWeakens, host: pattern, policy: slot,
                "Reports would stop enforcement of the \(slot.rawValue) of \(pattern), although no server is known to present another key: an attacker who forges reports could do the same.",
                remedy: "A person must decide this, with a reason.")
        }
    }

    /// Whether the change is the server's reaction to reports.
    static func isReaction(_ change: AppChange) -> Bool {
        change.context.actor == .system
            && change.events.contains { if case .telemetryReacted = $0 { true } else { false } }
    }

    /// Whether the event is one of the server's reactions to reports; their weakening is judged one by one.
    private static func isReaction(_ event: AppEvent) -> Bool {
        switch event {
        case .telemetryReacted, .modeSet, .killSwitchEngaged, .rolloutPaused, .rolloutRolledBack: true
        default: false
        }
    }

    /// Whether the event is a due part of a plan that a person set.
    private static func isStep(_ event: AppEvent, _ change: AppChange) -> Bool {
        switch event {
        case .rolloutStepTaken(let pattern, _, _), .rolloutBakeStarted(let pattern), .rolloutPlanFinished(let pattern):
            change.before?.plan(of: pattern)?.isUnderWay == true
        case .candidatePromoted(let pattern): Self.isPlanned(pattern, change)
        default: false
        }
    }

    /// Whether a plan is due to promote the candidate, with its last step behind it.
    private static func isPlanned(_ pattern: HostPattern, _ change: AppChange) -> Bool {
        guard let plan = change.before?.plan(of: pattern), plan.isUnderWay, plan.pause == nil,
            plan.terms.ending == .promote
        else { return false }
        switch plan.phase {
        case .running(let step): return step == plan.terms.steps.count
        case .baking: return true
        case .scheduled, .done, .rolledBack, .ended: return false
        }
    }

    /// G15 and G32.
    private static func newHosts(of change: AppChange) -> [Finding] {
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
                        "Clients fetch their pins from \(pattern): if its key changes unannounced, they cannot learn the new one.",
                        remedy: "Leave it unpinned (documents are signed), or build recovery pins into the app."
                    )
                )
            }
            if isNew, let reason = ConfusableHostName.reason(pattern, among: change.after.hosts.keys) {
                findings.append(
                    Finding(
                        .hostName, .warn, host: pattern, reason,
                        remedy: "Compare the name letter by letter with the one in the server's certificate."
                    )
                )
            }
            return findings
        }
    }
}

extension ChangeRails {
    /// G33 as far as clients' statements show: no client can hold a document that was never made.
    fileprivate static func versions(of change: AppChange) -> [Finding] {
        guard let before = change.before else { return [] }
        let version = before.version + change.versionOffset
        guard let later = change.facts.claims(change.id)?.later(than: version) else { return [] }
        let latest = later.latest.map { ", up to version \($0)" } ?? ""
        return [
            Finding(
                .restoredBackup, .warn,
                "Clients claim documents later than version \(version)\(latest), the last that this ledger made (\(later.sightings) requests and reports): the ledger was restored from a backup, or the claims are made up.",
                remedy:
                    "If the database was restored, or a standby took over, change nothing yet: `pinledger recover` shows what is missing, and raises versions above those that clients hold, which refuse lower ones. `pinledger handbook recovery` says how."
            )
        ]
    }
}

extension AppEvent {
    /// The host and the end of an engaged kill switch; no host where it is for the app or for versions of it.
    var engagement: (host: HostPattern?, expiresAt: Timestamp)? {
        switch self {
        case .killSwitchEngaged(let host, let expiresAt): (host, expiresAt)
        case .versionKillSwitchEngaged(_, let expiresAt): (nil, expiresAt)
        default: nil
        }
    }

    /// Whether it ends a kill switch.
    fileprivate var isRelease: Bool {
        switch self {
        case .killSwitchReleased, .versionKillSwitchReleased: true
        default: false
        }
    }

    /// Whether it changes the pins that clients get.
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

    /// The number of published pins lost by devices that get another host's policies instead, or none.
    fileprivate func lost(to other: Host?) -> Int {
        PolicySlot.allCases.reduce(0) { count, slot in
            count + (self[slot]?.lost(to: other?[slot] ?? other?[.baseline]).count ?? 0)
        }
    }
}
