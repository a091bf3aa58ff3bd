package import PinWire

/// A person or a service account: who acts, with whichever token.
package struct Principal: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case person
        /// A program, such as a pipeline.
        case service
    }

    /// Outlives every change of the name.
    package let id: String
    package let kind: Kind
    package var name: String
    package let createdAt: Timestamp
    /// Since when none of its tokens is accepted; nil where they are.
    package var suspendedAt: Timestamp?
    /// By their ids.
    package var grants: [String: Grant] = [:]
    /// The keys with which it signs approvals, by their ids. With one, its approvals must be signed.
    package var approvalKeys: [String: ApprovalKey] = [:]
    /// Nil for one that never signed in with an identity.
    package var lastSignIn: LastSignIn?

    /// Whether it acts, or acted, with sessions.
    package var hasSignedIn: Bool { self.lastSignIn != nil }

    /// The rules that admitted it, and when.
    package struct LastSignIn: Hashable, Sendable {
        var rules: [RuleReference]
        var time: Timestamp
    }

    package init(id: String, kind: Kind, name: String, createdAt: Timestamp) {
        self.id = id
        self.kind = kind
        self.name = name
        self.createdAt = createdAt
    }

    /// The most grants of one principal that have not ended.
    package static let grantLimit = 100
    /// The most apps and hosts that they name together: each request is compared with all of them.
    package static let patternLimit = 500
    /// The most valid tokens of one principal.
    package static let tokenLimit = 100

    package var json: JSON {
        .members([
            "principal_id": .string(self.id),
            "kind": .string(self.kind.rawValue),
            "name": .string(self.name),
            "created_at": .string(self.createdAt.rfc3339),
            "suspended_at": self.suspendedAt.map { .string($0.rfc3339) },
            "last_sign_in": self.lastSignIn.map { last in
                [
                    "time": .string(last.time.rfc3339),
                    "rules": .array(last.rules.map { .string($0.name.text) }),
                ]
            },
            "approval_keys": self.approvalKeys.isEmpty
                ? nil : .array(self.approvalKeys.sorted { $0.key < $1.key }.map(\.value.json)),
            "grants": .array(
                self.grants.sorted { $0.key < $1.key }.map { id, grant in
                    guard case .object(var members) = grant.json else { return grant.json }
                    members["grant_id"] = .string(id)
                    return .object(members)
                }),
        ])
    }
}
