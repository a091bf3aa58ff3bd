import PinWire

/// G25: the limits that an app's declared kinds of clients meet after a change.
enum ClientRails {
    static func findings(of change: AppChange) -> [Finding] {
        // The evaluation takes time, also in one that leaves the rail out.
        guard change.context.rails.contains(.oldClients) else { return [] }
        guard !change.after.clients.isEmpty else { return Self.undeclared(change) }
        let found = Self.news(of: change)
        let canWait = !Self.isUrgent(change)
        return Self.archived(change) + Self.notBuiltIn(change)
            + MetLimit.all(in: found).map { met in
                // Installs have their limits whether or not a change declares such installs.
                let isNew = change.before?.clients[met.first.kind] == nil
                // The last phases of a rotation change nothing for installs that its switch has locked out.
                let isLater = met.first.limit == .builtInPinsOutdated && !change.advancedRotations.isEmpty
                let severity: GuardRail.Severity =
                    met.first.severity == .breaks && canWait && !isNew && !isLater ? .override : .warn
                return Finding(met, severity)
            }
    }

    // MARK: Declared kinds

    /// Kinds whose installs do not connect without pins, in an app that is archived.
    private static func archived(_ change: AppChange) -> [Finding] {
        guard change.events.contains(.appArchived) else { return [] }
        return change.after.clients.sorted { $0.key < $1.key }.compactMap { kind, client in
            guard kind.profile(client.settings).unpinned == .refused else { return nil }
            return Finding(
                .oldClients, .override,
                "Installs of the kind \(kind.rawValue) refuse every server once the app has no pins, at once or when the pins they hold expire.",
                remedy:
                    "Archive the app when no such install is left (`pinledger app adoption \(change.id)`), or leave it as it is."
            )
        }
    }

    /// Rotations that begin, or that ask for the next key to be served, while installs do not have it built in, or it is unknown. A
    /// rotation that begins is reported as a limit too where it is known.
    private static func notBuiltIn(_ change: AppChange) -> [Finding] {
        var checks: [ClientKind: ClientCheck]?
        return change.events.flatMap { event -> [Finding] in
            let rotation: Rotation
            let isStart: Bool
            switch event {
            case .rotationStarted(let started): (rotation, isStart) = (started, true)
            case .rotationAdvanced(let id, .switch):
                guard let advanced = change.after.rotation(id) else { return [] }
                (rotation, isStart) = (advanced, false)
            default: return []
            }
            let all = checks ?? change.after.clientChecks(in: change.context)
            checks = all
            return all.sorted { $0.key < $1.key }.flatMap { _, check in
                rotation.hosts.compactMap { Self.notBuiltIn(rotation, $0, check, isStart: isStart) }
            }
        }
    }

    private static func notBuiltIn(
        _ rotation: Rotation, _ pattern: HostPattern, _ check: ClientCheck, isStart: Bool
    ) -> Finding? {
        var finding: Finding
        switch check.reach(of: rotation, at: pattern) {
        case .reached: return nil
        case .lockedOut where isStart: return nil
        case .lockedOut(let file):
            finding = Finding(
                .oldClients, .override, host: pattern, pin: rotation.next,
                check.sentence(about: rotation, at: pattern, file), remedy: check.remedy(for: rotation))
        case .unknown:
            finding = .unknown(
                .oldClients, .override, host: pattern, pin: rotation.next,
                check.sentence(about: rotation, at: pattern, nil),
                remedy:
                    "Import the file that they have (`pinledger import FORMAT FILE --app \(check.view.app)`), or export one for the next release. If you know that they have the key, force the change and say so in the reason."
            )
        }
        finding.client = check.kind
        finding.limit = .nextKeyNotBuiltIn
        return finding
    }

    /// Findings to report: those that a kind did not have before; all of a kind that the change declares; and every
    /// effect on a kill switch that is being engaged.
    private static func news(of change: AppChange) -> [ClientFinding] {
        let engaged = change.events.compactMap(\.engagement)
        var after = change.after.clientFindings(in: change.context).filter { finding in
            finding.severity > .notice || !engaged.isEmpty && Self.isAboutSwitches(finding.limit)
        }
        guard !after.isEmpty else { return [] }
        if after.contains(where: { $0.severity == .breaks }) {
            let refusals = ClientRefusals(of: change)
            for place in after.indices where refusals.stood(before: after[place]) {
                // The change does not make it worse.
                after[place].severity = .differs
            }
        }
        var known: [Place: ClientFinding.Severity] = [:]
        for finding in change.before?.clientFindings(in: change.context) ?? [] {
            known[Place(finding)] = max(known[Place(finding)] ?? .notice, finding.severity)
        }
        let declared = Set(
            change.events.compactMap { event -> ClientKind? in
                if case .clientSet(let kind, _) = event { kind } else { nil }
            })
        return after.compactMap { finding in
            if known[Place(finding)].map({ $0 < finding.severity }) ?? true { return finding }
            let isTold =
                declared.contains(finding.kind)
                || Self.isAboutSwitches(finding.limit)
                    && engaged.contains { $0.host == nil || finding.host == nil || $0.host == finding.host }
            guard isTold else { return nil }
            // The change does not make it worse.
            var finding = finding
            finding.severity = min(finding.severity, .differs)
            return finding
        }
    }

    /// A kind's limit and its place.
    private struct Place: Hashable {
        var kind: ClientKind
        var limit: ClientLimit
        var host: HostPattern?

        init(_ finding: ClientFinding) {
            self.kind = finding.kind
            self.limit = finding.limit
            self.host = finding.host
        }
    }

    /// Whether the limit keeps a kill switch from reaching installs, or delays it.
    private static func isAboutSwitches(_ limit: ClientLimit) -> Bool {
        switch limit {
        case .killSwitch, .versionKillSwitch, .weeklyUpdate: true
        default: false
        }
    }

    /// Whether nothing may hold up the change: a kill switch, a way back, a reaction to reports, or what installs have already.
    private static func isUrgent(_ change: AppChange) -> Bool {
        ChangeRails.isReaction(change)
            || change.events.allSatisfy { event in
                switch event {
                case .killSwitchEngaged, .versionKillSwitchEngaged, .rolloutPaused, .rolloutRolledBack,
                    .builtInPinsNoted:
                    true
                default: false
                }
            }
    }

    // MARK: Apps without a declaration

    /// No clients are declared.
    private static func undeclared(_ change: AppChange) -> [Finding] {
        change.hosts.compactMap { pattern in
            guard let host = change.after.hosts[pattern] else { return nil }
            let was = change.before?.hosts[pattern]
            let isNewWildcard = was == nil && pattern.isWildcard
            guard isNewWildcard || host.includesSubdomains && was?.includesSubdomains != true else { return nil }
            return .unknown(
                .oldClients, host: pattern,
                "Whether every installed client supports \(isNewWildcard ? "a wildcard" : "subdomains") is unknown: no kind of client is declared for \(change.id).",
                remedy:
                    "Declare the kinds that its installs use: `pinledger client set \(change.id) KIND`. Or add each name as its own host, which all clients support."
            )
        }
    }
}

extension Finding {
    /// The finding of the rail of deployed clients about a limit.
    fileprivate init(_ met: MetLimit, _ severity: GuardRail.Severity) {
        self.init(
            .oldClients, severity, host: met.first.host, pin: met.first.pin, met.detail, remedy: met.first.remedy)
        self.client = met.first.kind
        self.limit = met.first.limit
    }
}
