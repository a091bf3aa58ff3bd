import Pinning

extension RolloutObstacle {
    /// What is the matter, with the rollout as the subject.
    var clause: String {
        switch self {
        case .everybodyIsIn: "lets everybody in already, since none is set: set one with the share to begin with first"
        case .listed: "goes by a list of ids, and not by a share that could grow"
        case .beyond(let share, let first):
            "is at \(Percent.text(basisPoints: share)) already, and the plan would begin with \(Percent.text(basisPoints: first))"
        case .wholePercentages: "has buckets of whole percentages (unleash-murmur3): every step must be one"
        case .nothingToPromote: "has no candidate of its own to promote: a plan of it can only stay at its end"
        }
    }
}

extension RolloutPlanState {
    /// What is the matter, with the plan as the subject.
    var clause: String {
        switch self {
        case .over(let phase): "is over (\(phase.name))"
        case .paused: "is paused: resume it first"
        case .atNoStep(let phase): "is \(phase.name), and not at a step"
        case .otherStep(let step): "is at step \(step)"
        case .noApproval(let step): "waits for no approval at step \(step); to go on before it is time, jump"
        case .noStep(let step, let count): "has no step \(step); it has \(count)"
        }
    }
}
