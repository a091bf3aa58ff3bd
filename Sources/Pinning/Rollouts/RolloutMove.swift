package import PinWire

/// A plan's next step by itself.
package enum RolloutMove: Hashable, Sendable {
    case take(step: Int, basisPoints: Int)
    /// Leaves the last step alone for the configured time.
    case bake
    /// Ends, with the promotion where that is configured.
    case finish
    /// Records that enough installs have reported, where the step waits for something else that may last longer than
    /// reports are remembered.
    case conclude(step: Int, installs: Int)
    /// Waits once more as long for a step's installs.
    case extend(step: Int, detail: String)
    /// Concludes nothing from a step, because installs are missing.
    case giveUp(step: Int, detail: String)
}

extension App {
    /// A plan's next step by itself; nil where it waits, or there is none.
    ///
    /// Missing reports are not a good sign: a step that requires installs does not end without them.
    package func dueMove(of pattern: HostPattern?, in context: DecisionContext) -> RolloutMove? {
        guard let plan = self.plan(of: pattern), plan.isUnderWay, plan.pause == nil,
            self.switchInForce(over: pattern, in: context) == nil,
            self.doubt(of: pattern, in: context) == nil
        else { return nil }
        let waits = self.waits(of: plan, pattern, in: context)
        return waits.allSatisfy { $0.isMet == true }
            ? self.nextMove(of: plan) : self.meanwhile(plan, pattern, in: context)
    }

    /// A plan's action while it waits; nil where there is none.
    private func meanwhile(
        _ plan: RolloutPlan, _ pattern: HostPattern?, in context: DecisionContext
    ) -> RolloutMove? {
        guard case .running(let step) = plan.phase, let hold = plan.step(step)?.hold,
            let sample = self.sample(of: plan, pattern, in: context)
        else { return nil }
        let since = self.countedSince(plan, pattern, in: context)
        switch sample.wait.isMet {
        case true?: return sample.isNoted ? nil : .conclude(step: step, installs: sample.count)
        case false? where plan.sampleDeadline(hold, since: since) <= context.now:
            return plan.isExtended
                ? .giveUp(step: step, detail: "Step \(step): \(sample.wait.detail)")
                : .extend(step: step, detail: sample.wait.detail)
        case false?, nil: return nil
        }
    }

    /// Clients' reports about a candidate that argue against more devices, even in the shadow; nil where there are
    /// none, or none but those that an operator knew when resuming the plan.
    func doubt(of pattern: HostPattern?, in context: DecisionContext) -> ReactionVerdict? {
        self.verdicts(in: context, on: pattern).first {
            $0.step >= .hold && $0.evidence.arm == .candidate && !$0.isReviewed
        }
    }

    /// Since when a plan's phase counts its time: since it began, or since the last kill switch over the place ended,
    /// or is to end. While pinning is off no client fails, however long.
    func countedSince(_ plan: RolloutPlan, _ pattern: HostPattern?, in context: DecisionContext) -> Timestamp {
        let host = pattern.flatMap { self.hosts[$0] }
        let ended = [context.fleet.switchEndedAt, self.switchEndedAt, host?.switchEndedAt]
        let engaged = self.killSwitches(over: pattern, in: context).map(\.expiresAt)
        return (ended.compactMap { $0 } + engaged).reduce(plan.since, max)
    }

    /// The step after the present wait; nil after the plan's end.
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

    /// The conditions of a plan's phase, whether or not it is paused.
    func waits(of plan: RolloutPlan, _ pattern: HostPattern?, in context: DecisionContext) -> [RolloutWait] {
        let now = context.now
        let since = self.countedSince(plan, pattern, in: context)
        let began =
            since == plan.since ? "it began at \(since)" : "it counts from \(since), when a kill switch ended"
        switch plan.phase {
        case .scheduled:
            let start = plan.terms.startsAt ?? plan.setAt
            return [.init(.start, isMet: start <= now, detail: "it begins at \(start)", until: start)]
        case .running(let step):
            guard let hold = plan.step(step)?.hold else { return [] }
            var waits: [RolloutWait] = []
            if let seconds = hold.seconds {
                let until = since.adding(seconds: seconds)
                waits.append(
                    .init(
                        .time, isMet: until <= now, detail: "\(began), and must last \(seconds) seconds", until: until)
                )
            }
            if let sample = self.sample(of: plan, pattern, in: context) { waits.append(sample.wait) }
            if hold.needsApproval {
                waits.append(
                    .init(
                        .approval, isMet: plan.isApproved,
                        detail: plan.isApproved ? "it is approved" : "it is not approved yet", until: nil))
            }
            return waits
        case .baking:
            let until = since.adding(seconds: plan.terms.bake)
            return [
                .init(
                    .bake, isMet: until <= now,
                    detail: "the bake time began at \(since) and lasts \(plan.terms.bake) seconds", until: until)
            ]
        case .done, .rolledBack, .ended: return []
        }
    }

    /// The installs that a step waits for.
    private struct Sample {
        var wait: RolloutWait
        var count: Int
        /// Whether it is recorded that there were enough.
        var isNoted: Bool
    }

