package import PinWire

/// The way of a rollout from few devices to all of them: shares one after another, each held until its conditions are
/// met.
///
/// A value that only events change; ``App/dueMove(of:in:)`` judges its conditions. It survives any restart: its
/// progress is only in the ledger.
package struct RolloutPlan: Hashable, Sendable {
    /// The operator's settings.
    package struct Terms: Hashable, Sendable {
        /// The steps, with strictly increasing shares, 1 to ``stepLimit``.
        package var steps: [Step]
        /// How long the last step is left alone once its hold is over, in seconds; 0 for not at all.
        package var bake: Int64
        /// When the first step is taken; nil for at once.
        package var startsAt: Timestamp?
        package var ending: Ending
        package var onInconclusive: Inconclusive

        package init(
            steps: [Step], bake: Int64 = 0, startsAt: Timestamp? = nil, ending: Ending = .stay,
            onInconclusive: Inconclusive = .hold
        ) {
            self.steps = steps
            self.bake = bake
            self.startsAt = startsAt
            self.ending = ending
            self.onInconclusive = onInconclusive
        }
    }

    /// A share of devices, and the conditions for the next one.
    package struct Step: Hashable, Sendable {
        package var basisPoints: Int
        package var hold: Hold

        package init(_ basisPoints: Int, _ hold: Hold = Hold()) {
            self.basisPoints = basisPoints
            self.hold = hold
        }
    }

    /// The conditions of a step: all that are named.
    package struct Hold: Hashable, Sendable {
        package var seconds: Int64?
        /// Distinct installs of the candidate that must have reported since the step began.
        package var installs: Int?
        /// Whether a person has to approve that it goes on.
        package var needsApproval: Bool

        package init(seconds: Int64? = nil, installs: Int? = nil, needsApproval: Bool = false) {
            self.seconds = seconds
            self.installs = installs
            self.needsApproval = needsApproval
        }

        var isEmpty: Bool { self.seconds == nil && self.installs == nil && !self.needsApproval }
        /// How long the step waits for the installs, and once more after that: twice the hold, or a day.
        package var sampleSeconds: Int64 { self.seconds.map { 2 * $0 } ?? 86_400 }
    }

    /// What happens after the last step.
    package enum Ending: String, CaseIterable, Sendable, Hashable {
        /// The candidate becomes the baseline.
        case promote
        /// The rollout stays where it is.
        case stay
    }

    /// The action where too few installs have reported after twice the waiting time.
    package enum Inconclusive: String, CaseIterable, Sendable, Hashable {
        /// The plan is paused.
        case hold
        /// The rollout is rolled back.
        case revert
    }

    /// The progress of a plan.
    package enum Phase: Hashable, Sendable {
        /// Its time has not come.
        case scheduled
        /// At a step, counted from 1.
        case running(step: Int)
        /// The last step's hold is over.
        case baking
        /// It has ended as planned.
        case done
        case rolledBack
        /// The candidate was promoted or dropped by hand.
        case ended

        /// Whether nothing comes after it.
        package var isOver: Bool {
            switch self {
            case .scheduled, .running, .baking: false
            case .done, .rolledBack, .ended: true
            }
        }

        /// Its name, without the step.
        package var name: String {
            switch self {
            case .scheduled: "scheduled"
            case .running: "running"
            case .baking: "baking"
            case .done: "done"
            case .rolledBack: "rolled_back"
            case .ended: "ended"
            }
        }
    }

    /// The cause of an action on a rollout.
    package enum Cause: String, CaseIterable, Sendable, Hashable {
        /// An operator's command.
        case requested
        /// A guard rail refused the due step.
        case blocked
        /// Too few installs reported.
        case inconclusive
        /// The reports of clients.
        case reports
    }

    /// A pause: no step is taken until an operator resumes the plan. Devices keep what they have.
    package struct Pause: Hashable, Sendable {
        package var cause: Cause
        /// The reason in words; nil where none was given.
        package var detail: String?
        package var since: Timestamp
    }

    package let terms: Terms
    package let setAt: Timestamp
    package var phase: Phase
    /// Since when it is in its phase, or counts its time; ``App/countedSince(_:_:in:)`` accounts for kill switches.
    package var since: Timestamp
    /// Whether a person has approved the step.
    package var isApproved: Bool
    /// Whether the time to wait for the step's installs was extended.
    package var isExtended: Bool
    /// When enough installs had reported in the step; nil where they have not yet, or are not required.
    package var sampledAt: Timestamp?
    /// When an operator last resumed although reports had held the plan: earlier reports hold it no more.
    package var reviewedAt: Timestamp?
    package var pause: Pause?

    /// A plan that has not begun.
    package init(_ terms: Terms, setAt: Timestamp) {
        self.terms = terms
        self.setAt = setAt
        self.phase = .scheduled
        self.since = setAt
        self.isApproved = false
        self.isExtended = false
        self.sampledAt = nil
        self.reviewedAt = nil
        self.pause = nil
    }

    /// Whether it still goes on by itself, now or once it is resumed.
    package var isUnderWay: Bool { !self.phase.isOver }

    /// The step it is at, counted from 1; nil before the first.
    package var currentStep: Int? {
        switch self.phase {
        case .running(let step): step
        case .baking, .done: self.terms.steps.count
        case .scheduled, .rolledBack, .ended: nil
        }
    }

    /// The conditions and the share of the step of a number; nil for a number outside the plan.
    func step(_ number: Int) -> Step? {
        self.terms.steps.indices.contains(number - 1) ? self.terms.steps[number - 1] : nil
    }

    /// Until when a step with such a hold that counts since an instant waits for installs.
    func sampleDeadline(_ hold: Hold, since start: Timestamp) -> Timestamp {
        start.adding(seconds: hold.sampleSeconds * (self.isExtended ? 2 : 1))
    }

    /// Steps that one plan may have.
    package static let stepLimit = 20
    /// The longest hold: 30 days.
    package static let longestHold: Int64 = 30 * 86_400
    /// How far ahead a plan may begin: 90 days.
    package static let longestWait: Int64 = 90 * 86_400
    /// The most characters of a pause's text.
    package static let detailLimit = 2000
}

extension RolloutPlan {
    /// Takes in that it goes on to a step.
    mutating func take(_ step: Int, at time: Timestamp) {
        self.enter(.running(step: step), at: time)
    }

    /// Takes in that another phase begins.
    mutating func enter(_ phase: Phase, at time: Timestamp) {
        self.phase = phase
        self.since = time
        self.isApproved = false
        self.isExtended = false
        self.sampledAt = nil
        self.pause = nil
    }

    /// Takes in that a pause is over, or reports hold the plan no longer. That stopped the steps and not the time:
    /// devices had the step's share all the while. After an inconclusive pause, and where reports were the cause, the
    /// step is counted again.
    mutating func resume(at time: Timestamp) {
        switch self.pause?.cause {
        case .inconclusive: self.restart(at: time)
        case .reports, nil:
            self.restart(at: time)
            self.reviewedAt = time
        case .requested, .blocked: break
        }
        self.pause = nil
    }

    private mutating func restart(at time: Timestamp) {
        self.since = time
        self.isExtended = false
        self.sampledAt = nil
    }

    /// Takes in that its candidate is gone.
    mutating func end(at time: Timestamp) {
        if !self.phase.isOver { self.enter(.ended, at: time) }
    }
}
