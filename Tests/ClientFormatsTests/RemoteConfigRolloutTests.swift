import ClientFormats
import PinWire
import Pinning
import Testing

private typealias Examples = RemoteConfigExamples

/// The effect of rollouts in one value for all devices.
@Suite struct `A rollout in a remote configuration` {
    private static let own = Examples.policy(.enforce, 3, 4)
    private static let candidate: Set<String> = [Examples.text(3), Examples.text(4)]

    private static func view(
        _ baseline: Document.Policy?, _ rollout: Rollout?, app: Rollout? = nil, gate: VersionGate? = nil,
        candidate: Document.Policy? = own, device: Device = Device()
    ) -> ClientView {
        Examples.view(
            [Examples.entry(Examples.api, baseline, candidate: candidate, rollout)], rollout: app, gate: gate,
            device: device)
    }

    /// What apps in bucket 0 to 99 do with the host, which they have pins for.
    private static func outcomes(_ view: ClientView) throws -> [RemoteConfigOutcome] {
        let config = try StrictAdvancedConfig(config: RemoteConfigValue(view, settings: ClientSettings()).text)
        return (0..<100).map { config.outcome(for: "api.example.com", bucket: $0, shipped: ["api.example.com"]) }
    }

    /// App and host in basis points, nil where there is no rollout; the per cent of apps that get the candidate.
    @Test(
        arguments: [
            (nil, nil, 100), (nil, 2500, 25), (2500, 5000, 12), (5000, nil, 50), (nil, 2550, 25), (nil, 99, 0),
            (nil, 0, 0), (10_000, 10_000, 100), (10_000, nil, 100), (10_000, 0, 0), (100, 5000, 0), (nil, 9999, 99),
        ] as [(Int?, Int?, Int)])
    func `a rollout in a remote configuration leaves the built-in pins to all others`(app: Int?, host: Int?, share: Int)
        throws
    {
        let view = Self.view(
            nil, host.map { Rollout(basisPoints: $0) }, app: app.map { Rollout(basisPoints: $0) })
        let outcomes = try Self.outcomes(view)
        #expect(outcomes.count { $0 == .pinned(Self.candidate) } == share)
        #expect(outcomes.count { $0 == .builtin } == 100 - share)
    }

    @Test(arguments: [PinMode.off, .reportOnly])
    func `a rollout in a remote configuration leaves all others unpinned where they were`(mode: PinMode) throws {
        let outcomes = try Self.outcomes(Self.view(Examples.policy(mode, 1, 2), Rollout(basisPoints: 3000)))
        #expect(outcomes.count { $0 == .pinned(Self.candidate) } == 30)
        #expect(outcomes.count { $0 == .unpinned } == 70)
    }

    @Test func `a rollout in a remote configuration gives the baseline to all others where it has pins of its own`()
        throws
    {
        let view = Self.view(Examples.policy(.enforce, 1, 2), Rollout(basisPoints: 3000))
        #expect(try Self.outcomes(view).allSatisfy { $0 == .pinned([Examples.text(1), Examples.text(2)]) })
    }

    /// With and without pins of the document in the baseline, in the value and in the template alike. At 100 % nobody is
    /// outside, so that nobody has to be chosen; at nought nobody is inside.
    @Test(
        arguments: [
            (nil, 10_000, true), (10_000, nil, true), (10_000, 10_000, true), (nil, nil, true), (nil, 0, false),
            (0, nil, false), (0, 10_000, false), (10_000, 0, false),
        ] as [(Int?, Int?, Bool)])
    func `a rollout in a remote configuration reaches all devices at 100 % and none at 0 %`(
        app: Int?, host: Int?, isForAll: Bool
    ) throws {
        for baseline in [nil, Examples.policy(.enforce, 1, 2), Examples.policy(.off, 1, 2)] {
            for candidate in [Self.own, Examples.policy(.off, 3, 4)] {
                let view = Self.view(
                    baseline, host.map { Rollout(basisPoints: $0) }, app: app.map { Rollout(basisPoints: $0) },
                    candidate: candidate)
                let policy = isForAll ? candidate : baseline
                let expected: RemoteConfigOutcome =
                    switch policy?.mode {
                    case .enforce: .pinned(Set(policy?.pins.map(\.pin.description) ?? []))
                    case .reportOnly, .off: .unpinned
                    case nil: .builtin
                    }
                #expect(try Self.outcomes(view).allSatisfy { $0 == expected })
                let rules = try RemoteConfigRules(view, settings: ClientSettings())
                #expect(rules.rules.isEmpty)
                #expect(rules.otherwise == RemoteConfigValue(view, settings: ClientSettings()).json)
            }
        }
    }

