import PinWire

// The form of an app's commands in proposed changes, as in `Command+Coding.swift`.

extension AppCommand {
    /// The command's name, and its members.
    var members: [String: JSON] {
        var members = self.terms.compactMapValues { $0 }
        members["command"] = .string(self.name)
        return members
    }

    private var name: String {
        switch self {
        case .create: "create"
        case .rename: "rename"
        case .setVersionGate: "set_version_gate"
        case .setRollout, .setHostRollout: "set_rollout"
        case .setFallback: "set_fallback"
        case .setMonitoring: "set_monitoring"
        case .setPinsValidUntil: "set_pins_valid_until"
        case .archive: "archive"
        case .unarchive: "unarchive"
        case .addHost: "add_host"
        case .setSubdomains: "set_subdomains"
        case .removeHost: "remove_host"
        case .setMode: "set_mode"
        case .startCandidate: "start_candidate"
        case .promoteCandidate: "promote_candidate"
        case .dropCandidate: "drop_candidate"
        case .rollout(_, let command): "rollout_\(command.name)"
        case .addPin: "add_pin"
        case .activatePin: "activate_pin"
        case .setPinRole: "set_pin_role"
        case .retirePin: "retire_pin"
        case .revokePin: "revoke_pin"
        case .engageKillSwitch, .engageVersionKillSwitch: "engage_kill_switch"
        case .releaseKillSwitch, .releaseVersionKillSwitch: "release_kill_switch"
        case .setEndpoints: "set_endpoints"
        case .describeKeys: "describe_keys"
        case .setGuardRail: "set_guard_rail"
        case .startRotation: "start_rotation"
        case .advanceRotation: "advance_rotation"
        case .abortRotation: "abort_rotation"
        case .setClient: "set_client"
        case .removeClient: "remove_client"
        case .noteBuiltIn: "note_built_in"
        case .setClientKey, .react, .revert: ""
        }
    }

