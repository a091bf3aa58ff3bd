package import PinWire

extension Event {
    /// The version of the event's `data` that this program writes. All types are still in their first.
    package var schema: Int { 1 }

    /// The names of all events that this program knows.
    package static let types = [
        "AppCreated", "AppRenamed", "AppRolloutSet", "CandidateDropped", "CandidatePromoted", "CandidateStarted",
        "EndpointsSet", "FallbackSet", "FleetGuardRailSet", "FleetGuardRailsOverridden", "FleetKillSwitchEngaged",
        "FleetKillSwitchReleased",
        "GuardRailSet", "GuardRailsOverridden", "HostAdded", "HostRemoved", "HostRolloutSet", "HostSubdomainsSet",
        "IssuerSet", "KeyDescribed", "KillSwitchEngaged", "KillSwitchReleased", "ModeSet", "MonitoringSet",
        "PinActivated", "PinRetired", "PinRevoked", "PinRoleSet", "PinStaged", "PinsValidUntilSet",
        "RotationAborted", "RotationAdvanced", "RotationStarted", "SigningKeyActivated", "SigningKeyCreated",
        "SigningKeyRailsOverridden", "SigningKeyRetired", "TokenIssued", "TokenRevoked", "VersionGateSet",
        "WarningCleared", "WarningRaised",
        "WebhookChanged", "WebhookCreated", "WebhookPaused", "WebhookRemoved", "WebhookResumed", "WebhookSecretRotated",
    ]

    /// The event's name in the ledger.
    package var type: String {
        switch self {
        case .app(let event): event.type
        case .watch(let event): event.encoded.type
        case .fleet(let event): event.encoded.type
        case .keys(let event): event.encoded.type
        case .access(let event): event.encoded.type
        case .webhooks(let event): event.encoded.type
        }
    }

    /// What the event says, besides its name.
    package var data: JSON {
        switch self {
        case .app(let event): event.data
        case .watch(let event): event.encoded.data
        case .fleet(let event): event.encoded.data
        case .keys(let event): event.encoded.data
        case .access(let event): event.encoded.data
        case .webhooks(let event): event.encoded.data
        }
    }

    /// Reads an event back from the ledger: the one place where old schema versions would be brought up to date.
    ///
    /// Strict: an unknown type, schema version or member is a defect, so that a node which does not understand the
    /// ledger stops following it rather than serve something else than what was recorded.
    package init(type: String, schema: Int, data: JSON) throws(JSONDefect) {
        let field = JSONField(data, at: JSONPointer(["data"]))
        guard schema == 1 else {
            throw JSONDefect(
                pointer: JSONPointer(["schema"]), message: "is \(schema), which this program does not know")
        }
        if let event = try AppEvent(type: type, field) {
            self = .app(event)
        } else if let event = try WatchEvent(type: type, field) {
            self = .watch(event)
        } else if let event = try FleetEvent(type: type, field) {
            self = .fleet(event)
        } else if let event = try KeyEvent(type: type, field) {
            self = .keys(event)
        } else if let event = try AccessEvent(type: type, field) {
            self = .access(event)
        } else if let event = try WebhookEvent(type: type, field) {
            self = .webhooks(event)
        } else {
            throw JSONDefect(pointer: JSONPointer(["type"]), message: "is \(type), which this program does not know")
        }
    }
}

