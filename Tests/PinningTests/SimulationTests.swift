import PinWire
import Pinning
import Testing

/// Whom a change moves.
struct SimulationTests {
    private static func document(_ rollout: Rollout?, gate: VersionGate? = nil) throws -> Document {
        func pin(_ byte: UInt8) throws -> Document.RolePin {
            Document.RolePin(pin: try #require(Pin(bytes: [UInt8](repeating: byte, count: 32))), role: .primary)
        }
        return Document(
            issuer: "pinledger", app: try AppID("com.example.app"), version: 7, pinsValidUntil: nil, killSwitches: [],
            rollout: nil, versionGate: gate,
            hosts: [
                Document.Host(
                    pattern: try HostPattern("api.example.com"), includesSubdomains: false,
                    baseline: Document.Policy(mode: .enforce, pins: [try pin(1), try pin(2)]),
                    candidate: Document.Policy(mode: .enforce, pins: [try pin(2), try pin(3)]), rollout: rollout
                )
            ],
            fallback: Fallback(), monitoring: Monitoring()
        )
    }

    private static func rollout(_ basisPoints: Int) -> Rollout {
        Rollout(basisPoints: basisPoints, salt: "host:api.example.com")
    }

    private static func run(
        _ before: Document, _ after: Document, _ population: Population = .assumed, sample: Int = 10_000
    ) -> Simulation.Result {
        Simulation(from: before, to: after, hosts: ["api.example.com"], at: Timestamp(seconds: 1_800_000_000))
            .run(on: population, sample: sample)
    }

    @Test(arguments: [(0, 0), (0, 10_000), (10_000, 0), (1000, 3500), (3500, 1000)])
    func `a ramp moves as many devices as it lets in or out, and none the other way`(
        from: Int, to: Int
    ) throws {
        let result = Self.run(try Self.document(Self.rollout(from)), try Self.document(Self.rollout(to)))
        let expected = abs(from - to)
        #expect(abs(result.sample.moved - expected) <= (expected % 10_000 == 0 ? 0 : 250))
        let arms = Set(result.hosts[0].moves.filter(\.isMove).map { $0.to.arm })
        #expect(arms == (from == to ? [] : [from < to ? .candidate : .baseline]))
        #expect(result.hosts[0].moves.reduce(0) { $0 + $1.devices } == 10_000)
    }

    @Test func `two runs of a simulation give the same result`() throws {
        let (before, after) = (try Self.document(Self.rollout(100)), try Self.document(Self.rollout(5000)))
        #expect(Self.run(before, after) == Self.run(before, after))
    }

    @Test func `cohorts of a simulation move by their attributes`() throws {
        let gate = VersionGate(minimum: try AppVersion("3.0.0"))
        let population = Population(
            source: .given,
            cohorts: [
                .init(appVersion: "3.0.1", platform: .ios, weight: 70),
                .init(appVersion: "2.9", platform: .android, weight: 20),
                .init(platform: .android, weight: 10),
            ])
        let result = Self.run(try Self.document(nil), try Self.document(nil, gate: gate), population, sample: 1000)
        #expect(result.sample == .init(devices: 1000, moved: 300))
        #expect(result.appVersions["3.0.1"] == .init(devices: 700, moved: 0))
        #expect(result.appVersions["2.9"] == .init(devices: 200, moved: 200))
        #expect(result.appVersions[nil] == .init(devices: 100, moved: 100))
        #expect(result.platforms[.android] == .init(devices: 300, moved: 300))
    }

    @Test(
        arguments: [
            (.assumed, Population.Trait.allCases),
            (
                .init(source: .known, cohorts: [.init(appVersion: "3.1", platform: .ios, weight: 1)]),
                [.build, .country]
            ),
            (
                .init(source: .given, cohorts: [.init(build: 7, weight: 1), .init(country: "DE", weight: 9)]),
                [.appVersion]
            ),
        ] as [(Population, [Population.Trait])])
    func `a population states the attributes that none of its devices has`(
        population: Population, spots: [Population.Trait]
    ) {
        #expect(population.blindSpots == spots)
    }

    @Test func `new pins of the same policy count as a move`() throws {
        var after = try Self.document(Self.rollout(2500))
        after.hosts[0].baseline?.pins.removeLast()
        let moves = Self.run(try Self.document(Self.rollout(2500)), after).hosts[0].moves
        #expect(moves.map(\.isMove) == [true, false] && moves[0].from.arm == moves[0].to.arm)
        #expect(moves[0].from.pins.count == 2 && moves[0].to.pins.count == 1)
    }

    private static func pin(_ byte: UInt8) throws -> Pin {
        try #require(Pin(bytes: [UInt8](repeating: byte, count: 32)))
    }

    @Test func `a pin that is added changes the judgement of connections with its key alone`() throws {
        var after = try Self.document(nil)
        after.hosts[0].candidate = nil
        var before = after
        before.hosts[0].baseline?.pins.removeLast()
        let result = Self.run(before, after, sample: 100)
        #expect(result.sample.moved == 100 && result.judgingDifferently == 100)
        let added = JudgementChange(key: try Self.pin(2), from: .refuse, to: .accept, devices: 100)
        #expect(result.hosts[0].judgementChanges == [added])
        let back = Self.run(after, before, sample: 100).hosts[0].judgementChanges
        #expect(back == [JudgementChange(key: try Self.pin(2), from: .accept, to: .refuse, devices: 100)])
    }

    @Test(
        arguments: [
            (.enforce, .reportOnly, .refuse, .acceptAndReport), (.enforce, .off, .refuse, .accept),
            (.reportOnly, .enforce, .acceptAndReport, .refuse), (.off, .reportOnly, .accept, .acceptAndReport),
        ] as [(PinMode, PinMode, Judgement, Judgement)])
    func `another mode changes the judgement of connections with a key that is not pinned alone`(
        mode: PinMode, other: PinMode, from: Judgement, to: Judgement
    ) throws {
        var (before, after) = (try Self.document(nil), try Self.document(nil))
        (before.hosts[0].candidate, after.hosts[0].candidate) = (nil, nil)
        before.hosts[0].baseline?.mode = mode
        after.hosts[0].baseline?.mode = other
        let result = Self.run(before, after, sample: 10)
        #expect(result.hosts[0].judgementChanges == [JudgementChange(key: nil, from: from, to: to, devices: 10)])
        #expect(result.judgingDifferently == 10)
    }

    @Test func `devices that get the other of two equal policies judge nothing differently`() throws {
        var (before, after) = (try Self.document(Self.rollout(0)), try Self.document(Self.rollout(10_000)))
        before.hosts[0].candidate = before.hosts[0].baseline
        after.hosts[0].candidate = after.hosts[0].baseline
        let result = Self.run(before, after, sample: 100)
        #expect(result.sample.moved == 100 && result.judgingDifferently == 0)
        #expect(result.hosts[0].judgementChanges == [])
    }

    private static let listed = Rollout.hashedID("device-1", salt: "s")

    /// Changes of a document with a candidate that enforces other pins, and the devices that the sample cannot tell of.
    private static let unsampled: [(from: Rollout?, to: Rollout?, kinds: [Simulation.Unsampled])] = [
        (Self.rollout(0), Self.rollout(2500), []), (Self.rollout(1000), Self.rollout(3500), []),
        (Self.rollout(3500), Self.rollout(10_000), []), (Self.rollout(10_000), Self.rollout(0), []),
        (Self.rollout(1000), nil, []), (Self.rollout(0), Self.rollout(0), []),
        (
            Self.rollout(0), Rollout(basisPoints: 10_000, method: .geography, salt: "s", countries: ["DE"]),
            [.country]
        ),
        (
            Self.rollout(0), Rollout(basisPoints: 0, method: .whitelist, salt: "s", whitelist: [Self.listed]),
            [.listedID]
        ),
        (
            Rollout(basisPoints: 10_000, salt: "s"),
            Rollout(basisPoints: 10_000, salt: "s", exclusions: [Self.listed]), [.listedID]
        ),
        // The same devices stay on either side.
        (
            Rollout(basisPoints: 1000, salt: "s", whitelist: [Self.listed]),
            Rollout(basisPoints: 3500, salt: "s", whitelist: [Self.listed]), []
        ),
        (
            Rollout(basisPoints: 0, method: .geography, salt: "s", countries: ["DE"]),
            Rollout(basisPoints: 10_000, method: .geography, salt: "s", countries: ["DE"], whitelist: [Self.listed]),
            [.country, .listedID]
        ),
    ]

    @Test(arguments: unsampled.indices)
    func `a simulation names the devices that the change reaches and no sampled device tells of`(
        index: Int
    ) throws {
        let (from, to, kinds) = Self.unsampled[index]
        let result = Self.run(try Self.document(from), try Self.document(to))
        #expect(result.unsampled == kinds)
        if kinds.isEmpty { #expect((result.judgingDifferently > 0) == (from != to)) }
    }

    @Test func `a version gate reaches devices of which an unknown population tells nothing`() throws {
        let gate = VersionGate(minimum: try AppVersion("3.0.0"))
        let (before, after) = (try Self.document(Self.rollout(0), gate: gate), try Self.document(nil, gate: gate))
        #expect(Self.run(before, after).unsampled == [.appVersion])
        #expect(Self.run(before, after).judgingDifferently == 0)
        let old = Population(source: .known, cohorts: [.init(appVersion: "2.9", weight: 1)])
        #expect(Self.run(before, after, old).unsampled == [.rare])
        let new = Population(source: .known, cohorts: [.init(appVersion: "3.1", weight: 1)])
        #expect(Self.run(before, after, new).unsampled == [])
        let build = VersionGate(minimumBuild: 40)
        #expect(
            Self.run(try Self.document(Self.rollout(0), gate: build), try Self.document(nil, gate: build), new)
                .unsampled == [.build])
    }

    @Test func `a share that no sampled device is drawn into is not taken for nothing`() throws {
        let result = Self.run(try Self.document(Self.rollout(0)), try Self.document(Self.rollout(1)), sample: 1)
        #expect(result.unsampled == [.rare])
    }

    @Test func `a kill switch of some app versions reaches devices of which an unknown population tells nothing`()
        throws
    {
        let before = try Self.document(nil)
        var after = before
        after.killSwitches = [
            Document.KillSwitch(
                scope: "app_versions", host: nil, versions: VersionGate(maximum: try AppVersion("2.0")),
                engagedAt: Timestamp(seconds: 1_799_999_000), expiresAt: Timestamp(seconds: 1_800_009_000))
        ]
        #expect(Self.run(before, after).unsampled == [.appVersion])
        #expect(Self.run(after, before).unsampled == [.appVersion])
        #expect(Self.run(after, after).unsampled == [])
        after.killSwitches = [
            Document.KillSwitch(
                scope: "app", host: nil, engagedAt: Timestamp(seconds: 1_799_999_000),
                expiresAt: Timestamp(seconds: 1_800_009_000))
        ]
        #expect(Self.run(before, after).unsampled == [])
        #expect(Self.run(before, after).judgingDifferently == 10_000)
    }

    @Test func `pins of an arm that no sampled device has are not taken for unchanged`() throws {
        let rollout = Rollout(basisPoints: 0, method: .whitelist, salt: "s", whitelist: [Self.listed])
        let before = try Self.document(rollout)
        var after = before
        after.hosts[0].candidate?.pins.removeLast()
        #expect(Self.run(before, after).unsampled == [.listedID])
        after = before
        after.hosts[0].baseline?.pins.removeLast()
        #expect(Self.run(before, after).unsampled == [])
        var other = Document.Host(
            pattern: try HostPattern("*.example.org"), includesSubdomains: false,
            baseline: after.hosts[0].baseline, candidate: nil, rollout: nil)
        other.baseline?.mode = .off
        after.hosts.append(other)
        let names = ["www.example.org", "API.example.com.", "unknown.example", "not a name"]
        let result = Simulation(from: before, to: after, hosts: names, at: Timestamp(seconds: 1_800_000_000))
            .run(on: .assumed, sample: 10)
        #expect(result.unsampled == [])
    }

    @Test(arguments: [([1, 1, 1], 10), ([5, 3, 2], 7), ([1_000_000_000_000, 1], 3), ([1], 0), ([3, 3, 3, 1], 1)])
    func `a sample is divided without losing a device`(weights: [Int64], sample: Int) {
        let population = Population(source: .given, cohorts: weights.map { .init(weight: $0) })
        let sizes = population.sizes(of: sample)
        #expect(sizes.reduce(0, +) == sample)
        let total = Double(weights.reduce(0, +))
        for (size, weight) in zip(sizes, weights) {
            #expect(abs(Double(size) - Double(weight) / total * Double(sample)) < 1)
        }
    }
}
