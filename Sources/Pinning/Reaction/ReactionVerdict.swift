import Detection
import PinWire

/// What follows from an evidence: the detectors' figures, the step, and why it is that one.
///
/// A function of the evidence alone, so that whoever has it comes to the same.
package struct ReactionVerdict: Hashable, Sendable {
    package let evidence: ReactionEvidence
    /// ln E of the stage test; of a candidate only.
    package private(set) var lnStage: Double?
    /// ln E of the two-arm test, where both arms reported.
    package private(set) var lnTwoArm: Double?
    /// The sum of the change-point detector.
    package private(set) var sum: Double = 0
    /// How probable the arms' numbers of installs are; nil where no share is expected.
    package private(set) var ratioProbability: Double?
    package private(set) var truth: GroundTruth
    package private(set) var step: ReactionStep = .none
    package private(set) var reasons: [ReactionReason] = []

    package init(_ evidence: ReactionEvidence) {
        self.evidence = evidence
        self.truth = evidence.truth(of: evidence.policy)
        let detection = self.detect()
        guard detection != .nothing else { return }
        self.reasons.append(self.truth.reason)
        self.step = self.step(on: detection)
    }

    /// How much is wrong, by the detectors.
    private enum Detection {
        case nothing
        /// Something that a rollout should wait for.
        case doubt
        case failure
    }

    /// Whether more fails than may, which is ``Detection/failure``, or something else is odd.
    private mutating func detect() -> Detection {
        let evidence = self.evidence
        let sample = evidence.sample
        let threshold = Double(evidence.threshold) / 10_000
        let cusum = BernoulliCUSUM(threshold: threshold, oneIn: Reaction.changeOneIn)
        let sum = cusum.sum(failing: evidence.excursion.failing, of: evidence.excursion.installs)
        self.sum = sum
        var detection = Detection.nothing
        if sum >= cusum.limit {
            self.reasons.append(.changePoint)
            detection = .failure
        }
        // A candidate is tested from its first install on; what goes wrong late, the sum sees sooner.
        guard evidence.arm == .candidate else { return detection }
        let stage = EProcess(threshold: threshold, oneIn: Reaction.stageOneIn)
        let lnStage = stage.lnEvidence(failing: sample.failing, of: sample.installs)
        self.lnStage = lnStage
        if lnStage >= stage.limit {
            self.reasons.append(.stageTest)
            detection = .failure
        }
        guard let other = evidence.baselineReports else { return detection }
        if let test = TwoArmTest(candidate: sample.installs, baseline: other.installs, oneIn: Reaction.stageOneIn) {
            let lnTwoArm = test.lnEvidence(
                candidateFailing: sample.failing, allFailing: sample.failing + other.failing)
            self.lnTwoArm = lnTwoArm
            if lnTwoArm >= test.limit {
                self.reasons.append(.twoArmTest)
                // Worse than the baseline is not yet worse than what somebody said may fail.
                let isAbove = Double(sample.failing) > threshold * Double(sample.installs)
                detection = detection == .failure || isAbove ? .failure : .doubt
            }
        }
        if let expected = evidence.expectedShare {
            let check = SampleRatioCheck(
                candidate: sample.installs, baseline: other.installs, expected: Double(expected) / 10_000)
            self.ratioProbability = check.probability
            if check.isMismatch {
                self.reasons.append(.sampleRatio)
                if detection == .nothing { detection = .doubt }
            }
        }
        return detection
    }

    // MARK: The ladder

    private mutating func step(on detection: Detection) -> ReactionStep {
        let evidence = self.evidence
        guard evidence.policy.strength > PinMode.off.strength, !evidence.isKilled else {
            self.reasons.append(.notEnforced)
            return .none
        }
        // Whatever is reported: the key that servers present is accepted, so nothing that is pinned locks anybody out.
        guard self.truth != .pinned else { return .page }
        // Floors are for failures; what is only odd leads to no more than holding anyway.
        let bounds = self.bounds().filter { detection == .failure || $0.endsAll }
        self.reasons += bounds
        if bounds.contains(.spent) { return .none }
        if bounds.contains(where: \.endsAll) { return .page }
        guard detection == .failure, bounds.isEmpty else { return self.hold() }
        guard self.truth == .unpinned else { return self.cautious() }
        return evidence.arm == .candidate ? self.withdrawn() : self.weakened()
    }

    private mutating func hold() -> ReactionStep {
        guard self.evidence.isRamping else {
            self.reasons.append(.nothingToHold)
            return .page
        }
        return .hold
    }

    /// Where it is not known, or not of all servers, whether they present what is pinned: never weaker than before.
    private mutating func cautious() -> ReactionStep {
        guard let alternative = self.evidence.alternative else { return self.hold() }
        guard self.evidence.isExposed else {
            self.reasons.append(.notExposed)
            return .page
        }
        guard !self.reasons.contains(.sampleRatio) else { return self.hold() }
        let isAsStrong = alternative.strength >= self.evidence.policy.strength
        // Of built-in pins as little is known as of what servers present; of others it is known what they accept.
        let acceptsAsMuch = self.truth == .unknown || self.evidence.truth(of: alternative) == .pinned
        guard isAsStrong, acceptsAsMuch else {
            self.reasons.append(.baselineWeaker)
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
        guard let alternative = evidence.alternative, alternative.mode == .enforce,
            evidence.truth(of: alternative) == .unpinned
        else { return .rollBack }
        self.reasons.append(.baselineFailsToo)
        return self.weakened()
    }

    /// The pins are wrong, and nothing else takes their place.
    private mutating func weakened() -> ReactionStep {
        let evidence = self.evidence
        if evidence.policy.mode == .enforce { return .reportOnly }
        // What somebody else set to report only locks nobody out.
        guard evidence.last?.step == .reportOnly, evidence.last?.arm == evidence.arm else {
            self.reasons.append(.notEnforced)
            return .page
        }
        guard evidence.autoDisables else {
            self.reasons.append(.noAutoDisable)
            return .page
        }
        if let fleet = evidence.fleet,
            evidence.sample.distinctInstalls * 10_000 < fleet * Reaction.leastReporting
        {
            self.reasons.append(.fewReport)
            return .page
        }
        return .killSwitch
    }

    /// What stands in the way of more than holding, or of that too.
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
            // What led to something once leads to nothing more: clients that were told since report with a later version.
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
    /// Whether nothing is done because of it but to call somebody.
    fileprivate var endsAll: Bool { [.spent, .cooldown, .olderPins, .versionUnknown].contains(self) }
}

extension ReactionEvidence {
    /// Whether servers present what a policy pins. Of pins built into the app nothing is known.
    func truth(of arm: Arm) -> GroundTruth {
        guard arm.mode != nil else { return .unknown }
        return GroundTruth(
            self.live, pins: Set(arm.pins), known: self.knownVantages, isComplete: self.isComplete, at: self.judgedAt)
    }

    /// Whether one network has as large a part of the failures as speaks for a matter of its own. Of networks that are
    /// not listed nothing is said, which makes the part larger at most.
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
