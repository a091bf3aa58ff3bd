import PinWire
import Pinning
import Testing

@Suite struct `Refusals` {
    /// One name for each case. The compiler asks for a new one here, and the test below for what produces it.
    private func name(_ refusal: Refusal) -> Name {
        switch refusal {
        case .appExists: .appExists
        case .appUnknown: .appUnknown
        case .hostExists: .hostExists
        case .hostUnknown: .hostUnknown
        case .publicSuffix: .publicSuffix
        case .tooManyHosts: .tooManyHosts
        case .documentTooLarge: .documentTooLarge
        case .pinExists: .pinExists
        case .pinUnknown: .pinUnknown
        case .pinNotStaged: .pinNotStaged
        case .pinNotInUse: .pinNotInUse
        case .pinRevoked: .pinRevoked
        case .pinPlaceholder: .pinPlaceholder
        case .tooManyPins: .tooManyPins
        case .tooFewPins: .tooFewPins
        case .noBackupPin: .noBackupPin
        case .lastBackupPin: .lastBackupPin
        case .guarded: .guarded
        case .guardRailFixed: .guardRailFixed
        case .rotationExists: .rotationExists
        case .rotationUnknown: .rotationUnknown
        case .rotationPhase: .rotationPhase
        case .rotationUnderWay: .rotationUnderWay
        case .rotationWithoutOldKey: .rotationWithoutOldKey
        case .rotationWithoutNextKey: .rotationWithoutNextKey
        case .tooManyRotations: .tooManyRotations
        case .tooManyEndpoints: .tooManyEndpoints
        case .keyNotPinned: .keyNotPinned
        case .baselineIsBuiltin: .baselineIsBuiltin
        case .candidateExists: .candidateExists
        case .candidateMissing: .candidateMissing
        case .rolloutPlanUnknown: .rolloutPlanUnknown
        case .rolloutUnplannable: .rolloutUnplannable
        case .rolloutPlanState: .rolloutPlanState
        case .rolloutPlanned: .rolloutPlanned
        case .rolloutRolledBack: .rolloutRolledBack
        case .rolloutWithoutSalt: .rolloutWithoutSalt
        case .reasonRequired: .reasonRequired
        case .expiryNotAhead: .expiryNotAhead
        case .expiryTooFar: .expiryTooFar
        case .killSwitchNotEngaged: .killSwitchNotEngaged
        case .tooManyKillSwitches: .tooManyKillSwitches
        case .keyExists: .keyExists
        case .keyUnknown: .keyUnknown
        case .keyNotAnnounced: .keyNotAnnounced
        case .keyTooYoung: .keyTooYoung
        case .keyInUse: .keyInUse
        case .keyStillTrusted: .keyStillTrusted
        case .keyRetired: .keyRetired
        case .rootVersion: .rootVersion
        case .rootUnsigned: .rootUnsigned
        case .rootExpired: .rootExpired
        case .permissionMissing: .permissionMissing
        case .grantTooWide: .grantTooWide
        case .networksTooWide: .networksTooWide
        case .roleUnknown: .roleUnknown
        case .roleFixed: .roleFixed
        case .roleInUse: .roleInUse
        case .tooManyRoles: .tooManyRoles
        case .principalExists: .principalExists
        case .principalUnknown: .principalUnknown
        case .principalSuspended: .principalSuspended
        case .tooManyPrincipals: .tooManyPrincipals
        case .grantExists: .grantExists
        case .grantUnknown: .grantUnknown
        case .tooManyGrants: .tooManyGrants
        case .tooManyPatterns: .tooManyPatterns
        case .tooManyTokens: .tooManyTokens
        case .tokenExists: .tokenExists
        case .tokenUnknown: .tokenUnknown
        case .tokenRevoked: .tokenRevoked
        case .approvalRuleUnknown: .approvalRuleUnknown
        case .approvalRuleMisnamed: .approvalRuleMisnamed
        case .tooManyApprovalRules: .tooManyApprovalRules
        case .tooFewApprovers: .tooFewApprovers
        case .freezeExists: .freezeExists
        case .freezeUnknown: .freezeUnknown
        case .tooManyFreezes: .tooManyFreezes
        case .approvalRequired: .approvalRequired
        case .frozen: .frozen
        case .commandNotProposable: .commandNotProposable
        case .changeExists: .changeExists
        case .changeUnknown: .changeUnknown
        case .changeIsDraft: .changeIsDraft
        case .changeClosed: .changeClosed
        case .changeOfOthers: .changeOfOthers
        case .changeContentStale: .changeContentStale
        case .changeConflict: .changeConflict
        case .changeWithoutEffect: .changeWithoutEffect
        case .changeNotDue: .changeNotDue
        case .changeNeedsNoReview: .changeNeedsNoReview
        case .approvalsMissing: .approvalsMissing
        case .approverNotPerson: .approverNotPerson
        case .approvalUnsigned: .approvalUnsigned
        case .approvalKeyUnknown: .approvalKeyUnknown
        case .approvalKeyTaken: .approvalKeyTaken
        case .tooManyApprovalKeys: .tooManyApprovalKeys
        case .approvalOfOwnChange: .approvalOfOwnChange
        case .proposerNotPrincipal: .proposerNotPrincipal
        case .tooManyCommands: .tooManyCommands
        case .tooManyChanges: .tooManyChanges
        case .tooManyContributors: .tooManyContributors
        case .identityProviderUnknown: .identityProviderUnknown
        case .identityProviderFixed: .identityProviderFixed
        case .issuerTaken: .issuerTaken
        case .codeInvalid: .codeInvalid
        case .identityUnlinked: .identityUnlinked
        case .identityProviderInUse: .identityProviderInUse
        case .tooManyIdentityProviders: .tooManyIdentityProviders
        case .signInRuleUnknown: .signInRuleUnknown
        case .signInRuleTooOpen: .signInRuleTooOpen
        case .tooManySignInRules: .tooManySignInRules
        case .identityUnknown: .identityUnknown
        case .identityTaken: .identityTaken
        case .tooManyIdentities: .tooManyIdentities
        case .signInDenied: .signInDenied
        case .identityTokenUsed: .identityTokenUsed
        case .proofNotRecent: .proofNotRecent
        case .webhookExists: .webhookExists
        case .webhookUnknown: .webhookUnknown
        case .tooManyWebhooks: .tooManyWebhooks
        case .logOpen: .logOpen
        case .epochNotAhead: .epochNotAhead
        case .raiseOutOfRange: .raiseOutOfRange
        case .featureLevelPassed: .featureLevelPassed
        case .featureLevelUnknown: .featureLevelUnknown
        case .featureLevelTooLow: .featureLevelTooLow
        case .appArchived: .appArchived
        case .notRevertible: .notRevertible
        case .changedSince: .changedSince
        case .logNotOpen: .logNotOpen
        case .logKeyLast: .logKeyLast
        case .tooManyLogKeys: .tooManyLogKeys
        case .witnessExists: .witnessExists
        case .witnessUnknown: .witnessUnknown
        case .tooManyWitnesses: .tooManyWitnesses
        case .quorumUnreachable: .quorumUnreachable
        case .telemetryKeyExists: .telemetryKeyExists
        case .telemetryKeyUnknown: .telemetryKeyUnknown
        case .telemetryKeyRetired: .telemetryKeyRetired
        case .tooManyTelemetryKeys: .tooManyTelemetryKeys
        case .clientUnknown: .clientUnknown
        case .clientKeyInUse: .clientKeyInUse
        case .clientKeyUnfit: .clientKeyUnfit
        case .firebaseParameterTaken: .firebaseParameterTaken
        }
    }

