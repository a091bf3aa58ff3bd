package import PinWire

/// The progress of a rotation: its phase's conditions, and the obstacles to the next one.
package struct RotationProgress: Hashable, Sendable {
    /// One condition.
    package struct Wait: Hashable, Sendable {
        /// The condition, as a clause: `clients have the next key`.
        package var what: String
        /// Nil where it is unknown.
        package var isMet: Bool?
        /// The progress, as a sentence.
        package var detail: String
        /// When time alone will have met it; nil where it does not.
        package var until: Timestamp?
    }

    package var rotation: Rotation
    package var waits: [Wait]
    /// What to do now, as a sentence.
    package var advice: String
    /// The command that ends the phase; nil when it is over.
    package var nextPhase: Rotation.Phase?
    /// The guard rails' present findings about that: what goes wrong if it is forced.
    package var findings: [Finding]
    /// Why the next phase is impossible, even with force; nil where it is possible.
    package var obstacle: Refusal?
    /// Services of its hosts at which clients are locked out now, as far as probes have seen.
    package var lockOuts: [AttentionItem] = []

    /// The command that ends the phase, whole.
    func advanceCommand(of app: AppID) -> String {
        "pinledger rotation advance \(app) \(self.rotation.id) --from \(self.rotation.phase.rawValue) --reason \"\(self.rotation.phase.reason)\""
    }

    /// Whether the next phase can begin without force.
    package var isReady: Bool {
        self.nextPhase != nil && self.obstacle == nil && !self.findings.contains { $0.severity != .warn }
    }
}

extension LedgerState {
    /// The progress of an app's rotation.
    ///
    /// - Parameter context: The present facts; its reason and force are not used.
    package func progress(
        of id: String, app: AppID, in context: DecisionContext
    ) throws(Refusal) -> RotationProgress {
        guard let state = self.apps[app] else { throw .appUnknown(app) }
        guard let rotation = state.rotation(id) else { throw .rotationUnknown(id) }
        var progress = RotationProgress(
            rotation: rotation, waits: [], advice: rotation.advice, nextPhase: rotation.phase.next(in: rotation.kind),
            findings: [], obstacle: nil
        )
        guard !rotation.phase.isOver else { return progress }
        progress.waits = state.waits(of: rotation, versionOffset: self.fleet.versionOffset, in: context)
        // Evaluated like the real command: with a reason, and without force.
        var asking = context
        asking.isForced = false
        asking.reason = Reason(recorded: "to see what would happen")
        do {
            progress.findings = try self.decide(.app(app, [.advanceRotation(id, from: rotation.phase)]), in: asking)
                .findings
        } catch .guarded(let findings) {
            progress.findings = findings
        } catch {
            progress.obstacle = error
        }
        progress.lockOuts = rotation.hosts.flatMap { pattern in
            state.hosts[pattern]?.lockOuts(of: pattern, state, in: context).map { item in
                var item = item
                item.host = pattern
                return item
            } ?? []
        }
        progress.showWhatIsMissing()
        return progress
    }
}

extension RotationProgress {
    /// Adds a condition for each finding that refuses the step, where all other conditions seem to be met, so that "not
    /// ready" has a visible cause.
    fileprivate mutating func showWhatIsMissing() {
        guard self.nextPhase != nil, self.obstacle == nil, self.waits.allSatisfy({ $0.isMet == true }) else { return }
        for finding in self.findings where finding.severity != .warn {
            self.waits.append(
                Wait(
                    what: "\(finding.rail.code) (\(finding.rail.entry.title)) has nothing against it",
                    isMet: finding.verdict == .violated ? false : nil, detail: finding.detail, until: nil))
        }
    }
}

extension Rotation.Phase {
    /// The reason for the end of the phase, for the command that ends it.
    fileprivate var reason: String {
        switch self {
        case .deliver: "clients have the next key"
        case .switch: "the servers present the next key"
        case .settle: "the next key has proved itself"
        case .cleanUp: "no client relies on the old key"
        case .done, .aborted: ""
        }
    }
}

extension Rotation {
    /// The operator's task in this phase.
    fileprivate var advice: String {
        switch self.phase {
        case .deliver: "Leave the servers as they are until clients have the next key; then advance to switch."
        case .switch: "Replace the key on every server now; when probes see the next one everywhere, advance."
        case .settle:
            "Keep the next key on the servers; once it has been served long enough, advance to retire the old one."
        case .cleanUp: "Keep the old private key until the last document with its pin is stale; then advance to finish."
        case .done: "Nothing is left to do: the old key can be destroyed."
        case .aborted: "Nothing is left to do: start another rotation once the cause is resolved."
        }
    }
}

