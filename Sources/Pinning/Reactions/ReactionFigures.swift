import PinWire

/// The detectors' figures for a span of reports, and the resulting severity.
struct ReactionFigures: Hashable, Sendable {
    /// ln E of the stage test; for a candidate only.
    private(set) var lnStage: Double?
    /// ln E of the two-arm test, where both arms reported.
    private(set) var lnTwoArm: Double?
    /// The sum of the change-point detector.
    private(set) var sum: Double = 0
    /// The probability of the arms' numbers of installs; nil where no share is expected.
    private(set) var ratioProbability: Double?
    /// The detectors that fired.
    private(set) var reasons: [ReactionReason] = []
    private(set) var extent: Extent = .nothing

    /// The severity.
    enum Extent {
        case nothing
        /// A condition for which a rollout should wait.
        case doubt
        /// More installs fail than is tolerated.
        case failure
    }

    private let threshold: Double

    /// - Parameter evidence: The evidence of the reports.
    init(_ window: ReactionEvidence.Window, of evidence: ReactionEvidence) {
        self.threshold = Double(evidence.threshold) / 10_000
        self.lookForChange(window)
        // A candidate is tested from its first install on; the sum detects late failures sooner.
        guard evidence.arm == .candidate else { return }
        self.testStage(window)
        self.compareArms(window, expected: evidence.expectedShare)
    }

    private var cusum: BernoulliCUSUM { BernoulliCUSUM(threshold: self.threshold, oneIn: Reaction.changeOneIn) }
    private var stage: EProcess { EProcess(threshold: self.threshold, oneIn: Reaction.stageOneIn) }

    private mutating func lookForChange(_ window: ReactionEvidence.Window) {
        self.sum = self.cusum.sum(failing: window.excursion.failing, of: window.excursion.installs)
        guard self.sum >= self.cusum.limit else { return }
        self.reasons.append(.changePoint)
        self.extent = .failure
    }

    private mutating func testStage(_ window: ReactionEvidence.Window) {
        let lnStage = self.stage.lnEvidence(failing: window.sample.failing, of: window.sample.installs)
        self.lnStage = lnStage
        guard lnStage >= self.stage.limit else { return }
        self.reasons.append(.stageTest)
        self.extent = .failure
    }

    private mutating func compareArms(_ window: ReactionEvidence.Window, expected: Int?) {
        guard let other = window.baseline else { return }
        let sample = window.sample
        if let test = TwoArmTest(candidate: sample.installs, baseline: other.installs, oneIn: Reaction.stageOneIn) {
            let lnTwoArm = test.lnEvidence(candidateFailing: sample.failing, allFailing: sample.failing + other.failing)
            self.lnTwoArm = lnTwoArm
            if lnTwoArm >= test.limit {
                self.reasons.append(.twoArmTest)
                // Worse than the baseline is not yet worse than the tolerated share.
                let isAbove = Double(sample.failing) > self.threshold * Double(sample.installs)
                self.extent = self.extent == .failure || isAbove ? .failure : .doubt
            }
        }
        guard let expected else { return }
        let check = SampleRatioCheck(
            candidate: sample.installs, baseline: other.installs, expected: Double(expected) / 10_000)
        self.ratioProbability = check.probability
        guard check.isMismatch else { return }
        self.reasons.append(.sampleRatio)
        if self.extent == .nothing { self.extent = .doubt }
    }

    /// Whether nothing has fired, but a detector is more than half-way there: an earlier alarm is not over yet.
    var isNear: Bool {
        guard self.extent == .nothing else { return false }
        let shares = [
            self.sum / self.cusum.limit, (self.lnStage ?? 0) / self.stage.limit,
            (self.lnTwoArm ?? 0) / self.stage.limit,
        ]
        return shares.contains { $0 > 0.5 }
    }
}
