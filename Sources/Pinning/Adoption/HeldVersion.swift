import PinWire

/// The version of its app's document that a client holds, as far as it is known.
package enum HeldVersion: Hashable, Sendable, Comparable {
    /// It stated something from which no version follows.
    case unknown
    /// It has none yet.
    case nothing
    case document(Int64)
    /// It states a version later than any that existed then; 0 for one of those without room. It counts as no holder of
    /// anything: the statement is invented, or the ledger was restored from a backup.
    case ahead(Int64)

    /// The stored and ordered form: -1, 0, the version, or -2 less the stated version.
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

    /// A stated version; 0 is none.
    package init(claimed version: Int64) { self = version > 0 ? .document(version) : .nothing }

    package static func < (left: HeldVersion, right: HeldVersion) -> Bool { left.number < right.number }

    package var isAhead: Bool { if case .ahead = self { true } else { false } }

    /// This version where it exists, with this newest one.
    package func known(upTo newest: Int64) -> HeldVersion {
        guard case .document(let version) = self, version > newest else { return self }
        return .ahead(min(version, ClientReport.largestVersion))
    }
}
