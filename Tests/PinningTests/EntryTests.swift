import PinWire
import Pinning
import Testing

@Suite struct `An entry` {
    /// Every type ever recorded. Types are only added.
    private enum TypeName: String, CaseIterable {
        case appCreated = "AppCreated"
        case appRenamed = "AppRenamed"
        case versionGateSet = "VersionGateSet"
        case appRolloutSet = "AppRolloutSet"
        case fallbackSet = "FallbackSet"
        case monitoringSet = "MonitoringSet"
        case pinsValidUntilSet = "PinsValidUntilSet"
        case hostAdded = "HostAdded"
        case hostSubdomainsSet = "HostSubdomainsSet"
        case hostRemoved = "HostRemoved"
        case modeSet = "ModeSet"
        case candidateStarted = "CandidateStarted"
        case candidatePromoted = "CandidatePromoted"
        case candidateDropped = "CandidateDropped"
        case hostRolloutSet = "HostRolloutSet"
        case pinStaged = "PinStaged"
        case pinActivated = "PinActivated"
        case pinRoleSet = "PinRoleSet"
        case pinRetired = "PinRetired"
        case pinRevoked = "PinRevoked"
        case killSwitchEngaged = "KillSwitchEngaged"
        case killSwitchReleased = "KillSwitchReleased"
        case fleetKillSwitchEngaged = "FleetKillSwitchEngaged"
        case fleetKillSwitchReleased = "FleetKillSwitchReleased"
        case issuerSet = "IssuerSet"
        case signingKeyCreated = "SigningKeyCreated"
        case signingKeyActivated = "SigningKeyActivated"
        case signingKeyRetired = "SigningKeyRetired"
        case tokenIssued = "TokenIssued"
        case tokenRevoked = "TokenRevoked"
        case endpointsSet = "EndpointsSet"
        case keyDescribed = "KeyDescribed"
        case guardRailSet = "GuardRailSet"
        case guardRailsOverridden = "GuardRailsOverridden"
        case rotationStarted = "RotationStarted"
        case rotationAdvanced = "RotationAdvanced"
        case rotationAborted = "RotationAborted"
        case fleetGuardRailSet = "FleetGuardRailSet"
        case fleetGuardRailsOverridden = "FleetGuardRailsOverridden"
        case signingKeyRailsOverridden = "SigningKeyRailsOverridden"
        case warningRaised = "WarningRaised"
        case warningCleared = "WarningCleared"
        case telemetryKeyAdded = "TelemetryKeyAdded"
        case telemetryKeyRetired = "TelemetryKeyRetired"
        case telemetryReacted = "TelemetryReacted"
        case clientSet = "ClientSet"
        case clientRemoved = "ClientRemoved"
        case clientKeySet = "ClientKeySet"
        case rolloutPlanSet = "RolloutPlanSet"
        case rolloutPlanCleared = "RolloutPlanCleared"
        case rolloutStepTaken = "RolloutStepTaken"
        case rolloutStepApproved = "RolloutStepApproved"
        case rolloutStepExtended = "RolloutStepExtended"
        case rolloutSampleReached = "RolloutSampleReached"
        case rolloutBakeStarted = "RolloutBakeStarted"
        case rolloutPlanFinished = "RolloutPlanFinished"
        case rolloutPaused = "RolloutPaused"
        case rolloutResumed = "RolloutResumed"
        case rolloutRolledBack = "RolloutRolledBack"
        case webhookCreated = "WebhookCreated"
        case webhookChanged = "WebhookChanged"
        case webhookPaused = "WebhookPaused"
        case webhookResumed = "WebhookResumed"
        case webhookSecretRotated = "WebhookSecretRotated"
        case webhookRemoved = "WebhookRemoved"
    }

