import PinWire

/// Which version of its app's document a client holds, as far as is known.
package enum HeldVersion: Hashable, Sendable, Comparable {
    /// It has said something from which no version follows.
    case unknown
    /// It has none yet.
    case nothing
    case document(Int64)
    /// It says that it holds a version later than any that there was when it said so; 0 for one of those for which there
    /// was no room. Nobody counts as a holder of anything for it: it is made up, or the ledger was restored from a backup.
    case ahead(Int64)

    /// As it is stored and ordered: -1, 0, the version, or -2 less the version that was said.
    package var number: Int64 {
        switch self {
        case .unknown: -1
        case .nothing: 0
        case .document(let version): version
        case .ahead(let version): -2 - version
        }
    }

    package init(number: Int64) {
        switch number {
        case 1...: self = .document(number)
        case 0: self = .nothing
        case -1: self = .unknown
        default: self = .ahead(-2 - number)
        }
    }

    /// A version that a client says it has; 0 is none.
    package init(claimed version: Int64) { self = version > 0 ? .document(version) : .nothing }

    package static func < (left: HeldVersion, right: HeldVersion) -> Bool { left.number < right.number }

    package var isAhead: Bool { if case .ahead = self { true } else { false } }

    /// This version where there is one like it, the newest being so high.
    package func known(upTo newest: Int64) -> HeldVersion {
        guard case .document(let version) = self, version > newest else { return self }
        return .ahead(min(version, ClientReport.largestVersion))
    }
}
