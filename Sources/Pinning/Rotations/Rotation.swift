package import PinWire

/// The replacement of a key that hosts serve by another one, step by step, so that every client that is served a
/// document can connect all the way through.
///
/// A value that only events change; what it waits for is judged by ``progress(of:in:at:)``. It survives anything:
/// nothing but the ledger knows how far it is.
package struct Rotation: Hashable, Sendable {
    /// How far it is. Each phase waits for something, and ends when somebody advances it.
    package enum Phase: String, CaseIterable, Sendable, Hashable {
        /// The next key is published as a backup; clients are getting it.
        case deliver
        /// Clients have it: the operator changes the servers' key.
        case `switch`
        /// The next key is served and is the primary; the old one is the backup, and still accepted.
        case settle
        /// The old key is retired; the last documents that contain it go stale.
        case cleanUp = "clean_up"
        case done
        case aborted

        /// Whether nothing comes after it.
        package var isOver: Bool { self == .done || self == .aborted }

        /// The phase after it; nil after the last.
        func next(in kind: Kind) -> Phase? {
            switch self {
            case .deliver: .switch
            case .switch: kind == .planned ? .settle : .cleanUp
            case .settle: .cleanUp
            case .cleanUp: .done
            case .done, .aborted: nil
            }
        }
    }

    package enum Kind: String, CaseIterable, Sendable, Hashable {
        /// Every client first, then the servers.
        case planned
        /// The old key is compromised: the servers first, and the old key leaves for ever as soon as the next is served.
        case emergency
    }

    /// What the phases wait for.
    package struct Goals: Hashable, Sendable {
        /// The share of clients that must hold a document with the next key, in basis points.
        package var adoption: Int
        /// The least time between publication and switch, in seconds.
        package var minimumWait: Int64
        /// The time after which no client goes by an older document unless it failed to fetch a newer one, whatever was
        /// counted, in seconds.
        package var sufficientWait: Int64
        /// How long the next key must have been served before the old one goes, in seconds.
        package var settling: Int64

        package init(
            adoption: Int = 9900, minimumWait: Int64 = 3600, sufficientWait: Int64 = 90_000, settling: Int64 = 86_400
        ) {
            self.adoption = adoption
            self.minimumWait = minimumWait
            self.sufficientWait = sufficientWait
            self.settling = settling
        }
    }

    /// Chosen by whoever starts it; unique within the app for ever.
    package let id: String
    package let kind: Kind
    package let hosts: [HostPattern]
    package let next: Pin
    /// The keys that are replaced: of each host the primaries at the start.
    package let old: [Pin]
    package let goals: Goals
    package var phase: Phase
    package let startedAt: Timestamp
    package var phaseSince: Timestamp
    /// In which phase it was aborted; nil where it was not.
    package var abortedIn: Phase?
    /// Whether no host had the next key before.
    package let isNextNew: Bool

    package init(
        id: String, kind: Kind, hosts: [HostPattern], next: Pin, isNextNew: Bool, old: [Pin], goals: Goals,
        startedAt: Timestamp
    ) {
        self.id = id
        self.kind = kind
        self.hosts = hosts
        self.next = next
        self.isNextNew = isNextNew
        self.old = old
        self.goals = goals
        self.phase = kind == .planned ? .deliver : .switch
        self.startedAt = startedAt
        self.phaseSince = startedAt
    }

    /// Whether servers may present the next key already, since the operator has been told to change it.
    var isSwitching: Bool {
        switch self.abortedIn ?? self.phase {
        case .switch, .settle, .cleanUp, .done: true
        case .deliver, .aborted: false
        }
    }

    /// Hosts that one rotation may cover.
    package static let hostLimit = 100
    /// Rotations that are remembered of an app after their end.
    package static let pastLimit = 20

    /// Whether a text may name a rotation: 1 to 64 letters, digits, hyphens, dots and underscores.
    package static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 45 || $0 == 46
                    || $0 == 95
            }
    }
}
