import PinWire
import Pinning
import Testing

/// What commands need, whatever the routes say.
@Suite struct `The permissions of commands` {
    private static let versions = range("1.0", "2.0")
    private static let later = noon.adding(seconds: 3600)

    /// Commands by what they need.
    private static let lines: [(command: Command, permission: Permission)] = {
        let ofApps: [(AppCommand, Permission)] = [
            (.rename("B"), .changeApps), (.archive, .archiveApps), (.unarchive, .archiveApps),
            (.engageKillSwitch(nil, expiresAt: later), .engageKillSwitches),
            (.engageKillSwitch(api, expiresAt: later), .engageKillSwitches),
            (.engageVersionKillSwitch(versions, expiresAt: later), .engageKillSwitches),
            (.releaseKillSwitch(nil), .releaseKillSwitches),
            (.releaseVersionKillSwitch(versions), .releaseKillSwitches),
            (.setGuardRail(.unprovenPin, isLowered: true), .changeGuardRails),
            (.setClientKey(.wultra, ClientKey(algorithm: .es256, publicKey: [1])), .manageClientKeys),
            (.addPin(api, .baseline, new(5)), .changeApps), (.revokePin(api, .baseline, pin(1)), .changeApps),
            (.rollout(api, .pause(.requested, detail: nil)), .changeApps), (.setVersionGate(nil), .changeApps),
            (.setRollout(nil), .changeApps), (.setFallback(Fallback(usesBuiltinPins: true, hosts: [])), .changeApps),
            (.setPinsValidUntil(nil), .changeApps), (.setMode(api, .baseline, .reportOnly), .changeApps),
            (.setSubdomains(api, includesSubdomains: true), .changeApps), (.removeHost(api), .changeApps),
            (.startCandidate(api, mode: .off, copiesBaseline: nil, pins: []), .changeApps),
            (.promoteCandidate(api), .changeApps), (.dropCandidate(api), .changeApps),
            (.setHostRollout(api, nil), .changeApps), (.activatePin(api, .baseline, pin(1)), .changeApps),
            (.setPinRole(api, .baseline, pin(1), .backup), .changeApps),
            (.retirePin(api, .baseline, pin(1)), .changeApps),
            (.setEndpoints(api, nil), .changeApps), (.describeKeys([]), .changeApps),
            (.advanceRotation("r", from: nil), .changeApps), (.abortRotation("r", keepsNext: false), .changeApps),
            (.setClient(.wultra, ClientSettings()), .changeApps), (.removeClient(.wultra), .changeApps),
            (.noteBuiltIn(.curl, [], .imported), .changeApps),
        ]
        let others: [(Command, Permission)] = [
            (.app(appID("com.example.new"), [.create(displayName: "N")]), .createApps),
            (.telemetryKey(shop, .add(id: "tlk_1", note: nil)), .manageTelemetryKeys),
            (.fleet(.engageKillSwitch(expiresAt: later)), .engageKillSwitches),
            (.fleet(.releaseKillSwitch), .releaseKillSwitches), (.fleet(.setIssuer("x")), .changeFleet),
            (.fleet(.setGuardRail(.unprovenPin, isLowered: true)), .changeGuardRails),
            (.fleet(.raiseFeatureLevel(1)), .changeFleet),
            (.access(.addPrincipal(id: "prn_9", .person, name: "x")), .manageAccess),
            (.access(.defineRole(roleName("other"), [.readApps])), .manageAccess),
            (.access(.grantRole(id: "grt_9", principal: "prn_9", .everywhere(.viewer))), .manageAccess),
            (.access(.revokeToken(id: "tok_9")), .manageAccess),
            (.keys(.create(kid: "k", publicKey: sha256([1]))), .manageKeys),
            (.webhooks(.remove(id: "whk_1")), .manageWebhooks), (.log(.retireKey(kid: "k")), .manageLog),
        ]
        return ofApps.map { (.app(shop, [$0.0]), $0.1) } + others
    }()

    private func state(_ permissions: Set<Permission>, on apps: String = "*") throws -> LedgerState {
        var state = LedgerState()
        state.take(
            try state.decide(
                .app(
                    shop,
                    [
                        .create(displayName: "Shop"),
                        .addHost(api, includesSubdomains: false, mode: .off, pins: [new(1), new(2, .backup)]),
                    ]), in: context("w", isForced: true)
            ).after)
        let grant = Grant(role: roleName("own"), apps: [pattern(apps)])
        let events: [AccessEvent] = [
            .roleDefined(roleName("own"), permissions), .tokenIssued(newToken("tok_0", [grant])),
        ]
        for event in events { _ = state.apply(.access(event), of: .access, at: noon) }
        return state
    }

    /// The refusal for lack of a permission; nil where the command got past it, whatever became of it.
    private func missing(_ command: Command, in state: LedgerState, isForced: Bool = false) -> Permission? {
        var context = context("why", isForced: isForced)
        context.commander = Actor(kind: .token, id: "tok_0", name: "x")
        do throws(Refusal) { _ = try state.decide(command, in: context) } catch {
            if case .permissionMissing(let permission, _) = error { return permission }
        }
        return nil
    }

