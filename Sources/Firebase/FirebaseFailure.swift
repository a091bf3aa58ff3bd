/// Why something could not be done at Firebase. Tokens and keys never stand in it.
package enum FirebaseFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No answer, or not all of it.
    case unreachable(String)
    /// 429 and 5xx, with the seconds that it asks us to wait.
    case busy(status: Int, detail: String, seconds: Int64?)
    /// The account, or the token that it was given, is not accepted.
    case unauthenticated(String)
    /// 403.
    case forbidden(String)
    /// 404.
    case projectUnknown(String)
    /// 412: somebody else was quicker.
    case overtaken
    /// 400: what was put is no template for the service.
    case invalid(String)
    /// Anything else, which is not the documented service's.
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

    /// What to do, as a sentence; nil for what passes by itself.
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

    /// Whether it may be better in a moment, without anybody's doing.
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
