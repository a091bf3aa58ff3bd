import PinWire

// Each event of an app is declared once: its name in the ledger, its group, and its fields in canonical order. The same
// list of fields is read, written, and asked for the hosts that the event is about.

private let host = EventField("host", .host)
/// Nil for the whole app.
private let anyHost = EventField(optional: "host", .host)
private let policy = EventField<PolicySlot>("policy", .word)
private let pin = EventField("pin", .pin)
private let role = EventField<PinRole>("role", .word)
private let mode = EventField<PinMode>("mode", .word)
private let displayName = EventField("display_name", .text)
private let subdomains = EventField("include_subdomains", .flag)
private let rollout = EventField(optional: "rollout", MemberValue<Rollout>(Rollout.init(_:), \.json))
private let expiresAt = EventField("expires_at", .time)
private let versions = EventField(optional: "versions", MemberValue<VersionRange>(VersionRange.init(_:), \.json))
private let step = EventField("step", .integer(1...Int64(RolloutPlan.stepLimit)))
private let cause = EventField<RolloutPlan.Cause>("cause", .word)
private let detail = EventField(optional: "detail", .text)
private let client = EventField<ClientKind>("client", .word)
private let rotation = EventField("rotation", MemberValue.text.naming { id, app in app?.rotation(id)?.hosts ?? [] })

extension AppEvent {
    enum Declared {
        static let appCreated = EventDeclaration("AppCreated", .app, displayName) { .app(.appCreated(displayName: $0)) }
        static let appRenamed = EventDeclaration("AppRenamed", .app, displayName) { .app(.appRenamed(displayName: $0)) }
        static let versionGateSet = EventDeclaration(
            "VersionGateSet", .app, addsToDocument: true,
            EventField(optional: "version_gate", MemberValue<VersionGate>(VersionGate.init(_:), \.json))
        ) { .app(.versionGateSet($0)) }
        static let appRolloutSet = EventDeclaration("AppRolloutSet", .rollout, addsToDocument: true, rollout) {
            .app(.appRolloutSet($0))
        }
        static let fallbackSet = EventDeclaration(
            "FallbackSet", .app, addsToDocument: true,
            EventField("fallback", MemberValue<Fallback>(Fallback.init(_:), \.json))
        ) { .app(.fallbackSet($0)) }
        static let monitoringSet = EventDeclaration(
            "MonitoringSet", .app, addsToDocument: true,
            EventField("monitoring", MemberValue<Monitoring>(Monitoring.init(_:), \.json))
        ) { .app(.monitoringSet($0)) }
        static let pinsValidUntilSet = EventDeclaration(
            "PinsValidUntilSet", .app, EventField(optional: "pins_valid_until", .time)
        ) { .app(.pinsValidUntilSet($0)) }

        static let hostAdded = EventDeclaration(
            "HostAdded", .host, addsToDocument: true, host, subdomains, EventField<PinMode?>(optional: "mode", .word)
        ) { .app(.hostAdded($0, includesSubdomains: $1, mode: $2)) }
        static let hostSubdomainsSet = EventDeclaration("HostSubdomainsSet", .host, host, subdomains) {
            .app(.hostSubdomainsSet($0, includesSubdomains: $1))
        }
        static let hostRemoved = EventDeclaration("HostRemoved", .host, host) { .app(.hostRemoved($0)) }
        static let modeSet = EventDeclaration("ModeSet", .host, host, mode, policy) { .app(.modeSet($0, $2, $1)) }
        static let endpointsSet = EventDeclaration(
            "EndpointsSet", .host,
            EventField(
                optional: "endpoints",
                .list(of: MemberValue<Endpoint>.parsed(Endpoint.init(_:), \.description), atMost: Host.endpointLimit)),
            host
        ) { .app(.endpointsSet($1, $0)) }

        static let candidateStarted = EventDeclaration(
            "CandidateStarted", .candidate, addsToDocument: true, host, mode
        ) { .app(.candidateStarted($0, mode: $1)) }
        static let candidatePromoted = EventDeclaration("CandidatePromoted", .candidate, host) {
            .app(.candidatePromoted($0))
        }
        static let candidateDropped = EventDeclaration("CandidateDropped", .candidate, host) {
            .app(.candidateDropped($0))
        }
        static let hostRolloutSet = EventDeclaration("HostRolloutSet", .rollout, addsToDocument: true, host, rollout) {
            .app(.hostRolloutSet($0, $1))
        }

