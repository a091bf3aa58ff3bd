import ClientLiterals
import PinWire
import Pinning

/// Entries of golden lines as values, by the event's type and after a dot what is special about them.
let examples: [String: Entry] = {
    let rollout = Rollout(
        basisPoints: 2500, method: .geography, seed: [.userID, .deviceID], isSticky: false, salt: "spring",
        countries: ["AT", "DE"], whitelist: [Rollout.hashedID("alice", salt: "spring")],
        exclusions: [Rollout.hashedID("bob", salt: "spring")]
    )
    let gate = VersionGate(
        minimum: version("1.5"), maximum: version("3.0-rc.1"), excluded: [version("2.0.1")], minimumBuild: 150
    )
    let end = Timestamp(microseconds: 1_770_000_000_250_000)
    let app: [(String, AppEvent)] = [
        ("AppCreated", .appCreated(displayName: "Shöp \"1\"")),
        ("AppRenamed", .appRenamed(displayName: "Store")),
        ("VersionGateSet", .versionGateSet(gate)),
        ("VersionGateSet.none", .versionGateSet(nil)),
        ("AppRolloutSet", .appRolloutSet(rollout)),
        ("AppRolloutSet.none", .appRolloutSet(nil)),
        ("FallbackSet", .fallbackSet(Fallback(usesBuiltinPins: true, hosts: [cdn, api]))),
        ("MonitoringSet", .monitoringSet(Monitoring(isEnabled: true, failureThreshold: 250, autoDisables: true))),
        ("PinsValidUntilSet", .pinsValidUntilSet(end)),
        ("PinsValidUntilSet.none", .pinsValidUntilSet(nil)),
        ("HostAdded", .hostAdded(cdn, includesSubdomains: false, mode: .reportOnly)),
        ("HostAdded.builtin", .hostAdded(api, includesSubdomains: true, mode: nil)),
        ("HostSubdomainsSet", .hostSubdomainsSet(api, includesSubdomains: true)),
        ("HostRemoved", .hostRemoved(api)),
        ("ModeSet", .modeSet(api, .baseline, .off)),
        ("CandidateStarted", .candidateStarted(api, mode: .enforce)),
        ("CandidatePromoted", .candidatePromoted(api)),
        ("CandidateDropped", .candidateDropped(api)),
        ("HostRolloutSet", .hostRolloutSet(api, Rollout(basisPoints: 100))),
        ("HostRolloutSet.none", .hostRolloutSet(api, nil)),
        ("PinStaged", .pinStaged(api, .candidate, pin(1), .emergency, note: "safe in Graz")),
        ("PinStaged.plain", .pinStaged(api, .baseline, pin(2), .primary, note: nil)),
        ("PinActivated", .pinActivated(api, .baseline, pin(1))),
        ("PinRoleSet", .pinRoleSet(api, .baseline, pin(1), .backup)),
        ("PinRetired", .pinRetired(api, .baseline, pin(1))),
        ("PinRevoked", .pinRevoked(api, .candidate, pin(1))),
        ("KillSwitchEngaged", .killSwitchEngaged(api, expiresAt: end)),
        ("KillSwitchEngaged.app", .killSwitchEngaged(nil, expiresAt: end)),
        ("KillSwitchReleased", .killSwitchReleased(api)),
        ("KillSwitchReleased.app", .killSwitchReleased(nil)),
    ]
    let others: [(String, StreamID, Event)] = [
        ("FleetKillSwitchEngaged", .fleet, .fleet(.killSwitchEngaged(expiresAt: end))),
        ("FleetKillSwitchReleased", .fleet, .fleet(.killSwitchReleased)),
        ("IssuerSet", .fleet, .fleet(.issuerSet("pins.example.com"))),
        ("SigningKeyCreated", .keys, .keys(.signingKeyCreated(kid: "kid-1", publicKey: sha256([1])))),
        ("SigningKeyActivated", .keys, .keys(.signingKeyActivated(kid: "kid-1"))),
        ("SigningKeyRetired", .keys, .keys(.signingKeyRetired(kid: "kid-1"))),
        (
            "TokenIssued", .access,
            .access(
                .tokenIssued(NewToken(id: "tok_1", name: "CI", digest: sha256([2]), expiresAt: end, terms: nil)))
        ),
        ("TokenRevoked", .access, .access(.tokenRevoked(id: "tok_1"))),
    ]
    let roots: [(String, StreamID, Event)] = [try? signedRoot(1)].compactMap(\.self).map {
        ("RootPublished", .keys, .keys(.rootPublished($0)))
    }
    let facts = KeyFacts(
        pin: pin(1), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: sha256([1]) + sha256([2]),
        rawKeySHA256: sha256([3])
    )
    let certificate = CertificateFacts(
        key: facts, sha256: sha256([4]), sha1: Array(sha256([5]).prefix(20)), subject: "CN=api.example.com,O=Müller",
        issuer: "CN=Authority", commonName: "api.example.com", dnsNames: ["api.example.com"],
        ipAddresses: ["192.0.2.1"],
        serial: "1f", notBefore: noon, notAfter: end
    )
    let weak = KeyFacts(
        pin: pin(2), algorithm: "rsa", bits: 1024, spkiSHA512: sha256([1]) + sha256([2]), rawKeySHA256: sha256([3]),
        weaknesses: ["is an RSA key of 1024 bits"]
    )
    let overridden = OverriddenFinding(code: "G07", host: api, pin: pin(1), detail: "It is served.")
    let rotation = Rotation(
        id: "autumn", kind: .planned, hosts: [cdn, api], next: pin(3), isNextNew: true, old: [pin(1)],
        goals: Rotation.Goals(), startedAt: noon
    )
    let warning = Warning(
        Warning.Subject(
            .certificateExpires, host: api, policy: .candidate, pin: pin(1),
            endpoint: endpoints("api.example.com:8443")[0], rotation: "autumn"),
        severity: .soon, date: end, lead: 1_209_600, code: "G23", detail: "It expires “soon”.", remedy: "Renew it."
    )
    let terms = RolloutPlan.Terms(
        steps: [
            .init(100, .init(seconds: 3600, installs: 500)), .init(2500, .init(needsApproval: true)), .init(10_000),
        ], bake: 86_400, ending: .promote, onInconclusive: .revert
    )
    let wultra = ClientSettings(
        understandsDomains: true, entryDays: 30,
        versionRules: [
            ClientVersionRule(
                id: 7, platform: .ios, majorOSVersion: 17, suggestedVersion: "3.1.2", requiredVersion: "2.0.0-rc.1",
                messageKey: "update")
        ], texts: [ClientText(key: "update", language: "de", text: "Bitte „aktualisieren“!")])
    guard let log = LogName("pins.example.com/log"), let nextLog = LogName("pins.example.com/log/epoch-2"),
        let witness = LogName("witness.example.net/w1")
    else {
        preconditionFailure("not a name of a log")
    }
    let newer: [(String, StreamID, Event)] = [
        ("EndpointsSet", .app(shop), .app(.endpointsSet(api, endpoints("api.example.com:8443", "a.example:25+smtp")))),
        ("EndpointsSet.none", .app(shop), .app(.endpointsSet(api, nil))),
        ("KeyDescribed", .app(shop), .app(.keyDescribed(.certificate(certificate)))),
        (
            "KeyDescribed.request", .app(shop),
            .app(.keyDescribed(.request(facts, subject: "CN=next", dnsNames: ["api.example.com"])))
        ),
        ("KeyDescribed.key", .app(shop), .app(.keyDescribed(.publicKey(weak)))),
        ("GuardRailSet", .app(shop), .app(.guardRailSet(.unprovenPin, isLowered: true))),
        ("GuardRailsOverridden", .app(shop), .app(.guardRailsOverridden([overridden]))),
        ("RotationStarted", .app(shop), .app(.rotationStarted(rotation))),
        ("RotationAdvanced", .app(shop), .app(.rotationAdvanced("autumn", .cleanUp))),
        ("RotationAborted", .app(shop), .app(.rotationAborted("autumn"))),
        ("FleetGuardRailSet", .fleet, .fleet(.guardRailSet(.notDelivered, isLowered: false))),
        (
            "SigningKeyRailsOverridden", .keys,
            .keys(.railsOverridden([OverriddenFinding(code: "G31", host: nil, pin: nil, detail: "Too early.")]))
        ),
        ("WarningRaised", .watch(shop), .watch(.warningRaised(warning))),
        (
            "WarningRaised.plain", .watch(shop),
            .watch(
                .warningRaised(
                    Warning(
                        Warning.Subject(.rotationReady, rotation: "autumn"), severity: .urgent, detail: "It is ready.",
                        remedy: "Advance it.")))
        ),
        ("WarningCleared", .watch(shop), .watch(.warningCleared(warning.subject))),
        ("FleetGuardRailsOverridden", .fleet, .fleet(.railsOverridden([overridden]))),
        (
            "KillSwitchEngaged.versions", .app(shop),
            .app(
                .versionKillSwitchEngaged(
                    range("3.1.0", "3.1.2-rc.1", except: "3.1.1", from: 310), expiresAt: end))
        ),
        ("KillSwitchReleased.versions", .app(shop), .app(.versionKillSwitchReleased(range(nil, "3.1")))),
        ("RolloutPlanSet", .app(shop), .app(.rolloutPlanSet(api, terms))),
        (
            "RolloutPlanSet.app", .app(shop),
            .app(.rolloutPlanSet(nil, RolloutPlan.Terms(steps: [.init(10_000)], startsAt: end)))
        ),
        ("RolloutPlanCleared", .app(shop), .app(.rolloutPlanCleared(api))),
        ("RolloutStepTaken", .app(shop), .app(.rolloutStepTaken(api, step: 2, basisPoints: 500))),
        ("RolloutStepTaken.app", .app(shop), .app(.rolloutStepTaken(nil, step: 1, basisPoints: 1))),
        ("RolloutStepApproved", .app(shop), .app(.rolloutStepApproved(api, step: 2))),
        ("RolloutStepExtended", .app(shop), .app(.rolloutStepExtended(nil, step: 1))),
        ("RolloutBakeStarted", .app(shop), .app(.rolloutBakeStarted(api))),
        ("RolloutPlanFinished", .app(shop), .app(.rolloutPlanFinished(api))),
        ("RolloutPaused", .app(shop), .app(.rolloutPaused(api, .blocked, detail: "G09: “Nobody” has it."))),
        ("RolloutResumed", .app(shop), .app(.rolloutResumed(nil))),
        ("RolloutRolledBack", .app(shop), .app(.rolloutRolledBack(api, .requested, detail: nil))),
        (
            "TelemetryReacted", .app(shop),
            .app(
                .telemetryReacted(
                    Reacted(
                        host: api, arm: .candidate, step: .rollBack,
                        verdict: ["ln_e": .number(7.838366), "reasons": ["stage_test"], "step": "roll_back"])))
        ),
        (
            "TelemetryReacted.unsaid", .app(shop),
            .app(.telemetryReacted(Reacted(host: api, arm: nil, step: .killSwitch, verdict: [:])))
        ),
        ("RolloutSampleReached", .app(shop), .app(.rolloutSampleReached(api, step: 3, installs: 50))),
        ("ClientSet", .app(shop), .app(.clientSet(.wultra, wultra))),
        ("ClientSet.dynapins", .app(shop), .app(.clientSet(.dynapins, ClientSettings(dynapins: .ed25519)))),
        ("ClientSet.plain", .app(shop), .app(.clientSet(.curl, ClientSettings()))),
        ("ClientRemoved", .app(shop), .app(.clientRemoved(.remoteConfig))),
        (
            "ClientKeySet", .app(shop),
            .app(.clientKeySet(.wultra, ClientKey(algorithm: .es256, publicKey: [0x30, 0x01, 0x02])))
        ),
        (
            "ClientSet.remote", .app(shop),
            .app(.clientSet(.remoteConfig, ClientSettings(schema: .simple, parameter: "pins_2", hash: .rawKey)))
        ),
        (
            "LogOpened", .log,
            .log(.logOpened(origin: log, kid: "kid-1", publicKey: sha256([1])))
        ),
        ("LogKeyAdded", .log, .log(.logKeyAdded(kid: "kid-2", publicKey: sha256([2])))),
        ("LogKeyRetired", .log, .log(.logKeyRetired(kid: "kid-1"))),
        (
            "HistoryRestored", .fleet,
            .fleet(
                .historyRestored(
                    HistoryRestoration(
                        epoch: 2, keptSize: 4711, lost: .init(size: 4720, root: sha256([3])), raisedBy: 1_000_000)))
        ),
        (
            "HistoryRestored.unknown", .fleet,
            .fleet(.historyRestored(HistoryRestoration(epoch: 3, keptSize: 0, lost: nil, raisedBy: 1)))
        ),
        (
            "LogContinued", .log,
            .log(
                .logContinued(
                    origin: nextLog, after: EarlierLog(origin: log, end: .init(size: 4720, root: sha256([3])))))
        ),
        (
            "LogWitnessAdded", .log,
            .log(
                .logWitnessAdded(
                    LogWitness(
                        name: witness, publicKey: sha256([4]), url: webhookURL("https://witness.example.net/pins"),
                        monitoringURL: webhookURL("https://logs.witness.example.net"))))
        ),
        (
            "LogWitnessAdded.plain", .log,
            .log(
                .logWitnessAdded(
                    LogWitness(
                        name: witness, publicKey: sha256([5]), url: webhookURL("https://witness.example.net/pins"),
                        monitoringURL: nil)))
        ),
        ("LogWitnessRemoved", .log, .log(.logWitnessRemoved(name: witness, publicKey: sha256([5])))),
        ("LogQuorumSet", .log, .log(.logQuorumSet(1))),
        ("FeatureLevelRaised", .fleet, .fleet(.featureLevelRaised(2))),
        ("ChangeReverted", .app(shop), .app(.changeReverted(42))),
        ("AppArchived", .app(shop), .app(.appArchived)),
        ("AppUnarchived", .app(shop), .app(.appUnarchived)),
        (
            "DocumentPublished", .watch(shop),
            .watch(.documentPublished(Publication(version: 7, contentDigest: sha256([7]))))
        ),
        ("LogAccessSet", .log, .log(.logAccessSet(isPublic: true))),
        ("LogDocumentProofsSet", .log, .log(.logDocumentProofsSet(true))),
    ]
    // Behind what is numbered already.
    let last: [(String, StreamID, Event)] = [
        (
            "BuiltInPinsNoted", .app(shop),
            .app(
                .builtInPinsNoted(
                    .androidNSC, BuiltInHost(api, pins: [pin(1), pin(2)], isEnforced: true), .imported))
        )
    ]
    let plain = Origin(actor: Actor(kind: .token, id: "tok_0", name: "Ann"))
    // Everything that an entry can say, and something that it need not.
    let full = Origin(
        actor: Actor(kind: .local, id: "root", name: "Root"), reason: reason("Key stolen, see #12 “früh”"),
        isForced: true,
        requestID: "req-1", correlationID: "cor-1", causationID: "cau-1", idempotencyKey: "idem-1"
    )
    let all = app.map { ($0, StreamID.app(shop), Event.app($1)) } + others + newer + roots + last
    return Dictionary(
        uniqueKeysWithValues: all.enumerated().map { index, example in
            let (name, stream, event) = example
            let time = Timestamp(microseconds: noon.microseconds + (index.isMultiple(of: 2) ? 0 : 123_456))
            let entry = Entry(
                position: Int64(index), stream: stream, streamVersion: Int64(index + 1), time: time, event: event,
                origin: event == .app(.pinRevoked(api, .candidate, pin(1))) ? full : plain
            )
            return (name, entry)
        }
    ).merging(webhookExamples) { _, new in new }.merging(telemetryExamples) { _, new in new }
        .merging(accessExamples) { _, new in new }
        .merging(changeExamples) { _, new in new }
        .merging(auditExamples) { _, new in new }
}()