    private enum Name: CaseIterable {
        case appExists, appUnknown, hostExists, hostUnknown, publicSuffix, tooManyHosts, documentTooLarge
        case pinExists, pinUnknown, pinNotStaged, pinNotInUse, pinRevoked, pinPlaceholder, tooManyPins, tooFewPins
        case permissionMissing, grantTooWide, networksTooWide, roleUnknown, roleFixed, roleInUse, tooManyRoles
        case principalExists, principalUnknown, principalSuspended, tooManyPrincipals, grantExists, grantUnknown
        case tooManyGrants, tooManyPatterns, tooManyTokens
        case noBackupPin, lastBackupPin, baselineIsBuiltin, candidateExists, candidateMissing
        case reasonRequired, expiryNotAhead, expiryTooFar, killSwitchNotEngaged, tooManyKillSwitches
        case keyExists, keyUnknown, keyNotAnnounced, keyTooYoung, keyInUse, keyStillTrusted, keyRetired
        case rootVersion, rootUnsigned, rootExpired
        case tokenExists, tokenUnknown, tokenRevoked
        case guarded, guardRailFixed, rotationExists, rotationUnknown, rotationPhase, rotationUnderWay
        case rotationWithoutOldKey, rotationWithoutNextKey, tooManyRotations, tooManyEndpoints, keyNotPinned
        case approvalRuleUnknown, approvalRuleMisnamed, tooManyApprovalRules, tooFewApprovers
        case freezeExists, freezeUnknown, tooManyFreezes
        case approvalRequired, frozen, commandNotProposable, changeExists, changeUnknown, changeIsDraft, changeClosed
        case changeOfOthers, changeContentStale, changeConflict, changeWithoutEffect, changeNotDue, changeNeedsNoReview
        case approvalUnsigned, approvalKeyUnknown, approvalKeyTaken, tooManyApprovalKeys
        case approvalsMissing, approverNotPerson, approvalOfOwnChange, proposerNotPrincipal
        case tooManyCommands, tooManyChanges, tooManyContributors
        case codeInvalid, issuerTaken, identityUnlinked, identityProviderUnknown, identityProviderFixed,
            identityProviderInUse,
            tooManyIdentityProviders
        case signInRuleUnknown, signInRuleTooOpen, tooManySignInRules, identityUnknown, identityTaken
        case tooManyIdentities, signInDenied, identityTokenUsed, proofNotRecent
        case webhookExists, webhookUnknown, tooManyWebhooks
        case epochNotAhead, raiseOutOfRange, featureLevelPassed, featureLevelUnknown, featureLevelTooLow
        case logOpen, logNotOpen, logKeyLast, tooManyLogKeys
        case witnessExists, witnessUnknown, tooManyWitnesses, quorumUnreachable
        case telemetryKeyExists, telemetryKeyUnknown, telemetryKeyRetired, tooManyTelemetryKeys
        case rolloutPlanUnknown, rolloutUnplannable, rolloutPlanState, rolloutPlanned, rolloutRolledBack
        case rolloutWithoutSalt, notRevertible, changedSince, appArchived
        case clientUnknown, clientKeyInUse, clientKeyUnfit, firebaseParameterTaken
    }

