package import PinWire

/// The replacement of a key that hosts serve by another one, step by step, so that every client that gets a document
/// can connect all the way through.
///
/// A value that only events change; ``progress(of:in:at:)`` judges its conditions. It survives any restart: its
/// progress is only in the ledger.
package struct Rotation: Hashable, Sendable {
    /// Its progress. Each phase waits for a condition, and ends when an operator advances it.
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
        /// The old key is compromised: the servers first, and the old key is removed permanently as soon as the next is
        /// served.
        case emergency
    }

    /// The conditions of the phases.
    package struct Goals: Hashable, Sendable {
        /// The share of clients that must hold a document with the next key, in basis points.
        package var adoption: Int
        /// The least time between publication and switch, in seconds.
        package var minimumWait: Int64
        /// The time after which no client uses an older document unless it failed to fetch a newer one, whatever the
        /// counts say, in seconds.
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

    /// Chosen at the start; permanently unique within the app.
    package let id: String
    package let kind: Kind
    package let hosts: [HostPattern]
    package let next: Pin
    /// The keys that are replaced: each host's primaries at the start.
    package let old: [Pin]
    package let goals: Goals
    package var phase: Phase
    package let startedAt: Timestamp
    package var phaseSince: Timestamp
    /// The phase in which it was aborted; nil where it was not.
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

    /// Whether servers may present the next key already, since the operator has been asked to change it.
    var isSwitching: Bool {
        switch self.abortedIn ?? self.phase {
        case .switch, .settle, .cleanUp, .done: true
        case .deliver, .aborted: false
        }
    }

    /// The most hosts of one rotation.
    package static let hostLimit = 100
    /// The most ended rotations that an app remembers.
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
