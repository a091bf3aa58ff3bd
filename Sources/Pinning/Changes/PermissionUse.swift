import PinWire

/// The use of a permission by a command, and where.
package struct PermissionUse: Hashable, Sendable {
    package var permission: Permission
    package var reach: PermissionReach

    package init(_ permission: Permission, _ reach: PermissionReach) {
        self.permission = permission
        self.reach = reach
    }
}

extension PermissionReach {
    /// Whether it concerns one of some apps. What belongs to none is concerned only where all are: who manages the approvals of
    /// some apps has no say about the rest.
    func overlaps(_ patterns: [AppPattern]) -> Bool {
        switch self {
        case .app(let app): patterns.contains { $0.contains(app) }
        case .apps(let mine): mine.contains { mine in patterns.contains { $0.covers(mine) || mine.covers($0) } }
        case .anyApp, .everywhere: patterns.contains(.all)
        }
    }
}

extension Rights {
    /// Whether something may be done to one of some apps, as far as patterns tell.
    package func mayOverlap(_ permission: Permission, _ patterns: [AppPattern]) -> Bool {
        self.limits.allSatisfy { parts in
            parts.contains { part in
                part.permissions.contains(permission) && PermissionReach.apps(part.apps).overlaps(patterns)
            }
        }
    }

    /// Whether something may be done wherever a permission was used.
    func allows(_ permission: Permission, at reach: PermissionReach) -> Bool {
        switch reach {
        case .app(let app): self.allows(permission, on: app)
        case .apps(let patterns): self.allows(permission, on: patterns)
        case .anyApp: self.allowsSomewhere(permission)
        case .everywhere: self.allowsEverywhere(permission)
        }
    }
}