        static let pinStaged = EventDeclaration(
            "PinStaged", .pin, host, EventField(optional: "note", .text), pin, policy, role
        ) { .app(.pinStaged($0, $3, $2, $4, note: $1)) }
        static let pinActivated = EventDeclaration("PinActivated", .pin, addsToDocument: true, host, pin, policy) {
            .app(.pinActivated($0, $2, $1))
        }
        static let pinRoleSet = EventDeclaration("PinRoleSet", .pin, host, pin, policy, role) {
            .app(.pinRoleSet($0, $2, $1, $3))
        }
        static let pinRetired = EventDeclaration("PinRetired", .pin, host, pin, policy) {
            .app(.pinRetired($0, $2, $1))
        }
        static let pinRevoked = EventDeclaration("PinRevoked", .pin, host, pin, policy) {
            .app(.pinRevoked($0, $2, $1))
        }
        static let keyDescribed = EventDeclaration(
            "KeyDescribed", .pin, EventField(all: KeyEvidence.init(_:), \.members)
        ) { .app(.keyDescribed($0)) }

        static let killSwitchEngaged = EventDeclaration(
            "KillSwitchEngaged", .killSwitch, expiresAt, anyHost, versions
        ) { (end, host, versions) throws(JSONDefect) in
            guard let versions else { return .app(.killSwitchEngaged(host, expiresAt: end)) }
            try Self.refuse(host)
            return .app(.versionKillSwitchEngaged(versions, expiresAt: end))
        }
        static let killSwitchReleased = EventDeclaration(
            "KillSwitchReleased", .killSwitch, anyHost, versions
        ) { (host, versions) throws(JSONDefect) in
            guard let versions else { return .app(.killSwitchReleased(host)) }
            try Self.refuse(host)
            return .app(.versionKillSwitchReleased(versions))
        }

        private static func refuse(_ host: HostPattern?) throws(JSONDefect) {
            guard host == nil else {
                throw JSONDefect(pointer: JSONPointer(["data", "host"]), message: "is not a member beside versions")
            }
        }

        static let guardRailSet = EventDeclaration(
            "GuardRailSet", .guardRail, EventField<GuardRail>("code", .word), EventField("lowered", .flag)
        ) { .app(.guardRailSet($0, isLowered: $1)) }
        static let guardRailsOverridden = EventDeclaration(
            "GuardRailsOverridden", .guardRail, EventField("findings", .findings)
        ) { .app(.guardRailsOverridden($0)) }

        static let appArchived = EventDeclaration("AppArchived", .app) { .app(.appArchived) }
        static let appUnarchived = EventDeclaration("AppUnarchived", .app) { .app(.appUnarchived) }

        static let changeReverted = EventDeclaration(
            "ChangeReverted", .app, EventField("reverted_position", .count(from: 0))
        ) { .app(.changeReverted($0)) }

        static let rotationStarted = EventDeclaration(
            "RotationStarted", .rotation, EventField(all: Rotation.init(start:), \.startMembers, hosts: \.hosts)
        ) { .app(.rotationStarted($0)) }
        static let rotationAdvanced = EventDeclaration(
            "RotationAdvanced", .rotation, EventField<Rotation.Phase>("phase", .word), rotation
        ) { .app(.rotationAdvanced($1, $0)) }
        static let rotationAborted = EventDeclaration("RotationAborted", .rotation, rotation) {
            .app(.rotationAborted($0))
        }

        static let rolloutPlanSet = EventDeclaration(
            "RolloutPlanSet", .rollout, anyHost,
            EventField("plan", MemberValue<RolloutPlan.Terms>({ (f) throws(JSONDefect) in try .init(f) }, \.json))
        ) { .app(.rolloutPlanSet($0, $1)) }
        static let rolloutPlanCleared = EventDeclaration("RolloutPlanCleared", .rollout, anyHost) {
            .app(.rolloutPlanCleared($0))
        }
        static let rolloutStepTaken = EventDeclaration(
            "RolloutStepTaken", .rollout, EventField("basis_points", .integer(0...10_000)), anyHost, step
        ) { .app(.rolloutStepTaken($1, step: $2, basisPoints: $0)) }
        static let rolloutStepApproved = EventDeclaration("RolloutStepApproved", .rollout, anyHost, step) {
            .app(.rolloutStepApproved($0, step: $1))
        }
        static let rolloutSampleReached = EventDeclaration(
            "RolloutSampleReached", .rollout, anyHost, EventField("installs", .integer(1...JSON.largestInteger)), step
        ) { .app(.rolloutSampleReached($0, step: $2, installs: $1)) }
        static let rolloutStepExtended = EventDeclaration("RolloutStepExtended", .rollout, anyHost, step) {
            .app(.rolloutStepExtended($0, step: $1))
        }
        static let rolloutBakeStarted = EventDeclaration("RolloutBakeStarted", .rollout, anyHost) {
            .app(.rolloutBakeStarted($0))
        }
        static let rolloutPlanFinished = EventDeclaration("RolloutPlanFinished", .rollout, anyHost) {
            .app(.rolloutPlanFinished($0))
        }
        static let rolloutPaused = EventDeclaration("RolloutPaused", .rollout, cause, detail, anyHost) {
            .app(.rolloutPaused($2, $0, detail: $1))
        }
        static let rolloutResumed = EventDeclaration("RolloutResumed", .rollout, anyHost) { .app(.rolloutResumed($0)) }
        static let rolloutRolledBack = EventDeclaration("RolloutRolledBack", .rollout, cause, detail, anyHost) {
            .app(.rolloutRolledBack($2, $0, detail: $1))
        }

