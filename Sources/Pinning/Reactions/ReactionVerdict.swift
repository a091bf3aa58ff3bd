import PinWire

/// The consequence of an evidence: the detectors' figures, the step, and the reasons for it.
///
/// A function of the evidence alone, so that everyone with the evidence computes the same.
package struct ReactionVerdict: Hashable, Sendable {
    package let evidence: ReactionEvidence
    let figures: ReactionFigures
    package private(set) var truth: GroundTruth
    package private(set) var step: ReactionStep = .none
    package private(set) var reasons: [ReactionReason] = []

    package init(_ evidence: ReactionEvidence) {
        self.evidence = evidence
        self.figures = ReactionFigures(evidence.window, of: evidence)
        self.truth = evidence.truth(of: evidence.policy)
        guard self.figures.extent != .nothing else { return }
        self.reasons = self.figures.reasons + [self.truth.reason]
        self.step = self.step(on: self.figures.extent)
    }

    /// ln E of the stage test; for a candidate only.
    package var lnStage: Double? { self.figures.lnStage }
    /// ln E of the two-arm test, where both arms reported.
    package var lnTwoArm: Double? { self.figures.lnTwoArm }
    /// The sum of the change-point detector.
    package var sum: Double { self.figures.sum }
    /// The probability of the arms' numbers of installs; nil where no share is expected.
    package var ratioProbability: Double? { self.figures.ratioProbability }

    /// Whether nothing is detected, and a detector is more than half-way there: an earlier alarm is not over yet.
    var isNear: Bool { self.figures.isNear && self.isInForce }

    /// Whether an operator who resumed the plan knew all of it: what was reported since then shows nothing by itself.
    var isReviewed: Bool {
        self.evidence.review.map { ReactionFigures($0.window, of: self.evidence).extent == .nothing } ?? false
    }

    /// Whether devices use the policy.
    private var isInForce: Bool { self.evidence.policy.strength > PinMode.off.strength && !self.evidence.isKilled }

    // MARK: The ladder

    private mutating func step(on extent: ReactionFigures.Extent) -> ReactionStep {
        let evidence = self.evidence
        guard self.isInForce else {
            self.reasons.append(.notEnforced)
            return .none
        }
        // Whatever is reported: the key that servers present is accepted, so no pin locks a client out.
        guard self.truth != .pinned else { return .page }
        // Floors are for failures; a mere oddity leads to no more than holding anyway.
        let bounds = self.bounds().filter { extent == .failure || $0.endsAll }
        self.reasons += bounds
        if bounds.contains(.spent) { return .none }
        if bounds.contains(where: \.endsAll) { return .page }
        guard extent == .failure, bounds.isEmpty else { return self.hold() }
        guard self.truth == .unpinned else { return self.cautious() }
        return evidence.arm == .candidate ? self.withdrawn() : self.weakened()
    }

    private mutating func hold() -> ReactionStep {
        guard self.evidence.isRamping else {
            self.reasons.append(.nothingToHold)
            return .page
        }
        guard self.evidence.isAuthenticated || self.unsignedMayHold() else { return .page }
        // Facts that an operator knew when resuming hold nothing once more.
        if self.isReviewed {
            self.reasons.append(.reviewed)
            return .page
        }
        return .hold
    }

    /// Whether a rollout waits for unsigned reports, which anyone can make: where the app has no signed ones, there are
    /// enough of them from enough networks, and no operator has resumed since although reports had held it.
    private mutating func unsignedMayHold() -> Bool {
        // A mere oddity has not been compared with the floors yet.
        let floors = self.bounds().filter { $0.isFloor }
        self.reasons += floors.filter { !self.reasons.contains($0) }
        if self.evidence.expectsSignatures { self.reasons.append(.signedExpected) }
        if self.evidence.review != nil { self.reasons.append(.reviewed) }
        return floors.isEmpty && !self.evidence.expectsSignatures && self.evidence.review == nil
    }

    /// Whether devices that leave the candidate for another policy may be refused, where the candidate refuses none.
    private func refusesMore(_ alternative: ReactionEvidence.Arm) -> Bool {
        self.evidence.policy.mode != .enforce && alternative.strength > self.evidence.policy.strength
            && self.evidence.truth(of: alternative) != .pinned
    }

    /// Where it is unknown, or not known for all servers, whether they present a pinned key: never weaker than before.
    private mutating func cautious() -> ReactionStep {
        guard let alternative = self.evidence.alternative else { return self.hold() }
        guard self.evidence.isExposed else {
            self.reasons.append(.notExposed)
            return .page
        }
        guard !self.reasons.contains(.sampleRatio) else { return self.hold() }
        let isAsStrong = alternative.strength >= self.evidence.policy.strength
        // For built-in pins as little is known as about the servers' keys; for others it is known what they accept.
        let acceptsAsMuch = self.truth == .unknown || self.evidence.truth(of: alternative) == .pinned
        guard isAsStrong, acceptsAsMuch else {
            self.reasons.append(.baselineWeaker)
            return self.hold()
        }
        return self.rollBack(to: alternative)
    }

    private mutating func rollBack(to alternative: ReactionEvidence.Arm) -> ReactionStep {
        guard !self.refusesMore(alternative) else {
            self.reasons.append(.baselineStricter)
            return self.hold()
        }
        return .rollBack
    }

    /// The candidate's pins are wrong.
    private mutating func withdrawn() -> ReactionStep {
        let evidence = self.evidence
        guard evidence.isExposed else {
            self.reasons.append(.notExposed)
            return .page
        }
        guard let alternative = evidence.alternative else { return .rollBack }
        guard alternative.mode == .enforce, evidence.truth(of: alternative) == .unpinned else {
            return self.rollBack(to: alternative)
        }
        self.reasons.append(.baselineFailsToo)
        return self.weakened()
    }

    /// The pins are wrong, and no other policy can replace them.
    private mutating func weakened() -> ReactionStep {
        let evidence = self.evidence
        // An attacker who intercepts the traffic of one place could make it see another key.
        guard Set(evidence.live.map(\.vantage)).count >= GroundTruth.places else {
            self.reasons.append(.onePlace)
            return self.hold()
        }
        if evidence.policy.mode == .enforce { return .reportOnly }
        // A policy that another actor set to report only locks no client out.
        guard evidence.last?.step == .reportOnly, evidence.last?.arm == evidence.arm else {
            self.reasons.append(.notEnforced)
            return .page
        }
        guard evidence.autoDisables else {
            self.reasons.append(.noAutoDisable)
            return .page
        }
        guard let fleet = evidence.fleet,
            (evidence.reporting ?? evidence.sample.distinctInstalls) * 10_000 >= fleet * Reaction.leastReporting
        else {
            self.reasons.append(.fewReport)
            return .page
        }
        return .killSwitch
    }

    /// The obstacles to more than holding, or to that too.
    private func bounds() -> [ReactionReason] {
        let evidence = self.evidence
        let sample = evidence.sample
        var bounds: [ReactionReason] = []
        func bound(_ reason: ReactionReason, _ isSo: Bool) { if isSo { bounds.append(reason) } }
        bound(.advisory, !evidence.isAuthenticated)
        bound(.tooFewInstalls, sample.distinctInstalls < Reaction.leastInstalls)
        bound(.tooFewFailures, sample.distinctFailing < Reaction.leastFailing)
        bound(.tooFewNetworks, evidence.networkCount < Reaction.leastNetworks)
        bound(.tooShort, sample.windows < Reaction.leastWindows && sample.seconds < Reaction.leastSeconds)
        bound(.oneNetwork, evidence.isOfOneNetwork)
        bound(.oneRelease, evidence.isOfOneRelease)
        bound(.olderPins, evidence.isOlder)
        bound(.versionUnknown, evidence.isUnheardOf)
        bound(.armUnsaid, evidence.arm == nil && evidence.hasCandidate)
        if let last = evidence.last {
            // A cause that led to a reaction once leads to none again: clients that received it report with a later
            // version.
            bound(.spent, last.arm == evidence.arm && sample.firstMinute.map { $0 < last.at } ?? false)
            bound(.cooldown, evidence.judgedAt < last.at.adding(seconds: Reaction.cooldownSeconds))
        }
        return bounds
    }
}

