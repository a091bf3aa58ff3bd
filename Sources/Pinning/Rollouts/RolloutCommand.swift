/// A command about the rollout of one place.
package enum RolloutCommand: Hashable, Sendable {
    case setPlan(RolloutPlan.Terms)
    /// The share stays as it is.
    case clearPlan
    case pause(RolloutPlan.Cause, detail: String?)
    case resume
    /// Approves the step; nil for the present one.
    case advance(step: Int?)
    /// Jumps at once, forward or back, to the step of that number, whatever the plan waits for.
    case jump(step: Int)
    /// To no device, listed ids included; the candidate stays.
    case rollBack(RolloutPlan.Cause, detail: String?)
    /// Carries out the due step. Only the server itself does this.
    case drive
}

/// Why a rollout can have no plan, or not this one.
package enum RolloutObstacle: Hashable, Sendable {
    /// It has no rollout, so that all devices are in already.
    case everybodyIsIn
    /// It uses a list, not a share.
    case listed
    /// It is already beyond the plan's first step.
    case beyond(Int, first: Int)
    /// Its buckets are whole percentages.
    case wholePercentages
    /// It is an app's, which has no candidate of its own.
    case nothingToPromote
}

/// Why a plan refuses a command.
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
    /// Why a plan's due step was not taken, in words for its pause.
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