        static let telemetryReacted = EventDeclaration(
            "TelemetryReacted", .telemetry, EventField<PolicySlot?>(optional: "arm", .word), host,
            EventField<ReactionStep>("step", .word), EventField("verdict", .object)
        ) { .app(.telemetryReacted(Reacted(host: $1, arm: $0, step: $2, verdict: $3))) }

        static let clientSet = EventDeclaration(
            "ClientSet", .client, client, EventField("settings", .any)
        ) { (kind, settings) throws(JSONDefect) in .app(.clientSet(kind, try ClientSettings(settings, of: kind))) }
        static let clientRemoved = EventDeclaration("ClientRemoved", .client, client) { .app(.clientRemoved($0)) }
        static let clientKeySet = EventDeclaration(
            "ClientKeySet", .client, EventField<ClientKeyAlgorithm>("algorithm", .word), client,
            EventField("key_id", .any),
            EventField("public_key", .bytes("base64", decode: Base64.decode) { Base64.encode($0) })
        ) { (algorithm, kind, id, publicKey) throws(JSONDefect) in
            let key = ClientKey(algorithm: algorithm, publicKey: publicKey)
            guard try id.string() == key.id else { throw id.defect("is not the key's") }
            return .app(.clientKeySet(kind, key))
        }
        static let builtInPinsNoted = EventDeclaration(
            "BuiltInPinsNoted", .client, client, EventField("enforced", .flag), host,
            EventField<BuiltInPins.Origin>("origin", .word),
            EventField("pins", .list(of: .pin, atMost: App.pinLimit))
        ) { .app(.builtInPinsNoted($0, BuiltInHost($2, pins: $4, isEnforced: $1), $3)) }

        static let all: [any DeclaredEvent] = [
            appCreated, appRenamed, versionGateSet, appRolloutSet, fallbackSet, monitoringSet, pinsValidUntilSet,
            hostAdded, hostSubdomainsSet, hostRemoved, modeSet, endpointsSet, candidateStarted, candidatePromoted,
            candidateDropped, hostRolloutSet, pinStaged, pinActivated, pinRoleSet, pinRetired, pinRevoked,
            keyDescribed, killSwitchEngaged, killSwitchReleased, guardRailSet, guardRailsOverridden, rotationStarted,
            rotationAdvanced, rotationAborted, rolloutPlanSet, rolloutPlanCleared, rolloutStepTaken,
            rolloutStepApproved, rolloutSampleReached, rolloutStepExtended, rolloutBakeStarted, rolloutPlanFinished,
            rolloutPaused, rolloutResumed, rolloutRolledBack, telemetryReacted, clientSet, clientRemoved, clientKeySet,
            changeReverted, appArchived, appUnarchived, builtInPinsNoted,
        ]
    }