    /// Some device is outside all the same.
    @Test(arguments: [
        Rollout(basisPoints: 10_000, exclusions: [Rollout.hashedID("a", salt: "s")]),
        Rollout(basisPoints: 10_000, method: .whitelist, whitelist: [Rollout.hashedID("a", salt: "s")]),
        Rollout(basisPoints: 10_000, method: .geography, countries: ["ID"]),
    ])
    func `a rollout to 100 % of some devices does not reach all devices`(rollout: Rollout) throws {
        let baseline = Examples.policy(.enforce, 1, 2)
        for view in [Self.view(baseline, rollout), Self.view(baseline, nil, app: rollout)] {
            #expect(try Self.outcomes(view).allSatisfy { $0 == .pinned([Examples.text(1), Examples.text(2)]) })
            let rules = try RemoteConfigRules(view, settings: ClientSettings())
            #expect(rules.otherwise == RemoteConfigValue(view, settings: ClientSettings()).json)
        }
    }

    /// To a candidate that turns pinning off, a share would be a share of devices without pins.
    @Test(arguments: [PinMode.off, .reportOnly])
    func `a rollout in a remote configuration turns pinning off for no share of devices`(mode: PinMode) throws {
        let view = Self.view(nil, Rollout(basisPoints: 3000), candidate: Examples.policy(mode, 3, 4))
        #expect(try Self.outcomes(view).allSatisfy { $0 == .builtin })
    }

    @Test(
        arguments: [
            Rollout(basisPoints: 5000, method: .whitelist, whitelist: [Rollout.hashedID("a", salt: "s")]),
            Rollout(basisPoints: 5000, exclusions: [Rollout.hashedID("a", salt: "s")]),
            Rollout(basisPoints: 5000, method: .geography, countries: ["ID"]),
        ])
    func `a rollout in a remote configuration gives all devices the baseline where none can be chosen`(rollout: Rollout)
        throws
    {
        for view in [Self.view(nil, rollout), Self.view(nil, nil, app: rollout)] {
            #expect(try Self.outcomes(view).allSatisfy { $0 == .builtin })
        }
    }

    @Test func `a rollout in a remote configuration uses the country and version that a device states`() throws {
        let geography = Rollout(basisPoints: 4000, method: .geography, countries: ["ID"])
        let gate = VersionGate(minimum: Examples.version("1.5"))
        func share(_ device: Device) throws -> Int {
            try Self.outcomes(Self.view(nil, geography, gate: gate, device: device)).count {
                $0 == .pinned(Self.candidate)
            }
        }
        #expect(try share(Device(appVersion: "1.5.0", country: "ID")) == 40)
        #expect(try share(Device(appVersion: "1.4.9", country: "ID")) == 0)
        #expect(try share(Device(appVersion: "1.5.0", country: "SG")) == 0)
        #expect(try share(Device(appVersion: "1.5.0")) == 0)
        #expect(try share(Device(country: "ID")) == 0)
    }

    @Test
    func
        `a rollout in a remote configuration asks for a host's countries only after the app's rollout lets the device in`()
        throws
    {
        let view = Self.view(
            nil, Rollout(basisPoints: 10_000, method: .geography, countries: ["ID"]), app: Rollout(basisPoints: 5000),
            device: Device(country: "SG"))
        #expect(try Self.outcomes(view).allSatisfy { $0 == .builtin })
    }

    @Test func `a rollout in a remote configuration is decided for a device that states its id`() throws {
        let rollout = Rollout(basisPoints: 5000, salt: "s")
        var counts = [0, 0]
        for number in 0..<200 {
            let device = Device(ids: [.deviceID: "device-\(number)"])
            let outcomes = Set(try Self.outcomes(Self.view(nil, rollout, device: device)).map(\.description))
            #expect(outcomes.count == 1)
            counts[outcomes == ["built-in pins"] ? 0 : 1] += 1
        }
        #expect(counts.allSatisfy { $0 > 60 })
    }

    @Test func `a rollout in a remote configuration treats the ids on its whitelist like all others`() throws {
        let view = Self.view(nil, Rollout(basisPoints: 2000, whitelist: [Rollout.hashedID("a", salt: "s")]))
        #expect(try Self.outcomes(view).count { $0 == .pinned(Self.candidate) } == 20)
    }
}

@Suite struct `The three places for pins` {
    /// Role and whether it is served, as `P`, `B`, `E` and a star; which of them stand as primary, backup, emergency.
    @Test(arguments: [
        (["P"], [0, 0]), (["P", "B"], [0, 1]), (["P", "E"], [0, 1]), (["B"], [0, 0]), (["P", "B", "E"], [0, 1, 2]),
        (["P", "B", "B"], [0, 1, 2]), (["P*", "B", "B", "B", "E"], [0, 1, 2]), (["P", "P", "P", "B"], [0, 3, 1]),
        (["P*", "P*", "P*", "B"], [0, 1, 2]), (["P*", "P*", "P", "P", "E"], [0, 1, 4]), (["B*", "P", "E"], [1, 0, 2]),
        (["E", "B"], [0, 1]), (["P", "P"], [0, 1]), (["P", "P", "P"], [0, 1, 2]),
    ])
    func `the three places for pins go to the served keys and one reserve first`(pins: [String], expected: [Int]) throws
    {
        let pins = pins.enumerated().map { place, text in
            RemoteConfigPin(
                Examples.pin(place), text.hasPrefix("P") ? .primary : text.hasPrefix("B") ? .backup : .emergency,
                isServed: text.hasSuffix("*"))
        }
        let slots = try #require(RemoteConfigSlots(pins))
        let chosen = [slots.primary, slots.backup] + (slots.emergency.map { [$0] } ?? [])
        #expect(chosen.map(\.pin) == expected.map { Examples.pin($0) })
    }