extension AppEvent {
    fileprivate var data: JSON {
        func pin(_ host: HostPattern, _ slot: PolicySlot, _ pin: Pin, _ more: KeyValuePairs<String, JSON?> = [:])
            -> JSON
        {
            var members: [String: JSON] = [
                "host": .string(host.text), "policy": .string(slot.rawValue), "pin": .string(pin.description),
            ]
            for (name, value) in more { members[name] = value }
            return .object(members)
        }
        func host(_ host: HostPattern) -> JSON { ["host": .string(host.text)] }
        switch self {
        case .appCreated(let name): return ["display_name": .string(name)]
        case .appRenamed(let name): return ["display_name": .string(name)]
        case .versionGateSet(let gate): return .members(["version_gate": gate?.json])
        case .appRolloutSet(let rollout): return .members(["rollout": rollout?.json])
        case .fallbackSet(let fallback): return ["fallback": fallback.json]
        case .monitoringSet(let monitoring): return ["monitoring": monitoring.json]
        case .pinsValidUntilSet(let time):
            return .members(["pins_valid_until": time.map { .string($0.rfc3339) }])
        case .hostAdded(let pattern, let subdomains, let mode):
            let data: JSON = .members([
                "host": .string(pattern.text), "include_subdomains": .bool(subdomains),
                "mode": mode.map { .string($0.rawValue) },
            ])
            return data
        case .hostSubdomainsSet(let pattern, let subdomains):
            return ["host": .string(pattern.text), "include_subdomains": .bool(subdomains)]
        case .hostRemoved(let pattern): return host(pattern)
        case .modeSet(let pattern, let slot, let mode):
            let data: JSON = [
                "host": .string(pattern.text), "policy": .string(slot.rawValue), "mode": .string(mode.rawValue),
            ]
            return data
        case .candidateStarted(let pattern, let mode):
            return ["host": .string(pattern.text), "mode": .string(mode.rawValue)]
        case .candidatePromoted(let pattern): return host(pattern)
        case .candidateDropped(let pattern): return host(pattern)
        case .hostRolloutSet(let pattern, let rollout):
            return .members(["host": .string(pattern.text), "rollout": rollout?.json])
        case .pinStaged(let pattern, let slot, let digest, let role, let note):
            let more: KeyValuePairs<String, JSON?> = ["role": .string(role.rawValue), "note": note.map { .string($0) }]
            return pin(pattern, slot, digest, more)
        case .pinActivated(let pattern, let slot, let digest): return pin(pattern, slot, digest)
        case .pinRoleSet(let pattern, let slot, let digest, let role):
            return pin(pattern, slot, digest, ["role": .string(role.rawValue)])
        case .pinRetired(let pattern, let slot, let digest): return pin(pattern, slot, digest)
        case .pinRevoked(let pattern, let slot, let digest): return pin(pattern, slot, digest)
        case .killSwitchEngaged(let pattern, let expiresAt):
            let data: JSON = .members([
                "host": pattern.map { .string($0.text) }, "expires_at": .string(expiresAt.rfc3339),
            ])
            return data
        case .killSwitchReleased(let pattern):
            return .members(["host": pattern.map { .string($0.text) }])
        case .endpointsSet(let pattern, let endpoints):
            return .members([
                "host": .string(pattern.text),
                "endpoints": endpoints.map { .array($0.map { .string($0.description) }) },
            ])
        case .keyDescribed(let evidence): return evidence.json
        case .guardRailSet(let rail, let isLowered): return ["code": .string(rail.code), "lowered": .bool(isLowered)]
        case .guardRailsOverridden(let findings): return ["findings": .array(findings.map(\.json))]
        case .rotationStarted(let rotation): return rotation.startJSON
        case .rotationAdvanced(let id, let phase):
            return ["rotation": .string(id), "phase": .string(phase.rawValue)]
        case .rotationAborted(let id): return ["rotation": .string(id)]
        }
    }

