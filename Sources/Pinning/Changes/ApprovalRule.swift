package import PinWire

/// What takes the consent of further people: the use of some permissions on some apps.
///
/// It binds tokens. What the server does by itself, such as the next step of a rollout's plan, and an operator at the
/// database are not bound by it.
package struct ApprovalRule: Hashable, Sendable {
    package var name: RoleName
    /// At least one. What belongs to no app falls only under rules on ``AppPattern/all``.
    package var apps: [AppPattern]
    /// At least one of ``approvable``.
    package var permissions: Set<Permission>
    /// How many people must approve, 1 to ``approvalLimit``.
    package var approvals: Int
    /// An approver must hold one of these roles on the apps. If empty, any role with `changes.approve` will do.
    package var roles: [RoleName]
    /// Whether only approvals count that their givers signed with their own key.
    package var isSigned: Bool

    package init(
        name: RoleName, apps: [AppPattern], permissions: Set<Permission>, approvals: Int, roles: [RoleName] = [],
        isSigned: Bool = false
    ) {
        self.name = name
        self.apps = apps
        self.permissions = permissions
        self.approvals = approvals
        self.roles = roles
        self.isSigned = isSigned
    }

    /// The most approvals that a rule may ask for.
    package static let approvalLimit = 5
    package static let patternLimit = 50
    package static let roleLimit = 20

    /// The permissions whose use a rule may bind. Engaging a kill switch is none of them: it never waits.
    package static let approvable: Set<Permission> = [
        .createApps, .changeApps, .archiveApps, .weakenProtection, .releaseKillSwitches, .changeGuardRails,
        .overrideGuardRails, .changeFleet, .manageKeys, .manageAccess, .manageApprovals, .manageLog, .manageWebhooks,
    ]

    func binds(_ use: PermissionUse) -> Bool {
        self.permissions.contains(use.permission) && use.reach.overlaps(self.apps)
    }

    package var json: JSON { .object(self.members) }

    var members: [String: JSON] {
        var members: [String: JSON] = [
            "rule": .string(self.name.text),
            "apps": .array(self.apps.map { .string($0.description) }),
            "permissions": .array(self.permissions.map(\.rawValue).sorted().map { .string($0) }),
            "approvals": .integer(Int64(self.approvals)),
        ]
        if !self.roles.isEmpty { members["roles"] = .array(self.roles.map { .string($0.text) }) }
        if self.isSigned { members["signed"] = true }
        return members
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let name = try members.required("rule").parse(RoleName.init(_:))
            return try ApprovalRule(&members, name: name)
        }
    }

    /// Takes all members but the name.
    package init(_ members: inout JSONMembers, name: RoleName) throws(JSONDefect) {
        self.name = name
        self.apps = try members.required("apps").patterns(atMost: Self.patternLimit)
        let field = try members.required("permissions")
        self.permissions = []
        for element in try field.elements(atMost: Permission.allCases.count) {
            let permission = try element.oneOf(Permission.self)
            guard Self.approvable.contains(permission) else {
                throw element.defect(
                    "is not a permission whose use takes approvals; these are "
                        + Self.approvable.map(\.rawValue).sorted().joined(separator: ", "))
            }
            self.permissions.insert(permission)
        }
        guard !self.permissions.isEmpty else { throw field.defect("must name at least one permission") }
        if let alone = self.permissions.first(where: { !$0.isPerApp }), !self.apps.contains(.all) {
            throw field.defect("names \(alone.rawValue), which belongs to no app: the rule must be on *")
        }
        self.approvals = Int(try members.required("approvals").integer(1...Int64(Self.approvalLimit)))
        self.roles = []
        for role in try members.optional("roles")?.elements(atMost: Self.roleLimit) ?? [] {
            self.roles.append(try role.parse(RoleName.init(_:)))
        }
        self.isSigned = try members.optional("signed")?.bool() ?? false
    }
}

extension JSONField {
    /// Patterns of apps, at least one.
    func patterns(atMost limit: Int) throws(JSONDefect) -> [AppPattern] {
        var patterns: [AppPattern] = []
        for field in try self.elements(atMost: limit) { patterns.append(try field.parse(AppPattern.init(_:))) }
        guard !patterns.isEmpty else { throw self.defect("must name at least one app, or *") }
        return patterns
    }
}
