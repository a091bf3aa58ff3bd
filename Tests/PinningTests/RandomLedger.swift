import PinWire
import Pinning
import SeededRandom

/// Draws commands and events about few hosts, pins, keys and tokens, so that they meet one another.
struct RandomLedger {
    var generator: SeededGenerator
    var now = noon

    init(seed: UInt64) { self.generator = SeededGenerator(seed: seed) }

    private let hosts = [api, cdn, PinningTests.host("a.example")]
    private let apps = [shop, appID("other")]

    private mutating func host() -> HostPattern { self.generator.pick(self.hosts) }
    private mutating func slot() -> PolicySlot { self.generator.pick(PolicySlot.allCases) }
    private mutating func mode() -> PinMode { self.generator.pick(PinMode.allCases) }
    private mutating func role() -> PinRole { self.generator.pick(PinRole.allCases) }
    private mutating func pin() -> Pin { PinningTests.pin(Int.random(in: 0..<8, using: &self.generator)) }
    private mutating func flag() -> Bool { Bool.random(using: &self.generator) }
    private mutating func maybe<T>(_ value: T) -> T? { self.flag() ? value : nil }
    private mutating func text() -> String { self.generator.pick(["a", "Ä \"b\"\\", "😀", "c/d", "e\u{301}"]) }
    private mutating func hook() -> String { self.generator.pick(["whk_1", "whk_2"]) }
    private mutating func key() -> String { self.generator.pick(["k1", "k2", "k3"]) }

    private mutating func later() -> Timestamp {
        Timestamp(microseconds: self.now.microseconds + Int64.random(in: 1...500_000_000_000, using: &self.generator))
    }

    private mutating func pins() -> [AppCommand.NewPin] {
        (0..<Int.random(in: 0...5, using: &self.generator)).map { _ in
            let note = self.maybe(self.text())
            return AppCommand.NewPin(
                pin: self.pin(), role: self.role(), isActive: !self.generator.once(in: 4), note: note)
        }
    }

    private mutating func rollout() -> Rollout {
        var rollout = Rollout(basisPoints: Int.random(in: 0...10_000, using: &self.generator), isSticky: self.flag())
        rollout.salt = self.maybe("salt")
        rollout.seed = self.generator.pick([
            [.deviceID], [.installID, .deviceID, .userID], [.userID, .installID], [.installID, .deviceID],
        ])
        if self.generator.once(in: 3) {
            rollout.method = .geography
            rollout.countries = ["DE", "FR"]
        }
        if self.generator.once(in: 3) { rollout.whitelist = [Rollout.hashedID("x", salt: "s")] }
        return rollout
    }

    private mutating func gate() -> VersionGate {
        VersionGate(
            minimum: self.maybe(version("1.5-rc.1")), excluded: self.flag() ? [version("2.0")] : [],
            minimumBuild: self.maybe(7))
    }

    private mutating func range() -> VersionRange {
        self.generator.pick([
            PinningTests.range("1.5-rc.1", "2.0", except: "1.9"), PinningTests.range(nil, "2.0"),
            PinningTests.range(from: 7),
        ])
    }

    private mutating func rotation() -> AppCommand.NewRotation {
        AppCommand.NewRotation(
            id: self.key(), kind: self.generator.pick(Rotation.Kind.allCases), hosts: [self.host()],
            next: .init(pin: self.pin(), role: .backup), goals: Rotation.Goals(minimumWait: 0)
        )
    }

    private mutating func facts() -> KeyFacts {
        KeyFacts(
            pin: self.pin(), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: sha256([1]) + sha256([2]),
            rawKeySHA256: sha256([3])
        )
    }

