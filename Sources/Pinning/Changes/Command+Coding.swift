import PinWire

// The form of commands in proposed changes: an object with the command's name in `command`, what it is about, and its terms.
// It is written and read by the ledger alone; who proposes a change sends the operations of the API.

extension Command {
    /// Whether it can be part of a proposed change: what can need approvals can. Commands of the server itself, and those that
    /// store a private key or a secret first, cannot.
    package var isProposable: Bool {
        switch self {
        case .app(_, let commands):
            commands.allSatisfy {
                switch $0 {
                case .react, .revert, .setClientKey, .rollout(_, .drive), .noteBuiltIn(_, _, .exported): false
                case .create, .rename, .setVersionGate, .setRollout, .setFallback, .setMonitoring, .setPinsValidUntil,
                    .archive, .unarchive, .addHost, .setSubdomains, .removeHost, .setMode, .startCandidate,
                    .promoteCandidate, .dropCandidate, .setHostRollout, .rollout, .addPin, .activatePin, .setPinRole,
                    .retirePin, .revokePin, .engageKillSwitch, .releaseKillSwitch, .engageVersionKillSwitch,
                    .releaseVersionKillSwitch, .setEndpoints, .describeKeys, .setGuardRail, .startRotation,
                    .advanceRotation, .abortRotation, .setClient, .removeClient, .noteBuiltIn:
                    true
                }
            }
        // Whether nodes with an earlier program run is asked when it is sent.
        case .fleet(.restoreHistory), .fleet(.raiseFeatureLevel): false
        case .fleet: true
        case .keys(.create): false
        case .keys: true
        case .access(.identity(.signIn)), .access(.identity(.redeem)): false
        case .access: true
        case .webhooks(.create), .webhooks(.pause), .webhooks(.rotateSecret): false
        case .webhooks: true
        case .log(.open), .log(.continueAs), .log(.addKey): false
        case .log: true
        case .watch, .telemetryKey, .publication, .change, .audit: false
        }
    }

    var json: JSON {
        switch self {
        case .app(let id, let commands):
            ["app_id": .string(id.text), "commands": .array(commands.map { .object($0.members) })]
        case .fleet(let command): ["fleet": .object(command.members)]
        case .keys(let command): ["keys": .object(command.members)]
        case .access(let command): ["access": .object(command.members)]
        case .webhooks(let command): ["webhooks": .object(command.members)]
        case .log(let command): ["log": .object(command.members)]
        case .watch, .telemetryKey, .publication, .change, .audit: .null
        }
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            if let id = m.optional("app_id") {
                var commands: [AppCommand] = []
                for field in try m.required("commands").elements(atMost: .max) {
                    commands.append(try field.object { (m) throws(JSONDefect) in try AppCommand(&m) })
                }
                return .app(try id.parse(AppID.init(_:)), commands)
            }
            if let fleet = m.optional("fleet") {
                return .fleet(try fleet.object { (m) throws(JSONDefect) in try FleetCommand(&m) })
            }
            if let keys = m.optional("keys") {
                return .keys(try keys.object { (m) throws(JSONDefect) in try KeyCommand(&m) })
            }
            if let webhooks = m.optional("webhooks") {
                return .webhooks(try webhooks.object { (m) throws(JSONDefect) in try WebhookCommand(&m) })
            }
            if let log = m.optional("log") {
                return .log(try log.object { (m) throws(JSONDefect) in try LogCommand(&m) })
            }
            return .access(
                try m.required("access").object { (m) throws(JSONDefect) in try AccessCommand(&m) })
        }
    }
}

extension FleetCommand {
    fileprivate var members: [String: JSON] {
        switch self {
        case .engageKillSwitch(let end):
            ["command": "engage_kill_switch", "expires_at": .string(end.rfc3339)]
        case .releaseKillSwitch: ["command": "release_kill_switch"]
        case .setIssuer(let issuer): ["command": "set_issuer", "issuer": .string(issuer)]
        case .setGuardRail(let rail, let isLowered):
            ["command": "set_guard_rail", "code": .string(rail.rawValue), "lowered": .bool(isLowered)]
        case .raiseFeatureLevel, .restoreHistory: [:]
        }
    }

