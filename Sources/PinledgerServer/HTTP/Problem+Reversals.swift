import PinWire
import Pinning

extension Reversal.Obstacle {
    /// Why the change cannot be reverted, and what to do instead.
    var sentence: String {
        switch self {
        case .createsApp:
            "The change created the app, and apps are not deleted: archive it instead (`pinledger app archive APP`)."
        case .unarchives: "The change unarchived the app: archive it again instead."
        case .rotation(let id): "The change belongs to the rotation \(id): abort the rotation instead."
        case .plan(let host):
            "The change belongs to the rollout plan of \(host.map { "\($0)" } ?? "the app"): pause, resume, roll back or clear the plan instead."
        case .clientKey(let kind):
            "The change set the key of the client \(kind.rawValue), whose public half is built into the app's new versions."
        case .builtinBaseline(let host):
            "Before the change \(host) had the pins that are built into the app, which no change brings back."
        case .nothingLeft(let kept): "\(kept.sentence) Nothing else of the change is left to revert."
        case .noSettings: "The change changed no setting."
        }
    }
}

extension Reversal.Kept {
    /// Why the part stays as the change left it.
    var sentence: String {
        switch self.cause {
        case .revoked: "Not reverted: \(self.part), because a revoked pin can never be used again."
        case .expired: "Not reverted: \(self.part), because it would have ended by now."
        case .planEnded: "Not reverted: \(self.part), because a plan cannot be resumed after its end."
        case .rotationEnded: "Not reverted: \(self.part), because a rotation cannot be resumed after its end."
        case .keyRemoved: "Not reverted: \(self.part), because a removed key has to be set again."
        }
    }

    var json: JSON {
        [
            "part": .string(self.part.description), "cause": .string(self.cause.rawValue),
            "detail": .string(self.sentence),
        ]
    }
}