    private var terms: [String: JSON?] {
        func host(_ host: HostPattern?) -> JSON? { host.map { .string($0.text) } }
        func place(_ pattern: HostPattern, _ slot: PolicySlot, _ pin: Pin) -> [String: JSON?] {
            ["host": host(pattern), "policy": .string(slot.rawValue), "pin": .string(pin.description)]
        }
        switch self {
        case .create(let name), .rename(let name): return ["display_name": .string(name)]
        case .setVersionGate(let gate): return ["version_gate": gate?.json]
        case .setRollout(let rollout): return ["rollout": rollout?.json]
        case .setHostRollout(let pattern, let rollout): return ["host": host(pattern), "rollout": rollout?.json]
        case .setFallback(let fallback): return ["fallback": fallback.json]
        case .setMonitoring(let monitoring): return ["monitoring": monitoring.json]
        case .setPinsValidUntil(let time): return ["pins_valid_until": time.map { .string($0.rfc3339) }]
        case .archive, .unarchive: return [:]
        case .addHost(let pattern, let subdomains, let mode, let pins):
            return [
                "host": host(pattern), "include_subdomains": .bool(subdomains),
                "mode": mode.map { .string($0.rawValue) }, "pins": .array(pins.map(\.json)),
            ]
        case .setSubdomains(let pattern, let subdomains):
            return ["host": host(pattern), "include_subdomains": .bool(subdomains)]
        case .removeHost(let pattern), .promoteCandidate(let pattern), .dropCandidate(let pattern):
            return ["host": host(pattern)]
        case .setMode(let pattern, let slot, let mode):
            return ["host": host(pattern), "policy": .string(slot.rawValue), "mode": .string(mode.rawValue)]
        case .startCandidate(let pattern, let mode, let copies, let pins):
            return [
                "host": host(pattern), "mode": .string(mode.rawValue), "copies_baseline": copies.map { .bool($0) },
                "pins": .array(pins.map(\.json)),
            ]
        case .rollout(let pattern, let command):
            var terms = command.terms
            terms["host"] = host(pattern)
            return terms
        case .addPin(let pattern, let slot, let pin):
            return ["host": host(pattern), "policy": .string(slot.rawValue), "pin": pin.json]
        case .activatePin(let pattern, let slot, let pin), .retirePin(let pattern, let slot, let pin),
            .revokePin(let pattern, let slot, let pin):
            return place(pattern, slot, pin)
        case .setPinRole(let pattern, let slot, let pin, let role):
            var terms = place(pattern, slot, pin)
            terms["role"] = .string(role.rawValue)
            return terms
        case .engageKillSwitch(let pattern, let end):
            return ["host": host(pattern), "expires_at": .string(end.rfc3339)]
        case .engageVersionKillSwitch(let versions, let end):
            return ["versions": versions.json, "expires_at": .string(end.rfc3339)]
        case .releaseKillSwitch(let pattern): return ["host": host(pattern)]
        case .releaseVersionKillSwitch(let versions): return ["versions": versions.json]
        case .setEndpoints(let pattern, let endpoints):
            return [
                "host": host(pattern),
                "endpoints": endpoints.map { .array($0.map { .string($0.description) }) },
            ]
        case .describeKeys(let keys): return ["keys": .array(keys.map { .object($0.members) })]
        case .setGuardRail(let rail, let isLowered):
            return ["code": .string(rail.rawValue), "lowered": .bool(isLowered)]
        case .startRotation(let rotation): return ["rotation": rotation.json]
        case .advanceRotation(let id, let phase):
            return ["rotation": .string(id), "from": phase.map { .string($0.rawValue) }]
        case .abortRotation(let id, let keepsNext): return ["rotation": .string(id), "keeps_next": .bool(keepsNext)]
        case .setClient(let kind, let settings):
            return ["client": .string(kind.rawValue), "settings": settings.json(of: kind)]
        case .removeClient(let kind): return ["client": .string(kind.rawValue)]
        case .noteBuiltIn(let kind, let hosts, let origin):
            return [
                "client": .string(kind.rawValue), "origin": .string(origin.rawValue),
                "hosts": .array(hosts.map(\.json)),
            ]
        case .setClientKey, .react, .revert: return [:]
        }
    }

