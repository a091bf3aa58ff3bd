import PinWire

// What each command uses of the permissions whose use rules may bind to approvals.

extension DecisionContext {
    func uses(of commands: [AppCommand], _ change: AppChange, isOverriding: Bool) -> Set<PermissionUse> {
        var permissions = Set(commands.flatMap(\.permissions))
        for event in change.events {
            if let need = event.need { permissions.insert(need.permission) }
            if case .hostRemoved(let host) = event,
                change.before?.hosts[host]?.killSwitch?.isInForce(at: self.now) == true
            {
                permissions.insert(.releaseKillSwitches)
            }
        }
        if !change.weakenedHosts.isEmpty { permissions.insert(.weakenProtection) }
        if isOverriding { permissions.insert(.overrideGuardRails) }
        return Set(permissions.map { PermissionUse($0, .app(change.after.id)) })
    }

    func uses(of command: FleetCommand, isOverriding: Bool) -> Set<PermissionUse> {
        var uses: Set = [PermissionUse(command.permission, .everywhere)]
        if isOverriding { uses.insert(PermissionUse(.overrideGuardRails, .everywhere)) }
        return uses
    }

    func uses(of command: KeyCommand, isOverriding: Bool) -> Set<PermissionUse> {
        var uses: Set<PermissionUse> =
            switch command {
            // It signs nothing before it is activated.
            case .create: []
            case .activate, .retire: [PermissionUse(.manageKeys, .everywhere)]
            }
        if isOverriding { uses.insert(PermissionUse(.overrideGuardRails, .everywhere)) }
        return uses
    }

    /// What takes access away waits for nobody.
    func uses(of command: AccessCommand, in access: Access) -> Set<PermissionUse> {
        switch command {
        case .issueToken(let token):
            guard let terms = token.terms, terms.kind != .calendar else { return [] }
            // No more than its owner may do already.
            if let owner = terms.principal, owner == self.commander?.principalID { return [] }
            let apps = terms.principal == nil ? terms.grants?.flatMap(\.apps) : nil
            return [PermissionUse(.manageAccess, apps.map { .apps($0) } ?? .everywhere)]
        case .grantRole(_, _, let grant): return [PermissionUse(.manageAccess, .apps(grant.apps))]
        case .defineRole, .reinstatePrincipal: return [PermissionUse(.manageAccess, .everywhere)]
        case .setApprovalRule(let rule):
            let apps = rule.apps + (access.approvalRules[rule.name]?.apps ?? [])
            return [PermissionUse(.manageApprovals, .apps(apps))]
        case .removeApprovalRule(let name):
            return [PermissionUse(.manageApprovals, .apps(access.approvalRules[name]?.apps ?? [.all]))]
        case .removeFreeze(let id):
            return [PermissionUse(.manageApprovals, .apps(access.freezes[id]?.apps ?? [.all]))]
        case .revokeToken, .revokeGrant, .removeRole, .addPrincipal, .renamePrincipal, .suspendPrincipal, .setFreeze:
            return []
        }
    }
}