    @Test func `every command needs its permission, and no other`() throws {
        for (command, permission) in Self.lines {
            let all = Set(Permission.allCases)
            #expect(
                self.missing(command, in: try self.state(all.subtracting([permission]))) == permission, "\(command)")
            #expect(self.missing(command, in: try self.state([permission, .readApps])) == nil, "\(command)")
        }
    }

    @Test func `an app that a principal does not see does not exist for its commands`() throws {
        let state = try self.state(Set(Permission.allCases), on: "org.other*")
        var context = context("why")
        context.commander = Actor(kind: .token, id: "tok_0", name: "x")
        for (command, _) in Self.lines {
            guard case .app(let id, let commands) = command, id == shop else { continue }
            #expect(throws: Refusal.appUnknown(shop)) { try state.decide(command, in: context) }
            // The same answer as for one that is not there.
            let nowhere = appID("com.example.nowhere")
            #expect(throws: Refusal.appUnknown(nowhere)) { try state.decide(.app(nowhere, commands), in: context) }
        }
        // To create one tells nothing either.
        for app in [shop, appID("com.example.nowhere")] {
            #expect(throws: Refusal.permissionMissing(.createApps, .app(app))) {
                try state.decide(.app(app, [.create(displayName: "x")]), in: context)
            }
        }
    }

    @Test func `force needs a permission of its own`() throws {
        let permissions = Set(Permission.allCases).subtracting([.overrideGuardRails])
        let some = try self.state(permissions)
        let all = try self.state(Set(Permission.allCases))
        let commands: [Command] = [
            .app(shop, [.rename("B")]), .keys(.create(kid: "k", publicKey: sha256([1]))),
            .fleet(.engageKillSwitch(expiresAt: Self.later)), .webhooks(.remove(id: "whk_1")),
            .telemetryKey(shop, .add(id: "tlk_1", note: nil)), .log(.retireKey(kid: "k")),
            .access(.revokeToken(id: "tok_0")),
        ]
        for command in commands {
            #expect(self.missing(command, in: some) == nil)
            #expect(self.missing(command, in: some, isForced: true) == .overrideGuardRails)
            #expect(self.missing(command, in: all, isForced: true) == nil)
        }
    }

    @Test func `commands of the server itself are refused to every token`() throws {
        let state = try self.state(Set(Permission.allCases))
        let publication = Publication(version: 1, contentDigest: sha256([1]))
        #expect(self.missing(.watch(shop), in: state) == .changeApps)
        #expect(self.missing(.publication(shop, publication), in: state) == .changeApps)
        #expect(self.missing(.app(shop, [.rollout(api, .drive)]), in: state) == .changeApps)
        let restoration = HistoryRestoration(epoch: 1, keptSize: 0, lost: nil, raisedBy: 1)
        #expect(self.missing(.fleet(.restoreHistory(restoration)), in: state) == .changeFleet)
    }

    @Test func `a change needs a permission for each of its effects`() throws {
        // A revert that engages a kill switch again, and one that brings an archived app back.
        for (command, inverse, permission) in [
            (
                AppCommand.engageKillSwitch(api, expiresAt: Self.later), AppCommand.releaseKillSwitch(api),
                Permission.releaseKillSwitches
            ),
            (.archive, .unarchive, .archiveApps),
            (
                .setGuardRail(.unprovenPin, isLowered: true), .setGuardRail(.unprovenPin, isLowered: false),
                .changeGuardRails
            ),
        ] {
            for permissions in [
                Set<Permission>([.readApps, .changeApps]), Set(Permission.allCases).subtracting([permission]),
            ] {
                var state = try self.state(permissions)
                let before = state.apps[shop]
                let decision = try state.decide(.app(shop, [command]), in: context("why"))
                state.take(decision.after)
                let events = decision.events.compactMap { if case .app(let event) = $0 { event } else { nil } }
                let past = PastChange(
                    position: 7, events: events, before: before, after: try #require(state.apps[shop]))
                #expect(self.missing(.app(shop, [.revert(past)]), in: state) == permission, "\(inverse)")
            }
        }
    }

    @Test func `a host under a kill switch is removed by those who may release it`() throws {
        var state = try self.state([.readApps, .changeApps])
        let engage = Command.app(shop, [.engageKillSwitch(api, expiresAt: Self.later)])
        #expect(self.missing(.app(shop, [.removeHost(api)]), in: state) == nil)
        state.take(try state.decide(engage, in: context("why")).after)
        #expect(self.missing(.app(shop, [.removeHost(api)]), in: state) == .releaseKillSwitches)
    }

    @Test func `a right that ended before the decision does not count`() throws {
        let end = noon.adding(seconds: 60)
        let grant = Grant(role: RoleName(.editor), apps: [.all], expiresAt: end)
        let ofAda = newToken("tok_1", digest: sha256([2]), nil, of: "prn_1")
        let given: [AccessEvent] = [
            .principalAdded(id: "prn_1", .person, name: "Ada"), .roleGranted(id: "grt_1", principal: "prn_1", grant),
            .tokenIssued(ofAda), .tokenIssued(newToken("tok_2", digest: sha256([3]), until: end)),
        ]
        func refusal(_ token: String, _ events: [AccessEvent] = [], at now: Timestamp = noon) throws -> Refusal? {
            var state = try self.state([])
            for event in given + events { _ = state.apply(.access(event), of: .access, at: noon) }
            var context = context("why", at: now)
            context.commander = Actor(kind: .token, id: token, name: "x")
            do throws(Refusal) { _ = try state.decide(.app(shop, [.rename("B")]), in: context) } catch { return error }
            return nil
        }
        let before = Timestamp(microseconds: end.microseconds - 1)
        for token in ["tok_1", "tok_2"] {
            #expect(try refusal(token, at: before) == nil)
            #expect(try refusal(token, at: end) == .appUnknown(shop), "\(token)")
            #expect(try refusal(token, [.tokenRevoked(id: token)]) == .appUnknown(shop))
        }
        #expect(try refusal("tok_1", [.principalSuspended(id: "prn_1")]) == .appUnknown(shop))
        #expect(try refusal("tok_1", [.grantRevoked(id: "grt_1", principal: "prn_1")]) == .appUnknown(shop))
    }
}
