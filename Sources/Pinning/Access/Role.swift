/// The name of a role: 1 to 40 lower-case letters, digits, hyphens and underscores, beginning with a letter.
package struct RoleName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let text: String

    /// The most characters of a name.
    static let limit = 40

    package var description: String { self.text }

    package static func < (left: RoleName, right: RoleName) -> Bool { left.text < right.text }

    /// Why a text is not the name of a role.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package init(_ text: String) throws(Malformed) {
        let bytes = Array(text.utf8)
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        guard (1...Self.limit).contains(bytes.count), let first = bytes.first, letters.contains(first),
            bytes.allSatisfy({
                letters.contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || [UInt8(ascii: "-"), UInt8(ascii: "_")].contains($0)
            })
        else {
            throw Malformed(
                description: "must be 1 to \(Self.limit) lower-case letters, digits, hyphens and underscores, "
                    + "beginning with a letter, such as release-manager")
        }
        self.text = text
    }

    /// The name of a role that every installation has.
    package init(_ role: BuiltInRole) { self.text = role.rawValue }
}

/// The roles that every installation has, from the one that may do least. They cannot be changed.
package enum BuiltInRole: String, CaseIterable, Sendable {
    /// Sees apps and what they serve.
    case viewer
    /// Sees everything, changes nothing.
    case auditor
    /// Changes pins, hosts and rollouts, within the guard rails.
    case editor
    /// Approves changes of others.
    case approver
    /// Turns pinning off and on again.
    case `operator`
    case admin

    /// All names that no role of an installation may have.
    static let names = Set(BuiltInRole.allCases.map(\.rawValue))

    package var permissions: Set<Permission> { Self.table[self] ?? [] }

    // Asked with every request.
    private static let table: [BuiltInRole: Set<Permission>] = {
        let viewing: Set<Permission> = [.readApps, .readFleet]
        return [
            .viewer: viewing,
            .auditor: Set(Permission.allCases.filter(\.isRead)),
            .editor: viewing.union([
                .readHistory, .readChanges, .createApps, .changeApps, .weakenProtection, .manageCalendarFeeds,
                .runProbes,
            ]),
            .approver: viewing.union([.readHistory, .readChanges, .approveChanges, .runProbes]),
            .operator: viewing.union([
                .readHistory, .readChanges, .runProbes, .engageKillSwitches, .releaseKillSwitches,
            ]),
            .admin: Set(Permission.allCases),
        ]
    }()

    /// What its holders may do, for people.
    package var summary: String {
        switch self {
        case .viewer: "Sees apps, their hosts and pins, and what they serve."
        case .auditor: "Sees everything, also history, access and the log. Changes nothing."
        case .editor: "Creates apps and changes their hosts, pins and rollouts, within the guard rails."
        case .approver: "Approves and rejects changes that others propose. Changes nothing alone."
        case .operator: "Engages and releases kill switches."
        case .admin: "May do everything."
        }
    }
}