extension ClientCheck {
    /// The condition that installs with built-in pins have a rotation's next key, which no time meets.
    fileprivate func wait(for rotation: Rotation) -> RotationProgress.Wait {
        var isMet: Bool? = true
        var detail = "each file that they are known to have has it"
        for pattern in rotation.hosts {
            switch self.reach(of: rotation, at: pattern) {
            case .reached: continue
            case .lockedOut(let file): (isMet, detail) = (false, self.sentence(about: rotation, at: pattern, file))
            case .unknown where isMet == true:
                (isMet, detail) = (nil, self.sentence(about: rotation, at: pattern, nil))
            case .unknown: continue
            }
        }
        return .init(
            what: "installs of \(self.title) have the next key built in", isMet: isMet, detail: detail, until: nil)
    }
}

extension App {
    fileprivate func waits(
        of rotation: Rotation, versionOffset: Int64, in context: DecisionContext
    ) -> [RotationProgress.Wait] {
        let (facts, now) = (context.facts, context.now)
        func delivered() -> RotationProgress.Wait {
            guard
                let delivery = self.delivery(
                    of: rotation.next, hosts: rotation.hosts, goals: rotation.goals, versionOffset: versionOffset, facts
                )
            else {
                return .init(
                    what: "clients have the next key", isMet: false,
                    detail: "the key is no longer published for every host", until: nil)
            }
            return .init(
                what: "clients have the next key", isMet: delivery.isEnough(at: now),
                detail: delivery.sentence(at: now), until: max(delivery.sufficientAt, delivery.earliestAt)
            )
        }
        func seen() -> [RotationProgress.Wait] {
            rotation.hosts.filter { self.hosts[$0] != nil }.map { pattern in
                let (sighting, detail) = self.sighting(of: rotation.next, at: pattern, facts, now)
                let isMet: Bool? =
                    switch sighting {
                    case .servedNow: true
                    case .servedBefore, .neverSeen: false
                    case .unknown: nil
                    }
                return .init(what: "\(pattern) presents the next key", isMet: isMet, detail: detail, until: nil)
            }
        }
        func builtIn() -> [RotationProgress.Wait] {
            self.clientChecks(in: context).sorted { $0.key < $1.key }.filter { !$0.value.profile.isServed }
                .map { _, check in check.wait(for: rotation) }
        }
        switch rotation.phase {
        case .deliver: return [delivered()] + builtIn()
        case .switch: return seen() + builtIn()
        case .settle:
            let until = rotation.phaseSince.adding(seconds: rotation.goals.settling)
            let settled = RotationProgress.Wait(
                what: "the next key has proved itself", isMet: until <= now,
                detail:
                    "it has been the primary since \(rotation.phaseSince), and must be for \(rotation.goals.settling) seconds",
                until: until
            )
            return seen() + [settled, delivered()]
        case .cleanUp:
            let until = rotation.staleAt(facts)
            return [
                .init(
                    what: "no client relies on the old key", isMet: until <= now,
                    detail: "its pin has been out of the documents since \(rotation.phaseSince)", until: until)
            ]
        case .done, .aborted: return []
        }
    }

    /// Whether every service of a host presents a key, with the observations as a sentence.
    package func sighting(
        of pin: Pin, at pattern: HostPattern, _ facts: ExternalFacts, _ now: Timestamp
    ) -> (Sighting, detail: String) {
        let endpoints = self.hosts[pattern]?.probed(of: pattern) ?? []
        guard !endpoints.isEmpty else { return (.unknown, "no endpoint is set to be probed") }
        var detail: [String] = []
        var all = true
        var seenBefore = false
        for endpoint in endpoints {
            guard let known = facts.endpoint(endpoint), !known.chains.isEmpty else {
                return (.unknown, "no probe has seen \(endpoint)")
            }
            let live = known.live(at: now)
            guard !live.isEmpty else { return (.unknown, "no probe has seen \(endpoint) within a day") }
            let with = live.count { $0.pins.contains(pin) }
            all = all && with == live.count
            seenBefore = seenBefore || known.chains.contains { $0.pins.contains(pin) }
            detail.append("\(endpoint): \(with) of \(live.count) chains served now")
        }
        return (all ? .servedNow : seenBefore ? .servedBefore : .neverSeen, detail.joined(separator: "; "))
    }
}

extension RotationProgress {
    package func json(of app: AppID) -> JSON {
        guard case .object(var members) = self.rotation.json else { return .null }
        members["waits_for"] = .array(
            self.waits.map { wait in
                .members([
                    "what": .string(wait.what),
                    "met": .string(wait.isMet.map { $0 ? "yes" : "no" } ?? "unknown"),
                    "detail": .string(wait.detail),
                    "until": wait.until.map { .string($0.rfc3339) },
                ])
            }
        )
        members["advice"] = .string(self.advice)
        members["next_phase"] = self.nextPhase.map { .string($0.rawValue) }
        members["ready"] = .bool(self.isReady)
        members["findings"] = .array(self.findings.map(\.json))
        if self.nextPhase != nil { members["command"] = .string(self.advanceCommand(of: app)) }
        if !self.lockOuts.isEmpty { members["locked_out"] = .array(self.lockOuts.map(\.json)) }
        return .object(members)
    }
}
