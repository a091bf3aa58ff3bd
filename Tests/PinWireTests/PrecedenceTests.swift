import PinWire
import SeededRandom
import Testing

/// Every combination of the states that decide, against ``StraightforwardEvaluation``: at full depth at each stage of a
/// document's life, otherwise each at one of them.
@Suite struct `The order of the rules` {
    private static let now: Int64 = 1_800_000_000

    /// Kill switches: none, each scope engaged, each expired, and versions that the device's is not among.
    enum Switches: String, CaseIterable {
        case none, everything, app, host, versions, otherVersions, builds
        case everythingExpired, appExpired, hostExpired, versionsExpired, ahead

        /// Lots to combine it with: all of them unless the switch holds for nobody, which ``none`` and
        /// ``otherVersions`` are seen to be with all.
        var lots: [Lot] {
            switch self {
            case .everythingExpired, .appExpired, .hostExpired, .versionsExpired, .ahead:
                [.none, .all, .nobody, .listed, .countryOut]
            default: Lot.allCases
            }
        }
    }

    enum Validity: CaseIterable { case fresh, stale, expired }

    enum Gate: CaseIterable { case none, inside, outside, excluded, build, builds }

    enum Lot: CaseIterable {
        case none, all, nobody, noSeed, excluded, excludedAndListed, listed, onlyListed, unlisted
        case countryIn, countryOut, countryInNobody
    }

    /// Devices whose facts are known, missing, and no facts at all.
    private static let devices: [(ids: [String: String], version: String?, build: Int64?, country: String?)] = [
        (["device_id": "device-1", "install_id": "install-1"], "1.5.0", 150, "DE"),
        (["device_id": "device-1"], nil, nil, "DE"),
        (["device_id": "Anonymous", "install_id": "6F9619FF-8B86-D011-B42D-00C04FC964FF"], "v1.5", 10, nil),
        ([:], "3.0", 150, nil),
    ]

    private static func rollout(_ lot: Lot, salt: String) -> Rollout? {
        let seed: [Rollout.Seed] = [.deviceID, .installID]
        let ids = ["device-1", "6f9619ff-8b86-d011-b42d-00c04fc964ff"]
        let hashes = ids.map { Rollout.hashedID($0, salt: salt) }
        func make(
            _ points: Int, _ method: Rollout.Method = .percentage, seed: [Rollout.Seed] = seed,
            countries: [String] = [], whitelist: [String] = [], exclusions: [String] = []
        ) -> Rollout {
            Rollout(
                basisPoints: points, method: method, seed: seed, salt: salt, countries: countries,
                whitelist: whitelist, exclusions: exclusions)
        }
        return switch lot {
        case .none: nil
        case .all: make(10_000)
        case .nobody: make(0)
        case .noSeed: make(10_000, seed: [.userID])
        case .excluded: make(10_000, exclusions: hashes)
        case .excludedAndListed: make(10_000, whitelist: hashes, exclusions: hashes)
        case .listed: make(0, .geography, countries: ["FR"], whitelist: hashes)
        case .onlyListed: make(0, .whitelist, whitelist: hashes)
        case .unlisted: make(10_000, .whitelist)
        case .countryIn: make(10_000, .geography, countries: ["AT", "DE"])
        case .countryOut: make(10_000, .geography, countries: ["FR"])
        case .countryInNobody: make(0, .geography, countries: ["DE"])
        }
    }

    private static func gate(_ gate: Gate) throws -> VersionGate? {
        switch gate {
        case .none: nil
        case .inside: VersionGate(minimum: try AppVersion("1.0"), maximum: try AppVersion("2.0"))
        case .outside: VersionGate(minimum: try AppVersion("1.6"))
        case .excluded: VersionGate(maximum: try AppVersion("4"), excluded: [try AppVersion("1.5")])
        case .build: VersionGate(minimumBuild: 100)
        case .builds: VersionGate(minimum: try AppVersion("1.5"), minimumBuild: 151)
        }
    }

    /// Hosts with and without a candidate, with each baseline and each mode.
    private static func hosts(_ lot: Lot) throws -> [Document.Host] {
        func policy(_ mode: PinMode, _ seed: UInt8) throws -> Document.Policy {
            .init(
                mode: mode,
                pins: [.init(pin: try pin(seed), role: .primary), .init(pin: try pin(seed + 1), role: .backup)])
        }
        let shapes: [(Document.Policy?, Document.Policy?)] = [
            (nil, nil), (nil, try policy(.enforce, 3)),
            (try policy(.enforce, 1), try policy(.reportOnly, 3)), (try policy(.reportOnly, 1), try policy(.off, 3)),
            (try policy(.off, 1), try policy(.enforce, 3)),
        ]
        return try shapes.enumerated().map { place, shape in
            Document.Host(
                pattern: try host("h\(place).example.com"), includesSubdomains: false, baseline: shape.0,
                candidate: shape.1, rollout: Self.rollout(lot, salt: "host:h\(place)"))
        }
    }

