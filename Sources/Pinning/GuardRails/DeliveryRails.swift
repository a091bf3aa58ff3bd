import PinWire

/// The rails about the documents that clients hold: G10, G11, G34, G43.
enum DeliveryRails {
    static func findings(of change: AppChange) -> [Finding] {
        var findings: [Finding] = []
        for event in change.events {
            switch event {
            case .rotationAdvanced(let id, let phase):
                guard let rotation = change.rotation(id) else { continue }
                findings += Self.advance(rotation, to: phase, change)
            case .rotationStarted(let rotation):
                findings += Self.goals(of: rotation, change) + Self.remainder(of: rotation, change)
                if rotation.kind == .emergency { findings += Self.emergency(rotation, change) }
            case .pinRoleSet(let pattern, _, let pin, .primary):
                // A role alone changes nothing for clients: its statement about the server should be true.
                if change.before?.openRotation(of: pattern)?.next != pin {
                    findings += Self.delivered(pin, [pattern], Rotation.Goals(for: change.facts), .warn, change)
                }
            case .hostRemoved(let pattern): findings += Self.removal(pattern, change)
            default: break
            }
        }
        return findings + change.arms.flatMap { Self.retirement($0, change) + Self.beginning($0, change) }
    }

    // MARK: Rotations

    private static func advance(_ rotation: Rotation, to phase: Rotation.Phase, _ change: AppChange)
        -> [Finding]
    {
        switch phase {
        case .switch: Self.delivered(rotation.next, rotation.hosts, rotation.goals, .override, change)
        case .settle: Self.seen(rotation, change)
        case .cleanUp where rotation.kind == .emergency: Self.seen(rotation, change)
        case .cleanUp: Self.seen(rotation, change) + Self.settled(rotation, change)
        case .done where rotation.kind == .planned: Self.ended(rotation, change)
        case .deliver, .done, .aborted: []
        }
    }

    /// G10 and G11 for a rotation whose own goals ask for less than is safe: those goals are the later condition of
    /// these rails.
    private static func goals(of rotation: Rotation, _ change: AppChange) -> [Finding] {
        let (goals, safe) = (rotation.goals, Rotation.Goals(for: change.facts))
        var findings: [Finding] = []
        if rotation.kind == .planned, goals.adoption < safe.adoption || goals.minimumWait < safe.minimumWait {
            findings.append(
                Finding(
                    .notDelivered, .warn, host: rotation.hosts.first, pin: rotation.next,
                    "This rotation considers the key delivered once \(goals.adoption / 100) % of clients have it, after \(goals.minimumWait) seconds at the earliest: all other clients would refuse a server that presents it.",
                    remedy:
                        "Set \(safe.adoption / 100) % and \(safe.minimumWait) seconds, the defaults."
                )
            )
        }
        if rotation.kind == .planned, goals.settling < safe.settling {
            findings.append(
                Finding(
                    .oldKeyTooSoon, .warn, host: rotation.hosts.first, pin: rotation.old.first,
                    "This rotation gives up the old key once the next one has been served for \(goals.settling) seconds: if the server returns to the old key after that, clients refuse it.",
                    remedy: "Set \(safe.settling) seconds, the default."
                )
            )
        }
        return findings
    }

    /// G02 for the result of a rotation.
    private static func remainder(of rotation: Rotation, _ change: AppChange) -> [Finding] {
        let lone = change.after.policies(of: rotation).first { _, _, policy in
            policy.mode == .enforce
                && !policy.activePins.contains { $0.pin != rotation.next && !rotation.old.contains($0.pin) }
        }
        guard let lone else { return [] }
        return [
            Finding(
                .backupNotServed, .warn, host: lone.pattern, policy: lone.slot, pin: rotation.next,
                "Without the old key, the next one is the only pin of \(lone.pattern): the rotation cannot reach its phase clean_up.",
                remedy: "Add another backup pin before then: `pinledger pin add \(change.id) \(lone.pattern) FILE`."
            )
        ]
    }

    /// G11 for the end of a rotation: the old key can be destroyed only when no valid document has its pin any more.
    private static func ended(_ rotation: Rotation, _ change: AppChange) -> [Finding] {
        let until = rotation.staleAt(change.facts)
        guard change.now < until else { return [] }
        return [
            Finding(
                .oldKeyTooSoon, host: rotation.hosts.first, pin: rotation.old.first,
                "The last document with the old key's pin becomes stale at \(until): until then the old key may still be needed.",
                remedy: "Wait until then, and keep the old private key."
            )
        ]
    }

