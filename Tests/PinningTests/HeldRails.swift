import PinWire
import Pinning
import Testing

/// A rail that is not a check of changes: what holds it is shown here.
struct HeldRail: CustomTestStringConvertible, Sendable {
    var rail: GuardRail
    var description: String
    /// Whether it holds.
    var holds: @Sendable () throws -> Bool

    var testDescription: String { "\(self.rail.code) \(self.description)" }

    init(_ rail: GuardRail, _ description: String, _ holds: @escaping @Sendable () throws -> Bool) {
        self.rail = rail
        self.description = description
        self.holds = holds
    }
}

private func refusesPins(_ texts: String...) -> Bool { texts.allSatisfy { (try? Pin(text: $0)) == nil } }
private func refusesHosts(_ texts: String...) -> Bool { texts.allSatisfy { (try? HostPattern($0)) == nil } }

private func refusal(_ body: () throws -> Void) -> Refusal? {
    do { try body() } catch { return error as? Refusal }
    return nil
}

/// The state after a forced change.
private func after(_ command: AppCommand, _ state: LedgerState) throws -> LedgerState {
    var state = state
    let decision = try state.decide(.app(shop, [command]), in: context("why", isForced: true))
    for event in decision.events { _ = state.apply(event, of: .app(shop), at: noon) }
    return state
}

private func members(_ document: Document) throws -> [String: JSON] {
    let payload = document.payload(issuedAt: noon, expiresAt: noon.adding(seconds: day))
    return try JSON(parsing: payload).objectValue ?? [:]
}

/// A ring whose second key was made at noon, and as a state.
private func ring(_ commands: KeyCommand...) throws -> LedgerState {
    var state = LedgerState()
    for command in [.create(kid: "a", publicKey: sha256([1])), .create(kid: "b", publicKey: sha256([2]))] + commands {
        for event in try state.decide(.keys(command), in: context("given", isForced: true)).events {
            _ = state.apply(event, of: .keys, at: noon)
        }
    }
    return state
}

private func overlap(_ command: KeyCommand, _ rail: LedgerState, days: Int64, isForced: Bool = false) throws -> Decision
{
    try rail.decide(.keys(command), in: context("why", isForced: isForced, at: noon.adding(seconds: days * day)))
}

private func codes(_ decision: Decision) -> [String] {
    decision.events.flatMap { event -> [String] in
        if case .keys(.railsOverridden(let findings)) = event { findings.map(\.code) } else { [] }
    }
}