    fileprivate init?(type: String, _ field: JSONField) throws(JSONDefect) {
        func read(_ body: (inout JSONMembers) throws(JSONDefect) -> AppEvent) throws(JSONDefect) -> AppEvent {
            try field.object(body)
        }
        func host(_ members: inout JSONMembers) throws(JSONDefect) -> HostPattern {
            try members.required("host").parse(HostPattern.init)
        }
        func place(_ members: inout JSONMembers) throws(JSONDefect) -> (HostPattern, PolicySlot, Pin) {
            (
                try host(&members), try members.required("policy").oneOf(PolicySlot.self),
                try members.required("pin").parse(Pin.init(text:))
            )
        }
        switch type {
        case "AppCreated":
            self = try read { (m) throws(JSONDefect) in
                .appCreated(displayName: try m.required("display_name").string())
            }
        case "AppRenamed":
            self = try read { (m) throws(JSONDefect) in
                .appRenamed(displayName: try m.required("display_name").string())
            }
        case "VersionGateSet":
            self = try read { (m) throws(JSONDefect) in
                .versionGateSet(try m.optional("version_gate").mapped(VersionGate.init))
            }
        case "AppRolloutSet":
            self = try read { (m) throws(JSONDefect) in .appRolloutSet(try m.optional("rollout").mapped(Rollout.init)) }
        case "FallbackSet":
            self = try read { (m) throws(JSONDefect) in .fallbackSet(try Fallback(try m.required("fallback"))) }
        case "MonitoringSet":
            self = try read { (m) throws(JSONDefect) in .monitoringSet(try Monitoring(try m.required("monitoring"))) }
        case "PinsValidUntilSet":
            self = try read { (m) throws(JSONDefect) in
                .pinsValidUntilSet(try m.optional("pins_valid_until")?.timestamp())
            }
        case "HostAdded":
            self = try read { (m) throws(JSONDefect) in
                .hostAdded(
                    try host(&m), includesSubdomains: try m.required("include_subdomains").bool(),
                    mode: try m.optional("mode")?.oneOf(PinMode.self)
                )
            }
        case "HostSubdomainsSet":
            self = try read { (m) throws(JSONDefect) in
                .hostSubdomainsSet(try host(&m), includesSubdomains: try m.required("include_subdomains").bool())
            }
        case "HostRemoved": self = try read { (m) throws(JSONDefect) in .hostRemoved(try host(&m)) }
        case "ModeSet":
            self = try read { (m) throws(JSONDefect) in
                .modeSet(
                    try host(&m), try m.required("policy").oneOf(PolicySlot.self),
                    try m.required("mode").oneOf(PinMode.self)
                )
            }
        case "CandidateStarted":
            self = try read { (m) throws(JSONDefect) in
                .candidateStarted(try host(&m), mode: try m.required("mode").oneOf(PinMode.self))
            }
        case "CandidatePromoted": self = try read { (m) throws(JSONDefect) in .candidatePromoted(try host(&m)) }
        case "CandidateDropped": self = try read { (m) throws(JSONDefect) in .candidateDropped(try host(&m)) }
        case "HostRolloutSet":
            self = try read { (m) throws(JSONDefect) in
                .hostRolloutSet(try host(&m), try m.optional("rollout").mapped(Rollout.init))
            }
        case "PinStaged":
            self = try read { (m) throws(JSONDefect) in
                let (host, slot, pin) = try place(&m)
                return .pinStaged(
                    host, slot, pin, try m.required("role").oneOf(PinRole.self), note: try m.optional("note")?.string()
                )
            }
        case "PinActivated":
            self = try read { (m) throws(JSONDefect) in
                let (host, slot, pin) = try place(&m)
                return .pinActivated(host, slot, pin)
            }
        case "PinRoleSet":
            self = try read { (m) throws(JSONDefect) in
                let (host, slot, pin) = try place(&m)
                return .pinRoleSet(host, slot, pin, try m.required("role").oneOf(PinRole.self))
            }
        case "PinRetired":
            self = try read { (m) throws(JSONDefect) in
                let (host, slot, pin) = try place(&m)
                return .pinRetired(host, slot, pin)
            }
        case "PinRevoked":
            self = try read { (m) throws(JSONDefect) in
                let (host, slot, pin) = try place(&m)
                return .pinRevoked(host, slot, pin)
            }
        case "KillSwitchEngaged":
            self = try read { (m) throws(JSONDefect) in
                .killSwitchEngaged(
                    try m.optional("host")?.parse(HostPattern.init), expiresAt: try m.required("expires_at").timestamp()
                )
            }
        case "KillSwitchReleased":
            self = try read { (m) throws(JSONDefect) in
                .killSwitchReleased(try m.optional("host")?.parse(HostPattern.init))
            }
        case "EndpointsSet":
            self = try read { (m) throws(JSONDefect) in
                let pattern = try host(&m)
                guard let list = m.optional("endpoints") else { return .endpointsSet(pattern, nil) }
                var endpoints: [Endpoint] = []
                for field in try list.elements(atMost: Host.endpointLimit) {
                    endpoints.append(try field.parse(Endpoint.init))
                }
                return .endpointsSet(pattern, endpoints)
            }
        case "KeyDescribed": self = .keyDescribed(try KeyEvidence(field))
        case "GuardRailSet":
            self = try read { (m) throws(JSONDefect) in
                .guardRailSet(
                    try m.required("code").oneOf(GuardRail.self), isLowered: try m.required("lowered").bool())
            }
        case "GuardRailsOverridden":
            self = try read { (m) throws(JSONDefect) in .guardRailsOverridden(try OverriddenFinding.list(&m)) }
        case "RotationStarted": self = .rotationStarted(try Rotation(start: field))
        case "RotationAdvanced":
            self = try read { (m) throws(JSONDefect) in
                .rotationAdvanced(
                    try m.required("rotation").string(), try m.required("phase").oneOf(Rotation.Phase.self))
            }
        case "RotationAborted":
            self = try read { (m) throws(JSONDefect) in .rotationAborted(try m.required("rotation").string()) }
        default: return nil
        }
    }
}

extension FleetEvent {
    fileprivate var encoded: (type: String, data: JSON) {
        switch self {
        case .killSwitchEngaged(let expiresAt):
            ("FleetKillSwitchEngaged", ["expires_at": .string(expiresAt.rfc3339)])
        case .killSwitchReleased: ("FleetKillSwitchReleased", [:])
        case .issuerSet(let issuer): ("IssuerSet", ["issuer": .string(issuer)])
        case .guardRailSet(let rail, let isLowered):
            ("FleetGuardRailSet", ["code": .string(rail.code), "lowered": .bool(isLowered)])
        case .railsOverridden(let findings):
            ("FleetGuardRailsOverridden", ["findings": .array(findings.map(\.json))])
        }
    }

