import PinWire
import Pinning

/// One entry for each file in `Golden`, by the file's name: the event's type, and after a dot what is special about it.
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
        ("TokenIssued", .access, .access(.tokenIssued(id: "tok_1", name: "CI", digest: sha256([2]), expiresAt: end))),
        ("TokenRevoked", .access, .access(.tokenRevoked(id: "tok_1"))),
    ]
    let plain = Origin(actor: Actor(kind: .token, id: "tok_0", name: "Ann"))
    // Everything that an entry can say, and something that it need not.
    let full = Origin(
        actor: Actor(kind: .local, id: "root", name: "Root"), reason: reason("Key stolen, see #12 “früh”"),
        isForced: true,
        requestID: "req-1", correlationID: "cor-1", causationID: "cau-1", idempotencyKey: "idem-1"
    )
    let all = app.map { ($0, StreamID.app(shop), Event.app($1)) } + others
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
    )
}()
