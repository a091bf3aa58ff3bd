import PinWire

// What each command uses of the permissions whose use rules may bind to approvals.

extension DecisionContext {
    /// What follows from the effects, not from the commands' names: a revert has effects of every kind.
    func uses(of commands: [AppCommand], _ change: AppChange, isOverriding: Bool) -> Set<PermissionUse> {
        var permissions: Set<Permission> = []
        for event in change.events {
            let need = event.need(after: change.before, at: self.now)?.permission
            // The release of a switch that has run out changes nothing for clients.
            if need == nil, event.isRelease { continue }
            permissions.insert(need ?? .changeApps)
            // Engaging a kill switch changes nothing else of the app, and is never a change that waits.
            if need != .engageKillSwitches, need != .createApps { permissions.insert(.changeApps) }
            if case .hostRemoved(let host) = event,
                change.before?.hosts[host]?.killSwitch?.isOver(at: self.now) == false
            {
                permissions.insert(.releaseKillSwitches)
            }
        }
        if !change.weakening.hosts.isEmpty || change.weakening.isOfApp { permissions.insert(.weakenProtection) }
        if isOverriding { permissions.insert(.overrideGuardRails) }
        return Set(permissions.map { PermissionUse($0, .app(change.after.id)) })
    }

    func uses(of command: FleetCommand, isOverriding: Bool) -> Set<PermissionUse> {
        // It cannot wait in a change: nodes of an earlier program may come back.
        if case .raiseFeatureLevel = command { return [] }
        var uses: Set = [PermissionUse(command.permission, .everywhere)]
        if case .engageKillSwitch(let end) = command, self.endsSooner(end) {
            uses.insert(PermissionUse(.releaseKillSwitches, .everywhere))
        }
        if isOverriding { uses.insert(PermissionUse(.overrideGuardRails, .everywhere)) }
        return uses
    }

    func uses(of command: KeyCommand, isOverriding: Bool) -> Set<PermissionUse> {
        var uses: Set<PermissionUse> =
            switch command {
            // It is announced. It signs at once only where no key does yet.
            case .create: []
            case .activate, .retire, .publishRoot: [PermissionUse(.manageKeys, .everywhere)]
            }
        if isOverriding { uses.insert(PermissionUse(.overrideGuardRails, .everywhere)) }
        return uses
    }

    /// What makes a key cannot wait in a change.
    func uses(of command: LogCommand) -> Set<PermissionUse> {
        switch command {
        case .open, .continueAs, .addKey: []
        case .retireKey, .addWitness, .removeWitness, .setQuorum, .update: [PermissionUse(.manageLog, .everywhere)]
        }
    }

    /// What makes a secret cannot wait in a change.
    func uses(of command: WebhookCommand) -> Set<PermissionUse> {
        switch command {
        case .create, .pause, .rotateSecret: []
        case .change, .remove: [PermissionUse(.manageWebhooks, .everywhere)]
        }
    }

    /// What takes access away, and what gives none, waits for nobody.
    func uses(of command: AccessCommand, in access: Access) -> Set<PermissionUse> {
        switch command {
        case .issueToken(let token):
            guard let terms = token.terms, terms.kind != .calendar else { return [] }
            // No more than its owner may do already.
            if let owner = terms.principal, owner == self.commander?.principalID { return [] }
            let apps = terms.principal == nil ? terms.grants?.flatMap(\.apps) : nil
            return [PermissionUse(.manageAccess, apps.map { .apps($0) } ?? .everywhere)]
        case .grantRole(_, _, let grant): return [PermissionUse(.manageAccess, .apps(grant.apps))]
        case .defineRole, .reinstatePrincipal, .addApprovalKey: return [PermissionUse(.manageAccess, .everywhere)]
        case .setApprovalRule(let rule):
            let apps = rule.apps + (access.approvalRules[rule.name]?.apps ?? [])
            return [PermissionUse(.manageApprovals, .apps(apps))]
        case .removeApprovalRule(let name):
            return [PermissionUse(.manageApprovals, .apps(access.approvalRules[name]?.apps ?? [.all]))]
        case .removeFreeze(let id):
            return [PermissionUse(.manageApprovals, .apps(access.freezes[id]?.apps ?? [.all]))]
        case .identity(let command):
            guard let grants = access.grantsInReach(of: command) else { return [] }
            return [
                PermissionUse(.manageAccess, .everywhere),
                PermissionUse(.manageAccess, .apps(grants.flatMap(\.apps))),
            ]
        case .removeApprovalKey(_, let id):
            // Without a key, the person's token alone approves.
            let isLast = access.principals[id].map { $0.approvalKeys.count <= 1 } ?? false
            return isLast ? [PermissionUse(.manageAccess, .everywhere)] : []
        case .revokeToken, .revokeGrant, .removeRole, .addPrincipal, .renamePrincipal,
            .suspendPrincipal, .setFreeze:
            return []
        }
    }
}

extension Access {
    /// What a command gives to identities, or gave until now; nil for one that gives none anything.
    fileprivate func grantsInReach(of command: IdentityCommand) -> [Grant]? {
        switch command {
        case .setProvider(let provider):
            self.signInRules.values.filter { $0.provider == provider.name }.flatMap(\.grants)
        case .setRule(let rule):
            rule.grants + (self.signInRules[rule.name]?.grants ?? []) + self.grants(ofJobsOf: rule)
        case .link(let identity, let principal):
            // What the principal has, and what rules may give to the identity.
            (self.principals[principal].map { Array($0.grants.values) } ?? [])
                + self.grants(of: self.principals[principal]?.lastSignIn?.rules ?? [])
                + self.signInRules.values.filter { self.identityProviders[$0.provider]?.issuer == identity.issuer }
                .flatMap(\.grants)
        case .removeProvider, .removeRule, .unlink, .signIn, .redeem: nil
        }
    }
}

extension AppEvent {
    /// Whether it ends a kill switch.
    fileprivate var isRelease: Bool {
        if case .killSwitchReleased = self { return true }
        if case .versionKillSwitchReleased = self { return true }
        return false
    }
}