    mutating func appCommand() -> AppCommand {
        switch Int.random(in: 0..<42, using: &self.generator) {
        case 33: .engageVersionKillSwitch(self.range(), expiresAt: self.later())
        case 34: .releaseVersionKillSwitch(self.range())
        case 35...41: .rollout(self.maybe(self.host()), self.rolloutCommand())
        case 26, 27: .startRotation(self.rotation())
        case 28, 29: .advanceRotation(self.key(), from: nil)
        case 30: .abortRotation(self.key(), keepsNext: self.flag())
        case 31: .setEndpoints(self.host(), self.maybe(endpoints("api.example.com:8443")))
        case 32: .setGuardRail(self.generator.pick(GuardRail.allCases), isLowered: self.flag())
        case 0: .create(displayName: self.text())
        case 1: .rename(self.text())
        case 2: .setVersionGate(self.maybe(self.gate()))
        case 3: .setRollout(self.maybe(self.rollout()))
        case 4: .setFallback(Fallback(usesBuiltinPins: self.flag(), hosts: self.flag() ? [api] : []))
        case 5: .setMonitoring(Monitoring(isEnabled: self.flag(), failureThreshold: 7, autoDisables: self.flag()))
        case 6: .setPinsValidUntil(self.maybe(self.later()))
        case 7, 8:
            .addHost(self.host(), includesSubdomains: self.flag(), mode: self.maybe(self.mode()), pins: self.pins())
        case 9: .setSubdomains(self.host(), includesSubdomains: self.flag())
        case 10: self.generator.once(in: 6) ? .removeHost(self.host()) : .rename(self.text())
        case 11, 12: .setMode(self.host(), self.slot(), self.mode())
        case 13, 14:
            .startCandidate(self.host(), mode: self.mode(), copiesBaseline: self.flag(), pins: self.pins())
        case 15: .promoteCandidate(self.host())
        case 16: .dropCandidate(self.host())
        case 17: .setHostRollout(self.host(), self.maybe(self.rollout()))
        case 18, 19: .addPin(self.host(), self.slot(), .init(pin: self.pin(), role: self.role(), isActive: self.flag()))
        case 20: .activatePin(self.host(), self.slot(), self.pin())
        case 21: .setPinRole(self.host(), self.slot(), self.pin(), self.role())
        case 22: .retirePin(self.host(), self.slot(), self.pin())
        case 23:
            self.generator.once(in: 4)
                ? .revokePin(self.host(), self.slot(), self.pin()) : .promoteCandidate(self.host())
        case 25: self.generator.once(in: 40) ? .archive : .unarchive
        case 24: .engageKillSwitch(self.maybe(self.host()), expiresAt: self.later())
        default: .releaseKillSwitch(self.maybe(self.host()))
        }
    }

    private mutating func terms() -> RolloutPlan.Terms {
        RolloutPlan.Terms(
            steps: [
                .init(self.generator.pick([1, 100, 9000]), .init(seconds: 3600, installs: self.maybe(3))),
                .init(10_000, .init(seconds: self.maybe(60), needsApproval: true)),
            ],
            bake: self.generator.pick([0, 7200]), startsAt: self.maybe(self.later()),
            ending: self.generator.pick(RolloutPlan.Ending.allCases),
            onInconclusive: self.generator.pick(RolloutPlan.Inconclusive.allCases)
        )
    }

    private mutating func rolloutCommand() -> RolloutCommand {
        switch Int.random(in: 0..<12, using: &self.generator) {
        case 0, 1, 2: .setPlan(self.terms())
        case 3: .pause(self.generator.pick(RolloutPlan.Cause.allCases), detail: self.maybe(self.text()))
        case 4: .resume
        case 5: .advance(step: nil)
        case 6: .jump(step: 2)
        case 7: .rollBack(.requested, detail: nil)
        case 8: self.generator.once(in: 3) ? .clearPlan : .drive
        default: .drive
        }
    }

    private mutating func webhookSettings() -> WebhookSettings {
        WebhookSettings(
            url: webhookURL(self.generator.pick(["https://a.example/x", "http://[::1]:8080/?y", "https://192.0.2.1"])),
            types: self.flag() ? ["PinRevoked", "AppCreated"] : [], apps: self.flag() ? [shop] : [],
            description: self.maybe(self.text())
        )
    }

