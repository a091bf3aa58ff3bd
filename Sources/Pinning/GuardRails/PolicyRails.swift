import PinWire

/// The rails that need only the app itself: G01, G02, G04, G05, G13, G41, G42.
enum PolicyRails {
    static func findings(of change: AppChange) -> [Finding] {
        change.arms.flatMap { arm in
            Self.reserve(of: arm, change) + Self.proof(of: arm, change)
        } + Self.arms(of: change) + Self.lifetime(of: change) + Self.placeholders(of: change)
            + Self.sharedKeys(of: change)
    }

    /// G01, and G02 as far as roles show (RFC 7469 section 4.3: an enforced set needs a second pin, of a key that is not in
    /// use yet); ``LiveRails`` adds the probes' part.
    private static func reserve(of arm: AppChange.Arm, _ change: AppChange) -> [Finding] {
        let (pattern, slot) = (arm.pattern, arm.slot)
        // Devices of a removed candidate get another policy, and may lose their reserve by that too.
        let isOwn = change.after.hosts[pattern]?[slot] != nil
        let was = isOwn ? change.before?.hosts[pattern]?[slot] : arm.was
        guard arm.now.mode == .enforce, !arm.now.publishesTheSame(as: was) else { return [] }
        let active = arm.now.activePins.count
        guard !isOwn || active >= 2 else {
            return [
                Finding(
                    .twoPins, host: pattern, policy: slot,
                    "The \(slot.rawValue) of \(pattern) would be enforced with \(active) active pins.",
                    remedy: "Publish the pins of two keys at least, one of them a backup.",
                    refusal: .tooFewPins(pattern, slot, active: active))
            ]
        }
        guard !arm.now.hasActiveReserve, isOwn || was?.hasActiveReserve == true else { return [] }
        var finding = Finding(
            .backupNotServed, host: pattern, policy: slot,
            "The \(slot.rawValue) of \(pattern) has no active backup pin left: if the served key is lost, clients accept no other.",
            remedy: "Publish the pin of a key that is ready and unused, then remove this one."
        )
        if isOwn, was?.mode == .enforce {
            // A policy with a backup may lose the last one with force and a reason.
            finding.refusal = .lastBackupPin(pattern, slot)
        } else if isOwn {
            finding.severity = .block
            finding.refusal = .noBackupPin(pattern, slot)
        }
        return [finding]
    }

    /// G13: at least one of the reserves must be of an uploaded key.
    private static func proof(of arm: AppChange.Arm, _ change: AppChange) -> [Finding] {
        func reserves(_ policy: Policy?) -> Set<Pin> {
            Set(policy?.activePins.filter { $0.role.isReserve }.map(\.pin) ?? [])
        }
        let (was, now) = (reserves(arm.was), reserves(arm.now))
        // A key that a rotation has just replaced was in service, so it exists.
        let replaced = Set(change.advancedRotations.flatMap(\.old))
        func isShown(_ pin: Pin) -> Bool {
            replaced.contains(pin) || change.knowledge(of: pin, at: arm.pattern) != nil
        }
        guard arm.now.mode == .enforce, !now.isEmpty, !now.contains(where: isShown) else { return [] }
        // An existing defect that does not become worse may stay: much was imported from systems that only kept hashes. The way back to what
        // was enforced before is open, too.
        let before = arm.was?.mode == .enforce ? arm.was?.activePins.map(\.pin) ?? [] : arm.was?.lastEnforced ?? []
        let isNew = !now.isSubset(of: before)
        guard isNew || was.contains(where: isShown) else { return [] }
        return [
            Finding(
                .unprovenPin, change.context.isImport ? .warn : .override, host: arm.pattern, policy: arm.slot,
                pin: now.min(),
                "Only hashes are known for the backups of \(arm.pattern): nothing shows that such a key exists.",
                remedy:
                    "Upload the backup's certificate, public key or signing request instead of the hash: `material`."
            )
        ]
    }