    /// Reads ``members``.
    init(_ m: inout JSONMembers) throws(JSONDefect) {
        let name = try m.required("command")
        switch try name.string() {
        case "create": self = .create(displayName: try m.required("display_name").string())
        case "rename": self = .rename(try m.required("display_name").string())
        case "set_version_gate": self = .setVersionGate(try m.optional("version_gate").mapped(VersionGate.init(_:)))
        case "set_rollout":
            let rollout = try m.optional("rollout").mapped(Rollout.init(_:))
            self = try m.anyHost().map { .setHostRollout($0, rollout) } ?? .setRollout(rollout)
        case "set_fallback": self = .setFallback(try Fallback(try m.required("fallback")))
        case "set_monitoring": self = .setMonitoring(try Monitoring(try m.required("monitoring")))
        case "set_pins_valid_until": self = .setPinsValidUntil(try m.optional("pins_valid_until")?.timestamp())
        case "archive": self = .archive
        case "unarchive": self = .unarchive
        case "add_host":
            self = .addHost(
                try m.host(), includesSubdomains: try m.required("include_subdomains").bool(),
                mode: try m.optional("mode")?.oneOf(PinMode.self), pins: try m.newPins())
        case "set_subdomains":
            self = .setSubdomains(
                try m.host(), includesSubdomains: try m.required("include_subdomains").bool())
        case "remove_host": self = .removeHost(try m.host())
        case "set_mode":
            self = .setMode(try m.host(), try m.slot(), try m.required("mode").oneOf(PinMode.self))
        case "start_candidate":
            self = .startCandidate(
                try m.host(), mode: try m.required("mode").oneOf(PinMode.self),
                copiesBaseline: try m.optional("copies_baseline")?.bool(), pins: try m.newPins())
        case "promote_candidate": self = .promoteCandidate(try m.host())
        case "drop_candidate": self = .dropCandidate(try m.host())
        case "add_pin": self = .addPin(try m.host(), try m.slot(), try NewPin(try m.required("pin")))
        case "activate_pin": self = .activatePin(try m.host(), try m.slot(), try m.pin())
        case "retire_pin": self = .retirePin(try m.host(), try m.slot(), try m.pin())
        case "revoke_pin": self = .revokePin(try m.host(), try m.slot(), try m.pin())
        case "set_pin_role":
            self = .setPinRole(
                try m.host(), try m.slot(), try m.pin(), try m.required("role").oneOf(PinRole.self))
        case "engage_kill_switch":
            let end = try m.required("expires_at").timestamp()
            if let versions = try m.versions() {
                self = .engageVersionKillSwitch(versions, expiresAt: end)
            } else {
                self = .engageKillSwitch(try m.anyHost(), expiresAt: end)
            }
        case "release_kill_switch":
            if let versions = try m.versions() {
                self = .releaseVersionKillSwitch(versions)
            } else {
                self = .releaseKillSwitch(try m.anyHost())
            }
        case "set_endpoints":
            let endpoints = try m.optional("endpoints").mapped { (field) throws(JSONDefect) in
                var endpoints: [Endpoint] = []
                for field in try field.elements(atMost: Host.endpointLimit) {
                    endpoints.append(try field.parse(Endpoint.init(_:)))
                }
                return endpoints
            }
            self = .setEndpoints(try m.host(), endpoints)
        case "describe_keys":
            var keys: [KeyEvidence] = []
            for field in try m.required("keys").elements(atMost: .max) {
                keys.append(try field.object { (m) throws(JSONDefect) in try KeyEvidence(&m) })
            }
            self = .describeKeys(keys)
        case "set_guard_rail":
            self = .setGuardRail(
                try m.required("code").oneOf(GuardRail.self), isLowered: try m.required("lowered").bool())
        case "start_rotation": self = .startRotation(try NewRotation(try m.required("rotation")))
        case "advance_rotation":
            self = .advanceRotation(
                try m.required("rotation").string(), from: try m.optional("from")?.oneOf(Rotation.Phase.self))
        case "abort_rotation":
            self = .abortRotation(
                try m.required("rotation").string(), keepsNext: try m.required("keeps_next").bool())
        case "set_client":
            let kind = try m.required("client").oneOf(ClientKind.self)
            self = .setClient(kind, try ClientSettings(try m.required("settings"), of: kind))
        case "remove_client": self = .removeClient(try m.required("client").oneOf(ClientKind.self))
        case "note_built_in":
            var hosts: [BuiltInHost] = []
            for host in try m.required("hosts").elements(atMost: App.hostLimit) { hosts.append(try BuiltInHost(host)) }
            self = .noteBuiltIn(
                try m.required("client").oneOf(ClientKind.self), hosts,
                try m.required("origin").oneOf(BuiltInPins.Origin.self))
        default:
            guard let command = try RolloutCommand(try name.string(), &m) else {
                throw name.defect("is not a command for an app")
            }
            self = .rollout(try m.anyHost(), command)
        }
    }
}

extension AppCommand.NewPin {
    fileprivate var json: JSON {
        .members([
            "pin": .string(self.pin.description), "role": .string(self.role.rawValue),
            "active": .bool(self.isActive), "note": self.note.map { .string($0) },
            "evidence": self.evidence.map { .object($0.members) },
        ])
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            AppCommand.NewPin(
                pin: try m.pin(), role: try m.required("role").oneOf(PinRole.self),
                isActive: try m.required("active").bool(), note: try m.optional("note")?.string(),
                evidence: try m.optional("evidence").mapped { (field) throws(JSONDefect) in
                    try field.object { (m) throws(JSONDefect) in try KeyEvidence(&m) }
                })
        }
    }
}