    private mutating func webhookCommand() -> WebhookCommand {
        let id = self.hook()
        switch Int.random(in: 0..<5, using: &self.generator) {
        case 0: return .create(id: id, self.webhookSettings(), secretID: self.key())
        case 1:
            var change = WebhookChange()
            let settings = self.webhookSettings()
            change.url = self.maybe(settings.url)
            change.types = self.maybe(settings.types)
            change.description = self.maybe(settings.description)
            change.isPaused = self.maybe(self.flag())
            return .change(id: id, change)
        case 2: return .pause(id: id, self.generator.pick(WebhookPause.allCases))
        case 3: return .rotateSecret(id: id, secretID: self.key())
        default: return self.generator.once(in: 3) ? .remove(id: id) : .pause(id: id, .gone)
        }
    }

    private mutating func logCommand() -> LogCommand {
        let key = sha256([UInt8.random(in: 0...3, using: &self.generator)])
        let name = LogName("log.example.com/\(Int.random(in: 0..<2, using: &self.generator))")
        guard let name, let url = try? OutgoingURL("https://witness.example.com/") else { return .setQuorum(0) }
        let witness = LogWitness(name: name, publicKey: key, url: url, monitoringURL: self.maybe(url))
        return switch Int.random(in: 0..<7, using: &self.generator) {
        case 0: .open(origin: name, kid: self.key(), publicKey: key)
        case 1: .addKey(kid: self.key(), publicKey: key)
        case 2: .retireKey(kid: self.key())
        case 3: .addWitness(witness)
        case 4: .removeWitness(keyID: witness.keyID)
        case 5: .setQuorum(Int64.random(in: 0...2, using: &self.generator))
        default: .update(isPublic: self.maybe(self.flag()), recordsDocuments: self.maybe(self.flag()))
        }
    }

    private mutating func grant() -> Grant {
        Grant(
            role: self.generator.pick([RoleName(.editor), RoleName(.admin), roleName("own")]),
            apps: [self.generator.pick([.all, .one(shop), pattern("com.example.*")])],
            hosts: self.maybe([self.host()]), expiresAt: self.maybe(self.later()))
    }

    private mutating func token(_ terms: AccessToken.Terms?) -> NewToken {
        NewToken(
            id: self.key(), name: self.text(), digest: sha256(self.key().utf8), expiresAt: self.later(), terms: terms,
            replaced: terms != nil && self.flag() ? TokenReplacement(token: self.key(), overlap: 60) : nil)
    }

    private mutating func approvalKey() -> ApprovalKey {
        let kid = self.key()
        return ApprovalKey(kid: kid, publicKey: sha256(kid.utf8))
    }

    private mutating func terms() -> AccessToken.Terms {
        let principal = self.maybe(self.key())
        return AccessToken.Terms(
            kind: self.generator.pick(AccessToken.Kind.allCases),
            grants: principal == nil || self.flag() ? [self.grant()] : nil, principal: principal,
            networks: self.flag() ? [network("10.0.0.0/8")] : [],
            origin: self.flag()
                ? nil
                : SessionOrigin(
                    identity: self.identity(), rules: [RuleReference(name: developers.name, revision: 3)],
                    authenticatedAt: self.maybe(self.later()), isForBrowser: self.flag(),
                    session: self.maybe(self.key())))
    }

    private mutating func provider() -> IdentityProvider { self.flag() ? company : github }

    private mutating func identity() -> Identity {
        Identity(issuer: self.provider().issuer, subject: self.generator.pick(["1", "2", "repo:example/shop:x"]))
    }

    private mutating func signInRule() -> SignInRule {
        var rule = self.flag() ? developers : release
        if self.flag() { rule.sessionSeconds = 300 }
        return rule
    }

    private mutating func identityCommand() -> IdentityCommand {
        switch Int.random(in: 0..<9, using: &self.generator) {
        case 0, 1: .setProvider(self.provider())
        case 2: .removeProvider(self.provider().name)
        case 3: .setRule(self.signInRule())
        case 4: .removeRule(self.signInRule().name)
        case 5: .link(self.identity(), principal: self.key())
        case 6: .unlink(id: self.identity().id)
        default:
            .signIn(
                SignIn(
                    provider: company.name, identity: self.identity(),
                    claims: IdentityClaims(["groups": ["Entwicklung"]]), displayName: self.text(),
                    principal: self.identity().principalID, tokenID: self.key(), digest: sha256(self.key().utf8)))
        }
    }