    private static func killSwitches(_ state: Switches, _ hosts: [Document.Host]) throws -> [Document.KillSwitch] {
        func engaged(
            _ scope: String, _ host: HostPattern? = nil, _ versions: VersionGate? = nil, from: Int64 = -60,
            to: Int64 = 60
        ) -> Document.KillSwitch {
            .init(
                scope: scope, host: host, versions: versions, engagedAt: Timestamp(seconds: Self.now + from),
                expiresAt: Timestamp(seconds: Self.now + to))
        }
        let range = VersionGate(minimum: try AppVersion("1.5"), maximum: try AppVersion("1.5.9"))
        let others = VersionGate(minimum: try AppVersion("3.1"), excluded: [try AppVersion("3.0")])
        // The last host's own is left out, so that a switch is seen to hold for its host alone.
        let own = hosts.dropLast().map(\.pattern)
        return switch state {
        case .none: []
        case .everything: [engaged("everything")]
        case .app: [engaged("app")]
        case .host: own.map { engaged("host", $0) }
        case .versions: [engaged("app_versions", nil, others), engaged("app_versions", nil, range)]
        case .otherVersions: [engaged("app_versions", nil, others)]
        case .builds: [engaged("app_versions", nil, VersionGate(minimumBuild: 150))]
        case .everythingExpired: [engaged("everything", to: 0)]
        case .appExpired: [engaged("app", to: -1)]
        case .hostExpired: own.map { engaged("host", $0, to: 0) }
        case .versionsExpired: [engaged("app_versions", nil, range, to: 0)]
        case .ahead: [engaged("app", from: 1)]
        }
    }

    @Test(arguments: Switches.allCases)
    func `the order of the rules is the same in a straightforward implementation, whatever comes together`(
        switches: Switches
    ) throws {
        var seen: Set<String> = []
        let devices = Self.devices.map { facts in
            Device(
                ids: Dictionary(
                    uniqueKeysWithValues: facts.ids.compactMap { kind, id in
                        Rollout.Seed(rawValue: kind).map { ($0, id) }
                    }),
                appVersion: facts.version, build: facts.build, country: facts.country)
        }
        var wrong = 0
        for (row, hostLot) in switches.lots.enumerated() {
            let hosts = try Self.hosts(hostLot)
            let killSwitches = try Self.killSwitches(switches, hosts)
            let others = switches.lots.flatMap { lot in Gate.allCases.map { (lot, $0) } }
            for (column, (appLot, gate)) in others.enumerated() {
                let stages = Validity.allCases
                for validity in TestDepth.isFull ? stages : [stages[(row + column) % stages.count]] {
                    let document = Document(
                        issuer: "pinledger", app: try AppID("app"), version: 1,
                        pinsValidUntil: Timestamp(seconds: Self.now + (validity == .expired ? 0 : 1)),
                        killSwitches: killSwitches, rollout: Self.rollout(appLot, salt: "app"),
                        versionGate: try Self.gate(gate), hosts: hosts, fallback: Fallback(), monitoring: Monitoring())
                    let (issuedAt, expiresAt) = (Self.now - 30, Self.now + (validity == .fresh ? 1 : 0))
                    let evaluator = Evaluator(
                        IssuedDocument(
                            document, issuedAt: Timestamp(seconds: issuedAt), expiresAt: Timestamp(seconds: expiresAt)))
                    let second = StraightforwardEvaluation(
                        document: document, issuedAt: issuedAt, expiresAt: expiresAt)
                    for (device, facts) in zip(devices, Self.devices) {
                        let time = Timestamp(seconds: Self.now)
                        let all = evaluator.decideAll(for: device, at: time)
                        for (pattern, decision) in all {
                            let explained = evaluator.explain(pattern.text, for: device, at: time)
                            let expected = second.answer(
                                pattern.text, ids: facts.ids, version: facts.version, build: facts.build,
                                country: facts.country, now: Self.now)
                            seen.insert(decision.reason.rawValue)
                            if Self.answer(explained) != expected || !Self.isSame(decision, explained) { wrong += 1 }
                            if wrong == 1 {
                                wrong += 1
                                Issue.record(
                                    "\(facts) \(hostLot) \(appLot) \(gate) \(validity): \(explained), not \(expected)")
                            }
                            // One host at a time is the same; the last one stands for all.
                            guard pattern == hosts.last?.pattern else { continue }
                            if evaluator.decide(pattern.text, for: device, at: time) != decision { wrong += 1 }
                        }
                    }
                }
            }
        }
        #expect(wrong == 0)
        // Nothing is proved by what never happened.
        let everything: Set = [
            "kill_switch_engaged", "pins_expired", "candidate_none", "version_below_minimum", "version_above_maximum",
            "version_excluded", "version_unknown", "version_invalid", "build_below_minimum", "build_unknown",
            "rollout_none", "rollout_excluded", "rollout_whitelisted", "rollout_not_whitelisted", "country_unknown",
            "country_outside", "seed_missing", "rollout_in", "rollout_out",
        ]
        switch switches {
        case .everything, .app: #expect(seen == ["kill_switch_engaged"])
        case .host, .versions, .builds: #expect(seen.contains("kill_switch_engaged") && seen.count > 10)
        case .none, .otherVersions: #expect(seen == everything.subtracting(["kill_switch_engaged"]))
        default: #expect(!seen.contains("kill_switch_engaged") && seen.count > 10)
        }
    }

    private static func answer(_ decision: DeviceDecision) -> StraightforwardEvaluation.Answer {
        .init(
            outcome: decision.outcome.rawValue, pins: decision.pins.map { "\($0.role.rawValue) \($0.pin)" },
            arm: decision.arm?.rawValue, host: decision.pattern?.text, reason: decision.reason.rawValue,
            isStale: decision.trace.contains { $0.reason == .documentStale })
    }

    /// Whether a decision is the one that was explained, without the explanation.
    private static func isSame(_ decision: DeviceDecision, _ explained: DeviceDecision) -> Bool {
        var explained = explained
        explained.trace = []
        return decision == explained
    }
}
