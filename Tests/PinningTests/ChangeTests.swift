import PinWire
import Pinning
import SeededRandom
import Testing

@Suite struct `A proposed change` {
    @Test func `a change is applied with the approvals that its rules ask for, and not before`() throws {
        var world = try ChangeWorld()
        #expect(
            world.refusal(ChangeWorld.addition, as: ChangeWorld.Party.ada.actor)
                == .approvalRequired([ChangeWorld.rule]))
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        #expect(world.state.apps[shop]?.hosts[api]?[.baseline]?.pins.count == 2)
        guard
            case .approvalsMissing(_, let needs)? = world.refusal(
                of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada)
        else {
            Issue.record("it was applied without an approval")
            return
        }
        #expect(needs.map(\.rule) == [ChangeWorld.rule] && needs.allSatisfy { $0.approvers.isEmpty })
        try world.approve("chg_1", as: .bob)
        let decision = try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
        #expect(world.state.apps[shop]?.hosts[api]?[.baseline]?.pins.count == 3)
        #expect(decision.applied?.id == "chg_1")
        #expect(decision.effects.map(\.stream) == [.app(shop)])
        #expect(
            decision.events == [
                .changes(
                    .applied(
                        id: "chg_1", by: ChangeWorld.Party.ada.actor, effects: Int64(decision.effects[0].events.count),
                        bypassesApprovals: false))
            ])
        #expect(world.state.changes["chg_1"]?.recordedStatus == .applied)
        #expect(
            world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada)
                == .changeClosed("chg_1", .applied))
    }

    /// Who approves what, and why it does not count.
    @Test func `an approval counts only from another person who may give it`() throws {
        var world = try ChangeWorld()
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        let approve = ChangeCommand.approve(id: "chg_1", contentDigest: try world.digest("chg_1"))
        #expect(world.refusal(of: approve, as: .ada) == .approvalOfOwnChange("chg_1"))
        #expect(world.refusal(of: approve, as: .dan) == .permissionMissing(.approveChanges, .app(shop)))
        #expect(world.refusal(of: approve, as: .pipeline) == .approverNotPerson)
        #expect(world.refusal(of: approve, as: .stray) == .approverNotPerson)
        #expect(world.refusal(of: approve, as: .other) == .changeUnknown("chg_1"))
        #expect(
            world.refusal(of: .approve(id: "chg_1", contentDigest: sha256([1])), as: .bob)
                == .changeContentStale("chg_1"))
        // Another token of the same person is the same person.
        var second = ChangeWorld.Party.ada.actor
        second.id = "tok_ada2"
        try world.record(
            .access(
                .issueToken(
                    newToken("tok_ada2", digest: sha256([99]), until: noon.adding(seconds: 9_999), nil, of: "prn_ada")))
        )
        #expect(world.refusal(.change(approve), as: second) == .approvalOfOwnChange("chg_1"))
        try world.act(approve, as: .eve)
        let again = try world.act(approve, as: .eve)
        #expect(again.events.isEmpty)
    }

    @Test func `two approvals are those of two people`() throws {
        var rule = ChangeWorld.rule
        rule.approvals = 2
        var world = try ChangeWorld(rules: [rule])
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        try world.approve("chg_1", as: .bob)
        try world.approve("chg_1", as: .bob)
        #expect(world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .bob) != nil)
        try world.approve("chg_1", as: .eve)
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .bob)
    }

    @Test func `an approval is void once its giver may not give it any more`() throws {
        let endings: [AccessCommand] = [
            .revokeGrant(id: "grt_bob"), .suspendPrincipal(id: "prn_bob"),
        ]
        for ending in endings {
            var world = try ChangeWorld()
            try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
            try world.approve("chg_1", as: .bob)
            try world.record(.access(ending))
            #expect(world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada) != nil)
            // A token that ended is none of it.
        }
        var world = try ChangeWorld()
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        try world.approve("chg_1", as: .bob)
        try world.record(.access(.revokeToken(id: "tok_bob")))
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
    }

    @Test func `a rule can ask for a role of its approvers`() throws {
        var rule = ChangeWorld.rule
        rule.roles = [RoleName(.admin)]
        var world = try ChangeWorld(rules: [rule])
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        let approve = ChangeCommand.approve(id: "chg_1", contentDigest: try world.digest("chg_1"))
        #expect(world.refusal(of: approve, as: .bob) == .permissionMissing(.approveChanges, .app(shop)))
        try world.act(approve, as: .root)
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
    }

    @Test func `an edit voids approvals, and makes its author one of those who cannot approve`() throws {
        var world = try ChangeWorld()
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        try world.approve("chg_1", as: .bob)
        let base = try world.digest("chg_1")
        try world.act(
            .edit(id: "chg_1", base: base, ChangeWorld.draft(ChangeWorld.addition, ChangeWorld.weakening)), as: .root)
        #expect(world.state.changes["chg_1"]?.approvals.isEmpty == true)
        #expect(
            world.refusal(of: .edit(id: "chg_1", base: base, ChangeWorld.draft(ChangeWorld.addition)), as: .ada)
                == .changeContentStale("chg_1"))
        #expect(world.refusal(of: .approve(id: "chg_1", contentDigest: base), as: .bob) == .changeContentStale("chg_1"))
        let present = ChangeCommand.approve(id: "chg_1", contentDigest: try world.digest("chg_1"))
        #expect(world.refusal(of: present, as: .root) == .approvalOfOwnChange("chg_1"))
        #expect(world.refusal(of: present, as: .ada) == .approvalOfOwnChange("chg_1"))
        try world.act(present, as: .bob)
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .bob)
        #expect(world.state.apps[shop]?.hosts[api]?[.baseline]?.mode == .off)
    }

    @Test func `a base that moved in a conflicting way keeps it from being applied, and another does not`() throws {
        var world = try ChangeWorld()
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.weakening), as: .ada)
        try world.approve("chg_1", as: .bob)
        var other = world
        // Something else of the app changes: the same would happen.
        try world.record(.app(shop, [.rename("Store")]))
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
        // The mode is the same already: nothing would happen.
        try other.record(ChangeWorld.weakening)
        #expect(
            other.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada) == .changeConflict("chg_1"))
        // And the host is gone.
        try other.record(.app(shop, [.removeHost(api)]))
        #expect(other.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada) == .hostUnknown(api))
    }

    @Test func `the author of a change can do no more by it than alone`() throws {
        let world = try ChangeWorld()
        let grant = Command.access(.grantRole(id: "grt_9", principal: "prn_ada", .everywhere(.admin)))
        #expect(
            world.refusal(of: ChangeWorld.create("chg_1", grant), as: .ada)
                == .permissionMissing(.manageAccess, .anyApp))
        #expect(world.refusal(of: ChangeWorld.create("chg_1", ChangeWorld.addition), as: .other) == .appUnknown(shop))
        // A right that is lost in between is lost for the change too.
        var later = try ChangeWorld()
        try later.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        try later.approve("chg_1", as: .bob)
        try later.record(.access(.revokeGrant(id: "grt_ada")))
        #expect(later.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .bob) == .appUnknown(shop))
    }

    /// What weakens protection, each with what stands before it.
    static let weakenings: [(given: [AppCommand], commands: [AppCommand])] = [
        ([], [.setMode(api, .baseline, .off)]), ([], [.removeHost(api)]),
        ([.setSubdomains(api, includesSubdomains: true)], [.setSubdomains(api, includesSubdomains: false)]),
        ([], [.startCandidate(api, mode: .off, copiesBaseline: nil, pins: [])]),
        ([], [.setPinsValidUntil(noon.adding(seconds: 2))]),
        (
            [.setPinsValidUntil(noon.adding(seconds: 9_000))], [.setPinsValidUntil(noon.adding(seconds: 8_000))]
        ),
        (
            [.setFallback(Fallback(usesBuiltinPins: true, hosts: [api]))],
            [.setFallback(Fallback(usesBuiltinPins: false, hosts: [api]))]
        ),
        (
            [.setFallback(Fallback(usesBuiltinPins: true, hosts: [api]))],
            [.setFallback(Fallback(usesBuiltinPins: true, hosts: []))]
        ),
        // A more specific host takes the place of a wildcard, or of a host with its subdomains.
        (
            [
                .addHost(
                    host("*.example.com"), includesSubdomains: false, mode: .reportOnly,
                    pins: [new(1), new(2, .backup)])
            ],
            [.addHost(host("login.example.com"), includesSubdomains: false, mode: .off, pins: [])]
        ),
        (
            [.setSubdomains(api, includesSubdomains: true)],
            [.addHost(host("a.b.api.example.com"), includesSubdomains: false, mode: .off, pins: [])]
        ),
        // Pins that are built in count as enforced.
        (
            [.addHost(cdn, includesSubdomains: false, mode: nil, pins: [])],
            [.startCandidate(cdn, mode: .reportOnly, copiesBaseline: nil, pins: [new(7), new(8, .backup)])]
        ),
        (
            [
                .addHost(cdn, includesSubdomains: false, mode: nil, pins: []),
                .startCandidate(cdn, mode: .reportOnly, copiesBaseline: nil, pins: [new(7), new(8, .backup)]),
            ], [.promoteCandidate(cdn)]
        ),
        // A candidate that was approved for few devices goes to more.
        (
            [.startCandidate(api, mode: .off, copiesBaseline: nil, pins: []), canary],
            [.setHostRollout(api, Rollout(basisPoints: 10_000))]
        ),
        ([.startCandidate(api, mode: .off, copiesBaseline: nil, pins: []), canary], [.setHostRollout(api, nil)]),
        (
            [.startCandidate(api, mode: .off, copiesBaseline: nil, pins: []), canary],
            [.rollout(api, .setPlan(RolloutPlan.Terms(steps: [RolloutPlan.Step(10_000)])))]
        ),
        // Built-in pins below a host that is protected: no release is known to have them.
        (
            [.setSubdomains(api, includesSubdomains: true)],
            [.addHost(host("a.api.example.com"), includesSubdomains: false, mode: nil, pins: [])]
        ),
        (
            [.setSubdomains(api, includesSubdomains: true)],
            [.addHost(host("*.api.example.com"), includesSubdomains: false, mode: nil, pins: [])]
        ),
        // A weaker candidate of internal builds goes to everyone.
        (
            [
                .setVersionGate(VersionGate(minimumBuild: 9_000)),
                .startCandidate(api, mode: .off, copiesBaseline: nil, pins: []),
            ], [.setVersionGate(nil)]
        ),
        (
            [
                .setVersionGate(VersionGate(minimum: version("2.0"), excluded: [version("2.1")])),
                .startCandidate(api, mode: .off, copiesBaseline: nil, pins: []),
            ], [.setVersionGate(VersionGate(minimum: version("2.0")))]
        ),
        // A weaker host takes over names that another one held.
        (
            [
                .setSubdomains(api, includesSubdomains: true),
                .addHost(host("eu.api.example.com"), includesSubdomains: false, mode: .off, pins: []),
            ], [.setSubdomains(host("eu.api.example.com"), includesSubdomains: true)]
        ),
        (
            [
                .addHost(
                    host("*.example.com"), includesSubdomains: true, mode: .reportOnly,
                    pins: [new(1), new(2, .backup)])
            ], [.addHost(host("eu.example.com"), includesSubdomains: true, mode: .off, pins: [])]
        ),
        // A name whose built-in pins the app falls back to.
        (
            [.setFallback(Fallback(usesBuiltinPins: true, hosts: [host("a.b.other.example")]))],
            [.addHost(host("other.example"), includesSubdomains: true, mode: .off, pins: [])]
        ),
        // A stronger candidate is taken from devices that have it.
        ([enforced], [.dropCandidate(api)]), ([enforced], [.rollout(api, .rollBack(.requested, detail: nil))]),
        ([enforced], [.setHostRollout(api, Rollout(basisPoints: 5_000))]),
        ([enforced], [.setVersionGate(VersionGate(minimumBuild: 2))]),
        // The server may weaken it by itself, and by what other servers it may.
        ([], [acting]), ([.setEndpoints(api, elsewhere)], [acting]),
        ([.setMonitoring(Monitoring(isEnabled: false, reaction: .act))], [acting]),
        ([acting], [.setMonitoring(Monitoring(isEnabled: true, autoDisables: true, reaction: .act))]),
        ([acting], [.setEndpoints(api, elsewhere)]),
        ([acting, .setEndpoints(api, elsewhere)], [.setEndpoints(api, nil)]),
        (
            [acting],
            [
                .addHost(host("new.example.com"), includesSubdomains: false, mode: .off, pins: []),
                .setEndpoints(host("new.example.com"), elsewhere),
            ]
        ),
        // The server acts on fewer reports.
        ([acting], [.setMonitoring(Monitoring(isEnabled: true, failureThreshold: 499, reaction: .act))]),
        ([acting], [.setMonitoring(Monitoring(isEnabled: true, reaction: .act, countsUnsigned: true))]),
        (
            [.setMonitoring(Monitoring(isEnabled: true, autoDisables: true, reaction: .act))],
            [.setMonitoring(Monitoring(isEnabled: true, failureThreshold: 1, reaction: .act))]
        ),
        (
            [
                .startCandidate(api, mode: .off, copiesBaseline: nil, pins: []), canary,
                .rollout(api, .setPlan(RolloutPlan.Terms(steps: [RolloutPlan.Step(10_000)]))),
            ], [.setMonitoring(Monitoring(countsUnsigned: true))]
        ),
        // Installs of a deployed client get nothing, or nothing that they read.
        ([.setClient(.remoteConfig, ClientSettings())], [.removeClient(.remoteConfig)]),
        ([.setClient(.netkit, ClientSettings())], [.removeClient(.netkit)]),
        (
            [.setClient(.remoteConfig, ClientSettings())],
            [.setClient(.remoteConfig, ClientSettings(parameter: "other"))]
        ),
        (
            [.setClient(.remoteConfig, ClientSettings())],
            [.setClient(.remoteConfig, ClientSettings(schema: .simple))]
        ),
        (
            [.setClient(.remoteConfig, ClientSettings())],
            [.setClient(.remoteConfig, ClientSettings(hash: .rawKey))]
        ),
        (
            [.setClient(.dynapins, ClientSettings(dynapins: .ed25519, servesFingerprint: true))],
            [.setClient(.dynapins, ClientSettings(dynapins: .ed25519))]
        ),
    ]

    private static let acting = AppCommand.setMonitoring(Monitoring(isEnabled: true, reaction: .act))
    private static let elsewhere = Endpoint(host: host("elsewhere.example")).map { [$0] }

    private static let enforced = AppCommand.startCandidate(
        api, mode: .enforce, copiesBaseline: nil, pins: [new(1), new(2, .backup)])
    private static let canary = AppCommand.setHostRollout(api, Rollout(basisPoints: 100))

    @Test(arguments: weakenings.indices) func `a rule on weaker protection binds each way to it`(index: Int) throws {
        let (given, commands) = Self.weakenings[index]
        var rule = ChangeWorld.rule
        rule.permissions = [.weakenProtection]
        var world = try ChangeWorld(rules: [rule])
        if !given.isEmpty { try world.record(.app(shop, given)) }
        #expect(world.refusal(.app(shop, commands), as: ChangeWorld.Party.ada.actor) == .approvalRequired([rule]))
        // And without the permission it is refused, rules or none.
        try world.record(.access(.defineRole(roleName("weak"), [.readApps, .changeApps, .readChanges])))
        try world.record(.access(.removeApprovalRule(rule.name)))
        try world.record(
            .access(
                .issueToken(
                    newToken("tok_w", digest: sha256([78]), [Grant(role: roleName("weak"), apps: [.all])]))))
        guard
            case .permissionMissing(.weakenProtection, _)? = world.refusal(
                .app(shop, commands), as: Actor(kind: .token, id: "tok_w", name: "w"))
        else {
            Issue.record("it does not need the permission")
            return
        }
    }

    @Test func `a change that weakens nothing is bound by no rule on weaker protection`() throws {
        var rule = ChangeWorld.rule
        rule.permissions = [.weakenProtection]
        var world = try ChangeWorld(rules: [rule])
        let ada = ChangeWorld.Party.ada.actor
        let others: [AppCommand] = [
            .rename("X"), .addPin(api, .baseline, new(5, .backup)), .setSubdomains(api, includesSubdomains: true),
            .addHost(host("new.example.com"), includesSubdomains: false, mode: .off, pins: []),
            .setPinsValidUntil(nil), .startCandidate(api, mode: .reportOnly, copiesBaseline: nil, pins: []),
            .setMonitoring(Monitoring(isEnabled: true, autoDisables: true, reaction: .shadow)),
            .setEndpoints(api, Self.elsewhere),
            .setMonitoring(Monitoring(isEnabled: true, failureThreshold: 1, countsUnsigned: true)),
            .setClient(.remoteConfig, ClientSettings()), .setClient(.okhttp, ClientSettings()),
        ]
        for command in others { #expect(world.refusal(.app(shop, [command]), as: ada) == nil, "\(command)") }
        // Without a candidate, and with one as strong, devices have no less.
        try world.record(
            .app(shop, [.startCandidate(api, mode: .reportOnly, copiesBaseline: nil, pins: []), Self.canary]))
        for command: AppCommand in [
            .dropCandidate(api), .rollout(api, .rollBack(.requested, detail: nil)),
            .setHostRollout(api, Rollout(basisPoints: 9_000)),
        ] {
            #expect(world.refusal(.app(shop, [command]), as: ada) == nil, "\(command)")
        }
        // The server reacts to more reports alone, and installs read the file that they were made with.
        try world.record(
            .app(
                shop,
                [
                    .setMonitoring(Monitoring(isEnabled: true, reaction: .act, countsUnsigned: true)),
                    .setClient(.okhttp, ClientSettings()), .setClient(.dynapins, ClientSettings()),
                ]))
        for command: AppCommand in [
            .setMonitoring(Monitoring(isEnabled: true, failureThreshold: 900, reaction: .act)),
            .setMonitoring(Monitoring(isEnabled: true, failureThreshold: 1, reaction: .shadow, countsUnsigned: true)),
            .removeClient(.okhttp), .setClient(.dynapins, ClientSettings(ttlSeconds: 60)),
        ] {
            #expect(world.refusal(.app(shop, [command]), as: ada) == nil, "\(command)")
        }
    }

    @Test func `a new app whose server may act by itself, and an end of that, are told apart`() throws {
        var world = try ChangeWorld()
        try world.record(
            .access(.defineRole(roleName("weak"), [.readApps, .createApps, .changeApps, .readChanges])))
        try world.record(
            .access(
                .issueToken(
                    newToken("tok_w", digest: sha256([78]), [Grant(role: roleName("weak"), apps: [.all])]))))
        for rule in world.state.access.approvalRules.values {
            try world.record(.access(.removeApprovalRule(rule.name)))
        }
        let weak = Actor(kind: .token, id: "tok_w", name: "w")
        let till = Command.app(appID("org.example.till"), [.create(displayName: "T"), Self.acting])
        #expect(
            world.refusal(till, as: weak) == .permissionMissing(.weakenProtection, .app(appID("org.example.till"))))
        try world.record(.app(shop, [Self.acting]))
        #expect(world.refusal(.app(shop, [.setMonitoring(Monitoring())]), as: weak) == nil)
        // A revert does what the change would.
        let before = try #require(world.state.apps[shop])
        try world.record(.app(shop, [.setMonitoring(Monitoring())]))
        let past = PastChange(
            position: 1, events: [.monitoringSet(Monitoring())], before: before,
            after: try #require(world.state.apps[shop]))
        #expect(
            world.refusal(.app(shop, [.revert(past)]), as: weak) == .permissionMissing(.weakenProtection, .app(shop)))
    }

    @Test func `an operator at the database and the server itself are not bound, and other apps neither`() throws {
        let world = try ChangeWorld()
        for actor in [Actor(kind: .local, id: "root", name: "root"), .system] {
            #expect(world.refusal(.app(shop, [.rename("X")]), as: actor) == nil)
        }
        let other = Command.app(appID("org.example.till"), [.create(displayName: "T")])
        #expect(world.refusal(other, as: ChangeWorld.Party.ada.actor) == nil)
    }

    @Test func `an earlier end of a kill switch is its release`() throws {
        let rule = ApprovalRule(
            name: roleName("release"), apps: [.all], permissions: [.releaseKillSwitches], approvals: 1)
        var world = try ChangeWorld(rules: [rule])
        let root = ChangeWorld.Party.root.actor
        let versions = range("1.0", "2.0")
        func engage(_ seconds: Int64) -> [Command] {
            let end = noon.adding(seconds: seconds)
            return [
                .app(shop, [.engageKillSwitch(nil, expiresAt: end)]),
                .app(shop, [.engageKillSwitch(api, expiresAt: end)]),
                .app(shop, [.engageVersionKillSwitch(versions, expiresAt: end)]),
                .fleet(.engageKillSwitch(expiresAt: end)),
            ]
        }
        for command in engage(600) { try world.record(command, as: root) }
        for command in engage(1) { #expect(world.refusal(command, as: root) == .approvalRequired([rule])) }
        for command in engage(700) { try world.record(command, as: root) }
        // And it takes the permission.
        try world.record(.access(.removeApprovalRule(rule.name)))
        try world.record(.access(.defineRole(roleName("on-call"), [.readApps, .engageKillSwitches])))
        try world.record(
            .access(
                .issueToken(
                    newToken("tok_c", digest: sha256([79]), [Grant(role: roleName("on-call"), apps: [.all])]))))
        let onCall = Actor(kind: .token, id: "tok_c", name: "c")
        for command in engage(1) {
            guard case .permissionMissing(.releaseKillSwitches, _)? = world.refusal(command, as: onCall) else {
                Issue.record("\(command)")
                continue
            }
        }
        for command in engage(800) { #expect(world.refusal(command, as: onCall) == nil) }
    }

    @Test func `a kill switch is engaged in place of those that have run out, without waiting`() throws {
        let rule = ApprovalRule(
            name: roleName("all"), apps: [.all], permissions: ApprovalRule.approvable, approvals: 1)
        var world = try ChangeWorld(rules: [rule])
        for number in 0..<VersionKillSwitch.limit {
            try world.record(
                .app(
                    shop,
                    [.engageVersionKillSwitch(range("1.\(number)", "1.\(number)"), expiresAt: noon.adding(seconds: 5))])
            )
        }
        world.now = noon.adding(seconds: 6)
        let engage = Command.app(
            shop, [.engageVersionKillSwitch(range("2.0", "3.0"), expiresAt: world.now.adding(seconds: 60))])
        #expect(world.refusal(engage, as: ChangeWorld.Party.root.actor) == nil)
    }

    @Test func `a manager of the approvals of one app has no say about the rest`() throws {
        let narrow = ApprovalRule(
            name: roleName("narrow"), apps: [pattern("org.example.*")],
            permissions: [.manageAccess, .manageApprovals, .releaseKillSwitches], approvals: 5)
        var world = try ChangeWorld(rules: [])
        // Of its apps, no one else could approve.
        #expect(
            world.refusal(.access(.setApprovalRule(narrow)), as: ChangeWorld.Party.other.actor)
                == .tooFewApprovers(needed: 5, present: 2))
        try world.record(.access(.setApprovalRule(narrow)))
        try world.record(
            .access(
                .setFreeze(
                    Freeze(id: "frz_1", apps: [pattern("org.example.*")], from: noon, until: noon.adding(seconds: 60)))),
            as: ChangeWorld.Party.other.actor)
        let root = ChangeWorld.Party.root.actor
        for command: Command in [
            .access(.defineRole(roleName("x"), [.readApps])),
            .access(.grantRole(id: "grt_9", principal: "prn_ada", Grant(role: RoleName(.viewer), apps: [.one(shop)]))),
            .fleet(.setIssuer("pins.example.com")), .app(shop, [.rename("X")]),
        ] { #expect(world.refusal(command, as: root) == nil, "\(command)") }
        #expect(
            world.refusal(
                .access(.setFreeze(Freeze(id: "frz_2", apps: [.all], from: noon, until: noon.adding(seconds: 60)))),
                as: ChangeWorld.Party.other.actor) != nil)
    }

    @Test func `a refusal to manage approvals names the apps on which the right is missing alone`() throws {
        let (mine, bank, other) = (pattern("org.example.*"), pattern("com.b.bank"), ChangeWorld.Party.other.actor)
        var world = try ChangeWorld()
        let rule = ApprovalRule(
            name: roleName("shared"), apps: [mine, bank], permissions: [.changeApps], approvals: 1)
        let missing = Refusal.permissionMissing(.manageApprovals, .apps([bank]))
        #expect(world.refusal(.access(.setApprovalRule(rule)), as: other) == missing)
        let freeze = Freeze(id: "frz_2", apps: [mine, bank], from: noon, until: noon.adding(seconds: 60))
        #expect(world.refusal(.access(.setFreeze(freeze)), as: other) == missing)
        // The other apps of a rule that is there stay unnamed.
        try world.record(.access(.setApprovalRule(rule)))
        try world.record(.access(.setFreeze(freeze)))
        let hidden = Refusal.permissionMissing(.manageApprovals, .everywhere)
        #expect(world.refusal(.access(.removeApprovalRule(rule.name)), as: other) == hidden)
        #expect(world.refusal(.access(.removeFreeze(id: "frz_2")), as: other) == hidden)
    }

    @Test func `names tell a manager of some apps nothing of the rules on others`() throws {
        let (mine, other) = (pattern("org.example.*"), ChangeWorld.Party.other.actor)
        func set(_ name: String, _ apps: [AppPattern], approvals: Int = 1) -> Command {
            .access(
                .setApprovalRule(
                    ApprovalRule(
                        name: roleName(name), apps: apps, permissions: [.changeApps], approvals: approvals)))
        }
        var world = try ChangeWorld()
        // The name of a rule that is there, of one that is not, and of a long one.
        func instead(_ name: String) throws -> RoleName {
            let refusal = world.refusal(set(name, [mine]), as: other)
            guard case .approvalRuleMisnamed(roleName(name), let instead)? = refusal else {
                Issue.record("\(name): \(String(describing: refusal))")
                throw CancellationError()
            }
            return instead
        }
        let ending = try instead("two-people").text.dropFirst("two-people".count)
        #expect(try instead("no-people").text == "no-people\(ending)" && ending.utf8.count == 17)
        let long = try instead(String(repeating: "n", count: 40)).text
        #expect(long.utf8.count == 40 && long.hasSuffix(ending))
        // With the ending it is theirs, to set and to change, and the ending holds them to the apps.
        try world.record(set("two-people\(ending)", [mine]), as: other)
        try world.record(set("two-people\(ending)", [mine, pattern("org.example.till")], approvals: 2), as: other)
        let moved = set("two-people\(ending)", [pattern("org.example.till")])
        guard case .approvalRuleMisnamed? = world.refusal(moved, as: other) else {
            Issue.record("the name would be of other apps")
            return
        }
        #expect(try instead("x\(ending)x").text == "x\(ending)x\(ending)")
        // The ending of other apps is none of theirs, and a rule on their apps keeps the name that it has.
        guard case .approvalRuleMisnamed? = world.refusal(set("a-0000000000000000", [mine]), as: other) else {
            Issue.record("the ending is not of these apps")
            return
        }
        try world.record(set("given", [mine]))
        try world.record(set("given", [mine], approvals: 2), as: other)
        // A manager of all approvals gives any name.
        #expect(world.refusal(set("plain", [mine]), as: ChangeWorld.Party.root.actor) == nil)
    }

    @Test func `a token that is limited to less than its owner does nothing with the owner's changes`() throws {
        var world = try ChangeWorld()
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition, isDraft: true), as: .ada)
        try world.act(ChangeWorld.create("chg_2", ChangeWorld.addition), as: .dan)
        try world.record(
            .access(
                .issueToken(newToken("tok_look", digest: sha256([80]), [.everywhere(.auditor)], of: "prn_ada"))))
        try world.record(
            .access(
                .issueToken(
                    newToken(
                        "tok_bob2", digest: sha256([81]), [Grant(role: RoleName(.approver), apps: [pattern("org.*")])],
                        of: "prn_bob"))))
        let look = Actor(kind: .token, id: "tok_look", name: "look", principalID: "prn_ada")
        for command: ChangeCommand in [
            .propose(id: "chg_1"), .withdraw(id: "chg_1"), .apply(id: "chg_1", bypassesApprovals: false),
        ] { #expect(world.refusal(.change(command), as: look) != nil, "\(command)") }
        let narrow = Actor(kind: .token, id: "tok_bob2", name: "bob", principalID: "prn_bob")
        #expect(
            world.refusal(.change(.approve(id: "chg_2", contentDigest: try world.digest("chg_2"))), as: narrow) != nil)
    }

    @Test func `a rule locks out nobody who sets it`() throws {
        var world = try ChangeWorld(rules: [])
        let rule = ApprovalRule(
            name: roleName("access"), apps: [.all], permissions: [.manageAccess, .manageApprovals], approvals: 1)
        try world.record(
            .access(.issueToken(newToken("tok_first", digest: sha256([82]), [.everywhere(.admin)]))))
        let first = Actor(kind: .token, id: "tok_first", name: "first admin")
        #expect(world.refusal(.access(.setApprovalRule(rule)), as: first) == .proposerNotPrincipal)
        try world.record(.access(.suspendPrincipal(id: "prn_bob")))
        let root = ChangeWorld.Party.root.actor
        #expect(
            world.refusal(.access(.setApprovalRule(rule)), as: root) == .tooFewApprovers(needed: 1, present: 0))
        try world.record(.access(.reinstatePrincipal(id: "prn_bob")))
        try world.record(.access(.setApprovalRule(rule)), as: root)
        // The way back: proposed by who set it, approved by another.
        try world.act(ChangeWorld.create("chg_1", .access(.removeApprovalRule(rule.name))), as: .root)
        try world.approve("chg_1", as: .bob)
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .root)
        #expect(world.state.access.approvalRules.isEmpty)
    }

    @Test func `a rule that comes later makes no one their own approver`() throws {
        var world = try ChangeWorld(rules: [])
        // Ada, with a token of which nobody knows that it is hers.
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .stray)
        var rule = ChangeWorld.rule
        rule.roles = []
        try world.record(.access(.setApprovalRule(rule)))
        try world.record(.access(.grantRole(id: "grt_2", principal: "prn_ada", .everywhere(.approver))))
        #expect(
            world.refusal(of: .approve(id: "chg_1", contentDigest: try world.digest("chg_1")), as: .ada)
                == .proposerNotPrincipal)
        #expect(world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .bob) == .proposerNotPrincipal)
    }

    @Test func `a change that was written with a token that is revoked since waits for a person`() throws {
        var world = try ChangeWorld(rules: [])
        let time = noon.adding(seconds: 60)
        try world.act(
            .create(id: "chg_1", ChangeWorld.draft(ChangeWorld.addition, notBefore: time), isDraft: false), as: .ada)
        try world.record(.access(.revokeToken(id: "tok_ada")))
        world.now = time
        #expect(world.refusal(.change(.applyDue(id: "chg_1")), as: .system) == .tokenRevoked("tok_ada"))
        try world.record(.change(.suspend(id: "chg_1", obstacle: "x")), as: .system)
        #expect(world.state.changes["chg_1"]?.recordedStatus == .suspended)
    }

    @Test func `a change that no rule keeps back is not said to have bypassed approvals`() throws {
        var world = try ChangeWorld(rules: [])
        try world.act(.bypass(id: "chg_1", ChangeWorld.draft(ChangeWorld.addition)), as: .root)
        #expect(world.state.changes["chg_1"]?.awaitsReview == false)
        #expect(
            world.refusal(of: .bypass(id: "chg_2", ChangeWorld.draft(.access(.revokeToken(id: "tok_ada")))), as: .ada)
                != nil)
    }

    @Test func `a kill switch never waits to be engaged, and its release does where a rule says so`() throws {
        let rule = ApprovalRule(
            name: roleName("release"), apps: [.all], permissions: ApprovalRule.approvable, approvals: 1)
        var world = try ChangeWorld(rules: [rule])
        let root = ChangeWorld.Party.root.actor
        let engage: [Command] = [
            .app(shop, [.engageKillSwitch(nil, expiresAt: noon.adding(seconds: 60))]),
            .app(shop, [.engageVersionKillSwitch(range("1.0", "2.0"), expiresAt: noon.adding(seconds: 60))]),
            .fleet(.engageKillSwitch(expiresAt: noon.adding(seconds: 60))),
        ]
        try world.record(
            .access(.setFreeze(Freeze(id: "frz_1", apps: [.all], from: noon, until: noon.adding(seconds: 60)))))
        for command in engage { try world.record(command, as: root) }
        let release: [Command] = [
            .app(shop, [.releaseKillSwitch(nil)]), .app(shop, [.releaseVersionKillSwitch(range("1.0", "2.0"))]),
            .fleet(.releaseKillSwitch),
        ]
        for command in release { #expect(world.refusal(command, as: root) == .approvalRequired([rule])) }
        // What takes access away does not wait either.
        for command: AccessCommand in [
            .revokeToken(id: "tok_ada"), .revokeGrant(id: "grt_ada"), .suspendPrincipal(id: "prn_ada"),
        ] { #expect(world.refusal(.access(command), as: root) == nil) }
        for command: AccessCommand in [
            .grantRole(id: "grt_9", principal: "prn_ada", .everywhere(.admin)), .removeApprovalRule(rule.name),
            .issueToken(newToken("tok_9", digest: sha256([77]), nil, of: "prn_bob")), .removeFreeze(id: "frz_1"),
            .defineRole(roleName("x"), [.readApps]),
        ] { #expect(world.refusal(.access(command), as: root) == .approvalRequired([rule])) }
        #expect(
            world.refusal(.access(.issueToken(newToken("tok_9", digest: sha256([77]), nil, of: "prn_root"))), as: root)
                == nil)
    }

    @Test func `approvals can be bypassed with a reason, and another person reviews it`() throws {
        var world = try ChangeWorld()
        let bypass = ChangeCommand.bypass(id: "chg_1", ChangeWorld.draft(ChangeWorld.weakening))
        #expect(world.refusal(of: bypass, as: .ada) == .permissionMissing(.bypassApprovals, .anyApp))
        #expect(
            world.refusal(of: bypass, as: .root, because: nil) == .reasonRequired("others decide on it, or review it"))
        let decision = try world.act(bypass, as: .root, because: "outage 12")
        #expect(decision.effects.map(\.stream) == [.changes, .app(shop)])
        #expect(world.state.changes["chg_1"]?.awaitsReview == true)
        #expect(world.refusal(of: .review(id: "chg_1"), as: .root) == .approvalOfOwnChange("chg_1"))
        #expect(world.refusal(of: .review(id: "chg_1"), as: .ada) == .permissionMissing(.approveChanges, .app(shop)))
        #expect(world.refusal(of: .review(id: "chg_1"), as: .pipeline) == .approverNotPerson)
        try world.act(.review(id: "chg_1"), as: .bob, because: "right")
        #expect(world.state.changes["chg_1"]?.awaitsReview == false)
        #expect(world.refusal(of: .review(id: "chg_1"), as: .bob) == .changeNeedsNoReview("chg_1"))
        // Whoever applies another's change so is not its reviewer.
        try world.act(ChangeWorld.create("chg_2", ChangeWorld.addition), as: .ada)
        try world.act(.apply(id: "chg_2", bypassesApprovals: true), as: .root, because: "outage 13")
        #expect(world.refusal(of: .review(id: "chg_2"), as: .root) == .approvalOfOwnChange("chg_2"))
    }

    @Test func `a change is applied at its time by the server alone`() throws {
        var world = try ChangeWorld()
        let time = noon.adding(seconds: 3_600)
        try world.act(
            .create(id: "chg_1", ChangeWorld.draft(ChangeWorld.addition, notBefore: time), isDraft: false), as: .ada)
        #expect(world.state.dueChanges(at: time) == ["chg_1"])
        world.now = time
        guard case .approvalsMissing? = world.refusal(.change(.applyDue(id: "chg_1")), as: .system) else {
            Issue.record("it does not wait for its approvals")
            return
        }
        world.now = noon
        try world.approve("chg_1", as: .bob)
        #expect(
            world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada) == .changeNotDue("chg_1", time))
        #expect(world.state.dueChanges(at: world.now).isEmpty)
        #expect(world.refusal(.change(.applyDue(id: "chg_1")), as: .system) == .changeUnknown("chg_1"))
        world.now = time
        #expect(world.refusal(of: .applyDue(id: "chg_1"), as: .root) == .changeUnknown("chg_1"))
        try world.record(.change(.applyDue(id: "chg_1")), as: .system)
        #expect(world.state.changes["chg_1"]?.recordedStatus == .applied)
        #expect(world.refusal(.change(.applyDue(id: "chg_1")), as: .system) == .changeUnknown("chg_1"))
    }

    @Test func `a change that cannot be applied at its time waits for a person`() throws {
        var world = try ChangeWorld()
        let time = noon.adding(seconds: 3_600)
        try world.act(
            .create(id: "chg_1", ChangeWorld.draft(ChangeWorld.weakening, notBefore: time), isDraft: false), as: .ada)
        try world.approve("chg_1", as: .bob)
        try world.record(.app(shop, [.removeHost(api)]))
        world.now = time
        #expect(
            world.refusal(.change(.suspend(id: "chg_1", obstacle: "x")), as: ChangeWorld.Party.root.actor)
                == .changeUnknown("chg_1"))
        try world.record(.change(.suspend(id: "chg_1", obstacle: "The app has no host.")), as: .system)
        #expect(world.state.changes["chg_1"]?.recordedStatus == .suspended)
        #expect(world.state.dueChanges(at: world.now).isEmpty)
        try world.record(
            .app(shop, [.addHost(api, includesSubdomains: false, mode: .reportOnly, pins: [new(1), new(2, .backup)])]))
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
    }

    @Test func `a freeze keeps changes back until it is over`() throws {
        var world = try ChangeWorld(rules: [])
        let until = noon.adding(seconds: 600)
        try world.record(
            .access(.setFreeze(Freeze(id: "frz_1", apps: [.one(shop)], from: noon, until: until))),
            as: ChangeWorld.Party.root.actor)
        let ada = ChangeWorld.Party.ada.actor
        #expect(world.refusal(ChangeWorld.addition, as: ada) == .frozen("frz_1", until: until))
        let grant = Grant(role: RoleName(.viewer), apps: [.one(shop)])
        #expect(
            world.refusal(
                .access(.grantRole(id: "grt_9", principal: "prn_ada", grant)), as: ChangeWorld.Party.root.actor) == nil)
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition), as: .ada)
        #expect(
            world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada) == .frozen("frz_1", until: until)
        )
        world.now = until
        try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
    }

    @Test func `guard rails judge a change again when it is applied`() throws {
        var world = try ChangeWorld(rules: [])
        let enforce = ChangeDraft(commands: [.app(shop, [.setMode(api, .baseline, .enforce)])], isForced: true)
        try world.act(.create(id: "chg_1", enforce, isDraft: false), as: .root)
        try world.record(.app(shop, [.retirePin(api, .baseline, pin(2))]))
        #expect(
            world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .root)
                == .tooFewPins(api, .baseline, active: 1))
    }

    @Test func `nothing of a change happens where one of its commands is refused`() throws {
        var world = try ChangeWorld(rules: [])
        let both = ChangeWorld.create(
            "chg_1", ChangeWorld.addition, .app(shop, [.removeHost(host("nowhere.example.com"))]))
        #expect(world.refusal(of: both, as: .ada) == .hostUnknown(host("nowhere.example.com")))
        #expect(
            world.refusal(of: ChangeWorld.create("chg_1", .app(shop, [.rename("Shop")])), as: .ada)
                == .changeWithoutEffect)
        let before = world.state.changes.version
        try world.act(ChangeWorld.create("chg_1", ChangeWorld.addition, isDraft: true), as: .ada)
        #expect(world.state.changes.version == before + 1)
    }

    /// Every state, what may be done in it, and what refuses the rest.
    @Test func `the states of a change are those of the table`() throws {
        enum Verb: CaseIterable { case edit, propose, approve, reject, withdraw, apply, review }
        let allowed: [ProposedChange.Status: Set<Verb>] = [
            .draft: [.edit, .propose, .reject, .withdraw],
            .proposed: [.edit, .propose, .approve, .reject, .withdraw, .apply],
            .suspended: [.edit, .propose, .approve, .reject, .withdraw, .apply],
            .applied: [], .rejected: [], .withdrawn: [], .expired: [],
        ]
        for status in ProposedChange.Status.allCases {
            var world = try ChangeWorld(rules: [])
            let time = noon.adding(seconds: 10)
            try world.act(
                .create(
                    id: "chg_1", ChangeWorld.draft(ChangeWorld.weakening, notBefore: status == .suspended ? time : nil),
                    isDraft: status == .draft), as: .ada)
            switch status {
            case .draft, .proposed: break
            case .suspended:
                try world.record(.app(shop, [.removeHost(api)]))
                world.now = time
                try world.record(.change(.suspend(id: "chg_1", obstacle: "x")), as: .system)
                try world.record(
                    .app(
                        shop,
                        [.addHost(api, includesSubdomains: false, mode: .reportOnly, pins: [new(1), new(2, .backup)])]))
            case .applied: try world.act(.apply(id: "chg_1", bypassesApprovals: false), as: .ada)
            case .rejected: try world.act(.reject(id: "chg_1"), as: .bob)
            case .withdrawn: try world.act(.withdraw(id: "chg_1"), as: .ada)
            case .expired: world.now = noon.adding(seconds: ProposedChange.defaultSeconds)
            }
            #expect(world.state.changes["chg_1"]?.status(at: world.now) == status)
            let digest = try world.digest("chg_1")
            for verb in Verb.allCases {
                let (command, party): (ChangeCommand, ChangeWorld.Party) =
                    switch verb {
                    case .edit:
                        (.edit(id: "chg_1", base: digest, ChangeWorld.draft(ChangeWorld.addition)), .ada)
                    case .propose: (.propose(id: "chg_1"), .ada)
                    case .approve: (.approve(id: "chg_1", contentDigest: digest), .bob)
                    case .reject: (.reject(id: "chg_1"), .bob)
                    case .withdraw: (.withdraw(id: "chg_1"), .ada)
                    case .apply: (.apply(id: "chg_1", bypassesApprovals: false), .ada)
                    case .review: (.review(id: "chg_1"), .bob)
                    }
                let refusal = world.refusal(of: command, as: party)
                #expect(
                    (refusal == nil) == (allowed[status] ?? []).contains(verb),
                    "\(status) \(verb): \(String(describing: refusal))")
            }
        }
    }

    /// What some principals do in any order never applies anything without valid approvals, and nothing twice.
    @Test(arguments: 0..<20)
    func `a change is never applied without approvals, nor twice`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var rule = ChangeWorld.rule
        rule.approvals = 1 + Int(seed % 2)
        var world = try ChangeWorld(rules: [rule])
        var applied: Set<String> = []
        var approvers: [String: Set<String>] = [:]
        var authors: [String: Set<String>] = [:]
        let ids = ["chg_1", "chg_2", "chg_3"]
        let commands: [Command] = [
            ChangeWorld.addition, ChangeWorld.weakening, .app(shop, [.rename("Other")]),
            .app(shop, [.retirePin(api, .baseline, pin(2))]), .app(shop, [.addPin(api, .baseline, new(6, .backup))]),
        ]
        for _ in 0..<400 {
            let id = generator.pick(ids)
            let party = generator.pick(ChangeWorld.Party.allCases)
            let draft = ChangeDraft(commands: [generator.pick(commands)])
            let digest = world.state.changes[id]?.contentDigest ?? sha256([0])
            let command: ChangeCommand = generator.pick([
                .create(id: id, draft, isDraft: generator.once(in: 3)), .edit(id: id, base: digest, draft),
                .propose(id: id), .approve(id: id, contentDigest: digest), .approve(id: id, contentDigest: digest),
                .reject(id: id), .withdraw(id: id), .apply(id: id, bypassesApprovals: false),
                .apply(id: id, bypassesApprovals: false),
            ])
            if generator.once(in: 40) {
                // A direct command in between, by the operator at the database.
                _ = try? world.record(generator.pick(commands))
            }
            if generator.once(in: 60) {
                _ = try? world.record(.access(.suspendPrincipal(id: "prn_bob")))
            } else if generator.once(in: 20) {
                _ = try? world.record(.access(.reinstatePrincipal(id: "prn_bob")))
            }
            guard let decision = try? world.act(command, as: party), !decision.events.isEmpty else { continue }
            switch command {
            case .create:
                authors[id] = [party.actor.party]
                approvers[id] = []
            case .edit:
                authors[id, default: []].insert(party.actor.party)
                approvers[id] = []
            case .approve: approvers[id, default: []].insert(party.actor.party)
            case .apply:
                let isFirst = applied.insert("\(id) \(world.state.changes[id]?.createdAt.microseconds ?? 0)").inserted
                #expect(isFirst)
                var valid = (approvers[id] ?? []).subtracting(authors[id] ?? [])
                if world.state.access.principals["prn_bob"]?.suspendedAt != nil { valid.remove("prn_bob") }
                #expect(valid.count >= rule.approvals, "\(id) by \(party)")
            default: break
            }
            world.now = world.now.adding(seconds: 1)
        }
    }

    @Test(arguments: 0..<4)
    func `every command that can be proposed is read back as it was written`(seed: UInt64) throws {
        var random = RandomLedger(seed: seed)
        var names: Set<String> = []
        for _ in 0..<3_000 {
            let command = random.command()
            guard command.isProposable else { continue }
            let content = ChangeContent(
                commands: [command], isForced: true, notBefore: noon, reason: reason("x"), plan: sha256([2]))
            let event = Event.changes(
                .created(
                    id: "chg_1", author: ChangeWorld.Party.ada.actor, content, expiresAt: noon, status: .proposed))
            #expect(try Event(type: event.type, schema: event.schema, data: event.data) == event)
            if case .app(_, let commands) = command {
                for command in commands { names.insert(String("\(command)".prefix { $0 != "(" })) }
            }
        }
        #expect(names.count > 25, "\(names.sorted())")
    }

    @Test func `changes that ended first are left out where there are many, and open ones are not`() throws {
        var changes = ProposedChanges()
        let content = ChangeContent(
            commands: [ChangeWorld.addition], isForced: false, notBefore: nil, reason: reason("x"), plan: sha256([]))
        for number in 0..<5_000 {
            let time = noon.adding(seconds: Int64(number))
            changes.evolve(
                .created(
                    id: "chg_\(number)", author: ChangeWorld.Party.ada.actor, content,
                    expiresAt: noon.adding(seconds: 1_000_000), status: .proposed), at: time)
            if number >= 10 {
                changes.evolve(.rejected(id: "chg_\(number)", by: ChangeWorld.Party.bob.actor), at: time)
            }
        }
        #expect(changes.changes.count < 4_000)
        #expect((0..<10).allSatisfy { changes["chg_\($0)"]?.recordedStatus == .proposed })
        #expect(changes["chg_10"] == nil && changes["chg_4999"] != nil)
    }
}
