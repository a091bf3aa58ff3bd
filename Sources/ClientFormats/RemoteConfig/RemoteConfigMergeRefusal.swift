package import PinWire

/// Why a project's template stays unchanged, for all apps or for one.
package enum RemoteConfigMergeRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The project's template is malformed.
    case unreadable(String)
    /// The project was written at a later position of the ledger than is known here.
    case newer(parameter: String, position: Int64, here: Int64)
    /// Other apps want the parameter too.
    case conflict(parameter: String, apps: [AppID])
    case tooManyConditions(Int, limit: Int)
    case tooManyParameters(Int, limit: Int)
    /// All values together, in characters.
    case tooLarge(Int, limit: Int)

    package var description: String {
        switch self {
        case .unreadable(let what): "the project's template cannot be read: \(what)"
        case .newer(let parameter, let position, let here):
            "the project's \(parameter) was written at position \(position) of a ledger, and this one is at \(here): "
                + "this node lags behind, the ledger was restored, or another Pinledger writes the same parameter"
        case .conflict(let parameter, let apps):
            "the parameter \(parameter) of the project is wanted by \(apps.map(\.text).joined(separator: ", ")) too"
        case .tooManyConditions(let count, let limit):
            "the project would have \(count) conditions, and may have \(limit)"
        case .tooManyParameters(let count, let limit):
            "the project would have \(count) parameters, and may have \(limit)"
        case .tooLarge(let count, let limit):
            "the project's values would have \(count) characters, and may have \(limit)"
        }
    }

    /// What to do, as a sentence.
    package var advice: String {
        switch self {
        case .unreadable: "Roll the template back to an earlier version in the Firebase console."
        case .newer(let parameter, let position, _):
            "Wait a minute for this node to catch up. After the ledger was restored from a backup, delete "
                + "\"position \(position)\" from the description of \(parameter) in the Firebase console; where another "
                + "Pinledger writes it, name another parameter."
        case .conflict: "Give each app a firebase_app of its own, or another parameter."
        case .tooManyConditions: "Remove conditions of the project that are not used."
        case .tooManyParameters: "Remove parameters of the project that are not used."
        case .tooLarge: "Remove parameters of the project that are not used, or let rollouts end."
        }
    }

    /// Whether fewer apps might be accepted.
    package var isOfOneApp: Bool {
        switch self {
        case .tooManyConditions, .tooManyParameters, .tooLarge, .newer: true
        case .unreadable, .conflict: false
        }
    }
}