    /// The number of installs that have reported in the plan's present step; nil where it requires none.
    private func sample(of plan: RolloutPlan, _ pattern: HostPattern?, in context: DecisionContext) -> Sample? {
        guard case .running(let step) = plan.phase, let hold = plan.step(step)?.hold, let wanted = hold.installs else {
            return nil
        }
        let since = self.countedSince(plan, pattern, in: context)
        if let noted = plan.sampledAt, since <= noted {
            let wait = RolloutWait(.installs, isMet: true, detail: "\(wanted) had reported by \(noted)", until: nil)
            return Sample(wait: wait, count: wanted, isNoted: true)
        }
        let until = plan.sampleDeadline(hold, since: since)
        let patience = "\(plan.isExtended ? "extended, it waits" : "it waits") for them until \(until)"
        guard let facts = context.facts.telemetry(self.id) else {
            let wait = RolloutWait(
                .installs, isMet: nil, detail: "it requires \(wanted), but no client reports are known; \(patience)",
                until: nil)
            return Sample(wait: wait, count: 0, isNoted: false)
        }
        let places = pattern.map { [$0] } ?? self.hosts.filter { $0.value.candidate != nil }.map(\.key)
        // For an app, the host that most clients use: the same clients use the others.
        let reported = places.map { host in
            facts.candidateInstalls(
                of: host, since: since, wanted: wanted, countsUnsigned: self.monitoring.countsUnsigned)
        }.max { $0.count < $1.count }
        let count = reported?.count ?? 0
        var detail = "\(count) of \(wanted) have reported since \(since)"
        if wanted > count {
            detail += "; \(patience)"
            if let passedOver = reported?.passedOver, passedOver > count {
                detail +=
                    self.monitoring.countsUnsigned ? Self.fewNetworks(passedOver, wanted) : Self.unsigned(passedOver)
            }
        }
        let wait = RolloutWait(.installs, isMet: wanted <= count, detail: detail, until: nil)
        return Sample(wait: wait, count: count, isNoted: false)
    }

    private static func unsigned(_ count: Int) -> String {
        "; \(count) did so in unsigned reports, which anyone can make and which do not count (sign them with a key from `pinledger telemetry key create APP`, or set the app's monitoring.count_unsigned)"
    }

    private static func fewNetworks(_ count: Int, _ wanted: Int) -> String {
        "; \(count) did so in unsigned reports, of which each network counts for at most \(TelemetryFacts.networkLimit(wanted)): they come from too few networks"
    }

    /// The kill switches that turn pinning off for devices of a place, or did: over everything, of the app, of versions
    /// of it, and of the host. Those of versions leave other devices alone, but the reports meanwhile are not
    /// representative.
    private func killSwitches(over pattern: HostPattern?, in context: DecisionContext) -> [KillSwitch] {
        let switches = [context.fleet.killSwitch, self.killSwitch, pattern.flatMap { self.hosts[$0]?.killSwitch }]
        return switches.compactMap { $0 } + self.versionKillSwitches.map(\.killSwitch)
    }

    /// A kill switch over a place that is in force, the one that ends last.
    func switchInForce(over pattern: HostPattern?, in context: DecisionContext) -> KillSwitch? {
        self.killSwitches(over: pattern, in: context).filter { $0.isInForce(at: context.now) }
            .max { $0.expiresAt < $1.expiresAt }
    }
}

extension TelemetryFacts {
    /// The least number of networks from which unsigned reports have to come.
    static let leastNetworks = 5

    /// The most installs of one network that count, for a required number.
    static func networkLimit(_ wanted: Int) -> Int { max(1, wanted / Self.leastNetworks) }

    /// Installs of a host's candidate that have reported since an instant; an approximate number where only a sample is
    /// counted.
    ///
    /// Never more than there are: an install counts once an hour, so that the hour with most counts; and of several
    /// versions of the document the one with most, since a client goes from one to the next. Unsigned reports count
    /// only where the app's operator allows it and there are no signed ones, and of each network no more than
    /// ``networkLimit(_:)``.
    ///
    /// - Returns: The number that counts, and the number of unsigned ones if all of them counted.
    func candidateInstalls(
        of host: HostPattern, since start: Timestamp, wanted: Int, countsUnsigned: Bool
    ) -> (count: Int, passedOver: Int) {
        func most(_ isAuthenticated: Bool, _ count: ([OutcomeMinute]) -> Int) -> Int {
            self.cells.filter {
                $0.host == host && $0.arm == .candidate && $0.isAuthenticated == isAuthenticated
            }.map { cell in
                // A minute that began before the step proves nothing.
                count(cell.minutes.filter { $0.minute >= start })
            }.max() ?? 0
        }
        let signed = most(true) { $0.largestHour }
        let isAnySigned = self.cells.contains { $0.host == host && $0.arm == .candidate && $0.isAuthenticated }
        let unsigned = most(false) { $0.largestHour }
        guard countsUnsigned, !isAnySigned else { return (signed, unsigned) }
        return (most(false) { $0.largestHour(ofOneNetworkAtMost: Self.networkLimit(wanted)) }, unsigned)
    }
}