    fileprivate init(_ m: inout JSONMembers) throws(JSONDefect) {
        let name = try m.required("command")
        switch try name.string() {
        case "engage_kill_switch": self = .engageKillSwitch(expiresAt: try m.required("expires_at").timestamp())
        case "release_kill_switch": self = .releaseKillSwitch
        case "set_issuer": self = .setIssuer(try m.required("issuer").string())
        case "set_guard_rail":
            self = .setGuardRail(
                try m.required("code").oneOf(GuardRail.self), isLowered: try m.required("lowered").bool())
        default: throw name.defect("is not a command for the fleet")
        }
    }
}

extension KeyCommand {
    fileprivate var members: [String: JSON] {
        switch self {
        case .activate(let kid): ["command": "activate", "kid": .string(kid)]
        case .retire(let kid): ["command": "retire", "kid": .string(kid)]
        case .publishRoot(let file, let restarts):
            JSON.members([
                "command": "publish_root", "root": file.json, "restart": restarts ? .bool(true) : nil,
            ]).objectValue ?? [:]
        case .create: [:]
        }
    }

    fileprivate init(_ m: inout JSONMembers) throws(JSONDefect) {
        let name = try m.required("command")
        switch try name.string() {
        case "activate": self = .activate(kid: try m.required("kid").string())
        case "retire": self = .retire(kid: try m.required("kid").string())
        case "publish_root":
            self = .publishRoot(
                try SignedRoot(try m.required("root")), restarts: try m.optional("restart")?.bool() ?? false)
        default: throw name.defect("is not a command for signing keys")
        }
    }
}

extension AccessCommand {
    fileprivate var members: [String: JSON] {
        switch self {
        case .issueToken(let token):
            JSON.members([
                "command": "issue_token", "token_id": .string(token.id), "name": .string(token.name),
                "sha256": .string(Hex.encode(token.digest)), "expires_at": .string(token.expiresAt.rfc3339),
                "terms": token.terms?.json ?? .null, "replaces": token.replaced?.json,
            ]).objectValue ?? [:]
        case .revokeToken(let id): ["command": "revoke_token", "token_id": .string(id)]
        case .defineRole(let role, let permissions):
            [
                "command": "define_role", "role": .string(role.text),
                "permissions": .array(permissions.map(\.rawValue).sorted().map { .string($0) }),
            ]
        case .removeRole(let role): ["command": "remove_role", "role": .string(role.text)]
        case .addPrincipal(let id, let kind, let name):
            [
                "command": "add_principal", "principal_id": .string(id), "kind": .string(kind.rawValue),
                "name": .string(name),
            ]
        case .renamePrincipal(let id, let name):
            ["command": "rename_principal", "principal_id": .string(id), "name": .string(name)]
        case .suspendPrincipal(let id): ["command": "suspend_principal", "principal_id": .string(id)]
        case .reinstatePrincipal(let id): ["command": "reinstate_principal", "principal_id": .string(id)]
        case .grantRole(let id, let principal, let grant):
            [
                "command": "grant_role", "grant_id": .string(id), "principal_id": .string(principal),
                "grant": grant.json,
            ]
        case .revokeGrant(let id): ["command": "revoke_grant", "grant_id": .string(id)]
        case .addApprovalKey(let key, let principal):
            [
                "command": "add_approval_key", "kid": .string(key.kid), "principal_id": .string(principal),
                "public_key": .string(Base64URL.encode(key.publicKey)),
            ]
        case .removeApprovalKey(let kid, let principal):
            ["command": "remove_approval_key", "kid": .string(kid), "principal_id": .string(principal)]
        case .setApprovalRule(let rule): ["command": "set_approval_rule", "rule": rule.json]
        case .removeApprovalRule(let name): ["command": "remove_approval_rule", "rule": .string(name.text)]
        case .setFreeze(let freeze): ["command": "set_freeze", "freeze": freeze.json]
        case .removeFreeze(let id): ["command": "remove_freeze", "freeze_id": .string(id)]
        case .identity(.setProvider(let provider)): ["command": "set_identity_provider", "provider": provider.json]
        case .identity(.removeProvider(let name)):
            ["command": "remove_identity_provider", "provider": .string(name.text)]
        case .identity(.setRule(let rule)): ["command": "set_sign_in_rule", "rule": rule.json]
        case .identity(.removeRule(let name)): ["command": "remove_sign_in_rule", "rule": .string(name.text)]
        case .identity(.link(let identity, let principal)):
            [
                "command": "link_identity",
                "identity": LinkedIdentity(identity: identity, principal: principal).json,
            ]
        case .identity(.unlink(let id)): ["command": "unlink_identity", "identity_id": .string(id)]
        case .identity(.signIn), .identity(.redeem): [:]
        }
    }