    @Test func `the three places for pins stay empty without pins`() {
        #expect(RemoteConfigSlots([]) == nil)
    }

    @Test func `the three places for pins go first to the served keys that probes saw`() throws {
        let policy = Examples.policy(.enforce, 1, 2, 3, 4, 5)
        let view = Examples.view([Examples.entry(Examples.api, policy)], served: [Examples.api: [Examples.pin(5)]])
        let value = RemoteConfigValue(view, settings: ClientSettings())
        let config = try StrictAdvancedConfig(config: value.text)
        let pins: Set = [Examples.text(1), Examples.text(2), Examples.text(5)]
        #expect(config.outcome(for: "api.example.com") == .pinned(pins))
    }

    private static let raw = ClientSettings(hash: .rawKey)

    private static func facts(_ number: Int) -> KeyFacts {
        KeyFacts(
            pin: Examples.pin(number), algorithm: "ec", bits: 256, curve: "P-256",
            spkiSHA512: [UInt8](repeating: 0, count: 64),
            rawKeySHA256: sha256(Array("raw \(number)".utf8)))
    }

    @Test func `the three places for pins hold raw keys' hashes where the app compares these`() throws {
        let view = Examples.view(
            [Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2, 3))],
            knowledge: [Self.facts(1), Self.facts(2)])
        let value = RemoteConfigValue(view, settings: Self.raw)
        let raw = { (number: Int) in "sha256/\(Base64.encode(sha256(Array("raw \(number)".utf8))))" }
        #expect(
            try StrictAdvancedConfig(config: value.text).hosts["api.example.com"]?.pins
                == .init(primary: raw(1), backup: raw(2)))
        let template = try RemoteConfigService(RemoteConfigRules(view, settings: Self.raw).clientTemplate)
        #expect(try template.value(for: RemoteConfigInstall()) == value.text)
    }

    /// A pin is never given for a hash; a host without its served key would refuse every connection.
    @Test(arguments: [Set([RemoteConfigExamples.pin(2)]), []])
    func `the three places for pins are not filled without the served key`(
        served: Set<Pin>
    ) throws {
        let view = Examples.view(
            [
                Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2)),
                Examples.entry(Examples.pay, Examples.policy(.enforce, 2, 3)),
            ], fallback: Fallback(hosts: [Examples.api]), knowledge: [Self.facts(2), Self.facts(3)],
            served: [Examples.api: served])
        let text = RemoteConfigValue(view, settings: Self.raw).text
        let config = try StrictAdvancedConfig(config: text)
        #expect(config.hosts.keys.sorted() == ["pay.example.com"])
        // Its own pins are better than none.
        #expect(config.outcome(for: "api.example.com", shipped: ["api.example.com"]) == .builtin)
        #expect((1...3).allSatisfy { !text.contains(Examples.pin($0).base64) })
    }

    /// The app's own computation, on a key as OpenSSL made it.
    @Test func `the three places for pins match what an app computes from SecKeyCopyExternalRepresentation`() throws {
        let spki = try #require(
            Base64.decode(
                "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeRX04gOcy5WgJ0NH2cQD8mJ0ktNMMu5IDZNJmwaA4NKyF9tmDfUxL3RYL8d1tT8"
                    + "DlYvkabIOQT+KSzog2/5cQ=="))
        // The X9.63 point, which ends the SubjectPublicKeyInfo of a key on P-256.
        let computed = Base64.encode(sha256(Array(spki.suffix(65))))
        let pin = try #require(Pin(bytes: sha256(spki)))
        let key = KeyFacts(
            pin: pin, algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: [UInt8](repeating: 0, count: 64),
            rawKeySHA256: sha256(Array(spki.suffix(65))))
        let policy = Document.Policy(mode: .enforce, pins: [.init(pin: pin, role: .primary)])
        let view = Examples.view([Examples.entry(Examples.api, policy)], knowledge: [key])
        let config = try StrictAdvancedConfig(config: RemoteConfigValue(view, settings: Self.raw).text)
        // The app takes `sha256/` off, and compares.
        #expect(config.outcome(for: "api.example.com") == .pinned(["sha256/\(computed)"]))
        let other = try StrictAdvancedConfig(config: RemoteConfigValue(view, settings: ClientSettings()).text)
        #expect(other.outcome(for: "api.example.com") == .pinned([pin.description]))
    }
}
