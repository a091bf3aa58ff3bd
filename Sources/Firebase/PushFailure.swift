package import ClientFormats

/// Why a project, or an app's part of it, is not in step.
package enum PushFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case service(FirebaseFailure)
    case refused(RemoteConfigMergeRefusal)

    package var description: String {
        switch self {
        case .service(let failure): failure.description
        case .refused(let refusal): refusal.description
        }
    }

    /// Whether another app wants the same parameter.
    var isConflict: Bool {
        guard case .refused(.conflict) = self else { return false }
        return true
    }

    /// What to do, as a sentence; nil for a failure that is temporary.
    package var advice: String? {
        switch self {
        case .service(let failure): failure.advice
        case .refused(let refusal): refusal.advice
        }
    }
}
