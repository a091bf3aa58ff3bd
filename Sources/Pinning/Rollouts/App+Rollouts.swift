package import PinWire

// The events of commands about rollouts and their plans. A place is a host's candidate, or nil for the whole app.

extension App {
    /// The rollout of a place; nil where it lets all devices in.
    package func rollout(of pattern: HostPattern?) -> Rollout? {
        pattern.map { self.hosts[$0]?.rollout } ?? self.rollout
    }

    /// The plan of a place, also one that is over; nil where there is none.
    package func plan(of pattern: HostPattern?) -> RolloutPlan? {
        pattern.map { self.hosts[$0]?.plan } ?? self.plan
    }

    /// Since when a place stands rolled back; nil where it does not.
    package func rolledBackAt(of pattern: HostPattern?) -> Timestamp? {
        pattern.map { self.hosts[$0]?.rolledBackAt } ?? self.rolledBackAt
    }

    /// The places with plans, also those that are over: the app's first, then hosts in order.
    package var plannedPlaces: [HostPattern?] {
        (self.plan == nil ? [] : [nil]) + self.hosts.filter { $0.value.plan != nil }.map(\.key).sorted()
    }

    func decide(_ command: RolloutCommand, of pattern: HostPattern?, in context: DecisionContext) throws(Refusal)
        -> [AppEvent]
    {
        if let pattern, self.hosts[pattern] == nil { throw .hostUnknown(pattern) }
        switch command {
        case .setPlan(let terms): return try self.setPlan(terms, of: pattern, in: context)
        case .clearPlan:
            guard self.plan(of: pattern) != nil else { throw .rolloutPlanUnknown(pattern) }
            return [.rolloutPlanCleared(pattern)]
        case .pause(let cause, let detail):
            let plan = try self.planUnderWay(of: pattern)
            guard plan.pause == nil else { return [] }
            return [.rolloutPaused(pattern, cause, detail: Self.words(detail, context))]
        case .resume:
            return try self.isStopped(self.planUnderWay(of: pattern), pattern, in: context)
                ? [.rolloutResumed(pattern)] : []
        case .advance(let step): return try self.approve(step, of: pattern)
        case .jump(let number): return try self.jump(to: number, of: pattern, in: context)
        case .rollBack(let cause, let detail):
            if let pattern, self.hosts[pattern]?.candidate == nil { throw .candidateMissing(pattern) }
            guard self.rolledBackAt(of: pattern) == nil else { return [] }
            return [.rolloutRolledBack(pattern, cause, detail: Self.words(detail, context))]
        case .drive: return try self.drive(pattern, in: context)
        }
    }

    /// The text of a pause, or the reason of its command, cut to the kept length.
    private static func words(_ detail: String?, _ context: DecisionContext) -> String? {
        guard let text = detail ?? context.reason?.text else { return nil }
        guard text.unicodeScalars.count > RolloutPlan.detailLimit else { return text }
        var cut = String.UnicodeScalarView()
        cut.append(contentsOf: text.unicodeScalars.prefix(RolloutPlan.detailLimit - 1))
        return String(cut) + "…"
    }

    private func planUnderWay(of pattern: HostPattern?) throws(Refusal) -> RolloutPlan {
        guard let plan = self.plan(of: pattern) else { throw .rolloutPlanUnknown(pattern) }
        guard plan.isUnderWay else { throw .rolloutPlanState(pattern, .over(plan.phase)) }
        return plan
    }

    /// Whether a plan is paused, or reports hold it at its step: in the shadow nothing pauses it.
    private func isStopped(_ plan: RolloutPlan, _ pattern: HostPattern?, in context: DecisionContext) -> Bool {
        plan.pause != nil || self.doubt(of: pattern, in: context) != nil
    }

