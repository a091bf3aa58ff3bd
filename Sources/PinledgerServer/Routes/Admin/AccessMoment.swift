import PinWire
import Pinning

extension Access {
    /// Who could do what at a moment: principals, the tokens that were valid, roles and rules; each in the form of its own list.
    ///
    /// - Parameter withRules: Whether approval rules and freezes are shown to who asks.
    func json(at time: Timestamp, withRules: Bool) -> JSON {
        .members([
            "as_of": .string(time.rfc3339),
            "principals": .array(
                self.principals.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }.map(\.json)),
            "tokens": .array(
                self.tokens.values.filter { $0.isValid(at: time) && $0.kind != .calendar }
                    .sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }.map(\.json)),
            "roles": .array(self.rolesInOrder),
            "approval_rules": !withRules
                ? nil : .array(self.approvalRules.values.sorted { $0.name < $1.name }.map(\.json)),
            "freezes": !withRules
                ? nil
                : .array(
                    self.freezes.values.filter { time < $0.until }.sorted { ($0.from, $0.id) < ($1.from, $1.id) }
                        .map(\.json)),
            "identity_providers": .array(self.identityProviders.values.sorted { $0.name < $1.name }.map(\.json)),
            "sign_in_rules": .array(self.signInRules.values.sorted { $0.name < $1.name }.map(\.json)),
        ])
    }

    /// All roles: those of every installation, and then this one's own.
    var rolesInOrder: [JSON] {
        func permissions(_ set: Set<Permission>) -> JSON {
            .array(Permission.allCases.filter(set.contains).map { .string($0.rawValue) })
        }
        let builtIn = BuiltInRole.allCases.map { role -> JSON in
            [
                "role": .string(role.rawValue), "built_in": true, "summary": .string(role.summary),
                "permissions": permissions(role.permissions),
            ]
        }
        let own = self.roles.sorted { $0.key < $1.key }.map { name, set -> JSON in
            ["role": .string(name.text), "built_in": false, "permissions": permissions(set)]
        }
        return builtIn + own
    }
}
