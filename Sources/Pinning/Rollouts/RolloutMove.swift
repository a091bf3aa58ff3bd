package import PinWire

/// What a plan does next by itself.
package enum RolloutMove: Hashable, Sendable {
    case take(step: Int, basisPoints: Int)
    /// Leaves the last step alone for the time that was set.
    case bake
    /// Is over, with the promotion where that was wanted.
    case finish
    /// Waits once more as long for a step's installs.
    case extend(step: Int, detail: String)
    /// Concludes nothing from a step, for want of installs.
    case giveUp(step: Int, detail: String)
}

extension App {
    /// What a plan does by itself now; nil where it waits, or there is none.
    ///
    /// Reports that are missing are no good sign: a step that asks for installs does not end without them.
    package func dueMove(of pattern: HostPattern?, in context: DecisionContext) -> RolloutMove? {
        guard let plan = self.plan(of: pattern), plan.isUnderWay, plan.pause == nil,
            self.switchInForce(over: pattern, at: context.now) == nil,
            !self.isDoubted(pattern, in: context)
        else { return nil }
        let waits = self.waits(of: plan, pattern, in: context)
        guard waits.allSatisfy({ $0.isMet == true }) else {
            guard case .running(let step) = plan.phase, let hold = plan.step(step)?.hold,
                let sample = self.sample(of: plan, pattern, in: context), sample.isMet == false,
                plan.sampleDeadline(hold) <= context.now
            else { return nil }
            return plan.isExtended
                ? .giveUp(step: step, detail: "Step \(step): \(sample.detail)")
                : .extend(step: step, detail: sample.detail)
        }
        return self.nextMove(of: plan)
    }

    /// Whether clients report of a candidate what speaks against letting more devices have it, be it in the shadow.
    private func isDoubted(_ pattern: HostPattern?, in context: DecisionContext) -> Bool {
        self.verdicts(in: context).contains { verdict in
            verdict.step >= .hold && verdict.evidence.arm == .candidate
                && (pattern == nil || verdict.evidence.host == pattern)
        }
    }

    /// What comes after what a plan waits for now; nil after its end.
    package func nextMove(of plan: RolloutPlan) -> RolloutMove? {
        switch plan.phase {
        case .scheduled: plan.step(1).map { .take(step: 1, basisPoints: $0.basisPoints) }
        case .running(let step):
            plan.step(step + 1).map { .take(step: step + 1, basisPoints: $0.basisPoints) }
                ?? (plan.terms.bake > 0 ? .bake : .finish)
        case .baking: .finish
        case .done, .rolledBack, .ended: nil
        }
    }

    /// What a plan waits for in its phase, whether or not it is paused.
    func waits(of plan: RolloutPlan, _ pattern: HostPattern?, in context: DecisionContext) -> [RolloutWait] {
        let now = context.now
        switch plan.phase {
        case .scheduled:
            let start = plan.terms.startsAt ?? plan.setAt
            return [.init(.start, isMet: start <= now, detail: "it begins at \(start)", until: start)]
        case .running(let step):
            guard let hold = plan.step(step)?.hold else { return [] }
            var waits: [RolloutWait] = []
            if let seconds = hold.seconds {
                let until = plan.since.adding(seconds: seconds)
                waits.append(
                    .init(
                        .time, isMet: until <= now,
                        detail: "it began at \(plan.since), and is to last \(seconds) seconds", until: until))
            }
            if let sample = self.sample(of: plan, pattern, in: context) { waits.append(sample) }
            if hold.needsApproval {
                waits.append(
                    .init(
                        .approval, isMet: plan.isApproved,
                        detail: plan.isApproved ? "somebody has" : "nobody has yet", until: nil))
            }
            return waits
        case .baking:
            let until = plan.since.adding(seconds: plan.terms.bake)
            return [
                .init(
                    .bake, isMet: until <= now,
                    detail: "it is left alone since \(plan.since), for \(plan.terms.bake) seconds", until: until)
            ]
        case .done, .rolledBack, .ended: return []
        }
    }

    /// How many installs have reported in the step that a plan is at; nil where it does not ask for any.
    private func sample(of plan: RolloutPlan, _ pattern: HostPattern?, in context: DecisionContext) -> RolloutWait? {
        guard case .running(let step) = plan.phase, let hold = plan.step(step)?.hold, let wanted = hold.installs else {
            return nil
        }
        let until = plan.sampleDeadline(hold)
        let patience = "\(plan.isExtended ? "extended, it waits" : "it waits") for them until \(until)"
        guard let facts = context.facts.telemetry(self.id) else {
            return .init(
                .installs, isMet: nil, detail: "it wants \(wanted), and no reports of clients are known; \(patience)",
                until: nil)
        }
        let places = pattern.map { [$0] } ?? self.hosts.filter { $0.value.candidate != nil }.map(\.key)
        // Of an app the host that most clients use: the same clients use the others.
        let count = places.map { facts.candidateInstalls(of: $0, since: plan.since) }.max() ?? 0
        return .init(
            .installs, isMet: wanted <= count,
            detail: "\(count) of \(wanted) have reported since \(plan.since)\(wanted <= count ? "" : "; \(patience)")",
            until: nil)
    }

    /// A kill switch of the app or the host that is in force.
    func switchInForce(over pattern: HostPattern?, at now: Timestamp) -> KillSwitch? {
        let switches = [self.killSwitch, pattern.flatMap { self.hosts[$0]?.killSwitch }]
        return switches.compactMap { $0 }.first { $0.isInForce(at: now) }
    }
}

extension TelemetryFacts {
    /// Installs of a host's candidate that have reported since an instant, with and without proof that they are installs
    /// of the app.
    ///
    /// Never more than there are: an install counts once an hour, so that the hour with most counts; and of several
    /// versions of the document the one with most, since a client goes from one to the next. Reports without proof count
    /// only where none have any.
    func candidateInstalls(of host: HostPattern, since start: Timestamp) -> Int {
        let cells = self.cells.filter { $0.host == host && $0.arm == .candidate }
        let proven = cells.filter(\.isAuthenticated)
        return (proven.isEmpty ? cells : proven).map { cell in
            var hours: [Int64: Int] = [:]
            // A minute that began before the step says nothing certain.
            for minute in cell.minutes where minute.minute >= start {
                hours[minute.minute.seconds / 3600, default: 0] += minute.installs
            }
            return hours.values.max() ?? 0
        }.max() ?? 0
    }
}
