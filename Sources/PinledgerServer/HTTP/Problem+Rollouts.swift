import Pinning

extension RolloutObstacle {
    /// What is wrong, with the rollout as the subject.
    var clause: String {
        switch self {
        case .everybodyIsIn:
            "is not set, so it already includes every device: first set a rollout with the initial share"
        case .listed: "uses a list of ids, not a share that could grow"
        case .beyond(let share, let first):
            "is already at \(Percent.text(basisPoints: share)), but the plan would start with \(Percent.text(basisPoints: first))"
        case .wholePercentages: "has buckets of whole percentages (unleash-murmur3): every step must be one"
        case .nothingToPromote: "has no candidate to promote: its plan can only end with `stay`"
        }
    }
}

extension RolloutPlanState {
    /// What is wrong, with the plan as the subject.
    var clause: String {
        switch self {
        case .over(let phase): "is over (\(phase.name))"
        case .paused: "is paused: resume it first"
        case .atNoStep(let phase): "is \(phase.name), not at a step"
        case .otherStep(let step): "is at step \(step)"
        case .noApproval(let step): "does not wait for approval at step \(step); to continue early, jump"
        case .noStep(let step, let count): "has no step \(step); it has \(count)"
        }
    }
}