    private mutating func accessCommand() -> AccessCommand {
        switch Int.random(in: 0..<20, using: &self.generator) {
        case 18: .addApprovalKey(self.approvalKey(), principal: self.key())
        case 19: .removeApprovalKey(kid: self.approvalKey().kid, principal: self.key())
        case 16, 17: .identity(self.identityCommand())
        case 12: .setApprovalRule(self.rule())
        case 13: .removeApprovalRule(self.rule().name)
        case 14: .setFreeze(self.freeze())
        case 15: .removeFreeze(id: self.key())
        case 0, 1: .issueToken(self.token(self.terms()))
        case 2: .revokeToken(id: self.key())
        case 3: .defineRole(roleName("own"), [self.generator.pick(Permission.allCases)])
        case 4: .removeRole(roleName("own"))
        case 5, 6: .addPrincipal(id: self.key(), self.generator.pick(Principal.Kind.allCases), name: self.text())
        case 7: .renamePrincipal(id: self.key(), name: self.text())
        case 8: .suspendPrincipal(id: self.key())
        case 9: .reinstatePrincipal(id: self.key())
        case 10: .grantRole(id: self.key(), principal: self.key(), self.grant())
        default: .revokeGrant(id: self.key())
        }
    }

    private mutating func accessEvent() -> AccessEvent {
        switch Int.random(in: 0..<24, using: &self.generator) {
        case 22: .approvalKeyAdded(self.approvalKey(), principal: self.key())
        case 23: .approvalKeyRemoved(kid: self.approvalKey().kid, principal: self.key())
        case 15: .identityProviderSet(self.provider())
        case 16: .identityProviderRemoved(self.provider().name)
        case 17, 18: .signInRuleSet(self.signInRule())
        case 19: .signInRuleRemoved(self.signInRule().name)
        case 20: .identityLinked(self.identity(), principal: self.key())
        case 21: .identityUnlinked(id: self.identity().id, principal: self.key())
        case 11: .approvalRuleSet(self.rule())
        case 12: .approvalRuleRemoved(self.rule().name)
        case 13: .freezeSet(self.freeze())
        case 14: .freezeRemoved(id: self.key())
        case 0: .tokenIssued(self.token(nil))
        case 1, 2: .tokenIssued(self.token(self.terms()))
        case 3: .roleDefined(roleName("own"), [self.generator.pick(Permission.allCases)])
        case 4: .roleRemoved(roleName("own"))
        case 5: .principalAdded(id: self.key(), self.generator.pick(Principal.Kind.allCases), name: self.text())
        case 6: .principalRenamed(id: self.key(), name: self.text())
        case 7: .principalSuspended(id: self.key())
        case 8: .principalReinstated(id: self.key())
        case 9: .roleGranted(id: self.key(), principal: self.key(), self.grant())
        default: .grantRevoked(id: self.key(), principal: self.key())
        }
    }

    private mutating func rule() -> ApprovalRule {
        ApprovalRule(
            name: self.generator.pick([roleName("a"), roleName("b")]), apps: [.all],
            permissions: [self.generator.pick(ApprovalRule.approvable.sorted { $0.rawValue < $1.rawValue })],
            approvals: Int.random(in: 1...5, using: &self.generator),
            roles: self.flag() ? [RoleName(.approver)] : [])
    }

    private mutating func freeze() -> Freeze {
        Freeze(id: self.key(), apps: [.all], from: self.now, until: self.later())
    }

    private mutating func content() -> ChangeContent {
        ChangeContent(
            commands: [.app(shop, [self.appCommand()])].filter(\.isProposable), isForced: self.flag(),
            notBefore: self.maybe(self.later()), reason: reason("x"), plan: sha256([1]))
    }