extension AppCommand.NewRotation {
    fileprivate var json: JSON {
        .members([
            "id": .string(self.id), "kind": .string(self.kind.rawValue),
            "hosts": .array(self.hosts.map { .string($0.text) }), "next": self.next.json,
            "compromised": self.compromised.map { .string($0.description) }, "goals": self.goals.json,
        ])
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var hosts: [HostPattern] = []
            for host in try m.required("hosts").elements(atMost: Rotation.hostLimit) {
                hosts.append(try host.parse(HostPattern.init(_:)))
            }
            return AppCommand.NewRotation(
                id: try m.required("id").string(), kind: try m.required("kind").oneOf(Rotation.Kind.self),
                hosts: hosts, next: try AppCommand.NewPin(try m.required("next")),
                compromised: try m.optional("compromised")?.parse(Pin.init(text:)),
                goals: try Rotation.Goals(try m.required("goals"), defaults: Rotation.Goals()))
        }
    }
}

extension RolloutCommand {
    fileprivate var name: String {
        switch self {
        case .setPlan: "set_plan"
        case .clearPlan: "clear_plan"
        case .pause: "pause"
        case .resume: "resume"
        case .advance: "advance"
        case .jump: "jump"
        case .rollBack: "roll_back"
        case .drive: ""
        }
    }

    fileprivate var terms: [String: JSON?] {
        switch self {
        case .setPlan(let terms): ["plan": terms.json]
        case .pause(let cause, let detail), .rollBack(let cause, let detail):
            ["cause": .string(cause.rawValue), "detail": detail.map { .string($0) }]
        case .advance(let step): ["step": step.map { .integer(Int64($0)) }]
        case .jump(let step): ["step": .integer(Int64(step))]
        case .clearPlan, .resume, .drive: [:]
        }
    }

    /// Nil for a name that is no command of a rollout.
    fileprivate init?(_ name: String, _ m: inout JSONMembers) throws(JSONDefect) {
        let steps = 1...Int64(RolloutPlan.stepLimit)
        switch name {
        case "rollout_set_plan": self = .setPlan(try RolloutPlan.Terms(try m.required("plan")))
        case "rollout_clear_plan": self = .clearPlan
        case "rollout_pause":
            self = .pause(
                try m.required("cause").oneOf(RolloutPlan.Cause.self), detail: try m.optional("detail")?.string())
        case "rollout_resume": self = .resume
        case "rollout_advance":
            self = .advance(step: try m.optional("step").mapped { (f) throws(JSONDefect) in Int(try f.integer(steps)) })
        case "rollout_jump": self = .jump(step: Int(try m.required("step").integer(steps)))
        case "rollout_roll_back":
            self = .rollBack(
                try m.required("cause").oneOf(RolloutPlan.Cause.self), detail: try m.optional("detail")?.string())
        default: return nil
        }
    }
}

extension JSONMembers {
    fileprivate mutating func host() throws(JSONDefect) -> HostPattern {
        try self.required("host").parse(HostPattern.init(_:))
    }

    fileprivate mutating func anyHost() throws(JSONDefect) -> HostPattern? {
        try self.optional("host")?.parse(HostPattern.init(_:))
    }

    fileprivate mutating func slot() throws(JSONDefect) -> PolicySlot {
        try self.required("policy").oneOf(PolicySlot.self)
    }

    fileprivate mutating func pin() throws(JSONDefect) -> Pin { try self.required("pin").parse(Pin.init(text:)) }

    fileprivate mutating func versions() throws(JSONDefect) -> VersionRange? {
        try self.optional("versions").mapped(VersionRange.init(_:))
    }

    fileprivate mutating func newPins() throws(JSONDefect) -> [AppCommand.NewPin] {
        var pins: [AppCommand.NewPin] = []
        for field in try self.required("pins").elements(atMost: .max) { pins.append(try AppCommand.NewPin(field)) }
        return pins
    }
}
