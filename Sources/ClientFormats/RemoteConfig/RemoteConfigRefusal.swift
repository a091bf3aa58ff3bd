/// Why a template has no room for all of its parts.
package enum RemoteConfigRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// Rollouts with draws of their own would need more values than a template may have: each doubles them.
    case tooManyRollouts(values: Int, limit: Int)
    case tooManyConditions(Int, limit: Int)
    /// All values together, in bytes.
    case tooLarge(Int, limit: Int)

    package var description: String {
        switch self {
        case .tooManyRollouts(let values, let limit):
            "the hosts' rollouts part devices into \(values) groups, and a template has at most \(limit)"
        case .tooManyConditions(let count, let limit):
            "the template would have \(count) conditions, and may have \(limit)"
        case .tooLarge(let count, let limit): "the values would have \(count) bytes, and may have \(limit)"
        }
    }

    /// What to do, as a sentence.
    package var advice: String {
        switch self {
        case .tooManyRollouts:
            "Give rollouts that go on at the same time one salt, or let some of them end first."
        case .tooManyConditions: "Leave out fewer versions in the gate and in kill switches."
        case .tooLarge: "Remove hosts that are not needed, or let rollouts end first."
        }
    }
}