    /// Decides `command` after those before it, each insisted on, a minute apart.
    private func refusal(of command: Command, after commands: [Command], in last: DecisionContext) throws -> Refusal? {
        var state = LedgerState()
        for command in commands {
            for event in try state.decide(command, in: context("given", isForced: true)).events {
                _ = state.apply(event, of: command.stream, at: noon)
            }
        }
        do {
            _ = try state.decide(command, in: last)
            return nil
        } catch {
            return error
        }
    }

    @Test func `every refusal is produced by some command`() throws {
        var seen: Set<Name> = []
        let tables = [
            `An app`.settings, `An app`.hosts, `A pin`.life, `A pin`.revoked, `A pin`.placeholders, `A candidate`.life,
            `The rules of policies`.enforceable, `The rules of policies`.lastBackup, `A kill switch`.ofApps,
            `A kill switch for versions`.life, `A rotation`.refused, `A candidate`.lists,
            RolloutPlanTests.life, RolloutPlanTests.control,
        ]
        for line in tables.joined() {
            if case .failure(let refusal) = try line.decide() { seen.insert(self.name(refusal)) }
        }
        let hosts = (0..<1001).map { number in
            AppCommand.addHost(host("h\(number).example.com"), includesSubdomains: false, mode: nil, pins: [])
        }
        let pins = (0..<101).map { new($0) }
        let key = Command.keys(.create(kid: "a", publicKey: sha256([1])))
        let spare = Command.keys(.create(kid: "b", publicKey: sha256([2])))
        let activate = Command.keys(.activate(kid: "b"))
        let retire = Command.keys(.retire(kid: "a"))
        let issue = Command.access(.issueToken(newToken("t", until: noon.adding(seconds: 9))))
        let revoke = Command.access(.revokeToken(id: "t"))
        let settings = WebhookSettings(url: webhookURL("https://hooks.example.com/"))
        let hooks = (0...50).map { Command.webhooks(.create(id: "whk_\($0)", settings, secretID: "whs_\($0)")) }
        let made = Command.app(shop, [.create(displayName: "A")])
        let reporting = (0...10).map { Command.telemetryKey(shop, .add(id: "tlk_\($0)", note: nil)) }
        let origin = try #require(LogName("pins.example.com/log"))
        let opening = Command.log(.open(origin: origin, kid: "l0", publicKey: sha256([0])))
        let signing = (1...4).map { Command.log(.addKey(kid: "l\($0)", publicKey: sha256([UInt8($0)]))) }
        let witnesses = try (0...12).map { number in
            Command.log(
                .addWitness(
                    LogWitness(
                        name: try #require(LogName("w\(number).example.net")), publicKey: sha256([UInt8(number)]),
                        url: webhookURL("https://w\(number).example.net"), monitoringURL: nil)))
        }
        let stop = Command.telemetryKey(shop, .retire(id: "tlk_0"))
        let client = Command.app(shop, [.setClient(.wultra, ClientSettings())])
        let inFirebase = AppCommand.setClient(.remoteConfig, ClientSettings(firebaseProject: "shop-prod"))
        func clientKey(_ byte: UInt8, _ algorithm: ClientKeyAlgorithm = .es256) -> Command {
            .app(shop, [.setClientKey(.wultra, ClientKey(algorithm: algorithm, publicKey: [byte]))])
        }
        func restore(_ epoch: Int64, by raise: Int64) -> Command {
            .fleet(.restoreHistory(HistoryRestoration(epoch: epoch, keptSize: 0, lost: nil, raisedBy: raise)))
        }
        func root(_ file: SignedRoot) -> Command { .keys(.publishRoot(file, restarts: false)) }
        // As many active pins as make more than a mebibyte, in few commands.
        let many = (0..<App.pinLimit).map { new($0) }
        let large = (0..<240).map { number in
            AppCommand.addHost(host("h\(number).example.com"), includesSubdomains: false, mode: .off, pins: many)
        }
        let scenarios: [(commands: [Command], command: Command)] = [
            ([made, .app(shop, [.archive])], .app(shop, [.rename("B")])),
            ([], .fleet(.raiseFeatureLevel(0))), ([], .fleet(.raiseFeatureLevel(FeatureLevel.known + 1))),
            ([restore(1, by: 1)], restore(1, by: 1)), ([], restore(1, by: HistoryRestoration.largestRaise + 1)),
            ([opening], opening), ([], signing[0]), ([opening], .log(.retireKey(kid: "l0"))),
            ([opening] + signing.dropLast(), signing[3]), ([opening, witnesses[0]], witnesses[0]),
            ([opening], .log(.removeWitness(keyID: "00000000"))), ([opening] + witnesses.dropLast(), witnesses[12]),
            ([opening], .log(.setQuorum(1))),
            ([], .app(shop, [.create(displayName: "A")] + hosts)),
            ([], .app(shop, [.create(displayName: "A")] + large)),
            (
                [],
                .app(
                    shop, [.create(displayName: "A"), .addHost(api, includesSubdomains: false, mode: .off, pins: pins)])
            ),
            ([key], key), ([key], .keys(.activate(kid: "x"))), ([key, spare, activate], .keys(.activate(kid: "a"))),
            ([key, spare], activate), ([key], retire), ([key, spare, activate], retire),
            ([key, spare, activate, retire], retire), ([issue], issue), ([], revoke), ([issue, revoke], revoke),
            ([hooks[0]], hooks[0]), ([], .webhooks(.remove(id: "whk_1"))), (Array(hooks.dropLast()), hooks[50]),
            ([], root(try signedRoot(2))), ([], root(try signedRoot(1, by: ["Ada"]))),
            ([], root(try signedRoot(1, until: noon))),
            ([made, reporting[0]], reporting[0]), ([made], stop), ([made, reporting[0], stop], stop),
            ([made] + reporting.dropLast(), reporting[10]),
            ([made], .app(shop, [.removeClient(.wultra)])), ([made, client], clientKey(1, .ed25519)),
            ([made, client, clientKey(1)], clientKey(2)),
            (
                [.app(try AppID("com.example.till"), [.create(displayName: "B"), inFirebase]), made],
                .app(shop, [inFirebase])
            ),
        ]
        for (commands, command) in AccessDecisionTests.refused {
            let refusal = try #require(
                try self.refusal(of: .access(command), after: commands.map { .access($0) }, in: context()), "\(command)"
            )
            seen.insert(self.name(refusal))
        }
        for (commands, command) in SignInTests.refused {
            let refusal = try #require(
                try self.refusal(
                    of: .access(.identity(command)), after: commands.map { .access($0) }, in: context()), "\(command)")
            seen.insert(self.name(refusal))
        }
        if let refusal = try RecentProofTests.refusal() { seen.insert(self.name(refusal)) }
        for refusal in try ChangeWorld.refusals() { seen.insert(self.name(refusal)) }
        for (_, _, refusal) in AccessDecisionTests.tooWide { seen.insert(self.name(refusal)) }
        // Of all events, none needs a higher level than the first: here the ledger is at an even lower one.
        var early = LedgerState()
        early.fleet.featureLevel = 0
        #expect(throws: Refusal.featureLevelTooLow(type: "AppCreated", needed: 1, present: 0)) {
            try early.decide(made, in: context())
        }
        seen.insert(.featureLevelTooLow)
        for (commands, command) in scenarios {
            let refusal = try #require(try self.refusal(of: command, after: commands, in: context("why")))
            seen.insert(self.name(refusal))
        }
        for (_, given, change, since, _) in ReversalTests.refused {
            var ledger = try ReversalTests.Ledger(given)
            try ledger.record(change)
            for command in since { try ledger.record(command) }
            do { try ledger.revert(1 + since.count) } catch let refusal as Refusal { seen.insert(self.name(refusal)) }
        }
        #expect(Set(Name.allCases).subtracting(seen).isEmpty)
    }

    @Test func `refusals for a document's size never keep pinning from being turned off`() throws {
        let many = (0..<App.pinLimit).map { new($0) }
        func add(_ number: Int) -> AppCommand {
            .addHost(host("h\(number).example.com"), includesSubdomains: false, mode: .off, pins: many)
        }
        var state = LedgerState()
        func apply(_ commands: [AppCommand]) throws {
            for event in try state.decide(.app(shop, commands), in: context()).events {
                _ = state.apply(event, of: .app(shop), at: noon)
            }
        }
        try apply([.create(displayName: "A")] + (0..<117).map(add))
        // One host after the other until nothing more fits.
        var number = 117
        var refusal: Refusal?
        while refusal == nil {
            do { try apply([add(number)]) } catch { refusal = error as? Refusal }
            number += 1
        }
        guard case .documentTooLarge = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        let first = host("h0.example.com")
        let commands: [AppCommand] = [
            .engageKillSwitch(nil, expiresAt: noon.adding(seconds: 3600)),
            .engageVersionKillSwitch(range("3.1", "3.2"), expiresAt: noon.adding(seconds: 3600)),
            .engageKillSwitch(first, expiresAt: noon.adding(seconds: 3600)), .setMode(first, .baseline, .reportOnly),
            .retirePin(first, .baseline, pin(1)), .revokePin(first, .baseline, pin(2)), .removeHost(first),
        ]
        for command in commands {
            #expect(throws: Never.self) { try state.decide(.app(shop, [command]), in: context("w", isForced: true)) }
        }
    }
}
