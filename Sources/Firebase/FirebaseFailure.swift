/// Why a request to Firebase failed. It never contains tokens or keys.
package enum FirebaseFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no answer, or not all of it.
    case unreachable(String)
    /// 429 and 5xx, with the seconds that it asks us to wait.
    case busy(status: Int, detail: String, seconds: Int64?)
    /// The account, or its token, is not accepted.
    case unauthenticated(String)
    /// 403.
    case forbidden(String)
    /// 404.
    case projectUnknown(String)
    /// 412: another writer was quicker.
    case overtaken
    /// 400: the service rejects the template.
    case invalid(String)
    /// Any other answer, which the documented service does not give.
    case unexpected(String)

    package var description: String {
        switch self {
        case .unreachable(let detail): "Firebase cannot be reached: \(detail)"
        case .busy(let status, let detail, _): "Firebase answers \(status): \(detail)"
        case .unauthenticated(let detail): "the service account is not accepted: \(detail)"
        case .forbidden(let detail): "the service account may not change the project's Remote Config: \(detail)"
        case .projectUnknown(let detail): "the project is not known: \(detail)"
        case .overtaken: "the project's template changes again and again while it is being merged"
        case .invalid(let detail): "Firebase refuses the template: \(detail)"
        case .unexpected(let detail): "Firebase answers otherwise than documented: \(detail)"
        }
    }

    /// What to do, as a sentence; nil for a failure that is temporary.
    package var advice: String? {
        switch self {
        case .unreachable, .busy, .overtaken: nil
        case .unauthenticated: "Give the node a key file of a service account that is in use, and see to its clock."
        case .forbidden: "Give the service account the role Firebase Remote Config Admin, and enable the API."
        case .projectUnknown: "Check firebase_project, and that the project has Firebase."
        case .invalid:
            "Mend the template, or the pins: it is tried again when either changes, and at the first look after an hour."
        case .unexpected: "Check --firebase-endpoint, and whatever stands between."
        }
    }

    /// Whether a repetition may succeed in a moment, without a change by anyone.
    package var isPassing: Bool {
        switch self {
        case .unreachable, .busy, .overtaken, .unexpected: true
        case .unauthenticated, .forbidden, .projectUnknown, .invalid: false
        }
    }

    /// The seconds that the service asks us to wait.
    package var requestedWait: Int64? {
        guard case .busy(_, _, let seconds) = self else { return nil }
        return seconds
    }
}