    fileprivate init?(type: String, _ field: JSONField) throws(JSONDefect) {
        switch type {
        case "FleetKillSwitchEngaged":
            self = try field.object { (m) throws(JSONDefect) in
                .killSwitchEngaged(expiresAt: try m.required("expires_at").timestamp())
            }
        case "FleetKillSwitchReleased": self = try field.object { (_) throws(JSONDefect) in .killSwitchReleased }
        case "IssuerSet":
            self = try field.object { (m) throws(JSONDefect) in .issuerSet(try m.required("issuer").string()) }
        case "FleetGuardRailSet":
            self = try field.object { (m) throws(JSONDefect) in
                .guardRailSet(
                    try m.required("code").oneOf(GuardRail.self), isLowered: try m.required("lowered").bool())
            }
        case "FleetGuardRailsOverridden":
            self = try field.object { (m) throws(JSONDefect) in .railsOverridden(try OverriddenFinding.list(&m)) }
        default: return nil
        }
    }
}

extension KeyEvent {
    fileprivate var encoded: (type: String, data: JSON) {
        switch self {
        case .signingKeyCreated(let kid, let publicKey):
            (
                "SigningKeyCreated",
                ["kid": .string(kid), "alg": "EdDSA", "public_key": .string(Base64URL.encode(publicKey))]
            )
        case .signingKeyActivated(let kid): ("SigningKeyActivated", ["kid": .string(kid)])
        case .signingKeyRetired(let kid): ("SigningKeyRetired", ["kid": .string(kid)])
        case .railsOverridden(let findings):
            ("SigningKeyRailsOverridden", ["findings": .array(findings.map(\.json))])
        }
    }

    fileprivate init?(type: String, _ field: JSONField) throws(JSONDefect) {
        switch type {
        case "SigningKeyCreated":
            self = try field.object { (m) throws(JSONDefect) in
                let algorithm = try m.required("alg")
                guard try algorithm.string() == "EdDSA" else { throw algorithm.defect("must be EdDSA") }
                let text = try m.required("public_key")
                guard let publicKey = Base64URL.decode(try text.string()), publicKey.count == 32 else {
                    throw text.defect("must be 32 bytes of base64url")
                }
                return .signingKeyCreated(kid: try m.required("kid").string(), publicKey: publicKey)
            }
        case "SigningKeyActivated":
            self = try field.object { (m) throws(JSONDefect) in
                .signingKeyActivated(kid: try m.required("kid").string())
            }
        case "SigningKeyRetired":
            self = try field.object { (m) throws(JSONDefect) in .signingKeyRetired(kid: try m.required("kid").string())
            }
        case "SigningKeyRailsOverridden":
            self = try field.object { (m) throws(JSONDefect) in .railsOverridden(try OverriddenFinding.list(&m)) }
        default: return nil
        }
    }
}

extension AccessEvent {
    fileprivate var encoded: (type: String, data: JSON) {
        switch self {
        case .tokenIssued(let id, let name, let digest, let expiresAt):
            (
                "TokenIssued",
                [
                    "token_id": .string(id), "name": .string(name), "sha256": .string(Hex.encode(digest)),
                    "expires_at": .string(expiresAt.rfc3339),
                ]
            )
        case .tokenRevoked(let id): ("TokenRevoked", ["token_id": .string(id)])
        }
    }

    fileprivate init?(type: String, _ field: JSONField) throws(JSONDefect) {
        switch type {
        case "TokenIssued":
            self = try field.object { (m) throws(JSONDefect) in
                let digestField = try m.required("sha256")
                guard let digest = Hex.decode(try digestField.string()), digest.count == 32 else {
                    throw digestField.defect("must be 64 hexadecimal digits")
                }
                return .tokenIssued(
                    id: try m.required("token_id").string(), name: try m.required("name").string(), digest: digest,
                    expiresAt: try m.required("expires_at").timestamp()
                )
            }
        case "TokenRevoked":
            self = try field.object { (m) throws(JSONDefect) in .tokenRevoked(id: try m.required("token_id").string()) }
        default: return nil
        }
    }
}

extension Optional<JSONField> {
    /// `Optional.map` that keeps the typed error.
    package func mapped<T>(_ read: (JSONField) throws(JSONDefect) -> T) throws(JSONDefect) -> T? {
        guard let self else { return nil }
        return try read(self)
    }
}
