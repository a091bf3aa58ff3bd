package import PinWire

extension Event {
    /// The version of the event's `data` that this program writes. All types are still in their first.
    package var schema: Int { 1 }

    /// The names of all events that this program knows.
    package static let types = [
        "AppCreated", "AppRenamed", "AppRolloutSet", "CandidateDropped", "CandidatePromoted", "CandidateStarted",
        "ClientKeySet", "ClientRemoved", "ClientSet", "EndpointsSet", "FallbackSet", "FleetGuardRailSet",
        "FleetGuardRailsOverridden", "FleetKillSwitchEngaged", "FleetKillSwitchReleased", "GuardRailSet",
        "GuardRailsOverridden", "HostAdded", "HostRemoved", "HostRolloutSet", "HostSubdomainsSet", "IssuerSet",
        "KeyDescribed", "KillSwitchEngaged", "KillSwitchReleased", "ModeSet", "MonitoringSet", "PinActivated",
        "PinRetired", "PinRevoked", "PinRoleSet", "PinStaged", "PinsValidUntilSet", "RolloutBakeStarted",
        "RolloutPaused", "RolloutPlanCleared", "RolloutPlanFinished", "RolloutPlanSet", "RolloutResumed",
        "RolloutRolledBack", "RolloutSampleReached", "RolloutStepApproved", "RolloutStepExtended", "RolloutStepTaken",
        "RotationAborted", "RotationAdvanced", "RotationStarted", "SigningKeyActivated", "SigningKeyCreated",
        "SigningKeyRailsOverridden", "SigningKeyRetired", "TelemetryKeyAdded", "TelemetryKeyRetired",
        "TelemetryReacted", "TokenIssued", "TokenRevoked", "VersionGateSet", "WarningCleared", "WarningRaised",
        "WebhookChanged", "WebhookCreated", "WebhookPaused", "WebhookRemoved", "WebhookResumed",
        "WebhookSecretRotated",
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

    /// The event's data, without its name.
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

    /// Reads an event back from the ledger: the one place where old schema versions would be converted.
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