    /// A new plan, in place of an existing one. Without a time it begins at once.
    private func setPlan(
        _ terms: RolloutPlan.Terms, of pattern: HostPattern?, in context: DecisionContext
    ) throws(Refusal) -> [AppEvent] {
        if let pattern, self.hosts[pattern]?.candidate == nil { throw .candidateMissing(pattern) }
        if let plan = self.plan(of: pattern), plan.isUnderWay, plan.terms == terms { return [] }
        guard let first = terms.steps.first else { throw .rolloutPlanState(pattern, .noStep(1, of: 0)) }
        guard let rollout = self.rollout(of: pattern) else { throw .rolloutUnplannable(pattern, .everybodyIsIn) }
        guard rollout.method != .whitelist else { throw .rolloutUnplannable(pattern, .listed) }
        guard rollout.basisPoints <= first.basisPoints else {
            throw .rolloutUnplannable(pattern, .beyond(rollout.basisPoints, first: first.basisPoints))
        }
        if rollout.bucketing == .unleash, terms.steps.contains(where: { $0.basisPoints % 100 != 0 }) {
            throw .rolloutUnplannable(pattern, .wholePercentages)
        }
        guard pattern != nil || terms.ending == .stay else { throw .rolloutUnplannable(pattern, .nothingToPromote) }
        guard let start = terms.startsAt else {
            return [
                .rolloutPlanSet(pattern, terms), .rolloutStepTaken(pattern, step: 1, basisPoints: first.basisPoints),
            ]
        }
        guard context.now < start else { throw .expiryNotAhead(start) }
        let limit = context.now.adding(seconds: RolloutPlan.longestWait)
        guard start <= limit else { throw .expiryTooFar(start, limit: limit) }
        return [.rolloutPlanSet(pattern, terms)]
    }

    private func approve(_ step: Int?, of pattern: HostPattern?) throws(Refusal) -> [AppEvent] {
        let plan = try self.planUnderWay(of: pattern)
        guard plan.pause == nil else { throw .rolloutPlanState(pattern, .paused) }
        guard case .running(let current) = plan.phase else { throw .rolloutPlanState(pattern, .atNoStep(plan.phase)) }
        guard step ?? current == current else { throw .rolloutPlanState(pattern, .otherStep(current)) }
        guard plan.step(current)?.hold.needsApproval == true else {
            throw .rolloutPlanState(pattern, .noApproval(current))
        }
        return plan.isApproved ? [] : [.rolloutStepApproved(pattern, step: current)]
    }

    private func jump(
        to number: Int, of pattern: HostPattern?, in context: DecisionContext
    ) throws(Refusal) -> [AppEvent] {
        let plan = try self.planUnderWay(of: pattern)
        guard let step = plan.step(number) else {
            throw .rolloutPlanState(pattern, .noStep(number, of: plan.terms.steps.count))
        }
        let resumed: [AppEvent] = self.isStopped(plan, pattern, in: context) ? [.rolloutResumed(pattern)] : []
        return resumed + [.rolloutStepTaken(pattern, step: number, basisPoints: step.basisPoints)]
    }

    /// The due events, which may be none.
    private func drive(_ pattern: HostPattern?, in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        guard let move = self.dueMove(of: pattern, in: context), let plan = self.plan(of: pattern) else { return [] }
        switch move {
        case .take(let number, let basisPoints):
            return [.rolloutStepTaken(pattern, step: number, basisPoints: basisPoints)]
        case .bake: return [.rolloutBakeStarted(pattern)]
        case .finish:
            guard plan.terms.ending == .promote, let pattern else { return [.rolloutPlanFinished(pattern)] }
            return [.rolloutPlanFinished(pattern)] + (try self.promotion(of: pattern))
        case .extend(let step, _): return [.rolloutStepExtended(pattern, step: step)]
        case .conclude(let step, let installs):
            return [.rolloutSampleReached(pattern, step: step, installs: installs)]
        case .giveUp(_, let detail):
            switch plan.terms.onInconclusive {
            case .hold: return [.rolloutPaused(pattern, .inconclusive, detail: detail)]
            case .revert: return [.rolloutRolledBack(pattern, .inconclusive, detail: detail)]
            }
        }
    }

    /// The candidate in the baseline's place.
    func promotion(of pattern: HostPattern) throws(Refusal) -> [AppEvent] {
        guard let host = self.hosts[pattern] else { throw .hostUnknown(pattern) }
        guard let candidate = host.candidate else { throw .candidateMissing(pattern) }
        if let time = host.rolledBackAt { throw .rolloutRolledBack(pattern, since: time) }
        let revoked = candidate.activePins.map(\.pin).filter(self.revokedPins.contains).min()
        if let revoked { throw .pinRevoked(revoked) }
        return [.candidatePromoted(pattern)]
    }