    /// An event of a proposed change, whether it fits or not.
    mutating func changeEvent() -> ChangeEvent {
        let actor = Actor(kind: .token, id: self.key(), name: self.text(), principalID: self.maybe(self.hook()))
        let id = self.key()
        return switch Int.random(in: 0..<12, using: &self.generator) {
        case 0, 1, 2:
            .created(
                id: id, author: actor, self.content(), expiresAt: self.later(), status: self.flag() ? .draft : .proposed
            )
        case 3: .edited(id: id, author: actor, self.content(), expiresAt: self.later())
        case 4: .proposed(id: id)
        case 5:
            .approved(
                id: id, approver: actor, contentDigest: sha256([1]),
                signature: self.flag() ? nil : ApprovalSignature(kid: self.key(), bytes: sha256([2])))
        case 6: .rejected(id: id, by: actor)
        case 7: .withdrawn(id: id, by: actor)
        case 8: .suspended(id: id, obstacle: self.text())
        case 9, 10: .applied(id: id, by: actor, effects: 3, bypassesApprovals: self.flag())
        default: .reviewed(id: id, by: actor)
        }
    }

    private mutating func changeCommand() -> ChangeCommand {
        let id = self.key()
        let command: Command =
            switch Int.random(in: 0..<4, using: &self.generator) {
            case 0: .access(self.accessCommand())
            case 1: .fleet(self.flag() ? .engageKillSwitch(expiresAt: self.later()) : .releaseKillSwitch)
            default: .app(shop, [self.appCommand()])
            }
        let draft = ChangeDraft(
            commands: [command], isForced: true, notBefore: self.generator.once(in: 4) ? self.later() : nil)
        return switch Int.random(in: 0..<8, using: &self.generator) {
        case 0, 1, 2: .create(id: id, draft, isDraft: self.flag())
        case 3: .bypass(id: id, draft)
        case 4: .propose(id: id)
        case 5: .reject(id: id)
        case 6: .withdraw(id: id)
        default: .apply(id: id, bypassesApprovals: false)
        }
    }

    mutating func command() -> Command {
        switch Int.random(in: 0..<18, using: &self.generator) {
        case 17: .log(self.logCommand())
        case 15, 16: .change(self.changeCommand())
        case 12, 13: .webhooks(self.webhookCommand())
        case 14:
            .telemetryKey(
                shop, self.flag() ? .add(id: self.hook(), note: self.maybe(self.text())) : .retire(id: self.hook()))
        case 0: .fleet(self.flag() ? .engageKillSwitch(expiresAt: self.later()) : .releaseKillSwitch)
        case 1: .fleet(.setIssuer(self.generator.pick(["pinledger", "pins.example.com"])))
        case 2: .keys(.create(kid: self.key(), publicKey: sha256([UInt8.random(in: 0...9, using: &self.generator)])))
        case 3: .keys(self.flag() ? .activate(kid: self.key()) : .retire(kid: self.key()))
        case 4, 5: .access(self.accessCommand())
        default:
            .app(
                self.generator.pick(self.apps),
                (0..<Int.random(in: 1...3, using: &self.generator)).map { _ in self.appCommand() })
        }
    }