    /// The compiler asks for a new case here, and the tests below for its golden line.
    private func typeName(_ event: Event) -> TypeName {
        switch event {
        case .app(let event):
            switch event {
            case .appCreated: .appCreated
            case .appRenamed: .appRenamed
            case .versionGateSet: .versionGateSet
            case .appRolloutSet: .appRolloutSet
            case .fallbackSet: .fallbackSet
            case .monitoringSet: .monitoringSet
            case .pinsValidUntilSet: .pinsValidUntilSet
            case .hostAdded: .hostAdded
            case .hostSubdomainsSet: .hostSubdomainsSet
            case .hostRemoved: .hostRemoved
            case .modeSet: .modeSet
            case .candidateStarted: .candidateStarted
            case .candidatePromoted: .candidatePromoted
            case .candidateDropped: .candidateDropped
            case .hostRolloutSet: .hostRolloutSet
            case .pinStaged: .pinStaged
            case .pinActivated: .pinActivated
            case .pinRoleSet: .pinRoleSet
            case .pinRetired: .pinRetired
            case .pinRevoked: .pinRevoked
            case .killSwitchEngaged, .versionKillSwitchEngaged: .killSwitchEngaged
            case .killSwitchReleased, .versionKillSwitchReleased: .killSwitchReleased
            case .endpointsSet: .endpointsSet
            case .keyDescribed: .keyDescribed
            case .guardRailSet: .guardRailSet
            case .guardRailsOverridden: .guardRailsOverridden
            case .rotationStarted: .rotationStarted
            case .rotationAdvanced: .rotationAdvanced
            case .rotationAborted: .rotationAborted
            case .rolloutPlanSet: .rolloutPlanSet
            case .rolloutPlanCleared: .rolloutPlanCleared
            case .rolloutStepTaken: .rolloutStepTaken
            case .rolloutStepApproved: .rolloutStepApproved
            case .rolloutStepExtended: .rolloutStepExtended
            case .rolloutSampleReached: .rolloutSampleReached
            case .rolloutBakeStarted: .rolloutBakeStarted
            case .rolloutPlanFinished: .rolloutPlanFinished
            case .rolloutPaused: .rolloutPaused
            case .rolloutResumed: .rolloutResumed
            case .rolloutRolledBack: .rolloutRolledBack
            case .telemetryReacted: .telemetryReacted
            case .clientSet: .clientSet
            case .clientRemoved: .clientRemoved
            case .clientKeySet: .clientKeySet
            }
        case .fleet(.killSwitchEngaged): .fleetKillSwitchEngaged
        case .fleet(.killSwitchReleased): .fleetKillSwitchReleased
        case .fleet(.issuerSet): .issuerSet
        case .fleet(.guardRailSet): .fleetGuardRailSet
        case .keys(.signingKeyCreated): .signingKeyCreated
        case .keys(.signingKeyActivated): .signingKeyActivated
        case .keys(.signingKeyRetired): .signingKeyRetired
        case .fleet(.railsOverridden): .fleetGuardRailsOverridden
        case .keys(.railsOverridden): .signingKeyRailsOverridden
        case .access(.tokenIssued): .tokenIssued
        case .access(.tokenRevoked): .tokenRevoked
        case .watch(.warningRaised): .warningRaised
        case .watch(.warningCleared): .warningCleared
        case .watch(.telemetryKeyAdded): .telemetryKeyAdded
        case .watch(.telemetryKeyRetired): .telemetryKeyRetired
        case .webhooks(.created): .webhookCreated
        case .webhooks(.changed): .webhookChanged
        case .webhooks(.paused): .webhookPaused
        case .webhooks(.resumed): .webhookResumed
        case .webhooks(.secretRotated): .webhookSecretRotated
        case .webhooks(.removed): .webhookRemoved
        }
    }