let heldRails: [HeldRail] = [
    HeldRail(.digestOfRightLength, "a pin is 32 bytes in strict base64") {
        let text = pin(1).base64
        return try Pin(text: text) == Pin(text: "sha256/\(text)")
            && refusesPins(
                "", "sha256/AAAA", String(text.dropLast()), " \(text)", "\(text)\n", "sha512/\(text)", "\(text)\(text)")
    },
    HeldRail(.digestOfRightLength, "a key is no digest of one") {
        refusesPins("AAAAB3NzaC1yc2EAAAADAQABAAABAQC7VJTUt9Us8cw=", "-----BEGIN PUBLIC KEY-----")
    },

    HeldRail(.rollbackPossible, "a retired pin comes back, and the version grows all the while") {
        let state = try RailCase(.twoPins, quiet: "", when: .rename("Shop")).state()
        let retired = try after(.retirePin(api, .baseline, pin(3)), state)
        let back = try after(.addPin(api, .baseline, requested(3)), retired)
        guard let first = state.document(of: shop), let second = retired.document(of: shop),
            let third = back.document(of: shop)
        else { return false }
        return first.version < second.version && second.version < third.version && first.hosts != second.hosts
            && first.hosts == third.hosts
    },

    HeldRail(.wildcard, "a wildcard is a whole first label and has a name after it") {
        refusesHosts("*", "*.", "**.example.com", "a*.example.com", "a.*.com", "*.*.example.com")
            && (try? HostPattern("*.example.com")) != nil
    },
    HeldRail(.wildcard, "nobody pins what others register below") {
        func add(_ name: String) -> Refusal? {
            refusal {
                _ = try App.decide(
                    [.addHost(host(name), includesSubdomains: false, mode: .off, pins: [])],
                    try given([.rename("Shop")]), id: shop, in: context("w", isForced: true))
            }
        }
        return add("*.co.uk")?.rail == .wildcard && add("github.io")?.rail == .wildcard && add("a.github.io") == nil
    },

    HeldRail(.hostName, "a host has one spelling") {
        refusesHosts(
            "API.example.com", "api.example.com.", "bücher.example", "127.0.0.1", "[::1]", "api.example.com:443",
            "https://api.example.com", "-a.example", "a_b.example", "xn--a.example", "0x7f.1")
    },

    HeldRail(.signedResponse, "a document says whose it is, which, from when and until when") {
        let state = try RailCase(.twoPins, quiet: "", when: .rename("Shop")).state()
        guard let document = state.document(of: shop) else { return false }
        let stated = try members(document)
        return stated["iss"] == "pinledger" && stated["aud"] == .string(shop.text)
            && stated["version"] == .integer(document.version) && stated["iat"] == .integer(noon.seconds)
            && stated["exp"] == .integer(noon.seconds + day) && stated["content_sha256"]?.stringValue?.count == 64
            && stated["hosts"]?.arrayValue?.count == 1
    },

    HeldRail(.signingKeyOverlap, "a key signs a day after it was announced, unless somebody insists") {
        let rail = try ring()
        let early = refusal { _ = try overlap(.activate(kid: "b"), rail, days: 0) }
        let forced = try overlap(.activate(kid: "b"), rail, days: 0, isForced: true)
        let late = try overlap(.activate(kid: "b"), rail, days: 1, isForced: true)
        return early?.rail == .signingKeyOverlap && codes(forced) == ["G31"]
            && forced.findings.map(\.severity) == [.override]
            && codes(late).isEmpty && late.findings.isEmpty
    },
    HeldRail(.signingKeyOverlap, "a key stays trusted for a week after its last signature, unless somebody insists") {
        let rail = try ring(.activate(kid: "b"))
        let early = refusal { _ = try overlap(.retire(kid: "a"), rail, days: 6) }
        let forced = try overlap(.retire(kid: "a"), rail, days: 6, isForced: true)
        let late = try overlap(.retire(kid: "a"), rail, days: 7)
        return early?.rail == .signingKeyOverlap && codes(forced) == ["G31"] && codes(late).isEmpty
    },
    HeldRail(.signingKeyOverlap, "lowered, it only warns") {
        var rail = try ring()
        rail.fleet.loweredRails = [.signingKeyOverlap]
        let decision = try overlap(.activate(kid: "b"), rail, days: 0)
        return codes(decision).isEmpty && decision.findings.map(\.severity) == [.warn]
            && decision.findings.map(\.rail) == [.signingKeyOverlap]
    },

    HeldRail(.stalePlan, "a plan is of its events and of what they build on") {
        let one: [Event] = [.app(.pinRetired(api, .baseline, pin(1)))]
        let two: [Event] = [.app(.pinRetired(api, .baseline, pin(2)))]
        let plan = Decision.plan(of: one, after: 5)
        return plan == Decision.plan(of: one, after: 5) && plan.count == 32 && plan != Decision.plan(of: two, after: 5)
            && plan != Decision.plan(of: one, after: 6) && plan != Decision.plan(of: one + two, after: 5)
    },

    HeldRail(.reproducibleBuckets, "a rollout says share and salt, and the same state says the same") {
        let start: [AppCommand] = [
            .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: []),
            .setHostRollout(api, Rollout(basisPoints: 2500)),
        ]
        let state = try RailCase(.twoPins, quiet: "", given: sound + start, when: .rename("Shop")).state()
        guard let rollout = state.document(of: shop)?.hosts.first?.rollout else { return false }
        return rollout.basisPoints == 2500 && rollout.salt == "host:api.example.com"
            && rollout == state.document(of: shop)?.hosts.first?.rollout
            && Rollout.hashedID("alice", salt: "a") == Rollout.hashedID("alice", salt: "a")
    },
    HeldRail(.reproducibleBuckets, "a share is a whole number of basis points") {
        let half = try JSON(text: "{\"basis_points\":12.5}")
        return (try? Rollout(JSONField(half))) == nil
    },

    HeldRail(.unknownFields, "an unknown member is refused by name") {
        let typo = try JSON(text: "{\"basis_points\":1,\"basis_poinst\":2}")
        do throws(JSONDefect) { _ = try Rollout(JSONField(typo)) } catch {
            return error.pointer.text == "/basis_poinst"
        }
        return false
    },

    HeldRail(.fingerprintPin, "the fingerprints that tools print are no pins") {
        refusesPins(
            "sha1/qvTGHdzF6KLavt4PO0gs2a6pQ00=", "AA:F4:C6:1D:DC:C5:E8:A2:DA:BE:DE:0F:3B:48:2C:D9:AE:A9:43:4D",
            (1...32).map { _ in "AB" }.joined(separator: ":"))
    },
]

@Suite struct `A guard rail that is held elsewhere` {
    @Test(arguments: heldRails) func `every guard rail that is held elsewhere holds`(line: HeldRail) throws {
        let holds = try line.holds()
        #expect(holds)
    }

    @Test func `every guard rail that is held elsewhere says so`() {
        let held = Set(heldRails.map(\.rail))
        for rail in GuardRail.allCases {
            switch rail.entry.holding {
            case .parsed, .built: #expect(held.contains(rail), "\(rail.code) is shown nowhere")
            case .judged, .needsTelemetry, .needsCheckpoints: break
            }
        }
    }
}