    /// An event of any kind, whether it fits or not.
    mutating func event() -> Event {
        switch Int.random(in: 0..<55, using: &self.generator) {
        case 54: .audit(.requestsAudited(node: self.key(), [], omitted: 1))
        case 51, 52, 53: .changes(self.changeEvent())
        case 50:
            .app(self.generator.pick([.changeReverted(0), .changeReverted(7), .appArchived, .appUnarchived]))
        case 49: .fleet(.featureLevelRaised(self.generator.pick([1, 1, 2])))
        case 47, 48:
            .fleet(
                .historyRestored(
                    HistoryRestoration(
                        epoch: self.generator.pick([1, 2, 3, 7]), keptSize: self.generator.pick([0, 3, 9]), lost: nil,
                        raisedBy: self.generator.pick([1, 1_000_000]))))
        case 45: .app(.versionKillSwitchEngaged(self.range(), expiresAt: self.later()))
        case 46: .app(.versionKillSwitchReleased(self.range()))
        case 31:
            .app(
                .rotationStarted(
                    Rotation(
                        id: self.key(), kind: .planned, hosts: [self.host()], next: self.pin(), isNextNew: self.flag(),
                        old: [self.pin()], goals: Rotation.Goals(), startedAt: self.now)))
        case 32: .app(.rotationAdvanced(self.key(), self.generator.pick(Rotation.Phase.allCases)))
        case 33: .app(.rotationAborted(self.key()))
        case 34: .app(.keyDescribed(.publicKey(self.facts())))
        case 35: .app(.guardRailSet(self.generator.pick(GuardRail.allCases), isLowered: self.flag()))
        case 36: .app(.endpointsSet(self.host(), self.maybe(endpoints("api.example.com:8443"))))
        case 37:
            .app(
                .guardRailsOverridden([
                    OverriddenFinding(
                        code: "G07", host: self.maybe(self.host()), pin: self.maybe(self.pin()), detail: "x")
                ]))
        case 38: .fleet(.guardRailSet(self.generator.pick(GuardRail.allCases), isLowered: self.flag()))
        case 39: .webhooks(.created(id: self.hook(), self.webhookSettings(), secretID: self.key()))
        case 40: .webhooks(.changed(id: self.hook(), self.webhookSettings()))
        case 41: .webhooks(.paused(id: self.hook(), self.generator.pick(WebhookPause.allCases)))
        case 42: .webhooks(.resumed(id: self.hook()))
        case 43: .webhooks(.secretRotated(id: self.hook(), secretID: self.key()))
        case 44: .webhooks(.removed(id: self.hook()))
        case 0: .app(.appCreated(displayName: self.text()))
        case 1: .app(.appRenamed(displayName: self.text()))
        case 2: .app(.versionGateSet(self.maybe(self.gate())))
        case 3: .app(.appRolloutSet(self.maybe(self.rollout())))
        case 4: .app(.fallbackSet(Fallback(usesBuiltinPins: self.flag())))
        case 5:
            .app(
                .monitoringSet(
                    Monitoring(isEnabled: self.flag(), reaction: self.generator.pick(Monitoring.Reaction.allCases))))
        case 6: .app(.pinsValidUntilSet(self.maybe(self.later())))
        case 7: .app(.hostAdded(self.host(), includesSubdomains: self.flag(), mode: self.maybe(self.mode())))
        case 8: .app(.hostSubdomainsSet(self.host(), includesSubdomains: self.flag()))
        case 9: .app(.hostRemoved(self.host()))
        case 10: .app(.modeSet(self.host(), self.slot(), self.mode()))
        case 11: .app(.candidateStarted(self.host(), mode: self.mode()))
        case 12: .app(.candidatePromoted(self.host()))
        case 13: .app(.candidateDropped(self.host()))
        case 14: .app(.hostRolloutSet(self.host(), self.maybe(self.rollout())))
        case 15, 16: .app(.pinStaged(self.host(), self.slot(), self.pin(), self.role(), note: self.maybe(self.text())))
        case 17: .app(.pinActivated(self.host(), self.slot(), self.pin()))
        case 18: .app(.pinRoleSet(self.host(), self.slot(), self.pin(), self.role()))
        case 19: .app(.pinRetired(self.host(), self.slot(), self.pin()))
        case 20: .app(.pinRevoked(self.host(), self.slot(), self.pin()))
        case 21: .app(.killSwitchEngaged(self.maybe(self.host()), expiresAt: self.later()))
        case 22: .app(.killSwitchReleased(self.maybe(self.host())))
        case 23: .fleet(.killSwitchEngaged(expiresAt: self.later()))
        case 24: .fleet(.killSwitchReleased)
        case 25: .fleet(.issuerSet("pins.example.com"))
        case 26: .keys(.signingKeyCreated(kid: self.key(), publicKey: sha256([1])))
        case 27: .keys(.signingKeyActivated(kid: self.key()))
        case 28: .keys(self.flag() ? .signingKeyRetired(kid: self.key()) : self.root())
        case 29: .access(self.accessEvent())
        default: .access(.tokenRevoked(id: self.key()))
        }
    }

    /// The first root of trust or the second one.
    private mutating func root() -> KeyEvent {
        (try? signedRoot(self.flag() ? 1 : 2)).map { .rootPublished($0) } ?? .signingKeyRetired(kid: self.key())
    }

    mutating func stream() -> StreamID {
        self.generator.pick([.app(shop), .app(appID("other")), .fleet, .keys, .access, .webhooks, .changes, .audit])
    }
}