    @Test func `an entry of every type has a golden line`() throws {
        let types = try GoldenEvents.lines.map { try Entry(bytes: $0).event.type }
        #expect(Set(types) == Set(TypeName.allCases.map(\.rawValue)))
        for type in TypeName.allCases { #expect(examples[type.rawValue].map { self.typeName($0.event) } == type) }
        for (name, entry) in examples {
            #expect(self.typeName(entry.event).rawValue == entry.event.type)
            #expect(name.split(separator: ".").first.map(String.init) == entry.event.type)
        }
    }

    @Test func `an entry of every type can be asked for by its type, and of no other`() {
        #expect(Event.types == TypeName.allCases.map(\.rawValue).sorted())
    }

    @Test(arguments: GoldenEvents.lines)
    func `an entry of a golden line is written as it was read`(line: [UInt8]) throws {
        let text = GoldenEvents.text(line)
        #expect(try GoldenEvents.text(Entry(canonical: line).bytes) == text)
        #expect(try JSON(parsing: line).canonicalText == text)
    }

    @Test(arguments: examples.keys.sorted())
    func `an entry in its golden line reads back`(name: String) throws {
        let entry = try #require(examples[name])
        let line = try #require(GoldenEvents.lines.first { $0 == entry.bytes }, "\(name): \(entry.bytes)")
        #expect(try Entry(bytes: line) == entry)
    }

    /// An example's members with one of them changed.
    private func changed(_ name: String, _ change: (inout [String: JSON]) -> Void) throws -> [UInt8] {
        let entry = try #require(examples[name])
        var members = try #require(try JSON(parsing: entry.bytes).objectValue)
        change(&members)
        return JSON.object(members).canonicalBytes
    }

    private func defect(_ bytes: [UInt8]) -> String? {
        do {
            _ = try Entry(bytes: bytes)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: examples.keys.sorted())
    func `an entry with an unknown member anywhere is refused with its name`(name: String) throws {
        let outside = try self.changed(name) { $0["extra"] = 1 }
        #expect(self.defect(outside)?.hasPrefix("/extra: is not a member here") == true)
        let inside = try self.changed(name) { members in
            guard case .object(var data)? = members["data"] else { return }
            data["extra"] = 1
            members["data"] = .object(data)
        }
        #expect(self.defect(inside)?.hasPrefix("/data/extra: is not a member here") == true)
        let actor = try self.changed(name) { $0["actor"] = ["kind": "token", "id": "a", "name": "b", "mail": "c"] }
        #expect(self.defect(actor)?.hasPrefix("/actor/mail: is not a member here") == true)
    }

    @Test func `an entry of an unknown type, schema or stream, or of another shape, is refused`() throws {
        let changes: [(defect: String, change: (inout [String: JSON]) -> Void)] = [
            ("/type: is PinLost, which this program does not know", { $0["type"] = "PinLost" }),
            ("/type: is pinActivated, which this program does not know", { $0["type"] = "pinActivated" }),
            ("/schema: is 2, which this program does not know", { $0["schema"] = 2 }),
            ("/schema: must be from 1 to 1000000, and is 0", { $0["schema"] = 0 }),
            ("/stream: names no stream", { $0["stream"] = "app/" }),
            ("/stream: names no stream", { $0["stream"] = "change/1" }),
            ("/position: must be from 0", { $0["position"] = -1 }),
            ("/position: is required", { $0["position"] = nil }),
            ("/stream_version: is required", { $0["stream_version"] = nil }),
            ("/time: must be a time", { $0["time"] = "noon" }),
            ("/data: is required", { $0["data"] = nil }), ("/data: must be an object", { $0["data"] = [] }),
            ("/data/host: is required", { $0["data"] = .object([:]) }), ("/actor: is required", { $0["actor"] = nil }),
            ("/actor/kind: must be one of", { $0["actor"] = ["kind": "ghost", "id": "a", "name": "b"] }),
            ("/forced: must be true or false", { $0["forced"] = 1 }),
            ("/reason: must be a string", { $0["reason"] = 1 }),
            (
                "/data/pin: must be sha256/",
                { $0["data"] = ["host": "a.example", "policy": "baseline", "pin": "sha256/AAAA"] }
            ),
            (
                "/data/policy: must be one of",
                { $0["data"] = ["host": "a.example", "policy": "both", "pin": .string(pin(1).description)] }
            ),
        ]
        for (expected, change) in changes {
            let found = self.defect(try self.changed("PinActivated", change))
            #expect(found?.hasPrefix(expected) == true, "\(expected): \(found ?? "accepted")")
        }
        #expect(self.defect(Array("{}x".utf8))?.contains("there is more after the end") == true)
        #expect(self.defect([]) != nil && self.defect(Array("[]".utf8)) != nil)
        let key = try self.changed("SigningKeyCreated") {
            $0["data"] = ["kid": "k", "alg": "ES256", "public_key": "AA"]
        }
        #expect(self.defect(key)?.hasPrefix("/data/alg: must be EdDSA") == true)
        let short = try self.changed("SigningKeyCreated") {
            $0["data"] = ["kid": "k", "alg": "EdDSA", "public_key": "AA"]
        }
        #expect(self.defect(short)?.hasPrefix("/data/public_key: must be 32 bytes") == true)
        let token = try self.changed("TokenIssued") {
            $0["data"] = ["token_id": "t", "name": "n", "sha256": "AA", "expires_at": "2026-01-31T12:00:00Z"]
        }
        #expect(self.defect(token)?.hasPrefix("/data/sha256: must be 64 hexadecimal digits") == true)
    }

    @Test func `an entry keeps a reason that would not be accepted today`() throws {
        let bytes = try self.changed("PinActivated") { $0["reason"] = "\u{E000}" }
        #expect(try Entry(bytes: bytes).bytes == bytes)
        #expect(throws: Reason.Malformed.self) { try Reason("\u{E000}") }
    }
}