    /// G10: whether clients have the key.
    private static func delivered(
        _ pin: Pin, _ hosts: [HostPattern], _ goals: Rotation.Goals, _ severity: GuardRail.Severity,
        _ change: AppChange
    ) -> [Finding] {
        // Not even where the policy is off today: clients may hold a document in which it was not.
        guard let app = change.before, hosts.contains(where: { app.hosts[$0] != nil }) else { return [] }
        guard
            let delivery = app.delivery(
                of: pin, hosts: hosts, goals: goals, versionOffset: change.versionOffset, change.facts)
        else {
            return [
                Finding(
                    .notDelivered, severity, host: hosts.first, pin: pin,
                    "The key is not published for all of \(hosts.map(\.text).joined(separator: ", ")), so clients cannot have it.",
                    remedy: "Publish its pin as an active backup first."
                )
            ]
        }
        guard !delivery.isEnough(at: change.now) else { return [] }
        return [
            Finding(
                .notDelivered, severity, host: hosts.first, pin: pin,
                "Clients that do not have the key's pin yet would refuse a server that presents it: \(delivery.sentence(at: change.now)).",
                remedy:
                    "Wait. `pinledger rotation status \(change.id)` and `pinledger app adoption \(change.id)` show the progress."
            )
        ]
    }

    /// G43: whether every service presents the next key.
    private static func seen(_ rotation: Rotation, _ change: AppChange) -> [Finding] {
        rotation.hosts.flatMap { pattern -> [Finding] in
            guard change.after.hosts[pattern] != nil else { return [] }
            let observed = change.observed(of: pattern)
            var findings: [Finding] = []
            if !observed.isComplete {
                findings.append(
                    .unknown(
                        .notSeenServed, .override, host: pattern, pin: rotation.next,
                        "Whether \(pattern) presents the next key is unknown: \(observed.gap(of: pattern)).",
                        remedy:
                            "\(observed.remedy(for: pattern)) If you have checked it yourself, force the change and say so in the reason."
                    )
                )
            }
            if let miss = observed.live.first(where: { !$0.chain.pins.contains(rotation.next) }) {
                findings.append(
                    Finding(
                        .notSeenServed, host: pattern, pin: rotation.next,
                        "\(miss.endpoint) at \(miss.chain.address) presents \(miss.chain.pins.first.map { "\($0)" } ?? "no key"), not the next key.",
                        remedy: "Change the key there, then probe again: `pinledger probe \(miss.endpoint)`."
                    )
                )
            }
            return findings
        }
    }

    /// G11 for a rotation: the next key has been served for the required time.
    private static func settled(_ rotation: Rotation, _ change: AppChange) -> [Finding] {
        var findings = Self.delivered(rotation.next, rotation.hosts, rotation.goals, .override, change).map {
            Self.renamed($0, .oldKeyTooSoon)
        }
        // A phase that began with this very change has not lasted.
        let until = (rotation.phase == .settle ? rotation.phaseSince : change.now)
            .adding(seconds: rotation.goals.settling)
        let seenSince = rotation.hosts.flatMap { pattern in
            let observed = change.observed(of: pattern)
            return observed.live.filter { $0.chain.pins.contains(rotation.next) }
                .map { observed.steadySince(rotation.next, $0.endpoint, $0.chain) }
        }.max()
        let ready = max(until, seenSince?.adding(seconds: rotation.goals.settling) ?? until)
        if change.now < ready {
            findings.append(
                Finding(
                    .oldKeyTooSoon, host: rotation.hosts.first, pin: rotation.old.first,
                    "The next key must be served for \(rotation.goals.settling) seconds, until \(ready): if the server returned to the old key now, clients would refuse it.",
                    remedy: "Wait until then."
                )
            )
        }
        return findings
    }

    /// G10 for an emergency: it waits for nothing, and the finding must be known all the same.
    private static func emergency(_ rotation: Rotation, _ change: AppChange) -> [Finding] {
        guard
            let delivery = change.after.delivery(
                of: rotation.next, hosts: rotation.hosts, goals: rotation.goals, versionOffset: change.versionOffset,
                change.facts)
        else {
            // It was removed again by the same change that began with it.
            return Self.delivered(rotation.next, rotation.hosts, rotation.goals, .override, change)
        }
        guard !delivery.isEnough(at: change.now) else { return [] }
        return [
            Finding(
                .notDelivered, .warn, host: rotation.hosts.first, pin: rotation.next,
                "If the server's key changes now, clients refuse it until they have fetched the new document: \(delivery.sentence(at: change.now)).",
                remedy:
                    "Weigh this against the compromise. `pinledger kill engage \(change.id) --reason WHY` lets \(Self.whom(change)) connect meanwhile, even to an attacker."
            )
        ]
    }

    /// The clients that a kill switch reaches, as an object: not those whose installs go on with the pins they have.
    private static func whom(_ change: AppChange) -> String {
        let deaf = change.after.clients.filter { !$0.key.profile($0.value.settings).canTurnOff }.keys.sorted()
        guard !deaf.isEmpty else { return "all clients" }
        return
            "all clients except installs of the kinds \(deaf.map(\.rawValue).joined(separator: ", ")), which no kill switch reaches,"
    }

