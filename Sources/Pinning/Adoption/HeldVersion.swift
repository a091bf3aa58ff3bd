/// Which version of its app's document a client holds, as far as is known.
package enum HeldVersion: Hashable, Sendable, Comparable {
    /// It has said something from which no version follows.
    case unknown
    /// It has none yet.
    case nothing
    case document(Int64)

    /// As it is stored and ordered: -1, 0, or the version.
    package var number: Int64 {
        switch self {
        case .unknown: -1
        case .nothing: 0
        case .document(let version): version
        }
    }

    package init(number: Int64) {
        self = number > 0 ? .document(number) : number == 0 ? .nothing : .unknown
    }

    /// A version that a client says it has; 0 is none.
    package init(claimed version: Int64) { self = version > 0 ? .document(version) : .nothing }

    package static func < (left: HeldVersion, right: HeldVersion) -> Bool { left.number < right.number }

    /// This version, but none that is newer than the newest there is.
    package func atMost(_ newest: Int64) -> HeldVersion { min(self, .document(newest)) }
}