    /// An edit by hand. A plan that is under way alone sets a rollout's share.
    ///
    /// Lists hold hashed ids, and a hash under a past salt matches no id: where each edit makes a new salt, the rollout
    /// has to bring its own.
    func setRollout(_ rollout: Rollout?, of pattern: HostPattern?) throws(Refusal) -> [AppEvent] {
        let now = self.rollout(of: pattern)
        // Texts may count as equal without having the same bytes, and the bytes are hashed.
        guard rollout != now || rollout?.salt.map({ Array($0.utf8) }) != now?.salt.map({ Array($0.utf8) }) else {
            return []
        }
        if let rollout, !rollout.isSticky, rollout.salt == nil, !(rollout.whitelist + rollout.exclusions).isEmpty {
            throw .rolloutWithoutSalt(pattern)
        }
        if self.plan(of: pattern)?.isUnderWay == true {
            // The listed ids may change all the same.
            guard var same = rollout, let now else { throw .rolloutPlanned(pattern) }
            same.countries = now.countries
            same.whitelist = now.whitelist
            same.exclusions = now.exclusions
            guard same == now else { throw .rolloutPlanned(pattern) }
        }
        return pattern.map { [.hostRolloutSet($0, rollout)] } ?? [.appRolloutSet(rollout)]
    }
}

extension App {
    /// Takes in an event about a rollout, recorded at `time`. Total, as ``evolve(_:at:)`` is.
    mutating func evolve(rollout event: AppEvent, at time: Timestamp) {
        switch event {
        case .rolloutPlanSet(let pattern, let terms): self.put(RolloutPlan(terms, setAt: time), at: pattern)
        case .rolloutPlanCleared(let pattern): self.put(nil, at: pattern)
        case .rolloutStepTaken(let pattern, let step, let basisPoints):
            // Not an edit: the devices of a rollout that is not sticky are not drawn again with each step.
            self.change(pattern) { $0.basisPoints = basisPoints }
            self.setRolledBack(nil, at: pattern)
            self.changePlan(pattern) { $0.take(step, at: time) }
        case .rolloutStepApproved(let pattern, _): self.changePlan(pattern) { $0.isApproved = true }
        case .rolloutStepExtended(let pattern, _): self.changePlan(pattern) { $0.isExtended = true }
        case .rolloutSampleReached(let pattern, _, _): self.changePlan(pattern) { $0.sampledAt = time }
        case .rolloutBakeStarted(let pattern): self.changePlan(pattern) { $0.enter(.baking, at: time) }
        case .rolloutPlanFinished(let pattern): self.changePlan(pattern) { $0.enter(.done, at: time) }
        case .rolloutPaused(let pattern, let cause, let detail):
            self.changePlan(pattern) { $0.pause = RolloutPlan.Pause(cause: cause, detail: detail, since: time) }
        case .rolloutResumed(let pattern): self.changePlan(pattern) { $0.resume(at: time) }
        case .rolloutRolledBack(let pattern, _, _):
            self.change(pattern) { rollout in
                rollout.basisPoints = 0
                rollout.whitelist = []
            }
            self.setRolledBack(time, at: pattern)
            self.changePlan(pattern) { if !$0.phase.isOver { $0.enter(.rolledBack, at: time) } }
        default: break
        }
    }

    private mutating func put(_ plan: RolloutPlan?, at pattern: HostPattern?) {
        if let pattern { self.hosts[pattern]?.plan = plan } else { self.plan = plan }
    }

    private mutating func setRolledBack(_ time: Timestamp?, at pattern: HostPattern?) {
        if let pattern { self.hosts[pattern]?.rolledBackAt = time } else { self.rolledBackAt = time }
    }

    /// Changes a rollout; creates one where there is none, so that all devices are in.
    private mutating func change(_ pattern: HostPattern?, _ change: (inout Rollout) -> Void) {
        var rollout = self.rollout(of: pattern) ?? Rollout(basisPoints: 10_000)
        change(&rollout)
        if let pattern { self.hosts[pattern]?.rollout = rollout } else { self.rollout = rollout }
    }

    private mutating func changePlan(_ pattern: HostPattern?, _ change: (inout RolloutPlan) -> Void) {
        guard var plan = self.plan(of: pattern) else { return }
        change(&plan)
        self.put(plan, at: pattern)
    }
}