    /// G42 where no probe shows which key is served: the arms must at least share a key.
    private static func arms(of change: AppChange) -> [Finding] {
        let changed = Set(change.arms.filter(\.isChanged).map(\.pattern))
        return change.hosts.compactMap { pattern in
            guard let host = change.after.hosts[pattern], let candidate = host.candidate,
                let baseline = host[.baseline],
                candidate.mode == .enforce, baseline.mode == .enforce,
                changed.contains(pattern), !change.observed(of: pattern).isKnown,
                Set(candidate.activePins.map(\.pin)).isDisjoint(with: baseline.activePins.map(\.pin))
            else { return nil }
            return Finding(
                .armWithoutServedKey, .override, host: pattern,
                "Baseline and candidate of \(pattern) share no pin: whichever key is served, devices with one of the two policies refuse it.",
                remedy: "Start the candidate with the baseline's pins (`copy_baseline`), and add the new pins."
            )
        }
    }

    /// G05: how long a client without a new document goes on enforcing.
    private static func lifetime(of change: AppChange) -> [Finding] {
        let after = change.after
        let isNewlyEnforced = change.arms.contains { $0.now.mode == .enforce && $0.was?.mode != .enforce }
        guard change.before?.pinsValidUntil != after.pinsValidUntil || isNewlyEnforced,
            after.hosts.values.contains(where: { $0.enforces })
        else { return [] }
        guard let end = after.pinsValidUntil else {
            return [
                Finding(
                    .boundedLifetime, .warn,
                    "`pins_valid_until` is not set: clients that cannot reach this service never stop enforcing.",
                    remedy: "Set `pins_valid_until` to about thirty days ahead, and extend it with each change."
                )
            ]
        }
        if end <= change.now {
            return [
                Finding(
                    .boundedLifetime, .warn,
                    "Clients stopped enforcing at \(end): the published pins protect no client.",
                    remedy: "Extend `pins_valid_until` to about thirty days ahead."
                )
            ]
        }
        let day: Int64 = 86_400
        if change.now.adding(seconds: 60 * day) < end {
            return [
                Finding(
                    .boundedLifetime,
                    "A client that cannot reach this service would enforce these pins until \(end), more than sixty days.",
                    remedy: "Choose a time within sixty days (RFC 7469 section 4.1), preferably within thirty."
                )
            ]
        }
        guard change.now.adding(seconds: 30 * day) < end else { return [] }
        return [
            Finding(
                .boundedLifetime, .warn,
                "A client that cannot reach this service would enforce these pins until \(end).",
                remedy: "Thirty days are enough for most apps."
            )
        ]
    }

    /// G04 where a pin that is printed in documentation was forced.
    private static func placeholders(of change: AppChange) -> [Finding] {
        change.events.compactMap { event in
            guard case .pinStaged(let pattern, let slot, let pin, _, _) = event else { return nil }
            var finding = CommandRails.placeholder(
                pin, pattern, slot,
                isPresented: change.observed(of: pattern).live.contains { $0.chain.pins.contains(pin) })
            // The command was let through; what is wrong shows only beside the change's new endpoints.
            finding?.refusal = nil
            return finding
        }
    }

    /// G41 across hosts: a backup that another host of the app serves is lost together with it.
    private static func sharedKeys(of change: AppChange) -> [Finding] {
        let staged = change.events.compactMap { event -> (HostPattern, PolicySlot, Pin)? in
            guard case .pinStaged(let pattern, let slot, let pin, let role, _) = event, role.isReserve else {
                return nil
            }
            return (pattern, slot, pin)
        }
        guard !staged.isEmpty else { return [] }
        var serving: [Pin: [HostPattern]] = [:]
        for (pattern, host) in change.after.hosts {
            for (pin, role) in host[.baseline]?.activePins ?? [] where role == .primary {
                serving[pin, default: []].append(pattern)
            }
        }
        return staged.compactMap { pattern, slot, pin in
            guard let other = serving[pin]?.first(where: { $0 != pattern }) else { return nil }
            return Finding(
                .backupIsPrimary, .warn, host: pattern, policy: slot, pin: pin,
                "The backup of \(pattern) is the key that \(other) serves: who loses one loses both.",
                remedy: "Make a key that is used nowhere."
            )
        }
    }
}

extension Host {
    /// Whether devices of any arm enforce.
    var enforces: Bool { PolicySlot.allCases.contains { self[$0]?.mode == .enforce } }
}

extension Policy {
    /// Whether this policy is equal to the other for clients.
    fileprivate func publishesTheSame(as other: Policy?) -> Bool {
        guard let other, self.mode == other.mode else { return false }
        return Dictionary(uniqueKeysWithValues: self.activePins.map { ($0.pin, $0.role) })
            == Dictionary(uniqueKeysWithValues: other.activePins.map { ($0.pin, $0.role) })
    }
}