    // MARK: Without a rotation

    /// G11: a pin that was in service goes only when its served successor has proved itself.
    private static func retirement(_ arm: AppChange.Arm, _ change: AppChange) -> [Finding] {
        guard arm.now.mode != .off, arm.was?.mode != .off, !arm.removed.isEmpty else { return [] }
        // A rotation's finding covers its old keys.
        let rotated = Set(change.advancedRotations.flatMap(\.old))
        let observed = change.observed(of: arm.pattern)
        return arm.removed.filter { !rotated.contains($0) }.compactMap { pin -> Finding? in
            let wasPrimary = arm.was?.pins[pin]?.role == .primary
            let wasServed = observed.seen.values.contains { $0.contains { $0.pins.contains(pin) } }
            guard wasPrimary || wasServed else { return nil }
            guard observed.isKnown else {
                return .unknown(
                    .oldKeyTooSoon, host: arm.pattern, pin: pin,
                    "Which key \(arm.pattern) presents instead of this one, and since when, is unknown.",
                    remedy:
                        "\(observed.remedy(for: arm.pattern)) Or use a rotation: `pinledger rotation start \(change.id) \(arm.pattern) --next FILE`."
                )
            }
            let goals = Rotation.Goals(for: change.facts)
            for (endpoint, chain) in observed.live {
                let matching = arm.activePins.intersection(chain.pins)
                let since = matching.map { observed.steadySince($0, endpoint, chain) }.min() ?? chain.firstSeen
                let proved = matching.contains { match in
                    let delivery = change.before?.delivery(
                        of: match, hosts: [arm.pattern], goals: goals, versionOffset: change.versionOffset, change.facts
                    )
                    return observed.steadySince(match, endpoint, chain).adding(seconds: goals.settling) <= change.now
                        && delivery?.isEnough(at: change.now) == true
                }
                guard !proved, !matching.isEmpty else { continue }
                return Finding(
                    .oldKeyTooSoon, arm.now.mode == .enforce ? .override : .warn, host: arm.pattern, policy: arm.slot,
                    pin: pin,
                    "\(endpoint) presents another key only since \(since), or not all clients have that key's pin: if the server returned to the old key, clients would refuse it.",
                    remedy:
                        "Keep the old pin until the new key has been served for a day and \(goals.adoption / 100) % of clients have it."
                )
            }
            return nil
        }
    }

    /// G11 where enforcing begins: the key that a server has just replaced is among the pins, or it is too early.
    private static func beginning(_ arm: AppChange.Arm, _ change: AppChange) -> [Finding] {
        guard arm.now.mode == .enforce, arm.was?.mode != .enforce else { return [] }
        let observed = change.observed(of: arm.pattern)
        let settling = Rotation.Goals(for: change.facts).settling
        let pins = arm.activePins
        var named: Set<[Pin]> = []
        return observed.live.compactMap { endpoint, chain in
            let matching = pins.intersection(chain.pins)
            guard let since = matching.map({ observed.steadySince($0, endpoint, chain) }).min(),
                change.now < since.adding(seconds: settling),
                let last = observed.earlier(endpoint, chain).max(by: { $0.lastSeen < $1.lastSeen }),
                pins.isDisjoint(with: last.pins), named.insert(last.pins).inserted
            else { return nil }
            return Finding(
                .oldKeyTooSoon, host: arm.pattern, policy: arm.slot, pin: last.pins.first,
                "\(endpoint) at \(chain.address) presents another key only since \(since), and the \(arm.slot.rawValue) has no pin of the previous one: if the server returned to it, clients would refuse it.",
                remedy:
                    "Wait until the new key has been served for a day. Only if the old key is yours and the server may return to it, publish its pin too."
            )
        }
    }

    /// G34.
    private static func removal(_ pattern: HostPattern, _ change: AppChange) -> [Finding] {
        guard let was = change.before?.hosts[pattern], was.enforces else { return [] }
        guard let claims = change.facts.claims(change.id), claims.sightings > 0 else {
            return [
                .unknown(
                    .removalWhileInUse, host: pattern, "Whether clients still fetch this app's document is unknown.",
                    remedy: "Check `pinledger app adoption \(change.id)`."
                )
            ]
        }
        return [
            Finding(
                .removalWhileInUse, host: pattern,
                "Clients have recently fetched this app's document: without the host they connect to \(pattern) unpinned.",
                remedy: "Set its mode to report_only or off first, and remove it once no client fetches the document."
            )
        ]
    }

    private static func renamed(_ finding: Finding, _ rail: GuardRail) -> Finding {
        var finding = finding
        finding.rail = rail
        return finding
    }
}
