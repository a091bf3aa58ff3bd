/// What somebody wants of the rollout of one place.
package enum RolloutCommand: Hashable, Sendable {
    case setPlan(RolloutPlan.Terms)
    /// The share stays as it is.
    case clearPlan
    case pause(RolloutPlan.Cause, detail: String?)
    case resume
    /// Approves of going on from the step; nil for whichever it is at.
    case advance(step: Int?)
    /// Goes on, or back, at the step of that number at once, whatever is waited for.
    case jump(step: Int)
    /// To nobody, listed ids included; the candidate stays.
    case rollBack(RolloutPlan.Cause, detail: String?)
    /// What is due by itself. What the server itself does.
    case drive
}

/// Why a rollout can have no plan, or none like that.
package enum RolloutObstacle: Hashable, Sendable {
    /// It has no rollout, so that everybody is in already.
    case everybodyIsIn
    /// It goes by a list, not by a share.
    case listed
    /// It goes further already than the plan's first step.
    case beyond(Int, first: Int)
    /// Its buckets are whole percentages.
    case wholePercentages
    /// It is an app's, which has no candidate of its own.
    case nothingToPromote
}

/// Why a plan does not do what it is told to.
package enum RolloutPlanState: Hashable, Sendable {
    case over(RolloutPlan.Phase)
    case paused
    /// It is before the first step, or after the last.
    case atNoStep(RolloutPlan.Phase)
    case otherStep(Int)
    case noApproval(Int)
    case noStep(Int, of: Int)
}

extension Refusal {
    /// Why what a plan had to do was not done, in words for its pause.
    package var whyNotDone: String {
        switch self {
        case .guarded(let findings):
            let grave = findings.filter { $0.severity != .warn }.prefix(3)
            return grave.map { "\($0.rail.code): \($0.detail)" }.joined(separator: " ")
        case .pinRevoked(let pin): return "The candidate holds \(pin), which was revoked."
        case .tooFewPins(_, _, let active):
            return "It would enforce with \(active) pins, but at least two are required."
        case .noBackupPin, .lastBackupPin: return "It would enforce without an active backup pin."
        default: return "It was refused: \(self)."
        }
    }
}
