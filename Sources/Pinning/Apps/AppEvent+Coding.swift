import PinWire

extension AppEvent {
    var data: JSON {
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
        case .versionKillSwitchEngaged(let versions, let expiresAt):
            return ["versions": versions.json, "expires_at": .string(expiresAt.rfc3339)]
        case .versionKillSwitchReleased(let versions): return ["versions": versions.json]
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
        case .rolloutPlanSet(let pattern, let terms):
            return .members(["host": pattern.map { .string($0.text) }, "plan": terms.json])
        case .rolloutPlanCleared(let pattern), .rolloutBakeStarted(let pattern), .rolloutPlanFinished(let pattern),
            .rolloutResumed(let pattern):
            return .members(["host": pattern.map { .string($0.text) }])
        case .rolloutStepTaken(let pattern, let step, let basisPoints):
            let data: JSON = .members([
                "host": pattern.map { .string($0.text) }, "step": .integer(Int64(step)),
                "basis_points": .integer(Int64(basisPoints)),
            ])
            return data
        case .rolloutStepApproved(let pattern, let step), .rolloutStepExtended(let pattern, let step):
            return .members(["host": pattern.map { .string($0.text) }, "step": .integer(Int64(step))])
        case .rolloutSampleReached(let pattern, let step, let installs):
            return .members([
                "host": pattern.map { .string($0.text) }, "step": .integer(Int64(step)),
                "installs": .integer(Int64(installs)),
            ])
        case .telemetryReacted(let reacted): return reacted.json
        case .clientSet(let kind, let settings):
            return ["client": .string(kind.rawValue), "settings": settings.json(of: kind)]
        case .clientRemoved(let kind): return ["client": .string(kind.rawValue)]
        case .clientKeySet(let kind, let key):
            return .object(key.members.merging(["client": .string(kind.rawValue)]) { $1 })
        case .rolloutPaused(let pattern, let cause, let detail),
            .rolloutRolledBack(let pattern, let cause, let detail):
            let data: JSON = .members([
                "host": pattern.map { .string($0.text) }, "cause": .string(cause.rawValue),
                "detail": detail.map { .string($0) },
            ])
            return data
        }
    }

    init?(type: String, _ field: JSONField) throws(JSONDefect) {
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
        func versions(_ members: inout JSONMembers) throws(JSONDefect) -> VersionRange? {
            try members.optional("versions").mapped(VersionRange.init)
        }
        func seat(_ members: inout JSONMembers) throws(JSONDefect) -> HostPattern? {
            try members.optional("host")?.parse(HostPattern.init)
        }
        func step(_ members: inout JSONMembers) throws(JSONDefect) -> Int {
            Int(try members.required("step").integer(1...Int64(RolloutPlan.stepLimit)))
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
                let expiresAt = try m.required("expires_at").timestamp()
                if let versions = try versions(&m) { return .versionKillSwitchEngaged(versions, expiresAt: expiresAt) }
                return .killSwitchEngaged(try m.optional("host")?.parse(HostPattern.init), expiresAt: expiresAt)
            }
        case "KillSwitchReleased":
            self = try read { (m) throws(JSONDefect) in
                if let versions = try versions(&m) { return .versionKillSwitchReleased(versions) }
                return .killSwitchReleased(try m.optional("host")?.parse(HostPattern.init))
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
        case "RolloutPlanSet":
            self = try read { (m) throws(JSONDefect) in
                .rolloutPlanSet(try seat(&m), try RolloutPlan.Terms(try m.required("plan")))
            }
        case "RolloutPlanCleared": self = try read { (m) throws(JSONDefect) in .rolloutPlanCleared(try seat(&m)) }
        case "RolloutStepTaken":
            self = try read { (m) throws(JSONDefect) in
                .rolloutStepTaken(
                    try seat(&m), step: try step(&m),
                    basisPoints: Int(try m.required("basis_points").integer(0...10_000)))
            }
        case "RolloutStepApproved":
            self = try read { (m) throws(JSONDefect) in .rolloutStepApproved(try seat(&m), step: try step(&m)) }
        case "RolloutSampleReached":
            self = try read { (m) throws(JSONDefect) in
                .rolloutSampleReached(
                    try seat(&m), step: try step(&m),
                    installs: Int(try m.required("installs").integer(1...JSON.largestInteger)))
            }
        case "RolloutStepExtended":
            self = try read { (m) throws(JSONDefect) in .rolloutStepExtended(try seat(&m), step: try step(&m)) }
        case "RolloutBakeStarted": self = try read { (m) throws(JSONDefect) in .rolloutBakeStarted(try seat(&m)) }
        case "RolloutPlanFinished": self = try read { (m) throws(JSONDefect) in .rolloutPlanFinished(try seat(&m)) }
        case "RolloutPaused":
            self = try read { (m) throws(JSONDefect) in
                .rolloutPaused(
                    try seat(&m), try m.required("cause").oneOf(RolloutPlan.Cause.self),
                    detail: try m.optional("detail")?.string())
            }
        case "TelemetryReacted": self = .telemetryReacted(try Reacted(field))
        case "RolloutResumed": self = try read { (m) throws(JSONDefect) in .rolloutResumed(try seat(&m)) }
        case "RolloutRolledBack":
            self = try read { (m) throws(JSONDefect) in
                .rolloutRolledBack(
                    try seat(&m), try m.required("cause").oneOf(RolloutPlan.Cause.self),
                    detail: try m.optional("detail")?.string())
            }
        case "ClientSet":
            self = try read { (m) throws(JSONDefect) in
                let kind = try m.required("client").oneOf(ClientKind.self)
                return .clientSet(kind, try ClientSettings(try m.required("settings"), of: kind))
            }
        case "ClientRemoved":
            self = try read { (m) throws(JSONDefect) in
                .clientRemoved(try m.required("client").oneOf(ClientKind.self))
            }
        case "ClientKeySet":
            self = try read { (m) throws(JSONDefect) in
                .clientKeySet(try m.required("client").oneOf(ClientKind.self), try ClientKey(&m))
            }
        default: return nil
        }
    }
}