    /// Shows `visitor` the event's declaration with the values of its fields, in the same order.
    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .appCreated(let name): visitor.visit(Declared.appCreated, name)
        case .appRenamed(let name): visitor.visit(Declared.appRenamed, name)
        case .versionGateSet(let gate): visitor.visit(Declared.versionGateSet, gate)
        case .appRolloutSet(let rollout): visitor.visit(Declared.appRolloutSet, rollout)
        case .fallbackSet(let fallback): visitor.visit(Declared.fallbackSet, fallback)
        case .monitoringSet(let monitoring): visitor.visit(Declared.monitoringSet, monitoring)
        case .pinsValidUntilSet(let time): visitor.visit(Declared.pinsValidUntilSet, time)
        case .appArchived: visitor.visit(Declared.appArchived)
        case .appUnarchived: visitor.visit(Declared.appUnarchived)
        case .hostAdded(let host, let subdomains, let mode): visitor.visit(Declared.hostAdded, host, subdomains, mode)
        case .hostSubdomainsSet(let host, let subdomains): visitor.visit(Declared.hostSubdomainsSet, host, subdomains)
        case .hostRemoved(let host): visitor.visit(Declared.hostRemoved, host)
        case .modeSet(let host, let policy, let mode): visitor.visit(Declared.modeSet, host, mode, policy)
        case .endpointsSet(let host, let endpoints): visitor.visit(Declared.endpointsSet, endpoints, host)
        case .candidateStarted(let host, let mode): visitor.visit(Declared.candidateStarted, host, mode)
        case .candidatePromoted(let host): visitor.visit(Declared.candidatePromoted, host)
        case .candidateDropped(let host): visitor.visit(Declared.candidateDropped, host)
        case .hostRolloutSet(let host, let rollout): visitor.visit(Declared.hostRolloutSet, host, rollout)
        case .pinStaged(let host, let policy, let pin, let role, let note):
            visitor.visit(Declared.pinStaged, host, note, pin, policy, role)
        case .pinActivated(let host, let policy, let pin): visitor.visit(Declared.pinActivated, host, pin, policy)
        case .pinRoleSet(let host, let policy, let pin, let role):
            visitor.visit(Declared.pinRoleSet, host, pin, policy, role)
        case .pinRetired(let host, let policy, let pin): visitor.visit(Declared.pinRetired, host, pin, policy)
        case .pinRevoked(let host, let policy, let pin): visitor.visit(Declared.pinRevoked, host, pin, policy)
        case .keyDescribed(let evidence): visitor.visit(Declared.keyDescribed, evidence)
        case .killSwitchEngaged(let host, let end): visitor.visit(Declared.killSwitchEngaged, end, host, nil)
        case .versionKillSwitchEngaged(let versions, let end):
            visitor.visit(Declared.killSwitchEngaged, end, nil, versions)
        case .killSwitchReleased(let host): visitor.visit(Declared.killSwitchReleased, host, nil)
        case .versionKillSwitchReleased(let versions): visitor.visit(Declared.killSwitchReleased, nil, versions)
        case .guardRailSet(let rail, let isLowered): visitor.visit(Declared.guardRailSet, rail, isLowered)
        case .guardRailsOverridden(let findings): visitor.visit(Declared.guardRailsOverridden, findings)
        case .changeReverted(let position): visitor.visit(Declared.changeReverted, position)
        case .rotationStarted(let rotation): visitor.visit(Declared.rotationStarted, rotation)
        case .rotationAdvanced(let id, let phase): visitor.visit(Declared.rotationAdvanced, phase, id)
        case .rotationAborted(let id): visitor.visit(Declared.rotationAborted, id)
        case .rolloutPlanSet(let host, let terms): visitor.visit(Declared.rolloutPlanSet, host, terms)
        case .rolloutPlanCleared(let host): visitor.visit(Declared.rolloutPlanCleared, host)
        case .rolloutStepTaken(let host, let step, let share):
            visitor.visit(Declared.rolloutStepTaken, share, host, step)
        case .rolloutStepApproved(let host, let step): visitor.visit(Declared.rolloutStepApproved, host, step)
        case .rolloutSampleReached(let host, let step, let installs):
            visitor.visit(Declared.rolloutSampleReached, host, installs, step)
        case .rolloutStepExtended(let host, let step): visitor.visit(Declared.rolloutStepExtended, host, step)
        case .rolloutBakeStarted(let host): visitor.visit(Declared.rolloutBakeStarted, host)
        case .rolloutPlanFinished(let host): visitor.visit(Declared.rolloutPlanFinished, host)
        case .rolloutPaused(let host, let cause, let detail): visitor.visit(Declared.rolloutPaused, cause, detail, host)
        case .rolloutResumed(let host): visitor.visit(Declared.rolloutResumed, host)
        case .rolloutRolledBack(let host, let cause, let detail):
            visitor.visit(Declared.rolloutRolledBack, cause, detail, host)
        case .telemetryReacted(let reacted):
            visitor.visit(Declared.telemetryReacted, reacted.arm, reacted.host, reacted.step, reacted.verdict)
        case .clientSet(let kind, let settings):
            visitor.visit(Declared.clientSet, kind, JSONField(settings.json(of: kind)))
        case .clientRemoved(let kind): visitor.visit(Declared.clientRemoved, kind)
        case .clientKeySet(let kind, let key):
            visitor.visit(Declared.clientKeySet, key.algorithm, kind, JSONField(.string(key.id)), key.publicKey)
        case .builtInPinsNoted(let kind, let host, let origin):
            visitor.visit(Declared.builtInPinsNoted, kind, host.isEnforced, host.pattern, origin, host.pins)
        }
    }

    var addsToDocument: Bool { Event.app(self).kind.addsToDocument }

    /// The hosts that the event is about, given the app before it.
    func hosts(in app: App?) -> [HostPattern] {
        var hosts = EventHosts(app: app)
        return self.visit(&hosts)
    }
}