    fileprivate init(_ m: inout JSONMembers) throws(JSONDefect) {
        let name = try m.required("command")
        switch try name.string() {
        case "issue_token":
            self = .issueToken(
                NewToken(
                    id: try m.required("token_id").string(), name: try m.required("name").string(),
                    digest: try MemberValue<[UInt8]>.sha256.read(try m.required("sha256")),
                    expiresAt: try m.required("expires_at").timestamp(),
                    terms: try AccessToken.Terms(try m.required("terms")),
                    replaced: try m.optional("replaces").mapped(TokenReplacement.init(_:))))
        case "add_approval_key":
            self = .addApprovalKey(
                ApprovalKey(
                    kid: try m.required("kid").string(),
                    publicKey: try MemberValue<[UInt8]>.publicKey.read(try m.required("public_key"))),
                principal: try m.required("principal_id").string())
        case "remove_approval_key":
            self = .removeApprovalKey(
                kid: try m.required("kid").string(), principal: try m.required("principal_id").string())
        case "revoke_token": self = .revokeToken(id: try m.required("token_id").string())
        case "define_role":
            var permissions: Set<Permission> = []
            for field in try m.required("permissions").elements(atMost: Permission.allCases.count) {
                permissions.insert(try field.oneOf(Permission.self))
            }
            self = .defineRole(try m.required("role").parse(RoleName.init(_:)), permissions)
        case "remove_role": self = .removeRole(try m.required("role").parse(RoleName.init(_:)))
        case "add_principal":
            self = .addPrincipal(
                id: try m.required("principal_id").string(), try m.required("kind").oneOf(Principal.Kind.self),
                name: try m.required("name").string())
        case "rename_principal":
            self = .renamePrincipal(
                id: try m.required("principal_id").string(), name: try m.required("name").string())
        case "suspend_principal": self = .suspendPrincipal(id: try m.required("principal_id").string())
        case "reinstate_principal": self = .reinstatePrincipal(id: try m.required("principal_id").string())
        case "grant_role":
            self = .grantRole(
                id: try m.required("grant_id").string(), principal: try m.required("principal_id").string(),
                try Grant(try m.required("grant")))
        case "revoke_grant": self = .revokeGrant(id: try m.required("grant_id").string())
        case "set_approval_rule": self = .setApprovalRule(try ApprovalRule(try m.required("rule")))
        case "remove_approval_rule":
            self = .removeApprovalRule(try m.required("rule").parse(RoleName.init(_:)))
        case "set_freeze": self = .setFreeze(try Freeze(try m.required("freeze")))
        case "set_identity_provider":
            self = .identity(.setProvider(try IdentityProvider(try m.required("provider"))))
        case "remove_identity_provider":
            self = .identity(.removeProvider(try m.required("provider").parse(RoleName.init(_:))))
        case "set_sign_in_rule": self = .identity(.setRule(try SignInRule(try m.required("rule"))))
        case "remove_sign_in_rule":
            self = .identity(.removeRule(try m.required("rule").parse(RoleName.init(_:))))
        case "link_identity":
            self = try m.required("identity").object { (m) throws(JSONDefect) in
                let linked = try LinkedIdentity(&m)
                return .identity(.link(linked.identity, principal: linked.principal ?? ""))
            }
        case "unlink_identity": self = .identity(.unlink(id: try m.required("identity_id").string()))
        case "remove_freeze": self = .removeFreeze(id: try m.required("freeze_id").string())
        default: throw name.defect("is not a command for access")
        }
    }
}