extension GroundTruth {
    fileprivate var reason: ReactionReason {
        switch self {
        case .pinned: .livePinned
        case .unpinned: .liveUnpinned
        case .split: .liveSplit
        case .unknown: .liveUnknown
        }
    }
}

extension ReactionReason {
    /// Whether the only reaction is an alert.
    fileprivate var endsAll: Bool { [.spent, .cooldown, .olderPins, .versionUnknown].contains(self) }

    /// Whether there are too few installs, failures or networks, or too little time.
    fileprivate var isFloor: Bool {
        [.tooFewInstalls, .tooFewFailures, .tooFewNetworks, .tooShort, .oneNetwork].contains(self)
    }
}

extension ReactionEvidence {
    /// Whether servers present a policy's pins. Unknown for pins built into the app.
    func truth(of arm: Arm) -> GroundTruth {
        guard arm.mode != nil else { return .unknown }
        return GroundTruth(
            self.live, pins: Set(arm.pins), known: self.knownVantages, isComplete: self.isComplete, at: self.judgedAt)
    }

    /// Whether one network's part of the failures is so large that it counts as a problem of its own. Networks that are
    /// not listed do not count, which makes the part larger at most.
    fileprivate var isOfOneNetwork: Bool {
        let all = self.networks.reduce(0) { $0 + $1.failing }
        return self.networks.contains { $0.failing > 0 && $0.failing * 100 >= all * Reaction.concentrated }
    }

    /// Whether one release has most of the failures, and more of them than so many of the installs would have by accident.
    fileprivate var isOfOneRelease: Bool {
        let installs = self.releases.reduce(0) { $0 + $1.installs }
        let failing = self.releases.reduce(0) { $0 + $1.failing }
        guard installs > 0, failing > 0 else { return false }
        return self.releases.contains { release in
            guard release.failing * 100 >= failing * Reaction.concentrated, release.installs < installs else {
                return false
            }
            let share = Double(release.installs) / Double(installs)
            return BinomialTail.probability(atLeast: release.failing, of: failing, p: share) < 1e-3
        }
    }
}
